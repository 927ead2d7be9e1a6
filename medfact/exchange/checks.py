"""What the lines of a run's file may say, which may come from a stranger. All checks raise ValueError, saying what is wrong."""

from __future__ import annotations

import json
import re
import typing
from collections.abc import Callable, Mapping
from dataclasses import fields
from datetime import datetime
from types import NoneType
from typing import Any

from medfact.answers import FORMATS
from medfact.errors import MedfactError
from medfact.exchange.lines import ANSWER, DEMONSTRATION, EVENT, PLACE, RUN, STATEMENT
from medfact.facts import Fact
from medfact.models import is_service
from medfact.models.services.policy import host_of
from medfact.prototypes.pool import READY
from medfact.spec import PROTOCOLS, RunSpec
from medfact.statements import VARIANTS, Statement
from medfact.store.records import COMPLETE, FAILED_RUN, PAUSED, STOPPED
from medfact.store.tables import FACT_TEXTS

AT_REST = frozenset({COMPLETE, STOPPED, FAILED_RUN, PAUSED})
"""States of a run that nobody asks."""

MOST_MASS = 1.001
"""Probabilities that were added up may be a little more than 1."""

DEEPEST = 8
"""Levels of lists and objects in what is recorded of a model's decoding."""

LONGEST_KEY = 64
LONGEST_GROUP = 1_100
"""Characters: a relation's name and a variant's."""

LONGEST_TEXTS: dict[str, dict[str, int]] = {
    RUN: {"reason": 5_000, "model": 512, "model_revision": 128, "dataset": 1_000, "dataset_fingerprint": 64, "pool": 1_000}
    | {"name": 500, "note": 10_000},
    STATEMENT: dict.fromkeys(FACT_TEXTS, 10_000) | {"text": 20_000, "origin": 200, "pool": 1_000},
    DEMONSTRATION: {"text": 20_000},
    EVENT: {"said": 5_000},
    ANSWER: {"raw": 1_000_000, "failure": 5_000, "cut": 32, "served_model": 1_000, "fingerprint": 1_000},
}
"""Characters that a line's texts may have."""

LONGEST_RECORDS = {"spec": 50_000, "versions": 10_000, "notes": 500_000, "decoding": 50_000, "pool_text": 2_000_000}
"""Characters of what is recorded of a run as JSON."""

_RUN_ID = re.compile("[0-9a-f]{32}")
_WHAT = re.compile("[a-z][a-z -]{0,31}")


def check(kind: str, row: dict[str, Any]) -> None:
    """Checks a row whose columns and types are right."""
    for name, most in LONGEST_TEXTS.get(kind, {}).items():
        if row[name] is not None and len(row[name]) > most:
            raise ValueError(f"its {name} is longer than {most:,} characters")
    _CHECKS[kind](row)


def spec_in(row: Mapping[str, Any]) -> RunSpec:
    """The spec of a run's row."""
    record = row["spec"]
    try:
        spec = RunSpec.from_record(record)
    except (MedfactError, TypeError, ValueError, AttributeError, KeyError):
        raise ValueError("its spec is none that this medfact knows") from None
    if spec.service.key is not None:
        raise ValueError("its spec holds a key")
    _check_types(spec)
    _check_types(spec.service)
    _check_types(spec.placement)
    return spec


def _check_types(record: Any) -> None:
    hints = typing.get_type_hints(type(record))
    for f in fields(record):
        if not _is(getattr(record, f.name), hints[f.name]):
            raise ValueError(f"its spec has a {f.name} of the wrong kind")


def _is(value: object, hint: Any) -> bool:
    """Whether a value is of a type as records write it: a class, a union of some, or a tuple of any length or of pairs."""
    inner = typing.get_args(hint)
    if typing.get_origin(hint) is tuple:
        kinds = inner[:1] * len(value) if isinstance(value, tuple) and inner[1:] == (...,) else inner
        return isinstance(value, tuple) and len(value) == len(kinds) and all(map(_is, value, kinds))
    if inner:
        return any(_is(value, one) for one in inner)
    return type(value) is (hint or NoneType) or (hint is float and type(value) is int)


def _run(row: dict[str, Any]) -> None:
    if not _RUN_ID.fullmatch(row["run"]):
        raise ValueError("its id is no run's")
    if row["state"] not in AT_REST:
        raise ValueError(f"its state is {row['state'][:40]!r}")
    _check_time(row["started_at"])
    if row["finished_at"] is not None:
        _check_time(row["finished_at"])
    _check_numbers(row, "shots", "facts")
    if row["statements"] < 1:
        raise ValueError("it asks nothing")
    _check_records(row)
    spec = spec_in(row)
    if spec.model != row["model"]:
        raise ValueError("its spec is of another model")
    _check_spec(spec)


