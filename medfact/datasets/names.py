"""The index of names: which things of the bundled sets a name may mean, whatever somebody calls them.

A name is looked up by its spelling, by the names that the sets, `source_names.csv`, `lay_names.csv` (of the sets, and of the
four languages) and `names.csv` of each language have for a thing, and by its words without such as "acute" or "disease"
(`without_qualifiers`). What a thing is called in the sets is its *own name*; the index speaks of things by the keys of their
own names (`spelling_key`).
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache, lru_cache
from itertools import chain

from medfact.assets import ASSETS, table_words
from medfact.caching import shared_cache
from medfact.datasets.bundled import bundled_names, lay_names, load_bundled, rows_of
from medfact.datasets.close_relations import keeps_from_false
from medfact.datasets.table_reader import read_table
from medfact.facts import Fact, KnowledgeBase, core_name, fold_text, name_key

Keys = frozenset[str]
Words = frozenset[str]

_MOST_WORDS = 10


@cache
def relation_words(*uses: str) -> Mapping[str, Mapping[str, list[str]]]:
    """Language → relation of our pool → its words in tables, for some uses of `relations` in `assets/table-words.yaml`."""
    words: defaultdict[str, dict[str, list[str]]] = defaultdict(dict)
    for relation, by_language in table_words()["relations"].items():
        for language, by_use in by_language.items():
            if language != "hints" and (chosen := [str(word) for use in uses for word in by_use.get(use, ())]):
                words[language][relation] = chosen
    return words


@lru_cache(maxsize=1 << 14)
def spelling_key(name: str) -> str:
    """One key for the spellings of a name, "Crohn's disease" and "Crohn disease" among them."""
    return name_key(re.sub(r"['’]s\b", "", name) if "s" in name else name)


@lru_cache(maxsize=1 << 14)
def called(name: str) -> Keys:
    """The things of the bundled sets that a name calls: by a name that is known, else by its words without qualifiers."""
    index = _index()
    return index.called.get(spelling_key(name)) or index.by_words.get(without_qualifiers(name), Keys())


def things(name: str) -> Keys:
    """What a name calls, and its own key: a thing of which nothing else is known, too."""
    return called(name) | {spelling_key(name)}


@lru_cache(maxsize=1 << 14)
def may_mean(name: str) -> Keys:
    """The things that a name calls, and those that are called more broadly or more narrowly: "pneumonia" may mean
    "community-acquired pneumonia", and "productive cough" is a "cough".
    """
    index, words = _index(), without_qualifiers(name)
    if not 0 < len(words) <= _MOST_WORDS:
        return things(name)
    narrower = sorted((index.with_word.get(word, set()) for word in words), key=len)
    broader = (each for word in words for each in index.by_rarest.get(word, ()) if each <= words)
    found = {*narrower[0].intersection(*narrower[1:]), *broader}
    return things(name).union(*(index.by_words[each] for each in found))


def names_of(name: str) -> frozenset[str]:
    """What else the bundled sets, and the lists of everyday and of sources' names, call what a name calls; in English."""
    return frozenset[str]().union(*(_index().names.get(key, ()) for key in called(name)))


@lru_cache(maxsize=1 << 14)
def without_qualifiers(name: str) -> Words:
    """The stems of a name's words, in no order, without those that only say how, when or how badly: "acute", "disease"."""
    words = (word for word in re.findall(r"[^\W_]+", spelling_key(name)) if word not in _qualifiers())
    return frozenset(map(_stem, words))


@lru_cache(maxsize=1 << 14)
def _stem(word: str) -> str:
    """A word without the ending of a plural, or by which "wheeze" and "wheezing" differ; at least four letters."""
    endings = (end for end in ("ing", "es", "s", "e") if word.endswith(end) and len(word) - len(end) >= 4)
    return word.removesuffix(next(endings, ""))


@cache
def _qualifiers() -> Words:
    return frozenset(name_key(word) for word in table_words()["qualifiers"])


def is_common(tail: str, relation: str) -> bool:
    """Whether a tail is true of so many heads, in a relation or a close one, that nobody may call it false of one of which
    nothing is known; or is a kind of such a tail, "nocturnal cough".
    """
    words, own = without_qualifiers(tail), things(tail)
    return any(
        not own.isdisjoint(keys) or words in exact or any(each <= words for each in broad)
        for known_in, keys, exact, broad in _common_tails()
        if keeps_from_false(known_in, relation)
    )


