"""Variants and statements: eight ways of stating a fact, and their labels.

A variant is an implication (none, inversion, instantiation, or both) with or without negation (PretextTrans, Section 3.2.1
and Table 1). The label of a statement follows from its fact: label = fact.positive XOR variant.negated.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from medfact.facts import Fact, digest


@dataclass(frozen=True, slots=True)
class Variant:
    """One way of stating a fact."""

    key: str  # built from the steps of the implication, such as `inv+ins+dn`; S1 to S8 in TPEval
    form: str  # key of the affirmed variant: its own, or that of the variant that it negates
    plain: str  # description for clinicians
    predicate: str  # the paper's predicate form; h is the head, t the tail, x a patient

    @property
    def negated(self) -> bool:
        """Returns True if the variant states the negation of its fact."""
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
"""Key → variant, of PretextTrans (its Table 1) and of the project's own pool."""

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
"""Key → variant, of TPEval (its Table 3): S5 to S8 negate S1 to S4. S4 is the contrapositive of S3, not a converse."""

WRITTEN = _by_key(*(Variant(f"L{number}", f"L{number}", f"sentence {number}", "") for number in range(1, 9)))
"""Key → variant, of LLMEval: sentences written by a model, all affirmed, without a logical structure."""

VARIANTS = {**IMPLICATIONS, **TRUTH_PRESERVING, **WRITTEN}
"""Key → variant, for all variants, in the order of pages and files."""

FORM_NAMES = {key: variant.plain for key, variant in VARIANTS.items() if not variant.negated and key not in WRITTEN}
"""Key of an affirmed variant → its description. Scores by form pool a variant with its negation."""

UNREADABLE, FAILED, PENDING, ABSENT = -1, -2, -3, -4
"""Codes in arrays and queries for statements without an answer, besides 1 (True) and 0 (False). In order: an unreadable reply,
a failed call, not asked yet, not in the run.
"""

PROTOTYPE = "prototype"
"""`Statement.origin` of a filled prototype that no model rephrased."""


@dataclass(frozen=True, slots=True)
class Statement:
    """A sentence about a fact, with its truth label. Reviews attach to `statement_id`, never to a run."""

    fact: Fact
    pool: str  # name of the prototype pool
    variant: str  # key of VARIANTS
    text: str
    origin: str = PROTOTYPE  # or "rephrased by MODEL", or why no model rephrased it
    statement_id: str = field(default="", compare=False)

    def __post_init__(self) -> None:
        if not self.statement_id:
            statement_id = digest(self.fact.fact_id, self.pool, self.variant, self.text, self.origin)
            object.__setattr__(self, "statement_id", statement_id)

    @property
    def label(self) -> bool:
        """True if the statement is true."""
        return self.fact.positive != VARIANTS[self.variant].negated
