"""What a model's repository or folder holds, found before anything heavy is fetched or loaded."""

from __future__ import annotations

import json
import struct
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from huggingface_hub import HfApi, hf_hub_download, snapshot_download
from huggingface_hub.errors import (
    EntryNotFoundError,
    GatedRepoError,
    HfHubHTTPError,
    HFValidationError,
    LocalEntryNotFoundError,
    RepositoryNotFoundError,
)
from tqdm.auto import tqdm
from transformers.models.auto.modeling_auto import (
    MODEL_FOR_CAUSAL_LM_MAPPING_NAMES,
    MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING_NAMES,
    MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING_NAMES,
)

from medfact.errors import ModelError
from medfact.models.local.placement import Placement, in_bytes
from medfact.models.services.policy import is_public_server

SAFE, PICKLED = ".safetensors", (".bin", ".pt", ".pth")
_WRITES = ("ForCausalLM", "LMHeadModel", "ForConditionalGeneration")
_BITS = {"F64": 64, "F32": 32, "I32": 32, "F16": 16, "BF16": 16, "I16": 16, "I8": 8, "U8": 8, "F8_E4M3": 8, "F8_E5M2": 8}
_TEXTS = ("*.json", "*.txt", "*.model", "*.jinja", "*.py")

_HTTP_ERROR: type[Exception] = HfHubHTTPError.__bases__[0]
"""What the hub's library raises where a server is not reached; which library it speaks HTTP with depends on its version."""

SECONDS = 0.5
"""Progress is told so often, at most."""

Tell = Callable[[str], None]
"""Takes a few words on what is going on."""


CAUSAL, ENCODER_DECODER, IMAGE_TEXT = "causal", "encoder and decoder", "image and text"

_LOADED_AS: dict[str, Mapping[str, Any]] = {
    CAUSAL: MODEL_FOR_CAUSAL_LM_MAPPING_NAMES,
    ENCODER_DECODER: MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING_NAMES,
    IMAGE_TEXT: MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING_NAMES,
}
"""Kind of model → the types that transformers loads so."""


def _kind(config: Mapping[str, Any]) -> str:
    kind = str(config.get("model_type"))
    if config.get("is_encoder_decoder") and kind in MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING_NAMES:
        return ENCODER_DECODER
    # a type may be both: then its own class says how its weights are named
    classes = [str(name) for name in config.get("architectures") or []]
    named = MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING_NAMES.get(kind)
    sees_too = named in classes or (named is not None and kind not in MODEL_FOR_CAUSAL_LM_MAPPING_NAMES)
    return IMAGE_TEXT if sees_too else CAUSAL


@dataclass(frozen=True)
class Repository:
    """A language model that can be loaded: causal, of encoder and decoder, or one that sees images too.

    config: its config.json. parameters: of its weights. stored: bytes of the weight files. folder: where they are; None for a
    repository that is not fetched yet.
    """

    source: str
    config: Mapping[str, Any]
    parameters: int
    stored: int
    folder: Path | None

    @property
    def kind(self) -> str:
        """CAUSAL, ENCODER_DECODER or IMAGE_TEXT: by which of transformers' classes it is loaded."""
        return _kind(self.config)


