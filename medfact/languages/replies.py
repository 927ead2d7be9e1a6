"""Replies read in the language of their question, else in English, else in the one other language in which they answer."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache, lru_cache
from typing import NamedTuple

from medfact.answers.reading import MAX_CACHED_LENGTH, read_committed_answer
from medfact.answers.reply_text import ReadAnswer, blank_latex, blank_out, boxes, truncate_reply
from medfact.assets import ENGLISH, LANGUAGES, language_codes
from medfact.datasets.text import read_yaml
from medfact.languages.reading import Words, reader_of, words_in
from medfact.models.prompt import is_settled
from medfact.models.thinking import end_of_thinking

_KEYWORD = re.compile(r"(?<![A-Za-z])(?:true|false|correct|incorrect|yes|wrong)(?![A-Za-z])", re.IGNORECASE)
_IN_ENGLISH = re.compile(
    r"(?<!\w)(?:the|this|that|it|is|are|of|and|to|be|i|my|you|cannot|can['’]t|true|false|yes|statement)(?!\w)", re.IGNORECASE
)
"""Words of English that no other language here has."""

_QUOTED = re.compile(r"[\"“„«][^\"“”„«»\n]{0,400}[\"”“»]")


class ReadReply(NamedTuple):
    """The answer of a reply, the index where its word starts, and the code of its language; None: unreadable."""

    answer: bool | None
    at: int | None
    language: str | None


UNREADABLE = ReadReply(None, None, None)


def read_reply(code: str, words: Words | None, reply: str) -> ReadReply:
    """The answer of a reply. code: the language of its question. words: of that language, None of English."""
    return (_read_short if len(reply) <= MAX_CACHED_LENGTH else _read_reply)(code, words, reply)


def _read_reply(code: str, words: Words | None, reply: str) -> ReadReply:
    said, places = truncate_reply(reply)
    for begin, end in boxes(said):
        boxed = _read(code, words, blank_latex(said[begin:end]))
        if boxed.at is not None:
            return boxed._replace(at=places[begin + boxed.at])
    if words is None:
        english = read_committed_answer(reply, (said, places))
        if english.at is not None and _in_english(said):
            return ReadReply(*english, ENGLISH)
        other = _moved(_elsewhere(code, blank_latex(said)), places)
        return other if english.at is None or other.answer is (not english.answer) else ReadReply(*english, ENGLISH)
    return _moved(_read(code, words, blank_latex(said)), places)


_read_short = lru_cache(maxsize=4096)(_read_reply)


def read_answer(code: str, words: Words | None, reply: str) -> ReadAnswer:
    """The same without its language, as prompts read replies."""
    return ReadAnswer(*read_reply(code, words, reply)[:2])


def settles(code: str, words: Words | None, reply: str) -> bool:
    """Whether a reply opens with its answer, so that the rest need not be known."""
    if is_settled(reply):
        return True
    begin, language = end_of_thinking(reply), read_reply(code, words, reply).language
    if begin is None or language in (None, ENGLISH):
        return False
    own = words if words is not None and language == code else _words_of(language)
    return reader_of(own).opens(reply[begin:])


def _moved(read: ReadReply, places: Sequence[int]) -> ReadReply:
    return read if read.at is None else read._replace(at=places[read.at])


def _read(code: str, words: Words | None, text: str) -> ReadReply:
    """The answer of a text without thinking and boxes. One in English is read as such, whichever words it shares."""
    own = reader_of(words).read(text) if words is not None else None
    is_english = len({*_in_english(text)}) >= 2
    answer = read_committed_answer(text) if words is None or is_english or (own is None and _KEYWORD.search(text)) else None
    if own is not None and (answer is None or answer.answer is own.answer):
        return ReadReply(*own, code) if own.at is not None else UNREADABLE
    if answer is not None and answer.at is not None:
        return ReadReply(*answer, ENGLISH)
    return _elsewhere(code, text) if words is None or answer is None else UNREADABLE


def _in_english(text: str) -> list[str]:
    """The words of a text that are English alone, but for those that it quotes."""
    return [word.lower() for word in _IN_ENGLISH.findall(blank_out(_QUOTED, text))]


def _elsewhere(code: str, text: str) -> ReadReply:
    """The answer of a text by the words of the languages in which nobody asked, if all agree that know any of its words."""
    read = [ReadReply(*answer, other) for other, answer in _answers_elsewhere(code, text)]
    return read[0] if len({one.answer for one in read}) == 1 and read[0].at is not None else UNREADABLE


def _answers_elsewhere(code: str, text: str) -> Iterator[tuple[str, ReadAnswer]]:
    in_english = bool(_in_english(text))
    for other in language_codes():
        if other in (ENGLISH, code):
            continue
        words = _words_of(other)
        answer = None if words.spaced and in_english else reader_of(words).read(text)
        if answer is not None and (answer.at is None or _is_word(text, answer.at, words.spaced)):
            yield other, answer


def _is_word(text: str, at: int, spaced: bool) -> bool:
    """Whether a word begins there, and no initial or sign, which any language may have."""
    return (len(text) > at + 1 and text[at : at + 2].isalpha()) if spaced else text[at].isalpha()


@cache
def _words_of(code: str) -> Words:
    file = LANGUAGES / code / "asking.yaml"
    return words_in(f"{code}/{file.name}", read_yaml(file.read_text(encoding="utf-8"))["reading"])
