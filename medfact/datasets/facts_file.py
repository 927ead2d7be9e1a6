"""A user's file of facts: its columns, its rows, and their problems."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from itertools import chain, islice
from pathlib import Path
from typing import Any, Protocol

from medfact.datasets import medlama, validity
from medfact.datasets.cells import UNCOMPUTED, Doubts, Listed, SpellingKey, fault, spelling_note
from medfact.datasets.collection import Collection, Problem
from medfact.datasets.columns import (
    CONSTANT,
    MARK,
    REQUIRED,
    SPLIT,
    TAIL_OF,
    has_facts,
    is_name_of_column,
    map_columns,
    of_prefix,
    renamed_relations,
)
from medfact.datasets.denials import FALSE_FACT, LEFT_OUT, Denials, is_mark, truth
from medfact.datasets.headers import LOOKED_AT, MAX_NAME, OWN, Columns, Limits, Row
from medfact.datasets.pairing import alone_note, contradictions, paired, partners, partners_by_place, sort_key
from medfact.datasets.table_reader import open_table
from medfact.datasets.text import encoding_of
from medfact.errors import FactsError
from medfact.facts import Fact, KnowledgeBase, digest, name_key, normalize_space, positive_facts
from medfact.table_formats import FORMATS

REPEATED = "it repeats an earlier row, and is counted once"

OTHER_UNTIL = (
    "it repeats an earlier row, and one of the two says that the fact is no longer true: so it is taken; delete the wrong row"
)

OVER = "negative_of names a fact that is no longer true, and is left out: the false one is asked on its own"

AHEAD = "it is called false, and its until lies ahead: until says when a false fact stopped being true; correct one of the two"


class Guesser(Protocol):
    """Completes what a person said of a table's columns, from their names and the first rows (`guessing`)."""

    def names_facts(self, headers: Sequence[str], /) -> bool:
        """Whether these names of columns are words for those of facts."""

    def completed(
        self, place: str, headers: Sequence[str], rows: Sequence[Mapping[str, str]], given: Mapping[str, str], /
    ) -> tuple[dict[str, str], tuple[str, ...]]:
        """The column map of a table, and notes on it. Raises MissingColumns where a person has to say more."""


def load_file(
    path: str | Path, columns: Mapping[str, str] | None = None, limits: Limits = OWN, guesser: Guesser | None = None
) -> Collection:
    """The facts of a file, or of all files in a folder, in any supported format and layout.

    Args:
        path: columns `head, relation, tail` in any case, or `subject, predicate, object`; DiseK's `disease, aspect, entity`;
            or MedLAMA as published.
        columns: our column name → the file's, where they differ; `=TEXT` gives all rows that text. `relation:NAME` → `=TEXT`
            gives the file's relation NAME that name. `tail:COLUMN` → `=RELATION`, `mark:COLUMN` → `=TAIL` and `split` → `=;`
            say what else a column is (`columns`).
        limits: how large the file may be.
        guesser: completes the column map; None where the file's own names have to say it.

    Rows that cannot be used become problems. Raises FactsError if no true fact can be used.
    """
    path, columns = Path(path), columns or {}
    reading = _Reading(limits, validity.today(), guesser=guesser)
    needed = Columns(lambda names: has_facts(names, columns) or bool(guesser and guesser.names_facts(names)), fewest=2)
    for file in _files(path):
        reading.file = file.name if path.is_dir() else ""
        table = open_table(file, limits, needed)
        reading.notes += (*_notes(file), *table.notes)
        reading.add_table(table.place, table.columns, table.rows, columns)
    return reading.collection(path.name)


def load_rows(
    name: str, names: list[str], rows: Iterator[Row], columns: Mapping[str, str], guesser: Guesser | None = None
) -> Collection:
    """Like `load_file`, for rows that do not come from a file."""
    reading = _Reading(OWN, validity.today(), guesser=guesser)
    reading.add_table(name, names, rows, columns)
    return reading.collection(name)


def _files(path: Path) -> list[Path]:
    """The file itself, or a folder's readable files in alphabetical order."""
    if not path.is_dir():
        return [path]
    files = (file for file in path.iterdir() if file.name != medlama.TEMPLATES)
    readable = sorted(file for file in files if file.suffix.lower() in FORMATS)
    if not readable:
        raise FactsError(f"The folder {path.name!r} holds no file of facts.", f"Files end in {', '.join(FORMATS)}.")
    return readable


