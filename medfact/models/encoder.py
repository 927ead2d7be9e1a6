"""Sentence encoders: texts become vectors whose cosine says how alike they are in meaning. On this machine or at a service."""

from __future__ import annotations

import asyncio
import hashlib
import os
import shutil
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from medfact.errors import MedfactError, ModelError, first_line
from medfact.limits import hub_token, is_restricted
from medfact.models.services.policy import check_encoder_source, host_of, key_of
from medfact.models.services.settings import ServiceSettings
from medfact.proxies import check_proxies

ENCODER = "sentence-transformers/all-MiniLM-L6-v2"

Vectors = np.ndarray[Any, np.dtype[np.float32]]
"""Texts × dimensions; each row has length 1, so that a product of two is their cosine."""

Encode = Callable[[Sequence[str]], Vectors]

_BATCH = 64
"""Texts that an encoder gets at once."""

_TRIES = 4

_RUN_CODE = (".bin", ".pt", ".pth", ".pkl", ".pickle", ".ckpt", ".joblib", ".py")
"""Endings of files whose loading can run code; weights in safetensors cannot."""

_NOT_NEEDED = (".onnx", ".h5", ".msgpack", ".ot", ".tflite")
"""Endings of weights for other libraries."""


@dataclass(frozen=True)
class Encoder:
    """A sentence encoder. queries and passages may be encoded in different ways. revision: changes whenever its vectors may."""

    name: str
    revision: str
    queries: Encode
    passages: Encode


def hub_encoder(spec: str, name: str) -> Encoder:
    """The encoder of a repository or folder. Raises ModelError if it cannot be loaded."""
    encoder = sentence_encoder(name)

    def way(method: Any) -> Encode:
        return lambda texts: finite(
            method(list(texts), batch_size=_BATCH, normalize_embeddings=True, show_progress_bar=False), spec
        )

    return Encoder(spec, _revision(encoder), way(encoder.encode_query), way(encoder.encode_document))


def sentence_encoder(name: str) -> Any:
    """A SentenceTransformer on the processor: a repository, or a folder. Nothing that could run code is opened, whatever lies
    there. Raises ModelError.
    """
    check_encoder_source(name)
    if not _is_folder(name):
        check_proxies()
    import torch
    from sentence_transformers import SentenceTransformer

    missed: list[str] = []
    try:
        folder = _folder_of(name)
        with tempfile.TemporaryDirectory() as view, torch.random.fork_rng():
            missed += _view(folder, Path(view))
            return SentenceTransformer(view, device="cpu", trust_remote_code=False, local_files_only=True)
    except (OSError, ValueError, RuntimeError, KeyError, TypeError, ImportError) as error:
        reason = first_line(error, 200)
        hint = "Give a sentence-transformers repository or folder."
        if missed:
            reason = f"it needs weights in safetensors format; {missed[0]} is not opened, because such files can run code"
        raise ModelError(f"The sentence encoder {name} cannot be loaded: {reason}.", hint) from None


def _folder_of(name: str) -> Path:
    """The folder of an encoder, fetched from the hub where it is a repository."""
    if _is_folder(name):
        return Path(name)
    from huggingface_hub import snapshot_download

    ignored = [f"*{ending}" for ending in _RUN_CODE + _NOT_NEEDED]
    return Path(snapshot_download(name, ignore_patterns=ignored, token=hub_token()))


def _is_folder(name: str) -> bool:
    """Returns True for a folder that the current request or job may open."""
    return not is_restricted() and Path(name).is_dir()


def _view(folder: Path, view: Path) -> list[str]:
    """Fills a folder with links to the files of another, but for those whose loading can run code. Returns those of them that
    are missed: no weights in safetensors lie beside them.
    """
    missed = []
    for file in sorted(path for path in folder.rglob("*") if path.is_file()):
        name = file.relative_to(folder)
        if file.suffix.lower() in _RUN_CODE:
            missed += [] if any(file.parent.glob("*.safetensors")) else [str(name)]
            continue
        (view / name).parent.mkdir(parents=True, exist_ok=True)
        try:
            (view / name).symlink_to(file.resolve())
        except OSError:  # not everybody may make links on Windows
            shutil.copy2(file, view / name)
    return missed


def finite(vectors: Any, name: str) -> Vectors:
    """The vectors of an encoder on this machine. Raises ModelError where they are no numbers: nothing is like them."""
    found = np.asarray(vectors, dtype=np.float32)
    if not np.isfinite(found).all():
        raise ModelError(
            f"The sentence encoder {name} gives vectors that are not finite (NaN or infinite).",
            "Fetch it again, or use another.",
        )
    return found


def _revision(encoder: Any) -> str:
    """A hash of the weights and of the texts put before queries and passages."""
    digest = hashlib.sha256(repr(sorted((encoder.prompts or {}).items())).encode())
    for name, tensor in encoder.state_dict().items():
        digest.update(name.encode())
        digest.update(tensor.contiguous().view(-1).float().numpy().tobytes())
    return digest.hexdigest()[:20]


# ---------------------------------------------------------------------------------------------- services


def service_encoder(spec: str, model: str, settings: ServiceSettings) -> Encoder:
    """The encoder that a model behind a service is. settings: of the service; its key, else MEDFACT_ENCODER_KEY, is sent there
    and nowhere else. Raises ModelError if there is no key that it needs.
    """
    if settings.key is None and not is_restricted():
        settings = replace(settings, key=os.environ.get("MEDFACT_ENCODER_KEY") or None)
    key_of(settings)  # raises before anything is sent

    def encode(texts: Sequence[str]) -> Vectors:
        return asyncio.run(_embedded(list(texts), model, settings))

    return Encoder(spec, "at a service", encode, encode)


async def _embedded(texts: list[str], model: str, settings: ServiceSettings) -> Vectors:
    """The vectors of texts, in batches, several at a time."""
    import openai

    from medfact.models.services.connection import service_client

    async def sent(_: Any) -> None:
        """Nothing waits for a request to leave."""

    turns = asyncio.Semaphore(min(4, settings.in_flight))
    client = service_client(settings, sent, max_retries=_TRIES - 1, timeout=settings.timeout)

    async def batch(part: list[str]) -> list[list[float]]:
        async with turns:
            reply = await client.embeddings.create(model=model, input=part, encoding_format="float")
        return [one.embedding for one in sorted(reply.data, key=lambda one: one.index)]

    try:
        async with client:
            parts = await asyncio.gather(*(batch(texts[start : start + _BATCH]) for start in range(0, len(texts), _BATCH)))
    except MedfactError:
        raise
    except (openai.OpenAIError, ValueError, TypeError) as error:
        raise _not_embedded(host_of(settings), error, is_away=isinstance(error, openai.APIConnectionError)) from None
    vectors = np.array([vector for part in parts for vector in part], dtype=np.float32)
    if vectors.ndim != 2 or len(vectors) != len(texts) or not np.isfinite(vectors).all():
        raise ModelError(f"The encoder at {host_of(settings)} gave no vector for some texts.", "Choose another model.")
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(vectors / np.where(lengths > 0, lengths, 1), dtype=np.float32)


def _not_embedded(host: str, error: Exception, is_away: bool) -> ModelError:
    status = getattr(error, "status_code", None)
    why = f"it answers with HTTP {status}" if status else "it cannot be reached" if is_away else "its reply is none"
    return ModelError(f"The encoder at {host} makes no vectors: {why}.", "Check its address, its model's name and the key.")
