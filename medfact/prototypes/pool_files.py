"""Reading and validation of pool files (YAML), sentence by sentence."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from medfact.datasets.text import InvalidYaml, read_yaml
from medfact.errors import PoolError
from medfact.facts import name_key
from medfact.prototypes.pool import Pool, RelationPrototypes
from medfact.statements import VARIANTS

MAX_FILE_BYTES = 100 << 10
"""Maximum size of a pool file. The largest bundled one has 19 kB."""

MAX_TEXT_LENGTH, MAX_NOTE_LENGTH = 1_000, 5_000
"""Maximum number of characters of a sentence or name, and of a note."""

_UNKNOWN_SLOT = re.compile(r"\[(?![XY]\])[A-Z]\]")


def read_pool(path: Path, text: str | None = None) -> Pool:
    """Reads a pool file. Raises PoolError, naming file, relation and form, if it breaks a rule.

    Every relation needs a sentence for each form, with both slots once. A negated sentence must differ from its affirmed one,
    and only by one operator of negation if the pool lists these.

    Args:
        text: the content, if the file does not exist yet.
    """
    return build_pool(path, _parse_record(path, _read_text(path) if text is None else text))


def build_pool(path: Path, record: dict[str, Any]) -> Pool:
    """Builds a pool from the parsed YAML of its file, and validates it. Raises PoolError if it breaks a rule."""
    forms = _parse_forms(path, record.get("forms"))
    for switch in ("verbatim", "grammar"):
        if not isinstance(record.get(switch, False), bool):
            raise PoolError(f"{path.name}: `{switch}` is neither true nor false.", "Leave it out.")
    name = _parse_text(path, "name", record.get("name"), path.stem)
    entries = {str(relation): entry for relation, entry in record["relations"].items()}
    withheld = {relation: entry for relation, entry in entries.items() if isinstance(entry, dict) and "withheld" in entry}
    pool = Pool(
        name=name,
        title=_parse_text(path, "title", record.get("title"), path.stem),
        source=_parse_text(path, "source", record.get("source"), path.name),
        verbatim=record.get("verbatim", False),
        notes=_parse_texts(path, "notes", record.get("notes")),
        forms=forms,
        operators=_parse_operators(path, record.get("operators") or []),
        relations={
            r: replace(_parse_relation(path, r, entry, forms, name), grammar=record.get("grammar", False))
            for r, entry in entries.items()
            if r not in withheld
        },
        withheld={
            alias: _parse_text(path, f"withheld of {relation!r}", entry["withheld"], "the pool gives no reason.")
            for relation, entry in withheld.items()
            for alias in (relation, *_parse_texts(path, "aliases", entry.get("aliases")))
        },
        drafted_by=_parse_text(path, "drafted_by", record.get("drafted_by"), ""),
        accepted=_parse_text(path, "accepted", record.get("accepted"), ""),
        extends=_parse_text(path, "extends", record.get("extends"), ""),
    )
    _check_names(path, pool)
    _check_negations(path, pool)
    return pool


def _read_text(path: Path) -> str:
    """Reads a file as UTF-8. Raises PoolError if it is too large or not UTF-8."""
    if path.stat().st_size > MAX_FILE_BYTES:
        raise PoolError(f"{path.name} is larger than {MAX_FILE_BYTES >> 10} kB.", "Leave out relations that are not tested.")
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise PoolError(f"{path.name}: it is not UTF-8 text.", "Save it as UTF-8.") from None


def _parse_record(path: Path, text: str) -> dict[str, Any]:
    """Parses YAML with `relations`."""
    try:
        record = read_yaml(text)
    except InvalidYaml as error:
        where = f", line {error.line}" if error.line else ""
        raise PoolError(f"{path.name}{where}: {error.problem}", error.hint) from None
    if not isinstance(record, dict) or not isinstance(record.get("relations"), dict) or not record["relations"]:
        raise PoolError(f"{path.name}: it has no relations.", "A pool has `forms` and `relations`; see prototypes/.")
    return record


def _parse_forms(path: Path, value: Any) -> tuple[str, ...]:
    """Validates `forms`: keys of variants, each once, and each affirmed one with its negation, if there are several."""
    forms = tuple(map(str, value)) if isinstance(value, list) else ()
    for form in forms or ("(none given)",):
        if form not in VARIANTS:
            raise PoolError(f"{path.name}: the form {form!r} is not known.", f"Forms are: {', '.join(VARIANTS)}.")
        if forms.count(form) > 1:
            raise PoolError(f"{path.name}: the form {form!r} occurs twice.", "Keep one of the two.")
    affirmed = {form for form in forms if not VARIANTS[form].negated}
    without_negation = sorted(affirmed - {VARIANTS[form].form for form in forms if VARIANTS[form].negated})
    if len(affirmed) > 1 and without_negation:
        raise PoolError(
            f"{path.name}: the form {without_negation[0]!r} has no form that denies it.", "Add it to `forms`, with sentences."
        )
    return forms


def _parse_text(path: Path, field: str, value: Any, default: str) -> str:
    """Validates a text field; returns the default if it is missing or empty."""
    if value is None or value == "":
        return default
    if not isinstance(value, str) or len(value) > MAX_TEXT_LENGTH:
        raise PoolError(
            f"{path.name}: `{field}` is not text of up to {MAX_TEXT_LENGTH:,} characters.", "Write it in quotation marks."
        )
    return value


def _parse_texts(path: Path, field: str, value: Any) -> tuple[str, ...]:
    """Validates a field that is a list of texts; a single text counts as a list of one."""
    texts = [] if value is None else value if isinstance(value, list) else [value]
    if not all(isinstance(text, str) and len(text) <= MAX_NOTE_LENGTH for text in texts):
        raise PoolError(
            f"{path.name}: `{field}` holds something other than text of up to {MAX_NOTE_LENGTH:,} characters.",
            "Write a list of texts, in quotation marks.",
        )
    return tuple(texts)


def _parse_operators(path: Path, value: Any) -> tuple[tuple[str, str], ...]:
    """Validates `operators`: pairs of an affirmed and a negated text."""
    for pair in value if isinstance(value, list) else [value]:
        if not isinstance(pair, list) or len(pair) != 2 or not all(isinstance(text, str) for text in pair):
            raise PoolError(
                f"{path.name}: `operators` has an entry that is not a pair of texts.", 'Write each as [" is ", " is not "].'
            )
    return tuple((affirmed, negated) for affirmed, negated in value)


def _parse_relation(path: Path, name: str, entry: Any, forms: tuple[str, ...], pool: str) -> RelationPrototypes:
    """Validates an entry of `relations`. pool: name of the pool."""
    if not isinstance(entry, dict):
        raise PoolError(f"{path.name}, relation {name!r}: it has no sentences.", "Give a sentence for every form.")
    if len(name) > MAX_TEXT_LENGTH:
        raise PoolError(
            f"{path.name}, relation {name[:40]!r}: the name is longer than {MAX_TEXT_LENGTH:,} characters.", "Shorten it."
        )
    strengths = entry.get("strengths") or {}
    if not isinstance(strengths, dict):
        raise PoolError(f"{path.name}, relation {name!r}: `strengths` has no names.", "Write a strength, then its sentences.")
    return RelationPrototypes(
        name=name,
        description=_parse_text(path, "description", entry.get("description"), name),
        head=_parse_text(path, "head", entry.get("head"), "head"),
        tail=_parse_text(path, "tail", entry.get("tail"), "tail"),
        aliases=_parse_texts(path, "aliases", entry.get("aliases")),
        inverse=_parse_texts(path, "inverse", entry.get("inverse")),
        sentences=_parse_sentences(path, name, entry.get("sentences"), forms),
        strengths={str(s): _parse_sentences(path, f"{name} ({s})", of_strength, forms) for s, of_strength in strengths.items()},
        pool=pool,
        defects=_parse_texts(path, "defects", entry.get("defects")),
        mislabelled=_parse_mislabelled(path, name, entry.get("mislabelled"), forms),
    )


def _parse_mislabelled(path: Path, relation: str, value: Any, forms: tuple[str, ...]) -> dict[str, str]:
    """Validates `mislabelled`: form → the reason why its label does not follow from the fact."""
    by_form = value or {}
    if not isinstance(by_form, dict) or not set(by_form) <= set(forms):
        raise PoolError(
            f"{path.name}, relation {relation!r}: `mislabelled` names no forms of the pool.", "Write a form, then why."
        )
    return {form: _parse_text(path, f"mislabelled of {relation!r}", reason, "") for form, reason in by_form.items()}


def _parse_sentences(path: Path, relation: str, value: Any, forms: tuple[str, ...]) -> dict[str, str]:
    """Validates `sentences`: form → prototype, one for each form of the pool."""
    by_form = value if isinstance(value, dict) else {}
    sentences = {form: _validate_sentence(_location(path, relation, form), by_form.get(form)) for form in forms}
    extra = sorted(set(map(str, by_form)) - set(forms))
    if extra:
        raise PoolError(f"{_location(path, relation, extra[0])}: it is not among the pool's forms.")
    return sentences


def _location(path: Path, relation: str, form: str) -> str:
    """Place of a sentence, for a message."""
    return f"{path.name}, relation {relation!r}, form {form!r}"


def prototype_problem(text: str) -> str | None:
    """Message about the first rule that a prototype's text breaks: its slots, its length; None if it breaks none."""
    try:
        _validate_sentence("", text)
    except PoolError as error:
        return error.problem.removeprefix(": ")
    return None


