"""Reads replies as True, False, or unreadable (None), in three ways: the project's own, PretextTrans', and MKJ's.

Parts of a reply that do not count are overwritten with spaces, not removed. So a reading also knows the position of the word
that decided it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

from medfact.models.thinking import without_thinking

TRUE_WORDS = ("True", "Entailed", "Correct", "Yes")
FALSE_WORDS = ("False", "Contradicted", "Wrong", "No")
"""PretextTrans, Table 7. Only whole words count: not the "no" in "diagnosis"; "incorrect" is its own word."""

COMMITTED, KEYWORD, LAST_WORD = "committed", "keyword", "last-word"

_FLAGS = re.IGNORECASE | re.ASCII
"""ASCII makes a keyword next to another script ("答案是True。") a whole word."""

_FALSE = (*FALSE_WORDS, "Incorrect", "Untrue")
_WORDS = "|".join((*TRUE_WORDS, *_FALSE))
_TRUE = frozenset(word.lower() for word in TRUE_WORDS)

# ---------------------------------------------------------------------------------------- what is not the answer

_RUN_ON = re.compile(r"(?<=\S)(?=\s*?\n)\s++Statement\s*:.*", re.DOTALL | _FLAGS)
_UNCHOSEN = re.compile(r"~~.*?~~|\[ \]\s*\w+", _FLAGS)
_MARKUP = re.compile(r"[*_`#]+")
_WITHIN_A_WORD = re.compile(r"(?<![^\W_])[^\W_]++(?:[*_`#]++[^\W_]++)++")
_ECHO = re.compile(r"true\s+(?:or|and|/)\s+false|true/false|false\s+(?:or|and|/)\s+true|yes\s+or\s+no", _FLAGS)
_SOME = r"[^.!?\n]{0,600}"
"""Part of one sentence. Bounded: a reply without a full stop would otherwise take seconds to read."""

_ASIDES = re.compile(
    rf"\b(?:both|neither)\s+(?:{_WORDS})\b[^.!?\n]*|\b(?:whether|if)\b[^.!?\n,;]*"
    r"|\b(?:rather\s+than|instead\s+of)\s+\w+"
    rf"|\b(?:partially|partly|half|sometimes)\s+(?:{_WORDS})\b"
    r"|\b(?:while|although|though)\b[^.!?\n,]{0,600},"
    rf"|{_SOME}\b(?:may|might)\s+have\s+heard\b[^.!?\n]*"
    rf"|{_SOME}\?",
    _FLAGS,
)
"""Words that are not the answer: both or neither, a question, a concession, hearsay, a rejected alternative."""


class Verdict(NamedTuple):
    """The answer of a reply, and the index where the deciding word starts; both None if it is unreadable."""

    answer: bool | None
    at: int | None


UNREADABLE = Verdict(None, None)


def _without(pattern: re.Pattern[str], text: str) -> str:
    """The text with spaces in place of all matches of the pattern."""
    return pattern.sub(lambda found: " " * len(found.group()), text)


def _from(start: int, text: str) -> str:
    """The text with spaces in place of everything before an index."""
    return " " * start + text[start:]


def _joined(found: re.Match[str]) -> str:
    """A word without inner markup ("in**correct**"), padded on the left to its old length."""
    return _MARKUP.sub("", found.group()).rjust(len(found.group()))


def _spoken(reply: str) -> str:
    """The reply without thinking, markup, an echo of the question, or a further statement that the model wrote."""
    text = _WITHIN_A_WORD.sub(_joined, _without(_RUN_ON, without_thinking(reply)))
    return _without(_ECHO, _without(_MARKUP, text))


# ------------------------------------------------------------------------------------------ the committed answer

_CORRECTED = re.compile(
    r"(?:[.!?\n—–-]\s{0,200})(?:hmm\W{1,20})?"
    r"(?:wait|correction|actually|on\s+second\s+thoughts?|i\s+apologi[sz]e|my\s+mistake)\b",
    _FLAGS,
)
_NAMES = r"(?:positives?|negatives?|lumen|ribs?|alarms?|allerg\w+|labou?r|aneurysms?|statements?|answers?|claims?)\b"
"""Nouns that a keyword may describe: false positives, a true aneurysm, the correct answer."""

_BOTH = re.compile(r"\W*(?:true|yes)\b\W+(?:false|no)\b\W*\Z|\W*(?:false|no)\b\W+(?:true|yes)\b\W*\Z", _FLAGS)
_VERDICT = re.compile(rf"\W*(?P<word>true|false)\b(?!(?:\W{{1,2}}| {{3,5}}){_NAMES})", _FLAGS)
_SENTENCE = re.compile(rf"(?:statement|claim|it|this|that)\s+is\s+(?P<negation>not\s+)?(?P<word>{_WORDS})\b", _FLAGS)
_ANSWER = re.compile(rf"(?:answer|verdict|conclusion)\s*(?:is|:)[\W_]*\b(?P<word>{_WORDS})\b", _FLAGS)
_AND_THE_OTHER = re.compile(rf"\W{{0,200}}(?:and|or|,|/)\W{{0,200}}(?:{_WORDS})\b", _FLAGS)
_OPENING = re.compile(rf"\W*(?:(?P<word>{_WORDS})\s*(?:[.!;:\n]|\Z)|(?P<other>(?!yes|no)(?:{_WORDS}))\s*(?:,|[-–—]\s))", _FLAGS)
_HEDGE = re.compile(r"(?<!anything )\b(?:but|however|yet|although)\b", _FLAGS)


def _committed(reply: str) -> Verdict:
    """The answer that a reply commits to.

    The first of these decides: a correction ("wait, no: …"); an opening True or False; "the answer is …"; a keyword that opens
    the reply as its own sentence or clause; after an opening yes or no, "the statement is …"; the keywords after the last "but"
    or "however"; all keywords, if they agree.
    """
    text = _spoken(_without(_UNCHOSEN, reply))
    if corrected := [*_CORRECTED.finditer(text)]:
        meant = _committed(_from(corrected[-1].end(), text))
        if meant.answer is not None:
            return meant
    if _BOTH.match(text):
        return UNREADABLE
    if (verdict := _VERDICT.match(text)) and not text[verdict.end() :].startswith("?"):
        return _verdict(verdict)
    text = _without(_ASIDES, text)
    if answers := [*_ANSWER.finditer(text)]:
        return UNREADABLE if _AND_THE_OTHER.match(text, answers[-1].end()) else _verdict(answers[-1])
    if opening := _OPENING.match(text):
        return _verdict(opening, "word" if opening["word"] else "other")
    if text.lstrip().lower().startswith(("yes", "no,")) and (sentence := _SENTENCE.search(text)):
        return _verdict(sentence)
    if (hedges := [*_HEDGE.finditer(text)]) and (after := _keywords(_from(hedges[-1].end(), text))):
        return _agreed(after)
    return _agreed(_keywords(text))


def _verdict(found: re.Match[str], name: str = "word") -> Verdict:
    """The answer of a matched keyword, reversed if the match includes its negation."""
    return Verdict(_meaning(found[name]) != (found.groupdict().get("negation") is not None), found.start(name))


def _meaning(word: str) -> bool:
    return word.lower() in _TRUE


_DENYING = (
    r"\b(?:not|never|hardly|cannot|nothing|unlikely|no\s+reason|far\s+from|anything\s+but|doubt(?:s|ful)?)\b|n['’]t\b"
    r"|\b(?:wrong|incorrect|false|untrue)\s+to\s+(?:say|call|claim|state|think)\b[^.!?\n]{0,600}?"
)
_BETWEEN = (
    r"(?:\s+(?:the\s+case|to\s+think|think|believe|say|that)\b(?:\s+[\w'’]+){0,5}?"
    r"|(?:\s+(?!(?:is|are|was|were)\b)\w+){0,5}?)\s+"
)
"""Words between a denial and the keyword that it reverses: "not the case that this is", but not "is not a symptom of gout
is", where the denial belongs to the statement.
"""

_KEYWORD = re.compile(rf"(?P<negation>(?:{_DENYING}){_BETWEEN})?\b(?P<word>{_WORDS})\b", _FLAGS)
_PART_OF_A_NAME = re.compile(
    rf"-\w|\s+(?:{_NAMES}|treatment|doubt|problem|question|comment|idea|to\s+(?:ask|wonder|say|call|claim|state)|other\b|\d)",
    _FLAGS,
)


_PRONOUN = re.compile(r"(?:it|this|that|the)\b", _FLAGS)


def _keywords(text: str) -> list[Verdict]:
    """The answer of each keyword. Yes and no count only on their own ("No, …", "… no."); no keyword counts within a name, or in
    phrases like "the correct treatment" and "no doubt".
    """
    verdicts = []
    for found in _KEYWORD.finditer(text):
        word = found["word"].lower()
        before, after = text[: found.start()].strip(" \n\t\"'(["), text[found.end() :].lstrip(" \"')]")
        opens = not before and (word == "yes" or _PRONOUN.match(after) is not None)
        apart = opens or not after or after[0] in ".,!?:;\n–—-"
        attribute = _PART_OF_A_NAME.match(text, found.end())
        if attribute and not (word in {"true", "false"} and re.match(r"\s+(?:statement|claim|answer)", attribute.group())):
            continue
        if apart or word not in {"yes", "no"}:
            verdicts.append(_verdict(found))
    return verdicts


def _agreed(verdicts: Sequence[Verdict]) -> Verdict:
    """The first of several verdicts, if all have the same answer."""
    return verdicts[0] if len({verdict.answer for verdict in verdicts}) == 1 else UNREADABLE


# ---------------------------------------------------------------------------------------------- the papers' own

_TURNED = r"(?:\b(?:not|never|cannot|hardly)|n['’]t)(?:\s+(?:a|at|all|be|considered|\w+ly)){0,3}\s+"
_NEGATED = re.compile(rf"(?P<negation>{_TURNED})?\b(?P<word>{_WORDS})\b", _FLAGS)


def _keyword(reply: str) -> Verdict:
    """PretextTrans: whole True or False words anywhere; unreadable if words of both sides occur, or none.

    A keyword after "not" counts for the other side.
    """
    return _agreed([_verdict(found) for found in _NEGATED.finditer(_spoken(reply))])


_TRUE_OR_FALSE = re.compile(r"(?<![A-Za-z0-9])(?P<word>true|false)(?![A-Za-z0-9])", re.IGNORECASE)


def _last_word(reply: str) -> Verdict:
    """MKJ: the last "true" or "false" of the reply. Without either, MKJ's code read False; here the reply is unreadable."""
    found = [*_TRUE_OR_FALSE.finditer(without_thinking(reply))]
    return _verdict(found[-1]) if found else UNREADABLE


READINGS: dict[str, Callable[[str], Verdict]] = {COMMITTED: _committed, KEYWORD: _keyword, LAST_WORD: _last_word}
"""Name → a function from a reply's text to its verdict."""


def read_answer(reply: str, reading: str = COMMITTED) -> bool | None:
    """The answer of a reply; None if it is unreadable: no answer, both answers, a refusal, or empty."""
    return READINGS[reading](reply).answer


def _place(reading: str, reply: str) -> int | None:
    return READINGS[reading](reply).at


PLACES: dict[str, Callable[[str], int | None]] = {name: partial(_place, name) for name in READINGS}
"""Name → a function from a reply to the index where its deciding word starts, or None."""
