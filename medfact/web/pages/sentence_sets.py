"""What the page Evaluate asks in place of sentence templates: the sets of sentences that a language model wrote."""

from __future__ import annotations

from dataclasses import dataclass

from markupsafe import Markup

from medfact.errors import MedfactError
from medfact.results.wording import model_name
from medfact.store import COMPLETE, Run
from medfact.views.fragments import render
from medfact.web.inputs.setup import Setup
from medfact.web.pages import Message, Visitor
from medfact.writing.kinds import writing_kind
from medfact.writing.runs import writing_of
from medfact.writing.sets import ORIGINALS, PROTOTYPES


@dataclass(frozen=True)
class SentenceSet:
    """A set of sentences that can be asked. key: its writing's id, PROTOTYPES or ORIGINALS."""

    key: str
    text: str
    chosen: bool


def sentence_sets(visitor: Visitor, setup: Setup) -> Markup:
    """The sets of sentences that can be asked beside the chosen one: about the same facts."""
    services = visitor.services
    try:
        first = writing_of(services.run(setup.sets[0]).run, services.store)
    except MedfactError as error:
        return render("message", message=Message(error.public, "warn"))
    writings = [run for run in services.store.writings(*visitor.owners) if run.spec.writing is None and _is_beside(run, first)]
    known = {run.run: run for run in (first, *reversed(writings))}
    texts = {run.run: f"{writing_kind(run).set_name or 'written by'} {model_name(run.model)}" for run in known.values()}
    texts |= {PROTOTYPES: "the sentence templates as they are (−LMReph)", ORIGINALS: "one plain sentence a fact (Origin)"}
    sets = [SentenceSet(key, text, key in setup.sets) for key, text in texts.items()]
    own = sorted({model_name(run.model) for run in known.values() if run.run in setup.sets and run.model in setup.names})
    return render("facts_written", first=first, sets=sets, own=own)


def _is_beside(run: Run, first: Run) -> bool:
    """Whether two writings are about the same facts, drawn in the same way, and can be asked."""
    same = (run.dataset_fingerprint, run.spec.limit, run.spec.protocol) == (
        first.dataset_fingerprint,
        first.spec.limit,
        first.spec.protocol,
    )
    return same and bool(writing_kind(run).set_name) and run.state == COMPLETE
