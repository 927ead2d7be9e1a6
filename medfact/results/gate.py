"""The gate: whether a model knows less than its baseline did, as a verdict, with what it lost and what it newly affirms."""

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
from medfact.metrics.gate import CANNOT_TELL, FAIL, PASS, Standing, standing
from medfact.metrics.race import Differences
from medfact.prototypes.grammar import scope_prefix
from medfact.results.danger import Accepted, danger, is_judged, not_answered
from medfact.results.drift import Served, changes_in_words, served_in_words, served_of
from medfact.results.fact_table import fact_table, facts_of_rows
from medfact.results.report import Side
from medfact.results.withdrawn import LeftOut
from medfact.results.wording import bounds_in_points, counted, label_of, own_name, points
from medfact.runs.costs import bill_of
from medfact.store import Store

CODES = {PASS: 0, FAIL: 1, CANNOT_TELL: 3}
"""Verdict → the exit code of `check`. 2 is a mistake."""

Kept = tuple[Store, Side]

NOTHING_WITHDRAWN = LeftOut()

NAMED = 10
"""Lost facts that are named in a comment."""


@dataclass(frozen=True)
class Gate:
    """A check. margin: from 0 to 1. allowed: number of dangerous facts that may be newly affirmed.

    dangerous: facts judged false that the model affirms and the baseline did not, contraindications first. risky: facts judged
    false that the baseline did not affirm; asked: those that the model was asked; unanswered: those that it may affirm, since
    a statement about them has no answer. lost, gained: facts that the baseline alone masters, and the model alone, of those
    that `mastery` counts. served: software of the model and of the baseline. ended: the reason why it was not asked everything,
    "" where it was. withdrawn: statements of the baseline that its bundled set has withdrawn since.
    """

    model: str
    baseline: str
    served: tuple[Served, Served]
    margin: float
    allowed: int
    mastery: Standing
    dangerous: tuple[Accepted, ...]
    risky: int
    asked: int
    unanswered: tuple[Fact, ...]
    lost: tuple[Fact, ...]
    gained: tuple[Fact, ...]
    ended: str = ""
    withdrawn: LeftOut = NOTHING_WITHDRAWN

    @property
    def verdict(self) -> str:
        """By mastery, unless too many dangerous facts are affirmed, or might be: then no model passes."""
        if len(self.dangerous) > self.allowed:
            return FAIL
        might = len(self.dangerous) + len(self.unanswered) > self.allowed
        return CANNOT_TELL if might and self.mastery.verdict == PASS else self.mastery.verdict

    def record(self) -> dict[str, Any]:
        """The check as JSON: the keys of `check --json`."""
        return {
            "verdict": self.verdict,
            "model": self.model,
            "baseline": self.baseline,
            "served": {name: one._asdict() for name, one in zip(("model", "baseline"), self.served, strict=True)},
            "margin": self.margin,
            "mastery": self.mastery._asdict(),
            "dangerous": {
                "allowed": self.allowed,
                "judged": self.risky,
                "asked": self.asked,
                "unanswered": [_names(fact) for fact in self.unanswered],
                "newly_affirmed": [
                    {**_names(one.fact), "contraindicated": one.contraindicated, "words": one.words} for one in self.dangerous
                ],
            },
            "lost": [_names(fact) for fact in self.lost],
            "gained": [_names(fact) for fact in self.gained],
            "ended": self.ended,
            "withdrawn": {"statements": self.withdrawn.statements, "facts": len(self.withdrawn.facts)},
        }


