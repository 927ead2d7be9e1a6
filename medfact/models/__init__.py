"""Models behind one door: prompts in, completions out, in order, streaming.

A model is named by a spec: `medfact-tiny`, `hf:<repo or folder>`, `openai:<model>` or `baseline:<name>`. `load_model` imports
the heavy libraries only when a spec needs them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NotRequired, Protocol, TypedDict

from medfact.assets import ASSETS
from medfact.errors import UnknownName
from medfact.models.baseline import BASELINES, load_baseline
from medfact.models.local.placement import HERE, Placement
from medfact.models.local.revision import folder_revision
from medfact.models.prompt import LENGTH, Completion, Message, Prompt, Served, is_settled
from medfact.models.services.policy import check_model_source
from medfact.models.services.settings import DEFAULTS, NOBODY, ApiSettings, Watch

BUNDLED_MODEL = "medfact-tiny"
BUNDLED_FOLDER = ASSETS / "models" / BUNDLED_MODEL

__all__ = [
    "BUNDLED_FOLDER",
    "BUNDLED_MODEL",
    "HERE",
    "LENGTH",
    "ApiSettings",
    "Completion",
    "Message",
    "Model",
    "ModelInfo",
    "Placement",
    "Prompt",
    "Served",
    "bundled_revision",
    "check_spec",
    "is_local",
    "is_service",
    "is_settled",
    "known_models",
    "load_model",
    "takes_messages",
]


class ModelInfo(TypedDict):
    """What a run records of its model: `revision` changes whenever its weights do; `notes` are for the reader of the run."""

    revision: str
    decoding: Mapping[str, Any]
    notes: NotRequired[tuple[str, ...]]


class Model(Protocol):
    """A loaded model. `spec`: its name; `chat`: whether it takes messages, not plain text; `info`: what a run records of it."""

    @property
    def spec(self) -> str: ...

    @property
    def chat(self) -> bool: ...

    @property
    def info(self) -> ModelInfo: ...

    def complete(self, prompts: Sequence[Prompt]) -> Iterator[tuple[int, Completion]]:
        """The place of each prompt and its completion, as they come, in whatever order the model computes them."""
        ...


def bundled_revision() -> str:
    """The revision of the bundled model, found without loading it."""
    return folder_revision(BUNDLED_FOLDER)


def known_models() -> list[str]:
    """Specs that need nothing but this repository."""
    return [BUNDLED_MODEL, *(f"baseline:{name}" for name in BASELINES)]


def is_local(spec: str) -> bool:
    """Whether the model computes on this machine with weights, which is worth a process of its own."""
    return spec == BUNDLED_MODEL or spec.startswith("hf:")


def is_service(spec: str) -> bool:
    """Whether the model answers behind a service."""
    return spec.startswith("openai:")


def check_spec(spec: str) -> None:
    """Raises UnknownName where a spec names no kind of model, and ModelError where a public server may not load it; whether it
    can be loaded shows when it is.
    """
    kind, _, name = spec.partition(":")
    if spec not in known_models() and not (kind in ("hf", "openai") and name.strip()):
        raise UnknownName("model", spec, [*known_models(), "hf:<repository or folder>", "openai:<model>"])
    if kind == "hf":
        check_model_source(name.strip())


def load_model(
    spec: str,
    *,
    seed: int = 0,
    placement: Placement = HERE,
    service: ApiSettings = DEFAULTS,
    watch: Watch = NOBODY,
    tell: Callable[[str], None] = lambda said: None,
) -> Model:
    """The model of a spec, ready to answer.

    Args:
        seed: of a baseline's draws.
        placement: how a local model is loaded.
        service: how a model behind a service is asked.
        watch: looks on while a service is asked, and may end it.
        tell: takes a few words on what is going on while a model is loaded.

    Raises:
        UnknownName: no such model or kind of model.
        ModelError: it cannot be loaded or reached, or does not fit; says what to do.
    """
    check_spec(spec)
    kind, _, name = spec.partition(":")
    if kind == "baseline":
        return load_baseline(name, seed)
    if kind == "openai":
        from medfact.models.services.client import load_api

        return load_api(spec, service, watch)
    from medfact.models.local.loading import load_local

    return load_local(spec, _source(spec), placement, tell)


def _source(spec: str) -> str:
    """The folder or repository of a local model. Raises ModelError where a public server may not load it."""
    if spec == BUNDLED_MODEL:
        return str(BUNDLED_FOLDER)
    source = spec.partition(":")[2].strip()
    check_model_source(source)
    return source


def takes_messages(spec: str, placement: Placement = HERE, service: ApiSettings = DEFAULTS) -> bool:
    """Whether a model takes messages, found without loading its weights.

    Raises as `load_model` does.
    """
    check_spec(spec)
    if is_service(spec):
        return service.shots_as_turns
    if not spec.startswith("hf:"):
        return False
    from medfact.models.local.loading import has_chat_template

    return has_chat_template(_source(spec), placement)
