"""Runs: from a spec to answers on disk, telling what happens as events.

`plan` says what will be asked, `start` records it, `answer` asks what is still pending. `run` does all three.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import platform
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from medfact import __version__
from medfact.answers import Demonstration, make_prompt, read_answer
from medfact.datasets import NO_REJECTIONS, Collection, Selection, load, load_bundled, select
from medfact.errors import MedfactError, Mistake, UnknownName
from medfact.facts import Fact, digest
from medfact.models import Completion, Model, Prompt, load_model
from medfact.prototypes import Pool, joined, load_pool
from medfact.spec import PROTOCOLS, RETRIEVALS, Protocol, RunSpec
from medfact.statements import VARIANTS, Statement
from medfact.store import COMPLETE, FAILED_RUN, STOPPED, Answer, Asked, Plan, Store

BATCH = 32
"""Statements asked, saved and told together."""

LENDER = "clinical-core"
"""The bundled data set whose facts serve as shots where a relation of the user's has too few heads."""


@dataclass(frozen=True)
class Started:
    """A run was recorded, or is taken up again: its id, how many statements it has and how many have an answer already."""

    run: str
    statements: int
    answered: int


@dataclass(frozen=True)
class Answered:
    """Answers that are on disk now, failed calls among them."""

    answers: tuple[Answer, ...]


@dataclass(frozen=True)
class Failed:
    """The run ended for a reason; what was answered is kept."""

    run: str
    error: MedfactError


@dataclass(frozen=True)
class Finished:
    """The run ended: complete or stopped, with so many failed calls."""

    run: str
    state: str
    failed: int
    seconds: float


Event = Started | Answered | Failed | Finished


# ------------------------------------------------------------------------------------------------ plan


def protocol_of(spec: RunSpec) -> Protocol:
    """The protocol of a spec; raises UnknownName when there is none."""
    if spec.protocol not in PROTOCOLS:
        raise UnknownName("protocol", spec.protocol, PROTOCOLS)
    return PROTOCOLS[spec.protocol]


def pool_of(spec: RunSpec) -> Pool:
    """The prototype pool of a spec: its own, else its protocol's, which picks per relation."""
    protocol = protocol_of(spec)
    return load_pool(spec.pool) if spec.pool else joined(protocol.name, [load_pool(name) for name in protocol.pools])


def select_facts(
    spec: RunSpec,
    collection: Collection | None = None,
    canonical: Callable[[str], str | None] | None = None,
    rejected: Mapping[str, frozenset[str]] = NO_REJECTIONS,
) -> Selection:
    """The facts under test and those kept aside for the shots; no negative is one of those `rejected`.

    Only relations to which `canonical` gives a name are taken; by default those for which the pool has prototypes.
    """
    protocol = protocol_of(spec)
    negatives = protocol.negatives if spec.negatives is None else spec.negatives
    if negatives < 0:
        raise Mistake(f"The number of negatives is {negatives}.", "Give 0 or more.")
    return select(
        collection or load(spec),
        negatives=negatives,
        heads_aside=protocol.heads_aside,
        seed=spec.seed,
        limit=spec.limit,
        per_relation=spec.per_relation,
        canonical=canonical or pool_of(spec).canonical,
        one_tail=protocol.one_tail,
        rejected=rejected,
        lender=load_bundled(LENDER),
    )


def plan(spec: RunSpec, collection: Collection | None = None, rejected: Mapping[str, frozenset[str]] = NO_REJECTIONS) -> Plan:
    """What a run of this spec asks: statements in order, and the demonstrations before each group of them.

    A group is a relation (by its name in the pool) and a variant; all its statements share one prefix.
    """
    if spec.retrieval not in RETRIEVALS:
        raise UnknownName("retrieval", spec.retrieval, RETRIEVALS)
    shots = protocol_of(spec).shots if spec.shots is None else spec.shots
    if shots < 0:
        raise Mistake(f"The number of shots is {shots}.", "Give 0 or more.")
    collection = collection or load(spec)
    pool = pool_of(spec)
    selection = select_facts(spec, collection, rejected=rejected)
    statements = tuple((s, _group(pool, s)) for s in pool.statements(selection.test))
    if not statements:
        reasons = " ".join(selection.notes)
        raise Mistake(
            f"No statement can be made of {collection.name} with the pool {pool.name!r}. {reasons}".strip(),
            f"The pool's relations are: {', '.join(pool.relations)}.",
        )
    seed = spec.seed if spec.shot_seed is None else spec.shot_seed
    return Plan(
        dataset=collection.name,
        dataset_fingerprint=collection.fingerprint(),
        pool=_pool_name(pool, statements),
        shots=shots,
        statements=statements,
        demonstrations=_demonstrations(pool, selection.shots, shots, seed) if shots else {},
        notes=(*collection.notes, *selection.notes),
    )


def _pool_name(pool: Pool, statements: Sequence[tuple[Statement, str]]) -> str:
    """The one pool whose prototypes were used, or the name of the several that the protocol takes."""
    used = {statement.pool for statement, _ in statements}
    return used.pop() if len(used) == 1 else pool.name


def _group(pool: Pool, statement: Statement) -> str:
    return f"{_relation(pool, statement.fact)} / {statement.variant}"


def _relation(pool: Pool, fact: Fact) -> str:
    return pool.canonical(fact.relation) or fact.relation


