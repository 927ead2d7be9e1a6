"""Which facts are tested, which are kept aside for the shots, and which negatives come along."""

from __future__ import annotations

import heapq
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, islice
from typing import NamedTuple

from medfact.datasets.bundled import bundled_names
from medfact.datasets.bundled_knowledge import bundled_partners, is_vouched
from medfact.datasets.collection import Collection
from medfact.datasets.pairing import NOTHING_DECIDED, PartnerDecisions, place_of
from medfact.datasets.semantic_types import other_kind_notes, reversed_notes
from medfact.datasets.sources import has_source
from medfact.errors import Mistake
from medfact.facts import Fact, KnowledgeBase, digest, name_key
from medfact.negatives import ANY, difficulty_of, draw_negatives

FEWEST_HEADS = 10
"""A relation with fewer heads keeps none aside: its shots come from the bundled facts, if they have that relation."""

Canonical = Callable[[str], str | None]
"""A relation's name in the prototype pool, or None where there are no sentences for it."""

Held = Mapping[str, bool]
"""Id of a fact → whether reviewers hold it true; facts on which they have not decided are not in it."""

Group = tuple[Fact, ...]
"""A positive fact followed by its negatives."""


@dataclass(frozen=True)
class Selection:
    """test: facts under test, each positive one followed by its negatives. shots: facts kept aside, in the same order.

    without_negative: positive facts whose false partners had to be drawn, and could not be. population: relation → of how many
    positive facts those under test were drawn. shot_notes: of the shots, where some are shown.
    """

    test: tuple[Fact, ...]
    shots: tuple[Fact, ...]
    without_negative: tuple[Fact, ...]
    notes: tuple[str, ...]
    population: Mapping[str, int] = field(default_factory=dict)
    shot_notes: tuple[str, ...] = ()


def select(
    collection: Collection,
    *,
    negatives: int,
    held_out_heads: int,
    seed: int,
    heads_last: int = 0,
    difficulty: str = ANY,
    limit: int | None = None,
    per_relation: int | None = None,
    canonical: Canonical = lambda relation: relation,
    one_tail: bool = False,
    decided: PartnerDecisions = NOTHING_DECIDED,
    held: Held | None = None,
    sourced: bool = False,
    lender: Collection | None = None,
) -> Selection:
    """Draws the facts under test: evenly over relations and heads, and nested: the first 100 are among the first 200.

    negatives: per positive fact, of shots at least one; those that the file pairs with it count. difficulty: of drawn ones
    (`negatives.PREFERENCES`). heads_aside: heads per relation kept for the shots; heads_last: tested instead, after all others.
    limit, per_relation: positive facts with all their negatives, and of their heads the unpaired ones; None: all not aside.
    canonical: a relation's name in the pool; others are left out. decided: what a person said of drawn ones. held: only facts
    that reviewers hold so; sourced: that a source states. one_tail: one per head and relation. lender: of missing shots.
    """
    limited, stated = _is_limited(limit, per_relation), _stated(collection, negatives, canonical, seed, one_tail)
    relation, head = _relation_names(canonical), _head_keys(stated, collection.known)
    loans = _loans(stated, lender, max(negatives, 1), held_out_heads or heads_last, seed, difficulty, relation, decided)
    aside = _heads_aside(stated, held_out_heads or heads_last, seed, frozenset(loans), relation, head)
    free, last, shots = _parts(stated, lambda fact: head(fact) in aside[relation(fact)], bool(held_out_heads), sourced)
    group, shown = (grouping(collection, k, seed, difficulty, decided, canonical) for k in (negatives, max(negatives, 1)))
    testable = _testable(group, negatives + 1 if limited else 1, collection.ready, held)
    chosen = list(islice(_even_groups([free, last], seed, testable, relation, per_relation), limit))
    incomplete = (one[0] for one in chosen if len(one) <= negatives) if chosen or held is not None else [*free, *last]
    lone = [f for f in _stating(_lone(stated, held), sourced) if limited or head(f) not in aside[relation(f)]]
    return Selection(
        test=(*chain(*chosen), *_of_known_difficulty(_of_the_heads(lone, chosen) if limited else lone, collection.known)),
        shots=tuple(chain(*map(shown, shots), *chain(*loans.values() if held_out_heads else ()))),
        without_negative=(lacking := lacking_of(incomplete, collection, negatives)).to_be_drawn,
        notes=tuple(fact_notes(collection, canonical, lacking, negatives)),
        shot_notes=tuple(shot_notes(loans, aside, held_out_heads)),
        population=_population(free, last, chosen, limited),
    )


