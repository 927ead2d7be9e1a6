"""Texts about diseases and drugs, and where in them names stand: what `propose_sources.py` searches."""

from __future__ import annotations

import re
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator
from functools import cached_property, lru_cache
from pathlib import Path
from typing import NamedTuple

import pyarrow.parquet as parquet

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from medfact.facts import name_key

Words = tuple[str, ...]

_WORD = re.compile(r"[^\W_]+(?:['’]s)?")
_MOST_EXTRA = 4
"""Words that the title of a page may have beside a name: "What I need to know about gallstones"."""
_LOOSE = 4
"""Words that may stand between those of a name: "pain in the lower right side of the abdomen"."""


class Text(NamedTuple):
    """A page's answer to one question, or a definition. about: what the page is about, under all names."""

    source: str
    address: str
    about: tuple[str, ...]
    question: str
    text: str


@lru_cache(maxsize=1 << 18)
def stem(word: str) -> str:
    """A word without the endings of the plural and of verbs, in American spelling."""
    word = name_key(re.sub(r"['’]s$", "", word)).replace(" ", "")
    if len(word) > 4:
        if word.endswith("ies"):
            word = word[:-3] + "y"
        elif re.search(r"(s|x|z|ch|sh)es$", word):
            word = word[:-2]
        elif word.endswith("s") and not re.search(r"(ss|us|is)$", word):
            word = word[:-1]
    for ending in ("ing", "ed"):
        if len(word) > len(ending) + 3 and word.endswith(ending):
            return word[: -len(ending)]
    return word


@lru_cache(maxsize=1 << 16)
def words(name: str) -> Words:
    """The stems of a name's words."""
    return tuple(stem(word) for word in _WORD.findall(name))


class Page:
    """A text as stems, each with its place in the text."""

    def __init__(self, text: Text) -> None:
        self.text = text
        found = [(stem(match.group()), match.start(), match.end()) for match in _WORD.finditer(text.text)]
        self.stems = [one[0] for one in found]
        self.spans = [one[1:] for one in found]

    @cached_property
    def places(self) -> dict[str, list[int]]:
        places: defaultdict[str, list[int]] = defaultdict(list)
        for place, one in enumerate(self.stems):
            places[one].append(place)
        return dict(places)

    def find(self, name: Words) -> list[tuple[int, int]]:
        """Where the name stands word by word: places of its first word and behind its last."""
        if not name or any(one not in self.places for one in name):
            return []
        starts = self.places[name[0]]
        return [(at, at + len(name)) for at in starts if tuple(self.stems[at : at + len(name)]) == name]

    def find_loosely(self, name: Words) -> list[tuple[int, int]]:
        """Where all words of the name stand close together, in any order."""
        if len(name) < 2 or any(one not in self.places for one in name):
            return []
        reach, found = len(name) + _LOOSE, []
        for at in self.places[min(name, key=lambda one: len(self.places[one]))]:
            first = max(0, at - reach)
            near = [
                min(
                    (place for place in self.places[one] if first <= place <= at + reach),
                    key=lambda p: abs(p - at),
                    default=None,
                )
                for one in name
            ]
            if None not in near and max(near) - min(near) < reach:
                found.append((min(near), max(near) + 1))
        return found

    def around(self, place: tuple[int, int], before: int = 130, after: int = 100) -> str:
        """The sentence that holds the place, cut to its neighbourhood; the place stands between « and »."""
        start, end = self.spans[place[0]][0], self.spans[place[1] - 1][1]
        text = self.text.text
        left = text[max(0, start - before) : start]
        right = text[end : end + after]
        left = left[max(left.rfind(". ") + 1, 0) :]
        right = right[: right.find(". ") + 1] if ". " in right else right
        return " ".join(f"{left}«{text[start:end]}»{right}".split())


class Library:
    """All texts, by what they are about and by the words in them."""

    def __init__(self, texts: Iterable[Text]) -> None:
        self.pages = [Page(text) for text in texts]
        self.about: defaultdict[Words, set[int]] = defaultdict(set)
        self.titles: defaultdict[str, set[tuple[Words, int]]] = defaultdict(set)
        self.holding: defaultdict[str, set[int]] = defaultdict(set)
        for number, page in enumerate(self.pages):
            for name in page.text.about:
                self.about[words(name)].add(number)
                for one in words(name):
                    self.titles[one].add((words(name), number))
            for one in set(page.stems):
                self.holding[one].add(number)

    def on(self, name: Words) -> dict[int, bool]:
        """Pages about what has this name → whether their title is just the name."""
        if not name:
            return {}
        wider = {
            number: False
            for title, number in self.titles.get(name[0], ())
            if set(name) <= set(title) and len(title) <= len(name) + _MOST_EXTRA
        }
        return wider | dict.fromkeys(self.about.get(name, ()), True)

    def with_all(self, name: Words) -> set[int]:
        """Pages that hold all words of the name."""
        sets = sorted((self.holding.get(one, set()) for one in name), key=len)
        return set.intersection(*sets) if sets else set()


def read_texts(paths: Iterable[Path]) -> Iterator[Text]:
    """The texts of Parquet files with the columns of MedQuAD, and of `*.texts.tsv` files with the same."""
    for path in paths:
        for row in parquet.read_table(path).to_pylist():
            about = tuple(name for name in (row["focus"], *(row["synonyms"] or "").split("|")) if name)
            yield Text(row["source"], row["url"], about, row["question_type"], row["answer"])
