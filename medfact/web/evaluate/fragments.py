"""The fragments beside the inputs: the facts in use, the documents, the method in a sentence, consent, and the button that says
what will be evaluated."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlencode

from markupsafe import Markup

from medfact.datasets import Collection, Selection
from medfact.datasets.collection import summary
from medfact.datasets.isolated import count_passages, fails_again
from medfact.errors import MedfactError
from medfact.kept import keep
from medfact.models import service_of
from medfact.models.services.policy import host_of
from medfact.models.services.settings import ServiceSettings
from medfact.negatives import RULES, explain
from medfact.results.power import power_in_words
from medfact.results.wording import counted, duration, model_name
from medfact.runs.plan import select_facts
from medfact.spec import NO_RETRIEVAL, PROTOCOLS, RunSpec
from medfact.store import COMPLETE, Run
from medfact.views.fragments import render
from medfact.web.evaluate.form import EvaluateShow, Setup
from medfact.web.evaluate.plan import planned_runs
from medfact.web.evaluate.spec import source_of
from medfact.web.pages import Message, Visitor
from medfact.web.services import collection_of, collection_of_spec, seconds_for, spec_of
from medfact.writing.kinds import writing_kind
from medfact.writing.runs import ORIGINALS, PROTOTYPES, writing_of

MANY_FACTS = 20_000
"""Above so many facts, false partners are drawn when they are asked, not counted on the page."""
SHOWN_PROBLEMS = 12
SHOWN_WITHOUT_PARTNER = 5
ONE_RELATION = "(one relation for all rows)"


def fragments(visitor: Visitor, show: EvaluateShow, setup: Setup) -> dict[str, Markup]:
    """The parts beside the inputs."""
    return {
        "mapping": sentence_sets(visitor, setup) if setup.sets else mapping(setup),
        "facts": _facts(visitor, setup),
        "consent": consent(visitor, setup),
        "documents": _documents(visitor, setup),
        "method": render("message", message=Message(_method(setup))),
        "go": _go(visitor, show, setup),
    }


def _method(setup: Setup) -> str:
    """What the method is, and how many worked examples will be shown with it."""
    if (protocol := PROTOCOLS.get(setup.protocol)) is None:
        return ""
    shots = setup.demonstrations
    if shots and not protocol.heads_aside:
        return f"{protocol.explanation} As set here: no worked examples, since this method keeps no facts for them."
    return f"{protocol.explanation} As set here: {counted(shots, 'worked example') if shots else 'no worked examples'}."


def mapping(setup: Setup) -> Markup:
    """The question which columns of an uploaded file are which, where that is not clear."""
    if (file := setup.mapping) is None:
        return Markup()
    return render("facts_mapping", columns=file.columns, name=Path(file.path).name, one_relation=ONE_RELATION)


def _facts(visitor: Visitor, setup: Setup) -> Markup:
    if setup.sets:
        return Markup()
    try:
        source = source_of(visitor.services, visitor.owner, setup)
        collection = collection_of(source)
    except MedfactError as error:
        return render("message", message=Message(error.public, "warn"))
    positive = sum(fact.positive for fact in collection.facts)
    problems = summary(collection.problems)
    counted_here = 0 < positive <= MANY_FACTS and setup.protocol in PROTOCOLS
    spec = spec_of(source, protocol=setup.protocol, shots=setup.demonstrations, limit=positive)
    counts, notes, alone = relation_counts(spec) if counted_here else ((), (), ())
    return render(
        "facts_in_use",
        drafts=setup.drafts,
        studio=urlencode(dict(zip(("pool", "data"), setup.studio.split(":", 1), strict=False))) if setup.studio else "",
        own="facts" in source,
        may_drop=setup.source is not None,
        name=collection.name,
        facts=positive,
        reviewed=setup.reviewed,
        confirmed=_confirmed(visitor, collection),
        relations=counts,
        one_tail=counted_here and PROTOCOLS[setup.protocol].one_tail,
        notes=[*collection.notes, *notes],
        alone=alone,
        problems=problems[:SHOWN_PROBLEMS],
        more_problems=max(0, len(problems) - SHOWN_PROBLEMS),
        rows_with_problems=len(collection.problems),
    )


def _confirmed(visitor: Visitor, collection: Collection) -> int:
    """How many true facts reviewers hold true."""
    held = visitor.services.held(visitor.reviewers)
    return sum(fact.positive and held.get(fact.fact_id, False) for fact in collection.facts) if held else 0


def _go(visitor: Visitor, show: EvaluateShow, setup: Setup) -> Markup:
    """The button, what it will do and how long that takes; disabled with the reason where it cannot."""
    name = _name_of(visitor, setup)
    problem = (show.uploading and f"{show.uploading} is being uploaded.") or setup.pending
    estimate = precision = ""
    if not problem:
        try:
            estimate, precision = _estimate(visitor, setup)
        except MedfactError as error:
            problem = error.public
    return render(
        "go",
        name=name,
        problem=problem,
        pending=bool(setup.pending),
        estimate=estimate,
        precision=precision,
        host=host_in_words(setup),
        models=len(setup.names),
    )


def _name_of(visitor: Visitor, setup: Setup) -> str:
    """What the button evaluates."""
    if setup.sets:
        return "the written sentences"
    with suppress(MedfactError):
        source = source_of(visitor.services, visitor.owner, setup)
        return Path(str(source["facts"])).name if "facts" in source else str(source["dataset"])
    return setup.dataset


def _estimate(visitor: Visitor, setup: Setup) -> tuple[str, str]:
    """How many pairs and statements will be asked and about how long that takes; and how precise it is."""
    runs = planned_runs(visitor.services, visitor.owner, setup, visitor.reviewers)
    plan = runs[0].plan
    pairs = sum(fact.positive for fact in plan.facts)
    seconds = [seconds_for(visitor.services.store, spec.model, len(plan.statements)) for spec, plan, _ in runs]
    known = [one for one in seconds if one is not None]
    time = "" if len(known) < len(seconds) else f" ≈ {duration(sum(known))}" if sum(known) >= 1 else ", less than 1 s"
    models = f" × {counted(len(setup.names), 'model')}" if len(setup.names) > 1 else ""
    sets = f" × {counted(len(setup.sets), 'set')} of sentences" if len(setup.sets) > 1 else ""
    if not setup.sets and (settings := len(runs) // len(setup.names)) > 1:
        sets = f" × {counted(settings, 'setting')}"
    ways = len(plan.statements) // max(pairs, 1)
    asked = f"{counted(pairs, 'pair')} × {ways} statements{sets}{models}{time}."
    return asked, power_in_words(plan.facts, len(plan.statements)) if pairs else ""


# ------------------------------------------------------------------------------------------------ by relation


@dataclass(frozen=True)
class RelationCounts:
    """True facts of a relation: `tested`, kept `aside` for demonstrations and left `out` add up to `facts`."""

    name: str
    types: str
    facts: int
    tested: int
    aside: int
    out: int


@keep(1_000)
def relation_counts(spec: RunSpec) -> tuple[tuple[RelationCounts, ...], tuple[str, ...], tuple[str, ...]]:
    """Of the facts that a spec may test: the counts by relation, what is to be said of the selection, and which have no false
    partner.
    """
    collection = collection_of_spec(spec)
    selection = select_facts(spec, collection)
    positive = Counter(fact.relation for fact in collection.facts if fact.positive)
    types: dict[str, Counter[str]] = {relation: Counter() for relation in positive}
    for fact in collection.facts:
        if fact.positive and fact.tail_type:
            types[fact.relation][fact.tail_type] += 1
    tested, aside = (Counter(f.relation for f in facts if f.positive) for facts in (selection.test, selection.shots))
    rows = [
        RelationCounts(name, _commonest(types[name]), count, tested[name], aside[name], count - tested[name] - aside[name])
        for name, count in positive.most_common()
    ]
    return tuple(rows), selection.notes, tuple(_without_partner(selection, collection))


def _commonest(types: Counter[str]) -> str:
    """The semantic types of a relation's tails, the most frequent first."""
    more = f" and {len(types) - 2} more" if len(types) > 2 else ""
    return ", ".join(name for name, _ in types.most_common(2)) + more or "not given"


