"""What the database holds, as dataclasses."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

from medfact.answers import Demonstration
from medfact.assets import ENGLISH
from medfact.facts import Fact, digest
from medfact.spec import RunSpec
from medfact.statements import Statement

WAITING, RUNNING, COMPLETE, STOPPED, FAILED_RUN = "waiting", "running", "complete", "stopped", "failed"
"""States of a run. Stopped: by hand, or for the reason that is recorded, such as a spent budget. Failed: its model could not go
on."""

PAUSED = "paused"
"""The database could not be written (disk full, locked), or a service stopped answering; the run can be resumed after that."""

DECIDED = "decided"
"""The race that a run took part in was decided, and its model was asked no more. The run can be resumed to ask the rest."""

INTERRUPTED = "interrupted"
"""Waiting or running, but its process is gone. This state is never stored: it is derived when a run is read."""

GOING = frozenset({WAITING, RUNNING})
RESUMABLE = frozenset({STOPPED, DECIDED, FAILED_RUN, PAUSED, INTERRUPTED})

IMPORTED, STOP_ASKED, NOTED, LENT_KEY = "imported", "stop asked", "noted", "lent key"
"""Events of a run that are not states: it came from a file, or was made from a run that did; another program asked to stop it;
its model gave rise to a note."""


FIRST_TOKEN = "first token"
"""Where P(True) of a model on this machine comes from: all that it could say next, or there where it says its answer."""


@dataclass(frozen=True, slots=True)
class Answer:
    """A model's answer to one statement. `answer` is None if the reply is unreadable or the call failed (`failure`).

    key: hash of model, revision, prompt and decoding settings. draw: number of the draw of demonstrations, from 0.
    p_low, p_high: bounds of p_true, if a service does not show all alternatives. cut: why a service ended the reply early.
    reasoning_tokens: the part of its completion_tokens that is thinking. stated: what the model said of how sure it is, from
    which p_true follows then.
    The other fields come from a service: its name for the model, its fingerprint, the host that a router passed the call on to
    (upstream), its token counts, seconds of the call, and the number of calls (0: an answer to the same prompt was reused).
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
    reasoning_tokens: int | None = None
    stated: str | None = None
    upstream: str | None = None


@dataclass(frozen=True, slots=True)
class PushedAnswer:
    """A model's answer after a push against its answer to one statement, which `answer` names. kind, round: of the push."""

    kind: str
    round: int
    answer: Answer


class Retrieved(NamedTuple):
    """A passage that was retrieved for a statement. source: where it stands in the corpus. score: BM25, or a cosine.

    gold: whether it states the fact under test, or the true fact that a false one belongs to; in own documents, whether it
    names head and tail of it.
    """

    text: str
    source: str
    score: float
    gold: bool


@dataclass(frozen=True, slots=True)
class Asked:
    """A statement that a run asks, or will ask."""

    statement: Statement

    shots_of: str
    """The group whose demonstrations precede it."""

    draw: int = 0
    """The number of their draw, from 0."""

    passages: tuple[Retrieved, ...] | None = None
    """Those retrieved for it, best first; None where none were retrieved yet, or the run retrieves none."""

    position: int = 0
    """Its place in a recorded run, from 0."""

    fact: int = 0
    """The number of its fact in a recorded run, from 0."""

    answer: Answer | None = None

    pushed: tuple[PushedAnswer, ...] = ()
    """The answers after pushes against it, kind by kind and round by round."""


@dataclass(frozen=True)
class Plan:
    """What a run will ask, in order, and the demonstrations of each group.

    pool_text: relation → variant → sentence, for the relations asked. population: relation → of how many positive facts those
    that are asked were drawn. aside: the facts that drawn demonstrations come from; () where the plan is a recorded run's.
    """

    dataset: str
    dataset_fingerprint: str
    pool: str
    shots: int
    statements: tuple[Asked, ...]
    demonstrations: dict[str, tuple[Demonstration, ...]]
    notes: tuple[str, ...] = ()
    pool_text: dict[str, dict[str, str]] = field(default_factory=dict)
    population: Mapping[str, int] = field(default_factory=dict)
    partners: tuple[Statement, ...] = ()
    aside: tuple[Fact, ...] = ()

    @classmethod
    def without_shots(
        cls, dataset: str, fingerprint: str, pool: str, statements: Iterable[Statement], notes: tuple[str, ...] = ()
    ) -> Plan:
        """A plan of statements before which no demonstrations stand."""
        return cls(dataset, fingerprint, pool, 0, tuple(Asked(one, "") for one in statements), {}, notes)

    @cached_property
    def facts(self) -> tuple[Fact, ...]:
        """The facts that are asked about, each once."""
        return tuple({planned.statement.fact.fact_id: planned.statement.fact for planned in self.statements}.values())


