"""All models behind one door: prompts in, completions out, as a stream.

A spec names a model: `medfact-tiny`, `hf:<repository, folder or file.gguf>`, `openai:<model>` or `baseline:<name>`.
`load_model` imports heavy libraries only for the specs that need them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NotRequired, Protocol, TypedDict

from medfact.assets import ASSETS
from medfact.errors import ModelError, UnknownName
from medfact.extras import named_if_missing
from medfact.limits import is_public_server
from medfact.models.baseline import BASELINES, load_baseline
from medfact.models.local.placement import HERE, Placement
from medfact.models.local.revision import folder_revision
from medfact.models.prompt import LENGTH, REPLY_TOKENS, Completion, Message, Prompt, Served, is_settled
from medfact.models.services.monitor import NO_MONITOR, Monitor
from medfact.models.services.policy import check_encoder_source, check_model_source
from medfact.models.services.settings import DEFAULTS, ServiceSettings
from medfact.models.words_alone import TAIL, Aside, is_words_alone, load_words_alone
from medfact.proxies import check_proxies

BUNDLED_MODEL = "medfact-tiny"
NARROW_MODEL = "medfact-tiny-narrow"
BUNDLED_FOLDERS = {name: ASSETS / "models" / name for name in (BUNDLED_MODEL, NARROW_MODEL)}
"""The demonstration models: one that is blind to negation, one that is sound but narrow."""

FUNCTION = "function:"
"""How the spec of a model begins that is a Python function of a notebook; nothing but that notebook can load it."""

__all__ = [
    "BUNDLED_FOLDERS",
    "BUNDLED_MODEL",
    "FUNCTION",
    "HERE",
    "LENGTH",
    "NARROW_MODEL",
    "REPLY_TOKENS",
    "Aside",
    "Completion",
    "Message",
    "Model",
    "ModelInfo",
    "Placement",
    "Prompt",
    "Served",
    "ServiceSettings",
    "bundled_revision",
    "check_spec",
    "is_local",
    "is_service",
    "is_settled",
    "known_models",
    "load_model",
    "takes_all",
    "takes_messages",
]


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


def bundled_revision() -> str:
    """The revision of the bundled model, without loading it."""
    return folder_revision(BUNDLED_FOLDERS[BUNDLED_MODEL])


def known_models() -> list[str]:
    """Specs that need nothing outside this repository."""
    return [*BUNDLED_FOLDERS, *(f"baseline:{name}" for name in BASELINES), f"baseline:{TAIL}"]


def is_local(spec: str) -> bool:
    """Whether the model computes on this machine with weights, which deserves a process of its own."""
    return spec in BUNDLED_FOLDERS or spec.startswith("hf:")


def is_service(spec: str) -> bool:
    """Whether the model answers behind a service."""
    return spec.startswith("openai:")


def takes_all(model: Model) -> bool:
    """Whether a model wants all prompts of a run at once, because many compute them side by side."""
    return bool(getattr(model, "takes_all", False))


def check_spec(spec: str) -> None:
    """Raises UnknownName if a spec names no kind of model, and ModelError if a public server may not load it. Does not check
    whether the model exists.
    """
    kind, _, name = spec.partition(":")
    if spec.startswith(FUNCTION):
        raise ModelError(
            f"{spec[:100]} is a Python function of a notebook, so only that notebook can ask it.",
            "There, `medfact.open_run(ID).resume(the_function)` goes on with its run.",
        )
    if spec not in known_models() and not is_words_alone(spec) and not (kind in ("hf", "openai") and name.strip()):
        raise UnknownName("model", spec, [*known_models(), "baseline:embedding", "hf:<repository or folder>", "openai:<model>"])
    if kind == "hf":
        check_model_source(name.strip())
    if is_words_alone(spec) and name.count(":"):
        check_encoder_source(name.partition(":")[2].strip())


@named_if_missing()
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
    """The model of a spec, ready to answer.

    Args:
        seed: for a baseline's random answers.
        placement: how to load a local model.
        service: how to call a model behind a service.
        monitor: follows the calls to a service, and may end them.
        tell: called with a few words on progress while a model loads.
        aside: the facts kept aside, on which a reader of words alone sets its threshold.

    Raises:
        UnknownName: no such model or kind of model.
        ModelError: it cannot be loaded or reached, or does not fit into memory.
        PartMissing: what it needs is not installed.
    """
    check_spec(spec)
    kind, _, name = spec.partition(":")
    if is_words_alone(spec):
        return load_words_alone(spec, aside())
    if kind == "baseline":
        return load_baseline(name, seed)
    if kind == "openai":
        from medfact.models.services.client import load_service

        return load_service(spec, service, monitor)
    from medfact.models.local.loading import load_local

    return load_local(spec, _source(spec), placement, tell)


def _source(spec: str) -> Path | str:
    """The folder or GGUF file of a local model, or the name of its repository on the hub.

    On a public server only the bundled models have a folder: any other name is a repository, even if such a folder exists.

    Raises Mistake where the hub would be asked through a proxy that cannot be used.
    """
    if spec in BUNDLED_FOLDERS:
        return BUNDLED_FOLDERS[spec]
    source = spec.partition(":")[2].strip()
    try:
        path = Path(source)
        is_here = not is_public_server() and (path.is_dir() or (path.suffix == ".gguf" and path.is_file()))
    except (OSError, ValueError):  # too long for a path, or with a zero byte
        is_here = False
    if not is_here:
        check_proxies()  # the hub is asked
    return path if is_here else source


def takes_messages(spec: str, placement: Placement = HERE, service: ServiceSettings = DEFAULTS) -> bool:
    """Whether a model takes messages, without loading its weights. Raises as `load_model` does."""
    check_spec(spec)
    if is_service(spec):
        return service.shots_as_turns
    if not spec.startswith("hf:"):
        return False
    from medfact.models.local.loading import has_chat_template

    return has_chat_template(_source(spec), placement)
