"""How often intervals miss the truth, and how often equal models are called different, when facts share heads and tails.

    python benchmarks/intervals.py                  # 1,000 seeds per scene: some minutes
    python benchmarks/intervals.py --seeds 200

Two equally good models answer eight statements of each fact. How easy a fact is, on the probit scale, is a sum of normal
effects: of its head and its tail (the same for both models), of model and head, of model and tail, and of model and fact.
The estimated quantity is a model's accuracy over all heads and tails of this kind, known in closed form: Φ(mean / √(1 + all
variances)). A correct 95% interval misses it in 5% of the seeds, and p is at most 0.05 in 5%.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np
from scipy import special

from medfact.metrics.differences import paired_difference
from medfact.metrics.uncertainty import mean_interval

STATEMENTS = 8
MEAN = 0.5
OF_HEAD, OF_TAIL, OF_MODEL_AND_HEAD, OF_MODEL_AND_FACT = 0.3, 0.1, 0.1, 0.5
"""Variances of the effects on the probit scale; a statement's own is 1."""


class Scene(NamedTuple):
    """One simulation. tails: how many all facts share, with frequencies by Zipf's law; None if every fact has its own."""

    heads: int
    tails: int | None
    of_model_and_tail: float
    facts_per_head: int = 4

    def __str__(self) -> str:
        shared = f"{self.tails} shared tails" if self.tails else "no shared tails"
        return f"{self.heads} heads of {self.facts_per_head} facts, {shared}, model × tail {self.of_model_and_tail:g}"

    @property
    def truth(self) -> float:
        """The accuracy of a model on a new head and a new tail."""
        all_ = 1 + OF_HEAD + OF_TAIL + OF_MODEL_AND_HEAD + OF_MODEL_AND_FACT + self.of_model_and_tail
        return float(special.ndtr(MEAN / all_**0.5))


SCENES = (*(Scene(200, 30, variance) for variance in (0.0, 0.1, 0.3)), Scene(30, None, 0.0))


def simulated(scene: Scene, seed: int) -> Counter[str]:
    """The errors with this seed: intervals that miss, comparisons that raise a false alarm."""
    randomness = np.random.default_rng(seed)

    def effects(variance: float, codes: np.ndarray) -> np.ndarray:
        return randomness.normal(0, variance**0.5, int(codes.max()) + 1)[codes]

    heads = np.repeat(np.arange(scene.heads), scene.facts_per_head)
    facts = np.arange(len(heads))
    if scene.tails:
        frequency = 1 / np.arange(1, scene.tails + 1)
        tails = randomness.choice(scene.tails, len(heads), p=frequency / frequency.sum())
    else:
        tails = facts
    ease = MEAN + effects(OF_HEAD, heads) + effects(OF_TAIL, tails)
    right = []
    for _ in range(2):
        own = effects(OF_MODEL_AND_HEAD, heads) + effects(scene.of_model_and_tail, tails) + effects(OF_MODEL_AND_FACT, facts)
        right.append(np.repeat(ease + own, STATEMENTS) + randomness.normal(size=STATEMENTS * len(facts)) > 0)
    heads, tails = np.repeat(heads, STATEMENTS), np.repeat(tails, STATEMENTS)
    average = mean_interval(right[0].astype(float), heads, tails)
    statements = paired_difference(right[0].astype(float) - right[1], heads, tails)
    # one value per fact: whether all eight answers are right
    mastered = [model.reshape(-1, STATEMENTS).all(axis=1).astype(float) for model in right]
    facts_of = paired_difference(mastered[0] - mastered[1], heads[::STATEMENTS], tails[::STATEMENTS])
    by_head = paired_difference(right[0].astype(float) - right[1], heads)
    return Counter(
        average_misses=not average.low <= scene.truth <= average.high,
        average_false_alarms=statements.p <= 0.05,
        average_difference_misses=not statements.low <= 0 <= statements.high,
        joint_false_alarms=facts_of.p <= 0.05,
        joint_difference_misses=not facts_of.low <= 0 <= facts_of.high,
        false_alarms_by_head_alone=by_head.p <= 0.05,
    )


def main() -> None:
    """Prints, for each scene, the percentage of seeds with each error."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--seeds", type=int, default=1000)
    seeds = options.parse_args().seeds
    for scene in SCENES:
        errors = sum((simulated(scene, seed) for seed in range(seeds)), Counter())
        print(f"{scene}, {seeds} seeds", flush=True)
        for name, count in errors.items():
            print(f"    {100 * count / seeds:5.1f} %  {name.replace('_', ' ')}", flush=True)


if __name__ == "__main__":
    main()
