"""At which level, and how often, a race may look at the interval about facts like these.

    python benchmarks/looks.py                      # 1,000 runs a cell

How often equal models are told apart at any look, and how often, and after which share of the diseases, a difference is found
that is 5 points in right answers. The race is of mastery. The last row of the table is what `medfact.metrics.race` does.
"""

from __future__ import annotations

import argparse
import os
import sys
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import numpy as np
from evidence import ended_race, models

from medfact.metrics import race

NOW = (race.SURER, race.NEXT_LOOK)
SETTINGS = ((0.95, 1.01), (0.992, 1.05), (0.992, 1.01), NOW)
"""Level of the interval, and how many times as many heads apart two looks are."""
WORLDS = ((50, 4, 0.3), (200, 4, 0.3), (200, 4, 0.55), (60, 4, 0.0))
"""Heads, facts a head, and what a model makes of one of thirty tails; 0: each fact has its own."""


class Ended(NamedTuple):
    decided: bool
    share: float


def ended(seed: int, level: float, step: float, heads: int, a_head: int, effect: float, difference: float) -> Ended:
    """How the race of two models ends."""
    race.SURER, race.NEXT_LOOK = level, step
    _, mastery, head, tail = models(seed, heads, a_head, difference, effect)
    at = ended_race(mastery, head, tail, a_head).decided_at
    return Ended(at is not None, (at or heads) / heads)


def main(seeds: range) -> None:
    titles = [f"{heads} heads, {f'30 tails, {effect}' if effect else 'own tails'}" for heads, _, effect in WORLDS]
    print("| level, look | equal:", " | ".join(titles), "| 5 points: found | after |\n" + "|---" * (3 + len(titles)) + "|")
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        for level, step in SETTINGS:
            cells = []
            for heads, a_head, effect in WORLDS:
                of = partial(ended, level=level, step=step, heads=heads, a_head=a_head, effect=effect, difference=0.0)
                cells.append(f"{np.mean([one.decided for one in pool.map(of, seeds, chunksize=10)]):.1%}")
            of = partial(ended, level=level, step=step, heads=250, a_head=2, effect=0.0, difference=0.05)
            found = list(pool.map(of, seeds, chunksize=10))
            cells += [f"{np.mean([one.decided for one in found]):.1%}", f"{np.mean([one.share for one in found]):.1%}"]
            print(f"| {1 - level:.1%}, {step - 1:.0%} |", " | ".join(cells), "|", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=1_000)
    parser.add_argument("--first", type=int, default=0, help="the first seed, for runs that nobody has seen")
    options = parser.parse_args()
    main(range(options.first, options.first + options.seeds))
