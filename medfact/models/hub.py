"""The providers of models with weights on this machine: the bundled ones, and those of the hub, a folder or a GGUF file."""

from __future__ import annotations

from pathlib import Path, PurePath

from medfact.assets import ASSETS
from medfact.limits import is_restricted
from medfact.models.encoder import hub_encoder
from medfact.models.local.revision import revision_of
from medfact.models.providers import LOCAL, LoadOptions, Model, Provider
from medfact.models.services.policy import check_model_source
from medfact.proxies import check_proxies

HUB = "hf:"

BUNDLED_MODEL = "medfact-tiny"
NARROW_MODEL = "medfact-tiny-narrow"
BUNDLED_FOLDERS = {name: ASSETS / "models" / name for name in (BUNDLED_MODEL, NARROW_MODEL)}
"""The demonstration models: one that is blind to negation, one that is sound but narrow."""

_NEEDS = ("torch", "transformers")

_ADVICE = "the model computes wrongly. Try another number format (--dtype float32 or bfloat16), or fetch its weights again."


def bundled_revision() -> str:
    """The revision of the bundled model, without loading it."""
    return revision_of(BUNDLED_FOLDERS[BUNDLED_MODEL])


def _load(spec: str, options: LoadOptions) -> Model:
    from medfact.models.local.loading import load_local

    return load_local(spec, _source(spec), options.placement, options.tell)


def _source(spec: str) -> Path | str:
    """The folder or GGUF file of a local model, or the name of its repository on the hub.

    On a public server only the bundled models have a folder: any other name is a repository, even if such a folder exists.

    Raises Mistake where the hub would be asked through a proxy that cannot be used.
    """
    if spec in BUNDLED_FOLDERS:
        return BUNDLED_FOLDERS[spec]
    source = spec.removeprefix(HUB).strip()
    try:
        path = Path(source)
        is_here = not is_restricted() and (path.is_dir() or (path.suffix == ".gguf" and path.is_file()))
    except (OSError, ValueError):  # too long for a path, or with a zero byte
        is_here = False
    if not is_here:
        check_proxies()  # the hub is asked
    return path if is_here else source


def _has_chat_template(spec: str, options: LoadOptions) -> bool:
    from medfact.models.local.loading import has_chat_template

    return has_chat_template(_source(spec), options.placement)


def _last_part(spec: str) -> str:
    """The last part of a folder or repository."""
    name = spec.removeprefix(HUB)
    return PurePath(name.rstrip("/")).name or name


BUNDLED = Provider(
    load=_load,
    ready=tuple(BUNDLED_FOLDERS),
    badge="demonstration",
    help=(f"{BUNDLED_MODEL} (default)", NARROW_MODEL),
    needs=_NEEDS,
    lane=LOCAL,
    advice=_ADVICE,
)

ON_THE_HUB = Provider(
    prefixes=(HUB,),
    load=_load,
    title=_last_part,
    patterns=("hf:<repository or folder>",),
    help=("hf:REPOSITORY", "hf:FOLDER", "hf:FILE.gguf"),
    check_spec=lambda spec: check_model_source(spec.removeprefix(HUB).strip()),
    names_source=lambda spec: True,
    needs=_NEEDS,
    lane=LOCAL,
    takes_messages=_has_chat_template,
    encoder=lambda spec, _: hub_encoder(spec, spec.removeprefix(HUB)),
    encoder_help=("hf:REPOSITORY", "hf:FOLDER"),
    advice=_ADVICE,
)
