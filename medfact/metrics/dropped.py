"""Whether a model affirms, in the present tense, what was true once and is so no longer: drugs withdrawn, guidelines changed.

Facts that hold stand beside it: a model that affirms those and denies what was dropped is up to date; one that denies both says
“false”; one that affirms a dropped fact and its denial alike says “true”, and knows nothing of the date.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from medfact.metrics.clusters import Bools
from medfact.metrics.records import Records
from medfact.metrics.uncertainty import Estimate, mean_interval

AFFIRMS, SAYS_TRUE, UP_TO_DATE, SAYS_FALSE = "affirms", "says true", "up to date", "says false"

DIAGNOSES = {
    AFFIRMS: "affirms what has been dropped",
    SAYS_TRUE: "says “true” to what has been dropped, affirmed or denied",
    UP_TO_DATE: "is up to date: it denies what has been dropped, and affirms what holds",
    SAYS_FALSE: "says “false” to what holds, too",
}
"""Diagnosis → what the model does, as part of a sentence. Each is named where intervals show it, above or below half."""


@dataclass(frozen=True)
class Dropped:
    """What a model says of facts that were true once. A fact is affirmed if more than half of its affirmed statements that were
    answered are called true.

    affirmed: share of the facts that were true once. statements: of their affirmed statements, the share that is called true;
    denials: the same of their denied statements, which are true now. holding: of the facts that hold, the share affirmed.
    diagnosis: a name of DIAGNOSES, None where the intervals show none.
    """

    affirmed: Estimate
    statements: Estimate
    denials: Estimate
    holding: Estimate
    diagnosis: str | None


def dropped(records: Records, was_true: Bools) -> Dropped | None:
    """What a run says of facts that were true once; None where no statement about one was answered.

    was_true: for each statement, whether its fact is false now and was true once.
    """
    asked = was_true & ~records.positive & records.scored
    if not asked.any():
        return None
    affirmed = _affirmed(records, asked)
    denials = records.share(records.answer == 1, asked & records.negated)
    holds = records.positive & records.scored
    holding = _affirmed(records, holds)
    return Dropped(
        affirmed=affirmed,
        statements=records.share(records.answer == 1, asked & ~records.negated),
        denials=denials,
        holding=holding,
        diagnosis=diagnosis(affirmed, _denied(records, asked), denials, holding, _denied(records, holds)),
    )


def diagnosis(
    affirmed: Estimate, denied: Estimate, denials: Estimate, holding: Estimate, holding_denied: Estimate
) -> str | None:
    """A name of DIAGNOSES; None where the intervals do not show one. Without denied statements, none can be called true.

    denied, holding_denied: of the facts that were dropped, and of those that hold, the share that is called false: replies that
    cannot be read neither affirm nor deny.
    """
    if _is_above_half(affirmed):
        if denials.n and not (denials.high is not None and denials.high < 0.5):
            return SAYS_TRUE if _is_above_half(denials) else None
        return AFFIRMS
    if _is_above_half(denied):
        return UP_TO_DATE if _is_above_half(holding) else SAYS_FALSE if _is_above_half(holding_denied) else None
    return None


def _affirmed(records: Records, rows: Bools) -> Estimate:
    """The share of these facts that are affirmed, of those with an answer to an affirmed statement."""
    return _mostly(records, rows & ~records.negated, 1)


def _denied(records: Records, rows: Bools) -> Estimate:
    """The share of these facts of which most affirmed statements that were answered are called false."""
    return _mostly(records, rows & ~records.negated, 0)


def _mostly(records: Records, rows: Bools, answer: int) -> Estimate:
    """The share of facts with more than half of their chosen statements answered so."""
    count = len(records.first_of_fact)
    asked = np.bincount(records.fact[rows], minlength=count)
    said = np.bincount(records.fact[rows], weights=records.answer[rows] == answer, minlength=count)
    facts = np.flatnonzero(asked)
    return mean_interval((said > asked / 2)[facts].astype(float), records.clusters(records.first_of_fact[facts]))


def _is_above_half(share: Estimate) -> bool:
    return share.low is not None and share.low > 0.5
