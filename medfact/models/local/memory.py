"""How much memory a local model needs, and how much is free. Imports no heavy libraries before it is asked of a GPU."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import psutil

from medfact.errors import ModelError
from medfact.models.local.placement import Placement, in_bytes

LARGEST, SMALLEST = 2048, 64
"""Most and fewest tokens computed together; on a GPU, at most four times as many."""


SHORT_SHARE = 0.03
"""Share of the machine's memory below which an unused model is not kept."""

_CGROUP = Path("/sys/fs/cgroup")


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


def working_memory(config: Any, tokens: int, bytes_each: int) -> int:
    """A rough upper estimate of the bytes that computing this many tokens together needs beside the weights.

    Per token: the activations of a layer, keys and values of all layers, logits for one token in eight (where a reply begins),
    and a row of the mask and of the attention scores.
    """
    text = config.get_text_config()
    hidden = getattr(text, "hidden_size", None) or 1024
    inner = getattr(text, "intermediate_size", None) or 4 * hidden
    layers = getattr(text, "num_hidden_layers", None) or 24
    heads = getattr(text, "num_attention_heads", None) or 1
    values = hidden * (getattr(text, "num_key_value_heads", None) or heads) // heads
    vocabulary = getattr(text, "vocab_size", None) or 50_000
    per_token = bytes_each * (12 * hidden + 4 * inner + 3 * layers * values) + vocabulary * 12 // 8
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
