"""Step 3: ask one or more models, watch the numbers, and open any answer."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import gradio as gr

from medfact import figures
from medfact.errors import MedfactError
from medfact.models import BUNDLED_MODEL, known_models, takes_messages
from medfact.report import Live
from medfact.runner import start
from medfact.ui import live_views
from medfact.ui.facts_step import FactsStep
from medfact.ui.services import Services, Source, collection_of, spec_of
from medfact.ui.statements_step import StatementsStep
from medfact.ui.view import message, view
from medfact.uncertainty import expected_half_width

DEFAULT_FACTS = 100
MOST_MODELS = 8
HEAT_PAGE = 24
"""Facts on one page of the heat map."""

Shown = tuple[int, ...]
"""Versions of the runs that a page shows already."""


@dataclass(frozen=True)
class _Parts:
    """The components that a run moves."""

    progress: gr.HTML
    scores: gr.HTML
    bars: gr.HTML
    calibration: gr.HTML
    calibration_said: gr.HTML
    heat: gr.HTML
    banner: gr.HTML


def build(
    services: Services, facts: FactsStep, statements: StatementsStep, demonstration: str, blocks: gr.Blocks
) -> None:
    """Lays the step out and wires it. `demonstration` is the run that a first visitor sees."""
    gr.Markdown(
        "## 3 · Evaluate\nA model says true or false to each statement. A fact counts as mastered only when *all eight* "
        "answers are right."
    )
    with gr.Row():
        with gr.Column(min_width=280):
            models = gr.CheckboxGroup(
                _model_choices(), value=[BUNDLED_MODEL], label="Models", elem_id="models", info="Choose one or more."
            )
            other = gr.Textbox(
                label="another model (optional)",
                placeholder="a Hugging Face repository, or a folder on this machine",
                elem_id="other-model",
                max_length=300,
            )
        with gr.Column(min_width=280):
            count = gr.Slider(10, 1000, value=DEFAULT_FACTS, step=10, label="How many facts", elem_id="facts-count")
            precision = gr.Markdown(_precision(DEFAULT_FACTS), elem_id="precision")
            shots = gr.Radio(
                [("none (faster)", 0), ("five, as in the papers", 5)],
                value=0,
                label="Demonstrations shown to the model before each statement",
                elem_id="shots",
            )
    with gr.Row():
        go = gr.Button("Evaluate", variant="primary", elem_id="evaluate")
        stop = gr.Button("Stop", variant="stop", elem_id="stop", interactive=False)
    said = view("message", message(""), elem_id="evaluate-message")
    banner = view("message", message(""), elem_id="banner")

    runs = gr.State([demonstration])
    kept = gr.BrowserState([], storage_key="medfact-runs", secret="medfact")
    chosen = gr.State(0)
    seen_text, seen_figures = gr.State(()), gr.State(())
    page = gr.State(0)

    progress = view("progress", {"runs": []}, elem_id="progress")
    scores = view("scores", None, elem_id="scores")
    gr.Markdown("### Right answers by the way of saying")
    bars = view("figure", {}, elem_id="bars")
    gr.Markdown("### Does the model know when it knows?")
    calibration_said = view("message", message(""), elem_id="calibration-said")
    calibration = view("figure", {}, elem_id="calibration")
    gr.Markdown("### Fact by fact")
    with gr.Row():
        which = gr.Radio([], label="Model", visible=False, elem_id="which", interactive=True)
    heat = view("heatmap", None, elem_id="heat")
    with gr.Row(equal_height=True):
        back = gr.Button("← Previous facts", size="sm", elem_id="heat-previous", min_width=90)
        where = gr.Markdown("", elem_id="heat-where")
        forward = gr.Button("Next facts →", size="sm", elem_id="heat-next", min_width=90)
    detail = view("detail", {}, elem_id="detail")

    parts = _Parts(progress, scores, bars, calibration, calibration_said, heat, banner)
    fast, slow = gr.Timer(0.25, active=False), gr.Timer(0.6, active=False)
    page_options: dict[str, Any] = {"show_progress": "hidden", "api_visibility": "private", "queue": False}
    poll: dict[str, Any] = {**page_options, "concurrency_limit": None, "trigger_mode": "once"}

    count.input(_precision, count, precision, api_name="precision", **page_options)
    begin = go.click(
        partial(_begin, services),
        [facts.source, statements.pool, models, other, count, shots],
        [runs, kept, said, chosen, page, seen_text, seen_figures, fast, slow, go, stop, which, detail],
        api_name="evaluate",
        api_visibility="private",
        show_progress="hidden",
        concurrency_limit=None,
    )
    fast_outputs = [progress, scores, seen_text, go, stop, fast]
    slow_outputs = [bars, calibration, calibration_said, heat, where, banner, seen_figures, slow]
    show_text, show_figures = partial(_text, services), partial(_figures, services, demonstration)
    fast.tick(show_text, [runs, seen_text], fast_outputs, api_name="text", **poll)
    slow.tick(show_figures, [runs, seen_figures, chosen, page], slow_outputs, api_name="figures", **poll)
    begin.then(show_text, [runs, seen_text], fast_outputs, api_name="text_at_once", **page_options)
    stop.click(partial(_stop, services), runs, stop, api_name="stop", **page_options)

    def turn(change: int, api_name: str, event: Any) -> None:
        event(
            partial(_turned, services, change),
            [runs, chosen, page],
            [heat, where, page],
            api_name=api_name,
            **page_options,
        )

    turn(-1, "previous_facts", back.click)
    turn(1, "next_facts", forward.click)
    which.input(
        partial(_choose_model, services), [runs, which], [chosen, page, heat, where, detail], api_name="which", **page_options
    )

    def open_answer(runs_shown: list[str], model: int, event: gr.EventData) -> dict[str, Any]:
        return _open(services, runs_shown, model, str(event._data.get("key", "")))

    heat.click(open_answer, [runs, chosen], detail, api_name="open_answer", **page_options)
    # After a (re)load, the page takes up the visitor's last runs, or else shows the demonstration.
    blocks.load(
        partial(_reattach, services, demonstration), kept, [runs, which, fast, slow], api_name="reattach", **page_options
    ).then(show_text, [runs, seen_text], fast_outputs, api_name="text_on_load", **page_options).then(
        show_figures, [runs, seen_figures, chosen, page], slow_outputs, api_name="figures_on_load", **page_options
    )


def _model_choices() -> list[tuple[str, str]]:
    names = {
        BUNDLED_MODEL: "medfact-tiny (a demonstration model, comes with the app)",
        "baseline:random": "a coin (baseline)",
        "baseline:always-true": "always says true (baseline)",
        "baseline:always-false": "always says false (baseline)",
        "baseline:negation-cue": "true unless denied (baseline)",
    }
    return [(names.get(spec, spec), spec) for spec in known_models()]


def _precision(facts: float) -> str:
    average = 100 * expected_half_width(int(facts))
    mastery = 100 * expected_half_width(int(facts), statements_per_fact=1)
    return (
        f"**{int(facts):,} facts** and their false partners: right answers to within about ± {average:.0f} points, all eight "
        f"right to within about ± {mastery:.0f}, at worst."
    )


# --------------------------------------------------------------------------------------------------- runs


def _begin(
    services: Services, source: Source, pool: str, models: Sequence[str], other: str, count: float, shots: int
) -> list[Any]:
    """Records one run per model and queues them. What is wrong is said, and nothing else changes."""
    specs = [*models, *([_hub_spec(other)] if other and other.strip() else [])]
    unchanged: list[Any] = [gr.skip()] * 10
    if not specs:
        return [gr.skip(), gr.skip(), message("Choose a model first.", "warn"), *unchanged]
    if len(specs) > MOST_MODELS:
        return [gr.skip(), gr.skip(), message(f"Choose at most {MOST_MODELS} models.", "warn"), *unchanged]
    try:
        collection = collection_of(source)
        for spec in specs:
            takes_messages(spec)
        made = [
            start(spec_of(source, model=model, pool=pool, limit=int(count), shots=int(shots)), services.store, collection)
            for model in dict.fromkeys(specs)
        ]
    except MedfactError as error:
        return [gr.skip(), gr.skip(), message(str(error), "warn"), *unchanged]
    for run in made:
        services.jobs.submit(run)
    on, nothing = gr.Timer(active=True), ()
    buttons = [gr.Button(interactive=False), gr.Button(interactive=True)]
    return [made, made, message(""), 0, 0, nothing, nothing, on, on, *buttons, _which(services, made), {}]


def _hub_spec(name: str) -> str:
    name = name.strip()
    return name if name.startswith(("hf:", "baseline:")) or name == BUNDLED_MODEL else f"hf:{name}"


def _stop(services: Services, runs: Sequence[str]) -> Any:
    for run in runs:
        services.jobs.stop(run)
    return gr.Button(interactive=False)


def _reattach(services: Services, demonstration: str, kept: Sequence[str] | None) -> list[Any]:
    runs = [run for run in kept or [] if isinstance(run, str) and _exists(services, run)] or [demonstration]
    return [runs, _which(services, runs), gr.Timer(active=True), gr.Timer(active=True)]


def _exists(services: Services, run: str) -> bool:
    try:
        return services.store.run(run).run == run
    except MedfactError:
        return False


def _which(services: Services, runs: Sequence[str]) -> Any:
    names = [(services.reports.live(run).run.model, number) for number, run in enumerate(runs)]
    return gr.Radio(names, value=0, visible=len(names) > 1)


# --------------------------------------------------------------------------------------------------- live


def _lives(services: Services, runs: Sequence[str]) -> list[Live]:
    return [services.reports.live(run) for run in runs]


def _versions(services: Services, runs: Sequence[str]) -> Shown:
    """What there is to show of the runs; a running job's clock counts too, so that its rate stays true."""
    return tuple(itertools.chain.from_iterable((services.reports.version(run), 1) for run in runs))


