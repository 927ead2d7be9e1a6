"""What the database holds, as records."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from medfact.answers import Demonstration
from medfact.spec import RunSpec
from medfact.statements import Statement

RUNNING, COMPLETE, STOPPED, FAILED_RUN = "running", "complete", "stopped", "failed"
"""States of a run. A run that is `running` with no process behind it was interrupted; it can be resumed."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What a model said to one statement. `answer` is None where the reply is unreadable or the call failed (`failure`).

    key: a hash of model, revision, prompt and decoding settings. draw: which draw of demonstrations stood before it, from 0.
    p_low, p_high: bounds of p_true, where a service shows not all alternatives. cut: why a service ended the reply early.
    The rest is what a service said: its name for the model, its fingerprint, tokens as it counts them, seconds of the call, and
    how many calls it took (0: the answer to an identical prompt was taken).
    """

    statement_id: str
    key: str
    answer: bool | None
    p_true: float | None
    p_mass: float | None
    raw: str | None
    failure: str | None
    draw: int = 0
    p_low: float | None = None
    p_high: float | None = None
    cut: str | None = None
    served_model: str | None = None
    fingerprint: str | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    seconds: float | None = None
    attempts: int | None = None


@dataclass(frozen=True, slots=True)
class Asked:
    """A statement of a run: its place, the group of demonstrations that goes before it, its answer if there is one, and which
    draw of demonstrations this is.
    """

    position: int
    shots_of: str
    statement: Statement
    answer: Answer | None
    draw: int = 0


@dataclass(frozen=True)
class Run:
    """A run as it is recorded. `state` is running, complete, stopped or failed; times are ISO 8601, UTC."""

    run: str
    owner: str
    state: str
    reason: str | None
    started_at: str
    finished_at: str | None
    model: str
    model_revision: str | None
    chat: bool | None
    decoding: dict[str, Any]
    dataset: str
    dataset_fingerprint: str
    pool: str
    shots: int
    spec: RunSpec
    versions: dict[str, str]
    notes: list[str]
    statements: int


@dataclass(frozen=True, slots=True)
class Planned:
    """A statement to be asked, the group whose demonstrations go before it, and which draw of them that is."""

    statement: Statement
    shots_of: str
    draw: int = 0


@dataclass(frozen=True)
class Plan:
    """What a run is going to ask, in order, and the demonstrations of each group."""

    dataset: str
    dataset_fingerprint: str
    pool: str
    shots: int
    statements: tuple[Planned, ...]
    demonstrations: dict[str, tuple[Demonstration, ...]]
    notes: tuple[str, ...] = ()