def _validate_sentence(location: str, value: Any) -> str:
    """Returns a prototype with single spaces. Raises PoolError if it is missing, too long, or lacks a slot."""
    if value is not None and not isinstance(value, str):
        raise PoolError(f"{location}: the sentence is not text.", "Write it in quotation marks.")
    sentence = " ".join((value or "").split())
    if not sentence:
        raise PoolError(f"{location}: the sentence is missing.", "Write one.")
    for slot in ("[X]", "[Y]"):
        if sentence.count(slot) != 1:
            raise PoolError(f"{location}: {slot} occurs {sentence.count(slot)} times.", "Each slot must occur once.")
    if other := _UNKNOWN_SLOT.search(sentence):
        raise PoolError(f"{location}: nothing fills {other.group()}.", "The slots are [X] and [Y].")
    if len(sentence) > MAX_TEXT_LENGTH:
        raise PoolError(f"{location}: the sentence is longer than {MAX_TEXT_LENGTH:,} characters.", "Shorten it.")
    return sentence


def _check_names(path: Path, pool: Pool) -> None:
    """Raises PoolError if two relations share a name, or a relation shares one with its inverse."""
    owners: dict[str, tuple[str, bool]] = {}
    for relation in pool.relations.values():
        names = [(name, False) for name in (relation.name, *relation.aliases)] + [(name, True) for name in relation.inverse]
        for name, is_inverse in names:
            other = owners.setdefault(name_key(name), (relation.name, is_inverse))
            location = _location(path, relation.name, pool.forms[0])
            if other[0] != relation.name:
                raise PoolError(
                    f"{location}: the name {name!r} also belongs to {other[0]!r}.", "Give each name to one relation."
                )
            if other[1] is not is_inverse:
                raise PoolError(f"{location}: {name!r} is a name of the relation and of its inverse.", "Take one of them out.")


