"""The section about facts that their bundled set has withdrawn since a run asked them."""

from __future__ import annotations

from collections.abc import Sequence

from medfact.datasets.withdrawn import ABSENT, ARGUABLE, FALSE, TRUE, Withdrawal
from medfact.results.blocks import Block, FactLine, Facts, Note, Section
from medfact.results.report import Report
from medfact.results.sections.answers import NOT_IN_A_PAPER
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
        lines.append(f"{_of(of.gone, of.true_facts, 'true fact')} that this run asked {are} {known}{_still_held(of.gone)}.")
    if of.doubted:
        were, are = ("was", "is") if len(of.doubted) == 1 else ("were", "are")
        lines.append(
            f"{_of(of.doubted, of.false_facts, 'false fact')} {were} asked as false, and {are} now held true or arguable in "
            f"{of.dataset}, or no longer called false."
        )
    return lines


def _still_held(gone: Sequence[Withdrawal]) -> str:
    """How many are only no longer asked: their label is not called wrong."""
    held = sum(one.now == ARGUABLE for one in gone)
    return f"; {held:,} of them it still holds true or arguable" if held else ""


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
