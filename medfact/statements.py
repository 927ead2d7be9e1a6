"""Variants and statements: what the eight ways of saying a fact are, and what label each one has.

A variant is an implication (none, inversion, instantiation, or both) with or without negation (PretextTrans, Section 3.2.1
and Table 1). The label of a statement follows from the fact alone: label = fact.positive XOR variant.negated.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from medfact.facts import Fact, digest


@dataclass(frozen=True, slots=True)
class Variant:
    """One way of saying a fact.

    key:       the papers' key, by structure (`inv+ins+dn`), never by a table's printed heading.
    plain:     what a clinician reads.
    predicate: the predicate form of PretextTrans, Table 1, with h and t for the head and the tail and x for a patient.
    """

    key: str
    negated: bool
    plain: str
    predicate: str

    @property
    def form(self) -> str:
        """The implication, whatever the polarity: none, inv, ins or inv+ins."""
        return self.key.removesuffix("dn").removesuffix("+") or "none"


VARIANTS = {
    variant.key: variant
    for variant in (
        Variant("none", False, "said plainly", "R(h, t)"),
        Variant("inv", False, "said backwards", "R⁻¹(t, h)"),
        Variant("ins", False, "as a patient's case", "P(h, x) ⇒ Q(x, t)"),
        Variant("inv+ins", False, "as a patient's case, backwards", "Q(x, t) ⇒ P(h, x)"),
        Variant("dn", True, "said plainly, denied", "¬R(h, t)"),
        Variant("inv+dn", True, "said backwards, denied", "¬R⁻¹(t, h)"),
        Variant("ins+dn", True, "as a patient's case, denied", "¬(P(h, x) ⇒ Q(x, t))"),
        Variant("inv+ins+dn", True, "as a patient's case, backwards, denied", "¬(Q(x, t) ⇒ P(h, x))"),
    )
}
"""The eight variants in their order on every page and in every file."""

FORM_NAMES = {
    "none": "said plainly",
    "inv": "said backwards",
    "ins": "as a patient's case",
    "inv+ins": "as a patient's case, backwards",
}

PROTOTYPE = "prototype"
"""The origin of a statement that is a prototype with its slots filled, not rephrased."""


@dataclass(frozen=True, slots=True)
class Statement:
    """A sentence about a fact, and whether it is true. Reviews attach to `statement_id`, never to a run."""

    fact: Fact
    pool: str
    variant: str
    text: str
    origin: str = PROTOTYPE
    statement_id: str = field(default="", compare=False)

    def __post_init__(self) -> None:
        if not self.statement_id:
            made = digest(self.fact.fact_id, self.pool, self.variant, self.text, self.origin)
            object.__setattr__(self, "statement_id", made)

    @property
    def negated(self) -> bool:
        return VARIANTS[self.variant].negated

    @property
    def label(self) -> bool:
        """Whether the statement is true."""
        return self.fact.positive != self.negated
