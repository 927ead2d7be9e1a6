"""Which way round a relation is read: facts whose relation a pool knows from its other end have head and tail exchanged.

"Allopurinol, treats, gout" is read as "gout, therapeutic drugs, allopurinol": one relation, whichever end a table begins with.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from medfact.datasets.bundled import bundled_names
from medfact.datasets.collection import Collection
from medfact.datasets.elsewhere import with_bundled_knowledge, without_reverses
from medfact.datasets.pairing import alone_note, bounds_of, paired, partners_by_place
from medfact.facts import Fact, name_key
from medfact.prototypes.pool import Pool

_Triplet = tuple[str, ...]

_OTHER_WAY = ", the other way round."


def is_about(note: str, relation: str) -> bool:
    """Whether a note says that facts of a relation, as the file writes it, were turned."""
    return note.endswith(_OTHER_WAY) and f" {relation!r}: " in note


def in_direction(collection: Collection, pool: Pool) -> Collection:
    """The collection with all facts the way round in which the pool states them; the same one where they are so already, and
    where what other sets know of its names is known by the names that the file gives its relations.

    The facts' `turned_from` says what the file has. Facts with a ready sentence stay as they are. The fingerprint is that of
    the file. A note says of each relation how many facts were turned.
    """
    collection = _without_reverses(collection, pool)
    inverses = {name: known for name in sorted(collection.relations) if (known := pool.inverted(name)) is not None}
    if not inverses:
        return _with_close_knowledge(collection, pool.canonical)
    key = ("in direction", *inverses.items(), *map(pool.canonical, sorted(collection.relations)))
    return _kept(collection, key, lambda: _turned(collection, inverses, pool.canonical))


def _kept(collection: Collection, key: tuple[object, ...], make: Callable[[], Collection]) -> Collection:
    """What was made of a collection, once for each key."""
    if key not in collection.memo:
        collection.memo[key] = make()
    made: Collection = collection.memo[key]
    return made


def _without_reverses(collection: Collection, pool: Pool) -> Collection:
    if collection.name in bundled_names():
        return collection
    key = ("reverses", *((name, pool.canonical(name), pool.inverted(name)) for name in sorted(collection.relations)))
    return _kept(collection, key, lambda: without_reverses(collection, pool.canonical, pool.inverted))


def _with_close_knowledge(collection: Collection, canonical: Callable[[str], str | None]) -> Collection:
    """The collection with what the bundled sets know in the relations that its own ones mean, and in close ones. Where the file
    calls them what nobody else does, it had all that they know.
    """
    if not any(one.pairs or one.common for one in collection.known.elsewhere):
        return collection
    key = ("close knowledge", *((name, canonical(name)) for name in sorted({one.relation for one in collection.known.facts})))
    return _kept(collection, key, lambda: with_bundled_knowledge(collection, canonical))


def _turned(collection: Collection, inverses: Mapping[str, str], canonical: Callable[[str], str | None]) -> Collection:
    turning = _Turning(collection, inverses, canonical)
    named = any(fact.negative_of and fact.fact_id not in collection.alone for fact in collection.facts)
    is_paired_by_file = named or bool(collection.ready)
    unpaired = [collection.alone.get(fact.fact_id, fact) for fact in collection.facts]
    read, repeated = turning.without_repetitions(map(turning.turned, unpaired))
    read, contradicted = turning.without_contradictions(read)
    facts, alone, notes = _as_the_file_pairs(read) if is_paired_by_file else _paired_anew(read)
    known = turning.without_repetitions(map(turning.turned, collection.known.facts))[0]
    barred = {turning.triplet(fact) for fact in contradicted}
    made = replace(
        collection,
        facts=facts,
        alone=alone,
        withdrawn=tuple(map(turning.turned, collection.withdrawn)),
        known=replace(
            collection.known,
            facts=tuple(fact for fact in known if turning.triplet(fact) not in barred),
            also_true=(*collection.known.also_true, *((one.head, one.tail or "") for one in contradicted if one.positive)),
        ),
        notes=(
            *_without_old_note(collection),
            *turning.notes(),
            *_repeated_note(repeated),
            *_contradicted_note(contradicted),
            *_parted_note(collection, turning, is_paired_by_file),
            *notes,
        ),
        read_from=collection.fingerprint(),
    )
    return with_bundled_knowledge(made, canonical)


@dataclass(frozen=True)
class _Turning:
    """inverses: relation, as the file writes it → the pool's name of what it says from its other end."""

    collection: Collection
    inverses: Mapping[str, str]
    canonical: Callable[[str], str | None]

    def is_of_other_end(self, fact: Fact) -> bool:
        return fact.relation in self.inverses and fact.tail is not None and fact.fact_id not in self.collection.ready

    def turned(self, fact: Fact) -> Fact:
        """The fact as it is read; a false one that is turned has no partner, whose head would be another."""
        if not self.is_of_other_end(fact):
            return fact
        single = fact if fact.positive else replace(fact, negative_of=None, k=0)
        return single.turned(self.inverses[fact.relation])

    def triplet(self, fact: Fact) -> _Triplet:
        """One key for what a fact says, from whichever end and under whichever name of its relation the file states it."""
        relation = self.canonical(fact.relation) or fact.relation
        return name_key(fact.head), relation, name_key(fact.tail or ""), *bounds_of(fact)

    def without_repetitions(self, facts: Iterable[Fact]) -> tuple[list[Fact], list[Fact]]:
        """The facts without turned ones that say what others say, and those. What the file says the right way round stays."""
        facts = list(facts)
        seen = {(self.triplet(fact), fact.positive) for fact in facts if fact.turned_from is None}
        kept: list[Fact] = []
        repeated: list[Fact] = []
        for fact in facts:
            key = self.triplet(fact), fact.positive
            (repeated if fact.turned_from is not None and key in seen else kept).append(fact)
            seen.add(key)
        return kept, repeated

    def without_contradictions(self, facts: Sequence[Fact]) -> tuple[list[Fact], list[Fact]]:
        """The facts without those that the file states from one end and denies from the other, and those."""
        turned = {self.triplet(fact) for fact in facts if fact.turned_from is not None}
        stated, denied = ({self.triplet(fact) for fact in facts if fact.positive is sign} for sign in (True, False))
        both = turned & stated & denied
        return [f for f in facts if self.triplet(f) not in both], [f for f in facts if self.triplet(f) in both]

    def notes(self) -> Iterator[str]:
        counts = Counter(fact.relation for fact in self.collection.facts if self.is_of_other_end(fact))
        for name, number in counts.items():
            said = "1 fact says" if number == 1 else f"{number:,} facts say"
            read = "it is" if number == 1 else "they are"
            yield f"{said} {name!r}: {read} read as {self.inverses[name]!r}{_OTHER_WAY}"


