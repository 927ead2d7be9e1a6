"""Keys of the environment that the host lends to visitors (MEDFACT_SHARE_KEYS), each visitor within MEDFACT_SHARED_BUDGET.

A run that is asked with such a key gets a budget, which is recorded with it and counts as spent for as long as the run goes on;
then what it has cost counts. A cookie is free, so those who have not signed in may together spend ADDRESS_TIMES as much as one.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import groupby

from medfact.errors import Mistake
from medfact.limits import is_restricted, limits
from medfact.models import provider_of, service_of
from medfact.models.services.policy import shared_budget, shared_key
from medfact.runs.costs import dollars, purse_of
from medfact.spec import RunSpec
from medfact.store import GOING, Run
from medfact.web.pace import ADDRESS_TIMES
from medfact.web.services import Services

Asking = tuple[str | None, float | None]
"""The key and the budget of a run."""


def lent_key(spec: RunSpec) -> str:
    """The key that is lent for a run for which a visitor has typed none; "" where none is, and for a run from a file. Raises
    Mistake where the price of its model is not known: no budget could be kept.
    """
    service = service_of(spec.model, spec.service)
    key = "" if service is None or spec.imported or not is_restricted() else shared_key(service)
    if key and provider_of(spec.model).price_of(spec.model) is None:
        raise Mistake(
            f"The price of {spec.model} is not known, so this server lends no key for it.",
            "Type a key of your own, or choose a model with a known price.",
        )
    return key


def check_left(services: Services, owner: str) -> None:
    """Raises Mistake where a visitor has nothing left to spend."""
    if _left(services, owner) <= 0:
        raise Mistake(
            f"Of this server's own keys you may spend {dollars(shared_budget())}, and nothing of that is left.",
            "Wait for your runs to end, which hold it meanwhile, or type a key of your own.",
        )


def with_lent_keys(services: Services, asking: Mapping[str, Asking]) -> dict[str, Asking]:
    """The same with a lent key and its budget for each run that needs one. What is left is divided among them."""
    store, lent = services.store, dict(asking)
    records = [store.run(run) for run, (key, _) in asking.items() if key is None] if is_restricted() else []
    needing = sorted((record for record in records if lent_key(record.spec)), key=lambda record: record.owner)
    for owner, group in groupby(needing, lambda record: record.owner):
        of_owner = list(group)
        with services.beginnings.alone(__name__):
            share = _left(services, owner) / len(of_owner)
            for record in of_owner:
                typed = asking[record.run][1]
                chosen = record.spec.budget if typed is None else typed
                granted = purse_of(record, store).spent + share
                granted = granted if chosen is None else min(granted, chosen)
                store.note_lent_key(record.run, granted)
                lent[record.run] = lent_key(record.spec), granted
    return lent


def _left(services: Services, owner: str) -> float:
    """US dollars that an owner may still spend."""
    most, runs = shared_budget(), services.store.with_lent_keys()
    left = most - sum(_spent(services, run) for run in runs if run.owner == owner)
    if not limits().is_signed_in(owner):
        nameless = (run for run in runs if not limits().is_signed_in(run.owner))
        left = min(left, ADDRESS_TIMES * most - sum(_spent(services, run) for run in nameless))
    return max(left, 0.0)


def _spent(services: Services, run: Run) -> float:
    """US dollars that a run has cost, or its whole budget while it goes on. A writing, whose attempts are runs of their own,
    counts with its whole budget for good.
    """
    if run.state in GOING or run.spec.writes:
        return services.store.lent_dollars(run.run)
    return purse_of(run, services.store).spent
