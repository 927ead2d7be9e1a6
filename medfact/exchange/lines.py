"""The format of a run's file: how lines are written, and the limits, types and checks with which they are read.

A file has one JSON object per line, compressed with gzip: a header, the run, its statements sorted by id, each with its fact,
their places in the run, its demonstrations, the passages retrieved for its statements, its events, its answers sorted by
place, and those after pushes. Null values are left out.
"""

from __future__ import annotations

import gzip
import json
import math
import re
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from itertools import count
from typing import Annotated, Any, BinaryIO, NoReturn

import sqlalchemy as sql
from pydantic import Field, TypeAdapter, ValidationError

from medfact.answers import FORMATS, INSTRUCTIONS
from medfact.datasets.text import one_line, strip_control_characters
from medfact.errors import MedfactError, Mistake
from medfact.facts import Fact
from medfact.models import service_of
from medfact.models.pressure import CONTROL, PRESSURES, ROUNDS
from medfact.models.services.policy import host_of
from medfact.negatives import DIFFICULTIES
from medfact.prototypes.pool import READY
from medfact.setting import as_tuple, describe_number, settings_by_name
from medfact.spec import BOUNDS, RunSpec, bounded_numbers
from medfact.statements import VARIANTS, Statement
from medfact.store import schema
from medfact.store.entities import COMPLETE, DECIDED, FAILED_RUN, PAUSED, STOPPED
from medfact.store.schema import FACT_TEXTS, storable

FORMAT = 1
"""The number of a file's format. It grows when an older medfact would read a file wrongly; a column of facts that is not known
to it is refused in any case.
"""

MAX_LINE_BYTES = 4 << 20
MAX_BYTES = 1 << 30
"""Limits of a line and of all lines unpacked: a larger file is no run, or was made to fill the memory."""

_FREE_BYTES, _MAX_UNPACKING = 8 << 20, 40
"""Bytes that any file may unpack to, and how many more per packed byte: files of runs unpack to five or ten."""

_NUMBER_LIMIT = 2**31
"""What the databases' integers hold."""

FILE = "medfact run"
"""The first name in a file, by which it is known; its value is the number of the format."""

EXPORT_AGAIN = "Export the run again, or get the file again."

RUN, STATEMENT, PLACE, DEMONSTRATION, RETRIEVED = "run", "statement", "place", "demonstration", "retrieved"
EVENT, ANSWER, PUSH = "event", "answer", "push"

STATED = {column.name: column for column in (*schema.statements.c, *schema.facts.c) if column.name != "record"}
"""The columns of a statement's line: its own and its fact's."""

TABLES = {
    RUN: schema.runs,
    STATEMENT: sql.Table(
        "statements", sql.MetaData(), *(sql.Column(one.name, one.type, nullable=one.nullable) for one in STATED.values())
    ),
    PLACE: schema.run_statements,
    DEMONSTRATION: schema.demonstrations,
    RETRIEVED: schema.retrieved,
    EVENT: schema.events,
    ANSWER: schema.answers,
    PUSH: schema.pushes,
}
"""Kind of a line → the table whose rows they hold, in the order of the file; of statements, with their facts."""

COUNTED = {
    STATEMENT: "statements", PLACE: "places", DEMONSTRATION: "demonstrations", RETRIEVED: "retrieved", ANSWER: "answers",
    PUSH: "pushes",
}  # fmt: skip
"""Kind → its name in the header, which counts its lines. Events are not counted: an imported run has one more."""

_LOCAL = {
    RUN: {"number", "owner", "changed", "worker", "beat_at", "deleted_at"},
    PLACE: {"run", "fact"},
    DEMONSTRATION: {"run"},
    RETRIEVED: {"run", "gold"},
    EVENT: {"run", "number"},
    ANSWER: {"run", "position", "batch"},
    PUSH: {"run", "position"},
}
"""Columns that belong to one database or can be derived, and are left out."""

COLUMNS: dict[str, dict[str, sql.Column[Any]]] = {
    kind: {column.name: column for column in table.c if column.name not in _LOCAL.get(kind, ())}
    for kind, table in TABLES.items()
}

JSON_COLUMNS: dict[str, type] = {
    "spec": dict, "versions": dict, "notes": list, "decoding": dict, "pool_text": dict, "population": dict,
}  # fmt: skip
"""Columns of a run that hold JSON, with the type of its value; the file holds the value itself."""


