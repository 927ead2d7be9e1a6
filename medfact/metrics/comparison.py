"""Paired comparisons: values of two runs, or of two ways of asking, that belong to the same facts.

Only what both sides have answered is compared, so that neither gains from what the other failed to answer. The difficulty of
a fact cancels in the difference. A bootstrap that draws heads (Field and Welsh 2007) gives its interval, and flipped signs of
heads give p. Shared tails widen both, since a model that knows a tail knows it for all of its heads. McNemar's test takes every
fact for an independent trial and raises false alarms.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial, reduce
from itertools import combinations
from typing import Annotated, Any, NamedTuple, TypeVar

import numpy as np
from pydantic import Field
from scipy import special

from medfact.metrics.averages import IMPLICATION_SETS
from medfact.metrics.clusters import (
    Bools,
    Clusters,
    Codes,
    Floats,
    batch_sizes,
    crossed,
    parts_of,
    sum_of_parts,
    unsampled_fraction,
)
from medfact.metrics.probability import counted_rows
from medfact.metrics.records import Facts, Records, facts_of, pairs_of, tails_of_pairs
from medfact.metrics.uncertainty import LEVEL, Estimate, has_too_few_clusters, is_known, mean_interval, t_quantile, wilson
from medfact.statements import IMPLICATIONS, TRUTH_PRESERVING, Variant

ContrastType = TypeVar("ContrastType", bound="Contrast")


@dataclass(frozen=True)
class Contrast:
    """Mean of paired differences, first − second, from −1 to 1. None: there is no value; all but n are None where n is 0."""

    first: float | None = None  # mean of the first side over the n values
    second: Annotated[float | None, Field(alias="less")] = field(default=None, metadata={"key": "less"})
    value: float | None = None
    low: float | None = None  # 95% interval of this contrast alone
    high: float | None = None
    n: int = 0
    p: float | None = None  # chance, above 0, of a difference as large either way if both sides were alike; uncorrected
    p_holm: float | None = None  # after Holm over the family
    low_all: float | None = None  # interval for all contrasts of the family together (Bonferroni), which decides
    high_all: float | None = None
    only_first: int | None = field(default=None, metadata={"if_known": True})  # values that are larger on the first side
    only_second: int | None = field(default=None, metadata={"if_known": True})

    @property
    def is_shown(self) -> bool:
        """True where 0 lies outside the interval for all contrasts; False without an interval."""
        return (self.low_all or 0.0) > 0 or (self.high_all or 0.0) < 0

    @property
    def is_open(self) -> bool:
        """True where 0 lies outside the contrast's own interval, and inside that for all contrasts."""
        return not self.is_shown and ((self.low or 0.0) > 0 or (self.high or 0.0) < 0)

    @property
    def estimate(self) -> Estimate:
        """Difference with the interval that decides."""
        return Estimate(self.value, self.low_all, self.high_all, self.n)

    def turned(self: ContrastType) -> ContrastType:
        """Returns second − first."""
        value, low, high, low_all, high_all = (
            None if end is None else 0.0 - end for end in (self.value, self.high, self.low, self.high_all, self.low_all)
        )
        turned = replace(self, first=self.second, second=self.first, only_first=self.only_second, only_second=self.only_first)
        return replace(turned, value=value, low=low, high=high, low_all=low_all, high_all=high_all)


# ------------------------------------------------------------------------------------------------ mean of paired differences

RESAMPLES = 5_000  # draws of heads for an interval: half of a − b and half of b − a, so that one mirrors the other
FLIPS = 10_000  # random flips for a p, where there are too many heads to try all
EXACT_HEADS = 13  # up to so many heads that differ, all flips are tried: 2¹³ of them, fewer than the random ones
AT_ONCE = 2_000_000  # numbers drawn at a time: 16 MB an array
ROUNDING = 1e-9  # sums that differ by less than this share of their terms are equal
SIGNIFICANT = 0.05


