"""Prompts as plain text or chat messages: the questions of the papers and of their code, and instructions to write a text.

The texts are data in `assets/instructions.yaml`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any

import yaml

from medfact.answers.reading import COMMITTED, READINGS, parse_answer, parse_position
from medfact.answers.reply_text import ReadAnswer
from medfact.assets import ASSETS
from medfact.models import REPLY_TOKENS, Message, Prompt, is_settled
from medfact.statements import VARIANTS, Statement

CHOICES = (("True", "Yes"), ("False", "No"))
"""True and False words whose probabilities are read at the answer position."""


@dataclass(frozen=True, slots=True)
class Demonstration:
    """A few-shot example: a statement with its label."""

    text: str
    label: bool


@dataclass(frozen=True, slots=True)
class QuestionFormat:
    """Layout of a prompt: question, demonstrations, answers and stop sequences."""

    question: str  # about one statement
    source: str = ""  # paper, and place in it
    answer: str = " {word}\n"  # reply of a demonstration in plain text; a chat strips it
    words: tuple[str, str] = ("True", "False")  # {word} of a true and of a false demonstration
    preface: str = ""  # opening text: once in a plain prompt, in each question of a chat
    full_stop: bool = False  # keeps the full stop of a statement
    chat: bool = True  # chat models get messages; False: they get plain text too
    stop: str = ""  # stop sequence of plain text
    shots_stop: str = "\n"  # stop sequence after demonstrations
    max_tokens: int = REPLY_TOKENS  # of a reply
    enough_tokens: int = 16  # of a reply to plain text, which does not end by itself (`Prompt.enough_tokens`)
    writes: bool = False  # the reply is a text, not an answer
    documents: str = ""  # heading of retrieved passages; "" if the format has no place for them
    choices: tuple[tuple[str, ...], tuple[str, ...]] = CHOICES  # True and False words whose probabilities are read
    reader: Callable[[str], ReadAnswer] | None = None  # parses replies; None: by the method's reading
    settles: Callable[[str], bool] = is_settled  # returns True if a reply opens with its final answer

    def reply(self, label: bool) -> str:
        """Formats the reply of a demonstration with this label."""
        return self.answer.format(word=self.words[0 if label else 1])

    def ask(self, text: str, passages: Sequence[str] = ()) -> str:
        """Formats the question about a statement, with retrieved passages."""
        text = text.rstrip()
        question = self.question.format(statement=text if self.full_stop else text.removesuffix(".").rstrip())
        return question + self.documents + "\n".join(passages) if passages else question


def _parse_format(fields: Mapping[str, Any], **common: Any) -> QuestionFormat:
    """Parses an entry of `instructions.yaml`. common: fields that all entries share."""
    question = "".join(fields["question"])
    return QuestionFormat(**{**fields, **common, "question": question, "words": tuple(fields.get("words", ("True", "False")))})


_DATA = yaml.safe_load((ASSETS / "instructions.yaml").read_text(encoding="utf-8"))

FORMATS = {name: _parse_format(fields) for name, fields in _DATA["questions"].items()}
"""Formats of questions about statements, by name."""

PAPER, WITH_DOCUMENTS = "paper", "mkj-documents"  # keys of FORMATS

REPHRASE, RETRY, FINAL_RETRY = "rephrase", "rephrase-again", "rephrase-last"
LLM_EVAL, LLM_EVAL_STATEMENTS = "llmeval", 8  # and its number of statements per fact

TERMS, TEMPLATE, TEMPLATES = "terms", "template", "templates"
"""Keys of INSTRUCTIONS."""

INSTRUCTIONS = {name: _parse_format(fields, full_stop=True, writes=True) for name, fields in _DATA["instructions"].items()}
"""Formats of instructions to write a text, by name."""

CONFIDENCE_QUESTION: str = _DATA["confidence"]["question"]
"""Question of the second turn, in which the model states its P(True)."""


def make_prompt(
    statement: Statement | str,
    demonstrations: Sequence[Demonstration],
    *,
    chat: bool,
    question: str | QuestionFormat = PAPER,
    reading: str = COMMITTED,
    passages: Sequence[str] = (),
) -> Prompt:
    """Makes the prompt for a statement.

    Args:
        chat: True if the model takes chat messages, False if it continues plain text.
        question: a key of FORMATS, or a format.
        reading: a key of READINGS. All except COMMITTED need the complete reply.
        passages: retrieved texts, best first; only a format with `documents` shows them.
    """
    record, text = (None, statement) if isinstance(statement, str) else (statement, statement.text)
    layout = FORMATS[question] if isinstance(question, str) else question
    messages = chat and layout.chat
    shots = tuple(demonstrations)
    replies = (layout.reply(True).rstrip(), layout.reply(False).rstrip())
    position, answer = (_no_answer, _no_answer) if layout.writes else _parsers(layout.reader or READINGS[reading])
    return Prompt(
        triplet=(record.fact.head, record.fact.relation, record.fact.tail or "") if record else ("", "", ""),
        denied=record is not None and VARIANTS[record.variant].negated,
        content=_chat_messages(layout, layout.ask(text, passages), shots)
        if messages
        else layout.preface + _shots_text(layout, shots) + layout.ask(text, passages),
        choices=layout.choices,
        statement=text,
        stop="" if messages else layout.shots_stop if demonstrations else layout.stop,
        max_tokens=layout.max_tokens,
        enough_tokens=None if messages or layout.writes else layout.enough_tokens,
        settled_after=None if layout.writes or reading != COMMITTED else 1 if demonstrations else 2,
        answers=(replies[0].lstrip(), replies[1].lstrip()) if messages else replies,
        place=position,
        reads=answer,
        settles=layout.settles,
    )


@lru_cache(maxsize=64)
def _parsers(read: Callable[[str], ReadAnswer]) -> tuple[Callable[[str], int | None], Callable[[str], bool | None]]:
    """Parsers of the index of a reply's deciding word, and of its answer. Cached, so that equal prompts compare equal."""
    return partial(parse_position, read), partial(parse_answer, read)


def _no_answer(reply: str) -> None:
    """Parser of replies that are texts, not answers."""
    return None


@lru_cache(maxsize=1024)
def _shots_text(layout: QuestionFormat, demonstrations: tuple[Demonstration, ...]) -> str:
    """Formats demonstrations as plain text: the prefix that a group of prompts shares."""
    return "".join(layout.ask(shot.text) + layout.reply(shot.label) for shot in demonstrations)


def _chat_messages(layout: QuestionFormat, question: str, demonstrations: Sequence[Demonstration]) -> tuple[Message, ...]:
    """Formats the messages of a chat: each demonstration as a turn of user and assistant, then the question."""
    turns: list[Message] = []
    for shot in demonstrations:
        turns.append({"role": "user", "content": layout.preface + layout.ask(shot.text)})
        turns.append({"role": "assistant", "content": layout.reply(shot.label).strip()})
    return (*turns, {"role": "user", "content": layout.preface + question})
