"""How often the interval of the slope of accuracy over log frequency holds the slope that simulated runs have.

Run with `python benchmarks/rarity.py`. Tails are drawn by Zipf's law, as in facts; heads and tails have effects of their own.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import NamedTuple

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from medfact.metrics.uncertainty import linear_interval
from medfact.results.rarity import line

SLOPE = 0.05
"""By how much the share of right answers grows for a tenfold frequency."""

STATEMENTS = 8


class World(NamedTuple):
    """Heads with some true facts each and as many false ones, tails, and the standard deviations of their effects."""

    heads: int
    tails: int
    facts: int
    head_effect: float
    tail_effect: float


WORLDS = (
    World(60, 80, 2, 0.0, 0.0),
    World(60, 80, 2, 0.15, 0.0),
    World(60, 80, 2, 0.1, 0.12),
    World(150, 40, 2, 0.1, 0.12),
    World(30, 400, 1, 0.1, 0.1),
    World(400, 300, 1, 0.1, 0.1),
    World(25, 12, 2, 0.1, 0.1),
)


def simulated(world: World, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """x, shares, heads and tails of the facts of one run."""
    random = np.random.default_rng(seed)
    log_counts = random.normal(2.5, 1.1, world.tails).clip(0)
    weights = 1 / np.arange(1, world.tails + 1)
    of_head, of_tail = random.normal(0, world.head_effect, world.heads), random.normal(0, world.tail_effect, world.tails)
    heads = np.repeat(np.arange(world.heads), 2 * world.facts)
    tails = random.choice(world.tails, size=len(heads), p=weights / weights.sum())
    x = log_counts[tails]
    expected = 0.5 + SLOPE * (x - 2.5) + of_head[heads] + of_tail[tails]
    return x, random.binomial(STATEMENTS, expected.clip(0, 1)) / STATEMENTS, heads, tails


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--runs", type=int, default=1000, help="simulated runs of each world")
    runs = options.parse_args().runs
    print("| heads | tails | facts a head | head effect | tail effect | held | mean width | plain errors | mean width |")
    print("|---|---|---|---|---|---|---|---|---|")
    for world in WORLDS:
        ours, plain = [], []
        for seed in range(runs):
            x, shares, heads, tails = simulated(world, seed)
            estimate = line(x, shares, heads, tails).slope
            if estimate.value is None or estimate.low is None or estimate.high is None:
                continue
            ours.append((estimate.low, estimate.high))
            about = x - x.mean()
            parts = estimate.value + len(x) * about * (shares - shares.mean() - estimate.value * about) / (about @ about)
            plain.append(linear_interval(parts, heads, tails)[1:3])
        print(f"| {world.heads} | {world.tails} | {2 * world.facts} | {world.head_effect} | {world.tail_effect} "
              f"| {_summary(ours)} | {_summary(plain)} |")  # fmt: skip


def _summary(intervals: list) -> str:
    low, high = np.array(intervals, dtype=float).T
    return f"{((low <= SLOPE) & (high >= SLOPE)).mean():.1%} | {(high - low).mean():.3f}"


if __name__ == "__main__":
    main()
