"""From answers to reports, plots, the papers' tables, and comparisons."""
