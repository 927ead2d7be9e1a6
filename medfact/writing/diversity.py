"""How different the statements about one fact are: the reason why they are rephrased and turned around at all."""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from medfact.statements import Statement
from medfact.writing.guards import HEAD, TAIL, masked, names_in_a_sentence

ORDER = 4
"""Self-BLEU counts sequences of one to so many words."""

_PEOPLE = re.compile(r"\b(?:patients?|people|persons?|individuals?|someone)\b", re.IGNORECASE)
_DENIES = re.compile(r"\b(?:not|no|never|cannot|without|unlikely)\b|n't\b", re.IGNORECASE)


@dataclass(frozen=True)
class Diversity:
    """Figures of sets of statements, each set about one fact; means over the facts, from 0 to 1. None with nothing to compare.

    distinct_words:  different words among all words of a set. self_bleu: how well each statement is foretold by the others of
    its set (Zhu et al., Texygen, 2018; BLEU of up to four words): low is diverse. other_structure: share of the statements
    that are built otherwise than the first of their set: the names in the other order, a patient named, or denied.
    """

    facts: int
    statements: int
    distinct_words: float | None
    self_bleu: float | None
    other_structure: float | None


def diversity(statements: Iterable[Statement]) -> Diversity:
    """The figures of some statements, by fact."""
    sets: defaultdict[str, list[Statement]] = defaultdict(list)
    for statement in statements:
        sets[statement.fact.fact_id].append(statement)
    texts = [[_tokens(statement.text) for statement in made] for made in sets.values()]
    compared = [made for made in texts if len(made) > 1]
    return Diversity(
        facts=len(sets),
        statements=sum(map(len, texts)),
        distinct_words=_mean([len({*words}) / len(words) for made in texts if (words := [w for text in made for w in text])]),
        self_bleu=_mean([self_bleu(made) for made in compared]),
        other_structure=_mean([_other_structure(made) for made in sets.values() if len(made) > 1]),
    )


def self_bleu(texts: Sequence[Sequence[str]]) -> float:
    """Mean BLEU of each text with the others as its references. Texts are words; there are at least two."""
    return sum(bleu(text, [*texts[:place], *texts[place + 1 :]]) for place, text in enumerate(texts)) / len(texts)


def bleu(text: Sequence[str], references: Sequence[Sequence[str]]) -> float:
    """BLEU (Papineni et al., 2002) of up to ORDER words; no match of a length counts as half a match (Chen & Cherry, 2014)."""
    if not text:
        return 0.0
    longest = min(ORDER, len(text))
    logs = [math.log(_precision(text, references, length)) for length in range(1, longest + 1)]
    closest = min((abs(len(reference) - len(text)), len(reference)) for reference in references)[1]
    brevity = 1.0 if len(text) > closest else math.exp(1 - closest / len(text))
    return brevity * math.exp(sum(logs) / longest)


def _precision(text: Sequence[str], references: Sequence[Sequence[str]], length: int) -> float:
    own = _sequences(text, length)
    most: Counter[tuple[str, ...]] = Counter()
    for reference in references:
        most |= _sequences(reference, length)
    return max((own & most).total(), 0.5) / own.total()


def _sequences(words: Sequence[str], length: int) -> Counter[tuple[str, ...]]:
    return Counter(tuple(words[place : place + length]) for place in range(len(words) - length + 1))


def _tokens(text: str) -> list[str]:
    return re.findall(r"[\w'-]+", text.casefold())


def _other_structure(statements: Sequence[Statement]) -> float:
    built = [_structure(statement) for statement in statements]
    return sum(structure != built[0] for structure in built[1:]) / (len(built) - 1)


def _structure(statement: Statement) -> tuple[bool, bool, bool]:
    """Whether the head stands first, a patient is named, and something is denied; the names themselves do not count."""
    fact = statement.fact
    text = masked(statement.text, names_in_a_sentence(fact.head), names_in_a_sentence(fact.tail) if fact.tail else ())
    first = HEAD in text and (TAIL not in text or text.index(HEAD) < text.index(TAIL))
    return first, bool(_PEOPLE.search(text)), bool(_DENIES.search(text))


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None
