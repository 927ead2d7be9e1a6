"""The tab of results with a paper's tables and curves, and PretextTrans' case study (Figure 6).

The case study shows one fact in the eight sentences of LLMEval and in those of the method.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from markupsafe import Markup

from medfact.answers.prompts import LLM_EVAL
from medfact.caching import shared_cache
from medfact.metrics.uncertainty import Estimate
from medfact.results import wording
from medfact.results.blocks import Curve, Note, Row, Section, Shares
from medfact.results.compare import Pair
from medfact.results.live import Live, Version
from medfact.results.papers import PAPERS, RUN, describe_arrow, fits, tables
from medfact.results.report import Report
from medfact.results.sections.answers import by_statements, share_of
from medfact.results.wording import share
from medfact.spec import PROTOCOLS
from medfact.statements import VARIANTS
from medfact.store import Asked
from medfact.views.fragments import render, render_sections
from medfact.web.services import Services
from medfact.words import say


def papers_tab(lives: Mapping[str, Live], show: Any, case: Markup, across: Sequence[Pair]) -> Markup:
    """Renders a paper's tables and curves, with rows of these runs next to published ones.

    Args:
        case: the case study of the paper, or nothing.
        across: differences between runs, for the tables' arrows.
    """
    reports = {name: live.report for name, live in lives.items()}
    filled = tables(list(reports.values()), show.paper, across)
    return render(
        "papers",
        papers=[(name, PROTOCOLS[name].title) for name in PAPERS],
        paper=show.paper,
        curves=render_sections([Section("Curves", tuple(_curves(reports, show.paper)))]),
        case=case,
        tables=[(table, all(row.origin != RUN for row in table.rows)) for table in filled],
        nothing=say("paper.nothing"),
        arrow=describe_arrow,
        ids=",".join(live.run.run for live in lives.values()),
    )


def _curves(reports: Mapping[str, Report], paper: str) -> list[Note | Curve | Shares]:
    """Figures that the paper draws next to its tables."""
    if paper == "mkj":
        return [Note(lines=(say("paper.calibration"),))]
    curve_pool = LLM_EVAL if paper == "pretexttrans" else None
    fitting = {name: report for name, report in reports.items() if fits(report, paper) or report.pool == curve_pool}
    if not fitting:
        return [Note(lines=(f"{say('paper.nothing')} {say('paper.choose')}",))]
    if paper == "pretexttrans":
        return [by_statements("curve-0", f"{say('paper.figure_5')} ", fitting, "joint_any_order")]
    return [
        by_statements("curve-0", f"{say('paper.figure_6_left')} ", fitting, "joint_ordered"),
        by_statements("curve-1", f"{say('paper.figure_6_right')} ", fitting, "average_ordered"),
        three_views(fitting),
    ]


def three_views(reports: Mapping[str, Report]) -> Shares:
    """TPEval's Figure 7: right answers by the label of the fact, by polarity, and by form."""
    figures: dict[str, Callable[[Report], Estimate | None]] = {
        "facts that hold": lambda report: report.positive_accuracy,
        "false facts": lambda report: report.negative_accuracy,
        "affirmed": lambda report: report.by_polarity.get("affirmed"),
        "denied": lambda report: report.by_polarity.get("negated"),
    }
    for form in dict.fromkeys(form for report in reports.values() for form in report.by_form):
        figures[VARIANTS[form].plain] = lambda report, form=form: report.by_form.get(form)  # type: ignore[misc]
    rows = (
        Row(view, {name: share_of(figure(report), "statement") for name, report in reports.items()})
        for view, figure in figures.items()
    )
    sides = (
        say("paper.both_sides", run=name, positive=share(report.positive_accuracy), negative=share(report.negative_accuracy))
        for name, report in reports.items()
    )
    finding = " ".join([say("paper.figure_7"), *sides])
    return Shares(name="curve-2", label="three views of right answers", heading="view", rows=tuple(rows), finding=finding)


# ------------------------------------------------------------------------------------------------ the case study

Items = tuple[Asked, ...]  # the statements of one fact in a run


def case_study(services: Services, lives: Mapping[str, Live], index: int) -> Markup:
    """Renders one case of the first model that was asked in both ways; nothing if no model was."""
    runs = _runs_to_compare(list(lives.values()))
    if runs is None:
        return Markup()
    llm_eval, method = runs
    versions = llm_eval.version, method.version
    facts, mastered, cases = _compute_case_study(services, llm_eval.run.run, method.run.run, versions)
    if not facts:
        return Markup()
    index = min(max(index, 0), max(len(cases) - 1, 0))
    sides = zip(("LLMEval", method.report.method), cases[index], strict=True) if cases else ()
    return render(
        "case_study",
        facts=facts,
        mastered=mastered,
        cases=len(cases),
        fact=cases[index][0][0].statement.fact if cases else None,
        place=index,
        model=wording.run_name(llm_eval.run),
        method=method.report.method,
        columns=[(name, [(item.statement, wording.fate(item)) for item in items], _right(items)) for name, items in sides],
    )


def _runs_to_compare(lives: Sequence[Live]) -> tuple[Live, Live] | None:
    """The first run of LLMEval's sentences and a run of the method with the same model, preferably a rephrased one."""
    for first in (live for live in lives if live.run.pool == LLM_EVAL):
        others = [live for live in lives if live.run.model == first.run.model and fits(live.report, "pretexttrans")]
        if others:
            return first, max(others, key=lambda live: live.report.rephraser is not None)
    return None


@shared_cache(8)
def _compute_case_study(
    services: Services, llm_eval: str, method: str, _: tuple[Version, Version]
) -> tuple[int, tuple[int, int], list[tuple[Items, Items]]]:
    """Computes the case study of two runs, once for each version of them.

    Returns:
        The number of facts that both ask; how many are all right in each run; those that are all right in LLMEval's sentences
        only, false ones first, then the worst.
    """
    sentences, others = _items_by_fact(services, llm_eval), _items_by_fact(services, method)
    shared = [(items, others[fact_id]) for fact_id, items in sentences.items() if fact_id in others]
    mastered = [case for case in shared if _right(case[0]) == len(case[0])]
    cases = [case for case in mastered if _right(case[1]) < len(case[1])]
    cases.sort(key=lambda case: (not case[0][0].statement.fact.positive, _right(case[1])))
    return len(shared), (len(mastered), sum(_right(items) == len(items) for _, items in shared)), cases


def _items_by_fact(services: Services, run: str) -> dict[str, Items]:
    """Fact → its statements in a run's first draw, for facts that are answered whole."""
    items: defaultdict[str, list[Asked]] = defaultdict(list)
    for item in services.store.answers.asked(run):
        if item.draw == 0:
            items[item.statement.fact.fact_id].append(item)
    return {fact_id: tuple(group) for fact_id, group in items.items() if all(item.answer is not None for item in group)}


def _right(items: Items) -> int:
    return sum(wording.fate(item).name == "right" for item in items)
