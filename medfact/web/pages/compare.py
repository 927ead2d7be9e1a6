"""The page Compare: two to eight runs beside each other, in their scores and fact by fact."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from markupsafe import Markup
from pydantic import Field

from medfact.errors import MedfactError
from medfact.facts import Fact
from medfact.metrics.uncertainty import Estimate
from medfact.results import evidence_plots, findings, over_models_text, plots
from medfact.results.compare import FEWEST, METRICS, MOST, Comparison, Pair, Raced, verdict
from medfact.results.contrasts import ABOUT
from medfact.results.endings import state_in_words
from medfact.results.fact_table import SHOWN, FactTable, facts_of_rows
from medfact.results.race_plot import race_course, race_figure
from medfact.results.race_words import race_in_words
from medfact.results.text import difference, sides_of_pair
from medfact.results.wording import SCORES, counted, names_of_runs, p_value, short_name
from medfact.statements import VARIANTS
from medfact.store import COMPLETE, Run
from medfact.views.fragments import render
from medfact.web.pages import Message, Page, Show, View, Visitor
from medfact.web.pages.cards import card_of_answers
from medfact.web.pages.evidence import METRICS as CHANGES
from medfact.web.pages.evidence import change_rows

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
    query = f"?runs={show.runs}" if runs else ""
    if len(runs) < FEWEST:
        return View(fragments, show, query=query, title="Compare · medfact")
    try:
        comparison, table = services.comparisons.made(runs), services.comparisons.table(runs)
    except MedfactError as error:
        fragments["compared"] = render("message", message=Message(error.public, "warn"))
        return View(fragments, show, query=query, title="Compare · medfact")
    if not comparison.shared_facts and not any(pair.n for pair in comparison.pairs):
        said = Message("These runs have no fact in common, so there is nothing to compare.", "warn")
        fragments["compared"] = render("message", message=said)
        return View(fragments, show, query=query, title="Compare · medfact")
    records = [services.run(run) for run in runs]
    fragments["compared"] = _compared(visitor, comparison, records)
    fragments["facts"], show = _facts(visitor, show, table, records)
    if 0 <= show.fact < table.number.shape[1]:
        fragments["drawer"] = _drawer(visitor, show, table, records)
    return View(fragments, show, query=query, title="Compare · medfact")


def _choose(visitor: Visitor, chosen: Sequence[str]) -> Markup:
    known = {run.run: run for run in reversed(visitor.services.store.runs(*visitor.owners))}
    offered = {run.run: run for run in [visitor.services.run(one) for one in chosen]} | dict(list(known.items())[:OFFERED])
    return render(
        "compare_choose",
        runs=[(run, short_name(run)) for run in offered.values()],
        chosen=chosen,
        fewest=FEWEST,
        most=MOST,
    )


# ------------------------------------------------------------------------------------------------ scores


@dataclass(frozen=True)
class Cell:
    """A pair of runs in one accuracy, in words: the run of the row less that of the column."""

    pair: Pair
    difference: str
    interval: str
    p: str
    sides: str
    verdict: str
    shown: bool


def _compared(visitor: Visitor, comparison: Comparison, records: Sequence[Run]) -> Markup:
    names = {run.run: run.name for run in comparison.runs}
    reports = {run.run: visitor.services.reports.live(run.run).report for run in records}
    metrics = []
    for metric, title in METRICS.items():
        scores: dict[str, Estimate] = {names[run]: getattr(report, metric) for run, report in reports.items()}
        cells = {(pair.a, pair.b): _cell(pair, names) for pair in comparison.pairs if pair.metric == metric}
        finding = findings.of_differences([pair for pair in comparison.pairs if pair.metric == metric], names)
        metrics.append((metric, title, scores, cells, plots.scores(scores, SCORES[metric].of), finding))
    return render(
        "compared",
        shared=_shared(comparison, records),
        names=names,
        comparison=comparison,
        metrics=metrics,
        differences=evidence_plots.paired_differences(comparison.pairs, names),
        finding=findings.of_differences(comparison.pairs, names),
        several=len(records) > FEWEST,
        across=[one.line(names) for one in visitor.services.comparisons.across([run.run for run in records])],
        about_contrasts=ABOUT,
        races=[_race(one, names) for one in comparison.races],
        together=visitor.services.comparisons.over_models([run.run for run in records]),
        in_words=over_models_text,
        review=",".join(run.run for run in records),
        changes=change_rows(visitor.services, records),
        change_metrics=CHANGES,
    )


def _race(raced: Raced, names: Mapping[str, str]) -> tuple[str, plots.Plot]:
    """Where a race stands, in a sentence, and its figure; {} where there is nothing to draw."""
    course = race_course(raced)
    return race_in_words(raced.a, raced.b, raced.race, names), race_figure(course) if course else {}


def _cell(pair: Pair, names: Mapping[str, str]) -> Cell:
    value, _, interval = difference(pair).rstrip(")").partition(" (")
    p = "" if pair.p_holm is None else p_value(pair.p_holm)
    sides = sides_of_pair(pair) if pair.n else ""
    return Cell(pair, value, interval, p, sides, verdict(pair, names), pair.is_shown)


def _shared(comparison: Comparison, records: Sequence[Run]) -> str:
    count, of = comparison.shared_facts, comparison.facts_of
    if count == max(of):
        text = f"All of them ask the same {counted(count, 'fact')}."
    else:
        text = f"{counted(count, 'fact')} {'is' if count == 1 else 'are'} in all of them, of {', '.join(f'{n:,}' for n in of)}."
    others = ", ".join(dict.fromkeys(state_in_words(run.state, run.reason) for run in records if run.state != COMPLETE))
    return f"{text} Not all are complete ({others}): only what both of a pair answered counts." if others else text


# ------------------------------------------------------------------------------------------------ facts


@dataclass(frozen=True)
class FactRow:
    """A fact with the fates of its statements, a strip a run."""

    row: int
    fact: Fact
    strips: tuple[tuple[int, ...], ...]


def _facts(visitor: Visitor, show: CompareShow, table: FactTable, records: Sequence[Run]) -> tuple[Markup, CompareShow]:
    patterns = table.patterns()
    found = table.chosen(show.shown, show.relation or None, show.pattern or None).tolist()
    page = min(show.page, max(0, len(found) - 1) // FACTS_A_PAGE)
    rows = found[page * FACTS_A_PAGE : (page + 1) * FACTS_A_PAGE]
    facts = facts_of_rows(visitor.services.store, table, rows)
    fragment = render(
        "compare_facts",
        rows=[FactRow(row, facts[row], tuple(tuple(int(f) for f in of_run[row]) for of_run in table.fate)) for row in rows],
        names=names_of_runs(records),
        variants=[VARIANTS[key] for key in table.variants],
        filters=SHOWN.items(),
        show=show,
        relations=table.relations,
        patterns=[(pattern, f"{pattern} ({counted(count, 'fact')})") for pattern, count in patterns],
        page=page,
        pages=-(-len(found) // FACTS_A_PAGE),
        size=FACTS_A_PAGE,
        found=len(found),
    )
    return fragment, show.model_copy(update={"page": page})


def _drawer(visitor: Visitor, show: CompareShow, table: FactTable, records: Sequence[Run]) -> Markup:
    """The open fact with what each run's model answered to its statements."""
    sides = []
    for index, (name, run) in enumerate(zip(names_of_runs(records), records, strict=True)):
        number = int(table.number[index, show.fact])
        items = visitor.services.store.answers.asked(run.run, facts=[number]) if number >= 0 else []
        items = [item for item in items if item.draw == 0]
        sides.append((name, run, items))
    card = card_of_answers(visitor.services, sides)
    found = table.chosen(show.shown, show.relation or None, show.pattern or None).tolist()
    place = found.index(show.fact) if show.fact in found else -1
    return render(
        "drawer",
        card=card,
        pair=show.fact,
        run="",
        previous=found[place - 1] if place > 0 else None,
        following=found[place + 1] if 0 <= place < len(found) - 1 else None,
        place=place + 1,
        of=len(found),
        true_fact=_true_fact(visitor, table, show.fact),
        diagnoses={},
    )


def _true_fact(visitor: Visitor, table: FactTable, row: int) -> Fact | None:
    """The true fact that a false one belongs to."""
    if table.positive[row]:
        return None
    index = next(i for i in range(len(table.runs)) if table.number[i, row] >= 0)
    return visitor.services.reports.true_fact(table.runs[index], int(table.number[index, row]))


COMPARE = Page(CompareShow, view, {}, address=("runs",))
