"""What one keyword of a reply says: whether of the statement, how firmly, and whether it is turned round or left open."""

from __future__ import annotations

import re
from typing import NamedTuple

from medfact.answers import phrases
from medfact.answers.spoken import FLAGS

EXPLICIT, MEANT, RESTATED, ASIDE = range(4)
"""How firmly a keyword is said of the statement: by its name; of "it" or alone; of its content, restated; in a side clause."""

_MOST_WORDS, _MOST_CHARACTERS, _MOST_AFTER = 40, 400, 200
"""How far a clause is read before a keyword, and behind it."""

# ---------------------------------------------------------------------------------------------------- words before a keyword

_PREDICATE = re.compile(
    r"(?:\b(?:is|are|was|were|be|been|being|isn't|aren't|wasn't|seems?|appears?|looks?|sounds?|as|considered?|deem(?:ed)?|call(?:ed)?"
    r"|judged?|rated?|remains?|makes?|find|found|renders?|rings|holds|nothing|anything|its|proved?|proven)|'s)"
    r"(?:\s+(?!(?:it|this|that|i|we|you|statement|claim|in|on|to|of)\b)[\w'-]+"
    r"|\s+(?:in\s+fact|of\s+course|in\s+all\s+\w+|to\s+be)){0,7}\s*\Z",
    FLAGS,
)
"""A copula, and no new subject after it: the keyword is a predicate."""

_NAMED = re.compile(r"\b(?:as|called?|considered?|deem(?:ed)?|judged?|rated?|find|found)\b(?:\s+\w+)?\s*\Z", FLAGS)
_ARTICLE = re.compile(r"\b(?:an?|the|any|this|my|our|your|some)\s*\Z", FLAGS)
_EXCLAIMED = re.compile(
    r"\W*+(?:(?:an?|the|that|pure|common|popular|widespread|classic|medical|complete|total|utter|sheer|absolute|very|quite|plain|just"
    r"|simply|not|another|\w+ly)\s++)*+\Z",
    FLAGS,
)
_ALONE = " \n\t\"'“([{<>-–—|:=,.1234567890)✅❌✓✗🚫"
_SECOND_HALF = re.compile(r"\w-\Z")
_PRONOUN = re.compile(r"\b(?:it|its|this|that|these|which|i|we|mine)\b|'s\b", FLAGS)
_READER = re.compile(r"\byou\b", FLAGS)
_A_PART = re.compile(r"\b(?:part|half|portion|aspect|premise|step|point)s?\b[^,]{0,40}\Z", FLAGS)
_IS_A_FACT = re.compile(
    r"\b(?:an?|the|no|any|known|of|\w+ly)(?:\s+(?:well-)?(?:established|known|medical|proven))?\s*\Z", FLAGS
)
_HYPOTHETICAL = re.compile(r"\b(?<!answer\s)(?<!that\s)would\s+be\s*\Z", FLAGS)
_OPPOSITE = re.compile(
    r"\b(?:opposite|reverse|contrary|converse|negation|inverse)\s+(?:(?:of|to)\s+\w+(?:\s+\w+){0,4}\s+)?"
    r"(?:is|holds|would\s+be)\s*\Z",
    FLAGS,
)
_JUST_DENIED = re.compile(r"(?:\b(?:not|never)|n't)\s+\w+\s*\Z", FLAGS)
_SUBJECT = re.compile(r"\b(?:it|this|that|is|are|was|were|i|we)\b|'s\b", FLAGS)
_LEADS_TO_CONTENT = re.compile(r"\b(?:that|how|why|to|call|say|consider|deem|declare|mark|rate|label)\s*\Z", FLAGS)
_OWN = re.compile(r"\W*(?:(?:but|and|so|as\s+an\s+ai)\W+)?(?:i|we|nobody|no\s+one|there)\b", FLAGS)

# ----------------------------------------------------------------------------------------------------- words after a keyword

