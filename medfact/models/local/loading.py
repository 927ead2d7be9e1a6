"""Loads a local model: looked at first, then fetched, then placed."""

from __future__ import annotations

import contextlib
import importlib.util
import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from huggingface_hub.errors import StrictDataclassError
from safetensors import SafetensorError
from transformers import (
    AutoConfig,
    AutoModelForCausalLM,
    AutoModelForImageTextToText,
    AutoModelForSeq2SeqLM,
    AutoTokenizer,
    BitsAndBytesConfig,
    GenerationConfig,
)
from transformers.utils import logging as transformers_logging

from medfact.errors import ModelError
from medfact.models.local.chat import Chat
from medfact.models.local.memory import LARGEST, room_for, tokens_together
from medfact.models.local.model import LocalModel
from medfact.models.local.placement import Placement
from medfact.models.local.repository import CAUSAL, ENCODER_DECODER, IMAGE_TEXT, Repository, Tell, fetched, look_at
from medfact.models.local.revision import folder_revision

if TYPE_CHECKING:
    from medfact.models import ModelInfo

_BYTES = {"float32": 4.0, "bfloat16": 2.0, "float16": 2.0, "8bit": 1.1, "4bit": 0.65}
"""Bytes of a parameter; some of a quantized model's are kept whole."""

_FAILURES = (
    OSError,
    ValueError,
    KeyError,
    TypeError,
    AttributeError,
    ImportError,
    RuntimeError,
    StrictDataclassError,
    SafetensorError,
)
"""What transformers raises, in the one case or the other, for a repository that it cannot load."""

transformers_logging.set_verbosity_error()
transformers_logging.disable_progress_bar()


def load_local(spec: str, source: str, placement: Placement, tell: Tell) -> LocalModel:
    """Loads a language model from a folder or a Hugging Face repository.

    Raises ModelError, saying what to do, when there is none, it is gated, has no weights, writes no text, or does not fit.
    """
    tell("looking at the model")
    repository = look_at(source, placement)
    device = _device(placement)
    dtype = _dtype(placement, device)
    each = 2 if dtype in ("8bit", "4bit") else int(_BYTES[dtype])
    needed = int(repository.parameters * _BYTES[dtype])
    config = _config(repository, placement)
    largest = LARGEST if device == "cpu" else 4 * LARGEST
    tokens = tokens_together(config, needed, room_for(placement, device), each, largest, source)
    folder = fetched(repository, placement, tell)
    tell("loading the weights")
    try:
        tokenizer = AutoTokenizer.from_pretrained(folder, trust_remote_code=placement.remote_code)
        model = _weights(repository, folder, placement, device, dtype)
    except _FAILURES as error:
        raise ModelError(
            f"{source!r} holds no causal language model that can be loaded ({_reason(error)}).",
            "It needs config.json, the tokenizer's files and safetensors weights.",
        ) from error
    if tokenizer.pad_token is None:
        tokenizer.pad_token = tokenizer.eos_token or tokenizer.decode([0])
    model.generation_config = _plain_greedy(model, tokenizer)
    tokenizer.chat_template = tokenizer.chat_template or _template_of_processor(folder)
    info: ModelInfo = {"revision": _revision(folder), "decoding": _decoding(dtype, placement), "notes": ()}
    talk = Chat(placement.thinking, {name: _value(value) for name, value in placement.template})
    loaded = LocalModel(spec, model, tokenizer, info, tokens, talk, placement.max_tokens)
    if not loaded.packs_well:
        loaded.check_text()
    loaded.info["notes"] = tuple(_notes(loaded, repository))
    return loaded


def _decoding(dtype: str, placement: Placement) -> dict[str, Any]:
    """The settings that answers depend on; those that nobody chose are left out."""
    chosen = {"thinking": placement.thinking, "template": dict(placement.template), "max_tokens": placement.max_tokens}
    return {"greedy": True, "dtype": dtype, **{name: value for name, value in chosen.items() if value}}


def _value(text: str) -> Any:
    """A template's argument as it was typed: true, false, a number, or a text."""
    try:
        return json.loads(text)
    except ValueError:
        return text


