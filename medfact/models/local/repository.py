"""Checks a model's repository or folder before anything large is downloaded or loaded, and downloads it."""

from __future__ import annotations

import json
import re
import struct
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from huggingface_hub import HfApi, hf_hub_download, snapshot_download
from huggingface_hub.errors import (
    EntryNotFoundError,
    GatedRepoError,
    HfHubHTTPError,
    HFValidationError,
    LocalEntryNotFoundError,
    RepositoryNotFoundError,
    StrictDataclassError,
)
from safetensors import SafetensorError
from tqdm.auto import tqdm
from transformers import AutoConfig, AutoModelForCausalLM
from transformers.models.auto.modeling_auto import (
    MODEL_FOR_CAUSAL_LM_MAPPING_NAMES,
    MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING_NAMES,
    MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING_NAMES,
)

from medfact.errors import ModelError, first_line
from medfact.limits import hub_token, is_restricted, limits
from medfact.models.local.placement import Placement, in_bytes

GGUF = ".gguf"
SAFE, PICKLED = ".safetensors", (".bin", ".pt", ".pth")

_PART = re.compile(r"-[0-9]+-of-([0-9]+)\.gguf$")
"""How the name of one of several parts ends."""

_SAFE_NAMES = ("model.safetensors", "model.safetensors.index.json")
_PICKLED_NAMES = ("pytorch_model.bin", "pytorch_model.bin.index.json")
"""The one file with all weights, and the index of several."""

_BITS = {"F64": 64, "F32": 32, "I32": 32, "F16": 16, "BF16": 16, "I16": 16, "I8": 8, "U8": 8, "F8_E4M3": 8, "F8_E5M2": 8}

_GENERATES = ("ForCausalLM", "LMHeadModel", "ForConditionalGeneration")
_TEXT_FILES = ("*.json", "*.txt", "*.model", "*.jinja", "*.py")

UNREADABLE = (
    OSError,
    ValueError,
    LookupError,
    TypeError,
    AttributeError,
    ImportError,
    RuntimeError,
    StrictDataclassError,
    SafetensorError,
    struct.error,
)
"""What transformers may raise for a model that it cannot load."""

_HTTP_ERROR: type[Exception] = HfHubHTTPError.__bases__[0]
"""What the hub's library raises if a server cannot be reached. The library for HTTP depends on its version."""

PROGRESS_SECONDS = 0.5
"""The shortest time between two reports of progress."""

Tell = Callable[[str], None]
"""Called with a few words on progress."""

CAUSAL, ENCODER_DECODER, IMAGE_TEXT = "causal", "encoder and decoder", "image and text"

_LOADED_AS: dict[str, Mapping[str, Any]] = {
    CAUSAL: MODEL_FOR_CAUSAL_LM_MAPPING_NAMES,
    ENCODER_DECODER: MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING_NAMES,
    IMAGE_TEXT: MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING_NAMES,
}
"""Kind of model → the types that transformers loads as such."""


def _kind(config: Mapping[str, Any]) -> str:
    kind = str(config.get("model_type"))
    if config.get("is_encoder_decoder") and kind in MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING_NAMES:
        return ENCODER_DECODER
    # for a type that is both, the class decides, because the weights are named after it
    classes = [str(name) for name in config.get("architectures") or []]
    named = MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING_NAMES.get(kind)
    sees_images = named in classes or (named is not None and kind not in MODEL_FOR_CAUSAL_LM_MAPPING_NAMES)
    return IMAGE_TEXT if sees_images else CAUSAL


@dataclass(frozen=True)
class Repository:
    """A language model that can be loaded: causal, encoder-decoder, or one that also reads images.

    config: its config.json. parameters: how many its weights have. weights: the files with them, and stored_bytes their size.
    folder: None for a repository that is not downloaded yet. gguf: name of the file in it that holds the whole model in GGUF
    format, if one does.
    """

    source: str
    config: Mapping[str, Any]
    parameters: int
    weights: tuple[str, ...]
    stored_bytes: int
    folder: Path | None
    gguf: str | None = None

    @property
    def kind(self) -> str:
        """CAUSAL, ENCODER_DECODER or IMAGE_TEXT, which decides the transformers class that loads it."""
        return _kind(self.config)


