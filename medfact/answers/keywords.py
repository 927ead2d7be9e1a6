"""Parses the claim that a keyword ("true", "incorrect", …) makes about the statement in a clause of a reply.

The parser finds the keyword's subject, negations and hedges with regular expressions. Their phrases are data in `phrases.yaml`,
where comments explain each group.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from medfact.answers.reply_text import FLAGS, WORDS

_DATA = yaml.safe_load(Path(__file__).with_name("phrases.yaml").read_text(encoding="utf-8"))
_FRAGMENT = re.compile(r"@(\w+)@")


def _alternation(phrases: list[str]) -> str:
    """Regular expression that matches any of the phrases, with their fragments expanded."""
    alternation = "|".join(phrases).replace("’", "'").replace(" ", r"\s+")
    return f"(?:{_FRAGMENT.sub(lambda name: _alternation(_DATA['fragments'][name[1]]), alternation)})"


def _compile_pattern(name: str) -> re.Pattern[str]:
    """Compiles a group of phrases from `phrases.yaml`."""
    group: dict[str, Any] = _DATA["patterns"][name]
    return re.compile(group.get("begin", r"\b") + _alternation(group["phrases"]) + group.get("end", r"\b"), FLAGS)


# ---------------------------------------------------------------------------------------------------------- keywords

_SAYS_TRUE = re.compile(rf"(?:true|entailed|correct|yes|{_alternation(_DATA['says_true'])})\Z", FLAGS)
KEYWORD_PATTERN = re.compile(rf"\b(?:{WORDS}|{_alternation(_DATA['says_true'])}|{_alternation(_DATA['says_false'])})\b", FLAGS)
"""The papers' keywords (True and False words), and synonyms."""

PLAIN = frozenset(_DATA["plain"])
"""Keywords that, as predicates, always have a statement as their subject; others may have any ("the dose is wrong")."""

_VERB = re.compile(r"(?:(?:dis)?agree|concur|holds?|checks?)\b", FLAGS)
"""Keywords that are verbs: their subject needs no copula."""

# ------------------------------------------------------------------------------------------- the subject of a keyword

ABOUT_THE_STATEMENT = _compile_pattern("about_the_statement")
OPENS_WITH_IT = re.compile(rf"\W*{_alternation(['@statement@'])}\b", FLAGS)
STATEMENT_NOUN_AFTER = _compile_pattern("its_noun")
ATTRIBUTE = _compile_pattern("attribute")
PART_OF_A_WORD = re.compile(r"-\w|\s+\d", FLAGS)
"""Text after a keyword that makes it part of a name or an idiom ("false positive", "no doubt")."""

FOLLOWS = re.compile(
    rf"[\"'”)\]}}>|\s]*(?:\Z|[.,;:!?\n(\[{{–—|/✅❌✓✗<&…-]|{_alternation(['@follows@'])}\b)|(?-i:[A-Z])", FLAGS
)
"""Text that may follow a keyword about the statement; not a noun, whose attribute the keyword would be ("a true symptom")."""

# --------------------------------------------------------------------------------------------- leading words and negation

_LEADING = frozenset(_DATA["leading"].replace("’", "'").split())
WORD_OR_STOP = re.compile(r"[a-z]+(?:'[a-z]+)?|,(?!\s*(?:or|nor|and)\b)|[(:–—]", FLAGS)
"""A word before a keyword, or a punctuation mark that ends the leading words."""

PARENTHESES = _compile_pattern("parentheses")


def is_leading_word(word: str) -> bool:
    """Returns True for a function word or adverb, which may lead to a keyword; other words ("gout") are content."""
    word = word.lower()
    return word in _LEADING or word.endswith("ly")


_NEUTRAL_IDIOM, _EMPHATIC_NEGATION, _NEGATION = (
    _compile_pattern("sure"),
    _compile_pattern("flatly_not"),
    _compile_pattern("denial"),
)
NEGATED_AFTER = _compile_pattern("denied_after")
NOT_ALL_AFTER = _compile_pattern("not_all_after")