def paired_difference(
    differences: Floats, heads: Codes, tails: Codes | None = None, draws: Codes | None = None, seed: int = 0, family: float = 1
) -> Contrast:
    """Contrast of differences a − b, each from −1 to 1, one for each statement, fact or pair, clustered by head and by tail.

    heads, tails, draws: as in `Clusters`. family: number of comparisons that are looked at together. Errors of tails and draws
    (`parts_of`) widen the interval, and p is that of a t test with all parts if it is larger. An interval reaches to 0 unless p
    is below its error, 0.05 or 0.05 / family. A single head has neither; heads worth fewer than ten have only p.
    """
    if not len(differences):
        return Contrast()
    value, n, sizes = float(differences.mean()), len(differences), np.bincount(heads)
    sums, sizes = np.bincount(heads, weights=differences)[sizes > 0].astype(np.float64), sizes[sizes > 0]
    if len(sums) < 2:
        return Contrast(value=value, n=n)
    by_head, *added = parts_of(differences, Clusters(heads, tails, draws))
    error, p = sum_of_parts([by_head, *added]), _flipped(sums, seed)
    if any(part.variance for part in added):
        p = max(p, 2 * float(special.stdtr(error.degrees_of_freedom, -abs(value) / math.sqrt(error.variance))))
    if has_too_few_clusters(heads):
        return Contrast(value=value, n=n, p=p)
    drawn = np.concatenate([_resampled(sums, sizes, seed), -_resampled(-sums, sizes, seed)])

    def bounds(level: float, least: float) -> tuple[float, float]:
        # the percentile interval over drawn heads, as much wider as t is for so few (Hesterberg 2015)
        tail = float(special.ndtr(-math.sqrt(len(sums) / (len(sums) - 1)) * t_quantile(len(sums) - 1, level)))
        low, high = map(float, np.quantile(drawn, [tail, 1 - tail]))
        low, high = _opened(value, low, high, sums / sizes)
        # where few heads differ, what is drawn of them varies less than others would, and a t interval more: the middle holds
        by_t = t_quantile(len(sums) - 1, level) * math.sqrt(by_head.variance)
        low, high = min(low, (low + value - by_t) / 2), max(high, (high + value + by_t) / 2)
        half = t_quantile(error.degrees_of_freedom, level) * math.sqrt(sum(part.variance for part in added))
        below, above = (max(least, math.hypot(end, half)) for end in (value - low, high - value))
        low, high = max(-1.0, value - below), min(1.0, value + above)
        return (low, high) if p < 1 - level else (min(low, 0.0), max(high, 0.0))

    level = 1 - (1 - LEVEL) / family
    least = 0.0
    if family >= 2 and tails is not None:
        # A t interval with degrees of freedom between Satterthwaite's and the tails'. The part of few tails is now and then
        # estimated as next to nothing. Far out, that raised false alarms in 7 % of families (`benchmarks/families.py`).
        freedom = np.cbrt(error.degrees_of_freedom * min(error.degrees_of_freedom, added[0].degrees_of_freedom) ** 2)
        least = t_quantile(freedom, level) * math.sqrt(error.variance)
    (low, high), (low_all, high_all) = bounds(LEVEL, 0.0), bounds(level, least)
    return Contrast(value=value, low=low, high=high, n=n, p=p, low_all=low_all, high_all=high_all)


