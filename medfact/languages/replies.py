"""Replies read by a language's words: that of their question, else English, else the one other language that answers."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any, NamedTuple

from medfact.answers.reading import MAX_CACHED_LENGTH, read_committed_answer
from medfact.answers.reply_text import UNREADABLE, ReadAnswer, blank_latex, blank_markup, blank_out, box_spans, truncate_reply
from medfact.assets import ENGLISH, LANGUAGES, language_codes
from medfact.datasets.text import read_yaml
from medfact.errors import PoolError
from medfact.models.prompt import is_settled
from medfact.models.thinking import end_of_thinking

LISTS = (
    "true", "false", "opening_true", "opening_false", "turned", "between", "said_of", "attribute", "attribute_before", "idiom",
    "echo", "open", "declines", "label", "link", "corrected", "turns", "aside",
)  # fmt: skip
"""The lists of phrases, each a regular expression, that a language's file must have."""

FLAGS = re.IGNORECASE
_SENTENCE = re.compile(r"[^.!?;\n。！？；]+[.!?;\n。！？；]*")
_OPTION = re.compile(r"\s*[(（]?[A-Da-d]\s*[).:：）、．]\s*")
"""The letter of an option before its word: "A) Verdadero"."""

_COMMA = re.compile("[,，]")
_BEFORE_A_KEYWORD = " \t\n\"'“”«»:,-–—「『【：，、"
"""What may stand between the start of a clause and a word that answers."""

_COLON = re.compile(r"[:：→]\s*\Z")
"""A word alone behind it answers, whatever was said before: "La gota causa tos: Falso"."""

_NEAR = 600
"""How many characters of its clause beside a word are looked at: a statement fits in, and a long reply is read in time in
proportion to its length.
"""

_NEVER = re.compile(r"(?!)")


@dataclass(frozen=True)
class Words:
    """The phrases of a language as patterns.

    spaced: whether its words have spaces between them.
    phrases: name of a list → its phrases, in pairs, so that words can be hashed and sent to another process.
    """

    spaced: bool
    phrases: tuple[tuple[str, tuple[str, ...]], ...]

    @property
    def lists(self) -> Mapping[str, tuple[str, ...]]:
        return dict(self.phrases)

    def pattern(self, *names: str, before: str = "", after: str = "") -> re.Pattern[str]:
        """Any phrase of some lists, as whole words. Nothing matches where the lists are empty."""
        phrases = [phrase for name in names for phrase in self.lists[name]]
        return re.compile(f"{before}{self.any(phrases)}{after}", FLAGS) if phrases else _NEVER

    def any(self, phrases: list[str] | tuple[str, ...]) -> str:
        edges = (r"(?<!\w)", r"(?!\w)") if self.spaced else ("", "")
        return f"{edges[0]}(?:{'|'.join(phrases)}){edges[1]}"


def words_in(where: str, record: Mapping[Any, Any]) -> Words:
    """The words of a language's file. Raises PoolError, naming the list, where one is missing or no regular expression."""
    lists = {}
    for name in LISTS:
        phrases = record.get(name)
        if not isinstance(phrases, list) or not all(isinstance(one, str) for one in phrases):
            raise PoolError(f"{where}: `reading` has no list `{name}`.", "Write phrases in square brackets, or [].")
        for phrase in phrases:
            try:
                re.compile(phrase)
            except re.error as error:
                raise PoolError(f"{where}: {phrase!r} of `{name}` is no regular expression: {error}.") from None
        lists[name] = tuple(phrases)
    return Words(bool(record.get("words_have_spaces", True)), tuple(lists.items()))


class _Said(NamedTuple):
    """What a keyword says, after how many turns, and whether in a side clause."""

    verdict: ReadAnswer
    turns: int
    aside: bool


