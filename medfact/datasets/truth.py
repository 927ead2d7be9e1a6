"""Whether a row of a facts file holds: the words for it, and columns that say so under a name that is not read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from medfact.datasets.limits import Row
from medfact.errors import FactsError

_TRUE = frozenset({"true", "t", "yes", "y", "1", "1.0"})
_FALSE = frozenset({"false", "f", "no", "n", "0", "0.0"})

_LIKE_POSITIVE = frozenset(
    {"label", "labels", "truth", "true", "is true", "correct", "is correct", "holds", "valid", "is valid"}
)
"""Names under which others keep what we call `positive`."""


def truth(text: str) -> bool | None:
    """Whether a cell says true or false, None where it says neither."""
    word = text.strip().lower()
    return True if word in _TRUE else False if word in _FALSE else None


class LikePositive:
    """Watches the columns that may say which facts are false, where no column is read as `positive`."""

    def __init__(self, file: str, names: Sequence[str], column_of: Mapping[str, str]) -> None:
        unused = [] if "positive" in column_of else [name for name in names if name not in column_of.values()]
        self._file = file
        self._seen: dict[str, set[bool | None]] = {
            name: set() for name in unused if " ".join(name.lower().replace("_", " ").split()) in _LIKE_POSITIVE
        }

    def watch(self, rows: Iterator[Row]) -> Iterator[Row]:
        """The rows, unchanged. Raises FactsError after the last if false facts would have been taken for true ones."""
        for number, row in rows:
            for name, seen in self._seen.items():
                if text := row.get(name, "").strip():
                    seen.add(truth(text))
            yield number, row
        for name, seen in self._seen.items():
            if False in seen and None not in seen:
                raise FactsError(
                    f"{self._file}: column {name!r} says true or false and is not read: its false facts would count as true.",
                    "Rename it to positive; if it says something else, give it another name. On the command line, add --column "
                    f"positive={name}, or --column positive==true where all facts are true.",
                )

    def notes(self) -> Iterator[str]:
        """Says that such a column is not used because it also says other things than true and false."""
        for name, seen in self._seen.items():
            if None in seen:
                yield (
                    f"{self._file}: the column {name!r} is not used. If it says whether a fact holds, rename it to positive "
                    "and write true or false in it."
                )
