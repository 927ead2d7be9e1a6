"""What a provider of models declares once: how its specs begin, how a model is loaded, and what others must know of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NotRequired, Protocol, TypedDict

from medfact.errors import UnknownName
from medfact.facts import Fact, KnowledgeBase
from medfact.models.encoder import Encoder
from medfact.models.local.placement import HERE, Placement
from medfact.models.prompt import Completion, Prompt, Served
from medfact.models.services.prices import Price
from medfact.models.services.settings import DEFAULTS, ServiceSettings

LOCAL, SERVICE, BASELINE = "local", "service", "baseline"
"""Lanes of the queue of jobs: one model with weights at a time, in a process of its own; many runs at services; a few rules."""


class ModelInfo(TypedDict):
    """What a run records of its model. `revision` changes whenever the weights do; `notes` are for the reader of the run."""

    revision: str
    decoding: Mapping[str, Any]
    notes: NotRequired[tuple[str, ...]]


class Model(Protocol):
    """A loaded model. `chat`: it takes messages, not plain text; `info`: what a run records of it."""

    @property
    def spec(self) -> str: ...

    @property
    def chat(self) -> bool: ...

    @property
    def info(self) -> ModelInfo: ...

    def complete(self, prompts: Sequence[Prompt]) -> Iterator[tuple[int, Completion]]:
        """The index of each prompt and its completion, in whatever order the model computes them."""
        ...


def takes_all(model: Model) -> bool:
    """Whether a model wants all prompts of a run at once, because many are computed side by side."""
    return bool(getattr(model, "takes_all", False))


@dataclass(frozen=True)
class Aside:
    """The facts kept aside, true and false ones, and everything known."""

    facts: Sequence[Fact]
    known: KnowledgeBase


class Monitor:
    """Follows the calls to a service, and may end them. This one hears of them, ignores them and never ends a run.

    Methods run in the service's thread.
    """

    def completed(self, completion: Completion) -> None:
        """Called with each completion as it arrives."""

    def wasted(self, prompt_tokens: int) -> None:
        """Called for each call without a reply that may still be billed, with the estimated tokens of its prompt."""

    def discarded(self, served: Served) -> None:
        """Called for each reply that is not used, since the prompt is asked again in another way."""

    def seconds_left(self) -> float | None:
        """Seconds that calls in flight have left once no further calls may start; None while they may."""
        return None

    def must_wait(self) -> bool:
        """Whether no further call may start for now, since what has come cannot be saved."""
        return False


NO_MONITOR = Monitor()


@dataclass(frozen=True)
class LoadOptions:
    """What a provider may use to load a model. Each takes what it needs."""

    seed: int = 0
    """For a baseline's random answers."""

    placement: Placement = HERE
    """How to load a local model."""

    service: ServiceSettings = field(default=DEFAULTS, repr=False)
    """How to call a model behind a service, with its key."""

    monitor: Monitor = NO_MONITOR
    """Follows the calls to a service, and may end them."""

    tell: Callable[[str], None] = lambda progress: None
    """Called with a few words on progress while a model loads."""

    aside: Callable[[], Aside | None] = lambda: None
    """The facts kept aside, for models that set a threshold on them."""


def _nothing(spec: str, _: LoadOptions) -> Model:
    raise unknown_model(spec)


