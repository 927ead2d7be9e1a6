"""Loading of pools: bundled ones from `prototypes/`, users' files, and pools derived from others."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path

import yaml

from medfact.assets import PROTOTYPES
from medfact.datasets.mkj import read_templates
from medfact.datasets.names import relation_words
from medfact.errors import PoolError, UnknownName
from medfact.facts import name_key
from medfact.prototypes.pool import READY, Pool, RelationPrototypes, merge_pools
from medfact.prototypes.pool_files import build_pool, read_pool

ORIGIN = "origin"
"""Name of the pool with one plain statement per fact, the papers' baseline without logical variants."""

BUILTIN_POOL = "medfact"
"""Name of the project's own pool. All other pools except MKJ's accept its names of relations too."""

PLAIN = "plain"
"""`RelationPrototypes.sentence_source` in the pool ORIGIN of a sentence that is a plain form, not a benchmark's template."""


def pool_names() -> list[str]:
    """Names of the bundled pools."""
    return [*bundled_pool_files(), ORIGIN]


@cache
def bundled_pool_files() -> tuple[str, ...]:
    """Names of the bundled pools that have a file: all except ORIGIN."""
    return tuple(sorted(path.stem for path in PROTOTYPES.glob("*.yaml")))


def load_pool(name_or_file: str) -> Pool:
    """Loads a bundled pool by its name, or a user's file: a pool as YAML, or MKJ's `templates.json`.

    Raises PoolError, naming file, relation and form, if the pool breaks a rule; UnknownName if it does not exist.
    """
    if name_or_file == ORIGIN:
        return origin_pool(_load_bundled_pool(BUILTIN_POOL))
    if name_or_file in bundled_pool_files():
        return _load_bundled_pool(name_or_file)
    path = Path(name_or_file)
    if path.suffix.lower() in {".yaml", ".yml"} and path.is_file():
        return _complete_user_pool(read_pool(path), path)
    if path.suffix.lower() == ".json" and path.is_file():
        return load_templates_pool(path)
    if path.is_file():
        raise PoolError(f"{path.name}: pools of this kind are not read.", "A pool ends in .yaml, or is MKJ's templates.json.")
    raise UnknownName("pool", name_or_file, pool_names())


def parse_pool(path: Path, text: str) -> Pool:
    """Parses the text of a user's pool file before it is written. Raises PoolError."""
    return _complete_user_pool(read_pool(path, text), path)


def _complete_user_pool(pool: Pool, path: Path) -> Pool:
    """Adds the relations of the bundled pool that a user's pool extends. Raises PoolError if it cannot extend that pool."""
    if pool.name in pool_names():
        raise PoolError(f"{path.name}: {pool.name!r} is the name of one of the project's pools.", "Choose another `name`.")
    pool = replace(pool, file=path.name)
    if not pool.extends:
        return pool
    if pool.extends not in bundled_pool_files() or _load_bundled_pool(pool.extends).forms != pool.forms:
        same = [name for name in bundled_pool_files() if _load_bundled_pool(name).forms == pool.forms]
        hint = f"Pools with its forms are: {', '.join(same) or 'none'}."
        raise PoolError(f"{pool.file}: it extends {pool.extends!r}, which is no such pool, or has other forms.", hint)
    extended = merge_pools(pool.name, [pool, _load_bundled_pool(pool.extends)])
    metadata = {name: getattr(pool, name) for name in ("title", "source", "file", "drafted_by", "accepted", "extends")}
    return _with_builtin_names(replace(extended, verbatim=False, **metadata))


@cache
def _load_bundled_pool(name: str) -> Pool:
    """Loads a bundled pool's file, and adds other names of its relations."""
    path = PROTOTYPES / f"{name}.yaml"
    # the fast parser, if the library has it: these files are the project's own, so they are trusted
    pool = build_pool(path, yaml.load(path.read_text(encoding="utf-8"), getattr(yaml, "CSafeLoader", yaml.SafeLoader)))
    if name == BUILTIN_POOL:
        return _with_translated_names(pool)
    return pool if name == READY else _with_builtin_names(pool)


def _with_translated_names(pool: Pool) -> Pool:
    """Adds names that relations have in other languages to the project's own pool, so that users' tables may use them."""

    def additional_names(relation: str, names: Iterable[str], *uses: str) -> list[str]:
        by_key = {name_key(name): name for words in relation_words(*uses).values() for name in words.get(relation, ())}
        return [by_key[key] for key in sorted(by_key.keys() - set(map(name_key, names)))]

    relations = {
        name: replace(
            relation,
            aliases=(*relation.aliases, *additional_names(name, relation.aliases, "names", "only_relation")),
            inverse=(*relation.inverse, *additional_names(name, relation.inverse, "inverse")),
        )
        for name, relation in pool.relations.items()
    }
    return replace(pool, relations=relations)


