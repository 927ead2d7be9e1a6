"""Loads a local model: checks it, downloads it, and puts it on its device."""

from __future__ import annotations

import contextlib
import importlib.util
import json
import logging
from collections.abc import Callable, Iterator
from functools import cache, partial
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np
import torch
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

from medfact.errors import ModelError, first_line
from medfact.models.local import zero_gpu
from medfact.models.local.chat import ChatFormat
from medfact.models.local.memory import LARGEST, room_for, sizes, tokens_together
from medfact.models.local.model import LocalModel
from medfact.models.local.placement import Placement
from medfact.models.local.repository import (
    CAUSAL,
    ENCODER_DECODER,
    IMAGE_TEXT,
    UNREADABLE,
    Repository,
    Tell,
    downloaded,
    downloaded_texts,
    gguf_in,
    inspect_source,
    no_model,
)
from medfact.models.local.revision import revision_of
from medfact.models.providers import ModelInfo

QUANTIZED = ("8bit", "4bit")

_BYTES = {"float32": 4.0, "bfloat16": 2.0, "float16": 2.0, "8bit": 1.1, "4bit": 0.65}
"""Bytes per parameter; a quantized model keeps some parameters whole."""

transformers_logging.set_verbosity_error()
transformers_logging.disable_progress_bar()
logging.getLogger("bitsandbytes").setLevel(logging.ERROR)  # it tells for each layer that numbers are rounded


def load_local(spec: str, source: Path | str, placement: Placement, tell: Tell) -> LocalModel:
    """Loads a language model from a folder (a Path) or a Hugging Face repository (a name).

    Raises ModelError if there is none, it is gated, has no weights, generates no text, or does not fit into memory.
    """
    with read_once(gguf_in(source) if isinstance(source, Path) else None):
        return _loaded(spec, source, placement, tell)


def _loaded(spec: str, source: Path | str, placement: Placement, tell: Tell) -> LocalModel:
    tell("checking the model")
    repository = inspect_source(source, placement)
    device = _device(placement)
    dtype = _dtype(placement, device, repository)
    activation_bytes = 2 if dtype in QUANTIZED else int(_BYTES[dtype])
    weights = int(repository.parameters * _BYTES[dtype])
    config = _config(repository, placement)
    largest = LARGEST if device == "cpu" else 4 * LARGEST
    free = room_for(placement, device)
    tokens = tokens_together(config, weights, free, activation_bytes, largest, repository.source)
    with _one_sentence(repository):
        tokenizer = _tokenizer(repository, downloaded_texts(repository, tell), placement, config)
    _check_tokens(tokenizer, config, repository.source)
    folder = downloaded(repository, tell)
    tell("loading the weights")
    with _one_sentence(repository):
        model = _weights(repository, folder, placement, device, dtype, config)
    model.generation_config = _plain_greedy(model, tokenizer)
    decoding = _decoding(dtype, placement)
    if model.dtype != torch.float32 and compute_logits_exactly(model):
        decoding["logits"] = "float32"
    info: ModelInfo = {"revision": _revision(repository, folder), "decoding": decoding, "notes": ()}
    chat_format = ChatFormat(placement.thinking, {name: _value(value) for name, value in placement.template})
    loaded = LocalModel(spec, model, tokenizer, info, tokens, chat_format, placement.max_tokens)
    found, loaded.info["notes"] = zero_gpu.computed(loaded, lambda: _checked(loaded, repository))
    vars(loaded).update(found)
    return loaded


def _checked(loaded: LocalModel, repository: Repository) -> tuple[dict[str, bool], tuple[str, ...]]:
    """How a model computes, by the names of its properties, and what is noted of it. Raises ModelError where it cannot."""
    if not loaded.packs_well:
        loaded.check_text()
    notes = tuple(_notes(loaded, repository))
    return {name: vars(loaded)[name] for name in ("packs_well", "pads_well", "is_finite") if name in vars(loaded)}, notes


@contextlib.contextmanager
def _one_sentence(repository: Repository) -> Iterator[None]:
    """Meanwhile what transformers raises for files that it cannot load becomes a ModelError."""
    try:
        yield
    except UNREADABLE as error:
        raise no_model(repository.source, first_line(error)) from error