def _records(
    file: str, names: list[str], rows: Iterator[Row], columns: Mapping[str, str], reading: _Reading
) -> Iterator[tuple[int, dict[str, str]]]:
    """The rows of a table as cells under our column names, one for each tail."""
    reading.by_name = medlama.is_medlama(names)
    if reading.by_name:
        yield from _medlama_records(rows, reading)
        return
    column_of = map_columns(names, columns, file)
    layout = _Layout.of(columns, column_of)
    read = {**column_of, **{name: name for name in (*layout.tails, *layout.marks)}}
    denials = Denials(file, names, read)
    for number, row in rows:
        cells = {ours: theirs[1:] if theirs.startswith(CONSTANT) else row.get(theirs, "") for ours, theirs in column_of.items()}
        if _is_decoration(row, cells["head"]):
            continue
        if is_name_of_column(cells["head"], column_of) and (header := [text.strip() for text in row.values()]):
            if all(text.casefold() in ("", name.casefold()) for name, text in zip(row, header, strict=True)):
                reading.add_problem(number, "it is the header again, and is left out")
                continue
            if has_facts(header, columns):
                reading.add_problem(
                    number, "another table begins here, with other columns, and is not read; save it as a file of its own"
                )
                break
        effect = denials.effect(row)
        if effect == FALSE_FACT and truth(cells.get("positive", "")):
            reading.add_problem(number, "positive says true, and another column denies it; correct one of the two")
        elif effect != LEFT_OUT:
            cells |= {"positive": "false"} if effect else {}
            if not (told := layout.rows(cells, row)):
                reading.add_problem(number, "no column has a tail for it; fill one in, or delete the row")
            yield from ((number, one) for fact in told for one in _with_one_tail(number, fact, reading))
    reading.notes += denials.notes()
    reading.doubts.add_columns(name for name in names if name not in read.values())


@dataclass(frozen=True)
class _Layout:
    """What a column map says of a table where a row is not one fact.

    tails: column → the relation of the tails in it. marks: column → the tail that its cells mark. splits: role or column → the
    separator of several tails in a cell.
    """

    tails: Mapping[str, str]
    marks: Mapping[str, str]
    splits: Mapping[str, str]

    @classmethod
    def of(cls, columns: Mapping[str, str], column_of: Mapping[str, str]) -> _Layout:
        tails, general = of_prefix(columns, TAIL_OF), columns.get(SPLIT, "").removeprefix(CONSTANT)
        names = {**dict(zip(tails, tails, strict=True)), **{role: column_of.get(role, "") for role in ("tail", "tail_id")}}
        signs = {role: of_prefix(columns, f"{SPLIT}:").get(name, general) for role, name in names.items()}
        return cls(tails, of_prefix(columns, MARK), {role: sign for role, sign in signs.items() if sign not in ("", "none")})

    def rows(self, cells: dict[str, str], row: Mapping[str, str]) -> list[dict[str, str]]:
        """The cells of each fact in a row."""
        if self.marks:
            return [{**cells, "tail": tail} for name, tail in self.marks.items() if is_mark(row.get(name, ""))]
        if not self.tails:
            return [{**cells, **{role: self._split(role, cells[role]) for role in self.splits if role in cells}}]
        filled = {name: relation for name, relation in self.tails.items() if row.get(name, "").strip()}
        return [{**cells, "relation": relation, "tail": self._split(name, row[name])} for name, relation in filled.items()]

    def _split(self, name: str, text: str) -> str:
        parts = [part.strip() for part in text.split(self.splits[name])] if name in self.splits else []
        return Listed.of(filter(None, parts)) if len(parts) > 1 else text


def _is_decoration(row: Mapping[str, str], head: str) -> bool:
    """Whether a row is only words after the sign of a comment, or the line that Markdown draws below a header."""
    if not head.lstrip().startswith(("#", "-", ":")):
        return False
    filled = [text for cell in row.values() if (text := cell.strip())]
    is_comment = filled == [head.strip()] and head.lstrip().startswith("#") and not fault(head.strip())
    return is_comment or (len(filled) > 1 and all(re.fullmatch(r":?-{2,}:?", text) for text in filled))


