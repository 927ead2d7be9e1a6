"""Readers of every file format, and what they give: a collection of facts with the knowledge around them.

`load` takes the name of a bundled data set or the path of a file; either way the result is a `Collection`.
"""

from medfact.datasets.bundled import bundled_names, load_bundled
from medfact.datasets.collection import Collection, Problem
from medfact.datasets.selection import NO_REJECTIONS, Selection, grouping, select
from medfact.datasets.tables import read_table
from medfact.datasets.uploads import load_file

__all__ = [
    "NO_REJECTIONS",
    "Collection",
    "Problem",
    "Selection",
    "bundled_names",
    "grouping",
    "load",
    "load_bundled",
    "load_file",
    "read_table",
    "select",
]


def load(dataset: str, facts: str | None = None, columns: tuple[tuple[str, str], ...] = ()) -> Collection:
    """The facts of a file (`facts`, with an optional column map), or else of the bundled data set of that name.

    Raises:
        FactsError: the file cannot be read as facts; says which row or column.
        UnknownName: there is no such data set.
    """
    return load_file(facts, dict(columns)) if facts else load_bundled(dataset)
