"""Parses replies as True, False, or unreadable (None), by the project's own reading, PretextTrans', or MKJ's.

The project's own reading finds the answer to which a reply commits, sentence by sentence and clause by clause. A keyword counts
if its subject is the statement. The words before it may negate it ("I doubt that it is true") or leave it open ("it could be
true").
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

from medfact.answers import keywords
from medfact.answers.keywords import ASIDE, Clause, read_claim
from medfact.answers.reply_text import (
    FLAGS,
    UNREADABLE,
    WORDS,
    ReadAnswer,
    blank_latex,
    blank_markup,
    blank_out,
    box_spans,
    collapse_whitespace,
    is_true_word,
    truncate_reply,
    visible_text,
)
from medfact.models.thinking import end_of_thinking, without_thinking

MAX_CACHED_LENGTH = 200
"""Maximum length, in characters, of a reply whose answer is cached."""

COMMITTED, KEYWORD, LAST_WORD = "committed", "keyword", "last-word"
"""Names of the readings: the project's own, PretextTrans', and MKJ's."""

_MAX_CORRECTIONS, _MAX_KEYWORDS, _MAX_BEFORE_LABEL = 5, 60, 400
"""Maximum number of corrections and keywords that are parsed, the last ones, and of characters before a label."""

# ---------------------------------------------------------------------------------------------------- ignored parts

# struck-out text, and options whose boxes are not ticked
_UNSELECTED = re.compile(r"~~.*?~~|(?:\[ \]|[☐□⬜])\s*\w+", FLAGS)
# a further "Statement: …" that the model wrote, unless an answer follows the label
_RUN_ON = re.compile(
    r"(?<=\S)(?=\s*?\n)\s++Statement\s*:(?!\W*(?:true|false|correct|incorrect)\b\W*(?:\n|\Z)).*", re.DOTALL | FLAGS
)
# delimiters of LaTeX formulas
_FORMULA = re.compile(r"\$+|\\[a-z]{0,12}\s*[{(\[]|\\[)\]]", re.IGNORECASE)
_QUOTE = "[\"'“”]?"
# both answers as a question offers them: "true or false"
_ECHO = re.compile(
    r"\b[a1]\s*[).:]\s*true\W{1,6}[b2]\s*[).:]\s*false\b|\btrue\s+or\s+f\w{0,4}\Z|\byes\s+or\s+no\b"
    rf"|(?:\bno\s+)?{_QUOTE}true{_QUOTE}\s*(?:\bor\b|\band\b|[/|])\s*{_QUOTE}false\b{_QUOTE}"
    rf"|{_QUOTE}false{_QUOTE}\s*(?:\bor\b|\band\b|[/|])\s*{_QUOTE}true\b{_QUOTE}",
    FLAGS,
)
# quotations of several words
_QUOTED = re.compile(r"[\"“](?:[^\"“”\s]{1,40}[^\S\n]+){3,80}[^\"“”\s]{1,40}[\"”]")
# fields of JSON with the value true, false or null
_BOOLEAN_FIELD = re.compile(r"[\"']\w+[\"']\s*:\s*(?:true|false|null)\b", FLAGS)
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
"""A rejected alternative ("rather than false"), or both alternatives at once ("neither true nor false")."""

# ------------------------------------------------------------------------------------------------- explicit answers

_CORRECTED = re.compile(
    r"(?:\A\s?|[.!?…\n—–-]\s?|,\s)(?:hmm\W{1,20})?(?:(?:oh|no|but)\W{1,5})?"
    r"(?:wait|correction|(?:edit|update)(?=:)|actually(?!\s+(?:true|false|correct))|or\s+rather|oops|sorry|(?:scratch|scrap|strike)\s+that"
    r"|h(?:old|ang)\s+on|i\s+apologi[sz]e|my\s+mistake|on\s+(?:second\s+thoughts?|reflection|reconsideration)|let\s+me\s+correct"
    r"|i\s+(?:take\s+(?:that|it)\s+back|misread|misspoke|was\s+wrong))\b",
    FLAGS,
)
"""A correction: the text after it replaces the text before it."""

