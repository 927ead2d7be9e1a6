"""Agreement of a model with itself. It needs no label: only two answers, where logic derives one from the other."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np

from medfact.metrics.clusters import Bools, Codes
from medfact.metrics.measures import Coherence, Couples, measured
from medfact.metrics.probability import counted_rows
from medfact.metrics.records import Facts, Records
from medfact.metrics.uncertainty import Estimate
from medfact.statements import IMPLICATIONS, VARIANTS
from medfact.words import sayings

NEGATION, INVERSION, INSTANTIATION = "negation", "inversion", "instantiation"

AGREES = sayings("self_agreement")  # implication → when two answers agree


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


_SQUARES = 20  # squares of P(s) and P(¬s) to a side


@measured("coherence", kind=Coherence)
def coherence(records: Records, _: Facts | None = None) -> Coherence:
    """Shares of forms that are affirmed both ways, or denied both ways, and the mean of |p(s) + p(¬s) − 1|.

    Forms count whose two polarities are answered; for the mean, those whose two probabilities count (`counted_rows`).
    """
    answers = records.answer[_couples(records, _PARTNERS[NEGATION], records.readable)]
    couples = _couples(records, _PARTNERS[NEGATION], counted_rows(records))
    # by fact, then by form, so that a sum is the same in any order of the records
    p_true = records.p_true[couples[:, np.lexsort((records.forms.code[couples[0]], records.fact[couples[0]]))]]
    place = np.minimum((p_true * _SQUARES).astype(np.int64), _SQUARES - 1)
    counts = np.bincount(place[0] * _SQUARES + place[1])
    squares = [(*divmod(square, _SQUARES), int(counts[square])) for square in np.flatnonzero(counts).tolist()]
    n = answers.shape[1]
    return Coherence(
        n=n,
        affirms_both=float((answers == 1).all(axis=0).mean()) if n else None,
        denies_both=float((answers == 0).all(axis=0).mean()) if n else None,
        probability_gap=float(np.abs(p_true.sum(axis=0) - 1).mean()) if p_true.size else None,
        couples=tuple(Couples((row + 0.5) / _SQUARES, (column + 0.5) / _SQUARES, n) for row, column, n in squares),
    )


def self_agreement(records: Records) -> SelfAgreement | None:
    """Agreement of a model with itself; None where no two answers of a couple are readable."""
    couples = {name: _couples(records, partner_of, records.readable) for name, partner_of in _PARTNERS.items()}
    by_implication = {name: _agrees(records, rows[0], rows[1], name == NEGATION) for name, rows in couples.items() if rows.size}
    if not by_implication:
        return None
    first, second = couples[NEGATION]
    alike = [_share(records, first, (records.answer[first] == word) & (records.answer[second] == word)) for word in (1, 0)]
    return SelfAgreement(by_implication, *alike)


def _without(step: str, key: str) -> str | None:
    """The same variant without an implication; None for a variant that has none."""
    parts = key.split("+")
    if key not in IMPLICATIONS or step not in parts:
        return None
    return "+".join(part for part in parts if part != step) or "none"


_PARTNERS: dict[str, Callable[[str], str | None]] = {
    NEGATION: lambda key: VARIANTS[key].form if VARIANTS[key].negated else None,
    INVERSION: partial(_without, "inv"),
    INSTANTIATION: partial(_without, "ins"),
}


def _couples(records: Records, partner_of: Callable[[str], str | None], chosen: Bools) -> Codes:
    """Rows of partners, and of the statements that have them about the same fact, (2, couples), where both are chosen."""
    names, variant, fact = records.variants.names, records.variants.code, records.fact
    place = {name: number for number, name in enumerate(names)}
    partner = np.array([place.get(partner_of(name) or "", -1) for name in names], dtype=np.int64)
    row = np.full((int(fact.max(initial=-1)) + 1, max(len(names), 1)), -1, dtype=np.int64)
    row[fact, variant] = np.arange(len(fact))
    second = np.flatnonzero(partner[variant] >= 0)
    first = row[fact[second], partner[variant[second]]]
    is_couple = (first >= 0) & chosen[first] & chosen[second]
    return np.stack([first[is_couple], second[is_couple]])


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
