"""Fragments of pages, the report as one HTML file, and a run as files for the Hub."""
