"""The page Rewrite: a language model rephrases the sentence templates, writes statements itself or drafts templates; guards and
the visitor decide what of it is asked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from markupsafe import Markup
from pydantic import Field

from medfact.errors import MedfactError, Mistake
from medfact.limits import limits
from medfact.models import key_for
from medfact.models.services.addresses import parsed_address
from medfact.prototypes import fill_slots
from medfact.results.wording import STATES, counted, date, duration, model_name, pool_title
from medfact.runs.costs import costs
from medfact.spec import PROTOCOLS, RunSpec
from medfact.statements import VARIANTS, Variant
from medfact.store import GOING, DraftDecision, Run
from medfact.views.fragments import render
from medfact.web.evaluate import rows
from medfact.web.evaluate.begin import begin_planned, check_planned, check_room, submit
from medfact.web.evaluate.form import (
    DEFAULT_PAIRS,
    MOST_PAIRS,
    OWN_DATA,
    EvaluateShow,
    ModelRow,
    Setup,
    data_called,
    data_sets,
    kept_setup,
    own_source,
    source_called,
)
from medfact.web.evaluate.models_step import consent, writer_row
from medfact.web.evaluate.rows import key_in, tried_rows
from medfact.web.evaluate.spec import PlannedRun, planned, specs_of
from medfact.web.pages import Act, Action, Message, Page, Show, View, Visitor, paged
from medfact.web.pages.runs import own_run
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
from medfact.web.services import Source, collection_of, seconds_for
from medfact.writing.guards import REASONS
from medfact.writing.kinds import writing_kind
from medfact.writing.runs import attempts_of, drafts, planned_writing
from medfact.writing.sentences import NOT_WRITTEN, REPHRASED, UNCHANGED
from medfact.writing.templates import Draft, problem_of

SENTENCES_A_PAGE, FACTS_A_PAGE = 20, 10
OF_WRITER = ("edit_row", "keep_key", "test_row", "list_names")
"""Buttons of the row of a model."""

LISTED = 20
"""Writings in the list: the visitor's last ones."""

KIND_TITLES = {
    "rephrase": "rephrase the sentence templates (PretextTrans)",
    "llmeval": "write eight statements a fact itself (LLMEval)",
    "templates": "draft eight templates for each relation that has none",
    "template": "draft one template for each relation that has none (MKJ)",
}
FORM_FIELDS = {"data", "protocol", "pairs"}
"""What of the page's view is what will be written, and may be wrong. Only a link can name a kind that there is not: it is taken
as one that names none."""

FILTERS = {
    "all": "all",
    REPHRASED: "rephrased",
    UNCHANGED: "repeated without a change",
    "stopped": "rejected, original kept",
}


class WriteShow(Show):
    """The writer, the facts and the writing that is open.

    setup: the writer, as the row of a model of Evaluate, and what the visitor has agreed to.
    data: the set of facts.
    writing: the id of the open writing.
    only: a filter of its sentences.
    edited: the relation whose draft is edited.
    """

    setup: Setup | None = Field(None, exclude=True)
    kind: Literal["rephrase", "llmeval", "templates", "template"] = "rephrase"
    data: str = ""
    protocol: str = "pretexttrans"
    pairs: int = Field(DEFAULT_PAIRS, ge=1, le=MOST_PAIRS)
    writing: str = Field("", max_length=40)
    only: str = Field("all", max_length=20)
    page: int = Field(0, ge=0, le=10**9)
    edited: str = Field("", max_length=1_000)


def view(visitor: Visitor, show: WriteShow) -> View:
    """The form with its price, the visitor's writings, and the open writing."""
    last = kept_setup(visitor.services, visitor.owner)
    protocol = show.protocol if show.protocol in PROTOCOLS else "pretexttrans"
    show = show.model_copy(update={"data": data_called(show.data, last), "protocol": protocol})
    listed = lines(visitor, LISTED)
    opened, line, show = _opened(visitor, show)
    setup = _setup_of(visitor, show)
    show = show.model_copy(update={"setup": setup})
    return View(
        {
            "form": _form(visitor, show, last.source, setup),
            "writings": render("writings", lines=listed, opened=show.writing),
            "opened": opened,
        },
        show,
        again=visitor.services.reports.pace() if any(one and one.going for one in (*listed, line)) else None,
    )


# ------------------------------------------------------------------------------------------------ what is to be written


