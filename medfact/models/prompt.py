"""What goes into a model and what comes out."""

from __future__ import annotations

import bisect
import itertools
import re
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from typing import TypedDict

from medfact.models.thinking import end_of_thinking, without_thinking

REPLY_TOKENS = 256
"""Most tokens in a reply by default, of local models and services alike. A reply that settles its answer earlier ends there."""

THINKING_TOKENS, MOST_THINKING_TOKENS = 4096, 32_768
"""The same for thinking and answer together, and how far that limit is raised where thinking takes all of it."""

THINKING_STEP = 4
"""How many times as many tokens are allowed then, at a time."""


CONTINUES = r"\s*(?:or\b|/)|\w|[\s,]*(?:only|if|unless|when|provided|assuming|depending)\b"
"""What follows a word that is no answer: an echo of "True or False", the rest of a longer word ("Falsehood"), a condition."""

_SETTLED = re.compile(rf"\W*(?:(?:the\s+)?answer\s*(?:is\b|:)\W*)?(?:true|false)\b(?!{CONTINUES}|\s*\?)", re.IGNORECASE)
"""“True?” begins a thought."""


def is_settled(reply: str) -> bool:
    """Whether a reply opens with a True or False that the next word does not undo, so that the rest need not be known."""
    begin = end_of_thinking(reply)
    return begin is not None and _SETTLED.match(reply, begin) is not None


class Message(TypedDict):
    """One turn for a chat model."""

    role: str
    content: str


@dataclass(frozen=True, slots=True)
class Prompt:
    """Exactly what a model gets, and how long its reply may be.

    content:       plain text, or messages.
    choices:       the True words and the False words whose probabilities are read.
    statement:     the text of the statement in question.
    triplet:       head, relation and tail of its fact, for word matching; denied: whether it denies the fact.
    stop:          the reply ends before this text; "" means that nothing stops it.
    max_tokens:    most tokens in the reply.
    enough_tokens: a text that a model continues does not end by itself: its reply ends after so many tokens, or twice or four
                   times as many and so on, as soon as it can be read by then; None for a reply that ends otherwise.
    settled_after: an opening True or False is the answer once this many tokens are known, or more where the next words could
                   still undo it ("True or False", "True if …"); None if the whole reply must be read.
    answers:       exactly what a demonstration says after a true and after a false statement.
    place:         the index of the character where the deciding word of a reply begins; None if no word decides.
    reads:         the answer of a reply; None if it is unreadable.
    settles:       whether a reply opens with an answer that the next word does not undo, so that the rest need not be known.
    second:        what the model is asked in a second turn, once it has answered: how sure it is; "" for nothing.
    """

    content: str | tuple[Message, ...]
    choices: tuple[tuple[str, ...], tuple[str, ...]]
    statement: str = ""
    stop: str = ""
    max_tokens: int = REPLY_TOKENS
    enough_tokens: int | None = None
    settled_after: int | None = 1
    answers: tuple[str, str] = (" True", " False")
    place: Callable[[str], int | None] = lambda reply: None
    reads: Callable[[str], bool | None] = lambda reply: None
    settles: Callable[[str], bool] = is_settled
    triplet: tuple[str, str, str] = ("", "", "")
    denied: bool = False
    second: str = ""

    @property
    def is_chat(self) -> bool:
        """Whether it is messages."""
        return not isinstance(self.content, str)


def decoding_of(prompt: Prompt) -> Prompt:
    """How a prompt is decoded, which prompts decoded together have in common: a prompt without anything of its own."""
    enough = None if prompt.is_chat else prompt.enough_tokens
    empty = () if prompt.is_chat else ""
    return replace(prompt, content=empty, statement="", triplet=("", "", ""), denied=False, enough_tokens=enough)


def is_time_to_read(tokens: int, enough: int | None) -> bool:
    """Whether a reply of so many tokens ends if it can be read (`Prompt.enough_tokens`)."""
    times, rest = divmod(tokens, enough) if enough else (0, 0)
    return times > 0 and rest == 0 and times.bit_count() == 1


def groups_of(prompts: Sequence[Prompt]) -> list[Hashable]:
    """The group of each prompt: prompts of one group share a beginning.

    Prompts that are assembled when they are needed tell their groups themselves, by a method `group(index)`. Otherwise a group
    is all that stands before the statement.
    """
    group: Callable[[int], Hashable] | None = getattr(prompts, "group", None)
    if group is not None:
        return [group(index) for index in range(len(prompts))]
    return [_before_statement(prompt) for prompt in prompts]


def _before_statement(prompt: Prompt) -> Hashable:
    earlier, last = (
        ((), prompt.content) if isinstance(prompt.content, str) else (prompt.content[:-1], prompt.content[-1]["content"])
    )
    return hash((str(earlier), last[: max(last.rfind(prompt.statement.rstrip(".")), 0)]))


