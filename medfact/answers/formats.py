"""Prompts: the question formats of the papers and of their code, as plain text or chat messages."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial

from medfact.answers.reading import COMMITTED, PLACES, READINGS, read_answer
from medfact.answers.spoken import ReadAnswer
from medfact.models import REPLY_TOKENS, Message, Prompt, is_settled
from medfact.statements import VARIANTS, Statement

CHOICES = (("True", "Yes"), ("False", "No"))
"""The True and the False words whose probabilities are read at the answer position."""


@dataclass(frozen=True, slots=True)
class Demonstration:
    """A shot: a statement's text with its label."""

    text: str
    label: bool


@dataclass(frozen=True, slots=True)
class QuestionFormat:
    """A question format.

    preface:    the opening text: once in a plain prompt, in each question of a chat.
    question:   the question about one statement. full_stop: whether the statement keeps its full stop.
    answer:     the text after a question in a demonstration; stripped, it is a turn of a chat. words: its word for a true and
                for a false statement.
    chat:       whether chat models get messages; if not, they get plain text.
    stop:       the text that ends a plain reply. shots_stop: the same after demonstrations.
    max_tokens: the most tokens in a reply, whichever model is asked. enough_tokens: as in `Prompt`, of plain text.
    writes:     whether the reply is a text to use, and no answer.
    documents:  stands between a statement and the passages retrieved for it; "" where the question has no place for them.
    choices:    the True and the False words whose probabilities are read. reader: reads replies, and settles tells whether
                one opens with its answer; None: the method's reading does.
    """

    question: str
    answer: str = " {word}\n"
    words: tuple[str, str] = ("True", "False")
    preface: str = ""
    full_stop: bool = False
    chat: bool = True
    stop: str = ""
    shots_stop: str = "\n"
    max_tokens: int = REPLY_TOKENS
    enough_tokens: int = 16
    writes: bool = False
    documents: str = ""
    choices: tuple[tuple[str, ...], tuple[str, ...]] = CHOICES
    reader: Callable[[str], ReadAnswer] | None = None
    settles: Callable[[str], bool] = is_settled

    def reply(self, label: bool) -> str:
        """The answer after a question in a demonstration."""
        return self.answer.format(word=self.words[0 if label else 1])

    def ask(self, text: str, passages: Sequence[str] = ()) -> str:
        """The question about one statement's text, with the passages retrieved for it."""
        text = text.rstrip()
        question = self.question.format(statement=text if self.full_stop else text.removesuffix(".").rstrip())
        return question + self.documents + "\n".join(passages) if passages else question


FORMATS = {
    "paper": QuestionFormat(
        question="{statement}, is the statement above true or false? Please answer True or False.",
    ),
    "code": QuestionFormat(
        # copied exactly, with its stray colon
        question='Statement: ": {statement}", is the statement above true or false? Please answer true/false.\nAnswer:',
        answer=" {word}\n\n",
        words=("true", "false"),
        full_stop=True,
        chat=False,
        stop="\nStatement",
        shots_stop="\nStatement",
        max_tokens=50,
        enough_tokens=50,
    ),
    "mkj": QuestionFormat(
        preface=(
            "Given a statement, your task is to judge it true or false.\n"
            'Format your answer like this: "Answer: [True or False]".\n\n'
        ),
        question="Statement: {statement}",
        answer="\nAnswer: {word}\n\n",
        full_stop=True,
        shots_stop="\nStatement",
        enough_tokens=50,
    ),
    "mkj-documents": QuestionFormat(
        preface=(
            "Please judge the following statement is true or false based on the documents. Some relevant documents are "
            'provided that may help you do the judgement.\nFinally, please format your answer like this: "Answer: [True or '
            'False]".\n\n'
        ),
        question="Statement:\n{statement}",
        documents="\n\nDocuments:\n",
        answer="\nAnswer: {word}\n\n",
        full_stop=True,
        shots_stop="\nStatement",
        enough_tokens=50,
    ),
}
"""`paper`: PretextTrans, Appendix C, and TPEval, Appendix C. `code`: PretextTrans' code. `mkj`: MKJ, Figure 8. `mkj-documents`:
MKJ, Figure 9, where the passages stand one a line under "Documents:", as in the paper's code; demonstrations have none.
"""

