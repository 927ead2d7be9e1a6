"""Pool files: a pool as YAML, read and checked form by form."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import yaml

from medfact.errors import PoolError
from medfact.facts import name_key
from medfact.prototypes.pool import Pool, RelationPrototypes
from medfact.statements import VARIANTS


def read_pool(path: Path) -> Pool:
    """Reads and checks a pool file: its forms, both slots once in every sentence, and its operators of negation."""
    try:
        record = yaml.load(path.read_text(encoding="utf-8"), _NamesOnce)
    except _Twice as error:
        raise PoolError(f"{path.name}, line {error.line}: {error.name!r} stands twice.", "Keep one of the two.") from None
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)
        where = f", line {mark.line + 1}" if mark else ""
        raise PoolError(f"{path.name}{where}: it is not valid YAML.", "Check indentation and quotes.") from None
    if not isinstance(record, dict) or not isinstance(record.get("relations"), dict) or not record["relations"]:
        raise PoolError(f"{path.name}: it has no relations.", "A pool has `forms` and `relations`; see prototypes/.")
    given_forms = record.get("forms")
    forms = tuple(map(str, given_forms)) if isinstance(given_forms, list) else ()
    for form in forms or ("(none given)",):
        if form not in VARIANTS:
            raise PoolError(f"{path.name}: the form {form!r} is not known.", f"Forms are: {', '.join(VARIANTS)}.")
        if forms.count(form) > 1:
            raise PoolError(f"{path.name}: the form {form!r} stands twice.", "Keep one of the two.")
    affirmed = {VARIANTS[form].form for form in forms if not VARIANTS[form].negated}
    lonely = sorted(affirmed - {VARIANTS[form].form for form in forms if VARIANTS[form].negated})
    if len(affirmed) > 1 and lonely:
        raise PoolError(
            f"{path.name}: the form {lonely[0]!r} has no form that denies it.", "Add it to `forms`, with sentences."
        )
    pool = Pool(
        name=str(record.get("name") or path.stem),
        title=str(record.get("title") or path.stem),
        source=str(record.get("source") or path.name),
        verbatim=bool(record.get("verbatim", False)),
        notes=_texts(path, "notes", record.get("notes")),
        forms=forms,
        operators=_operators(path, record.get("operators") or ()),
        relations={
            str(name): _relation(path, str(name), entry, forms, str(record.get("name") or path.stem))
            for name, entry in record["relations"].items()
        },
    )
    _check_names(path, pool)
    _check_negations(path, pool)
    _check_denials(path, pool)
    return pool


class _Twice(Exception):
    def __init__(self, name: object, line: int) -> None:
        super().__init__(name)
        self.name, self.line = name, line


class _NamesOnce(yaml.SafeLoader):
    """YAML in which no name stands twice in one place; the library alone would take the last."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        names = [key.value for key, _ in node.value if isinstance(key, yaml.ScalarNode)]
        for key, _ in node.value:
            if isinstance(key, yaml.ScalarNode) and names.count(key.value) > 1:
                raise _Twice(key.value, key.start_mark.line + 1)
        return super().construct_mapping(node, deep)


def _texts(path: Path, name: str, given: Any) -> tuple[str, ...]:
    """A list of texts; one text alone is a list of one."""
    listed = [] if given is None else given if isinstance(given, list) else [given]
    if not all(isinstance(text, str) for text in listed):
        raise PoolError(f"{path.name}: `{name}` holds something that is no text.", "Write a list of texts, in quotation marks.")
    return tuple(listed)


def _check_names(path: Path, pool: Pool) -> None:
    """No name or alias belongs to two relations."""
    owners: dict[str, str] = {}
    for relation in pool.relations.values():
        for name in (relation.name, *relation.aliases):
            other = owners.setdefault(name_key(name), relation.name)
            if other != relation.name:
                raise PoolError(
                    f"{path.name}, relation {relation.name!r}, form {pool.forms[0]!r}: the name {name!r} is {other!r}'s too.",
                    "Give each name to one relation.",
                )


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
        aliases=_texts(path, "aliases", entry.get("aliases")),
        sentences=_sentences(path, name, entry.get("sentences"), forms),
        strengths={str(s): _sentences(path, f"{name} ({s})", given, forms) for s, given in strengths.items()},
        pool=pool,
        defects=_texts(path, "defects", entry.get("defects")),
    )


LONGEST = 1_000
"""Characters of a sentence."""

_OTHER_SLOT = re.compile(r"\[(?![XY]\])[A-Z]\]")


def _sentence(where: str, given: Any) -> str:
    """One sentence with single spaces; raises PoolError, beginning with where it is, when it cannot be used."""
    if given is not None and not isinstance(given, str):
        raise PoolError(f"{where}: the sentence is no text.", "Write it in quotation marks.")
    sentence = " ".join((given or "").split())
    if not sentence:
        raise PoolError(f"{where}: the sentence is missing.", "Write one.")
    for slot in ("[X]", "[Y]"):
        if sentence.count(slot) != 1:
            raise PoolError(f"{where}: {slot} stands {sentence.count(slot)} times.", "Each slot stands once.")
    if other := _OTHER_SLOT.search(sentence):
        raise PoolError(f"{where}: nothing fills {other.group()}.", "The slots are [X] and [Y].")
    if len(sentence) > LONGEST:
        raise PoolError(f"{where}: the sentence is longer than {LONGEST:,} characters.", "Write a sentence.")
    return sentence


def _sentences(path: Path, relation: str, given: Any, forms: tuple[str, ...]) -> dict[str, str]:
    given = given if isinstance(given, dict) else {}
    sentences: dict[str, str] = {}
    for form in forms:
        where = f"{path.name}, relation {relation!r}, form {form!r}"
        sentences[form] = _sentence(where, given.get(form))
    extra = sorted(set(map(str, given)) - set(forms))
    if extra:
        raise PoolError(f"{path.name}, relation {relation!r}, form {extra[0]!r}: it is not among the pool's forms.")
    return sentences


def _check_negations(path: Path, pool: Pool) -> None:
    """Where a pool names its operators of negation, a denied sentence is its affirmed one with one operator put in."""
    if not pool.operators:
        return
    for relation in pool.relations.values():
        for sentences in (relation.sentences, *relation.strengths.values()):
            for form in (form for form in pool.forms if VARIANTS[form].negated):
                if VARIANTS[form].form not in sentences:
                    where = f"{path.name}, relation {relation.name!r}, form {form!r}"
                    raise PoolError(f"{where}: it denies {VARIANTS[form].form!r}, which is not there.", "Add that form.")
                affirmed, denied = sentences[VARIANTS[form].form], sentences[form]
                if denied not in {affirmed.replace(yes, no, 1) for yes, no in pool.operators if yes in affirmed}:
                    raise PoolError(
                        f"{path.name}, relation {relation.name!r}, form {form!r}: more than the negation differs from "
                        f"form {VARIANTS[form].form!r}.",
                        "Change one operator only, and list it under `operators`.",
                    )


def _check_denials(path: Path, pool: Pool) -> None:
    """No sentence is its own denial: it would be true and false of one fact."""
    for relation in pool.relations.values():
        for sentences in (relation.sentences, *relation.strengths.values()):
            for form in (form for form in pool.forms if VARIANTS[form].negated):
                if sentences[form] == sentences.get(VARIANTS[form].form):
                    raise PoolError(
                        f"{path.name}, relation {relation.name!r}, form {form!r}: it says the same as the form "
                        f"{VARIANTS[form].form!r}.",
                        "Deny it.",
                    )
