"""A file of facts that a person brings: its columns, its rows, and what is wrong with them."""

from __future__ import annotations

import dataclasses
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from medfact.datasets import medlama
from medfact.datasets.collection import Collection, Problem
from medfact.datasets.limits import OWN, Limits, Row
from medfact.datasets.table_reader import FORMATS, Listed, read_table
from medfact.datasets.text import encoding_of
from medfact.errors import ColumnsMissing, FactsError
from medfact.facts import Fact, KnowledgeBase, digest, name_key, positive_facts

REQUIRED = ("head", "relation", "tail")
OPTIONAL = (
    "positive",
    "head_type",
    "tail_type",
    "head_id",
    "tail_id",
    "source",
    "source_id",
    "as_of",
    "strength",
    "specialty",
    "negative_of",
)
OTHER_NAMES = {"subject": "head", "predicate": "relation", "object": "tail"}
DISEK = {"disease": "head", "aspect": "relation", "entity": "tail"}
"""DiseK is not public; whoever holds it writes it so, one row per triplet. (TPEval's triplet has the disease last.)"""

LONGEST_NAME = 1_000
"""Characters; a longer cell is a paragraph, not a name."""

REPEATED = "it repeats an earlier row, and is counted once"

CONSTANT = "="
"""A column map's value that begins so gives one value to all rows: {"relation": "=symptoms"}."""

_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_BROKEN = re.compile(r"[\ud800-\udfff]")
"""Half of a character, which no file can hold."""

_TRUE = frozenset({"true", "t", "yes", "y", "1", "1.0"})
_FALSE = frozenset({"false", "f", "no", "n", "0", "0.0"})


def load_file(path: str | Path, columns: Mapping[str, str] | None = None, limits: Limits = OWN) -> Collection:
    """The facts of a file, or of all files in a folder, in any of the formats and layouts that are read.

    Args:
        path: columns `head, relation, tail` in any case, or `subject, predicate, object`; DiseK's `disease, aspect, entity`;
            or MedLAMA as published.
        columns: names of the file's columns under ours, where they differ; `=TEXT` gives all rows that text.
        limits: how large it may be.

    Rows that cannot be used are left out and told as problems; a file without a single usable row is refused.
    """
    path = Path(path)
    gathered = _Gathered(limits)
    for file in _files(path):
        gathered.file = file.name if path.is_dir() else ""
        names, rows = read_table(file, limits)
        gathered.notes += _notes(file)
        gathered.take_all(file.name, names, rows, columns or {})
    return gathered.collection(path.name)


def load_rows(name: str, names: list[str], rows: Iterator[Row], columns: Mapping[str, str]) -> Collection:
    """The facts of rows that come from elsewhere than a file; the rest is as in `load_file`."""
    gathered = _Gathered(OWN)
    gathered.take_all(name, names, rows, columns)
    return gathered.collection(name)


def _files(path: Path) -> list[Path]:
    """The file itself, or the files of a folder that can be read, in the order of their names."""
    if not path.is_dir():
        return [path]
    files = (file for file in path.iterdir() if file.name != medlama.TEMPLATES)
    found = sorted(file for file in files if file.suffix.lower() in FORMATS)
    if not found:
        raise FactsError(f"The folder {path.name!r} holds no file of facts.", f"Files end in {', '.join(FORMATS)}.")
    return found


def _records(
    file: str, names: list[str], rows: Iterator[Row], columns: Mapping[str, str], gathered: _Gathered
) -> Iterator[tuple[int, dict[str, str]]]:
    """The rows of a table as cells under our names; a row of MedLAMA gives one for each of its tails."""
    gathered.by_name = medlama.is_medlama(names)
    if gathered.by_name and medlama.LICENCE not in gathered.notes:
        gathered.notes.append(medlama.LICENCE)
    if not gathered.by_name:
        column_of = map_columns(names, columns, file)
        for number, row in rows:
            cells = {
                ours: theirs[1:] if theirs.startswith(CONSTANT) else row.get(theirs, "") for ours, theirs in column_of.items()
            }
            for one in _with_one_tail(number, cells, gathered):
                yield number, one
        return
    for number, row in rows:
        try:
            expanded = list(medlama.expand(row))
        except ValueError as error:
            gathered.tell(number, str(error))
            continue
        for cells in expanded:
            yield number, cells


