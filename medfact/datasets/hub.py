"""Data sets of the Hugging Face hub, by name or from a folder, loaded with its own library.

`hf:FOLDER` or `hf:NAME`, optionally with `:CONFIG`, `/SPLIT` and `@REVISION`: `hf:owner/name:config/test@v1`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from medfact.datasets.cells import as_text
from medfact.datasets.headers import Row
from medfact.errors import FactsError
from medfact.extras import not_installed_errors
from medfact.proxies import check_proxies

PREFIX = "hf:"
SAVED = ("state.json", "dataset_dict.json")
"""Files that identify a folder written by `save_to_disk`."""


def read_hub(source: str) -> tuple[list[str], Iterator[Row]]:
    """The column names and the rows of a data set; several splits follow one another.

    Raises FactsError if the data set cannot be found or reached, and NotInstalled if the library is not installed.
    """
    name = source.removeprefix(PREFIX).strip()
    if not name:
        raise FactsError("No data set is named.", "Write hf:OWNER/NAME, or hf: and a folder.")
    with not_installed_errors():
        import datasets
    datasets.disable_progress_bars()
    if not Path(name).exists():
        check_proxies()
    try:
        data = datasets.load_from_disk(name) if is_saved(Path(name)) else datasets.load_dataset(**_reference(name))
    except (OSError, ValueError, RuntimeError) as error:
        reason = (str(error).splitlines() or ["no reason given"])[0]
        raise FactsError(
            f"The data set {name!r} cannot be loaded ({reason[:120]}).",
            "Check the name (hf:OWNER/NAME:CONFIG/SPLIT@REVISION) and the network, or give the path of a folder.",
        ) from error
    splits = list(data.values()) if isinstance(data, dict) else [data]
    return list(splits[0].column_names), _rows(splits)


def _reference(name: str) -> dict[str, str | None]:
    """The arguments of `load_dataset`. The path of a folder stays whole."""
    if Path(name).exists():
        return {"path": name}
    rest, _, revision = name.partition("@")
    rest, _, part = rest.partition(":")
    config, _, split = part.partition("/")
    return {"path": rest, "name": config or None, "split": split or None, "revision": revision or None}


def is_saved(folder: Path) -> bool:
    """Whether a folder holds a data set written by `save_to_disk`."""
    return folder.is_dir() and any((folder / file).is_file() for file in SAVED)


def _rows(splits: list[Any]) -> Iterator[Row]:
    number = 1
    for split in splits:
        names = {name: decode for name, feature in split.features.items() if (decode := _decoder(feature)) is not None}
        for record in split:
            number += 1
            decoded = {name: decode(record[name]) for name, decode in names.items()}
            yield number, {str(key): as_text(value) for key, value in (record | decoded).items()}


def _decoder(feature: Any) -> Callable[[Any], Any] | None:
    """A function from class numbers, or lists of them, to their names; None for columns of another type."""
    import datasets

    if isinstance(feature, datasets.ClassLabel):
        return lambda value: None if value is None or value < 0 else feature.int2str(value)
    inner = getattr(feature, "feature", None) or (feature[0] if isinstance(feature, list) and feature else None)
    decode = _decoder(inner) if inner is not None else None
    return (lambda values: None if values is None else [decode(value) for value in values]) if decode else None