def _medlama_records(rows: Iterator[Row], reading: _Reading) -> Iterator[tuple[int, dict[str, str]]]:
    if medlama.LICENCE not in reading.notes:
        reading.notes.append(medlama.LICENCE)
    for number, row in rows:
        try:
            expanded = list(medlama.expand(row))
        except ValueError as error:
            reading.add_problem(number, str(error))
            continue
        yield from ((number, cells) for cells in expanded)


def _with_one_tail(number: int, cells: dict[str, str], reading: _Reading) -> Iterator[dict[str, str]]:
    """A row's cells, once per tail if the tail is a list. Any other list with several elements is a problem, but that of the
    tails' identifiers.
    """
    cells |= {name: reading.doubts.meant(name, cells[name]) for name in (*REQUIRED, "head_id", "tail_id") if name in cells}
    if not any(isinstance(text, Listed) for text in cells.values()):
        yield cells
        return
    tails = _elements(cells["tail"])
    several = next((name for name, text in cells.items() if name != "tail" and len(_elements(text)) > 1), None)
    if several is not None and not (several == "tail_id" and len(tails) > 1):
        reading.add_problem(number, f"the {several} holds a list; write one row for each of its elements")
        return
    plain = {name: _elements(text)[0] for name, text in cells.items()}
    identifiers = _elements(cells.get("tail_id", ""))
    if len(tails) == 1 or identifiers == ("",):
        yield from ({**plain, "tail": tail} for tail in tails)
    elif len(identifiers) == len(tails):
        yield from ({**plain, "tail": tail, "tail_id": own} for tail, own in zip(tails, identifiers, strict=True))
    else:
        reading.add_problem(
            number, f"it has {len(tails)} tails and {len(identifiers)} identifiers; there must be as many of each"
        )


def _elements(text: str) -> tuple[str, ...]:
    """The elements of a list, or the one text; one empty text where a list has none."""
    return (text.texts or ("",)) if isinstance(text, Listed) else (text,)


