"""The English in which replies commit themselves, or do not, as patterns; the phrases themselves are in `phrases.yaml`."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import yaml

from medfact.answers.spoken import FLAGS, WORDS

_DATA = yaml.safe_load(Path(__file__).with_name("phrases.yaml").read_text(encoding="utf-8"))
_FRAGMENT = re.compile(r"@(\w+)@")


def _expression(phrases: list[str]) -> str:
    """An alternative for each phrase, with its fragments in place."""
    whole = "|".join(phrases).replace("’", "'").replace(" ", r"\s+")
    return f"(?:{_FRAGMENT.sub(lambda name: _expression(_DATA['fragments'][name[1]]), whole)})"


def _pattern(name: str) -> re.Pattern[str]:
    group: dict[str, Any] = _DATA["patterns"][name]
    return re.compile(group.get("begin", r"\b") + _expression(group["phrases"]) + group.get("end", r"\b"), FLAGS)


# ---------------------------------------------------------------------------------------------------------- the keywords

_SAYS_TRUE = re.compile(rf"(?:true|entailed|correct|yes|{_expression(_DATA['says_true'])})\Z", FLAGS)
KEYWORD = re.compile(rf"\b(?:{WORDS}|{_expression(_DATA['says_true'])}|{_expression(_DATA['says_false'])})\b", FLAGS)
"""The papers' keywords, and other words that say the same of a statement."""

PLAIN = frozenset(_DATA["plain"])
"""Keywords that are about a statement wherever they are a predicate; the others may be about anything ("the dose is wrong")."""

_VERB = re.compile(r"(?:(?:dis)?agree|concur|holds?|checks?)\b", FLAGS)


def is_verb(keyword: str) -> bool:
    """Whether a keyword is a verb, with a subject and no copula before it."""
    return _VERB.match(keyword) is not None


def says_true(keyword: str) -> bool:
    """Whether a keyword says True."""
    return _SAYS_TRUE.match(keyword) is not None


# ------------------------------------------------------------------------------------------------- what a keyword is about

ABOUT_THE_STATEMENT = _pattern("about_the_statement")
OPENS_WITH_IT = re.compile(rf"\W*{_expression(['@statement@'])}\b", FLAGS)
ITS_NOUN = _pattern("its_noun")
"""A keyword before it says something of the statement: "an incorrect claim"."""

ATTRIBUTE = _pattern("attribute")
PART_OF_A_WORD = re.compile(r"-\w|\s+\d", FLAGS)
"""A keyword before it is part of a name or of a phrase ("false positive", "no doubt")."""

FOLLOWS = re.compile(rf"[\"'”)\]}}>|\s]*(?:\Z|[.,;:!?\n(\[{{–—|/✅❌✓✗<&…-]|{_expression(['@follows@'])}\b)|(?-i:[A-Z])", FLAGS)
"""What may follow a keyword that is said of the statement; a noun of content would make it an attribute ("a true symptom")."""

# --------------------------------------------------------------------------------- the words between a speaker and a keyword

_LEADING = frozenset(_DATA["leading"].replace("’", "'").split())
LINK = re.compile(r"[a-z]+(?:'[a-z]+)?|,(?!\s*(?:or|nor|and)\b)|[(:–—]", FLAGS)
"""A word, or a sign that ends the way back from a keyword."""

PARENTHESES = _pattern("parentheses")
"""Words between commas that change nothing."""


def leads(word: str) -> bool:
    """Whether a speaker leads to a keyword with a word; other words belong to the content of the statement ("gout")."""
    word = word.lower()
    return word in _LEADING or word.endswith("ly")


_SURE, _FLATLY_NOT, _DENIAL = _pattern("sure"), _pattern("flatly_not"), _pattern("denial")
DENIED_AFTER = _pattern("denied_after")
"""A keyword before it is turned round: "to call it false would be an error"."""

NOT_ALL_AFTER = _pattern("not_all_after")
"""Behind a denied keyword: "not true in all cases"."""


def plainly(words: str) -> str:
    """Words without the idioms that change nothing ("no doubt"), and with "not" for those that mean no more than that."""
    return _FLATLY_NOT.sub(" not ", _SURE.sub(" ", words))


def denials(words: str) -> int:
    """How often words turn round the keyword after them; twice gives the keyword back."""
    return len(_DENIAL.findall(plainly(words)))


# ------------------------------------------------------------------------------------------------ what leaves a keyword open

OPEN = _pattern("open")
"""Not being able or allowed, not knowing, possibility, a part of the truth, odds: no keyword right after it is an answer."""

REFUSAL, REFUSED_AFTER = _pattern("refusal"), _pattern("refused_after")
"""Refusals and doubts that leave a whole clause open, whatever stands between them and a keyword."""

DECLINES = _pattern("declines")
"""A sentence that declines to answer."""

UNSAID = re.compile(rf"{REFUSAL.pattern}|\bwhether\b", FLAGS)
"""A label behind it announces no answer."""

OPEN_AFTER, CONDITION_AFTER = _pattern("open_after"), _pattern("condition_after")
TO_SAY, TO_SAY_FIRMLY = _pattern("to_say"), _pattern("to_say_firmly")
"""To say what a keyword says; and a speaker who does say it, or would be wrong to."""

IF, IDIOM_OF_IF = _pattern("if"), _pattern("idiom_of_if")
HEARSAY, SPEECH = _pattern("hearsay"), _pattern("speech")
OWN_SOURCE = re.compile(
    rf"\b(?:i|we|it|this|that|which|(?<!used\s)to|be|is|are|was|been|not|can|cannot|you|having|evidence|guidelines?|studies|trials?"
    rf"|literature|data|research|consensus|experts|gut|instinct|hunch|feeling|inclination|label|let|{_expression(['@statement@'])})\b[\w\s',]{{0,30}}\Z"
    r"|\b(?:the|an?|your|its|correct|right|wrong|final|negative|above|original|no|full|whole|first|second|my|our)\s*\Z",
    FLAGS,
)
"""Before a verb of saying: the model itself speaks, or what it judges by; or the verb is a noun ("the claim")."""

ODDS_AFTER = re.compile(
    r"[\"'\s]*(?:[:=|]|\bat\b|\bwith\s+(?:a\s+)?probability(?:\s+of)?)\s*[\"']?(?:0?\.\d|1\.0|\d+(?:\.\d+)?\s*%|[01]\b)", FLAGS
)
ODDS_BEFORE = re.compile(
    r"\d\s*(?:%|percent|per\s+cent)(?:\s+(?!sure|certain|confiden)\w+){0,6}\s*\Z"
    r"|\b(?:probability|chances?|likelihood|odds)\b(?!\s+are)[^.!?\n]{0,80}\Z"
    r"|\bp\s*\(\s*\Z|\b\d+\s+(?:to|in|out\s+of)\s+\d+\b[^.!?\n]{0,30}\Z",
    FLAGS,
)
SHARES = re.compile(r"\b(?:true|false)\b\W{0,4}\d+(?:\.\d+)?\s?%?[^.!?\n]{0,20}\b(?:true|false)\b\W{0,4}\d+(?:\.\d+)?", FLAGS)
"""Numbers or chances stand in place of an answer."""