def look_at(source: str, placement: Placement) -> Repository:
    """The repository or folder of a name.

    Raises ModelError, in one sentence with what to do, when there is none, it is gated, it has no weights that may be loaded,
    or it is no model that writes text.
    """
    found = _folder(Path(source)) if _is_folder(source) else _of_hub(source)
    config, files, parameters, folder = found
    _check_kind(source, config, placement)
    safe = {name: size for name, size in files.items() if name.endswith(SAFE)}
    pickled = {name: size for name, size in files.items() if name.endswith(PICKLED)}
    weights = safe or (pickled if placement.any_weights else {})
    if not weights:
        raise _no_weights(source, pickled)
    return Repository(source, config, parameters or sum(weights.values()) // 2, sum(weights.values()), folder)


def fetched(repository: Repository, placement: Placement, tell: Tell) -> Path:
    """The folder with a repository's files, which are fetched where they are not here yet."""
    if repository.folder is not None:
        return repository.folder
    patterns = [*_TEXTS, f"*{SAFE}", *((f"*{end}" for end in PICKLED) if placement.any_weights else ())]

    class Told(tqdm):  # type: ignore[misc]
        """Progress in words instead of a bar."""

        told = 0.0

        def __init__(self, *args: Any, **kwargs: Any) -> None:
            kwargs.pop("name", None)
            super().__init__(*args, **{**kwargs, "disable": True})
            self.n, self.bytes = 0.0, kwargs.get("unit") == "B"

        def update(self, n: float | None = 1) -> None:
            self.n += n or 0
            if self.bytes and time.monotonic() - Told.told > SECONDS:
                Told.told = time.monotonic()
                tell(f"fetching the model: {in_bytes(self.n)} of {in_bytes(repository.stored)}")

    try:
        folder = snapshot_download(
            repository.source, allow_patterns=patterns, ignore_patterns=["*/*", "consolidated*"], tqdm_class=Told
        )
    except GatedRepoError as error:
        raise _gated(repository.source) from error
    except (HfHubHTTPError, LocalEntryNotFoundError, _HTTP_ERROR, OSError) as error:
        raise _not_reached(repository.source) from error
    return Path(folder)


def _is_folder(source: str) -> bool:
    if is_public_server() and not Path(source).is_absolute():  # only the bundled model has the path of a folder there
        return False
    try:
        return Path(source).is_dir()
    except (OSError, ValueError):  # a name too long to be a path, or with a zero byte
        return False


Found = tuple[Mapping[str, Any], Mapping[str, int], int, Path | None]
"""config.json, files with their sizes in bytes, parameters (0 where unknown), folder."""


def _folder(folder: Path) -> Found:
    files = {file.name: file.stat().st_size for file in folder.iterdir() if file.is_file()}
    if "config.json" not in files:
        raise _no_model(str(folder), "it has no config.json")
    config = _config(str(folder), folder / "config.json")
    try:
        parameters = sum(_parameters(file) for file in folder.glob(f"*{SAFE}"))
    except (OSError, ValueError, KeyError, struct.error) as error:
        raise _no_model(str(folder), "its safetensors files are damaged") from error
    return config, files, parameters, folder


def _parameters(file: Path) -> int:
    """Numbers in a safetensors file, from its header alone."""
    with file.open("rb") as stream:
        length = struct.unpack("<Q", stream.read(8))[0]
        if length > 100_000_000:
            raise ValueError("no header")
        header = json.loads(stream.read(length))
    tensors = [tensor for name, tensor in header.items() if name != "__metadata__"]
    return sum(
        (tensor["data_offsets"][1] - tensor["data_offsets"][0]) * 8 // _BITS.get(tensor["dtype"], 16) for tensor in tensors
    )


def _of_hub(source: str) -> Found:
    try:
        info = HfApi().model_info(source, files_metadata=True, timeout=20)
        config = _config(source, Path(hf_hub_download(source, "config.json")))
    except GatedRepoError as error:
        raise _gated(source) from error
    except HFValidationError as error:
        raise _no_such(source) from error
    except EntryNotFoundError as error:
        raise _no_model(source, "it has no config.json") from error
    except RepositoryNotFoundError as error:
        raise _no_such(source) from error
    except (HfHubHTTPError, _HTTP_ERROR, OSError) as error:
        return _of_cache(source, error)
    files = {sibling.rfilename: sibling.size or 0 for sibling in info.siblings or [] if "/" not in sibling.rfilename}
    return config, files, info.safetensors.total if info.safetensors else 0, None


def _of_cache(source: str, error: Exception) -> Found:
    """A repository that was fetched before, when its server is not reached."""
    try:
        return _folder(Path(snapshot_download(source, local_files_only=True)))
    except (LocalEntryNotFoundError, OSError):
        raise _not_reached(source) from error


def _config(source: str, file: Path) -> Mapping[str, Any]:
    try:
        config = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise _no_model(source, "its config.json is damaged") from error
    if not isinstance(config, dict):
        raise _no_model(source, "its config.json is damaged")
    return config


def _check_kind(source: str, config: Mapping[str, Any], placement: Placement) -> None:
    """Raises ModelError where a model's settings say that it writes no text, or only by code of its own."""
    kind = str(config.get("model_type") or "")
    classes = [str(name) for name in config.get("architectures") or []]
    own = bool(config.get("auto_map"))
    if own and not placement.remote_code and kind not in MODEL_FOR_CAUSAL_LM_MAPPING_NAMES:
        raise ModelError(
            f"The model {source!r} runs code of its own.",
            "If you trust its owners, allow it on the command line: --trust-code.",
        )
    if placement.remote_code and config.get("auto_map"):
        return
    loaded_as = _kind(config)
    named = _LOADED_AS[loaded_as].get(kind)
    writes = not classes or any(name.endswith(_WRITES) or (loaded_as == IMAGE_TEXT and name == named) for name in classes)
    if named is None or not writes:
        raise ModelError(
            f"The model {source!r} writes no text ({', '.join(classes) or kind or 'its config.json names no architecture'}).",
            "Take a causal language model, one whose architecture ends in ForCausalLM; encoders such as BERT cannot answer.",
        )


def _no_such(source: str) -> ModelError:
    return ModelError(
        f"There is no model {source!r}: no such folder, and no such repository that you can see.",
        "Check the name; for a private one, log in with `hf auth login`.",
    )


def _gated(source: str) -> ModelError:
    return ModelError(f"The repository {source!r} is gated.", "Ask its owners for access, then log in with `hf auth login`.")


def _not_reached(source: str) -> ModelError:
    return ModelError(
        f"The model {source!r} cannot be loaded: there is no such folder, and its repository was not reached.",
        "Check the name and the network, or give the path of a folder.",
    )


def _no_model(source: str, reason: str) -> ModelError:
    return ModelError(
        f"{source!r} holds no causal language model that can be loaded: {reason}.",
        "It needs config.json, the tokenizer's files and safetensors weights.",
    )


def _no_weights(source: str, pickled: Mapping[str, int]) -> ModelError:
    if pickled:
        return ModelError(
            f"The weights of {source!r} are no safetensors ({min(pickled)}); such files can run code when they are read.",
            "Take a repository with safetensors, or, if you trust its owners, allow it: --any-weights.",
        )
    return _no_model(source, "it has no weights")
