"""One model over time: runs that asked it the same in the same way, oldest first, with the software that was served at each
date. Every date is compared with the first one, fact by fact.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

from medfact.models import provider_of
from medfact.results.blocks import Block, Cell, Note, Row, Section, Shares
from medfact.results.compare import Pair, decision_in_words, pairs_of
from medfact.results.gallery import what_was_asked
from medfact.results.report import Report, Side
from medfact.results.wording import FROM_FILE, bounds_in_points, count, counted, date, model_name, percent, points, settings
from medfact.store import Run, Sheet
from medfact.words import say

MAX_DATES = 30  # dates that are drawn: the first, with which the others are compared, and the newest
HEAD = "all right"  # over the column of mastery
CHANGED = "▲ served otherwise"  # below a date since which other software answers


def line_of(run: Run, sheet: Sheet) -> tuple[str, ...]:
    """Key that is equal for runs of one line: the name and address of the model, its statements, and the way of asking."""
    how = str((sorted(run.decoding.items()), run.chat))
    return run.model, str(run.spec.service.base_url), how, *what_was_asked(run, sheet)


@dataclass(frozen=True)
class Moment:
    """A complete run of a line."""

    side: Side
    report: Report

    @property
    def run(self) -> Run:
        return self.side.run

    @property
    def served(self) -> Served:
        return served_of(self.run, self.report.service)


def drift_section(name: str, moments: Sequence[Moment], dates: int) -> Section:
    """A line as a figure with its table. name: of the figure. moments: oldest first, at least two. dates: number of all."""
    since = pairs_of([moment.side for moment in moments], "dates")
    changed = ["", *(describe_changes(earlier.served, later.served) for earlier, later in pairwise(moments))]
    notes = [f"{date(moment.run.started_at)}: {words}" for moment, words in zip(moments, changed, strict=True) if words]
    figure = Shares(
        name=name,
        label="facts with all answers right at each date",
        heading="date (UTC)",
        rows=tuple(map(_row, moments, [None, *since], changed)),
        finding=_finding(moments, since[-1]),
        axis="all right, %",
        coin=False,
    )
    left_out = say("over_time.left_out", dates=count(dates), newest=count(len(moments) - 1)) if dates > len(moments) else ""
    about = say("over_time.asked", settings="; ".join([counted(moments[0].run.facts, "fact"), *settings(moments[0].report)]))
    lines = (f"{left_out} {about}".strip(), say("over_time.about"))
    served = [Note(lines=tuple(notes), heading=say("over_time.changed"), listed=True)] if notes else []
    blocks: tuple[Block, ...] = (figure, *served, Note(lines=lines))
    return Section(say("over_time.title", model=model_name(moments[0].run.model)), blocks)


def _row(moment: Moment, since: Pair | None, changed: str) -> Row:
    """A date. since: its change since the first one; None for the first."""
    estimate, under = moment.report.joint_accuracy, say("over_time.nothing_shared")
    if since is None:
        under = "the first date"
    elif since.value is not None:
        decision = "" if since.low_all is None else f", {decision_in_words(since, 'dates')}"
        bounds = bounds_in_points(since.low_all, since.high_all)
        under = say("over_time.since", points=points(since.value), bounds=bounds, decision=decision)
    cell = Cell(estimate, counted(estimate.n, "fact"), (under,), shown=since is not None and since.is_shown)
    at, reused = date(moment.run.started_at), (moment.report.service or {}).get("reused", 0)
    notes = (
        changed or describe_served(moment.served),
        say("over_time.reused", answers=counted(reused, "answer")) if reused else "",
        FROM_FILE if moment.run.imported else "",
    )
    return Row(f"{at}\n{CHANGED}" if changed else at, {HEAD: cell}, "; ".join(filter(None, notes)))


def _finding(moments: Sequence[Moment], newest: Pair) -> str:
    before, now = (percent(moment.report.joint_accuracy.value) for moment in (moments[0], moments[-1]))
    first_date = date(moments[0].run.started_at).partition(",")[0]
    key = "unknown" if newest.value is None else "same" if not newest.is_shown else "fewer" if newest.value < 0 else "more"
    by = "" if newest.value is None else f"{points(newest.value)} points, {bounds_in_points(newest.low_all, newest.high_all)}"
    return say(f"over_time.finding.{key}", date=first_date, before=before, now=now, by=by)


# ------------------------------------------------------------------------------------------------ the model behind a name

MAX_NAME_LENGTH = 60  # characters of a service's name for a model or a configuration, which may be anything
MAX_NAMES = 4  # that are listed; a service on many machines may have a fingerprint for each


class Served(NamedTuple):
    """The model that answered. A service may serve another model under the same name from one day to the next."""

    models: tuple[str, ...] = ()  # names that the service gave, sorted
    fingerprints: tuple[str, ...] = ()  # of its configurations, sorted
    revision: str = ""  # hash of the weights of a model on this machine, "" where it is not known


_TITLES = {"models": "served as", "fingerprints": "system fingerprint", "revision": "weights"}


def served_of(run: Run, bill: Mapping[str, Any] | None) -> Served:
    """The model that answered a run. bill: that of a service (`bill_of`), None for a model on this machine."""
    if bill is not None:
        return Served(tuple(bill["models"]), tuple(bill["fingerprints"]))
    return Served(revision="" if provider_of(run.model).is_remote else run.model_revision or "")


def describe_served(served: Served) -> str:
    """ "served as gpt-4o-2024-08-06, system fingerprint fp_1"; "" where nothing is known."""
    return ", ".join(f"{_TITLES[name]} {text}" for name, text in _names(served).items())


def describe_changes(before: Served, now: Served) -> str:
    """Differences of two: "served as b, before as a"; "" without any, or where one of them is not known."""
    was, is_ = _names(before), _names(now)
    differs = (name for name in Served._fields if name in was and name in is_ and getattr(before, name) != getattr(now, name))
    return "; ".join(f"{_TITLES[name]} {is_[name]}, before {'as ' * (name == 'models')}{was[name]}" for name in differs)


def _names(served: Served) -> dict[str, str]:
    """Field of `Served` → its names in a row, shortened in the middle: dates and versions stand at the end."""
    half, texts = (MAX_NAME_LENGTH - 1) // 2, dict[str, str]()
    for name, value in served._asdict().items():
        names = [value] if isinstance(value, str) else value
        short = [text if len(text) <= MAX_NAME_LENGTH else f"{text[:half]}…{text[-half:]}" for text in names[:MAX_NAMES]]
        more = f" and {len(names) - MAX_NAMES:,} more" if len(names) > MAX_NAMES else ""
        texts |= {name: " and ".join(short) + more} if any(names) else {}
    return texts
