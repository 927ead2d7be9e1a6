"""The question whether a visitor's own facts and documents may go to a service: one host, and these files. Whoever chooses
another one is asked again.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from markupsafe import Markup

from medfact.errors import MedfactError
from medfact.models import service_of
from medfact.models.services.policy import host_of
from medfact.models.services.settings import ServiceSettings
from medfact.spec import NO_RETRIEVAL
from medfact.views.fragments import render
from medfact.web.inputs.setup import Setup, source_of
from medfact.web.pages import Visitor


def consent(visitor: Visitor, setup: Setup, *, of_view: bool = False) -> Markup:
    """The question; nothing where no file of the visitor's goes to a service. of_view: the answer is a field of the page's
    view, not of its set-up.
    """
    files = _own_files(visitor, setup)
    host = host_in_words(setup)
    if not files or not host:
        return Markup()
    return render("consent", setup=setup, files=files, host=host, of_view=of_view)


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


def host_in_words(setup: Setup) -> str:
    """What to call the hosts of the chosen models; "" where nobody but this machine is asked."""
    settings = ServiceSettings(base_url=setup.address or None)
    asked = [service for name in setup.names if (service := service_of(name, settings)) is not None]
    with suppress(MedfactError):
        return " and ".join(dict.fromkeys(map(host_of, asked)))
    return "the service"
