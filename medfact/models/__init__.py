"""All models behind one door: prompts in, completions out, as a stream.

A spec names a model: `medfact-tiny`, or a prefix and a name, such as `hf:<repository, folder or file.gguf>`. The prefix tells
the provider: each `Provider` declares once what the rest of medfact must know of its models, and is registered here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path

from medfact.errors import Mistake, ModelError
from medfact.extras import check_installed, not_installed_errors
from medfact.limits import is_restricted
from medfact.models.baseline import RULES
from medfact.models.encoder import Encoder
from medfact.models.hub import BUNDLED, BUNDLED_FOLDERS, BUNDLED_MODEL, HUB, NARROW_MODEL, ON_THE_HUB, bundled_revision
from medfact.models.local.placement import HERE, Placement
from medfact.models.prompt import LENGTH, REPLY_TOKENS, Completion, Message, Prompt, Served, is_settled
from medfact.models.providers import (
    BASELINE,
    LOCAL,
    NO_MONITOR,
    SERVICE,
    Aside,
    LoadOptions,
    Model,
    ModelInfo,
    Monitor,
    Provider,
    all_of,
    is_local,
    is_spec,
    key_for,
    provider_of,
    register,
    service_of,
    takes_all,
    unknown_model,
    unregister,
)
from medfact.models.services.named import service_named
from medfact.models.services.policy import named_address_key
from medfact.models.services.provider import NAMED, OPENAI
from medfact.models.services.settings import DEFAULTS, OPENAI_PREFIX, ServiceSettings
from medfact.models.words_alone import WORDS_ALONE

FUNCTION = "function:"
"""How the spec of a model begins that is a Python function of a notebook; nothing but that notebook can load it."""


def _refuse_function(spec: str) -> None:
    raise ModelError(
        f"{spec[:100]} is a Python function of a notebook, so only that notebook can ask it.",
        "There, `medfact.open_run(ID).resume(the_function)` goes on with its run.",
    )


FUNCTIONS = Provider(prefixes=(FUNCTION,), title=str, check_spec=_refuse_function)

for _provider in (BUNDLED, RULES, WORDS_ALONE, ON_THE_HUB, OPENAI, *NAMED, FUNCTIONS):
    register(_provider)

__all__ = [
    "BASELINE",
    "BUNDLED_FOLDERS",
    "BUNDLED_MODEL",
    "FUNCTION",
    "HERE",
    "LENGTH",
    "LOCAL",
    "NARROW_MODEL",
    "REPLY_TOKENS",
    "SERVICE",
    "Aside",
    "Completion",
    "LoadOptions",
    "Message",
    "Model",
    "ModelInfo",
    "Placement",
    "Prompt",
    "Provider",
    "Served",
    "ServiceSettings",
    "bundled_revision",
    "check_spec",
    "check_typed_address",
    "encoders_in_help",
    "has_own_address",
    "is_local",
    "is_settled",
    "key_for",
    "key_of_named",
    "known_models",
    "load_encoder",
    "load_model",
    "provider_of",
    "register",
    "service_of",
    "services_in_help",
    "spec_of_service",
    "spec_of_weights",
    "specs_in_help",
    "takes_all",
    "takes_messages",
    "typed_model",
    "unregister",
]


def known_models() -> list[str]:
    """Specs that need nothing outside this repository."""
    return all_of(lambda provider: provider.ready)


def specs_in_help() -> str:
    """What specs look like, for the help of the command line."""
    return _listed(lambda provider: provider.help)


def services_in_help() -> str:
    """The same of models behind a service."""
    return _listed(lambda provider: provider.help if provider.is_remote else ())


def encoders_in_help() -> str:
    """The same of sentence encoders."""
    return _listed(lambda provider: provider.encoder_help)


def _listed(trait: Callable[[Provider], Sequence[str]]) -> str:
    *others, last = all_of(trait)
    return f"{', '.join(others)} or {last}" if others else last


def spec_of_weights(name: str) -> str:
    """The spec of what a person typed for a model on this machine: a spec, or else a repository or folder."""
    return name if is_spec(name) else f"{HUB}{name}"


def spec_of_service(name: str, prefix: str = OPENAI_PREFIX) -> str:
    """The spec of what a person typed for a model behind a service: its name there (Ollama has `mistral:7b`), or a spec."""
    is_spec_there = provider_of(name).is_remote and (name.startswith(prefix) or service_named(name) is None)
    return name if is_spec_there else f"{prefix}{name}"


_AT_ADDRESS = re.compile(r"(?=\S+\Z)(?:openai:)?(?P<name>[^\s@]\S*?)@(?P<address>https?://\S*)")
_AT_PROVIDER = re.compile(r"hf:(?P<name>[\w.-]+/[\w.-]+)@(?P<provider>[a-z0-9-]+)", re.ASCII)


def typed_model(text: str) -> tuple[str, str | None]:
    """The spec of what a person types for a model, and the address of its service, where that is typed with it.

    NAME@https://host/v1 is a model at any service, and hf:OWNER/NAME@PROVIDER one behind Hugging Face's router.
    """
    if found := _AT_ADDRESS.fullmatch(text.strip()):
        return f"{OPENAI_PREFIX}{found['name']}", found["address"]
    found = _AT_PROVIDER.fullmatch(text.strip())
    if found and (is_restricted() or not Path(text.strip().removeprefix(HUB)).exists()):
        return f"huggingface:{found['name']}:{found['provider']}", None
    return text.strip(), None


def check_typed_address(spec: str, address: str | None) -> None:
    """Raises Mistake where an address was typed for a model of a service that is asked at its own address alone."""
    own = service_of(spec, DEFAULTS) if has_own_address(spec) and address else None
    if own is not None and own.base_url != str(address).strip().rstrip("/"):
        prefix, _, name = spec.partition(":")
        raise Mistake(f"{prefix}: names a service with an address of its own.", f"Write {name}@ADDRESS for another one.")


def has_own_address(spec: str) -> bool:
    """Whether a model is of a service with one address, so that nobody need name it, and no other one counts."""
    named = service_named(spec)
    return named is not None and named.is_fixed and not spec.startswith(OPENAI_PREFIX)


def key_of_named(spec: str, settings: ServiceSettings) -> str | None:
    """The key of the environment for a model whose address a person has named at this command line; None for a model that is
    asked elsewhere: of a service with an address of its own, whose key is found by that alone.
    """
    service, named = service_of(spec, settings), service_named(spec)
    if service is None or settings.base_url is None or named is None or has_own_address(spec):
        return None
    return named_address_key(service, named.key or "OPENAI_API_KEY")


def check_spec(spec: str) -> None:
    """Raises UnknownName if a spec names no kind of model, and ModelError if a public server may not load it. Does not check
    whether the model exists.
    """
    provider = provider_of(spec)
    if not provider.is_named(spec):
        raise unknown_model(spec)
    provider.check_spec(spec)


@not_installed_errors()
def load_model(
    spec: str,
    *,
    seed: int = 0,
    placement: Placement = HERE,
    service: ServiceSettings = DEFAULTS,
    monitor: Monitor = NO_MONITOR,
    tell: Callable[[str], None] = lambda progress: None,
    aside: Callable[[], Aside | None] = lambda: None,
) -> Model:
    """The model of a spec, ready to answer. `LoadOptions` says what each option is.

    Raises:
        UnknownName: no such model or kind of model.
        ModelError: it cannot be loaded or reached, or does not fit into memory.
        NotInstalled: what it needs is not installed.
    """
    check_spec(spec)
    provider = provider_of(spec)
    check_installed(provider.needs)
    service = provider.service_of(service) or service
    return provider.load(spec, LoadOptions(seed, placement, service, monitor, tell, aside))


def load_encoder(spec: str, settings: ServiceSettings) -> Encoder:
    """The sentence encoder of a spec. A name without a prefix is a repository or folder.

    settings: of the service, if it answers behind one; its key, else MEDFACT_ENCODER_KEY, is sent there and nowhere else.
    Raises ModelError if it cannot be loaded or reached.
    """
    provider = provider_of(spec)
    load = provider.encoder or ON_THE_HUB.encoder
    assert load is not None
    return load(spec, provider.service_of(settings) or settings)


@not_installed_errors()
def takes_messages(spec: str, placement: Placement = HERE, service: ServiceSettings = DEFAULTS) -> bool:
    """Whether a model takes messages, without loading its weights. Raises as `load_model` does."""
    check_spec(spec)
    return provider_of(spec).takes_messages(spec, LoadOptions(placement=placement, service=service))
