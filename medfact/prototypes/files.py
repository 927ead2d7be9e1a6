"""Pool files: a pool as YAML, read and checked form by form."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from medfact.errors import PoolError
from medfact.facts import name_key
from medfact.prototypes.pool import Pool, RelationPrototypes
from medfact.statements import VARIANTS


def read_pool(path: Path) -> Pool:
    """Reads and checks a pool file: its forms, both slots once in every sentence, and its operators of negation."""
    if path.stat().st_size > LARGEST_BYTES:
        raise PoolError(f"{path.name} is larger than {LARGEST_BYTES >> 10} kB.", "Leave out relations that are not tested.")
    try:
        record = yaml.load(path.read_text(encoding="utf-8"), _Plain)
    except _Refused as error:
        raise PoolError(f"{path.name}, line {error.line}: {error.problem}", error.hint) from None
    except (yaml.YAMLError, ValueError, OverflowError, RecursionError) as error:
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
    if not isinstance(record.get("verbatim", False), bool):
        raise PoolError(f"{path.name}: `verbatim` is neither true nor false.", "Leave it out.")
    name = _text(path, "name", record.get("name"), path.stem)
    withheld = {r: entry for r, entry in record["relations"].items() if isinstance(entry, dict) and "withheld" in entry}
    pool = Pool(
        name=name,
        title=_text(path, "title", record.get("title"), path.stem),
        source=_text(path, "source", record.get("source"), path.name),
        verbatim=record.get("verbatim", False),
        notes=_texts(path, "notes", record.get("notes")),
        forms=forms,
        operators=_operators(path, record.get("operators") or ()),
        relations={
            str(relation): _relation(path, str(relation), entry, forms, name)
            for relation, entry in record["relations"].items()
            if relation not in withheld
        },
        withheld=dict(pair for relation, entry in withheld.items() for pair in _withheld(path, str(relation), entry)),
    )
    _check_names(path, pool)
    _check_negations(path, pool)
    _check_denials(path, pool)
    return pool


LARGEST_BYTES = 100 << 10
"""Of a pool file; the largest of the project's has 19 kB."""


class _Refused(Exception):
    def __init__(self, problem: str, hint: str, mark: Any) -> None:
        super().__init__(problem)
        self.problem, self.hint, self.line = problem, hint, mark.line + 1


class _Plain(yaml.SafeLoader):
    """YAML in which no name stands twice in one place, where the library alone would take the last; and without aliases: a few
    of them, one in the other, say billions of words.
    """

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        if self.check_event(yaml.AliasEvent):
            event: yaml.AliasEvent = self.get_event()  # type: ignore[no-untyped-call]
            raise _Refused(f"*{event.anchor} is an alias.", "Write out what it stands for.", event.start_mark)
        return super().compose_node(parent, index)

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        names: set[str] = set()
        for key, _ in node.value:
            if isinstance(key, yaml.ScalarNode):
                if key.value in names:
                    raise _Refused(f"{key.value!r} stands twice.", "Keep one of the two.", key.start_mark)
                names.add(key.value)
        return super().construct_mapping(node, deep)


_NUMBERS = {
    "tag:yaml.org,2002:int": re.compile(r"[-+]?[0-9]{1,18}\Z"),
    "tag:yaml.org,2002:float": re.compile(r"[-+]?[0-9]{1,18}\.[0-9]{0,18}\Z"),
}
"""What is read as a number: in YAML also 1:1:1…, of base 60, which takes long to read."""

_Plain.yaml_implicit_resolvers = {
    first: [(tag, _NUMBERS.get(tag, pattern)) for tag, pattern in pairs]
    for first, pairs in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


def _text(path: Path, name: str, given: Any, otherwise: str) -> str:
    """A text of a pool; another where there is none."""
    if given is None or given == "":
        return otherwise
    if not isinstance(given, str) or len(given) > LONGEST:
        raise PoolError(f"{path.name}: `{name}` is no text of up to {LONGEST:,} characters.", "Write it in quotation marks.")
    return given


def _texts(path: Path, name: str, given: Any) -> tuple[str, ...]:
    """A list of texts; one text alone is a list of one."""
    listed = [] if given is None else given if isinstance(given, list) else [given]
    if not all(isinstance(text, str) and len(text) <= LONGEST_NOTE for text in listed):
        raise PoolError(f"{path.name}: `{name}` holds something that is no text.", "Write a list of texts, in quotation marks.")
    return tuple(listed)


def _withheld(path: Path, relation: str, entry: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Every name of a relation that the pool does not state, and why not."""
    why = _text(path, f"withheld of {relation!r}", entry["withheld"], "the pool gives no reason.")
    yield from ((name, why) for name in (relation, *_texts(path, "aliases", entry.get("aliases"))))


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
    if not all(isinstance(text, str) for pair in pairs for text in pair):
        raise PoolError(f"{path.name}: `operators` has an entry that is no text.", 'Write each as [" is ", " is not "].')
    return tuple((affirmed, denied) for affirmed, denied in pairs)


def _relation(path: Path, name: str, entry: Any, forms: tuple[str, ...], pool: str) -> RelationPrototypes:
    if not isinstance(entry, dict):
        raise PoolError(f"{path.name}, relation {name!r}: it has no sentences.", "Give a sentence for every form.")
    if len(name) > LONGEST:
        raise PoolError(f"{path.name}, relation {name[:40]!r}: the name is longer than {LONGEST:,} characters.", "Shorten it.")
    strengths = entry.get("strengths") or {}
    if not isinstance(strengths, dict):
        raise PoolError(f"{path.name}, relation {name!r}: `strengths` has no names.", "Write a strength, then its sentences.")
    return RelationPrototypes(
        name=name,
        description=_text(path, "description", entry.get("description"), name),
        head=_text(path, "head", entry.get("head"), "head"),
        tail=_text(path, "tail", entry.get("tail"), "tail"),
        aliases=_texts(path, "aliases", entry.get("aliases")),
        sentences=_sentences(path, name, entry.get("sentences"), forms),
        strengths={str(s): _sentences(path, f"{name} ({s})", given, forms) for s, given in strengths.items()},
        pool=pool,
        defects=_texts(path, "defects", entry.get("defects")),
    )


LONGEST, LONGEST_NOTE = 1_000, 5_000
"""Characters of a sentence, and of a note."""

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
