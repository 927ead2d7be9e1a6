"""What the database holds, as records."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from medfact.answers import Demonstration
from medfact.spec import RunSpec
from medfact.statements import Statement

WAITING, RUNNING, COMPLETE, STOPPED, FAILED_RUN = "waiting", "running", "complete", "stopped", "failed"
"""States of a run. Stopped: by hand, or because its budget was spent. Failed: its model could not go on."""

PAUSED = "paused"
"""The database could not be written (its disk is full, it is locked), or a service that had answered went away; resume goes on
once that is mended.
"""

INTERRUPTED = "interrupted"
"""Waiting or running, but the process that did it is gone. It is told so when it is read; no row says it."""

IMPORTED = "imported"
"""No state, but something that happened to a run: it came out of a file, and is what that said."""

RESUMABLE = frozenset({STOPPED, FAILED_RUN, PAUSED, INTERRUPTED})
"""States from which a run may go on."""


STOP_ASKED = "stop asked"
"""What happened to a run that another program was asked to stop: whoever asks it looks for this."""

NOTED = "noted"
"""What happened to a run that was noted of its model, beside its states."""


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
    """A statement of a run: its place, the group of demonstrations that goes before it, its answer if there is one, which draw
    of demonstrations this is, and the number of its fact in the run.
    """

    position: int
    shots_of: str
    statement: Statement
    answer: Answer | None
    draw: int = 0
    fact: int = 0


@dataclass(frozen=True)
class Run:
    """A run as it is recorded. `state` is one of those above; times are ISO 8601, UTC.

    facts: how many, true and false ones. pool_text: relation → variant → sentence, as they were. name, note: its owner's.
    changed: grows with every write about its answers or its state. worker: who asks now, as `store/workers.py` names it.
    """

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
    facts: int
    pool_text: dict[str, dict[str, str]]
    name: str | None
    note: str | None
    changed: int
    worker: str | None
    beat_at: str | None
    deleted_at: str | None


@dataclass(frozen=True, slots=True)
class Happened:
    """Something that happened to a run: when, what (a state, or IMPORTED), and what there is to say of it."""

    at: str
    what: str
    said: str | None


@dataclass(frozen=True, slots=True)
class Planned:
    """A statement to be asked, the group whose demonstrations go before it, and which draw of them that is."""

    statement: Statement
    shots_of: str
    draw: int = 0


@dataclass(frozen=True)
class Plan:
    """What a run is going to ask, in order, and the demonstrations of each group.

    pool_text: relation → variant → sentence, of the relations that are asked.
    """

    dataset: str
    dataset_fingerprint: str
    pool: str
    shots: int
    statements: tuple[Planned, ...]
    demonstrations: dict[str, tuple[Demonstration, ...]]
    notes: tuple[str, ...] = ()
    pool_text: dict[str, dict[str, str]] = field(default_factory=dict)
