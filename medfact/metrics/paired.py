"""Two runs on the same facts, compared statement by statement, fact by fact and pair by pair.

Only what both runs have answered is compared, so that neither gains from what the other failed to answer.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from medfact.metrics.clusters import Bools, Clusters, Codes, Floats, crossed
from medfact.metrics.contrasts import Contrasted, contrasted
from medfact.metrics.differences import Bounded, paired_difference
from medfact.metrics.joint import Facts, facts_of, pairs_of, tails_of_pairs
from medfact.metrics.probability import counted_rows
from medfact.metrics.race import Differences, order_of
from medfact.metrics.records import FAILED, PENDING, Names, Records


class Side(NamedTuple):
    """One of two runs; `fact` and `statement` number each row's fact in its draw, and its statement, alike in both runs."""

    records: Records
    fact: Codes
    statement: Codes


@dataclass(frozen=True)
class Paired(Bounded):
    """Paired comparison of runs a and b: difference = (only_a − only_b) / n, from −1 to 1. With n = 0 nothing has a value.

    low, high: its 95% interval; low_all, high_all: the interval for all comparisons of the family, which decides. p: before any
    correction. only_a, only_b: right in that run alone, of n. share_a, share_b: right in each run, as a share of n, which are
    its scores where both ask the same.
    """

    difference: float | None
    low: float | None
    high: float | None
    p: float | None
    only_a: int
    only_b: int
    n: int
    low_all: float | None
    high_all: float | None
    share_a: float | None
    share_b: float | None


def paired(a: Records, b: Records, a_identity: Codes, b_identity: Codes, family: int = 1) -> dict[str, Paired]:
    """The paired comparison of two runs, by accuracy. family: how many pairs of runs are compared together.

    identity: per row a number that names the fact (head, relation, tail, ids) in both runs.

    average_accuracy: over statements of the same fact, variant and draw that both have scored.
    joint_accuracy: over facts, in each draw, all of whose statements are answered in both, whatever those statements are: two
    pools can be compared.
    pair_joint_accuracy: over positive facts, in each draw, with the same negatives in both, at least one, all answered.
    """
    ours, theirs = _sides(a, b, a_identity, b_identity)
    return {
        "average_accuracy": _of_statements(ours, theirs, family, np.ones(len(a.fact), dtype=bool)),
        "joint_accuracy": _of_facts(ours, theirs, family),
        "pair_joint_accuracy": _of_pairs(ours, theirs, family),
    }


def paired_facts(a: Records, b: Records, a_identity: Codes, b_identity: Codes, family: int = 1) -> Paired:
    """The comparison of two runs in joint accuracy alone. The arguments are those of `paired`."""
    return _of_facts(*_sides(a, b, a_identity, b_identity), family)


def paired_pairs(a: Records, b: Records, a_identity: Codes, b_identity: Codes) -> Paired:
    """The comparison of two runs in pair joint accuracy alone. The arguments are those of `paired`."""
    return _of_pairs(*_sides(a, b, a_identity, b_identity), 1)


def by_truth(a: Records, b: Records, a_identity: Codes, b_identity: Codes, family: int = 1) -> dict[str, Paired]:
    """The paired comparison over all statements, over those of facts that hold, and over those of false facts (MKJ's Acc,
    Acc_pos and Acc_neg). The arguments are those of `paired`.
    """
    ours, theirs = _sides(a, b, a_identity, b_identity)
    every = np.ones(len(a.fact), dtype=bool)
    return {
        "average_accuracy": _of_statements(ours, theirs, family, every),
        "positive_accuracy": _of_statements(ours, theirs, family, a.positive),
        "negative_accuracy": _of_statements(ours, theirs, family, ~a.positive),
    }


def probability_changes(a: Records, b: Records, a_identity: Codes, b_identity: Codes, family: int = 1) -> dict[str, Paired]:
    """The paired comparison of P(True) over the statements for which it counts in both runs: of true statements, of false ones,
    and its squared distance from the truth (Brier). only_a, only_b: where it is higher in that run. The arguments are those
    of `paired`.
    """
    ours, theirs = _sides(a, b, a_identity, b_identity)
    rows, others = _matched(ours.statement, theirs.statement)
    both = counted_rows(a)[rows] & counted_rows(b)[others]
    rows, others = rows[both], others[both]
    p, before, label = a.p_true[rows], b.p_true[others], a.label[rows]
    return {
        "p_true_of_true": _compared(p[label], before[label], a, rows[label], family),
        "p_true_of_false": _compared(p[~label], before[~label], a, rows[~label], family),
        "brier": _compared((p - label) ** 2, (before - label) ** 2, a, rows, family),
    }


