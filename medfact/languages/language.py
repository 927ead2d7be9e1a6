"""A language, read from its folder and checked as a whole; and tables in it, whose names stand in its sentences as they are
where nobody translated them.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any

from medfact.assets import ENGLISH, LANGUAGES, language_codes
from medfact.datasets import Collection, bundled_names
from medfact.datasets.names import relation_words
from medfact.errors import UnknownName
from medfact.facts import Fact, fold_text, name_key
from medfact.languages.asking import Asking, read_asking
from medfact.languages.cases import kind_of
from medfact.languages.names import Name, read_names
from medfact.languages.pool import AS_WRITTEN, ENGLISH_POOL, PoolInLanguage, read_pool_in_language, record_of_pool
from medfact.prototypes import load_pool

MOST_FACTS = 2_000
"""Facts of a table that tell its language."""

WEIGHT_OF_RELATION = 2
"""How many words of names each word of a relation counts for: a table has few relations."""

HEAD_START = 2.0
"""Words by which another language must be ahead of English."""

OF_DRUGS = ("contraindicated in", "must not be combined with")
"""Relations whose heads are drugs."""

_WORDS = re.compile(r"[\u3400-\u9fff]|[^\W\d_\u3400-\u9fff]{2,}")


@dataclass(frozen=True)
class Language:
    """A language in which facts are asked. code: as pages mark it ("es"). names: key of an entity → what it is called."""

    code: str
    names: Mapping[str, Name]
    pool: PoolInLanguage
    asking: Asking


def read_language(folder: Path) -> Language:
    """The language of a folder. Raises FactsError or PoolError, naming the file, where something is wrong with it."""
    names = read_names(folder / "names.csv")
    return Language(
        code=folder.name,
        names=names,
        pool=read_pool_in_language(folder / "pool.yaml", names),
        asking=read_asking(folder / "asking.yaml"),
    )


@cache
def load_language(code: str) -> Language:
    """A language that comes with medfact. Raises UnknownName where there is none of this code."""
    folders = {folder.name: folder for folder in LANGUAGES.iterdir() if folder.is_dir()}
    if code not in folders:
        raise UnknownName("language", code, folders)
    return read_language(folders[code])


def pool_file(code: str) -> dict[str, Any]:
    """What stands in the `pool.yaml` of a language that comes with medfact."""
    return record_of_pool(LANGUAGES / load_language(code).code / "pool.yaml")[1]


def name_in(code: str, entity: str) -> Name | None:
    """What an entity is called in a language; None in English, where facts have its name, and where the language has none."""
    return None if code == ENGLISH else load_language(code).names.get(name_key(entity))


def names_in(code: str, entity: str) -> tuple[str, ...]:
    """All that an entity is called in a language: its name first, then the others in use; () where `name_in` has None."""
    name = name_in(code, entity)
    return (name.text, *name.synonyms) if name else ()


# ------------------------------------------------------------------------------------------------ tables in a language


def language_of(collection: Collection) -> str:
    """The code of the language in which most words of a table's names and relations are; English where none has more."""
    if collection.name in bundled_names():
        return ENGLISH
    if "language" not in collection.memo:
        facts = list(islice(collection.facts, MOST_FACTS))
        names = _words(name for fact in facts for name in (fact.head, fact.tail or ""))
        relations = _words(fact.turned_from or fact.relation for fact in facts)
        votes = Counter({ENGLISH: HEAD_START})
        for word in (*names, *[*relations] * WEIGHT_OF_RELATION):
            speak = [code for code in language_codes() if word in _vocabulary(code)]
            votes.update({code: 1 / len(speak) for code in speak})
        collection.memo["language"] = max(votes, key=lambda code: (votes[code], code == ENGLISH))
    return str(collection.memo["language"])


def _words(names: Iterable[str]) -> set[str]:
    return {word for name in names for word in _WORDS.findall(fold_text(name))}


@cache
def _vocabulary(code: str) -> frozenset[str]:
    """The words of the names and relations of a language; of English, those of the entities that the others name."""
    names = load_language(language_codes()[-1] if code == ENGLISH else code).names.values()
    tables = [relation_words("names", "only_relation"), relation_words("inverse")]
    of = {other: {name for table in tables for names in table[other].values() for name in names} for other in tables[0]}
    if code == ENGLISH:
        every = {name for one in load_pool(ENGLISH_POOL).relations.values() for name in (one.name, *one.aliases, *one.inverse)}
        return frozenset(_words([*every.difference(*of.values()), *(name.entity for name in names)]))
    return frozenset(_words([*of[code], *(text for name in names for text in (name.text, *name.synonyms))]))


def pool_of_table(code: str, collection: Collection) -> PoolInLanguage:
    """The pool of a language, with the names of a table that is in it."""
    pool, key = load_language(code).pool, ("pool", code)
    if key not in collection.memo:
        facts = (*collection.known.facts, *collection.facts)
        collection.memo[key] = pool.of_table(*_names_in(pool, facts)) if language_of(collection) == code else pool
    made: PoolInLanguage = collection.memo[key]
    return made


def _names_in(pool: PoolInLanguage, facts: Iterable[Fact]) -> tuple[dict[str, Name], frozenset[str]]:
    """Key of a name of a table → how it stands in a sentence; and the keys of those that stand as written. Names that the
    language has stand as it has them. The genitive of a condition needs its article.
    """
    heads = {name_key(fact.head) for fact in facts if pool.canonical(fact.relation) not in OF_DRUGS}
    listed = {name_key(name.text): name for name in pool.names.values()}
    alike = {name_key(other) for name in pool.names.values() for other in name.synonyms}
    names, first = dict[str, Name](), next(iter(pool.blank.cases.values()), {})
    written = {name_key(name): name for fact in facts for name in (fact.head, fact.tail) if name}
    for key, name in written.items():
        names[key] = listed.get(key) or (None if key in alike else pool.names.get(key)) or pool.guess(name)
        if key in heads and (cell := first.get(kind_of(names[key]))):
            names[key] = replace(names[key], article=cell.article or kind_of(names[key]))
    return names, frozenset(key for key, name in names.items() if name.source == AS_WRITTEN and key not in alike)
