"""Direction of relations: facts that state the inverse of a pool's relation are inverted, so that the pool can state them.

"Allopurinol, treats, gout" becomes "gout, therapeutic drugs, allopurinol".
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from medfact.datasets.bundled import bundled_names
from medfact.datasets.bundled_knowledge import with_bundled_knowledge
from medfact.datasets.collection import Collection
from medfact.datasets.pairing import alone_note, bounds_of, paired, partners_by_place
from medfact.datasets.semantic_types import without_reverses
from medfact.facts import Fact, name_key
from medfact.prototypes.pool import Pool

_Triplet = tuple[str, ...]

_INVERTED = ", the other way round."  # end of a note on inverted facts


def is_inversion_note(note: str, relation: str) -> bool:
    """Returns True if a note of `orient_facts` counts the inverted facts of a relation, named as in the file."""
    return note.endswith(_INVERTED) and f" {relation!r}: " in note


def orient_facts(collection: Collection, pool: Pool) -> Collection:
    """Inverts the facts whose relation is the inverse of one in the pool, and adds true facts of the bundled data sets.

    Inverted facts have `turned_from`, and a note for each relation counts them. Facts with a ready sentence stay unchanged,
    as does the collection's fingerprint. Returns the same collection if nothing changes.
    """
    if collection.name not in bundled_names():
        key: tuple[object, ...] = (
            "reverses",
            *((name, pool.canonical(name), pool.inverse_of(name)) for name in sorted(collection.relations)),
        )
        original = collection
        collection = _memoized(original, key, lambda: without_reverses(original, pool.canonical, pool.inverse_of))
    inverses = {name: inverse for name in sorted(collection.relations) if (inverse := pool.inverse_of(name)) is not None}
    if inverses:
        key = ("in direction", *inverses.items(), *map(pool.canonical, sorted(collection.relations)))
        return _memoized(collection, key, lambda: _invert_collection(collection, inverses, pool.canonical))
    if not any(external.pairs or external.common for external in collection.known.external_knowledge):
        return collection
    relations = sorted({fact.relation for fact in collection.known.facts})
    key = ("close knowledge", *((name, pool.canonical(name)) for name in relations))
    return _memoized(collection, key, lambda: with_bundled_knowledge(collection, pool.canonical))


def _memoized(collection: Collection, key: tuple[object, ...], compute: Callable[[], Collection]) -> Collection:
    """Returns a collection that is derived from another one, computed once per key."""
    if key not in collection.memo:
        collection.memo[key] = compute()
    derived: Collection = collection.memo[key]
    return derived


def _invert_collection(
    collection: Collection, inverses: Mapping[str, str], canonical: Callable[[str], str | None]
) -> Collection:
    """Inverts the facts of a collection. inverses: relation in the file → the pool's. canonical: `Pool.canonical`."""
    inversion = _Inversion(collection, inverses, canonical)
    has_named_partners = any(fact.negative_of and fact.fact_id not in collection.alone for fact in collection.facts)
    is_paired_by_file = has_named_partners or bool(collection.ready)
    unpaired = [collection.alone.get(fact.fact_id, fact) for fact in collection.facts]
    consistent, repeated = inversion.split_duplicates(map(inversion.invert, unpaired))
    consistent, contradicted = inversion.split_contradictions(consistent)
    facts, alone, notes = _keep_file_pairs(consistent) if is_paired_by_file else _pair_by_head(consistent)
    true_facts = inversion.split_duplicates(map(inversion.invert, collection.known.facts))[0]
    barred = {inversion.triplet(fact) for fact in contradicted}
    also_true = ((fact.head, fact.tail or "") for fact in contradicted if fact.positive)
    lost_partners = (fact.negative_of is not None and inversion.applies_to(fact) for fact in collection.facts)
    derived = replace(
        collection,
        facts=facts,
        alone=alone,
        withdrawn=tuple(map(inversion.invert, collection.withdrawn)),
        known=replace(
            collection.known,
            facts=tuple(fact for fact in true_facts if inversion.triplet(fact) not in barred),
            also_true=(*collection.known.also_true, *also_true),
        ),
        notes=(
            *_notes_without_pairing(collection),
            *inversion.notes(),
            *_exclusion_notes(repeated, contradicted, sum(lost_partners) if is_paired_by_file else 0),
            *notes,
        ),
        read_from=collection.fingerprint(),
    )
    return with_bundled_knowledge(derived, canonical)