def normalize_negations(words: str) -> str:
    """Removes neutral idioms that look like negations ("no doubt") and replaces emphatic negations by "not"."""
    return _EMPHATIC_NEGATION.sub(" not ", _NEUTRAL_IDIOM.sub(" ", words))


def count_negations(words: str) -> int:
    """Counts the negations in the words before a keyword; the caller lets two cancel out."""
    return len(_NEGATION.findall(normalize_negations(words)))


# ------------------------------------------------------------------------------------------------------- hedges

# comments in `phrases.yaml` explain these groups
OPEN = _compile_pattern("open")
REFUSAL, REFUSED_AFTER = _compile_pattern("refusal"), _compile_pattern("refused_after")
DECLINES = _compile_pattern("declines")
NO_ANSWER_BEFORE = re.compile(rf"{REFUSAL.pattern}|\bwhether\b", FLAGS)
"""Text before a label ("answer:") which shows that no answer follows."""

OPEN_AFTER, CONDITION_AFTER = _compile_pattern("open_after"), _compile_pattern("condition_after")
TO_SAY, TO_SAY_FIRMLY = _compile_pattern("to_say"), _compile_pattern("to_say_firmly")
IF, IDIOM_OF_IF = _compile_pattern("if"), _compile_pattern("idiom_of_if")
HEARSAY, SPEECH = _compile_pattern("hearsay"), _compile_pattern("speech")
OWN_SPEECH = re.compile(
    rf"\b(?:i|we|it|this|that|which|(?<!used\s)to|be|is|are|was|been|not|can|cannot|you|having|evidence|guidelines?|studies|trials?"
    rf"|literature|data|research|consensus|experts|gut|instinct|hunch|feeling|inclination|label|let|{_alternation(['@statement@'])})\b[\w\s',]{{0,30}}\Z"
    r"|\b(?:the|an?|your|its|correct|right|wrong|final|negative|above|original|no|full|whole|first|second|my|our)\s*\Z",
    FLAGS,
)
"""Text before a verb of speech by which the claim is the model's. The verb's subject is the model, or its evidence; or an
article makes the verb a noun ("the claim").
"""

ODDS_AFTER = re.compile(
    r"[\"'\s]*(?:[:=|]|\bat\b|\bwith\s+(?:a\s+)?probability(?:\s+of)?)\s*[\"']?(?:0?\.\d|1\.0|\d+(?:\.\d+)?\s*%|[01]\b)", FLAGS
)
ODDS_BEFORE = re.compile(
    r"\d\s*(?:%|percent|per\s+cent)(?:\s+(?!sure|certain|confiden)\w+){0,6}\s*\Z"
    r"|\b(?:probability|chances?|likelihood|odds)\b(?!\s+are)[^.!?\n]{0,80}\Z"
    r"|\bp\s*\(\s*\Z|\b\d+\s+(?:to|in|out\s+of)\s+\d+\b[^.!?\n]{0,30}\Z",
    FLAGS,
)
ODDS_OF_BOTH = re.compile(
    r"\b(?:true|false)\b\W{0,4}\d+(?:\.\d+)?\s?%?[^.!?\n]{0,20}\b(?:true|false)\b\W{0,4}\d+(?:\.\d+)?", FLAGS
)
"""Probabilities in place of an answer: after a keyword, before it, and of both keywords."""

EXPLICIT, IMPLICIT, RESTATED, ASIDE = range(4)
"""Firmness of a claim, the firmest first. Its subject is: the statement by name; "it", or none; the statement's content;
anything, in a side clause.
"""

_MAX_WORDS, _MAX_BEFORE, _MAX_AFTER = 40, 400, 200
"""Maximum context of a keyword: leading words, and characters before and after it."""

# ---------------------------------------------------------------------------------------------------- text before a keyword

