"""Which facts are tested, which are kept aside for the shots, and which negatives come along."""

from __future__ import annotations

import heapq
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

from medfact.datasets.collection import Collection
from medfact.errors import Mistake
from medfact.facts import Fact, KnowledgeBase, digest, name_key
from medfact.negatives import draw_negatives

FEWEST_HEADS = 10
"""A relation with fewer heads is too small to keep heads aside: its shots come from the bundled facts where they can."""

Canonical = Callable[[str], str | None]
"""A relation's name in the prototype pool, or None where the pool has no prototypes for it."""

Rejections = Mapping[str, frozenset[str]]
"""Id of a positive fact → names of tails that a reviewer has rejected as its false partners."""

NO_REJECTIONS: Rejections = {}

Group = tuple[Fact, ...]
"""A positive fact followed by its negatives."""


@dataclass(frozen=True)
class Selection:
    """test: facts under test, each positive one followed by its negatives. shots: facts kept aside, likewise.

    without_negative: positive facts for which fewer safe tails were left than the protocol asks for.
    """

    test: tuple[Fact, ...]
    shots: tuple[Fact, ...]
    without_negative: tuple[Fact, ...]
    notes: tuple[str, ...]


def select(
    collection: Collection,
    *,
    negatives: int,
    heads_aside: int,
    seed: int,
    limit: int | None = None,
    per_relation: int | None = None,
    canonical: Canonical = lambda relation: relation,
    one_tail: bool = False,
    rejected: Rejections = NO_REJECTIONS,
    lender: Collection | None = None,
) -> Selection:
    """Chooses facts by a seeded draw: even over relations, one fact per head before a second, and nested, so that the
    first 100 are among the first 200.

    Args:
        negatives: negative facts per positive one; a file's own, paired ones count.
        heads_aside: heads per relation that are kept aside for the shots.
        limit, per_relation: how many positive facts that have all their negatives, in all and of each relation; None
            takes every fact, those without a negative too.
        canonical: a relation's name in the pool; facts whose relation has none are left out, and a note says so.
        one_tail: whether one tail per head and relation is taken, by a seeded draw; itself only where there is no other.
        rejected: tails that are not to be drawn.
        lender: where a relation with fewer than FEWEST_HEADS heads finds its shots, if it has that relation.
    """
    for name, number in (("limit", limit), ("number per relation", per_relation)):
        if number is not None and number < 1:
            raise Mistake(f"The {name} is {number}.", "Give a number of facts, 1 or more.")
    stated = [fact for fact in collection.facts if fact.text is not None or canonical(fact.relation) is not None]
    if one_tail:
        stated = _with_one_tail(stated, seed)

    def relation(fact: Fact) -> str:
        return canonical(fact.relation) or fact.relation

    head = _head_keys(stated, collection.known)
    loans = _loans(stated, lender, heads_aside, relation)
    aside = _heads_aside(stated, heads_aside, seed, frozenset(loans), relation, head)
    group = grouping(collection, negatives, seed, rejected)
    fewest = negatives + 1 if limit or per_relation else 1
    free = [f for f in stated if f.positive and head(f) not in aside[relation(f)]]
    chosen = list(islice(_even_groups(free, seed, group, fewest, relation, per_relation), limit))
    kept = [group(f) for f in stated if f.positive and head(f) in aside[relation(f)]]
    borrowed = _borrowed(loans, lender, negatives, heads_aside, seed)
    without = tuple(members[0] for members in chosen if len(members) <= negatives and members[0].text is None)
    fewer = sum(members[0].text is not None and len(members) <= negatives for members in chosen)
    test = [fact for members in chosen for fact in members]
    return Selection(
        test=(*test, *_lone_negatives(stated, test)),
        shots=tuple(fact for members in (*kept, *borrowed) for fact in members),
        without_negative=without,
        notes=(
            *_notes(collection, canonical, without, loans, aside, heads_aside),
            *([f"{fewer} ready statements come with fewer than {negatives} false ones; none are drawn."] if fewer else []),
        ),
    )


def _with_one_tail(facts: Sequence[Fact], seed: int) -> list[Fact]:
    """One positive fact per head and relation, with the file's own negatives of it."""
    best: dict[tuple[str, str | None, str], tuple[bool, str, str]] = {}
    for fact in facts:
        if fact.positive and fact.tail is not None:
            itself = name_key(fact.tail) == name_key(fact.head)
            rank = (itself, digest(str(seed), "one tail", fact.fact_id), fact.fact_id)
            key = (fact.head, fact.head_id, fact.relation)
            best[key] = min(best.get(key, rank), rank)
    taken = {rank[2] for rank in best.values()}
    return [fact for fact in facts if (fact.fact_id if fact.positive else fact.negative_of) in taken]


def grouping(
    collection: Collection, negatives: int, seed: int, rejected: Rejections = NO_REJECTIONS
) -> Callable[[Fact], Group]:
    """A function from a positive fact to its group: with the file's own negatives where there are enough, else drawn ones."""
    own = _given_negatives(collection.facts)

    def group(fact: Fact) -> Group:
        given = own.get(fact.fact_id, [])[:negatives]
        if len(given) == negatives or fact.text is not None:
            return (fact, *given)
        barred = rejected.get(fact.fact_id, frozenset())
        return (fact, *(draw_negatives(fact, collection.known, negatives, seed, barred).negatives or given))

    return group