def across(a: Records, b: Records, a_identity: Codes, b_identity: Codes, family: int = 1) -> Contrasted:
    """The share of right answers to a fact in one run less that in the other, over facts that both answered whole, whatever
    statements either was asked. The arguments are those of `paired`.
    """
    ours, theirs = _sides(a, b, a_identity, b_identity)
    here, there = facts_of(a), facts_of(b)
    rows, others = _matched(_by_fact(ours), _by_fact(theirs))
    both = here.complete[rows] & there.complete[others]
    rows, others = rows[both], others[both]
    clusters = Clusters(here.head[rows], here.tail[rows], here.draw[rows])
    return contrasted(here.right[rows] / here.total[rows], there.right[others] / there.total[others], clusters, family)


def matched_statements(a: Records, b: Records, a_identity: Codes, b_identity: Codes) -> tuple[Codes, Codes]:
    """The rows in each of two runs of the statements that both have scored."""
    ours, theirs = _sides(a, b, a_identity, b_identity)
    rows, others = _matched(ours.statement, theirs.statement)
    both = a.scored[rows] & b.scored[others]
    return rows[both], others[both]


def raced(a: Records, b: Records, a_identity: Codes, b_identity: Codes, like: bool = True) -> Differences | None:
    """What two runs have raced over, of the facts that both ask, in mastery: joint accuracy, whatever each asks of a fact. None
    where they share no fact.

    Heads race in an order that hangs on their facts alone (`order_of`). A head counts once both runs have asked all that they
    share of it, and once all heads before it count; what a failed call would have answered stays open. like: whether a claim
    is about facts like these. The other arguments are those of `paired`.
    """
    ours, theirs = _sides(a, b, a_identity, b_identity)
    rows, others = _matched(_by_fact(ours), _by_fact(theirs))
    if not len(rows):
        return None
    first, failed = a.first_of_fact[rows], _has(a, a.answer == FAILED)[rows] | _has(b, b.answer == FAILED)[others]
    place = order_of(a.head[first], a_identity[first])
    open_ = place[_has(a, a.answer == PENDING)[rows] | _has(b, b.answer == PENDING)[others]]
    counted = int(open_.min()) if len(open_) else int(place.max()) + 1
    there = place < counted
    (least_a, most_a), (least_b, most_b) = _mastered_or_open(a, rows[there]), _mastered_or_open(b, others[there])
    tails = a.tail[first][there] if like else None
    draws = a.draw[first][there] if like else None
    mastered, facts = np.where(failed[there], np.nan, least_a), a_identity[first][there]
    differences = least_a - most_b, most_a - least_b
    return Differences(*differences, place[there], np.bincount(place), counted, tails, draws, mastered, facts)


def _has(records: Records, statements: Bools) -> Bools:
    """Of each fact, whether it has one of these statements."""
    return np.asarray(np.bincount(records.fact, weights=statements, minlength=len(records.first_of_fact)) > 0, dtype=bool)


def _mastered_or_open(records: Records, facts: Codes) -> tuple[Floats, Floats]:
    """Whether a run masters some facts, at least and at most: one that misses nothing but failed calls may or may not."""
    missed, failed = (_has(records, rows)[facts] for rows in (records.scored & ~records.right, ~records.scored))
    return (~missed & ~failed).astype(np.float64), (~missed).astype(np.float64)


def _sides(a: Records, b: Records, a_identity: Codes, b_identity: Codes) -> tuple[Side, Side]:
    identity = np.unique(np.concatenate([a_identity, b_identity]), return_inverse=True)[1].astype(np.int64)
    fact = crossed(identity, np.concatenate([a.draw, b.draw]))
    statement = crossed(fact, np.concatenate(_alike(a.variants, b.variants)))
    cut = len(a.fact)
    return (
        Side(a, fact[:cut], statement[:cut]),
        Side(b, fact[cut:], statement[cut:]),
    )


