"""What the bundled sets know of the names of a user's table, so that no draw calls it false."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import cache

from medfact.datasets.bundled import bundled_names, lay_names, load_bundled
from medfact.datasets.collection import Collection
from medfact.facts import KnowledgeBase, name_key


def with_bundled_knowledge(collection: Collection) -> Collection:
    """The collection, whose draws call nothing false that a bundled set knows, or holds too close to true."""
    heads, tails = (_by_key(getattr(fact, end) for fact in collection.known.facts) for end in ("head", "tail"))
    pairs = [
        (head, tail)
        for key, names in heads.items()
        for head in names
        for other in sorted(_linked().get(key, frozenset()) & tails.keys())
        for tail in tails[other]
    ]
    return replace(collection, known=replace(collection.known, elsewhere=tuple(pairs))) if pairs else collection


def spelling_key(name: str) -> str:
    """One key for the spellings of a name, "Crohn's disease" and "Crohn disease" among them."""
    return name_key(re.sub(r"['’]s\b", "", name))


def _by_key(names: Iterable[str | None]) -> dict[str, list[str]]:
    """Key → the names that have it, each once."""
    found: defaultdict[str, list[str]] = defaultdict(list)
    for name in dict.fromkeys(filter(None, names)):
        found[spelling_key(name)].append(name)
    return found


@cache
def _linked() -> Mapping[str, frozenset[str]]:
    """Key of a name → the keys of all names that a bundled set links to it, in either direction."""
    linked: defaultdict[str, set[str]] = defaultdict(set)
    for name in bundled_names():
        known = load_bundled(name).known
        keys = cache(lambda one, known=known: _keys(known, one))
        for head, tail in known.pairs():
            for ends in ((head, tail), (tail, head)):
                for key in keys(ends[0]):
                    linked[key] |= keys(ends[1])
    return {key: frozenset(others) for key, others in linked.items()}


def _keys(known: KnowledgeBase, name: str) -> frozenset[str]:
    """The keys of all names that a bundled set, or the list of everyday names, has for an entity."""
    keys = {spelling_key(one) for one in known.names(name)}
    return frozenset(keys.union(*(_everyday().get(key, ()) for key in keys)))


@cache
def _everyday() -> Mapping[str, frozenset[str]]:
    everyday: defaultdict[str, set[str]] = defaultdict(set)
    for lay, name in lay_names():
        everyday[spelling_key(name)].add(spelling_key(lay))
    return {key: frozenset(names) for key, names in everyday.items()}
