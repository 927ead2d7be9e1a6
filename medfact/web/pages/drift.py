"""A model over time on the page Runs: a line for each model that was asked the same at least twice, drawn when it is opened."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from medfact.caching import shared_cache
from medfact.errors import MedfactError
from medfact.results import wording
from medfact.results.drift import MAX_DATES, Moment, drift_section, line_of
from medfact.results.report import Side
from medfact.store import COMPLETE, Run
from medfact.views.fragments import render, render_sections
from medfact.web.services import Services

MOST_RUNS = 300
"""Complete runs that are looked through: the newest."""

MOST_LINES = 12
"""Lines that are listed: those asked last."""

Ids = tuple[tuple[str, int], ...]
"""Runs, each with its `changed`, oldest first."""


@dataclass(frozen=True)
class Line:
    """A model that was asked the same several times. runs: oldest first; opened: its figure, None where it is closed."""

    runs: tuple[Run, ...]
    opened: Markup | None

    @property
    def key(self) -> str:
        """What names it, whatever is added to it."""
        return self.runs[0].run

    @property
    def model(self) -> str:
        return wording.shortened(wording.model_name(self.runs[0].model))


def drift(services: Services, runs: Sequence[Run], opened: str) -> Markup:
    """The lines of these runs; nothing where no model was asked the same twice. opened: keys of lines that are open."""
    complete = sorted((run for run in runs if run.state == COMPLETE and not run.spec.writes), key=lambda run: run.started_at)
    of = {run.run: run for run in complete[-MOST_RUNS:]}
    likely: dict[tuple[object, ...], list[tuple[str, int]]] = {}
    for run in of.values():
        about = run.model, run.dataset_fingerprint, run.pool, run.spec.protocol, run.shots, run.facts, run.statements
        likely.setdefault(about, []).append((run.run, run.changed))
    found = _lines(services, tuple(tuple(several) for several in likely.values() if len(several) > 1))
    found = sorted(found, key=lambda ids: of[ids[-1][0]].started_at, reverse=True)
    if not found:
        return Markup()
    keys = {one.partition("@")[0] for one in opened.split(",")}
    lines = [
        Line(tuple(of[run] for run, _ in ids), _drawn(services, ids) if ids[0][0] in keys else None)
        for ids in found[:MOST_LINES]
    ]
    return render("runs_drift", lines=lines, more=len(found) - len(lines))


@shared_cache(32)
def _lines(services: Services, likely: tuple[Ids, ...]) -> list[Ids]:
    """The runs of each line, of runs whose records are alike. Kept until a run is added or changes."""
    lines: dict[tuple[str, ...], list[tuple[str, int]]] = {}
    for run, changed in (one for several in likely for one in several):
        lines.setdefault(_asked(services, run, changed), []).append((run, changed))
    return [tuple(members) for line, members in lines.items() if line and len(members) > 1]


@shared_cache(MOST_RUNS * 10)
def _asked(services: Services, run: str, _: int) -> tuple[str, ...]:
    """Which line a complete run belongs to; () where it cannot be read."""
    try:
        return line_of(services.run(run), services.store.answers.sheet(run))
    except MedfactError:
        return ()


@shared_cache(32)
def _drawn(services: Services, ids: Ids) -> Markup:
    """The figure of a line, kept as long as none of its runs changes."""
    shown = [ids[0], *ids[1:][-(MAX_DATES - 1) :]]
    moments = [_moment(services, run) for run, _ in shown]
    return render_sections([drift_section(f"drift-{ids[0][0][:8]}", moments, len(ids))])


def _moment(services: Services, run: str) -> Moment:
    live = services.reports.final_report(run)
    return Moment(Side(live.run, services.reports.board(run)), live.report)
