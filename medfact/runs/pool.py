"""The prototype pool of a run: its own, or its protocol's."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from medfact.assets import ENGLISH
from medfact.datasets import medlama, mkj
from medfact.errors import Mistake, UnknownName
from medfact.languages import load_language
from medfact.prototypes import ORIGIN, READY, Pool, load_pool, merged, origin_of, pool_names, templates_pool
from medfact.spec import PROTOCOLS, Protocol, RunSpec


def protocol_of(spec: RunSpec) -> Protocol:
    """The protocol of a spec; raises UnknownName if there is none."""
    if spec.protocol not in PROTOCOLS:
        raise UnknownName("protocol", spec.protocol, PROTOCOLS)
    return PROTOCOLS[spec.protocol]


def pool_of(spec: RunSpec, ready: Mapping[str, str] | None = None) -> Pool:
    """The prototype pool of a spec: its own, or else its protocol's, which picks per relation.

    If the folder of the facts has the benchmark's own templates, the pools `mkj` and `origin` prefer those.

    Args:
        ready: fact id → the sentence in which the data state that fact (`Collection.ready`).
    """
    return replace(_pool_of_prototypes(spec), ready=ready or {})


def _pool_of_prototypes(spec: RunSpec) -> Pool:
    if spec.asked_in != ENGLISH:
        return load_language(spec.asked_in).pool
    if spec.pool not in (None, ORIGIN, READY):
        return _accepted(load_pool(str(spec.pool if spec.pool in pool_names() else spec.opened("pool"))), spec)
    protocol = protocol_of(spec)
    names = (READY,) if spec.pool == READY else protocol.pools
    pools = [load_pool(name) for name in names]
    own = mkj.find_templates(Path(spec.opened("facts"))) if spec.facts and READY in names else None
    if own:
        pools = [templates_pool(own), replace(pools[0], notes=())]
    pool = merged(spec.pool or protocol.name, pools)
    return _origin(spec, pool) if spec.pool == ORIGIN else pool


def _accepted(pool: Pool, spec: RunSpec) -> Pool:
    """A pool whose drafts a person has accepted. Raises Mistake where nobody has."""
    if not pool.drafted_by or pool.accepted:
        return pool
    if not spec.accept_drafts:
        raise Mistake(
            f"{pool.drafted_by} drafted the sentences of {pool.file}, and nobody has accepted them.",
            "Read them first; then accept them on the page Write, or with --accept-drafts.",
        )
    return replace(pool, accepted="unread, with --accept-drafts")


def _origin(spec: RunSpec, pool: Pool) -> Pool:
    templates, facts = spec.opened("templates"), spec.opened("facts")
    file = Path(templates) if templates else medlama.find_templates(Path(facts)) if facts else None
    if file is None:
        return origin_of(pool)
    return origin_of(pool, medlama.read_templates(file), file.name)
