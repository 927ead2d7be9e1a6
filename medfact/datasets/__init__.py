"""Readers of all file formats. Each returns a `Collection`: facts, and everything known around them."""

from pathlib import Path

from medfact.datasets import guessing, medlama, mkj
from medfact.datasets.bundled import bundled_names, label_words, load_bundled
from medfact.datasets.bundled_knowledge import with_bundled_knowledge
from medfact.datasets.collection import Collection, Problem
from medfact.datasets.facts_file import load_file, load_rows
from medfact.datasets.headers import OWN, Limits
from medfact.datasets.hub import PREFIX, is_saved, read_hub
from medfact.datasets.mkj import is_mkj
from medfact.datasets.pairing import NOTHING_DECIDED, PartnerDecisions
from medfact.datasets.selection import Held, Selection, grouping, select
from medfact.datasets.table_reader import read_table
from medfact.datasets.umls import is_umls, load_umls
from medfact.errors import FactsError
from medfact.spec import RunSpec

__all__ = [
    "NOTHING_DECIDED",
    "Collection",
    "Held",
    "PartnerDecisions",
    "Problem",
    "Selection",
    "bundled_names",
    "grouping",
    "label_words",
    "load",
    "load_alone",
    "load_bundled",
    "load_file",
    "medlama",
    "mkj",
    "read_table",
    "select",
]


def load(spec: RunSpec, limits: Limits = OWN) -> Collection:
    """The facts of a spec: those of its file or folder, in any supported layout, or else of its bundled data set.

    limits: how large a table may be. What the bundled sets know of a file's names is never drawn as false.

    Raises:
        FactsError: the file cannot be read as facts; says which row or column.
        UnknownName: there is no such data set.
    """
    return (
        load_bundled(spec.dataset) if spec.trusted_value("facts") is None else with_bundled_knowledge(load_alone(spec, limits))
    )


def load_alone(spec: RunSpec, limits: Limits = OWN) -> Collection:
    """Like `load`, without what the bundled sets know of a file's names."""
    facts = spec.trusted_value("facts")
    if facts is None:
        return load_bundled(spec.dataset)
    path = Path(facts.removeprefix(PREFIX).strip())
    try:
        exists = bool(facts.strip()) and path.exists()
    except OSError:  # a name too long to be a path
        exists = False
    in_mkj_layout = exists and is_mkj(path)
    if (facts.startswith(PREFIX) or (exists and is_saved(path))) and not in_mkj_layout:
        return load_rows(facts, *read_hub(facts), dict(spec.columns), guessing)
    if not exists:
        raise FactsError(f"There is no file or folder {facts[:200]!r}.", "Check the path.")
    if is_umls(path):
        return load_umls(path, spec.rela, spec.sab, spec.language)
    if in_mkj_layout:
        return mkj.load_mkj(path)
    return load_file(path, dict(spec.columns), limits, guessing)