def _even_groups(
    facts: Iterable[Fact],
    seed: int,
    group: Callable[[Fact], Group],
    fewest: int,
    relation: Callable[[Fact], str],
    per_relation: int | None,
) -> Iterator[Group]:
    """Groups of at least `fewest` facts, one relation after the other in turn; heads that were visited least come first."""
    queues: defaultdict[str, list[tuple[int, str, Fact]]] = defaultdict(list)
    for fact in facts:
        queues[relation(fact)].append((0, digest(str(seed), fact.fact_id), fact))
    for queue in queues.values():
        queue.sort(key=lambda entry: entry[:2])
    visits: Counter[str] = Counter()
    taken: Counter[str] = Counter()
    turns = sorted(queues, key=lambda name: digest(str(seed), name))
    while turns:
        for name in list(turns):
            members = _next_group(queues[name], visits, group, fewest)
            if members is not None:
                visits[name_key(members[0].head)] += 1
                taken[name] += 1
                yield members
            if members is None or taken[name] == per_relation:
                turns.remove(name)


def _next_group(
    queue: list[tuple[int, str, Fact]], visits: Counter[str], group: Callable[[Fact], Group], fewest: int
) -> Group | None:
    """The first group that is large enough; None when the queue is used up."""
    while queue:
        members = group(_least_visited(queue, visits))
        if len(members) >= fewest or members[0].text is not None:
            return members
    return None


def _least_visited(queue: list[tuple[int, str, Fact]], visits: Counter[str]) -> Fact:
    """Takes a fact whose head has the fewest visits off the heap; a stale count is renewed and put back."""
    while True:
        count, key, fact = heapq.heappop(queue)
        now = visits[name_key(fact.head)]
        if now == count:
            return fact
        heapq.heappush(queue, (now, key, fact))


def _head_keys(facts: Iterable[Fact], known: KnowledgeBase) -> Callable[[Fact], str]:
    """A function from a fact to the key of its head: the first of all names under which the same head stands in the facts."""
    first: dict[str, str] = {}
    for fact in facts:
        entity, key = known.entity(fact.head), name_key(fact.head)
        first[entity] = min(first.get(entity, key), key)
    return lambda fact: first[known.entity(fact.head)]


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
    """relation → keys of the heads kept aside: `count`, half of them where heads are few, none where shots are lent."""
    aside: defaultdict[str, frozenset[str]] = defaultdict(frozenset)
    for name, heads in _heads_of(facts, relation, head).items():
        few = len(heads) < max(FEWEST_HEADS, count + 1)
        take = 0 if name in lent else min(count, len(heads) // 2) if few else count
        aside[name] = frozenset(_ranked(heads, name, seed)[:take])
    return aside


def _loans(
    facts: Sequence[Fact], lender: Collection | None, count: int, relation: Callable[[Fact], str]
) -> dict[str, list[Fact]]:
    """relation with too few heads → the lender's positive facts of that relation, under heads that are not ours."""
    if lender is None or count == 0:
        return {}
    ours = {lender.known.entity(fact.head) for fact in facts}
    loans = {}
    for name, heads in _heads_of(facts, relation).items():
        if len(heads) < max(FEWEST_HEADS, count + 1):
            found = [f for f in lender.facts if f.positive and relation(f) == name and lender.known.entity(f.head) not in ours]
            if found:
                loans[name] = found
    return loans


def _borrowed(
    loans: dict[str, list[Fact]], lender: Collection | None, negatives: int, count: int, seed: int
) -> Iterator[Group]:
    for name, found in loans.items():
        heads = set(_ranked({name_key(fact.head) for fact in found}, name, seed)[:count])
        for fact in found:
            if lender is not None and name_key(fact.head) in heads:
                yield (fact, *draw_negatives(fact, lender.known, negatives, seed).negatives)


def _given_negatives(facts: Iterable[Fact]) -> defaultdict[str, list[Fact]]:
    """Id of a positive fact → the negatives that the file itself pairs with it."""
    given: defaultdict[str, list[Fact]] = defaultdict(list)
    for fact in facts:
        if fact.negative_of is not None:
            given[fact.negative_of].append(fact)
    return given


def _lone_negatives(facts: Iterable[Fact], test: Sequence[Fact]) -> Iterator[Fact]:
    """A file's negatives that are paired with no positive fact come along with a tested fact of their head and relation."""
    tested = {(fact.head, fact.relation) for fact in test}
    for fact in facts:
        if not fact.positive and fact.negative_of is None and (fact.head, fact.relation) in tested:
            yield fact


def _notes(
    collection: Collection,
    canonical: Canonical,
    without: Sequence[Fact],
    loans: dict[str, list[Fact]],
    aside: dict[str, frozenset[str]],
    count: int,
) -> Iterator[str]:
    unstated = (fact for fact in collection.facts if fact.text is None)
    missing = Counter(fact.relation for fact in unstated if canonical(fact.relation) is None)
    for relation, number in missing.items():
        yield f"The pool has no prototypes for {relation!r}: {number} facts are left out."
    if without:
        yield f"{len(without)} facts have no safe false partner: too few other tails of the same type are left."
    for relation in loans:
        yield f"{relation!r} has too few heads to keep {count} aside: its shots come from the bundled facts."
    for relation, heads in aside.items():
        if relation not in loans and len(heads) < count:
            yield f"{relation!r} has too few heads to keep {count} aside: {len(heads)} are kept, for fewer shots."
