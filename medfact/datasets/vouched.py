"""Who vouches for a drawn false partner of a user's table: a bundled set that could have drawn it, or a person who read it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from medfact.datasets.bundled import bundled_names, lay_names, load_bundled
from medfact.datasets.elsewhere import spelling_key
from medfact.datasets.pairing import bounds_of
from medfact.facts import Fact, KnowledgeBase, Tail, name_key
from medfact.kept import keep
from medfact.negatives.rules import Rules

_NONE = frozenset[str]()


def place_key(head: str, relation: str) -> tuple[str, str]:
    """Head and relation under one spelling. relation: as `relation_within_bounds` has it."""
    return name_key(head), name_key(relation)


def relation_within_bounds(fact: Fact) -> str:
    """The relation of a fact, with the region and the population that it is said of."""
    return "; ".join((fact.relation, *bounds_of(fact)))


@dataclass(frozen=True)
class PartnerDecisions:
    """What a person said of false partners: about triplets, whatever file they stand in and whatever their ids are.

    rejected: (head under one spelling, tail): that can be true, so no draw calls it false. The id of a true fact stands for
    its head where that was not recorded. confirmed: (place, tail under one spelling): that is false.
    """

    rejected: frozenset[tuple[str, str]] = frozenset()
    confirmed: frozenset[tuple[tuple[str, str], str]] = frozenset()

    @cached_property
    def _rejected_of(self) -> Mapping[str, frozenset[str]]:
        return _grouped(self.rejected)

    def rejected_tails(self, fact: Fact, known: KnowledgeBase) -> frozenset[str]:
        """The tails that are not drawn for the head of a fact, under all their known names."""
        heads = {fact.fact_id, *map(name_key, known.names(fact.head))} if self.rejected else ()
        tails = _NONE.union(*(self._rejected_of.get(head, _NONE) for head in heads))
        return _NONE.union(*map(known.names, tails))

    def confirms(self, negative: Fact) -> bool:
        """Whether the person said that this is false."""
        place = place_key(negative.head, relation_within_bounds(negative))
        return (place, name_key(negative.tail or "")) in self.confirmed


NOTHING_DECIDED = PartnerDecisions()


def _grouped(pairs: Iterable[tuple[str, str]]) -> Mapping[str, frozenset[str]]:
    grouped: defaultdict[str, set[str]] = defaultdict(set)
    for head, tail in pairs:
        grouped[head].add(tail)
    return {head: frozenset(tails) for head, tails in grouped.items()}


class _Stock(NamedTuple):
    """Where a bundled set draws from: its tails of one relation and semantic type."""

    dataset: str
    relation: str
    tail_type: str | None


class _Known(NamedTuple):
    """Names of the bundled sets, by `spelling_key`. heads: (relation, head) → the draws for that head, with its name there.
    tails: of each draw. withdrawn: (head, tail) that a set no longer calls false.
    """

    heads: Mapping[tuple[str, str], set[tuple[_Stock, str]]]
    tails: Mapping[tuple[_Stock, str], Tail]
    withdrawn: frozenset[tuple[str, str]]


def is_vouched(negative: Fact, relation: str) -> bool:
    """Whether a bundled set knows the head and the tail of a false fact in a relation, could itself have drawn them, and no
    other set would not. relation: as the bundled sets name it.
    """
    known = _known()
    head, tail = spelling_key(negative.head), spelling_key(negative.tail or "")
    if (head, tail) in known.withdrawn:
        return False
    draws = known.heads.get((name_key(relation), head), set())
    found = [(stock, name, known.tails[stock, tail]) for stock, name in draws if (stock, tail) in known.tails]
    return bool(found) and all(_rules(stock, name).broken_by(candidate) is None for stock, name, candidate in found)


@keep(5_000)
def _rules(stock: _Stock, head: str) -> Rules:
    return Rules(load_bundled(stock.dataset).known, stock.relation, stock.tail_type, head)


@keep(1)
def _known() -> _Known:
    heads: defaultdict[tuple[str, str], set[tuple[_Stock, str]]] = defaultdict(set)
    tails: dict[tuple[_Stock, str], Tail] = {}
    withdrawn: set[tuple[str, str]] = set()
    everyday = _grouped((name, lay) for lay, name in lay_names())
    for dataset in bundled_names():
        collection = load_bundled(dataset)
        keys = {
            name: {spelling_key(other) for known in collection.known.names(name) for other in (known, *everyday.get(known, ()))}
            for fact in collection.known.facts
            for name in (fact.head, fact.tail or "")
        }
        for fact in collection.known.facts:
            stock = _Stock(dataset, fact.relation, fact.tail_type)
            for key in keys[fact.head]:
                heads[name_key(fact.relation), key].add((stock, fact.head))
            tails.update(((stock, key), Tail(fact.tail or "", fact.tail_id)) for key in keys[fact.tail or ""])
        withdrawn.update((spelling_key(fact.head), spelling_key(fact.tail or "")) for fact in collection.withdrawn)
    return _Known(heads, tails, frozenset(withdrawn))