def _text(services: Services, runs: Sequence[str], seen: Shown) -> list[Any]:
    """Progress and scores, if anything is new."""
    versions = _versions(services, runs)
    if versions == tuple(seen):
        return [gr.skip()] * 6
    lives = _lives(services, runs)
    going = any(live_views.is_going(live) for live in lives)
    return [
        live_views.progress(lives),
        live_views.scores(lives),
        versions,
        gr.Button(interactive=not going),
        gr.Button(interactive=going),
        gr.Timer(active=going),
    ]


def _figures(
    services: Services, demonstration: str, runs: Sequence[str], seen: Shown, chosen: int, page: int
) -> list[Any]:
    """Bars, calibration and the heat map, if anything is new."""
    versions = _versions(services, runs)
    if versions == tuple(seen):
        return [gr.skip()] * 8
    lives = _lives(services, runs)
    reports = {f"{live.run.model}": live.figures for live in lives}
    heat, where, _ = _heat(lives[chosen], page)
    return [
        figures.accuracy_by_variant(reports),
        figures.calibration(reports),
        live_views.calibration_said(lives),
        heat,
        where,
        message(live_views.DEMONSTRATION_BANNER if list(runs) == [demonstration] else ""),
        versions,
        gr.Timer(active=any(live_views.is_going(live) for live in lives)),
    ]


def _heat(live: Live, page: int) -> tuple[dict[str, Any], str, int]:
    return live_views.heatmap(live, page, HEAT_PAGE)


def _turned(services: Services, change: int, runs: Sequence[str], chosen: int, page: int) -> tuple[Any, str, int]:
    return _heat(services.reports.live(runs[chosen]), page + change)


def _choose_model(services: Services, runs: Sequence[str], chosen: int) -> list[Any]:
    heat, where, page = _heat(services.reports.live(runs[chosen]), 0)
    return [chosen, page, heat, where, {}]


def _open(services: Services, runs: Sequence[str], chosen: int, key: str) -> dict[str, Any]:
    """The statement and answer of the cell that was chosen."""
    live = services.reports.live(runs[chosen])
    if not key.isdecimal() or int(key) >= len(live.asked):
        return {}
    return live_views.detail(live, live.asked[int(key)], services.store.demonstrations(live.run.run))
