"""Semantic types of names in the bundled sets, and facts of a user's table whose types do not fit their relation.

"Gout, may treat, allopurinol" is the wrong way round: allopurinol is a drug, and gout is a condition.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Sized
from dataclasses import replace
from functools import cache

from medfact.assets import table_words
from medfact.caching import shared_cache
from medfact.datasets.bundled import bundled_names, load_bundled
from medfact.datasets.collection import Collection
from medfact.datasets.names import spelling_key, things
from medfact.facts import Fact, name_key

Types = frozenset[str]
Ends = tuple[Types, Types]
"""The semantic types of the heads and of the tails of a relation."""

CONDITION, DRUG, SIGN, NO_CONDITION = "condition", "drug", "sign or condition", "anything but a condition"

_ENDS: Mapping[str, tuple[str, str]] = {
    "contraindicated in": (DRUG, CONDITION),
    "adverse effects": (DRUG, SIGN),
    "caused by": (CONDITION, NO_CONDITION),
    "diagnosed by": (CONDITION, NO_CONDITION),
    "risk factors": (CONDITION, NO_CONDITION),
    "first choice for": (DRUG, CONDITION),
    "drugs used in pregnancy": (CONDITION, DRUG),
}
"""Relations that may be absent from the bundled sets → the kinds of their heads and tails. A cause counts as no condition,
since types cannot tell the direction between two conditions ("hypertension causes stroke").
"""

_TREATMENTS = {"therapeutic drugs": "a medication", "surgical procedures": "a procedure"}
"""Relations that tables mix under one name, such as "treats" → the noun for the tail in their sentences."""


def bundled_facts() -> Iterator[Fact]:
    """The true facts of all bundled sets."""
    for name in bundled_names():
        yield from load_bundled(name).known.facts


@shared_cache(1)
def types_by_name() -> Mapping[str, Types]:
    """Key of a name → its semantic types in the bundled sets."""
    types: defaultdict[str, set[str]] = defaultdict(set)
    for fact in bundled_facts():
        for name, semantic_type in ((fact.head, fact.head_type), (fact.tail, fact.tail_type)):
            if name and semantic_type:
                types[spelling_key(name)].add(semantic_type)
    return {key: frozenset(group) for key, group in types.items()}


@shared_cache(1)
def types_of_ends() -> Mapping[str, Ends]:
    """Relation → the semantic types of its heads and tails, in the bundled sets and by `_ENDS`."""
    ends: defaultdict[str, tuple[set[str], set[str]]] = defaultdict(lambda: (set(), set()))
    for fact in bundled_facts():
        for types, semantic_type in zip(ends[name_key(fact.relation)], (fact.head_type, fact.tail_type), strict=True):
            types.add(semantic_type or "")
    conditions, signs, drugs = set(ends["symptoms"][0]), set(ends["symptoms"][1]), set(ends["therapeutic drugs"][1])
    all_types = set().union(*(types for both in ends.values() for types in both))
    types_of_kind = {CONDITION: conditions, DRUG: drugs, SIGN: signs | conditions, NO_CONDITION: all_types - conditions}
    for relation, kinds in _ENDS.items():
        for types, kind in zip(ends[relation], kinds, strict=True):
            types.update(types_of_kind[kind])
    return {relation: (frozenset(heads), frozenset(tails)) for relation, (heads, tails) in ends.items()}


def _types_of(name: str | None) -> Types:
    """The semantic types of all things in the bundled sets that a name denotes."""
    types = types_by_name()
    return Types().union(*(types.get(thing, ()) for thing in things(name or "")))


def kinds_of_name(name: str) -> frozenset[str]:
    """The kinds, among CONDITION, DRUG and SIGN, as which the bundled sets know a name."""
    types, ends = _types_of(name), types_of_ends()
    kinds = {CONDITION: ends["symptoms"][0], DRUG: ends["therapeutic drugs"][1], SIGN: ends["symptoms"][1] | {"Finding"}}
    return frozenset(kind for kind, types_of_kind in kinds.items() if types & types_of_kind)


def _matches(head: str | None, tail: str | None, ends: Ends) -> list[bool]:
    """For each of the two names with known types: True if these are types of the relation's end."""
    return [bool(types & end) for types, end in zip((_types_of(head), _types_of(tail)), ends, strict=True) if types]


def _fits(head: str | None, tail: str | None, ends: Ends) -> bool:
    """Returns True if the types of at least one name are known, and all known ones match the relation's ends."""
    matches = _matches(head, tail, ends)
    return bool(matches) and all(matches)


def type_fit(pairs: Sequence[tuple[str, str]], relation: str) -> float:
    """The share of names in (head, tail) pairs whose types match the relation's ends. A mismatch makes its pair count as 0."""
    ends = types_of_ends().get(name_key(relation), (Types(), Types()))
    matches = [_matches(head, tail, ends) for head, tail in pairs]
    return sum(len(of_pair) for of_pair in matches if all(of_pair)) / (2 * len(matches) or 1)


