"""The rows of models that are not bundled: added, filled in, tested, and taken away again; and the keys of their services."""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import groupby

from medfact.answers import make_prompt
from medfact.concurrency import slot_released
from medfact.errors import MedfactError, Mistake
from medfact.limits import acting_as_host, is_restricted, limits
from medfact.models import REPLY_TOKENS, Completion, Model, ServiceSettings, load_model, provider_of, service_of, takes_messages
from medfact.models.services.addresses import parsed_address
from medfact.models.services.named import NamedService, service_named
from medfact.models.services.policy import check_new_run, host_of, shared_budget, shared_key
from medfact.models.services.prices import age_of
from medfact.models.services.settings import OPENAI_PREFIX
from medfact.results.wording import model_name
from medfact.runs.costs import dollars, purse_of
from medfact.spec import RunSpec
from medfact.store import GOING, Run
from medfact.web.evaluate.form import MOST_MODELS, EvaluateShow, ModelRow, Setup, changed, setup_in
from medfact.web.hub_tokens import router
from medfact.web.pace import ADDRESS_TIMES
from medfact.web.pages import Act, Action, Message, Visitor
from medfact.web.services import Services
from medfact.web.trials import Trial

TRIAL_SECONDS = 8.0
"""How long the call may take."""

STATEMENT = "Wheezing is a symptom of asthma."
"""What is asked: nothing of the visitor's own."""

SHOWN_LISTED = 4


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
    more = f" The service lists {', '.join(names[:SHOWN_LISTED])}{' and others' if len(names) > SHOWN_LISTED else ''}."
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
                with suppress(ImportError), acting_as_host(is_host=True):  # this install may ask no service
                    self._found[prefix] = names_at(ServiceSettings(base_url=service.address))


LOCAL_SERVICES = LocalServices()
"""Those of this machine, the same for all who look."""


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


LONGEST_KEY, SHOWN_NAMES = 400, 8
OWN_CREDITS = "own credits"


@dataclass(frozen=True)
class RowView:
    """A row as it is shown. name: what to call its model. host: of its service. has_key: whether its key is in memory.
    own_credits: whether it needs none, since the visitor has signed in and pays. names: of the models that its service lists.
    """

    row: ModelRow
    name: str
    host: str
    has_key: bool
    own_credits: bool
    names: tuple[str, ...]
    trial: Trial | None

    @property
    def called(self) -> str:
        """Whose key is asked for: the service by its name, or the host of an address."""
        named = self.row.named
        return named.title if named and named.prefix != OPENAI_PREFIX else self.host

    @property
    def wants_key(self) -> bool:
        """Whether a key was typed that is not in memory any more."""
        return self.row.is_remote and self.row.had_key and not self.has_key and not self.own_credits

    @property
    def is_open(self) -> bool:
        """Whether its fields are shown: always where something is missing."""
        return self.row.is_open or not self.row.model or self.wants_key or bool(self.trial and self.trial.problem)


def row_views(services: Services, owner: str, setup: Setup) -> list[RowView]:
    """The rows of a set-up, each with what is known of its service."""
    return [_view(services, owner, row) for row in setup.rows]


def _view(services: Services, owner: str, row: ModelRow) -> RowView:
    has_key = services.trials.key((owner, row.id), row.place) is not None
    own_credits = not has_key and services.tokens.of(owner, row.settings) is not None
    trial = services.trials.last((owner, row.id), _asked(services, owner, row))
    return RowView(
        row,
        model_name(row.spec) if row.model else "",
        host_called(row.settings),
        has_key,
        own_credits,
        services.trials.names((owner, row.id), row.place),
        trial,
    )


def host_called(settings: ServiceSettings) -> str:
    """What to call the host of a service, however it was typed."""
    try:
        return host_of(settings)
    except MedfactError:
        return "the service"


def key_in(services: Services, owner: str, row: ModelRow) -> str | None:
    """The key for a row's service: the one that was typed, else the token of who has signed in; None where there is none."""
    return services.trials.key((owner, row.id), row.place) or services.tokens.of(owner, row.settings)


