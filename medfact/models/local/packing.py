"""Prompts packed as prefix trees, so that shared beginnings are computed once.

A pack is one row of tokens in which each token attends only to its own prompt: the path from the root to it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from transformers import AttentionInterface
from transformers.integrations.sdpa_attention import sdpa_attention_forward

ROOT = -1
"""The parent of a first token."""

PACK_OVERHEAD_TOKENS = 32
"""The fixed cost of a pack, in tokens: small rows use a processor badly."""


@dataclass(frozen=True)
class Pack:
    """The tokens of a tree, parents before their children.

    tokens, parents, depths: parallel lists; a depth is the token's position in its prompt, from 0.
    ends: (index of the prompt, node of its last token).
    """

    tokens: list[int] = field(default_factory=list)
    parents: list[int] = field(default_factory=list)
    depths: list[int] = field(default_factory=list)
    ends: list[tuple[int, int]] = field(default_factory=list)

    def attention(self) -> NDArray[np.bool_]:
        """(token, token): whether the first attends to the second, which is itself or on the path to it."""
        seen = np.zeros((len(self.tokens), len(self.tokens)), dtype=bool)
        for node, parent in enumerate(self.parents):
            if parent != ROOT:
                seen[node] = seen[parent]
            seen[node, node] = True
        return seen


def packs(prompts: Sequence[Sequence[int]], budget: int, long: float = float("inf")) -> Iterator[Pack]:
    """All prompts in packs of at most `budget` tokens, or of one longer prompt, similar prompts together.

    The prompts are sorted and cut into packs at the lowest total cost. A pack of n tokens costs
    PACK_OVERHEAD_TOKENS + n · (1 + n / long): each token attends along the whole row.

    Args:
        prompts: token ids of each prompt; none is empty.
        long: number of tokens in a row for which attention costs as much as everything else.
    """
    order = sorted(range(len(prompts)), key=lambda index: list(prompts[index]))
    ordered = [prompts[index] for index in order]
    new = [len(prompt) - shared(before, prompt) for before, prompt in zip([(), *ordered], ordered, strict=False)]
    cuts = _cuts([len(prompt) for prompt in ordered], new, budget, long)
    for start, end in pairwise(cuts):
        yield _pack(prompts, order[start:end])


def _cuts(lengths: Sequence[int], new: Sequence[int], budget: int, long: float) -> list[int]:
    """Where the cheapest packs begin, and the end of the last one. new: tokens of each prompt that its predecessor lacks."""
    least, begins = [0.0], [0]
    for end in range(1, len(lengths) + 1):
        best, begin, after = float("inf"), end - 1, 0
        for start in range(end - 1, -1, -1):
            size = lengths[start] + after
            if size > budget and start < end - 1:
                break
            cost = least[start] + PACK_OVERHEAD_TOKENS + size * (1 + size / long)
            if cost < best:
                best, begin = cost, start
            after += new[start]
        least.append(best)
        begins.append(begin)
    cuts = [len(lengths)]
    while cuts[-1]:
        cuts.append(begins[cuts[-1]])
    return cuts[::-1]


def _pack(prompts: Sequence[Sequence[int]], indices: Sequence[int]) -> Pack:
    """The tree of prompts in sorted order."""
    pack = Pack()
    path: list[int] = []
    before: Sequence[int] = ()
    for index in indices:
        prompt = prompts[index]
        del path[shared(before, prompt) :]
        for token in prompt[len(path) :]:
            pack.parents.append(path[-1] if path else ROOT)
            pack.depths.append(len(path))
            path.append(len(pack.tokens))
            pack.tokens.append(token)
        pack.ends.append((index, path[-1]))
        before = prompt
    return pack


def shared(one: Sequence[object], other: Sequence[object]) -> int:
    """The number of tokens, or of characters, that both begin with."""
    for count, (a, b) in enumerate(zip(one, other, strict=False)):
        if a != b:
            return count
    return min(len(one), len(other))


# -------------------------------------------------------------------------------------------------- attention in blocks

# A token of a pack attends only to its own prompt, often less than half of the row. Attention along the whole row computes the
# rest too, and throws it away.

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
    bounds = [(start, min(start + BLOCK_TOKENS, tokens)) for start in starts] if is_worth_it else []
    blocks = tuple(Block(start, end, attention[start:end].any(dim=0).nonzero()[:, 0]) for start, end in bounds)
    before = _blocks.set(blocks)
    try:
        yield
    finally:
        _blocks.reset(before)


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