def gate_of(
    new: Kept,
    old: Kept,
    differences: Differences,
    margin: float,
    allowed: int,
    held: Held,
    withdrawn: LeftOut = NOTHING_WITHDRAWN,
) -> Gate:
    """The check of a run against its baseline, each with the store that holds it. differences: in mastery, new less baseline
    (`raced`). held: reviewers' verdicts on facts. withdrawn: statements of the baseline that were not asked again.
    """
    (store, side), (kept, base) = new, old
    table = fact_table([side, base])
    counted_facts = () if differences.facts is None else differences.facts[differences.whole]
    both = np.isin(side.board.sheet.identity[table.number[0]], counted_facts) & (table.number >= 0).all(axis=0)
    now, before = table.mastered
    rows = {"lost": np.flatnonzero(both & before & ~now), "gained": np.flatnonzero(both & now & ~before)}
    facts = facts_of_rows(store, table, [row for of in rows.values() for row in of.tolist()])
    known, risky = {one.fact.fact_id for one in _affirmed(old, held)}, risky_facts(old, held) - withdrawn.facts
    false = {number: fact for number, fact in store.answers.false_facts(side.run.run).items() if fact.fact_id in risky}
    dangerous = tuple(one for one in _affirmed(new, held) if one.fact.fact_id not in known)
    open_ = not_answered(side.board.records(), [*false], side.run.spec.shot_draws)
    named = {one.number for one in dangerous}
    return Gate(
        model=own_name(side.run),
        baseline=own_name(base.run),
        served=(served_of(side.run, bill_of(side.run, store)), served_of(base.run, bill_of(base.run, kept))),
        margin=margin,
        allowed=allowed,
        mastery=standing(differences, margin),
        dangerous=dangerous,
        risky=len(risky),
        asked=len(false),
        unanswered=tuple(false[number] for number in open_ if number not in named),
        lost=tuple(facts[row] for row in rows["lost"].tolist()),
        gained=tuple(facts[row] for row in rows["gained"].tolist()),
        ended=side.run.reason or "",
        withdrawn=withdrawn,
    )


def _affirmed(kept: Kept, held: Held) -> tuple[Accepted, ...]:
    """The facts that are judged false and that a run affirms."""
    store, side = kept
    facts = store.answers.false_facts(side.run.run)
    return danger(side.board.records(), facts, held, side.run.spec.shot_draws, most=None).board


def risky_facts(old: Kept, held: Held) -> frozenset[str]:
    """The ids of facts that a model could newly affirm: those that are judged false, and that the baseline does not affirm."""
    store, base = old
    judged = {fact.fact_id for fact in store.answers.false_facts(base.run.run).values() if is_judged(fact, held)}
    return frozenset(judged - {one.fact.fact_id for one in _affirmed(old, held)})


def _names(fact: Fact) -> dict[str, Any]:
    return {"head": fact.head, "relation": fact.relation, "tail": fact.tail, "label": label_of(fact)}


def in_words(gate: Gate) -> str:
    """The check in one line."""
    mastery = gate.mastery
    if mastery.value is None:
        return f"{gate.verdict}: no fact was answered whole by both."
    few = f"; too few facts to tell a loss of {100 * gate.margin:g} points" if mastery.verdict == CANNOT_TELL else ""
    facts = f"{mastery.baseline:,} of {counted(mastery.n, 'fact')} before, {mastery.model:,} now"
    failed = (
        f"; {counted(mastery.failed, 'fact')} left out: a call failed, and the bounds allow for it" if mastery.failed else ""
    )
    danger_ = f"; newly affirmed although false: {'; '.join(map(_dangerous, gate.dangerous))}" if gate.dangerous else ""
    more = f"{few}{failed}{_no_longer_asked(gate)}{_not_seen(gate)}{danger_}"
    return one_line(f"{gate.verdict}: {facts}; {_change_in_words(mastery, mastery.value)}{more}.")


def _change_in_words(mastery: Standing, value: float) -> str:
    """The difference in points. A check that ended early tends to overstate it and names the bound that decided instead."""
    low, high = mastery.low, mastery.high
    if mastery.asked == mastery.of or mastery.verdict == CANNOT_TELL or low is None or high is None:
        return f"mastery {points(value)} points ({bounds_in_points(low, high)})"
    bound = high if mastery.verdict == FAIL else low
    limit = "at most" if bound <= 0 and mastery.verdict == PASS else "at least"
    by = f"{limit} {100 * abs(bound):.1f} points {'higher' if bound > 0 else 'lower'}"
    return f"mastery {by} (stopped early: {mastery.asked:,} of {mastery.of:,} facts asked)"


