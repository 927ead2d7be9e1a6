"""The case study of PretextTrans (Figure 6): one fact, in the eight sentences of LLMEval and in those of the method."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from medfact.answers.instructions import LLM_EVAL
from medfact.facts import Fact
from medfact.kept import keep
from medfact.results import wording
from medfact.results.live import Live, Version
from medfact.results.papers import fits
from medfact.store import Asked
from medfact.views.fragments import render
from medfact.web.services import Services


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


@keep(8)
def _cases(services: Services, llm_eval: str, method: str, _: tuple[Version, Version]) -> Cases:
    """Kept for each version of the two runs."""
    one, other = _by_fact(services, llm_eval), _by_fact(services, method)
    shared = [fact_id for fact_id in one if fact_id in other]
    cases = [Case(one[fact_id][0].statement.fact, tuple(one[fact_id]), tuple(other[fact_id])) for fact_id in shared]
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
