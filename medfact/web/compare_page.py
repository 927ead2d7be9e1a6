"""The page Compare: two to eight runs beside each other, in their figures and fact by fact."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import gradio as gr

from medfact.errors import MedfactError
from medfact.results.compare import FEWEST, METRICS, MOST, SHOWN, FactTable, difference_in_words, names_of, pattern_of, verdict
from medfact.results.report import in_words
from medfact.statements import VARIANTS
from medfact.store import COMPLETE, Asked, Run
from medfact.web.live_views import LEGEND, STATES, fate, in_a_line
from medfact.web.services import Services
from medfact.web.view import AT_ONCE, message, view
from medfact.web.visitors import owners_seen_by

PAGE = 25
"""Facts on one page."""

EVERY_RELATION = "every relation"
EVERY_PATTERN = "every pattern"

OF_ADDRESS = "(asked) => new URLSearchParams(window.location.search).get('runs') ?? ''"
"""Puts the runs of the page's address in place of the input."""

NOTHING: dict[str, Any] = {"metrics": [], "notes": []}
NO_FACTS: dict[str, Any] = {"rows": [], "none": ""}


@dataclass(frozen=True)
class _Facts:
    """The single facts: what they are filtered by, a page of them, and the one that is opened."""

    shown: gr.Radio
    relation: gr.Dropdown
    pattern: gr.Dropdown
    table: gr.HTML
    back: gr.Button
    where: gr.Markdown
    forward: gr.Button
    opened: gr.HTML
    number: gr.State


def build(services: Services, page: gr.Blocks) -> None:
    """Lays the page out and wires it."""
    gr.Navbar(main_page_name="Evaluate")
    gr.Markdown(
        "# Compare\nTwo to eight runs beside each other: first what they share and in what they differ, then every pair of "
        "them on what both answered, then each fact. Mastery of a fact is not competence; not for clinical use."
    )
    chosen = gr.Dropdown(
        [], multiselect=True, max_choices=MOST, allow_custom_value=True, label="Runs (choose two to eight)", elem_id="chosen"
    )
    compared = [view("message", message(""), elem_id="compare-message"), view("pairs", NOTHING, elem_id="pairs")]
    facts = _single_facts()
    asked = gr.Textbox(visible=False)

    def offered(request: gr.Request, asked_for: str) -> Any:
        return _offered(services, owners_seen_by(request), asked_for)

    page.load(offered, asked, chosen, js=OF_ADDRESS, api_name="runs_to_compare", **AT_ONCE)
    compared += [facts.relation, facts.pattern]
    changed = chosen.change(partial(_compared, services), chosen, compared, api_name="compare", **AT_ONCE)
    _wire_facts(services, chosen, changed, facts)


def _single_facts() -> _Facts:
    gr.Markdown("## Fact by fact")
    with gr.Row():
        shown = gr.Radio([(text, name) for name, text in SHOWN.items()], value="all", label="Show", elem_id="shown")
        relation = gr.Dropdown([EVERY_RELATION], value=EVERY_RELATION, label="Relation", elem_id="of-relation")
        pattern = gr.Dropdown(
            [EVERY_PATTERN],
            value=EVERY_PATTERN,
            label="Pattern of right and wrong",
            info="the ways of saying, in their order; ✓ right, ✗ wrong",
            elem_id="of-pattern",
        )
    table = view("facts-of-runs", NO_FACTS, elem_id="facts-of-runs")
    with gr.Row(equal_height=True):
        back = gr.Button("← Previous facts", size="sm", elem_id="facts-previous", min_width=90)
        where = gr.Markdown("", elem_id="facts-where")
        forward = gr.Button("Next facts →", size="sm", elem_id="facts-next", min_width=90)
    opened = view("fact-of-runs", {}, elem_id="fact-of-runs")
    return _Facts(shown, relation, pattern, table, back, where, forward, opened, gr.State(0))


def _wire_facts(services: Services, chosen: gr.Dropdown, changed: Any, facts: _Facts) -> None:
    """Filtering, turning pages and opening a fact; `changed` is the event after which other runs are compared."""
    filters = [chosen, facts.shown, facts.relation, facts.pattern]
    turned = [facts.table, facts.where, facts.number]

    def first(runs: Sequence[str], *filters: Any) -> list[Any]:
        return _page_of_facts(services, runs, *filters, 0)

    def previous(runs: Sequence[str], *filters: Any) -> list[Any]:
        return _page_of_facts(services, runs, *filters[:-1], filters[-1] - 1)

    def following(runs: Sequence[str], *filters: Any) -> list[Any]:
        return _page_of_facts(services, runs, *filters[:-1], filters[-1] + 1)

    def open_fact(event: gr.EventData, runs: Sequence[str]) -> dict[str, Any]:
        return _opened(services, runs, str(event._data.get("key", "")))

    changed.then(first, filters, turned, api_name="facts_of_runs", **AT_ONCE).then(
        _closed, None, facts.opened, api_name="close_fact", **AT_ONCE
    )
    for part, name in ((facts.shown, "show"), (facts.relation, "of_relation"), (facts.pattern, "of_pattern")):
        part.input(first, filters, turned, api_name=name, **AT_ONCE)
    facts.back.click(previous, [*filters, facts.number], turned, api_name="previous_facts_of_runs", **AT_ONCE)
    facts.forward.click(following, [*filters, facts.number], turned, api_name="next_facts_of_runs", **AT_ONCE)
    facts.table.click(open_fact, chosen, facts.opened, api_name="open_fact", **AT_ONCE)