_PREDICATE = re.compile(
    r"(?:\b(?:is|are|was|were|be|been|being|isn't|aren't|wasn't|seems?|appears?|looks?|sounds?|as|considered?|deem(?:ed)?|call(?:ed)?"
    r"|judged?|rated?|remains?|makes?|find|found|renders?|rings|holds|nothing|anything|its|proved?|proven)|'s)"
    r"(?:\s+(?!(?:it|this|that|i|we|you|statement|claim|in|on|to|of)\b)[\w'-]+"
    r"|\s+(?:in\s+fact|of\s+course|in\s+all\s+\w+|to\s+be)){0,7}\s*\Z",
    FLAGS,
)
"""A copula without a new subject after it, at the end of the text before a keyword: the keyword is a predicate."""

_NAMING_VERB = re.compile(r"\b(?:as|called?|considered?|deem(?:ed)?|judged?|rated?|find|found)\b(?:\s+\w+)?\s*\Z", FLAGS)
_ARTICLE = re.compile(r"\b(?:an?|the|any|this|my|our|your|some)\s*\Z", FLAGS)
_EXCLAMATION = re.compile(
    r"\W*+(?:(?:an?|the|that|pure|common|popular|widespread|classic|medical|complete|total|utter|sheer|absolute|very|quite|plain|just"
    r"|simply|not|another|\w+ly)\s++)*+\Z",
    FLAGS,
)
_INSIGNIFICANT = " \n\t\"'“([{<>-–—|:=,.1234567890)✅❌✓✗🚫"
_HYPHENATED = re.compile(r"\w-\Z")
_PRONOUN = re.compile(r"\b(?:it|its|this|that|these|which|i|we|mine)\b|'s\b", FLAGS)
_SECOND_PERSON = re.compile(r"\byou\b", FLAGS)
_PART_OF_STATEMENT = re.compile(r"\b(?:part|half|portion|aspect|premise|step|point)s?\b[^,]{0,40}\Z", FLAGS)
_IS_A_FACT = re.compile(
    r"\b(?:an?|the|no|any|known|of|\w+ly)(?:\s+(?:well-)?(?:established|known|medical|proven))?\s*\Z", FLAGS
)
_HYPOTHETICAL = re.compile(r"\b(?<!answer\s)(?<!that\s)would\s+be\s*\Z", FLAGS)
_OPPOSITE = re.compile(
    r"\b(?:opposite|reverse|contrary|converse|negation|inverse)\s+(?:(?:of|to)\s+\w+(?:\s+\w+){0,4}\s+)?"
    r"(?:is|holds|would\s+be)\s*\Z",
    FLAGS,
)
_NEGATED_ADVERB = re.compile(r"(?:\b(?:not|never)|n't)\s+\w+\s*\Z", FLAGS)
_SUBJECT = re.compile(r"\b(?:it|this|that|is|are|was|were|i|we)\b|'s\b", FLAGS)
_LEADS_TO_CONTENT = re.compile(r"\b(?:that|how|why|to|call|say|consider|deem|declare|mark|rate|label)\s*\Z", FLAGS)
_FIRST_PERSON = re.compile(r"\W*(?:(?:but|and|so|as\s+an\s+ai)\W+)?(?:i|we|nobody|no\s+one|there)\b", FLAGS)

# ----------------------------------------------------------------------------------------------------- text after a keyword

_CONTENT_AFTER = re.compile(r"\s+(?:that|to|of)\b(?!\s+(?:statement|say))", FLAGS)
_TO_SAY_AFTER = re.compile(r"\s+to\s+(?:\w+ly\s+)?(?:say|claim|call|state|describe|conclude|consider)\b", FLAGS)
_NO_OTHER_OBJECT = re.compile(
    r"\s*(?:\Z|[.,!:;–—-]|with\s+(?:the|this|that|it|your)\b|on\s+(?:this|that)\b|here\b|under\b|medically\b)", FLAGS
)
_SENTENCE_END_AFTER = re.compile(r"[\s\"'”)\]]*(?:\Z|[.!])")
_PUNCTUATION_AFTER = re.compile(r"[\s\"'”)\]]*(?:\Z|[.,!?:;–—-])")


