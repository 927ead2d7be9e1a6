"""Limits of tokens: of replies, as services name them in a refusal, and of prompts, as services cut them without a word.

Services share no wording, so numbers are read by the words beside them, and by arithmetic: the limit that was sent is known.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from math import inf
from typing import NamedTuple

from medfact.models.prompt import Completion, Prompt
from medfact.models.services.prices import tokens_in


class NamedLimit(NamedTuple):
    """Numbers of tokens that a refusal names; None for those that it does not.

    reply: most of a reply, whatever the prompt. context: most of prompt and reply together. prompt: those of this prompt.
    """

    reply: int | None = None
    context: int | None = None
    prompt: int | None = None


class _Number(NamedTuple):
    """A number in a refusal, with the words before and after it, up to the next number or sentence."""

    value: int
    before: str
    after: str


_NUMBER = re.compile(r"(?<![\w./-])(\d+)(?:\.\d+)?([kK])?(?![\w-])")

_GROUPED = re.compile(r"(?<![\[\d,.])\d{1,3}(?:[,_]\d{3})+(?![\d,])")

_RANGE = re.compile(
    r"(?:\b(?:from|between)\s+)?(?<![\w.])\d{1,2}\s*(?:\(inclusive\)\s*)?(?:,|-|–|~|\.\.|\band\b|\bto\b)\s*"
    r"(\d++)(?![.-]*+\w)(\s*\(exclusive\)|\s*\))?"
)
"""A range that begins with a small number."""

_SUM = re.compile(r"(?<!\d)(\d++)\s*+\+\s*+(\d++)\s*+(?:>=?|≥|exceeds)\s*+(\d++)")
_DIFFERENCE = re.compile(r"(?<!\d)\d++\s*+>\s*+(\d++)\s*+-\s*+(\d++)")
"""How services write the sum that is too large."""

_LIMIT = re.compile(
    r"max|limit|most\b|up to|[<>≤]|exceed|beyond|above|\bover\b|no (?:more|greater|larger)"
    r"|\b(?:less|lower|fewer|below|smaller|under|within|only|just)\b"
    r"|(?:must|should|cannot|can't) be|allow|support|range|context|window|n_ctx"
    r"|capacity|available|budget|\broom\b|\bleft\b|remain|最大|上限|超过|范围|限制",
    re.IGNORECASE,
)
_LIMIT_AFTER = re.compile(
    r"\W*+(?:tokens?\W*+)?(?:which is |is )?(?:the |a )?(?:max|limit|context|allowed|available|left|remain)", re.IGNORECASE
)
_STRICTLY = re.compile(r"\b(?:less|lower|smaller|fewer|below|under)(?: than)?\W*\Z|<\s*\Z", re.IGNORECASE)
_PROMPT = re.compile(r"prompt|input|messages?\b|\bquery|\btext\b|输入", re.IGNORECASE)
_REPLY = re.compile(
    r"completion|output|generat|predict|respon|repl(?:y|ies)|max[ _-]?(?:new|output|completion)?[ _-]?tokens|new[ _]tokens",
    re.IGNORECASE,
)
_TOGETHER = re.compile(
    r"context|window|total|combin|\bsum\b|sequence|session|model[_ ]?len|n_ctx|num_tokens"
    r"|inputs?\b(?! (?:should|must|validation))|per min|\bTPM\b|输入",
    re.IGNORECASE,
)
_REQUESTED = re.compile(
    r"request(?! id)|asked|you (?:gave|provided|sent)|given|received|current|requires|total of", re.IGNORECASE
)


def named_limit(words: str, requested: int) -> NamedLimit:
    """Numbers of tokens that a refusal names. requested: the limit of the reply that was sent.

    A number that leaves no less than what was requested binds nothing, and is not named.
    """
    numbers = _numbers_in(_unfolded(words, requested))
    limits = [number for number in numbers if _is_limit(number)]
    prompt = _prompt_in(numbers, requested) or _prompt_of_total(numbers, limits, requested)
    together = [
        limit
        for limit in limits
        if _is_together(limit)
        or (not _REPLY.search(limit.before + limit.after) and (prompt is not None or limit.value == requested))
    ]
    most = inf if prompt is None else requested + prompt
    contexts = [_most(limit) for limit in together if _most(limit) < most]
    context = max(contexts, key=lambda value: (value > (prompt or 0), value != requested, value), default=None)
    replies = [_most(limit) for limit in limits if limit not in together and _most(limit) < requested and limit.value != prompt]
    return NamedLimit(max(replies, default=None), context, prompt)


def _unfolded(words: str, requested: int) -> str:
    """A refusal whose ranges and sums are written out."""

    def sum_in_words(match: re.Match[str]) -> str:
        first, second = match[1], match[2]
        prompt, reply = (second, first) if int(first) == requested else (first, second)
        return f"; prompt {prompt}; requested {reply}; context limit {match[3]} "

    words = _GROUPED.sub(lambda match: re.sub(r"\D", "", match[0]), words)
    words = _SUM.sub(sum_in_words, words)
    words = _DIFFERENCE.sub(r" context limit \1; prompt \2 ", words)
    return _RANGE.sub(lambda match: f" {'less than' if match[2] and match[2].strip() != ']' else 'at most'} {match[1]} ", words)


def _numbers_in(words: str) -> list[_Number]:
    matches = list(_NUMBER.finditer(words))
    ends = [0, *(match.end() for match in matches)]
    begins = [*(match.start() for match in matches), len(words)]
    return [
        _Number(
            int(match[1]) * (1000 if match[2] else 1),
            re.split(r"[.!?;]\s", words[ends[place] : match.start()])[-1],
            re.split(r"[.!?;](?:\s|\Z)", words[match.end() : begins[place + 1]])[0],
        )
        for place, match in enumerate(matches)
    ]


def _is_limit(number: _Number) -> bool:
    if _LIMIT_AFTER.match(number.after):
        return True
    return _LIMIT.search(number.before) is not None and not _is_of_prompt(number)


def _is_of_prompt(number: _Number) -> bool:
    """Whether a number counts the tokens of a prompt: the words after it say so, or else those before it."""
    after = re.split(r"\b(?:and|plus)\b|[(,+]", number.after)[0]
    if _PROMPT.search(after) and not _LIMIT.search(after):
        return not _REPLY.search(after)
    if _REPLY.search(after) or _LIMIT.search(number.before):
        return False
    return _PROMPT.search(number.before) is not None and not _REQUESTED.search(number.before.rpartition("prompt")[2])


def _prompt_in(numbers: list[_Number], requested: int) -> int | None:
    """The tokens of the prompt that are named: as such, or as what is missing in a total."""
    values = {number.value for number in numbers}
    named = [number.value for number in numbers if _is_of_prompt(number)]
    sums = [value for value in values if value and value + requested in values]
    return next((value for value in named if value in sums), None) or next(iter(named or sums), None)


def _prompt_of_total(numbers: list[_Number], limits: list[_Number], requested: int) -> int | None:
    """The same, from the tokens of prompt and reply that were requested together."""
    totals = [number for number in numbers if number not in limits and number.value > requested]
    return next((number.value - requested for number in totals if _REQUESTED.search(number.before + number.after)), None)


def _is_together(limit: _Number) -> bool:
    """Whether a limit is that of prompt and reply together."""
    if _TOGETHER.search(limit.before):
        return True
    return not _REPLY.search(limit.before) and _TOGETHER.search(limit.after.partition(",")[0]) is not None


def _most(limit: _Number) -> int:
    return limit.value - 1 if _STRICTLY.search(limit.before) else limit.value


# ------------------------------------------------------------------------------------------------- prompts that are cut

FEWEST_PROMPTS = 8
"""With fewer prompts, nothing is said."""

FEWEST_TOKENS = 256
"""No context is shorter."""

SAFE_SHARE = 1 / 3
"""Of the estimated tokens of a prompt: no tokenizer makes fewer of it."""

DIFFERENT_TOKENS = 6
"""Prompts that differ by so many estimated tokens are not, most of them, counted alike by chance."""


@dataclass
class _Alike:
    """Prompts for which a service counted the same number of tokens. least, most: their estimates."""

    prompts: int = 0
    longer: int = 0
    least: int = 1 << 62
    most: int = 0


class PromptCounts:
    """The tokens that a service counted of the prompts so far, beside those that were estimated."""

    def __init__(self) -> None:
        self._prompts = self._short = 0
        self._by_count: dict[int, _Alike] = {}

    def note(self, completion: Completion, prompt: Prompt) -> str | None:
        """A note once most prompts are cut; None before that, and where the service does not count."""
        counted = completion.served.prompt_tokens if completion.served else None
        if not counted:
            return None
        estimated = tokens_in(prompt.content)
        self._prompts += 1
        self._short += estimated >= FEWEST_TOKENS and counted < SAFE_SHARE * estimated
        alike = self._by_count.setdefault(counted, _Alike())
        alike.prompts += 1
        alike.longer += estimated > counted
        alike.least, alike.most = min(alike.least, estimated), max(alike.most, estimated)
        return self._verdict()

    def _verdict(self) -> str | None:
        most = max(self._by_count)
        longest = self._by_count[most]
        enough = max(FEWEST_PROMPTS, self._prompts / 2)
        is_full = (
            most >= FEWEST_TOKENS
            and min(longest.prompts, longest.longer) >= enough
            and longest.most - longest.least >= DIFFERENT_TOKENS
        )
        if not is_full and self._short < enough:
            return None
        estimate = max(alike.most for alike in self._by_count.values())
        context = 1 << (estimate * 5 // 4).bit_length()  # a quarter more, for the reply and for the error of the estimate
        return (
            f"The service counts {most:,} tokens at most in prompts of up to about {estimate:,}: it seems to cut them, so that "
            "the model does not see all of the question. Give it a longer context and ask again: with Ollama, set num_ctx "
            f"(OLLAMA_CONTEXT_LENGTH, or PARAMETER num_ctx in a Modelfile) to {context:,}; elsewhere, the "
            "context length that the server is started with. Or ask with fewer --passages or --shots."
        )
