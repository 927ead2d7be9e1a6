"""Warnings, early in a run, that its replies cannot be read, are in another language, or all alike: in time to stop it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from medfact.assets import ENGLISH, language_names
from medfact.languages import load_language, read_reply
from medfact.metrics import UNREADABLE, Records
from medfact.models import provider_of
from medfact.models.prompt import CONTENT_FILTER, LENGTH, THINKING_TOKENS
from medfact.models.services.prices import DATE_OF_MODEL
from medfact.models.thinking import without_thinking
from medfact.store import Answer

FIRST_REPLIES = 16
"""Replies after which a run is judged; of a shorter one, all."""

FEWEST_REPLIES = 4
"""With fewer replies, nothing is said."""

FEWEST_ALIKE = 8
"""Replies that must be so before it is said."""

_TIMES_OVER = 3
"""How often a word must stand in a reply to count as said over and over; a sign need stand there only once."""

_EMPTY, _UNCLEAR = "empty", "unclear"

_WHY = {
    LENGTH: (
        "were cut off at their limit of tokens",
        "Allow longer ones with a higher --max-tokens, or ask for less thinking with --effort low or none.",
    ),
    CONTENT_FILTER: ("were held back by the service's content filter", "Ask another model, or this one at another service."),
    _EMPTY: (
        "are empty",
        f"Allow for thinking with --max-tokens {THINKING_TOKENS}, or send plain text with --completions.",
    ),
    _UNCLEAR: (
        "say neither true nor false, or both",
        "Look at them with `answers`; then try --question mkj, or --shots 5.",
    ),
}
"""Why replies cannot be read → in words, and what to do."""

_ELSEWHERE = "Look at them with `answers`; then try --shots 5."
"""The last of these in a run in another language, which has one question."""

_FEWEST_FOREIGN = 1 / 4
"""Share of the first replies that must be in another language before it is said."""


class FirstReplies:
    """The first replies of a run, until they have been judged. asked_in: the language of its questions."""

    def __init__(self, asked_in: str = ENGLISH) -> None:
        self._asked_in = asked_in
        self._readable = 0
        self._unreadable: Counter[str] = Counter()
        self._foreign: Counter[str] = Counter()
        self._judged = False

    def notes_on(self, answers: Iterable[Answer]) -> list[str]:
        """Takes further answers into account; the notes on the first ones, once there are enough of them."""
        for answer in answers:
            if answer.failure is not None or self._count >= FIRST_REPLIES:
                continue
            if answer.answer is not None:
                self._readable += 1
            else:
                self._unreadable[_why(answer)] += 1
            language = self._language_of(answer.raw or "") if answer.cut in (None, LENGTH) else None
            self._foreign.update([language] if language not in (None, self._asked_in) else [])
        return [*self._verdicts()] if self._count >= FIRST_REPLIES else []

    def notes_at_end(self) -> list[str]:
        """The same, of a run that has no more of them."""
        return [*self._verdicts()] if self._count >= FEWEST_REPLIES else []

    def _language_of(self, reply: str) -> str | None:
        if self._asked_in == ENGLISH:
            return read_reply(ENGLISH, None, reply).language
        return load_language(self._asked_in).asking.read(reply).language

    @property
    def _count(self) -> int:
        return self._readable + self._unreadable.total()

    def _verdicts(self) -> Iterator[str]:
        judged, self._judged = self._judged, True
        if judged:
            return
        if self._foreign.total() >= _FEWEST_FOREIGN * self._count:
            names = " and ".join(language_names()[language] for language, _ in self._foreign.most_common())
            asked = language_names()[self._asked_in]
            many = f"{self._foreign.total()} of the first {self._count} replies"
            yield f"{many} are in {names}, though the questions are in {asked}."
        if self._unreadable.total() > self._readable:
            ((why, count), *_) = self._unreadable.most_common(1)
            what, remedy = _WHY[why]
            remedy = _ELSEWHERE if why == _UNCLEAR and self._asked_in != ENGLISH else remedy
            yield (
                f"{self._unreadable.total()} of the first {self._count} replies cannot be read and count as wrong: "
                f"{count} {what}. {remedy}"
            )


def _why(answer: Answer) -> str:
    """Why a reply cannot be read."""
    if answer.cut in (LENGTH, CONTENT_FILTER):
        return answer.cut
    return _UNCLEAR if without_thinking(answer.raw or "").strip() else _EMPTY


def thinking_in_words(count: int) -> str | None:
    """A note on statements without an answer since their limit cut the thinking; None where there are none."""
    if not count:
        return None
    answers = "1 answer" if count == 1 else f"{count:,} answers"
    return f"Thinking was cut off for {answers}, which cannot be read and count as wrong: nothing is read of thinking."


def keywords_alone(records: Records) -> str | None:
    """A note on replies that a paper's keywords read although they commit to nothing; None where there are none."""
    read, committed = int(records.readable.sum()), records.as_committed.answer
    count = int((records.readable & (committed == UNREADABLE)).sum())
    if not count:
        return None
    return (
        f"{count:,} of {read:,} replies that the paper's keywords read commit to no answer, as a refusal does. They count for "
        "accuracy, as in the paper, but not for false facts affirmed, true facts denied, and why facts fail."
    )


class Monotony:
    """Looks at the replies of a model until one of them says something, or it is plain that none does."""

    def __init__(self, model: str) -> None:
        self._model = model
        self._said: str | None = None
        self._count = 0
        self._is_over = False

    def note(self, answers: Iterable[Answer]) -> str | None:
        """A note for the run, once its first replies all say the same token."""
        for answer in answers:
            if answer.raw is None or answer.cut not in (None, LENGTH) or self._is_over:
                continue
            said = repeated(answer.raw) if answer.answer is None else None
            if said == "" and answer.cut == LENGTH and provider_of(self._model).is_remote:
                continue  # thinking that was cut, of which a service returns nothing
            self._is_over = said is None or (self._count > 0 and said != self._said)
            self._said, self._count = said, self._count + 1
        if self._is_over or self._count < FEWEST_ALIKE:
            return None
        self._is_over = True
        what = f"say nothing but “{self._said}”" if self._said else "are empty"
        return f"The first {self._count} replies {what}, whatever was asked: {provider_of(self._model).advice}"


class ServedModels:
    """The names that a service's replies give for the model that answered."""

    def __init__(self) -> None:
        self._names: dict[str, str] = {}

    def note(self, answers: Iterable[Answer]) -> str | None:
        """A note for the run, whenever its replies name one more model. A name without a date is that of any one date."""
        before = len(self._different())
        for answer in answers:
            if name := answer.served_model:
                self._names.setdefault(name.rpartition("/")[2].casefold(), name)
        names = self._different()
        if len(names) < 2 or len(names) == before:
            return None
        return f"The replies name several models: {', '.join(names)}. The service may have changed the model during the run."

    def _different(self) -> list[str]:
        dated = {key[: match.start()] for key in self._names if (match := DATE_OF_MODEL.search(key))}
        return [name for key, name in self._names.items() if key not in dated]


def repeated(text: str) -> str | None:
    """The token that a text says over and over; "" of an empty text, None of one that says more."""
    run = "".join(text.split())
    if not run:
        return ""
    token = run[: (run + run).find(run, 1)]
    is_sign = not any(character.isalnum() for character in token)
    return token if is_sign or len(run) >= _TIMES_OVER * len(token) else None