@dataclass(frozen=True)
class Run:
    """A recorded run. Times are ISO 8601, UTC.

    facts: number of true and false facts. pool_text: relation → variant → sentence, as asked. population: relation → of how
    many positive facts they were drawn, empty where that was not recorded. name, note: set by its owner.
    changed: grows with every write about its answers or state. worker: the process that works on it. imported: it came from a
    file, which anybody may have written.
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
    population: dict[str, int]
    name: str | None
    note: str | None
    changed: int
    worker: str | None
    beat_at: str | None
    deleted_at: str | None
    imported: bool = False

    def seen_by(self, owners: Collection[str]) -> Run:
        """The run as these owners may read it. Its name, its note and the ids of its writing and its race are its owner's own:
        others read hashes of these ids, by which runs of the same writing or race can be told.
        """
        if self.owner in owners:
            return self
        ids: dict[str, Any] = {name: digest(value) for name in ("writing", "race") if (value := getattr(self.spec, name))}
        return replace(self, name=None, note=None, spec=replace(self.spec, **ids))

    @property
    def p_true_source(self) -> str:
        """Where its P(True) comes from: FIRST_TOKEN, or what the model recorded of itself."""
        return str(self.decoding.get("p_true", FIRST_TOKEN))


@dataclass(frozen=True)
class UnreadRun:
    """A recorded run whose record cannot be read, and why. state: as it is stored, which says nothing of its process."""

    run: str
    owner: str
    state: str
    started_at: str
    model: str
    why: str


@dataclass(frozen=True, slots=True)
class RunEvent:
    """An event in a run's history, named as its columns: `what` is a state or another kind of event, `said` its details."""

    at: str
    what: str
    said: str | None


@dataclass(frozen=True)
class Verdict:
    """What a reviewer says of a fact, or (statement_id not "") of one of its statements; see `reviews.verdicts`.

    number, owner, decided_at: set when it is recorded. reasons: names of `REASONS`. wording: a better one, "" for none. role:
    reviewer or adjudicator. blind: whether the label was hidden. queue: why the fact was up. bulk: decided with others at once.
    seconds: from the moment it was shown; None where nobody measured. record: names the fact as the reviewer was shown it, ""
    if that is not known. language: of the names and sentences that were judged.
    """

    reviewer: str
    fact_id: str
    verdict: str
    statement_id: str = ""
    reasons: tuple[str, ...] = ()
    wording: str = ""
    comment: str = ""
    evidence: str = ""
    role: str = "reviewer"
    blind: bool = True
    queue: str = "random"
    bulk: bool = False
    seconds: float | None = None
    number: int = 0
    owner: str = ""
    decided_at: str = ""
    record: str = ""
    language: str = ENGLISH


@dataclass(frozen=True)
class PrototypeEdit:
    """A sentence template as a person left it: of a pool, a relation and a form. sentence: "" takes an earlier edit back.
    signed_by: who signs exactly this sentence off; "" where nobody does. number, decided_at: set when it is recorded.
    """

    pool: str
    relation: str
    form: str
    sentence: str
    signed_by: str = ""
    number: int = 0
    decided_at: str = ""


@dataclass(frozen=True)
class Published:
    """A run that is shown to everybody. name: what it was called when it was published. published_at: ISO 8601, UTC."""

    run: str
    name: str
    published_at: str


@dataclass(frozen=True)
class DraftDecision:
    """What a person decided on a relation's drafted templates, in the run that wrote them. sentences: by form, as the person
    left them. number, decided_at (ISO 8601, UTC): set when it is recorded.
    """

    accepted: bool
    sentences: Mapping[str, str]
    decided_at: str = ""
    run: str = ""
    relation: str = ""
    number: int = field(default=0, compare=False)


@dataclass(frozen=True)
class PartnerDecision:
    """What a person said of a false partner. fact_id, head, relation: of the true fact; "" where that was not recorded.
    confirmed: it is false; else it can be true, and must not be drawn. reason: "" where none was given. number: set when it is
    recorded.
    """

    fact_id: str
    tail: str
    reason: str = ""
    head: str = ""
    relation: str = ""
    confirmed: bool = False
    number: int = field(default=0, compare=False)
