"""The inputs on the page Evaluate. They show what the visitor chose last, and tell the page's script what is chosen; the server
draws everything that follows."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Mapping
from typing import Any

import gradio as gr

from medfact.datasets import bundled_names
from medfact.datasets.documents import TEXTS
from medfact.models import BUNDLED_MODEL, known_models
from medfact.models.encoder import ENCODER
from medfact.models.words_alone import TAIL
from medfact.prototypes import load_pool, pool_names
from medfact.results.recall import READ, RELATED
from medfact.results.wording import model_name
from medfact.retrieval import RETRIEVERS
from medfact.spec import FIELDS, NO_RETRIEVAL, PROTOCOLS, SETTINGS, RunSpec
from medfact.table_formats import FORMATS
from medfact.web.evaluate.form import DEFAULT_PAIRS, FURTHER, LABELS, MOST_PAIRS, WITHOUT, shots_of
from medfact.web.layout import FRONTEND, bring, part
from medfact.web.pages import Bring

Inputs = dict[str, Any]
"""Components by the names of the fields of `Setup` that they show."""

NUMBERS = {0: "none", 5: "five"}

DATASET_CHOSEN = "(value) => { window.medfact.choose({dataset: value}); window.medfact.act('drop_file'); }"
"""Whoever chooses a bundled set wants that set: a file of their own is no longer in use."""

LAST_CHOSEN = """() => new Promise((done) => {
  const begin = () => (window.medfact ? done(window.medfact.lastChosen(%s, %s)) : setTimeout(begin, 50));
  begin();
})"""
"""What the inputs are to show; the page's script may come after them."""

TYPED = ("difficulty", "pool")
"""Fields that are told when somebody chooses, not when a page opens: a file of the visitor's is none of their choices."""


def build(site: gr.Blocks) -> None:
    """Beside each other: the inputs (facts, models, and, folded away, method and size), and what runs show."""
    with gr.Row(elem_id="workbench"):
        with gr.Column(elem_id="setup", min_width=300):
            inputs = _facts() | _models()
            part("go", "go-said")
            part("facts")
            inputs |= _more_models() | _method() | _evidence()
        with gr.Column(elem_id="results", min_width=300):
            part("said", "progress", "scores", "tab", "rarity")
            # the style hides it where the section "Where knowledge runs out" is not shown
            bring(Bring("Bring frequencies (term, count) …", "take_frequencies", tuple(FORMATS), "rarity-upload"))
            part("rarity-said", "drawer")
    _tell(site, inputs)


def _tell(site: gr.Blocks, inputs: Mapping[str, Any]) -> None:
    """Has inputs show what the visitor chose last, and tell the page's script what is chosen from then on."""
    for name, one in inputs.items():
        if name == "dataset":
            one.input(None, one, None, js=DATASET_CHOSEN, **FRONTEND)
        else:
            event = one.input if name in TYPED else one.change
            event(None, one, None, js=f"(value) => window.medfact.choose({{{name}: value}})", **FRONTEND)
    usual, choices = {name: one.value for name, one in inputs.items()}, {"pool": pool_names()}
    last = LAST_CHOSEN % (json.dumps(usual), json.dumps(choices))
    site.load(None, None, list(inputs.values()), js=last, **FRONTEND)


def _facts() -> Inputs:
    with gr.Row():
        dataset = gr.Dropdown(
            bundled_names(),
            value=RunSpec.dataset,
            label=LABELS["dataset"],
            elem_id="dataset",
            interactive=True,
            filterable=False,
            min_width=180,
        )
        bring(Bring("Your own file …", "take_file", tuple(FORMATS), "upload", min_width=130))
    part("facts-said", "mapping")
    return {"dataset": dataset}


def _models() -> Inputs:
    models = [(model_name(spec), spec) for spec in model_choices()]
    return {
        "models": gr.CheckboxGroup(models, value=[BUNDLED_MODEL], label=LABELS["models"], elem_id="models"),
        "race": gr.Checkbox(
            label=LABELS["race"],
            info="For two or more models: asks about diseases in random order and stops once it is clear which model is "
            "better.",
            elem_id="race",
        ),
    }


def _more_models() -> Inputs:
    with gr.Accordion("More models: from the Hub, a folder, or a service (API)", open=False, elem_id="service"):
        other = _text("other", "other-model", "OWNER/NAME")
        gr.Markdown(
            "A model behind a service: OpenAI's, or any server that speaks its protocol (vLLM, Ollama, a hospital's gateway). "
            "Each statement goes to that server as text."
        )
        service = _text("service", "service-model", "as the service calls it: gpt-4o-mini", most=200)
        address = _text("address", "service-address", "https://api.openai.com/v1")
        budget = _control("budget", "service-budget", value=0, minimum=0)
        part("consent")
    return {"other": other, "service": service, "address": address, "budget": budget}


