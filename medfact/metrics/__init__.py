"""Every figure of a run, from arrays alone.

Four fates of a statement are never mixed: right, wrong, unreadable (scored as wrong, as the papers' indicator does) and
failed (never scored). Nothing to measure gives no value, never zero.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from medfact.metrics import averages
from medfact.metrics.coherence import coherence
from medfact.metrics.joint import Facts, curves_of, facts_of, pair_joint
from medfact.metrics.measures import MEASURES, Chance, DifficultyFigures, Measures, fields_among, record_of
from medfact.metrics.probability import calibration
from medfact.metrics.records import FAILED, PENDING, UNREADABLE, Names, Records, codes
from medfact.metrics.uncertainty import Estimate
from medfact.negatives import DIFFICULTIES
from medfact.statements import FORM_NAMES, VARIANTS, WRITTEN

__all__ = ["FAILED", "PENDING", "UNREADABLE", "Measures", "Names", "Records", "calibration", "codes", "measure", "record_of"]


def measure(records: Records) -> Measures:
    """All figures of a run."""
    facts = facts_of(records)
    curves = curves_of(records, facts)
    by_tail_type = averages.by_tail_type(records)
    scores = {name: one.compute(records, facts) for name, one in MEASURES.items()}
    own = fields_among(scores)
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
        chance=_chance(facts),
        joint_accuracy_at=_values(curves.joint_any_order),
        joint_accuracy_ordered=_values(curves.joint_ordered),
        average_accuracy_ordered=_values(curves.average_ordered),
        curves=curves,
        by_variant=averages.by_names(records, records.variants, [key for key in VARIANTS if key not in WRITTEN]),
        by_relation=averages.by_names(records, records.relations),
        by_polarity=averages.by_polarity(records),
        by_form=averages.by_names(records, records.forms, list(FORM_NAMES)),
        by_implications=averages.by_implications(records),
        by_tail_type=by_tail_type,
        by_difficulty=by_difficulty(records),
        error_prone=averages.error_prone(by_tail_type),
        calibration=calibration(records),
        coherence=coherence(records),
        **{name: scores[name] for name in own},
        more={name: of for name, of in scores.items() if name not in own},
    )


def by_difficulty(records: Records) -> dict[str, DifficultyFigures]:
    """Figures by the difficulty of the false partners; a true fact with false partners of two difficulties counts for both."""
    made = {}
    for difficulty in DIFFICULTIES:
        false = records.difficulties.among([difficulty]) & ~records.positive
        if false.any():
            pairs = records.only(false | (records.positive & np.isin(records.pair, records.pair[false])))
            facts = facts_of(pairs)
            made[difficulty] = DifficultyFigures(
                negatives=len(np.unique(records.triplet[false])),
                average_accuracy=pairs.accuracy(np.ones(len(pairs.fact), dtype=bool)),
                joint_accuracy=facts.joint(),
                pair_joint_accuracy=pair_joint(pairs, facts),
                negative_accuracy=pairs.accuracy(~pairs.positive),
            )
    return made


def _chance(facts: Facts) -> Chance:
    """What a fair coin is expected to score: joint accuracy over K statements, pair joint over the negatives' too."""
    if not facts.count:
        return Chance()
    statements, members = int(facts.total.max()), 1 + facts.negatives
    return Chance(0.5, 0.5**statements, 0.5 ** (statements * members) if members > 1 else None)


def _values(curve: Sequence[Estimate]) -> tuple[float | None, ...] | None:
    return tuple(estimate.value for estimate in curve) or None