def _alike(a: Names, b: Names) -> tuple[Codes, Codes]:
    """Codes of names, the same for the same name in both."""
    place = {name: number for number, name in enumerate(sorted({*a.names, *b.names}))}
    ours, theirs = (names.map(lambda name: place[name]).astype(np.int64) for names in (a, b))
    return ours, theirs


def _matched(ours: Codes, theirs: Codes) -> tuple[Codes, Codes]:
    """Where numbers that both have stand in each; of equal ones the first."""
    return np.intersect1d(ours, theirs, return_indices=True)[1:]


def _compared(
    ours: Bools | Floats, theirs: Bools | Floats, of: Records | Facts, rows: Codes, family: int, tails: Codes | None = None
) -> Paired:
    """The comparison of what is right (or how large something is) in the one run and in the other, in these rows of the first.
    tails: if not one a row.
    """
    tails = of.tail[rows] if tails is None else tails
    found = paired_difference(ours.astype(float) - theirs.astype(float), of.head[rows], tails, of.draw[rows], family=family)
    return Paired(
        difference=found.value,
        low=found.low,
        high=found.high,
        p=found.p,
        only_a=int((ours > theirs).sum()),
        only_b=int((theirs > ours).sum()),
        n=found.n,
        low_all=found.low_all,
        high_all=found.high_all,
        share_a=float(ours.mean()) if found.n else None,
        share_b=float(theirs.mean()) if found.n else None,
    )


def _of_statements(a: Side, b: Side, family: int, chosen: Bools) -> Paired:
    """chosen: which statements of the first run count."""
    rows, others = _matched(a.statement, b.statement)
    both = a.records.scored[rows] & b.records.scored[others] & chosen[rows]
    rows, others = rows[both], others[both]
    return _compared(a.records.right[rows], b.records.right[others], a.records, rows, family)


def _of_facts(a: Side, b: Side, family: int) -> Paired:
    ours, theirs = facts_of(a.records), facts_of(b.records)
    rows, others = _matched(_by_fact(a), _by_fact(b))
    both = ours.complete[rows] & theirs.complete[others]
    rows, others = rows[both], others[both]
    return _compared(ours.mastered[rows], theirs.mastered[others], ours, rows, family)


def _by_fact(side: Side) -> Codes:
    """The number, alike in both runs, of each fact in its draw."""
    return side.fact[np.unique(side.records.fact, return_index=True)[1]]


def _of_pairs(a: Side, b: Side, family: int) -> Paired:
    ours, theirs = facts_of(a.records), facts_of(b.records)
    (answered, right), (answered_there, right_there) = pairs_of(ours), pairs_of(theirs)
    rows, others = _matched(_by_fact(a), _by_fact(b))
    both = ours.positive[rows] & theirs.positive[others] & answered[ours.pair[rows]] & answered_there[theirs.pair[others]]
    rows, others = rows[both], others[both]
    same = _same(_negatives(a, ours, rows), _negatives(b, theirs, others), len(rows))
    rows, others = rows[same], others[same]
    found = right[ours.pair[rows]], right_there[theirs.pair[others]]
    return _compared(*found, ours, rows, family, tails_of_pairs(ours, rows))


def _negatives(side: Side, facts: Facts, positives: Codes) -> tuple[Codes, Codes]:
    """The negatives of these positive facts: the place among them of the one it goes with, and its own number in both runs."""
    place = np.full(int(facts.pair.max(initial=-1)) + 1, -1)
    place[facts.pair[positives]] = np.arange(len(positives))
    rows = np.flatnonzero(~facts.positive & (place[facts.pair] >= 0))
    return place[facts.pair[rows]], _by_fact(side)[rows]


def _same(ours: tuple[Codes, Codes], theirs: tuple[Codes, Codes], count: int) -> Bools:
    """For each of `count` positive facts, whether both runs have the same set of negatives with it."""
    numbers = max(int(ours[1].max(initial=0)), int(theirs[1].max(initial=0))) + 1
    in_a, in_b = (np.unique(place * numbers + number) for place, number in (ours, theirs))
    in_both = np.intersect1d(in_a, in_b)
    a, b, both = (np.bincount(keys // numbers, minlength=count) for keys in (in_a, in_b, in_both))
    return np.asarray((a == both) & (b == both), dtype=bool)
