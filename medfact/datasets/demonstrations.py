"""A user's own demonstrations, which replace drawn ones."""

from __future__ import annotations

from pathlib import Path

from medfact.datasets.denials import truth
from medfact.datasets.headers import Columns
from medfact.datasets.table_reader import read_table
from medfact.errors import FactsError
from medfact.statements import VARIANTS

COLUMNS = ("relation", "variant", "statement", "label")


def read_demonstrations(path: Path) -> list[tuple[str, str, str, bool]]:
    """(relation, variant, statement, label) of each row, in the order in which they are shown.

    Args:
        path: a table with the columns relation, variant (the papers' key), statement, and label (true or false).

    Raises FactsError, naming file and row, if a column or a cell is missing or wrong.
    """
    columns, rows = read_table(path, needed=Columns(lambda names: set(COLUMNS) <= set(names), fewest=2))
    missing = [name for name in COLUMNS if name not in columns]
    if missing:
        raise FactsError(f"{path.name}, row 1: the column {missing[0]} is missing.", f"It needs {', '.join(COLUMNS)}.")
    demonstrations = []
    for number, row in rows:
        relation, variant, statement, label = (" ".join(row[name].split()) for name in COLUMNS)
        if variant not in VARIANTS:
            raise FactsError(f"{path.name}, row {number}: there is no form {variant!r}.", f"Forms are: {', '.join(VARIANTS)}.")
        if label and truth(label) is None:
            raise FactsError(f"{path.name}, row {number}: the label is {label!r}.", "Write true or false.")
        if not relation or not statement or not label:
            raise FactsError(
                f"{path.name}, row {number}: the relation, the statement or the label (true or false) is missing.",
                "Fill it in.",
            )
        demonstrations.append((relation, variant, statement, truth(label) is True))
    if not demonstrations:
        raise FactsError(f"{path.name} holds no demonstration.", "Write one per row.")
    return demonstrations
