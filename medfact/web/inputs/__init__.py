"""What a visitor chooses: the library's components, and how their values become runs."""
