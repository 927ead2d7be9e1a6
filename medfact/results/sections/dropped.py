"""The section about what was true once: which models still affirm it."""

from __future__ import annotations

from collections.abc import Mapping

from medfact.metrics.dropped import DIAGNOSES, Dropped
from medfact.metrics.uncertainty import Estimate
from medfact.results.blocks import Note, Row, Section, Shares
from medfact.results.sections.answers import NOT_IN_A_PAPER, share_of
from medfact.results.sections.registry import Figures, section
from medfact.results.wording import counted, share

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
    said = Note(lines=tuple(_said(run, of) for run, of in found.items()))
    return Section("Does it affirm what has been dropped?", (said, _shares(found), Note(lines=(_ABOUT,), quiet=True)))


def _said(run: str, of: Dropped) -> str:
    """What a model does, with the shares that show it."""
    does = DIAGNOSES[of.diagnosis] if of.diagnosis else _NOT_SHOWN
    return f"{run} {does}. It affirms {_share(of.affirmed)} that were true once, and {_share(of.holding)} that hold."


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
