"""The answer that a reply commits to: the clause that says so, and no other.

A reply is read sentence by sentence, clause by clause. A keyword counts where it is said of the statement; the words that lead
to it may turn it round ("I doubt that it is true"), or leave it open ("I can't verify that it is true", "it could be true").
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from medfact.answers import phrases
from medfact.answers.keywords import ASIDE, Clause, claim_of
from medfact.answers.spoken import (
    FLAGS,
    UNREADABLE,
    WORDS,
    ReadAnswer,
    boxes,
    condensed,
    ends_of,
    meaning,
    without,
    without_latex,
    without_markup,
)
from medfact.models.thinking import end_of_thinking

_MOST_CORRECTIONS, _MOST_KEYWORDS, _MOST_BEFORE_A_LABEL = 5, 60, 400

# ------------------------------------------------------------------------------------------------- what is not the answer

_UNCHOSEN = re.compile(r"~~.*?~~|(?:\[ \]|[☐□⬜])\s*\w+", FLAGS)
_RUN_ON = re.compile(
    r"(?<=\S)(?=\s*?\n)\s++Statement\s*:(?!\W*(?:true|false|correct|incorrect)\b\W*(?:\n|\Z)).*", re.DOTALL | FLAGS
)
_FORMULA = re.compile(r"\$+|\\[a-z]{0,12}\s*[{(\[]|\\[)\]]", re.IGNORECASE)
_QUOTE = "[\"'“”]?"
_ECHO = re.compile(
    r"\b[a1]\s*[).:]\s*true\W{1,6}[b2]\s*[).:]\s*false\b|\btrue\s+or\s+f\w{0,4}\Z|\byes\s+or\s+no\b"
    rf"|(?:\bno\s+)?{_QUOTE}true{_QUOTE}\s*(?:\bor\b|\band\b|[/|])\s*{_QUOTE}false\b{_QUOTE}"
    rf"|{_QUOTE}false{_QUOTE}\s*(?:\bor\b|\band\b|[/|])\s*{_QUOTE}true\b{_QUOTE}",
    FLAGS,
)
_QUOTED = re.compile(r"[\"“](?:[^\"“”\s]{1,40}[^\S\n]+){3,80}[^\"“”\s]{1,40}[\"”]")
_FIELD = re.compile(r"[\"']\w+[\"']\s*:\s*(?:true|false|null)\b", FLAGS)
_IN_CASES = r"(?:in|for|if|when|with|under)"
_REJECTED = re.compile(
    r"\b(?:rather\s+than|instead\s+of|as\s+opposed\s+to|than|over)\s+(?:that\s+)?"
    r"(?:(?:it|this)(?:\s+is|'s|\s+being)\s+|to\s+be\s+|being\s+)?(?:(?:by|in|of)\s+)?[\"“]?"
    r"(?:true|false|not|correct|incorrect|wrong|yes|no)\b"
    r"|\b(?:both|neither)\s+\w+\s+(?:and|nor)\s+\w+[^.!?\n,]{0,40}|\bas\s+(?:true|false)\s+as\b[^.!?\n,]{0,40}"
    rf"|\b(?:true|false)\s+{_IN_CASES}\b[^.!?\n]{{0,80}}(?:[,;]\s*|\s)(?:but\s+|and\s+|yet\s+)?(?:false|true)\s+(?:{_IN_CASES}|otherwise)\b"
    r"|\bnot\s+(?:true|false)\b[^.!?\n]{0,30}\bnot\s+(?:true|false)\s+either\b"
    r"|\b(?:true|false)\b[^.!?\n]{0,60}\bnor\b[^.!?\n]{0,60}\b(?:true|false)\b",
    FLAGS,
)
"""The alternative that is not chosen, and both at once."""

# ------------------------------------------------------------------------------------- answers that stand where all see them

_CORRECTED = re.compile(
    r"(?:\A\s?|[.!?…\n—–-]\s?|,\s)(?:hmm\W{1,20})?(?:(?:oh|no|but)\W{1,5})?"
    r"(?:wait|correction|(?:edit|update)(?=:)|actually(?!\s+(?:true|false|correct))|or\s+rather|oops|sorry|(?:scratch|scrap|strike)\s+that"
    r"|h(?:old|ang)\s+on|i\s+apologi[sz]e|my\s+mistake|on\s+(?:second\s+thoughts?|reflection|reconsideration)|let\s+me\s+correct"
    r"|i\s+(?:take\s+(?:that|it)\s+back|misread|misspoke|was\s+wrong))\b",
    FLAGS,
)
"""What follows replaces what was said before."""

_BOTH = re.compile(
    r"\W*(?:true|yes)\b\W+(?:false|no)\b\W*\Z|\W*(?:false|no)\b\W+(?:true|yes)\b\W*\Z|\W*(?:yes\s+and\s+no|no\s+and\s+yes)\b",
    FLAGS,
)
_OPENING = re.compile(
    r"\W*(?:(?:a|ans|answer|verdict|tl;?\s?dr)\s*[:=]\W*)?(?P<word>true|false)(?:\b|(?-i:(?=[A-Z][a-z])))", FLAGS
)
_OPENING_CLAUSE = re.compile(
    rf"\W*(?:(?P<word>{WORDS})\s*(?:[.!;:\n]|\Z)|(?P<other>(?!yes|no)(?:{WORDS}))\s*(?:,|[-–—]\s))", FLAGS
)
_UNDONE = re.compile(
    r"\?|[\"']\s*:|\W*\b[b2]\s*[.:)]\s*(?:true|false)\b|\s+as\s+(?:it|that|this)\s+(?:is|may)\b"
    rf"|[^.!?\n]{{0,80}}[,;]\s*(?:but\s+|and\s+|yet\s+)?(?:false|true)\s+(?:{_IN_CASES}|otherwise|at|during|among)\b",
    FLAGS,
)
_LABEL = re.compile(
    r"(?:\b(?:(?:final|correct|right|my|short|overall|best|(?P<wrong>wrong|incorrect))\s*)?"
    r"(?:answer|verdict|conclusion|judge?ment|determination|decision|assessment|evaluation|respuesta|r[ée]ponse|antwort|classification|label|selected|choice|chosen"
    r"|prediction|ruling|truth\s?value|is(?:true|correct)|statement(?:\s+(?:is\s+)?(?:true|correct))?(?=\s*:)|response|result|output|final|ans)"
    r"[\"'”)\]*]*\s*(?:[:：=→|>]+|[-–—]+\s|\bis\b\s*:?|\b(?:would|should|must|will)\s+be\b\s*:?|\n)|(?:\A\s*|\n[^\S\n]*)(?:[=-]>|[→⇒∴]))",
    FLAGS,
)
_LABELLED = re.compile(
    r"[\W_]*(?:(?:that|it\s+is|it's|the\s+statement\s+is|this\s+is|clearly|definitely|probably|likely)\s+)*"
    rf"(?P<not>not\s+)?(?P<word>{WORDS})\b",
    FLAGS,
)
_AND_THE_OTHER = re.compile(rf"\W{{0,20}}(?:and|or|,|/)\W{{0,20}}(?:{WORDS})\b", FLAGS)
_ASKED = re.compile(
    r"(?:\A|\n|[.!?]\s)\W*+(?:(?:is\s+(?:it|this|that|the\s+statement)\s+)?(?P<word>true|false)\?[\"'”*\s]*"
    r"(?P<reply>no\b|not\b|hardly|never|(?:i\s+think|certainly|absolutely|definitely|surely|of\s+course|clearly|obviously)\s+not\b"
    r"|yes\b|indeed\b|certainly\b|absolutely\b|definitely\b|of\s+course\b)|)",
    FLAGS,
)
"""It passes over what is no question too, without a word: so that the same signs are read once."""
_DENIES = re.compile(r"no|hardly|never|(?:\w+\s+){1,2}not", FLAGS)
_TAGGED = re.compile(
    r"<(?:answer|final_answer|verdict|label|judge?ment|conclusion|result)>"
    r"[\s\"'*]{0,20}(?:(?:the\s+statement|it)\s+is\s+)?\b(?P<word>true|false)\b(?!\s*(?:or|and|/))",
    FLAGS,
)
_KEY = re.compile(r"[\"'](?P<word>true|false)[\"']\s*:\s*true\b", FLAGS)
_RATED = re.compile(
    r"[\"'](?:label|answer|class)[\"']\s*:\s*[\"'](true|false)[\"']\s*,\s*[\"'](?:score|prob\w*|p|confidence|weight)\b", FLAGS
)

# ------------------------------------------------------------------------------------------------ sentences and clauses

_SENTENCE = re.compile(r"(?:[^.!?…;\n]|\.(?=\d|\w\.)|(?<=\bvs)\.|(?<=\bdr)\.)+[.!?…;\n]*", FLAGS)
_TURNS = r"however|yet|nevertheless|nonetheless|that\s+(?:being\s+)?said|therefore|thus|hence|consequently|overall|in\s+short"
_TURN = re.compile(
    rf"(?:[,–—-]|(?<![,\s–—-])\s)\s*+(?:(?<!anything )(?<!nothing )(?<!all )(?<!help )but|{_TURNS}"
    r"|so(?!\s+(?:far|that|called)\b)|accordingly|ultimately|in\s+(?:conclusion|summary)|which\s+(?:means|makes)"
    r"|(?P<aside>because|since|as(?=\s+(?:it|this|the|there|they|we|many|most|some)\s)(?!\s+\w+\s+(?:stands|is\s+(?:true|false)))"
    r"|given\s+that|although|(?<!as )though(?=\s\w)|even\s+though|even\s+if|while|whereas|despite))\b",
    FLAGS,
)
_OPENS_WITH_A_TURN = re.compile(rf"\W*(?:but|so|{_TURNS})\b", FLAGS)
_ASIDE_FIRST = re.compile(
    r"\W*(?:because|since|although|though|even\s+though|while|whereas|despite|granted|admittedly|contrary\s+to|unlike)\b[^,]{0,400},",
    FLAGS,
)
_CONDITION = re.compile(r"\b(?:if|unless|when|provided)\b[^;]{0,200}\b(?:true|false|correct|wrong)\b[^;]{0,80};\s*\Z", FLAGS)
"""A condition with its own answer, before a semicolon: what follows is the answer for another condition."""


class _Reading(NamedTuple):
    """What a keyword says: how firmly, after how many turns, and what."""

    firmness: int
    turns: int
    verdict: ReadAnswer


def committed(reply: str, ends: tuple[str, Sequence[int]] | None = None) -> ReadAnswer:
    """The answer that a reply commits to.

    The first of these decides: a box; a correction ("wait, no: …"); an opening True or False; the last "answer: …"; an opening
    "Correct." or "No."; the clauses that say it of the statement by name, else of "it" or alone, else of its content. Among
    these, those after the last "but" or "so" decide, if they agree. ends: of the reply, where they are known.
    """
    said, places = ends or ends_of(reply)
    for begin, end in boxes(said):
        if (boxed := _committed(without_latex(said[begin:end]))).at is not None:
            return ReadAnswer(boxed.answer, places[begin + boxed.at])
    thought_until = end_of_thinking(reply)
    if thought_until is not None and (tags := [*_TAGGED.finditer(reply, thought_until)]):
        return _verdict(tags[-1])
    read = _committed(said)
    return read if read.at is None else ReadAnswer(read.answer, places[read.at])


def _committed(said: str) -> ReadAnswer:
    """What a text without thinking, or the content of a box, commits to."""
    own = without(_RUN_ON, without(_UNCHOSEN, said)).replace("’", "'").replace("‘", "'")
    text, places = condensed(without(_ECHO, without(_FORMULA, without_markup(own))))
    corrections = [correction.end() for correction in _CORRECTED.finditer(text)][-_MOST_CORRECTIONS:]
    for begin in (*reversed(corrections), 0):
        meant = _uncorrected(text[begin:])
        if meant.at is not None:
            return ReadAnswer(meant.answer, places[begin + meant.at])
    return UNREADABLE


def _uncorrected(text: str) -> ReadAnswer:
    """What a text commits to that does not correct itself."""
    if _BOTH.match(text) or len(set(_RATED.findall(text))) > 1:
        return UNREADABLE
    shares = phrases.SHARES.search(text) is not None
    opening = _OPENING.match(text)
    if opening and not shares and not _is_undone(text, opening.end()):
        return _verdict(opening)
    text = without(phrases.PARENTHESES, text)
    text = without(_QUOTED, text) if _QUOTED.sub("", text).strip(" \n\t.") else text
    if labelled := _labelled(text):
        return labelled
    return UNREADABLE if shares else _opening_clause(text) or _decided(_readings(without(_FIELD, without(_REJECTED, text))))


def _verdict(found: re.Match[str], name: str = "word", *, turned: bool = False) -> ReadAnswer:
    return ReadAnswer(meaning(found[name]) != turned, found.start(name))


def _is_undone(text: str, end: int) -> bool:
    """Whether what follows a word shows that it is no answer: a question, a condition, odds, or a noun that it describes."""
    rest = text[end : end + 200]
    return bool(
        _UNDONE.match(rest)
        or (phrases.CONDITION_AFTER.match(rest) and not phrases.IDIOM_OF_IF.match(rest.lstrip(" ,;:")))
        or phrases.ODDS_AFTER.match(rest)
        or phrases.ATTRIBUTE.match(rest)
        or phrases.PART_OF_A_WORD.match(rest)
    )


def _labelled(text: str) -> ReadAnswer | None:
    """The last answer that is its own key, answers a question, or stands behind a label; None if there is none."""
    if keys := [*_KEY.finditer(text)]:
        return _verdict(keys[-1])
    if questions := [question for question in _ASKED.finditer(text) if question["word"]]:
        return _verdict(questions[-1], turned=_DENIES.match(questions[-1]["reply"]) is not None)
    for label in reversed([*_LABEL.finditer(text)]):
        word = _LABELLED.match(text, label.end())
        if word and not _is_undone(text, word.end()) and not phrases.UNSAID.search(_said_before(text, label.start())):
            other = _AND_THE_OTHER.match(text, word.end())
            return UNREADABLE if other else _verdict(word, turned=bool(word["not"]) != bool(label["wrong"]))
    return None


def _said_before(text: str, at: int) -> str:
    """What was said before an index in the same sentence, after the last "but"."""
    before = text[max(0, at - _MOST_BEFORE_A_LABEL) : at]
    return before[max(before.rfind(end) for end in (".", "!", "?", "\n", "but ", "however")) + 1 :]


def _opening_clause(text: str) -> ReadAnswer | None:
    """The answer of a keyword that opens a reply as its own sentence or clause."""
    opening = _OPENING_CLAUSE.match(text)
    if opening is None:
        return None
    name = "word" if opening["word"] else "other"
    return None if _is_undone(text, opening.end(name)) else _verdict(opening, name)


def _decided(readings: list[_Reading]) -> ReadAnswer:
    """The verdict of the firmest readings after the last turn, if they agree."""
    firmest = [one for one in readings if one.firmness == min(reading.firmness for reading in readings)]
    latest = [one.verdict for one in firmest if one.turns == max(reading.turns for reading in firmest)]
    return latest[0] if len({verdict.answer for verdict in latest}) == 1 else UNREADABLE


def _readings(text: str) -> list[_Reading]:
    """What the last keywords say, each in its clause."""
    keywords = [(clause, keyword) for clause in _clauses(text) for keyword in _keywords(clause.text)]
    readings = []
    for clause, keyword in keywords[-_MOST_KEYWORDS:]:
        if (claim := claim_of(clause, keyword)) is not None:
            verdict = ReadAnswer(claim.answer, clause.start + keyword.start())
            readings.append(_Reading(ASIDE if clause.aside else claim.firmness, clause.turns, verdict))
    return readings


def _keywords(clause: str) -> Iterator[re.Match[str]]:
    """The keywords of a clause, without those that deny another: "to say that it is true would be wrong"."""
    denied_until = 0
    for keyword in phrases.KEYWORD.finditer(clause):
        if keyword.start() >= denied_until:
            denied = phrases.DENIED_AFTER.match(clause, keyword.end())
            denied_until = denied.end() if denied else denied_until
            yield keyword


def _clauses(text: str) -> Iterator[Clause]:
    turns, condition, declined = 0, "", False
    for sentence in _SENTENCE.finditer(text):
        whole = sentence.group()
        if whole.rstrip("\n \"'”)").endswith("?"):
            continue
        opens_with_a_turn = _OPENS_WITH_A_TURN.match(whole) is not None
        turns, declined = turns + opens_with_a_turn, declined and not opens_with_a_turn
        turned, was_first_aside = 0, False
        for begin, end, mark in _parts(whole):
            turns += mark == ""
            turned = begin if mark == "" or (was_first_aside and mark is None) else turned
            was_first_aside = mark == "first"
            before = whole[turned:begin] if turned else condition + whole[:begin]
            yield Clause(sentence.start() + begin, whole[begin:end], before, whole[end:], turns, bool(mark), declined)
        declined = declined or phrases.DECLINES.search(whole) is not None
        condition = whole if _CONDITION.search(whole) else ""


def _parts(sentence: str) -> Iterator[tuple[int, int, str | None]]:
    """Where the clauses of a sentence begin and end, and the word that makes it a side clause; "" after a "but" or "so"."""
    begin, mark = 0, None
    if first := _ASIDE_FIRST.match(sentence):
        yield 0, first.end(), "first"
        begin = first.end()
    for turn in (*_TURN.finditer(sentence, max(begin - 1, 0)), None):
        end = turn.start() if turn else len(sentence)
        comma = sentence.find(",", begin, end) if mark else -1
        if comma >= 0:  # a side clause ends there
            yield begin, comma, mark
            begin, mark = comma + 1, None
        yield begin, end, mark
        if turn:
            begin, mark = turn.end(), turn["aside"] or ""
