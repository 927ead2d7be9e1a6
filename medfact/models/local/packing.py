"""Prompts packed as prefix trees: what several prompts begin with is computed once.

A pack is one row of tokens in which every token sees its own prompt's tokens alone: those on the way from the root to it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

ROOT = -1
"""The parent of a first token."""

START = 32
"""What it costs to compute one more pack, in tokens: small rows use a processor badly."""


@dataclass(frozen=True)
class Pack:
    """Tokens of a tree, parents before their children.

    tokens, parents, depths: parallel lists; a depth is the token's position in its prompt, from 0.
    ends: (place of the prompt, node of its last token).
    """

    tokens: list[int] = field(default_factory=list)
    parents: list[int] = field(default_factory=list)
    depths: list[int] = field(default_factory=list)
    ends: list[tuple[int, int]] = field(default_factory=list)

    def sees(self) -> NDArray[np.bool_]:
        """(token, token): whether the first one sees the second: itself and what is on the way to it."""
        seen = np.zeros((len(self.tokens), len(self.tokens)), dtype=bool)
        for node, parent in enumerate(self.parents):
            if parent != ROOT:
                seen[node] = seen[parent]
            seen[node, node] = True
        return seen


def packs(prompts: Sequence[Sequence[int]], budget: int, long: float = float("inf")) -> Iterator[Pack]:
    """Packs of at most `budget` tokens, or of one prompt that is longer, for all prompts, similar ones together.

    The prompts are sorted, and cut into packs where that costs least: START and the tokens of each pack, and again its tokens
    in the measure in which its row is long, since every token looks along the whole row.

    Args:
        prompts: token ids of each prompt; none is empty.
        long: tokens of a row in which looking along it costs as much as all else.
    """
    order = sorted(range(len(prompts)), key=lambda place: list(prompts[place]))
    ordered = [prompts[place] for place in order]
    new = [len(prompt) - _shared(before, prompt) for before, prompt in zip([(), *ordered], ordered, strict=False)]
    cuts = _cuts([len(prompt) for prompt in ordered], new, budget, long)
    for start, end in pairwise(cuts):
        yield _pack(prompts, order[start:end])


def _cuts(lengths: Sequence[int], new: Sequence[int], budget: int, long: float) -> list[int]:
    """Where the cheapest packs begin, and the end of the last one. new: tokens of a prompt that the one before it lacks."""
    least, begins = [0.0], [0]
    for end in range(1, len(lengths) + 1):
        best, begin, after = float("inf"), end - 1, 0
        for start in range(end - 1, -1, -1):
            size = lengths[start] + after
            if size > budget and start < end - 1:
                break
            cost = least[start] + START + size * (1 + size / long)
            if cost < best:
                best, begin = cost, start
            after += new[start]
        least.append(best)
        begins.append(begin)
    cuts = [len(lengths)]
    while cuts[-1]:
        cuts.append(begins[cuts[-1]])
    return cuts[::-1]


def _pack(prompts: Sequence[Sequence[int]], places: Sequence[int]) -> Pack:
    """The tree of prompts that come in order."""
    pack = Pack()
    path: list[int] = []
    before: Sequence[int] = ()
    for place in places:
        prompt = prompts[place]
        del path[_shared(before, prompt) :]
        for token in prompt[len(path) :]:
            pack.parents.append(path[-1] if path else ROOT)
            pack.depths.append(len(path))
            path.append(len(pack.tokens))
            pack.tokens.append(token)
        pack.ends.append((place, path[-1]))
        before = prompt
    return pack


def _shared(one: Sequence[int], other: Sequence[int]) -> int:
    """How many tokens both begin with."""
    for count, (a, b) in enumerate(zip(one, other, strict=False)):
        if a != b:
            return count
    return min(len(one), len(other))
