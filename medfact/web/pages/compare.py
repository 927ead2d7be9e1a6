"""The page Compare: two to eight runs beside each other, in their scores and fact by fact."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from markupsafe import Markup
from pydantic import Field

from medfact.errors import MedfactError, Mistake
from medfact.facts import Fact
from medfact.results import sections
from medfact.results.compare import FEWEST, MOST, Comparison
from medfact.results.fact_table import SHOWN, FactTable, facts_of_rows
from medfact.results.sections import Beside, Figures, sections_of
from medfact.results.wording import counted, names_of_runs, short_name, state_in_words, title_of_runs
from medfact.runs.plan import question_of
from medfact.statements import VARIANTS
from medfact.store import COMPLETE, Run
from medfact.views.fragments import render
from medfact.views.sections import on_a_page
from medfact.web.pages import Message, Page, Show, View, Visitor, paged
from medfact.web.pages.cards import StripsRow, card_of_answers, drawer_of, of_facts
from medfact.web.pages.evidence import changes_of

FACTS_A_PAGE = 20
OFFERED = 24
"""Runs to choose from: the visitor's last ones."""


class CompareShow(Show):
    """runs: ids, with commas. fact: the row that is open, −1 for none."""

    runs: str = ""
    shown: Literal["all", "differ", "none", "every", "one"] = "all"
    relation: str = Field("", max_length=500)
    pattern: str = Field("", max_length=40)
    page: int = Field(0, ge=0, le=10**9)
    fact: int = Field(-1, ge=-1, le=10**9)


def view(visitor: Visitor, show: CompareShow) -> View:
    """What the runs share and how they differ; nothing but the choice as long as there are fewer than two."""
    services = visitor.services
    runs = [run for run in dict.fromkeys(show.runs.split(",")) if services.asked(run)][:MOST]
    show = show.model_copy(update={"runs": ",".join(runs)})
    fragments = {"choose": _choose(visitor, runs), "compared": Markup(), "facts": Markup(), "drawer": Markup()}
    if len(runs) < FEWEST:
        return View(fragments, show)
    try:
        comparison, table = services.comparisons.made(runs), services.comparisons.table(runs)
        if not comparison.shared_facts and not any(pair.n for pair in comparison.pairs):
            raise Mistake("These runs have no fact in common, so there is nothing to compare.", "")
    except MedfactError as error:
        fragments["compared"] = render("message", message=Message(error.public, "warn"))
        return View(fragments, show)
    records = [services.run(run) for run in runs]
    fragments["compared"] = _compared(visitor, comparison, records)
    fragments["facts"], show = _facts(visitor, show, table, records)
    if 0 <= show.fact < table.number.shape[1]:
        fragments["drawer"] = _drawer(visitor, show, table, records)
    return View(fragments, show, title=f"Compare {title_of_runs(records)} · medfact")


def _choose(visitor: Visitor, chosen: Sequence[str]) -> Markup:
    known = {run.run: run for run in reversed(visitor.services.store.runs(*visitor.owners))}
    offered = {run.run: run for run in [visitor.services.run(one) for one in chosen]} | dict(list(known.items())[:OFFERED])
    return render(
        "compare_choose",
        runs=[(run, short_name(run)) for run in offered.values()],
        chosen=chosen,
        most=MOST,
    )


# ------------------------------------------------------------------------------------------------ scores


def _compared(visitor: Visitor, comparison: Comparison, records: Sequence[Run]) -> Markup:
    services, runs = visitor.services, [run.run for run in records]
    names = {run.run: run.name for run in comparison.runs}
    beside = Beside(
        names=names,
        pairs=comparison.pairs,
        races=comparison.races,
        across=services.comparisons.across(runs),
        over_models=services.comparisons.over_models(runs),
        changes=changes_of(services, records),
        questions={run.run: question_of(run.spec) for run in records},
    )
    reports = {names[run]: services.reports.live(run).report for run in runs}
    figures = Figures(reports, beside=beside, links={"suspects": f"review?run={','.join(runs)}&queue=contested"})
    told = on_a_page(sections_of(figures, sections.PAGE, "compare"))
    return render("compared", shared=_shared(comparison, records), comparison=comparison, told=told)


def _shared(comparison: Comparison, records: Sequence[Run]) -> str:
    count, of = comparison.shared_facts, comparison.facts_of
    if count == max(of):
        text = f"All of them ask the same {counted(count, 'fact')}."
    else:
        text = f"{counted(count, 'fact')} {'is' if count == 1 else 'are'} in all of them, of {', '.join(f'{n:,}' for n in of)}."
    others = ", ".join(dict.fromkeys(state_in_words(run.state, run.reason) for run in records if run.state != COMPLETE))
    return f"{text} Not all are complete ({others}): only what both of a pair answered counts." if others else text


# ------------------------------------------------------------------------------------------------ facts


def _facts(visitor: Visitor, show: CompareShow, table: FactTable, records: Sequence[Run]) -> tuple[Markup, CompareShow]:
    listed = paged(_found(show, table), show.page, FACTS_A_PAGE)
    facts, names = facts_of_rows(visitor.services.store, table, listed.part), names_of_runs(records)
    fragment = render(
        "compare_facts",
        rows=[
            StripsRow(row, [facts[row]], [(name, fate[row].tolist()) for name, fate in zip(names, table.fate, strict=True)])
            for row in listed.part
        ],
        variants=[VARIANTS[key] for key in table.variants],
        filters=SHOWN.items(),
        show=show,
        relations=table.relations,
        patterns=[(pattern, f"{pattern} ({counted(count, 'fact')})") for pattern, count in table.patterns()],
        **listed.numbers,
    )
    return fragment, show.model_copy(update={"page": listed.page})


def _found(show: CompareShow, table: FactTable) -> list[int]:
    """The rows that pass the filters."""
    return list(table.chosen(show.shown, show.relation or None, show.pattern or None).tolist())


def _drawer(visitor: Visitor, show: CompareShow, table: FactTable, records: Sequence[Run]) -> Markup:
    """The open fact with what each run's model answered to its statements."""
    sides = []
    for index, (name, run) in enumerate(zip(names_of_runs(records), records, strict=True)):
        number = int(table.number[index, show.fact])
        sides.append((name, run, of_facts(visitor.services, run.run, [number]) if number >= 0 else []))
    card = card_of_answers(visitor.services, sides)
    return drawer_of(card, show.fact, _found(show, table), true_fact=_true_fact(visitor, table, show.fact))


def _true_fact(visitor: Visitor, table: FactTable, row: int) -> Fact | None:
    """The true fact that a false one belongs to."""
    if table.positive[row]:
        return None
    index = next(i for i in range(len(table.runs)) if table.number[i, row] >= 0)
    return visitor.services.reports.true_fact(table.runs[index], int(table.number[index, row]))


PAGE = Page(
    "compare",
    "Compare",
    ("choose", "compared", "facts", "drawer"),
    CompareShow,
    view,
    address=("runs",),
    introduction="# Compare\nTwo to eight runs: what they share, where they differ, and every fact.",
    place=6,
    is_listed=False,
)
