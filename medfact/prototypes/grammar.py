"""How a name stands in a sentence: with its article and in its number, which belong to the entity and not to the prototype.

`assets/datasets/vocabulary.csv` holds them for the names of the bundled data: `article` (a, an, the, or none), `number`, and
`written` where the name stands otherwise in a sentence ("joint" as "the joints"). A name that is not listed stands as it is,
and its ending tells its number (`prototypes.number`).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache, lru_cache

from medfact.datasets.bundled import vocabulary
from medfact.facts import name_key
from medfact.prototypes.number import is_plural

_PART = re.compile(r"\[(?P<slot>[XY])\]|\{(?P<singular>[^{}|]*)\|(?P<plural>[^{}|]*)\}")


@dataclass(frozen=True, slots=True)
class Written:
    """A name as it stands inside a sentence, and whether its verb is in the plural."""

    text: str
    plural: bool


@cache
def _listed() -> dict[str, Written]:
    return {
        name_key(row["name"]): Written(
            row["written"] or " ".join(filter(None, (row["article"], row["name"]))), row["number"] == "plural"
        )
        for row in vocabulary()
    }


@lru_cache(maxsize=1 << 17)
def written(name: str) -> Written:
    """A name with its article, and its number."""
    return _listed().get(name_key(name)) or Written(name, is_plural(name))


def sentence(prototype: str, head: str, tail: str, before: str = "") -> str:
    """A prototype as a sentence: names with their articles, a capital at its start. before: what stands in front of it.

    `{is|are}` takes the number of the name before it. Slots are filled in one pass: a name may itself contain [X].
    """
    names = {"X": written(head), "Y": written(tail)}
    subject, texts = names["X"], [before]
    for before, slot, singular, plural in _parts(prototype):
        texts.append(before)
        if slot:
            subject = names[slot]
            texts.append(subject.text)
        else:
            texts.append(plural if subject.plural else singular)
    filled = "".join(texts)
    return filled[:1].upper() + filled[1:]


@lru_cache(maxsize=1 << 12)
def _parts(prototype: str) -> tuple[tuple[str, str, str, str], ...]:
    """A prototype in parts: the text before a slot or a verb, the slot, the verb's two numbers; "" for what is not there."""
    parts, end = [], 0
    for found in _PART.finditer(prototype):
        parts.append((prototype[end : found.start()], found["slot"] or "", found["singular"] or "", found["plural"] or ""))
        end = found.end()
    return (*parts, (prototype[end:], "", "", ""))