def _setup_of(visitor: Visitor, show: WriteShow) -> Setup:
    """The facts, and the writer alone; at first that is the last model behind a service that was chosen on Evaluate."""
    last = kept_setup(visitor.services, visitor.owner)
    rows = show.setup.rows if show.setup else [row for row in last.rows if row.is_remote]
    return Setup(
        dataset=show.data,
        source=dict(last.source) if last.source and show.data == OWN_DATA else None,
        protocol=show.protocol,
        models=[],
        shots=0 if show.protocol == RunSpec.protocol else -1,
        rows=rows[-1:] or [ModelRow(id="writer")],
        pairs=show.pairs,
        agreed=show.setup.agreed if show.setup else [],
    ).with_consent()


def _of_writer(act: Act) -> Act:
    """A button of the row of a model on Evaluate, for the writer."""

    def acted(visitor: Visitor, show: WriteShow, action: Action) -> tuple[WriteShow, Message]:
        looked = EvaluateShow.model_validate({"setup": _setup_of(visitor, show), "is_kept": False})
        changed, message = act(visitor, looked, action)
        return show.model_copy(update={"setup": changed.setup}), message

    return acted


def _planned(visitor: Visitor, show: WriteShow) -> PlannedRun:
    """Plans the writing. Raises MedfactError where it cannot be."""
    for name in FORM_FIELDS & show.unfit.keys():
        raise Mistake(f"“{name}” does not fit: {show.unfit[name][1]}.", "Change it.")
    setup = _setup_of(visitor, show)
    setup.check()
    if not setup.names:
        raise Mistake("Name the model that writes.", "")
    (spec,) = specs_of(visitor.services, visitor.owner, setup)
    source = source_called(show.data, own_source(visitor))
    most = limits().quota_for(visitor.owner).statements_a_run
    return PlannedRun(
        *planned_writing(
            show.kind,
            spec,
            collection_of(source),
            visitor.services.store.of(visitor.owner).decisions.of_partners(),
            lambda spec, _, decided: planned(spec, source, decided, most=most),
        )
    )


def _form(visitor: Visitor, show: WriteShow, own_facts: Source | None, setup: Setup) -> Markup:
    problem, price = "", ""
    try:
        spec, plan, _ = _planned(visitor, show)
        seconds = seconds_for(visitor.services.store, spec.model, len(plan.statements))
        price = costs(spec, planned=plan)["said"] + (f" About {duration(seconds)}." if seconds else "")
    except MedfactError as error:
        problem = error.public
    return render(
        "write_form",
        show=show,
        kinds=KIND_TITLES.items(),
        datasets=data_sets(own_facts),
        protocols=[(name, protocol.title) for name, protocol in PROTOCOLS.items()],
        most=MOST_PAIRS,
        drafts=show.kind in ("templates", "template"),
        writer=writer_row(visitor, setup),
        consent=consent(visitor, setup),
        problem=problem,
        price=price,
    )


# ------------------------------------------------------------------------------------------------ the open writing


def _opened(visitor: Visitor, show: WriteShow) -> tuple[Markup, Line | None, WriteShow]:
    """The fragment of the open writing, how far that is, None where none is open, and the view as it is possible."""
    if not show.writing:
        return Markup(), None, show
    try:
        first = visitor.services.writing(show.writing)
    except Mistake:
        message = Message("There is no writing of that link; it may have been deleted.", "warn")
        return render("message", message=message), None, show.model_copy(update={"writing": ""})
    line = line_of(visitor, first)
    try:
        fragment, page = _OPENED[kind_of(first)](visitor, show, first, line)
    except MedfactError as error:
        return render("message", message=Message(error.public, "warn")), line, show
    return fragment, line, show.model_copy(update={"writing": first.run, "page": page})


def _open_rephrasing(visitor: Visitor, show: WriteShow, first: Run, line: Line) -> tuple[Markup, int]:
    rephrasing = rephrasing_of(visitor.services, first.run, version_of(first, visitor.services.store), line.complete)
    only = show.only if show.only in (*FILTERS, *REASONS) else "all"
    listed = paged(chosen(rephrasing.sentences, only), show.page, SENTENCES_A_PAGE)
    reasons = [reason for reason in REASONS if rephrasing.fates.get(reason)]
    fragment = render(
        "written_sentences",
        line=line,
        run=first,
        pool=pool_title(first.pool),
        fates=rephrasing.fates,
        judged=rephrasing.fates.get("total", 0) - rephrasing.fates.get(NOT_WRITTEN, 0),
        stopped=sum(count for fate, count in rephrasing.fates.items() if fate in REASONS),
        by_variant=rephrasing.by_variant,
        reasons=[(reason, REASONS[reason]) for reason in reasons],
        prototypes=rephrasing.prototypes,
        written=rephrasing.written,
        filters=[*FILTERS.items(), *((reason, f"rejected: {REASONS[reason]}") for reason in reasons)],
        only=only,
        sentences=[shown(sentence) for sentence in listed.part],
        **listed.numbers,
    )
    return fragment, listed.page