def _template_of_processor(folder: Path) -> str | None:
    """The chat template of a model that sees images too; older ones keep it apart from the tokenizer."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        template = json.loads((folder / "chat_template.json").read_text(encoding="utf-8")).get("chat_template")
        return template if isinstance(template, str) else None
    return None


def _notes(loaded: LocalModel, repository: Repository) -> Iterator[str]:
    kind = repository.config.get("model_type", "its own")
    if not loaded.packs_well:
        yield (
            f"What prompts begin with cannot be shared in this architecture ({kind}): each prompt is computed whole, which "
            "takes longer and changes no answer."
        )
    if not loaded.pads_well:
        yield f"Prompts of different lengths cannot be computed together ({kind}): they are asked one at a time."
    if (thinks := loaded.talk.note(loaded.tokenizer)) is not None:
        yield thinks


def has_chat_template(source: str, placement: Placement) -> bool:
    """Whether a model's tokenizer has a chat template; loads the tokenizer alone."""
    look_at(source, placement)
    try:
        tokenizer = AutoTokenizer.from_pretrained(source, trust_remote_code=placement.remote_code)
        return bool(tokenizer.chat_template or _template_of_processor(Path(source)))
    except _FAILURES as error:
        raise ModelError(f"The tokenizer of {source!r} cannot be loaded.", "Check the files of the repository.") from error


def _config(repository: Repository, placement: Placement) -> Any:
    try:
        return AutoConfig.from_pretrained(repository.folder or repository.source, trust_remote_code=placement.remote_code)
    except _FAILURES as error:
        raise ModelError(
            f"The settings of {repository.source!r} cannot be read ({_reason(error)}).",
            "It may need a newer version of transformers: pip install --upgrade transformers.",
        ) from error


def _reason(error: BaseException) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0][:160]


def _device(placement: Placement) -> str:
    """cuda, mps or cpu. Raises ModelError where the one that was asked for is not there."""
    there = {"cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available(), "cpu": True}
    if placement.device == "auto":
        return next(name for name, found in there.items() if found)
    if not there[placement.device]:
        raise ModelError(f"There is no device {placement.device} on this machine.", "Leave --device out, or take cpu.")
    return placement.device


def _dtype(placement: Placement, device: str) -> str:
    """The number format. Raises ModelError where a quantized one cannot be had."""
    if placement.dtype in ("8bit", "4bit") and importlib.util.find_spec("bitsandbytes") is None:
        raise ModelError(f"--dtype {placement.dtype} needs bitsandbytes.", "Install it: pip install bitsandbytes.")
    if placement.dtype != "auto":
        return placement.dtype
    return "bfloat16" if device == "mps" or (device == "cuda" and torch.cuda.is_bf16_supported()) else "float32"


def _weights(repository: Repository, folder: Path, placement: Placement, device: str, dtype: str) -> Any:
    loaders = {ENCODER_DECODER: AutoModelForSeq2SeqLM, IMAGE_TEXT: AutoModelForImageTextToText, CAUSAL: AutoModelForCausalLM}
    loader = loaders[repository.kind]
    options: dict[str, Any] = {"trust_remote_code": placement.remote_code}
    if dtype in ("8bit", "4bit"):
        options["quantization_config"] = BitsAndBytesConfig(load_in_8bit=dtype == "8bit", load_in_4bit=dtype == "4bit")
    else:
        options["dtype"] = getattr(torch, dtype)
    if not placement.any_weights:
        options["use_safetensors"] = True
    if device == "cuda":
        # Several GPUs share the layers; what does not fit lies in the machine's memory.
        options["device_map"] = "auto"
        if placement.memory is not None:
            count = torch.cuda.device_count()
            options["max_memory"] = dict.fromkeys(range(count), placement.memory // count)
    model, found = loader.from_pretrained(folder, output_loading_info=True, **options)
    if found["missing_keys"]:  # they would be drawn at random, and the model would answer all the same
        raise ValueError(f"{len(found['missing_keys'])} of its weights are missing, {min(found['missing_keys'])} among them")
    return (model.to(device) if device == "mps" else model).eval()


def _plain_greedy(model: Any, tokenizer: Any) -> GenerationConfig:
    """Plain greedy decoding: what a repository sets for its chats (sampling, penalties) would change the answers."""
    given = model.generation_config
    ends = tokenizer.eos_token_id if given.eos_token_id is None else given.eos_token_id
    start = given.decoder_start_token_id
    if start is None:
        start = getattr(model.config, "decoder_start_token_id", None)
    return GenerationConfig(
        do_sample=False, eos_token_id=ends, pad_token_id=tokenizer.pad_token_id, decoder_start_token_id=start
    )


def _revision(folder: Path) -> str:
    """The repository's commit, by which the hub's cache names its folder, or a hash of a folder's files."""
    return folder.name if folder.parent.name == "snapshots" else folder_revision(folder)
