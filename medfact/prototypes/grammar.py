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
    x, y = written(head), written(tail)
    filled = before + _with_verbs(prototype, x.plural, y.plural) % {"X": x.text, "Y": y.text}
    return filled[:1].upper() + filled[1:]


@lru_cache(maxsize=1 << 12)
def _with_verbs(prototype: str, x_is_plural: bool, y_is_plural: bool) -> str:
    """A prototype whose verbs have the number of the name before them; `%(X)s` and `%(Y)s` stand for the names."""
    is_plural, subject = {"X": x_is_plural, "Y": y_is_plural}, "X"
    parts, end = [], 0
    for found in _PART.finditer(prototype):
        parts.append(prototype[end : found.start()].replace("%", "%%"))
        if found["slot"]:
            subject = found["slot"]
            parts.append(f"%({subject})s")
        else:
            parts.append(found["plural" if is_plural[subject] else "singular"].replace("%", "%%"))
        end = found.end()
    return "".join([*parts, prototype[end:].replace("%", "%%")])