def _text(name: str, element: str, placeholder: str, most: int = 300) -> gr.Textbox:
    return gr.Textbox(label=LABELS[name], placeholder=placeholder, elem_id=element, max_length=most)


def _method() -> Inputs:
    with gr.Accordion("Method, size and sentences", open=False, elem_id="method"):
        methods = [(protocol.title, name) for name, protocol in PROTOCOLS.items()]
        protocol = gr.Radio(methods, value=RunSpec.protocol, label=LABELS["protocol"], elem_id="protocol")
        pairs = gr.Slider(10, MOST_PAIRS, value=DEFAULT_PAIRS, step=10, label=LABELS["pairs"], elem_id="pairs")
        shots = gr.Radio(
            [(f"as usual: {by_method(lambda name: NUMBERS[shots_of(name)])}", -1), ("none", 0), ("five", 5)],
            value=-1,
            label=LABELS["shots"],
            info=SETTINGS["spec.shots"].info,
            elem_id="shots",
        )
        difficulty = _control(
            "negative_difficulty",
            "difficulty",
            info="near: true of another condition of the same specialty; far: from elsewhere in medicine; as usual: "
            + by_method(lambda name: PROTOCOLS[name].negative_difficulty),
        )
        pools = [("the method's own", ""), *((load_pool(name).title, name) for name in pool_names())]
        pool = gr.Dropdown(pools, value="", label=LABELS["pool"], elem_id="pool", filterable=False)
        bring(Bring("Your own templates (.yaml, .json) …", "take_pool", (".yaml", ".yml", ".json"), "own-pool"))
        part("method", "pool-said")
        further = {name: _control(name, f"setting-{name}") for name in FURTHER}
    return {"protocol": protocol, "pairs": pairs, "shots": shots, "difficulty": difficulty, "pool": pool, **further}


def _control(name: str, element: str, **more: Any) -> Any:
    """The input of a field of a spec, drawn as it is declared. more: what is otherwise, in the page library's terms."""
    default, declared = FIELDS[f"spec.{name}"].default, SETTINGS[f"spec.{name}"]
    about = {"label": declared.label, **({"info": declared.info} if declared.info else {})}
    settings = {**about, "elem_id": element, "value": default, **more}
    if isinstance(default, bool):
        return gr.Checkbox(**settings)
    if declared.choices:
        meanings = declared.choices if isinstance(declared.choices, Mapping) else dict.fromkeys(declared.choices, "")
        named = [(f"{one}: {meaning}" if meaning else one, one) for one, meaning in meanings.items()]
        usual = [("as usual with the method", "")] if default is None else []
        return gr.Dropdown([*usual, *named], filterable=False, **{**settings, "value": default or ""})
    if declared.bounds:
        return gr.Number(**{"minimum": declared.bounds.least, "maximum": declared.bounds.most, **settings})
    return gr.Textbox(max_length=300, **settings)


def _evidence() -> Inputs:
    with gr.Accordion("Retrieved passages: does evidence help?", open=False, elem_id="evidence-inputs"):
        gr.Markdown(
            "Before each statement, a model can be shown passages that are looked up for it. If the corpus holds the very fact "
            "under test, as in the MKJ paper, this measures reading; with that fact left out, the use of related knowledge."
        )
        retrieval = gr.Radio(
            [("none", NO_RETRIEVAL), *((meaning, name) for name, meaning in RETRIEVERS.items())],
            value=NO_RETRIEVAL,
            label=LABELS["retrieval"],
            elem_id="retrieval",
        )
        settings = gr.CheckboxGroup(
            [WITHOUT, (f"with passages, {READ}", READ), (f"with passages, {RELATED}", RELATED)],
            value=[WITHOUT, READ],
            label=LABELS["settings"],
            elem_id="evidence-settings",
        )
        kinds = (*TEXTS, *FORMATS)
        bring(Bring("Your own documents (.txt, .md or a table) …", "take_documents", kinds, "own-documents"))
        part("documents", "documents-said")
        encoder = _text("encoder", "encoder", ENCODER)
    return {"retrieval": retrieval, "settings": settings, "encoder": encoder}


def model_choices() -> list[str]:
    """The models that come with the app, but for those that show nothing new: what word matching scores stands
    beside every run, and who always says false mirrors who always says true.
    """
    return [name for name in known_models() if name not in (TAIL, "baseline:always-false")]


def by_method(value: Callable[[str], object]) -> str:
    """A setting in words, for each method what it is there: “0 with medfact and MKJ, 5 with PretextTrans and TPEval”."""
    titles: defaultdict[str, list[str]] = defaultdict(list)
    for name, protocol in PROTOCOLS.items():
        titles[str(value(name))].append(protocol.title)
    joined = {one: " and ".join(filter(None, [", ".join(of[:-1]), of[-1]])) for one, of in titles.items()}
    return ", ".join(f"{one} with {of}" for one, of in joined.items())
