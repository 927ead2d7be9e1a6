"""One model over time: runs that asked it the same in the same way, oldest first, with what was served at each date.

Every date is compared with the first one, fact by fact (`paired_facts`). Bounds hold for all dates together (Bonferroni).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

from medfact.metrics.paired import Paired, paired_facts
from medfact.models import provider_of
from medfact.results.blocks import Block, Cell, Note, Row, Section, Shares
from medfact.results.contrasts import decision_in_words
from medfact.results.gallery import what_was_asked
from medfact.results.report import Report, Side
from medfact.results.wording import FROM_FILE, bounds_in_points, count, counted, date, model_name, percent, points, settings
from medfact.store import Run, Sheet

MOST_DATES = 30
"""Dates that are drawn: the first, with which the others are compared, and the newest."""

HEAD = "all right"
"""Over the column of mastery."""

CHANGED = "▲ served otherwise"
"""What stands below a date since which something else answers."""

ABOUT = (
    "Compared: runs of the same model name at the same address that were asked the same statements in the same way (facts, "
    "sentences, worked examples, question, settings). Differences are paired with the first date, fact by fact. Their bounds "
    "are clustered by disease and finding and hold for all dates together. “Not shown” does not mean that there is none."
)


def line_of(run: Run, sheet: Sheet) -> tuple[str, ...]:
    """What is equal for runs of one line: the model as it is named, where it is asked, what it was asked, and how."""
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


def since_first(moments: Sequence[Moment]) -> list[Paired]:
    """The change of each date but the first: later less first."""
    first, *later = (moment.side for moment in moments)
    records, identity = first.board.records(), first.identity
    return [paired_facts(side.board.records(), records, side.identity, identity, len(later)) for side in later]


def drift_section(name: str, moments: Sequence[Moment], of: int) -> Section:
    """A line as a figure with its table. name: of the figure. moments: oldest first, at least two; of: how many there are."""
    since = since_first(moments)
    changed = ["", *(changes_in_words(a.served, b.served) for a, b in pairwise(moments))]
    rows = [_row(moments[0], None, ""), *map(_row, moments[1:], since, changed[1:])]
    left = f"Of {count(of)} dates the first and the newest {count(len(moments) - 1)} are shown. " if of > len(moments) else ""
    listed = tuple(f"{date(one.run.started_at)}: {said}" for one, said in zip(moments, changed, strict=True) if said)
    served = Note(lines=listed, heading="Where what is served changed", listed=True)
    figure = Shares(
        name=name,
        label="facts with all answers right at each date",
        heading="date (UTC)",
        rows=tuple(rows),
        finding=_finding(moments, since[-1]),
        axis="all right, %",
        coin=False,
    )
    asked = [counted(moments[0].run.facts, "fact"), *settings(moments[0].report)]
    lines = (f"{left}Asked: {'; '.join(asked)}.", ABOUT)
    blocks: tuple[Block, ...] = (figure, *([served] if listed else []), Note(lines=lines))
    return Section(f"{model_name(moments[0].run.model)} over time", blocks)


def _row(moment: Moment, since: Paired | None, changed: str) -> Row:
    estimate = moment.report.joint_accuracy
    under = ("the first date",) if since is None else (_since_in_words(since),)
    cell = Cell(estimate, counted(estimate.n, "fact"), under, shown=since is not None and since.is_shown)
    at = date(moment.run.started_at)
    reused = (moment.report.service or {}).get("reused", 0)
    notes = (
        changed or served_in_words(moment.served),
        f"{counted(reused, 'answer')} of earlier runs used again" if reused else "",
        FROM_FILE if moment.run.imported else "",
    )
    return Row(f"{at}\n{CHANGED}" if changed else at, {HEAD: cell}, "; ".join(filter(None, notes)))


def _since_in_words(since: Paired) -> str:
    if since.difference is None:
        return "no fact was answered whole by both"
    bounds = bounds_in_points(since.low_all, since.high_all)
    decision = "" if since.low_all is None else f", {decision_in_words(since, 'dates')}"
    return f"{points(since.difference)} points since the first ({bounds}){decision}"


def _finding(moments: Sequence[Moment], newest: Paired) -> str:
    first, last = moments[0], moments[-1]
    before, now = (percent(one.report.joint_accuracy.value) for one in (first, last))
    at = date(first.run.started_at).partition(",")[0]
    if newest.difference is None:
        return f"All right: {now} now, {before} on {at}"
    by = f"{points(newest.difference)} points, {bounds_in_points(newest.low_all, newest.high_all)}"
    if not newest.is_shown:
        return f"No change in facts with all answers right is shown since {at}: {before} then, {now} now ({by})"
    moved = "Fewer" if newest.difference < 0 else "More"
    return f"{moved} facts with all answers right than on {at}: {before} then, {now} now ({by})"


# ------------------------------------------------------------------------------------------------ the model behind a name

LONGEST_NAME = 60
"""Characters of what a service calls a model or a configuration, which may be anything."""

MOST_NAMES = 4
"""Names that are said; a service on many machines may have a fingerprint for each."""


class Served(NamedTuple):
    """The model that answered. A service may serve another model under the same name from one day to the next.

    models: names that the service gave; fingerprints: of its configurations; both sorted, and empty where it gave none.
    revision: a hash of the weights of a model on this machine, "" where it is not known.
    """

    models: tuple[str, ...] = ()
    fingerprints: tuple[str, ...] = ()
    revision: str = ""


_NAMED = {"models": "served as", "fingerprints": "system fingerprint", "revision": "weights"}


def served_of(run: Run, bill: Mapping[str, Any] | None) -> Served:
    """What answered a run. bill: that of a service (`bill_of`), None for a model on this machine."""
    if bill is not None:
        return Served(tuple(bill["models"]), tuple(bill["fingerprints"]))
    return Served(revision="" if provider_of(run.model).is_remote else run.model_revision or "")


def served_in_words(served: Served) -> str:
    """ "served as gpt-4o-2024-08-06, system fingerprint fp_1"; "" where nothing is known."""
    return ", ".join(f"{_NAMED[name]} {said}" for name, said in _said(served).items())


def changes_in_words(before: Served, now: Served) -> str:
    """In what two differ: "served as b, before as a"; "" where they do not, or one of them is not known."""
    was, is_ = _said(before), _said(now)
    differs = (name for name in Served._fields if name in was and name in is_ and getattr(before, name) != getattr(now, name))
    return "; ".join(f"{_NAMED[name]} {is_[name]}, before {'as ' * (name == 'models')}{was[name]}" for name in differs)


def _said(served: Served) -> dict[str, str]:
    found = {name: (value,) if isinstance(value, str) else value for name, value in served._asdict().items()}
    return {name: _listed(values) for name, values in found.items() if any(values)}


def _listed(values: tuple[str, ...]) -> str:
    more = f" and {len(values) - MOST_NAMES:,} more" if len(values) > MOST_NAMES else ""
    return " and ".join(_shortened(one) for one in values[:MOST_NAMES]) + more


def _shortened(name: str) -> str:
    """A name without its middle, where it is long: dates and versions stand at the end."""
    half = (LONGEST_NAME - 1) // 2
    return name if len(name) <= LONGEST_NAME else f"{name[:half]}…{name[-half:]}"
