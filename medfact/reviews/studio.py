"""The prototypes studio: a pool with what a person has changed, added and signed off, as a pool file of their own."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, NamedTuple

import yaml

from medfact.assets import ENGLISH, language_names, pool_language
from medfact.errors import Mistake
from medfact.facts import Fact, name_key
from medfact.languages import Language, load_language
from medfact.languages.language import pool_file
from medfact.prototypes import Pool, RelationPrototypes, fill_slots, load_pool, pool_names
from medfact.prototypes.grammar import render_sentence
from medfact.prototypes.pool_files import MAX_FILE_BYTES
from medfact.statements import IMPLICATIONS, VARIANTS
from medfact.store import PrototypeEdit
from medfact.writing.sentences import Marks, marks
from medfact.writing.templates import OPERATORS, problems_of

FORMS = tuple(IMPLICATIONS)
"""The forms of the pools that can be edited."""


@dataclass(frozen=True)
class EditedRelation:
    """A relation as a person left it. own: the pool's own sentences, {} for a relation that it does not state. sentences: by
    form; fewer than the forms where some are missing. signed: form → who signed its sentence off, and on which day.
    """

    name: str
    own: Mapping[str, str]
    sentences: Mapping[str, str]
    signed: Mapping[str, tuple[str, str]] = field(default_factory=dict)

    @property
    def changed(self) -> tuple[str, ...]:
        """The forms whose sentence is not the pool's own."""
        return tuple(form for form in FORMS if self.sentences.get(form, "") != self.own.get(form, ""))


def bases() -> list[str]:
    """The pools that can be edited: those of the project that have the eight forms."""
    return [name for name in pool_names() if load_pool(name).forms == FORMS]


def edited(base: Pool, log: Iterable[PrototypeEdit]) -> dict[str, EditedRelation]:
    """The relations of a pool that were changed, added or signed off, by the last edit of each form; "" takes one back."""
    last = {(one.relation, one.form): one for one in log if one.form in FORMS}
    found: dict[str, EditedRelation] = {}
    for relation in dict.fromkeys(name for name, _ in last):
        standing = {form: one for form in FORMS if (one := last.get((relation, form))) and one.sentence}
        if standing:
            own = own_sentences(base, relation)
            found[relation] = EditedRelation(
                relation,
                own,
                {**own, **{form: one.sentence for form, one in standing.items()}},
                {form: (one.signed_by, one.decided_at[:10]) for form, one in standing.items() if one.signed_by},
            )
    return found


def own_sentences(base: Pool, relation: str) -> dict[str, str]:
    """The pool's own sentences of a relation; {} if it states none."""
    known = base.relations.get(relation)
    return dict(known.sentences) if known else {}


def problems(base: Pool, relation: EditedRelation) -> dict[str, str]:
    """Form → why its sentence cannot be used. The pool's own is not found fault with, unless what it denies has changed."""
    operators = base.operators if relation.own and not base.operators else (*base.operators, *OPERATORS)
    return in_what_changed(relation, problems_of(relation.sentences, FORMS, operators))


def in_what_changed(relation: EditedRelation, found: Mapping[str, str]) -> dict[str, str]:
    """Of the problems of a relation, by form, those of sentences that are not the pool's own, or deny one that is not."""
    changed = {form for form in FORMS if not {form, VARIANTS[form].form}.isdisjoint(relation.changed)}
    return {form: why for form, why in found.items() if form in changed or not relation.own}


def filled(base: Pool, text: str, head: str, tail: str) -> str:
    """A sentence about two names, as the pool would state it; "" unless it has both slots once."""
    if text.count("[X]") != 1 or text.count("[Y]") != 1:
        return ""
    return (render_sentence if _has_grammar(base) else fill_slots)(text, head, tail)


def _has_grammar(base: Pool) -> bool:
    return any(relation.grammar for relation in base.relations.values())


_INTRODUCTION = re.compile(r"(?:In|Among|Of|For|When|If|After|During)\b[^,]*,")
"""What stands before a sentence's own verb, which is denied."""

_VERB = re.compile(r"(?<=\] )(?:is|are|has|have)\b")
_NUMBERED = {"is": "{is|are}", "are": "{is|are}", "has": "{has|have}", "have": "{has|have}"}


def with_denials(base: Pool, affirmed: Mapping[str, str]) -> dict[str, str]:
    """Sentences that affirm, by form, and those that deny them by one word; "" where none can be denied so. Verbs after a name
    take its number where the pool knows grammar.
    """
    numbered = _NUMBERED if _has_grammar(base) else {}
    affirmed = {form: _VERB.sub(lambda verb: numbered.get(verb[0], verb[0]), text) for form, text in affirmed.items()}
    operators = (*base.operators, *OPERATORS)
    denials = (form for form in FORMS if VARIANTS[form].negated)
    return {**affirmed, **{form: _denied(affirmed.get(VARIANTS[form].form, ""), operators) for form in denials}}


