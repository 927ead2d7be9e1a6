"""Documents as passages of whole sentences, and the names that are looked for in them: a user's list, or the bundled sets'."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from pathlib import Path
from typing import NamedTuple

from medfact.datasets import bundled_knowledge
from medfact.datasets.bundled import bundled_names, lay_names, load_bundled
from medfact.datasets.documents import MOST_WORDS, SENTENCE_END, TEXT_COLUMNS, TEXTS, once, paragraphs
from medfact.datasets.headers import MAX_NAME, OWN, Columns, Limits
from medfact.datasets.names import called
from medfact.datasets.table_reader import read_table
from medfact.datasets.text import open_text
from medfact.errors import FactsError, MissingColumns, Mistake
from medfact.facts import Fact, name_key, normalize_space
from medfact.prototypes import load_pool
from medfact.prototypes.library import BUILTIN_POOL

MOST_NAMES = 100_000
"""Of a list."""

_BETWEEN_NAMES = "|"
_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
_NAME, _ALSO = ("name", "tail", "disease", "head", "entity", "term"), ("also", "synonyms", "synonym")
_RELATION, _TYPE, _IDENTIFIER = ("relation",), ("type", "tail_type", "head_type"), ("identifier", "tail_id", "head_id")


@dataclass(frozen=True)
class Name:
    """An entity as facts will name it. also: its other names. relation: at whose end it may stand, "" for any. type,
    identifier: as facts have them, None if they are not known.
    """

    name: str
    also: tuple[str, ...] = ()
    relation: str = ""
    type: str | None = None
    identifier: str | None = None

    @property
    def names(self) -> tuple[str, ...]:
        return (self.name, *self.also)


class Found(NamedTuple):
    """A name that stands in a sentence. start, end: its characters there."""

    name: Name
    start: int
    end: int


# ------------------------------------------------------------------------------------------------ where names stand


@lru_cache(maxsize=1 << 17)
def stem(word: str) -> str:
    """A word without the ending of the plural or the possessive: "rashes" and "rash", "Crohn's" and "Crohn" are one."""
    plain = name_key(word).replace(" ", "")
    if len(plain) > 4 and re.search(r"(?:ss|x|z|ch|sh)es$", plain):
        return plain[:-2]
    if plain.endswith("che"):  # headaches, of which one cannot tell whether it is like "patches"
        return plain[:-1]
    if len(plain) > 4 and plain.endswith("ies"):
        return f"{plain[:-3]}y"
    return plain[:-1] if len(plain) > 3 and re.search(r"[^siu]s$", plain) else plain


@lru_cache(maxsize=1 << 17)
def stems(name: str) -> tuple[str, ...]:
    """The stems of a name's words."""
    return tuple(stem(word) for word in _WORD.findall(name.replace("-", " ")))


class Finder:
    """Looks for many names at once, as whole words, without regard to case, hyphens, accents, plural and spelling."""

    def __init__(self, names: Iterable[Name]) -> None:
        self._by_first: defaultdict[str, dict[tuple[str, ...], Name]] = defaultdict(dict)
        for name in names:
            for words in filter(None, map(stems, name.names)):
                self._by_first[words[0]].setdefault(words, name)
        for first, of in self._by_first.items():
            self._by_first[first] = dict(sorted(of.items(), key=lambda one: -len(one[0])))

    def find(self, sentence: str) -> Iterator[Found]:
        """The names in a sentence from left to right, the longest at each place; what stands within one is not found again."""
        words = [(stem(match.group()), match.start(), match.end()) for match in _WORD.finditer(sentence)]
        plain = tuple(word for word, _, _ in words)
        at = 0
        while at < len(words):
            longest = next((w for w in self._by_first.get(plain[at], ()) if plain[at : at + len(w)] == w), None)
            if longest is None:
                at += 1
                continue
            last = at + len(longest) - 1
            yield Found(self._by_first[plain[at]][longest], words[at][1], words[last][2])
            at = last + 1

    def is_in(self, *texts: str) -> bool:
        """Whether any of the names stands in any of these texts."""
        return any(True for text in texts for _ in self.find(text))


# ------------------------------------------------------------------------------------------------ lists


def read_names(path: Path) -> tuple[Name, ...]:
    """The names of a list, each once: a text with one a line, its other names behind it with "|" between; or a table with a
    column `name` (or disease, head, tail) and, where there are, `also`, `relation`, `type` and `identifier`.

    Raises FactsError where it cannot be read (says which row), or holds none.
    """
    found: dict[tuple[str, str], Name] = {}
    for number, one in _names_of_text(path) if path.suffix.lower() in TEXTS else _names_of_table(path):
        if max(map(len, one.names)) > MAX_NAME:
            raise FactsError(f"{path.name}, row {number}: a name is longer than {MAX_NAME:,} characters.", "Shorten it.")
        if one.name:
            found.setdefault((name_key(one.name), name_key(one.relation)), one)
    if not 0 < len(found) <= MOST_NAMES:
        raise FactsError(f"{path.name} holds {len(found):,} names.", f"Bring 1 to {MOST_NAMES:,}, one a line.")
    return tuple(found.values())


