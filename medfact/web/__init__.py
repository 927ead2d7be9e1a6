"""The page: a server, its pages (`pages/`, a module each), and the way from the form to runs (`evaluate/`)."""