_TYPES = {
    kind: {name: (JSON_COLUMNS if kind == RUN else {}).get(name, column.type.python_type) for name, column in columns.items()}
    for kind, columns in COLUMNS.items()
}
_VERBATIM = {
    STATEMENT: {
        "head", "relation", "tail", "head_id", "tail_id", "source_id", "region", "population", "pool", "text", "origin",
    },
    DEMONSTRATION: {"shots_of", "text"},
    PLACE: {"shots_of"},
    RETRIEVED: {"passages"},
    ANSWER: {"raw", "stated"},
    PUSH: {"raw", "stated"},
}  # fmt: skip
"""Texts that ids are made of, and those that a model was shown or has said."""

_LINES = {"note", "notes", "reason", "said", "failure", "source", "specialty", "strength", "head_type", "tail_type"}
"""Texts that may have several lines. Any other is on one, and no text has characters that a terminal obeys."""

_REQUIRED = {kind: [name for name, column in columns.items() if not column.nullable] for kind, columns in COLUMNS.items()}


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a file. row: a value, or None, for each column of its kind."""

    number: int
    bytes: int
    kind: str
    row: dict[str, Any]


def encode_row(kind: str, row: Mapping[str, Any]) -> bytes:
    """A row as a line, without nulls, NaN and infinity."""
    values = {name: row[name] for name in COLUMNS[kind] if row[name] is not None}
    return _json({kind: {name: value for name, value in values.items() if type(value) is not float or math.isfinite(value)}})


def encode_header(run: str, counts: Mapping[str, int]) -> bytes:
    """The first line of a file. counts: kind → its number of lines."""
    return _json({FILE: FORMAT, "run": run, **{COUNTED[kind]: number for kind, number in counts.items()}})


def _json(content: Mapping[str, Any]) -> bytes:
    return _ENCODER.encode(content).encode() + b"\n"


_ENCODER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False)


# ---------------------------------------------------------------------------------------------- reading


def read_lines(file: BinaryIO, name: str, max_bytes: int = MAX_BYTES) -> tuple[dict[str, Any], Iterator[Line]]:
    """The header of a run's file, and an iterator that reads its other lines.

    Raises Mistake if the file holds no run, is damaged, exceeds a limit (`max_bytes` unpacked, for one), or has lines of wrong
    kinds, order, columns or types.
    """
    objects = _objects(file, name, max_bytes)
    header = next(objects, (1, 0, {}))[2]
    if header.get("medfact") == "run":
        raise Mistake(f"{name} was made by a development version before 1.0: ask its model again with this version.")
    if not isinstance(header.get(FILE), int):
        raise Mistake(f"{name} is not a run that medfact exported.", "Choose a file that `medfact export` wrote.")
    if header[FILE] > FORMAT:
        raise Mistake(f"{name} was written by a newer medfact.", "Update medfact, then import it.")
    return header, _lines(objects, name)


def _lines(objects: Iterator[tuple[int, int, dict[str, Any]]], name: str) -> Iterator[Line]:
    order = list(TABLES)
    previous = 0
    for number, size, content in objects:
        try:
            kind, row = _kind_and_row(content)
            if order.index(kind) < previous:
                raise ValueError(f"a line of the kind {kind} stands too late")
            previous = order.index(kind)
            yield Line(number, size, kind, _complete_row(kind, row))
        except ValueError as error:
            raise Mistake(f"{name}, line {number}: {error}.", EXPORT_AGAIN) from None


def _kind_and_row(content: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    kind, row = next(iter(content.items()), ("", None))
    if len(content) != 1 or kind not in TABLES or not isinstance(row, dict):
        raise ValueError(f"{kind[:40]!r} is nothing that a run has")
    return kind, row


def _objects(file: BinaryIO, name: str, max_bytes: int) -> Iterator[tuple[int, int, dict[str, Any]]]:
    """The JSON objects of a compressed file, each after the number and the bytes of its line."""
    total, start = 0, file.tell()
    with gzip.GzipFile(fileobj=file, mode="rb") as unpacked:
        for number in count(1):
            text = _next_line(unpacked, number, name)
            total += len(text)
            if not text:
                return
            # counts the packed bytes read so far: anything may follow the packed data in the file
            if total > (most := min(max_bytes, _FREE_BYTES + _MAX_UNPACKING * (file.tell() - start))):
                raise Mistake(f"{name} unpacks to more than {most >> 20:,} MB.", "That is no run: check where it came from.")
            try:
                yield number, len(text), _object(text)
            except ValueError as error:
                raise Mistake(f"{name}, line {number}: {error}.", EXPORT_AGAIN) from None


def _next_line(unpacked: gzip.GzipFile, number: int, name: str) -> bytes:
    try:
        return unpacked.readline(MAX_LINE_BYTES + 1)
    except EOFError:
        raise Mistake(f"{name} is cut off in line {number}.", EXPORT_AGAIN) from None
    except (gzip.BadGzipFile, zlib.error):
        if number == 1:
            raise Mistake(f"{name} is not a run that medfact exported.", "Choose a file that `medfact export` wrote.") from None
        raise Mistake(f"{name} is damaged in line {number}.", EXPORT_AGAIN) from None
    except OSError as error:
        raise Mistake(f"{name} cannot be read: {error.strerror}.", "Choose another file.") from None


def _object(text: bytes) -> dict[str, Any]:
    if len(text) > MAX_LINE_BYTES:
        raise ValueError(f"it is longer than {MAX_LINE_BYTES >> 20} MB")
    if not text.endswith(b"\n"):
        raise ValueError("it is cut off")
    try:
        content = _DECODER.decode(text.decode())
    except (ValueError, RecursionError):
        raise ValueError("it is not JSON") from None
    if not isinstance(content, dict):
        raise ValueError("it is not an object")
    return content


def _no_number(text: str) -> NoReturn:
    raise ValueError(f"{text} is no number")


_DECODER = json.JSONDecoder(parse_constant=_no_number)


def _complete_row(kind: str, row: dict[str, Any]) -> dict[str, Any]:
    """A row with a value, or None, for each column of its kind. Raises ValueError if a column or a type is wrong."""
    columns = COLUMNS[kind]
    complete: dict[str, Any] = dict.fromkeys(columns)
    for name, value in row.items():
        if name not in columns:
            raise ValueError(f"this medfact knows no column {name[:40]!r} of the {kind}")
        plain = (
            value
            if name in _VERBATIM.get(kind, ())
            else _plain(value, strip_control_characters if name in _LINES else one_line)
        )
        complete[name] = None if value is None else _value(name, plain, _TYPES[kind][name])
    for name in _REQUIRED[kind]:
        if complete[name] is None:
            raise ValueError(f"its {name} is missing")
    return complete


def _plain(value: Any, clean: Callable[[str], str]) -> Any:
    """A value whose texts are clean, those within it, too."""
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, dict):
        return {clean(name): _plain(one, clean) for name, one in value.items()}
    return [_plain(one, clean) for one in value] if isinstance(value, list) else value


def _value(name: str, value: Any, expected: type) -> Any:
    kind = type(value)
    if kind is not expected and (kind, expected) != (int, float):
        raise ValueError(f"its {name} is of the wrong kind")
    if kind is str:
        return storable(value)
    if kind in (int, float) and not abs(value) < _NUMBER_LIMIT:  # excludes infinity, as which 1e999 is read
        raise ValueError(f"its {name} is out of range")
    return float(value) if expected is float else value


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
    "passages": 1_000_000, "stated": 1_000, "upstream": 1_000,
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
_AMOUNTS = {
    "shots", "facts", "position", "draw", "prompt_tokens", "completion_tokens", "reasoning_tokens", "seconds", "attempts",
}  # fmt: skip

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
    declared = {name: one.choices for name, one in settings_by_name(spec).items() if one.choices}
    for name, known in ({**declared, "question": FORMATS, "task": INSTRUCTIONS}).items():
        if any(value not in known for value in as_tuple(getattr(spec, name))):
            raise ValueError(f"its {name} is none that this medfact knows")
    for path, value in bounded_numbers(spec):
        if not BOUNDS[path].contains(value):
            least, most, _ = BOUNDS[path]
            name = path.partition(".")[2]
            raise ValueError(
                f"its {name} {'are' if name.endswith('s') else 'is'} not {describe_number(least)} to {describe_number(most)}"
            )
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
        fact = fact.with_ready_sentence(row["text"])
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


def _push(row: dict[str, Any]) -> None:
    _answer(row)
    if row["kind"] not in (CONTROL, *PRESSURES) or not 1 <= row["round"] <= ROUNDS:
        raise ValueError("there is no such push")


_CHECKS: dict[str, Callable[[dict[str, Any]], None]] = {
    RUN: _run,
    STATEMENT: _statement,
    RETRIEVED: _retrieved,
    EVENT: _event,
    ANSWER: _answer,
    PUSH: _push,
}
