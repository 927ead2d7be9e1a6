"""What a run is going to ask: its facts, its statements in order, and the demonstrations before each group of them."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from medfact.answers import FORMATS, Demonstration
from medfact.datasets import NO_REJECTIONS, Collection, Selection, load, load_bundled, medlama, mkj, read_demonstrations, select
from medfact.errors import MedfactError, Mistake, UnknownName
from medfact.facts import Fact, digest
from medfact.prototypes import (
    ORIGIN,
    PLAIN,
    READY,
    Pool,
    RelationPrototypes,
    check_relations,
    joined,
    load_pool,
    origin_of,
    pool_names,
    templates_pool,
)
from medfact.spec import PROTOCOLS, RETRIEVALS, Protocol, RunSpec
from medfact.statements import VARIANTS, Statement
from medfact.store import Plan, Planned, Run

LENDER = "clinical-core"
"""The bundled data set whose facts serve as shots where a relation of the user's has too few heads."""

MOST_DRAWS = 20
MOST_TRIES = 20
"""So often a draw of demonstrations is made again where it is the same as an earlier one."""


def protocol_of(spec: RunSpec) -> Protocol:
    """The protocol of a spec; raises UnknownName when there is none."""
    if spec.protocol not in PROTOCOLS:
        raise UnknownName("protocol", spec.protocol, PROTOCOLS)
    return PROTOCOLS[spec.protocol]


def question_of(spec: RunSpec) -> str:
    """The name of the question format of a spec: its own, else its protocol's."""
    name = spec.question or protocol_of(spec).question
    if name not in FORMATS:
        raise UnknownName("question format", name, FORMATS)
    return name


def pool_of(spec: RunSpec) -> Pool:
    """The prototype pool of a spec: its own, else its protocol's, which picks per relation.

    MKJ's and the pool `origin` take the data set's own templates first, where the facts' folder has them.
    """
    if spec.pool not in (None, ORIGIN, READY):
        return load_pool(str(spec.pool))
    protocol = protocol_of(spec)
    names = (READY,) if spec.pool == READY else protocol.pools
    pools = [load_pool(name) for name in names]
    own = mkj.find_templates(Path(spec.facts)) if spec.facts and READY in names else None
    if own:
        pools = [templates_pool(own), replace(pools[0], notes=())]
    pool = joined(spec.pool or protocol.name, pools)
    return _origin(spec, pool) if spec.pool == ORIGIN else pool


def _origin(spec: RunSpec, pool: Pool) -> Pool:
    file = Path(spec.templates) if spec.templates else medlama.find_templates(Path(spec.facts)) if spec.facts else None
    if file is None:
        return origin_of(pool)
    return origin_of(pool, medlama.read_templates(file), file.name)


