"""A statement in a language as a prototype: its names become slots. What is found, filled again, is the statement."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace

from medfact.facts import Fact, name_key
from medfact.languages.language import Language
from medfact.languages.names import MARKS, Name, in_case

MOST_PLACES = 4
"""Where a text may have one name, as when a name is a part of the other: more are not tried."""

_BEFORE_A_SLOT = re.compile(r"(?<![^\s\[\]{}|~])([^\s\[\]{}|~]++ )~?\[[XY]\]")
_LAST_WORD = re.compile(r"(?<!\S)(?:\S++\s++|\S*['’])$")
_NUMBERED = re.compile(r"\{(?:[XY]:)?([^{}|]+)\|([^{}|]+)\}")


def template_of(language: Language, fact: Fact, wording: str, like: str = "") -> str:
    """A wording of a statement about a fact, with slots for its names; "" where it does not have both once, or has a name in a
    form that the language's rules do not make. like: the prototype of the same form: its words for one and for many are used.
    """
    if not language.pool.names_all_of(fact) or any(mark in wording for mark in MARKS):
        return ""
    head, tail = (language.names[name_key(entity)] for entity in (fact.head, fact.tail or ""))
    wording = wording.removeprefix(language.pool.blank.words_before(fact))
    fact = replace(fact, region=None, population=None)

    def says(template: str) -> bool:
        return language.pool.blank.fill_prototype(template, fact).casefold() == wording.casefold()

    for with_head in filter(says, _slotted(language, wording, "X", head, like)):
        for template in filter(says, _slotted(language, with_head, "Y", tail, like)):
            if not any(_whole(language, name.text).search(template) for name in (head, tail)):
                return _numbered(language, template, like, says)
    return ""


def _slotted(language: Language, text: str, letter: str, name: Name, like: str) -> Iterator[str]:
    """The texts that may say the same with a slot for a name."""
    for mark, (case, bare) in _slots(language, letter, like):
        places = [*_whole(language, in_case(name, case, bare, language.pool.blank.cases).text).finditer(text)]
        for found in places if len(places) <= MOST_PLACES else ():
            for before in _befores(language, text[: found.start()]):
                yield f"{before}{mark}{text[found.end() :]}"


def _slots(language: Language, letter: str, like: str) -> list[tuple[str, tuple[str, bool]]]:
    """The marks of a slot, each with its case and whether it stands without an article: that of another prototype first, which
    tells cases apart that look the same; then those with an article.
    """
    usual, *others = language.pool.blank.cases or ("",)
    marks = {
        f"{'~' if bare else ''}[{letter}]{f'{{{case}}}' if case != usual else ''}": (case, bare)
        for bare in (False, True)
        for case in (usual, *others)
    }
    return sorted(marks.items(), key=lambda mark: not re.search(rf"(?<!~){re.escape(mark[0])}(?!{{[^|]*}})", like))


def _whole(language: Language, words: str) -> re.Pattern[str]:
    """Words in a text, in any case; not as a part of others, where words have spaces between them."""
    edges = (r"(?<!\w)", r"(?!\w)") if language.asking.words.spaced else ("", "")
    return re.compile(f"{edges[0]}{re.escape(words)}{edges[1]}", re.IGNORECASE)


def _befores(language: Language, text: str) -> Iterator[str]:
    """What may stand before a slot instead of a text: itself; without its last word, which may be the name's article; with
    another word for it, since a word may have been joined to the name. One that has lost a letter before it surely has.
    """
    last = _LAST_WORD.search(text)
    short = last is not None and not last.group().endswith(" ")
    if not short:
        yield text
    if last:
        yield text[: last.start()]
        yield from (text[: last.start()] + word for word in _words_before_slots(language))
    if short:
        yield text


def _words_before_slots(language: Language) -> list[str]:
    """Words of the language's own prototypes, each with its space."""
    sentences = (text for relation in language.pool.relations.values() for text in relation.sentences.values())
    return list(dict.fromkeys(word for text in sentences for word in _BEFORE_A_SLOT.findall(text)))


def _numbered(language: Language, template: str, like: str, says: Callable[[str], bool]) -> str:
    """A prototype with the words for one and for many of another one, so that other names can stand in it."""
    for pair in _NUMBERED.finditer(like):
        covered = _NUMBERED.sub(lambda done: "|" * len(done.group()), template)  # what is numbered already is not found
        places = [found for word in pair.groups() for found in _whole(language, word).finditer(covered)]
        numbered = (f"{template[: found.start()]}{pair.group()}{template[found.end() :]}" for found in places)
        template = next(filter(says, numbered), template)
    return template
