"""Paired contrasts by fact: between ways of asking within a run, and between runs that ask the same facts in other words."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any, NamedTuple

from medfact.metrics import record_of
from medfact.metrics.contrasts import Contrasted, adjusted, title_of
from medfact.metrics.paired import across
from medfact.results.report import Report
from medfact.results.wording import TOO_FEW, counted, p_value, percent, points
from medfact.store import Run

if TYPE_CHECKING:
    from medfact.results.compare import Side

ABOUT = (
    "Both sides of a contrast are of the same facts, those answered in all ways of both; its interval is clustered by head and "
    "tail. It is called shown where it leaves out 0 with the bounds for all contrasts together, and p after Holm is below 0.05."
)


class Line(NamedTuple):
    """A contrast in words. paper: whose figure it is, or ""."""

    title: str
    paper: str
    difference: str
    interval: str
    sides: str
    of: str
    claim: str


def lines_of(found: Mapping[str, Contrasted]) -> list[Line]:
    """The contrasts of a run in words, in their order."""
    return [_line(*title_of(name), one) for name, one in found.items()]


def lines_of_runs(reports: Mapping[str, Report]) -> dict[str, list[Line]]:
    """The contrasts of runs in words, of those that have any. reports: by what to call their runs."""
    return {name: lines_of(report.contrasts) for name, report in reports.items() if report.contrasts}


def _line(title: str, paper: str, one: Contrasted) -> Line:
    p = "" if one.p_holm is None else f"{p_value(one.p_holm)}, {'shown' if one.is_shown else 'not shown'}"
    return Line(
        title=title,
        paper=paper,
        difference=f"{points(one.value or 0.0)} points",
        interval=TOO_FEW if one.low is None or one.high is None else f"{points(one.low)} to {points(one.high)}",
        sides=f"{percent(one.first)} less {percent(one.less)}",
        of=counted(one.n, "fact"),
        claim="" if one.low is None else p,
    )


def in_words(line: Line) -> str:
    """A contrast in a line: "asked plainly, less all eight ways: +9.7 points (+7.2 to +12.1) of 120 facts; …"."""
    after = "".join(f"; {part}" for part in (line.sides, line.claim, line.paper and f"as in {line.paper}") if part)
    return f"{line.title}: {line.difference} ({line.interval}) of {line.of}{after}"


# ------------------------------------------------------------------------------------------------ between runs


@dataclass(frozen=True)
class Across:
    """Two runs that ask the same facts in different statements: right answers by fact, as a − b. paper: whose figure it is."""

    a: str
    b: str
    found: Contrasted
    paper: str

    def record(self) -> dict[str, Any]:
        return {"a": self.a, "b": self.b, **record_of(self.found), "paper": self.paper}

    def line(self, names: Mapping[str, str]) -> Line:
        """names: run → what to call it."""
        return _line(f"{names[self.a]}, less {names[self.b]}", self.paper, self.found)


_ARROWS = {
    ("Origin", "PretextTrans"): "PretextTrans, Table 3",
    ("LLMEval", "PretextTrans"): "PretextTrans, Table 3",
    ("−LMReph", "PretextTrans"): "PretextTrans, Tables 4 and 13",
}
"""What two runs ask → where that paper has their difference."""


def _part_of(run: Run) -> str:
    """The name of what a run asks in PretextTrans' tables, "" where it has none there."""
    if run.pool in {"origin", "llmeval"}:
        return {"origin": "Origin", "llmeval": "LLMEval"}[run.pool]
    if not run.pool.startswith("pretexttrans"):
        return ""
    return "PretextTrans" if run.spec.writer else "−LMReph"


def across_runs(sides: Sequence[Side]) -> list[Across]:
    """Right answers by fact, of every two runs that ask their facts in different statements."""
    return _across([(a, b) for a, b in combinations(sides, 2) if _sentences(a) != _sentences(b)])


def across_of_papers(sides: Iterable[Side]) -> list[Across]:
    """Right answers by fact, of every two runs of one model and data set whose figures a paper's table compares."""
    parts = [(side, _part_of(side.run)) for side in sides]
    alike = [((a, b), {(one, other), (other, one)}) for (a, one), (b, other) in combinations(parts, 2) if _is_alike(a, b)]
    return _across([couple for couple, names in alike if names & _ARROWS.keys()])


def _is_alike(a: Side, b: Side) -> bool:
    return (a.run.model, a.run.dataset) == (b.run.model, b.run.dataset)


def _across(couples: Sequence[tuple[Side, Side]]) -> list[Across]:
    found = {
        f"{number}": across(a.board.records(), b.board.records(), a.identity, b.identity, len(couples))
        for number, (a, b) in enumerate(couples)
    }
    parts = [(_part_of(a.run), _part_of(b.run)) for a, b in couples]
    papers = [_ARROWS.get(one) or _ARROWS.get(one[::-1], "") for one in parts]
    return [
        Across(a.run.run, b.run.run, one, paper)
        for (a, b), one, paper in zip(couples, adjusted(found).values(), papers, strict=True)
        if one.n
    ]


def _sentences(side: Side) -> tuple[Any, ...]:
    """What tells the statements of one run from those of another, of equal facts."""
    spec = side.run.spec
    pool = sorted((relation, sorted(of.items())) for relation, of in side.run.pool_text.items())
    return str(pool), side.run.pool, spec.writer, spec.writing, tuple(side.board.sheet.variants)