def select_facts(
    spec: RunSpec,
    collection: Collection | None = None,
    canonical: Callable[[str], str | None] | None = None,
    rejected: Mapping[str, frozenset[str]] = NO_REJECTIONS,
) -> Selection:
    """The facts under test and those kept aside for the shots; no negative is one of those `rejected`.

    Only relations to which `canonical` gives a name are taken; by default those for which the pool has prototypes.
    """
    _checked(spec)
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

    A group is a relation (by its name in the pool), a variant and a draw; all its statements share one prefix. With several
    draws of demonstrations, all statements are asked with the first, then all with the second, and so on.
    """
    shots = _checked(spec)
    collection = collection or load(spec)
    pool = pool_of(spec)
    check_relations(pool, (fact.relation for fact in collection.facts))
    selection = select_facts(spec, collection, pool.canonical, rejected)
    statements = list(pool.statements(selection.test))
    if not statements:
        reasons = " ".join(selection.notes)
        raise Mistake(
            f"No statement can be made of {collection.name} with the pool {pool.name!r}. {reasons}".strip(),
            f"The pool's relations are: {', '.join(pool.relations)}.",
        )
    draws = range(spec.shot_draws)
    asked = tuple(Planned(s, _group(pool, s, draw), draw) for draw in draws for s in statements)
    given = _given(spec, pool, {planned.shots_of for planned in asked}) if spec.demonstrations else None
    seed = spec.seed if spec.shot_seed is None else spec.shot_seed
    kept = _without_reverses(pool, selection.shots, collection)
    demonstrations = given if given is not None else _draws(pool, kept, shots, seed, spec.shot_draws) if shots else {}
    return Plan(
        dataset=collection.name,
        dataset_fingerprint=collection.fingerprint(),
        pool=_pool_name(pool, statements),
        shots=max(map(len, demonstrations.values()), default=0),
        statements=asked,
        demonstrations=demonstrations,
        notes=(
            *collection.notes,
            *_pool_notes(pool, statements, collection),
            *selection.notes,
            *([] if given is not None else _shot_notes(demonstrations, shots)),
        ),
        pool_text=_pool_text(pool, statements),
    )


def _pool_text(pool: Pool, statements: Sequence[Statement]) -> dict[str, dict[str, str]]:
    """The sentences that statements were made from: relation, or relation and strength → variant → sentence."""
    names = dict.fromkeys(pool.canonical(s.fact.relation) for s in statements if s.fact.text is None)
    return {key: said for name in names for key, said in _sentences(pool.relations[str(name)])}


def _sentences(relation: RelationPrototypes) -> Iterator[tuple[str, dict[str, str]]]:
    yield relation.name, dict(relation.sentences)
    yield from ((f"{relation.name} ({strength})", dict(said)) for strength, said in relation.strengths.items())


def names_files(spec: RunSpec) -> bool:
    """Whether a spec names files or data sets beside the bundled ones."""
    return bool(spec.facts or spec.templates or spec.demonstrations or (spec.pool and spec.pool not in pool_names()))


def changes(run: Run, load: Callable[[RunSpec], Collection] = load) -> list[str]:
    """What has changed since a run was recorded: its data, or the sentences of its pool. Says also what is no longer there."""
    told = []
    try:
        collection = load(run.spec)
        if collection.fingerprint() != run.dataset_fingerprint:
            told.append(f"The data {run.dataset} has changed since this run.")
    except MedfactError as error:
        told.append(f"The data {run.dataset} cannot be read any more: {error.problem}")
    try:
        now = {key: said for relation in pool_of(run.spec).relations.values() for key, said in _sentences(relation)}
        if any(now.get(key) != said for key, said in run.pool_text.items()):
            told.append(f"The pool {run.pool} has changed since this run.")
    except MedfactError as error:
        told.append(f"The pool {run.pool} cannot be read any more: {error.problem}")
    return told


def _checked(spec: RunSpec) -> int:
    """The number of shots, once all names and numbers of a spec are sound."""
    question_of(spec)
    if spec.retrieval not in RETRIEVALS:
        raise UnknownName("retrieval", spec.retrieval, RETRIEVALS)
    shots = protocol_of(spec).shots if spec.shots is None else spec.shots
    if shots < 0:
        raise Mistake(f"The number of shots is {shots}.", "Give 0 or more.")
    if not 1 <= spec.shot_draws <= MOST_DRAWS:
        raise Mistake(f"The number of shot draws is {spec.shot_draws}.", f"Give 1 to {MOST_DRAWS}.")
    if spec.shots == 0 and spec.demonstrations:
        raise Mistake("No shots, and a file of demonstrations: only one can be meant.", "Leave out one of the two options.")
    if spec.shot_draws > 1 and (shots == 0 or spec.demonstrations):
        raise Mistake("Several draws of demonstrations need drawn demonstrations.", "Give --shots, and no --demonstrations.")
    return shots


def _pool_notes(pool: Pool, statements: Sequence[Statement], collection: Collection) -> Iterator[str]:
    """What is to be said of the sentences of a run: where `origin` took them, and which of MKJ's are not MKJ's own."""
    told = [problem.what for problem in collection.problems]
    yield from (problem for problem in pool.problems if not any(what in problem for what in told))
    names = {pool.canonical(s.fact.relation) for s in statements if s.fact.text is None}
    used = [pool.relations[name] for name in names if name is not None]
    for relation in sorted({fact.relation for fact in collection.facts if pool.canonical(fact.relation) is None}):
        if why := pool.why_withheld(relation):
            yield f"{relation!r} is withheld: {why}"
    if pool.name == ORIGIN:
        yield _said_of_origin(Counter(relation.words_of for relation in used))
    if any(relation.pool == READY and relation.defects for relation in used):
        yield "Some sentences are medfact's drafts: MKJ's own are in its templates.json, which is not here."


def _said_of_origin(words_of: Counter[str]) -> str:
    """In whose words the tested relations are stated, by how many of them."""
    own = [f"{number} of the tested relations in the words of {name}" for name, number in words_of.items() if name != PLAIN]
    plain = f"{words_of[PLAIN]} in the plain form of the method's pools" if words_of[PLAIN] else ""
    said = " and ".join(filter(None, [*own, plain]))
    return f"The pool origin states {said}{'' if own else '; no templates of the benchmark were given'}."


def _without_reverses(pool: Pool, facts: Sequence[Fact], collection: Collection) -> list[Fact]:
    """Facts kept aside but those that the data says backwards too, in the same relation: one may be under test."""
    entity = collection.known.entity
    said = {(_relation(pool, f), entity(f.head), entity(f.tail)) for f in collection.facts if f.positive and f.tail}

    def reversed_too(fact: Fact) -> bool:
        head, tail = entity(fact.head), entity(fact.tail or "")
        return head != tail and (_relation(pool, fact), tail, head) in said

    return [fact for fact in facts if not reversed_too(fact)]


def _shot_notes(demonstrations: Mapping[str, Sequence[Demonstration]], shots: int) -> Iterator[str]:
    if shots and not demonstrations:
        yield "No shots are shown: this method keeps no heads aside, or there are none to keep."
    few = [len(shown) for shown in demonstrations.values() if len(shown) < shots]
    if few:
        yield f"{len(few)} of {len(demonstrations)} groups have fewer than {shots} shots, at least {min(few)}."


def _pool_name(pool: Pool, statements: Sequence[Statement]) -> str:
    """The one pool whose prototypes were used, or the name of the several that the protocol takes."""
    used = {statement.pool for statement in statements}
    return used.pop() if len(used) == 1 else pool.name


def _group(pool: Pool, statement: Statement, draw: int) -> str:
    return _key(_relation(pool, statement.fact), statement.variant, draw)


def _key(relation: str, variant: str, draw: int) -> str:
    return f"{relation} / {variant}" + (f" / draw {draw + 1}" if draw else "")


def _relation(pool: Pool, fact: Fact) -> str:
    return pool.canonical(fact.relation) or fact.relation


def _given(spec: RunSpec, pool: Pool, groups: set[str]) -> dict[str, tuple[Demonstration, ...]]:
    """The demonstrations of a person's file, for every group that is asked."""
    read = read_demonstrations(Path(str(spec.demonstrations)))
    given: defaultdict[str, tuple[Demonstration, ...]] = defaultdict(tuple)
    for relation, variant, text, label in read:
        given[_key(pool.canonical(relation) or relation, variant, 0)] += (Demonstration(text, label),)
    missing = sorted(groups - set(given))
    if missing:
        relation, _, variant = missing[0].partition(" / ")
        raise Mistake(
            f"{Path(str(spec.demonstrations)).name} has no demonstrations for relation {relation!r}, form {variant!r}.",
            f"Give some for all {len(groups)} pairs of relation and form; {len(missing)} are missing.",
        )
    return {group: given[group] for group in groups}


