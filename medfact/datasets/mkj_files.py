"""The files of MKJ as published: which of them a path holds, and their JSON or Arrow content."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from medfact.datasets.text import open_text
from medfact.errors import FactsError

DATA = "data.json"
TRIPLETS = "triplets_collection.json"
TYPES = "semantic_to_entity.json"
TEMPLATES = "templates.json"
SLOTS = {"{subject}": "[X]", "{object}": "[Y]"}
"""The slots of MKJ's templates, and ours."""

_ARROW = "data*.arrow"
_STATEMENT_COLUMNS = frozenset({"original_triplet", "pos_qa", "neg_qa"})
_DEPTHS = ("", "*/", "*/*/", "*/*/*/")
"""The published repository keeps `data/hf_dataset/`, which may hold one folder per split."""


def is_mkj(path: Path) -> bool:
    """Whether this is MKJ as published: one of its files, or a folder with some of them. Never raises."""
    if path.is_dir():
        files = files_by_name(path)
        return any(_published_name(file) == name for name in (DATA, TRIPLETS) for file in files[name])
    return path.suffix.lower() in {".json", ".arrow"} and path.is_file() and bool(_published_name(path))


def files_by_name(path: Path) -> Mapping[str, list[Path]]:
    """Published name → a folder's files of that name; or only the path itself, if it is a file.

    Like the published repository, a folder may keep its files in another folder. The Arrow form counts as `data.json`.
    """
    if not path.is_dir():
        return defaultdict(list, {_published_name(path) or DATA: [path]})
    files = {name: _matching(path, name, _DEPTHS[:2]) for name in (DATA, TRIPLETS, TYPES, TEMPLATES)}
    return {**files, DATA: [*files[DATA], *filter(_holds_statements, _matching(path, _ARROW, _DEPTHS))]}


def _matching(folder: Path, pattern: str, depths: Sequence[str]) -> list[Path]:
    return sorted(file for depth in depths for file in folder.glob(depth + pattern) if file.is_file())


def _published_name(file: Path) -> str:
    """The published name of a file with this content, or "". A broken file keeps its own name."""
    if file.suffix.lower() == ".arrow":
        return DATA if _holds_statements(file) else ""
    try:
        content = _read_json(file)
    except (FactsError, OSError):
        return file.name if file.name in (DATA, TRIPLETS, TYPES, TEMPLATES) else ""
    if isinstance(content, list):
        keys = {key for entry in content if isinstance(entry, dict) for key in entry}
        return DATA if keys >= _STATEMENT_COLUMNS else TRIPLETS if "triplet" in keys else ""
    if not isinstance(content, dict):
        return ""
    if any(isinstance(sentence, str) and any(slot in sentence for slot in SLOTS) for sentence in content.values()):
        return TEMPLATES
    # Lists of names under keys could be anything; only the published name tells.
    return TYPES if file.name == TYPES else ""


def read_list(file: Path) -> list[Any]:
    """The entries of a JSON list or an Arrow table. Raises FactsError, naming file and line, where there are none."""
    if file.suffix.lower() == ".arrow":
        return _read_arrow(file)
    content = _read_json(file)
    if not isinstance(content, list):
        raise FactsError(f"{file.name}, line 1: it must be a list of objects, in [ and ].", "Choose the file as published.")
    return content


def read_object(file: Path) -> dict[str, Any]:
    """A JSON object. Raises FactsError, naming file and line, where the file holds something else."""
    content = _read_json(file)
    if not isinstance(content, dict):
        raise FactsError(f"{file.name}, line 1: it must be one object, in {{ and }}.", "Choose the file as published.")
    return content


def _read_json(file: Path) -> Any:
    try:
        with open_text(file) as stream:
            return json.load(stream)
    except json.JSONDecodeError as error:
        raise FactsError(
            f"{file.name}, line {error.lineno}: this is not valid JSON ({error.msg}).",
            "Correct it, or download the file again.",
        ) from None
    except (ValueError, RecursionError):
        raise FactsError(
            f"{file.name}, from line 1: numbers are too long or brackets too deep to read.", "Download the file again."
        ) from None


def _holds_statements(file: Path) -> bool:
    import pyarrow

    try:
        with file.open("rb") as data, pyarrow.ipc.open_stream(data) as reader:
            return set(reader.schema.names) >= _STATEMENT_COLUMNS
    except (pyarrow.ArrowException, OSError):
        return False


def _read_arrow(file: Path) -> list[Any]:
    import pyarrow

    try:
        with file.open("rb") as data, pyarrow.ipc.open_stream(data) as reader:
            return [entry for batch in reader for entry in batch.to_pylist()]
    except (pyarrow.ArrowException, OSError, ValueError):
        raise FactsError(f"{file.name} is damaged, or not an Arrow file.", "Save the data set again.") from None
