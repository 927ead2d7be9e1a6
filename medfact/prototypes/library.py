"""All pools by name: the project's in `prototypes/`, a user's own file, and pools made from others."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path

import yaml

from medfact.assets import PROTOTYPES, table_words
from medfact.datasets.mkj import read_templates
from medfact.errors import PoolError, UnknownName
from medfact.facts import name_key
from medfact.prototypes.pool import READY, Pool, RelationPrototypes, merged
from medfact.prototypes.pool_files import pool_in, read_pool, read_pool_text

ORIGIN = "origin"
"""The pool of one plain statement per fact, not rephrased: what the papers compare their own methods with."""

OWN = "medfact"
"""The project's own pool: its names of relations hold in the other pools, too, but for MKJ's, whose predicates are its own."""

PLAIN = "plain"
"""`words_of` a relation of `origin` that the benchmark has no template for: the pool's own plain form states it."""


def pool_names() -> list[str]:
    """Names of the pools that come with the project."""
    return [*file_names(), ORIGIN]


@cache
def file_names() -> tuple[str, ...]:
    """Names of the pools that come with the project as files."""
    return tuple(sorted(path.stem for path in PROTOTYPES.glob("*.yaml")))


def load_pool(name_or_file: str) -> Pool:
    """A pool by its name, or from a user's file: a pool as YAML, or MKJ's `templates.json`.

    Raises PoolError, naming file, relation and form, if the pool breaks a rule; UnknownName if there is none.
    """
    if name_or_file == ORIGIN:
        return origin_of(_shipped(OWN))
    if name_or_file in file_names():
        return _shipped(name_or_file)
    path = Path(name_or_file)
    if path.suffix.lower() in {".yaml", ".yml"} and path.is_file():
        return _of_a_user(read_pool(path), path)
    if path.suffix.lower() == ".json" and path.is_file():
        return templates_pool(path)
    if path.is_file():
        raise PoolError(f"{path.name}: pools of this kind are not read.", "A pool ends in .yaml, or is MKJ's templates.json.")
    raise UnknownName("pool", name_or_file, pool_names())


def pool_in_text(path: Path, text: str) -> Pool:
    """The pool that a file of a user's would hold with this text, before it is written. Raises PoolError."""
    return _of_a_user(read_pool_text(path, text), path)


def _of_a_user(pool: Pool, path: Path) -> Pool:
    if pool.name in pool_names():
        raise PoolError(f"{path.name}: {pool.name!r} is the name of one of the project's pools.", "Choose another `name`.")
    return _extended(replace(pool, file=path.name))


def _extended(pool: Pool) -> Pool:
    """A user's pool with the relations of the project's pool that it extends."""
    if not pool.extends:
        return pool
    if pool.extends not in file_names() or _shipped(pool.extends).forms != pool.forms:
        same = [name for name in file_names() if _shipped(name).forms == pool.forms]
        hint = f"Pools with its forms are: {', '.join(same) or 'none'}."
        raise PoolError(f"{pool.file}: it extends {pool.extends!r}, which is no such pool, or has other forms.", hint)
    whole = merged(pool.name, [pool, _shipped(pool.extends)])
    about = {name: getattr(pool, name) for name in ("title", "source", "file", "drafted_by", "accepted", "extends")}
    return _with_our_names(replace(whole, verbatim=False, **about))


@cache
def _shipped(name: str) -> Pool:
    path = PROTOTYPES / f"{name}.yaml"
    # the quick reader, where the library has it: these files are the project's own, and nothing in them is hostile
    pool = pool_in(path, yaml.load(path.read_text(encoding="utf-8"), getattr(yaml, "CSafeLoader", yaml.SafeLoader)))
    return _in_other_languages(pool) if name == OWN else pool if name == READY else _with_our_names(pool)


