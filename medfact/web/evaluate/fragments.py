"""The fragments of the set-up: its three steps, the documents, the method in a sentence, and the bar that says what will be
evaluated."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from markupsafe import Markup

from medfact.errors import MedfactError
from medfact.results.wording import counted, model_name
from medfact.spec import PROTOCOLS
from medfact.store import COMPLETE, Run
from medfact.views.fragments import render
from medfact.web.evaluate.facts_step import choice, facts_in_use
from medfact.web.evaluate.files import mapping, passages_in
from medfact.web.evaluate.form import EvaluateShow, Setup
from medfact.web.evaluate.models_step import models
from medfact.web.evaluate.size_step import bar, sizes
from medfact.web.pages import Message, Visitor
from medfact.writing.kinds import writing_kind
from medfact.writing.runs import ORIGINALS, PROTOTYPES


def fragments(visitor: Visitor, show: EvaluateShow, setup: Setup) -> dict[str, Markup]:
    """The parts of the set-up."""
    return {
        "choice": Markup() if setup.sets else choice(visitor, setup),
        "mapping": sentence_sets(visitor, setup) if setup.sets else mapping(visitor, setup),
        "facts": facts_in_use(visitor, show, setup),
        "models": models(visitor, setup),
        "sizes": Markup() if setup.sets else sizes(visitor, setup),
        "documents": _documents(visitor, setup),
        "method": render("message", message=Message(_method(setup))),
        "go": bar(visitor, show, setup),
    }


def _method(setup: Setup) -> str:
    """What the method is, and how many worked examples will be shown with it."""
    if (protocol := PROTOCOLS.get(setup.protocol)) is None:
        return ""
    shots = setup.demonstrations
    if shots and not protocol.held_out_heads:
        return f"{protocol.explanation} As set here: no worked examples, since this method keeps no facts for them."
    return f"{protocol.explanation} As set here: {counted(shots, 'worked example') if shots else 'no worked examples'}."


# ------------------------------------------------------------------------------------------------ documents


def _documents(visitor: Visitor, setup: Setup) -> Markup:
    """Which corpus is in use, and the question for a column; nothing where no passages are retrieved."""
    waiting = setup.untold
    if setup.retrieval == "none" and waiting is None:
        return Markup()
    name = number = ""
    if setup.corpus:
        with suppress(MedfactError):
            file = visitor.services.uploads.of(visitor.owner, setup.corpus)
            name, number = file.name, counted(passages_in(str(file), setup.corpus_column or None), "passage")
    return render(
        "documents",
        name=name,
        number=number,
        waiting=Path(waiting.path).name if waiting else "",
        columns=waiting.columns if waiting else [],
    )


# ------------------------------------------------------------------------------------------------ what a language model wrote


def sentence_sets(visitor: Visitor, setup: Setup) -> Markup:
    """The sets of sentences that can be asked beside the chosen one: about the same facts."""
    services = visitor.services
    try:
        first = services.writing(setup.sets[0])
    except MedfactError as error:
        return render("message", message=Message(error.public, "warn"))
    writings = [run for run in services.store.writings(*visitor.owners) if run.spec.writing is None and _is_beside(run, first)]
    known = {run.run: run for run in (first, *reversed(writings))}
    texts = {run.run: f"{writing_kind(run).set_name or 'written by'} {model_name(run.model)}" for run in known.values()}
    texts |= {PROTOTYPES: "the sentence templates as they are (−LMReph)", ORIGINALS: "one plain sentence a fact (Origin)"}
    own = sorted({model_name(run.model) for run in known.values() if run.run in setup.sets and run.model in setup.names})
    return render("facts_written", first=first, texts=texts, chosen=setup.sets, own=own)


def _is_beside(run: Run, first: Run) -> bool:
    """Whether two writings are about the same facts, drawn in the same way, and can be asked."""
    same = (run.dataset_fingerprint, run.spec.limit, run.spec.protocol) == (
        first.dataset_fingerprint,
        first.spec.limit,
        first.spec.protocol,
    )
    return same and bool(writing_kind(run).set_name) and run.state == COMPLETE
