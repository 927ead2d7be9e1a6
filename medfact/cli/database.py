"""The database of commands that read runs and make none."""

from __future__ import annotations

from medfact.errors import Mistake
from medfact.store import Store, exists


def kept(url: str | None) -> Store:
    """The store at an address that was typed, or the usual one. Raises Mistake where the file that was typed is not there, so
    that a slip of the finger makes no empty database.
    """
    if url and not exists(url):
        raise Mistake(f"There is no database {url!r}.", "Check the address after --db.")
    return Store(url)