def _without_partner(selection: Selection, collection: Collection) -> Iterator[str]:
    """A few of the facts that got no false partner, and why."""
    for fact in selection.without_negative[:SHOWN_WITHOUT_PARTNER]:
        found = explain(fact, collection.known)
        reasons = "; ".join(f"{number} {RULES[rule]}" for rule, number in found.removed.items())
        yield f"{fact.head} — {fact.relation} → {fact.tail}: of {found.candidates} other tails, {reasons or 'none is left'}."


# ------------------------------------------------------------------------------------------------ documents

passages_in = keep(64, fails=fails_again)(count_passages)
"""How many passages a file of documents holds."""


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


# ------------------------------------------------------------------------------------------------ consent


def consent(visitor: Visitor, setup: Setup, *, of_view: bool = False) -> Markup:
    """The question whether a visitor's own facts and documents may go to a service: one host, and these files. Whoever chooses
    another one is asked again. Nothing where no file of the visitor's goes to a service. of_view: the answer is a field of the
    page's view, not of its set-up.
    """
    files = _own_files(visitor, setup)
    host = host_in_words(setup)
    if not files or not host:
        return Markup()
    return render("consent", setup=setup, files=files, host=host, of_view=of_view)


def _own_files(visitor: Visitor, setup: Setup) -> list[str]:
    """What to call the facts and documents that are chosen and do not come with the project."""
    found = [Path(setup.corpus).name] if setup.corpus and setup.retrieval != NO_RETRIEVAL else []
    with suppress(MedfactError):
        if setup.sets:
            first = visitor.services.run(setup.sets[0])
            return [first.dataset, *found] if first.spec.facts or first.spec.corpus else found
        source = source_of(visitor.services, visitor.owner, setup)
        return [Path(str(source["facts"])).name, *found] if "facts" in source else found
    return found


def host_in_words(setup: Setup) -> str:
    """What to call the hosts of the chosen models; "" where nobody but this machine is asked."""
    settings = ServiceSettings(base_url=setup.address or None)
    asked = [service for name in setup.names if (service := service_of(name, settings)) is not None]
    with suppress(MedfactError):
        return " and ".join(dict.fromkeys(map(host_of, asked)))
    return "the service"


# ------------------------------------------------------------------------------------------------ what a language model wrote


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
