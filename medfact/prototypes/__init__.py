"""Prototype pools: sentences with [X] for the head and [Y] for the tail, and the statements made from them."""

from medfact.prototypes.direction import is_inversion_note, orient_facts
from medfact.prototypes.library import (
    ORIGIN,
    PLAIN,
    check_relations,
    load_pool,
    load_templates_pool,
    mislabelled_forms,
    origin_pool,
    parse_pool,
    pool_names,
)
from medfact.prototypes.pool import READY, Pool, RelationPrototypes, fill_slots, merge_pools

__all__ = [
    "ORIGIN",
    "PLAIN",
    "READY",
    "Pool",
    "RelationPrototypes",
    "check_relations",
    "fill_slots",
    "is_inversion_note",
    "load_pool",
    "load_templates_pool",
    "merge_pools",
    "mislabelled_forms",
    "orient_facts",
    "origin_pool",
    "parse_pool",
    "pool_names",
]