# a reply that consists of both answers
_BOTH_ANSWERS = re.compile(
    r"\W*(?:true|yes)\b\W+(?:false|no)\b\W*\Z|\W*(?:false|no)\b\W+(?:true|yes)\b\W*\Z|\W*(?:yes\s+and\s+no|no\s+and\s+yes)\b",
    FLAGS,
)
# an opening "True" or "False", perhaps after "Answer:"
_OPENING = re.compile(
    r"\W*(?:(?:a|ans|answer|verdict|tl;?\s?dr)\s*[:=]\W*)?(?P<word>true|false)(?:\b|(?-i:(?=[A-Z][a-z])))", FLAGS
)
# an opening answer word before a punctuation mark: "Correct."
_OPENING_CLAUSE = re.compile(
    rf"\W*(?:(?P<word>{WORDS})\s*(?:[.!;:\n]|\Z)|(?P<other>(?!yes|no)(?:{WORDS}))\s*(?:,|[-–—]\s))", FLAGS
)
# text after an answer word which shows that the word is no answer
_DISQUALIFIED = re.compile(
    r"\?|[\"']\s*:|\W*\b[b2]\s*[.:)]\s*(?:true|false)\b|\s+as\s+(?:it|that|this)\s+(?:is|may)\b"
    rf"|[^.!?\n]{{0,80}}[,;]\s*(?:but\s+|and\s+|yet\s+)?(?:false|true)\s+(?:{_IN_CASES}|otherwise|at|during|among)\b",
    FLAGS,
)
# a label before an answer: "final answer:"
_LABEL = re.compile(
    r"(?:\b(?:(?:final|correct|right|my|short|overall|best|(?P<wrong>wrong|incorrect))\s*)?"
    r"(?:answer|verdict|conclusion|judge?ment|determination|decision|assessment|evaluation|respuesta|r[ée]ponse|antwort|classification|label|selected|choice|chosen"
    r"|prediction|ruling|truth\s?value|is(?:true|correct)|statement(?:\s+(?:is\s+)?(?:true|correct))?(?=\s*:)|response|result|output|final|ans)"
    r"[\"'”)\]*]*\s*(?:[:：=→|>]+|[-–—]+\s|\bis\b\s*:?|\b(?:would|should|must|will)\s+be\b\s*:?|\n)|(?:\A\s*|\n[^\S\n]*)(?:[=-]>|[→⇒∴]))",
    FLAGS,
)
# an answer word after a label
_LABELLED = re.compile(
    r"[\W_]*(?:(?:that|it\s+is|it's|the\s+statement\s+is|this\s+is|clearly|definitely|probably|likely)\s+)*"
    rf"(?P<not>not\s+)?(?P<word>{WORDS})\b",
    FLAGS,
)
# a second answer word after a labelled one
_AND_THE_OTHER = re.compile(rf"\W{{0,20}}(?:and|or|,|/)\W{{0,20}}(?:{WORDS})\b", FLAGS)
_ANSWERED_QUESTION = re.compile(
    r"(?:\A|\n|[.!?]\s)\W*+(?:(?:is\s+(?:it|this|that|the\s+statement)\s+)?(?P<word>true|false)\?[\"'”*\s]*"
    r"(?P<reply>no\b|not\b|hardly|never|(?:i\s+think|certainly|absolutely|definitely|surely|of\s+course|clearly|obviously)\s+not\b"
    r"|yes\b|indeed\b|certainly\b|absolutely\b|definitely\b|of\s+course\b)|)",
    FLAGS,
)
"""A question with its reply ("True? Certainly not"). Also matches other sentence starts, so that matching takes linear time."""

_NEGATIVE_REPLY = re.compile(r"no|hardly|never|(?:\w+\s+){1,2}not", FLAGS)
# an answer in an XML element: <answer>True
_TAGGED_ANSWER = re.compile(
    r"<(?:answer|final_answer|verdict|label|judge?ment|conclusion|result)>"
    r"[\s\"'*]{0,20}(?:(?:the\s+statement|it)\s+is\s+)?\b(?P<word>true|false)\b(?!\s*(?:or|and|/))",
    FLAGS,
)
# an answer as a key of JSON: "false": true
_KEY_SET_TO_TRUE = re.compile(r"[\"'](?P<word>true|false)[\"']\s*:\s*true\b", FLAGS)
# the output of a classifier: a label with its score
_SCORED_LABEL = re.compile(
    r"[\"'](?:label|answer|class)[\"']\s*:\s*[\"'](true|false)[\"']\s*,\s*[\"'](?:score|prob\w*|p|confidence|weight)\b", FLAGS
)

# --------------------------------------------------------------------------------------------- sentences and clauses