class WordReader:
    """Reads a text by one language's words; None where none of them is there, UNREADABLE where they do not answer."""

    def __init__(self, words: Words) -> None:
        join = r"\s*" if not words.spaced else r"\W+"
        keyword = f"(?P<true>{words.any(words.lists['true'])})|(?P<false>{words.any(words.lists['false'])})"
        any_true = words.any((*words.lists["true"], *words.lists["opening_true"]))
        any_false = words.any((*words.lists["false"], *words.lists["opening_false"]))
        answer = f"(?P<true>{any_true})|(?P<false>{any_false})"
        between = words.any(words.lists["between"])
        turned = words.any(words.lists["turned"])
        self._echo = words.pattern("echo")
        self._idiom = words.pattern("idiom")
        self._open = words.pattern("open")
        self._declines = words.pattern("declines")
        self._corrected = words.pattern("corrected")
        self._keyword = re.compile(keyword, FLAGS)
        self._opening = re.compile(rf"[\W_]*(?:{answer})(?=[\W_]|\Z)(?!{join}(?:{words.any(words.lists['attribute'])}))", FLAGS)
        self._opening_alone = re.compile(r"\s*(?:[.,;:!。，；：！、\n)\]\-–—）」』】]|\Z)")
        links = words.pattern("link").pattern
        labelled = keyword if words.spaced else rf"(?:{answer})(?=[\W_]|\Z)"
        self._label = re.compile(
            rf"{words.any(words.lists['label'])}[\s\"'”)*\]]*(?:[:：=→]|{links})\W*"
            rf"(?P<turn>{turned}{join}(?:{between}{join}){{0,2}})?(?:{labelled})",
            FLAGS,
        )
        gap = rf"(?:{between}{join}){{0,6}}"
        self._turned = re.compile(rf"{turned}{join}{gap}\Z", FLAGS)
        self._said_of = words.pattern("said_of")
        self._attribute = words.pattern("attribute", before=join if words.spaced else "")
        self._attribute_before = words.pattern("attribute_before", after=r"\s*\Z")
        self._turns = words.pattern("turns", "aside")
        self._aside = words.pattern("aside")

    def opens(self, text: str) -> bool:
        """Whether a text opens with an answer, so that the rest need not be known."""
        text = blank_out(self._idiom, blank_out(self._echo, blank_markup(text)))
        label = self._label.match(text, len(text) - len(text.lstrip(_BEFORE_A_KEYWORD)))
        return self._opened(text, 0) is not None or bool(label and self._opening_alone.match(text, label.end()))

    def read(self, text: str) -> ReadAnswer | None:
        composed = unicodedata.normalize("NFC", text)
        text = composed if len(composed) == len(text) else text
        text = blank_out(self._idiom, blank_out(self._echo, blank_markup(text)))
        last = max((keyword.start() for keyword in self._keyword.finditer(text)), default=-1)
        corrected = (found.end() for found in self._corrected.finditer(text) if found.end() <= last)
        return self._uncorrected(text, max(corrected, default=0))

    def _uncorrected(self, text: str, begin: int) -> ReadAnswer | None:
        if opening := self._opened(text, begin):
            return opening
        if labels := [*self._label.finditer(text, begin)]:
            return _verdict(labels[-1], turned=labels[-1]["turn"] is not None)
        said = [*self._said(text, begin)]
        if not said:
            found = self._keyword.search(text, begin) or self._open.search(text, begin)
            return UNREADABLE if found else None
        firm = [one for one in said if not one.aside] or said
        latest = [one.verdict for one in firm if one.turns == firm[-1].turns]
        return latest[0] if len({verdict.answer for verdict in latest}) == 1 else UNREADABLE

    def _opened(self, text: str, begin: int) -> ReadAnswer | None:
        """The answer that opens a reply; a sentence that begins so may yet refuse or doubt."""
        option = _OPTION.match(text, begin)
        opening = self._opening.match(text, option.end() if option else begin)
        if opening is None:
            return None
        rest = text[opening.end() :]
        sentence = _SENTENCE.match(rest)
        opened = self._opening_alone.match(rest) is not None
        whole = sentence.group() if sentence else ""
        if not opened or self._open.search(f"{opening.group()}{whole}") or whole.rstrip().endswith(("?", "？")):
            return None
        return _verdict(opening)

    def _said(self, text: str, begin: int) -> Iterator[_Said]:
        turns, declined = 0, False
        for sentence in _SENTENCE.finditer(text, begin):
            whole = sentence.group()
            if whole.rstrip().endswith(("?", "？")):
                continue
            for start, end, turned, aside in self._clauses(whole):
                turns, declined = turns + turned, declined and not turned
                clause = whole[start:end]
                if self._open.search(clause):
                    continue
                for keyword in self._keyword.finditer(clause):
                    if (declined or (aside and self._declines.search(whole, 0, start))) and sum(
                        map(str.isalnum, clause[keyword.end() :])
                    ) > 1:
                        continue  # "it is true that medicine is complex", after a refusal
                    if (verdict := self._claim(clause, keyword, sentence.start() + start)) is not None:
                        yield _Said(verdict, turns, aside)
            declined = declined or self._declines.search(whole) is not None

    def _clauses(self, sentence: str) -> Iterator[tuple[int, int, bool, bool]]:
        """Where the clauses of a sentence begin and end, whether one turns, and whether it is a side clause."""
        begin, turned, aside = 0, False, False
        for turn in (*self._turns.finditer(sentence), None):
            end = turn.start() if turn else len(sentence)
            comma = _COMMA.search(sentence, begin, end) if aside else None
            if comma:  # a side clause ends there
                yield begin, comma.start(), False, True
                begin, turned, aside = comma.start(), False, False
            yield begin, end, turned, aside
            if turn:
                aside = self._aside.match(turn.group()) is not None
                begin, turned = turn.end(), not aside

    def _claim(self, clause: str, keyword: re.Match[str], offset: int) -> ReadAnswer | None:
        """What a keyword says of the statement; None where it is a part of something else."""
        before = clause[max(0, keyword.start() - _NEAR) : keyword.start()]
        after = clause[keyword.end() : keyword.end() + _NEAR]
        if self._attribute.match(after) or self._attribute_before.search(before):
            return None
        turned = self._turned.search(before) is not None
        begins = not before.strip(_BEFORE_A_KEYWORD) or (_COLON.search(before) and self._opening_alone.match(after))
        if not begins and not turned and not self._said_of.search(before):
            return None
        return ReadAnswer((keyword["true"] is not None) != turned, offset + keyword.start())


