"""How a reply is read: True, False, or unreadable (None). Three readings: the project's own, PretextTrans', and MKJ's."""

from __future__ import annotations

import re
from collections.abc import Callable

TRUE_WORDS = ("True", "Entailed", "Correct", "Yes")
FALSE_WORDS = ("False", "Contradicted", "Wrong", "No")
"""PretextTrans, Table 7. As whole words: not in "diagnosis", and "incorrect" is a word of its own."""

COMMITTED, KEYWORD, LAST_WORD = "committed", "keyword", "last-word"

_FLAGS = re.IGNORECASE | re.ASCII
"""ASCII: a keyword next to another script ("答案是True。") is a whole word."""

_FALSE = (*FALSE_WORDS, "Incorrect", "Untrue")
_WORDS = "|".join((*TRUE_WORDS, *_FALSE))
_TRUE = frozenset(word.lower() for word in TRUE_WORDS)

# ---------------------------------------------------------------------------------------- what is not the answer

_THINKING = re.compile(r"<(think|thinking|reasoning)>.*?(</\1>|\Z)", re.DOTALL | _FLAGS)
_THOUGHT = re.compile(r"\A.*</(?:think|thinking|reasoning)>", re.DOTALL | _FLAGS)
"""What a chat template opened, and the reply only closes."""
_RUN_ON = re.compile(r"(?<=\S)\s*\n\s*Statement\s*:.*", re.DOTALL | _FLAGS)
_UNCHOSEN = re.compile(r"~~.*?~~|\[ \]\s*\w+", _FLAGS)
_MARKUP = re.compile(r"[*_`#]+")
_ECHO = re.compile(r"true\s+(?:or|and|/)\s+false|true/false|false\s+(?:or|and|/)\s+true|yes\s+or\s+no", _FLAGS)
_ASIDES = re.compile(
    rf"\b(?:both|neither)\s+(?:{_WORDS})\b[^.!?\n]*|\b(?:whether|if)\b[^.!?\n,;]*"
    r"|\b(?:rather\s+than|instead\s+of)\s+\w+"
    rf"|\b(?:partially|partly|half|sometimes)\s+(?:{_WORDS})\b"
    r"|\b(?:while|although|though)\b[^.!?\n,]*,"
    r"|[^.!?\n]*\b(?:may|might)\s+have\s+heard\b[^.!?\n]*"
    r"|[^.!?\n]*\?",
    _FLAGS,
)
"""Neither this nor that; what is asked, conceded, heard or set against the answer."""


def _without_thoughts(reply: str) -> str:
    return _THOUGHT.sub(" ", _THINKING.sub(" ", reply))


def _said(reply: str) -> str:
    """The reply without thoughts, markup, the question's echo, and the next statement that a model goes on to write."""
    text = _RUN_ON.sub("", _without_thoughts(reply).lstrip())
    return _ECHO.sub(" ", _MARKUP.sub("", text))


# ------------------------------------------------------------------------------------------ the committed answer

_CORRECTED = re.compile(
    r"(?:[.!?\n—–-]\s*)(?:hmm\W+)?(?:wait|correction|actually|on\s+second\s+thoughts?|i\s+apologi[sz]e|my\s+mistake)\b", _FLAGS
)
_NAMES = r"(?:positives?|negatives?|lumen|ribs?|alarms?|allerg\w+|labou?r|aneurysms?|statements?|answers?|claims?)\b"
"""Nouns that a keyword may belong to: false positives, a true aneurysm, the correct answer."""

_BOTH = re.compile(r"\W*(?:true|yes)\b\W+(?:false|no)\b\W*\Z|\W*(?:false|no)\b\W+(?:true|yes)\b\W*\Z", _FLAGS)
_VERDICT = re.compile(rf"\W*(?P<word>true|false)\b(?!\W{{1,2}}{_NAMES})", _FLAGS)
_SENTENCE = re.compile(rf"(?:statement|claim|it|this|that)\s+is\s+(?P<negation>not\s+)?(?P<word>{_WORDS})\b", _FLAGS)
_ANSWER = re.compile(rf"(?:answer|verdict|conclusion)\s*(?:is|:)\s*[\W_]*\b(?P<word>{_WORDS})\b", _FLAGS)
_AND_THE_OTHER = re.compile(rf"\W*(?:and|or|,|/)\W*(?:{_WORDS})\b", _FLAGS)
_OPENING = re.compile(rf"\W*(?:(?P<word>{_WORDS})\s*(?:[.!;:\n]|\Z)|(?P<other>(?!yes|no)(?:{_WORDS}))\s*(?:,|[-–—]\s))", _FLAGS)
_HEDGE = re.compile(r"(?<!anything )\b(?:but|however|yet|although)\b", _FLAGS)


