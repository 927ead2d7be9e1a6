"""Whether a model agrees with itself: no label is needed, only two answers of which logic fixes the one by the other."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from medfact.metrics.clusters import Bools, Codes, Floats
from medfact.metrics.measures import Coherence, Couples
from medfact.metrics.probability import counted_rows
from medfact.metrics.records import PENDING, Records
from medfact.metrics.uncertainty import Estimate
from medfact.statements import IMPLICATIONS, VARIANTS

NEGATION, INVERSION, INSTANTIATION = "negation", "inversion", "instantiation"

# Implication → when two answers agree.
AGREES = {
    NEGATION: "a statement and its negation get opposite answers",
    INVERSION: "a statement and the same the other way round get the same answer",
    INSTANTIATION: "a statement and the same of one patient get the same answer",
}


@dataclass(frozen=True)
class Agrees:
    """How often a model agrees with itself over one implication.

    share: of the couples of statements with two readable answers. independent: the share that would agree if the two answers
    did not depend on each other, at the model's own rate of True for each way of asking, true and false facts apart: a model
    that says True to everything agrees with every inversion.
    """

    share: Estimate
    independent: float | None


@dataclass(frozen=True)
class SelfAgreement:
    """by_implication: in the order of AGREES, those that a run asked. Of the couples of a statement and its negation,
    affirms_both and denies_both are how many are both called true, or both false.
    """

    by_implication: Mapping[str, Agrees]
    affirms_both: Estimate
    denies_both: Estimate


def coherence(records: Records) -> Coherence:
    """Needs no label: over forms with both polarities answered, how often the model affirms both, or denies both, and the
    mean of |p(s) + p(¬s) − 1| where both count (`counted_rows`).
    """
    key = records.fact * max(len(records.forms.names), 1) + records.forms.code
    size = int(key.max()) + 1 if len(key) else 0
    answer = np.full((2, size), PENDING, dtype=np.int8)
    p_true = np.full((2, size), np.nan)
    polarity = records.negated.astype(int)
    answer[polarity, key] = records.answer
    p_true[polarity, key] = np.where(counted_rows(records), records.p_true, np.nan)
    both = (answer >= 0).all(axis=0)
    known = p_true[:, ~np.isnan(p_true).any(axis=0)]
    gaps = np.abs(known.sum(axis=0) - 1)
    return Coherence(
        n=int(both.sum()),
        affirms_both=float((answer[:, both] == 1).all(axis=0).mean()) if both.any() else None,
        denies_both=float((answer[:, both] == 0).all(axis=0).mean()) if both.any() else None,
        probability_gap=float(gaps.mean()) if len(gaps) else None,
        couples=tuple(_squares(known)),
    )


_SQUARES = 20  # squares of P(s) and P(¬s) to a side


def _squares(p_true: Floats) -> Iterator[Couples]:
    """How many couples lie in each square. p_true: 2 × couples, of a statement and of its negation."""
    place = np.minimum((p_true * _SQUARES).astype(np.int64), _SQUARES - 1)
    counts = np.bincount(place[0] * _SQUARES + place[1], minlength=_SQUARES**2)
    for square in np.flatnonzero(counts):
        row, column = divmod(int(square), _SQUARES)
        yield Couples((row + 0.5) / _SQUARES, (column + 0.5) / _SQUARES, int(counts[square]))


def self_agreement(records: Records) -> SelfAgreement | None:
    """How far a model's answers hang together, whatever is true; None where no two answers of a couple are readable."""
    found = {}
    for name, partner_of in _PARTNERS.items():
        first, second = _couples(records, partner_of)
        if len(first):
            found[name] = _agrees(records, first, second, opposite=name == NEGATION)
    if not found:
        return None
    first, second = _couples(records, _PARTNERS[NEGATION])
    both = [_share(records, first, (records.answer[first] == word) & (records.answer[second] == word)) for word in (1, 0)]
    return SelfAgreement(found, *both)


def _without(step: str) -> Callable[[str], str | None]:
    """Of a variant with an implication the key of the same variant without it; None of others."""

    def partner(key: str) -> str | None:
        parts = key.split("+")
        if key not in IMPLICATIONS or step not in parts:
            return None
        return "+".join(part for part in parts if part != step) or "none"

    return partner


_PARTNERS: dict[str, Callable[[str], str | None]] = {
    NEGATION: lambda key: VARIANTS[key].form if VARIANTS[key].negated else None,
    INVERSION: _without("inv"),
    INSTANTIATION: _without("ins"),
}


def _couples(records: Records, partner_of: Callable[[str], str | None]) -> tuple[Codes, Codes]:
    """Rows of statements, and of their partners about the same fact, where both answers are readable."""
    names = records.variants.names
    place = {name: number for number, name in enumerate(names)}
    partner = np.array([place.get(partner_of(name) or "", -1) for name in names], dtype=np.int64)
    row = np.full((int(records.fact.max(initial=-1)) + 1) * max(len(names), 1), -1, dtype=np.int64)
    row[records.fact * len(names) + records.variants.code] = np.arange(len(records.fact))
    second = np.flatnonzero(records.variants.map(lambda name: partner_of(name) in place).astype(bool))
    first = row[records.fact[second] * len(names) + partner[records.variants.code[second]]]
    readable = (first >= 0) & records.readable[first] & records.readable[second]
    return first[readable], second[readable]


def _agrees(records: Records, first: Codes, second: Codes, opposite: bool) -> Agrees:
    one, other = records.answer[first] == 1, records.answer[second] == 1
    expected = 0.0
    cells = records.variants.code[second] * 2 + records.positive[first]
    for cell in np.unique(cells):
        a, b = float(one[cells == cell].mean()), float(other[cells == cell].mean())
        same = a * b + (1 - a) * (1 - b)
        expected += float((cells == cell).mean()) * (1 - same if opposite else same)
    return Agrees(_share(records, first, (one != other) if opposite else (one == other)), expected)


def _share(records: Records, rows: Codes, holds: Bools) -> Estimate:
    """The share of couples for which something holds; each stands at the row of its first statement."""
    chosen, held = np.zeros((2, len(records.fact)), dtype=bool)
    chosen[rows], held[rows] = True, holds
    return records.share(held, chosen)
