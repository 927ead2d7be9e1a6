"""Writings as the page Rewrite shows them: how far each is, and what became of its sentences, facts or drafts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from medfact.caching import shared_cache
from medfact.facts import Fact
from medfact.models import provider_of
from medfact.results import wording
from medfact.results.wording import describe_state
from medfact.statements import VARIANTS, Statement, Variant
from medfact.store import COMPLETE, RESUMABLE, RUNNING, WAITING, Run, Store
from medfact.web.evaluate.begin import services_of
from medfact.web.pages import Visitor
from medfact.web.services import Services
from medfact.writing.diversity import Diversity, diversity
from medfact.writing.guards import REASONS, cleaned
from medfact.writing.kinds import EIGHT_STATEMENTS, writing_kind
from medfact.writing.runs import attempts_of, evaluation_plan, guards_of, sentences, state_of
from medfact.writing.sentences import Guards, Marks, Sentence, marks, rejections
from medfact.writing.templates import eight_of, usable_lines


@dataclass(frozen=True)
class Line:
    """A writing in the list. done, total: of the attempt that goes on. host: of the writer's service."""

    run: Run
    title: str
    state: str
    word: str
    reason: str
    done: int
    total: int
    attempt: int
    going: bool
    resumable: bool
    own: bool
    host: str

    @property
    def complete(self) -> bool:
        return self.state == COMPLETE

    @property
    def takes_key(self) -> bool:
        """True for a writer behind a service."""
        return provider_of(self.run.model).is_remote


def lines(visitor: Visitor, most: int) -> list[Line]:
    """The visitor's last writings, newest first."""
    writings = visitor.services.store.writings(*visitor.owners)
    firsts = [run for run in writings if run.spec.writing is None or "writing" in run.spec.imported][::-1][:most]
    return [line_of(visitor, run) for run in firsts]


def line_of(visitor: Visitor, first: Run) -> Line:
    """The state and progress of a writing."""
    attempts = list(attempts_of(first.run, visitor.services.store).values())
    job = visitor.services.jobs.snapshot(first.run)
    state, reason = state_of(attempts)
    if job is not None and job.state in {WAITING, RUNNING}:
        state, reason = job.state, job.loading or ""
    elif job is not None and job.reason and state != COMPLETE:
        reason = job.reason
    going = state in {WAITING, RUNNING}
    done, total = (job.done, job.total) if job is not None and going else (attempts[-1].statements,) * 2
    return Line(
        first,
        f"{wording.model_name(first.model)} {writing_kind(first).does} {first.dataset}",
        state,
        describe_state(state, reason),
        reason or "",
        done if going or state == COMPLETE else 0,
        total,
        len(attempts),
        going,
        state in RESUMABLE,
        first.owner in visitor.owners,
        " and ".join(one.host for one in services_of([first])),
    )


# ------------------------------------------------------------------------------------------------ rephrasings


@dataclass(frozen=True)
class Attempt:
    """A reply of the writer, what it changed, and why it was stopped; "" where it is used."""

    marks: Marks
    stopped: str


@dataclass(frozen=True)
class Shown:
    """A prototype with what became of it. fate: of `Sentence`."""

    prototype: Statement
    variant: Variant
    fate: str
    used: Marks
    attempts: tuple[Attempt, ...]


@dataclass(frozen=True)
class Rephrasing:
    """A rephrasing as it stands. by_variant: way of asking → fate → how many sentences; "total" among the fates."""

    sentences: tuple[Sentence, ...]
    by_variant: dict[str, dict[str, int]]
    fates: dict[str, int]
    prototypes: Diversity | None
    written: Diversity | None


Version = tuple[tuple[str, int], ...]


def version_of(first: Run, store: Store) -> Version:
    """The version of a writing, which changes with each sentence."""
    return tuple((run.run, run.changed) for run in attempts_of(first.run, store).values())


@shared_cache(16)
def _guards(services: Services, writing: str) -> Guards:
    return guards_of(writing, services.store)


@shared_cache(16)
def rephrasing_of(services: Services, writing: str, _: Version, whole: bool) -> Rephrasing:
    """A rephrasing at a version. whole: whether nothing more comes, so that its diversity is worth a look."""
    made = sentences(writing, services.store, _guards(services, writing))
    by_variant = rejections(made)
    fates = sum((Counter(of) for of in by_variant.values()), Counter[str]())
    written = [sentence.statement("a model") for sentence in made]
    return Rephrasing(
        made,
        by_variant,
        dict(fates),
        diversity(sentence.prototype for sentence in made) if whole else None,
        diversity(written) if whole else None,
    )


def chosen(made: Sequence[Sentence], only: str) -> list[Sentence]:
    """The sentences of a filter: all, rephrased, stopped, or stopped for one reason."""
    if only == "stopped":
        return [sentence for sentence in made if sentence.fate in REASONS]
    return [sentence for sentence in made if only == "all" or sentence.fate == only]


def shown(sentence: Sentence) -> Shown:
    """A sentence with what the writer changed, marked."""
    before = sentence.prototype.text
    why = [REASONS[reason] for reason in sentence.stopped] + [""] * (len(sentence.replies) - len(sentence.stopped))
    return Shown(
        sentence.prototype,
        VARIANTS[sentence.prototype.variant],
        sentence.fate,
        marks(before, sentence.text or before),
        tuple(Attempt(marks(before, cleaned(reply)), reason) for reply, reason in zip(sentence.replies, why, strict=True)),
    )


# ------------------------------------------------------------------------------------------------ LLMEval


@dataclass(frozen=True)
class Eight:
    """A writer's reply about a fact. lines: the usable ones. used: whether there are eight of them. reply: word for word."""

    fact: Fact
    lines: tuple[str, ...]
    used: bool
    reply: str


@shared_cache(16)
def eights_of(services: Services, writing: str, _: Version) -> tuple[Eight, ...]:
    """The facts that LLMEval has written about so far."""
    asked = ((item.statement.fact, item.answer) for item in services.store.answers.asked(writing))
    replies = [(fact, answer.raw or "") for fact, answer in asked if answer is not None and answer.failure is None]
    return tuple(Eight(fact, usable_lines(reply), eight_of(reply) is not None, reply) for fact, reply in replies)


@shared_cache(16)
def eights_diversity(services: Services, writing: str, _: Version) -> Diversity:
    """The diversity of LLMEval's sentences about a fact."""
    return diversity(item.statement for item in evaluation_plan(writing, services.store).statements)


def kind_of(first: Run) -> str:
    """The kind of a writing: "eight" of LLMEval, "drafts" of templates, or "rephrasing"."""
    kind = writing_kind(first)
    return "eight" if kind is EIGHT_STATEMENTS else "drafts" if kind.forms else "rephrasing"
