"""Scores beside each other: of all facts, of reviewed ones, with wrong labels flipped and unclear facts dropped whole, and
under the reviewers' truth for all facts though few were drawn.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from medfact.datasets.sources import has_source
from medfact.facts import Fact
from medfact.metrics.clusters import Bools, Floats
from medfact.metrics.powered import Powered, Reviewed, powered
from medfact.metrics.records import Records, codes, facts_of
from medfact.metrics.uncertainty import NOTHING, Estimate
from medfact.reviews.verdicts import ADJUDICATOR, GAME, RANDOM, Judgement, Opinion, judged, opinions, who
from medfact.statements import Statement
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


@dataclass(frozen=True)
class Scores:
    """Right answers, and facts with all of them right. facts: how many."""

    facts: int
    average: Estimate
    joint: Estimate


@dataclass(frozen=True)
class ReviewedScores:
    """everything: as labelled. reviewed: the facts that somebody has judged whole, as labelled. corrected: all facts, with
    wrong labels flipped, and without facts of which a statement is unclear. undisputed: those without disputed ones too.
    """

    everything: Scores
    reviewed: Scores
    corrected: Scores
    undisputed: Scores
    wrong: int
    """Facts all of whose labels were flipped."""
    sentences: int
    """Statements of other facts whose label was flipped."""
    dropped: int
    """Facts that are unclear, or depend on the patient."""
    disputed: int
    """Facts about which reviewers differ."""


def reviewed_scores(records: Records, statement_ids: Sequence[str], judgements: Mapping[str, Judgement]) -> ReviewedScores:
    """The scores of a run under its reviews. statement_ids: of the rows of the records. judgements: by statement id."""
    found = [judgements.get(one) for one in statement_ids]
    decided = np.array([one is not None and one.truth is not None for one in found], dtype=bool)
    truth = np.array([bool(one and one.truth) for one in found], dtype=bool)
    unclear = np.array([bool(one and one.unclear) for one in found], dtype=bool)
    disputed = np.array([bool(one and one.disputed) for one in found], dtype=bool)
    wrong = decided & (truth != records.label)
    corrected = replace(records, label=np.where(wrong, ~records.label, records.label))
    whole, refuted = ~_facts_with(records, ~decided), ~_facts_with(records, ~wrong)
    clear, settled = ~_facts_with(records, unclear), ~_facts_with(records, disputed)
    return ReviewedScores(
        scores_of(records),
        scores_of(records.only(whole)),
        scores_of(corrected.only(clear)),
        scores_of(corrected.only(clear & settled)),
        _facts(records, refuted),
        len({name for name, is_one in zip(statement_ids, wrong & ~refuted, strict=True) if is_one}),
        _facts(records, ~clear),
        _facts(records, ~settled),
    )


def _facts_with(records: Records, rows: Bools) -> Bools:
    """All rows of the facts of which one of these rows is."""
    return np.isin(records.fact, np.unique(records.fact[rows]))


def _facts(records: Records, rows: Bools) -> int:
    return len(np.unique(records.triplet[rows]))


def scores_of(records: Records) -> Scores:
    """The scores of some records as they are labelled."""
    if not len(records.fact):
        return Scores(0, NOTHING, NOTHING)
    facts = facts_of(records)
    return Scores(len(np.unique(records.fact)), records.accuracy(np.ones(len(records.fact), dtype=bool)), facts.joint())


@dataclass(frozen=True)
class PoweredScores:
    """Right answers, and facts with all of them right, under the reviewers' truth for all facts. drawn: of how many facts that
    came at random and were judged blindly; undecided: of how many of them reviewers decide nothing.
    """

    average: Powered
    joint: Powered
    drawn: int
    undecided: int


def powered_scores(records: Records, statements: Sequence[Statement], draws: Draws) -> PoweredScores:
    """The scores of a run under the truth of its reviewers. statements: of the rows of the records.

    A label that reviewers hold wrong is the other one. A fact of which they leave the truth of a statement open, hold one
    unclear, or say that it depends on the patient, leaves the scores.
    """
    once = {one.statement_id: one for one in statements}
    said = {name: judged(one, draws.reviewed.get(one.fact.fact_id, {})) for name, one in once.items()}
    found = [said[one.statement_id] for one in statements]
    open_ = np.array([one.truth is None or one.unclear for one in found], dtype=bool)
    truth = np.where(open_, records.label, np.array([bool(one.truth) for one in found], dtype=bool))
    under = replace(records, label=truth)
    ids = [statements[row].fact.fact_id for row in records.first_of_fact]
    weight = np.array([draws.weights.get(fact_id, 0.0) for fact_id in ids])
    decided = (weight > 0) & ~np.isin(np.unique(records.fact), records.fact[open_])
    stratum = codes([repr(draws.stratum[fact_id]) for fact_id in ids])
    clusters = records.clusters(records.first_of_fact)

    def score(statements: Floats, right: Floats, confirmed: Floats, corrected: Floats) -> Powered:
        components = Reviewed(statements, right, weight, decided, confirmed, corrected, stratum, clusters)
        return powered(components.only(statements > 0))

    def sums(rows: Bools) -> Floats:
        return np.bincount(records.fact, weights=records.scored & rows).astype(float)

    by_label, by_truth = facts_of(records), facts_of(under)
    masters, truly = by_label.mastered & by_label.complete, by_truth.mastered & by_truth.complete
    undecided = {fact_id for fact_id, is_decided in zip(ids, decided, strict=True) if not is_decided}
    return PoweredScores(
        score(
            sums(np.ones(len(records.fact), dtype=bool)),
            sums(records.right),
            sums(records.right & under.right),
            sums(~records.right & under.right),
        ),
        score(*(rows.astype(float) for rows in (by_label.complete, masters, masters & truly, ~masters & truly))),
        len(draws.drawn),
        len(draws.drawn & undecided),
    )
