"""Which columns of a table are those of facts."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from medfact.datasets import medlama
from medfact.errors import FactsError, MissingColumns
from medfact.facts import COLUMNS, name_key, normalize_space

REQUIRED = ("head", "relation", "tail")
OPTIONAL = tuple(name for name, about in COLUMNS.items() if about.is_read and name not in REQUIRED)
OTHER_NAMES = {
    **{"subject": "head", "predicate": "relation", "object": "tail"},
    **{"condition": "head", "finding": "tail"},
    **dict.fromkeys(("valid_until", "valid_to", "true_until"), "until"),
    "jurisdiction": "region",
    **dict.fromkeys(("patient_group", "patient_population"), "population"),
}
DISEK = {"disease": "head", "aspect": "relation", "entity": "tail"}
"""DiseK is not public; its holders write it so, one row per triplet. (TPEval's triplet has the disease last.)"""

_NAMES = frozenset((*REQUIRED, *OTHER_NAMES, *DISEK))

CONSTANT = "="
RENAMED, TAIL_OF, MARK = "relation:", "tail:", "mark:"
SPLIT, PATIENTS, NO_PATIENTS = "split", "patients", "none"
"""Signs and keys of a column map, beside our names of columns.

CONSTANT: marks a value for all rows instead of a column: {"relation": "=symptoms"}.
RENAMED: a relation as the file writes it, and what it is: {"relation:cures": "=treatments"}.
TAIL_OF: a column that holds the tails of one relation: {"tail:Medikament": "=therapeutic drugs"}.
MARK: a column whose cells only mark the heads that have this tail: {"mark:fever": "=fever"}.
SPLIT: the separator of several tails in a cell, of all columns or of one: {"split:Symptoms": "=;"}; `=none`.
PATIENTS: no row is about a patient (`=none`), or columns about patients are not read (`=left out`).
"""


def has_facts(names: list[str], columns: Mapping[str, str]) -> bool:
    """Whether these are columns of facts, with this column map or as published by others."""
    given = {ours for ours, theirs in columns.items() if theirs in names or theirs.startswith(CONSTANT)}
    return medlama.is_medlama(names) or given | named_columns(names).keys() >= set(REQUIRED)


def is_name_of_column(text: str, column_of: Mapping[str, str]) -> bool:
    """Whether a cell of the head names a column: that of the heads, or one that tables have."""
    name = _plain(text)
    return name == _plain(column_of["head"]) or name in _NAMES


def renamed_relations(columns: Mapping[str, str]) -> dict[str, str]:
    """The relations of a file that a column map gives another name: the key of the file's name → that name."""
    return {name_key(theirs): name for theirs, name in of_prefix(columns, RENAMED).items()}


def map_columns(names: list[str], columns: Mapping[str, str], place: str) -> dict[str, str]:
    """Our column name → the file's: those of the column map, and those that the file's own names identify. place: the file."""
    mapped: dict[str, str] = {}
    for ours, theirs in named_columns(names).items():
        if ours in columns:
            continue
        if len(set(theirs)) < len(theirs):
            raise FactsError(f"{place}, row 1: the column {theirs[0]!r} occurs twice.", "Rename one of them.")
        if len(set(map(_plain, theirs))) < len(theirs):
            quoted = listed(list(map(repr, theirs)))
            raise FactsError(f"{place}, row 1: the columns {quoted} differ in letters alone.", "Rename one of them.")
        mapped[ours] = theirs[0]
    for ours, given in columns.items():
        if ours.startswith((RENAMED, TAIL_OF, MARK, f"{SPLIT}:")) or ours in (SPLIT, PATIENTS):
            continue
        if ours not in (*REQUIRED, *OPTIONAL):
            raise FactsError(f"There is no column {ours!r} to fill.", f"There is: {', '.join((*REQUIRED, *OPTIONAL))}.")
        if given not in names and not given.startswith(CONSTANT):
            raise FactsError(f"{place} has no column {given!r}.", f"It has: {', '.join(names)}.")
        mapped[ours] = given
    spread = {"tail", "relation"} if of_prefix(columns, TAIL_OF) else {"tail"} if of_prefix(columns, MARK) else set()
    missing = [name for name in REQUIRED if name not in mapped.keys() | spread]
    if missing:
        subject = f"column {missing[0]} is" if len(missing) == 1 else f"columns {listed(missing)} are"
        raise MissingColumns(
            f"{place}, row 1: the {subject} missing; the file has {', '.join(names)[:200]}.",
            "Name the columns head, relation and tail, or say which of yours they are.",
            names,
        )
    return mapped


def of_prefix(columns: Mapping[str, str], prefix: str) -> dict[str, str]:
    """The part of a column map whose names begin with this, without it, and what is said of each."""
    return {
        ours.removeprefix(prefix): theirs.removeprefix(CONSTANT) for ours, theirs in columns.items() if ours.startswith(prefix)
    }


def named_columns(names: list[str]) -> dict[str, list[str]]:
    """Our column name → the file's names for it: our own, else those of others, in any case and with spaces or dashes."""
    others = {**OTHER_NAMES, **(DISEK if set(DISEK) <= set(map(_plain, names)) else {})}
    own = set(map(_plain, names)) & {*REQUIRED, *OPTIONAL}
    known: dict[str, list[str]] = {}
    for name in names:
        plain = _plain(name)
        ours = plain if plain in own else others.get(plain, "")
        if ours and (plain in own or ours not in own):
            known.setdefault(ours, []).append(name)
    return known


def _plain(name: str) -> str:
    return re.sub(r"[\s_-]+", "_", normalize_space(name).lower())


def listed(names: Sequence[str]) -> str:
    """Names in a sentence."""
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))
