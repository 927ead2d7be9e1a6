"""Prototype pools: sentences with [X] for the head and [Y] for the tail, and the statements made from them.

A pool is data, a YAML file in `prototypes/`. The papers' pools are word for word; the project's own pool mends them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import yaml

from medfact.errors import PoolError, UnknownName
from medfact.facts import Fact, name_key
from medfact.statements import VARIANTS, Statement

FOLDER = Path(__file__).resolve().parents[1] / "prototypes"

READY = "mkj"
"""The pool under which ready statements stand: MKJ's, which come with their data."""

_SLOTS = re.compile(r"\[[XY]\]")


@dataclass(frozen=True)
class RelationPrototypes:
    """One relation: variant key → sentence. `strengths` holds the sentences of another strength; `pool` names their pool."""

    name: str
    description: str
    head: str
    tail: str
    aliases: tuple[str, ...]
    sentences: Mapping[str, str]
    strengths: Mapping[str, Mapping[str, str]]
    pool: str
    defects: tuple[str, ...] = ()

    def sentences_for(self, fact: Fact) -> Mapping[str, str]:
        """The sentences of the fact's own strength, else those that assert no frequency."""
        return self.strengths.get(fact.strength or "", self.sentences)


@dataclass(frozen=True)
class Pool:
    """A named set of prototypes. `forms` are its variants in order; `operators` its pairs (affirmed, denied)."""

    name: str
    title: str
    source: str
    verbatim: bool
    notes: tuple[str, ...]
    forms: tuple[str, ...]
    operators: tuple[tuple[str, str], ...]
    relations: Mapping[str, RelationPrototypes]

    @cached_property
    def _names(self) -> dict[str, str]:
        return {name_key(name): r.name for r in self.relations.values() for name in (r.name, *r.aliases)}

    def canonical(self, relation: str) -> str | None:
        """The pool's name of a relation, found through its aliases in any case; None where it has no prototypes."""
        return self._names.get(name_key(relation))

    def statements(self, facts: Iterable[Fact]) -> Iterator[Statement]:
        """Every form of every fact whose relation the pool has, fact by fact, in the order of `forms`.

        A fact that comes with a ready statement gives that one, under the pool `mkj` and the variant `none`.
        """
        for fact in facts:
            if fact.text is not None:
                yield Statement(fact, READY, "none", fact.text)
                continue
            name = self.canonical(fact.relation)
            if name is None or fact.tail is None:
                continue
            relation = self.relations[name]
            sentences = relation.sentences_for(fact)
            for form in self.forms:
                yield Statement(fact, relation.pool, form, fill(sentences[form], fact.head, fact.tail))


def fill(prototype: str, head: str, tail: str) -> str:
    """Fills both slots in one pass: a name may itself contain [X] or [Y]."""
    names = {"[X]": head, "[Y]": tail}
    return _SLOTS.sub(lambda slot: names[slot.group()], prototype)


def pool_names() -> list[str]:
    """Names of the pools in `prototypes/`."""
    return sorted(path.stem for path in FOLDER.glob("*.yaml"))


@cache
def load_pool(name_or_file: str) -> Pool:
    """A pool by its name, or from a YAML file of the user's.

    Raises PoolError naming file, relation and form when the pool breaks a rule, UnknownName when there is none.
    """
    if name_or_file in pool_names():
        return read_pool(FOLDER / f"{name_or_file}.yaml")
    path = Path(name_or_file)
    if path.suffix.lower() in {".yaml", ".yml"} and path.is_file():
        return read_pool(path)
    raise UnknownName("pool", name_or_file, pool_names())


def joined(name: str, pools: Sequence[Pool]) -> Pool:
    """Several pools of the same forms as one; where two have a relation, the first one's sentences are taken."""
    if len(pools) == 1:
        return pools[0]
    return Pool(
        name=name,
        title=" and ".join(pool.title for pool in pools),
        source="; ".join(pool.source for pool in pools),
        verbatim=all(pool.verbatim for pool in pools),
        notes=tuple(note for pool in pools for note in pool.notes),
        forms=pools[0].forms,
        operators=(),
        relations={key: relation for pool in reversed(pools) for key, relation in pool.relations.items()},
    )


