"""How often what is claimed is wrong: a calibrated model that is accused, and equal models that are told apart."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy import stats

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from medfact.metrics.clusters import Clusters
from medfact.metrics.comparison import Contrast, paired_difference
from medfact.metrics.probability import defect_of, overconfidence_of
from medfact.metrics.race import Differences, Race, race
from medfact.results.power import expected_error, power
from medfact.runs.racing import LEAST_ELSEWHERE, LEAST_HERE, next_window
from medfact.statements import IMPLICATIONS

NEGATED = np.array([one.negated for one in IMPLICATIONS.values()])
SHAPES: dict[str, Callable[[np.random.Generator, tuple[int, ...]], np.ndarray]] = {
    "uniform": lambda randomness, size: randomness.random(size),
    "U-shaped": lambda randomness, size: randomness.beta(0.3, 0.3, size),
}


def calibrated(seed: int, facts: int, a_head: int, tails: int | None, coherent: bool, shape: str) -> str | None:
    """The defect that is claimed of a calibrated model."""
    randomness = np.random.default_rng(seed)
    if coherent:
        belief = SHAPES[shape](randomness, (facts, 1))
        p, truth = np.where(NEGATED, 1 - belief, belief), (randomness.random((facts, 1)) < belief) != NEGATED
    else:
        p = SHAPES[shape](randomness, (facts, 8))
        truth = randomness.random((facts, 8)) < p
    tail = np.arange(facts) if tails is None else randomness.integers(0, tails, facts)
    clusters = Clusters(np.repeat(np.arange(facts) // a_head, 8), np.repeat(tail, 8))
    p, label = p.ravel(), truth.ravel().astype(float)
    return defect_of(p - label, overconfidence_of(p, label), clusters)


class Answered(NamedTuple):
    """Two models' answers to the same facts. answers, mastery: differences in the share of right answers, and in all of them
    right; head: heads' places in the race; tail: tails.
    """

    answers: np.ndarray
    mastery: np.ndarray
    head: np.ndarray
    tail: np.ndarray


def models(seed: int, heads: int, a_head: int, difference: float, effect: float) -> Answered:
    """difference: in right answers. effect: what a model makes of a tail."""
    randomness = np.random.default_rng(seed)
    facts = heads * a_head
    weights = 1 / np.arange(1, 31)
    tail = randomness.choice(30, facts, p=weights / weights.sum()) if effect else np.arange(facts)
    head = np.repeat(np.arange(heads), a_head)
    skill = np.sqrt(0.05) * randomness.normal(0, 1, (2, heads))[:, head] + np.sqrt(0.14) * randomness.normal(0, 1, facts)
    skill += (
        np.sqrt(0.28) * randomness.normal(0, 1, (2, facts)) + randomness.normal(0, effect, (2, int(tail.max()) + 1))[:, tail]
    )
    answers = skill[:, :, None] + np.sqrt(0.53) * randomness.normal(0, 1, (2, facts, 8))
    bound = stats.norm(scale=np.sqrt(1 + effect**2)).ppf([0.775, 0.775 - difference])
    right = answers < bound[:, None, None]
    share, whole = right.mean(axis=2), right.all(axis=2).astype(float)
    return Answered(share[0] - share[1], whole[0] - whole[1], randomness.permutation(heads)[head], tail)


def ended_race(differences: np.ndarray, head: np.ndarray, tail: np.ndarray, a_head: int) -> Race:
    """The race over all heads."""
    sizes = np.full(len(differences) // a_head, a_head)
    return race(Differences(differences, differences, head, sizes, len(sizes), tail))


def is_shown(found: Contrast) -> bool:
    return (found.low_all or 0.0) > 0 or (found.high_all or 0.0) < 0


def main(seeds: range) -> None:
    print("| a calibrated model is accused | coherent, uniform | coherent, U | not coherent, uniform | not coherent, U |")
    print("|---|---|---|---|---|")
    for facts, a_head, tails in ((60, 1, None), (100, 1, None), (200, 2, None), (400, 4, 30)):
        cells = [
            np.mean([calibrated(seed, facts, a_head, tails, coherent, shape) is not None for seed in seeds])
            for coherent in (True, False)
            for shape in SHAPES
        ]
        shared = f"{tails} shared tails" if tails else "own tails"
        print(
            f"| {facts} facts, {a_head} a head, {shared} | " + " | ".join(f"{100 * cell:.1f}%" for cell in cells) + " |",
            flush=True,
        )
    print("\n| equal models | told apart at a fixed n | by the race | bounds miss these facts' difference |\n|---|---|---|---|")
    for heads, effect in ((50, 0.3), (125, 0.3), (200, 0.3), (200, 0.55)):
        fixed = raced = missed = 0
        for seed in seeds:
            _, mastery, head, tail = models(seed, heads, 4, 0.0, effect)
            found, ended = paired_difference(mastery, head, tail), ended_race(mastery, head, tail, 4)
            fixed += is_shown(found)
            raced += ended.decided_at is not None
            missed += not ended.low <= mastery.mean() <= ended.high
        cells = " | ".join(f"{100 * count / len(seeds):.1f}%" for count in (fixed, raced, missed))
        print(f"| {heads} heads of 4, 30 shared tails, model × tail {effect} | {cells} |", flush=True)
    looks = {"a look at every disease": 1, "services": LEAST_ELSEWHERE, "models on this machine": LEAST_HERE}
    found, whole, decided, used = 0, 0, 0, np.zeros(len(looks))
    for seed in seeds:
        answers, mastery, head, tail = models(seed, 250, 2, 0.05, 0.0)
        made, of_whole = paired_difference(answers, head, tail), paired_difference(mastery, head, tail)
        found += is_shown(made)
        whole += is_shown(of_whole)
        end = ended_race(mastery, head, tail, 2).decided_at
        decided += end is not None
        used += [asked_until(end, least, mastery, head, tail) / 250 for least in looks.values()]
    said = power(0.05, expected_error(Clusters(np.repeat(np.arange(250), 2), np.arange(500)), 8))
    print(f"\n5 points on 500 facts: found in {100 * found / len(seeds):.1f}%, predicted {100 * said:.1f}%;", end=" ")
    print(f"what it makes in mastery in {100 * whole / len(seeds):.1f}%;", end=" ")
    print(f"the race finds it in {100 * decided / len(seeds):.1f}%, of the calls with", end=" ")
    print(", ".join(f"{100 * share / len(seeds):.1f}% ({who})" for who, share in zip(looks, used, strict=True)))


def asked_until(end: int | None, least: int, differences: np.ndarray, head: np.ndarray, tail: np.ndarray) -> int:
    """How many of 250 heads, of 16 statements each, are asked until the window is over that decides the race. end: the head
    that does. least: statements of a window.
    """
    end, after, heads, more = end or 250, 16 * np.arange(1, 251), 0, None
    while heads < end and least > 1:
        heads = next_window(after, heads, least, more)
        rows = head < heads
        found = Differences(differences[rows], differences[rows], head[rows], np.full(250, 2), heads, tail[rows])
        more = race(found).more
    return heads or end


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=1_000)
    parser.add_argument("--first", type=int, default=0, help="the first seed, for runs that nobody has seen")
    options = parser.parse_args()
    main(range(options.first, options.first + options.seeds))
