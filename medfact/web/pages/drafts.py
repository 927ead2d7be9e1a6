"""Drafted templates on the page Write: a list in which the visitor accepts, edits or refuses each relation's draft."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from medfact.errors import Mistake
from medfact.prototypes import fill
from medfact.results.wording import date
from medfact.statements import VARIANTS, Variant
from medfact.store import DraftDecision, Run
from medfact.views.fragments import render
from medfact.web.pages import Action, Message, Visitor
from medfact.writing.runs import drafts, writing_of
from medfact.writing.templates import FORMS, Draft, problem_of

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


def listed(visitor: Visitor, first: Run, line: Any, edited: str) -> Markup:
    """The drafts of a writing, each with what the visitor decided."""
    store = visitor.services.store.of(visitor.owner)
    decisions = store.decisions.draft_decisions(first.run)
    forms = FORMS[str(first.spec.task)]
    cards = [_card(draft, decisions.get(draft.relation), forms, draft.relation == edited) for draft in drafts(first.run, store)]
    accepted = sum(decision.accepted for decision in decisions.values())
    return render("written_drafts", line=line, run=first, cards=cards, accepted=accepted, most=MOST_CHARACTERS)


def _card(draft: Draft, decision: DraftDecision | None, forms: tuple[str, ...], edited: bool) -> DraftCard:
    sentences = decision.sentences if decision and decision.sentences else draft.sentences
    rows = ((form, sentences.get(form, "")) for form in forms)
    example = draft.example
    return DraftCard(
        draft,
        tuple((VARIANTS[form], text, fill(text, example.head, example.tail or "") if text else "") for form, text in rows),
        _in_words(problem_of(draft.relation, sentences, forms), forms),
        "undecided" if decision is None else "accepted" if decision.accepted else "refused",
        date(decision.decided_at) if decision else "",
        edited,
    )


def _in_words(problem: str | None, forms: tuple[str, ...]) -> str | None:
    """A problem with the forms under their plain names."""
    for form in forms if problem else ():
        problem = (
            str(problem)
            .replace(f"the form {form!r}", f"“{VARIANTS[form].plain}”")
            .replace(f"form {form!r}", f"“{VARIANTS[form].plain}”")
        )
    return problem.replace("the draft, ", "") if problem else None


def _found(visitor: Visitor, show: Any, action: Action) -> tuple[Run, Draft]:
    """The draft that a button is about. Raises Mistake."""
    if visitor.services.has(show.writing):
        first = writing_of(show.writing, visitor.services.store)
        for draft in drafts(first.run, visitor.services.store):
            if draft.relation == action.about:
                return first, draft
    raise Mistake("There is no such draft.", "Load the page again.")


def accept(visitor: Visitor, show: Any, action: Action) -> tuple[Any, Message]:
    """Accepts a draft as it stands, if it breaks no rule."""
    first, draft = _found(visitor, show, action)
    store = visitor.services.store.of(visitor.owner)
    decision = store.decisions.draft_decisions(first.run).get(draft.relation)
    sentences = decision.sentences if decision and decision.sentences else draft.sentences
    return _accepted(visitor, show, first, draft, sentences)


def save(visitor: Visitor, show: Any, action: Action) -> tuple[Any, Message]:
    """Accepts a draft with the visitor's own words."""
    first, draft = _found(visitor, show, action)
    forms = FORMS[str(first.spec.task)]
    sentences = {form: " ".join(action.fields.get(form, "").split())[:MOST_CHARACTERS] for form in forms}
    return _accepted(visitor, show, first, draft, sentences)


def _accepted(visitor: Visitor, show: Any, first: Run, draft: Draft, sentences: Mapping[str, str]) -> tuple[Any, Message]:
    if problem := problem_of(draft.relation, sentences, FORMS[str(first.spec.task)]):
        raise Mistake(problem, "Edit it; it is not accepted yet.")
    visitor.services.log_of(visitor.owner, [sentences]).decisions.decide_on_draft(first.run, draft.relation, True, sentences)
    return show.model_copy(update={"edited": ""}), Message(f"Accepted the sentences of “{draft.relation}”.", "good")


def refuse(visitor: Visitor, show: Any, action: Action) -> tuple[Any, Message]:
    """Refuses a draft: nothing is asked with it."""
    first, draft = _found(visitor, show, action)
    visitor.services.log_of(visitor.owner, [draft.relation]).decisions.decide_on_draft(first.run, draft.relation, False, {})
    return show.model_copy(update={"edited": ""}), Message(f"Refused the sentences of “{draft.relation}”.", "good")


def undecide(visitor: Visitor, show: Any, action: Action) -> tuple[Any, Message]:
    """Takes a decision back."""
    first, draft = _found(visitor, show, action)
    visitor.services.store.of(visitor.owner).decisions.forget_draft_decision(first.run, draft.relation)
    return show, Message()