def _closed() -> dict[str, Any]:
    return {}


def _offered(services: Services, owners: Sequence[str], asked_for: str) -> Any:
    """The visitor's runs to choose from, those of the page's address chosen."""
    wanted = [run for run in (asked_for or "").split(",") if services.has(run)][:MOST]
    known = {run.run: run for run in reversed(services.store.runs(*owners))}
    known |= {run: services.run(run) for run in wanted if run not in known}
    return gr.Dropdown([(_called(run), run.run) for run in known.values()], value=wanted)


def _called(run: Run) -> str:
    return f"{run.name or run.model} · {run.dataset} · {run.facts:,} facts · {run.started_at[:16].replace('T', ' ')}"


# ---------------------------------------------------------------------------------------------- figures


def _compared(services: Services, runs: Sequence[str]) -> list[Any]:
    """What runs share, in what they differ, and their paired differences; and what facts can be filtered by."""
    try:
        if len(runs or ()) < FEWEST:
            return [message(f"Choose {FEWEST} to {MOST} runs."), NOTHING, *_filters(None)]
        records = [services.run(run) for run in runs]
        made = services.comparisons.made(runs)
        table = services.comparisons.table(runs)
    except MedfactError as error:
        return [message(error.public, "warn"), NOTHING, *_filters(None)]
    return [_shared(made, records), _pairs(services, made, records), *_filters(table)]


def _filters(table: FactTable | None) -> list[Any]:
    relations = list(table.relations) if table else []
    patterns = table.patterns() if table else []
    texts = [(f"{pattern} ({count:,} facts)", pattern) for pattern, count in patterns]
    return [
        gr.Dropdown([EVERY_RELATION, *relations], value=EVERY_RELATION),
        gr.Dropdown([EVERY_PATTERN, *texts], value=EVERY_PATTERN),
    ]


def _shared(made: Mapping[str, Any], records: Sequence[Run]) -> dict[str, str]:
    count, of = made["facts"]["shared"], made["facts"]["of"]
    if count == max(of):
        text = f"All of them ask the same {count:,} facts."
    else:
        text = f"{count:,} facts are in all of them, of {', '.join(f'{number:,}' for number in of)}."
    others = ", ".join(dict.fromkeys(STATES[run.state] for run in records if run.state != COMPLETE))
    if others:
        text += f" Not all are complete ({others}): only what both of a pair answered counts."
    return message(text, "" if count else "warn")


def _pairs(services: Services, made: Mapping[str, Any], records: Sequence[Run]) -> dict[str, Any]:
    names = dict(zip((run.run for run in records), names_of(records), strict=True))
    reports = {run.run: services.reports.live(run.run).figures for run in records}
    return {
        "runs": [{"name": names[run.run], "id": run.run} for run in records],
        "differs": [{"what": what, "values": [str(value) for value in values]} for what, values in made["differs"].items()],
        "same": [f"{what}: {value}" for what, value in made["same"].items()],
        "metrics": [_metric(metric, title, made, names, reports) for metric, title in METRICS.items()],
        "notes": [
            "A difference is in points, of what both runs answered, with its 95 % interval by head and by tail (statements "
            "about one disease stand or fall together, and so do those about one drug or gene). Its p is from flipping the "
            "sign of each head's difference at random, and larger where tails that heads share leave more doubt"
            + (". It is adjusted for the number of pairs after Holm." if len(records) > FEWEST else ".")
            + " “No difference shown” does not mean that they are equal."
        ],
    }


def _metric(
    metric: str, title: str, made: Mapping[str, Any], names: Mapping[str, str], reports: Mapping[str, Mapping[str, Any]]
) -> dict[str, Any]:
    of = {run: report[metric] for run, report in reports.items()}
    return {
        "title": title,
        "values": [f"{in_words(estimate)} of {estimate['n']:,}" for estimate in of.values()],
        "pairs": [_pair(pair, names) for pair in made["pairs"] if pair["metric"] == metric],
    }