def _with_one_tail(number: int, cells: dict[str, str], gathered: _Gathered) -> Iterator[dict[str, str]]:
    """A row's cells, once for each tail where its tail is a list; other lists of several are told."""
    several = next((name for name, text in cells.items() if isinstance(text, Listed) and name != "tail"), None)
    if several is not None and len(cells[several].texts) > 1:  # type: ignore[attr-defined]
        gathered.tell(number, f"the {several} holds a list; write one row for each of its elements")
        return
    plain = {name: (text.texts or ("",))[0] if isinstance(text, Listed) else text for name, text in cells.items()}
    tail = cells.get("tail", "")
    for text in tail.texts or ("",) if isinstance(tail, Listed) else (tail,):
        yield {**plain, "tail": text}


@dataclass
class _Gathered:
    """What was read so far. `further` are facts that count as known, and are not tested a second time."""

    limits: Limits
    problems: list[Problem] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    further: list[Fact] = field(default_factory=list)
    row_of: dict[str, tuple[str, int]] = field(default_factory=dict)
    file: str = ""
    by_name: bool = False
    """Whether the file says a fact again under another identifier; then it is one fact."""
    _facts: dict[str, Fact] = field(default_factory=dict)
    _partner_of: dict[str, tuple[int, str]] = field(default_factory=dict)
    _relations: set[str] = field(default_factory=set)

    def tell(self, number: int, what: str) -> None:
        self.problems.append(Problem(number, what, self.file))

    def take_all(self, file: str, names: list[str], rows: Iterator[Row], columns: Mapping[str, str]) -> None:
        """Takes all rows of a table."""
        for number, cells in _records(file, names, rows, columns, self):
            self._relations.add(cells["relation"])
            self.limits.check_relations(file, len(self._relations))
            self.take(number, cells)

    def collection(self, name: str) -> Collection:
        """What was gathered, as a collection; refused where no fact holds."""
        facts = self.facts()
        if not positive_facts(facts):
            first = f" ({self.problems[0]})" if self.problems else ""
            raise FactsError(f"{name} holds no usable true fact{first}.", "Mend the rows and choose the file again.")
        tested = _without_inverses(facts)
        known = KnowledgeBase((*positive_facts(facts), *self.further))
        problems = (*self.problems, *_only_themselves(tested, self.row_of))
        return Collection(name, tested, known, problems, tuple(self.notes))

    def take(self, number: int, given: dict[str, str]) -> None:
        """Takes one row's cells, or tells what is wrong with them."""
        cells = {name: " ".join(text.split()) for name, text in given.items()}
        partner = cells.pop("negative_of", "")
        wrong = _wrong(cells)
        if wrong:
            self.tell(number, wrong)
            return
        positive = _truth(cells.pop("positive", "") or "true")
        if positive is None:
            self.tell(number, "positive must be true or false")
            return
        texts: dict[str, Any] = {name: text for name, text in cells.items() if text}
        fact = Fact(positive=positive, **texts)
        key = fact.fact_id if positive else digest(fact.fact_id, partner)
        if self.by_name:
            key = digest(fact.head, fact.relation, fact.tail)
        self.row_of.setdefault(fact.fact_id, (self.file, number))
        if key not in self._facts:
            self._facts[key] = fact
            if partner and not positive:
                self._partner_of[key] = number, partner
            return
        # the same one of two is kept, whichever comes first in the file
        self._facts[key], other = sorted((self._facts[key], fact), key=_in_order)
        if self.by_name:
            self.further.append(other)
        else:
            self.tell(number, REPEATED)

    def facts(self) -> tuple[Fact, ...]:
        """All facts; negative ones of the file have found their positive one through `negative_of`, or stand alone."""
        positive = {fact.fact_id: fact for fact in self._facts.values() if fact.positive}
        counts: Counter[str] = Counter()
        paired: dict[str, Fact] = {}
        for key, fact in self._facts.items():
            number, partner_id = self._partner_of.get(key, (0, ""))
            partner = positive.get(partner_id)
            if partner is not None and fact.tail is not None:
                if (partner.head, partner.relation) == (fact.head, fact.relation):
                    counts[partner_id] += 1
                    own = partner.negative(fact.tail, fact.tail_id, counts[partner_id])
                    fact = replace(own, tail_type=fact.tail_type, source=fact.source, source_id=fact.source_id)
                else:
                    self.tell(number, "negative_of names a fact with another head or relation")
            if fact.fact_id in paired:
                self.tell(number, REPEATED)
            paired.setdefault(fact.fact_id, fact)
        return tuple(paired.values())


