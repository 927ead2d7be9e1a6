"""Sections about facts that no longer hold: withdrawn from their bundled data set, or true only until a date."""

from __future__ import annotations

from medfact.datasets.withdrawn import ABSENT, ARGUABLE, FALSE, Withdrawal
from medfact.metrics.dropped import DIAGNOSES
from medfact.metrics.uncertainty import Estimate
from medfact.results.blocks import Block, FactLine, Facts, Note, Row, Section, Shares
from medfact.results.report import Report
from medfact.results.sections.answers import NOT_IN_A_PAPER, share_of
from medfact.results.sections.registry import NOTEBOOK, Figures, section
from medfact.results.withdrawn import Withdrawn
from medfact.results.wording import counted, in_draws, share
from medfact.words import say, sayings

MAX_LISTED = 10  # facts of each list; the report as JSON has all

_UNITS = {"affirmed": "fact", "statements": "statement", "denials": "statement", "holding": "fact"}  # of each figure


@section("withdrawn facts", 5, tab="summary", where=NOT_IN_A_PAPER - {NOTEBOOK})
def withdrawn_facts(figures: Figures) -> Section | None:
    """Lists the facts of runs that their data sets have withdrawn since; None without any."""
    blocks: list[Block] = []
    for name, report in figures.reports.items():
        if report.withdrawn:
            blocks += _blocks(name if len(figures.reports) > 1 else "", report.withdrawn, report)
    return Section(say("withdrawn.title"), tuple(blocks)) if blocks else None


def _blocks(heading: str, withdrawn: Withdrawn, report: Report) -> list[Block]:
    lines = []
    if gone := withdrawn.gone:
        reason = say("withdrawn.from_a_file" if withdrawn.from_a_file else "withdrawn.not_there", dataset=withdrawn.dataset)
        arguable = sum(row.now == ARGUABLE for row in gone)  # only no longer asked: their label is not called wrong
        still = say("withdrawn.still_held", facts=f"{arguable:,}") if arguable else ""
        facts, are = f"{len(gone):,} of {counted(withdrawn.true_facts, 'true fact')}", "is" if len(gone) == 1 else "are"
        lines.append(say("withdrawn.gone", facts=facts, are=are, reason=reason, still=still))
    if doubted := withdrawn.doubted:
        were, are = ("was", "is") if len(doubted) == 1 else ("were", "are")
        facts = f"{len(doubted):,} of {counted(withdrawn.false_facts, 'false fact')}"
        lines.append(say("withdrawn.doubted", facts=facts, were=were, are=are, dataset=withdrawn.dataset))
    blocks: list[Block] = [Note(lines=tuple(lines), heading=heading)]
    for rows in filter(None, (gone, doubted)):
        blocks.append(Facts(lines=tuple(FactLine(row.fact, _state_now(row)) for row in rows[:MAX_LISTED])))
        if len(rows) > MAX_LISTED:
            blocks.append(Note(lines=(say("withdrawn.more", facts=counted(len(rows) - MAX_LISTED, "more fact")),)))
    return [*blocks, Note(lines=(_scores_without(withdrawn, report),))]


def _state_now(row: Withdrawal) -> str:
    return say(f"withdrawn.now.{'uncalled' if row.asked_as == FALSE and row.now == ABSENT else row.now}")


def _scores_without(withdrawn: Withdrawn, report: Report) -> str:
    """Sentence: other figures are as recorded, and those without the withdrawn facts."""
    scores = withdrawn.without
    average, joint, pair = scores.average_accuracy, scores.joint_accuracy, scores.pair_joint_accuracy
    parts = [
        say("withdrawn.right", share=share(average), statements=counted(average.n, "statement")),
        say("withdrawn.mastered", share=share(joint), facts=in_draws(joint.n, "fact", report)),
        say("withdrawn.twins", share=share(pair), pairs=in_draws(pair.n, "pair", report)) if pair.n else "",
    ]
    return say("withdrawn.without", scores=", ".join(filter(None, parts)) if average.n else say("withdrawn.nothing"))


@section("what was true", 82, tab="summary", where=NOT_IN_A_PAPER)
def what_was_true(figures: Figures) -> Section | None:
    """Names the models that affirm what has been dropped. Runs that ask nothing that was true once are left out."""
    reports = {run: report.dropped for run, report in figures.reports.items() if report.dropped}
    if not reports:
        return None
    lines = []
    for run, dropped in reports.items():
        diagnosis = DIAGNOSES[dropped.diagnosis] if dropped.diagnosis else say("was_true.no_diagnosis")
        slots = {"run": run, "diagnosis": diagnosis, "dropped": _share(dropped.affirmed), "holding": _share(dropped.holding)}
        lines.append(say("was_true.line", **slots))
    name = max(reports, key=lambda run: reports[run].affirmed.value or 0.0)
    affirmed = reports[name].affirmed
    shares = Shares(
        name="what-was-true",
        label=say("dropped.label"),
        heading="called true",
        rows=tuple(
            Row(title, {run: share_of(getattr(dropped, figure), _UNITS[figure]) for run, dropped in reports.items()})
            for figure, title in sayings("dropped.figure").items()
        ),
        finding=say("was_true.finding", run=name, share=share(affirmed), facts=counted(affirmed.n, "fact")),
        axis="called true, %",
    )
    about = Note(lines=(say("was_true.about"),), quiet=True)
    return Section(say("was_true.title"), (Note(lines=tuple(lines)), shares, about))


def _share(estimate: Estimate) -> str:
    return f"{share(estimate)} of {counted(estimate.n, 'fact')}" if estimate.n else "none of 0 facts"