@dataclass
class _Reading:
    """What was read so far.

    further: facts that count as known but are not tested, because a tested one says the same.
    row_of: fact id → file and row where the fact first occurs.
    day: the one with which dates are compared.
    over: key of a true fact that holds no longer → that fact: known, not tested, and no partner of false ones.
    by_name: whether the file repeats a fact under other identifiers, which counts as one fact.
    _false: key of a false fact → its file, its row and its `negative_of`. _alone: `Collection.alone`.
    """

    limits: Limits
    day: date
    problems: list[Problem] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    further: list[Fact] = field(default_factory=list)
    over: dict[str, Fact] = field(default_factory=dict)
    row_of: dict[str, tuple[str, int]] = field(default_factory=dict)
    file: str = ""
    by_name: bool = False
    doubts: Doubts = field(default_factory=Doubts)
    guesser: Guesser | None = None
    _facts: dict[str, Fact] = field(default_factory=dict)
    _false: dict[str, tuple[str, int, str]] = field(default_factory=dict)
    _alone: dict[str, Fact] = field(default_factory=dict)
    _relations: set[str] = field(default_factory=set)

    def add_problem(self, number: int, message: str) -> None:
        self.problems.append(Problem(number, message, self.file))

    def add_table(self, file: str, names: list[str], rows: Iterator[Row], columns: Mapping[str, str]) -> None:
        """Adds all rows of a table."""
        if self.guesser is not None and not medlama.is_medlama(names):
            begun = list(islice(rows, LOOKED_AT))
            columns, notes = self.guesser.completed(file, names, [row for _, row in begun], columns)
            self.notes += notes
            rows = chain(begun, rows)
        renamed = renamed_relations(columns)
        for number, cells in _records(file, names, rows, columns, self):
            cells["relation"] = renamed.get(name_key(cells["relation"]), cells["relation"])
            self._relations.add(cells["relation"])
            self.limits.check_relations(file, len(self._relations))
            self._add_row(number, cells)

    def collection(self, name: str) -> Collection:
        """The collection of all rows. Raises FactsError if no true fact can be used."""
        if not self._facts and not self.problems:
            raise FactsError(f"{name} has a header, and no rows.", "Write one fact a row below the header.")
        self.over = {key: fact for key, fact in self._facts.items() if fact.positive and validity.is_over(fact, self.day)}
        self._facts = {key: fact for key, fact in self._facts.items() if key not in self.over}
        if self.over:
            self.notes.append(validity.left_out_note(len(self.over), self.day))
        contradicted = self._drop_contradictions()
        facts = self._paired_facts()
        if not positive_facts(facts) and self.over:
            raise FactsError(
                f"{name} holds no fact that is still true: all usable rows have an until before {self.day.isoformat()}.",
                "To ask whether a model still affirms them, write false in a column positive, and add facts that are true.",
            )
        if not positive_facts(facts):
            first = f" ({self.problems[0]})" if self.problems else ""
            raise FactsError(f"{name} holds no usable true fact{first}.", "Correct the rows and choose the file again.")
        tested = _without_inverses(facts)
        keys = [(f.positive, name_key(f.head), name_key(f.relation), name_key(f.tail or "")) for f in tested]
        too_close = ((fact.head, fact.tail or "") for fact in (*self.over.values(), *validity.bound_or_once_true(facts)))
        known = KnowledgeBase((*positive_facts(facts), *self.further), also_true=(*contradicted, *too_close))
        problems = (*self.problems, *_only_themselves(tested, keys, self.row_of))
        return Collection(
            name, tested, known, problems, (*self.notes, *self.doubts.notes(), *spelling_note(tested, keys)), alone=self._alone
        )

    def _add_row(self, number: int, texts: dict[str, str]) -> None:
        """Adds one row's fact, or a problem."""
        cells = self.doubts.emptied({name: " ".join(text.split()) for name, text in texts.items()})
        partner = cells.pop("negative_of", "")
        if wrong := _wrong(cells) or validity.problem_of(cells):
            self.add_problem(number, wrong)
            return
        cells = validity.normalized(cells)
        positive = truth(cells.pop("positive", "") or "true")
        if positive is None:
            self.add_problem(number, "positive must be true or false")
            return
        self.doubts.look_at(cells, texts)
        filled: dict[str, Any] = {name: text for name, text in cells.items() if text}
        fact = Fact(positive=positive, **filled)
        if fact.until and not positive and not validity.is_over(fact, self.day):
            self.add_problem(number, AHEAD)
            return
        seen = _as_seen(fact)
        key = seen.fact_id if positive else digest(seen.fact_id, partner)
        if self.by_name:
            key = digest(seen.head, seen.relation, seen.tail)
        self.row_of.setdefault(fact.fact_id, (self.file, number))
        if key in self._facts:
            self._add_repetition(number, key, fact)
            return
        self._facts[key] = fact
        if not positive:
            self._false[key] = self.file, number, partner

    def _add_repetition(self, number: int, key: str, fact: Fact) -> None:
        """Keeps one of two facts with the same key, whatever their order in the file: one that is over, so that nothing is
        asked as true of which a row says that it no longer is; then names without hidden characters.
        """

        def order(one: Fact) -> tuple[object, ...]:
            return not validity.is_over(one, self.day), one is not _as_seen(one), sort_key(one)

        self._facts[key], other = sorted((self._facts[key], fact), key=order)
        if self.by_name:
            self.further.append(other)
        else:
            differ = validity.is_over(self._facts[key], self.day) and not validity.is_over(other, self.day)
            self.add_problem(number, OTHER_UNTIL if differ else REPEATED)

    def _drop_contradictions(self) -> tuple[tuple[str, str], ...]:
        """Drops what the file calls both true and false. Returns heads and tails: nothing may call them false either."""
        pairs = []
        for keys in contradictions(self._facts):
            facts = [self._facts.pop(key) for key in keys]
            first = facts[0]
            other = next(fact for fact in facts if fact.positive is not first.positive)
            (first_file, first_row), (file, row) = self.row_of[first.fact_id], self.row_of[other.fact_id]
            where = Problem(first_row, "", first_file).where
            said = "true" if first.positive else "false"
            message = f"it contradicts {where}, which calls it {said}; neither is used: delete the wrong one"
            self.problems.append(Problem(row, message, file))
            pairs += [(fact.head, fact.tail or "") for fact in facts if fact.positive]
        return tuple(pairs)

    def _paired_facts(self) -> tuple[Fact, ...]:
        """All facts. A false one is paired with the true fact that it belongs to, or stands alone."""
        named = {key: name for key, (_, _, name) in self._false.items() if name}
        left = {key: name for key, name in named.items() if key in self._facts}
        of_false = partners(self._facts, left) if named else partners_by_place(self._facts)
        lost = partners(self._facts | self.over, {key: left[key] for key in of_false.wrong}).partner_of if self.over else {}
        counts: Counter[str] = Counter()
        facts: dict[str, Fact] = {}
        for key, fact in self._facts.items():
            if partner := of_false.partner_of.get(key):
                counts[partner.fact_id] += 1
                alone, fact = fact, paired(fact, partner, counts[partner.fact_id])
                if not named:
                    self._alone[fact.fact_id] = alone
            if wrong := REPEATED if fact.fact_id in facts else OVER if key in lost else of_false.wrong.get(key):
                file, number = self._false[key][:2] if key in self._false else self.row_of[fact.fact_id]
                self.problems.append(Problem(number, wrong, file))
            facts.setdefault(fact.fact_id, fact)
        if of_false.alone:
            self.notes.append(alone_note(of_false.alone))
        return tuple(facts.values())


