"""Which facts reviewers were shown at random, blindly, and for how many others each of them speaks.

A fact is drawn when it comes up in the random queue and a reviewer judges it whole without having seen its label. What was
given in bulk counts: a reviewer who confirms in one key, and writes at length only where something is wrong, would else leave
the wrong ones alone in the sample. A verdict that was taken back stays a draw that decides nothing. Of several reviewers of a
fact the majority decides, and it is drawn once. Adjudicators see what others say, and do not count.

Whoever judges a contested fact, or one that they chose, does not meet it in the random queue any more. So each draw speaks for
the facts that its reviewer could still meet, and what that reviewer had judged elsewhere speaks for itself (Des Raj, Journal of
the American Statistical Association 51, 1956): judged before all draws, it counts as one fact; judged after them, not at all.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from medfact.datasets.sources import has_source
from medfact.facts import Fact
from medfact.reviews.verdicts import ADJUDICATOR, GAME, RANDOM, Opinion, opinions, who
from medfact.store import Verdict

Stratum = tuple[object, ...]


@dataclass(frozen=True)
class Draws:
    """stratum: fact id → in which stratum it may be drawn. drawn: the facts that were. weights: fact id → for how many facts of
    its stratum it speaks. reviewed: fact id → what reviewers said of it blindly.
    """

    stratum: Mapping[str, Stratum]
    drawn: frozenset[str]
    weights: Mapping[str, float]
    reviewed: Mapping[str, Mapping[str, Opinion]]


def draws_of(facts: Sequence[Fact], log: Iterable[Verdict]) -> Draws:
    """The draws among the facts of a run. facts: each once. log: in its order."""
    ids = {fact.fact_id for fact in facts}
    blind = [one for one in log if one.fact_id in ids and one.blind and one.role != ADJUDICATOR and one.queue != GAME]
    whole = [one for one in blind if not one.statement_id]
    drawn: dict[str, Verdict] = {}
    elsewhere: dict[tuple[str, str], int] = {}
    for one in whole:
        if one.queue == RANDOM:
            drawn.setdefault(one.fact_id, one)
        else:
            elsewhere.setdefault((who(one), one.fact_id), one.number)
    stratum = _strata(facts, drawn.keys())
    counted = [one for one in blind if one.queue == RANDOM or one.fact_id not in drawn]
    return Draws(stratum, frozenset(drawn), _weights(stratum, drawn, elsewhere), opinions(counted))


def _weights(
    stratum: Mapping[str, Stratum], drawn: Mapping[str, Verdict], elsewhere: Mapping[tuple[str, str], int]
) -> dict[str, float]:
    """Fact id → for how many facts it speaks; those of a stratum add up to its size."""
    sizes, of_stratum = Counter(stratum.values()), Counter(stratum[fact_id] for fact_id in drawn)
    before: defaultdict[tuple[str, Stratum], list[tuple[int, str]]] = defaultdict(list)
    for (reviewer, fact_id), number in elsewhere.items():
        before[reviewer, stratum[fact_id]].append((number, fact_id))
    weights: defaultdict[str, float] = defaultdict(float)
    for fact_id, draw in drawn.items():
        of = stratum[fact_id]
        met = [other for number, other in before[who(draw), of] if number < draw.number and other != fact_id]
        weights[fact_id] += (sizes[of] - len(met)) / of_stratum[of]
        for other in met:
            weights[other] += 1 / of_stratum[of]
    return dict(weights)


FIRST = 2.0
"""So many standard errors more facts without a source than come at random show that they came first."""


def _strata(facts: Sequence[Fact], drawn: Iterable[str]) -> dict[str, Stratum]:
    """Fact id → what decides how soon it is drawn: its relation, since the queue is even over relations; how many facts of its
    pair there are, since only the first of a pair is judged blindly; and whether a source states it, where facts without one
    came first, as they do in the queue of a data set (`web.pages.review_material`).
    """
    members = Counter(_pair(fact) for fact in facts)
    stated = {fact.fact_id for fact in facts if fact.positive and has_source(fact)}
    known = {fact.fact_id: _pair(fact) in stated for fact in facts}
    even: dict[str, Stratum] = {fact.fact_id: (fact.relation, members[_pair(fact)]) for fact in facts}
    up = set(drawn)
    if not _came_first(even, known, up):
        return even
    return {fact_id: (*stratum, known[fact_id]) for fact_id, stratum in even.items()}


def _pair(fact: Fact) -> str:
    return fact.negative_of or fact.fact_id


def _came_first(even: Mapping[str, Stratum], known: Mapping[str, bool], drawn: set[str]) -> bool:
    """Whether more facts without a source were drawn than come at random: the sum over strata of hypergeometric counts."""
    more, variance = 0.0, 0.0
    for stratum in set(even.values()):
        unstated = np.array([not known[fact_id] for fact_id, of in even.items() if of == stratum])
        taken = np.array([fact_id in drawn for fact_id, of in even.items() if of == stratum])
        size, share, n = len(unstated), float(unstated.mean()), int(taken.sum())
        more += float((unstated & taken).sum()) - n * share
        variance += n * share * (1 - share) * (size - n) / max(size - 1, 1)
    return more > FIRST * float(np.sqrt(variance)) if variance > 0 else more > 0
