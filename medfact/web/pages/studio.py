"""The page Sentences: the sentence templates of a relation side by side, to change, check and sign off."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import urlencode

from markupsafe import Markup
from pydantic import Field

from medfact.assets import ENGLISH, language_names
from medfact.datasets import Collection
from medfact.errors import MedfactError, Mistake
from medfact.facts import Fact, name_key
from medfact.prototypes import Pool
from medfact.reviews.studio import (
    FORMS,
    EditablePool,
    EditedRelation,
    asked_of,
    editable,
    editable_titles,
    edited,
    edits,
    own_sentences,
)
from medfact.reviews.suggestions import suggestions
from medfact.reviews.transfer import LONGEST_NAME
from medfact.reviews.verdicts import opinions
from medfact.spec import RunSpec
from medfact.statements import VARIANTS, Variant
from medfact.store import PrototypeEdit
from medfact.store.contributions import EDITS
from medfact.views.fragments import render
from medfact.web.evaluate.form import OWN_DATA, data_sets, own_source, source_called
from medfact.web.pages import Action, Message, Page, Show, View, Visitor
from medfact.web.pages.keeping import erasable, erase
from medfact.web.services import collection_of
from medfact.writing.kinds import writing_kind
from medfact.writing.sentences import Marks

EXAMPLES = 3
MOST_EDITED = 200
"""Relations that one visitor may change or add in a pool."""

LONGEST = 1_000
"""Characters of a sentence, and of a relation's name."""

FIELDS = tuple(f"s{number}" for number in range(len(FORMS)))
"""The fields of the sentences, in the order of the forms: a page's field cannot be called `inv+ins`."""


class StudioShow(Show):
    """pool: the one that is edited. data: whose facts are examples. relation: "" for the first. reviewer: who signs off. of:
    the pool and relation that the sentences s0 to s7 belong to; they are what is typed, saved or not.
    """

    pool: str = Field("medfact", max_length=100)
    data: str = Field("", max_length=100)
    relation: str = Field("", max_length=LONGEST)
    reviewer: str = Field("", max_length=LONGEST_NAME)
    of: str = Field("", max_length=2 * LONGEST)
    s0: str = Field("", max_length=LONGEST)
    s1: str = Field("", max_length=LONGEST)
    s2: str = Field("", max_length=LONGEST)
    s3: str = Field("", max_length=LONGEST)
    s4: str = Field("", max_length=LONGEST)
    s5: str = Field("", max_length=LONGEST)
    s6: str = Field("", max_length=LONGEST)
    s7: str = Field("", max_length=LONGEST)

    def typed(self) -> dict[str, str]:
        """The sentences by form, with single spaces."""
        return {form: " ".join(str(getattr(self, name)).split()) for form, name in zip(FORMS, FIELDS, strict=True)}


@dataclass(frozen=True)
class Row:
    """A form as it is shown. changed: against the pool's own sentence. signed: who, and on which day. suggested: (template, or
    "" where it cannot be one; wording; by whom). english: what a sentence of another language is to say.
    """

    field: str
    variant: Variant
    text: str
    english: str
    problem: str
    examples: tuple[str, ...]
    changed: Marks
    signed: tuple[str, str] | None
    saved: bool
    suggested: Sequence[tuple[str, str, str]]


@dataclass(frozen=True)
class Desk:
    """What is being edited: the pool, the facts, the relations with what this visitor made of them, and the chosen one.

    has_log: whether this visitor has edited anything of the pool, even if it was taken back.
    """

    editable: EditablePool
    collection: Collection
    relations: Mapping[str, EditedRelation]
    names: Sequence[tuple[str, bool]]
    relation: str
    has_log: bool

    @property
    def base(self) -> Pool:
        """The pool as it comes with medfact."""
        return self.editable.pool

    @property
    def standing(self) -> EditedRelation:
        """The chosen relation as it was saved."""
        own = own_sentences(self.base, self.relation)
        return self.relations.get(self.relation, EditedRelation(self.relation, own, own))

    def is_of(self, fact: Fact) -> bool:
        """Whether a fact has the chosen relation, under any of its names."""
        return self.base.canonical(fact.relation) == self.relation or name_key(fact.relation) == name_key(self.relation)