def _open_eight(visitor: Visitor, show: WriteShow, first: Run, line: Line) -> tuple[Markup, int]:
    version = version_of(first, visitor.services.store)
    eights = eights_of(visitor.services, first.run, version)
    used = sum(eight.used for eight in eights)
    listed = paged(eights, show.page, FACTS_A_PAGE)
    fragment = render(
        "written_eights",
        line=line,
        run=first,
        used=used,
        of=len(eights),
        facts=listed.part,
        written=eights_diversity(visitor.services, first.run, version) if line.complete and used else None,
        **listed.numbers,
    )
    return fragment, listed.page


# ------------------------------------------------------------------------------------------------ actions


def start(visitor: Visitor, show: WriteShow, action: Action) -> tuple[WriteShow, Message]:
    """Records a writing and queues it."""
    services, owner, setup = visitor.services, visitor.owner, _setup_of(visitor, show)
    check_room(services, owner, 1)
    (row,) = setup.rows
    if row.address:
        parsed_address(row.address)
    planned_runs = [_planned(visitor, show)]
    check_planned(services, owner, planned_runs, setup, lambda _: key_in(services, owner, row))
    if problem := tried_rows(services, owner, setup):
        return show, Message(problem, "warn")
    (writing,) = begin_planned(services, owner, planned_runs, setup, lambda _: key_in(services, owner, row))
    return show.model_copy(update={"writing": writing, "only": "all", "page": 0}), Message()


def stop(visitor: Visitor, show: WriteShow, action: Action) -> tuple[WriteShow, Message]:
    """Stops a writing; what was written is kept."""
    first = own_run(visitor, action.about)
    visitor.services.jobs.stop(first.run)
    for attempt in attempts_of(first.run, visitor.services.store).values():
        if attempt.state in GOING and attempt.run != first.run:
            visitor.services.store.ask_to_stop(attempt.run)
    return show, Message("It stops after the sentences on their way. What is written is kept.", "good")


def resume(visitor: Visitor, show: WriteShow, action: Action) -> tuple[WriteShow, Message]:
    """Goes on with a writing that was stopped or interrupted."""
    first = own_run(visitor, action.about)
    check_room(visitor.services, first.owner, 1, [first.model], statements=first.statements)
    submit(visitor.services, {first.run: (key_for(first.model, action.key), None)})
    return show, Message()


def delete(visitor: Visitor, show: WriteShow, action: Action) -> tuple[WriteShow, Message]:
    """Puts a writing away with all its attempts."""
    first = own_run(visitor, action.about)
    store, job = visitor.services.store, visitor.services.jobs.snapshot(first.run)
    attempts = (attempt for attempt in store.attempts(first.run) if isinstance(attempt, Run))
    if (job is not None and job.state in GOING) or any(attempt.state in GOING for attempt in attempts):
        raise Mistake(f"This writing is {STATES[next(iter(GOING))]} or running.", "Stop it first; then it can be deleted.")
    store.delete(first.run)
    notice = f"Deleted {counted(first.statements, 'sentence')} by {model_name(first.model)}. Runs that asked them keep them."
    return show.model_copy(update={"writing": "" if show.writing == first.run else show.writing}), Message(notice, "good")


# ------------------------------------------------------------------------------------------------ drafts

MOST_CHARACTERS = 1_000
"""Of an edited sentence."""


@dataclass(frozen=True)
class DraftCard:
    """A draft as the visitor left it. sentences: (form, template, the template about the example). decided: on which day."""

    draft: Draft
    sentences: tuple[tuple[Variant, str, str], ...]
    problem: str | None
    state: str
    decided: str
    edited: bool


def _open_drafts(visitor: Visitor, show: WriteShow, first: Run, line: Line) -> tuple[Markup, int]:
    """The drafts of a writing, each with what the visitor decided."""
    store = visitor.services.store.of(visitor.owner)
    decisions = store.decisions.draft_decisions(first.run)
    forms = writing_kind(first).forms
    cards = [
        _card(draft, decisions.get(draft.relation), forms, draft.relation == show.edited) for draft in drafts(first.run, store)
    ]
    accepted = sum(decision.accepted for decision in decisions.values())
    return render("written_drafts", line=line, run=first, cards=cards, accepted=accepted, most=MOST_CHARACTERS), 0


