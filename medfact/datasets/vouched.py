"""Who vouches for a drawn false partner of a user's table: a bundled set that could have drawn it, or a person who read it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

from medfact.datasets.bundled import bundled_names, load_bundled
from medfact.datasets.names import spelling_key, things
from medfact.datasets.pairing import bounds_of
from medfact.facts import Fact, KnowledgeBase, Tail, name_key
from medfact.kept import keep
from medfact.negatives.rules import Rules


def relation_within_bounds(fact: Fact) -> str:
    """The relation of a fact, with the region and the population that it is said of."""
    return "; ".join((fact.relation, *bounds_of(fact)))


def triplet_key(head: str, relation: str, tail: str) -> tuple[str, str, str]:
    """A triplet under one spelling of its names. relation: as `relation_within_bounds` has it."""
    return name_key(head), name_key(relation), name_key(tail)


@dataclass(frozen=True)
class PartnerDecisions:
    """What a person said of false partners: about triplets, whatever file they stand in and whatever their ids are.

    rejected: (head under one spelling, tail): that can be true, so no draw calls it false. The id of a true fact stands for
    its head where that was not recorded. confirmed: keys of triplets that are false.
    """

    rejected: frozenset[tuple[str, str]] = frozenset()
    confirmed: frozenset[tuple[str, str, str]] = frozenset()

    def rejected_tails(self, fact: Fact, known: KnowledgeBase | None = None) -> frozenset[str]:
        """The tails that are not drawn for the head of a fact. known: has other names of the head and of the tails."""
        heads = {fact.negative_of or fact.fact_id, *map(name_key, known.names(fact.head) if known else [fact.head])}
        tails = (tail for head, tail in self.rejected if head in heads)
        return frozenset[str]().union(*(known.names(tail) if known else (name_key(tail),) for tail in tails))

    def rejects(self, negative: Fact) -> bool:
        """Whether the person said that this can be true."""
        return name_key(negative.tail or "") in self.rejected_tails(negative)

    def confirms(self, negative: Fact) -> bool:
        """Whether the person said that this is false."""
        return triplet_key(negative.head, relation_within_bounds(negative), negative.tail or "") in self.confirmed


NOTHING_DECIDED = PartnerDecisions()


_Stock = tuple[str, str, str | None]
"""Where a bundled set draws from: its name, a relation, and the semantic type of the tails."""


def is_vouched(negative: Fact, relation: str) -> bool:
    """Whether a bundled set knows the head and the tail of a false fact in a relation, could itself have drawn them, and no
    other set would not. relation: as the bundled sets name it.
    """
    heads, tails, withdrawn = _drawn_from()
    pairs = [(head, tail) for head in things(negative.head) for tail in things(negative.tail or "")]
    candidates = [
        (stock, name, tails[stock, tail])
        for head, tail in pairs
        for stock, name in heads.get((name_key(relation), head), ())
        if (stock, tail) in tails
    ]
    if not candidates or not withdrawn.isdisjoint(pairs):
        return False
    return all(_rules(stock, name).broken_by(candidate) is None for stock, name, candidate in candidates)


@keep(5_000)
def _rules(stock: _Stock, head: str) -> Rules:
    dataset, relation, tail_type = stock
    return Rules(load_bundled(dataset).known, relation, tail_type, head)


@keep(1)
def _drawn_from() -> tuple[
    Mapping[tuple[str, str], set[tuple[_Stock, str]]], Mapping[tuple[_Stock, str], Tail], frozenset[tuple[str, str]]
]:
    """(Relation, head) → where tails are drawn from, and the head's name there; (that place, tail) → the tail; and (head, tail)
    of what a set no longer calls false. Heads and tails are things of `names`.
    """
    heads: defaultdict[tuple[str, str], set[tuple[_Stock, str]]] = defaultdict(set)
    tails: dict[tuple[_Stock, str], Tail] = {}
    sets = {name: load_bundled(name) for name in bundled_names()}
    for dataset, collection in sets.items():
        for fact in collection.known.facts:
            stock = (dataset, fact.relation, fact.tail_type)
            heads[name_key(fact.relation), spelling_key(fact.head)].add((stock, fact.head))
            tails[stock, spelling_key(fact.tail or "")] = Tail(fact.tail or "", fact.tail_id)
    gone = (fact for collection in sets.values() for fact in collection.withdrawn)
    return heads, tails, frozenset((spelling_key(fact.head), spelling_key(fact.tail or "")) for fact in gone)
