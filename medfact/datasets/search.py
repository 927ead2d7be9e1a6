"""Facts found by words: each must occur in the fact, in any order, or in another name of what it links, in any language."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from medfact.datasets.names import names_of
from medfact.facts import Fact, KnowledgeBase, core_name, name_key, spelled

Names = Callable[[str], Iterable[str]]
"""What else an entity is called."""


def holding(
    facts: Iterable[Fact], search: str, known: KnowledgeBase | None = None, also: Names = lambda _: ()
) -> Iterator[Fact]:
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
        kept[name] = spelled("; ".join([*names, *map(core_name, names), *sorted(names_of(name))]))
    return kept[name]