_OPENED = {"rephrasing": _open_rephrasing, "eight": _open_eight, "drafts": _open_drafts}


def _card(draft: Draft, decision: DraftDecision | None, forms: tuple[str, ...], edited: bool) -> DraftCard:
    sentences = decision.sentences if decision and decision.sentences else draft.sentences
    about = draft.example.head, draft.example.tail or ""
    return DraftCard(
        draft,
        tuple((VARIANTS[form], text := sentences.get(form, ""), fill_slots(text, *about) if text else "") for form in forms),
        _problem_in_words(problem_of(draft.relation, sentences, forms), forms),
        "undecided" if decision is None else "accepted" if decision.accepted else "refused",
        date(decision.decided_at) if decision else "",
        edited,
    )


def _problem_in_words(problem: str | None, forms: tuple[str, ...]) -> str | None:
    """A problem with the forms under their plain names."""
    for form in forms if problem else ():
        problem = (
            str(problem)
            .replace(f"the form {form!r}", f"“{VARIANTS[form].plain}”")
            .replace(f"form {form!r}", f"“{VARIANTS[form].plain}”")
        )
    return problem.replace("the draft, ", "") if problem else None


def _draft_found(visitor: Visitor, show: WriteShow, action: Action) -> tuple[Run, Draft]:
    """The draft that a button is about. Raises Mistake."""
    first = visitor.services.writing(show.writing)
    for draft in drafts(first.run, visitor.services.store):
        if draft.relation == action.about:
            return first, draft
    raise Mistake("There is no such draft.", "Load the page again.")


def accept_draft(visitor: Visitor, show: WriteShow, action: Action) -> tuple[WriteShow, Message]:
    """Accepts a draft as it stands, if it breaks no rule."""
    first, draft = _draft_found(visitor, show, action)
    store = visitor.services.store.of(visitor.owner)
    decision = store.decisions.draft_decisions(first.run).get(draft.relation)
    sentences = decision.sentences if decision and decision.sentences else draft.sentences
    return _accepted(visitor, show, first, draft, sentences)


def save_draft(visitor: Visitor, show: WriteShow, action: Action) -> tuple[WriteShow, Message]:
    """Accepts a draft with the visitor's own words."""
    first, draft = _draft_found(visitor, show, action)
    forms = writing_kind(first).forms
    sentences = {form: " ".join(action.fields.get(form, "").split())[:MOST_CHARACTERS] for form in forms}
    return _accepted(visitor, show, first, draft, sentences)


def _accepted(
    visitor: Visitor, show: WriteShow, first: Run, draft: Draft, sentences: Mapping[str, str]
) -> tuple[WriteShow, Message]:
    if problem := problem_of(draft.relation, sentences, writing_kind(first).forms):
        raise Mistake(problem, "Edit it, then accept it.")
    visitor.services.log_of(visitor.owner, [sentences]).decisions.decide_on_draft(first.run, draft.relation, True, sentences)
    return show.model_copy(update={"edited": ""}), Message(f"Accepted the sentences of “{draft.relation}”.", "good")


def refuse_draft(visitor: Visitor, show: WriteShow, action: Action) -> tuple[WriteShow, Message]:
    """Refuses a draft: nothing is asked with it."""
    first, draft = _draft_found(visitor, show, action)
    visitor.services.log_of(visitor.owner, [draft.relation]).decisions.decide_on_draft(first.run, draft.relation, False, {})
    return show.model_copy(update={"edited": ""}), Message(f"Refused the sentences of “{draft.relation}”.", "good")


def undecide_draft(visitor: Visitor, show: WriteShow, action: Action) -> tuple[WriteShow, Message]:
    """Takes a decision back."""
    first, draft = _draft_found(visitor, show, action)
    visitor.services.store.of(visitor.owner).decisions.forget_draft_decision(first.run, draft.relation)
    return show, Message()


PAGE = Page(
    "write",
    "Rewrite",
    ("form", "form-said", "writings", "said", "opened"),
    WriteShow,
    view,
    {
        **{name: _of_writer(rows.ACTIONS[name]) for name in OF_WRITER},
        "start": start,
        "stop": stop,
        "resume": resume,
        "delete": delete,
        "accept": accept_draft,
        "refuse": refuse_draft,
        "undecide": undecide_draft,
        "save_draft": save_draft,
    },
    says=dict.fromkeys(("start", *OF_WRITER), "form-said"),
    address=("writing", "kind"),
    place=4,
    under="facts",
)
