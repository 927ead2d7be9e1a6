"""Accuracy by category of semantic types (MKJ, Section 1 and Appendix A.1.1), from a table that a project may replace."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from functools import lru_cache
from pathlib import Path

from medfact.assets import ASSETS
from medfact.datasets.text import InvalidYaml, read_yaml
from medfact.errors import FactsError, Mistake
from medfact.facts import digest
from medfact.metrics.groupings import grouping
from medfact.store import home

FILE = "semantic-categories.yaml"
MOST_BYTES = 200_000


def categories() -> Mapping[str, str]:
    """Semantic type → its category, in the order of the table: the file in the folder of medfact's data, else the bundled one.

    Raises FactsError, naming the fault.
    """
    file = ASSETS / FILE
    with suppress(Mistake):  # a system without home folders, on which --db named a database
        file = own if (own := home() / FILE).is_file() else file
    stat = file.stat()
    return _read(file, stat.st_mtime_ns, stat.st_size)


@lru_cache(maxsize=4)
def _read(file: Path, _: int, size: int) -> Mapping[str, str]:
    """Kept until the file changes."""
    hint = "Write each category with its semantic types in a list, as in assets/."
    if size > MOST_BYTES:
        raise FactsError(f"{FILE} is larger than {MOST_BYTES:,} bytes.", hint)
    try:
        record = read_yaml(file.read_text(encoding="utf-8"))
    except InvalidYaml as error:
        raise FactsError(f"{FILE}{f', line {error.line}' if error.line else ''}: {error.problem}", error.hint) from None
    except UnicodeDecodeError:
        raise FactsError(f"{FILE}: it is not UTF-8 text.", "Save it as UTF-8.") from None
    lists = isinstance(record, dict) and all(isinstance(names, list) for names in record.values())
    if not lists or not all(isinstance(name, str) for names in record.values() for name in names):
        raise FactsError(f"{FILE}: it is not a table of categories.", hint)
    found: dict[str, str] = {}
    for category, names in record.items():
        for name in names:
            if name in found:
                raise FactsError(f"{FILE}: {name!r} stands in two categories.", "Leave it in one.")
            found[name] = str(category)
    return found


def categories_key() -> str:
    """A hash of the table."""
    return digest(*(part for pair in categories().items() for part in pair))


@grouping("category", "kind of finding", "tail_types", lambda: dict.fromkeys(categories().values()), tab="kind")
def category(types: str) -> str:
    """MKJ's category of a tail: that of its first semantic type that is in one."""
    table = categories()
    return next((table[name] for name in types.split("; ") if name in table), "")
