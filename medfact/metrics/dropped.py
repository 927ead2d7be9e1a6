"""Affirmation, in the present tense, of facts that were true once: drugs withdrawn, guidelines changed.

Facts that hold are the comparison. A model that affirms those and denies the dropped facts is up to date. If it denies both, it
says “false”. If it affirms a dropped fact and its denial, it says “true” at any date.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from medfact.metrics.clusters import Bools
from medfact.metrics.records import Records
from medfact.metrics.uncertainty import Estimate, mean_interval
from medfact.words import sayings

AFFIRMS, SAYS_TRUE, UP_TO_DATE, SAYS_FALSE = "affirms", "says true", "up to date", "says false"

DIAGNOSES = sayings("dropped.diagnosis")  # diagnosis → predicate of a sentence


@dataclass(frozen=True)
class Dropped:
    """Answers to facts that were true once. A fact is affirmed if more than half of its answered affirmed statements are called
    true.
    """

    affirmed: Estimate  # share of the facts that were true once
    statements: Estimate  # share of their affirmed statements that is called true
    denials: Estimate  # the same of their denied statements, which are true now
    holding: Estimate  # share of the facts that hold which is affirmed
    diagnosis: str | None  # key of DIAGNOSES; None if the intervals show none


def dropped(records: Records, was_true: Bools) -> Dropped | None:
    """Computes a run's answers to facts that were true once; None if no statement about one was answered.

    was_true: for each statement, True if its fact is false now and was true once.
    """
    gone, held = was_true & ~records.positive & records.scored, records.positive & records.scored
    if not gone.any():
        return None
    affirmed, denied, holding, holding_denied = (
        _share_of_facts(records, rows, answer) for rows in (gone, held) for answer in (1, 0)
    )
    denials = records.share(records.answer == 1, gone & records.negated)
    return Dropped(
        affirmed=affirmed,
        statements=records.share(records.answer == 1, gone & ~records.negated),
        denials=denials,
        holding=holding,
        diagnosis=diagnosis(affirmed, denied, denials, holding, holding_denied),
    )


def diagnosis(
    affirmed: Estimate, denied: Estimate, denials: Estimate, holding: Estimate, holding_denied: Estimate
) -> str | None:
    """Returns a key of DIAGNOSES that intervals above or below half show, or None.

    denied, holding_denied: shares of facts that are called false, of those dropped and of those that hold. Unreadable replies
    neither affirm nor deny. Without denied statements, none can be called true.
    """
    if _is_above_half(affirmed):
        if not denials.n or (denials.high is not None and denials.high < 0.5):
            return AFFIRMS
        return SAYS_TRUE if _is_above_half(denials) else None
    if not _is_above_half(denied):
        return None
    return UP_TO_DATE if _is_above_half(holding) else SAYS_FALSE if _is_above_half(holding_denied) else None


def _is_above_half(share: Estimate) -> bool:
    return share.low is not None and share.low > 0.5


def _share_of_facts(records: Records, rows: Bools, answer: int) -> Estimate:
    """Share of facts with this answer (1: true, 0: false) to more than half of their affirmed statements among these rows."""
    rows, count = rows & ~records.negated, len(records.first_of_fact)
    statements = np.bincount(records.fact[rows], minlength=count)
    answers = np.bincount(records.fact[rows], weights=records.answer[rows] == answer, minlength=count)
    facts = np.flatnonzero(statements)
    return mean_interval((answers > statements / 2)[facts].astype(float), records.clusters(records.first_of_fact[facts]))
