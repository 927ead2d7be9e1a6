"""How often 95% intervals hold the truth, and how often equal models are called different, when facts share heads and tails.

    python benchmarks/intervals.py                  # 1,000 runs a cell: about a quarter of an hour on two cores
    python benchmarks/intervals.py --seeds 200 --first 5000     # other seeds
    python benchmarks/intervals.py --heads 10 30 --world beta

Two equally good models answer eight statements of each true fact and of its false partner. How easy a fact is, on the probit
scale, is a sum of normal effects: of its head and its tail (the same for both models), of model and head, of model and tail,
and of model and fact. The truth is what a model scores over all heads and tails of this kind, known by integration; the mean
of the ease is set so that the figure itself is 1, 5, 50, 95 or 99 %. Tails are shared by all facts, with frequencies by
Zipf's law (thirty of them are worth ten), or each fact has its own.

An interval should hold the truth in 95 % of the runs. Where there are fewer than ten heads there is none: "too few". Beside
heads and tails stands how many equal ones they are worth, on average.

In the world "beta" nothing is normal: heads are of unequal size, a fact's chance of a right answer is beta about that of its
head, or about that of its tail, and heads' and tails' chances are beta themselves (the truth is known in closed form).
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from itertools import product
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np
from scipy import optimize, special

from medfact.metrics.clusters import Clusters, Codes, effective_number
from medfact.metrics.comparison import Contrast, paired_difference
from medfact.metrics.uncertainty import Estimate, mean_interval

STATEMENTS = 8
FACTS_PER_HEAD = 8
HEADS = (5, 10, 30, 200)
TAILS = (None, 30)
ACCURACIES = (0.01, 0.05, 0.5, 0.95, 0.99)
OF_HEAD, OF_TAIL, OF_MODEL_AND_HEAD, OF_MODEL_AND_TAIL, OF_MODEL_AND_FACT = 0.3, 0.1, 0.1, 0.1, 0.5
"""Variances of the effects on the probit scale; a statement's own is 1."""

_POINTS, _WEIGHTS = np.polynomial.hermite_e.hermegauss(60)
_WEIGHTS = _WEIGHTS / _WEIGHTS.sum()
_BY_HEAD = (OF_HEAD + OF_MODEL_AND_HEAD) ** 0.5
_WITHIN = (OF_TAIL + OF_MODEL_AND_TAIL + OF_MODEL_AND_FACT) ** 0.5


def average(mean: float) -> float:
    return float(special.ndtr(mean / (1 + _BY_HEAD**2 + _WITHIN**2) ** 0.5))


def joint(mean: float) -> float:
    return float((_WEIGHTS * special.ndtr(mean + np.hypot(_BY_HEAD, _WITHIN) * _POINTS) ** STATEMENTS).sum())


def pair_joint(mean: float) -> float:
    of_head = [(_WEIGHTS * special.ndtr(mean + _BY_HEAD * head + _WITHIN * _POINTS) ** STATEMENTS).sum() for head in _POINTS]
    return float((_WEIGHTS * np.square(of_head)).sum())


class Answers(NamedTuple):
    """head of each pair; tails of its true and false fact (pairs, 2); right, by model: (pairs, 2, STATEMENTS)."""

    head: np.ndarray
    tails: np.ndarray
    right: tuple[np.ndarray, np.ndarray]


def drawn_tails(tails: int | None, pairs: int, randomness: np.random.Generator) -> Codes:
    """The tails of each pair's true and false fact: their own, or drawn by Zipf's law from so many."""
    if tails is None:
        return np.arange(2 * pairs).reshape(pairs, 2)
    frequency = 1 / np.arange(1, tails + 1)
    frequency /= frequency.sum()
    tail = randomness.choice(tails, (pairs, 2), p=frequency)
    while (same := tail[:, 0] == tail[:, 1]).any():  # a false partner is another tail
        tail[same, 1] = randomness.choice(tails, same.sum(), p=frequency)
    return tail


