"""How often 95% intervals hold the truth, and how often equal models are called different, when facts share heads and tails.

    python benchmarks/intervals.py                  # 1,000 runs a cell: about a quarter of an hour on two cores
    python benchmarks/intervals.py --seeds 200

Two equally good models answer eight statements of each true fact and of its false partner. How easy a fact is, on the probit
scale, is a sum of normal effects: of its head and its tail (the same for both models), of model and head, of model and tail,
and of model and fact. The truth is what a model scores over all heads and tails of this kind, known by integration; the mean
of the ease is set so that the figure itself is 1, 5, 50, 95 or 99 %. Tails are shared by all facts, with frequencies by
Zipf's law (thirty of them are worth ten), or each fact has its own.

An interval should hold the truth in 95 % of the runs. Where there are fewer than ten heads there is none: "too few".
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from itertools import product
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np
from scipy import optimize, special

from medfact.metrics.clusters import Clusters
from medfact.metrics.differences import Difference, paired_difference
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


def simulated(heads: int, tails: int | None, mean: float, seed: tuple[int, ...]) -> Answers:
    randomness = np.random.default_rng(seed)
    head = np.repeat(np.arange(heads), FACTS_PER_HEAD)
    pairs = len(head)
    if tails is None:
        tail = np.arange(2 * pairs).reshape(pairs, 2)
    else:
        frequency = 1 / np.arange(1, tails + 1)
        tail = randomness.choice(tails, (pairs, 2), p=frequency / frequency.sum())
        while (same := tail[:, 0] == tail[:, 1]).any():  # a false partner is another tail
            tail[same, 1] = randomness.choice(tails, same.sum(), p=frequency / frequency.sum())

    def effects(variance: float, codes: np.ndarray) -> np.ndarray:
        return randomness.normal(0, variance**0.5, int(codes.max()) + 1)[codes]

    ease = mean + effects(OF_HEAD, head)[:, None] + effects(OF_TAIL, tail)
    right = []
    for _ in range(2):
        own = effects(OF_MODEL_AND_HEAD, head)[:, None] + effects(OF_MODEL_AND_TAIL, tail)
        own = own + randomness.normal(0, OF_MODEL_AND_FACT**0.5, (pairs, 2))
        right.append(randomness.normal(size=(pairs, 2, STATEMENTS)) + (ease + own)[:, :, None] > 0)
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


def of_difference(answers: Answers) -> Difference:
    a, b = (right.sum(axis=2).ravel().astype(float) for right in answers.right)
    return paired_difference((a - b) / STATEMENTS, *_by_fact(answers))


class Figure(NamedTuple):
    """truth: the figure at a mean of the ease. interval: of simulated answers. difference: whether its truth is 0."""

    truth: Callable[[float], float]
    interval: Callable[[Answers], Estimate | Difference]
    difference: bool = False


FIGURES = {
    "average": Figure(average, of_average),
    "joint": Figure(joint, of_joint),
    "pair joint": Figure(pair_joint, of_pair_joint),
    "harm": Figure(lambda mean: 1 - average(mean), of_harm),
    "difference": Figure(average, of_difference, True),
}


class Cell(NamedTuple):
    heads: int
    tails: int | None
    figure: str
    accuracy: float


def coverage(cell: Cell, seeds: int) -> tuple[Cell, float | None, float, float]:
    """The cell, how often its interval holds the truth (None: too few heads to say), its mean width, how often p <= 0.05."""
    figure = FIGURES[cell.figure]
    mean = optimize.brentq(lambda mean: figure.truth(mean) - cell.accuracy, -15, 25)
    truth = 0.0 if figure.difference else cell.accuracy
    held, width, alarms, said = 0, 0.0, 0, 0
    for seed in range(seeds):
        key = (seed, cell.heads, cell.tails or 0, round(1000 * cell.accuracy))
        found = figure.interval(simulated(cell.heads, cell.tails, mean, key))
        alarms += isinstance(found, Difference) and found.p is not None and found.p <= 0.05
        if found.low is not None and found.high is not None:
            said += 1
            held += found.low <= truth <= found.high
            width += found.high - found.low
    return cell, held / said if said else None, width / max(said, 1), alarms / seeds


def main() -> None:
    """Prints the share of runs whose interval holds the truth, by heads, tails and figure, for each accuracy."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--seeds", type=int, default=1000)
    seeds = options.parse_args().seeds
    print(f"{'heads':>5} {'tails':>6} {'figure':<11}", *(f"{accuracy:>16.0%}" for accuracy in ACCURACIES))
    cells = [Cell(*of, accuracy) for of in product(HEADS, TAILS, FIGURES) for accuracy in ACCURACIES]
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        row = []
        for cell, held, width, alarms in pool.map(coverage, cells, [seeds] * len(cells)):
            p = f" p {alarms:.1%}" if FIGURES[cell.figure].difference else f" ±{width / 2:.3f}"
            row.append(f"{'too few' + p if held is None else f'{held:.1%}{p}':>16}")
            if len(row) == len(ACCURACIES):
                print(f"{cell.heads:>5} {cell.tails or 'own':>6} {cell.figure:<11}", *row, flush=True)
                row = []


if __name__ == "__main__":
    main()
