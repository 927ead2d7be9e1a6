"""Places in a list of several, of which only some can be told apart."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple


class Place(NamedTuple):
    """first: 1 + how many are shown to be better; last: how many there are less those shown to be worse. From 1."""

    first: int
    last: int


def places(count: int, shown: Iterable[tuple[int, int]]) -> list[Place]:
    """The place of each of so many. shown: (better, worse) for every two of which one is shown to be better.

    If all of `shown` holds, so do all places: each lies between first and last (Mogstad, Romano, Shaikh and Wilhelm 2024).
    Being told apart is not transitive: with A better than C alone, A has the places 1 to 2, B 1 to 3 and C 2 to 3.
    """
    better, worse = [0] * count, [0] * count
    for winner, loser in set(shown):
        better[loser] += 1
        worse[winner] += 1
    return [Place(1 + above, count - below) for above, below in zip(better, worse, strict=True)]
