"""A file of facts that a person brings: its columns, its rows, and what is wrong with them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from medfact.datasets.collection import Collection, Problem
from medfact.datasets.tables import decode, read_table
from medfact.errors import ColumnsMissing, FactsError
from medfact.facts import Fact, KnowledgeBase, digest, positive_facts

REQUIRED = ("head", "relation", "tail")
OPTIONAL = (
    "positive",
    "head_type",
    "tail_type",
    "head_id",
    "tail_id",
    "source",
    "source_id",
    "strength",
    "specialty",
    "negative_of",
)
OTHER_NAMES = {"subject": "head", "predicate": "relation", "object": "tail"}
LONGEST_NAME = 1_000
"""Characters; a longer cell is a paragraph, not a name."""

REPEATED = "it repeats an earlier row, and is counted once"

CONSTANT = "="
"""A column map's value that begins so gives one value to all rows: {"relation": "=symptoms"}."""

_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_TRUE = frozenset({"true", "t", "yes", "y", "1", "1.0"})
_FALSE = frozenset({"false", "f", "no", "n", "0", "0.0"})


def load_file(path: str | Path, columns: Mapping[str, str] | None = None) -> Collection:
    """The facts of a CSV, TSV, JSONL, Parquet or Excel file.

    Args:
        path: the file. Columns `head, relation, tail` in any case, or `subject, predicate, object`.
        columns: names of the file's columns under ours, where they differ; `=TEXT` gives all rows that text.

    Rows that cannot be used are left out and told as problems; a file without a single usable row is refused.
    """
    path = Path(path)
    names, rows = read_table(path)
    column_of = map_columns(names, columns or {}, path.name)
    facts: dict[str, Fact] = {}
    partner_of: dict[str, tuple[int, str]] = {}
    problems: list[Problem] = []
    for number, row in rows:
        cells = _cells(number, row, column_of, problems)
        partner = cells.pop("negative_of", "") if cells else ""
        fact = _fact(number, cells, problems) if cells else None
        if fact is None:
            continue
        key = fact.fact_id if fact.positive else digest(fact.fact_id, partner)
        if key in facts:
            problems.append(Problem(number, REPEATED))
            continue
        facts[key] = fact
        if partner and not fact.positive:
            partner_of[key] = number, partner
    paired = _paired(facts, partner_of, problems)
    if not positive_facts(paired):
        first = f" ({problems[0]})" if problems else ""
        raise FactsError(f"{path.name} holds no usable true fact{first}.", "Mend the rows and choose the file again.")
    return Collection(path.name, paired, KnowledgeBase(positive_facts(paired)), tuple(problems), _notes(path))


def map_columns(names: list[str], columns: Mapping[str, str], file: str) -> dict[str, str]:
    """Our column name → the file's, from a column map and the names that speak for themselves."""
    found: dict[str, str] = {}
    for name in names:
        ours = OTHER_NAMES.get(name.strip().lower(), name.strip().lower())
        if ours in (*REQUIRED, *OPTIONAL):
            found.setdefault(ours, name)
    for ours, theirs in columns.items():
        if ours not in (*REQUIRED, *OPTIONAL):
            raise FactsError(f"There is no column {ours!r} to fill.", f"There is: {', '.join((*REQUIRED, *OPTIONAL))}.")
        if theirs not in names and not theirs.startswith(CONSTANT):
            raise FactsError(f"{file} has no column {theirs!r}.", f"It has: {', '.join(names)}.")
        found[ours] = theirs
    missing = [name for name in REQUIRED if name not in found]
    if missing:
        raise ColumnsMissing(
            f"{file}, row 1: the column {_listed(missing)} is missing; the file has {', '.join(names)[:200]}.",
            "Name the columns head, relation and tail, or say which of yours they are.",
            names,
        )
    return found


def _listed(names: list[str]) -> str:
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))


def _cells(number: int, row: dict[str, str], column_of: Mapping[str, str], problems: list[Problem]) -> dict[str, str] | None:
    """A row's cells under our names, with single spaces, or None after saying what is wrong with its names."""
    cells = {
        ours: " ".join((theirs[1:] if theirs.startswith(CONSTANT) else row.get(theirs, "")).split())
        for ours, theirs in column_of.items()
    }
    for name in REQUIRED:
        if not cells[name]:
            problems.append(Problem(number, f"the {name} is empty; fill it in, or delete the row"))
            return None
        if len(cells[name]) > LONGEST_NAME:
            problems.append(Problem(number, f"the {name} is longer than {LONGEST_NAME} characters; give a name"))
            return None
        if _CONTROL.search(cells[name]):
            problems.append(Problem(number, f"the {name} holds control characters; type it again"))
            return None
    return cells


def _fact(number: int, cells: dict[str, str], problems: list[Problem]) -> Fact | None:
    """The fact of a row's cells, or None after saying that `positive` cannot be read."""
    positive = _truth(cells.pop("positive", "") or "true")
    if positive is None:
        problems.append(Problem(number, "positive must be true or false"))
        return None
    texts: dict[str, Any] = {name: text for name, text in cells.items() if text}
    return Fact(positive=positive, **texts)


def _truth(text: str) -> bool | None:
    word = text.lower()
    return True if word in _TRUE else False if word in _FALSE else None


def _paired(facts: Mapping[str, Fact], partner_of: Mapping[str, tuple[int, str]], problems: list[Problem]) -> tuple[Fact, ...]:
    """Negative facts of the file find their positive one through `negative_of`, or stand alone."""
    positive = {fact.fact_id: fact for fact in facts.values() if fact.positive}
    counts: Counter[str] = Counter()
    paired: dict[str, Fact] = {}
    for key, fact in facts.items():
        number, partner_id = partner_of.get(key, (0, ""))
        partner = positive.get(partner_id)
        if partner is not None and fact.tail is not None:
            if (partner.head, partner.relation) == (fact.head, fact.relation):
                counts[partner_id] += 1
                fact = partner.negative(fact.tail, fact.tail_id, counts[partner_id])
            else:
                problems.append(Problem(number, "negative_of names a fact with another head or relation"))
        if fact.fact_id in paired:
            problems.append(Problem(number, REPEATED))
        paired.setdefault(fact.fact_id, fact)
    return tuple(paired.values())


def _notes(path: Path) -> tuple[str, ...]:
    if path.suffix.lower() in {".csv", ".tsv", ".jsonl"} and decode(path)[1] == "Latin-1":
        return (f"{path.name} was read as Latin-1, not UTF-8: check that names with accents look right.",)
    return ()