def view(visitor: Visitor, show: StudioShow) -> View:
    """One relation of a pool, with what is typed of it, and the list of relations that differ from the pool."""
    show = _as_it_can_be(visitor, show)
    try:
        desk = _desk(visitor, show)
    except MedfactError as error:  # other facts can still be chosen
        said = render("message", message=Message(error.public, "warn"))
        return View({"choice": _choice(visitor, show, []), "relation": said}, show, query="")
    key = f"{desk.base.name}|{desk.relation}"
    unsaved = _unsaved(visitor, show) if show.of != key else None
    if show.of != key:
        texts = {name: desk.standing.sentences.get(form, "") for form, name in zip(FORMS, FIELDS, strict=True)}
        show = show.model_copy(update={"of": key, "relation": desk.relation, **texts})
    fragments = {
        "choice": _choice(visitor, show, [(name, _listed(desk, name, new)) for name, new in desk.names]),
        "relation": _relation(visitor, show, desk, unsaved),
        "edited": _edited(show, desk) + (erasable(EDITS) if desk.has_log else ""),
    }
    return View(fragments, show, query=_query(show))


def _listed(desk: Desk, name: str, new: bool) -> str:
    """A relation in the list, and what there is of it where the pool has no sentences."""
    turned = desk.base.inverse_of(name)
    without = f"read as “{turned}”, the other way round" if turned else "new: no sentences yet"
    added = "added" if name in desk.relations else without
    return f"{name} ({added})" if new else name


def _edited(show: StudioShow, desk: Desk) -> Markup:
    """The relations that differ from the pool, and what can be done with those that these facts can use."""
    left = {name: len(desk.editable.problems(one)) for name, one in desk.relations.items()}
    asked = desk.editable.is_asked
    stated = asked_of(desk.relations, {fact.relation for fact in desk.collection.facts}) if asked else desk.relations
    return render(
        "studio_edited",
        relations=[(one, left[name], len(one.signed), name in stated) for name, one in desk.relations.items()],
        usable=any(not left[name] for name in stated),
        pool=desk.base.name,
        data=show.data,
        asked=asked,
        forms=len(FORMS),
    )


def _as_it_can_be(visitor: Visitor, show: StudioShow) -> StudioShow:
    own = own_source(visitor)
    data = show.data if show.data in dict(data_sets(own)) else OWN_DATA if own and not show.data else RunSpec.dataset
    pool = show.pool if show.pool in editable_titles() else StudioShow.model_fields["pool"].default
    return show.model_copy(update={"pool": pool, "data": data, "reviewer": visitor.user or show.reviewer})


def _desk(visitor: Visitor, show: StudioShow) -> Desk:
    """Raises MedfactError where the facts cannot be read."""
    collection, pool = collection_of(source_called(show.data, own_source(visitor))), editable(show.pool)
    log = visitor.services.store.of(visitor.owner).prototype_edits.log(show.pool)
    made = edited(pool.pool, log)
    begun = [show.relation] if show.of == f"{show.pool}|{show.relation}" and any(show.typed().values()) else []
    known = sorted({fact.relation for fact in collection.facts})  # what is begun stays, whatever facts are chosen then
    names = pool.relations([*known, *filter(str.strip, begun)], made)
    wanted = {name_key(name): name for name, _ in names}.get(name_key(show.relation), names[0][0])
    return Desk(pool, collection, made, names, wanted, bool(log))


def _query(show: StudioShow) -> str:
    return f"?{urlencode({'pool': show.pool, 'data': show.data, 'relation': show.relation})}"


def _choice(visitor: Visitor, show: StudioShow, relations: Sequence[tuple[str, str]]) -> Markup:
    pool = editable(show.pool)
    return render(
        "studio_choice",
        show=show,
        pools=list(editable_titles().items()),
        language_title=language_names()[pool.language],
        grammar=pool.grammar,
        datasets=data_sets(own_source(visitor)),
        relations=relations,
        signed_in=bool(visitor.user),
        longest=LONGEST_NAME,
    )


