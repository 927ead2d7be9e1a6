"""How often a family of comparisons shows a difference between equals: the false alarm rate of “shown”.

    python benchmarks/families.py                  # 400 seeds a row: about three minutes on one core
    python benchmarks/families.py --seeds 100

A difference is shown where the interval for all comparisons of its family leaves out 0. Here nothing differs: every model, or
every way of asking, has the same share of right answers over all heads and tails. An alarm is one difference or more that is
shown. At most 5 % of the families may raise one.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable
from itertools import combinations
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np

from medfact.metrics.comparison import CONTRASTS, Contrast, holm, paired_difference
from medfact.statements import IMPLICATIONS

Family = list[Contrast]


def correlated(
    heads: int, a_head: int, tails: int | None, columns: int, seed: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Head, tail, and the ease of each fact in each column: facts × columns. Columns differ by head, by tail and by fact."""
    randomness = np.random.default_rng((seed, heads, columns))
    head = np.repeat(np.arange(heads), a_head)
    count = len(head)
    tail = np.arange(count) if tails is None else randomness.choice(tails, count, p=_zipf(tails))
    common = (
        randomness.normal(0, 0.3**0.5, heads)[head] + randomness.normal(0, 0.1**0.5, count if tails is None else tails)[tail]
    )
    own = randomness.normal(0, 0.1**0.5, (heads, columns))[head]
    own = own + randomness.normal(0, 0.1**0.5, (count if tails is None else tails, columns))[tail]
    return head, tail, common[:, None] + own + randomness.normal(0, 0.5**0.5, (count, columns))


def _zipf(tails: int) -> np.ndarray:
    frequency = 1 / np.arange(1, tails + 1)
    return np.asarray(frequency / frequency.sum())


def pairs_of_models(heads: int, tails: int | None, seed: int, models: int = 4, ease: float = 1.0) -> Family:
    """Mastery of equal models, every pair of them: of four models six pairs."""
    head, tail, latent = correlated(heads, 4, tails, models, seed)
    noise = np.random.default_rng((seed, 1)).normal(size=(*latent.shape, 8))
    mastered = (latent[:, :, None] + ease + noise > 0).all(axis=2).astype(float)
    pairs = list(combinations(range(models), 2))
    return [paired_difference(mastered[:, a] - mastered[:, b], head, tail, family=len(pairs)) for a, b in pairs]


def contrasts_of_a_run(heads: int, tails: int | None, seed: int) -> Family:
    """The contrasts of a run to which all eight ways are equally hard."""
    head, tail, latent = correlated(heads, 4, tails, 8, seed)
    right = latent + np.random.default_rng((seed, 1)).normal(size=latent.shape) + 0.7 > 0
    place = {key: number for number, key in enumerate(IMPLICATIONS)}
    asked = [one for one in CONTRASTS if place.keys() >= {*one.first, *one.second}]
    sides = [[right[:, [place[key] for key in keys]].mean(axis=1) for keys in (one.first, one.second)] for one in asked]
    return [paired_difference(first - less, head, tail, family=len(asked)) for first, less in sides]


FAMILIES: dict[str, Callable[[int, int | None, int], Family]] = {
    "six pairs of four models, mastery": pairs_of_models,
    "six pairs of four models, 5 % mastered": lambda heads, tails, seed: pairs_of_models(heads, tails, seed, ease=-0.25),
    "thirteen contrasts of a run": contrasts_of_a_run,
}


def is_shown(one: Contrast) -> bool:
    return (one.low_all or 0.0) > 0 or (one.high_all or 0.0) < 0


def alarms(
    family: Callable[[int, int | None, int], Family], heads: int, tails: int | None, seeds: range
) -> tuple[float, float]:
    """The share of families with a difference that is shown, and with a p after Holm below 0.05."""
    shown = by_p = 0
    for seed in seeds:
        found = family(heads, tails, seed)
        shown += any(map(is_shown, found))
        by_p += any(p is not None and p < 0.05 for p in holm([one.p for one in found]))
    return shown / len(seeds), by_p / len(seeds)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--seeds", type=int, default=400)
    options.add_argument("--first", type=int, default=0, help="the first seed")
    chosen = options.parse_args()
    seeds = range(chosen.first, chosen.first + chosen.seeds)
    print("| family | heads | tails | shown | p after Holm below 0.05 |\n|---|---|---|---|---|")
    for name, family in FAMILIES.items():
        for heads, tails in ((12, None), (30, None), (30, 30), (100, 30)):
            shown, by_p = alarms(family, heads, tails, seeds)
            print(f"| {name} | {heads} | {tails or 'own'} | {shown:.1%} | {by_p:.1%} |", flush=True)


if __name__ == "__main__":
    main()