def _denied(text: str, operators: Iterable[tuple[str, str]]) -> str:
    introduction = _INTRODUCTION.match(text)
    begins = introduction.end() if introduction else 0
    found = [(place, -len(yes), yes, no) for yes, no in operators if (place := text.find(yes)) >= begins]
    place, _, yes, no = min(found, default=(0, 0, "", ""))
    return f"{text[:place]}{no}{text[place + len(yes) :]}" if found else ""


def asked_of(relations: Mapping[str, EditedRelation], known: Iterable[str]) -> dict[str, EditedRelation]:
    """Those that can state some facts: of the pool, or of a relation that these facts have. A run refuses a pool file with a
    new relation that its facts lack, as that may be a slip of the pen.
    """
    keys = {name_key(name) for name in known}
    return {name: relation for name, relation in relations.items() if relation.own or name_key(name) in keys}


def edited_pool(base: Pool, relations: Mapping[str, EditedRelation]) -> str:
    """A pool file, as YAML, that extends a pool by the relations that can be used.

    Raises Mistake where none can, or where they are more than a pool file may hold.
    """
    usable = usable_of(relations, lambda relation: problems(base, relation))
    return as_yaml(_record(base, usable))


def usable_of(
    relations: Mapping[str, EditedRelation], problems: Callable[[EditedRelation], Mapping[str, str]]
) -> dict[str, EditedRelation]:
    """The relations without a problem. Raises Mistake where there is none."""
    usable = {name: relation for name, relation in relations.items() if not problems(relation)}
    if not usable:
        raise Mistake("Nothing is ready to be used.", "Save eight sentences of a relation that break no rule.")
    return usable


def as_yaml(record: Mapping[str, Any]) -> str:
    """The text of a pool file. Raises Mistake where it is more than one may hold."""
    text = yaml.safe_dump(record, allow_unicode=True, sort_keys=False, width=1_000)
    if len(text.encode()) > MAX_FILE_BYTES:
        raise Mistake(f"What you edited is more than a pool file may hold: {MAX_FILE_BYTES >> 10} kB.", "Take some of it back.")
    return text


def _record(base: Pool, relations: Mapping[str, EditedRelation]) -> dict[str, Any]:
    operators = [list(pair) for pair in dict.fromkeys((*base.operators, *OPERATORS))] if base.operators else []
    return {
        "name": f"studio-{base.name}",
        "title": f"{base.title}, edited"[:200],
        "extends": base.name,
        "grammar": _has_grammar(base),
        "forms": list(FORMS),
        **({"operators": operators} if operators else {}),
        "relations": {name: _relation_entry(base.relations.get(name), relation) for name, relation in relations.items()},
    }


def _relation_entry(known: RelationPrototypes | None, relation: EditedRelation) -> dict[str, Any]:
    """A relation of the file. Its sentences for facts of another strength stay as the pool has them."""
    described: dict[str, Any] = {}
    if known:
        names = {"aliases": list(known.aliases), **({"inverse": list(known.inverse)} if known.inverse else {})}
        described = {"description": known.description, "head": known.head, "tail": known.tail, **names}
    strengths = {name: dict(sentences) for name, sentences in known.strengths.items()} if known else {}
    return {
        **described,
        "sentences": in_order(relation.sentences),
        **({"strengths": strengths} if strengths else {}),
        **({"signed_off": signed} if (signed := signed_off(relation)) else {}),
    }


def in_order(sentences: Mapping[str, str]) -> dict[str, str]:
    """The sentences of all forms."""
    return {form: sentences[form] for form in FORMS}


def signed_off(relation: EditedRelation) -> dict[str, str]:
    """What a file says of sign-offs: form → who, and on which day."""
    return {form: f"{name}, {day}" for form, (name, day) in relation.signed.items()}


def edits(base: Pool, relation: str, before: Mapping[str, str], after: Mapping[str, str]) -> list[PrototypeEdit]:
    """What is to be recorded so that the sentences of a relation are these: "" where the pool's own stands again."""
    own = own_sentences(base, relation)
    return [
        PrototypeEdit(base.name, relation, form, "" if after.get(form, "") == own.get(form) else after.get(form, ""))
        for form in FORMS
        if after.get(form, "") != before.get(form, "")
    ]


def relations_of(base: Pool, known: Sequence[str], relations: Mapping[str, EditedRelation]) -> list[tuple[str, bool]]:
    """The relations that can be edited, and whether the pool lacks them: its own, those added, and those of some facts.

    One that is spelled in several ways is one relation, as in a pool file: as it was edited, or else as it comes first.
    """
    own = [(name, False) for name in base.relations]
    new: dict[str, str] = {}
    for name in (*relations, *known):
        if base.canonical(name) is None:
            new.setdefault(name_key(name), name)
    return [*own, *((name, True) for name in new.values())]


