"""How far reviewers can be trusted: by pair, how far they agree; of each, how many controls they accept, and how fast they are.

A control is a candidate whose sentence does not name the tail. Who reads refuses it. Who accepts everything, or presses at
random, accepts it too, and agrees with careful reviewers no more than chance does (kappa). AC1 stands beside kappa, because
kappa is small where nearly all decide the same (`metrics.agreement`). Pairs are compared on the proposals alone: controls, on
which all who read agree, would flatter them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from statistics import median

import numpy as np

from medfact.curation.checks import ACCEPTED, DECISIONS, REFUSED, Said
from medfact.metrics.agreement import MISSING, Agreement, agreement
from medfact.metrics.clusters import effective_number
from medfact.metrics.records import codes
from medfact.metrics.uncertainty import NOTHING, Estimate, wilson
from medfact.store import Candidate

MOST_CONTROLS = 0.1
"""The share of controls that a reviewer may accept by a slip. Whose interval lies above it does not read."""

FEWEST_CONTROLS = 10
"""With fewer controls nobody is called careless."""

_CODES = {name: code for code, name in enumerate(DECISIONS)}


@dataclass(frozen=True)
class Reviewer:
    """What a reviewer decided. id: `checks.who`. accepted: of the proposals, the share accepted, mended or not; controls:
    of the controls, the share accepted as they are. Intervals: Wilson's, with the diseases' worth as n. seconds: the median
    time of a decision; None where nobody measured.
    """

    id: str
    name: str
    decided: int
    accepted: Estimate
    controls: Estimate
    seconds: float | None

    @property
    def is_careless(self) -> bool:
        """Returns true if more controls are accepted than slips explain."""
        return self.controls.n >= FEWEST_CONTROLS and (self.controls.low or 0.0) > MOST_CONTROLS


@dataclass(frozen=True)
class Pair:
    """How far two reviewers agree on the proposals that both have decided: accept, mend or refuse."""

    a: str
    b: str
    agreement: Agreement


@dataclass(frozen=True)
class Quality:
    """reviewers: by name. pairs: of those who share a proposal."""

    reviewers: tuple[Reviewer, ...]
    pairs: tuple[Pair, ...]


def quality_of(candidates: Sequence[Candidate], said: Said) -> Quality:
    """What all reviewers' decisions say of them."""
    names = {name: one.reviewer for of in said.values() for name, one in of.items()}
    order = sorted(names, key=lambda name: (names[name].casefold(), name))
    return Quality(tuple(_reviewer(candidates, said, name) for name in order), tuple(_pairs(candidates, said, order, names)))


def _reviewer(candidates: Sequence[Candidate], said: Said, name: str) -> Reviewer:
    own = [(one, said[one.position][name]) for one in candidates if name in said.get(one.position, {})]
    seconds = [decision.seconds for _, decision in own if decision.seconds is not None]
    return Reviewer(
        name,
        own[0][1].reviewer,
        len(own),
        _share([(one.head, decision.decision != REFUSED) for one, decision in own if not one.control]),
        _share([(one.head, decision.decision == ACCEPTED) for one, decision in own if one.control]),
        median(seconds) if seconds else None,
    )


def _share(rows: Sequence[tuple[str, bool]]) -> Estimate:
    """The share of rows that hold. Rows of one disease stand or fall together."""
    if not rows:
        return NOTHING
    share = sum(holds for _, holds in rows) / len(rows)
    worth = min(len(rows), effective_number(codes([head for head, _ in rows])))
    return Estimate(share, *wilson(share, worth), len(rows))


def _pairs(candidates: Sequence[Candidate], said: Said, order: Sequence[str], names: dict[str, str]) -> Iterator[Pair]:
    real = [one for one in candidates if not one.control and one.position in said]
    for a, b in combinations(order, 2):
        ratings = np.array(
            [
                [_CODES[of[name].decision] if name in of else MISSING for name in (a, b)]
                for of in (said[one.position] for one in real)
            ],
            dtype=np.int64,
        )
        found = agreement(ratings.reshape(len(real), 2), codes([one.head for one in real]))
        if found.items:
            yield Pair(names[a], names[b], found)