def _unsaved(visitor: Visitor, show: StudioShow) -> Mapping[str, str] | None:
    """The fields that go back to what was typed of the relation before, where that is not saved."""
    pool, _, relation = show.of.partition("|")
    if pool not in editable_titles():
        return None
    base, typed = editable(pool).pool, show.typed()
    saved = edited(base, visitor.services.store.of(visitor.owner).prototype_edits.log(pool)).get(relation)
    sentences = saved.sentences if saved else own_sentences(base, relation)
    if typed == {form: sentences.get(form, "") for form in FORMS}:
        return None
    texts = {name: typed[form] for form, name in zip(FORMS, FIELDS, strict=True)}
    return {"pool": pool, "relation": relation, "of": show.of, **texts}


def _relation(visitor: Visitor, show: StudioShow, desk: Desk, left: Mapping[str, str] | None) -> Markup:
    standing, typed = desk.standing, show.typed()
    found = desk.editable.problems(EditedRelation(desk.relation, standing.own, typed))
    facts = _examples(desk)
    suggested = list(_suggested(visitor, desk))
    return render(
        "studio_relation",
        show=show,
        left=left,
        language=desk.editable.language,
        language_title=language_names()[desk.editable.language],
        new=not standing.own,
        withheld=desk.base.withheld_reason(desk.relation),
        facts=facts,
        rows=[_row(desk, number, typed, found, facts, suggested) for number in range(len(FORMS))],
        unsaved=typed != {form: standing.sentences.get(form, "") for form in FORMS},
        changed=bool(standing.changed),
        draft=_draft(visitor, desk.relation) if not standing.own and desk.editable.language == ENGLISH else None,
        longest=LONGEST,
    )


def _row(
    desk: Desk,
    number: int,
    typed: Mapping[str, str],
    found: Mapping[str, str],
    facts: Sequence[Fact],
    suggested: Sequence[tuple[str, tuple[str, str, str]]],
) -> Row:
    form, standing = FORMS[number], desk.standing
    text, own = typed[form], standing.own.get(form, "")
    return Row(
        FIELDS[number],
        VARIANTS[form],
        text,
        desk.editable.english(desk.relation).get(form, ""),
        found.get(form, "") if text else "",
        tuple(filter(None, (desk.editable.filled(text, fact) for fact in facts))),
        desk.editable.changes(own, text) if own and text != own else (),
        standing.signed.get(form) if standing.sentences.get(form) == text else None,
        standing.sentences.get(form, "") == text,
        [one for variant, one in suggested if variant == form],
    )