def simulated(heads: int, tails: int | None, mean: float, randomness: np.random.Generator) -> Answers:
    head = np.repeat(np.arange(heads), FACTS_PER_HEAD)
    pairs = len(head)
    tail = drawn_tails(tails, pairs, randomness)

    def effects(variance: float, codes: np.ndarray) -> np.ndarray:
        return randomness.normal(0, variance**0.5, int(codes.max()) + 1)[codes]

    ease = mean + effects(OF_HEAD, head)[:, None] + effects(OF_TAIL, tail)
    right = []
    for _ in range(2):
        own = effects(OF_MODEL_AND_HEAD, head)[:, None] + effects(OF_MODEL_AND_TAIL, tail)
        own = own + randomness.normal(0, OF_MODEL_AND_FACT**0.5, (pairs, 2))
        right.append(randomness.normal(size=(pairs, 2, STATEMENTS)) + (ease + own)[:, :, None] > 0)
    return Answers(head, tail, (right[0], right[1]))


BETA_OF_HEAD, BETA_OF_FACT, BETA_BY_TAIL, BETA_SHARED = 8.0, 2.0, 0.1, 0.5
"""The world "beta". A head's or tail's chance is beta with parameters of this sum, and a fact's about that of its head, so
often about that of its tail instead. So often is a head's or tail's chance the same for both models.
"""


def _all_right(chance: np.ndarray) -> np.ndarray:
    """The chance of eight right answers to a fact, whose own chance is beta about this one."""
    steps = np.arange(STATEMENTS)
    return np.prod((BETA_OF_FACT * chance[..., None] + steps) / (BETA_OF_FACT + steps), axis=-1)


def _over_heads(mean: float) -> tuple[np.ndarray, np.ndarray]:
    """The chance of eight right answers at places of equal probability over heads, and the weight of each."""
    places = (np.arange(4000) + 0.5) / 4000
    chance = special.betaincinv(BETA_OF_HEAD * mean, BETA_OF_HEAD * (1 - mean), places)
    return _all_right(chance), np.full(4000, 1 / 4000)


def beta_joint(mean: float) -> float:
    right, weight = _over_heads(mean)
    return float(right @ weight)


def beta_pair_joint(mean: float) -> float:
    right, weight = _over_heads(mean)
    whole = float(right @ weight)
    return float(weight @ np.square((1 - BETA_BY_TAIL) * right + BETA_BY_TAIL * whole))


def simulated_beta(heads: int, tails: int | None, mean: float, randomness: np.random.Generator) -> Answers:
    head = np.repeat(np.arange(heads), randomness.integers(4, 13, heads))
    pairs = len(head)
    tail = drawn_tails(tails, pairs, randomness)

    def chances(count: int) -> np.ndarray:
        """Of both models: (2, count)."""
        one, other = randomness.beta(BETA_OF_HEAD * mean, BETA_OF_HEAD * (1 - mean), (2, count))
        return np.stack([one, np.where(randomness.random(count) < BETA_SHARED, one, other)])

    of_head, of_tail = chances(heads), chances(int(tail.max()) + 1)
    follows = randomness.random((pairs, 2)) < BETA_BY_TAIL
    right = []
    for model in range(2):
        chance = np.where(follows, of_tail[model][tail], of_head[model][head][:, None])
        a, b = BETA_OF_FACT * chance, BETA_OF_FACT * (1 - chance)
        of_fact = randomness.beta(a.clip(1e-9), b.clip(1e-9))
        right.append(randomness.random((pairs, 2, STATEMENTS)) < of_fact[:, :, None])
    return Answers(head, tail, (right[0], right[1]))


def _by_fact(answers: Answers) -> tuple[np.ndarray, np.ndarray]:
    return np.repeat(answers.head, 2), answers.tails.ravel()


def of_average(answers: Answers) -> Estimate:
    return mean_interval(answers.right[0].mean(axis=2).ravel(), Clusters(*_by_fact(answers)))


def of_joint(answers: Answers) -> Estimate:
    return mean_interval(answers.right[0].all(axis=2).ravel().astype(float), Clusters(*_by_fact(answers)))


def of_pair_joint(answers: Answers) -> Estimate:
    return mean_interval(answers.right[0].all(axis=(1, 2)).astype(float), Clusters(answers.head, answers.tails))


