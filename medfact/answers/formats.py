"""How a statement is asked: the question formats of the papers and of their code, as plain text or chat messages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from medfact.answers.reading import COMMITTED, PLACES
from medfact.models import Message, Prompt
from medfact.statements import Statement

CHOICES = (("True", "Yes"), ("False", "No"))
"""The True words and the False words whose probabilities are read at the answer position."""


@dataclass(frozen=True, slots=True)
class Demonstration:
    """A shot: a statement's text with its label."""

    text: str
    label: bool


@dataclass(frozen=True, slots=True)
class QuestionFormat:
    """How a statement is asked.

    preface:    what stands before everything, once in a text and in each question of a chat.
    question:   one statement's question. full_stop: whether the statement keeps its own.
    answer:     what follows a question in a demonstration; a chat's turn is the same, stripped. words: what it says of a true
                and of a false statement.
    chat:       whether a chat model gets messages; else it gets plain text too.
    stop:       where a text's reply ends; shots_stop: the same where demonstrations have shown it.
    max_tokens: tokens that a reply may take.
    """

    title: str
    question: str
    answer: str = " {word}\n"
    words: tuple[str, str] = ("True", "False")
    preface: str = ""
    full_stop: bool = False
    chat: bool = True
    stop: str = ""
    shots_stop: str = "\n"
    max_tokens: int = 16

    def reply(self, label: bool) -> str:
        """What follows a question in a demonstration."""
        return self.answer.format(word=self.words[0 if label else 1])

    def ask(self, text: str) -> str:
        """The question about one statement's text."""
        text = text.rstrip()
        return self.question.format(statement=text if self.full_stop else text.removesuffix(".").rstrip())


FORMATS = {
    "paper": QuestionFormat(
        title="the papers' question",
        question="{statement}, is the statement above true or false? Please answer True or False.",
    ),
    "code": QuestionFormat(
        title="the question of PretextTrans' published code",
        # character for character, the stray colon among them
        question='Statement: ": {statement}", is the statement above true or false? Please answer true/false.\nAnswer:',
        answer=" {word}\n\n",
        words=("true", "false"),
        full_stop=True,
        chat=False,
        stop="\nStatement",
        shots_stop="\nStatement",
        max_tokens=50,
    ),
    "mkj": QuestionFormat(
        title="MKJ's question",
        preface=(
            "Given a statement, your task is to judge it true or false.\n"
            'Format your answer like this: "Answer: [True or False]".\n\n'
        ),
        question="Statement: {statement}",
        answer="\nAnswer: {word}\n\n",
        full_stop=True,
        shots_stop="\nStatement",
        max_tokens=50,
    ),
}
"""`paper`: PretextTrans, Appendix C, and TPEval, Appendix C. `code`: PretextTrans' code. `mkj`: MKJ, Figure 8."""

PAPER = "paper"


def make_prompt(
    statement: Statement | str,
    demonstrations: Sequence[Demonstration],
    *,
    chat: bool,
    question: str = PAPER,
    reading: str = COMMITTED,
) -> Prompt:
    """The prompt for a statement, in the shape that the model takes.

    Args:
        chat: whether the model takes messages. question: a name in FORMATS. reading: a name in READINGS; other readings
            than the committed one need the whole reply.
    """
    text = statement if isinstance(statement, str) else statement.text
    made = FORMATS[question]
    messages = chat and made.chat
    shots = tuple(demonstrations)
    replies = (made.reply(True).rstrip(), made.reply(False).rstrip())
    return Prompt(
        content=_messages(made, text, shots) if messages else made.preface + _shown(made, shots) + made.ask(text),
        choices=CHOICES,
        statement=text,
        stop="" if messages else made.shots_stop if demonstrations else made.stop,
        max_tokens=made.max_tokens,
        settled_after=None if reading != COMMITTED else 1 if messages or demonstrations else 2,
        answers=(replies[0].lstrip(), replies[1].lstrip()) if messages else replies,
        place=PLACES[reading],
    )


@lru_cache(maxsize=1024)
def _shown(made: QuestionFormat, demonstrations: tuple[Demonstration, ...]) -> str:
    """What all prompts of a group begin with."""
    return "".join(made.ask(shot.text) + made.reply(shot.label) for shot in demonstrations)


def _messages(made: QuestionFormat, text: str, demonstrations: Sequence[Demonstration]) -> tuple[Message, ...]:
    """A demonstration is a turn of the user and one of the assistant."""
    turns: list[Message] = []
    for shot in demonstrations:
        turns.append({"role": "user", "content": made.preface + made.ask(shot.text)})
        turns.append({"role": "assistant", "content": made.reply(shot.label).strip()})
    return (*turns, {"role": "user", "content": made.preface + made.ask(text)})