class Clause(NamedTuple):
    """A clause of a reply, with the rest of its sentence."""

    start: int  # index in the reply
    text: str
    before: str  # text of its sentence before it
    after: str  # text of its sentence after it
    contrasts: int  # number of contrasts ("but", "so") in the reply before it
    is_subordinate: bool  # a reason or a concession
    declined: bool  # an earlier sentence declines to answer


class Claim(NamedTuple):
    """The answer that a keyword asserts."""

    firmness: int  # EXPLICIT to ASIDE
    answer: bool


def read_claim(clause: Clause, keyword: re.Match[str]) -> Claim | None:
    """Parses the claim of a keyword about the statement; None if the keyword has another subject or is hedged."""
    before = clause.text[: keyword.start()][-_MAX_BEFORE:]
    after = clause.text[keyword.end() :][:_MAX_AFTER]
    introduction, chain = _leading_words(before)
    firmness = _firmness(keyword.group().lower(), before, after, chain)
    if (
        firmness is None
        or (clause.declined and firmness >= RESTATED)
        or _is_hedged(clause, before, after, (introduction, chain))
    ):
        return None
    negations = count_negations(chain) + _is_adverb_negated(before, chain)
    if _LEADS_TO_CONTENT.search(introduction):
        negations += count_negations(introduction)
    if negations and NOT_ALL_AFTER.match(after):
        return None
    negations += (_OPPOSITE.search(before) is not None) + (NEGATED_AFTER.match(after) is not None)
    says_true = _SAYS_TRUE.match(keyword.group()) is not None
    return Claim(firmness, says_true != bool(negations % 2))


def _leading_words(before: str) -> tuple[str, str]:
    """Splits off the leading words of a clause.

    Returns those at its start, "" unless they introduce content ("I doubt that"), and the chain of those directly before a
    keyword.
    """
    words = [*WORD_OR_STOP.finditer(before)]
    start = len(words)
    while start and len(words) - start < _MAX_WORDS and is_leading_word(words[start - 1].group()):
        start -= 1
    chain = before[words[start].start() :] if start < len(words) else ""
    end = 0
    for word in words[:start]:
        if not is_leading_word(word.group()):
            break
        end = word.end()
    introduction = before[:end]
    return introduction if _FIRST_PERSON.match(before) or _LEADS_TO_CONTENT.search(introduction) else "", chain


def _is_adverb_negated(before: str, chain: str) -> bool:
    """Returns True if the last word in front of `chain` is negated ("not X"), and `chain` has no subject of its own."""
    return _NEGATED_ADVERB.search(before[: len(before) - len(chain)]) is not None and not _SUBJECT.search(chain)


# ------------------------------------------------------------------------------------------------------------- firmness


def _firmness(word: str, before: str, after: str, chain: str) -> int | None:
    """Firmness of a keyword's claim; None if its subject is not the statement. chain: leading words before the keyword."""
    if _HYPHENATED.search(before):
        return None
    alone = not before.strip(_INSIGNIFICANT) or (
        before.rstrip(" \"'“").endswith((":", "–", "—")) and _SENTENCE_END_AFTER.match(after) is not None
    )
    if word in {"yes", "no"}:
        is_separate = _PUNCTUATION_AFTER.match(after) or (alone and _PRONOUN.match(after.lstrip()))
        return RESTATED if is_separate and (chain or alone) else None
    if _VERB.match(word):
        return _firmness_of_verb(word, after, chain)
    exclaimed = alone or _EXCLAMATION.match(before) is not None
    predicate = exclaimed or _PREDICATE.search(before) is not None
    if STATEMENT_NOUN_AFTER.match(after):
        return EXPLICIT if predicate or _ARTICLE.search(chain) else None
    if ATTRIBUTE.match(after) or PART_OF_A_WORD.match(after):
        return None
    if word in {"fact", "truth"}:
        return IMPLICIT if _IS_A_FACT.search(before) and (_PREDICATE.search(before) or count_negations(chain)) else None
    is_attribute = FOLLOWS.match(after) is None and (exclaimed or _is_attributive(before, predicate))
    if is_attribute or (word not in PLAIN and not predicate):
        return None
    return _firmness_of_predicate(word, before, after, chain, alone=exclaimed)