# ------------------------------------------------------------------------------------------------ notes on facts


def reversed_notes(facts: Iterable[Fact], canonical: Callable[[str], str | None]) -> Iterator[str]:
    """Yields a note for each relation with more facts the wrong way round than the right way, by the types of their names.

    Inverted facts are quoted as the file has them.
    """
    wrong: defaultdict[str, list[Fact]] = defaultdict(list)
    right: Counter[str] = Counter()
    for fact in facts:
        ends = types_of_ends().get(name_key(canonical(fact.relation) or fact.relation))
        if ends is None or not fact.positive:
            continue
        fits = _fits(fact.head, fact.tail, ends)
        if fits is not _fits(fact.tail, fact.head, ends):
            right[fact.turned_from or fact.relation] += fits
            wrong[fact.turned_from or fact.relation] += [] if fits else [fact]
    for relation, group in wrong.items():
        if len(group) > right[relation]:
            rows = "1 row" if len(group) == 1 else f"{len(group)} rows"
            first = group[0].as_written()
            read_as = "" if group[0].turned_from is None else f", or say that the relation is {group[0].relation!r}"
            yield (
                f"{relation!r} seems to be the wrong way round in {rows}, such as “{first.head}, {relation}, {first.tail}”: "
                f"its sentences would say the reverse. Exchange head and tail there{read_as}."
            )


def other_kind_notes(facts: Iterable[Fact], canonical: Callable[[str], str | None]) -> Iterator[str]:
    """Yields a note for each relation of treatments some of whose tails are known as another kind of treatment.

    "Appendicitis, treated by, appendectomy" is not about a medication.
    """
    mixed: defaultdict[tuple[str, str], list[Fact]] = defaultdict(list)
    tail_types = {name: types_of_ends()[name][1] for name in _TREATMENTS}
    all_types = Types().union(*tail_types.values())
    for fact in facts:
        name = name_key(canonical(fact.relation) or fact.relation)
        if fact.positive and name in _TREATMENTS and _types_of(fact.tail) & (all_types - tail_types[name]):
            mixed[fact.turned_from or fact.relation, name].append(fact)
    for (relation, name), group in mixed.items():
        first, may = group[0].as_written(), "1 row may mean" if len(group) == 1 else f"{len(group)} rows may mean"
        yield (
            f"{relation!r} is read as {name!r}, which calls “{group[0].tail}” {_TREATMENTS[name]}; {may} another "
            f"kind of treatment, such as “{first.head}, {relation}, {first.tail}”. Give such rows another relation."
        )


# ------------------------------------------------------------------------------------------------ reversed facts


def without_reverses(
    collection: Collection, canonical: Callable[[str], str | None], inverted: Callable[[str], str | None] = lambda _: None
) -> Collection:
    """The collection without true facts that are the wrong way round, with notes; the same one if there are none.

    These are reverses of other facts in an asymmetric relation, and facts that fit their relation only the other way round.
    They are not inverted: the result would be called true, though the file does not state it.

    Args:
        inverted: the inverse of a relation, by the pool's name.
    """
    pairs: defaultdict[str, dict[tuple[str, str], Fact]] = defaultdict(dict)
    for fact in collection.known.facts:
        if fact.fact_id not in collection.ready and fact.tail is not None:
            pairs[fact.relation][name_key(fact.head), name_key(fact.tail)] = fact
    notes: list[str] = []
    excluded: set[str] = set()
    for relation, facts in pairs.items():
        if not set(name_key(canonical(relation) or relation).split()).isdisjoint(table_words()["symmetric"]):
            continue
        two_way = [(fact, facts[tail, head]) for (head, tail), fact in facts.items() if head < tail and (tail, head) in facts]
        ends = _ends_of(relation, canonical, inverted)
        wrong = _reverses(two_way, ends) if two_way and ends else []
        notes += _notes_on_reverses(relation, wrong, two_way)
        excluded.update(fact.fact_id for fact in wrong)
        if ends and ends[0].isdisjoint(ends[1]):
            misfits = _misfits([fact for fact in facts.values() if fact.fact_id not in excluded], ends)
            notes += _notes_on_misfits(relation, misfits, facts, inverted(relation))
            excluded.update(fact.fact_id for fact in misfits)
    if not notes:
        return collection
    return replace(
        collection,
        facts=tuple(
            replace(fact, negative_of=None, k=0, fact_id="") if fact.negative_of in excluded else fact
            for fact in collection.facts
            if fact.fact_id not in excluded
        ),
        known=replace(collection.known, facts=tuple(fact for fact in collection.known.facts if fact.fact_id not in excluded)),
        notes=(*collection.notes, *notes),
        read_from=collection.fingerprint(),
    )


