"""Verdicts: one on a fact, then exceptions among its statements; and what the latest of them add up to."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from medfact.statements import Statement
from medfact.store import Verdict

TRUE, FALSE, DEPENDS, OUTSIDE, CANNOT = "true", "false", "depends", "outside", "cannot"
FACT_VERDICTS = {
    TRUE: "true",
    FALSE: "false",
    DEPENDS: "depends on the patient",
    OUTSIDE: "outside my field",
    CANNOT: "cannot judge",
}
"""What may be said of a fact."""

OTHERWISE, UNCLEAR, BOTH = "otherwise", "unclear", "otherwise, unclear"
STATEMENT_VERDICTS = {
    OTHERWISE: "the other way than the verdict on its fact says",
    UNCLEAR: "the wording is bad",
    BOTH: "the other way, and the wording is bad",
}
"""What may be said of a statement beside the verdict on its fact; without a verdict of its own it is fine."""

WITHDRAWN = "withdrawn"
"""Takes the reviewer's verdict before it back."""

REASONS = {
    "absolute": "too absolute",
    "population": "wrong population",
    "outdated": "outdated",
    "sign": "a sign and no symptom",
    "ambiguous": "ambiguous term",
}
"""Why, in a word; a comment says more."""

REVIEWER, ADJUDICATOR = "reviewer", "adjudicator"
"""Roles. An adjudicator sees the verdicts of others and decides."""

RANDOM, CONTESTED, DISPUTED, CHOSEN, GAME = "random", "contested", "disputed", "chosen", "game"
QUEUES = {
    RANDOM: "drawn at random",
    CONTESTED: "models disagree with the label, or with each other",
    DISPUTED: "reviewers disagree",
    CHOSEN: "a relation or a search",
    GAME: "from “Beat the model”",
}
"""Why a fact was up for review."""


@dataclass(frozen=True)
class Opinion:
    """What one reviewer says of a fact now. statements: statement id → a verdict; those not in it are fine."""

    reviewer: str
    fact: Verdict
    statements: Mapping[str, Verdict] = field(default_factory=dict)

    def truth(self, statement: Statement) -> bool | None:
        """Whether the reviewer holds a statement true; None where the verdict on its fact is neither true nor false."""
        if self.fact.verdict not in (TRUE, FALSE):
            return None
        negated = statement.label != statement.fact.positive
        own = self.statements.get(statement.statement_id)
        return ((self.fact.verdict == TRUE) != negated) != (own is not None and own.verdict in (OTHERWISE, BOTH))

    def is_unclear(self, statement: Statement) -> bool:
        """Whether the reviewer finds the wording bad."""
        own = self.statements.get(statement.statement_id)
        return own is not None and own.verdict in (UNCLEAR, BOTH)


def opinions(log: Iterable[Verdict]) -> dict[str, dict[str, Opinion]]:
    """Fact id → reviewer → what that reviewer says now: of each thing the last verdict, unless it was withdrawn.

    Reviewers are told apart by owner and name. Verdicts on statements count with one on their fact alone.
    """
    last: dict[tuple[str, str, str], Verdict] = {}
    for one in log:
        last[one.fact_id, who(one), one.statement_id] = one
    facts: defaultdict[str, dict[str, Verdict]] = defaultdict(dict)
    statements: defaultdict[tuple[str, str], dict[str, Verdict]] = defaultdict(dict)
    for (fact_id, reviewer, statement_id), one in last.items():
        if one.verdict == WITHDRAWN:
            continue
        if statement_id:
            statements[fact_id, reviewer][statement_id] = one
        else:
            facts[fact_id][reviewer] = one
    return {
        fact_id: {reviewer: Opinion(reviewer, one, statements[fact_id, reviewer]) for reviewer, one in of_fact.items()}
        for fact_id, of_fact in facts.items()
    }


def who(verdict: Verdict) -> str:
    """A reviewer: the browser or account, and the name."""
    return f"{verdict.owner}/{verdict.reviewer}"


@dataclass(frozen=True)
class Judgement:
    """What reviewers together say of a statement. truth: None where nobody decides. wrong: whether its label is. disputed:
    whether they differ and nobody has adjudicated. reviewers: how many hold it true or false.
    """

    truth: bool | None
    unclear: bool
    disputed: bool
    reviewers: int


def judged(statement: Statement, of_fact: Mapping[str, Opinion]) -> Judgement:
    """What an adjudicator says, else what most reviewers say; a tie is a dispute, and decides nothing."""
    deciding = [one for one in of_fact.values() if one.fact.role == ADJUDICATOR] or list(of_fact.values())
    truths = [truth for one in deciding if (truth := one.truth(statement)) is not None]
    unclear = [one.is_unclear(statement) for one in deciding]
    yes, no = truths.count(True), truths.count(False)
    truth = None if yes == no else yes > no
    return Judgement(truth, 2 * sum(unclear) > len(unclear), yes > 0 and yes == no, yes + no)