@lru_cache(maxsize=32)
def reader_of(words: Words) -> WordReader:
    return WordReader(words)


def _verdict(found: re.Match[str], *, turned: bool = False) -> ReadAnswer:
    side = "true" if found["true"] is not None else "false"
    return ReadAnswer((side == "true") != turned, found.start(side))


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


UNREADABLE_REPLY = ReadReply(None, None, None)


def read_reply(code: str, words: Words | None, reply: str) -> ReadReply:
    """The answer of a reply. code: the language of its question. words: of that language, None of English."""
    return (_read_short if len(reply) <= MAX_CACHED_LENGTH else _read_reply)(code, words, reply)


def _read_reply(code: str, words: Words | None, reply: str) -> ReadReply:
    said, places = truncate_reply(reply)
    for begin, end in box_spans(said):
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
        return ReadReply(*own, code) if own.at is not None else UNREADABLE_REPLY
    if answer is not None and answer.at is not None:
        return ReadReply(*answer, ENGLISH)
    return _elsewhere(code, text) if words is None or answer is None else UNREADABLE_REPLY


def _in_english(text: str) -> list[str]:
    """The words of a text that are English alone, but for those that it quotes."""
    return [word.lower() for word in _IN_ENGLISH.findall(blank_out(_QUOTED, text))]


def _elsewhere(code: str, text: str) -> ReadReply:
    """The answer of a text by the words of the languages in which nobody asked, if all agree that know any of its words."""
    read = [ReadReply(*answer, other) for other, answer in _answers_elsewhere(code, text)]
    return read[0] if len({one.answer for one in read}) == 1 and read[0].at is not None else UNREADABLE_REPLY


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
