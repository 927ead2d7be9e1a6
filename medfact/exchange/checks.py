"""Checks of the rows in a run's file, which may come from a stranger. They raise ValueError, which names the problem."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

from pydantic import TypeAdapter, ValidationError

from medfact.answers import FORMATS
from medfact.errors import MedfactError
from medfact.exchange.lines import ANSWER, DEMONSTRATION, EVENT, PLACE, RUN, STATEMENT
from medfact.facts import Fact
from medfact.models import is_service
from medfact.models.services.settings import host_of
from medfact.prototypes.pool import READY
from medfact.spec import PROTOCOLS, RETRIEVALS, RunSpec
from medfact.statements import VARIANTS, Statement
from medfact.store.entities import COMPLETE, FAILED_RUN, PAUSED, STOPPED
from medfact.store.schema import FACT_TEXTS

AT_REST = frozenset({COMPLETE, STOPPED, FAILED_RUN, PAUSED})
"""Stored states of a run that is not going on."""

_MAX_MASS = 1.001
"""A sum of probabilities may exceed 1 by a rounding error."""

_MAX_DEPTH = 8
"""Levels of nested lists and objects in a model's decoding settings."""

_MAX_KEY_CHARS = 64
_MAX_GROUP_CHARS = 1_100
"""The names of a relation and a variant."""

_MAX_TEXT_CHARS: dict[str, dict[str, int]] = {
    RUN: {"reason": 5_000, "model": 512, "model_revision": 128, "dataset": 1_000, "dataset_fingerprint": 64, "pool": 1_000}
    | {"name": 500, "note": 10_000},
    STATEMENT: dict.fromkeys(FACT_TEXTS, 10_000) | {"text": 20_000, "origin": 200, "pool": 1_000},
    DEMONSTRATION: {"text": 20_000},
    EVENT: {"said": 5_000},
    ANSWER: {"raw": 1_000_000, "failure": 5_000, "cut": 32, "served_model": 1_000, "fingerprint": 1_000},
}
_MAX_JSON_CHARS = {"spec": 50_000, "versions": 10_000, "notes": 500_000, "decoding": 50_000, "pool_text": 2_000_000}
_SPEC = TypeAdapter(RunSpec)
_RUN_ID = re.compile("[0-9a-f]{32}")
_EVENT_NAME = re.compile("[a-z][a-z -]{0,31}")


def check(kind: str, row: dict[str, Any]) -> None:
    """Checks a row whose columns and types are right already."""
    for name, most in _MAX_TEXT_CHARS.get(kind, {}).items():
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
    try:
        _SPEC.validate_json(json.dumps(spec.to_record()), strict=True)
    except ValidationError as error:
        field = [part for part in error.errors()[0]["loc"] if isinstance(part, str)][-1]
        raise ValueError(f"its spec has a {field} of the wrong kind") from None
    return spec


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
    for name, most in _MAX_JSON_CHARS.items():
        if len(json.dumps(row[name])) > most:
            raise ValueError(f"its {name} is longer than {most:,} characters")
    texts = [*row["notes"], *row["versions"].values()]
    for sentences in (row["pool_text"] or {}).values():
        texts += sentences.values() if isinstance(sentences, dict) else [None]
    if not all(isinstance(text, str) for text in texts):
        raise ValueError("its notes, versions or pool_text are of the wrong kind")
    if not _is_shallow(row["decoding"], _MAX_DEPTH):
        raise ValueError("its decoding is of the wrong kind")


def _is_shallow(value: Any, levels: int) -> bool:
    """Whether lists and objects are nested no deeper than so many levels."""
    inner = list(value.values()) if isinstance(value, dict) else value if isinstance(value, list) else []
    return levels > 0 and all(_is_shallow(one, levels - 1) for one in inner)


def _check_spec(spec: RunSpec) -> None:
    for name, known in (("protocol", PROTOCOLS), ("retrieval", RETRIEVALS), ("question", [None, *FORMATS])):
        if getattr(spec, name) not in known:
            raise ValueError(f"its {name} is none that this medfact knows")
    if is_service(spec.model):
        try:
            host_of(spec.service)
        except MedfactError:
            raise ValueError("the address of its service is none") from None


def _statement(row: dict[str, Any]) -> None:
    """Ids are recomputed from the contents, so that no statement can pass for another."""
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
    ready = [row["text"]] if row["pool"] == READY else []
    facts = [Fact(**texts, positive=row["positive"], k=row["k"], text=text) for text in (None, *ready)]
    fact = next((fact for fact in facts if fact.fact_id == row["fact_id"]), None)
    if fact is None:
        raise ValueError("the id of its fact is another fact's")
    made = Statement(fact, row["pool"], row["variant"], row["text"], row["origin"])
    if made.statement_id != row["statement_id"]:
        raise ValueError("its id is another statement's")


def _place(row: dict[str, Any]) -> None:
    _check_numbers(row, "position", "draw")
    _check_length(row, "shots_of", _MAX_GROUP_CHARS)


def _demonstration(row: dict[str, Any]) -> None:
    _check_numbers(row, "position")
    _check_length(row, "shots_of", _MAX_GROUP_CHARS)


def _event(row: dict[str, Any]) -> None:
    _check_time(row["at"])
    if not _EVENT_NAME.fullmatch(row["what"]):
        raise ValueError("what happened has no name")


def _answer(row: dict[str, Any]) -> None:
    _check_time(row["asked_at"])
    _check_length(row, "key", _MAX_KEY_CHARS)
    _check_numbers(row, "draw", "prompt_tokens", "completion_tokens", "seconds", "attempts")
    for name, most in (("p_true", 1.0), ("p_low", 1.0), ("p_high", 1.0), ("p_mass", _MAX_MASS)):
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