def _is_attributive(before: str, predicate: bool) -> bool:
    """Returns True if a keyword before a noun is its attribute ("a true symptom")."""
    return not predicate or (_ARTICLE.search(before) or _NAMING_VERB.search(before)) is not None


def _firmness_of_verb(word: str, after: str, chain: str) -> int | None:
    """Firmness of a keyword that is a verb, as in "I agree" and "it holds up"; None if its subject is another."""
    if word.endswith(("agree", "concur")):
        return IMPLICIT if re.search(r"\b(?:i|we)\b", chain, FLAGS) and _NO_OTHER_OBJECT.match(after) else None
    has_subject = _PRONOUN.search(chain) or ABOUT_THE_STATEMENT.search(chain)
    return IMPLICIT if _NO_OTHER_OBJECT.match(after) and has_subject else None


def _firmness_of_predicate(word: str, before: str, after: str, chain: str, *, alone: bool) -> int | None:
    """Firmness of a keyword that is a predicate. alone: no subject precedes it."""
    if _TO_SAY_AFTER.match(after):
        return ASIDE
    if _CONTENT_AFTER.match(after):
        return RESTATED
    if _HYPOTHETICAL.search(before):
        return None
    if ABOUT_THE_STATEMENT.search(before) or OPENS_WITH_IT.match(before):
        return EXPLICIT
    if _SECOND_PERSON.search(chain) or _PART_OF_STATEMENT.search(before):
        return ASIDE
    if alone or _PRONOUN.search(chain) or not before[: len(before) - len(chain)].strip():
        return IMPLICIT
    return RESTATED if word in PLAIN else None


# --------------------------------------------------------------------------------------------------------------- hedges


def _is_hedged(clause: Clause, before: str, after: str, leading: tuple[str, str]) -> bool:
    """Returns True if a condition, probability, hearsay, possibility or refusal applies to a keyword.

    leading: the leading words at the start of the clause and before the keyword, as of `_leading_words`.
    """
    sentence = (clause.before + before)[-_MAX_BEFORE:]
    return bool(
        _is_conditional(sentence, after + clause.after[:_MAX_AFTER])
        or ODDS_AFTER.match(after)
        or ODDS_BEFORE.search(normalize_negations(before))
        or REFUSAL.search(sentence)
        or REFUSED_AFTER.search(after)
        or OPEN_AFTER.match(after)
        or _is_hearsay(before)
        or _is_unasserted(before, after, leading[1])
        or any(OPEN.search(normalize_negations(words).rstrip()) for words in leading)
    )


def _is_conditional(before: str, after: str) -> bool:
    """Returns True if the claim of a keyword depends on a condition."""
    condition = CONDITION_AFTER.match(after)
    if condition and not IDIOM_OF_IF.match(after.lstrip(" ,;:")):
        return True
    return IF.search(IDIOM_OF_IF.sub(" ", before)) is not None


def _is_unasserted(before: str, after: str, chain: str) -> bool:
    """Returns True if the reply mentions a claim without making it: "to call it true is up to you"."""
    is_mentioned = TO_SAY.search(chain) is not None
    return is_mentioned and not (TO_SAY_FIRMLY.search(before) or NEGATED_AFTER.match(after))


def _is_hearsay(before: str) -> bool:
    """Returns True if the words before a keyword attribute the claim to others."""
    if HEARSAY.search(before):
        return True
    speech = SPEECH.search(before)
    speaker = before[: speech.start()] if speech else ""
    return bool(speaker.strip(" \"'“”,.-–—")) and not OWN_SPEECH.search(speaker)
