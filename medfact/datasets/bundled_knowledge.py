"""Knowledge of the bundled sets about the names of a user's table.

No draw calls false what a bundled set knows, and a bundled set may vouch for a drawn false partner.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import replace
from functools import cache

from medfact.caching import shared_cache
from medfact.datasets import semantic_types
from medfact.datasets.bundled import also_true, bundled_names, load_bundled
from medfact.datasets.close_relations import keeps_from_false
from medfact.datasets.collection import Collection
from medfact.datasets.names import Keys, called, is_common, may_mean, spelling_key, things
from medfact.datasets.validity import bound_or_once_true
from medfact.facts import ExternalKnowledge, Fact, KnowledgeBase, Tail, name_key
from medfact.negatives import draw_negatives
from medfact.negatives.rules import SafetyRules

_MAX_DRAWN = 20
"""Partners that a bundled set draws for a fact of a user's table, whose own tails may exclude some."""


def with_bundled_knowledge(collection: Collection, canonical: Callable[[str], str | None] = str) -> Collection:
    """The collection with the bundled sets' knowledge of its names in its relations, and in close ones (`close_relations`).

    Draws call nothing false that a bundled set knows, or considers too close to true. Returns the same collection if it has
    this knowledge already.

    Args:
        canonical: the meaning of the file's names of relations.
    """
    facts_of: defaultdict[str, list[Fact]] = defaultdict(list)
    for fact in collection.known.facts:
        facts_of[fact.relation].append(fact)
    external = tuple(_external(relation, canonical(relation) or relation, facts) for relation, facts in facts_of.items())
    if external == collection.known.external_knowledge:
        return collection
    return replace(collection, known=replace(collection.known, external_knowledge=external))


def _external(relation: str, meaning: str, facts: Sequence[Fact]) -> ExternalKnowledge:
    """The bundled sets' knowledge of a relation's names, and that of its facts about each other under other names."""
    heads, tails = (tuple(dict.fromkeys(filter(None, (getattr(fact, end) for fact in facts)))) for end in ("head", "tail"))
    tails_of = defaultdict[str, list[str]](list)
    for tail in tails:
        for thing in may_mean(tail):
            tails_of[thing].append(tail)
    links_of_file, file_tails = defaultdict[str, set[str]](set), defaultdict[str, set[str]](set)
    for fact in facts:
        file_tails[fact.head].add(fact.tail or "")
        for thing in things(fact.head) if fact.tail else ():
            links_of_file[thing].update(things(fact.tail or ""))
    links = [*(linked for name, linked in _linked().items() if keeps_from_false(name, meaning)), links_of_file]
    pairs: list[tuple[str, str]] = []
    for head in heads:
        linked = Keys().union(*(by_thing[thing] for thing in may_mean(head) for by_thing in links if thing in by_thing))
        barred = {tail for thing in linked & tails_of.keys() for tail in tails_of[thing]} - file_tails[head]
        pairs += ((head, tail) for tail in sorted(barred))
    listed_heads = _heads_in(meaning)
    familiar = tuple(head for head in heads if not listed_heads.isdisjoint(things(head)))
    common = tuple(tail for tail in tails if is_common(tail, meaning))
    vague = tuple(tail for tail in common if not called(tail))
    return ExternalKnowledge(relation, meaning, tuple(pairs), common, vague, familiar)


def bundled_partners(fact: Fact, known: KnowledgeBase, rejected: Set[str], seed: int, difficulty: str) -> Iterator[Fact]:
    """Yields false partners of a fact that the bundled sets would draw, if they know its head in its relation.

    Partners that the table lists for the head, under any name, are excluded.
    """
    meaning = next(
        (name_key(external.meaning) for external in known.external_knowledge if external.relation == fact.relation), None
    )
    heads = called(fact.head) if meaning else Keys()
    listed = Keys().union(*map(may_mean, (fact.head, *known.known_tails(fact.head, fact.relation))))
    for name in bundled_names() if heads else ():
        bundled = load_bundled(name).known
        facts = (other for head in sorted(heads) for other in bundled.facts_about(head) if name_key(other.relation) == meaning)
        if (first := next(facts, None)) is None:
            continue
        same = replace(first, fact_id=fact.fact_id)
        for drawn in draw_negatives(same, bundled, _MAX_DRAWN, seed, frozenset(rejected), difficulty):
            if drawn.tail is not None and listed.isdisjoint(may_mean(drawn.tail)):
                yield replace(fact.negative(drawn.tail, drawn.tail_id, drawn.k), difficulty=drawn.difficulty)


