"""Checks of the rows in a run's file, which may come from a stranger. They raise ValueError, which names the problem."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Annotated, Any

from pydantic import Field, TypeAdapter, ValidationError

from medfact.answers import FORMATS, INSTRUCTIONS
from medfact.errors import MedfactError
from medfact.exchange.lines import ANSWER, EVENT, RETRIEVED, RUN, STATEMENT
from medfact.facts import Fact
from medfact.models import service_of
from medfact.models.services.policy import host_of
from medfact.negatives import DIFFICULTIES
from medfact.prototypes.pool import READY
from medfact.setting import in_words, settings_in
from medfact.spec import BOUNDS, RunSpec, numbers_of
from medfact.statements import VARIANTS, Statement
from medfact.store.entities import COMPLETE, DECIDED, FAILED_RUN, PAUSED, STOPPED
from medfact.store.schema import FACT_TEXTS

AT_REST = frozenset({COMPLETE, DECIDED, STOPPED, FAILED_RUN, PAUSED})
"""Stored states of a run that is not going on."""

_MAX_PASSAGES = 100
"""Of one statement."""

_MAX_DEPTH = 8
"""Levels of nested lists and objects in a model's decoding settings."""

_MAX_CHARS = {
    **dict.fromkeys(FACT_TEXTS, 10_000), "text": 20_000, "origin": 200, "pool": 1_000, "model": 512, "model_revision": 128,
    "dataset": 1_000, "dataset_fingerprint": 64, "name": 500, "note": 10_000, "reason": 5_000, "said": 5_000, "shots_of": 1_100,
    "key": 64, "raw": 1_000_000, "failure": 5_000, "cut": 32, "served_model": 1_000, "fingerprint": 1_000,
    "passages": 1_000_000,
}  # fmt: skip
_MAX_JSON_CHARS = {
    "spec": 50_000,
    "versions": 10_000,
    "notes": 500_000,
    "decoding": 50_000,
    "pool_text": 2_000_000,
    "population": 500_000,
}
_MAX_PROBABILITY = {"p_true": 1.0, "p_low": 1.0, "p_high": 1.0, "p_mass": 1.001}  # a sum may exceed 1 by a rounding error
_TIMES = {"started_at", "finished_at", "at", "asked_at"}
_AMOUNTS = {"shots", "facts", "position", "draw", "prompt_tokens", "completion_tokens", "seconds", "attempts"}

_SPEC = TypeAdapter(RunSpec)
_PASSAGES: Any = TypeAdapter(
    Annotated[list[tuple[str, str, Annotated[float, Field(allow_inf_nan=False)], bool]], Field(max_length=_MAX_PASSAGES)]
)
_RUN_ID = re.compile("[0-9a-f]{32}")
_EVENT_NAME = re.compile("[a-z][a-z -]{0,31}")


def check(kind: str, row: dict[str, Any]) -> None:
    """Checks a row whose columns and types are right already."""
    for name, value in row.items():
        if value is not None:
            _check_value(name, value)
    if kind in _CHECKS:
        _CHECKS[kind](row)


def _check_value(name: str, value: Any) -> None:
    if name in _MAX_CHARS and len(value) > _MAX_CHARS[name]:
        raise ValueError(f"its {name} is longer than {_MAX_CHARS[name]:,} characters")
    if name in _AMOUNTS and value < 0:
        raise ValueError(f"its {name} is less than 0")
    if name in _MAX_PROBABILITY and not 0 <= value <= _MAX_PROBABILITY[name]:
        raise ValueError(f"its {name} is no probability")
    if name in _TIMES and not _is_time(value):
        raise ValueError(f"{value[:40]!r} is no time")


def _is_time(text: str) -> bool:
    try:
        return len(text) <= 32 and datetime.fromisoformat(text).tzinfo is not None
    except ValueError:
        return False


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
    if row["statements"] < 1:
        raise ValueError("it asks nothing")
    _check_json(row)
    spec = spec_in(row)
    if spec.model != row["model"]:
        raise ValueError("its spec is of another model")
    _check_spec(spec)


def _check_json(row: dict[str, Any]) -> None:
    for name, most in _MAX_JSON_CHARS.items():
        if len(json.dumps(row[name])) > most:
            raise ValueError(f"its {name} is longer than {most:,} characters")
    texts = [*row["notes"], *row["versions"].values()]
    for sentences in (row["pool_text"] or {}).values():
        texts += sentences.values() if isinstance(sentences, dict) else [None]
    if not all(isinstance(text, str) for text in texts):
        raise ValueError("its notes, versions or pool_text are of the wrong kind")
    for number in (row["population"] or {}).values():
        if type(number) is not int or not 0 < number < 2**53:
            raise ValueError("its population is of the wrong kind")
    if not _is_shallow(row["decoding"], _MAX_DEPTH):
        raise ValueError("its decoding is of the wrong kind")


def _is_shallow(value: Any, levels: int) -> bool:
    """Whether lists and objects are nested no deeper than so many levels."""
    inner = list(value.values()) if isinstance(value, dict) else value if isinstance(value, list) else []
    return levels > 0 and all(_is_shallow(one, levels - 1) for one in inner)


def _check_spec(spec: RunSpec) -> None:
    declared = {name: one.choices for name, one in settings_in(spec).items() if one.choices}
    for name, known in ({**declared, "question": FORMATS, "task": INSTRUCTIONS}).items():
        if (value := getattr(spec, name)) is not None and value not in known:
            raise ValueError(f"its {name} is none that this medfact knows")
    for path, value in numbers_of(spec):
        if not BOUNDS[path].hold(value):
            least, most, _ = BOUNDS[path]
            name = path.partition(".")[2]
            raise ValueError(f"its {name} {'are' if name.endswith('s') else 'is'} not {in_words(least)} to {in_words(most)}")
    if (service := service_of(spec.model, spec.service)) is not None:
        try:
            host_of(service)
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
    if row["difficulty"] not in (None, *DIFFICULTIES):
        raise ValueError("the difficulty of its fact is none that this medfact knows")
    texts = {name: row[name] for name in FACT_TEXTS if name != "fact_id"}
    fact = Fact(**texts, positive=row["positive"], k=row["k"])
    if row["pool"] == READY and fact.fact_id != row["fact_id"]:
        fact = fact.stated_as(row["text"])
    if fact.fact_id != row["fact_id"]:
        raise ValueError("the id of its fact is another fact's")
    made = Statement(fact, row["pool"], row["variant"], row["text"], row["origin"])
    if made.statement_id != row["statement_id"]:
        raise ValueError("its id is another statement's")


def _retrieved(row: dict[str, Any]) -> None:
    """A list, not too long, of [text, source, score, gold]."""
    try:
        _PASSAGES.validate_json(row["passages"], strict=True)
    except ValidationError:
        raise ValueError("its passages are of the wrong kind") from None


def _event(row: dict[str, Any]) -> None:
    if not _EVENT_NAME.fullmatch(row["what"]):
        raise ValueError("what happened has no name")


def _answer(row: dict[str, Any]) -> None:
    if row["failure"] is not None and row["answer"] is not None:
        raise ValueError("its call failed, and it has an answer")


_CHECKS: dict[str, Callable[[dict[str, Any]], None]] = {
    RUN: _run,
    STATEMENT: _statement,
    RETRIEVED: _retrieved,
    EVENT: _event,
    ANSWER: _answer,
}
