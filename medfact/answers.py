"""The prompt and the reply: how a statement is asked, and how what comes back is read.

The question is the papers' own (PretextTrans, Appendix C). A reply is read by the answer that it commits to: True, False,
or unreadable (None). Keywords are those of PretextTrans, Table 7, as whole words.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from medfact.models import Message, Prompt
from medfact.statements import Statement

QUESTION = "{statement}, is the statement above true or false? Please answer True or False."
"""The papers' question. The statement's own full stop is dropped before the comma."""

TRUE_WORDS = ("True", "Entailed", "Correct", "Yes")
FALSE_WORDS = ("False", "Contradicted", "Wrong", "No")

CHOICES = (("True", "Yes"), ("False", "No"))
"""The True words and the False words whose probabilities are read at the answer position."""


@dataclass(frozen=True, slots=True)
class Demonstration:
    """A shot: a statement's text with its label."""

    text: str
    label: bool


def question(text: str) -> str:
    """The papers' question about one statement's text."""
    return QUESTION.format(statement=text.rstrip().removesuffix(".").rstrip())


def plain_prompt(text: str, demonstrations: Sequence[Demonstration]) -> Prompt:
    """One text: each demonstration is its question, a bare True or False and a line break; then the question."""
    shots = "".join(f"{question(shot.text)} {shot.label}\n" for shot in demonstrations)
    return Prompt(shots + question(text), CHOICES)


def chat_prompt(text: str, demonstrations: Sequence[Demonstration]) -> Prompt:
    """Messages for a chat model: a demonstration is a turn of the user and one of the assistant."""
    messages: list[Message] = []
    for shot in demonstrations:
        messages.append({"role": "user", "content": question(shot.text)})
        messages.append({"role": "assistant", "content": str(shot.label)})
    messages.append({"role": "user", "content": question(text)})
    return Prompt(tuple(messages), CHOICES)


def make_prompt(statement: Statement | str, demonstrations: Sequence[Demonstration], *, chat: bool) -> Prompt:
    """The prompt for a statement, in the shape that the model takes."""
    text = statement if isinstance(statement, str) else statement.text
    return (chat_prompt if chat else plain_prompt)(text, demonstrations)


# ------------------------------------------------------------------------------------------------ reading

_THINKING = re.compile(r"<(think|thinking|reasoning)>.*?(</\1>|\Z)", re.DOTALL | re.IGNORECASE)
_NOT = r"(?:not|isn't|is\s+not|n't|never|hardly)\s+(?:\w+\s+){0,2}?"
_KEYWORDS = re.compile(rf"\b(?P<negation>{_NOT})?\b(?P<word>{'|'.join((*TRUE_WORDS, *FALSE_WORDS))})\b", re.IGNORECASE)
_ECHO = re.compile(r"true\s+(?:or|and|/)\s+false|true/false|false\s+(?:or|and|/)\s+true|yes\s+or\s+no", re.IGNORECASE)
_COMMITTED = re.compile(
    rf"(?:answer|verdict|conclusion)\s*(?:is|:)\s*[\W_]*\b({'|'.join((*TRUE_WORDS, *FALSE_WORDS))})\b", re.IGNORECASE
)
_HEDGE = re.compile(r"\b(but|however|yet|although)\b", re.IGNORECASE)
_TRUE = frozenset(word.lower() for word in TRUE_WORDS)


def read_answer(reply: str) -> bool | None:
    """The answer that a reply commits to, or None where it is unreadable: none, both words, a refusal, nothing.

    Decided in turn by: a reply that is a keyword alone or begins with one line of it; "the answer is …"; what comes after
    the last "but" or "however"; and otherwise the keywords, if they all agree.
    """
    text = _ECHO.sub(" ", _THINKING.sub(" ", reply))
    first = text.strip().strip("*_`\"'[]() \n").split("\n", 1)[0]
    committed = _COMMITTED.findall(text)
    if committed:
        return _agreed({_meaning(word) for word in committed[-1:]})
    if re.fullmatch(r"[\W_]*\w+[\W_]*", first) and _KEYWORDS.search(first):
        return _agreed(_meanings(first))
    last_turn = [*_HEDGE.finditer(text)]
    if last_turn and (after := _meanings(text[last_turn[-1].end() :])):
        return _agreed(after)
    return _agreed(_meanings(text))


def _meaning(word: str) -> bool:
    return word.lower() in _TRUE


def _meanings(text: str) -> set[bool]:
    return {_meaning(m["word"]) != (m["negation"] is not None) for m in _KEYWORDS.finditer(text)}


def _agreed(meanings: set[bool]) -> bool | None:
    return meanings.pop() if len(meanings) == 1 else None
