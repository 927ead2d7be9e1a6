"""The project's pool in a language: its sentences, and the articles, joins and numbers with which names stand in them."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from medfact.assets import language_names, pool_language
from medfact.datasets.text import InvalidYaml, read_yaml
from medfact.errors import PoolError
from medfact.facts import Fact, name_key
from medfact.languages.names import MARKS, PLURAL, Cases, Name, check_cases, check_genders, in_case, read_cases, unknown_cases
from medfact.prototypes import Pool, RelationPrototypes, load_pool
from medfact.prototypes.pool_files import build_pool, problems_by_form
from medfact.statements import Statement

Joined = tuple[re.Pattern[str], str]
"""What stands around a seam, and what becomes of it."""

_PART = re.compile(
    r"(?P<bare>~?)\[(?P<slot>[XY])\](?:\{(?P<case>[^{}|]+)\})?|\{(?:(?P<of>[XY]):)?(?P<singular>[^{}|]*)\|(?P<plural>[^{}|]*)\}"
)
_SEAM = re.compile(r"\|(?:~[^\s|]* )?")


class _Part(NamedTuple):
    """The text before a slot or a word; the slot's mark, the slot and its case; whose number a word takes, and its numbers."""

    before: str
    bare: bool = False
    slot: str = ""
    case: str = ""
    of: str = ""
    singular: str = ""
    plural: str = ""


def sentence(prototype: str, head: Name, tail: Name, joined: Sequence[Joined] = (), cases: Cases | None = None) -> str:
    """A prototype as a sentence, with a capital at its start."""
    text = filled(prototype, head, tail, joined, cases)
    return text[:1].upper() + text[1:]


def filled(prototype: str, head: Name, tail: Name, joined: Sequence[Joined] = (), cases: Cases | None = None) -> str:
    """The same as its letters stand: a script without capitals keeps a name such as "β地中海贫血" at the start."""
    names, text = {"X": head, "Y": tail}, ""
    subject = head
    for part in _parts(prototype):
        text += part.before
        if part.slot:
            subject = names[part.slot]
            text = _followed(text, _shown(in_case(subject, part.case, part.bare, cases or {}), part.bare), joined)
        else:
            text += part.plural if names.get(part.of, subject).plural else part.singular
    return text


def problem_of_marks(prototype: str, cases: Cases) -> str | None:
    """Why the marks of a prototype cannot all be filled; None if they can."""
    for case in unknown_cases(prototype, cases):
        return f"there is no case {case!r}: {'cases are ' + ', '.join(cases) if cases else 'this language has none'}."
    words = _PART.sub(lambda part: f"{part['singular'] or ''}{part['plural'] or ''}", prototype)
    left = next((character for character in words if character in MARKS), None)
    return f"{left!r} fills nothing: names stand as [X] or ~[X], words that take a number as {{one|many}}." if left else None


def with_article(name: Name) -> str:
    """A name as it stands in a sentence: "el dolor", "l'asthme"."""
    space = "" if name.article.endswith(("'", "’")) or not name.article else " "
    return f"{name.article}{space}{name.text}"


def _shown(name: Name, bare: bool) -> str:
    return f"~{name.article} {name.text}" if bare else with_article(name)


def _followed(text: str, name: str, joined: Sequence[Joined]) -> str:
    """A text and the name that follows it."""
    seam = f"{text}|{name}"
    for pattern, becomes in joined:
        seam = pattern.sub(becomes, seam, count=1)
    return _SEAM.sub("", seam, count=1)


@lru_cache(maxsize=1 << 10)
def _parts(prototype: str) -> tuple[_Part, ...]:
    return tuple(_found(prototype))


def _found(prototype: str) -> Iterator[_Part]:
    end = 0
    for found in _PART.finditer(prototype):
        bare, slot, case, of, singular, plural = (cell or "" for cell in found.groups())
        yield _Part(prototype[end : found.start()], bool(bare), slot, case, of, singular, plural)
        end = found.end()
    yield _Part(prototype[end:])


ENGLISH_POOL = "medfact"
"""The pool whose relations, and names of relations, the others share."""

CAN_BE_ASKED = "can be asked in this language"
"""What the note says that counts them."""

NEVER = re.compile("(?!)")

AS_WRITTEN = "the table"
"""The source of a name that stands as a table has it."""