def _check_negations(path: Path, pool: Pool) -> None:
    """Raises PoolError if a negated sentence equals the affirmed one, or differs by more than one operator of negation."""
    for relation in pool.relations.values():
        for sentences in (relation.sentences, *relation.strengths.values()):
            for form in (form for form in pool.forms if VARIANTS[form].negated):
                location, affirmed_form = _location(path, relation.name, form), VARIANTS[form].form
                affirmed, negated = sentences.get(affirmed_form), sentences[form]
                if affirmed is None and pool.operators:
                    raise PoolError(f"{location}: it denies {affirmed_form!r}, which is not there.", "Add that form.")
                if affirmed is not None and (problem := negation_problem(affirmed, negated, pool.operators)):
                    hint = "Deny it." if negated == affirmed else "Change one operator only, and list it under `operators`."
                    raise PoolError(f"{location}: {problem.format(f'the form {affirmed_form!r}')}", hint)


def problems_by_form(
    sentences: Mapping[str, str],
    forms: Sequence[str],
    operators: Sequence[tuple[str, str]],
    rule: Callable[[str, str], str | None],
) -> dict[str, str]:
    """Validates the prototypes of one relation. Returns form → message about the first rule that its prototype breaks.

    Args:
        sentences: form → prototype.
        operators: as in `Pool`.
        rule: a further check of a form and its prototype, which returns a message, or None for a valid one.
    """
    problems: dict[str, str] = {}
    seen: set[str] = set()
    for form in forms:
        text = sentences.get(form, "")
        affirmed = sentences.get(VARIANTS[form].form) if VARIANTS[form].negated else None
        negation = negation_problem(affirmed, text, operators) if affirmed else None
        problem = prototype_problem(text) or (negation and negation.format("the affirmed sentence")) or rule(form, text)
        if problem or text.casefold() in seen:
            problems[form] = problem or "it is the same as another of its sentences."
        seen.add(text.casefold())
    return problems


def negation_problem(affirmed: str, negated: str, operators: Sequence[tuple[str, str]]) -> str | None:
    """Message about why a sentence is not a valid negation of an affirmed one; None if it is.

    A valid negation differs from the affirmed sentence; if there are `operators`, by exactly one of them. In the message, {}
    stands for the affirmed sentence.
    """
    if negated == affirmed:
        return "it says the same as {}."
    if operators and negated not in {affirmed.replace(yes, no, 1) for yes, no in operators if yes in affirmed}:
        return "it differs from {} by more than the negation."
    return None
