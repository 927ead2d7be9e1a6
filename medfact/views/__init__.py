"""What is drawn for people: fragments of pages, and the report that is one file."""
