"""Scores without the forms that a paper labels wrongly, which stand beside those of all forms."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from medfact.metrics.clusters import Bools
from medfact.metrics.joint import facts_of, pair_joint
from medfact.metrics.records import Records
from medfact.metrics.uncertainty import Estimate
from medfact.prototypes import mislabelled
from medfact.store import Run


@dataclass(frozen=True)
class WellLabelled:
    """The scores of a run over the statements whose label follows from their fact. forms: relation → form that is left out →
    why. statements: how many are left out. With fewer statements a fact, all of them are right more easily.
    """

    forms: Mapping[str, Mapping[str, str]]
    statements: int
    average_accuracy: Estimate
    joint_accuracy: Estimate
    pair_joint_accuracy: Estimate


def well_labelled(run: Run, records: Records) -> WellLabelled | None:
    """The scores without the forms that the run's sentences label wrongly; None where it asks no such form."""
    forms = mislabelled(run.pool_text, records.relations.names)
    wrong = _asked_in(records, forms)
    if not wrong.any():
        return None
    kept = records.only(~wrong)
    facts = facts_of(kept)
    every = np.ones(len(kept.fact), dtype=bool)
    return WellLabelled(forms, int(wrong.sum()), kept.accuracy(every), facts.joint(), pair_joint(kept, facts))


def _asked_in(records: Records, forms: Mapping[str, Mapping[str, str]]) -> Bools:
    """Which statements are of one of these forms of their relation."""
    wrong = np.zeros(len(records.fact), dtype=bool)
    for relation, of in forms.items():
        wrong |= records.relations.among([relation]) & records.variants.among([*of])
    return wrong