def _decoding(dtype: str, placement: Placement) -> dict[str, Any]:
    """The settings that answers depend on, without unset ones."""
    chosen = {"thinking": placement.thinking, "template": dict(placement.template), "max_tokens": placement.max_tokens}
    return {"greedy": True, "dtype": dtype, **{name: value for name, value in chosen.items() if value}}


def _value(text: str) -> Any:
    """The value of a template argument: true, false, a number, or else text."""
    try:
        return json.loads(text)
    except ValueError:
        return text


def _tokenizer(repository: Repository, folder: Path | str, placement: Placement, config: Any = None) -> Any:
    """The tokenizer with its chat template. config: of the model, so that a GGUF file, which takes long, is not read again."""
    own_file = {"gguf_file": repository.gguf, "config": config} if repository.gguf else {}
    tokenizer = AutoTokenizer.from_pretrained(folder, trust_remote_code=placement.remote_code, **own_file)
    if not repository.gguf:
        tokenizer.chat_template = tokenizer.chat_template or _template_of_processor(Path(folder))
    return tokenizer


def _check_tokens(tokenizer: Any, config: Any, name: str) -> None:
    """Raises ModelError if the tokenizer may make tokens of a prompt that the model does not embed. Gives a tokenizer that pads
    with none, or with such a token, another one.
    """
    size = max(sizes(config, "vocab_size"), default=len(tokenizer))
    used = [token for token, number in tokenizer.get_vocab().items() if number >= size and _is_used(tokenizer, token, number)]
    if used:
        raise ModelError(
            f"The tokenizer of {name!r} has {len(tokenizer)} tokens, and the model embeds {size}: it cannot read the others, "
            f"such as {min(used)!r}.",
            "Take the tokenizer that the model was trained with, or resize the model's embedding to it and save both.",
        )
    if tokenizer.pad_token_id is None or tokenizer.pad_token_id >= size:
        ends = tokenizer.eos_token_id
        tokenizer.pad_token = tokenizer.convert_ids_to_tokens(0 if ends is None or ends >= size else ends)


def _is_used(tokenizer: Any, token: str, number: int) -> bool:
    """Whether a token may stand in a prompt: any word may; a special one, if the tokenizer or the chat template puts it there.

    Many tokenizers have special tokens that are used in training alone, or by nothing.
    """
    added = tokenizer.added_tokens_decoder.get(number)
    if added is None or not added.special or number in tokenizer("true or false").input_ids:
        return True
    template = str(tokenizer.chat_template or "")
    named = {tokenizer.bos_token: "bos_token", tokenizer.eos_token: "eos_token"}.get(token, token)
    return token in template or named in template


