"""Replies that say one token over and over, whatever is asked: those of a model that computes wrongly."""

from __future__ import annotations

from collections.abc import Iterable

from medfact.models import LENGTH, provider_of
from medfact.store import Answer

FEWEST = 8
"""Replies that must be so before it is said."""

_TIMES = 3
"""How often a word must stand in a reply to count as said over and over; a sign need stand there only once."""


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
            self._is_over = said is None or (self._count > 0 and said != self._said)
            self._said, self._count = said, self._count + 1
        if self._is_over or self._count < FEWEST:
            return None
        self._is_over = True
        what = f"say nothing but “{self._said}”" if self._said else "are empty"
        return f"The first {self._count} replies {what}, whatever was asked: {provider_of(self._model).advice}"


def repeated(text: str) -> str | None:
    """The token that a text says over and over; "" of an empty text, None of one that says more."""
    run = "".join(text.split())
    if not run:
        return ""
    token = run[: (run + run).find(run, 1)]
    is_sign = not any(character.isalnum() for character in token)
    return token if is_sign or len(run) >= _TIMES * len(token) else None