def _draws(pool: Pool, facts: Sequence[Fact], shots: int, seed: int, draws: int) -> dict[str, tuple[Demonstration, ...]]:
    """Group → its demonstrations, for every draw; where there are enough facts, no two draws of a group are the same."""
    by_relation: defaultdict[str, list[Fact]] = defaultdict(list)
    for fact in facts:
        by_relation[_relation(pool, fact)].append(fact)
    groups: dict[str, tuple[Demonstration, ...]] = {}
    for relation, members in by_relation.items():
        turn = int(digest(str(seed), relation), 16) % 2
        for index, form in [(index, form) for index, form in enumerate(VARIANTS) if form in pool.forms]:
            given: set[tuple[Demonstration, ...]] = set()
            for draw in range(draws):
                key = _key(relation, form, draw)
                mostly_true = (index + index // 4 + turn + draw) % 2 == 0
                salts = [digest(str(seed), key), *(digest(str(seed), key, str(again)) for again in range(1, MOST_TRIES))]
                tries = (_group_demonstrations(pool, members, form, shots, mostly_true, salt) for salt in salts)
                groups[key] = next((made for made in tries if made not in given), ())
                groups[key] = groups[key] or _group_demonstrations(pool, members, form, shots, mostly_true, salts[0])
                given.add(groups[key])
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
