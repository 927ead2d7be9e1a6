"""What a command prints, without characters that a terminal obeys: much of it comes from files and models."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, redirect_stdout
from typing import Any, TextIO, cast

from medfact.datasets.printable import one_line, printable


class _Printable:
    """A stream that passes on what a terminal can show."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        self._stream.write(printable(text))
        return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


@contextmanager
def printable_stdout() -> Iterator[None]:
    """Meanwhile all that goes to stdout is printable."""
    with redirect_stdout(cast(TextIO, _Printable(sys.stdout))):
        yield


def say(text: str) -> None:
    """Prints on stderr, on one line."""
    print(one_line(text), file=sys.stderr)
