"""What is checked of a run's settings before anything is recorded: a record that cannot be used would stay for good."""

from __future__ import annotations

import math

from medfact.errors import Mistake
from medfact.models import provider_of, service_of
from medfact.models.services.addresses import parsed_address
from medfact.models.services.policy import host_of, is_on_this_machine
from medfact.models.services.prices import PRICES
from medfact.runs.retrieve import contacts_encoder, encoder_settings
from medfact.spec import RunSpec


def check_settings(spec: RunSpec) -> None:
    """Raises Mistake where an address is none or holds a secret, a budget cannot be kept, or a batch or pressure makes no
    sense."""
    check_addresses(spec)
    check_budget(spec.model, spec.budget)
    check_batch(spec)
    check_pressure(spec)


def check_addresses(spec: RunSpec) -> None:
    """Raises Mistake unless all addresses of a spec are web addresses, whether this run uses them or not: all are recorded."""
    if spec.service.base_url:
        parsed_address(spec.service.base_url)
    if spec.encoder_url is not None:
        parsed_address(spec.encoder_url, "address of the encoder")
    if (service := service_of(spec.model, spec.service)) is not None:
        host_of(service)  # OPENAI_BASE_URL may be none
    if contacts_encoder(spec):
        host_of(encoder_settings(spec))


def hosts_of_own_data(spec: RunSpec) -> set[str]:
    """The hosts elsewhere that would get a person's own facts or documents: those of services that answer or encode."""
    asked = [service_of(spec.model, spec.service), encoder_settings(spec) if contacts_encoder(spec) else None]
    services = [one for one in asked if one is not None] if spec.facts or spec.corpus else []
    return {host_of(service) for service in services if not is_on_this_machine(service)}


def check_budget(model: str, budget: float | None) -> None:
    """Raises Mistake where a budget is no sum, or the price of a model behind a service is not known."""
    if budget is None:
        return
    if not (math.isfinite(budget) and budget >= 0):
        raise Mistake(f"A budget of {budget:g} is not an amount to spend.", "Give it in US dollars, such as 5.")
    provider = provider_of(model)
    if provider.is_paid and provider.price_of(model) is None:
        raise Mistake(
            f"The price of {model!r} is not known, so a budget cannot be kept.",
            f"Add it to {PRICES.name}, or leave the budget out.",
        )


def check_batch(spec: RunSpec) -> None:
    """Raises Mistake where what a run is to do cannot be done in a batch, which is sent once and answered as a whole."""
    if not spec.is_batched:
        return
    if not provider_of(spec.model).is_remote:
        raise Mistake(f"A batch is for a model behind a service, and {spec.model} is none.", "Leave out --batch.")
    unfit = {
        "A race cannot batch: it stops once it is decided, and a batch cannot be stopped midway.": spec.race,
        "Writing cannot batch: what is stopped by a guard is asked for again.": spec.writes,
        "Stated confidence cannot batch: it is asked for in a second turn.": spec.stated,
    }
    for problem, is_so in unfit.items():
        if is_so:
            raise Mistake(problem, "Leave out --batch, or the other option.")


def check_pressure(spec: RunSpec) -> None:
    """Raises Mistake where a run cannot push against answers: each push follows a reply."""
    unfit = {
        "A race stops once it is decided, and pushes come after all answers.": spec.race,
        "A batch is answered as a whole, and each push follows a reply.": spec.is_batched,
        "Repeated answers are several, and a push follows one.": spec.service.repeats,
        "What writes gives no answer to push against.": spec.writes,
    }
    for problem, is_so in unfit.items() if spec.pressure else ():
        if is_so:
            raise Mistake(problem, "Leave out --pressure, or the other option.")
