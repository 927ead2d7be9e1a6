"""The page: four steps: facts, statements, evaluation and results. One file per step; nothing here computes a figure."""