def _asked(services: Services, owner: str, row: ModelRow) -> tuple[str, str, str | None]:
    """What a trial of a row is of. It is kept for long, so it holds no token of one who has signed in."""
    typed = services.trials.key((owner, row.id), row.place)
    return row.spec, row.asked_address, typed or (OWN_CREDITS if services.tokens.of(owner, row.settings) is not None else None)


def _settings(services: Services, owner: str, row: ModelRow) -> ServiceSettings:
    return replace(row.settings, key=key_in(services, owner, row))


def tried_row(services: Services, owner: str, row: ModelRow) -> Trial:
    """What one call to a row's service shows, noted for as long as the row stays as it is."""
    if _view(services, owner, row).wants_key:
        return Trial(f"Enter the key for {host_called(row.settings)} again.")
    settings = _settings(services, owner, row)
    if settings.key is None and lent_key(RunSpec(row.spec, service=settings)):
        return Trial(said=("this server lends its key", "it is tried when a run begins"))
    with services.trials.trying(owner):
        trial = tried(row.spec, settings)
    services.trials.note((owner, row.id), _asked(services, owner, row), trial)
    return trial


def tried_rows(services: Services, owner: str, setup: Setup) -> str:
    """Tests the services that have not passed yet, side by side. Says which cannot be asked; "" where all can."""
    passed = {one.row.id for one in row_views(services, owner, setup) if one.trial and one.trial.passed and not one.wants_key}
    rows = [row for row in setup.rows if row.is_remote and row.id not in passed]
    if not rows:
        return ""
    host = not is_restricted()
    with slot_released(), ThreadPoolExecutor(len(rows)) as threads:
        trials = list(threads.map(lambda row: _tried_or_not(services, owner, row, host), rows))
    return " ".join(
        f"{model_name(row.spec)}: {trial.problem}" for row, trial in zip(rows, trials, strict=True) if trial.problem
    )


def _tried_or_not(services: Services, owner: str, row: ModelRow, host: bool) -> Trial:
    try:
        with acting_as_host(host):
            return tried_row(services, owner, row)
    except MedfactError as error:  # others are tried just now
        return Trial(error.public)


# ------------------------------------------------------------------------------------------------ buttons


def add_row(visitor: Visitor, show: EvaluateShow, _: Action) -> tuple[EvaluateShow, Message]:
    """Opens a row for one more model, where the one before says whether it is behind a service."""
    rows = setup_in(visitor, show).rows
    if len(rows) >= MOST_MODELS:
        raise Mistake(f"{MOST_MODELS} models are the most at once.", "Take one away first.")
    row = ModelRow(id=secrets.token_hex(4), where=rows[-1].where if rows else "service")
    return changed(visitor, show, rows=[*rows, row]), Message()


def add_found(visitor: Visitor, show: EvaluateShow, action: Action) -> tuple[EvaluateShow, Message]:
    """Opens a row for a model of a service that was found on this machine, whose field suggests the names of its models."""
    found = {service.prefix: names for service, names in LOCAL_SERVICES.now()}
    if action.about not in found:
        raise Mistake("That service does not answer any more.", "Start it, and load the page again.")
    show, said = add_row(visitor, show, action)
    names, added = found[action.about], setup_in(visitor, show).rows[-1].id
    only = {"model": names[0]} if len(names) == 1 else {}
    show = _with_row(
        visitor, show, added, lambda row: row.model_copy(update={"where": "service", "service": action.about, **only})
    )
    visitor.services.trials.note_names((visitor.owner, added), _row(visitor, show, added).place, names)
    return show, said


