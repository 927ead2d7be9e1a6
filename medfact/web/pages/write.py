"""The page Write: a language model rephrases the sentence templates, writes statements itself or drafts templates; guards and
the visitor decide what of it is asked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from markupsafe import Markup
from pydantic import Field

from medfact.bounds import BOUNDS
from medfact.datasets import bundled_names
from medfact.errors import MedfactError, Mistake
from medfact.limits import limits
from medfact.models import is_service
from medfact.models.services.addresses import parsed_address
from medfact.models.services.policy import check_new_run
from medfact.results.wording import STATES, counted, model_name, pool_title
from medfact.runs.checks import check_settings
from medfact.runs.costs import costs
from medfact.runs.start import start_planned
from medfact.spec import PROTOCOLS, RunSpec
from medfact.store import GOING, Plan, Run
from medfact.views.fragments import render
from medfact.web.inputs.room import check_room, pairs_of
from medfact.web.inputs.setup import DEFAULT_PAIRS, MOST_PAIRS, Setup, specs_of
from medfact.web.pages import Action, Message, Page, Show, View, Visitor
from medfact.web.pages import drafts as drafts_page
from medfact.web.pages.consent import consent, host_in_words
from medfact.web.pages.own_data import OWN_DATA, own_name, own_source
from medfact.web.pages.own_runs import OwnRuns
from medfact.web.pages.writings import (
    Line,
    chosen,
    eights_diversity,
    eights_of,
    kind_of,
    line_of,
    lines,
    rephrasing_of,
    shown,
    version_of,
)
from medfact.web.services import Source, collection_of, planned
from medfact.writing.guards import REASONS
from medfact.writing.runs import attempts_of, planned_writing, writing_of
from medfact.writing.sentences import NOT_WRITTEN, REPHRASED, UNCHANGED

SENTENCES_A_PAGE, FACTS_A_PAGE = 20, 10
LISTED = 20
"""Writings in the list: the visitor's last ones."""

KIND_TITLES = {
    "rephrase": "rephrase the sentence templates (PretextTrans)",
    "llmeval": "write eight statements a fact itself (LLMEval)",
    "templates": "draft eight templates for each relation that has none",
    "template": "draft one template for each relation that has none (MKJ)",
}
FILTERS = {
    "all": "all",
    REPHRASED: "rephrased",
    UNCHANGED: "repeated without a change",
    "stopped": "stopped, the prototype stands",
}


class WriteShow(Show):
    """What is to be written: kind, of which facts (data), by which method and by whom. where: whether the writer runs on this
    machine or behind a service. writing: the one that is open. only: which of its sentences. edited: the relation whose draft
    is edited.
    """

    kind: Literal["rephrase", "llmeval", "templates", "template"] = "rephrase"
    data: str = ""
    protocol: str = "pretexttrans"
    pairs: int = Field(DEFAULT_PAIRS, ge=1, le=MOST_PAIRS)
    where: Literal["machine", "service"] = "machine"
    writer: str = Field("", max_length=300)
    service: str = Field("", max_length=200)
    address: str = Field("", max_length=300)
    budget: float = Field(0, ge=0, le=BOUNDS["spec.budget"].most)
    agreed: bool = False
    agreed_to: str = Field("", max_length=100)
    writing: str = Field("", max_length=40)
    only: str = Field("all", max_length=20)
    page: int = Field(0, ge=0, le=10**9)
    edited: str = Field("", max_length=1_000)


def view(visitor: Visitor, show: WriteShow) -> View:
    """The form with its price, the visitor's writings, and the one that is open."""
    own = own_source(visitor)
    choice = visitor.services.choices.of(visitor.owner)
    if not show.data:
        bundled = str(choice.source.get("dataset", "")) if choice else ""
        show = show.model_copy(update={"data": OWN_DATA if own else bundled})
    known = show.data in bundled_names() or (own is not None and show.data == OWN_DATA)
    show = show.model_copy(
        update={
            "data": show.data if known else RunSpec.dataset,
            "protocol": show.protocol if show.protocol in PROTOCOLS else "pretexttrans",
        }
    )
    listed = lines(visitor, LISTED)
    opened, show = _opened(visitor, show)
    setup = _setup_of(visitor, show)
    show = show.model_copy(update={"agreed": setup.agreed, "agreed_to": setup.agreed_to})
    going = any(line.going for line in listed) or (opened.line is not None and opened.line.going)
    return View(
        {
            "form": _form(visitor, show, own, setup),
            "writings": render("writings", lines=listed, opened=show.writing),
            "opened": opened.fragment,
        },
        show,
        query=f"?writing={show.writing}" if show.writing else "",
        again=visitor.services.reports.pace() if going else None,
        title="Write · medfact",
    )


