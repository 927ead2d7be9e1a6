"""Retrieving: each statement of a run gets its passages before a model is asked, once; they are recorded with the run."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice

from medfact.datasets import Collection, load
from medfact.errors import Mistake
from medfact.facts import Fact
from medfact.models import load_encoder, provider_of, service_of
from medfact.models.services.settings import ServiceSettings
from medfact.retrieval import SPARSE, Retriever, open_dense, open_sparse
from medfact.runs.corpus import Corpus, corpus_of
from medfact.spec import NO_RETRIEVAL, RunSpec
from medfact.statements import Statement
from medfact.store import Asked, Retrieved, Run, Store, home
from medfact.store.schema import storable

_SAVED_AT_ONCE = 256
"""Statements whose passages are saved in one transaction."""

Tell = Callable[[str], None]


def with_passages(items: Sequence[Asked], spec: RunSpec, collection: Collection, tell: Tell) -> list[Asked]:
    """Statements with their passages, retrieved now where they have none."""
    if spec.retrieval == NO_RETRIEVAL:
        return list(items)
    missing = [item.statement for item in items if item.passages is None]
    facts = [item.statement.fact for item in items]
    found = dict(retrieved(missing, facts, spec, collection, tell)) if missing else {}
    return [item if item.passages is not None else replace(item, passages=found[item.statement.statement_id]) for item in items]


def retrieve_for(
    record: Run, pending: Sequence[Asked], store: Store, stopped: Callable[[], bool], key: str | None, tell: Tell
) -> list[Asked]:
    """Retrieves and records the passages that pending statements of a run lack. Returns the statements, fewer if stopped.

    key: of the run's service, sent only there. tell: gets the progress as sentences.
    """
    missing = list({item.statement.statement_id: item.statement for item in pending if item.passages is None}.values())
    if record.spec.retrieval == NO_RETRIEVAL or not missing:
        return list(pending)
    if store.was_imported(record.run):  # its file names documents, which may be any of this machine
        problem = f"Run {record.run} came from a file, without the passages of its statements."
        raise Mistake(problem, "Start a new run with your documents.")
    tell("Reading the documents." if record.spec.corpus else "Reading the known facts.")
    spec = replace(record.spec, service=replace(record.spec.service, key=key))
    found: dict[str, tuple[Retrieved, ...]] = {}
    facts = [item.statement.fact for item in store.answers.asked(record.run)]
    ranked = retrieved(missing, facts, spec, load(spec), tell)
    while not stopped() and (part := dict(islice(ranked, _SAVED_AT_ONCE))):
        store.answers.save_passages(record.run, part)
        found |= part
        tell(f"Retrieving passages: {len(found):,} of {len(missing):,} statements.")
    items = (replace(item, passages=found.get(item.statement.statement_id, item.passages)) for item in pending)
    return [item for item in items if item.passages is not None]


def retrieved(
    statements: Sequence[Statement], facts: Iterable[Fact], spec: RunSpec, collection: Collection, tell: Tell
) -> Iterator[tuple[str, tuple[Retrieved, ...]]]:
    """Each statement's id with its passages, best first, as they are found. The query is the statement itself.

    facts: all that the run asks, so that a pair loses the same passages whichever of its statements are retrieved for.
    Raises FactsError where the documents cannot be read, ModelError where the encoder cannot be used.
    """
    corpus = corpus_of(spec, collection)
    retriever = _retriever(spec, corpus, tell)
    pairs = _pairs(facts, collection)
    left_out = {pair: corpus.about(members) if spec.leave_out else frozenset[int]() for pair, members in pairs.items()}
    of = [statement.fact.negative_of or statement.fact.fact_id for statement in statements]
    gold = {pair: corpus.gold(members[0]) for pair, members in pairs.items()}
    queries = [statement.text for statement in statements]
    ranks = retriever.rank(queries, spec.passages, [left_out[pair] for pair in of])
    for statement, pair, ranked in zip(statements, of, ranks, strict=True):
        passages = ((corpus.passages[place], score, place in gold[pair]) for place, score in ranked)
        yield (
            statement.statement_id,
            tuple(Retrieved(storable(p.text), storable(p.source), score, good) for p, score, good in passages),
        )


def _retriever(spec: RunSpec, corpus: Corpus, tell: Tell) -> Retriever:
    folder = home() / "retrieval"
    tell(f"Indexing {len(corpus.passages):,} passages: {corpus.name}.")
    if spec.retrieval == SPARSE:
        return open_sparse(corpus.texts, folder)
    for name in ("encoder_url", "service") if contacts_encoder(spec) else ():
        spec.trusted_value(name)
    encoder = load_encoder(spec.trusted_value("encoder"), encoder_settings(spec))
    return open_dense(corpus.texts, folder, encoder, tell)


def encoder_settings(spec: RunSpec) -> ServiceSettings:
    """How an encoder behind a service is called. The run's key goes to the run's own service alone."""
    service, own = service_of(spec.encoder, spec.service) or spec.service, service_of(spec.model, spec.service)
    if own is not None and own.base_url != service.base_url:
        service = replace(service, key=None)
    if spec.encoder_url is None or spec.encoder_url.rstrip("/") == (service.base_url or "").rstrip("/"):
        return service
    return replace(service, base_url=spec.encoder_url, key=None)


def contacts_encoder(spec: RunSpec) -> bool:
    """Whether the texts of a run go to a service that encodes them."""
    return spec.retrieval not in (NO_RETRIEVAL, SPARSE) and provider_of(spec.encoder).is_remote


def _pairs(facts: Iterable[Fact], collection: Collection) -> dict[str, list[Fact]]:
    """Id of a true fact → it and its false ones; of a false fact that belongs to none, it alone."""
    asked = {fact.fact_id: fact for fact in facts}
    wanted = {fact.negative_of for fact in asked.values() if fact.negative_of} - asked.keys()
    true = {fact.fact_id: fact for fact in (*collection.facts, *collection.known.facts) if fact.fact_id in wanted}
    pairs: dict[str, list[Fact]] = {name: [fact] for name, fact in true.items()}
    for fact in asked.values():
        if fact.negative_of is None:
            pairs.setdefault(fact.fact_id, []).insert(0, fact)
    for fact in asked.values():
        if fact.negative_of is not None:
            pairs.setdefault(fact.negative_of, []).append(fact)
    return pairs