def inspect_source(source: Path | str, placement: Placement) -> Repository:
    """The model in a folder or a GGUF file (a Path), or in a repository of the hub (a name).

    Raises ModelError if there is none, it is gated, it has no weights that may be loaded, or it generates no text.
    """
    if isinstance(source, Path) and (file := gguf_in(source)) is not None:
        return _in_gguf(file)
    contents = _in_folder(source) if isinstance(source, Path) else _on_hub(source)
    config, files, parameters, folder = contents
    source, is_folder = str(source), isinstance(source, Path)
    _check_kind(source, config, placement)
    weights = _weight_files(files, placement, lambda name: _text_of(source, folder, name))
    if not weights:
        raise _no_weights(source, files)
    parameters = parameters if folder is None else _parameters_in(folder, weights)
    stored = sum(files[name] for name in weights)
    repository = Repository(source, config, parameters or stored // 2, tuple(weights), stored, folder)
    if not is_folder:
        check_size(repository)
    return repository


def _text_of(source: str, folder: Path | None, name: str) -> str:
    """The text of a file of a repository; nothing where it cannot be read."""
    with suppress(OSError, ValueError, HfHubHTTPError, _HTTP_ERROR):
        file = Path(hf_hub_download(source, name, token=hub_token())) if folder is None else folder / name
        return file.read_text(encoding="utf-8")
    return ""


def check_size(repository: Repository) -> None:
    """Raises ModelError if a repository of the hub has more parameters than a public server loads; those of its files count, at
    four bytes each, where they are more than it says."""
    most = limits().models.most_millions * 1e6
    parameters = max(repository.parameters, repository.stored_bytes // 4)
    if parameters > most:
        raise ModelError(
            f"The model {repository.source!r} has {parameters / 1e6:,.0f} million parameters; this public server loads models "
            f"of at most {most / 1e6:,.0f} million.",
            "Choose a smaller one, or run medfact on a machine of your own.",
        )


def downloaded_texts(repository: Repository, tell: Tell) -> Path:
    """The folder with a repository's files but its weights, downloaded if necessary."""
    return _downloaded(repository, _TEXT_FILES, tell)


def downloaded(repository: Repository, tell: Tell) -> Path:
    """The folder with a repository's files, downloaded if necessary; of weights that it holds twice, those that are loaded."""
    return _downloaded(repository, (*_TEXT_FILES, *repository.weights), tell)


def _downloaded(repository: Repository, patterns: Sequence[str], tell: Tell) -> Path:
    if repository.folder is not None:
        return repository.folder

    class Progress(tqdm):  # type: ignore[misc]
        """Reports progress in words instead of a bar."""

        reported_at = 0.0

        def __init__(self, *args: Any, **kwargs: Any) -> None:
            kwargs.pop("name", None)
            super().__init__(*args, **{**kwargs, "disable": True})
            self.n, self.bytes = 0.0, kwargs.get("unit") == "B"

        def update(self, n: float | None = 1) -> None:
            self.n += n or 0
            if self.bytes and time.monotonic() - Progress.reported_at > PROGRESS_SECONDS:
                Progress.reported_at = time.monotonic()
                tell(f"downloading the model: {in_bytes(self.n)} of {in_bytes(repository.stored_bytes)}")

    try:
        folder = snapshot_download(
            repository.source,
            allow_patterns=list(patterns),
            ignore_patterns=["*/*"],
            tqdm_class=Progress,
            token=hub_token(),
        )
    except GatedRepoError as error:
        raise _gated(repository.source) from error
    except (HfHubHTTPError, LocalEntryNotFoundError, _HTTP_ERROR, OSError) as error:
        raise _unreachable(repository.source) from error
    return Path(folder)


Contents = tuple[Mapping[str, Any], Mapping[str, int], int, Path | None]
"""config.json, files with their sizes in bytes, number of parameters as the hub says (0 if unknown), folder."""


def _in_folder(folder: Path) -> Contents:
    files = {file.name: file.stat().st_size for file in folder.iterdir() if file.is_file()}
    if "config.json" not in files:
        raise no_model(str(folder), "it has no config.json")
    return _config(str(folder), folder / "config.json"), files, 0, folder


def _parameters_in(folder: Path, weights: Iterable[str]) -> int:
    """The number of parameters in a folder's safetensors files; 0 where the weights are in another format."""
    try:
        return sum(_parameters_of(folder / name) for name in weights if name.endswith(SAFE))
    except (OSError, ValueError, KeyError, struct.error) as error:
        raise no_model(str(folder), "its safetensors files are damaged") from error


def gguf_in(path: Path) -> Path | None:
    """The GGUF file at a path, or the only one in a folder without config.json; None where the model is in other files.

    Raises ModelError if a folder holds several models, or if the file is one of several parts of a model.
    """
    if path.is_file():
        _check_whole(path)
        return path
    files = [] if (path / "config.json").exists() else sorted(path.glob(f"*{GGUF}"))
    if len({_PART.sub("", file.name) for file in files}) > 1:
        names = ", ".join(file.name for file in files[:5])
        raise ModelError(f"{str(path)!r} holds {len(files)} models ({names}).", "Name one: hf:FOLDER/FILE.gguf.")
    for file in files[:1]:
        _check_whole(file)
    return files[0] if files else None


def _check_whole(file: Path, parts: int = 1) -> None:
    """Raises ModelError if a GGUF file is one of several parts, by its name or by the number of parts in its header."""
    match = _PART.search(file.name)
    parts = int(match[1]) if match and parts == 1 else parts
    if parts == 1:
        return
    siblings = sorted(file.parent.glob(f"*-of-{match[1]}{GGUF}")) if match else []
    names = [sibling.name for sibling in siblings if _PART.sub("", sibling.name) == _PART.sub("", file.name)] or [file.name]
    whole = f"{_PART.sub('', names[0]).removesuffix(GGUF)}-whole"
    shown = ", ".join([*names[:4], *(["…"] if len(names) > 4 else [])])
    raise ModelError(
        f"{file.name!r} is one of {parts} parts of a model in GGUF format ({len(names)} of them here: {shown}).",
        f"Merge all parts into one file, and name that: llama-gguf-split --merge {names[0]} {whole}.gguf",
    )


def _in_gguf(file: Path) -> Repository:
    """A model in one file, with its configuration and tokenizer, as llama.cpp reads it. transformers converts its weights."""
    import gguf

    try:
        parts = gguf.GGUFReader(str(file)).fields.get("split.count")
        _check_whole(file, int(parts.contents()) if parts else 1)
        config = AutoConfig.from_pretrained(file.parent, gguf_file=file.name)
        with torch.device("meta"):
            parameters = AutoModelForCausalLM.from_config(config).num_parameters()
    except UNREADABLE as error:
        raise ModelError(
            f"The GGUF file {file.name!r} cannot be read ({first_line(error)}).",
            "It may be damaged, or of an architecture that transformers cannot read from GGUF.",
        ) from error
    return Repository(str(file), config.to_dict(), parameters, (file.name,), file.stat().st_size, file.parent, file.name)


def _on_hub(source: str) -> Contents:
    try:
        info = HfApi().model_info(source, files_metadata=True, timeout=20, token=hub_token())
        config = _config(source, Path(hf_hub_download(source, "config.json", token=hub_token())))
    except GatedRepoError as error:
        raise _gated(source) from error
    except (HFValidationError, RepositoryNotFoundError) as error:
        places = "repository" if is_restricted() else "folder, and no such repository"
        raise ModelError(
            f"There is no model {source!r}: no such {places} that you may see.",
            _advice("Check the name; for a private repository, log in with `hf auth login`.", "Check the name, or choose"),
        ) from error
    except EntryNotFoundError as error:
        raise no_model(source, "it has no config.json") from error
    except (HfHubHTTPError, _HTTP_ERROR, OSError) as error:
        return _in_cache(source, error)
    files = {sibling.rfilename: sibling.size or 0 for sibling in info.siblings or [] if "/" not in sibling.rfilename}
    return config, files, info.safetensors.total if info.safetensors else 0, None


def _in_cache(source: str, error: Exception) -> Contents:
    """A repository downloaded earlier, when the hub cannot be reached."""
    try:
        return _in_folder(Path(snapshot_download(source, local_files_only=True)))
    except (LocalEntryNotFoundError, OSError):
        raise _unreachable(source) from error


def _config(source: str, file: Path) -> Mapping[str, Any]:
    try:
        config = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise no_model(source, "its config.json is damaged") from error
    if not isinstance(config, dict):
        raise no_model(source, "its config.json is damaged")
    return config


def _check_kind(source: str, config: Mapping[str, Any], placement: Placement) -> None:
    """Raises ModelError if a model generates no text according to its config.json, or only with code of its own."""
    kind = str(config.get("model_type") or "")
    classes = [str(name) for name in config.get("architectures") or []]
    has_own_code = bool(config.get("auto_map"))
    if has_own_code and not placement.remote_code and kind not in MODEL_FOR_CAUSAL_LM_MAPPING_NAMES:
        raise ModelError(
            f"The model {source!r} needs to run code of its own.",
            _advice("If you trust its owners, allow this on the command line with --trust-code."),
        )
    if has_own_code and placement.remote_code:
        return
    loaded_as = _kind(config)
    named = _LOADED_AS[loaded_as].get(kind)
    generates = not classes or any(name.endswith(_GENERATES) or (loaded_as == IMAGE_TEXT and name == named) for name in classes)
    if named is None or not generates:
        reason = ", ".join(classes) or kind or "its config.json names no architecture"
        raise ModelError(
            f"The model {source!r} generates no text ({reason}).",
            "Use a causal language model, whose architecture ends in ForCausalLM; encoders such as BERT cannot answer.",
        )


def _advice(own: str, public: str = "Choose") -> str:
    """What somebody can do: on a machine of their own, or as a visitor of a public server, who has no folders and no login."""
    return f"{public} one of the offered models." if is_restricted() else own


def _gated(source: str) -> ModelError:
    advice = _advice("Ask its owners for access, then log in with `hf auth login`.")
    return ModelError(f"The repository {source!r} is gated.", advice)


def _unreachable(source: str) -> ModelError:
    folder = "" if is_restricted() else "there is no such folder, and "
    return ModelError(
        f"The model {source!r} cannot be loaded: {folder}the hub could not be reached.",
        _advice("Check the name and the network, or give the path of a folder.", "Try again later, or choose"),
    )


def no_model(source: str, reason: str) -> ModelError:
    return ModelError(
        f"{source!r} contains no causal language model that can be loaded: {reason}.",
        "It needs config.json, the tokenizer's files and safetensors weights.",
    )


def _no_weights(source: str, files: Iterable[str]) -> ModelError:
    safe, pickled = ([name for name in files if name.endswith(ends)] for ends in (SAFE, PICKLED))
    if safe:
        return no_model(source, f"its weights ({min(safe)}) are not named model.safetensors, nor in an index of that name")
    if pickled:
        return ModelError(
            f"The weights of {source!r} are not in safetensors format ({min(pickled)}); loading such files can run code.",
            _advice("Use a repository with safetensors, or, if you trust its owners, allow this with --any-weights."),
        )
    return no_model(source, "it has no weights")


# -------------------------------------------------------------------------------------------------------------------- weights


def _weight_files(names: Iterable[str], placement: Placement, read: Callable[[str], str]) -> list[str]:
    """The files with the weights, among those of a repository; none where there are none that may be loaded. read: gives the
    text of a file.
    """
    there = set(names)
    found = _named(there, _SAFE_NAMES, read)
    return found or (_named(there, _PICKLED_NAMES, read) if placement.any_weights else [])


def _named(there: set[str], names: tuple[str, str], read: Callable[[str], str]) -> list[str]:
    single, index = names
    if single in there:
        return [single]
    return sorted(there & _indexed(read(index))) if index in there else []


def _indexed(text: str) -> set[str]:
    """The files that an index names; none where it is damaged."""
    try:
        return {str(file) for file in json.loads(text)["weight_map"].values()}
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return set()


def _parameters_of(file: Path) -> int:
    """The number of parameters in a safetensors file, from its header."""
    with file.open("rb") as stream:
        length = struct.unpack("<Q", stream.read(8))[0]
        if length > 100_000_000:
            raise ValueError("the header is too long")
        header = json.loads(stream.read(length))
    tensors = [tensor for name, tensor in header.items() if name != "__metadata__"]
    return sum(
        (tensor["data_offsets"][1] - tensor["data_offsets"][0]) * 8 // _BITS.get(tensor["dtype"], 16) for tensor in tensors
    )