def add_router(visitor: Visitor, show: EvaluateShow, action: Action) -> tuple[EvaluateShow, Message]:
    """Opens a row for a model of Hugging Face's router, with the names of what it has: who has signed in pays for it."""
    show, _ = add_row(visitor, show, action)
    *before, new = setup_in(visitor, show).rows
    row = new.model_copy(update={"where": "service", "address": router()})
    show = changed(visitor, show, rows=[*before, row])
    return list_names(visitor, show, replace(action, about=row.id, fields={}))


def drop_row(visitor: Visitor, show: EvaluateShow, action: Action) -> tuple[EvaluateShow, Message]:
    """Takes a row away, with its key."""
    visitor.services.trials.forget((visitor.owner, action.about))
    rows = [row for row in setup_in(visitor, show).rows if row.id != action.about]
    return changed(visitor, show, rows=rows), Message()


def drop_model(visitor: Visitor, show: EvaluateShow, action: Action) -> tuple[EvaluateShow, Message]:
    """Takes a bundled model out of those that are chosen."""
    return changed(visitor, show, models=[one for one in setup_in(visitor, show).models if one != action.about]), Message()


def edit_row(visitor: Visitor, show: EvaluateShow, action: Action) -> tuple[EvaluateShow, Message]:
    """Shows the fields of a row, or folds them away."""
    return _with_row(visitor, show, action.about, lambda row: row.model_copy(update={"is_open": not row.is_open})), Message()


def keep_key(visitor: Visitor, show: EvaluateShow, action: Action) -> tuple[EvaluateShow, Message]:
    """Keeps the key that was typed in a row, in memory alone."""
    key = (action.key or "")[:LONGEST_KEY]
    row = _row(visitor, show, action.about)
    visitor.services.trials.keep_key((visitor.owner, row.id), row.place, key)
    return _with_row(visitor, show, row.id, lambda row: row.model_copy(update={"had_key": bool(key)})), Message()


def test_row(visitor: Visitor, show: EvaluateShow, action: Action) -> tuple[EvaluateShow, Message]:
    """Calls a row's service once. A row that passes folds; one that fails stays open, and says why."""
    if action.key:
        show, _ = keep_key(visitor, show, action)
    row = _row(visitor, show, action.about)
    row.check()
    if not row.is_remote:
        raise Mistake("No model is named.", "Type its name as the service calls it.")
    trial = tried_row(visitor.services, visitor.owner, row)
    show = _with_row(visitor, show, row.id, lambda row: row.model_copy(update={"is_open": not trial.passed}))
    return show, Message(f"{model_name(row.spec)}: {trial.problem or ', '.join(trial.said)}", "" if trial.passed else "warn")


def list_names(visitor: Visitor, show: EvaluateShow, action: Action) -> tuple[EvaluateShow, Message]:
    """Asks a row's service for the names of its models, which its field then suggests."""
    if action.key:
        show, _ = keep_key(visitor, show, action)
    services, owner, row = visitor.services, visitor.owner, _row(visitor, show, action.about)
    row.check()
    with services.trials.trying(owner):
        names = names_at(_settings(services, owner, row))
    services.trials.note_names((owner, row.id), row.place, names)
    host = host_called(row.settings)
    return show, Message(
        f"{host} lists {', '.join(names[:8])}." if names else f"{host} lists no models.", "" if names else "warn"
    )


def _row(visitor: Visitor, show: EvaluateShow, about: str) -> ModelRow:
    for row in setup_in(visitor, show).rows:
        if row.id == about:
            return row
    raise Mistake("There is no such row any more.", "Load the page again.")


def _with_row(visitor: Visitor, show: EvaluateShow, about: str, change: Callable[[ModelRow], ModelRow]) -> EvaluateShow:
    rows = setup_in(visitor, show).rows
    return changed(visitor, show, rows=[change(row) if row.id == about else row for row in rows])


ACTIONS: dict[str, Act] = {
    "add_row": add_row,
    "add_found": add_found,
    "add_router": add_router,
    "drop_row": drop_row,
    "drop_model": drop_model,
    "edit_row": edit_row,
    "keep_key": keep_key,
    "test_row": test_row,
    "list_names": list_names,
}
