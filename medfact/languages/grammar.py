"""How names stand in a sentence of a language: with or without their article, joined to the word before, and in their number.

A prototype has [X] and [Y] for names with their article, ~[X] and ~[Y] for names without, {es|son} for words in the number of
the name before, and {Y:es|son} for words in the number of [Y]. [X]{dat} stands in a case of the pool's table (`cases`). What
becomes of a word before a name ("de" and "el" are "del") is a rule of the language's pool: a regular expression over the text
before, a bar, and the name; a name without its article stands there as ~, the article, and itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

from medfact.languages.cases import Cases, in_case, unknown_cases
from medfact.languages.names import MARKS, Name

Joined = tuple[re.Pattern[str], str]
"""What stands around a seam, and what becomes of it."""

_PART = re.compile(
    r"(?P<bare>~?)\[(?P<slot>[XY])\](?:\{(?P<case>[^{}|]+)\})?|\{(?:(?P<of>[XY]):)?(?P<singular>[^{}|]*)\|(?P<plural>[^{}|]*)\}"
)
_SEAM = re.compile(r"\|(?:~[^\s|]* )?")


class _Part(NamedTuple):
    """The text before a slot or a word; the slot's mark, the slot and its case; whose number a word takes, and its numbers."""

    before: str
    bare: bool = False
    slot: str = ""
    case: str = ""
    of: str = ""
    singular: str = ""
    plural: str = ""


def sentence(prototype: str, head: Name, tail: Name, joined: Sequence[Joined] = (), cases: Cases | None = None) -> str:
    """A prototype as a sentence, with a capital at its start."""
    text = filled(prototype, head, tail, joined, cases)
    return text[:1].upper() + text[1:]


def filled(prototype: str, head: Name, tail: Name, joined: Sequence[Joined] = (), cases: Cases | None = None) -> str:
    """The same as its letters stand: a script without capitals keeps a name such as "β地中海贫血" at the start."""
    names, text = {"X": head, "Y": tail}, ""
    subject = head
    for part in _parts(prototype):
        text += part.before
        if part.slot:
            subject = names[part.slot]
            text = _followed(text, _shown(in_case(subject, part.case, part.bare, cases or {}), part.bare), joined)
        else:
            text += part.plural if names.get(part.of, subject).plural else part.singular
    return text


def problem_of_marks(prototype: str, cases: Cases) -> str | None:
    """Why the marks of a prototype cannot all be filled; None if they can."""
    for case in unknown_cases(prototype, cases):
        return f"there is no case {case!r}: {'cases are ' + ', '.join(cases) if cases else 'this language has none'}."
    words = _PART.sub(lambda part: f"{part['singular'] or ''}{part['plural'] or ''}", prototype)
    left = next((character for character in words if character in MARKS), None)
    return f"{left!r} fills nothing: names stand as [X] or ~[X], words that take a number as {{one|many}}." if left else None


def with_article(name: Name) -> str:
    """A name as it stands in a sentence: "el dolor", "l'asthme"."""
    space = "" if name.article.endswith(("'", "’")) or not name.article else " "
    return f"{name.article}{space}{name.text}"


def _shown(name: Name, bare: bool) -> str:
    return f"~{name.article} {name.text}" if bare else with_article(name)


def _followed(text: str, name: str, joined: Sequence[Joined]) -> str:
    """A text and the name that follows it."""
    seam = f"{text}|{name}"
    for pattern, becomes in joined:
        seam = pattern.sub(becomes, seam, count=1)
    return _SEAM.sub("", seam, count=1)


@lru_cache(maxsize=1 << 10)
def _parts(prototype: str) -> tuple[_Part, ...]:
    return tuple(_found(prototype))


def _found(prototype: str) -> Iterator[_Part]:
    end = 0
    for found in _PART.finditer(prototype):
        bare, slot, case, of, singular, plural = (cell or "" for cell in found.groups())
        yield _Part(prototype[end : found.start()], bool(bare), slot, case, of, singular, plural)
        end = found.end()
    yield _Part(prototype[end:])
