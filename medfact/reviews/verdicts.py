"""Verdicts: one on a fact, then exceptions among its statements; and what the latest of them add up to."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from medfact.statements import Statement
from medfact.store import Verdict
from medfact.store.verdicts import ADJUDICATOR as ADJUDICATOR
from medfact.store.verdicts import GAME as GAME
from medfact.store.verdicts import REVIEWER as REVIEWER
from medfact.store.verdicts import WITHDRAWN as WITHDRAWN

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

REASONS = {
    "absolute": "too absolute",
    "population": "wrong population",
    "outdated": "outdated",
    "sign": "a sign and no symptom",
    "ambiguous": "ambiguous term",
}
"""Why, in a word; a comment says more."""

RANDOM, CONTESTED, DISPUTED, CHOSEN = "random", "contested", "disputed", "chosen"
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

    def says(self, statement: Statement) -> str | None:
        """TRUE, FALSE or DEPENDS of a statement; None where the reviewer passes."""
        truth = self.truth(statement)
        if truth is None:
            return DEPENDS if self.fact.verdict == DEPENDS else None
        return TRUE if truth else FALSE

    def is_unclear(self, statement: Statement) -> bool:
        """Whether the reviewer finds the wording bad, or the whole fact such that no plain answer is fair."""
        own = self.statements.get(statement.statement_id)
        return self.fact.verdict == DEPENDS or (own is not None and own.verdict in (UNCLEAR, BOTH))


def opinions(log: Iterable[Verdict]) -> dict[str, dict[str, Opinion]]:
    """Fact id → reviewer → what that reviewer says now: of each thing the last verdict, unless it was withdrawn.

    Reviewers are told apart by owner and name. Verdicts on statements count with one on their fact alone. What was answered
    in a game against the clock is no judgement, and is left out.
    """
    last: dict[tuple[str, str, str], Verdict] = {}
    for one in log:
        if one.queue == GAME:
            continue
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
    """A reviewer: the browser or account, and the name. Who adjudicates does so beside what they said as a reviewer."""
    return f"{verdict.owner}/{verdict.reviewer}" + ("/adjudicator" if verdict.role == ADJUDICATOR else "")


def held(reviewed: Mapping[str, Mapping[str, Opinion]]) -> dict[str, bool]:
    """Fact id → whether it is held true: by an adjudicator, else by more than half of those who do not pass.

    A fact of which half of them, or more, make an exception among its statements is left out.
    """
    found: dict[str, bool] = {}
    for fact_id, of_fact in reviewed.items():
        deciding = [one for one in _deciding(of_fact) if one.fact.verdict in (TRUE, FALSE, DEPENDS)]
        said = Counter(one.fact.verdict for one in deciding)
        if 2 * sum(bool(one.statements) for one in deciding) >= max(len(deciding), 1):
            continue
        if 2 * max(said[TRUE], said[FALSE]) > len(deciding):
            found[fact_id] = said[TRUE] > said[FALSE]
    return found


def _deciding(of_fact: Mapping[str, Opinion]) -> list[Opinion]:
    """The opinions that decide: the adjudicators', else all."""
    return [one for one in of_fact.values() if one.fact.role == ADJUDICATOR] or list(of_fact.values())


@dataclass(frozen=True)
class Judgement:
    """What reviewers together say of a statement. truth: None where nobody decides. unclear: whether most find it so, or hold
    that it depends on the patient. disputed: whether any two differ, and nobody has adjudicated. reviewers: how many do not
    pass.
    """

    truth: bool | None
    unclear: bool
    disputed: bool
    reviewers: int


def judged(statement: Statement, of_fact: Mapping[str, Opinion]) -> Judgement:
    """What an adjudicator says, else what more than half of the reviewers say who do not pass."""
    deciding = [one for one in _deciding(of_fact) if one.says(statement) is not None]
    said = Counter(one.says(statement) for one in deciding)
    unclear = sum(one.is_unclear(statement) for one in deciding)
    decided = max(said[TRUE], said[FALSE]) * 2 > len(deciding)
    differ = len(said) > 1 and all(one.fact.role != ADJUDICATOR for one in deciding)
    return Judgement(said[TRUE] > said[FALSE] if decided else None, 2 * unclear > len(deciding), differ, len(deciding))