def _in_order(fact: Fact) -> list[str]:
    return [str(value or "") for value in dataclasses.astuple(fact)]


def _without_inverses(facts: tuple[Fact, ...]) -> tuple[Fact, ...]:
    """MedLAMA says two relations backwards too; where both are there, one is tested."""
    relations = {fact.relation for fact in facts}
    twice = {inverse for inverse, relation in medlama.INVERSES.items() if inverse in relations and relation in relations}
    return tuple(fact for fact in facts if fact.relation not in twice)


def _only_themselves(facts: Sequence[Fact], row_of: Mapping[str, tuple[str, int]]) -> Iterator[Problem]:
    """Heads of which a relation says nothing but themselves: they stay, and are told."""
    tails: defaultdict[tuple[str, str], set[str]] = defaultdict(set)
    for fact in facts:
        if fact.positive and fact.tail is not None:
            tails[fact.head, fact.relation].add(name_key(fact.tail))
    for fact in facts:
        if fact.positive and tails[fact.head, fact.relation] == {name_key(fact.head)}:
            file, number = row_of[fact.fact_id]
            yield Problem(number, "the head is its own and only tail; the fact stays, and is easy to guess", file)


def map_columns(names: list[str], columns: Mapping[str, str], file: str) -> dict[str, str]:
    """Our column name → the file's, from a column map and the names that speak for themselves."""
    found: dict[str, str] = {}
    others = {**OTHER_NAMES, **(DISEK if set(DISEK) <= {name.strip().lower() for name in names} else {})}
    for name in names:
        ours = others.get(name.strip().lower(), name.strip().lower())
        if ours in (*REQUIRED, *OPTIONAL):
            if names.count(name) > 1 and ours not in columns:
                raise FactsError(f"{file}, row 1: the column {name!r} stands twice.", "Rename the one that is not meant.")
            found.setdefault(ours, name)
    for ours, theirs in columns.items():
        if ours not in (*REQUIRED, *OPTIONAL):
            raise FactsError(f"There is no column {ours!r} to fill.", f"There is: {', '.join((*REQUIRED, *OPTIONAL))}.")
        if theirs not in names and not theirs.startswith(CONSTANT):
            raise FactsError(f"{file} has no column {theirs!r}.", f"It has: {', '.join(names)}.")
        found[ours] = theirs
    missing = [name for name in REQUIRED if name not in found]
    if missing:
        said = f"column {missing[0]} is" if len(missing) == 1 else f"columns {_listed(missing)} are"
        raise ColumnsMissing(
            f"{file}, row 1: the {said} missing; the file has {', '.join(names)[:200]}.",
            "Name the columns head, relation and tail, or say which of yours they are.",
            names,
        )
    return found


def _listed(names: list[str]) -> str:
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))


def _wrong(cells: Mapping[str, str]) -> str:
    """What is wrong with a row's names and what to do, or nothing."""
    for name, text in cells.items():
        if _BROKEN.search(text):
            return f"the {name} holds half a character; type it again"
        if "\x00" in text:
            return f"the {name} holds control characters; type it again"
    for name in REQUIRED:
        if not cells[name]:
            return f"the {name} is empty; fill it in, or delete the row"
        if len(cells[name]) > LONGEST_NAME:
            return f"the {name} is longer than {LONGEST_NAME} characters; give a name"
        if _CONTROL.search(cells[name]):
            return f"the {name} holds control characters; type it again"
    return ""


def _truth(text: str) -> bool | None:
    word = text.lower()
    return True if word in _TRUE else False if word in _FALSE else None


def _notes(path: Path) -> list[str]:
    if path.suffix.lower() in {".csv", ".tsv", ".jsonl"} and encoding_of(path).name == "Latin-1":
        return [f"{path.name} was read as Latin-1, not UTF-8: check that names with accents look right."]
    return []
