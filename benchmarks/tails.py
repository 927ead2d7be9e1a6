"""How often 95% intervals hold the truth where facts share tails: AUROC, ECE and a diagnosis's excess.

    python benchmarks/tails.py                      # 1,000 runs a row
    python benchmarks/tails.py --seeds 200 --first 5000     # other seeds

A model answers eight statements of each fact. How far P(True) leans to the truth is a sum of normal effects on the logit
scale: of the fact's head and its tail, of the fact, and of the statement. The truth is what a model shows over 100,000 facts,
each with a head and a tail of its own. Thirty tails are shared by all facts, with frequencies by Zipf's law, or each fact has
its own.
"""

from __future__ import annotations

import argparse
import os
import sys
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np

from medfact.metrics import Names, Records
from medfact.metrics.diagnosis import MASTERED, diagnosis
from medfact.metrics.probability import probabilities
from medfact.statements import IMPLICATIONS

WAYS = list(IMPLICATIONS)
NEGATED = np.array([one.negated for one in IMPLICATIONS.values()])
FACTS_PER_HEAD = 4
OF_HEAD, OF_TAIL, OF_FACT, OF_STATEMENT = 0.3, 0.5, 0.5, 1.0
"""Variances of the effects on the logit scale."""
EASE, SHARPNESS = 0.7, 2.0
FIGURES = ("AUROC", "ECE", "excess of “mastered”")


def drawn(heads: int, a_head: int, tails: int | None, seed: int) -> Records:
    """Answers of a model to so many facts."""
    randomness = np.random.default_rng(seed)
    facts = heads * a_head
    weights = 1 / np.arange(1, (tails or 1) + 1)
    tail = randomness.choice(tails, facts, p=weights / weights.sum()) if tails else np.arange(facts)
    head, positive = np.repeat(np.arange(heads), a_head), randomness.random(facts) < 0.5
    label = positive[:, None] != NEGATED

    skill = EASE + randomness.normal(0, OF_FACT**0.5, facts)
    for codes, variance in ((head, OF_HEAD), (tail, OF_TAIL)):
        skill += randomness.normal(0, variance**0.5, int(codes.max()) + 1)[codes]
    lean = skill[:, None] + randomness.normal(0, OF_STATEMENT**0.5, (facts, len(WAYS)))
    return _records(head, tail, positive, 1 / (1 + np.exp(-SHARPNESS * np.where(label, lean, -lean))))


def _records(head: np.ndarray, tail: np.ndarray, positive: np.ndarray, p: np.ndarray) -> Records:
    facts, ways = p.shape
    fact, rows = np.repeat(np.arange(facts), ways), facts * ways
    blank = Names([""], np.zeros(rows, dtype=np.int64))
    return Records(
        fact=fact,
        pair=fact,
        head=head[fact],
        tail=tail[fact],
        draw=np.zeros(rows, dtype=np.int64),
        variants=Names(WAYS, np.tile(np.arange(ways), facts)),
        relations=blank,
        tail_types=blank,
        difficulties=blank,
        positive=positive[fact],
        label=positive[fact] != np.tile(NEGATED, facts),
        answer=(p > 0.5).ravel().astype(np.int8),
        p_true=p.ravel(),
        p_mass=np.ones(rows),
    )


def figures(records: Records) -> list[tuple[float, float | None, float | None]]:
    """Each figure with its interval."""
    good, found = probabilities(records), diagnosis(records)
    assert good is not None
    assert found is not None
    excess = found.by_name[MASTERED]
    return [
        (good.overall.auroc.value or 0.0, good.overall.auroc.low, good.overall.auroc.high),
        (good.off.ece.value or 0.0, good.off.ece.low, good.off.ece.high),
        (excess.excess, excess.low, excess.high),
    ]


def held(seed: int, heads: int, tails: int | None, truth: list[float]) -> tuple[list[bool], list[float]]:
    """Whether each interval holds the truth, and half its width."""
    made = figures(drawn(heads, FACTS_PER_HEAD, tails, seed))
    bounds = [(low or 0.0, high or 0.0) for _, low, high in made]
    return [low <= t <= high for (low, high), t in zip(bounds, truth, strict=True)], [(high - low) / 2 for low, high in bounds]


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--seeds", type=int, default=1000)
    options.add_argument("--first", type=int, default=0, help="the first seed, for runs that nobody has seen")
    chosen = options.parse_args()
    seeds = range(chosen.first, chosen.first + chosen.seeds)
    whole = [figures(drawn(10_000, 1, None, 10**6 + part)) for part in range(10)]
    truth = np.mean([[value for value, _, _ in one] for one in whole], axis=0).tolist()
    print("truth:", ", ".join(f"{name} {value:.4f}" for name, value in zip(FIGURES, truth, strict=True)))
    print("| heads of 4, tails |", " | ".join(FIGURES), "|\n" + "|---" * (1 + len(FIGURES)) + "|")
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        for heads, tails in ((200, 30), (200, None), (60, 30), (60, None)):
            ones = list(pool.map(partial(held, heads=heads, tails=tails, truth=truth), seeds, chunksize=10))
            shares, halves = np.mean([one for one, _ in ones], axis=0), np.mean([half for _, half in ones], axis=0)
            cells = (f"{share:.1%} ±{half:.3f}" for share, half in zip(shares, halves, strict=True))
            print(f"| {heads}, {tails or 'own'} |", " | ".join(cells), "|", flush=True)


if __name__ == "__main__":
    main()
