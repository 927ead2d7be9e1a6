"""The project's pool in a language: the same relations, forms and facts, with the sentences and names of that language."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from medfact.errors import PoolError
from medfact.facts import Fact, name_key
from medfact.languages.cases import Cases, check_cases, check_genders, read_cases
from medfact.languages.grammar import Joined, filled, problem_of_marks, sentence
from medfact.languages.names import Name
from medfact.prototypes import Pool, RelationPrototypes, load_pool
from medfact.prototypes.pool_files import pool_in, problems_by_form
from medfact.prototypes.safe_yaml import Unreadable, read_yaml
from medfact.statements import Statement

ENGLISH_POOL = "medfact"
"""The pool whose relations, and names of relations, the others share."""

CAN_BE_ASKED = "can be asked in this language"
"""What the note says that counts them."""


@dataclass(frozen=True)
class RelationInLanguage(RelationPrototypes):
    """The sentences of one relation in a language.

    names: key of an entity → what it is called. capitals: whether a sentence of the language begins with a capital.
    bounds: key of a place or group → its words in front of a sentence; before: how one of them stands there, and two.
    """

    names: Mapping[str, Name] = field(default_factory=dict, repr=False)
    joined: tuple[Joined, ...] = ()
    cases: Cases = field(default_factory=dict, repr=False)
    capitals: bool = True
    bounds: Mapping[str, str] = field(default_factory=dict, repr=False)
    before: tuple[str, ...] = ()

    def state(self, prototype: str, fact: Fact) -> str:
        """A prototype with its slots filled by names of the language; its place and population in front. Raises KeyError where
        one has no words.
        """
        head, tail = (self.names[name_key(entity)] for entity in (fact.head, fact.tail or ""))
        before = self.words_before(fact)
        if goes_on := before.endswith(", "):
            prototype = prototype[0].lower() + prototype[1:]
        write = sentence if self.capitals and not goes_on else filled
        return before + write(prototype, head, tail, self.joined, self.cases)

    def words_before(self, fact: Fact) -> str:
        """Where and of whom a fact is said, in front of its sentences; "" of everybody everywhere."""
        words = [self.bounds[name_key(bound)] for bound in (fact.region, fact.population) if bound]
        text = self.before[len(words) - 1].format(*words) if words else ""
        return text[:1].upper() + text[1:]


@dataclass(frozen=True)
class PoolInLanguage(Pool):
    """A pool in a language. It states a fact only if it has sentences for its relation, names for both its ends, and words for
    its place and group: without them it would say something else.

    names: key of an entity → what it is called. blank: a relation without sentences, which fills those of any relation.
    """

    names: Mapping[str, Name] = field(default_factory=dict, repr=False)
    blank: RelationInLanguage = field(kw_only=True, repr=False)

    @cached_property
    def english(self) -> Pool:
        """The pool that says the same in English: all that it states is drawn, so that both draw the same facts."""
        return load_pool(ENGLISH_POOL)

    def canonical(self, relation: str) -> str | None:
        return self.english.canonical(relation)

    def inverted(self, relation: str) -> str | None:
        return self.english.inverted(relation)

    def why_withheld(self, relation: str) -> str | None:
        return self.english.why_withheld(relation)

    def states(self, fact: Fact) -> bool:
        return self.canonical(fact.relation) in self.relations and self.names_all_of(fact)

    def names_all_of(self, fact: Fact) -> bool:
        """Whether the language has words for all of a fact but its relation."""
        bounded = all(name_key(bound) in self.blank.bounds for bound in (fact.region, fact.population) if bound)
        return bounded and name_key(fact.head) in self.names and name_key(fact.tail or "") in self.names

    def problems_of(self, sentences: Mapping[str, str]) -> dict[str, str]:
        """Form → the first rule that its sentence breaks, by what the language's file is checked for; forms without a problem
        are not in it.
        """
        return problems_by_form(sentences, self.forms, self.operators, lambda _, text: self.problem_of_marks(text))

    def problem_of_marks(self, prototype: str) -> str | None:
        """Why the marks of a prototype cannot all be filled; None if they can."""
        return problem_of_marks(prototype, self.blank.cases)

    def statements(self, facts: Iterable[Fact]) -> Iterator[Statement]:
        return super().statements(filter(self.states, facts))

    def statable(self, facts: Sequence[Fact]) -> tuple[Fact, ...]:
        """Those of the facts that can be stated together with all their partners: true and false ones go together."""
        missing = {fact.negative_of or fact.fact_id for fact in facts if not self.states(fact)}
        return tuple(fact for fact in facts if (fact.negative_of or fact.fact_id) not in missing)

    def note_on(self, facts: Sequence[Fact]) -> str:
        """How many of the true facts can be asked in this language, in a sentence."""
        true = sum(fact.positive for fact in facts)
        asked = sum(fact.positive for fact in self.statable(facts))
        others = "" if asked == true else "; the others, or their partners, lack a name, or words for their place or group"
        return f"{asked:,} of {true:,} true facts {CAN_BE_ASKED}{others}."


def read_pool_in_language(path: Path, names: Mapping[str, Name]) -> PoolInLanguage:
    """Reads `pool.yaml` of a language. Raises PoolError, naming file, relation and form, where it breaks a rule."""
    text, record = record_of_pool(path)
    english = load_pool(ENGLISH_POOL)
    cases = read_cases(_place(path), record.get("cases"))
    check_cases(_place(path), text, cases)
    check_genders(_place(path.with_name("names.csv")), tuple(names.values()), cases)
    read = pool_in(path, record)
    joined = tuple((re.compile(pattern), str(becomes)) for pattern, becomes in record.get("joined") or [])
    capitals = record.get("capitals", True)
    if not isinstance(capitals, bool):
        raise PoolError(
            f"{_place(path)}: `capitals` is neither true nor false.", "Leave it out where sentences begin with one."
        )
    for name, relation in read.relations.items():
        _check(path, relation, english.relations.get(name), cases)
    bounds = record.get("bounds") or {}
    blank = RelationInLanguage(
        "", "", "head", "tail", (), {}, {}, read.name, grammar=True, names=names, joined=joined, cases=cases, capitals=capitals,
        bounds={name_key(bound): str(words) for bound, words in bounds.get("words", {}).items()},
        before=tuple(bounds.get("before", ())),
    )  # fmt: skip
    relations = {
        name: replace(blank, **{**vars(_described(one, english.relations[name])), "grammar": True})
        for name, one in read.relations.items()
    }
    return PoolInLanguage(**{**vars(read), "relations": relations}, names=names, blank=blank)


def record_of_pool(path: Path) -> tuple[str, dict[str, Any]]:
    """The text of a language's `pool.yaml`, and what stands in it. Raises PoolError, naming file and line."""
    text = path.read_text(encoding="utf-8")
    try:
        return text, read_yaml(text)
    except Unreadable as error:
        raise PoolError(f"{_place(path)}, line {error.line}: {error.problem}", error.hint) from None