@dataclass(frozen=True)
class _Inversion:
    """The inversion of a collection's facts to the direction of a pool."""

    collection: Collection
    inverses: Mapping[str, str]  # relation in the file → its inverse in the pool
    canonical: Callable[[str], str | None]  # `Pool.canonical`

    def applies_to(self, fact: Fact) -> bool:
        """Returns True if a fact is to be inverted."""
        return fact.relation in self.inverses and fact.tail is not None and fact.fact_id not in self.collection.ready

    def invert(self, fact: Fact) -> Fact:
        """Inverts a fact if `applies_to` holds. A false fact loses the link to its true fact, which would have another head."""
        if not self.applies_to(fact):
            return fact
        single = fact if fact.positive else replace(fact, negative_of=None, k=0)
        return single.inverse(self.inverses[fact.relation])

    def triplet(self, fact: Fact) -> _Triplet:
        """Key by which triplets with their scope are compared; equal for all names of a relation."""
        relation = self.canonical(fact.relation) or fact.relation
        return name_key(fact.head), relation, name_key(fact.tail or ""), *bounds_of(fact)

    def split_duplicates(self, facts: Iterable[Fact]) -> tuple[list[Fact], list[Fact]]:
        """Splits facts into distinct facts and duplicates of these. Only inverted facts count as duplicates."""
        facts = list(facts)
        seen = {(self.triplet(fact), fact.positive) for fact in facts if fact.turned_from is None}
        distinct: list[Fact] = []
        repeated: list[Fact] = []
        for fact in facts:
            key = self.triplet(fact), fact.positive
            (repeated if fact.turned_from is not None and key in seen else distinct).append(fact)
            seen.add(key)
        return distinct, repeated

    def split_contradictions(self, facts: Sequence[Fact]) -> tuple[list[Fact], list[Fact]]:
        """Splits facts into consistent facts and contradictions: affirmed in one direction and negated in the other."""
        inverted = {self.triplet(fact) for fact in facts if fact.turned_from is not None}
        stated, denied = ({self.triplet(fact) for fact in facts if fact.positive is sign} for sign in (True, False))
        contradicted = inverted & stated & denied
        return (
            [fact for fact in facts if self.triplet(fact) not in contradicted],
            [fact for fact in facts if self.triplet(fact) in contradicted],
        )

    def notes(self) -> Iterator[str]:
        """Yields a note for each inverted relation, with the number of its facts."""
        counts = Counter(fact.relation for fact in self.collection.facts if self.applies_to(fact))
        for name, number in counts.items():
            facts, they_are = ("1 fact says", "it is") if number == 1 else (f"{number:,} facts say", "they are")
            yield f"{facts} {name!r}: {they_are} read as {self.inverses[name]!r}{_INVERTED}"


def _keep_file_pairs(facts: Sequence[Fact]) -> tuple[tuple[Fact, ...], Mapping[str, Fact], Sequence[str]]:
    """Keeps the pairs of true and false facts in the file; a false fact without its true fact becomes single.

    Returns three values as `_pair_by_head` does, the last two empty.
    """
    true = {fact.fact_id for fact in facts if fact.positive}
    orphans = {fact.fact_id for fact in facts if fact.negative_of is not None and fact.negative_of not in true}
    single = (replace(f, negative_of=None, k=0, fact_id="") if f.fact_id in orphans else f for f in facts)
    return tuple({fact.fact_id: fact for fact in single}.values()), {}, ()


def _pair_by_head(facts: Sequence[Fact]) -> tuple[tuple[Fact, ...], Mapping[str, Fact], Sequence[str]]:
    """Pairs each false fact with the only true fact of its head and relation, as `datasets.pairing` does.

    Returns the facts; a mapping, id of a paired false fact → the fact before pairing; and a note if single false facts remain.
    """
    by_id = {fact.fact_id: fact for fact in facts}
    pairing = partners_by_place(by_id)
    alone: dict[str, Fact] = {}
    result: dict[str, Fact] = {}
    for key, fact in by_id.items():
        if partner := pairing.partner_of.get(key):
            negative = replace(paired(fact, partner, 1), turned_from=fact.turned_from)
            alone[negative.fact_id] = fact
            result[negative.fact_id] = negative
        else:
            result[fact.fact_id] = fact
    return tuple(result.values()), alone, [alone_note(pairing.alone)] if pairing.alone else []


def _notes_without_pairing(collection: Collection) -> Iterator[str]:
    """Yields the collection's notes except the one on single false facts."""
    unpaired = (collection.alone.get(fact.fact_id, fact) for fact in collection.facts)
    number = partners_by_place({fact.fact_id: fact for fact in unpaired}).alone
    return (note for note in collection.notes if not number or note != alone_note(number))


def _quote_fact(fact: Fact) -> str:
    """Formats a fact as in its file, in quotation marks."""
    written = fact.as_written()
    return f"“{written.head}, {written.relation}, {written.tail}”"


def _exclusion_notes(repeated: Sequence[Fact], contradicted: Sequence[Fact], lost_partners: int) -> Iterator[str]:
    """Yields notes on duplicates, contradictions, and false facts that lost their true facts."""
    if len(repeated) == 1:
        yield f"1 fact, {_quote_fact(repeated[0])}, says from its other end what another says: it counts once."
    elif repeated:
        facts = f"{len(repeated):,} facts, such as {_quote_fact(repeated[0])}"
        yield f"{facts}, say from their other end what others say: each counts once."
    if contradicted:
        inverted = next(fact for fact in contradicted if fact.turned_from is not None)
        facts = f"{len(contradicted):,} facts contradict each other from their two ends, such as {_quote_fact(inverted)}"
        yield f"{facts}; none is used: delete the wrong ones."
    if lost_partners:
        lose = (
            "1 false fact loses its true fact" if lost_partners == 1 else f"{lost_partners:,} false facts lose their true facts"
        )
        yield f"{lose}: read the other way round, they have different heads. They are asked on their own."