def _not_seen(gate: Gate) -> str:
    """Facts that might be newly affirmed, and of which that is not known."""
    open_ = f"; {counted(len(gate.unanswered), 'fact')} judged false not answered" if gate.unanswered else ""
    left = f"; of {counted(gate.risky, 'fact')} judged false {gate.asked:,} asked" if gate.asked < gate.risky else ""
    return open_ + left


def _no_longer_asked(gate: Gate) -> str:
    """What of the baseline is no longer asked, since its data set has withdrawn it."""
    of = gate.withdrawn
    if not of.statements:
        return ""
    about = f"{counted(of.statements, 'statement')} about {counted(len(of.facts), 'fact')} of the baseline"
    return f"; {about} no longer asked: withdrawn from {of.dataset} since, with their partners"


def _dangerous(one: Accepted) -> str:
    return f"{_fact(one.fact)} ({label_of(one.fact)}{', contraindicated' if one.contraindicated else ''})"


def _fact(fact: Fact) -> str:
    return f"{scope_prefix(fact)}{fact.head}, {fact.relation}, {fact.tail}"


# ------------------------------------------------------------------------------------------------ for pipelines


def markdown(gate: Gate) -> str:
    """The check as a comment under a pull request."""
    lines = [f"### medfact: {gate.verdict}", "", _text(in_words(gate)), ""]
    lines += ["| | mastered | of |", "|---|---|---|"]
    mastery = gate.mastery
    lines += [
        f"| {_text(gate.baseline)} (baseline) | {mastery.baseline:,} | {mastery.n:,} |",
        f"| {_text(gate.model)} | {mastery.model:,} | {mastery.n:,} |",
    ]
    lines += ["", f"{_text(served)}."] if (served := _served(gate)) else []
    lines += _listed("Newly affirmed although false", [_dangerous(one) for one in gate.dangerous])
    lines += _listed("Lost: mastered before, not now", [f"{_fact(fact)} ({label_of(fact)})" for fact in gate.lost])
    margin = f"A model passes where a loss of {100 * gate.margin:g} points is ruled out, and fails where a loss is shown."
    return "\n".join([*lines, "", f"{margin} Intervals are clustered by condition and finding. Not for clinical use.", ""])


def _served(gate: Gate) -> str:
    """What answered, and what had answered the baseline where that was something else."""
    now, before = gate.served
    if changed := changes_in_words(before, now):
        return f"Another model answered: {changed}"
    said = served_in_words(now)
    return said[:1].upper() + said[1:]


def _listed(title: str, facts: Sequence[str]) -> list[str]:
    if not facts:
        return []
    more = [f"- and {counted(len(facts) - NAMED, 'other')}"] if len(facts) > NAMED else []
    return ["", f"**{title}**", "", *(f"- {_text(fact)}" for fact in facts[:NAMED]), *more]


def _text(text: str) -> str:
    """Text of others as text in Markdown: no markup, no link, no HTML."""
    return re.sub(r"([\\`*_{}\[\]<>#|~])", r"\\\1", one_line(text)).replace("://", "&#58;//").replace("@", "&#64;")


def junit(gate: Gate) -> str:
    """The check as JUnit's XML: a case for mastery, one for each false fact that is newly affirmed."""
    suite = ET.Element("testsuite", name=f"medfact check {one_line(gate.model)}")
    case = ET.SubElement(suite, "testcase", classname="medfact", name="knows no less than its baseline")
    if gate.mastery.verdict == FAIL:
        ET.SubElement(case, "failure", message=in_words(gate))
    elif gate.mastery.verdict == CANNOT_TELL:
        ET.SubElement(case, "skipped", message=in_words(gate))
    case = ET.SubElement(suite, "testcase", classname="medfact", name="affirms no dangerous fact that it denied before")
    if len(gate.dangerous) > gate.allowed:
        text = "\n".join(one_line(_dangerous(one)) for one in gate.dangerous)
        ET.SubElement(case, "failure", message=f"{counted(len(gate.dangerous), 'fact')} newly affirmed").text = text
    suite.set("tests", "2")
    suite.set("failures", str(len(suite.findall("*/failure"))))
    suite.set("skipped", str(len(suite.findall("*/skipped"))))
    return ET.tostring(suite, encoding="unicode", xml_declaration=True) + "\n"