def _check_records(row: dict[str, Any]) -> None:
    for name, most in LONGEST_RECORDS.items():
        if len(json.dumps(row[name])) > most:
            raise ValueError(f"its {name} is longer than {most:,} characters")
    texts = [*row["notes"], *row["versions"].values()]
    for said in (row["pool_text"] or {}).values():
        texts += said.values() if isinstance(said, dict) else [None]
    if not all(isinstance(text, str) for text in texts):
        raise ValueError("its notes, versions or pool_text are of the wrong kind")
    if not _is_flat(row["decoding"], DEEPEST):
        raise ValueError("its decoding is of the wrong kind")


def _is_flat(value: Any, levels: int) -> bool:
    """Whether lists and objects stand in each other no deeper than that."""
    inner = list(value.values()) if isinstance(value, dict) else value if isinstance(value, list) else []
    return levels > 0 and all(_is_flat(one, levels - 1) for one in inner)


def _check_spec(spec: RunSpec) -> None:
    for name, known in (("protocol", PROTOCOLS), ("retrieval", [RunSpec.retrieval]), ("question", [None, *FORMATS])):
        if getattr(spec, name) not in known:
            raise ValueError(f"its {name} is none that this medfact knows")
    if is_service(spec.model):
        try:
            host_of(spec.service)
        except MedfactError:
            raise ValueError("the address of its service is none") from None


def _statement(row: dict[str, Any]) -> None:
    """Ids are hashes of what they name: so a statement cannot pass for another."""
    if row["variant"] not in VARIANTS:
        raise ValueError(f"there is no variant {row['variant']!r}")
    negative = row["negative_of"] is not None
    if negative and row["positive"]:
        raise ValueError("its fact is the negative of another, and positive")
    if (row["k"] >= 1) is not negative:
        raise ValueError("its k does not fit its fact")
    if row["tail"] is None and row["pool"] != READY:
        raise ValueError("its tail is missing")
    texts = {name: row[name] for name in FACT_TEXTS if name != "fact_id"}
    fact = Fact(**texts, positive=row["positive"], k=row["k"])
    if row["pool"] == READY and fact.fact_id != row["fact_id"]:
        fact = fact.stated_as(row["text"])
    if fact.fact_id != row["fact_id"]:
        raise ValueError("the id of its fact is another fact's")
    made = Statement(fact, row["pool"], row["variant"], row["text"], row["origin"])
    if made.statement_id != row["statement_id"]:
        raise ValueError("its id is another statement's")


def _place(row: dict[str, Any]) -> None:
    _check_numbers(row, "position", "draw")
    _check_length(row, "shots_of", LONGEST_GROUP)


def _demonstration(row: dict[str, Any]) -> None:
    _check_numbers(row, "position")
    _check_length(row, "shots_of", LONGEST_GROUP)


def _event(row: dict[str, Any]) -> None:
    _check_time(row["at"])
    if not _WHAT.fullmatch(row["what"]):
        raise ValueError("what happened has no name")


def _answer(row: dict[str, Any]) -> None:
    _check_time(row["asked_at"])
    _check_length(row, "key", LONGEST_KEY)
    _check_numbers(row, "draw", "prompt_tokens", "completion_tokens", "seconds", "attempts")
    for name, most in (("p_true", 1.0), ("p_low", 1.0), ("p_high", 1.0), ("p_mass", MOST_MASS)):
        if row[name] is not None and not 0 <= row[name] <= most:
            raise ValueError(f"its {name} is no probability")
    if row["failure"] is not None and row["answer"] is not None:
        raise ValueError("its call failed, and it has an answer")


def _check_time(text: str) -> None:
    try:
        if len(text) <= 32 and datetime.fromisoformat(text).tzinfo is not None:
            return
    except ValueError:
        pass
    raise ValueError(f"{text[:40]!r} is no time")


def _check_numbers(row: Mapping[str, Any], *names: str) -> None:
    for name in names:
        if row[name] is not None and row[name] < 0:
            raise ValueError(f"its {name} is less than 0")


def _check_length(row: Mapping[str, Any], name: str, most: int) -> None:
    if len(row[name]) > most:
        raise ValueError(f"its {name} is longer than {most} characters")


_CHECKS: dict[str, Callable[[dict[str, Any]], None]] = {
    RUN: _run,
    STATEMENT: _statement,
    PLACE: _place,
    DEMONSTRATION: _demonstration,
    EVENT: _event,
    ANSWER: _answer,
}
