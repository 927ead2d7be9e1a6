"""Services on this machine that a person need not set up: Ollama and LM Studio, found where they listen by default."""

from __future__ import annotations

import threading
import time
from contextlib import suppress

from medfact.limits import acting_for, is_restricted
from medfact.models import ServiceSettings
from medfact.models.services.named import NamedService, service_named
from medfact.web.evaluate.trial import names_at

LOOKED_FOR = ("ollama:", "lmstudio:")

FRESH_SECONDS = 20.0
"""How long what was found counts, before it is looked for again."""


class LocalServices:
    """The services that were found, each with the names of its models. A public server looks for none."""

    def __init__(self) -> None:
        self._found: dict[str, tuple[str, ...]] = {}
        self._looked_at = -FRESH_SECONDS
        self._lock = threading.Lock()

    def now(self) -> list[tuple[NamedService, tuple[str, ...]]]:
        """What was found last. Where that is a while ago, a thread looks again meanwhile: nobody waits for it."""
        if is_restricted():
            return []
        with self._lock:
            is_due = time.monotonic() - self._looked_at >= FRESH_SECONDS
            if is_due:
                self._looked_at = time.monotonic()
        if is_due:
            threading.Thread(target=self._look, daemon=True, name="local-services").start()
        services = (service_named(prefix) for prefix in LOOKED_FOR)
        return [(one, self._found[one.prefix]) for one in services if one and self._found.get(one.prefix)]

    def _look(self) -> None:
        for prefix in LOOKED_FOR:
            if service := service_named(prefix):
                with suppress(ImportError), acting_for(host=True):  # this install may ask no service
                    self._found[prefix] = names_at(ServiceSettings(base_url=service.address))


LOCAL_SERVICES = LocalServices()
"""Those of this machine, the same for all who look."""
