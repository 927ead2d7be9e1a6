"""Pairs of true and false facts: those of a user's file, its contradictions, and a person's decisions about drawn partners."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, replace
from operator import attrgetter

from medfact.facts import Fact, KnowledgeBase, name_key, normalize_space

OTHER_FACT = "negative_of names a fact with another head or relation"
NO_FACT = "negative_of names no true fact of its head and relation; give that fact's tail or fact_id, or leave it empty"

_Place = tuple[str, ...]
"""Head and relation, as they are seen, and where and of whom the fact is said, if it is bound."""


def place_of(fact: Fact) -> _Place:
    """Head and relation of a fact, under one spelling, with its region and population."""
    return normalize_space(fact.head), normalize_space(fact.relation), *bounds_of(fact)


def bounds_of(fact: Fact) -> tuple[str, ...]:
    """Where and of whom a fact is said, under one spelling; () of everybody everywhere."""
    named = (("region", fact.region), ("population", fact.population))
    return tuple(f"{name}: {name_key(text)}" for name, text in named if text)


def contradictions(facts: Mapping[str, Fact]) -> Iterator[list[str]]:
    """For each triplet that the file calls both true and false, under any spelling of its names: the keys of its facts."""
    denied = {_names(fact) for fact in facts.values() if not fact.positive}
    keys: defaultdict[tuple[str, ...], list[str]] = defaultdict(list)
    for key, fact in facts.items() if denied else ():
        if (names := _names(fact)) in denied:
            keys[names].append(key)
    return (group for group in keys.values() if len({facts[key].positive for key in group}) == 2)


def _names(fact: Fact) -> tuple[str, ...]:
    """What a fact says, under one spelling: what holds in one region or population may not hold in another."""
    return (*(name_key(name or "") for name in (fact.head, fact.relation, fact.tail)), *bounds_of(fact))


@dataclass(frozen=True)
class Partners:
    """partner_of: key of a false fact → the true fact that it belongs to. wrong: key → what is wrong with its `negative_of`.

    alone: how many false facts might belong to a true fact, and nothing says to which.
    """

    partner_of: Mapping[str, Fact]
    wrong: Mapping[str, str]
    alone: int = 0


def partners(facts: Mapping[str, Fact], named: Mapping[str, str]) -> Partners:
    """The true facts that false ones name. named: key of a false fact → its `negative_of`, where it has one."""
    by_id = {fact.fact_id: fact for fact in facts.values() if fact.positive}
    by_tail = {(*place_of(fact), name_key(fact.tail or "")): fact for fact in by_id.values()}
    found: dict[str, Fact] = {}
    wrong: dict[str, str] = {}
    for key, name in named.items():
        fact = facts[key]
        partner = by_id.get(name) or by_tail.get((*place_of(fact), name_key(name)))
        if partner is None:
            wrong[key] = NO_FACT
        elif place_of(partner) != place_of(fact):
            wrong[key] = OTHER_FACT
        else:
            found[key] = partner
    return Partners(found, wrong)


def partners_by_place(facts: Mapping[str, Fact]) -> Partners:
    """The only true fact of a head and relation gets one of the false ones, whatever their order; the others stand alone."""
    true: defaultdict[_Place, list[Fact]] = defaultdict(list)
    false: defaultdict[_Place, list[str]] = defaultdict(list)
    for key, fact in facts.items():
        if fact.positive:
            true[place_of(fact)].append(fact)
        else:
            false[place_of(fact)].append(key)
    found: dict[str, Fact] = {}
    alone = 0
    for place, keys in false.items():
        fitting = true.get(place, [])
        if len(fitting) == 1:
            found[min(keys, key=lambda key: sort_key(facts[key]))] = fitting[0]
        alone += len(keys) - len(fitting) if len(fitting) == 1 else len(keys) if fitting else 0
    return Partners(found, {}, alone)


def paired(fact: Fact, partner: Fact, k: int) -> Fact:
    """A false fact of the file as the k-th false partner of a true one."""
    own = partner.negative(fact.tail or "", fact.tail_id, k)
    return replace(own, tail_type=fact.tail_type, source=fact.source, source_id=fact.source_id, until=fact.until)


def alone_note(number: int) -> str:
    """Says how many false facts have no partner because nothing says which."""
    if number == 1:
        return "1 false fact has no partner in the file: negative_of does not say to which true fact it belongs."
    return f"{number} false facts have no partner in the file: negative_of does not say to which true fact each belongs."


_cells = attrgetter(*[column.name for column in fields(Fact)])


def sort_key(fact: Fact) -> list[str]:
    """An order of facts that does not depend on the file."""
    return [str(value or "") for value in _cells(fact)]


# ------------------------------------------------------------------------------------------------ decisions about partners


def scoped_relation(fact: Fact) -> str:
    """The relation of a fact, with its region and population."""
    return "; ".join((fact.relation, *bounds_of(fact)))


def triplet_key(head: str, relation: str, tail: str) -> tuple[str, str, str]:
    """A triplet with normalized names. relation: as `scoped_relation` returns it."""
    return name_key(head), name_key(relation), name_key(tail)


@dataclass(frozen=True)
class PartnerDecisions:
    """A person's decisions about false partners, by triplets: they apply to any file and any ids."""

    rejected: frozenset[tuple[str, str]] = frozenset()
    """(normalized head, tail) that may be true, so no draw calls it false. Old records have the id of a true fact as head."""
    confirmed: frozenset[tuple[str, str, str]] = frozenset()
    """Keys of false triplets."""

    def rejected_tails(self, fact: Fact, known: KnowledgeBase | None = None) -> frozenset[str]:
        """The tails that are never drawn for the head of a fact. known: adds other names of heads and tails."""
        heads = {fact.negative_of or fact.fact_id, *map(name_key, known.names(fact.head) if known else [fact.head])}
        tails = (tail for head, tail in self.rejected if head in heads)
        return frozenset[str]().union(*(known.names(tail) if known else (name_key(tail),) for tail in tails))

    def rejects(self, negative: Fact) -> bool:
        """Returns True if the person decided that a false fact may be true."""
        return name_key(negative.tail or "") in self.rejected_tails(negative)

    def confirms(self, negative: Fact) -> bool:
        """Returns True if the person decided that a false fact is false."""
        return triplet_key(negative.head, scoped_relation(negative), negative.tail or "") in self.confirmed


NOTHING_DECIDED = PartnerDecisions()
