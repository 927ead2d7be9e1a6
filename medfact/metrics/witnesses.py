"""Facts whose label models contradict together: there the label is the suspect, if the models' answers hang on the fact.

A model contradicts a label coherently where all its answers to the fact are wrong, to statements that are true and to ones
that are false: so it says that the fact holds in every way, or that it does not. Who says True to everything never does. Who
says True unless denied does so of every false fact, without knowing one: so only a model that affirms true facts more often
than false ones, by more than chance, is a witness that a false fact holds; and of a true one likewise.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from medfact.metrics.clusters import Bools, Clusters, Codes, Floats
from medfact.metrics.uncertainty import linear_interval

AFFIRMS, DENIES, NEITHER = 1, 0, -1
"""What a model says of a fact with all its answers together."""

FEWEST_WITNESSES = 2


@dataclass(frozen=True)
class Against:
    """facts: those that all witnesses with answers, two at least, contradict, the most telling first. witnesses: models ×
    (that a true fact does not hold, that a false one does), whether its word counts. how_many: of each of the facts. weight:
    the logarithm of how many times as often such answers are given where the label is wrong, if models err independently.
    """

    facts: Codes
    how_many: Codes
    weight: Floats
    witnesses: Bools


def belief(right: Codes, wrong: Codes, asked_true: Codes, asked_false: Codes, positive: Bools) -> Codes:
    """What a model says of each fact: AFFIRMS, DENIES, or NEITHER. All arguments are by fact.

    right, wrong: how many readable answers are. asked_true, asked_false: how many of the fact's statements are true and false;
    it takes both kinds, and an answer to all of them.
    """
    whole = (right + wrong == asked_true + asked_false) & (asked_true > 0) & (asked_false > 0)
    found = np.full(len(positive), NEITHER, dtype=np.int64)
    found[whole & (wrong == 0)] = positive[whole & (wrong == 0)]
    found[whole & (right == 0)] = ~positive[whole & (right == 0)]
    return found


def against_labels(beliefs: Codes, answered: Bools, positive: Bools, heads: Codes) -> Against:
    """Where witnesses contradict labels. beliefs, answered: models × facts, what each says and whether it was asked all;
    positive, heads: of each fact.
    """
    witnesses, weights = np.zeros((len(beliefs), 2), dtype=bool), np.zeros((len(beliefs), 2))
    for model, (said, there) in enumerate(zip(beliefs, answered, strict=True)):
        for holds in (0, 1):  # what the witness says: of a true fact that it does not hold, of a false one that it does
            witnesses[model, holds], weights[model, holds] = _witness(
                (said == holds)[there], positive[there] == bool(holds), heads[there]
            )
    opposite = (~positive).astype(np.int64)
    counts = witnesses[:, opposite] & answered
    contradicts = counts & (beliefs == opposite)
    many = contradicts.sum(axis=0)
    facts = np.flatnonzero((many >= FEWEST_WITNESSES) & (many == counts.sum(axis=0)))
    weight = np.where(contradicts, weights[:, opposite], 0.0).sum(axis=0)
    facts = facts[np.argsort(-weight[facts], kind="stable")]
    return Against(facts, many[facts].astype(np.int64), weight[facts], witnesses)


def _witness(says: Bools, true_to_it: Bools, heads: Codes) -> tuple[bool, float]:
    """Whether a model says so more often of facts of which it is true, by more than chance (95 %, clustered by head; never
    under ten heads), and the logarithm of how many times as often.
    """
    here, there = says[true_to_it].astype(float), says[~true_to_it].astype(float)
    if not len(here) or not len(there):
        return False, 0.0
    difference = here.mean() - there.mean()
    parts = np.where(true_to_it, (says - here.mean()) * len(says) / len(here), -(says - there.mean()) * len(says) / len(there))
    low = linear_interval(difference + parts, Clusters(heads)).low
    often = ((here.sum() + 0.5) / (len(here) + 1)) / ((there.sum() + 0.5) / (len(there) + 1))
    return low is not None and low > 0, float(np.log(often))
