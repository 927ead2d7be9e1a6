"""Files of runs as a stranger makes them: exported ones, with other contents."""

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
    """The file of a run."""
    file = io.BytesIO()
    export_run(store, run, file)
    return file.getvalue()


def alter_run_file(
    data: bytes, spec: Mapping[str, Any], change: Callable[[list[Any]], object] = lambda lines: None, **columns: Any
) -> tuple[str, bytes]:
    """A copy of a run's file under a new id, and that id. spec: fields of its spec; a mapping changes fields of what is there.
    columns: of the run itself. change: further changes of its lines.
    """
    lines = [json.loads(line) for line in gzip.decompress(data).splitlines()]
    run = secrets.token_hex(16)
    row = lines[1]["run"]
    row |= columns | {"run": run}
    for name, value in spec.items():
        row["spec"][name] = row["spec"].get(name, {}) | value if isinstance(value, dict) else value
    if "model" in spec:
        row["model"] = spec["model"]
    lines[0]["run"] = run
    change(lines)
    return run, gzip.compress(b"".join(json.dumps(line).encode() + b"\n" for line in lines))


def remove_answers(lines: list[Any]) -> None:
    """Nothing was asked yet."""
    lines[:] = [line for line in lines if "answer" not in line]
    lines[0]["answers"] = 0
