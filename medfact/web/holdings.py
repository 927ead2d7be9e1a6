"""What each visitor holds on the disk of a public server, and in which order it gives way: who holds most does first."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from medfact.store import Ended


class Going(NamedTuple):
    """What gives way next: a run, or "" for all that its owner has said. size: about how many bytes that frees."""

    owner: str
    run: str
    size: float


@dataclass
class Holding:
    """What one visitor holds. size: in all, in bytes. runs: those that may go, with their sizes, the oldest first. said: the
    size of what was said here and may go, 0 for none.
    """

    size: float = 0.0
    runs: deque[tuple[str, float]] = field(default_factory=deque)
    said: float = 0.0


def holdings(
    runs: Iterable[Ended],
    sizes: Mapping[str, float],
    said: Mapping[str, float],
    may_go: frozenset[str],
    erasable: Iterable[str],
) -> dict[str, Holding]:
    """Owner → what the owner holds. sizes: of runs. may_go: runs that may be erased. erasable: owners whose words may be."""
    found: dict[str, Holding] = {}
    for run in runs:
        one = found.setdefault(run.owner, Holding())
        one.size += sizes[run.run]
        if run.run in may_go:
            one.runs.append((run.run, sizes[run.run]))
    for owner, size in said.items():
        found.setdefault(owner, Holding()).size += size
    for owner in erasable:
        found[owner].said = said[owner]
    return found


def largest_first(found: Mapping[str, Holding]) -> Iterator[Going]:
    """What gives way, one after the other: of whoever holds most then, the oldest run; where there is none, what was said."""
    while left := {owner: one for owner, one in found.items() if one.runs or one.said}:
        owner = max(left, key=lambda name: left[name].size)
        one = left[owner]
        run, size = one.runs.popleft() if one.runs else ("", one.said)
        one.size -= size
        if not run:
            one.said = 0.0
        yield Going(owner, run, size)