_READERS = {name: partial(read_answer, reading=name) for name in READINGS}
"""Name of a reading → a function from a reply to its answer."""

PAPER, WITH_DOCUMENTS = "paper", "mkj-documents"


def make_prompt(
    statement: Statement | str,
    demonstrations: Sequence[Demonstration],
    *,
    chat: bool,
    question: str | QuestionFormat = PAPER,
    reading: str = COMMITTED,
    passages: Sequence[str] = (),
) -> Prompt:
    """The prompt for a statement.

    Args:
        passages: the texts retrieved for it, best first; only a question with documents shows them.
        chat: whether the model takes messages. question: a name in FORMATS, or a format. reading: a name in READINGS; all but
            the committed one need the whole reply.
    """
    text = statement if isinstance(statement, str) else statement.text
    layout = FORMATS[question] if isinstance(question, str) else question
    messages = chat and layout.chat
    shots = tuple(demonstrations)
    replies = (layout.reply(True).rstrip(), layout.reply(False).rstrip())
    made = None if isinstance(statement, str) else statement
    return Prompt(
        triplet=(made.fact.head, made.fact.relation, made.fact.tail or "") if made else ("", "", ""),
        denied=made is not None and VARIANTS[made.variant].negated,
        content=_messages(layout, layout.ask(text, passages), shots)
        if messages
        else layout.preface + _shown(layout, shots) + layout.ask(text, passages),
        choices=layout.choices,
        statement=text,
        stop="" if messages else layout.shots_stop if demonstrations else layout.stop,
        max_tokens=layout.max_tokens,
        enough_tokens=None if messages or layout.writes else layout.enough_tokens,
        settled_after=None if layout.writes or reading != COMMITTED else 1 if demonstrations else 2,
        answers=(replies[0].lstrip(), replies[1].lstrip()) if messages else replies,
        place=_no_answer if layout.writes else _place_in(layout) or PLACES[reading],
        reads=_no_answer if layout.writes else _answer_in(layout) or _READERS[reading],
        settles=layout.settles,
    )


@lru_cache(maxsize=64)
def _place_in(layout: QuestionFormat) -> Callable[[str], int | None] | None:
    """Where the deciding word of a reply begins, as a question's own reader finds it; None where it has none."""
    return partial(_place_by, layout.reader) if layout.reader else None


@lru_cache(maxsize=64)
def _answer_in(layout: QuestionFormat) -> Callable[[str], bool | None] | None:
    """The answer of a reply, as a question's own reader finds it; None where it has none."""
    return partial(_answer_by, layout.reader) if layout.reader else None


def _place_by(reader: Callable[[str], ReadAnswer], reply: str) -> int | None:
    return reader(reply).at


def _answer_by(reader: Callable[[str], ReadAnswer], reply: str) -> bool | None:
    return reader(reply).answer


def _no_answer(reply: str) -> None:
    """A text has no word that answers."""


@lru_cache(maxsize=1024)
def _shown(layout: QuestionFormat, demonstrations: tuple[Demonstration, ...]) -> str:
    """The demonstrations: the common start of all prompts of a group."""
    return "".join(layout.ask(shot.text) + layout.reply(shot.label) for shot in demonstrations)


def _messages(layout: QuestionFormat, question: str, demonstrations: Sequence[Demonstration]) -> tuple[Message, ...]:
    """Each demonstration becomes one turn of the user and one of the assistant."""
    turns: list[Message] = []
    for shot in demonstrations:
        turns.append({"role": "user", "content": layout.preface + layout.ask(shot.text)})
        turns.append({"role": "assistant", "content": layout.reply(shot.label).strip()})
    return (*turns, {"role": "user", "content": layout.preface + question})
