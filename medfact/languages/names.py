"""What entities are called in a language: rows of `names.csv`, checked one by one.

A row has the entity (its English name, as facts have it), its name inside a sentence, synonyms with " | " between them, what
the language's grammar needs (gender, number, article), where the name comes from, and who checked it. Terms of the Human
Phenotype Ontology stand as published, but for the capital letter at their beginning.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from medfact.errors import FactsError, PoolError
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


PLURAL = "plural"

_MARK = re.compile(r"\[[XY]\]\{(?P<case>[^{}|]*)\}")


@dataclass(frozen=True)
class Declined:
    """What a case makes of a name of one gender, or of the plural. nouns: pattern and what becomes of it, in order."""

    article: str
    behind: str
    alone: str
    nouns: tuple[tuple[re.Pattern[str], str], ...] = ()


Cases = Mapping[str, Mapping[str, Declined]]
"""Case → gender, or `plural` → what it makes of a name."""


def kind_of(name: Name) -> str:
    """The row of a table of cases that a name has."""
    return PLURAL if name.plural else name.gender


def in_case(name: Name, case: str, bare: bool, cases: Cases) -> Name:
    """A name in a case, the first one where none is given; as it is in a language without cases."""
    if not cases:
        return name
    first = next(iter(cases))
    kind = kind_of(name)
    written, becomes = cases[first][kind].alone, cases[case or first][kind]
    article = becomes.article if name.article else ""
    ending = becomes.behind if article and not bare else becomes.alone
    return replace(name, article=article, text=" ".join(_words(name.text, written, ending, becomes)))


def _words(text: str, written: str, ending: str, becomes: Declined) -> Iterator[str]:
    words = text.split(" ")
    noun = next((place for place, word in enumerate(words) if not word[:1].islower()), len(words))
    for place, word in enumerate(words):
        if place < noun:
            yield word.removesuffix(written) + ending if word.endswith(written) else word
        else:
            yield _noun(word, becomes) if place == noun else word


def _noun(word: str, becomes: Declined) -> str:
    found = next(((pattern, text) for pattern, text in becomes.nouns if pattern.search(word)), None)
    return found[0].sub(found[1], word, count=1) if found else word


def read_cases(place: str, record: Any) -> Cases:
    """The table of a pool; none where it has no `cases`. Raises PoolError, naming file, case and gender."""
    if record is None:
        return {}
    if not isinstance(record, dict) or not record or not all(isinstance(genders, dict) for genders in record.values()):
        raise PoolError(f"{place}: `cases` is no table of cases.", "Write a case, and behind it a cell for each gender.")
    kinds = list(next(iter(record.values())))
    for case, genders in record.items():
        if list(genders) != kinds:
            has, wants = (", ".join(map(str, names)) for names in (genders, kinds))
            raise PoolError(f"{place}: the case {case!r} has {has}.", f"Write the genders of the first case: {wants}.")
    return {
        str(case): {str(kind): _cell(f"{place}: {case}, {kind}", cell) for kind, cell in genders.items()}
        for case, genders in record.items()
    }


def _cell(place: str, cell: Any) -> Declined:
    hint = "Write an article, an ending behind it, one without it, and pairs of pattern and text for nouns."
    if not isinstance(cell, list) or len(cell) < 3 or not all(isinstance(part, str) for part in cell[:3]):
        raise PoolError(f"{place}: the cell does not begin with three texts.", hint)
    if not all(isinstance(pair, list) and len(pair) == 2 and all(isinstance(one, str) for one in pair) for pair in cell[3:]):
        raise PoolError(f"{place}: what nouns become is no pair of texts.", hint)
    try:
        return Declined(cell[0], cell[1], cell[2], tuple((re.compile(pattern), becomes) for pattern, becomes in cell[3:]))
    except re.error as error:
        raise PoolError(f"{place}: a pattern is no regular expression: {error}.") from None


def check_cases(place: str, text: str, cases: Cases) -> None:
    """Raises PoolError, naming file and line, where a slot stands in a case that the table lacks. text: that of the file."""
    for number, line in enumerate(text.splitlines(), 1):
        for case in () if line.lstrip().startswith("#") else unknown_cases(line, cases):
            raise PoolError(
                f"{place}, line {number}: there is no case {case!r}.",
                f"Cases are: {', '.join(cases) or 'none; write them under `cases`'}.",
            )


def unknown_cases(text: str, cases: Cases) -> Iterator[str]:
    """The cases in which slots of a text stand and that the table lacks."""
    return (mark["case"] for mark in _MARK.finditer(text) if mark["case"] not in cases)


def check_genders(place: str, names: Sequence[Name], cases: Cases) -> None:
    """Raises FactsError, naming file and entity, where a name's gender is not in the table, or its article is another's."""
    for name in names if cases else ():
        first = next(iter(cases.values()))
        kind = kind_of(name)
        if kind not in first:
            wants = ", ".join(first)
            raise FactsError(f"{place}: {name.entity!r} has the gender {name.gender!r}.", f"Cases are known for: {wants}.")
        if name.article not in ("", first[kind].article):
            raise FactsError(
                f"{place}: {name.entity!r} has the article {name.article!r}.", f"With {kind} it is {first[kind].article!r}."
            )