def _lone(stated: Iterable[Fact], held: Held | None) -> list[Fact]:
    """The false facts that are nobody's partner, of those that reviewers hold so."""
    return [fact for fact in stated if not fact.positive and fact.negative_of is None and _confirmed([fact], held)]


def _stating(facts: list[Fact], sourced: bool) -> list[Fact]:
    """Those of the facts that a source states, where that is asked."""
    return list(filter(has_source, facts)) if sourced else facts


def _parts(
    stated: Sequence[Fact], is_aside: Callable[[Fact], bool], keeps: bool, sourced: bool
) -> tuple[list[Fact], list[Fact], list[Fact]]:
    """The positive facts: those to be tested first, those to be tested last, and those kept for the shots."""
    free, kept = ([fact for fact in stated if fact.positive and is_aside(fact) is apart] for apart in (False, True))
    return _stating(free, sourced), [] if keeps else _stating(kept, sourced), kept if keeps else []


def _is_limited(limit: int | None, per_relation: int | None) -> bool:
    """Whether not all facts are tested. Raises Mistake."""
    for name, number in (("limit", limit), ("number per relation", per_relation)):
        if number is not None and number < 1:
            raise Mistake(f"The {name} is {number}.", "Give a number of facts, 1 or more.")
    return bool(limit or per_relation)


def _stated(collection: Collection, negatives: int, canonical: Canonical, seed: int, one_tail: bool) -> list[Fact]:
    """Those of the facts that have a ready sentence or prototypes; with `one_tail`, one per head and relation."""
    every = collection.stated(negatives)
    facts = [fact for fact in every if fact.fact_id in collection.ready or canonical(fact.relation) is not None]
    return _with_one_tail(facts, seed) if one_tail else facts


def _with_one_tail(facts: Sequence[Fact], seed: int) -> list[Fact]:
    """One positive fact per head and relation, with the negatives that the file pairs with it."""
    best: dict[tuple[str, str | None, str], tuple[bool, str, str]] = {}
    for fact in facts:
        if fact.positive and fact.tail is not None:
            itself = name_key(fact.tail) == name_key(fact.head)
            rank = (itself, digest(str(seed), "one tail", fact.fact_id), fact.fact_id)
            key = (fact.head, fact.head_id, fact.relation)
            best[key] = min(best.get(key, rank), rank)
    chosen = {rank[2] for rank in best.values()}
    return [fact for fact in facts if (fact.fact_id if fact.positive else fact.negative_of) in chosen]


def grouping(
    collection: Collection,
    negatives: int,
    seed: int,
    difficulty: str,
    decided: PartnerDecisions = NOTHING_DECIDED,
    canonical: Canonical = lambda relation: relation,
) -> Callable[[Fact], Group]:
    """A function from a positive fact to its group: with the file's own negatives if there are enough, else with drawn ones.

    What the file calls false of a head besides is not drawn: it is asked anyway. A negative is a group of its own. What has
    been withdrawn is not drawn either, and a fact that was paired with it has no partner instead. Of a user's table, what is
    drawn is presumed false unless a bundled set, a source or the person vouches for it. canonical: as `select` has it.
    """
    paired = _paired_negatives(collection.stated(negatives))
    stated = _false_tails((*collection.facts, *collection.withdrawn))
    lost, is_own = lost_partner_in(collection, negatives), collection.name not in bundled_names()

    def checked(negative: Fact) -> Fact:
        is_checked = (
            negative.source
            or decided.confirms(negative)
            or is_vouched(negative, canonical(negative.relation) or negative.relation)
        )
        return negative if is_checked else replace(negative, presumed=True)

    def group(fact: Fact) -> Group:
        if not fact.positive:
            return tuple(_of_known_difficulty([fact], collection.known))
        own = paired.get(fact.fact_id, [])[:negatives]
        if len(own) == negatives or fact.fact_id in collection.ready or fact.fact_id in lost:
            return (fact, *_of_known_difficulty(own, collection.known))
        asked_anyway = stated.get(place_of(fact), frozenset()) - {negative.tail for negative in own}
        barred = decided.rejected_tails(fact, collection.known) | asked_anyway
        drawn = draw_negatives(fact, collection.known, negatives, seed, barred, difficulty)
        if len(drawn) < negatives and not own and fact.tail_type is None:
            taken = barred.union(one.tail for one in drawn if one.tail)
            more = islice(bundled_partners(fact, collection.known, taken, seed, difficulty), negatives - len(drawn))
            drawn = (*drawn, *(replace(one, k=number, fact_id="") for number, one in enumerate(more, len(drawn) + 1)))
        drawn = tuple(map(checked, drawn)) if is_own else drawn
        return (fact, *(drawn or _of_known_difficulty(own, collection.known)))

    return group