def _with_builtin_names(pool: Pool) -> Pool:
    """Adds the names of relations and inverses in the project's own pool to another pool, except names that it has already."""
    taken = {name_key(name) for r in pool.relations.values() for name in (r.name, *r.aliases, *r.inverse)}

    def additional_names(names: Iterable[str]) -> tuple[str, ...]:
        return tuple(name for name in names if name_key(name) not in taken)

    relations = dict(pool.relations)
    for name, builtin in _load_bundled_pool(BUILTIN_POOL).relations.items():
        if relation := relations.get(name):
            aliases, inverse = additional_names(builtin.aliases), additional_names(builtin.inverse)
            relations[name] = replace(relation, aliases=relation.aliases + aliases, inverse=relation.inverse + inverse)
    return replace(pool, relations=relations)


def check_relations(pool: Pool, relations: Iterable[str]) -> None:
    """Raises PoolError if a user's pool has a relation that neither a bundled pool nor the facts have."""
    if not pool.file:
        return
    relations = sorted(set(relations))
    relation_keys = {name_key(relation) for relation in relations}
    for relation in pool.relations.values():
        names = {name_key(name) for name in (relation.name, *relation.aliases)}
        if not names & relation_keys and not any(
            _load_bundled_pool(bundled).canonical(name) for bundled in bundled_pool_files() for name in names
        ):
            raise PoolError(
                f"{pool.file}, relation {relation.name!r}, form {pool.forms[0]!r}: no fact has this relation.",
                f"Write it as the facts do ({', '.join(relations[:6])}), or put that name under `aliases`.",
            )


def origin_pool(pool: Pool, templates: Mapping[str, str] | None = None, source: str = "") -> Pool:
    """Derives the pool ORIGIN, with one sentence per relation: a benchmark's template, or else the given pool's plain form.

    Args:
        templates: relation in the facts → a sentence with [X] and [Y].
        source: name of the file of the templates.
    """
    plain_form, relations = pool.forms[0], dict(pool.relations)
    for name, relation in pool.relations.items():
        strengths = {strength: {"none": sentences[plain_form]} for strength, sentences in relation.strengths.items()}
        sentences = {"none": relation.sentences[plain_form]}
        relations[name] = replace(relation, sentences=sentences, strengths=strengths, pool=ORIGIN, sentence_source=PLAIN)
    by_name = {pool.canonical(relation) or relation: (relation, text) for relation, text in (templates or {}).items()}
    for name, (written, text) in by_name.items():
        plain = relations.get(name)
        single = _single_form_relation(name, text, ORIGIN, (written, *(plain.aliases if plain else ())), source)
        relations[name] = replace(single, inverse=plain.inverse if plain else ())
    return replace(
        pool, name=ORIGIN, title="origin (one plain statement)", forms=("none",), operators=(), notes=(), relations=relations
    )


def _single_form_relation(
    name: str, sentence: str, pool: str, aliases: tuple[str, ...] = (), sentence_source: str = ""
) -> RelationPrototypes:
    """Builds a relation with one sentence, in the form `none`. pool: name of its pool."""
    return RelationPrototypes(
        name, name, "head", "tail", aliases, {"none": sentence}, {}, pool, sentence_source=sentence_source
    )


def load_templates_pool(path: Path) -> Pool:
    """Reads MKJ's pool from a `templates.json`; unusable sentences are listed in its `problems`.

    Raises FactsError if the file is broken, PoolError if it has no usable sentence.
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
        relations={predicate: _single_form_relation(predicate, text, READY) for predicate, text in sentences.items()},
        problems=tuple(f"{problem.file}, entry {problem.row}: {problem.message}." for problem in problems),
    )


RelationTexts = Mapping[str, Mapping[str, str]]
"""Relation → form → sentence."""


def mislabelled_forms(sentences: RelationTexts, relations: Iterable[str]) -> dict[str, dict[str, str]]:
    """Finds sentences of a run that bundled pools list as mislabelled: relation → form → the reason.

    Sentences are compared by their text, so the pool's name and the run's date do not matter.

    Args:
        sentences: of the run, by the pool's names of relations.
        relations: names in the facts; the keys of the result.
    """
    reasons: dict[str, dict[str, str]] = {}
    for relation in relations:
        for pool in map(load_pool, bundled_pool_files()):
            if (name := pool.canonical(relation)) is None:
                continue
            prototypes, texts = pool.relations[name], sentences.get(name, {})
            wrong = {
                form: reason for form, reason in prototypes.mislabelled.items() if texts.get(form) == prototypes.sentences[form]
            }
            if wrong:
                reasons[relation] = wrong
    return reasons
