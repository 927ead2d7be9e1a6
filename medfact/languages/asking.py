"""How facts are asked in a language, and which of its words answer: `asking.yaml`, checked."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any

from medfact.answers import CHOICES, QuestionFormat
from medfact.datasets.text import InvalidYaml, read_yaml
from medfact.errors import PoolError
from medfact.languages.reading import Words, words_in
from medfact.languages.replies import ReadReply, read_answer, read_reply, settles
from medfact.models.prompt import FIRST_WIDE

SHORTEST_BEGINNING = 2
"""Characters that a beginning of an answer word has at least: fewer begin too many other words. A Chinese character counts as
two, because it is a word's beginning by itself."""


@dataclass(frozen=True)
class Asking:
    """How facts are asked. code: of the language. question: with {statement} once.

    answers: after a true and after a false statement. probable: the words for True and for False whose probability is read.
    words: those that replies are read by.
    """

    code: str
    title: str
    question: str
    answers: tuple[str, str]
    probable: tuple[tuple[str, ...], tuple[str, ...]]
    words: Words

    def read(self, reply: str) -> ReadReply:
        """The answer of a reply in this language, or in another one where none of its words answers."""
        return read_reply(self.code, self.words, reply)

    @cached_property
    def choices(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The words for True and False with their beginnings: most tokenizers know words of this language only in parts, and
        the first part tells the answer. A beginning that both sides share is left out. The English words count too, because
        replies in English are read.
        """
        true, false = (
            {begin for word in side for begin in _beginnings(word)} | {word.lower() for word in (*side, *english)}
            for side, english in zip(self.probable, CHOICES, strict=True)
        )
        return tuple(sorted(true - false)), tuple(sorted(false - true))

    @cached_property
    def format(self) -> QuestionFormat:
        """The question as prompts are made with it; the statement keeps its full stop. A space stands before the answer of a
        demonstration where the language has spaces between words.
        """
        return QuestionFormat(
            question=self.question,
            answer=" {word}\n" if self.words.spaced else "{word}\n",
            words=self.answers,
            full_stop=True,
            choices=self.choices,
            reader=partial(read_answer, self.code, self.words),
            settles=partial(settles, self.code, self.words),
        )


def _beginnings(word: str) -> set[str]:
    """The beginnings of a word, in small letters, that are long enough."""
    lower = word.lower()
    wide = 1 if lower[0] >= FIRST_WIDE else SHORTEST_BEGINNING
    return {lower[:end] for end in range(wide, len(lower))}


def read_asking(path: Path) -> Asking:
    """Reads `asking.yaml`. Raises PoolError, naming the file and the entry, where something is missing or wrong."""
    where = f"{path.parent.name}/{path.name}"
    try:
        record = read_yaml(path.read_text(encoding="utf-8"))
    except InvalidYaml as error:
        raise PoolError(f"{where}, line {error.line}: {error.problem}", error.hint) from None
    entries: dict[str, Any] = record if isinstance(record, dict) else {}
    if str(entries.get("question", "")).count("{statement}") != 1:
        raise PoolError(f"{where}: `question` does not have {{statement}} once.", "Write it where the statement stands.")
    answers = _texts(where, "answers", entries.get("answers"))
    if len(answers) != 2 or answers[0] == answers[1]:
        hint = "Write the word for a true, then the one for a false statement."
        raise PoolError(f"{where}: `answers` are not two different words.", hint)
    probability = entries.get("probability") or {}
    true, false = (
        _texts(where, f"probability of {side}", probability.get(side, probability.get(str(side).lower())))
        for side in (True, False)  # as which YAML reads an unquoted `true`
    )
    return Asking(
        code=path.parent.name,
        title=str(entries.get("title", "")) or path.parent.name,
        question=str(entries["question"]),
        answers=(answers[0], answers[1]),
        probable=(true, false),
        words=words_in(where, entries.get("reading") or {}),
    )


def _texts(where: str, entry: str, value: Any) -> tuple[str, ...]:
    if not isinstance(value, list) or not value or not all(isinstance(one, str) and one for one in value):
        raise PoolError(f"{where}: `{entry}` is no list of texts.", "Write words in square brackets, in quotation marks.")
    return tuple(value)
