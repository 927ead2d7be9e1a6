"""The files of a construction: each written whole or not at all, so that a kill at any moment leaves the steps before it."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from medfact.datasets.text import open_text
from medfact.errors import FactsError, Mistake


def write_text(file: Path, text: str) -> None:
    """Replaces a file's text. Raises Mistake where the folder cannot be written."""
    beside = file.with_name(f".{file.name}.part")
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        with beside.open("w", encoding="utf-8", newline="\n") as stream:
            stream.write(text)
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(beside, file)
    except OSError as error:
        raise Mistake(f"{file.name} cannot be written: {error.strerror}.", "Choose another folder, or make room.") from None


def write_lines(file: Path, rows: Iterable[Mapping[str, Any]]) -> None:
    """Replaces a file's rows, one JSON object a line."""
    write_text(file, "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))


def write_json(file: Path, content: Any) -> None:
    """Replaces a file's JSON."""
    write_text(file, json.dumps(content, ensure_ascii=False, indent=2) + "\n")


def read_lines(file: Path) -> list[dict[str, Any]]:
    """The rows of a file, none where it is not there. Raises FactsError, naming the line, where one is not an object."""
    if not file.is_file():
        return []
    rows = []
    with open_text(file) as stream:
        for number, line in enumerate(stream, 1):
            try:
                row = json.loads(line) if line.strip() else None
            except (ValueError, RecursionError):
                row = 0
            if row is not None and not isinstance(row, dict):
                raise FactsError(
                    f"{file.name}, line {number}: this is not a JSON object.", "Mend the line, or delete the file."
                )
            rows += [row] if row is not None else []
    return rows