def _without_inverses(facts: tuple[Fact, ...]) -> tuple[Fact, ...]:
    """The facts without MedLAMA's inverse relations, if the relations that they invert are there too."""
    relations = {fact.relation for fact in facts}
    inverses = {inverse for inverse, relation in medlama.INVERSES.items() if relation in relations}
    return tuple(fact for fact in facts if fact.relation not in inverses)


def _only_themselves(
    facts: Sequence[Fact], keys: Sequence[SpellingKey], row_of: Mapping[str, tuple[str, int]]
) -> Iterator[Problem]:
    """A problem for each fact whose head is its own only tail in that relation. The fact stays."""
    true = [(fact, head == tail) for fact, (positive, head, _, tail) in zip(facts, keys, strict=True) if positive]
    others = {(fact.head, fact.relation) for fact, is_itself in true if not is_itself}
    for fact, is_itself in true:
        if is_itself and (fact.head, fact.relation) not in others:
            file, number = row_of[fact.fact_id]
            yield Problem(number, "the head is its own and only tail; the fact stays, and is easy to guess", file)


def _as_seen(fact: Fact) -> Fact:
    """The fact under the names that a reader sees: two spellings that look alike are one fact, as are full and half width."""
    if fact.head.isascii() and fact.relation.isascii() and (fact.tail or "").isascii():
        return fact
    names: dict[str, Any] = {name: normalize_space(unicodedata.normalize("NFKC", getattr(fact, name))) for name in REQUIRED}
    return fact if all(getattr(fact, name) == text for name, text in names.items()) else replace(fact, **names, fact_id="")


def _wrong(cells: Mapping[str, str]) -> str:
    """What is wrong with a row's names and what to do, or nothing."""
    for name, text in cells.items():
        if re.search(r"[\ud800-\udfff]", text):
            return f"the {name} holds half a character; type it again"
        if "\x00" in text:
            return f"the {name} holds control characters; type it again"
        if text == UNCOMPUTED:
            return f"the {name} {fault(text)}"
    if cells["relation"].startswith(("-", "−", "–", "¬", "!", "~")):
        return f"the relation {cells['relation'][:40]!r} may deny; write it without its sign, and false in a column positive"
    return next(filter(None, (_wrong_name(name, cells[name]) for name in REQUIRED)), "")


def _wrong_name(name: str, text: str) -> str:
    if not text or not (text.isascii() or normalize_space(text)):
        return f"the {name} is empty; fill it in, or delete the row"
    if len(text) > MAX_NAME:
        return f"the {name} is longer than {MAX_NAME} characters; give a name"
    if re.search(r"[\x00-\x1f\x7f]", text):
        return f"the {name} holds control characters; type it again"
    wrong = fault(text)
    return f"the {name} {wrong}" if wrong else ""


def _notes(path: Path) -> list[str]:
    if FORMATS[path.suffix.lower()].is_text and (name := encoding_of(path).name).endswith("Latin-1"):
        return [f"{path.name} was read as {name}, not UTF-8: check that names with accents look right."]
    return []
