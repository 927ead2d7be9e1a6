"""Every figure of a run, from arrays alone.

Four fates of a statement are never mixed: right, wrong, unreadable (scored as wrong, as the papers' indicator does) and
failed (never scored). Nothing to measure gives no value, never zero.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from medfact.metrics import averages
from medfact.metrics.joint import Facts, curves_of, facts_of, pair_joint
from medfact.metrics.probability import calibration, coherence
from medfact.metrics.records import FAILED, PENDING, UNREADABLE, Names, Records, codes
from medfact.metrics.uncertainty import Estimate
from medfact.statements import FORM_NAMES, VARIANTS

__all__ = ["FAILED", "PENDING", "UNREADABLE", "Names", "Records", "calibration", "codes", "measure"]


def measure(records: Records) -> dict[str, Any]:
    """All figures of a run under the names that a report gives them."""
    everything = np.ones(len(records.fact), dtype=bool)
    facts = facts_of(records)
    curves = curves_of(records, facts)
    return {
        "statements": len(records.fact),
        "facts": facts.count // max(len(np.unique(records.draw)), 1),
        "answered": int(records.scored.sum()),
        "right": int((records.scored & records.right).sum()),
        "wrong": int((records.readable & ~records.right).sum()),
        "unreadable": int((records.answer == UNREADABLE).sum()),
        "failed": int((records.answer == FAILED).sum()),
        "average_accuracy": records.accuracy(everything)._asdict(),
        "joint_accuracy": facts.joint()._asdict(),
        "pair_joint_accuracy": pair_joint(records, facts)._asdict(),
        "macro_accuracy": averages.macro(records)._asdict(),
        "yes_bias": averages.yes_bias(records)._asdict(),
        "false_affirmation": averages.harm(records, positive=False, answer=1),
        "false_denial": averages.harm(records, positive=True, answer=0),
        "positive_accuracy": records.accuracy(records.positive)._asdict(),
        "negative_accuracy": records.accuracy(~records.positive)._asdict(),
        "accuracy_gap": averages.gap(records)._asdict(),
        "mkj_accuracy": averages.mkj_accuracy(records, facts.negatives)._asdict(),
        "chance": _chance(facts),
        "joint_accuracy_at": _values(curves["joint_any_order"]),
        "joint_accuracy_ordered": _values(curves["joint_ordered"]),
        "average_accuracy_ordered": _values(curves["average_ordered"]),
        "curves": {name: [estimate._asdict() for estimate in curve] for name, curve in curves.items()},
        "by_variant": averages.by_names(records, records.variants, list(VARIANTS)),
        "by_relation": averages.by_names(records, records.relations),
        "by_polarity": averages.by_polarity(records),
        "by_form": averages.by_names(records, records.forms, list(FORM_NAMES)),
        "by_implications": averages.by_implications(records),
        "by_tail_type": (by_tail_type := averages.by_tail_type(records)),
        "error_prone": averages.error_prone(by_tail_type),
        "calibration": calibration(records),
        "coherence": coherence(records),
    }


def _chance(facts: Facts) -> dict[str, float | None]:
    """What a fair coin is expected to score: joint accuracy over K statements, pair joint over the negatives' too."""
    if not facts.count:
        return {"average_accuracy": None, "joint_accuracy": None, "pair_joint_accuracy": None}
    statements, members = int(facts.total.max()), 1 + facts.negatives
    return {
        "average_accuracy": 0.5,
        "joint_accuracy": 0.5**statements,
        "pair_joint_accuracy": 0.5 ** (statements * members) if members > 1 else None,
    }


def _values(curve: Sequence[Estimate]) -> list[float | None] | None:
    return [estimate.value for estimate in curve] or None