def answer_position(
    tokens: Sequence[str], text: str, place: Callable[[str], int | None], choices: Sequence[Sequence[str]]
) -> int | None:
    """The index of the token that gives a reply's answer. P(True) is read there, for local models and services alike.

    It is the token where the deciding word begins. In an unreadable reply it is the first token after any thinking that is one
    of the choices, else the first token there; None if the thinking never ends.

    Args:
        tokens: the text of each token. text: as much of the joined tokens as counts.
    """
    ends = [0, *itertools.accumulate(map(len, tokens))]
    at = place(text)
    if at is not None and at < ends[-1]:
        return bisect.bisect_right(ends, at) - 1
    begin = end_of_thinking("".join(tokens))
    after = [] if begin is None else [index for index in range(len(tokens)) if ends[index] >= begin]
    if not after:
        return None
    words = {word.lower() for side in choices for word in side}
    return next((index for index in after if bare(tokens[index]) in words), after[0])


LENGTH, CONTENT_FILTER = "length", "content_filter"
"""Why a service cut a reply short (`Completion.cut`)."""


def is_whole(reply: str, cut: str | None, settles: Callable[[str], bool] = is_settled) -> bool:
    """Whether a reply can be read. One cut off for its length can only if its opening settles the answer, which ends a reply
    on this machine too; one cut off for another reason never can. cut: as in `Completion`. settles: as in `Prompt`.
    """
    return cut is None or (cut == LENGTH and settles(reply))


def is_cut_in_thinking(reply: str) -> bool:
    """Whether a reply that its limit cut had not begun to answer: nothing but thinking is there, or nothing at all."""
    return end_of_thinking(reply) is None or not without_thinking(reply).strip()


FIRST_WIDE = "\u2e80"
"""The first character of the scripts that are written without spaces."""

_SPACE_SIGNS = {"▁": " ", "Ġ": " ", "Ċ": "\n"}
"""What tokenizers write for white space; some services return it."""


def plain(token: str) -> str:
    """A token as it stands in a text."""
    return "".join(_SPACE_SIGNS.get(character, character) for character in token)


def bare(token: str) -> str:
    """A token in lower case, without white space and incomplete characters."""
    return plain(token).strip(" \t\n\r\ufffd").lower()


def until(stop: str, text: str) -> str:
    """The text up to the first `stop` that follows more than white space and thinking."""
    begin = end_of_thinking(text) if stop else None
    if begin is None:
        return text
    reply = text[begin:]
    at = reply.find(stop, len(reply) - len(reply.lstrip()))
    return text if at < 0 else text[: begin + at]


@dataclass(frozen=True, slots=True)
class Served:
    """What a service reported of the calls for one prompt.

    model:         its name for the model that answered. fingerprint: its name for the model's configuration.
    upstream:      the host that computed the answer, where the service is a router and says so.
    prompt_tokens, completion_tokens: its counts, summed over the calls; None if it does not count.
    reasoning_tokens: the part of completion_tokens that is thinking; None if it does not count that apart.
    wasted_tokens: the part of prompt_tokens of calls whose reply was not used: where there was none, as estimated here.
    wasted_completion: the same of completion_tokens. Both are paid for before the reply that counts is there.
    seconds:       duration of the call that gave the answer, or of the last one.
    attempts:      number of calls; 0, with no tokens, if the answer to an identical prompt was reused.
    """

    model: str | None = None
    fingerprint: str | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    seconds: float = 0.0
    attempts: int = 1
    wasted_tokens: int = 0
    wasted_completion: int = 0
    reasoning_tokens: int | None = None
    upstream: str | None = None


@dataclass(frozen=True, slots=True)
class Completion:
    """A model's reply to a prompt.

    text:    the reply, unchanged; None if the call failed.
    p_true:  at the answer position, the probability of the True words divided by that of the True and False words, from 0 to 1;
             None if the model gives no probabilities.
    p_mass:  the probability of the True and False words together, from 0 to 1.
    failure: why the call failed, or None. A failure is not an answer.
    p_low, p_high: bounds of `p_true` over all values of the alternatives that a service did not return; None if all are known.
    cut:     why a service cut the reply short: LENGTH or CONTENT_FILTER.
    served:  what a service reported of the call; None for a local model.
    thinks:  whether a service's reply shows that the model thinks before it answers.
    stated:  what the model said of how sure it is, where it was asked; then p_true follows from that.
    """

    text: str | None
    p_true: float | None = None
    p_mass: float | None = None
    failure: str | None = None
    p_low: float | None = None
    p_high: float | None = None
    cut: str | None = None
    served: Served | None = None
    thinks: bool = False
    stated: str | None = None
