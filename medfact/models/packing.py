"""Prompts packed as prefix trees: what several prompts begin with is computed once.

A pack is one row of tokens in which every token sees its own prompt's tokens alone: those on the way from the root to it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

ROOT = -1
"""The parent of a first token."""


@dataclass(frozen=True)
class Pack:
    """Tokens of a tree, parents before their children.

    tokens, parents, depths: parallel lists; a depth is the token's position in its prompt, from 0.
    ends:    (place of the prompt, node of its last token).
    follows: (place of the prompt) → nodes of the tokens that may follow it, in the order in which they were given.
    """

    tokens: list[int]
    parents: list[int]
    depths: list[int]
    ends: list[tuple[int, int]]
    follows: dict[int, list[int]]

    def sees(self) -> NDArray[np.bool_]:
        """(token, token): whether the first one sees the second: itself and what is on the way to it."""
        seen = np.zeros((len(self.tokens), len(self.tokens)), dtype=bool)
        for node, parent in enumerate(self.parents):
            if parent != ROOT:
                seen[node] = seen[parent]
            seen[node, node] = True
        return seen


def packs(prompts: Sequence[Sequence[int]], budget: int, followers: Sequence[int] = ()) -> Iterator[Pack]:
    """Packs of at most `budget` tokens, or of one prompt that is longer, for all prompts, similar ones together.

    Args:
        prompts: token ids of each prompt; none is empty.
        followers: token ids that are put after each prompt, each as a branch of its own.
    """
    order = sorted(range(len(prompts)), key=lambda place: list(prompts[place]))
    pack = Pack([], [], [], [], {})
    path: list[int] = []
    before: Sequence[int] = ()
    for place in order:
        prompt = prompts[place]
        shared = _shared(before, prompt)
        needed = len(prompt) - shared + len(followers)
        if pack.tokens and len(pack.tokens) + needed > budget:
            yield pack
            pack, path, shared = Pack([], [], [], [], {}), [], 0
        del path[shared:]
        for token in prompt[shared:]:
            path.append(_grow(pack, token, path[-1] if path else ROOT, len(path)))
        pack.ends.append((place, path[-1]))
        pack.follows[place] = [_grow(pack, token, path[-1], len(path)) for token in followers]
        before = prompt
    if pack.tokens:
        yield pack


def _grow(pack: Pack, token: int, parent: int, depth: int) -> int:
    pack.tokens.append(token)
    pack.parents.append(parent)
    pack.depths.append(depth)
    return len(pack.tokens) - 1


def _shared(one: Sequence[int], other: Sequence[int]) -> int:
    """How many tokens both begin with."""
    for count, (a, b) in enumerate(zip(one, other, strict=False)):
        if a != b:
            return count
    return min(len(one), len(other))
