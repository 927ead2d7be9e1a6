"""How names stand in a sentence of a language: with or without their article, joined to the word before, and in their number.

A prototype has [X] and [Y] for names with their article, ~[X] and ~[Y] for names without, and {es|son} for words in the number
of the name before. What becomes of a word before a name ("de" and "el" are "del") is a rule of the language's pool: a regular
expression over the text before, a bar, and the name; a name without its article stands there as ~, the article, and itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache

from medfact.languages.names import Name

Joined = tuple[re.Pattern[str], str]
"""What stands around a seam, and what becomes of it."""

_PART = re.compile(r"(?P<bare>~?)\[(?P<slot>[XY])\]|\{(?P<singular>[^{}|]*)\|(?P<plural>[^{}|]*)\}")
_SEAM = re.compile(r"\|(?:~\S* )?")


def sentence(prototype: str, head: Name, tail: Name, joined: Sequence[Joined] = ()) -> str:
    """A prototype as a sentence, with a capital at its start."""
    text = filled(prototype, head, tail, joined)
    return text[:1].upper() + text[1:]


def filled(prototype: str, head: Name, tail: Name, joined: Sequence[Joined] = ()) -> str:
    """The same as its letters stand: a script without capitals keeps a name such as "β地中海贫血" at the start."""
    names, text = {"X": head, "Y": tail}, ""
    subject = head
    for before, bare, slot, singular, plural in _parts(prototype):
        text += before
        if slot:
            subject = names[slot]
            text = _followed(text, _shown(subject, bool(bare)), joined)
        else:
            text += plural if subject.plural else singular
    return text


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
def _parts(prototype: str) -> tuple[tuple[str, str, str, str, str], ...]:
    """A prototype in parts: the text before a slot or a word, the slot's mark and the slot, the word's two numbers."""
    return tuple(_found(prototype))


def _found(prototype: str) -> Iterator[tuple[str, str, str, str, str]]:
    end = 0
    for found in _PART.finditer(prototype):
        bare, slot, singular, plural = found.group("bare", "slot", "singular", "plural")
        yield prototype[end : found.start()], bare or "", slot or "", singular or "", plural or ""
        end = found.end()
    yield prototype[end:], "", "", "", ""
