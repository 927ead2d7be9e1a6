"""What figures are about: facts like these, of other heads and tails too, or these facts and no others.

A run of all facts of a finite population leaves nothing open about these facts, and a run of some leaves open as much as those
that were not asked (Cochran 1977, chapter 5: stratified by relation, with the finite-population correction). About facts like
these either leaves open what other heads and tails would show.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from medfact.metrics.records import Records

LIKE, THESE = "like", "these"
ESTIMANDS = (LIKE, THESE)


def of_these_facts(records: Records, population: Mapping[str, int]) -> Records:
    """The same records, with intervals about these facts alone: about those that were drawn from, relation by relation.

    population: relation → of how many positive facts those that are asked were drawn; of the others, all are asked.
    """
    relations = records.relations
    unseen = np.zeros(len(relations.names))
    for code, name in enumerate(relations.names):
        rows = relations.code == code
        of = rows & records.positive if (rows & records.positive).any() else rows
        planned, asked = (len(np.unique(records.triplet[chosen])) for chosen in (of, of & records.scored))
        unseen[code] = 1 - asked / max(population.get(name, 0), planned)
    return replace(records, unseen=unseen[relations.code] if len(relations.names) else np.zeros(0))