_SENTENCE = re.compile(r"(?:[^.!?…;\n]|\.(?=\d|\w\.)|(?<=\bvs)\.|(?<=\bdr)\.)+[.!?…;\n]*", FLAGS)
_CONTRASTS = (
    r"however|yet|nevertheless|nonetheless|that\s+(?:being\s+)?said|therefore|thus|hence|consequently|overall|in\s+short"
)
_CONTRAST = re.compile(
    rf"(?:[,–—-]|(?<![,\s–—-])\s)\s*+(?:(?<!anything )(?<!nothing )(?<!all )(?<!help )but|{_CONTRASTS}"
    r"|so(?!\s+(?:far|that|called)\b)|accordingly|ultimately|in\s+(?:conclusion|summary)|which\s+(?:means|makes)"
    r"|(?P<aside>because|since|as(?=\s+(?:it|this|the|there|they|we|many|most|some)\s)(?!\s+\w+\s+(?:stands|is\s+(?:true|false)))"
    r"|given\s+that|although|(?<!as )though(?=\s\w)|even\s+though|even\s+if|while|whereas|despite))\b",
    FLAGS,
)
_OPENS_WITH_CONTRAST = re.compile(rf"\W*(?:but|so|{_CONTRASTS})\b", FLAGS)
# a subordinate clause at the start of a sentence
_SUBORDINATE_FIRST = re.compile(
    r"\W*(?:because|since|although|though|even\s+though|while|whereas|despite|granted|admittedly|contrary\s+to|unlike)\b[^,]{0,400},",
    FLAGS,
)
_CONDITION = re.compile(r"\b(?:if|unless|when|provided)\b[^;]{0,200}\b(?:true|false|correct|wrong)\b[^;]{0,80};\s*\Z", FLAGS)
"""A condition with its answer, before a semicolon; another condition follows."""


class _Vote(NamedTuple):
    """The answer of one keyword, in a vote of all keywords of a reply."""

    answer: ReadAnswer
    firmness: int  # EXPLICIT to ASIDE
    contrasts: int  # number of contrasts ("but", "so") before it


def read_committed_answer(reply: str, shortened: tuple[str, Sequence[int]] | None = None) -> ReadAnswer:
    """Parses the answer to which a reply commits.

    The first of these decides: a LaTeX box; a correction ("wait, no: …"); an opening True or False; the last "answer: …"; an
    opening "Correct." or "No."; a vote of keywords. Only the firmest keywords vote (`keywords.Claim`), and of these only
    those after the last "but" or "so". If they disagree, the reply is unreadable.

    shortened: result of `truncate_reply(reply)`, if the caller has it.
    """
    text, indices = shortened or truncate_reply(reply)
    for begin, end in box_spans(text):
        if (boxed := _answer_after_corrections(blank_latex(text[begin:end]))).at is not None:
            return ReadAnswer(boxed.answer, indices[begin + boxed.at])
    thought_until = end_of_thinking(reply)
    if thought_until is not None and (tags := [*_TAGGED_ANSWER.finditer(reply, thought_until)]):
        return _answer_at(tags[-1])
    answer = _answer_after_corrections(text)
    return answer if answer.at is None else ReadAnswer(answer.answer, indices[answer.at])


def _answer_after_corrections(reply: str) -> ReadAnswer:
    """Parses the text after the last correction with an answer, else the whole text."""
    without_quotes = blank_out(_RUN_ON, blank_out(_UNSELECTED, reply)).replace("’", "'").replace("‘", "'")
    text, indices = collapse_whitespace(blank_out(_ECHO, blank_out(_FORMULA, blank_markup(without_quotes))))
    corrections = [correction.end() for correction in _CORRECTED.finditer(text)][-_MAX_CORRECTIONS:]
    for begin in (*reversed(corrections), 0):
        answer = _answer_ignoring_corrections(text[begin:])
        if answer.at is not None:
            return ReadAnswer(answer.answer, indices[begin + answer.at])
    return UNREADABLE


