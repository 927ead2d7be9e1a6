"""Cards of runs, made once for each version of their answers and names."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from medfact.results.live import Version
from medfact.results.score_card import ScoreCard, card_of
from medfact.views.score_card import png_of
from medfact.web.services import Services

Versions = tuple[tuple[str, str | None, Version], ...]


def card_now(services: Services, runs: Sequence[str]) -> ScoreCard:
    """The card of one run or two as they stand. Raises Mistake and UnknownName."""
    return _card(services, _versions(services, runs))


def picture_now(services: Services, runs: Sequence[str]) -> bytes:
    """The same as a PNG."""
    return _picture(services, _versions(services, runs))


def _versions(services: Services, runs: Sequence[str]) -> Versions:
    return tuple((run, services.run(run).name, services.reports.version(run)) for run in runs)


@lru_cache(maxsize=64)
def _card(services: Services, versions: Versions) -> ScoreCard:
    return card_of(services.store, [run for run, _, _ in versions])


@lru_cache(maxsize=64)
def _picture(services: Services, versions: Versions) -> bytes:
    return png_of(_card(services, versions))
