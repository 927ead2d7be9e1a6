"""Every figure of a run, from arrays alone.

Four fates of a statement are never mixed: right, wrong, unreadable (scored as wrong, as the papers' indicator does) and
failed (never scored). Nothing to measure gives no value, never zero.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from medfact.metrics import averages
from medfact.metrics.coherence import coherence
from medfact.metrics.groupings import by_columns
from medfact.metrics.joint import curves_of, facts_of
from medfact.metrics.measures import FIELDS, MEASURES, Measures, record_of
from medfact.metrics.probability import calibration
from medfact.metrics.records import FAILED, PENDING, UNREADABLE, Names, Records, codes
from medfact.metrics.uncertainty import Estimate

__all__ = ["FAILED", "PENDING", "UNREADABLE", "Measures", "Names", "Records", "calibration", "codes", "measure", "record_of"]


def measure(records: Records) -> Measures:
    """All figures of a run that follow from its records."""
    facts = facts_of(records)
    curves = curves_of(records, facts)
    groups = by_columns(records)
    scores = {name: score.compute(records, facts) for name, score in MEASURES.items()}
    coins = {name: score.coin(records, facts) for name, score in MEASURES.items() if callable(score.coin)}
    return Measures(
        statements=len(records.fact),
        facts=facts.count // max(len(np.unique(records.draw)), 1),
        answered=int(records.scored.sum()),
        right=int((records.scored & records.right).sum()),
        wrong=int((records.readable & ~records.right).sum()),
        unreadable=int((records.answer == UNREADABLE).sum()),
        failed=int((records.answer == FAILED).sum()),
        standing=len(np.unique(records.triplet)) - len(np.unique(records.triplet[records.scored & ~records.right])),
        macro_accuracy=averages.macro(records),
        false_affirmation=averages.harm(records.as_committed, positive=False, answer=1),
        false_denial=averages.harm(records.as_committed, positive=True, answer=0),
        chance=coins,
        joint_accuracy_at=_values(curves.joint_any_order),
        joint_accuracy_ordered=_values(curves.joint_ordered),
        average_accuracy_ordered=_values(curves.average_ordered),
        curves=curves,
        error_prone=averages.error_prone(groups["by_tail_type"]),
        calibration=calibration(records),
        coherence=coherence(records),
        more=groups | {name: estimate for name, estimate in scores.items() if name not in FIELDS},
        **{name: estimate for name, estimate in scores.items() if name in FIELDS},
    )


def _values(curve: Sequence[Estimate]) -> tuple[float | None, ...] | None:
    return tuple(estimate.value for estimate in curve) or None
