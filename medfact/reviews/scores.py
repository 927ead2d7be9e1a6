"""Scores beside each other: of all facts, of reviewed ones, and with wrong labels flipped and unclear facts dropped whole."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from medfact.metrics.clusters import Bools
from medfact.metrics.joint import facts_of
from medfact.metrics.records import Records
from medfact.metrics.uncertainty import NOTHING, Estimate
from medfact.reviews.verdicts import Judgement


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
    flipped: labels that were flipped; dropped, disputed: facts.
    """

    everything: Scores
    reviewed: Scores
    corrected: Scores
    undisputed: Scores
    flipped: int
    dropped: int
    disputed: int


def reviewed_scores(records: Records, statement_ids: Sequence[str], judgements: Mapping[str, Judgement]) -> ReviewedScores:
    """The scores of a run under its reviews. statement_ids: of the rows of the records. judgements: by statement id."""
    found = [judgements.get(one) for one in statement_ids]
    decided = np.array([one is not None and one.truth is not None for one in found], dtype=bool)
    truth = np.array([bool(one and one.truth) for one in found], dtype=bool)
    unclear = np.array([bool(one and one.unclear) for one in found], dtype=bool)
    disputed = np.array([bool(one and one.disputed) for one in found], dtype=bool)
    wrong = decided & (truth != records.label)
    corrected = replace(records, label=np.where(wrong, ~records.label, records.label))
    whole = ~_facts_with(records, ~decided)
    clear, settled = ~_facts_with(records, unclear), ~_facts_with(records, disputed)
    return ReviewedScores(
        scores_of(records),
        scores_of(records.only(whole)),
        scores_of(corrected.only(clear)),
        scores_of(corrected.only(clear & settled)),
        int(wrong.sum()),
        _facts(records, ~clear),
        _facts(records, ~settled),
    )


def _facts_with(records: Records, rows: Bools) -> Bools:
    """All rows of the facts of which one of these rows is."""
    return np.isin(records.fact, np.unique(records.fact[rows]))


def _facts(records: Records, rows: Bools) -> int:
    return len(np.unique(records.fact[rows]))


def scores_of(records: Records) -> Scores:
    """The scores of some records as they are labelled."""
    if not len(records.fact):
        return Scores(0, NOTHING, NOTHING)
    facts = facts_of(records)
    return Scores(len(np.unique(records.fact)), records.accuracy(np.ones(len(records.fact), dtype=bool)), facts.joint())