def _in_other_languages(pool: Pool) -> Pool:
    """Our pool, whose relations also have the names that tables in other languages give them."""

    def names(relation: str, words: str, ours: Iterable[str]) -> Iterable[str]:
        named = {name_key(name): str(name) for of in table_words()[words].values() for name in of.get(relation, ())}
        return (named[key] for key in sorted(named.keys() - set(map(name_key, ours))))

    relations = {
        name: replace(
            one,
            aliases=(*one.aliases, *names(name, "relation_words", one.aliases)),
            inverse=(*one.inverse, *names(name, "inverse_relation_words", one.inverse)),
        )
        for name, one in pool.relations.items()
    }
    return replace(pool, relations=relations)


def _with_our_names(pool: Pool) -> Pool:
    """A pool whose relations also have the names, and the inverses, that our own pool has for them: all but the names that are
    others in this pool.
    """
    taken = {name_key(name) for one in pool.relations.values() for name in (one.name, *one.aliases, *one.inverse)}

    def further(names: Iterable[str]) -> tuple[str, ...]:
        return tuple(name for name in names if name_key(name) not in taken)

    ours = _shipped(OWN).relations
    relations = {
        name: replace(
            one, aliases=(*one.aliases, *further(ours[name].aliases)), inverse=(*one.inverse, *further(ours[name].inverse))
        )
        if name in ours
        else one
        for name, one in pool.relations.items()
    }
    return replace(pool, relations=relations)


def check_relations(pool: Pool, relations: Iterable[str]) -> None:
    """Raises PoolError if a user's pool has a relation that neither the facts nor the project's pools have."""
    if not pool.file:
        return
    relations = sorted(set(relations))
    known = {name_key(relation) for relation in relations}
    for relation in pool.relations.values():
        names = {name_key(name) for name in (relation.name, *relation.aliases)}
        if not names & known and not any(_shipped(name).canonical(n) for name in file_names() for n in names):
            raise PoolError(
                f"{pool.file}, relation {relation.name!r}, form {pool.forms[0]!r}: no fact has this relation.",
                f"Write it as the facts do ({', '.join(relations[:6])}), or put that name under `aliases`.",
            )


def origin_of(pool: Pool, templates: Mapping[str, str] | None = None, source: str = "") -> Pool:
    """The pool of one statement per fact: a benchmark's template for relations that have one, else the pool's plain form.

    Args:
        templates: relation, as the facts write it → a sentence with [X] and [Y]. source: the file that they come from.
    """
    own = {pool.canonical(relation) or relation: (relation, text) for relation, text in (templates or {}).items()}
    relations = {name: _plain(relation, pool.forms[0]) for name, relation in pool.relations.items()}
    for name, (written, text) in own.items():
        known = relations.get(name)
        single = _single(name, text, ORIGIN, (written, *(known.aliases if known else ())), source)
        relations[name] = replace(single, inverse=known.inverse if known else ())
    return replace(
        pool, name=ORIGIN, title="origin (one plain statement)", forms=("none",), operators=(), notes=(), relations=relations
    )


def _plain(relation: RelationPrototypes, form: str) -> RelationPrototypes:
    strengths = {strength: {"none": sentences[form]} for strength, sentences in relation.strengths.items()}
    plain = {"none": relation.sentences[form]}
    return replace(relation, sentences=plain, strengths=strengths, pool=ORIGIN, words_of=PLAIN)


def _single(name: str, sentence: str, pool: str, aliases: tuple[str, ...] = (), words_of: str = "") -> RelationPrototypes:
    return RelationPrototypes(name, name, "head", "tail", aliases, {"none": sentence}, {}, pool, words_of=words_of)


def templates_pool(path: Path) -> Pool:
    """MKJ's pool from a `templates.json`; sentences that cannot be used become its problems.

    Raises FactsError if the file is broken, PoolError if it holds no usable sentence.
    """
    sentences, problems = read_templates(path)
    if not sentences:
        raise PoolError(f"{path.name}: it holds no usable sentence.", "Write {subject} and {object} once in each.")
    return Pool(
        name=READY,
        title="MKJ templates",
        source=path.name,
        verbatim=True,
        notes=(),
        forms=("none",),
        operators=(),
        relations={predicate: _single(predicate, text, READY) for predicate, text in sentences.items()},
        problems=tuple(f"{problem.file}, entry {problem.row}: {problem.message}." for problem in problems),
    )


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
