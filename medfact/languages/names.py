"""What entities are called in a language: rows of `names.csv`, checked one by one.

A row has the entity (its English name, as facts have it), its name inside a sentence, synonyms with " | " between them, what
the language's grammar needs (gender, number, article), where the name comes from, and who checked it. Terms of the Human
Phenotype Ontology stand as published, but for the capital letter at their beginning.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from medfact.errors import FactsError
from medfact.facts import name_key

COLUMNS = ("entity", "name", "synonyms", "gender", "number", "article", "source", "source_id", "checked")

OURS = "medfact editors"
"""The source of a name that medfact's editors gave. No clinician has checked it unless its row says so."""

PUBLISHED = {"HPO": "HP:", "Disease Ontology": "DOID:"}
"""Sources of names beside our own → how their identifiers begin."""

MARKS = "[]{}|~"
"""What prototypes are written with: no name may have it."""

_NUMBERS = {"": False, "singular": False, "plural": True}


@dataclass(frozen=True, slots=True)
class Name:
    """What an entity is called. text: without its article. article: "" where the language or the name has none."""

    entity: str
    text: str
    synonyms: tuple[str, ...] = ()
    gender: str = ""
    plural: bool = False
    article: str = ""
    source: str = OURS
    source_id: str = ""
    checked: str = ""


def read_names(path: Path) -> Mapping[str, Name]:
    """Key of an entity (`facts.name_key`) → its name. Raises FactsError, naming file and line, for a row that breaks a rule."""
    with path.open(encoding="utf-8", newline="") as file:
        rows = csv.DictReader(file)
        if tuple(rows.fieldnames or ()) != COLUMNS:
            has = ", ".join(rows.fieldnames or ())
            raise FactsError(f"{path.parent.name}/{path.name}: its columns are {has}.", f"Write {', '.join(COLUMNS)}.")
        return dict(_keyed(path, rows))


def _keyed(path: Path, rows: csv.DictReader[str]) -> Iterator[tuple[str, Name]]:
    seen: dict[str, int] = {}
    for row in rows:
        key, place = name_key(row["entity"] or ""), f"{path.parent.name}/{path.name}, line {rows.line_num}"
        if problem := _problem(row):
            raise FactsError(f"{place}: {problem}")
        if key in seen:
            raise FactsError(f"{place}: {row['entity']!r} is named in line {seen[key]}, too.")
        seen[key] = rows.line_num
        yield (
            key,
            Name(
                entity=row["entity"],
                text=row["name"],
                synonyms=tuple(one for part in row["synonyms"].split("|") if (one := part.strip())),
                gender=row["gender"],
                plural=_NUMBERS[row["number"]],
                article=row["article"],
                source=row["source"],
                source_id=row["source_id"],
                checked=row["checked"],
            ),
        )


def _problem(row: Mapping[str, str | None]) -> str:
    """What is wrong with a row; "" for nothing."""
    missing = [column for column in COLUMNS if row.get(column) is None]
    if missing or None in row:
        return "it has too few or too many cells."
    cells = {column: row[column] or "" for column in COLUMNS}
    if not cells["entity"].strip() or not cells["name"].strip():
        return "its entity or its name is empty."
    if any(mark in cells["name"] or not cells["name"].isprintable() for mark in MARKS):
        return f"the name {cells['name']!r} has one of {' '.join(MARKS)}, or a character that cannot be printed."
    if cells["number"] not in _NUMBERS:
        return f"the number {cells['number']!r} is neither singular nor plural."
    if cells["source"] != OURS and cells["source"] not in PUBLISHED:
        return f"the source {cells['source']!r} is none of {', '.join([OURS, *PUBLISHED])}."
    if not cells["source_id"].startswith(PUBLISHED.get(cells["source"], "")):
        return f"{cells['source']} has no identifier {cells['source_id']!r}."
    return ""