def _template_of_processor(folder: Path) -> str | None:
    """The chat template of a model that also reads images; older ones keep it apart from the tokenizer."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        template = json.loads((folder / "chat_template.json").read_text(encoding="utf-8")).get("chat_template")
        return template if isinstance(template, str) else None
    return None


def _notes(loaded: LocalModel, repository: Repository) -> Iterator[str]:
    kind = repository.config.get("model_type", "its own")
    if repository.gguf:
        yield "The weights come from a GGUF file, as precise as that file, and are computed in the number format named above."
    dtype = loaded.info["decoding"]["dtype"]
    if dtype in QUANTIZED:
        bits = dtype.removesuffix("bit")
        yield f"The weights are rounded to {bits} bits, so answers may differ from those of the whole model."
    elif dtype != "float32":
        yield f"Computed in {dtype}: where True and False are almost equally likely, an answer may differ from that in float32."
    if not loaded.is_finite:
        yield f"The model's numbers are not finite in {dtype} (NaN or infinite), so statements fail. Try another --dtype."
    elif not loaded.packs_well:
        consequence = "takes longer and does not change the answers" if dtype == "float32" else "takes longer"
        yield (
            f"This architecture ({kind}) cannot share what prompts have in common, so each prompt is computed whole. That "
            f"{consequence}."
        )
    if loaded.is_finite and not (loaded.packs_well or loaded.pads_well):
        yield f"This architecture ({kind}) cannot batch prompts of different lengths, so they are computed one at a time."
    if (note := loaded.chat_format.note(loaded.tokenizer)) is not None:
        yield note


def has_chat_template(source: Path | str, placement: Placement) -> bool:
    """Whether a model has a chat template. Loads only the tokenizer."""
    with read_once(gguf_in(source) if isinstance(source, Path) else None):
        repository = inspect_source(source, placement)
        try:
            return bool(_tokenizer(repository, repository.folder or repository.source, placement).chat_template)
        except UNREADABLE as error:
            raise ModelError(
                f"The tokenizer of {str(source)!r} cannot be loaded.", "Check the files of the repository."
            ) from error


def _config(repository: Repository, placement: Placement) -> Any:
    try:
        if repository.gguf:
            return AutoConfig.for_model(**repository.config)
        return AutoConfig.from_pretrained(repository.folder or repository.source, trust_remote_code=placement.remote_code)
    except UNREADABLE as error:
        raise ModelError(
            f"The configuration of {repository.source!r} cannot be read ({first_line(error)}).",
            "It may need a newer version of transformers: pip install --upgrade transformers.",
        ) from error


def _device(placement: Placement) -> str:
    """cuda, mps or cpu. Raises ModelError if the requested device is missing."""
    if zero_gpu.is_there():
        return "cpu"  # until a slice begins
    available = {"cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available(), "cpu": True}
    if placement.device == "auto":
        return next(name for name, is_available in available.items() if is_available)
    if not available[placement.device]:
        raise ModelError(f"This machine has no device {placement.device}.", "Leave --device out, or use cpu.")
    return placement.device


def _dtype(placement: Placement, device: str, repository: Repository) -> str:
    """The number format. Raises ModelError if a quantized one is not installed, or does not go with the file."""
    if placement.dtype in QUANTIZED and repository.gguf:
        raise ModelError(
            f"--dtype {placement.dtype} does not go with a GGUF file: its weights are converted when it is loaded.",
            "Leave --dtype out.",
        )
    if placement.dtype in QUANTIZED and importlib.util.find_spec("bitsandbytes") is None:
        raise ModelError(f"--dtype {placement.dtype} needs bitsandbytes.", "Install it: pip install bitsandbytes.")
    if placement.dtype != "auto":
        return placement.dtype
    if zero_gpu.is_there():
        return "bfloat16"
    return "bfloat16" if device == "mps" or (device == "cuda" and torch.cuda.is_bf16_supported()) else "float32"


def _weights(repository: Repository, folder: Path, placement: Placement, device: str, dtype: str, config: Any) -> Any:
    loaders = {ENCODER_DECODER: AutoModelForSeq2SeqLM, IMAGE_TEXT: AutoModelForImageTextToText, CAUSAL: AutoModelForCausalLM}
    loader = loaders[repository.kind]
    options: dict[str, Any] = {"trust_remote_code": placement.remote_code}
    if dtype in QUANTIZED:
        options["quantization_config"] = BitsAndBytesConfig(load_in_8bit=dtype == "8bit", load_in_4bit=dtype == "4bit")
        emulated = device == "cuda" and not torch.cuda.is_bf16_supported(including_emulation=False)
        dtype = "float16" if emulated else "bfloat16"  # of all that is not rounded
    options["dtype"] = getattr(torch, dtype)
    if repository.gguf:
        options |= {"gguf_file": repository.gguf, "config": config}
    elif not placement.any_weights:
        options["use_safetensors"] = True
    if device == "cuda":
        # several GPUs share the layers; what does not fit goes to main memory
        options["device_map"] = "auto"
        if placement.memory is not None:
            count = torch.cuda.device_count()
            options["max_memory"] = dict.fromkeys(range(count), placement.memory // count)
    model, report = loader.from_pretrained(folder, output_loading_info=True, **options)
    if missing := report["missing_keys"]:  # transformers would draw them at random, and the model would answer all the same
        raise ValueError(f"{len(missing)} of its weights are missing, such as {min(missing)}")
    return (model.to(device) if device == "mps" else model).eval()


def _plain_greedy(model: Any, tokenizer: Any) -> GenerationConfig:
    """Plain greedy decoding: a repository's own settings (sampling, penalties) would change the answers."""
    own = model.generation_config
    ends = tokenizer.eos_token_id if own.eos_token_id is None else own.eos_token_id
    start = own.decoder_start_token_id
    if start is None:
        start = getattr(model.config, "decoder_start_token_id", None)
    return GenerationConfig(
        do_sample=False, eos_token_id=ends, pad_token_id=tokenizer.pad_token_id, decoder_start_token_id=start
    )


