"""Whether a visitor, and the server, have room for more runs."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from datetime import UTC, datetime, timedelta
from functools import partial
from math import isinf

from medfact.errors import Mistake
from medfact.limits import limits
from medfact.models import is_local
from medfact.runs.jobs.manager import minutes_are_used_up
from medfact.runs.plan import too_many_statements
from medfact.spec import PROTOCOLS, RunSpec
from medfact.web.pace import ADDRESS_TIMES
from medfact.web.services import Services


def pairs_of(spec: RunSpec, facts: int) -> int:
    """How many pairs of a true fact and its false partners so many facts are, whether drawn or brought in a file."""
    protocol = PROTOCOLS.get(spec.protocol)
    negatives = spec.negatives if spec.negatives is not None else protocol.negatives if protocol else 0
    return facts // (1 + negatives)


def check_room(
    services: Services, owner: str, more: int, models: Sequence[str] = (), pairs: int = 0, statements: int = 0
) -> None:
    """Raises Mistake where a visitor, or the server, has no room for so many more runs that are asked or wait; where the
    visitor's statements of this hour, or minutes of models on this server, are used up; or where a run has too many pairs or
    statements. models: of the runs, which begin at once; () to ask beforehand.
    """
    _check_hour(services, owner, limits().quota_of(owner).statements_an_hour)
    _check_counts(services, owner, more, models, pairs, statements)


def room_for(
    services: Services, owner: str, more: int, models: Sequence[str], pairs: int, statements: int
) -> AbstractContextManager[None]:
    """Room for so many more runs, which count as going while they are begun. Raises Mistake as `check_room` does."""
    _check_hour(services, owner, limits().quota_of(owner).statements_an_hour)
    check = partial(_check_counts, services, owner, more, models, pairs, statements)
    return services.beginnings.counted(owner, more, check)


def _check_counts(services: Services, owner: str, more: int, models: Sequence[str], pairs: int, statements: int) -> None:
    """What can be checked without the database."""
    share, going = limits().quota_of(owner), services.going(owner)
    if going + more > share.runs_going:
        raise Mistake(
            f"You have {going} unfinished runs; this server allows {share.runs_going:,.0f}.",
            "Wait for some to end, or stop some.",
        )
    if services.going() + more > limits().in_all.runs_going:
        raise Mistake("The server's queue is full.", "Try again in a few minutes.")
    if pairs > share.pairs_a_run:
        raise Mistake(
            f"{pairs:,} true facts are chosen.",
            f"Choose at most {share.pairs_a_run:,.0f} on this server; false facts of a file's own count, too.",
        )
    if statements > share.statements_a_run:
        raise too_many_statements(share.statements_a_run)
    if any(map(is_local, models)) and services.jobs.local_minutes_left(owner) <= 0:
        raise minutes_are_used_up(owner)
    _check_neighbours(services, owner, more, models)
    if models:
        services.neighbours.begins(owner)


def _check_hour(services: Services, owner: str, most: float) -> None:
    """Raises Mistake where a visitor has begun runs of as many statements within an hour as this server allows."""
    if isinf(most):
        return
    hour_ago = (datetime.now(UTC) - timedelta(hours=1)).isoformat(timespec="milliseconds")
    if (begun := services.store.disk.statements_begun(owner, hour_ago)) >= most:
        raise Mistake(
            f"Your runs of the last hour ask {begun:,} statements; this server begins no more after {most:,.0f}.",
            "Wait up to an hour, or export a run and go on with medfact on your own machine.",
        )


def _check_neighbours(services: Services, owner: str, more: int, models: Sequence[str]) -> None:
    """Raises Mistake where the visitors of one network address, whoever they say they are, have no room for more runs."""
    share = limits().quota_of(owner)
    going, most = services.neighbours.going(owner, services.going), share.runs_going * ADDRESS_TIMES
    if going + more > most:
        raise Mistake(
            f"Visitors at your network address have {going} unfinished runs; this server allows {most:,.0f}.",
            "Wait for some to end.",
        )
    minutes = share.local_minutes_a_day * ADDRESS_TIMES
    if isinf(minutes) or not any(map(is_local, models)):
        return
    if services.neighbours.minutes(owner, lambda one: _minutes_used(services, one)) >= minutes:
        raise Mistake(
            f"Visitors at your network address have used today's {minutes:,.0f} minutes of models on this server.",
            "Go on after midnight (UTC), or choose a model behind a service.",
        )


def _minutes_used(services: Services, owner: str) -> float:
    left = services.jobs.local_minutes_left(owner)
    return 0.0 if isinf(left) else limits().quota_of(owner).local_minutes_a_day - left