def _resampled(sums: Floats, sizes: Codes, seed: int) -> Floats:
    """Σ sums / Σ sizes over as many heads as there are, drawn with replacement, RESAMPLES / 2 times.

    Heads with equal sums and sizes are interchangeable, so what is drawn is how many there are of each kind.
    """
    kinds, times = np.unique(np.stack([sums, sizes]), axis=1, return_counts=True)
    randomness = np.random.default_rng(seed)
    drawn = (
        randomness.multinomial(len(sums), times / len(sums), rows) for rows in batch_sizes(RESAMPLES // 2, len(times), AT_ONCE)
    )
    return np.concatenate([(counts @ kinds[0]) / (counts @ kinds[1]) for counts in drawn])


def _opened(value: float, low: float, high: float, means: Floats) -> tuple[float, float]:
    """Opens an interval on a side that no head speaks for, by Wilson's upper bound for 0 of as many heads.

    A bootstrap draws nothing that it has not seen. Where all heads have the same mean it collapses: then on both sides. Where
    all heads that differ do so in one direction, some may differ in the other, by as much as those seen. Without that, the
    interval held the truth in 84 % of simulations of 60 heads. (2 % of them differ in one direction, 1 % in the other.) It left
    out 0 where p was far from small. The two doubts are independent: squares add (as in Newcombe 1998, method 10).
    """
    unseen = wilson(0.0, len(means))[1]
    if high - low < ROUNDING:
        return value - unseen, value + unseen
    unseen *= float(np.abs(means).max())
    below, above = unseen * float(means.min() >= 0), unseen * float(means.max() <= 0)
    return value - math.hypot(value - low, below), value + math.hypot(high - value, above)


def _flipped(sums: Floats, seed: int) -> float:
    """Share of the flips of heads' signs that give a sum as far from 0 or further: the two-sided sign-flip test."""
    sizes = np.abs(sums[sums != 0])
    least = abs(float(sums.sum())) - ROUNDING * float(sizes.sum())
    if len(sizes) <= EXACT_HEADS:
        signs = 1 - 2 * (np.arange(2 ** len(sizes))[:, None] >> np.arange(len(sizes)) & 1)
        return float((np.abs(signs @ sizes) >= least).mean())
    # random flips; of equal sizes it is drawn how many are positive
    kinds, times = np.unique(sizes, return_counts=True)
    randomness = np.random.default_rng(seed)
    positive = (randomness.binomial(times, 0.5, (rows, len(kinds))) for rows in batch_sizes(FLIPS, len(kinds), AT_ONCE))
    flipped = np.concatenate([(2 * counts - times) @ kinds for counts in positive])
    # the signs as they are count as one flip more, so that p is never 0
    return (1 + int((np.abs(flipped) >= least).sum())) / (1 + FLIPS)


def holm(ps: Sequence[float | None]) -> list[float | None]:
    """The p of several comparisons, adjusted for their number (Holm 1979); each in the place where it stood.

    The smallest of m is multiplied by m, the next by m − 1, and so on; none is smaller than one before it, or above 1.
    None, a comparison that could not be made, stays None and does not count.
    """
    order = sorted((p, place) for place, p in enumerate(ps) if p is not None)
    adjusted: list[float | None] = [None] * len(ps)
    largest = 0.0
    for rank, (p, place) in enumerate(order):
        largest = max(largest, min(1.0, (len(order) - rank) * p))
        adjusted[place] = largest
    return adjusted


class Place(NamedTuple):
    """first: 1 + how many are shown to be better; last: how many there are less those shown to be worse. From 1."""

    first: int
    last: int


def places(count: int, differences: Iterable[tuple[int, int]]) -> list[Place]:
    """The place of each of so many. differences: (better, worse) for every two with a shown difference.

    If all of them hold, so do all places: each lies between first and last (Mogstad, Romano, Shaikh and Wilhelm 2024).
    Being told apart is not transitive: with A better than C alone, A has the places 1 to 2, B 1 to 3 and C 2 to 3.
    """
    better, worse = [0] * count, [0] * count
    for winner, loser in set(differences):
        better[loser] += 1
        worse[winner] += 1
    return [Place(1 + above, count - below) for above, below in zip(better, worse, strict=True)]


# ------------------------------------------------------------------------------------------------ families, and their registry


class Values(NamedTuple):
    """Values of both sides in the same order, each from 0 to 1."""

    first: Floats
    second: Floats
    clusters: Clusters
    # shares of right answers, about the population that the clusters name; others are about heads and tails like these
    are_shares: bool = True


def contrast(values: Values, family: float = 1) -> Contrast:
    """Contrast of paired values. family: number of contrasts that are looked at together."""
    first, second, clusters, are_shares = values
    mean = paired_difference(first - second, clusters.heads, clusters.tails, clusters.draws, family=family)
    if not are_shares:
        mean = replace(mean, only_first=int((first > second).sum()), only_second=int((second > first).sum()))
    if (value := mean.value) is None:
        return mean
    mean = replace(mean, first=float(first.mean()), second=float(second.mean()))
    return _about_population(mean, value, clusters) if are_shares else mean


def _about_population(mean: Contrast, value: float, clusters: Clusters) -> Contrast:
    """Narrows the interval by the square root of a finite population's unseen share. Such a population has no p."""
    if is_known(clusters):
        return replace(mean, low=value, high=value, p=None, low_all=value, high_all=value)
    unseen = unsampled_fraction(clusters) ** 0.5
    low, high, low_all, high_all = (
        None if end is None else value + unseen * (end - value) for end in (mean.low, mean.high, mean.low_all, mean.high_all)
    )
    p = mean.p if clusters.unseen is None else None
    return replace(mean, low=low, high=high, p=p, low_all=low_all, high_all=high_all)


class Pairing(NamedTuple):
    """A kind of comparison."""

    values: Callable[..., Mapping[Any, Values]]  # what is compared → values of both sides, by the name of their contrast
    family: Callable[[Any], Hashable]  # name of a contrast → the family that it is looked at with


PAIRINGS: dict[str, Pairing] = {}  # every kind of comparison by its name

ValuesOf = TypeVar("ValuesOf", bound=Callable[..., Mapping[Any, Values]])


def pairing(name: str, family: Callable[[Any], Hashable] = lambda _: None) -> Callable[[ValuesOf], ValuesOf]:
    """Registers a kind of comparison: a function that returns the values of both sides. All of them are a family by default."""

    def register(values: ValuesOf) -> ValuesOf:
        PAIRINGS[name] = Pairing(values, family)
        return values

    return register


def compare(kind: str, *sides: Any) -> dict[Any, Contrast]:
    """Contrasts of a registered pairing. Their bounds hold for each family together, and their p is Holm's within it."""
    values, family = PAIRINGS[kind].values(*sides), PAIRINGS[kind].family
    sizes = Counter(map(family, values))
    contrasts = {name: contrast(pair, sizes[family(name)]) for name, pair in values.items()}
    for key in sizes:
        members = [name for name in values if family(name) == key]
        adjusted = holm([contrasts[name].p for name in members])
        contrasts |= {name: replace(contrasts[name], p_holm=p) for name, p in zip(members, adjusted, strict=True)}
    return contrasts


# ------------------------------------------------------------------------------------------------ rows that belong together

FACT, STATEMENT, PAIR = "fact", "statement", "pair"


class RunRecords(NamedTuple):
    """Records of a run that can be aligned with those of others."""

    records: Records
    identity: Codes  # of each row, a number that names its fact (head, relation, tail, ids) in every run


def aligned(sides: Sequence[RunRecords], by: str) -> list[Codes]:
    """Returns the indices of the rows of several runs that belong together, an array for each run.

    FACT: indices of facts in the same draw of demonstrations. STATEMENT: rows of the same fact, variant and draw. PAIR: indices
    of true facts with the same false partners in every run. Of repeated rows of a run the first counts.
    """
    numbers = _numbers(sides, by)
    shared = reduce(np.intersect1d, numbers)
    first = [np.unique(number, return_index=True) for number in numbers]
    rows = [place[np.searchsorted(unique, shared)].astype(np.int64) for unique, place in first]
    return _with_same_partners(sides, numbers, rows) if by == PAIR else rows


def _numbers(sides: Sequence[RunRecords], by: str) -> list[Codes]:
    """Numbers of each run's statements, or of its facts, the same for the same thing in every run."""
    rows = [np.arange(len(records.fact)) if by == STATEMENT else records.first_of_fact for records, _ in sides]
    identity = np.concatenate([identity[at] for (_, identity), at in zip(sides, rows, strict=True)])
    draws = np.concatenate([records.draw[at] for (records, _), at in zip(sides, rows, strict=True)])
    numbers = crossed(np.unique(identity, return_inverse=True)[1].astype(np.int64), draws)
    if by == STATEMENT:
        names = sorted({name for records, _ in sides for name in records.variants.names})
        variants = [records.variants.map(names.index).astype(np.int64) for records, _ in sides]
        numbers = crossed(numbers, np.concatenate(variants))
    return np.split(numbers, np.cumsum([len(at) for at in rows])[:-1])


def _with_same_partners(sides: Sequence[RunRecords], numbers: Sequence[Codes], rows: Sequence[Codes]) -> list[Codes]:
    """Returns those of the aligned facts that are true and have the same set of false partners in every run."""
    facts = [facts_of(records) for records, _ in sides]
    are_true = np.logical_and.reduce([side.positive[at] for side, at in zip(facts, rows, strict=True)])
    rows = [at[are_true] for at in rows]
    size = max(int(number.max(initial=0)) for number in numbers) + 1
    partners = []
    for side, number, at in zip(facts, numbers, rows, strict=True):
        place = np.full(int(side.pair.max(initial=-1)) + 1, -1)
        place[side.pair[at]] = np.arange(len(at))
        false = np.flatnonzero(~side.positive & (place[side.pair] >= 0))
        partners.append(np.unique(place[side.pair[false]] * size + number[false]))
    shared, *counts = (
        np.bincount(keys // size, minlength=len(rows[0])) for keys in (reduce(np.intersect1d, partners), *partners)
    )
    same = np.logical_and.reduce([count == shared for count in counts])
    return [at[same] for at in rows]


# ------------------------------------------------------------------------------------------------ figures of two runs


class Figure(NamedTuple):
    """A figure in which two runs are compared, over rows of both that belong together and count in both.

    Columns of a run are its `Records` for statements, else its `Facts`.
    """

    by: str  # FACT, STATEMENT or PAIR
    counts: Callable[[Any], Bools]  # of columns
    value: Callable[[Any, Codes, Bools], Floats | Bools]  # of columns, at these rows, with these labels
    chosen: Callable[[Any], Bools] | None = None  # of the first run's columns: the rows that the figure is about
    are_shares: bool = False  # as in `Values`


_right = partial(Figure, STATEMENT, lambda records: records.scored, lambda records, at, _: records.right[at])
_p_true = partial(Figure, STATEMENT, counted_rows, lambda records, at, _: records.p_true[at])
_of_facts = partial(Figure, FACT, lambda facts: facts.complete)

RIGHT_ANSWERS = "right_answers"

# `*_accuracy`: the papers' scores. RIGHT_ANSWERS: share of right answers to a fact, in any statements. `p_true_*`, `brier`:
# P(True) of true and of false statements, and its squared distance from the truth. Facts count with every statement answered.
FIGURES: Mapping[str, Figure] = {
    "average_accuracy": _right(),
    "positive_accuracy": _right(lambda records: records.positive),
    "negative_accuracy": _right(lambda records: ~records.positive),
    "joint_accuracy": _of_facts(lambda facts, at, _: facts.mastered[at]),
    "pair_joint_accuracy": Figure(
        PAIR, lambda facts: pairs_of(facts)[0][facts.pair], lambda facts, at, _: pairs_of(facts)[1][facts.pair[at]]
    ),
    RIGHT_ANSWERS: _of_facts(lambda facts, at, _: (facts.right / facts.total)[at], are_shares=True),
    "p_true_of_true": _p_true(lambda records: records.label),
    "p_true_of_false": _p_true(lambda records: ~records.label),
    "brier": Figure(STATEMENT, counted_rows, lambda records, at, label: (records.p_true[at] - label) ** 2),
}


def values_of_runs(a: RunRecords, b: RunRecords, figures: Iterable[str]) -> dict[str, Values]:
    """Values of two runs. figures: names of FIGURES."""
    aligned_by = cache(partial(aligned, (a, b)))
    values = {}
    for name in figures:
        figure = FIGURES[name]
        first, second = (side.records if figure.by == STATEMENT else facts_of(side.records) for side in (a, b))
        rows, others = aligned_by(figure.by)
        counts = figure.counts(first)[rows] & figure.counts(second)[others]
        if figure.chosen:
            counts &= figure.chosen(first)[rows]
        rows, others = rows[counts], others[counts]
        label = first.label[rows] if isinstance(first, Records) else first.positive[rows]
        tails = tails_of_pairs(first, rows) if isinstance(first, Facts) and figure.by == PAIR else first.tail[rows]
        x, y = (figure.value(columns, at, label).astype(float) for columns, at in ((first, rows), (second, others)))
        values[name] = Values(x, y, Clusters(first.head[rows], tails, first.draw[rows]), figure.are_shares)
    return values


def compare_runs(a: RunRecords, b: RunRecords, figures: Iterable[str], family: float = 1) -> dict[str, Contrast]:
    """Contrasts of two runs. figures: names of FIGURES. family: number of pairs of runs that are compared together."""
    return {name: contrast(values, family) for name, values in values_of_runs(a, b, figures).items()}


# ------------------------------------------------------------------------------------------------ ways of asking in one run


class Ways(NamedTuple):
    """Two sets of ways of asking that stand against each other."""

    name: str
    first: tuple[str, ...]  # variants
    second: tuple[str, ...]
    sides: tuple[str, str]  # names of both, for people
    paper: str = ""  # source of the figure


def _ways_of_method(variants: Mapping[str, Variant], paper: str) -> Iterator[Ways]:
    """The contrasts of a method with eight ways of asking, the plain one first."""
    plain, *others = variants
    affirmed, denied = (tuple(key for key, variant in variants.items() if variant.negated is side) for side in (False, True))
    yield Ways("plain_less_all", (plain,), tuple(variants), ("asked plainly", "in all eight ways"), paper)
    yield Ways("affirmed_less_denied", affirmed, denied, ("affirmed", "denied"))
    for key in others:
        yield Ways(f"{key}_less_plain", (key,), (plain,), (variants[key].plain, "plain"))


_PLAIN, _DENIED, _REVERSED, _ALL = IMPLICATION_SETS.values()
_STEPS = "PretextTrans, Tables 5 and 14"  # its arrows start from the plain statement

# Every contrast within a run, in the order of sections. A run has those whose ways it asks, which are one family.
CONTRASTS = (
    *_ways_of_method(IMPLICATIONS, "PretextTrans, Tables 4 and 13: −LogImp less the method"),
    Ways("none_less_+dn", _PLAIN, _DENIED, ("plain", "with denied"), _STEPS),
    Ways("+dn_less_+dn+inv", _DENIED, _REVERSED, ("plain and denied", "with reversed")),
    Ways("+dn+inv_less_+all", _REVERSED, _ALL, ("plain, reversed and their denials", "in all eight ways")),
    Ways("none_less_+dn+inv", _PLAIN, _REVERSED, ("plain", "with denied and reversed"), _STEPS),
    *_ways_of_method(TRUTH_PRESERVING, "TPEval, Table 1: K = 1 less K = 8"),
)


@pairing("ways")
def ways_of_asking(records: Records) -> dict[str, Values]:
    """Shares of right answers to the same facts, asked in two ways; {} if a run asks in one way."""
    variants, values = set(records.variants.names), dict[str, Values]()
    for ways in CONTRASTS:
        if variants.issuperset({*ways.first, *ways.second}):
            (whole, first), (whole_too, second) = (_shares_by_fact(records, keys) for keys in (ways.first, ways.second))
            facts = np.flatnonzero(whole & whole_too)
            values[ways.name] = Values(first[facts], second[facts], records.clusters(records.first_of_fact[facts]))
    return values


def _shares_by_fact(records: Records, keys: Sequence[str]) -> tuple[Bools, Floats]:
    """Facts with an answer to all statements of these variants, and the share of them that is right."""
    rows, count = records.variants.among(keys) & records.scored, len(records.first_of_fact)
    answered = np.bincount(records.fact[rows], minlength=count)
    right = np.bincount(records.fact[rows], weights=records.right[rows], minlength=count)
    return np.asarray(answered == len(keys), dtype=bool), right / len(keys)


def contrasts(records: Records) -> dict[str, Contrast]:
    """Contrasts of two ways of asking, over facts answered in both."""
    return {name: contrast for name, contrast in compare("ways", records).items() if contrast.n}


# ------------------------------------------------------------------------------------------------ languages


@dataclass(frozen=True)
class OverLanguages:
    """Shares of the facts that count, from 0 to 1, with 95% intervals clustered as those of a run.

    Only facts with all statements answered in every language count, in each draw of demonstrations, so that no language gains
    from what another failed to answer.
    """

    languages: tuple[str, ...]  # the first one is compared with each of the others
    everywhere: Estimate  # facts with all answers right in all languages
    each: Mapping[str, Estimate]  # in one language
    couples: Mapping[tuple[str, str], Estimate]  # in both of two
    alone: Mapping[str, Estimate]  # in this language and in no other
    less: Mapping[str, Contrast]  # language less the first one
    by_relation: Mapping[str, Mapping[str, Contrast]]  # the same within a relation
    by_variant: Mapping[str, Mapping[str, Estimate]]  # right answers by way of asking and language
    consistent: Estimate  # statements readable in all languages that get the same answer in all, right or wrong

    @property
    def facts(self) -> int:
        """Number of facts that count."""
        return self.everywhere.n


def over_languages(runs: Mapping[str, RunRecords]) -> OverLanguages:
    """Figures of one model's runs. runs: by language; the first one is compared with the others (English)."""
    facts = {language: facts_of(records) for language, (records, _) in runs.items()}
    rows = dict(zip(runs, aligned([*runs.values()], FACT), strict=True))
    whole = np.logical_and.reduce([facts[language].complete[at] for language, at in rows.items()])
    rows = {language: at[whole] for language, at in rows.items()}
    mastered = {language: facts[language].mastered[at] for language, at in rows.items()}
    first, *others = runs
    records, clusters, count = runs[first].records, facts[first].clusters.of(rows[first]), np.sum([*mastered.values()], axis=0)
    relations = records.relations[records.first_of_fact[rows[first]]]
    by_name = {name: relations.among([name]) for name in sorted(relations.names)}
    by_relation = {name: rows for name, rows in by_name.items() if rows.any()}
    less = compare("languages", mastered, clusters, by_relation)
    variants = sorted({name for records, _ in runs.values() for name in records.variants.names})

    def share(holds: Bools) -> Estimate:
        return mean_interval(holds.astype(np.float64), clusters)

    def right_answers(language: str, variant: str) -> Estimate:
        records = runs[language].records
        return records.share(records.right, np.isin(records.fact, rows[language]) & records.variants.among([variant]))

    return OverLanguages(
        languages=tuple(runs),
        everywhere=share(count == len(runs)),
        each={language: share(right) for language, right in mastered.items()},
        couples={(a, b): share(mastered[a] & mastered[b]) for a, b in combinations(runs, 2)},
        alone={language: share(right & (count == 1)) for language, right in mastered.items()},
        less={language: less[None, language] for language in others},
        by_relation={name: {language: less[name, language] for language in others} for name in by_relation},
        by_variant={variant: {language: right_answers(language, variant) for language in runs} for variant in variants},
        consistent=_consistent([*runs.values()]),
    )


@pairing("languages", family=lambda name: name[0] is None)
def with_first_language(
    mastered: Mapping[str, Bools], clusters: Clusters, relations: Mapping[str, Bools]
) -> dict[tuple[str | None, str], Values]:
    """Mastery in each language and in the first, by (relation, language). All relations together are a family of their own.

    relations: masks of their facts. Relation None: all facts.
    """
    first, *others = mastered
    everything = np.ones(len(clusters.heads), dtype=bool)
    return {
        (relation, language): Values(
            mastered[language][rows].astype(float), mastered[first][rows].astype(float), clusters.of(rows)
        )
        for relation, rows in [(None, everything), *relations.items()]
        for language in others
    }


def _consistent(sides: Sequence[RunRecords]) -> Estimate:
    """Share of the statements that are readable in every language with the same answer in all; it needs no label."""
    rows = aligned(sides, STATEMENT)
    readable = np.logical_and.reduce([records.readable[at] for (records, _), at in zip(sides, rows, strict=True)])
    first, *others = (records.answer[at[readable]] for (records, _), at in zip(sides, rows, strict=True))
    alike = np.logical_and.reduce([first == answers for answers in others])
    return mean_interval(alike.astype(np.float64), sides[0].records.clusters(rows[0][readable]))
