"""Readers of every file format, and what they give: a collection of facts with the knowledge around them.

`load` takes a spec, which names a bundled data set, a file or a folder; either way the result is a `Collection`.
"""

from pathlib import Path

from medfact.datasets.bundled import bundled_names, load_bundled
from medfact.datasets.collection import Collection, Problem
from medfact.datasets.hub import PREFIX, read_hub
from medfact.datasets.mkj import is_mkj, load_mkj
from medfact.datasets.selection import NO_REJECTIONS, Selection, grouping, select
from medfact.datasets.tables import read_table
from medfact.datasets.umls import is_umls, load_umls
from medfact.datasets.uploads import load_file, load_rows
from medfact.spec import RunSpec

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


def load(spec: RunSpec) -> Collection:
    """The facts of a spec: of its file or folder, in whatever layout that is, or else of its bundled data set.

    Raises:
        FactsError: the file cannot be read as facts; says which row or column.
        UnknownName: there is no such data set.
    """
    if spec.facts is None:
        return load_bundled(spec.dataset)
    if spec.facts.startswith(PREFIX):
        return load_rows(spec.facts, *read_hub(spec.facts), dict(spec.columns))
    path = Path(spec.facts)
    if is_umls(path):
        return load_umls(path, spec.rela, spec.sab, spec.language)
    if is_mkj(path):
        return load_mkj(path)
    return load_file(path, dict(spec.columns))
