"""Variants and statements: the eight ways of stating a fact, and the label of each.

A variant is an implication (none, inversion, instantiation, or both) with or without negation (PretextTrans, Section 3.2.1
and Table 1). The label of a statement follows from its fact: label = fact.positive XOR variant.negated.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from medfact.facts import Fact, digest


@dataclass(frozen=True, slots=True)
class Variant:
    """One way of stating a fact.

    key:       the papers' key by structure (`inv+ins+dn`), not a table's printed heading.
    form:      the key of the affirmed variant: its own, or that of the variant it denies.
    plain:     the name shown to clinicians.
    predicate: the paper's predicate form; h is the head, t the tail, x a patient.
    """

    key: str
    form: str
    plain: str
    predicate: str

    @property
    def negated(self) -> bool:
        """Whether the variant is false for a fact that holds."""
        return self.key != self.form


def _by_key(*variants: Variant) -> dict[str, Variant]:
    return {variant.key: variant for variant in variants}


IMPLICATIONS = _by_key(
    Variant("none", "none", "plain", "R(h, t)"),
    Variant("inv", "inv", "reversed", "R⁻¹(t, h)"),
    Variant("ins", "ins", "in a patient", "P(h, x) ⇒ Q(x, t)"),
    Variant("inv+ins", "inv+ins", "in a patient, reversed", "Q(x, t) ⇒ P(h, x)"),
    Variant("dn", "none", "plain, denied", "¬R(h, t)"),
    Variant("inv+dn", "inv", "reversed, denied", "¬R⁻¹(t, h)"),
    Variant("ins+dn", "ins", "in a patient, denied", "¬(P(h, x) ⇒ Q(x, t))"),
    Variant("inv+ins+dn", "inv+ins", "in a patient, reversed, denied", "¬(Q(x, t) ⇒ P(h, x))"),
)
"""The eight variants of PretextTrans (its Table 1), which the project's own pool shares."""

TRUTH_PRESERVING = _by_key(
    Variant("S1", "S1", "plain", "R(h, t)"),
    Variant("S2", "S2", "reversed", "R⁻¹(t, h)"),
    Variant("S3", "S3", "a patient with only this disease", "Has(h) → P(t)"),
    Variant("S4", "S4", "without it, unlikely only this disease", "¬P(t) → ¬Has(h)"),
    Variant("S5", "S1", "plain, denied", "¬R(h, t)"),
    Variant("S6", "S2", "reversed, denied", "¬R⁻¹(t, h)"),
    Variant("S7", "S3", "a patient with only this disease, denied", "¬(Has(h) → P(t))"),
    Variant("S8", "S4", "with it, unlikely only this disease", "¬(¬P(t) → ¬Has(h))"),
)
"""The eight expressions of TPEval (its Table 3): S5 to S8 deny S1 to S4. S4 is the contrapositive of S3, not a converse."""

WRITTEN = _by_key(*(Variant(f"L{number}", f"L{number}", f"sentence {number}", "") for number in range(1, 9)))
"""The eight sentences of LLMEval: whatever a model wrote, all of them affirmed. They follow from no implication."""

VARIANTS = {**IMPLICATIONS, **TRUTH_PRESERVING, **WRITTEN}
"""All variants, in the order of every page and file."""

FORM_NAMES = {key: variant.plain for key, variant in VARIANTS.items() if not variant.negated and key not in WRITTEN}
"""Key → plain name of the affirmed variants. Figures by form count an affirmed and its denied variant together."""

UNREADABLE, FAILED, PENDING, ABSENT = -1, -2, -3, -4
"""What arrays and queries have for a statement beside an answer's 1 and 0: a reply that cannot be read, a call that failed, a
statement that is not asked yet, and one that a run does not ask.
"""

PROTOTYPE = "prototype"
"""The origin of a statement that is a filled prototype, not rephrased."""


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
            statement_id = digest(self.fact.fact_id, self.pool, self.variant, self.text, self.origin)
            object.__setattr__(self, "statement_id", statement_id)

    @property
    def label(self) -> bool:
        """Whether the statement is true."""
        return self.fact.positive != VARIANTS[self.variant].negated
