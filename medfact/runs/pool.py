"""The prototype pool of a run: its own, or its protocol's."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from medfact.assets import ENGLISH, language_names
from medfact.datasets import Collection, medlama, mkj
from medfact.errors import Mistake, UnknownName
from medfact.languages import language_of, load_language, pool_of_table
from medfact.models.services.named import service_at, service_named
from medfact.models.services.policy import address_of
from medfact.models.services.settings import OPENAI_PREFIX
from medfact.prototypes import ORIGIN, READY, Pool, load_pool, load_templates_pool, merge_pools, origin_pool, pool_names
from medfact.spec import PROTOCOLS, SETTINGS, Protocol, RunSpec


def protocol_of(spec: RunSpec) -> Protocol:
    """The protocol of a spec; raises UnknownName if there is none."""
    if spec.protocol not in PROTOCOLS:
        raise UnknownName("protocol", spec.protocol, PROTOCOLS)
    return PROTOCOLS[spec.protocol]


def pool_of(spec: RunSpec, collection: Collection | None = None) -> Pool:
    """The prototype pool of a spec: its own, or else its protocol's, which picks per relation.

    If the folder of the facts has the benchmark's own templates, the pools `mkj` and `origin` prefer those.

    Args:
        collection: the facts of the spec, whose ready sentences the pool has; and where they are in the spec's language, their
            names as written.
    """
    if collection is None:
        return _pool_of_prototypes(spec)
    is_english = spec.asked_in == ENGLISH
    pool = _pool_of_prototypes(spec) if is_english else pool_of_table(spec.asked_in, collection)
    return replace(pool, ready=collection.ready)


def asked_as_written(spec: RunSpec, collection: Collection) -> RunSpec:
    """The spec asked in the language in which its table is, where the method has sentences in it."""
    needs, language = SETTINGS["spec.asked_in"].needs, language_of(collection)
    return spec if language == ENGLISH or (needs and not needs.is_met(spec)) else spec.override(asked_in=language)


def decoded_as_published(spec: RunSpec) -> RunSpec:
    """The spec with the service's own generation settings, where the paper leaves them to commercial services (PretextTrans and
    TPEval, on implementation): here the known ones that want a key.
    """
    named = service_named(spec.model)
    if named is not None and named.prefix == OPENAI_PREFIX:  # its address may be any server's that speaks the protocol
        named = service_at(address_of(spec.service).base)
    is_left = protocol_of(spec).services == "default" and named is not None and named.key is not None
    return replace(spec, service=replace(spec.service, temperature=None)) if is_left else spec


def mixed_note(spec: RunSpec, collection: Collection) -> str:
    """A note on names of another language that stand in English sentences; "" where there are none."""
    if spec.asked_in != ENGLISH or (language := language_of(collection)) == ENGLISH:
        return ""
    title = language_names()[language]
    return (
        f"The table is in {title}, and is asked in English: its {title} names stand in English sentences. To ask it in {title} "
        f"sentences, choose {title} ({language}) as the language."
    )


def _pool_of_prototypes(spec: RunSpec) -> Pool:
    if spec.asked_in != ENGLISH:
        return load_language(spec.asked_in).pool
    if spec.pool not in (None, ORIGIN, READY):
        return _accepted(load_pool(str(spec.pool if spec.pool in pool_names() else spec.trusted_value("pool"))), spec)
    protocol = protocol_of(spec)
    names = (READY,) if spec.pool == READY else protocol.pools
    pools = [load_pool(name) for name in names]
    own = mkj.find_templates(Path(spec.trusted_value("facts"))) if spec.facts and READY in names else None
    if own:
        pools = [load_templates_pool(own), replace(pools[0], notes=())]
    pool = merge_pools(spec.pool or protocol.name, pools)
    return _origin(spec, pool) if spec.pool == ORIGIN else pool


def _accepted(pool: Pool, spec: RunSpec) -> Pool:
    """A pool whose drafts a person has accepted. Raises Mistake where nobody has."""
    if not pool.drafted_by or pool.accepted:
        return pool
    if not spec.accept_drafts:
        raise Mistake(
            f"{pool.drafted_by} drafted the sentences of {pool.file}, and nobody has accepted them.",
            "Read them first; then accept them on the page Rewrite, or with --accept-drafts.",
        )
    return replace(pool, accepted="unread, with --accept-drafts")


def _origin(spec: RunSpec, pool: Pool) -> Pool:
    templates, facts = spec.trusted_value("templates"), spec.trusted_value("facts")
    file = Path(templates) if templates else medlama.find_templates(Path(facts)) if facts else None
    if file is None:
        return origin_pool(pool)
    return origin_pool(pool, medlama.read_templates(file), file.name)
