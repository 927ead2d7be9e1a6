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
    """Returns the content of the exported file of a run. run: its id."""
    file = io.BytesIO()
    export_run(store, run, file)
    return file.getvalue()


def parse_lines(data: bytes) -> list[Any]:
    """Decompresses the content of a run's file (gzip) and returns its lines, each parsed from JSON. Inverse of `pack_lines`."""
    return [json.loads(line) for line in gzip.decompress(data).splitlines()]


def pack_lines(lines: list[Any]) -> bytes:
    """Writes each value as a line of JSON, and returns the compressed content (gzip) of a run's file with these lines."""
    return gzip.compress(b"".join(json.dumps(line).encode() + b"\n" for line in lines))


def alter_run_file(
    data: bytes, spec: Mapping[str, Any], change: Callable[[list[Any]], object] = lambda lines: None, **columns: Any
) -> tuple[str, bytes]:
    """Copies the content of a run's file under a new run id, with changes; returns the id and the copy.

    spec: fields to set in the run's spec; a mapping is merged into a field. columns: columns to set in the row of the run.
    change: edits the list of parsed lines in place, after all other changes.
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
    """Deletes, in place, the lines with answers from the parsed lines of a run's file; sets the count in the header to 0."""
    lines[:] = [line for line in lines if "answer" not in line]
    lines[0]["answers"] = 0