def _demonstrations(pool: Pool, facts: Sequence[Fact], shots: int, seed: int) -> dict[str, tuple[Demonstration, ...]]:
    """Group → its demonstrations: both labels, a majority that alternates over the variants, one head before a second."""
    by_relation: defaultdict[str, list[Fact]] = defaultdict(list)
    for fact in facts:
        by_relation[_relation(pool, fact)].append(fact)
    groups = {}
    for relation, members in by_relation.items():
        turn = int(digest(str(seed), relation), 16) % 2
        for index, form in enumerate(VARIANTS):
            if form in pool.forms:
                key = f"{relation} / {form}"
                mostly_true = (index + index // 4 + turn) % 2 == 0
                groups[key] = _group_demonstrations(pool, members, form, shots, mostly_true, digest(str(seed), key))
    return groups


def _group_demonstrations(
    pool: Pool, facts: Sequence[Fact], form: str, shots: int, mostly_true: bool, key: str
) -> tuple[Demonstration, ...]:
    """Alternates between the labels, beginning with the majority's, and takes heads that have been used least."""
    ranked = sorted(facts, key=lambda fact: digest(key, fact.fact_id))
    used: defaultdict[str, int] = defaultdict(int)
    taken: list[tuple[Statement, bool]] = []
    for number in range(shots):
        label = mostly_true if number % 2 == 0 else not mostly_true
        wanted = [fact for fact in ranked if (fact.positive != VARIANTS[form].negated) == label]
        if not wanted:
            continue
        fact = min(wanted, key=lambda f: used[f.head])
        ranked.remove(fact)
        used[fact.head] += 1
        taken += [(s, s.label) for s in pool.statements([fact]) if s.variant == form]
    shuffled = sorted(taken, key=lambda shot: digest(key, "order", shot[0].statement_id))
    return tuple(Demonstration(statement.text, label) for statement, label in shuffled)


# ------------------------------------------------------------------------------------------------ run


def run(spec: RunSpec, store: Store, *, stopped: Callable[[], bool] = lambda: False) -> Iterator[Event]:
    """Plans, records and answers a run, and yields what happens. A user's mistake before the first answer is raised."""
    yield from answer(start(spec, store), store, stopped=stopped)


def start(spec: RunSpec, store: Store, collection: Collection | None = None) -> str:
    """Records a run of this spec, before its model loads; returns its id."""
    return store.start_run(spec, plan(spec, collection, store.rejections()), _versions())


def answer(
    run_id: str,
    store: Store,
    *,
    stopped: Callable[[], bool] = lambda: False,
    load: Callable[..., Model] = load_model,
) -> Iterator[Event]:
    """Asks what is pending in a run: all of it at first, what is left or failed after an interruption."""
    record = store.run(run_id)
    asked = store.asked(record.run)
    pending = [a for a in asked if a.answer is None or a.answer.failure is not None]
    yield Started(record.run, len(asked), len(asked) - len(pending))
    begun = time.monotonic()
    done = failed = 0
    try:
        if pending:
            store.set_state(record.run, "running")
            model = load(record.model, seed=record.spec.seed)
            info = model.info
            store.record_model(record.run, revision=info["revision"], chat=model.chat, decoding=dict(info["decoding"]))
            for answers in ask(record.run, pending, model, store, stopped):
                done += len(answers)
                failed += sum(a.failure is not None for a in answers)
                yield Answered(answers)
    except MedfactError as error:
        store.set_state(record.run, FAILED_RUN, str(error))
        yield Failed(record.run, error)
        return
    state = COMPLETE if done == len(pending) else STOPPED
    if pending:
        store.set_state(record.run, state)
    yield Finished(record.run, state, failed, time.monotonic() - begun)


def ask(
    run_id: str, pending: Sequence[Asked], model: Model, store: Store, stopped: Callable[[], bool]
) -> Iterator[tuple[Answer, ...]]:
    """Asks statements a batch at a time and yields their answers once they are on disk."""
    demonstrations = store.demonstrations(run_id)
    for first in range(0, len(pending), BATCH):
        if stopped():
            return
        batch = pending[first : first + BATCH]
        prompts = [make_prompt(item.statement, demonstrations.get(item.shots_of, ()), chat=model.chat) for item in batch]
        completions = model.complete(prompts)
        answers = tuple(
            _answer(item, prompt, completion, model)
            for item, prompt, completion in zip(batch, prompts, completions, strict=True)
        )
        store.save(run_id, answers)
        yield answers


def _answer(item: Asked, prompt: Prompt, completion: Completion, model: Model) -> Answer:
    return Answer(
        statement_id=item.statement.statement_id,
        key=_key(prompt, model),
        answer=None if completion.text is None else read_answer(completion.text),
        p_true=completion.p_true,
        p_mass=completion.p_mass,
        raw=completion.text,
        failure=completion.failure,
    )


def _key(prompt: Prompt, model: Model) -> str:
    parts = (model.spec, model.info["revision"], str(prompt.content), str(sorted(model.info["decoding"].items())))
    return hashlib.sha256("\x1f".join(parts).encode()).hexdigest()


def _versions() -> dict[str, str]:
    versions = {"medfact": __version__, "python": platform.python_version()}
    for name in ("torch", "transformers", "accelerate", "numpy"):
        try:
            versions[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return versions