def _names_of_text(path: Path) -> Iterator[tuple[int, Name]]:
    if not path.is_file():
        raise FactsError(f"There is no file {str(path)[:200]!r}.", "Check the path of the list.")
    with open_text(path) as file:
        for number, line in enumerate(file, 1):
            first, *also = [normalize_space(part) for part in line.split(_BETWEEN_NAMES)]
            yield number, Name(first, tuple(filter(None, also)))


def _names_of_table(path: Path) -> Iterator[tuple[int, Name]]:
    columns, rows = read_table(path, needed=Columns(lambda names: any(name.strip().lower() in _NAME for name in names)))
    there = {name.strip().lower(): name for name in reversed(columns)}
    known = [
        next((there[name] for name in names if name in there), "") for names in (_NAME, _ALSO, _RELATION, _TYPE, _IDENTIFIER)
    ]
    if not known[0]:
        raise FactsError(f"{path.name} does not say which column holds the names.", f"Call it `{_NAME[0]}`.")
    for number, cells in rows:
        name, also, relation, kind, identifier = (normalize_space(cells.get(column, "")) for column in known)
        others = tuple(filter(None, map(normalize_space, also.split(_BETWEEN_NAMES))))
        yield number, Name(name, others, relation, kind or None, identifier or None)


# ------------------------------------------------------------------------------------------------ what the bundled sets know


@cache
def _bundled() -> dict[str, Name]:
    """Key of a name → the head or tail of the bundled sets that has it, with all its names, everyday ones among them. Of
    several, the first with an identifier.
    """
    everyday: defaultdict[str, list[str]] = defaultdict(list)
    for lay, name in lay_names():
        everyday[name_key(name)].append(lay)
    found: dict[str, Name] = {}
    for name in bundled_names():
        known = load_bundled(name).known
        for fact in load_bundled(name).facts:
            for end, kind, identifier in _ends(fact):
                names = dict.fromkeys((*sorted(known.names(end) - {end}), *everyday[name_key(end)]))
                made = Name(end, tuple(names), type=kind, identifier=identifier)
                for key in map(name_key, made.names):
                    if key not in found or (identifier and not found[key].identifier):
                        found[key] = made
    return found


def _ends(fact: Fact) -> Iterator[tuple[str, str | None, str | None]]:
    yield fact.head, fact.head_type, fact.head_id
    if fact.tail:
        yield fact.tail, fact.tail_type, fact.tail_id


def with_known_names(name: Name) -> Name:
    """A name with what the bundled sets know of it: other names, type and identifier. It is called as it was."""
    keys = (name_key(name.name), *sorted(called(name.name)))
    known = next((_bundled()[key] for key in keys if key in _bundled()), None)
    if known is None:
        return name
    also = dict.fromkeys((*name.also, *(one for one in known.names if one != name.name)))
    return replace(name, also=tuple(also), type=name.type or known.type, identifier=name.identifier or known.identifier)


def tails_of(relation: str, own: Sequence[Name] = ()) -> tuple[Name, ...]:
    """What may stand at the end of a relation: of one's own list what is of it, or of none; without a list, the tails that the
    bundled sets have under any name of the relation, and the partners that they call false.

    Raises Mistake where nothing is known.
    """
    if own:
        found = [with_known_names(one) for one in own if not one.relation or _canonical(one.relation) == _canonical(relation)]
    else:
        tails = dict.fromkeys(
            fact.tail for name in bundled_names() for fact in load_bundled(name).facts
            if fact.tail and _canonical(fact.relation) == _canonical(relation)
        )  # fmt: skip
        found = [with_known_names(Name(tail)) for tail in tails]
    if not found:
        stated = {_canonical(fact.relation) for name in bundled_names() for fact in load_bundled(name).facts if fact.tail}
        raise Mistake(
            f"Nothing is known that stands at the end of {relation!r}.",
            "Give a list of such names with --names FILE, or name one of: "
            f"{', '.join(sorted(stated & load_pool(BUILTIN_POOL).relations.keys()))}.",
        )
    return tuple(found)


@lru_cache(maxsize=1 << 12)
def _canonical(relation: str) -> str:
    return load_pool(BUILTIN_POOL).canonical(relation) or name_key(relation)


def are_linked(head: Name, tail: Name) -> bool:
    """Whether a bundled set links the two by any relation, in either direction, under any of their names."""
    return bundled_knowledge.are_linked(head.names, tail.names)


_TEXT = (*TEXT_COLUMNS, "answer")
"""Names of the column with the text, in any case, the first of them first; MedQuAD's last."""