# ------------------------------------------------------------------------------------------------ what is to be written


def _setup_of(visitor: Visitor, show: WriteShow) -> Setup:
    own = own_source(visitor)
    behind = show.where == "service"
    return Setup(
        dataset=show.data,
        source=dict(own) if own and show.data == OWN_DATA else None,
        protocol=show.protocol,
        models=[],
        pool="",
        shots=0 if show.protocol == RunSpec.protocol else -1,
        other="" if behind else show.writer,
        service=show.service if behind else "",
        address=show.address if behind else "",
        agreed=show.agreed,
        agreed_to=show.agreed_to,
        budget=show.budget if behind else 0,
        pairs=show.pairs,
    ).with_consent()


def _planned(visitor: Visitor, show: WriteShow) -> tuple[RunSpec, Plan]:
    """The spec and the plan of the writing. Raises MedfactError where it cannot be."""
    setup = _setup_of(visitor, show)
    if not setup.names:
        raise Mistake("Name the model that writes.", "")
    (spec,) = specs_of(visitor.services, visitor.owner, setup)
    own = own_source(visitor)
    source: Source = own if own and show.data == OWN_DATA else {"dataset": show.data}
    rejections = visitor.services.store.of(visitor.owner).decisions.rejections()
    most = limits().of(visitor.owner).statements_a_run
    return planned_writing(
        show.kind, spec, collection_of(source), rejections, lambda spec, _, rejected: planned(spec, source, rejected, most=most)
    )


def _form(visitor: Visitor, show: WriteShow, own: Source | None, setup: Setup) -> Markup:
    problem, price = "", ""
    try:
        spec, plan = _planned(visitor, show)
        price = costs(spec, planned=plan)["said"]
    except MedfactError as error:
        problem = error.public
    return render(
        "write_form",
        show=show,
        kinds=KIND_TITLES.items(),
        datasets=[*((name, name) for name in bundled_names()), *([(OWN_DATA, own_name(own))] if own else [])],
        protocols=[(name, protocol.title) for name, protocol in PROTOCOLS.items()],
        most=MOST_PAIRS,
        drafts=show.kind in ("templates", "template"),
        consent=consent(visitor, setup, of_view=True),
        host=host_in_words(setup),
        problem=problem,
        price=price,
    )


# ------------------------------------------------------------------------------------------------ the open writing


@dataclass(frozen=True)
class Opened:
    """The fragment of the open writing, and how far that is; None where none is open."""

    fragment: Markup
    line: Line | None = None


def _opened(visitor: Visitor, show: WriteShow) -> tuple[Opened, WriteShow]:
    if not show.writing:
        return Opened(Markup()), show
    first = _writing(visitor, show.writing)
    if first is None:
        message = Message("There is no writing of that link; it may have been deleted.", "warn")
        return Opened(render("message", message=message)), show.model_copy(update={"writing": ""})
    line = line_of(visitor, first)
    try:
        fragment, page = _OPENED[kind_of(first)](visitor, show, first, line)
    except MedfactError as error:
        return Opened(render("message", message=Message(error.public, "warn")), line), show
    return Opened(fragment, line), show.model_copy(update={"writing": first.run, "page": page})


def _writing(visitor: Visitor, run: str) -> Run | None:
    if not visitor.services.has(run) or visitor.services.store.run(run).spec.task is None:
        return None
    return writing_of(run, visitor.services.store)


