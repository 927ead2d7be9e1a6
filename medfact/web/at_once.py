"""How many requests of one network address are answered at the same time, which share the threads of the server; and how many
answers are being sent to it, which take no thread.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from medfact.limits import is_public_server
from medfact.web.upload_gate import NotNow

AT_ONCE, STREAMS_AT_ONCE = 12, 64
"""So many requests and streams of one address, on a public server. A stream tells how a run goes, or sends a finished file."""


class AtOnce:
    """Requests that are being answered, by address. most: of one; says: what they are, to one who has too many."""

    def __init__(self, most: int = AT_ONCE, says: str = "requests of your network address are being answered") -> None:
        self._busy: Counter[str] = Counter()
        self._most, self._says = most, says

    @contextmanager
    def one_more(self, address: str) -> Iterator[None]:
        """Meanwhile one more is answered. Raises NotNow where its address has many."""
        if not is_public_server():
            yield
            return
        if self._busy[address] >= self._most:
            raise NotNow(f"{self._most} {self._says}, which is the most at once.", 1)
        self._busy[address] += 1
        try:
            yield
        finally:
            self._busy[address] -= 1
            self._busy += Counter()  # without those at nought