def are_linked(heads: Iterable[str], tails: Iterable[str]) -> bool:
    """Returns True if a bundled set links two things, in any relation and direction. Each has one or more names."""
    head_things, tail_things = (Keys().union(*map(things, names)) for names in (heads, tails))
    return any(not tail_things.isdisjoint(links.get(head, ())) for links in _linked().values() for head in head_things)


def prepare() -> None:
    """Loads the bundled sets' knowledge, which takes a second or two, before the first request."""
    _linked(), semantic_types.types_by_name(), semantic_types.types_of_ends()


@shared_cache(1)
def _linked() -> Mapping[str, Mapping[str, Keys]]:
    """Relation → thing → all things that a bundled set links to it, in either direction. "" means no particular relation."""
    linked: defaultdict[str, defaultdict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    for name in bundled_names():
        for head, relation, tail in _links(name):
            heads, tails, links = things(head), things(tail), linked[relation]
            for thing in heads:
                links[thing].update(tails)
            for thing in tails:
                links[thing].update(heads)
    return {relation: {thing: frozenset(others) for thing, others in links.items()} for relation, links in linked.items()}


def _links(name: str) -> Iterator[tuple[str, str, str]]:
    """Head, relation and tail of all that a bundled set knows, or considers too close to true; relation "" if it has none."""
    collection = load_bundled(name)
    bound = bound_or_once_true(collection.facts)
    links = [(fact.head, fact.relation, fact.tail) for fact in (*collection.known.facts, *bound) if fact.tail is not None]
    links += also_true(name)
    yield from links
    pairs = {(head, tail) for head, _, tail in links}
    yield from ((head, "", tail) for head, tail in collection.known.also_true if (head, tail) not in pairs)


@cache
def _heads_in(relation: str) -> Keys:
    """The things whose true tails in a relation the bundled sets list."""
    facts = semantic_types.bundled_facts()
    return frozenset(spelling_key(fact.head) for fact in facts if name_key(fact.relation) == name_key(relation))


# ------------------------------------------------------------------------------------------------ vouching

_Stock = tuple[str, str, str | None]
"""The candidates of a bundled set: its name, a relation, and the semantic type of the tails."""


def is_vouched(negative: Fact, relation: str) -> bool:
    """Returns True if a bundled set could itself have drawn a false fact, and no bundled set rules that out.

    Args:
        relation: as the bundled sets name it.
    """
    heads, tails, withdrawn = _stocks()
    pairs = [(head, tail) for head in things(negative.head) for tail in things(negative.tail or "")]
    candidates = [
        (stock, name, tails[stock, tail])
        for head, tail in pairs
        for stock, name in heads.get((name_key(relation), head), ())
        if (stock, tail) in tails
    ]
    if not candidates or not withdrawn.isdisjoint(pairs):
        return False
    return all(_rules(stock, name).broken_rule(candidate) is None for stock, name, candidate in candidates)


@shared_cache(5_000)
def _rules(stock: _Stock, head: str) -> SafetyRules:
    dataset, relation, tail_type = stock
    return SafetyRules(load_bundled(dataset).known, relation, tail_type, head)


@shared_cache(1)
def _stocks() -> tuple[
    Mapping[tuple[str, str], set[tuple[_Stock, str]]], Mapping[tuple[_Stock, str], Tail], frozenset[tuple[str, str]]
]:
    """Indices by thing: (relation, head) → stocks, each with the head's name; (stock, tail) → tail; withdrawn (head, tail)."""
    heads: defaultdict[tuple[str, str], set[tuple[_Stock, str]]] = defaultdict(set)
    tails: dict[tuple[_Stock, str], Tail] = {}
    sets = {name: load_bundled(name) for name in bundled_names()}
    for dataset, collection in sets.items():
        for fact in collection.known.facts:
            stock = (dataset, fact.relation, fact.tail_type)
            heads[name_key(fact.relation), spelling_key(fact.head)].add((stock, fact.head))
            tails[stock, spelling_key(fact.tail or "")] = Tail(fact.tail or "", fact.tail_id)
    withdrawn = (fact for collection in sets.values() for fact in collection.withdrawn)
    return heads, tails, frozenset((spelling_key(fact.head), spelling_key(fact.tail or "")) for fact in withdrawn)
