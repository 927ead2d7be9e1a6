"""The second step of the set-up: which models are asked; and whether a visitor's own facts may go to their services."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from markupsafe import Markup

from medfact.errors import MedfactError, ModelError
from medfact.models import known_models, provider_of, service_of
from medfact.models.services.named import named_services
from medfact.models.services.policy import host_of, is_on_this_machine
from medfact.models.services.settings import ServiceSettings
from medfact.models.words_alone import TAIL
from medfact.results.wording import model_name
from medfact.spec import NO_RETRIEVAL
from medfact.views.fragments import render
from medfact.web.evaluate.form import MOST_MODELS, ChosenModel, Setup
from medfact.web.evaluate.rows import LOCAL_SERVICES, row_views
from medfact.web.evaluate.spec import source_of
from medfact.web.pages import Visitor


def models(visitor: Visitor, setup: Setup) -> Markup:
    """The models that come with the app, a tick each; the others that are chosen, a chip each; and the rows that are open."""
    rows = row_views(visitor.services, visitor.owner, setup)
    choices = model_choices()
    return render(
        "models_choice",
        others=[(spec, model_name(spec)) for spec in setup.models if spec not in choices],
        bundled=[(spec, model_name(spec), provider_of(spec).explained.get(spec, "")) for spec in choices],
        models=setup.models,
        rows=rows,
        services=named_services(),
        found=LOCAL_SERVICES.now(),
        may_add=len(rows) < MOST_MODELS,
        own_credits=visitor.services.tokens.has(visitor.owner),
        last=rows[-1].row.id if rows else "",
    )


def writer_row(visitor: Visitor, setup: Setup) -> Markup:
    """The row of a model that writes, with the same fields and buttons, but for those that take it away."""
    absent = dict.fromkeys(("others", "bundled", "models", "found", "may_add", "own_credits", "last"), "")
    return render("models_choice", rows=row_views(visitor.services, visitor.owner, setup), services=named_services(), **absent)


def model_choices() -> list[str]:
    """The models that come with the app, but for those that show nothing new: what a reader of words alone scores stands
    beside every run, and who always says false mirrors who always says true.
    """
    return [name for name in known_models() if name not in (TAIL, "baseline:always-false")]


# ------------------------------------------------------------------------------------------------ consent


@dataclass(frozen=True)
class Consent:
    """A service that a visitor's own files would go to, the code of what is agreed to, and whether it is."""

    code: str
    host: str
    files: Sequence[str]
    agreed: bool


def consents(visitor: Visitor, setup: Setup) -> list[Consent]:
    """The services elsewhere that own facts and documents would go to: one consent a service, and of these files."""
    files = _own_files(visitor, setup)
    addresses = dict.fromkeys(one.address for one in setup.chosen if _leaves(one)) if files else ()
    return [
        Consent(setup.consent_of(address), host_at(address, setup), files, setup.agrees_to(address)) for address in addresses
    ]


def consent(visitor: Visitor, setup: Setup) -> Markup:
    """The question for each of these."""
    return render("consent", consents=consents(visitor, setup))


def _leaves(one: ChosenModel) -> bool:
    """Whether what a model is asked leaves this machine."""
    service = service_of(one.spec, ServiceSettings(base_url=one.address or None))
    if service is None:
        return False
    try:
        return not is_on_this_machine(service)
    except ModelError:  # what is no address is said elsewhere
        return True


def host_at(address: str, setup: Setup) -> str:
    """What to call the hosts of the models of one address."""
    settings = ServiceSettings(base_url=address or None)
    with suppress(MedfactError):
        asked = [service_of(one.spec, settings) for one in setup.chosen if one.address == address]
        return " and ".join(dict.fromkeys(host_of(service) for service in asked if service))
    return "the service"


def _own_files(visitor: Visitor, setup: Setup) -> list[str]:
    """What to call the facts and documents that are chosen and do not come with the project."""
    found = [Path(setup.corpus).name] if setup.corpus and setup.retrieval != NO_RETRIEVAL else []
    with suppress(MedfactError):
        if setup.sets:
            first = visitor.services.run(setup.sets[0])
            return [first.dataset, *found] if first.spec.facts or first.spec.corpus else found
        source = source_of(visitor.services, visitor.owner, setup)
        return [Path(str(source["facts"])).name, *found] if "facts" in source else found
    return found
