"""What the bundled sets know of the names of a user's table: no draw calls that false; and which relations are the wrong way
round, by the kinds of their names ("gout, may treat, allopurinol").
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set, Sized
from dataclasses import replace
from functools import cache

from medfact.assets import table_words
from medfact.datasets.bundled import also_true, bundled_names, load_bundled
from medfact.datasets.close_relations import keeps_from_false
from medfact.datasets.collection import Collection
from medfact.datasets.holding import bound_or_once_true
from medfact.datasets.names import Keys, called, is_common, may_mean, spelling_key, things
from medfact.facts import Elsewhere, Fact, KnowledgeBase, name_key
from medfact.kept import keep
from medfact.negatives import draw_negatives

Kinds = frozenset[str]


def with_bundled_knowledge(collection: Collection, canonical: Callable[[str], str | None] = str) -> Collection:
    """The collection, whose draws call nothing false that a bundled set knows, or holds too close to true, in the same relation
    or in a close one (`close_relations`). canonical: what the file's names of relations mean. The same collection where it
    says so already.
    """
    facts_of: defaultdict[str, list[Fact]] = defaultdict(list)
    for fact in collection.known.facts:
        facts_of[fact.relation].append(fact)
    known = tuple(_known_of(relation, canonical(relation) or relation, facts) for relation, facts in facts_of.items())
    if known == collection.known.elsewhere:
        return collection
    return replace(collection, known=replace(collection.known, elsewhere=known))


def _known_of(relation: str, meaning: str, facts: Sequence[Fact]) -> Elsewhere:
    """What the bundled sets know of the names of a relation's facts, and these facts of each other under other names."""
    heads, tails = (tuple(dict.fromkeys(filter(None, (getattr(fact, end) for fact in facts)))) for end in ("head", "tail"))
    close = [linked for known_in, linked in _linked().items() if keeps_from_false(known_in, meaning)]
    tails_of = defaultdict[str, list[str]](list)
    for tail in tails:
        for thing in may_mean(tail):
            tails_of[thing].append(tail)
    listed, own = defaultdict[str, set[str]](set), defaultdict[str, set[str]](set)
    calls = {head: (things(head), may_mean(head)) for head in heads}
    for fact in facts:
        own[fact.head].add(fact.tail or "")
        for thing in calls[fact.head][0] if fact.tail else ():
            listed[thing].update(things(fact.tail or ""))
    pairs: list[tuple[str, str]] = []
    for head in heads:
        known = Keys().union(*(of[thing] for thing in calls[head][1] for of in (*close, listed) if thing in of))
        barred = sorted({tail for thing in known & tails_of.keys() for tail in tails_of[thing]} - own[head])
        pairs += ((head, tail) for tail in barred)
    listing = _heads_in(meaning)
    familiar = tuple(head for head in heads if not listing.isdisjoint(calls[head][0]))
    common = tuple(tail for tail in tails if is_common(tail, meaning))
    vague = tuple(tail for tail in common if not called(tail))
    return Elsewhere(relation, meaning, tuple(pairs), common, vague, familiar)


_MOST_TRIED = 20
"""Partners that a bundled set draws for a fact of a user's table, of which its own tails may bar some."""


def bundled_partners(fact: Fact, known: KnowledgeBase, rejected: Set[str], seed: int, difficulty: str) -> Iterator[Fact]:
    """False partners of a fact that the bundled sets themselves would draw, where they know its head in its relation. None is
    what its table lists for the head, under any name.
    """
    meaning = next((name_key(one.meaning) for one in known.elsewhere if one.relation == fact.relation), None)
    heads = called(fact.head) if meaning else Keys()
    listed = Keys().union(*map(may_mean, (fact.head, *known.known_tails(fact.head, fact.relation))))
    for name in bundled_names() if heads else ():
        theirs = load_bundled(name).known
        facts = (one for head in sorted(heads) for one in theirs.facts_of(head) if name_key(one.relation) == meaning)
        if (first := next(facts, None)) is None:
            continue
        asked = replace(first, fact_id=fact.fact_id)
        for drawn in draw_negatives(asked, theirs, _MOST_TRIED, seed, frozenset(rejected), difficulty):
            if drawn.tail is not None and listed.isdisjoint(may_mean(drawn.tail)):
                yield replace(fact.negative(drawn.tail, drawn.tail_id, drawn.k), difficulty=drawn.difficulty)