MOST_SHOWN = 5
"""Names that a note lists."""


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

    def fill_prototype(self, prototype: str, fact: Fact) -> str:
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
    as_written: keys of the names of a table in this language that stand as written; None where the facts are in English.
    guessed: patterns of names, and how one stands in a sentence, of which the first counts. small: a name whose capital only
    begins a cell. no_drug: a treatment that is no medicine.
    """

    names: Mapping[str, Name] = field(default_factory=dict, repr=False)
    blank: RelationInLanguage = field(kw_only=True, repr=False)
    as_written: frozenset[str] | None = None
    guessed: tuple[tuple[re.Pattern[str], Name], ...] = field(default=(), repr=False)
    small: re.Pattern[str] = field(default=NEVER, repr=False)
    no_drug: re.Pattern[str] = field(default=NEVER, repr=False)

    def guess(self, name: str) -> Name:
        """How a name that the language does not have stands in a sentence, by its noun and the ending of that."""
        text = "".join(" " if mark in MARKS else mark for mark in name)
        text = text[:1].lower() + text[1:] if self.small.match(text) else text
        form = next((form for pattern, form in self.guessed if pattern.search(_without_accents(text))), Name("", ""))
        return replace(form, entity=name, text=text, source=AS_WRITTEN)

    def of_table(self, names: Mapping[str, Name], as_written: frozenset[str]) -> PoolInLanguage:
        """The pool for a table in its language. names: as in `names`, those of the table."""
        every: dict[str, Any] = {"names": {**self.names, **names}}
        relations = {name: replace(one, **every) for name, one in self.relations.items()}
        return replace(self, blank=replace(self.blank, **every), relations=relations, as_written=as_written, **every)

    @cached_property
    def english(self) -> Pool:
        """The pool that says the same in English: all that it states is drawn, so that both draw the same facts."""
        return load_pool(ENGLISH_POOL)

    def canonical(self, relation: str) -> str | None:
        return self.english.canonical(relation)

    def inverse_of(self, relation: str) -> str | None:
        return self.english.inverse_of(relation)

    def withheld_reason(self, relation: str) -> str | None:
        return self.english.withheld_reason(relation)

    def states(self, fact: Fact) -> bool:
        return self.canonical(fact.relation) in self.relations and self.names_all_of(fact) and not self._is_no_drug(fact)

    def _is_no_drug(self, fact: Fact) -> bool:
        """Whether a table lists a procedure, or another treatment, where the sentences speak of a medicine."""
        treats = self.as_written is not None and self.canonical(fact.relation) == "therapeutic drugs"
        return treats and self.no_drug.search(_without_accents(fact.tail or "")) is not None

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

    def statable_facts(self, facts: Sequence[Fact]) -> tuple[Fact, ...]:
        """Those of the facts that can be stated together with all their partners: true and false ones go together."""
        missing = {fact.negative_of or fact.fact_id for fact in facts if not self.states(fact)}
        return tuple(fact for fact in facts if (fact.negative_of or fact.fact_id) not in missing)

    def unstated_note(self, facts: Sequence[Fact]) -> str:
        """How many of the true facts can be asked in this language, and why not the others, in sentences."""
        true, asked = sum(fact.positive for fact in facts), self.statable_facts(facts)
        title = language_names()[pool_language(self.name)]
        said = f"{sum(fact.positive for fact in asked):,} of {true:,} true facts {CAN_BE_ASKED}."
        if self.as_written is not None:
            written = {name_key(name) for fact in asked for name in (fact.head, fact.tail or "")} & self.as_written
            stand = _in_number(len(written), "name stands", "names stand")
            said = f"Asked in {title}, as the table is; {stand} as written. {said}"
        why = "; ".join(self._obstacles(facts, title))
        return f"{said} Not asked: {why}." if why else said

    def _obstacles(self, facts: Sequence[Fact], title: str) -> Iterator[str]:
        """What keeps some facts from being asked in this language."""
        ends = (name for fact in facts for name in (fact.head, fact.tail or "") if name_key(name) not in self.names)
        if names := list(dict.fromkeys(ends)):
            shown = [*names[:MOST_SHOWN], f"{len(names) - MOST_SHOWN:,} more"] if len(names) > MOST_SHOWN else names
            yield f"{_in_number(len(names), 'name has', 'names have')} no {title} name yet: {', '.join(shown)}"
        if relations := dict.fromkeys(fact.relation for fact in facts if self.canonical(fact.relation) not in self.relations):
            yield f"there are no {title} sentences yet for {', '.join(map(repr, relations))}"
        if others := dict.fromkeys(fact.tail or "" for fact in facts if fact.positive and self._is_no_drug(fact)):
            said = "is no medicine" if len(others) == 1 else "are no medicines"
            yield f"{', '.join(others)} {said}; a relation of their own, such as surgery, would fit"
        bounds = (bound for fact in facts for bound in (fact.region, fact.population) if bound)
        if places := dict.fromkeys(bound for bound in bounds if name_key(bound) not in self.blank.bounds):
            yield f"there are no {title} words yet for {', '.join(places)}"


def _without_accents(text: str) -> str:
    return "".join(mark for mark in unicodedata.normalize("NFKD", text) if not unicodedata.combining(mark))


def _in_number(number: int, one: str, many: str) -> str:
    return f"1 {one}" if number == 1 else f"{number:,} {many}"


def read_pool_in_language(path: Path, names: Mapping[str, Name]) -> PoolInLanguage:
    """Reads `pool.yaml` of a language. Raises PoolError, naming file, relation and form, where it breaks a rule."""
    text, record = record_of_pool(path)
    english = load_pool(ENGLISH_POOL)
    cases = read_cases(_place(path), record.get("cases"))
    check_cases(_place(path), text, cases)
    check_genders(_place(path.with_name("names.csv")), tuple(names.values()), cases)
    read = build_pool(path, record)
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
    about = ("description", "head", "tail", "aliases", "inverse")  # what the English pool says of a relation
    relations = {
        name: replace(blank, **vars(one) | {part: getattr(english.relations[name], part) for part in about} | {"grammar": True})
        for name, one in read.relations.items()
    }
    guessed = tuple(
        (re.compile(pattern, re.VERBOSE), Name("", "", gender=gender, plural=number == PLURAL, article=article))
        for article, gender, number, pattern in record.get("guessed") or []
    )
    patterns = {one: re.compile(record.get(one, NEVER.pattern), re.VERBOSE) for one in ("small", "no_drug")}
    every = {**vars(read), "relations": relations, "guessed": guessed, **patterns}
    return PoolInLanguage(**every, names=names, blank=blank)


def record_of_pool(path: Path) -> tuple[str, dict[str, Any]]:
    """The text of a language's `pool.yaml`, and what stands in it. Raises PoolError, naming file and line."""
    text = path.read_text(encoding="utf-8")
    try:
        return text, read_yaml(text)
    except InvalidYaml as error:
        raise PoolError(f"{_place(path)}, line {error.line}: {error.problem}", error.hint) from None


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
