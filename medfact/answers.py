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

_WORDS = "|".join((*TRUE_WORDS, *FALSE_WORDS, "Incorrect", "Untrue"))
_TRUE = frozenset(word.lower() for word in TRUE_WORDS)
_MARKUP = r"[*_`\"'”’\])]*"

_THINKING = re.compile(r"<(think|thinking|reasoning)>.*?(</\1>|\Z)", re.DOTALL | re.IGNORECASE)
_ECHO = re.compile(r"true\s+(?:or|and|/)\s+false|true/false|false\s+(?:or|and|/)\s+true|yes\s+or\s+no", re.IGNORECASE)
_UNDECIDED = re.compile(rf"\b(?:both|neither)\s+(?:{_WORDS})\b[^.!?\n]*|\b(?:whether|if)\b[^.!?\n,]*", re.IGNORECASE)
_COMMITTED = re.compile(rf"(?:answer|verdict|conclusion)\s*(?:is|:)\s*[\W_]*\b(?P<word>{_WORDS})\b", re.IGNORECASE)
_OPENING = re.compile(
    rf"[\W_]*(?:(?P<word>{_WORDS}){_MARKUP}\s*(?:[.!;:\n]|\Z)|(?P<other>(?!yes|no){_WORDS}){_MARKUP}\s*(?:,|[-–—]\s))",
    re.IGNORECASE,
)
_HEDGE = re.compile(r"\b(?:but|however|yet|although)\b", re.IGNORECASE)
_DENYING = r"\b(?:not|never|hardly|cannot|no\s+reason)\b|n['’]t\b"
_BETWEEN = r"(?:\s+(?:the\s+case|to\s+think|think|believe|say)\b(?:\s+\w+){0,5}?|(?:\s+(?!(?:is|are|was|were)\b)\w+){0,5}?)\s+"
"""What may stand between a denial and the keyword that it turns round: "not the case that this is", but not "is not a
symptom of gout is", where the denial belongs to the statement.
"""

_KEYWORD = re.compile(rf"(?P<negation>(?:{_DENYING}){_BETWEEN})?\b(?P<word>{_WORDS})\b", re.IGNORECASE)
_ATTRIBUTE = re.compile(r"\s+(?:statement|answer|claim|treatment|doubt)\b", re.IGNORECASE)


def read_answer(reply: str) -> bool | None:
    """The answer that a reply commits to, or None where it is unreadable: none, both words, a refusal, nothing.

    Decided in turn by: "the answer is …"; a keyword that opens the reply as a sentence, line or clause of its own; what comes
    after the last "but" or "however"; and otherwise the keywords, if they all agree.
    """
    text = _ECHO.sub(" ", _THINKING.sub(" ", reply))
    if committed := [*_COMMITTED.finditer(text)]:
        return _meaning(committed[-1]["word"])
    if opening := _OPENING.match(text):
        return _meaning(opening["word"] or opening["other"])
    text = _UNDECIDED.sub(" ", text)
    if (hedges := [*_HEDGE.finditer(text)]) and (after := _meanings(text[hedges[-1].end() :])):
        return _agreed(after)
    return _agreed(_meanings(text))


def _meaning(word: str) -> bool:
    return word.lower() in _TRUE


def _meanings(text: str) -> set[bool]:
    """What each keyword says. Yes and no count only where they stand apart ("No, …", "… no."), and none in "the correct
    statement" or "no doubt".
    """
    said = set()
    for found in _KEYWORD.finditer(text):
        before, after = text[: found.start()].rstrip(" *_`\"'(["), text[found.end() :].lstrip(" *_`\"')]")
        apart = not before or before[-1] in ".,!?:;\n" or not after or after[0] in ".,!?:;\n"
        if _ATTRIBUTE.match(text, found.end()) and found["word"].lower() not in {"true", "false"}:
            continue
        if apart or found["word"].lower() not in {"yes", "no"}:
            said.add(_meaning(found["word"]) != (found["negation"] is not None))
    return said


def _agreed(meanings: set[bool]) -> bool | None:
    return meanings.pop() if len(meanings) == 1 else None
