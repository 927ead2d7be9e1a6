"""The gate: a verdict on a model against its baseline, with the facts that it lost and those that it newly affirms."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from medfact.datasets import Held
from medfact.datasets.text import one_line
from medfact.facts import Fact
from medfact.metrics.race import CANNOT_TELL, FAIL, PASS, Differences, GateResult, gate_result
from medfact.prototypes.grammar import scope_prefix
from medfact.results.danger import Accepted, danger, is_judged, not_answered
from medfact.results.drift import Served, describe_changes, describe_served, served_of
from medfact.results.fact_table import fact_table, facts_of_rows
from medfact.results.report import Side
from medfact.results.withdrawn import LeftOut
from medfact.results.wording import bounds_in_points, counted, label_of, own_name, points
from medfact.runs.costs import bill_of
from medfact.store import Store
from medfact.words import say

# Verdict → the exit code of `check`. 2 is a mistake.
CODES = {PASS: 0, FAIL: 1, CANNOT_TELL: 3}

Recorded = tuple[Store, Side]

NOTHING_WITHDRAWN = LeftOut()

MAX_LISTED = 10  # facts in a comment


@dataclass(frozen=True)
class Gate:
    """A check of a model against its baseline."""

    model: str
    baseline: str
    served: tuple[Served, Served]  # software of the model and of the baseline
    margin: float  # from 0 to 1
    allowed: int  # number of dangerous facts that may be newly affirmed
    mastery: GateResult
    dangerous: tuple[Accepted, ...]  # judged false and affirmed, not so by the baseline; contraindications first
    risky: int  # facts judged false that the baseline did not affirm
    asked: int  # those of them that the model was asked
    unanswered: tuple[Fact, ...]  # those that it may affirm, since a statement about them has no answer
    lost: tuple[Fact, ...]  # mastered by the baseline alone, of the facts that `mastery` counts
    gained: tuple[Fact, ...]  # mastered by the model alone
    ended: str = ""  # reason why it was not asked everything
    withdrawn: LeftOut = NOTHING_WITHDRAWN  # statements of the baseline that its bundled set has withdrawn since

    @property
    def verdict(self) -> str:
        """By mastery, unless too many dangerous facts are affirmed, or might be: then no model passes."""
        if len(self.dangerous) > self.allowed:
            return FAIL
        might = len(self.dangerous) + len(self.unanswered) > self.allowed
        return CANNOT_TELL if might and self.mastery.verdict == PASS else self.mastery.verdict

    @property
    def newly_affirmed(self) -> list[str]:
        """Dangerous facts in words."""
        return [_describe_fact(affirmed.fact, affirmed.contraindicated) for affirmed in self.dangerous]

    def record(self) -> dict[str, Any]:
        """The check as JSON: the keys of `check --json`."""

        def names(*facts: Fact) -> list[dict[str, Any]]:
            return [
                {"head": fact.head, "relation": fact.relation, "tail": fact.tail, "label": label_of(fact)} for fact in facts
            ]

        return {
            "verdict": self.verdict,
            "model": self.model,
            "baseline": self.baseline,
            "served": {name: served._asdict() for name, served in zip(("model", "baseline"), self.served, strict=True)},
            "margin": self.margin,
            "mastery": self.mastery._asdict(),
            "dangerous": {
                "allowed": self.allowed,
                "judged": self.risky,
                "asked": self.asked,
                "unanswered": names(*self.unanswered),
                "newly_affirmed": [
                    {**names(affirmed.fact)[0], "contraindicated": affirmed.contraindicated, "words": affirmed.words}
                    for affirmed in self.dangerous
                ],
            },
            "lost": names(*self.lost),
            "gained": names(*self.gained),
            "ended": self.ended,
            "withdrawn": {"statements": self.withdrawn.statements, "facts": len(self.withdrawn.facts)},
        }


def gate_of(
    new: Recorded,
    old: Recorded,
    differences: Differences,
    margin: float,
    allowed: int,
    held: Held,
    withdrawn: LeftOut = NOTHING_WITHDRAWN,
) -> Gate:
    """The check of a run against its baseline, each with the store that holds it. differences: in mastery, new less baseline
    (`raced`). held: reviewers' verdicts on facts. withdrawn: statements of the baseline that were not asked again.
    """
    (store, side), (base_store, base) = new, old
    # facts that only one of the two masters, of those that count
    table, numbers = fact_table([side, base]), () if differences.facts is None else differences.facts[differences.whole]
    counts = np.isin(side.board.sheet.identity[table.number[0]], numbers) & (table.number >= 0).all(axis=0)
    now, before = table.mastered
    changed = [np.flatnonzero(counts & rows).tolist() for rows in (before & ~now, now & ~before)]
    facts = facts_of_rows(store, table, [*changed[0], *changed[1]])
    lost, gained = (tuple(facts[row] for row in rows) for rows in changed)
    risky = risky_facts(old, held) - withdrawn.facts
    false = {number: fact for number, fact in store.answers.false_facts(side.run.run).items() if fact.fact_id in risky}
    earlier = {affirmed.fact.fact_id for affirmed in _affirmed(old, held)}
    dangerous = tuple(affirmed for affirmed in _affirmed(new, held) if affirmed.fact.fact_id not in earlier)
    unanswered = not_answered(side.board.records(), [*false], side.run.spec.shot_draws)
    return Gate(
        model=own_name(side.run),
        baseline=own_name(base.run),
        served=(served_of(side.run, bill_of(side.run, store)), served_of(base.run, bill_of(base.run, base_store))),
        margin=margin,
        allowed=allowed,
        mastery=gate_result(differences, margin),
        dangerous=dangerous,
        risky=len(risky),
        asked=len(false),
        unanswered=tuple(false[number] for number in unanswered if number not in {affirmed.number for affirmed in dangerous}),
        lost=lost,
        gained=gained,
        ended=side.run.reason or "",
        withdrawn=withdrawn,
    )


def _affirmed(recorded: Recorded, held: Held) -> tuple[Accepted, ...]:
    """The facts that are judged false and that a run affirms."""
    store, side = recorded
    facts = store.answers.false_facts(side.run.run)
    return danger(side.board.records(), facts, held, side.run.spec.shot_draws, most=None).board


def risky_facts(old: Recorded, held: Held) -> frozenset[str]:
    """The ids of facts that a model could newly affirm: those that are judged false, and that the baseline does not affirm."""
    store, base = old
    judged = {fact.fact_id for fact in store.answers.false_facts(base.run.run).values() if is_judged(fact, held)}
    return frozenset(judged - {affirmed.fact.fact_id for affirmed in _affirmed(old, held)})


# ------------------------------------------------------------------------------------------------ in words


def describe_gate(gate: Gate) -> str:
    """The check in one line."""
    mastery, withdrawn = gate.mastery, gate.withdrawn
    if mastery.value is None:
        return f"{gate.verdict}: {say('gate.nothing_shared')}."
    counts = {
        "statements": counted(withdrawn.statements, "statement"),
        "withdrawn": counted(len(withdrawn.facts), "fact"),
        "unanswered": counted(len(gate.unanswered), "fact"),
        "judged": counted(gate.risky, "fact"),
        "failed": counted(mastery.failed, "fact"),
    }
    clauses = {
        "too_few": mastery.verdict == CANNOT_TELL,
        "failed": mastery.failed,
        "withdrawn": withdrawn.statements,
        "unanswered": gate.unanswered,
        "not_all_asked": gate.asked < gate.risky,
        "dangerous": gate.dangerous,
    }
    slots = {"margin": 100 * gate.margin, "dataset": withdrawn.dataset, "asked": gate.asked, **counts}
    affirmed = "; ".join(gate.newly_affirmed)
    mastered = say("gate.mastered", before=mastery.baseline, facts=counted(mastery.n, "fact"), now=mastery.model)
    rest = (say(f"gate.clauses.{name}", **slots, affirmed=affirmed) for name, holds in clauses.items() if holds)
    return one_line(f"{gate.verdict}: {'; '.join((mastered, _describe_change(mastery, mastery.value), *rest))}.")


def _describe_change(mastery: GateResult, value: float) -> str:
    """The difference in points. A check that ended early tends to overstate it and names the bound that decided instead."""
    low, high = mastery.low, mastery.high
    if mastery.asked == mastery.of or mastery.verdict == CANNOT_TELL or low is None or high is None:
        return say("gate.change", points=points(value), bounds=bounds_in_points(low, high))
    bound = high if mastery.verdict == FAIL else low
    limit, way = "at most" if bound <= 0 and mastery.verdict == PASS else "at least", "higher" if bound > 0 else "lower"
    return say("gate.early", limit=limit, points=100 * abs(bound), way=way, asked=mastery.asked, of=mastery.of)


def _describe_fact(fact: Fact, contraindicated: bool = False) -> str:
    more = ", contraindicated" if contraindicated else ""
    return f"{scope_prefix(fact)}{fact.head}, {fact.relation}, {fact.tail} ({label_of(fact)}{more})"


# ------------------------------------------------------------------------------------------------ for pipelines


def markdown(gate: Gate) -> str:
    """The check as a comment under a pull request."""
    changed, served = describe_changes(gate.served[1], gate.served[0]), describe_served(gate.served[0])
    served = say("gate.another_model", changes=changed) if changed else served[:1].upper() + served[1:]
    blocks = [
        f"{_text(served)}." if served else "",
        _listed(say("gate.newly_affirmed"), gate.newly_affirmed),
        _listed(say("gate.lost"), [*map(_describe_fact, gate.lost)]),
    ]
    comment = say(
        "gate.comment",
        verdict=gate.verdict,
        line=_text(describe_gate(gate)),
        baseline=_text(gate.baseline),
        model=_text(gate.model),
        before=gate.mastery.baseline,
        now=gate.mastery.model,
        n=gate.mastery.n,
        blocks="".join(f"\n\n{block}" for block in blocks if block),
        margin=100 * gate.margin,
    )
    return f"{comment}\n"


def _listed(title: str, facts: Sequence[str]) -> str:
    more = [f"- and {counted(len(facts) - MAX_LISTED, 'other')}"] if len(facts) > MAX_LISTED else []
    return "\n".join([f"**{title}**", "", *(f"- {_text(fact)}" for fact in facts[:MAX_LISTED]), *more]) if facts else ""


def _text(text: str) -> str:
    """Text of others as text in Markdown: no markup, no link, no HTML."""
    return re.sub(r"([\\`*_{}\[\]<>#|~])", r"\\\1", one_line(text)).replace("://", "&#58;//").replace("@", "&#64;")


def junit(gate: Gate) -> str:
    """The check as JUnit's XML: a case for mastery, and one for the false facts that are newly affirmed."""
    suite = ET.Element("testsuite", name=f"medfact check {one_line(gate.model)}")
    mastery, affirmed = (
        ET.SubElement(suite, "testcase", classname="medfact", name=say(f"gate.cases.{name}")) for name in ("mastery", "danger")
    )
    if gate.mastery.verdict != PASS:
        ET.SubElement(mastery, "failure" if gate.mastery.verdict == FAIL else "skipped", message=describe_gate(gate))
    if len(gate.dangerous) > gate.allowed:
        message = say("gate.affirmed", facts=counted(len(gate.dangerous), "fact"))
        ET.SubElement(affirmed, "failure", message=message).text = "\n".join(map(one_line, gate.newly_affirmed))
    suite.set("tests", "2")
    suite.set("failures", str(len(suite.findall("*/failure"))))
    suite.set("skipped", str(len(suite.findall("*/skipped"))))
    return ET.tostring(suite, encoding="unicode", xml_declaration=True) + "\n"
