"""Verdicts: one on a fact, then exceptions among its statements; what the latest add up to; and who gives them blindly."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from medfact.facts import Fact
from medfact.statements import Statement
from medfact.store import Store, Verdict
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
    OTHERWISE: "its truth is the opposite of my verdict",
    UNCLEAR: "the wording is bad",
    BOTH: "the opposite of my verdict, and the wording is bad",
}
"""What may be said of a statement beside the verdict on its fact; without a verdict of its own it is fine."""

STATEMENTS_ALONE = {**STATEMENT_VERDICTS, TRUE: "true", FALSE: "false"}
"""What may be said of a statement by itself. Where nothing is said of its fact, OTHERWISE is other than its label."""

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
    CHOSEN: "chosen by a relation, a search, by hand, or for a colleague",
    GAME: "from “Beat the model”",
}
"""Why a fact was up for review."""


@dataclass(frozen=True)
class Opinion:
    """What one reviewer says of a fact now. fact: with the verdict "" where only statements were judged. statements: statement
    id → a verdict; those not in it are fine.
    """

    reviewer: str
    fact: Verdict
    statements: Mapping[str, Verdict] = field(default_factory=dict)

    def truth(self, statement: Statement) -> bool | None:
        """Whether the reviewer holds a statement true; None where neither it nor its fact was judged to be true or false."""
        own = self.statements.get(statement.statement_id)
        if own is not None and own.verdict in (TRUE, FALSE):
            return own.verdict == TRUE
        otherwise = own is not None and own.verdict in (OTHERWISE, BOTH)
        if self.fact.verdict in (TRUE, FALSE):
            negated = statement.label != statement.fact.positive
            return ((self.fact.verdict == TRUE) != negated) != otherwise
        return not statement.label if otherwise and not self.fact.verdict else None

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

    Reviewers are told apart by owner and name. Who takes a verdict on a fact back takes back what was said of its statements
    until then. What was answered in a game against the clock is no judgement, and is left out.
    """
    standing: defaultdict[tuple[str, str], dict[str, Verdict]] = defaultdict(dict)
    for one in log:
        said = standing[one.fact_id, who(one)]
        if one.queue == GAME:
            continue
        if one.verdict != WITHDRAWN:
            said[one.statement_id] = one
        elif one.statement_id:
            said.pop(one.statement_id, None)
        else:
            said.clear()
    found: defaultdict[str, dict[str, Opinion]] = defaultdict(dict)
    for (fact_id, reviewer), said in standing.items():
        if said:
            alone = replace(next(reversed(said.values())), verdict="", statement_id="", wording="")
            statements = {name: one for name, one in said.items() if name}
            found[fact_id][reviewer] = Opinion(reviewer, said.get("", alone), statements)
    return dict(found)


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
    voices = [one for one in _deciding(of_fact) if one.says(statement) is not None or one.is_unclear(statement)]
    deciding = [one for one in voices if one.says(statement) is not None]
    said = Counter(one.says(statement) for one in deciding)
    unclear = sum(one.is_unclear(statement) for one in voices)
    decided = max(said[TRUE], said[FALSE]) * 2 > len(deciding)
    differ = len(said) > 1 and all(one.fact.role != ADJUDICATOR for one in deciding)
    return Judgement(said[TRUE] > said[FALSE] if decided else None, 2 * unclear > len(voices), differ, len(deciding))


def is_blind(store: Store, fact: Fact, owners: Sequence[str]) -> bool:
    """Whether a person, who may be several owners, is blind to the label of a fact: was shown neither that one nor those of its
    pair, and has not judged or played the fact.
    """
    return not store.verdicts.has_seen(_pair(fact), owners) and not store.verdicts.log([fact.fact_id], owners)


def show_labels(store: Store, facts: Iterable[Fact]) -> None:
    """Records that the store's owner is shown the labels of these facts. Called before they are."""
    store.verdicts.record_seen(map(_pair, facts))


def _pair(fact: Fact) -> str:
    return fact.negative_of or fact.fact_id