def _open_rephrasing(visitor: Visitor, show: WriteShow, first: Run, line: Line) -> tuple[Markup, int]:
    made = rephrasing_of(visitor.services, first.run, version_of(first, visitor.services.store), line.complete)
    only = show.only if show.only in (*FILTERS, *REASONS) else "all"
    found = chosen(made.sentences, only)
    page, part = _page_of(found, show.page, SENTENCES_A_PAGE)
    stopped = sum(count for fate, count in made.fates.items() if fate in REASONS)
    reasons = [reason for reason in REASONS if made.fates.get(reason)]
    fragment = render(
        "written_sentences",
        line=line,
        run=first,
        pool=pool_title(first.pool),
        fates=made.fates,
        judged=made.fates.get("total", 0) - made.fates.get(NOT_WRITTEN, 0),
        stopped=stopped,
        by_variant=made.by_variant,
        reasons=[(reason, REASONS[reason]) for reason in reasons],
        prototypes=made.prototypes,
        written=made.written,
        filters=[*FILTERS.items(), *((reason, f"stopped: {REASONS[reason]}") for reason in reasons)],
        only=only,
        sentences=[shown(sentence) for sentence in part],
        page=page,
        pages=-(-len(found) // SENTENCES_A_PAGE),
        size=SENTENCES_A_PAGE,
        found=len(found),
    )
    return fragment, page


def _open_eight(visitor: Visitor, show: WriteShow, first: Run, line: Line) -> tuple[Markup, int]:
    version = version_of(first, visitor.services.store)
    made = eights_of(visitor.services, first.run, version)
    used = sum(one.used for one in made)
    page, part = _page_of(made, show.page, FACTS_A_PAGE)
    fragment = render(
        "written_eights",
        line=line,
        run=first,
        used=used,
        of=len(made),
        facts=part,
        written=eights_diversity(visitor.services, first.run, version) if line.complete and used else None,
        page=page,
        pages=-(-len(made) // FACTS_A_PAGE),
        size=FACTS_A_PAGE,
        found=len(made),
    )
    return fragment, page


def _open_drafts(visitor: Visitor, show: WriteShow, first: Run, line: Line) -> tuple[Markup, int]:
    return drafts_page.listed(visitor, first, line, show.edited), 0


_OPENED = {"rephrasing": _open_rephrasing, "eight": _open_eight, "drafts": _open_drafts}


def _page_of(found: Sequence[Any], page: int, size: int) -> tuple[int, Sequence[Any]]:
    page = min(page, max(0, len(found) - 1) // size)
    return page, found[page * size : (page + 1) * size]


# ------------------------------------------------------------------------------------------------ actions


def start(visitor: Visitor, show: WriteShow, action: Action) -> tuple[WriteShow, Message]:
    """Records a writing and queues it."""
    services, key = visitor.services, action.fields.get("key", "").strip() or None
    check_room(services, visitor.owner, 1)
    if show.address:
        parsed_address(show.address)
    spec, plan = _planned(visitor, show)
    check_settings(spec)
    if is_service(spec.model):
        check_new_run(replace(spec.service, key=key), own_facts=spec.facts is not None, agreed=_setup_of(visitor, show).agreed)
    with services.planning:
        pairs = max(show.pairs, pairs_of(spec, len(plan.facts)))
        check_room(services, visitor.owner, 1, [spec.model], pairs, len(plan.statements))
        writing = start_planned(spec, plan, services.store.of(visitor.owner))
        services.jobs.submit(writing, key if is_service(spec.model) else None)
    return show.model_copy(update={"writing": writing, "only": "all", "page": 0}), Message()


def stop(visitor: Visitor, show: WriteShow, action: Action) -> tuple[WriteShow, Message]:
    """Stops a writing; what was written is kept."""
    first = OwnRuns(visitor.services).one(visitor.owners, action.about)
    visitor.services.jobs.stop(first.run)
    for attempt in attempts_of(first.run, visitor.services.store).values():
        if attempt.state in GOING and attempt.run != first.run:
            visitor.services.store.ask_to_stop(attempt.run)
    return show, Message("It stops after the sentences on their way. What is written is kept.", "good")


def resume(visitor: Visitor, show: WriteShow, action: Action) -> tuple[WriteShow, Message]:
    """Goes on with a writing that was stopped or interrupted."""
    first = OwnRuns(visitor.services).one(visitor.owners, action.about)
    check_room(visitor.services, first.owner, 1, [first.model], statements=first.statements)
    key = action.fields.get("key", "").strip() or None
    visitor.services.jobs.submit(first.run, key if is_service(first.model) else None)
    return show, Message()


def delete(visitor: Visitor, show: WriteShow, action: Action) -> tuple[WriteShow, Message]:
    """Puts a writing away with all its attempts."""
    own = OwnRuns(visitor.services)
    first = own.one(visitor.owners, action.about)
    attempts = attempts_of(first.run, visitor.services.store).values()
    job = visitor.services.jobs.snapshot(first.run)
    if any(attempt.state in GOING for attempt in attempts) or (job is not None and job.state in GOING):
        raise Mistake(f"This writing is {STATES[next(iter(GOING))]} or running.", "Stop it first; then it can be deleted.")
    for attempt in attempts:
        visitor.services.store.delete(attempt.run)
    said = (
        f"Deleted what {model_name(first.model)} wrote ({counted(first.statements, 'sentence')}). Runs that asked it keep it."
    )
    return show.model_copy(update={"writing": "" if show.writing == first.run else show.writing}), Message(said, "good")


WRITE = Page(
    WriteShow,
    view,
    {
        "start": start,
        "stop": stop,
        "resume": resume,
        "delete": delete,
        "accept": drafts_page.accept,
        "refuse": drafts_page.refuse,
        "undecide": drafts_page.undecide,
        "save_draft": drafts_page.save,
    },
    says={"start": "form-said"},
    address=("writing",),
)
