"""Attention of a pack in blocks of tokens, each with what it attends to.

A token of a pack attends only to its own prompt, often less than half of the row. Attention along the whole row computes
the rest too, and throws it away.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, NamedTuple

import torch
from transformers import AttentionInterface
from transformers.integrations.sdpa_attention import sdpa_attention_forward

BLOCK_TOKENS = 128

LEAST_BLOCKS = 3
"""A pack of fewer blocks is faster computed whole."""


class Block(NamedTuple):
    """Tokens from `start` to before `end` of a pack. seen: the tokens that at least one of them attends to, in order."""

    start: int
    end: int
    seen: Any


_blocks: ContextVar[tuple[Block, ...]] = ContextVar("blocks", default=())


@contextmanager
def in_blocks(attention: Any) -> Iterator[None]:
    """Meanwhile this thread computes a pack in blocks, if the model's attention is PyTorch's own ("sdpa"), on a CPU.

    attention: (token, token), whether the first attends to the second.
    """
    tokens = len(attention)
    starts = range(0, tokens, BLOCK_TOKENS)
    is_worth_it = len(starts) >= LEAST_BLOCKS and attention.device.type == "cpu"
    blocks = tuple(_block(attention, start, min(start + BLOCK_TOKENS, tokens)) for start in starts) if is_worth_it else ()
    before = _blocks.set(blocks)
    try:
        yield
    finally:
        _blocks.reset(before)


def _block(attention: Any, start: int, end: int) -> Block:
    return Block(start, end, attention[start:end].any(dim=0).nonzero()[:, 0])


def _attend(module: Any, query: Any, key: Any, value: Any, attention_mask: Any, **options: Any) -> tuple[Any, None]:
    """transformers' attention, in the blocks of the pack that is being computed. query, key: (1, head, token, dimension).

    The mask is the model's, cut: it may hold more than which tokens are seen, such as a bias by distance.
    """
    blocks = _blocks.get()
    row = (blocks[-1].end, blocks[-1].end) if blocks else None
    if attention_mask is None or attention_mask.shape[-2:] != row or options.get("position_bias") is not None:
        whole: tuple[Any, None] = sdpa_attention_forward(module, query, key, value, attention_mask, **options)
        return whole
    parts = [
        sdpa_attention_forward(
            module,
            query[:, :, block.start : block.end],
            key[:, :, block.seen],
            value[:, :, block.seen],
            attention_mask[:, :, block.start : block.end][..., block.seen],
            **options,
        )[0]
        for block in blocks
    ]
    return torch.cat(parts, dim=1), None


AttentionInterface.register("sdpa", _attend)