def _ends_of(relation: str, canonical: Callable[[str], str | None], inverted: Callable[[str], str | None]) -> Ends | None:
    """The semantic types of the heads and tails of a relation, as a file names it."""
    name, inverse = canonical(relation), inverted(relation)
    if name is None and inverse is not None:
        ends = types_of_ends().get(name_key(inverse))
        return ends and (ends[1], ends[0])
    return types_of_ends().get(name_key(name or relation))


def _reverses(two_way: Sequence[tuple[Fact, Fact]], ends: Ends) -> list[Fact]:
    """Of pairs of facts that reverse each other, those that are the wrong way round by their types or names.

    Undecided pairs follow the majority of the decided ones with the same types.
    """
    wrong: list[Fact] = []
    undecided: list[tuple[Fact, Fact]] = []
    votes: Counter[tuple[str | None, str | None]] = Counter()
    for pair in two_way:
        by_type = [_has_kinds(fact, ends) for fact in pair]
        by_name = [_fits(fact.head, fact.tail, ends) for fact in pair]
        fits = by_type if by_type[0] is not by_type[1] else by_name
        if fits[0] is fits[1]:
            undecided.append(pair)
            continue
        right = pair[0] if fits[0] else pair[1]
        wrong.append(pair[1] if fits[0] else pair[0])
        votes[right.head_type, right.tail_type] += 1
    for fact, other in undecided:
        if fact.head_type != fact.tail_type:
            lead = votes[fact.head_type, fact.tail_type] - votes[other.head_type, other.tail_type]
            wrong += [other] if lead > 0 else [fact] if lead < 0 else []
    return wrong


def _misfits(facts: Sequence[Fact], ends: Ends) -> list[Fact]:
    """The facts that fit their relation only the other way round, by their names if both are known, or by their types.

    If these outnumber the facts that fit only as they are, all facts except the latter.
    """
    wrong, others = list[Fact](), list[Fact]()
    right = 0
    for fact in facts:
        both_known = bool(_types_of(fact.head) and _types_of(fact.tail))
        fits = both_known and _fits(fact.head, fact.tail, ends), both_known and _fits(fact.tail, fact.head, ends)
        fits = fits if any(fits) else (_has_kinds(fact, ends), _has_kinds(fact, ends[::-1]))
        if fits == (False, True):
            wrong.append(fact)
        elif fits == (True, False):
            right += 1
        else:
            others.append(fact)
    return wrong + others if len(wrong) > right else wrong


def _has_kinds(fact: Fact, ends: Ends) -> bool:
    """Returns True if the types of a fact's head and tail are of the same kinds as those of a relation's ends."""
    types = (fact.head_type, fact.tail_type)
    return all(_kinds_of(name or "") & _kinds_of(*end) for name, end in zip(types, ends, strict=True))


@cache
def _kinds_of(*types: str) -> frozenset[str]:
    """The kinds of things, such as condition or sign, that the words of some semantic types name."""
    words = {word for name in types for word in re.split(r"[\W_]+", name.casefold())}
    return frozenset(kind for kind, words_of_kind in table_words()["kinds"].items() if not words.isdisjoint(words_of_kind))


def _notes_on_reverses(relation: str, wrong: Sequence[Fact], two_way: Sequence[tuple[Fact, Fact]]) -> Iterator[str]:
    if wrong:
        example = f"“{wrong[0].head}, {relation}, {wrong[0].tail}”"
        rows = "1 row is the reverse of another" if len(wrong) == 1 else f"{len(wrong):,} rows are the reverse of others"
        yield f"{relation!r}: {rows}, such as {example}, and left out: their types or names tell."
    undecided = [pair for pair in two_way if set(wrong).isdisjoint(pair)]
    if undecided:
        head, tail = undecided[0][0].head, undecided[0][0].tail
        pairs = "1 pair of names stands" if len(undecided) == 1 else f"{len(undecided):,} pairs of names stand"
        example = f"“{head}, {relation}, {tail}” and “{tail}, {relation}, {head}”"
        yield f"{relation!r}: {pairs} both ways round, such as {example}: if only one way is true, delete the other rows."


def _notes_on_misfits(relation: str, wrong: Sequence[Fact], facts: Sized, inverse: str | None) -> Iterator[str]:
    if wrong:
        or_else = "" if inverse is None else f", or say that the relation is {inverse!r}"
        rows = "1 row" if len(wrong) == 1 else f"{len(wrong):,} rows"
        yield (
            f"{relation!r} is the wrong way round in {rows} of {len(facts):,}, such as “{wrong[0].head}, {relation}, "
            f"{wrong[0].tail}”, by what their names are; left out. Exchange head and tail there{or_else}."
        )
