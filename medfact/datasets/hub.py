"""Data sets of the Hugging Face hub, by name or as a folder, through its own library: `hf:NAME-OR-FOLDER`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from medfact.datasets.tables import Row, as_text
from medfact.errors import FactsError

PREFIX = "hf:"
SAVED = ("state.json", "dataset_dict.json")
"""Files by which a folder is known that `save_to_disk` wrote."""


def read_hub(source: str) -> tuple[list[str], Iterator[Row]]:
    """The column names and the rows of a data set; of several splits, all in their order.

    Raises FactsError, saying what to do, when the library is not installed or the data set is not found or not reached.
    """
    name = source.removeprefix(PREFIX).strip()
    if not name:
        raise FactsError("No data set is named.", "Write hf:OWNER/NAME, or hf: and a folder.")
    try:
        import datasets
    except ModuleNotFoundError:
        raise FactsError("Data sets of the hub need the library `datasets`.", "Install it: pip install datasets.") from None
    datasets.disable_progress_bars()
    try:
        data = datasets.load_from_disk(name) if is_saved(Path(name)) else datasets.load_dataset(name)
    except (OSError, ValueError, RuntimeError) as error:
        reason = (str(error).splitlines() or ["no reason given"])[0]
        raise FactsError(
            f"The data set {name!r} cannot be loaded ({reason[:120]}).",
            "Check the name and the network, or give the path of a folder.",
        ) from error
    splits = list(data.values()) if isinstance(data, dict) else [data]
    return list(splits[0].column_names), _rows(splits)


def is_saved(folder: Path) -> bool:
    """Whether a folder holds a data set that the library saved (`save_to_disk`)."""
    return folder.is_dir() and any((folder / file).is_file() for file in SAVED)


def _rows(splits: list[Any]) -> Iterator[Row]:
    number = 1
    for split in splits:
        for record in split:
            number += 1
            yield number, {str(key): as_text(value) for key, value in record.items()}
