"""Prototype pools: sentences with [X] for the head and [Y] for the tail, and the statements made from them."""

from medfact.prototypes.direction import in_direction, is_about
from medfact.prototypes.library import (
    ORIGIN,
    PLAIN,
    check_relations,
    load_pool,
    mislabelled,
    origin_of,
    pool_in_text,
    pool_names,
    templates_pool,
)
from medfact.prototypes.pool import READY, Pool, RelationPrototypes, fill, merged

__all__ = [
    "ORIGIN",
    "PLAIN",
    "READY",
    "Pool",
    "RelationPrototypes",
    "check_relations",
    "fill",
    "in_direction",
    "is_about",
    "load_pool",
    "merged",
    "mislabelled",
    "origin_of",
    "pool_in_text",
    "pool_names",
    "templates_pool",
]