_RESTATES = re.compile(r"\s+(?:that|to|of)\b(?!\s+(?:statement|say))", FLAGS)
_TO_SAY_SO = re.compile(r"\s+to\s+(?:\w+ly\s+)?(?:say|claim|call|state|describe|conclude|consider)\b", FLAGS)
_OF_IT = re.compile(
    r"\s*(?:\Z|[.,!:;–—-]|with\s+(?:the|this|that|it|your)\b|on\s+(?:this|that)\b|here\b|under\b|medically\b)", FLAGS
)
_CLOSES = re.compile(r"[\s\"'”)\]]*(?:\Z|[.!])")
_ENDS = re.compile(r"[\s\"'”)\]]*(?:\Z|[.,!?:;–—-])")


class Clause(NamedTuple):
    """A clause of a sentence.

    start:         its index in the reply. before, after: its sentence up to it, and from its end.
    turns:         how many "but" or "so" stood before it. aside: whether it is a reason or a concession.
    declined:      whether an earlier sentence declines to answer.
    """

    start: int
    text: str
    before: str
    after: str
    turns: int
    aside: bool
    declined: bool


class Claim(NamedTuple):
    """What a keyword says of the statement, and how firmly."""

    firmness: int
    answer: bool


def claim_of(clause: Clause, keyword: re.Match[str]) -> Claim | None:
    """What a keyword of a clause says of the statement; None if it says nothing of it, or leaves it open."""
    before = clause.text[: keyword.start()][-_MOST_CHARACTERS:]
    after = clause.text[keyword.end() :][:_MOST_AFTER]
    lead, chain = _led(before)
    firmness = _firmness(keyword.group().lower(), before, after, chain)
    if firmness is None or (clause.declined and firmness >= RESTATED) or _is_open(clause, before, after, (lead, chain)):
        return None
    denials = phrases.denials(chain) + _denied_closely(before, chain)
    if _LEADS_TO_CONTENT.search(lead):
        denials += phrases.denials(lead)
    if denials and phrases.NOT_ALL_AFTER.match(after):
        return None
    turned = denials + (_OPPOSITE.search(before) is not None) + (phrases.DENIED_AFTER.match(after) is not None)
    return Claim(firmness, phrases.says_true(keyword.group()) != bool(turned % 2))


def _led(before: str) -> tuple[str, str]:
    """The words that lead to a keyword: those at the start of its clause if they lead to content, and those just before it."""
    words = [*phrases.LINK.finditer(before)]
    start = len(words)
    while start and len(words) - start < _MOST_WORDS and phrases.leads(words[start - 1].group()):
        start -= 1
    chain = before[words[start].start() :] if start < len(words) else ""
    end = 0
    for word in words[:start]:
        if not phrases.leads(word.group()):
            break
        end = word.end()
    lead = before[:end]
    return lead if _OWN.match(before) or _LEADS_TO_CONTENT.search(lead) else "", chain


def _denied_closely(before: str, chain: str) -> bool:
    """Whether a "not" stands before an adverb that is not known to lead to a keyword."""
    return _JUST_DENIED.search(before[: len(before) - len(chain)]) is not None and not _SUBJECT.search(chain)


# --------------------------------------------------------------------------------------------------------- how firmly


def _firmness(word: str, before: str, after: str, chain: str) -> int | None:
    """How firmly a keyword is said of the statement; None if it is not said of it."""
    if _SECOND_HALF.search(before):
        return None
    alone = not before.strip(_ALONE) or (before.rstrip(" \"'“").endswith((":", "–", "—")) and _CLOSES.match(after) is not None)
    if word in {"yes", "no"}:
        apart = _ENDS.match(after) or (alone and _PRONOUN.match(after.lstrip()))
        return RESTATED if apart and (chain or alone) else None
    if phrases.is_verb(word):
        return _of_a_verb(word, after, chain)
    exclaimed = alone or _EXCLAIMED.match(before) is not None
    predicate = exclaimed or _PREDICATE.search(before) is not None
    if phrases.ITS_NOUN.match(after):
        return EXPLICIT if predicate or _ARTICLE.search(chain) else None
    if phrases.ATTRIBUTE.match(after) or phrases.PART_OF_A_WORD.match(after):
        return None
    if word in {"fact", "truth"}:
        told = _IS_A_FACT.search(before) and (_PREDICATE.search(before) or phrases.denials(chain))
        return MEANT if told else None
    describes = phrases.FOLLOWS.match(after) is None and (exclaimed or _describes(before, predicate))
    if describes or (word not in phrases.PLAIN and not predicate):
        return None
    return _of_a_predicate(word, before, after, chain, alone=exclaimed)


