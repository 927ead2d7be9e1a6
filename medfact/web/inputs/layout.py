"""The inputs on the page Evaluate. They only tell the page's script what was chosen; the server draws everything that
follows."""

from __future__ import annotations

from typing import Any

import gradio as gr

from medfact.datasets import bundled_names
from medfact.datasets.documents import TEXTS
from medfact.models import BUNDLED_MODEL
from medfact.models.encoder import ENCODER
from medfact.negatives import PREFERENCES
from medfact.prototypes import load_pool, pool_names
from medfact.results.recall import READ, RELATED
from medfact.results.wording import model_name
from medfact.retrieval import RETRIEVERS
from medfact.spec import NO_RETRIEVAL, PROTOCOLS, RunSpec
from medfact.table_formats import FORMATS
from medfact.web.inputs.setup import DEFAULT_PAIRS, MOST_PAIRS, WITHOUT, by_method, model_choices, shots_of
from medfact.web.parts import part

FRONTEND: dict[str, Any] = {"api_visibility": "private", "show_progress": "hidden", "queue": False}
"""Options of events that no request follows: they run in the browser alone."""

NUMBERS = {0: "none", 5: "five"}

DATASET_CHOSEN = "(value) => { window.medfact.choose({dataset: value}); window.medfact.act('drop_file'); }"
"""Whoever chooses a bundled set wants that set: a file of their own is no longer in use."""


def tells(component: Any, name: str, event: str = "change") -> None:
    """Has a component tell the page's script its value under a name of `Setup`."""
    getattr(component, event)(None, component, None, js=f"(value) => window.medfact.choose({{{name}: value}})", **FRONTEND)


def build() -> None:
    """Lays the inputs out: facts, models, and, folded away, method and size."""
    _facts()
    _models()
    part("go", "go-said")
    part("facts")
    _more_models()
    with gr.Accordion("Method, size and sentences", open=False, elem_id="method"):
        _method()
    with gr.Accordion("Retrieved passages: does evidence help?", open=False, elem_id="evidence-inputs"):
        _evidence()


def frequencies() -> None:
    """The button for a table of frequencies; the style hides it where the section "Where knowledge runs out" is not shown."""
    bring = gr.UploadButton(
        "Bring frequencies (term, count) …", file_types=list(FORMATS), size="sm", elem_id="rarity-upload", variant="secondary"
    )
    bring.upload(None, bring, None, js="(file) => window.medfact.act('take_frequencies', file)", **FRONTEND)


def _facts() -> None:
    with gr.Row():
        dataset = gr.Dropdown(
            bundled_names(),
            value=RunSpec.dataset,
            label="Facts",
            elem_id="dataset",
            interactive=True,
            filterable=False,
            min_width=180,
        )
        upload = gr.UploadButton(
            "Your own file …", file_types=list(FORMATS), size="sm", elem_id="upload", min_width=130, variant="secondary"
        )
    part("facts-said", "mapping")
    dataset.input(None, dataset, None, js=DATASET_CHOSEN, **FRONTEND)
    upload.upload(None, upload, None, js="(file) => window.medfact.act('take_file', file)", **FRONTEND)


def _models() -> None:
    models = gr.CheckboxGroup(
        [(model_name(spec), spec) for spec in model_choices()], value=[BUNDLED_MODEL], label="Models", elem_id="models"
    )
    race = gr.Checkbox(
        label="Stop as soon as it is decided",
        info="For two or more models: asks about diseases in random order and stops once it is clear which model is better.",
        elem_id="race",
    )
    tells(models, "models")
    tells(race, "race")