def _examples(desk: Desk) -> list[Fact]:
    """Three true facts of the relation that can be stated, of different heads where there are."""
    true = (fact for fact in desk.collection.facts if fact.positive and fact.tail and desk.is_of(fact))
    chosen = list({fact.head: fact for fact in true if desk.editable.names_all_of(fact)}.values())
    return chosen[:: max(1, len(chosen) // EXAMPLES)][:EXAMPLES]


def _suggested(visitor: Visitor, desk: Desk) -> Iterator[tuple[str, tuple[str, str, str]]]:
    """Better wordings that reviewers proposed for statements of this pool and relation: form → template, wording, by whom."""
    store = visitor.services.store.of(visitor.owner)
    log = store.verdicts.log(owners=visitor.reviewers)
    worded = {one.fact_id for one in log if one.wording}
    statements = [one for one in store.verdicts.statements_of(worded) if one.pool == desk.base.name and desk.is_of(one.fact)]
    for one in suggestions(statements, opinions(log)) if worded else ():
        yield one.statement.variant, (one.template, one.wording, one.by)


def _draft(visitor: Visitor, relation: str) -> Mapping[str, str] | None:
    """The fields of a draft of this relation that the visitor has accepted on the page Rewrite."""
    store = visitor.services.store.of(visitor.owner)
    for run in reversed(store.writings(*visitor.owners)):
        decision = store.decisions.draft_decisions(run.run).get(relation) if writing_kind(run).forms == FORMS else None
        if decision is not None and decision.accepted:
            return {name: decision.sentences.get(form, "") for form, name in zip(FORMS, FIELDS, strict=True)}
    return None


# ------------------------------------------------------------------------------------------------ actions


def save(visitor: Visitor, show: StudioShow, _: Action) -> tuple[StudioShow, Message]:
    """Records what is typed of a relation, form by form; it is used once all eight forms break no rule."""
    show = _as_it_can_be(visitor, show)
    desk = _at(visitor, show)
    if desk.relation not in desk.relations and len(desk.relations) >= MOST_EDITED:
        raise Mistake(f"{MOST_EDITED} relations of this pool are edited already.", "Export them, and take some back.")
    typed = show.typed()
    _record(visitor, edits(desk.base, desk.relation, desk.standing.sentences, typed))
    left = desk.editable.problems(EditedRelation(desk.relation, desk.standing.own, typed))
    if left:
        wait = "not in use yet" if desk.editable.is_asked else "not ready to be exported"
        said = f"Saved, and {wait}: {len(left)} of {len(FORMS)} sentences are missing or break a rule."
        return show, Message(said, "warn")
    return show, Message(f"Saved the sentences of “{desk.relation}”.", "good")


def sign(visitor: Visitor, show: StudioShow, action: Action) -> tuple[StudioShow, Message]:
    """Signs off exactly the sentence that is saved of a form; a later change voids it."""
    show = _as_it_can_be(visitor, show)
    desk, name = _at(visitor, show), show.reviewer.strip()
    if not name:
        raise Mistake("Type your name or initials first.", "The sign-off bears it.")
    if action.about not in FORMS or not (text := desk.standing.sentences.get(action.about)):
        raise Mistake("No sentence is saved for this way of asking.", "Save it first.")
    if text != show.typed()[action.about]:
        raise Mistake("Save the sentence first.", "Save it first.")
    if why := desk.editable.problems(desk.standing).get(action.about):
        raise Mistake(f"This sentence cannot be used: {why}", "Change it first.")
    _record(visitor, [PrototypeEdit(desk.base.name, desk.relation, action.about, text, name)])
    return show, Message(f"{name} signs “{VARIANTS[action.about].plain}” off.", "good")


def take_back(visitor: Visitor, show: StudioShow, _: Action) -> tuple[StudioShow, Message]:
    """Gives a relation back the pool's own sentences, or none where the pool states none. The log keeps what was."""
    show = _as_it_can_be(visitor, show)
    desk = _at(visitor, show)
    _record(visitor, [PrototypeEdit(desk.base.name, desk.relation, form, "") for form in desk.standing.sentences])
    return show.model_copy(update={"of": ""}), Message(f"The sentences of “{desk.relation}” are the pool's own again.", "good")


def _record(visitor: Visitor, made: Sequence[PrototypeEdit]) -> None:
    visitor.services.log_of(visitor.owner, made).prototype_edits.record(made)


def _at(visitor: Visitor, show: StudioShow) -> Desk:
    """The desk, if the typed sentences belong to what is chosen. Raises Mistake."""
    desk = _desk(visitor, show)
    if show.of != f"{desk.base.name}|{desk.relation}":
        raise Mistake("These sentences belong to another relation.", "Load the page again.")
    return desk


def erase_edits(visitor: Visitor, show: StudioShow, action: Action) -> tuple[StudioShow, Message]:
    """Erases the visitor's edits of all pools; what is typed goes with them."""
    show, message = erase(visitor, show, action)
    return show.model_copy(update={"of": ""}), message


PAGE = Page(
    "studio",
    "Sentences",
    ("choice", "said", "relation", "edited"),
    StudioShow,
    view,
    {"save": save, "sign": sign, "take_back": take_back, "erase": erase_edits},
    address=("pool", "data", "relation"),
    place=3,
    under="facts",
)
