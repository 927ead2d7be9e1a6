"""A language, read from its folder and checked as a whole; and tables in it, whose names stand in its sentences as they are
where nobody translated them.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cache, cached_property, partial
from itertools import islice
from pathlib import Path
from typing import Any

from medfact.answers import CHOICES, QuestionFormat
from medfact.assets import ENGLISH, LANGUAGES, language_codes
from medfact.datasets import Collection, bundled_names
from medfact.datasets.names import relation_words
from medfact.datasets.text import InvalidYaml, read_yaml
from medfact.errors import PoolError, UnknownName
from medfact.facts import Fact, fold_text, name_key
from medfact.languages.names import Name, kind_of, read_names
from medfact.languages.pool import AS_WRITTEN, ENGLISH_POOL, PoolInLanguage, read_pool_in_language, record_of_pool
from medfact.languages.replies import ReadReply, Words, read_answer, read_reply, settles, words_in
from medfact.models.prompt import FIRST_WIDE
from medfact.prototypes import load_pool

SHORTEST_BEGINNING = 2
"""Characters that a beginning of an answer word has at least: fewer begin too many other words. A Chinese character counts as
two, because it is a word's beginning by itself."""


@dataclass(frozen=True)
class Asking:
    """How facts are asked. code: of the language. question: with {statement} once.

    answers: after a true and after a false statement. probable: the words for True and for False whose probability is read.
    words: those that replies are read by.
    """

    code: str
    title: str
    question: str
    answers: tuple[str, str]
    probable: tuple[tuple[str, ...], tuple[str, ...]]
    words: Words

    def read(self, reply: str) -> ReadReply:
        """The answer of a reply in this language, or in another one where none of its words answers."""
        return read_reply(self.code, self.words, reply)

    @cached_property
    def choices(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The words for True and False with their beginnings: most tokenizers know words of this language only in parts, and
        the first part tells the answer. A beginning that both sides share is left out. The English words count too, because
        replies in English are read.
        """
        true, false = (
            {begin for word in side for begin in _beginnings(word)} | {word.lower() for word in (*side, *english)}
            for side, english in zip(self.probable, CHOICES, strict=True)
        )
        return tuple(sorted(true - false)), tuple(sorted(false - true))

    @cached_property
    def format(self) -> QuestionFormat:
        """The question as prompts are made with it; the statement keeps its full stop. A space stands before the answer of a
        demonstration where the language has spaces between words.
        """
        return QuestionFormat(
            question=self.question,
            answer=" {word}\n" if self.words.spaced else "{word}\n",
            words=self.answers,
            full_stop=True,
            choices=self.choices,
            reader=partial(read_answer, self.code, self.words),
            settles=partial(settles, self.code, self.words),
        )


def _beginnings(word: str) -> set[str]:
    """The beginnings of a word, in small letters, that are long enough."""
    lower = word.lower()
    wide = 1 if lower[0] >= FIRST_WIDE else SHORTEST_BEGINNING
    return {lower[:end] for end in range(wide, len(lower))}


def read_asking(path: Path) -> Asking:
    """Reads `asking.yaml`. Raises PoolError, naming the file and the entry, where something is missing or wrong."""
    where = f"{path.parent.name}/{path.name}"
    try:
        record = read_yaml(path.read_text(encoding="utf-8"))
    except InvalidYaml as error:
        raise PoolError(f"{where}, line {error.line}: {error.problem}", error.hint) from None
    entries: dict[str, Any] = record if isinstance(record, dict) else {}
    if str(entries.get("question", "")).count("{statement}") != 1:
        raise PoolError(f"{where}: `question` does not have {{statement}} once.", "Write it where the statement stands.")
    answers = _texts(where, "answers", entries.get("answers"))
    if len(answers) != 2 or answers[0] == answers[1]:
        hint = "Write the word for a true, then the one for a false statement."
        raise PoolError(f"{where}: `answers` are not two different words.", hint)
    probability = entries.get("probability") or {}
    true, false = (
        _texts(where, f"probability of {side}", probability.get(side, probability.get(str(side).lower())))
        for side in (True, False)  # as which YAML reads an unquoted `true`
    )
    return Asking(
        code=path.parent.name,
        title=str(entries.get("title", "")) or path.parent.name,
        question=str(entries["question"]),
        answers=(answers[0], answers[1]),
        probable=(true, false),
        words=words_in(where, entries.get("reading") or {}),
    )


def _texts(where: str, entry: str, value: Any) -> tuple[str, ...]:
    if not isinstance(value, list) or not value or not all(isinstance(one, str) and one for one in value):
        raise PoolError(f"{where}: `{entry}` is no list of texts.", "Write words in square brackets, in quotation marks.")
    return tuple(value)


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