def _pair(pair: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    scale = {"low": None, "high": None, "point": None}
    if pair["difference"] is not None and pair["low"] is not None:
        scale = {"low": 50 + 50 * pair["low"], "high": 50 + 50 * pair["high"], "point": 50 + 50 * pair["difference"]}
    return {
        "a": names[pair["a"]],
        "b": names[pair["b"]],
        "difference": difference_in_words(dict(pair)),
        "p": "" if pair["p_holm"] is None else f"p = {pair['p_holm']:.4f}",
        "alone": f"{pair['only_a']:,} and {pair['only_b']:,} of {pair['n']:,}",
        "verdict": verdict(dict(pair), dict(names)),
        **scale,
    }


# ------------------------------------------------------------------------------------------------ facts


def _page_of_facts(services: Services, runs: Sequence[str], shown: str, relation: str, pattern: str, page: int) -> list[Any]:
    """One page of the facts that the filters leave, with eight ticks a run; where it is; and its number, kept in range."""
    if len(runs or ()) < FEWEST:
        return [NO_FACTS, "", 0]
    try:
        records = [services.run(run) for run in runs]
        table = services.comparisons.table(runs)
    except MedfactError as error:
        return [{"rows": [], "none": error.public}, "", 0]
    found = table.chosen(shown, None if relation == EVERY_RELATION else relation, None if pattern == EVERY_PATTERN else pattern)
    page = max(0, min(page, (len(found) - 1) // PAGE))
    rows = found[page * PAGE : (page + 1) * PAGE].tolist()
    value = {
        "legend": LEGEND,
        "runs": list(names_of(records)),
        "variants": [{"key": key, "plain": VARIANTS[key].plain} for key in table.variants],
        "rows": _fact_rows(services, table, rows),
        "none": "No fact is left by these filters.",
    }
    where = f"facts {page * PAGE + 1:,} to {page * PAGE + len(rows):,} of {len(found):,}" if rows else "no facts"
    return [value, where, page]


def _fact_rows(services: Services, table: FactTable, rows: Sequence[int]) -> list[dict[str, Any]]:
    texts = _texts(services, table, rows)
    return [
        {
            "key": row,
            "text": texts[row],
            "positive": bool(table.positive[row]),
            "ticks": [pattern_of(of_run[row]) for of_run in table.fate],
        }
        for row in rows
    ]


def _texts(services: Services, table: FactTable, rows: Sequence[int]) -> dict[int, str]:
    """The facts of these rows in words, each from the first run that asks it."""
    texts: dict[int, str] = {}
    for index, run in enumerate(table.runs):
        wanted = {int(table.number[index, row]): row for row in rows if row not in texts and table.number[index, row] >= 0}
        if wanted:
            for item in services.store.asked(run, facts=list(wanted)):
                texts.setdefault(wanted[item.fact], in_a_line(item.statement.fact))
    return texts


def _opened(services: Services, runs: Sequence[str], key: str) -> dict[str, Any]:
    """A fact with its statements, and what each run's model said to them."""
    if len(runs or ()) < FEWEST or not re.fullmatch(r"\d{1,9}", key, re.ASCII):
        return {}
    try:
        table, row = services.comparisons.table(runs), int(key)
    except MedfactError:  # said where the runs were chosen
        return {}
    if row >= table.number.shape[1]:
        return {}
    asked = [_of_fact(services, run, int(table.number[index, row])) for index, run in enumerate(table.runs)]
    fact = next(item.statement.fact for items in asked for item in items)
    records = [services.run(run) for run in runs]
    return {
        "text": in_a_line(fact),
        "positive": fact.positive,
        "true_fact": _true_fact(services, table, row),
        "runs": list(names_of(records)),
        "rows": [_said(key, asked) for key in table.variants],
    }


def _of_fact(services: Services, run: str, number: int) -> list[Asked]:
    return [item for item in services.store.asked(run, facts=[number]) if item.draw == 0] if number >= 0 else []


def _true_fact(services: Services, table: FactTable, row: int) -> str:
    """The true fact that a false one belongs to."""
    if table.positive[row]:
        return ""
    index = next(i for i in range(len(table.runs)) if table.number[i, row] >= 0)
    true = services.reports.true_fact(table.runs[index], int(table.number[index, row]))
    return in_a_line(true) if true else ""


def _said(variant: str, asked: Sequence[Sequence[Asked]]) -> dict[str, Any]:
    """One way of saying: its sentence in each run, and what was said to it there."""
    of_runs = [next((item for item in items if item.statement.variant == variant), None) for items in asked]
    texts = list(dict.fromkeys(item.statement.text for item in of_runs if item))
    return {
        "key": variant,
        "plain": VARIANTS[variant].plain,
        "label": next(item.statement.label for item in of_runs if item),
        "text": texts[0] if len(texts) == 1 else None,
        "cells": [_cell(item) for item in of_runs],
    }


def _cell(item: Asked | None) -> dict[str, Any] | None:
    if item is None:
        return None
    answer = item.answer
    p_true = None if answer is None or answer.p_true is None else f"P(True) {answer.p_true:.3f}"
    said = None if answer is None or answer.answer is None else f"says {'true' if answer.answer else 'false'}"
    return {
        "text": item.statement.text,
        "fate": fate(item),
        "said": ", ".join(part for part in (said, p_true) if part),
        "raw": "(none)" if answer is None else (answer.failure or answer.raw or "(empty)"),
    }