def lost_partner_in(collection: Collection, negatives: int) -> frozenset[str]:
    """Ids of the positive facts whose partner has been withdrawn. Where several partners are asked for, all are drawn."""
    return frozenset(fact.negative_of for fact in collection.withdrawn if fact.negative_of) if negatives == 1 else frozenset()


def _of_known_difficulty(negatives: Iterable[Fact], known: KnowledgeBase) -> Iterator[Fact]:
    """The negatives that a file states, with their difficulty."""
    return (replace(negative, difficulty=difficulty_of(negative, known)) for negative in negatives)


def _testable(
    group: Callable[[Fact], Group], fewest: int, ready: Mapping[str, str], held: Held | None
) -> Callable[[Fact], Group | None]:
    """A function from a positive fact to its group, or None if that has fewer than `fewest` facts and no ready sentence, or
    reviewers have not confirmed it.
    """

    def testable(fact: Fact) -> Group | None:
        members = group(fact)
        whole = len(members) >= fewest or fact.fact_id in ready
        return members if whole and _confirmed(members, held) else None

    return testable


def _confirmed(facts: Iterable[Fact], held: Held | None) -> bool:
    """Whether reviewers hold all these facts as they are labelled; any facts where nobody asks for that."""
    return held is None or all(held.get(fact.fact_id) is fact.positive for fact in facts)


def _population(free: Sequence[Fact], last: Sequence[Fact], chosen: Iterable[Group], limited: bool) -> Counter[str]:
    """Relation → of how many facts the chosen ones are a draw; those tested last are among them only where it came to any."""
    tested = {one[0].fact_id: one[0] for one in chosen}
    reached = {fact.relation for fact in last if fact.fact_id in tested}
    drawn_from = (*free, *(fact for fact in last if fact.relation in reached)) if limited else tested.values()
    return Counter(fact.relation for fact in drawn_from)


def _even_groups(
    parts: Iterable[Iterable[Fact]],
    seed: int,
    testable: Callable[[Fact], Group | None],
    relation: Callable[[Fact], str],
    per_relation: int | None,
) -> Iterator[Group]:
    """Testable groups, all of the first part before any of the second: from each relation in turn; heads with the fewest facts
    of a part so far come first.
    """
    drawn: Counter[str] = Counter()
    for facts in parts:
        queues: defaultdict[str, list[tuple[int, str, Fact]]] = defaultdict(list)
        for fact in facts:
            queues[relation(fact)].append((0, digest(str(seed), fact.fact_id), fact))
        for queue in queues.values():
            queue.sort(key=lambda entry: entry[:2])
        visits: Counter[str] = Counter()
        turns = sorted((name for name in queues if drawn[name] != per_relation), key=lambda name: digest(str(seed), name))
        while turns:
            for name in list(turns):
                members = _next_group(queues[name], visits, testable)
                if members is not None:
                    visits[name_key(members[0].head)] += 1
                    drawn[name] += 1
                    yield members
                if members is None or drawn[name] == per_relation:
                    turns.remove(name)