def _more_models() -> None:
    with gr.Accordion("More models: from the Hub, a folder, or a service (API)", open=False, elem_id="service"):
        other = gr.Textbox(
            label="Hugging Face repository, or a folder or .gguf file on this machine",
            placeholder="OWNER/NAME",
            elem_id="other-model",
            max_length=300,
        )
        gr.Markdown(
            "A model behind a service: OpenAI's, or any server that speaks its protocol (vLLM, Ollama, a hospital's gateway). "
            "Each statement goes to that server as text."
        )
        service = gr.Textbox(
            label="model's name", placeholder="as the service calls it: gpt-4o-mini", elem_id="service-model", max_length=200
        )
        address = gr.Textbox(
            label="address (base URL)", placeholder="https://api.openai.com/v1", elem_id="service-address", max_length=300
        )
        budget = gr.Number(label="stop after so many US dollars (0: never)", value=0, minimum=0, elem_id="service-budget")
        part("consent")
    for component, name in (
        (other, "other"),
        (service, "service"),
        (address, "address"),
        (budget, "budget"),
    ):
        tells(component, name)


def _method() -> None:
    protocol = gr.Radio(
        [(protocol.title, name) for name, protocol in PROTOCOLS.items()],
        value=RunSpec.protocol,
        label="Method",
        elem_id="protocol",
    )
    pairs = gr.Slider(
        10, MOST_PAIRS, value=DEFAULT_PAIRS, step=10, label="Pairs: true facts, each with its false partners", elem_id="pairs"
    )
    shots = gr.Radio(
        [(f"as usual: {by_method(lambda name: NUMBERS[shots_of(name)])}", -1), ("none", 0), ("five", 5)],
        value=-1,
        label="Demonstrations shown to the model before each statement",
        info="medfact proposes five, too; this page shows none unless you choose them, so that a first look is quick.",
        elem_id="shots",
    )
    difficulty = gr.Dropdown(
        [("as usual with the method", ""), *((f"{name}: {meaning}", name) for name, meaning in PREFERENCES.items())],
        value="",
        label="False partners",
        info="near: true of another condition of the same specialty; far: from elsewhere in medicine; as usual: "
        + by_method(lambda name: PROTOCOLS[name].negative_difficulty),
        elem_id="difficulty",
        filterable=False,
    )
    pools = [("the method's own", ""), *((load_pool(name).title, name) for name in pool_names())]
    pool = gr.Dropdown(pools, value="", label="Sentence templates", elem_id="pool", filterable=False)
    own = gr.UploadButton(
        "Your own templates (.yaml, .json) …", file_types=[".yaml", ".yml", ".json"], size="sm", elem_id="own-pool"
    )
    part("method", "pool-said")
    for component, name in ((protocol, "protocol"), (pairs, "pairs"), (shots, "shots")):
        tells(component, name)
    tells(difficulty, "difficulty", "input")
    tells(pool, "pool", "input")
    own.upload(None, own, None, js="(file) => window.medfact.act('take_pool', file)", **FRONTEND)


def _evidence() -> None:
    gr.Markdown(
        "Before each statement, a model can be shown passages that are looked up for it. If the corpus holds the very fact "
        "under test, as in the MKJ paper, this measures reading; with that fact left out, the use of related knowledge."
    )
    retrieval = gr.Radio(
        [("none", NO_RETRIEVAL), *((meaning, name) for name, meaning in RETRIEVERS.items())],
        value=NO_RETRIEVAL,
        label="Passages are looked up",
        elem_id="retrieval",
    )
    settings = gr.CheckboxGroup(
        [WITHOUT, (f"with passages, {READ}", READ), (f"with passages, {RELATED}", RELATED)],
        value=[WITHOUT, READ],
        label="Each model is asked",
        elem_id="evidence-settings",
    )
    own = gr.UploadButton(
        "Your own documents (.txt, .md or a table) …", file_types=[*TEXTS, *FORMATS], size="sm", elem_id="own-documents"
    )
    part("documents", "documents-said")
    encoder = gr.Textbox(
        label="Sentence encoder for “by meaning”: a Hugging Face repository, or a folder on this machine",
        placeholder=ENCODER,
        elem_id="encoder",
        max_length=300,
    )
    for component, name in ((retrieval, "retrieval"), (settings, "settings"), (encoder, "encoder")):
        tells(component, name)
    own.upload(None, own, None, js="(file) => window.medfact.act('take_documents', file)", **FRONTEND)
