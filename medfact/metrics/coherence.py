"""Agreement of a model with itself. It needs no label: only two answers, where logic derives one from the other."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from medfact.metrics.clusters import Bools, Codes, Floats
from medfact.metrics.measures import Coherence, Couples, measured
from medfact.metrics.probability import counted_rows
from medfact.metrics.records import PENDING, Facts, Records
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
    """Agreement of a model with itself over one implication.

    A model that says True to everything agrees with every inversion. So the share is compared with that of independent answers.
    """

    share: Estimate  # of the couples of statements with two readable answers
    # share that would agree if the two answers were independent, at the model's own rate of True for each way of asking, true
    # and false facts apart
    independent: float | None


@dataclass(frozen=True)
class SelfAgreement:
    """Agreement over all implications that a run asks."""

    by_implication: Mapping[str, Agrees]  # in the order of AGREES
    affirms_both: Estimate  # couples of a statement and its negation that are both called true
    denies_both: Estimate  # such couples that are both called false


@measured("coherence", kind=Coherence)
def coherence(records: Records, _: Facts | None = None) -> Coherence:
    """Shares of forms that are affirmed both ways, or denied both ways, and the mean of |p(s) + p(¬s) − 1|.

    Forms count whose two polarities are answered; for the mean, those whose two probabilities count (`counted_rows`).
    """
    key = records.fact * max(len(records.forms.names), 1) + records.forms.code
    size = int(key.max()) + 1 if len(key) else 0
    answer = np.full((2, size), PENDING, dtype=np.int8)
    p_true = np.full((2, size), np.nan)
    polarity = records.negated.astype(int)
    answer[polarity, key] = records.answer
    p_true[polarity, key] = np.where(counted_rows(records), records.p_true, np.nan)
    couples = answer[:, (answer >= 0).all(axis=0)]
    n = couples.shape[1]
    p_couples = p_true[:, ~np.isnan(p_true).any(axis=0)]
    gaps = np.abs(p_couples.sum(axis=0) - 1)
    return Coherence(
        n=n,
        affirms_both=float((couples == 1).all(axis=0).mean()) if n else None,
        denies_both=float((couples == 0).all(axis=0).mean()) if n else None,
        probability_gap=float(gaps.mean()) if len(gaps) else None,
        couples=tuple(_squares(p_couples)),
    )


_SQUARES = 20  # squares of P(s) and P(¬s) to a side


def _squares(p_true: Floats) -> Iterator[Couples]:
    """Yields the number of couples in each square. p_true: 2 × couples, of a statement and of its negation."""
    place = np.minimum((p_true * _SQUARES).astype(np.int64), _SQUARES - 1)
    counts = np.bincount(place[0] * _SQUARES + place[1], minlength=_SQUARES**2)
    for square in np.flatnonzero(counts):
        row, column = divmod(int(square), _SQUARES)
        yield Couples((row + 0.5) / _SQUARES, (column + 0.5) / _SQUARES, int(counts[square]))


def self_agreement(records: Records) -> SelfAgreement | None:
    """Agreement of a model with itself; None where no two answers of a couple are readable."""
    by_implication = {}
    for name, partner_of in _PARTNERS.items():
        first, second = _couples(records, partner_of)
        if len(first):
            by_implication[name] = _agrees(records, first, second, opposite=name == NEGATION)
    if not by_implication:
        return None
    first, second = _couples(records, _PARTNERS[NEGATION])
    alike = [_share(records, first, (records.answer[first] == word) & (records.answer[second] == word)) for word in (1, 0)]
    return SelfAgreement(by_implication, *alike)


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
    left, right = records.answer[first] == 1, records.answer[second] == 1
    expected = 0.0
    cells = records.variants.code[second] * 2 + records.positive[first]
    for cell in np.unique(cells):
        a, b = float(left[cells == cell].mean()), float(right[cells == cell].mean())
        same = a * b + (1 - a) * (1 - b)
        expected += float((cells == cell).mean()) * (1 - same if opposite else same)
    return Agrees(_share(records, first, (left != right) if opposite else (left == right)), expected)


def _share(records: Records, rows: Codes, holds: Bools) -> Estimate:
    """The share of couples for which something holds; each stands at the row of its first statement."""
    chosen, held = np.zeros((2, len(records.fact)), dtype=bool)
    chosen[rows], held[rows] = True, holds
    return records.share(held, chosen)
