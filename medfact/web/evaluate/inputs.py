"""The page Evaluate, laid out: the places of its fragments, and the inputs of the method, which stay folded for most. They show
what the visitor chose last, and tell the page's script what is chosen; the server draws everything that follows."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Mapping
from typing import Any

import gradio as gr

from medfact.datasets.documents import TEXTS
from medfact.models.encoder import ENCODER
from medfact.prototypes import load_pool, pool_names
from medfact.results.recall import READ, RELATED
from medfact.retrieval import RETRIEVERS
from medfact.spec import FIELDS, NO_RETRIEVAL, PROTOCOLS, SETTINGS, RunSpec
from medfact.table_formats import FORMATS
from medfact.web.evaluate.form import FURTHER, LABELS, WITHOUT, shots_of
from medfact.web.layout import FRONTEND, bring, part
from medfact.web.pages import Bring

Inputs = dict[str, Any]
"""Components by the names of the fields of `Setup` that they show."""

NUMBERS = {0: "none", 5: "five"}

LAST_CHOSEN = """() => new Promise((done) => {
  const begin = () => (window.medfact ? done(window.medfact.lastChosen(%s, %s)) : setTimeout(begin, 50));
  begin();
})"""
"""What the inputs are to show; the page's script may come after them."""

TYPED = ("pool",)
"""Fields that are told when somebody chooses, not when a page opens: a file of the visitor's is none of their choices."""


def build(site: gr.Blocks) -> None:
    """Beside each other: the inputs (facts, models, size, and, folded away, the method), and what runs show."""
    with gr.Row(elem_id="workbench"):
        with gr.Column(elem_id="setup", min_width=300):
            part("choice", "facts-said", "mapping", "facts")
            part("models", "models-said")
            part("sizes")
            inputs = _method() | _evidence()
            part("go", "go-said")
        with gr.Column(elem_id="results", min_width=300):
            part("said", "progress", "scores", "tab", "rarity")
            # the style hides it where the section "Where knowledge runs out" is not shown
            bring(Bring("Bring frequencies (term, count) …", "take_frequencies", tuple(FORMATS), "rarity-upload"))
            part("rarity-said", "drawer")
    _tell(site, inputs)


def _tell(site: gr.Blocks, inputs: Mapping[str, Any]) -> None:
    """Has inputs show what the visitor chose last, and tell the page's script what is chosen from then on."""
    for name, component in inputs.items():
        event = component.input if name in TYPED else component.change
        event(None, component, None, js=f"(value) => window.medfact.choose({{{name}: value}})", **FRONTEND)
    usual, choices = {name: component.value for name, component in inputs.items()}, {"pool": pool_names()}
    last = LAST_CHOSEN % (json.dumps(usual), json.dumps(choices))
    site.load(None, None, list(inputs.values()), js=last, **FRONTEND)


def _method() -> Inputs:
    with gr.Accordion("Method and sentences", open=False, elem_id="method"):
        methods = [(protocol.title, name) for name, protocol in PROTOCOLS.items()]
        protocol = gr.Radio(methods, value=RunSpec.protocol, label=LABELS["protocol"], elem_id="protocol")
        shots = gr.Radio(
            [(f"as usual: {by_method(lambda name: NUMBERS[shots_of(name)])}", -1), ("none", 0), ("five", 5)],
            value=-1,
            label=LABELS["shots"],
            info=SETTINGS["spec.shots"].info,
            elem_id="shots",
        )
        pools = [("the method's own", ""), *((load_pool(name).title, name) for name in pool_names())]
        pool = gr.Dropdown(pools, value="", label=LABELS["pool"], elem_id="pool", filterable=False)
        bring(Bring("Your own templates (.yaml, .json) …", "take_pool", (".yaml", ".yml", ".json"), "own-pool"))
        part("method", "pool-said")
        further = {name: _control(name, f"setting-{name}") for name in FURTHER}
    return {"protocol": protocol, "shots": shots, "pool": pool, **further}


def _control(name: str, element: str) -> Any:
    """The input of a field of a spec, drawn as it is declared."""
    default, declared = FIELDS[f"spec.{name}"].default, SETTINGS[f"spec.{name}"]
    about = {"label": declared.label, **({"info": declared.info} if declared.info else {})}
    settings = {**about, "elem_id": element, "value": default}
    if isinstance(default, bool):
        return gr.Checkbox(**settings)
    meanings = declared.choices if isinstance(declared.choices, Mapping) else dict.fromkeys(declared.choices, "")
    named = [
        (f"{name}: {meaning}" if meaning and not declared.several else meaning or name, name)
        for name, meaning in meanings.items()
    ]
    if default == () or declared.several:
        return gr.CheckboxGroup(named, **{**settings, "value": []})
    if named:
        usual = [("as usual with the method", "")] if default is None else []
        return gr.Dropdown([*usual, *named], filterable=False, **{**settings, "value": default or ""})
    if declared.bounds:
        return gr.Number(**{"minimum": declared.bounds.minimum, "maximum": declared.bounds.maximum, **settings})
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
            [WITHOUT, (f"with {READ}", READ), (f"with {RELATED}", RELATED)],
            value=[WITHOUT, READ],
            label=LABELS["settings"],
            elem_id="evidence-settings",
        )
        bring(Bring("Your own documents (.txt, .md or a table) …", "take_documents", (*TEXTS, *FORMATS), "own-documents"))
        part("documents", "documents-said")
        encoder = gr.Textbox(label=LABELS["encoder"], placeholder=ENCODER, elem_id="encoder", max_length=300)
    return {"retrieval": retrieval, "settings": settings, "encoder": encoder}


def by_method(value: Callable[[str], object]) -> str:
    """A setting in words, for each method what it is there: “0 with medfact and MKJ, 5 with PretextTrans and TPEval”."""
    titles: defaultdict[str, list[str]] = defaultdict(list)
    for name, protocol in PROTOCOLS.items():
        titles[str(value(name))].append(protocol.title)
    joined = {one: " and ".join(filter(None, [", ".join(of[:-1]), of[-1]])) for one, of in titles.items()}
    return ", ".join(f"{one} with {of}" for one, of in joined.items())