def _describes(before: str, predicate: bool) -> bool:
    """Whether a keyword before a noun describes that noun ("a true symptom"), instead of the statement."""
    return not predicate or (_ARTICLE.search(before) or _NAMED.search(before)) is not None


def _of_a_verb(word: str, after: str, chain: str) -> int | None:
    """How firmly "I agree" and "it holds up" are said of the statement."""
    if word.endswith(("agree", "concur")):
        return MEANT if re.search(r"\b(?:i|we)\b", chain, FLAGS) and _OF_IT.match(after) else None
    stands = _OF_IT.match(after) is not None and (_PRONOUN.search(chain) or phrases.ABOUT_THE_STATEMENT.search(chain))
    return MEANT if stands else None


def _of_a_predicate(word: str, before: str, after: str, chain: str, *, alone: bool) -> int | None:
    if _TO_SAY_SO.match(after):
        return ASIDE
    if _RESTATES.match(after):
        return RESTATED
    if _HYPOTHETICAL.search(before):
        return None
    if phrases.ABOUT_THE_STATEMENT.search(before) or phrases.OPENS_WITH_IT.match(before):
        return EXPLICIT
    if _READER.search(chain) or _A_PART.search(before):
        return ASIDE
    if alone or _PRONOUN.search(chain) or not before[: len(before) - len(chain)].strip():
        return MEANT
    return RESTATED if word in phrases.PLAIN else None


# ------------------------------------------------------------------------------------------------------------ left open


def _is_open(clause: Clause, before: str, after: str, led: tuple[str, str]) -> bool:
    """Whether a condition, odds, hearsay, possibility, or not being able to say leaves open what a keyword is about."""
    sentence = (clause.before + before)[-_MOST_CHARACTERS:]
    return bool(
        _is_conditional(sentence, after + clause.after[:_MOST_AFTER])
        or phrases.ODDS_AFTER.match(after)
        or phrases.ODDS_BEFORE.search(phrases.plainly(before))
        or phrases.REFUSAL.search(sentence)
        or phrases.REFUSED_AFTER.search(after)
        or phrases.OPEN_AFTER.match(after)
        or _is_hearsay(before)
        or _is_only_to_say(before, after, led[1])
        or any(phrases.OPEN.search(phrases.plainly(words).rstrip()) for words in led)
    )


def _is_conditional(before: str, after: str) -> bool:
    condition = phrases.CONDITION_AFTER.match(after)
    if condition and not phrases.IDIOM_OF_IF.match(after.lstrip(" ,;:")):
        return True
    return phrases.IF.search(phrases.IDIOM_OF_IF.sub(" ", before)) is not None


def _is_only_to_say(before: str, after: str, chain: str) -> bool:
    """Whether words speak of saying what the keyword says ("to call it true is up to you"), and nobody says it."""
    speaks = phrases.TO_SAY.search(chain) is not None
    return speaks and not (phrases.TO_SAY_FIRMLY.search(before) or phrases.DENIED_AFTER.match(after))


def _is_hearsay(before: str) -> bool:
    """Whether the words before a keyword say what others say of it."""
    if phrases.HEARSAY.search(before):
        return True
    speech = phrases.SPEECH.search(before)
    speaker = before[: speech.start()] if speech else ""
    return bool(speaker.strip(" \"'“”,.-–—")) and not phrases.OWN_SOURCE.search(speaker)
