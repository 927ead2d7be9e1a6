"""The same for programs and agents: endpoints of the page library, and tools of the Model Context Protocol."""