def _next_group(
    queue: list[tuple[int, str, Fact]], visits: Counter[str], testable: Callable[[Fact], Group | None]
) -> Group | None:
    """The first testable group; None when the queue is empty."""
    while queue:
        if members := testable(_least_visited(queue, visits)):
            return members
    return None


def _least_visited(queue: list[tuple[int, str, Fact]], visits: Counter[str]) -> Fact:
    """Pops a fact whose head has the fewest visits. An entry with an outdated count goes back with the current one."""
    while True:
        count, key, fact = heapq.heappop(queue)
        now = visits[name_key(fact.head)]
        if now == count:
            return fact
        heapq.heappush(queue, (now, key, fact))


def _head_keys(facts: Iterable[Fact], known: KnowledgeBase) -> Callable[[Fact], str]:
    """A function from a fact to the key of its head: the alphabetically first of all names that the facts give that head."""
    first: dict[str, str] = {}
    for fact in facts:
        entity, key = known.entity(fact.head), name_key(fact.head)
        first[entity] = min(first.get(entity, key), key)
    return lambda fact: first[known.entity(fact.head)]


def _relation_names(canonical: Canonical) -> Callable[[Fact], str]:
    """A fact's relation by its name in the pool, or else in the file."""
    return lambda fact: canonical(fact.relation) or fact.relation


def _heads_of(
    facts: Iterable[Fact], relation: Callable[[Fact], str], head: Callable[[Fact], str] = lambda fact: name_key(fact.head)
) -> dict[str, set[str]]:
    """relation → keys of the heads of its positive facts."""
    heads: defaultdict[str, set[str]] = defaultdict(set)
    for fact in facts:
        if fact.positive:
            heads[relation(fact)].add(head(fact))
    return heads


def _ranked(heads: Iterable[str], relation: str, seed: int) -> list[str]:
    return sorted(heads, key=lambda head: digest(str(seed), "aside", relation, head))