def _as_the_file_pairs(facts: Sequence[Fact]) -> tuple[tuple[Fact, ...], Mapping[str, Fact], Sequence[str]]:
    """The facts with the partners that the file names; a false one whose true fact is gone stands alone."""
    true = {fact.fact_id for fact in facts if fact.positive}
    orphans = {fact.fact_id for fact in facts if fact.negative_of is not None and fact.negative_of not in true}
    single = (replace(f, negative_of=None, k=0, fact_id="") if f.fact_id in orphans else f for f in facts)
    return tuple({fact.fact_id: fact for fact in single}.values()), {}, ()


def _paired_anew(facts: Sequence[Fact]) -> tuple[tuple[Fact, ...], Mapping[str, Fact], Sequence[str]]:
    """The facts, each false one with the only true fact of its head and relation, as `datasets.pairing` has it; false ones
    without their partners; and a note on those that have none.
    """
    by_id = {fact.fact_id: fact for fact in facts}
    found = partners_by_place(by_id)
    alone: dict[str, Fact] = {}
    read: dict[str, Fact] = {}
    for key, fact in by_id.items():
        one = paired(fact, partner, 1) if (partner := found.partner_of.get(key)) else fact
        if one is not fact:
            one = replace(one, turned_from=fact.turned_from)
            alone[one.fact_id] = fact
        read[one.fact_id] = one
    return tuple(read.values()), alone, [alone_note(found.alone)] if found.alone else []


def _without_old_note(collection: Collection) -> Iterator[str]:
    """The notes, without what they say of false facts that had no partner as the file has them."""
    number = partners_by_place(
        {one.fact_id: one for one in (collection.alone.get(f.fact_id, f) for f in collection.facts)}
    ).alone
    return (note for note in collection.notes if not number or note != alone_note(number))


def _such_as(facts: Sequence[Fact]) -> str:
    first = facts[0].as_written()
    return f"“{first.head}, {first.relation}, {first.tail}”"


def _repeated_note(facts: Sequence[Fact]) -> Iterator[str]:
    if len(facts) == 1:
        yield f"1 fact, {_such_as(facts)}, says from its other end what another says: it counts once."
    elif facts:
        yield f"{len(facts):,} facts, such as {_such_as(facts)}, say from their other end what others say: each counts once."


def _contradicted_note(facts: Sequence[Fact]) -> Iterator[str]:
    if facts:
        turned = [fact for fact in facts if fact.turned_from is not None]
        yield (
            f"{len(facts):,} facts contradict each other from their two ends, such as {_such_as(turned)}; none is used: "
            "delete the wrong ones."
        )


def _parted_note(collection: Collection, turning: _Turning, is_paired_by_file: bool) -> Iterator[str]:
    parted = [fact for fact in collection.facts if fact.negative_of is not None and turning.is_of_other_end(fact)]
    if parted and is_paired_by_file:
        lose = "1 false fact loses its true fact" if len(parted) == 1 else f"{len(parted):,} false facts lose their true facts"
        yield f"{lose}: read the other way round, they have different heads. They are asked on their own."
