"""Tables in other languages than English: which language a table is in, and its names as sentences of that language have them.

Names that nobody translated stand as written. What the grammar needs of them is inferred from the names that the language has:
from those with the same noun, else from those whose nouns have the same ending.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from itertools import islice

from medfact.assets import ENGLISH, language_codes, table_words
from medfact.datasets import Collection, bundled_names
from medfact.facts import Fact, name_key, spelled
from medfact.languages.cases import kind_of
from medfact.languages.language import Language, load_language
from medfact.languages.names import MARKS, Name
from medfact.languages.pool import PoolInLanguage
from medfact.prototypes import load_pool

MOST_NAMES = 2_000
"""Names of a table that tell its language."""

WEIGHT_OF_RELATION = 3
"""How many words of names a relation's name counts for: a table has few relations."""

SHORTEST_ENDING, FEWEST_NOUNS, AGREEMENT = 2, 4, 0.95
"""Letters of an ending that tells a gender, nouns that must have it, and the share of them that must agree: in five-fold
cross-validation over the names of each language, 1 % of the nouns get a wrong article so, and 6 to 9 % none."""

MOSTLY = 0.8
"""Share of a table's names above which a capital at their beginning says nothing."""

_UNKNOWN = Name("", "", gender="unknown", article="unknown")
"""A noun of unknown gender, in a language whose cases have a row for it."""

_ADJECTIVE = re.compile("e[rsnm]?$")
_WORDS = re.compile(r"[\u3400-\u9fff]|[^\W\d_\u3400-\u9fff]{2,}")


# ------------------------------------------------------------------------------------------------ which language


