"""Sections about facts that no longer hold: withdrawn from their bundled set since, or true only until a date."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from medfact.datasets.withdrawn import ABSENT, ARGUABLE, FALSE, TRUE, Withdrawal
from medfact.metrics.dropped import DIAGNOSES, Dropped
from medfact.metrics.uncertainty import Estimate
from medfact.results.blocks import Block, FactLine, Facts, Note, Row, Section, Shares
from medfact.results.report import Report
from medfact.results.sections.answers import NOT_IN_A_PAPER, share_of
from medfact.results.sections.registry import NOTEBOOK, Figures, section
from medfact.results.withdrawn import Withdrawn
from medfact.results.wording import counted, in_draws, share

LISTED = 10
"""Facts of each list that are named; the report as JSON has all."""

_NOW = {
    TRUE: "asked as false, and now held true",
    ARGUABLE: "now held true or arguable: asked neither as true nor as false",
    FALSE: "now called false",
    ABSENT: "no longer there",
}
_NO_LONGER_JUDGED = "it was called false, and is no longer"


@section("withdrawn facts", 5, tab="summary", where=NOT_IN_A_PAPER - {NOTEBOOK})
def withdrawn_facts(figures: Figures) -> Section | None:
    """Which facts of runs their data sets have withdrawn since; None where none was."""
    found = [(name, report) for name, report in figures.reports.items() if report.withdrawn]
    if not found:
        return None
    blocks = [block for name, report in found for block in _blocks(name if len(figures.reports) > 1 else "", report)]
    return Section("Facts that have been withdrawn since", tuple(blocks))


def _blocks(heading: str, report: Report) -> list[Block]:
    of = report.withdrawn
    if of is None:
        return []
    blocks: list[Block] = [Note(lines=tuple(said(of)), heading=heading)]
    for listed in filter(None, (of.gone, of.doubted)):
        blocks.append(Facts(lines=tuple(FactLine(one.fact, _words(one)) for one in listed[:LISTED])))
        if len(listed) > LISTED:
            more = f"And {counted(len(listed) - LISTED, 'more fact')}: the report as JSON lists all."
            blocks.append(Note(lines=(more,)))
    return [*blocks, Note(lines=(_without(of, report),))]


def said(of: Withdrawn) -> list[str]:
    """How many facts of a run were withdrawn, in a sentence or two."""
    lines = []
    if of.gone:
        are = "is" if len(of.gone) == 1 else "are"
        known = f"no longer in {of.dataset} (withdrawn since, or named otherwise)"
        if of.from_a_file:
            known = f"not in {of.dataset} as it is here (withdrawn since, or never there: the run came from a file)"
        held = sum(row.now == ARGUABLE for row in of.gone)  # only no longer asked: their label is not called wrong
        still = f"; {held:,} of them it still holds true or arguable" if held else ""
        lines.append(f"{_of(of.gone, of.true_facts, 'true fact')} that this run asked {are} {known}{still}.")
    if of.doubted:
        were, are = ("was", "is") if len(of.doubted) == 1 else ("were", "are")
        lines.append(
            f"{_of(of.doubted, of.false_facts, 'false fact')} {were} asked as false, and {are} now held true or arguable in "
            f"{of.dataset}, or no longer called false."
        )
    return lines


def _of(some: Sequence[Withdrawal], all_: int, thing: str) -> str:
    return f"{len(some):,} of {counted(all_, thing)}"


def _words(one: Withdrawal) -> str:
    return _NO_LONGER_JUDGED if one.asked_as == FALSE and one.now == ABSENT else _NOW[one.now]


def _without(of: Withdrawn, report: Report) -> str:
    """That the figures are as recorded, and those without these facts."""
    average, joint, pair = of.without.average_accuracy, of.without.joint_accuracy, of.without.pair_joint_accuracy
    twins = f", false twin mastered too {share(pair)} of {in_draws(pair.n, 'pair', report)}" if pair.n else ""
    figures = (
        f"right answers {share(average)} of {counted(average.n, 'statement')}, all right {share(joint)} of "
        f"{in_draws(joint.n, 'fact', report)}{twins}"
        if average.n
        else "nothing is left"
    )
    return f"All other figures are as recorded, with these facts. Without them and their partners: {figures}."


_NOT_SHOWN = "is not shown to affirm or to deny what has been dropped"

_FIGURES = {
    "affirmed": ("facts that were true once and are affirmed now", "fact"),
    "statements": ("their affirmed statements that are called true", "statement"),
    "denials": ("their denied statements that are called true, as they are", "statement"),
    "holding": ("facts that hold and are affirmed", "fact"),
}
"""Figure → its title, and of what it is a share."""

_ABOUT = (
    "These facts were true until a date that has passed: the drug was withdrawn, or the guideline changed. Stated in the "
    "present tense they are FALSE (test statements). Affirmed: “true” to more than half of a fact's affirmed statements. What "
    "a model does is named where its interval lies above or below half."
)


@section("what was true", 82, tab="summary", where=NOT_IN_A_PAPER)
def what_was_true(figures: Figures) -> Section | None:
    """Names the models that affirm what has been dropped. Runs that ask nothing that was true once are left out."""
    found = {run: report.dropped for run, report in figures.reports.items() if report.dropped}
    if not found:
        return None
    lines = tuple(
        f"{run} {DIAGNOSES[of.diagnosis] if of.diagnosis else _NOT_SHOWN}. It affirms {_share(of.affirmed)} that were true "
        f"once, and {_share(of.holding)} that hold."
        for run, of in found.items()
    )
    blocks = (Note(lines=lines), _shares(found), Note(lines=(_ABOUT,), quiet=True))
    return Section("Does it affirm what has been dropped?", blocks)


def _share(of: Estimate) -> str:
    return f"{share(of)} of {counted(of.n, 'fact')}" if of.n else "none of 0 facts"


def _shares(found: Mapping[str, Dropped]) -> Shares:
    rows = tuple(
        Row(title, {run: share_of(getattr(of, name), thing) for run, of in found.items()})
        for name, (title, thing) in _FIGURES.items()
    )
    most = max(found, key=lambda run: found[run].affirmed.value or 0.0)
    affirmed = found[most].affirmed
    return Shares(
        name="what-was-true",
        label="what is called true of facts that were true once, and of facts that hold",
        heading="called true",
        rows=rows,
        finding=f"{most} affirms {share(affirmed)} of {counted(affirmed.n, 'fact')} that were true once",
        axis="called true, %",
    )