def of_harm(answers: Answers) -> Estimate:
    """Affirmed statements, half of all, of false facts."""
    wrong = ~answers.right[0][:, 1, : STATEMENTS // 2]
    return mean_interval(wrong.mean(axis=1), Clusters(answers.head, answers.tails[:, 1]))


def of_difference(answers: Answers) -> Contrast:
    a, b = (right.sum(axis=2).ravel().astype(float) for right in answers.right)
    return paired_difference((a - b) / STATEMENTS, *_by_fact(answers))


class Figure(NamedTuple):
    """truth: the figure at a mean of the ease, by world. interval: of simulated answers. difference: whether its truth is 0."""

    truth: dict[str, Callable[[float], float]]
    interval: Callable[[Answers], Estimate | Contrast]
    difference: bool = False


def _itself(mean: float) -> float:
    return mean


FIGURES = {
    "average": Figure({"probit": average, "beta": _itself}, of_average),
    "joint": Figure({"probit": joint, "beta": beta_joint}, of_joint),
    "pair joint": Figure({"probit": pair_joint, "beta": beta_pair_joint}, of_pair_joint),
    "harm": Figure({"probit": lambda mean: 1 - average(mean), "beta": lambda mean: 1 - mean}, of_harm),
    "difference": Figure({"probit": average, "beta": _itself}, of_difference, True),
}
WORLDS = {"probit": (simulated, (-15.0, 25.0)), "beta": (simulated_beta, (1e-4, 1 - 1e-4))}
"""World → how answers are simulated, and between which means of the ease."""


class Cell(NamedTuple):
    heads: int
    tails: int | None
    figure: str
    accuracy: float


class Covered(NamedTuple):
    """How often an interval holds the truth, where there is one; half its mean width; how often p <= 0.05; how many equal heads
    and tails the facts are worth.
    """

    held: float | None
    half: float
    alarms: float
    heads: float
    tails: float


def coverage(cell: Cell, world: str, seeds: range) -> Covered:
    figure, (simulate, between) = FIGURES[cell.figure], WORLDS[world]
    mean = optimize.brentq(lambda mean: figure.truth[world](mean) - cell.accuracy, *between)
    truth = 0.0 if figure.difference else cell.accuracy
    held, width, alarms, said, worths = 0, 0.0, 0, 0, np.zeros(2)
    for seed in seeds:
        key = (seed, cell.heads, cell.tails or 0, round(1000 * cell.accuracy))
        answers = simulate(cell.heads, cell.tails, mean, np.random.default_rng(key))
        found = figure.interval(answers)
        worths += effective_number(answers.head), effective_number(answers.tails.ravel())
        alarms += isinstance(found, Contrast) and found.p is not None and found.p <= 0.05
        if found.low is not None and found.high is not None:
            said += 1
            held += found.low <= truth <= found.high
            width += found.high - found.low
    count = len(seeds)
    return Covered(held / said if said else None, width / max(said, 1) / 2, alarms / count, *(worths / count))


def main() -> None:
    """Prints the share of runs whose interval holds the truth, by heads, tails and figure, for each accuracy."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--seeds", type=int, default=1000)
    options.add_argument("--first", type=int, default=0, help="the first seed, for runs that nobody has seen")
    options.add_argument("--world", choices=WORLDS, default="probit")
    options.add_argument("--heads", type=int, nargs="+", default=HEADS)
    chosen = options.parse_args()
    seeds = range(chosen.first, chosen.first + chosen.seeds)
    titles = ("heads", "tails", "worth", "figure", *(f"{accuracy:.0%}" for accuracy in ACCURACIES))
    print("|", " | ".join(titles), "|\n" + "|---" * len(titles) + "|")
    cells = [Cell(*of, accuracy) for of in product(chosen.heads, TAILS, FIGURES) for accuracy in ACCURACIES]
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        row = []
        for cell, found in zip(cells, pool.map(partial(coverage, world=chosen.world, seeds=seeds), cells), strict=True):
            beside = f", p {found.alarms:.1%}" if FIGURES[cell.figure].difference else f" ±{found.half:.3f}"
            row.append(
                "too few" + beside * FIGURES[cell.figure].difference if found.held is None else f"{found.held:.1%}{beside}"
            )
            if len(row) == len(ACCURACIES):
                worths = f"{found.heads:.1f}, {found.tails:.1f}"
                print("|", " | ".join((str(cell.heads), str(cell.tails or "own"), worths, cell.figure, *row)), "|", flush=True)
                row = []


if __name__ == "__main__":
    main()