def _revision(repository: Repository, folder: Path) -> str:
    """The repository's commit, after which the hub's cache names the folder, or a hash of the folder's files."""
    if repository.gguf:
        return revision_of(folder / repository.gguf)
    return folder.name if folder.parent.name == "snapshots" else revision_of(folder)


# ---------------------------------------------------------------------------------------------------- logits in float32

# In half precision the output layer rounds logits: from 16 to 32, numbers of bfloat16 are an eighth apart. True and False then
# often get the same logit, and the answer is the token with the lower number (`benchmarks/README.md` counts such answers).

MAX_FLOAT32_WEIGHTS = 1 << 23
"""Weights that are in float32 at once (32 MB): all of a large vocabulary would take gigabytes."""


def compute_logits_exactly(model: Any) -> bool:
    """From now on the model's output layer computes in float32, with the weights that it has. Returns whether it does: not
    where the model has none, or one of another kind than PyTorch's linear layer.
    """
    layer = model.get_output_embeddings()
    if type(layer) is not torch.nn.Linear:
        return False
    # accelerate keeps it there, where layers lie on several devices
    forward = "_old_forward" if hasattr(layer, "_old_forward") else "forward"
    setattr(layer, forward, partial(_logits, layer))
    return True


def _logits(layer: torch.nn.Linear, hidden: torch.Tensor) -> torch.Tensor:
    """(…, hidden size) → (…, vocabulary), in float32."""
    hidden = hidden.float()
    rows = max(1, MAX_FLOAT32_WEIGHTS // layer.in_features)
    logits = torch.cat([hidden @ weights.float().T for weights in layer.weight.split(rows)], dim=-1)
    return logits if layer.bias is None else logits + layer.bias.float()


# ----------------------------------------------------------------------------------------------------------- GGUF files

# transformers reads the whole file anew for the configuration, the tokenizer and the weights, and makes the table of tensor
# names once for each part of the model. gguf cuts the file into hundreds of thousands of pieces, each of which numpy would
# keep as a part of a mapped file. Without all that a small model loads in less than half the time (`benchmarks/README.md`).

MOST_VALUES = 4_000_000
"""Most values read of a header, each of which takes some 200 bytes of memory. The largest vocabularies have 2,100,000."""

_gguf_lock = Lock()


@contextlib.contextmanager
def read_once(file: Path | None) -> Iterator[None]:
    """Meanwhile transformers gets what was read of a GGUF file before. file: None where the model has none."""
    if file is None:
        yield
        return
    import gguf

    with _gguf_lock:

        class PlainReader(gguf.GGUFReader):
            """Reads values of the mapped file as plain arrays, and MOST_VALUES of them at most."""

            _values = 0

            @property
            def data(self) -> Any:
                self._values += 1
                self._check_room(0)
                return self._data

            @data.setter
            def data(self, mapped: Any) -> None:
                self._data = np.asarray(mapped)

            def _check_room(self, values: int) -> None:
                if self._values + values > MOST_VALUES:
                    raise ValueError(f"its header has more than {MOST_VALUES:,} values")

            def _get_field_parts(self, orig_offs: int, raw_type: int) -> Any:
                if raw_type == gguf.GGUFValueType.ARRAY:  # its length stands behind the type of its items
                    self._check_room(int(self._get(orig_offs + 4, np.uint64)[0]))
                return super()._get_field_parts(orig_offs, raw_type)

        usual: dict[str, Callable[..., Any]] = {name: getattr(gguf, name) for name in ("GGUFReader", "get_tensor_name_map")}
        vars(gguf).update(GGUFReader=cache(PlainReader), get_tensor_name_map=cache(gguf.get_tensor_name_map))
        try:
            yield
        finally:
            vars(gguf).update(usual)