def _answer_ignoring_corrections(text: str) -> ReadAnswer:
    """Parses a text without corrections, by an opening word, a label, an opening clause, or a vote of keywords."""
    if _BOTH_ANSWERS.match(text) or len(set(_SCORED_LABEL.findall(text))) > 1:
        return UNREADABLE
    has_odds = keywords.ODDS_OF_BOTH.search(text) is not None
    opening = _OPENING.match(text)
    if opening and not has_odds and not _is_disqualified(text, opening.end()):
        return _answer_at(opening)
    text = blank_out(keywords.PARENTHESES, text)
    text = blank_out(_QUOTED, text) if _QUOTED.sub("", text).strip(" \n\t.") else text
    if labelled := _labelled_answer(text):
        return labelled
    if has_odds:
        return UNREADABLE
    clause = _OPENING_CLAUSE.match(text)
    group = "word" if clause and clause["word"] else "other"
    if clause and not _is_disqualified(text, clause.end(group)):
        return _answer_at(clause, group)
    return _firmest_answer(_collect_votes(blank_out(_BOOLEAN_FIELD, blank_out(_REJECTED, text))))


def _answer_at(match: re.Match[str], group: str = "word", *, negated: bool = False) -> ReadAnswer:
    """Answer of a matched True or False word. group: the word's group in the pattern."""
    return ReadAnswer(is_true_word(match[group]) != negated, match.start(group))


def _is_disqualified(text: str, end: int) -> bool:
    """Returns True if the text after a True or False word shows that it is no answer: a question, condition, odds or noun."""
    rest = text[end : end + 200]
    return bool(
        _DISQUALIFIED.match(rest)
        or (keywords.CONDITION_AFTER.match(rest) and not keywords.IDIOM_OF_IF.match(rest.lstrip(" ,;:")))
        or keywords.ODDS_AFTER.match(rest)
        or keywords.ATTRIBUTE.match(rest)
        or keywords.PART_OF_A_WORD.match(rest)
    )


def _labelled_answer(text: str) -> ReadAnswer | None:
    """Parses the last answer that is a JSON key, replies to a question, or follows a label ("answer:"); None without any."""
    if keys := [*_KEY_SET_TO_TRUE.finditer(text)]:
        return _answer_at(keys[-1])
    if questions := [question for question in _ANSWERED_QUESTION.finditer(text) if question["word"]]:
        return _answer_at(questions[-1], negated=_NEGATIVE_REPLY.match(questions[-1]["reply"]) is not None)
    for label in reversed([*_LABEL.finditer(text)]):
        word = _LABELLED.match(text, label.end())
        before = text[max(0, label.start() - _MAX_BEFORE_LABEL) : label.start()]
        before = before[max(before.rfind(end) for end in (".", "!", "?", "\n", "but ", "however")) + 1 :]
        if word and not _is_disqualified(text, word.end()) and not keywords.NO_ANSWER_BEFORE.search(before):
            other = _AND_THE_OTHER.match(text, word.end())
            return UNREADABLE if other else _answer_at(word, negated=bool(word["not"]) != bool(label["wrong"]))
    return None


def _firmest_answer(votes: list[_Vote]) -> ReadAnswer:
    """Answer of the firmest votes after the last contrast; unreadable if they disagree or are missing."""
    firmest = [vote for vote in votes if vote.firmness == min(vote.firmness for vote in votes)]
    latest = [vote.answer for vote in firmest if vote.contrasts == max(vote.contrasts for vote in firmest)]
    return _unanimous_answer(latest)


def _collect_votes(text: str) -> list[_Vote]:
    """Parses the claims of the last keywords of a text, in their order."""
    matches = [(clause, keyword) for clause in _split_clauses(text) for keyword in _find_keywords(clause.text)]
    votes = []
    for clause, keyword in matches[-_MAX_KEYWORDS:]:
        if (claim := read_claim(clause, keyword)) is not None:
            answer = ReadAnswer(claim.answer, clause.start + keyword.start())
            votes.append(_Vote(answer, ASIDE if clause.is_subordinate else claim.firmness, clause.contrasts))
    return votes


def _find_keywords(clause: str) -> Iterator[re.Match[str]]:
    """Yields the keywords of a clause, except those that negate the one before ("to say that it is true would be wrong")."""
    negated_until = 0
    for keyword in keywords.KEYWORD_PATTERN.finditer(clause):
        if keyword.start() >= negated_until:
            negated = keywords.NEGATED_AFTER.match(clause, keyword.end())
            negated_until = negated.end() if negated else negated_until
            yield keyword


