"""The tab of results with a paper's tables and curves, and the case study of PretextTrans (Figure 6): one fact, in the eight
sentences of LLMEval and in those of the method."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from medfact.answers.prompts import LLM_EVAL
from medfact.caching import shared_cache
from medfact.facts import Fact
from medfact.metrics.uncertainty import Estimate
from medfact.results import wording
from medfact.results.blocks import Curve, Note, Row, Section, Shares
from medfact.results.compare import Pair
from medfact.results.live import Live, Version
from medfact.results.paper_rows import ABOUT_ARROWS, CHANCE, PUBLISHED, arrow_in_words
from medfact.results.papers import PAPERS, fits, tables
from medfact.results.report import Report
from medfact.results.sections.answers import share_of
from medfact.results.sections.scores import by_statements
from medfact.results.wording import share
from medfact.spec import PROTOCOLS
from medfact.statements import VARIANTS
from medfact.store import Asked
from medfact.views.fragments import render, render_sections
from medfact.web.services import Services

BESIDE = ("pretexttrans", LLM_EVAL)
"""A paper, and the pool of sentences whose curve it draws beside its own."""

NOTHING = "No run here has these statements."


def papers_tab(lives: Mapping[str, Live], show: Any, case: Markup, across: Sequence[Pair]) -> Markup:
    """A paper's tables and curves with these runs as rows, beside the paper's own figures. case: its case study, or nothing.
    across: the differences of runs that the tables' arrows show.
    """
    reports = {name: live.report for name, live in lives.items()}
    return render(
        "papers",
        papers=[(name, PROTOCOLS[name].title) for name in PAPERS],
        paper=show.paper,
        curves=render_sections([Section("Curves", tuple(_curves(reports, show.paper)))]),
        case=case,
        tables=[
            (table, all(row.origin in {CHANCE, PUBLISHED} for row in table.rows))
            for table in tables(list(reports.values()), show.paper, across)
        ],
        nothing=NOTHING,
        arrow=arrow_in_words,
        about_arrows=ABOUT_ARROWS,
        ids=",".join(live.run.run for live in lives.values()),
    )


def _curves(reports: Mapping[str, Report], paper: str) -> list[Note | Curve | Shares]:
    """What the paper draws beside its tables."""
    own = {name: report for name, report in reports.items() if fits(report, paper) or (paper, report.pool) == BESIDE}
    if paper == "mkj":
        return [Note(lines=("MKJ draws calibration curves (its Figure 4): see the tab “Confidence”.",))]
    if not own:
        return [Note(lines=(f"{NOTHING} Choose the paper's method, and evaluate.",))]
    if paper == "tpeval":
        before = "With the first statement alone, then the first two, and so on: "
        return [
            by_statements("curve-0", f"Figure 6, left. {before}", own, "joint_ordered"),
            by_statements("curve-1", f"Figure 6, right. {before}", own, "average_ordered"),
            three_views(own),
        ]
    before = "Figures 5, 9 (PretextTrans) and 10 (LLMEval). With any so many of a fact's statements: "
    return [by_statements("curve-0", before, own, "joint_any_order")]


def three_views(reports: Mapping[str, Report]) -> Shares:
    """TPEval's three views (its Figure 7): by whether the fact holds, by polarity, and by form."""
    forms = dict.fromkeys(form for report in reports.values() for form in report.by_form)
    views: dict[str, Mapping[str, Estimate | None]] = {
        "facts that hold": {name: report.positive_accuracy for name, report in reports.items()},
        "false facts": {name: report.negative_accuracy for name, report in reports.items()},
        "affirmed": {name: report.by_polarity.get("affirmed") for name, report in reports.items()},
        "denied": {name: report.by_polarity.get("negated") for name, report in reports.items()},
        **{VARIANTS[form].plain: {name: report.by_form.get(form) for name, report in reports.items()} for form in forms},
    }
    rows = tuple(Row(view, {name: share_of(one, "statement") for name, one in of.items()}) for view, of in views.items())
    both = "".join(
        f" {name}: {share(r.positive_accuracy)} right on facts that hold, {share(r.negative_accuracy)} on false ones."
        for name, r in reports.items()
    )
    finding = f"Figure 7, three views: by whether the fact holds, by polarity, by form.{both}"
    return Shares(name="curve-2", label="three views of right answers", heading="view", rows=rows, finding=finding)


# ------------------------------------------------------------------------------------------------ the case study


@dataclass(frozen=True)
class Case:
    """A fact with its sentences by both methods."""

    fact: Fact
    llm_eval: tuple[Asked, ...]
    pretext: tuple[Asked, ...]


@dataclass(frozen=True)
class Cases:
    """The facts that one model was asked in both ways. told: those that are all right in LLMEval's sentences alone, the worst
    first. by_llm_eval, by_method: how many facts are all right in each.
    """

    facts: int
    by_llm_eval: int
    by_method: int
    told: tuple[Case, ...]


def case_study(services: Services, lives: Mapping[str, Live], case: int) -> Markup:
    """One such fact of the first model that was asked in both ways; nothing where there is none."""
    sides = _sides(list(lives.values()))
    if sides is None:
        return Markup()
    llm_eval, method = sides
    cases = _cases(services, llm_eval.run.run, method.run.run, (llm_eval.version, method.version))
    if not cases.facts:
        return Markup()
    place = min(max(case, 0), max(len(cases.told) - 1, 0))
    shown = cases.told[place] if cases.told else None
    columns = [("LLMEval", shown.llm_eval), (method.report.method, shown.pretext)] if shown else []
    return render(
        "case_study",
        cases=cases,
        case=shown,
        place=place,
        model=wording.run_name(llm_eval.run),
        method=method.report.method,
        columns=[(name, [(item.statement, wording.fate(item)) for item in items], _right(items)) for name, items in columns],
    )


def _sides(lives: Sequence[Live]) -> tuple[Live, Live] | None:
    """The first run of LLMEval's sentences, and the run of the method with the same model; one whose sentences were rephrased
    comes first.
    """
    for one in (live for live in lives if live.run.pool == LLM_EVAL):
        others = [live for live in lives if live.run.model == one.run.model and fits(live.report, "pretexttrans")]
        if others:
            return one, max(others, key=lambda live: live.report.rephraser is not None)
    return None


@shared_cache(8)
def _cases(services: Services, llm_eval: str, method: str, _: tuple[Version, Version]) -> Cases:
    """Kept for each version of the two runs."""
    one, other = _by_fact(services, llm_eval), _by_fact(services, method)
    cases = [Case(own[0].statement.fact, tuple(own), tuple(other[name])) for name, own in one.items() if name in other]
    mastered = [case for case in cases if _right(case.llm_eval) == len(case.llm_eval)]
    told = sorted(
        (c for c in mastered if _right(c.pretext) < len(c.pretext)), key=lambda c: (not c.fact.positive, _right(c.pretext))
    )
    return Cases(len(cases), len(mastered), sum(_right(c.pretext) == len(c.pretext) for c in cases), tuple(told))


def _by_fact(services: Services, run: str) -> dict[str, list[Asked]]:
    """Fact → its statements in a run, of the first draw; only facts that are asked whole."""
    found: defaultdict[str, list[Asked]] = defaultdict(list)
    for item in services.store.answers.asked(run):
        if item.draw == 0:
            found[item.statement.fact.fact_id].append(item)
    return {fact_id: items for fact_id, items in found.items() if all(item.answer is not None for item in items)}


def _right(items: Sequence[Asked]) -> int:
    return sum(wording.fate(item).name == "right" for item in items)
