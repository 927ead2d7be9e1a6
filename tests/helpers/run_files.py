"""Files of runs: exports, their lines, and altered copies as a stranger makes them."""

from __future__ import annotations

import gzip
import io
import json
import secrets
from collections.abc import Callable, Mapping
from typing import Any

from medfact.exchange import export_run
from medfact.store import Store


def export_run_file(store: Store, run: str) -> bytes:
    """Returns the exported file of a run."""
    file = io.BytesIO()
    export_run(store, run, file)
    return file.getvalue()


def parse_lines(data: bytes) -> list[Any]:
    """Returns the lines of a run's file, parsed."""
    return [json.loads(line) for line in gzip.decompress(data).splitlines()]


def pack_lines(lines: list[Any]) -> bytes:
    """Returns a run's file with these lines."""
    return gzip.compress(b"".join(json.dumps(line).encode() + b"\n" for line in lines))


def alter_run_file(
    data: bytes, spec: Mapping[str, Any], change: Callable[[list[Any]], object] = lambda lines: None, **columns: Any
) -> tuple[str, bytes]:
    """Returns a new id, and a copy of a run's file under it.

    spec: changed fields of its spec; a mapping changes fields within one. columns: changed columns of the run. change: edits
    the lines in place.
    """
    lines = parse_lines(data)
    run = secrets.token_hex(16)
    row = lines[1]["run"]
    row |= columns | {"run": run}
    for name, value in spec.items():
        row["spec"][name] = row["spec"].get(name, {}) | value if isinstance(value, dict) else value
    if "model" in spec:
        row["model"] = spec["model"]
    lines[0]["run"] = run
    change(lines)
    return run, pack_lines(lines)


def remove_answers(lines: list[Any]) -> None:
    """Removes all answers from the lines of a run's file."""
    lines[:] = [line for line in lines if "answer" not in line]
    lines[0]["answers"] = 0