@dataclass(frozen=True, kw_only=True)
class Provider:
    """A kind of models. What it does not say of itself is true of a rule on this machine, which costs nothing."""

    prefixes: tuple[str, ...] = ()
    """How the specs of its models begin, with the colon; the name of a model follows."""

    load: Callable[[str, LoadOptions], Model] = _nothing
    """Loads the model of a spec. Heavy libraries are imported within. Raises MedfactError."""

    ready: tuple[str, ...] = ()
    """Specs that need nothing outside this repository."""

    titles: Mapping[str, str] = field(default_factory=dict)
    """Specs without a name after the prefix, and others that have a title of their own → what the page calls them."""

    explained: Mapping[str, str] = field(default_factory=dict)
    """Specs whose title says too little → what such a model does, in a sentence."""

    title: Callable[[str], str] | None = None
    """What to call the model of any other spec; None for its name."""

    badge: str = ""
    """A word beside the names of its models, on the page."""

    patterns: tuple[str, ...] = ()
    """Beside `ready`, what an error lists where a spec is unknown, such as "hf:<repository or folder>"."""

    help: tuple[str, ...] = ()
    """How the help of the command line shows its specs, such as "hf:REPOSITORY"."""

    takes_names: bool = True
    """Whether a spec may go on with any name after the prefix; otherwise only `ready` ones are specs."""

    check_spec: Callable[[str], None] = lambda spec: None
    """Raises MedfactError where this server may not load a model, or nobody can."""

    names_source: Callable[[str], bool] = lambda spec: False
    """Whether a spec names a folder or a repository that is opened. A run's file that names one is not trusted."""

    needs: tuple[str, ...] = ()
    """Modules that an install may lack."""

    lane: str = BASELINE
    """LOCAL, SERVICE or BASELINE."""

    service: Callable[[ServiceSettings], ServiceSettings] | None = None
    """The service that gets the prompts, from a run's settings, which may leave its address open; None where nobody gets them.
    Such models take a key, are asked side by side, and get a person's own facts only where the person consents.
    """

    price: Callable[[str], Price | None] | None = None
    """The list price of a spec's model, where it is known; None for models that cost nothing."""

    takes_messages: Callable[[str, LoadOptions], bool] = lambda spec, options: False
    """Whether a model takes messages, without loading its weights."""

    encoder: Callable[[str, ServiceSettings], Encoder] | None = None
    """Loads the sentence encoder of a spec; None where the provider has none."""

    encoder_help: tuple[str, ...] = ()
    """How the help of the command line shows the specs of its encoders."""

    is_rule: bool = False
    """Whether its models know no medicine: they write nothing, and no mean over models counts them."""

    reads_aside: bool = False
    """Whether its models read the facts kept aside (`LoadOptions.aside`), so that some are kept in every run."""

    begins: str = "loading the model"
    """What the page says until the first answer."""

    advice: str = "look at how the model is asked."
    """What to do where all first replies say the same token."""

    def name_of(self, spec: str) -> str:
        """What follows the prefix."""
        return next((spec.removeprefix(prefix) for prefix in self.prefixes if spec.startswith(prefix)), spec)

    def title_of(self, spec: str) -> str:
        """What the page calls a model."""
        return self.titles.get(spec) or (self.title or self.name_of)(spec)

    def service_of(self, settings: ServiceSettings) -> ServiceSettings | None:
        """The service that gets the prompts; None where nobody does."""
        return None if self.service is None else self.service(settings)

    def price_of(self, spec: str) -> Price | None:
        """The list price of a model; None where it is not known or nothing is paid."""
        return None if self.price is None else self.price(spec)

    @property
    def is_paid(self) -> bool:
        """Whether its replies may cost something."""
        return self.price is not None

    @property
    def is_remote(self) -> bool:
        """Whether prompts leave this process for a service."""
        return self.service is not None

    def claims(self, spec: str) -> bool:
        """Whether a spec names one of its models, known or not."""
        return spec in self.ready or spec in self.titles or spec.startswith(self.prefixes)

    def is_named(self, spec: str) -> bool:
        """Whether a spec that it claims names a model."""
        return spec in self.ready or spec in self.titles or (self.takes_names and bool(self.name_of(spec).strip()))


_providers: list[Provider] = []


def register(provider: Provider) -> None:
    """Adds a provider. One that is added later takes specs from earlier ones, such as "baseline:tail" from "baseline:"."""
    _providers.insert(0, provider)


def unregister(provider: Provider) -> None:
    """Takes a provider out again."""
    _providers.remove(provider)


_NOBODY = Provider(title=str, takes_names=False)
"""Whose a spec is that no provider claims: a recorded run may name anything."""


def provider_of(spec: str) -> Provider:
    """The provider of a model. A spec that nobody claims has one, too, whose models cannot be loaded."""
    return next((provider for provider in _providers if provider.claims(spec)), _NOBODY)


def is_spec(name: str) -> bool:
    """Whether a name begins like a spec, rather than being a repository or a folder alone."""
    return provider_of(name) is not _NOBODY


def all_of(trait: Callable[[Provider], Sequence[str]]) -> list[str]:
    """What the providers list, in the order in which they were registered."""
    return [name for provider in reversed(_providers) for name in trait(provider)]


def unknown_model(spec: str) -> UnknownName:
    """The error where a spec names no model."""
    return UnknownName("model", spec, all_of(lambda provider: (*provider.ready, *provider.patterns)))


def service_of(model: str, settings: ServiceSettings) -> ServiceSettings | None:
    """The service that a model's prompts go to, from a run's settings; None where nobody gets them."""
    return provider_of(model).service_of(settings)


def key_for(model: str, key: str | None) -> str | None:
    """A key, where the model takes one."""
    return key if provider_of(model).is_remote else None


def is_local(model: str) -> bool:
    """Whether a model computes on this machine with weights, which deserves a process of its own."""
    return provider_of(model).lane == LOCAL