def language_of(collection: Collection) -> str:
    """The code of the language in which most words of a table's names and relations are; English where none has more."""
    if collection.name in bundled_names():
        return ENGLISH
    if "language" not in collection.memo:
        names = dict.fromkeys(name for fact in islice(collection.facts, MOST_NAMES) for name in (fact.head, fact.tail or ""))
        votes: Counter[str] = Counter({ENGLISH: 0})
        for word in _words(names):
            speak = [code for code in language_codes() if word in _vocabulary(code)]
            votes.update(dict.fromkeys(speak, 12 // len(speak)) if speak else {})
        for relation in dict.fromkeys(fact.turned_from or fact.relation for fact in collection.facts):
            speak = [code for code in language_codes() if name_key(relation) in _relations(code)]
            votes.update(dict.fromkeys(speak, 12 * WEIGHT_OF_RELATION // len(speak)) if speak else {})
        collection.memo["language"] = max(votes, key=lambda code: (votes[code], code == ENGLISH))
    language: str = collection.memo["language"]
    return language


def _words(names: Iterable[str]) -> set[str]:
    return {word for name in names for word in _WORDS.findall(name_key(name))}


@cache
def _vocabulary(code: str) -> frozenset[str]:
    """The words of the names that a language has, and the English ones of the same entities."""
    if code == ENGLISH:
        return frozenset(_words(name.entity for name in load_language(language_codes()[-1]).names.values()))
    return frozenset(_words(text for name in load_language(code).names.values() for text in (name.text, *name.synonyms)))


@cache
def _relations(code: str) -> frozenset[str]:
    """The keys of a language's names of relations."""
    tables = [table_words()[words] for words in ("relation_words", "inverse_relation_words")]
    named = {other: {name_key(name) for table in tables for of in table[other].values() for name in of} for other in tables[0]}
    relations = load_pool("medfact").relations.values()
    every = {name_key(name) for one in relations for name in (one.name, *one.aliases, *one.inverse)}
    return frozenset(named.get(code) or every - frozenset().union(*named.values()))


# ------------------------------------------------------------------------------------------------ names as written


@dataclass(frozen=True)
class _Nouns:
    """How the names of a language stand in sentences: number and article, or gender where the language has cases.

    known: key of a noun → how often it stands so. endings: the same by the endings of nouns. elided: first letter → the article
    before it. small, capital: words that begin with a small letter, without the ending of an adjective, and with a capital.
    """

    known: Mapping[str, Counter[Name]]
    endings: Mapping[str, Counter[Name]]
    elided: Mapping[str, str]
    small: frozenset[str]
    capital: frozenset[str]


def pool_of_table(code: str, collection: Collection) -> PoolInLanguage:
    """The pool of a language, with the names of a table that is in it."""
    if language_of(collection) != code:
        return load_language(code).pool
    if "pool" not in collection.memo:
        collection.memo["pool"] = load_language(code).pool.of_table(*_names_in(load_language(code), collection))
    pool: PoolInLanguage = collection.memo["pool"]
    return pool


def _names_in(language: Language, collection: Collection) -> tuple[dict[str, Name], frozenset[str]]:
    """Key of a name of a table in this language → how it stands in a sentence; and the keys of those that stand as written."""
    nouns, cases = _nouns(language.code), language.pool.blank.cases
    facts = (*collection.known.facts, *collection.facts)
    written = {name_key(name): name for fact in facts for name in (fact.head, fact.tail) if name}
    are_titles = sum(name[:1].isupper() for name in written.values()) > MOSTLY * len(written) and not cases
    listed, alike = _listed(language.code)
    names, as_written = {}, set[str]()
    for key, name in written.items():
        if known := listed.get(key) or (None if key in alike else language.names.get(key)):
            names[key] = known
            continue
        text = "".join(mark if mark not in MARKS else " " for mark in _in_a_sentence(name, nouns, are_titles))
        inferred = _inferred(text, nouns, bool(cases)) or alike.get(key) or (_UNKNOWN if cases else Name("", ""))
        names[key] = replace(inferred, entity=name, text=text, synonyms=())
        as_written |= set() if key in alike else {key}
    for key in map(name_key, _with_article(language, facts) if cases else ()):
        kind = kind_of(names[key])
        names[key] = replace(names[key], article=next(iter(cases.values()))[kind].article or kind)
    return names, frozenset(as_written)


def _with_article(language: Language, facts: Iterable[Fact]) -> Iterator[str]:
    """Names whose article tells their case, or that need one: conditions, which stand in the genitive, and sites of the body."""
    for fact in facts:
        relation = language.pool.relations.get(language.pool.canonical(fact.relation) or "")
        if relation is not None and relation.head != "drug":
            yield fact.head
        if relation is not None and relation.tail == "body site":
            yield fact.tail or ""


@cache
def _listed(code: str) -> tuple[Mapping[str, Name], Mapping[str, Name]]:
    """Key → the name that a language has, and → the one that has it as a synonym."""
    names = load_language(code).names.values()
    return {name_key(one.text): one for one in names}, {name_key(other): one for one in names for other in one.synonyms}


@cache
def _nouns(code: str) -> _Nouns:
    language = load_language(code)
    known: defaultdict[str, Counter[Name]] = defaultdict(Counter)
    first: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for name in {name.text: name for name in language.names.values()}.values():
        noun, is_elided = _noun(name.text, bool(language.pool.blank.cases)), name.article.endswith(("'", "’"))
        known[noun][_form(name, bool(language.pool.blank.cases))] += 1
        first[noun[:1]][name.article if is_elided else ""] += not name.plural
    endings: defaultdict[str, Counter[Name]] = defaultdict(Counter)
    for noun, forms in known.items():
        for form in forms:
            for size in range(SHORTEST_ENDING, len(noun) + 1 if not form.article.endswith(("'", "’")) else 0):
                endings[noun[-size:]][form] += 1
    words = {word for name in language.names.values() for word in name.text.split()}
    usual = {letter: articles.most_common(1)[0][0] for letter, articles in first.items()}
    return _Nouns(
        known,
        endings,
        {letter: article for letter, article in usual.items() if article},
        frozenset(_stem(word) for word in words if word[0].islower()),
        frozenset(word for word in words if word[0].isupper()),
    )


def _form(name: Name, has_cases: bool) -> Name:
    """What a name has of the grammar, and nothing else."""
    return Name("", "", gender=name.gender if has_cases else "", plural=name.plural, article="" if has_cases else name.article)


def _noun(text: str, has_cases: bool) -> str:
    """The key of the noun of a name: its first word, or in a language with cases the first that begins with a capital."""
    words = text.split() or [""]
    return spelled(next((word for word in words if not word[0].islower()), words[0]) if has_cases else words[0])


def _stem(word: str) -> str:
    return _ADJECTIVE.sub("", spelled(word))


def _in_a_sentence(name: str, nouns: _Nouns, are_titles: bool) -> str:
    """A name without a capital that only begins a cell."""
    first = name.split(" ")[0]
    begins = first[1:].islower() and first not in nouns.capital and (are_titles or _stem(first) in nouns.small)
    return name[:1].lower() + name[1:] if begins else name


def _inferred(text: str, nouns: _Nouns, has_cases: bool) -> Name | None:
    """What a name has of the grammar, by other names; None where they do not tell."""
    noun = _noun(text, has_cases)
    if noun in nouns.known:
        return nouns.known[noun].most_common(1)[0][0]
    is_abbreviation = not any(map(str.islower, text.split()[0]))
    sizes = range(0 if is_abbreviation else len(noun), SHORTEST_ENDING - 1, -1)
    votes = (forms for size in sizes if (forms := nouns.endings.get(noun[-size:])) and forms.total() >= FEWEST_NOUNS)
    firm = (form for forms in votes for form, count in forms.most_common(1) if count >= AGREEMENT * forms.total())
    form = next(firm, None)
    elided = nouns.elided.get(noun[:1])
    return replace(form or Name("", ""), article=elided) if elided and not (form and form.plural) else form