def _heads_aside(
    facts: Sequence[Fact],
    count: int,
    seed: int,
    lent: frozenset[str],
    relation: Callable[[Fact], str],
    head: Callable[[Fact], str],
) -> defaultdict[str, frozenset[str]]:
    """Relation → keys of its heads kept aside: `count`, at most half of few heads, none if its shots are lent."""
    aside: defaultdict[str, frozenset[str]] = defaultdict(frozenset)
    for name, heads in _heads_of(facts, relation, head).items():
        few = len(heads) < max(FEWEST_HEADS, count + 1)
        number = 0 if name in lent else min(count, len(heads) // 2) if few else count
        aside[name] = frozenset(_ranked(heads, name, seed)[:number])
    return aside


def _loans(
    facts: Sequence[Fact],
    lender: Collection | None,
    negatives: int,
    count: int,
    seed: int,
    difficulty: str,
    relation: Callable[[Fact], str],
    decided: PartnerDecisions,
) -> dict[str, list[Group]]:
    """Relation with too few heads → groups of the lender's facts of that relation, under `count` heads that are not ours."""
    if lender is None or count == 0:
        return {}
    known = lender.known
    ours = {known.entity(fact.head) for fact in facts}
    loans = {}
    for name, heads in _heads_of(facts, relation).items():
        if len(heads) >= max(FEWEST_HEADS, count + 1):
            continue
        lent = [f for f in lender.facts if f.positive and relation(f) == name and known.entity(f.head) not in ours]
        chosen = set(_ranked({name_key(fact.head) for fact in lent}, name, seed)[:count])
        groups = [
            (f, *draw_negatives(f, known, negatives, seed, decided.rejected_tails(f, known), difficulty))
            for f in lent
            if name_key(f.head) in chosen
        ]
        if groups:
            loans[name] = groups
    return loans


def _paired_negatives(facts: Iterable[Fact]) -> defaultdict[str, list[Fact]]:
    """Id of a positive fact → the negatives that the file pairs with it."""
    paired: defaultdict[str, list[Fact]] = defaultdict(list)
    for fact in facts:
        if fact.negative_of is not None:
            paired[fact.negative_of].append(fact)
    return paired


def _false_tails(facts: Iterable[Fact]) -> dict[tuple[str, ...], frozenset[str]]:
    """Place (`pairing.place_of`) → the tails that the file calls false of it."""
    tails: defaultdict[tuple[str, ...], set[str]] = defaultdict(set)
    for fact in facts:
        if not fact.positive and fact.tail is not None:
            tails[place_of(fact)].add(fact.tail)
    return {key: frozenset(names) for key, names in tails.items()}


def _of_the_heads(lone: Iterable[Fact], chosen: Iterable[Group]) -> list[Fact]:
    """The negatives whose head and relation have a fact under test."""
    tested = {place_of(fact) for fact, *_ in chosen}
    return [fact for fact in lone if place_of(fact) in tested]


class Lacking(NamedTuple):
    """Positive facts with too few false partners: those that are ready statements, those whose partner has been withdrawn,
    those of whose head and relation the file itself calls something false, and those whose partners all had to be drawn.
    """

    ready: tuple[Fact, ...]
    withdrawn: tuple[Fact, ...]
    written: tuple[Fact, ...]
    to_be_drawn: tuple[Fact, ...]


def lacking_of(incomplete: Iterable[Fact], collection: Collection, negatives: int) -> Lacking:
    """These facts, by where their false partners would come from."""
    false_of = {place_of(fact) for fact in collection.facts if not fact.positive}
    lost = lost_partner_in(collection, negatives)
    ready, others = partition(incomplete, lambda fact: fact.fact_id in collection.ready)
    withdrawn, others = partition(others, lambda fact: fact.fact_id in lost)
    return Lacking(ready, withdrawn, *partition(others, lambda fact: place_of(fact) in false_of))


def partition(facts: Iterable[Fact], holds: Callable[[Fact], bool]) -> tuple[tuple[Fact, ...], tuple[Fact, ...]]:
    """The facts of which something holds, and the others."""
    facts = tuple(facts)
    return tuple(filter(holds, facts)), tuple(fact for fact in facts if not holds(fact))


def fact_notes(
    collection: Collection, canonical: Callable[[str], str | None], lacking: Lacking, negatives: int
) -> Iterator[str]:
    """What is left out, seems reversed, or lacks false partners."""
    unready = [fact for fact in collection.facts if fact.fact_id not in collection.ready]
    missing = Counter(fact.relation for fact in unready if canonical(fact.relation) is None)
    for relation, number in missing.items():
        left_out = "1 fact is" if number == 1 else f"{number} facts are"
        yield f"We have no sentences for “{relation}” yet: {left_out} left out."
    if collection.name not in bundled_names():
        yield from reversed_notes(unready, canonical)
        yield from other_kind_notes(unready, canonical)
    yield from _notes_on_negatives(lacking, negatives)


def _notes_on_negatives(lacking: Lacking, negatives: int) -> Iterator[str]:
    too_few = "too few other tails of the same type are left"
    asked = "a false partner" if negatives == 1 else f"{negatives} false partners"
    told = (
        (lacking.to_be_drawn, "fact has", "facts have", f"no safe false partner: {too_few}."),
        (
            lacking.written,
            "fact has beside it",
            "facts have beside them",
            f"only what the file itself calls false: {too_few} for {asked}.",
        ),
        (
            lacking.withdrawn,
            "fact has",
            "facts have",
            "no false partner: the data set has withdrawn it, and it has no replacement.",
        ),
        (
            lacking.ready,
            "ready statement comes",
            "ready statements come",
            f"with fewer than {negatives} false ones; none are drawn.",
        ),
    )
    for facts, one, several, what in told:
        if facts:
            yield f"{len(facts)} {one if len(facts) == 1 else several} {what}"


def shot_notes(loans: Iterable[str], aside: Mapping[str, frozenset[str]], count: int) -> Iterator[str]:
    """Which relations borrow their shots, or have fewer. loans: those that borrow; aside: relation → its heads kept aside."""
    for relation in loans:
        yield f"{relation!r} has too few heads to keep {count} aside: its shots come from the bundled facts."
    for relation, heads in aside.items():
        if relation not in loans and len(heads) < count:
            yield f"{relation!r} has too few heads to keep {count} aside: it keeps {len(heads)}, for fewer shots."
