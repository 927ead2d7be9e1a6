"""A warning, early in a run, that its replies cannot be read: in time to stop it and to ask in another way."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from medfact.models.prompt import CONTENT_FILTER, LENGTH, THINKING_TOKENS
from medfact.models.thinking import without_thinking
from medfact.store import Answer

FIRST_REPLIES = 16
"""Replies after which a run is judged; of a shorter one, all."""

FEWEST_REPLIES = 4
"""With fewer replies, nothing is said."""

_EMPTY, _UNCLEAR = "empty", "unclear"

_WHY = {
    LENGTH: (
        "were cut off at their limit of tokens",
        f"Allow longer ones with --max-tokens {THINKING_TOKENS}; a local model that thinks also needs --thinking.",
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


class FirstReplies:
    """The first replies of a run, until they have been judged."""

    def __init__(self) -> None:
        self._readable = 0
        self._unreadable: Counter[str] = Counter()
        self._judged = False

    def note_on(self, answers: Iterable[Answer]) -> str | None:
        """Takes further answers into account; what to say of the first ones, once there are enough of them."""
        for answer in answers:
            if answer.failure is not None or self._count >= FIRST_REPLIES:
                continue
            if answer.answer is not None:
                self._readable += 1
            else:
                self._unreadable[_why(answer)] += 1
        return self._verdict() if self._count >= FIRST_REPLIES else None

    def note_at_end(self) -> str | None:
        """The same, of a run that has no more of them."""
        return self._verdict() if self._count >= FEWEST_REPLIES else None

    @property
    def _count(self) -> int:
        return self._readable + self._unreadable.total()

    def _verdict(self) -> str | None:
        judged, self._judged = self._judged, True
        if judged or self._unreadable.total() <= self._readable:
            return None
        ((why, count), *_) = self._unreadable.most_common(1)
        what, remedy = _WHY[why]
        return (
            f"{self._unreadable.total()} of the first {self._count} replies cannot be read and count as wrong: "
            f"{count} {what}. {remedy}"
        )


def _why(answer: Answer) -> str:
    """Why a reply cannot be read."""
    if answer.cut in (LENGTH, CONTENT_FILTER):
        return answer.cut
    return _UNCLEAR if without_thinking(answer.raw or "").strip() else _EMPTY