def _split_clauses(text: str) -> Iterator[Clause]:
    """Yields the clauses of a text, except those of questions."""
    contrasts, condition, declined = 0, "", False
    for match in _SENTENCE.finditer(text):
        sentence = match.group()
        if sentence.rstrip("\n \"'”)").endswith("?"):
            continue
        opens_with_contrast = _OPENS_WITH_CONTRAST.match(sentence) is not None
        contrasts, declined = contrasts + opens_with_contrast, declined and not opens_with_contrast
        context_start, was_first = 0, False
        for begin, end, mark in _clause_bounds(sentence):
            contrasts += mark == ""
            context_start = begin if mark == "" or (was_first and mark is None) else context_start
            was_first = mark == "first"
            before = sentence[context_start:begin] if context_start else condition + sentence[:begin]
            yield Clause(match.start() + begin, sentence[begin:end], before, sentence[end:], contrasts, bool(mark), declined)
        declined = declined or keywords.DECLINES.search(sentence) is not None
        condition = sentence if _CONDITION.search(sentence) else ""


def _clause_bounds(sentence: str) -> Iterator[tuple[int, int, str | None]]:
    """Yields start, end and mark of each clause of a sentence.

    mark: "first" for a subordinate clause at the start of the sentence, the conjunction for a later one. "" for a main clause
    after a contrast. None for others.
    """
    begin, mark = 0, None
    if first := _SUBORDINATE_FIRST.match(sentence):
        yield 0, first.end(), "first"
        begin = first.end()
    for contrast in (*_CONTRAST.finditer(sentence, max(begin - 1, 0)), None):
        end = contrast.start() if contrast else len(sentence)
        comma = sentence.find(",", begin, end) if mark else -1
        if comma >= 0:  # end of a subordinate clause
            yield begin, comma, mark
            begin, mark = comma + 1, None
        yield begin, end, mark
        if contrast:
            begin, mark = contrast.end(), contrast["aside"] or ""


# ----------------------------------------------------------------------------------------------------- papers' readings

_NEGATION = r"(?:\b(?:not|never|cannot|hardly)|n['’]t)(?:\s+(?:a|at|all|be|considered|\w+ly)){0,3}\s+"
_NEGATABLE_WORD = re.compile(rf"(?P<negation>{_NEGATION})?\b(?P<word>{WORDS})\b", FLAGS)
_TRUE_OR_FALSE = re.compile(r"(?<![A-Za-z0-9])(?P<word>true|false)(?![A-Za-z0-9])", re.IGNORECASE)


def _unanimous_answer(answers: Sequence[ReadAnswer]) -> ReadAnswer:
    """Returns the first answer if all agree; else, or without answers, UNREADABLE."""
    return answers[0] if len({answer.answer for answer in answers}) == 1 else UNREADABLE


def _read_by_keywords(reply: str) -> ReadAnswer:
    """Parses a reply by PretextTrans' reading: True or False words anywhere; unreadable if both kinds occur, or neither.

    A word after "not" counts as its opposite.
    """
    matches = _NEGATABLE_WORD.finditer(visible_text(reply))
    return _unanimous_answer([_answer_at(match, negated=match["negation"] is not None) for match in matches])


def _read_last_word(reply: str) -> ReadAnswer:
    """Parses a reply by MKJ's reading: the last "true" or "false". Unreadable without either; MKJ's code returned False."""
    matches = [*_TRUE_OR_FALSE.finditer(without_thinking(reply))]
    return _answer_at(matches[-1]) if matches else UNREADABLE


READINGS: dict[str, Callable[[str], ReadAnswer]] = {
    COMMITTED: read_committed_answer,
    KEYWORD: _read_by_keywords,
    LAST_WORD: _read_last_word,
}
"""Name of a reading → the function that parses a reply by it."""


def read_answer(reply: str, reading: str = COMMITTED) -> bool | None:
    """Parses the answer of a reply; None if it is unreadable: no answer, both, or a refusal. reading: a key of READINGS."""
    return parse_answer(READINGS[reading], reply)


def parse_answer(read: Callable[[str], ReadAnswer], reply: str) -> bool | None:
    """Parses the answer of a reply with a function of READINGS; None if unreadable. Cached for short replies, which repeat."""
    return (_parse_cached if len(reply) <= MAX_CACHED_LENGTH else _parse_uncached)(read, reply)


def parse_position(read: Callable[[str], ReadAnswer], reply: str) -> int | None:
    """Index, in characters, of the word that decides the answer of a reply; None if the reply is unreadable."""
    return read(reply).at


def _parse_uncached(read: Callable[[str], ReadAnswer], reply: str) -> bool | None:
    """Parses the answer of a reply with a function of READINGS."""
    return read(reply).answer


_parse_cached = lru_cache(maxsize=4096)(_parse_uncached)
