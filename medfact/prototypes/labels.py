"""Published sentences whose label does not follow from the fact, as their pools declare them (`mislabelled`)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from medfact.prototypes.library import file_names, load_pool
from medfact.prototypes.pool import RelationPrototypes

Forms = Mapping[str, Mapping[str, str]]
"""Relation → form → a text: a sentence, or what is wrong with it."""


def mislabelled(asked: Forms, relations: Iterable[str]) -> dict[str, dict[str, str]]:
    """Which forms of these relations are labelled wrongly, and why. asked: the sentences of a run, by the pool's relation.
    relations: the names of relations as the facts write them, which are those of the answer.

    A sentence is known by its words, so that a run says it whenever it was made, and whatever its pool is called.
    """
    found: dict[str, dict[str, str]] = {}
    for relation in relations:
        for prototypes in _stating(relation):
            sentences = asked.get(prototypes.name, {})
            wrong = {
                form: why for form, why in prototypes.mislabelled.items() if sentences.get(form) == prototypes.sentences[form]
            }
            if wrong:
                found[relation] = wrong
    return found


def _stating(relation: str) -> Iterator[RelationPrototypes]:
    """What the project's pools have for a relation, under any of its names."""
    for pool in map(load_pool, file_names()):
        name = pool.canonical(relation)
        if name is not None:
            yield pool.relations[name]