class Grammar(NamedTuple):
    """What can be written in the sentences of a language: whether its names have articles and numbers, the cases in which slots
    stand, the usual one first, and what denies a sentence (affirmed, denied).
    """

    articles: bool
    numbers: bool
    cases: tuple[str, ...]
    operators: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class EditablePool:
    """A pool of the project in English."""

    pool: Pool

    @property
    def language(self) -> str:
        """The code of the language of its sentences."""
        return pool_language(self.pool.name) or ENGLISH

    @property
    def grammar(self) -> Grammar | None:
        """What can be written in another language; None in English, of which the page knows it."""
        return None

    @property
    def is_asked(self) -> bool:
        """Whether a run can ask with what is edited: it asks another language in that language's own sentences alone."""
        return True

    def english(self, relation: str) -> Mapping[str, str]:
        """Form → what a sentence of another language is to say; {} in English."""
        return {}

    def names_all_of(self, fact: Fact) -> bool:
        """Whether a sentence can be filled with a fact."""
        return True

    def filled(self, text: str, fact: Fact) -> str:
        """A sentence about a fact, as the pool would state it; "" where its slots cannot be filled."""
        return filled(self.pool, text, fact.head, fact.tail or "")

    def problems(self, relation: EditedRelation) -> dict[str, str]:
        """Form → why its sentence cannot be used. The pool's own is not found fault with, unless what it denies has changed."""
        return problems(self.pool, relation)

    def changes(self, own: str, text: str) -> Marks:
        """What of a sentence differs from the pool's own."""
        return marks(own, text)

    def relations(self, known: Sequence[str], edited: Mapping[str, EditedRelation]) -> list[tuple[str, bool]]:
        """The relations that can be edited, and whether the pool lacks them. known: those of some facts."""
        return relations_of(self.pool, known, edited)

    def exported(self, relations: Mapping[str, EditedRelation]) -> str:
        """A file, as YAML, of the relations that can be used. Raises Mistake where none can."""
        return edited_pool(self.pool, relations)


@dataclass(frozen=True)
class PoolOfLanguage(EditablePool):
    """The sentences of a language beside English: they state the relations of the English pool, and no others."""

    of: Language

    @property
    def is_asked(self) -> bool:
        return False

    @property
    def grammar(self) -> Grammar:
        names = self.of.names.values()
        articles, numbers = any(name.article for name in names), any(name.plural for name in names)
        return Grammar(articles, numbers, tuple(self.of.pool.blank.cases), self.pool.operators)

    def english(self, relation: str) -> Mapping[str, str]:
        return self.of.pool.english.relations[relation].sentences

    def names_all_of(self, fact: Fact) -> bool:
        return self.of.pool.names_all_of(fact)

    def filled(self, text: str, fact: Fact) -> str:
        once = text.count("[X]") == 1 == text.count("[Y]")
        return self.of.pool.blank.fill_prototype(text, fact) if once and not self.of.pool.problem_of_marks(text) else ""

    def problems(self, relation: EditedRelation) -> dict[str, str]:
        return in_what_changed(relation, self.of.pool.problems_of(relation.sentences))

    def changes(self, own: str, text: str) -> Marks:
        if self.of.asking.words.spaced:
            return marks(own, text)
        return tuple((what, part.replace(" ", "")) for what, part in marks(" ".join(own), " ".join(text)))

    def relations(self, known: Sequence[str], edited: Mapping[str, EditedRelation]) -> list[tuple[str, bool]]:
        own = [(name, False) for name in self.pool.relations]
        return [*own, *((name, True) for name in self.of.pool.english.relations if name not in self.pool.relations)]

    def exported(self, relations: Mapping[str, EditedRelation]) -> str:
        """What the language's file says of the relations that can be used, below its rules of grammar: each relation can be put
        into that file, and this one is read as that is.
        """
        record = pool_file(self.language)
        usable = usable_of(relations, self.problems)
        entries = {name: _entry(record["relations"].get(name, {}), one) for name, one in usable.items()}
        return as_yaml({**record, "relations": entries})


def _entry(before: Mapping[str, Any], relation: EditedRelation) -> dict[str, Any]:
    """A relation of a language's file. before: what the file says of it; sign-offs there of what has changed are left out."""
    signed = {form: who for form, who in before.get("signed_off", {}).items() if form not in relation.changed}
    signed |= signed_off(relation)
    kept = {name: value for name, value in before.items() if name != "signed_off"}
    return {**kept, "sentences": in_order(relation.sentences), **({"signed_off": signed} if signed else {})}


@cache
def editable_titles() -> Mapping[str, str]:
    """Name of a pool that can be edited → its title, those in English first."""
    return dict(_titles())


def _titles() -> Iterator[tuple[str, str]]:
    yield from ((name, load_pool(name).title) for name in bases())
    for code, title in language_names().items():
        if code != ENGLISH:
            yield f"medfact-{code}", f"medfact in {title}"


def editable(name: str) -> EditablePool:
    """A pool that can be edited. Raises Mistake where there is none of this name."""
    if name not in editable_titles():
        raise Mistake("There is no such pool to edit.", "Choose one on the page Sentences.")
    code = pool_language(name)
    return PoolOfLanguage(load_language(code).pool, load_language(code)) if code else EditablePool(load_pool(name))