def _described(relation: RelationPrototypes, english: RelationPrototypes) -> RelationPrototypes:
    """A relation with what the English pool says of it: its names, and of what it is."""
    same = {name: getattr(english, name) for name in ("description", "head", "tail", "aliases", "inverse")}
    return replace(relation, **same)


def _check(path: Path, relation: RelationPrototypes, english: RelationPrototypes | None, cases: Cases) -> None:
    """Raises PoolError where a relation is none of the English pool's, has other strengths, or a mark that fills nothing."""
    if english is None:
        raise PoolError(f"{_place(path)}, relation {relation.name!r}: the pool {ENGLISH_POOL!r} has no such relation.")
    if set(relation.strengths) != set(english.strengths):
        has, wants = (", ".join(one.strengths) or "none" for one in (relation, english))
        raise PoolError(f"{_place(path)}, relation {relation.name!r}: its strengths are {has}.", f"In English: {wants}.")
    for form, text in (item for of in (relation.sentences, *relation.strengths.values()) for item in of.items()):
        if why := problem_of_marks(text, cases):
            raise PoolError(f"{_place(path)}, relation {relation.name!r}, form {form!r}: {why}")


def _place(path: Path) -> str:
    return f"{path.parent.name}/{path.name}"


def sources_of(names: Iterable[Name]) -> Counter[str]:
    """How many names each source gave."""
    return Counter(name.source for name in names)
