"""The page: three steps, facts, statements and evaluation. One file per step; nothing here computes a figure."""
