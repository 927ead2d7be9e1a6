"""Paired contrasts by fact between runs that ask the same facts in other words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from medfact.metrics import record_of
from medfact.metrics.contrasts import Contrasted, adjusted
from medfact.metrics.differences import Bounded
from medfact.metrics.paired import across
from medfact.results.evidence import changes
from medfact.results.report import Side
from medfact.results.wording import TOO_FEW
from medfact.store import Run
from medfact.words import say

ABOUT = (
    "Each row is the first less the second, over the facts answered in all ways of both. Intervals are clustered by disease "
    "and finding and hold for all contrasts together; shown: 0 lies outside."
)


def decision_in_words(found: Bounded, family: str = "comparisons") -> str:
    """The decision by the interval that is printed, which holds for all comparisons of the family."""
    if found.is_open:
        return say("comparison.open", family=family)
    return TOO_FEW if found.low_all is None else "shown" if found.is_shown else "not shown"


@dataclass(frozen=True)
class Across:
    """Two runs that ask the same facts in different statements, or with passages and without: right answers, as a − b."""

    a: str
    b: str
    found: Contrasted
    paper: str
    """The paper and table that print this difference."""
    metric: str = ""
    """The accuracy of a difference that passages make; "" for right answers by fact."""

    def record(self) -> dict[str, Any]:
        return {"a": self.a, "b": self.b, **record_of(self.found), "paper": self.paper}


_ARROWS = {
    ("Origin", "PretextTrans"): "PretextTrans, Table 3",
    ("LLMEval", "PretextTrans"): "PretextTrans, Table 3",
    ("−LMReph", "PretextTrans"): "PretextTrans, Tables 4 and 13",
}
"""What two runs ask → where that paper has their difference."""


def _part_of(run: Run) -> str:
    """The name of what a run asks in PretextTrans' tables, "" where it has none there."""
    own = "" if not run.pool.startswith("pretexttrans") else "PretextTrans" if run.spec.writer else "−LMReph"
    return {"origin": "Origin", "llmeval": "LLMEval"}.get(run.pool, own)


def across_runs(sides: Sequence[Side]) -> list[Across]:
    """Right answers by fact, of every two runs that ask their facts in different statements."""
    return _across([(a, b) for a, b in combinations(sides, 2) if _sentences(a) != _sentences(b)])


def across_of_papers(sides: Sequence[Side]) -> list[Across]:
    """Right answers by fact, of every two runs of one model and data set whose figures a paper's table compares."""
    parts = [(side, _part_of(side.run)) for side in sides]
    alike = [
        ((a, b), {(one, other), (other, one)})
        for (a, one), (b, other) in combinations(parts, 2)
        if (a.run.model, a.run.dataset) == (b.run.model, b.run.dataset)
    ]
    return [*_across([couple for couple, names in alike if names & _ARROWS.keys()]), *_of_passages(sides)]


def _of_passages(sides: Sequence[Side]) -> list[Across]:
    """Accuracies with passages less those without, by statement."""
    return [
        Across(
            change.with_,
            change.without,
            Contrasted(p.share_a, p.share_b, p.difference, p.low, p.high, p.n, p.p, None, p.low_all, p.high_all),
            "MKJ, Table 3",
            metric,
        )
        for change in changes([side for side in sides if side.run.spec.protocol == "mkj"])
        for metric, p in change.metrics.items()
    ]


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