def _committed(reply: str) -> bool | None:
    """The answer that a reply commits to.

    Decided in turn by: a correction ("wait, no: …"); an opening True or False; a sentence that contradicts an opening yes or
    no; "the answer is …"; a keyword that opens the reply as a sentence or clause of its own; what comes after the last "but" or
    "however"; and otherwise the keywords, if they all agree.
    """
    text = _said(_UNCHOSEN.sub(" ", reply))
    if (corrected := [*_CORRECTED.finditer(text)]) and (meant := _committed(text[corrected[-1].end() :])) is not None:
        return meant
    if _BOTH.match(text):
        return None
    if (verdict := _VERDICT.match(text)) and not text[verdict.end() :].startswith("?"):
        return _meaning(verdict["word"])
    text = _ASIDES.sub(" ", text)
    if answers := [*_ANSWER.finditer(text)]:
        return None if _AND_THE_OTHER.match(text, answers[-1].end()) else _meaning(answers[-1]["word"])
    if opening := _OPENING.match(text):
        return _meaning(opening["word"] or opening["other"])
    if text.lstrip().lower().startswith(("yes", "no,")) and (sentence := _SENTENCE.search(text)):
        return _meaning(sentence["word"]) != (sentence["negation"] is not None)
    if (hedges := [*_HEDGE.finditer(text)]) and (after := _meanings(text[hedges[-1].end() :])):
        return _agreed(after)
    return _agreed(_meanings(text))


def _meaning(word: str) -> bool:
    return word.lower() in _TRUE


_DENYING = (
    r"\b(?:not|never|hardly|cannot|nothing|unlikely|no\s+reason|far\s+from|anything\s+but|doubt(?:s|ful)?)\b|n['’]t\b"
    r"|\b(?:wrong|incorrect|false|untrue)\s+to\s+(?:say|call|claim|state|think)\b[^.!?\n]*?"
)
_BETWEEN = (
    r"(?:\s+(?:the\s+case|to\s+think|think|believe|say|that)\b(?:\s+[\w'’]+){0,5}?"
    r"|(?:\s+(?!(?:is|are|was|were)\b)\w+){0,5}?)\s+"
)
"""What may stand between a denial and the keyword that it turns round: "not the case that this is", but not "is not a
symptom of gout is", where the denial belongs to the statement.
"""

_KEYWORD = re.compile(rf"(?P<negation>(?:{_DENYING}){_BETWEEN})?\b(?P<word>{_WORDS})\b", _FLAGS)
_PART_OF_A_NAME = re.compile(
    rf"-\w|\s+(?:{_NAMES}|treatment|doubt|problem|question|comment|idea|to\s+(?:ask|wonder|say|call|claim|state)|other\b|\d)",
    _FLAGS,
)


_PRONOUN = re.compile(r"(?:it|this|that|the)\b", _FLAGS)


def _meanings(text: str) -> set[bool]:
    """What each keyword says. Yes and no count only where they stand apart ("No, …", "… no."), and none counts that belongs to
    a name, or in "the correct treatment", "no doubt".
    """
    said = set()
    for found in _KEYWORD.finditer(text):
        word = found["word"].lower()
        before, after = text[: found.start()].rstrip(" \"'(["), text[found.end() :].lstrip(" \"')]")
        opens = not before and (word == "yes" or _PRONOUN.match(after) is not None)
        apart = opens or not after or after[0] in ".,!?:;\n–—-"
        attribute = _PART_OF_A_NAME.match(text, found.end())
        if attribute and not (word in {"true", "false"} and re.match(r"\s+(?:statement|claim|answer)", attribute.group())):
            continue
        if apart or word not in {"yes", "no"}:
            said.add(_meaning(word) != (found["negation"] is not None))
    return said


def _agreed(meanings: set[bool]) -> bool | None:
    return meanings.pop() if len(meanings) == 1 else None


# ---------------------------------------------------------------------------------------------- the papers' own

_TURNED = r"(?:\b(?:not|never|cannot|hardly)|n['’]t)(?:\s+(?:a|at|all|be|considered|\w+ly)){0,3}\s+"
_NEGATED = re.compile(rf"(?P<negation>{_TURNED})?\b(?P<word>{_WORDS})\b", _FLAGS)


def _keyword(reply: str) -> bool | None:
    """PretextTrans: True or False words as whole words, wherever they stand; unreadable where both sides are said, or neither.

    A keyword that "not" turns round counts for the other side.
    """
    return _agreed({_meaning(found["word"]) != (found["negation"] is not None) for found in _NEGATED.finditer(_said(reply))})


_TRUE_OR_FALSE = re.compile(r"(?<![A-Za-z0-9])(?P<word>true|false)(?![A-Za-z0-9])", re.IGNORECASE)


def _last_word(reply: str) -> bool | None:
    """MKJ: the last "true" or "false" of the reply. Its code took a reply with neither for False; here it is unreadable."""
    found = [*_TRUE_OR_FALSE.finditer(_without_thoughts(reply))]
    return _meaning(found[-1]["word"]) if found else None


READINGS: dict[str, Callable[[str], bool | None]] = {COMMITTED: _committed, KEYWORD: _keyword, LAST_WORD: _last_word}
"""Name → reading: a reply's text to True, False or None."""


def read_answer(reply: str, reading: str = COMMITTED) -> bool | None:
    """What a reply says, by a reading; None where it is unreadable: no answer, both answers, a refusal, nothing."""
    return READINGS[reading](reply)