_BESIDE = {
    "title": ("title", "focus", "topic", "heading"),
    "also": ("synonyms", "also"),
    "section": ("section", "question_type", "question"),
    "source": ("source", "publisher", "journal"),
    "address": ("address", "url", "link", "source_id", "doi", "pmid", "id"),
}
"""What a table may say beside a text → the names of its column, in any case, the first of them first."""

_ABBREVIATED = re.compile(r"(?:\b(?:e\.g|i\.e|vs|cf|Dr|St|No|approx|[A-Z])\.)$")
"""What ends in a full stop that ends no sentence."""


@dataclass(frozen=True)
class Passage:
    """Sentences that follow each other, of MOST_WORDS words together at most.

    title: what their document is about, "" if it does not say; also: other names of that. section: the part of the document.
    source: who says so. address: where it stands, as the document names it: a text, which nobody opens.
    """

    sentences: tuple[str, ...]
    title: str = ""
    also: tuple[str, ...] = ()
    section: str = ""
    source: str = ""
    address: str = ""

    @property
    def about(self) -> tuple[str, ...]:
        """The names of what the document is about."""
        return (self.title, *self.also) if self.title else self.also

    @property
    def searched(self) -> str:
        """What retrieval sees of it."""
        return " ".join(filter(None, (*self.about, self.section, *self.sentences)))


def read_passages(path: Path, column: str | None = None, limits: Limits = OWN) -> tuple[Passage, ...]:
    """The passages of a file, or of all files of a folder, in order; the same passage counts once.

    Of a text, the file's name says what it is about, "atrial_fibrillation.txt"; of a table, the columns of `_BESIDE`.
    column: of a table, the one with the text; by default one of `_TEXT`, or the only one.

    Raises:
        FactsError: there is no such file, it cannot be read (says which row), or it holds no text.
        MissingColumns: a table has several columns and none of these names.
    """

    def read(file: Path) -> Iterator[Passage]:
        return _passages_of_text(file, limits) if file.suffix.lower() in TEXTS else _passages_of_table(file, column, limits)

    return once(path, read, lambda passage: (passage.sentences, passage.title))


def _passages_of_text(file: Path, limits: Limits) -> Iterator[Passage]:
    title = " ".join(re.sub(r"[_-]+", " ", file.stem).split())
    for line, paragraph in paragraphs(file, limits):
        for some in grouped(sentences_of(paragraph)):
            yield Passage(some, title, source=file.name, address=f"line {line}")


def _passages_of_table(file: Path, column: str | None, limits: Limits) -> Iterator[Passage]:
    def has_text(names: list[str]) -> bool:
        return column in names if column is not None else _first(names, _TEXT) is not None

    names, rows = read_table(file, limits, Columns(has_text))
    text = column if column is not None else _first(names, _TEXT) or (names[0] if len(names) == 1 else None)
    if text is None or text not in names:
        said = "does not say which column holds the text" if column is None else f"has no column {column!r}"
        raise MissingColumns(f"{file.name} {said}.", f"Name it with --column: one of {', '.join(names)[:500]}.", names)
    beside = {ours: name for ours, known in _BESIDE.items() if (name := _first(names, known)) not in (None, text)}
    for number, cells in rows:
        told = {ours: " ".join(cells.get(name or "", "").split()) for ours, name in beside.items()}
        also = tuple(one for part in told.pop("also", "").split("|") if (one := part.strip()))
        told["source"] = told.get("source") or file.name
        told["address"] = told.get("address") or f"row {number}"
        for some in grouped(sentences_of(cells.get(text, ""))):
            yield Passage(some, also=also, **told)


def _first(names: list[str], known: Iterable[str]) -> str | None:
    """The column that has the first of these names that there is."""
    there = {name.strip().lower(): name for name in reversed(names)}
    return next((there[name] for name in known if name in there), None)


def sentences_of(text: str) -> Iterator[str]:
    """The sentences of a text, on one line each; one of more than MOST_WORDS words comes in pieces of so many."""
    begun: list[str] = []
    for piece in SENTENCE_END.split(text.strip()):
        begun += piece.split()
        if begun and not _ABBREVIATED.search(begun[-1]):
            yield from _pieces(begun)
            begun = []
    yield from _pieces(begun)


def _pieces(words: list[str]) -> Iterator[str]:
    for start in range(0, len(words), MOST_WORDS):
        yield " ".join(words[start : start + MOST_WORDS])


def grouped(sentences: Iterable[str]) -> Iterator[tuple[str, ...]]:
    """Sentences as passages: as many together as have MOST_WORDS words at most."""
    passage: list[str] = []
    size = 0
    for sentence in sentences:
        words = len(sentence.split())
        if passage and size + words > MOST_WORDS:
            yield tuple(passage)
            passage, size = [], 0
        passage.append(sentence)
        size += words
    if passage:
        yield tuple(passage)
