"""The pools that the studio edits: the project's own in English, and the sentences of each other language. What a sentence may
say, how it is filled and what is exported is each one's own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

from medfact.assets import ENGLISH, language_names, pool_language
from medfact.errors import Mistake
from medfact.facts import Fact
from medfact.languages import Language, load_language
from medfact.languages.language import pool_file
from medfact.prototypes import Pool, load_pool
from medfact.reviews import studio
from medfact.reviews.studio import EditedRelation, as_yaml, in_order, signed_off, usable_of
from medfact.writing.marks import Marks, marks


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
        return studio.filled(self.pool, text, fact.head, fact.tail or "")

    def problems(self, relation: EditedRelation) -> dict[str, str]:
        """Form → why its sentence cannot be used. The pool's own is not found fault with, unless what it denies has changed."""
        return studio.problems(self.pool, relation)

    def changes(self, own: str, text: str) -> Marks:
        """What of a sentence differs from the pool's own."""
        return marks(own, text)

    def relations(self, known: Sequence[str], edited: Mapping[str, EditedRelation]) -> list[tuple[str, bool]]:
        """The relations that can be edited, and whether the pool lacks them. known: those of some facts."""
        return studio.relations_of(self.pool, known, edited)

    def exported(self, relations: Mapping[str, EditedRelation]) -> str:
        """A file, as YAML, of the relations that can be used. Raises Mistake where none can."""
        return studio.edited_pool(self.pool, relations)


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
        return self.of.pool.blank.state(text, fact) if once and not self.of.pool.problem_of_marks(text) else ""

    def problems(self, relation: EditedRelation) -> dict[str, str]:
        return studio.in_what_changed(relation, self.of.pool.problems_of(relation.sentences))

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
    yield from ((name, load_pool(name).title) for name in studio.bases())
    for code, title in language_names().items():
        if code != ENGLISH:
            yield f"medfact-{code}", f"medfact in {title}"


def editable(name: str) -> EditablePool:
    """A pool that can be edited. Raises Mistake where there is none of this name."""
    if name not in editable_titles():
        raise Mistake("There is no such pool to edit.", "Choose one on the page Sentences.")
    code = pool_language(name)
    return PoolOfLanguage(load_language(code).pool, load_language(code)) if code else EditablePool(load_pool(name))