def are_linked(heads: Iterable[str], tails: Iterable[str]) -> bool:
    """Whether a bundled set links what the first names call to what the others call, in any relation and direction."""
    of_heads, of_tails = (Keys().union(*map(things, names)) for names in (heads, tails))
    return any(not of_tails.isdisjoint(of[head]) for of in _linked().values() for head in of_heads if head in of)


def prepare() -> None:
    """Reads what the bundled sets know, which takes a second or two, before anybody waits for it."""
    _linked(), _kinds(), _ends()


@keep(1)
def _linked() -> Mapping[str, Mapping[str, Keys]]:
    """Relation → thing → all things that a bundled set links to it in that relation, in either direction. "" stands for what is
    known without a relation.
    """
    linked: defaultdict[str, defaultdict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    for name in bundled_names():
        for head, relation, tail in _known(name):
            heads, tails, others = things(head), things(tail), linked[relation]
            for thing in heads:
                others[thing].update(tails)
            for thing in tails:
                others[thing].update(heads)
    return {relation: {thing: frozenset(others) for thing, others in of.items()} for relation, of in linked.items()}


def _known(name: str) -> Iterator[tuple[str, str, str]]:
    """Head, relation and tail of all that a bundled set knows, or holds too close to true; "" where no relation is said."""
    collection = load_bundled(name)
    bound = bound_or_once_true(collection.facts)
    said = [(fact.head, fact.relation, fact.tail) for fact in (*collection.known.facts, *bound) if fact.tail is not None]
    said += also_true(name)
    yield from said
    placed = {(head, tail) for head, _, tail in said}
    yield from ((head, "", tail) for head, tail in collection.known.also_true if (head, tail) not in placed)


@cache
def _heads_in(relation: str) -> Keys:
    """The things of which the bundled sets list what is true in a relation."""
    return frozenset(spelling_key(fact.head) for fact in _facts() if name_key(fact.relation) == name_key(relation))


CONDITION, DRUG, SIGN, NO_CONDITION = "condition", "drug", "sign or condition", "anything but a condition"

_ALIKE: Mapping[str, tuple[str, str]] = {
    "contraindicated in": (DRUG, CONDITION),
    "adverse effects": (DRUG, SIGN),
    "caused by": (CONDITION, NO_CONDITION),
    "diagnosed by": (CONDITION, NO_CONDITION),
    "risk factors": (CONDITION, NO_CONDITION),
    "first choice for": (DRUG, CONDITION),
    "drugs used in pregnancy": (CONDITION, DRUG),
}
"""Relations of which the bundled sets need have no fact → what their heads and tails are. Between two conditions ("hypertension
causes stroke") nothing can be told, so a cause counts as none.
"""


def reversed_notes(facts: Iterable[Fact], canonical: Callable[[str], str | None]) -> Iterator[str]:
    """A note on each relation of which more facts are the wrong way round than the right way, by the kinds of their names. Of
    facts that were turned, it speaks as the file does.
    """
    wrong: defaultdict[str, list[Fact]] = defaultdict(list)
    right: Counter[str] = Counter()
    for fact in facts:
        ends = _ends().get(name_key(canonical(fact.relation) or fact.relation))
        if ends is None or not fact.positive:
            continue
        as_written = _fits(fact.head, fact.tail, ends)
        if as_written is not _fits(fact.tail, fact.head, ends):
            right[fact.turned_from or fact.relation] += as_written
            wrong[fact.turned_from or fact.relation] += [] if as_written else [fact]
    for relation, found in wrong.items():
        if len(found) > right[relation]:
            rows = "1 row" if len(found) == 1 else f"{len(found)} rows"
            first = found[0].as_written()
            read_as = "" if found[0].turned_from is None else f", or say that the relation is {found[0].relation!r}"
            yield (
                f"{relation!r} seems to be the wrong way round in {rows}, such as “{first.head}, {relation}, {first.tail}”: "
                f"its sentences would say the reverse. Exchange head and tail there{read_as}."
            )


def without_reverses(
    collection: Collection, canonical: Callable[[str], str | None], inverted: Callable[[str], str | None] = lambda _: None
) -> Collection:
    """The collection without true facts that are the wrong way round, with a note of each relation that has some; the same one
    where there are none: the reverse of others in a relation that says something else that way round, and facts whose names fit
    the other way round alone. They are not exchanged: nobody wrote that, and it would be called true. inverted: what a relation
    says from its other end.
    """
    pairs: defaultdict[str, dict[tuple[str, str], Fact]] = defaultdict(dict)
    for fact in collection.known.facts:
        if fact.fact_id not in collection.ready and fact.tail is not None:
            pairs[fact.relation][name_key(fact.head), name_key(fact.tail)] = fact
    notes: list[str] = []
    left_out: set[str] = set()
    for relation, facts in pairs.items():
        if not set(name_key(canonical(relation) or relation).split()).isdisjoint(table_words()["symmetric"]):
            continue
        both = [(fact, facts[tail, head]) for (head, tail), fact in facts.items() if head < tail and (tail, head) in facts]
        ends = _ends_of(relation, canonical, inverted)
        wrong = _reverses(both, ends) if both and ends else []
        notes += _notes_on_reverses(relation, wrong, both)
        left_out.update(fact.fact_id for fact in wrong)
        single = [fact for fact in facts.values() if fact.fact_id not in left_out]
        single = _exchanged(single, ends) if ends and ends[0].isdisjoint(ends[1]) else []
        notes += _notes_on_exchanged(relation, single, facts, inverted(relation))
        left_out.update(fact.fact_id for fact in single)
    if not notes:
        return collection
    return replace(
        collection,
        facts=tuple(
            replace(fact, negative_of=None, k=0, fact_id="") if fact.negative_of in left_out else fact
            for fact in collection.facts
            if fact.fact_id not in left_out
        ),
        known=replace(collection.known, facts=tuple(fact for fact in collection.known.facts if fact.fact_id not in left_out)),
        notes=(*collection.notes, *notes),
        read_from=collection.fingerprint(),
    )


def _ends_of(
    relation: str, canonical: Callable[[str], str | None], inverted: Callable[[str], str | None]
) -> tuple[Kinds, Kinds] | None:
    """The semantic types of the heads and tails of a relation, as a file names it."""
    known, turned = canonical(relation), inverted(relation)
    if known is None and turned is not None:
        ends = _ends().get(name_key(turned))
        return ends and (ends[1], ends[0])
    return _ends().get(name_key(known or relation))


def _reverses(both: Sequence[tuple[Fact, Fact]], ends: tuple[Kinds, Kinds]) -> list[Fact]:
    """Of facts that stand both ways round, those that are the wrong way round by their types or the kinds of their names."""
    right: dict[Fact, Fact] = {}
    votes: Counter[tuple[str | None, str | None]] = Counter()
    for fact, other in both:
        by_type = [_has_kinds(one, ends) for one in (fact, other)]
        by_name = [_fits(one.head, one.tail, ends) for one in (fact, other)]
        fits = by_type if by_type[0] is not by_type[1] else by_name
        if fits[0] is not fits[1]:
            first, second = (fact, other) if fits[0] else (other, fact)
            right[second] = first
            votes[first.head_type, first.tail_type] += 1
    for fact, other in both:
        if fact not in right and other not in right and fact.head_type != fact.tail_type:
            ahead = votes[fact.head_type, fact.tail_type] - votes[other.head_type, other.tail_type]
            right |= {other: fact} if ahead > 0 else {fact: other} if ahead < 0 else {}
    return list(right)


def _exchanged(facts: Sequence[Fact], ends: tuple[Kinds, Kinds]) -> list[Fact]:
    """Of the facts of a relation, those that fit it the other way round alone, by their names, both known, or by their types.
    Where these are more than those that fit as they stand, all but the latter.
    """
    wrong, others = list[Fact](), list[Fact]()
    count = 0
    for fact in facts:
        both_known = all(_types_of(name or "") for name in (fact.head, fact.tail))
        fits = both_known and _fits(fact.head, fact.tail, ends), both_known and _fits(fact.tail, fact.head, ends)
        fits = fits if any(fits) else (_has_kinds(fact, ends), _has_kinds(fact, ends[::-1]))
        count += fits == (True, False)
        if fits[0] <= fits[1]:
            (wrong if fits[1] > fits[0] else others).append(fact)
    return wrong + others if len(wrong) > count else wrong


def _has_kinds(fact: Fact, ends: Sequence[Kinds]) -> bool:
    """Whether the types of a fact's head and tail are of the kinds of a relation's ends."""
    types = (fact.head_type, fact.tail_type)
    return all(_kinds_of(kind or "") & _kinds_of(*end) for kind, end in zip(types, ends, strict=True))


@cache
def _kinds_of(*types: str) -> Kinds:
    """The kinds of things, such as condition or sign, that the words of some types name."""
    words = {word for one in types for word in re.split(r"[\W_]+", one.casefold())}
    return frozenset(kind for kind, named in table_words()["kinds"].items() if not words.isdisjoint(named))


def _notes_on_reverses(relation: str, wrong: Sequence[Fact], both: Sequence[tuple[Fact, Fact]]) -> Iterator[str]:
    if wrong:
        said = f"“{wrong[0].head}, {relation}, {wrong[0].tail}”"
        rows = "1 row is the reverse of another" if len(wrong) == 1 else f"{len(wrong):,} rows are the reverse of others"
        yield f"{relation!r}: {rows}, such as {said}, and left out: their types or names tell."
    left_out = set(wrong)
    unsure = [pair for pair in both if left_out.isdisjoint(pair)]
    if unsure:
        head, tail = unsure[0][0].head, unsure[0][0].tail
        pairs = "1 pair of names stands" if len(unsure) == 1 else f"{len(unsure):,} pairs of names stand"
        said = f"“{head}, {relation}, {tail}” and “{tail}, {relation}, {head}”"
        yield f"{relation!r}: {pairs} both ways round, such as {said}: if only one way is true, delete the other rows."


def _notes_on_exchanged(relation: str, wrong: Sequence[Fact], facts: Sized, turned: str | None) -> Iterator[str]:
    if wrong:
        or_else = "" if turned is None else f", or say that the relation is {turned!r}"
        rows = "1 row" if len(wrong) == 1 else f"{len(wrong):,} rows"
        yield (
            f"{relation!r} is the wrong way round in {rows} of {len(facts):,}, such as “{wrong[0].head}, {relation}, "
            f"{wrong[0].tail}”, by what their names are; left out. Exchange head and tail there{or_else}."
        )


_TREATMENTS = {"therapeutic drugs": "a medication", "surgical procedures": "a procedure"}
"""Relations that tables mix under one name, such as "treats", and what their sentences call the tail."""


def other_kind_notes(facts: Iterable[Fact], canonical: Callable[[str], str | None]) -> Iterator[str]:
    """A note on each relation that treats, as the file writes it, some of whose tails the bundled sets know as another kind of
    treatment: "appendicitis, treated by, appendectomy" says nothing of a medication.
    """
    others: defaultdict[tuple[str, str], list[Fact]] = defaultdict(list)
    of_tails = {name: _ends()[name][1] for name in _TREATMENTS}
    every = Kinds().union(*of_tails.values())
    for fact in facts:
        name = name_key(canonical(fact.relation) or fact.relation)
        if fact.positive and name in _TREATMENTS and _types_of(fact.tail or "") & (every - of_tails[name]):
            others[fact.turned_from or fact.relation, name].append(fact)
    for (relation, name), found in others.items():
        first, may = found[0].as_written(), "1 row may mean" if len(found) == 1 else f"{len(found)} rows may mean"
        yield (
            f"{relation!r} is read as {name!r}, which calls “{found[0].tail}” {_TREATMENTS[name]}; {may} another "
            f"kind of treatment, such as “{first.head}, {relation}, {first.tail}”. Give such rows another relation."
        )


def fit_of(pairs: Sequence[tuple[str, str]], relation: str) -> float:
    """Share of the names in pairs of head and tail that are known to be of the kinds of a relation's ends. A pair of which one
    name is of another kind counts as 0.
    """
    ends = _ends().get(name_key(relation), (frozenset(), frozenset()))
    fitting = [_fitting(head, tail, ends) for head, tail in pairs]
    return sum(len(names) for names in fitting if all(names)) / (2 * len(fitting) or 1)


def _fits(head: str | None, tail: str | None, ends: tuple[Kinds, Kinds]) -> bool:
    """Whether the names of known kinds, one at least, are of the kinds of a relation's heads and tails."""
    fitting = _fitting(head, tail, ends)
    return bool(fitting) and all(fitting)


def _fitting(head: str | None, tail: str | None, ends: tuple[Kinds, Kinds]) -> list[bool]:
    """Whether each name of known kinds is of the kinds of a relation's end."""
    kinds = (_types_of(name or "") for name in (head, tail))
    return [bool(known & end) for known, end in zip(kinds, ends, strict=True) if known]


def _types_of(name: str) -> Kinds:
    """The semantic types of the things of the bundled sets that a name calls."""
    kinds = _kinds()
    return frozenset[str]().union(*(kinds.get(thing, ()) for thing in things(name)))


@keep(1)
def _kinds() -> Mapping[str, Kinds]:
    """Key of a name → its semantic types in the bundled sets."""
    kinds: defaultdict[str, set[str]] = defaultdict(set)
    for fact in _facts():
        for name, kind in ((fact.head, fact.head_type), (fact.tail, fact.tail_type)):
            if name and kind:
                kinds[spelling_key(name)].add(kind)
    return {key: frozenset(types) for key, types in kinds.items()}


def kinds_of_name(name: str) -> Kinds:
    """CONDITION, DRUG or SIGN, as which the bundled sets know a name; of several, all."""
    known, ends = _types_of(name), _ends()
    of = {CONDITION: ends["symptoms"][0], DRUG: ends["therapeutic drugs"][1], SIGN: ends["symptoms"][1] | {"Finding"}}
    return frozenset(kind for kind, types in of.items() if known & types)


@keep(1)
def _ends() -> Mapping[str, tuple[Kinds, Kinds]]:
    """Relation → the semantic types of its heads, and of its tails, in the bundled sets and as `_ALIKE` says."""
    ends: defaultdict[str, tuple[set[str], set[str]]] = defaultdict(lambda: (set(), set()))
    for fact in _facts():
        for kinds, kind in zip(ends[name_key(fact.relation)], (fact.head_type, fact.tail_type), strict=True):
            kinds.add(kind or "")
    conditions, drugs, signs = (set(ends[of][end]) for of, end in (("symptoms", 0), ("therapeutic drugs", 1), ("symptoms", 1)))
    every = set().union(*(kinds for both in ends.values() for kinds in both))
    of_end = {CONDITION: conditions, DRUG: drugs, SIGN: signs | conditions, NO_CONDITION: every - conditions}
    for relation, alike in _ALIKE.items():
        for kinds, end in zip(ends[relation], alike, strict=True):
            kinds.update(of_end[end])
    return {relation: (frozenset(heads), frozenset(tails)) for relation, (heads, tails) in ends.items()}


def _facts() -> Iterator[Fact]:
    """The true facts of all bundled sets."""
    for name in bundled_names():
        yield from load_bundled(name).known.facts