def read_pool(path: Path) -> Pool:
    """Reads and checks a pool file: its forms, both slots once in every sentence, and its operators of negation."""
    try:
        record = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        mark = getattr(error, "problem_mark", None)
        where = f", line {mark.line + 1}" if mark else ""
        raise PoolError(f"{path.name}{where}: it is not valid YAML.", "Check indentation and quotes.") from None
    if not isinstance(record, dict) or not isinstance(record.get("relations"), dict):
        raise PoolError(f"{path.name}: it has no relations.", "A pool has `forms` and `relations`; see prototypes/.")
    given_forms = record.get("forms")
    forms = tuple(map(str, given_forms)) if isinstance(given_forms, list) else ()
    for form in forms or ("(none given)",):
        if form not in VARIANTS:
            raise PoolError(f"{path.name}: the form {form!r} is not known.", f"Forms are: {', '.join(VARIANTS)}.")
    pool = Pool(
        name=str(record.get("name") or path.stem),
        title=str(record.get("title") or path.stem),
        source=str(record.get("source") or path.name),
        verbatim=bool(record.get("verbatim", False)),
        notes=tuple(map(str, record.get("notes") or ())),
        forms=forms,
        operators=_operators(path, record.get("operators") or ()),
        relations={
            str(name): _relation(path, str(name), entry, forms, str(record.get("name") or path.stem))
            for name, entry in record["relations"].items()
        },
    )
    _check_negations(path, pool)
    return pool


def _operators(path: Path, given: Any) -> tuple[tuple[str, str], ...]:
    pairs = [pair for pair in given if isinstance(pair, list) and len(pair) == 2] if isinstance(given, list | tuple) else []
    if not isinstance(given, list | tuple) or len(pairs) != len(given):
        raise PoolError(f"{path.name}: `operators` has an entry that is not a pair.", 'Write each as [" is ", " is not "].')
    return tuple((str(affirmed), str(denied)) for affirmed, denied in pairs)


def _relation(path: Path, name: str, entry: Any, forms: tuple[str, ...], pool: str) -> RelationPrototypes:
    if not isinstance(entry, dict):
        raise PoolError(f"{path.name}, relation {name!r}: it has no sentences.", "Give a sentence for every form.")
    strengths = entry.get("strengths") or {}
    if not isinstance(strengths, dict):
        raise PoolError(f"{path.name}, relation {name!r}: `strengths` has no names.", "Write a strength, then its sentences.")
    return RelationPrototypes(
        name=name,
        description=str(entry.get("description") or name),
        head=str(entry.get("head") or "head"),
        tail=str(entry.get("tail") or "tail"),
        aliases=tuple(map(str, entry.get("aliases") or ())),
        sentences=_sentences(path, name, entry.get("sentences"), forms),
        strengths={str(s): _sentences(path, f"{name} ({s})", given, forms) for s, given in strengths.items()},
        pool=pool,
        defects=tuple(map(str, entry.get("defects") or ())),
    )


def _sentences(path: Path, relation: str, given: Any, forms: tuple[str, ...]) -> dict[str, str]:
    given = given if isinstance(given, dict) else {}
    for form in forms:
        where = f"{path.name}, relation {relation!r}, form {form!r}"
        sentence = given.get(form)
        if not isinstance(sentence, str) or not sentence.strip():
            raise PoolError(f"{where}: the sentence is missing.", "Write one.")
        for slot in ("[X]", "[Y]"):
            if sentence.count(slot) != 1:
                raise PoolError(f"{where}: {slot} stands {sentence.count(slot)} times.", "Each slot stands once.")
    extra = sorted(set(map(str, given)) - set(forms))
    if extra:
        raise PoolError(f"{path.name}, relation {relation!r}, form {extra[0]!r}: it is not among the pool's forms.")
    return {form: given[form] for form in forms}


def _check_negations(path: Path, pool: Pool) -> None:
    """Where a pool names its operators of negation, a denied sentence is its affirmed one with one operator put in."""
    if not pool.operators:
        return
    for relation in pool.relations.values():
        for sentences in (relation.sentences, *relation.strengths.values()):
            for form in (form for form in pool.forms if VARIANTS[form].negated):
                affirmed, denied = sentences[VARIANTS[form].form], sentences[form]
                if denied not in {affirmed.replace(yes, no, 1) for yes, no in pool.operators if yes in affirmed}:
                    raise PoolError(
                        f"{path.name}, relation {relation.name!r}, form {form!r}: more than the negation differs from "
                        f"form {VARIANTS[form].form!r}.",
                        "Change one operator only, and list it under `operators`.",
                    )
