"""Cards of runs, made once for each version of their answers and names, one at a time."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Any, cast

from medfact.kept import Alone
from medfact.results.score_card import ScoreCard, card_of
from medfact.views.score_card import png_of
from medfact.web.services import Services
from medfact.web.upload_gate import NotNow

KEPT = 128
WAIT_SECONDS = 5.0
"""How long a card may wait for others that are made."""

Versions = tuple[tuple[str, str | None, tuple[int, str]], ...]
"""Of each run its id, its name, and its `changed` and state: a job that goes on without a new answer makes no new card."""

_kept: OrderedDict[tuple[Any, ...], Any] = OrderedDict()
_alone = Alone()


def card_now(services: Services, runs: Sequence[str], owners: Sequence[str]) -> ScoreCard:
    """The card of one run or two as they stand, for these owners. Raises Mistake, UnknownName, and NotNow where many others are
    made.
    """
    store, versions = services.store.seen_by(*owners), _versions(services, runs, owners)
    return cast(ScoreCard, _once("card", services, versions, lambda: card_of(store, [run for run, _, _ in versions])))


def picture_now(services: Services, runs: Sequence[str], owners: Sequence[str]) -> bytes:
    """The same as a PNG."""
    card = card_now(services, runs, owners)
    return cast(bytes, _once("picture", services, _versions(services, runs, owners), lambda: png_of(card)))


def _versions(services: Services, runs: Sequence[str], owners: Sequence[str]) -> Versions:
    return tuple((run, services.run(run).seen_by(owners).name, services.store.pulse(run)) for run in runs)


def _once(what: str, services: Services, versions: Versions, make: Callable[[], Any]) -> Any:
    key = (what, services, versions)
    if (found := _kept.get(key)) is not None:
        return found
    try:
        with _alone.at(seconds=WAIT_SECONDS):
            if (found := _kept.get(key)) is None:
                found = _kept[key] = make()
                while len(_kept) > KEPT:
                    _kept.popitem(last=False)
            return found
    except TimeoutError:
        raise NotNow("The server is drawing many cards just now.", 1) from None
