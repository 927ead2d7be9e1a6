"""Paired comparisons: values of two runs, or of two ways of asking, that belong to the same facts.

Only what both sides have answered is compared, so that neither gains from what the other failed to answer. The difficulty of
a fact cancels in the difference; the interval is clustered by head and tail (`differences`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial, reduce
from typing import Annotated, NamedTuple, TypeVar

import numpy as np
from pydantic import Field

from medfact.metrics.averages import IMPLICATION_SETS
from medfact.metrics.clusters import Bools, Clusters, Codes, Floats, crossed, unsampled_fraction
from medfact.metrics.differences import holm, paired_difference
from medfact.metrics.probability import counted_rows
from medfact.metrics.records import Facts, Records, facts_of, pairs_of, tails_of_pairs
from medfact.metrics.uncertainty import Estimate, is_known
from medfact.statements import IMPLICATIONS, TRUTH_PRESERVING, Variant

Name = TypeVar("Name")
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
    p: float | None = None  # before any correction
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


# Values of the first and of the second side, in the same order, and their clusters.
Values = tuple[Floats, Floats, Clusters]


def contrast(first: Floats, second: Floats, clusters: Clusters, family: float = 1) -> Contrast:
    """Contrast of paired values, about heads and tails like these. family: number of contrasts that are looked at together."""
    larger = {"only_first": int((first > second).sum()), "only_second": int((second > first).sum())}
    if not len(first):
        return Contrast(**larger)
    mean = paired_difference(first - second, clusters.heads, clusters.tails, clusters.draws, family=family)
    value, low, high, p, n, low_all, high_all = mean
    return Contrast(float(first.mean()), float(second.mean()), value, low, high, n, p, None, low_all, high_all, **larger)


def contrast_of_shares(first: Floats, second: Floats, clusters: Clusters, family: float = 1) -> Contrast:
    """Contrast of shares of right answers, about the population that the clusters name.

    A finite population has no p, and an interval that is narrower by the square root of its unseen share.
    """
    plain = replace(contrast(first, second, clusters, family), only_first=None, only_second=None)
    if plain.value is None:
        return plain
    value, unseen = plain.value, unsampled_fraction(clusters) ** 0.5
    if is_known(clusters):
        return replace(plain, low=value, high=value, p=None, low_all=value, high_all=value)
    low, high, low_all, high_all = (
        None if end is None else value + unseen * (end - value)
        for end in (plain.low, plain.high, plain.low_all, plain.high_all)
    )
    p = plain.p if clusters.unseen is None else None
    return replace(plain, low=low, high=high, p=p, low_all=low_all, high_all=high_all)


def with_holm(contrasts: Mapping[Name, ContrastType]) -> dict[Name, ContrastType]:
    """Returns the contrasts of a family with p after Holm."""
    adjusted = holm([contrast.p for contrast in contrasts.values()])
    return {name: replace(contrast, p_holm=p) for (name, contrast), p in zip(contrasts.items(), adjusted, strict=True)}


def family_of(values: Mapping[Name, Values]) -> dict[Name, Contrast]:
    """Contrasts of shares that are looked at together: bounds and p hold for all of them."""
    return with_holm({name: contrast_of_shares(*sides, len(values)) for name, sides in values.items()})


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
    """A figure in which two runs are compared. values: of the rows of both that belong together."""

    by: str  # FACT, STATEMENT or PAIR
    values: Callable[[Records, Records, Codes, Codes], Values]


def _of_statements(
    counts: Callable[[Records], Bools],
    value: Callable[[Records, Codes, Bools], Floats | Bools],
    chosen: Callable[[Records], Bools] = lambda records: np.ones(len(records.fact), dtype=bool),
) -> Figure:
    """counts: statements that must count in both runs. value: of rows and their labels. chosen: statements of the first run."""

    def values(a: Records, b: Records, rows: Codes, others: Codes) -> Values:
        counted = counts(a)[rows] & counts(b)[others] & chosen(a)[rows]
        rows, others = rows[counted], others[counted]
        label = a.label[rows]
        return value(a, rows, label).astype(float), value(b, others, label).astype(float), _clusters(a, rows)

    return Figure(STATEMENT, values)


def _of_facts(value: Callable[[Facts], Floats | Bools]) -> Figure:
    """value: of the facts with every statement answered in both runs; the statements may differ."""

    def values(a: Records, b: Records, rows: Codes, others: Codes) -> Values:
        first, second = facts_of(a), facts_of(b)
        complete = first.complete[rows] & second.complete[others]
        rows, others = rows[complete], others[complete]
        return value(first)[rows].astype(float), value(second)[others].astype(float), _clusters(first, rows)

    return Figure(FACT, values)


def _mastery_of_pairs(a: Records, b: Records, rows: Codes, others: Codes) -> Values:
    """Values of true facts with at least one false partner, all answered in both runs."""
    first, second = facts_of(a), facts_of(b)
    (answered, right), (answered_there, right_there) = pairs_of(first), pairs_of(second)
    complete = answered[first.pair[rows]] & answered_there[second.pair[others]]
    rows, others = rows[complete], others[complete]
    clusters = Clusters(first.head[rows], tails_of_pairs(first, rows), first.draw[rows])
    return right[first.pair[rows]].astype(float), right_there[second.pair[others]].astype(float), clusters


def _clusters(columns: Records | Facts, rows: Codes) -> Clusters:
    return Clusters(columns.head[rows], columns.tail[rows], columns.draw[rows])


_right = partial(_of_statements, lambda records: records.scored, lambda records, rows, _: records.right[rows])
_p_true = partial(_of_statements, counted_rows, lambda records, rows, _: records.p_true[rows])

RIGHT_ANSWERS = "right_answers"

# `*_accuracy`: the papers' scores. RIGHT_ANSWERS: share of right answers to a fact, in any statements. `p_true_*`, `brier`:
# P(True) of true and of false statements, and its squared distance from the truth.
FIGURES: Mapping[str, Figure] = {
    "average_accuracy": _right(),
    "positive_accuracy": _right(lambda records: records.positive),
    "negative_accuracy": _right(lambda records: ~records.positive),
    "joint_accuracy": _of_facts(lambda facts: facts.mastered),
    "pair_joint_accuracy": Figure(PAIR, _mastery_of_pairs),
    RIGHT_ANSWERS: _of_facts(lambda facts: facts.right / facts.total),
    "p_true_of_true": _p_true(lambda records: records.label),
    "p_true_of_false": _p_true(lambda records: ~records.label),
    "brier": _of_statements(counted_rows, lambda records, rows, label: (records.p_true[rows] - label) ** 2),
}


def compare_runs(a: RunRecords, b: RunRecords, figures: Iterable[str], family: float = 1) -> dict[str, Contrast]:
    """Contrasts of two runs. figures: names of FIGURES. family: number of pairs of runs that are compared together."""
    chosen = {name: FIGURES[name] for name in figures}
    rows = {by: aligned([a, b], by) for by in dict.fromkeys(figure.by for figure in chosen.values())}
    return {
        name: (contrast_of_shares if name == RIGHT_ANSWERS else contrast)(
            *figure.values(a.records, b.records, *rows[figure.by]), family
        )
        for name, figure in chosen.items()
    }


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


def contrasts(records: Records) -> dict[str, Contrast]:
    """Contrasts of shares of right answers to the same facts, asked in two ways; {} where a run asks in one way."""
    variants, values = set(records.variants.names), dict[str, Values]()
    for ways in CONTRASTS:
        if variants.issuperset({*ways.first, *ways.second}):
            (whole, first), (whole_too, second) = (_shares_by_fact(records, keys) for keys in (ways.first, ways.second))
            facts = np.flatnonzero(whole & whole_too)
            values[ways.name] = first[facts], second[facts], records.clusters(records.first_of_fact[facts])
    return {name: contrast for name, contrast in family_of(values).items() if contrast.n}


def _shares_by_fact(records: Records, keys: Sequence[str]) -> tuple[Bools, Floats]:
    """Facts with an answer to all statements of these variants, and the share of them that is right."""
    rows, count = records.variants.among(keys) & records.scored, len(records.first_of_fact)
    answered = np.bincount(records.fact[rows], minlength=count)
    right = np.bincount(records.fact[rows], weights=records.right[rows], minlength=count)
    return np.asarray(answered == len(keys), dtype=bool), right / len(keys)
