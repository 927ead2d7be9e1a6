"""What the bundled sets know of the names of a user's table: no draw calls that false; and which relations are the wrong way
round, by the kinds of their names ("gout, may treat, allopurinol").
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import cache, partial

from medfact.datasets.bundled import also_true, bundled_names, lay_names, load_bundled
from medfact.datasets.close_relations import keeps_from_false
from medfact.datasets.collection import Collection
from medfact.datasets.holding import bound_or_once_true
from medfact.facts import Fact, KnowledgeBase, name_key
from medfact.kept import keep


def with_bundled_knowledge(collection: Collection, canonical: Callable[[str], str | None] = str) -> Collection:
    """The collection, whose draws call nothing false that a bundled set knows, or holds too close to true, in the same relation
    or in a close one (`close_relations`). canonical: what the file's names of relations mean. The same collection where it
    says so already.
    """
    facts_of: defaultdict[str, list[Fact]] = defaultdict(list)
    for fact in collection.known.facts:
        facts_of[fact.relation].append(fact)
    known = tuple(
        (head, relation, tail)
        for relation, facts in facts_of.items()
        for head, tail in _known_close_to(canonical(relation) or relation, facts)
    )
    if known == collection.known.elsewhere:
        return collection
    return replace(collection, known=replace(collection.known, elsewhere=known))


def _known_close_to(relation: str, facts: Iterable[Fact]) -> Iterator[tuple[str, str]]:
    """The heads and tails of some facts that no draw of their relation calls false."""
    facts = list(facts)
    heads, tails = (_by_key(getattr(fact, end) for fact in facts) for end in ("head", "tail"))
    close = [linked for known_in, linked in _linked().items() if keeps_from_false(known_in, relation)]
    for key, names in heads.items():
        others = frozenset[str]().union(*(linked.get(key, ()) for linked in close))
        yield from ((head, tail) for head in names for other in sorted(others & tails.keys()) for tail in tails[other])


def prepare() -> None:
    """Reads what the bundled sets know, which takes a second or two, before anybody waits for it."""
    _linked(), _kinds(), _ends()


def spelling_key(name: str) -> str:
    """One key for the spellings of a name, "Crohn's disease" and "Crohn disease" among them."""
    return name_key(re.sub(r"['’]s\b", "", name))


def _by_key(names: Iterable[str | None]) -> dict[str, list[str]]:
    """Key → the names that have it, each once."""
    found: defaultdict[str, list[str]] = defaultdict(list)
    for name in dict.fromkeys(filter(None, names)):
        found[spelling_key(name)].append(name)
    return found


@keep(1)
def _linked() -> Mapping[str, Mapping[str, frozenset[str]]]:
    """Relation → key of a name → the keys of all names that a bundled set links to it in that relation, in either direction. ""
    stands for what is known without a relation.
    """
    linked: defaultdict[str, defaultdict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    everyday = _everyday()
    for name in bundled_names():
        keys = cache(partial(_keys, load_bundled(name).known, everyday))
        for head, relation, tail in _known(name):
            heads, tails, others = keys(head), keys(tail), linked[relation]
            for key in heads:
                others[key].update(tails)
            for key in tails:
                others[key].update(heads)
    return {relation: {key: frozenset(others) for key, others in of.items()} for relation, of in linked.items()}


def _known(name: str) -> Iterator[tuple[str, str, str]]:
    """Head, relation and tail of all that a bundled set knows, or holds too close to true; "" where no relation is said."""
    collection = load_bundled(name)
    bound = bound_or_once_true(collection.facts)
    said = [(fact.head, fact.relation, fact.tail) for fact in (*collection.known.facts, *bound) if fact.tail is not None]
    said += also_true(name)
    yield from said
    placed = {(head, tail) for head, _, tail in said}
    yield from ((head, "", tail) for head, tail in collection.known.also_true if (head, tail) not in placed)


def _keys(known: KnowledgeBase, everyday: Mapping[str, frozenset[str]], name: str) -> frozenset[str]:
    """The keys of all names that a bundled set, or the list of everyday names, has for an entity."""
    keys = {spelling_key(one) for one in known.names(name)}
    return frozenset(keys.union(*(everyday.get(key, ()) for key in keys)))


def _everyday() -> Mapping[str, frozenset[str]]:
    everyday: defaultdict[str, set[str]] = defaultdict(set)
    for lay, name in lay_names():
        everyday[spelling_key(name)].add(spelling_key(lay))
    return {key: frozenset(names) for key, names in everyday.items()}


Kinds = frozenset[str]

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
    all_ends, kinds = _ends(), _kinds()
    for fact in facts:
        ends = all_ends.get(name_key(canonical(fact.relation) or fact.relation))
        if ends is None or not fact.positive:
            continue
        as_written = _fits(kinds, fact.head, fact.tail, ends)
        if as_written is not _fits(kinds, fact.tail, fact.head, ends):
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


_TREATMENTS = {"therapeutic drugs": "a medication", "surgical procedures": "a procedure"}
"""Relations that tables mix under one name, such as "treats", and what their sentences call the tail."""


def other_kind_notes(facts: Iterable[Fact], canonical: Callable[[str], str | None]) -> Iterator[str]:
    """A note on each relation that treats, as the file writes it, some of whose tails the bundled sets know as another kind of
    treatment: "appendicitis, treated by, appendectomy" says nothing of a medication.
    """
    kinds = _kinds()
    others: defaultdict[tuple[str, str], list[Fact]] = defaultdict(list)
    for fact in facts:
        name = name_key(canonical(fact.relation) or fact.relation)
        if fact.positive and name in _TREATMENTS and kinds.get(spelling_key(fact.tail or ""), frozenset()) & _other_kinds(name):
            others[fact.turned_from or fact.relation, name].append(fact)
    for (relation, name), found in others.items():
        first, may = found[0].as_written(), "1 row may mean" if len(found) == 1 else f"{len(found)} rows may mean"
        yield (
            f"{relation!r} is read as {name!r}, which calls “{found[0].tail}” {_TREATMENTS[name]}; {may} another "
            f"kind of treatment, such as “{first.head}, {relation}, {first.tail}”. Give such rows another relation."
        )


def _other_kinds(relation: str) -> Kinds:
    """The semantic types of the tails of the other treatments alone."""
    every = _ends()
    return frozenset().union(*(every[one][1] for one in _TREATMENTS if one != relation)) - every[relation][1]


def _fits(of: Mapping[str, Kinds], head: str | None, tail: str | None, ends: tuple[Kinds, Kinds]) -> bool:
    """Whether the names of known kinds, one at least, are of the kinds of a relation's heads and tails."""
    kinds = (of.get(spelling_key(name or "")) for name in (head, tail))
    fitting = [bool(known & end) for known, end in zip(kinds, ends, strict=True) if known]
    return bool(fitting) and all(fitting)


@keep(1)
def _kinds() -> Mapping[str, Kinds]:
    """Key of a name → its semantic types in the bundled sets."""
    kinds: defaultdict[str, set[str]] = defaultdict(set)
    for fact in _facts():
        for name, kind in ((fact.head, fact.head_type), (fact.tail, fact.tail_type)):
            if name and kind:
                kinds[spelling_key(name)].add(kind)
    return {key: frozenset(types) for key, types in kinds.items()}


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