@cache
def _common_tails() -> tuple[tuple[str, Keys, frozenset[Words], frozenset[Words]], ...]:
    """Relation → the things and words of its rows in `common_tails.csv`, which says why; and the words of those of which each
    kind is common.
    """
    rows: defaultdict[str, list[dict[str, str]]] = defaultdict(list)
    for row in rows_of("common_tails.csv"):
        rows[row["relation"]] += ({**row, "name": name} for name in (row["name"], *filter(None, row["also"].split(" | "))))
    found = []
    for relation, of in rows.items():
        words = {row["name"]: (without_qualifiers(row["name"]), bool(row["narrower"])) for row in of}
        exact, broad = (
            frozenset(own for own, narrows in words.values() if own and narrows >= least) for least in (False, True)
        )
        found.append((relation, Keys().union(*map(things, words)), exact, broad))
    return tuple(found)


class _Index:
    """called: key of a name → things. names: thing → its English names. by_words: words → things. with_word, by_rarest: word →
    the sets of words that hold it, and of which it is the rarest.
    """

    def __init__(self, names: Iterable[tuple[str, str, bool]]) -> None:
        called = defaultdict[str, set[str]](set)
        words_of = defaultdict[Words, set[str]](set)
        self.names = defaultdict[str, set[str]](set)
        for thing, name, is_english in names:
            key = spelling_key(thing)
            called[spelling_key(name)].add(key)
            words_of[without_qualifiers(name)].add(key)
            if is_english:
                self.names[key].add(name)
        words_of.pop(frozenset(), None)
        self.called = {key: frozenset(things) for key, things in called.items()}
        self.by_words = {words: frozenset(things) for words, things in words_of.items()}
        self.with_word = defaultdict[str, set[Words]](set)
        for words in self.by_words:
            for word in words:
                self.with_word[word].add(words)
        self.by_rarest = defaultdict[str, list[Words]](list)
        for words in self.by_words:
            self.by_rarest[min(words, key=lambda word: (len(self.with_word[word]), word))].append(words)


@shared_cache(1)
def _index() -> _Index:
    return _Index(_all_names())


def _all_names() -> Iterator[tuple[str, str, bool]]:
    """Each own name with each name that it has, and whether that is an English one."""
    for one in bundled_names():
        known = load_bundled(one).known
        for end in dict.fromkeys(chain.from_iterable(known.pairs())):
            yield from ((end, name, True) for name in known.names(end))
    for row in rows_of("source_names.csv"):
        yield from ((row["name"], name, True) for name in row["also"].split(" | ") if name)
    yield from ((name, lay, True) for lay, name in lay_names())
    yield from ((row["name"], row["lay"], False) for _, row in read_table(ASSETS / "languages" / "lay_names.csv")[1])
    for file in sorted((ASSETS / "languages").glob("*/names.csv")):
        for _, row in read_table(file)[1]:
            yield from ((row["entity"], name, False) for name in (row["name"], *row["synonyms"].split(" | ")) if name)


# ------------------------------------------------------------------------------------------------ search


def matching_facts(
    facts: Iterable[Fact],
    search: str,
    known: KnowledgeBase | None = None,
    also: Callable[[str], Iterable[str]] = lambda _: (),
) -> Iterator[Fact]:
    """Yields the facts in which all words of a search occur, in any order.

    Args:
        known: adds the other names of conditions and findings.
        also: adds their names in another language.
    """
    words = set(name_key(search).split())
    for fact in facts:
        ends = [name for name in (fact.head, fact.tail) if name is not None] if words else []
        names = [_searchable_names(name, known) if known else name_key(name) for name in ends]
        text = " ".join((name_key(fact.relation), *names, *(name_key(other) for name in ends for other in also(name))))
        if all(word in text for word in words):
            yield fact


def _searchable_names(name: str, known: KnowledgeBase) -> str:
    """A name with the other and everyday names of the same thing, as one normalized text."""
    cached: dict[str, str] = known.memo.setdefault("names to search", {})
    if name not in cached:
        names = sorted(known.names(name))
        cached[name] = fold_text("; ".join([*names, *map(core_name, names), *sorted(names_of(name))]))
    return cached[name]
