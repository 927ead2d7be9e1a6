"""One call to a service before anything is asked there: can it be reached, is the key accepted, the model known, and does it
give probabilities? And the services on this machine that a person need not set up: Ollama and LM Studio, found where they
listen by default."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace

from medfact.answers import make_prompt
from medfact.errors import MedfactError, Mistake
from medfact.limits import acting_for, is_restricted
from medfact.models import REPLY_TOKENS, Completion, Model, ServiceSettings, load_model, provider_of, takes_messages
from medfact.models.services.addresses import parsed_address
from medfact.models.services.named import NamedService, service_named
from medfact.models.services.policy import check_new_run, host_of
from medfact.models.services.prices import age_of
from medfact.web.trials import Trial

TRIAL_SECONDS = 8.0
"""How long the call may take."""

STATEMENT = "Wheezing is a symptom of asthma."
"""What is asked: nothing of the visitor's own."""

SHOWN_NAMES = 4


def tried(spec: str, settings: ServiceSettings) -> Trial:
    """What one call to a model behind a service shows. The policy of contact holds for it as for runs."""
    try:
        if settings.base_url:
            parsed_address(settings.base_url)
        check_new_run(settings, own_facts=False, agreed=True)
        probabilities = _answered(spec, replace(settings, timeout=TRIAL_SECONDS, tries=1, in_flight=1, max_tokens=REPLY_TOKENS))
    except MedfactError as error:
        return _failed(error, settings)
    key = "key accepted" if settings.key else "no key needed"
    return Trial(said=("reachable", key, "model known", probabilities, _price(spec)))


def _answered(spec: str, settings: ServiceSettings) -> str:
    """Asks once; says which probabilities the reply came with. Raises MedfactError where none came."""
    model = load_model(spec, service=settings)
    try:
        (completion,) = _completions(model, spec, settings)
    except ValueError:
        raise Mistake("There was no reply.", "Try again.") from None
    finally:
        with suppress(AttributeError):
            model.close()  # type: ignore[attr-defined]
    if completion.failure:
        raise Mistake(f"{host_of(settings)}: {completion.failure}.", "Check the model's name and the address, or try again.")
    if completion.p_true is not None:
        return "gives probabilities"
    why = "gives no probabilities" if completion.p_mass is None else "its tokens do not show True and False apart"
    return f"{why}, so there is no calibration"


def _completions(model: Model, spec: str, settings: ServiceSettings) -> Sequence[Completion]:
    prompt = make_prompt(STATEMENT, (), chat=takes_messages(spec, service=settings))
    return [completion for _, completion in model.complete([prompt])]


def _failed(error: MedfactError, settings: ServiceSettings) -> Trial:
    """Why it cannot be asked, and, where the service lists its models, how they are called."""
    names = names_at(settings) if "model" in error.public else ()
    more = f" The service lists {', '.join(names[:SHOWN_NAMES])}{' and others' if len(names) > SHOWN_NAMES else ''}."
    return Trial(f"{error.public}{more if names else ''}")


def names_at(settings: ServiceSettings) -> tuple[str, ...]:
    """The names of the models that a service lists; () where it does not, or may not be asked."""
    try:
        check_new_run(settings, own_facts=False, agreed=True)
        from medfact.models.services.client import listed_models

        return listed_models(settings)
    except MedfactError:
        return ()


def _price(spec: str) -> str:
    price = provider_of(spec).price_of(spec)
    if price is None:
        return "list price not known" if provider_of(spec).is_paid else "free"
    return f"${price.input:g} and ${price.output:g} a million tokens in and out ({age_of(price.as_of)})"


# ------------------------------------------------------------------------------------------------ found on this machine

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
