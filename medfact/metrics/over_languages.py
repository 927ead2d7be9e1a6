"""One model's answers to the same facts in several languages: what it knows in all of them, and what in one alone.

Only facts all of whose statements are answered in every language count, in each draw of demonstrations, so that no language
gains from what another failed to answer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import combinations
from typing import NamedTuple

import numpy as np

from medfact.metrics.clusters import Bools, Codes, crossed
from medfact.metrics.contrasts import Contrasted, adjusted, contrasted
from medfact.metrics.joint import facts_of
from medfact.metrics.records import Records
from medfact.metrics.uncertainty import Estimate, mean_interval


class Spoken(NamedTuple):
    """A run in one language. identity: per row a number that names its fact in every run."""

    records: Records
    identity: Codes


@dataclass(frozen=True)
class OverLanguages:
    """Over the facts that count: shares of 0 to 1, with 95% intervals clustered as those of a run.

    everywhere: all answers right in all languages (8 × L of them). each: in one language; couples: in both of two. alone: in
    this language and in no other. less: the language less the first one named, by fact, with p after Holm over all of them;
    by_relation: the same within a relation, p and bounds over all relations and languages. consistent: statements that get the
    same answer in all languages, right or wrong, of those that can be read in all; no label is needed for it.
    by_variant: key of a variant → right answers of all that the facts have in that way, in each language.
    """

    languages: tuple[str, ...]
    everywhere: Estimate
    each: Mapping[str, Estimate]
    couples: Mapping[tuple[str, str], Estimate]
    alone: Mapping[str, Estimate]
    less: Mapping[str, Contrasted]
    by_relation: Mapping[str, Mapping[str, Contrasted]]
    by_variant: Mapping[str, Mapping[str, Estimate]]
    consistent: Estimate

    @property
    def facts(self) -> int:
        """How many facts count."""
        return self.everywhere.n


def over_languages(spoken: Mapping[str, Spoken]) -> OverLanguages:
    """The figures over languages. spoken: by language, the first being the one that others are compared with (English)."""
    names = tuple(spoken)
    sides = [*spoken.values()]
    numbers = _fact_numbers(sides)
    facts = [facts_of(side.records) for side in sides]
    whole = reduce(np.intersect1d, [own[of.complete] for own, of in zip(numbers, facts, strict=True)])
    rows = [_places(own, whole) for own in numbers]
    mastered = np.array([of.mastered[at] for of, at in zip(facts, rows, strict=True)], dtype=bool).reshape(len(sides), -1)
    clusters = facts[0].clusters.of(rows[0])

    def share(holds: Bools) -> Estimate:
        return mean_interval(holds.astype(np.float64), clusters)

    others = names[1:]
    first = mastered[0].astype(np.float64)
    less = {
        name: contrasted(mastered[place].astype(np.float64), first, clusters, len(others))
        for place, name in enumerate(others, start=1)
    }
    relations = sides[0].records.relations[sides[0].records.first_of_fact[rows[0]]]
    there = sorted({relations.names[code] for code in relations.code.tolist()})
    within = {
        (relation, name): contrasted(
            mastered[place][chosen].astype(np.float64), first[chosen], clusters.of(chosen), len(others) * len(there)
        )
        for relation in there
        for chosen in [relations.among([relation])]
        for place, name in enumerate(others, start=1)
    }
    within = adjusted(within)
    count = mastered.sum(axis=0)
    return OverLanguages(
        languages=names,
        everywhere=share(np.asarray(mastered.all(axis=0), dtype=bool)),
        each={name: share(mastered[place]) for place, name in enumerate(names)},
        couples={(names[a], names[b]): share(mastered[a] & mastered[b]) for a, b in combinations(range(len(names)), 2)},
        alone={name: share(mastered[place] & (count == 1)) for place, name in enumerate(names)},
        less=adjusted(less),
        by_relation={relation: {name: within[relation, name] for name in others} for relation in there},
        by_variant=_by_variant(spoken, rows),
        consistent=_consistent(sides),
    )


def _by_variant(spoken: Mapping[str, Spoken], facts: Sequence[Codes]) -> dict[str, dict[str, Estimate]]:
    """Right answers by way and language. facts: the numbers of those that count, in each run."""
    sides = [(name, side.records, own) for (name, side), own in zip(spoken.items(), facts, strict=True)]
    variants = sorted({name for _, records, _ in sides for name in records.variants.names})
    return {variant: {name: _right(records, own, variant) for name, records, own in sides} for variant in variants}


def _right(records: Records, facts: Codes, variant: str) -> Estimate:
    """The share of right answers among the statements of some facts, by number, that are put in one way."""
    return records.share(records.right, np.isin(records.fact, facts) & records.variants.among([variant]))


def _fact_numbers(sides: Sequence[Spoken]) -> list[Codes]:
    """Of each run's facts, each in its draw, a number that is the same in all of them."""
    firsts = [side.records.first_of_fact for side in sides]
    identity = [side.identity[first] for side, first in zip(sides, firsts, strict=True)]
    draws = [side.records.draw[first] for side, first in zip(sides, firsts, strict=True)]
    return _parted(_crossed(identity, draws), identity)


def _crossed(a: Sequence[Codes], b: Sequence[Codes]) -> Codes:
    """Codes of two things together, over all runs in a row."""
    return crossed(*(np.unique(np.concatenate(of), return_inverse=True)[1].astype(np.int64) for of in (a, b)))


def _parted(codes: Codes, like: Sequence[Codes]) -> list[Codes]:
    return np.split(codes, np.cumsum([len(one) for one in like])[:-1])


def _places(numbers: Codes, wanted: Codes) -> Codes:
    """Where each of the wanted numbers stands; every one is there."""
    order = np.argsort(numbers, kind="stable")
    return order[np.searchsorted(numbers[order], wanted)]


def _consistent(sides: Sequence[Spoken]) -> Estimate:
    """The share of statements, of those that can be read in every language, that are answered alike in all."""
    variants = sorted({name for side in sides for name in side.records.variants.names})
    place = {name: number for number, name in enumerate(variants)}
    ways = [side.records.variants.map(lambda name: place[name]).astype(np.int64) for side in sides]
    identity = [side.identity for side in sides]
    inner = _parted(_crossed(identity, [side.records.draw for side in sides]), identity)
    numbers = _parted(_crossed(inner, ways), identity)
    shared = reduce(np.intersect1d, [own[side.records.readable] for own, side in zip(numbers, sides, strict=True)])
    rows = [_places(own, shared) for own in numbers]
    answers = np.array([side.records.answer[at] for side, at in zip(sides, rows, strict=True)]).reshape(len(sides), -1)
    return mean_interval((answers == answers[0]).all(axis=0).astype(np.float64), sides[0].records.clusters(rows[0]))
