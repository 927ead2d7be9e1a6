"""Names in the cases of a language: a table of its pool, `cases`, by case, then by gender or `plural`.

A cell has the article, the ending of an adjective behind an article, its ending without one, and where nouns change in the
case, pairs of a regular expression and what becomes of it, of which the first that is found counts. The first case is the one
in which names are written and slots stand without a mark; `[X]{dat}` stands in the case `dat`. Adjectives are the words in
small letters at the beginning of a name that have the ending of the first case without an article; the noun is the next word.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from medfact.errors import FactsError, PoolError
from medfact.languages.names import Name

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
