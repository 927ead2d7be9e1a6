"""How much memory a local model needs, and how much is free. Imports no heavy libraries before it is asked of a GPU."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil

from medfact.errors import ModelError
from medfact.models.local.placement import Placement, in_bytes

LARGEST, SMALLEST = 2048, 64
"""Most and fewest tokens computed together; on a GPU, at most four times as many."""


SHORT_SHARE = 0.03
"""Share of the machine's memory below which an unused model is not kept."""

UNLIMITED = 1 << 30
"""Stands for a size without a limit. Configurations write it as −1, 0, null or 1e30."""

_CGROUP = Path("/sys/fs/cgroup")

_logger = logging.getLogger(__name__)


def free_memory() -> int:
    """Free bytes, within the container's limit if there is one."""
    free = int(psutil.virtual_memory().available)
    try:
        limit, used = ((_CGROUP / name).read_text().strip() for name in ("memory.max", "memory.current"))
        return min(free, int(limit) - int(used)) if limit.isdecimal() else free
    except (OSError, ValueError):
        return free


def memory_is_short() -> bool:
    """Whether too little memory is free to keep an unused model."""
    return bool(free_memory() < SHORT_SHARE * psutil.virtual_memory().total)


def room_for(placement: Placement, device: str) -> int:
    """Bytes that a model may use on a device now: what is free, or what is left of `placement.memory`.

    A model on a GPU may use main memory too. On a CPU, `placement.memory` limits the whole process.
    """
    in_machine = free_memory()
    if device == "cuda":
        import torch

        free = sum(torch.cuda.mem_get_info(number)[0] for number in range(torch.cuda.device_count()))
        return free + in_machine if placement.memory is None else placement.memory
    if placement.memory is None:
        return in_machine
    return min(in_machine, placement.memory - int(psutil.Process().memory_info().rss))


def sizes(config: Any, name: str) -> list[int]:
    """The sizes that a model's configuration gives under a name: one, or one for each layer; none where it sets no limit.

    Never raises: a configuration may be code of a repository, and a size is only needed for estimates.
    """
    try:
        text = _text_config(config)
        try:
            value = getattr(text, name, None)
        except RuntimeError:  # transformers' answer where layers differ
            value = [getattr(layer, name, None) for layer in text.per_layer_config]
        return list(_positive(value))
    except Exception as error:
        _logger.warning("The model's configuration gives no %s: %s", name, error)
        return []


def _text_config(config: Any) -> Any:
    try:
        return config.get_text_config()
    except ValueError:  # it has an encoder of texts as well
        return config.get_text_config(decoder=True)


def _positive(value: Any) -> Iterator[int]:
    if isinstance(value, list | tuple):
        for part in value:
            yield from _positive(part)
    elif isinstance(value, int | float) and 0 < value < UNLIMITED:
        yield int(value)


def working_memory(config: Any, tokens: int, bytes_each: int) -> int:
    """A rough upper estimate of the bytes that computing this many tokens together needs beside the weights.

    Per token: the activations of a layer, keys and values of all layers, logits for one token in eight (where a reply begins),
    and a row of the mask and of the attention scores. Of sizes that differ by layer, the largest counts.
    """

    def largest(name: str, default: int) -> int:
        return max(sizes(config, name), default=default)

    hidden = largest("hidden_size", 1024)
    inner = largest("intermediate_size", 4 * hidden)
    heads = largest("num_attention_heads", 1)
    values = largest("num_key_value_heads", heads) * largest("head_dim", max(1, hidden // heads))
    cached = 3 * largest("num_hidden_layers", 24) * values
    per_token = bytes_each * (12 * hidden + 4 * inner + cached) + largest("vocab_size", 50_000) * 12 // 8
    return tokens * (per_token + tokens * (6 + 4 * heads))


def tokens_together(config: Any, weights: int, free: int, bytes_each: int, largest: int, name: str) -> int:
    """How many tokens to compute together, so that `weights` bytes and the computation fit into `free` bytes.

    Raises ModelError if not even SMALLEST fits.
    """
    tokens = largest
    while tokens > SMALLEST and weights + working_memory(config, tokens, bytes_each) > free:
        tokens //= 2
    needed = weights + working_memory(config, tokens, bytes_each)
    if needed > free:
        raise ModelError(
            f"The model {name!r} does not fit: it needs about {in_bytes(needed)} ({in_bytes(weights)} for the weights), and "
            f"{in_bytes(max(free, 0))} are available.",
            "Use a smaller model, --dtype bfloat16, 8bit or 4bit, a larger --memory, or a machine with more memory.",
        )
    return tokens
