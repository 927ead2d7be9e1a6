"""How much memory a local model takes, and how much there is."""

from __future__ import annotations

from typing import Any

import psutil
import torch

from medfact.errors import ModelError
from medfact.models.local.machine import free_memory
from medfact.models.local.placement import Placement, in_bytes

LARGEST, SMALLEST = 2048, 64
"""Tokens that are computed together, at most and at least; on a GPU four times as many."""


def room_for(placement: Placement, device: str) -> int:
    """Bytes that a model may take on a device now: what is free, or what of the allowed memory is not taken yet.

    A GPU's model may lie in part in the machine's memory. The allowed memory of a processor is that of the whole process.
    """
    in_machine = free_memory()
    if device == "cuda":
        free = sum(torch.cuda.mem_get_info(number)[0] for number in range(torch.cuda.device_count()))
        return free + in_machine if placement.memory is None else placement.memory
    if placement.memory is None:
        return in_machine
    return min(in_machine, placement.memory - int(psutil.Process().memory_info().rss))


def working_memory(config: Any, tokens: int, bytes_each: int) -> int:
    """Bytes, roughly and rather too many, that computing so many tokens together takes beside the weights.

    Per token: what its layers hold at once, its keys and values in all layers, and its logits where a reply begins, one token
    in eight; and a row of the mask and of the attention scores.
    """
    text = config.get_text_config()
    hidden = getattr(text, "hidden_size", None) or 1024
    inner = getattr(text, "intermediate_size", None) or 4 * hidden
    layers = getattr(text, "num_hidden_layers", None) or 24
    heads = getattr(text, "num_attention_heads", None) or 1
    values = hidden * (getattr(text, "num_key_value_heads", None) or heads) // heads
    vocabulary = getattr(text, "vocab_size", None) or 50_000
    held = bytes_each * (12 * hidden + 4 * inner + 3 * layers * values) + vocabulary * 12 // 8
    return tokens * (held + tokens * (6 + 4 * heads))


def tokens_together(config: Any, needed: int, free: int, bytes_each: int, largest: int, name: str) -> int:
    """How many tokens to compute together, so that weights of `needed` bytes and the computing fit into `free` bytes.

    Raises ModelError where not even the smallest number does.
    """
    tokens = largest
    while tokens > SMALLEST and needed + working_memory(config, tokens, bytes_each) > free:
        tokens //= 2
    whole = needed + working_memory(config, tokens, bytes_each)
    if whole > free:
        raise ModelError(
            f"The model {name!r} does not fit: it needs about {in_bytes(whole)}, {in_bytes(needed)} of it for its weights, and "
            f"there are {in_bytes(max(free, 0))} for it.",
            "Take a smaller model, --dtype bfloat16, 8bit or 4bit, a larger --memory, or a machine with more.",
        )
    return tokens
