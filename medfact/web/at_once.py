"""How many requests of one network address are answered at the same time: all share the threads of the server."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from medfact.limits import is_public_server
from medfact.web.upload_gate import NotNow

AT_ONCE = 12
"""So many of one address, on a public server."""


class AtOnce:
    """Requests that are being answered, by address."""

    def __init__(self) -> None:
        self._busy: Counter[str] = Counter()

    @contextmanager
    def one_more(self, address: str) -> Iterator[None]:
        """Meanwhile one more is answered. Raises NotNow where its address has many."""
        if not is_public_server():
            yield
            return
        if self._busy[address] >= AT_ONCE:
            raise NotNow(f"{AT_ONCE} requests of your network address are being answered, which is the most at once.", 1)
        self._busy[address] += 1
        try:
            yield
        finally:
            self._busy[address] -= 1
            self._busy += Counter()  # without those at nought
