"""A run's statements and answers as arrays, from which every figure is computed; and the targets of its intervals."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import NDArray

from medfact.metrics.clusters import Bools, Clusters, Codes, Floats, IntraclassCorrelation, crossed
from medfact.metrics.uncertainty import NOTHING, Estimate, intraclass_correlation, mean_interval
from medfact.statements import FAILED as FAILED
from medfact.statements import PENDING as PENDING
from medfact.statements import UNREADABLE as UNREADABLE
from medfact.statements import VARIANTS


@dataclass(frozen=True)
class Records:
    """One row per statement of a run, in parallel arrays. Codes begin at 0; a name is "" where it is unknown."""

    fact: Codes  # a fact that is asked after several draws of demonstrations has a code for each
    pair: Codes  # the same for a positive fact and its negatives
    head: Codes
    tail: Codes
    draw: Codes
    variants: Names
    relations: Names
    tail_types: Names
    difficulties: Names  # "" for positive facts
    positive: Bools  # the fact holds
    label: Bools  # the statement is true
    answer: NDArray[np.int8]  # 1, 0, UNREADABLE, FAILED or PENDING
    p_true: Floats  # from 0 to 1, or NaN
    p_mass: Floats
    unseen: Floats | None = None  # share of the relation's facts that were not asked, where intervals are about these facts
    bounds: Codes | None = None  # region and population of the fact; None where all facts have the same
    committed: NDArray[np.int8] | None = None  # `answer` by the project's reading, where the run's is a paper's

    @cached_property
    def as_committed(self) -> Records:
        """The same with the answers that replies commit to: a refusal that names a keyword is none."""
        return self if self.committed is None else replace(self, answer=self.committed, committed=None)

    def only(self, rows: Bools) -> Records:
        """The records of some statements; facts must be whole."""
        columns: dict[str, Any] = {
            field.name: getattr(self, field.name)[rows] for field in fields(self) if getattr(self, field.name) is not None
        }
        codes = {name: np.unique(columns[name], return_inverse=True)[1] for name in ("fact", "pair", "head", "tail")}
        return Records(**columns | codes)

    @cached_property
    def digest(self) -> bytes:
        """The same for records that are the same in every column."""
        digest = blake2b(digest_size=16)
        for field in fields(self):
            column = getattr(self, field.name)
            names, codes = (column.names, column.code) if isinstance(column, Names) else ((), column)
            digest.update(repr((field.name, names, None if codes is None else (codes.dtype.str, codes.shape))).encode())
            digest.update(b"" if codes is None else codes.tobytes())
        return digest.digest()

    @cached_property
    def scored(self) -> Bools:
        """Statements with an answer, readable or not."""
        return self.answer >= UNREADABLE

    @cached_property
    def readable(self) -> Bools:
        return self.answer >= 0

    @cached_property
    def right(self) -> Bools:
        return np.asarray(self.answer == self.label.astype(np.int8), dtype=bool)

    @cached_property
    def negated(self) -> Bools:
        return self.variants.map(lambda key: VARIANTS[key].negated).astype(bool)

    @cached_property
    def forms(self) -> Names:
        """The form of each statement, affirmed and denied ones alike."""
        return self.variants.renamed(lambda key: VARIANTS[key].form)

    @cached_property
    def _head_and_tail(self) -> Codes:
        return crossed(self.head, self.tail)

    @cached_property
    def triplet(self) -> Codes:
        """Codes of facts by head, relation, tail and bounds: the same in every draw of demonstrations."""
        triplet = crossed(self._head_and_tail, self.relations.code)
        return triplet if self.bounds is None else crossed(triplet, self.bounds)

    @cached_property
    def _clusters(self) -> Clusters:
        """Of facts like these heads and tails are a sample; of these facts, the pairs that were asked are."""
        if self.unseen is None:
            return Clusters(self.head, self.tail, self.draw, self._head_and_tail)
        first = np.full(int(self.pair.max(initial=-1)) + 1, len(self.pair))
        np.minimum.at(first, self.pair, self.triplet)
        return Clusters(np.unique(first[self.pair], return_inverse=True)[1], None, self.draw, None, unseen=self.unseen)

    @cached_property
    def intraclass(self) -> IntraclassCorrelation:
        """Correlation of the shares of right answers of facts with one head, and of facts with one tail."""
        count = np.bincount(self.fact[self.scored], minlength=1)
        right = np.bincount(self.fact[self.scored], weights=self.right[self.scored], minlength=1)
        facts = np.flatnonzero(count)
        return intraclass_correlation(right[facts] / count[facts], self._of_fact.of(facts))

    def clusters(self, rows: Bools | Codes) -> Clusters:
        """Clusters of the chosen statements."""
        return self._clusters.of(rows)._replace(intraclass=self.intraclass)

    @cached_property
    def first_of_fact(self) -> Codes:
        """The first row of each fact."""
        return np.unique(self.fact, return_index=True)[1].astype(np.int64)

    @cached_property
    def _of_fact(self) -> Clusters:
        return self._clusters.of(self.first_of_fact)

    def accuracy(self, chosen: Bools) -> Estimate:
        """Share of right answers among the scored ones of the chosen statements."""
        return self.share(self.right, chosen & self.scored)

    def share(self, holds: Bools, chosen: Bools) -> Estimate:
        """The share of the chosen statements for which something holds.

        All statements of a fact stand in the same clusters, so that sums over a fact give what its statements would.
        """
        rows = np.flatnonzero(chosen)
        if not len(rows):
            return NOTHING
        count = np.bincount(self.fact[rows])
        holding = np.bincount(self.fact[rows], weights=holds[rows])
        facts = np.flatnonzero(count)
        value = holding.sum() / len(rows)
        parts = value + (holding[facts] - value * count[facts]) * len(facts) / len(rows)
        return mean_interval(parts, self._of_fact.of(facts)._replace(intraclass=self.intraclass))._replace(n=len(rows))


@dataclass(frozen=True)
class Facts:
    """One row per fact: its number of statements and of right answers, and whether all of them were answered."""

    records: Records
    total: Codes
    right: Codes
    complete: Bools
    pair: Codes
    head: Codes
    tail: Codes
    draw: Codes
    positive: Bools
    clusters: Clusters

    @property
    def mastered(self) -> Bools:
        return np.asarray(self.right == self.total, dtype=bool)

    @property
    def negatives(self) -> int:
        """Negative facts that go with a positive one, where one has most."""
        of_positive = np.isin(self.pair, self.pair[self.positive]) & ~self.positive
        return int(np.bincount(self.pair[of_positive]).max(initial=0))

    def joint(self) -> Estimate:
        """Share of the facts with all their answers that has them right."""
        return mean_interval(self.mastered[self.complete].astype(float), self.clusters.of(self.complete))

    @cached_property
    def curves(self) -> dict[str, tuple[Estimate, ...]]:
        """Accuracy against the number of statements a fact, over complete facts.

        Joint accuracy in any order: the mean over facts of C(right, i) / C(K, i) for i = 1 … K, which is the mean over all K!
        orders in closed form (PretextTrans, Figure 5); () where facts differ in K. Joint and average accuracy with the first,
        the first two, … variants (TPEval, Figure 6).
        """
        records, whole, clusters = self.records, self.complete, self.clusters.of(self.complete)
        any_order, joint, average = [], [], []
        if len(set(self.total[whole])) == 1:
            k = int(self.total[whole][0])
            table = np.array([[math.comb(c, i) / math.comb(k, i) for i in range(1, k + 1)] for c in range(k + 1)])
            any_order = [mean_interval(column, clusters) for column in table[self.right[whole]].T]
        alive, so_far = np.ones(len(self.total), dtype=bool), np.zeros(len(records.fact), dtype=bool)
        for key in [key for key in VARIANTS if key in records.variants.names and whole.any()]:
            rows = whole[records.fact] & records.variants.among([key])
            alive[records.fact[rows & ~records.right]] = False
            so_far |= rows
            joint.append(mean_interval(alive[whole].astype(float), clusters))
            average.append(records.accuracy(so_far))
        return {"joint_any_order": tuple(any_order), "joint_ordered": tuple(joint), "average_ordered": tuple(average)}


def facts_of(records: Records) -> Facts:
    first = records.first_of_fact
    total = np.bincount(records.fact)
    return Facts(
        records=records,
        total=total,
        right=np.bincount(records.fact, weights=records.scored & records.right).astype(np.int64),
        complete=np.bincount(records.fact, weights=records.scored).astype(np.int64) == total,
        pair=records.pair[first],
        head=records.head[first],
        tail=records.tail[first],
        draw=records.draw[first],
        positive=records.positive[first],
        clusters=records.clusters(first),
    )


def pairs_of(facts: Facts) -> tuple[Bools, Bools]:
    """Per pair: whether it has a negative and every statement of it was answered; and whether all its answers are right."""
    members = np.bincount(facts.pair)
    complete, right = (
        np.bincount(facts.pair, weights=mask) == members for mask in (facts.complete, facts.complete & facts.mastered)
    )
    return (members >= 2) & complete, right


def tails_of_pairs(facts: Facts, positives: Codes) -> Codes:
    """(pairs, most facts of a pair): the tails of each pair of these positive facts, −1 where it has fewer."""
    place = np.full(int(facts.pair.max(initial=-1)) + 1, -1)
    place[facts.pair[positives]] = np.arange(len(positives))
    members = np.flatnonzero(place[facts.pair] >= 0)
    members = members[np.argsort(place[facts.pair[members]], kind="stable")]
    pair = place[facts.pair[members]]
    number = np.arange(len(pair)) - np.searchsorted(pair, pair)
    tails = np.full((len(positives), int(number.max(initial=0)) + 1), -1, dtype=np.int64)
    tails[pair, number] = facts.tail[members]
    return tails


class Names:
    """Names of rows: the different ones, sorted, and each row's place among them."""

    def __init__(self, names: Sequence[str], code: Codes) -> None:
        self.names, self.code = names, code

    @classmethod
    def of(cls, values: Sequence[str]) -> Names:
        """The names of texts, one per row."""
        names = sorted(set(values))
        place = {name: number for number, name in enumerate(names)}
        return cls(names, np.fromiter(map(place.__getitem__, values), dtype=np.int64, count=len(values)))

    def __getitem__(self, rows: Any) -> Names:
        """The names of some rows, or of all in another order."""
        return Names(self.names, self.code[rows])

    def renamed(self, new: Callable[[str], str]) -> Names:
        """The same rows under other names, where several may become one."""
        names = Names.of([new(name) for name in self.names])
        return Names(names.names, names.code[self.code] if self.names else self.code)

    def among(self, names: Sequence[str]) -> Bools:
        """Mask of the rows with one of these names."""
        return self.map(lambda name: name in names).astype(bool)

    def map(self, function: Callable[[str], Any]) -> NDArray[Any]:
        """A value of each row, by its name."""
        return np.array([function(name) for name in self.names])[self.code] if self.names else np.zeros(0)


def codes(values: Sequence[str]) -> Codes:
    """Codes from 0, one for each different value."""
    return Names.of(values).code


LIKE, THESE = "like", "these"
# Targets of the intervals: facts like these, of other heads and tails too, or these facts and no others.
ESTIMANDS = (LIKE, THESE)


def of_these_facts(records: Records, population: Mapping[str, int]) -> Records:
    """The same records, with intervals about these facts alone: about those that were drawn from, relation by relation.

    A run of all facts of a finite population leaves nothing open about these facts. A run of some leaves open as much as those
    that were not asked (Cochran 1977, chapter 5: stratified by relation, with the finite-population correction).

    population: relation → number of positive facts that those asked were drawn from; of other relations, all are asked.
    """
    relations = records.relations
    unseen = np.zeros(len(relations.names))
    for code, name in enumerate(relations.names):
        rows = relations.code == code
        facts = rows & records.positive if (rows & records.positive).any() else rows
        planned, scored = (len(np.unique(records.triplet[chosen])) for chosen in (facts, facts & records.scored))
        unseen[code] = 1 - scored / max(population.get(name, 0), planned)
    return replace(records, unseen=unseen[relations.code] if len(relations.names) else np.zeros(0))
