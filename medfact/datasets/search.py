"""Facts found by words: each must occur in the fact, in any order, or in another name of what it links, in any language."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from medfact.datasets.bundled import lay_names
from medfact.facts import Fact, KnowledgeBase, core_name, name_key, spelled

Names = Callable[[str], Iterable[str]]
"""What else an entity is called."""


def _no_others(_: str) -> Iterable[str]:
    return ()


def holding(facts: Iterable[Fact], search: str, known: KnowledgeBase | None = None, also: Names = _no_others) -> Iterator[Fact]:
    """The facts in which all words of a search occur. known: gives the other names of conditions and findings. also: their
    names in another language.
    """
    words = set(name_key(search).split())
    for fact in facts:
        text = _text(fact, known, also) if words else ""
        if all(word in text for word in words):
            yield fact


def _text(fact: Fact, known: KnowledgeBase | None, also: Names) -> str:
    """All that a search may find a fact by, as one key."""
    ends = [name for name in (fact.head, fact.tail) if name is not None]
    names = (_names(name, known) if known else name_key(name) for name in ends)
    return " ".join((name_key(fact.relation), *names, *(name_key(other) for name in ends for other in also(name))))


def _names(name: str, known: KnowledgeBase) -> str:
    """A name, and the other and everyday names of what it names."""
    kept: dict[str, str] = known.memo.setdefault("names to search", {})
    if name not in kept:
        names = sorted(known.names(name))
        kept[name] = spelled("; ".join([*names, *map(core_name, names), *_everyday_names(known).get(known.entity(name), ())]))
    return kept[name]


def _everyday_names(known: KnowledgeBase) -> dict[str, list[str]]:
    """Entity → its everyday names."""
    if "everyday names" not in known.memo:
        found: dict[str, list[str]] = {}
        for everyday, name in lay_names():
            found.setdefault(known.entity(name), []).append(everyday)
        known.memo["everyday names"] = found
    kept: dict[str, list[str]] = known.memo["everyday names"]
    return kept
