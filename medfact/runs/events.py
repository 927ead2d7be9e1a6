"""What happens while a run is asked, as events for whoever follows it."""

from __future__ import annotations

from dataclasses import dataclass

from medfact.errors import MedfactError
from medfact.store import Answer, PushedAnswer


@dataclass(frozen=True)
class Started:
    """A run was started or resumed. statements, answered: how many it has, and how many have an answer already."""

    run: str
    statements: int
    answered: int


@dataclass(frozen=True)
class Loading:
    """The model is being fetched or loaded. step: the current step, in a few words."""

    step: str


@dataclass(frozen=True)
class AnswersSaved:
    """These answers are on disk now, failed calls among them."""

    answers: tuple[Answer, ...]


@dataclass(frozen=True)
class PushesSaved:
    """These answers after pushes are on disk now, failed calls among them. done: how many are, of how many at most."""

    answers: tuple[PushedAnswer, ...]
    done: int
    of: int

    @property
    def step(self) -> str:
        """The current step, in a few words."""
        return f"pushes: {self.done:,} of {self.of:,}"


@dataclass(frozen=True)
class Noted:
    """Something to know of the run that only its replies have shown. It is among the run's notes, too."""

    note: str


@dataclass(frozen=True)
class Failed:
    """The run ended with an error; its answers are kept."""

    run: str
    error: MedfactError


@dataclass(frozen=True)
class Finished:
    """The run ended: complete, stopped or paused.

    failed: number of failed calls. reason: why it was stopped, if not by hand. commonest: the commonest failure of calls and
    its count.
    """

    run: str
    state: str
    failed: int
    seconds: float
    reason: str | None = None
    commonest: tuple[str, int] | None = None


Event = Started | Loading | AnswersSaved | PushesSaved | Noted | Failed | Finished
