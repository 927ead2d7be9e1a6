"""What a visitor chooses before a run, its price, and the recording of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import gradio as gr

from medfact.errors import MedfactError, Mistake
from medfact.metrics.uncertainty import expected_half_width
from medfact.models import BUNDLED_MODEL, ApiSettings, check_spec, is_service, known_models
from medfact.models.services.policy import check_public_url, is_public_server
from medfact.models.services.settings import address_of, host_of, is_loopback, key_of
from medfact.runs.costs import costs
from medfact.runs.start import start_planned
from medfact.spec import RunSpec
from medfact.web.services import Services, Source, collection_of, planned, spec_of
from medfact.web.view import AT_ONCE, message, view
from medfact.web.visitors import owner_of

DEFAULT_FACTS = 100
FEWEST_SHOTS = 0
"""What the page proposes for the project's own method, so that a first look is quick; a paper's method proposes its own."""
MOST_MODELS = 8
LEAVE = 4
"""Where `Controls.chosen` holds the leave to send one's own facts to a service."""
MOST_GOING = 24
"""Runs of one visitor that may be asked, or wait, at the same time."""


@dataclass(frozen=True)
class Controls:
    """What the visitor chooses. `chosen` are the components that `recorded` takes, in its order."""

    models: gr.CheckboxGroup
    other: gr.Textbox
    service: gr.Textbox
    address: gr.Textbox
    key: gr.Textbox
    leave: gr.Checkbox
    budget: gr.Number
    count: gr.Slider
    shots: gr.Radio
    price: gr.Button
    priced: gr.HTML
    go: gr.Button
    stop: gr.Button
    resume: gr.Button
    said: gr.HTML

    @property
    def chosen(self) -> list[Any]:
        models = [self.models, self.other, self.service, self.address, self.leave, self.budget]
        return [*models, self.count, self.shots]


def controls() -> Controls:
    """Lays the controls out."""
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
                value=FEWEST_SHOTS,
                label="Demonstrations shown to the model before each statement",
                elem_id="shots",
            )
    service, address, key, leave, budget, price, priced = _service()
    with gr.Row():
        go = gr.Button("Evaluate", variant="primary", elem_id="evaluate")
        stop = gr.Button("Stop", variant="stop", elem_id="stop", interactive=False)
        resume = gr.Button("Resume", elem_id="resume", visible=False)
    said = view("message", message(""), elem_id="evaluate-message")
    count.input(_precision, count, precision, api_name="precision", **AT_ONCE)
    return Controls(models, other, service, address, key, leave, budget, count, shots, price, priced, go, stop, resume, said)


def _service() -> tuple[Any, ...]:
    with gr.Accordion("A model behind a service (an API), with your own key", open=False, elem_id="service"):
        gr.Markdown(
            "OpenAI's, or any server that speaks its protocol: vLLM, Ollama, a hospital's gateway. Each statement goes to that "
            "server as text. The key stays in this app's memory for this run alone; it is never stored, logged or shown."
        )
        with gr.Row():
            service = gr.Textbox(
                label="model's name",
                placeholder="as the service calls it: gpt-4o-mini",
                elem_id="service-model",
                max_length=200,
            )
            address = gr.Textbox(
                label="address (base URL)", placeholder="https://api.openai.com/v1", elem_id="service-address", max_length=300
            )
        with gr.Row():
            key = gr.Textbox(
                label="key",
                type="password",
                placeholder="leave it empty for a server that wants none",
                elem_id="service-key",
                max_length=400,
            )
            budget = gr.Number(label="stop after so many US dollars (0: never)", value=0, minimum=0, elem_id="service-budget")
        leave = gr.Checkbox(
            label="My own facts may go to that server. They hold no patient data.", value=False, elem_id="service-leave"
        )
        price = gr.Button("What will it cost?", size="sm", elem_id="service-price")
        priced = view("message", message(""), elem_id="service-priced")
    return service, address, key, leave, budget, price, priced


def wire_price(services: Services, made: Controls, facts: Any, protocol: Any, pool: Any) -> None:
    """Says what the chosen models would cost; asks none of them."""
    inputs = [facts, protocol, pool, *made.chosen]

    def priced(request: gr.Request, source: Source, protocol: str, pool: str, *chosen: Any) -> dict[str, str]:
        return _priced(services, owner_of(request), source, protocol, pool, *chosen)

    made.price.click(priced, inputs, made.priced, api_name="price", api_visibility="private")


def _priced(services: Services, owner: str, source: Source, protocol: str, pool: str, *chosen: Any) -> dict[str, str]:
    try:
        specs = _specs(source, protocol, services.pool(owner, pool), *chosen)
        collection = collection_of(source)
        return message(" ".join(f"{spec.model}: {costs(spec, collection)['said']}" for spec in specs))
    except MedfactError as error:
        return message(error.public, "warn")


def recorded(
    services: Services, owner: str, source: Source, protocol: str, pool: str, key: str | None, *chosen: Any
) -> list[str]:
    """Records one run per model for a visitor and queues them; returns their ids. Raises MedfactError on a mistake."""
    specs = _specs(source, protocol, services.pool(owner, pool), *chosen)
    check_room(services, owner, len(specs))
    for spec in specs:
        if is_service(spec.model):
            key_of(ApiSettings(base_url=spec.service.base_url, key=key))
            _check_address(spec.service, bool(chosen[LEAVE]), spec.facts is not None)
    store = services.store.of(owner)
    runs = [start_planned(spec, planned(spec, source, store.rejections()), store) for spec in specs]
    for run, spec in zip(runs, specs, strict=True):
        services.jobs.submit(run, key if is_service(spec.model) else None)
    return runs


def check_room(services: Services, owner: str, more: int) -> None:
    """Raises Mistake where a visitor has no room for so many more runs that are asked or wait."""
    going = services.jobs.going(owner)
    if going + more > MOST_GOING:
        raise Mistake(f"{going} runs of yours are going on already.", "Wait for some to end, or stop some.")


def _specs(
    source: Source,
    protocol: str,
    pool: str | None,
    models: Sequence[str],
    other: str,
    service: str,
    address: str,
    _leave: bool,
    budget: float | None,
    count: float,
    shots: int,
) -> list[RunSpec]:
    other, service, address = ((text or "").strip() for text in (other, service, address))
    typed = [*([_hub_spec(other)] if other else []), *([f"openai:{service}"] if service else [])]
    names = list(dict.fromkeys([*models, *typed]))
    if not 1 <= len(names) <= MOST_MODELS:
        raise Mistake(f"{len(names)} models are chosen.", f"Choose 1 to {MOST_MODELS}.")
    for name in names:
        check_spec(name)
    numbers = {"protocol": protocol, "pool": pool or None, "limit": int(count), "shots": int(shots), "budget": budget or None}
    asked = {"base_url": address or None}
    return [spec_of(source, model=name, service=asked, **numbers) for name in names]


def _check_address(settings: ApiSettings, leave: bool, own: bool) -> None:
    """Raises Mistake where prompts may not go to an address: without leave, or from a public server into its own network."""
    host = host_of(settings)
    if own and not leave and not is_loopback(host):
        raise Mistake(f"Your own facts would go to {host}.", "Tick that they may, and that they hold no patient data.")
    if is_public_server():
        check_public_url(address_of(settings))


def _hub_spec(name: str) -> str:
    return name if name.startswith(("hf:", "baseline:", "openai:")) or name == BUNDLED_MODEL else f"hf:{name}"


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
