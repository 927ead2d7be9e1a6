"""How often the interval of a score under the reviewers' truth (`metrics.powered`) holds it, and how wide it is.

    python benchmarks/powered.py                    # 1,000 seeds a cell
    python benchmarks/powered.py --seeds 200 --heads 300

600 facts of 100 heads, and 60 tails that several heads share. A model masters a fact, gets all eight statements of it wrong, or
some of them, as the fact is; a label may be wrong, and a fact may depend on the patient, which takes it out. So many facts are
drawn at random, and reviewers say of each what is true. The truth is the score over all such facts, known by integration over
200,000 heads. Errors are

    alone      independent of everything
    answers    there alone where the model is right under the truth: every label error takes a mastered fact away
    heads      of one head in five alone, five times as many there

Beside it stand the interval of the reviewed facts alone, and that of the score of all facts by our labels.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import cache, partial
from itertools import product
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np
from scipy import special

from medfact.metrics.clusters import Bools, Clusters, Codes
from medfact.metrics.powered import Reviewed, powered
from medfact.metrics.uncertainty import Estimate, mean_interval

FACTS_A_HEAD, STATEMENTS, TAILS = 6, 8, 60
OF_HEAD, OF_TAIL = 0.15, 0.05
"""Share of the variance of how well a fact is known that its head, and its tail, hold."""

UNCLEAR = 0.02
"""Facts that depend on the patient."""

ALONE, ANSWERS, HEADS = "alone", "answers", "heads"


class World(NamedTuple):
    """mastered: share of facts with all eight right under the truth. error: share of labels that are wrong, and on what that
    depends.
    """

    mastered: float
    error: float
    depends: str


class Facts(NamedTuple):
    """right: of the eight statements, how many are right under the truth. wrong_label, unclear: which facts are so."""

    right: Codes
    wrong_label: Bools
    unclear: Bools
    heads: Codes
    tails: Codes


def drawn(randomness: np.random.Generator, world: World, heads: int, tails: int = TAILS) -> Facts:
    """Facts of so many heads."""
    facts = heads * FACTS_A_HEAD
    head, tail = np.repeat(np.arange(heads), FACTS_A_HEAD), randomness.integers(0, tails, facts)
    known = np.sqrt(OF_HEAD) * randomness.normal(size=heads)[head] + np.sqrt(OF_TAIL) * randomness.normal(size=tails)[tail]
    known += np.sqrt(1 - OF_HEAD - OF_TAIL) * randomness.normal(size=facts)
    masters = known > special.ndtri(1 - world.mastered)
    none = ~masters & (known < special.ndtri((1 - world.mastered) / 4))  # a quarter of the others has all eight wrong
    some = randomness.integers(1, STATEMENTS, facts)
    right = np.where(masters, STATEMENTS, np.where(none, 0, some))
    chance = np.full(facts, world.error)
    if world.depends == ANSWERS:
        chance = np.where(masters, world.error / world.mastered, 0.0)
    if world.depends == HEADS:
        chance = world.error * 5 * (randomness.random(heads) < 0.2)[head]
    return Facts(right, randomness.random(facts) < chance, randomness.random(facts) < UNCLEAR, head, tail)


@cache
def truth(world: World) -> tuple[float, float]:
    """Mastery and average accuracy over all such facts."""
    found = drawn(np.random.default_rng(1), world, 200_000, 200_000)
    right = found.right[~found.unclear]
    return float((right == STATEMENTS).mean()), float(right.mean() / STATEMENTS)


def reviewed(facts: Facts, chosen: Bools, mastery: bool) -> Reviewed:
    """The facts as a run has them, with what reviewers say of those that were chosen."""
    by_label = np.where(facts.wrong_label, STATEMENTS - facts.right, facts.right)
    if mastery:
        of, right, true = np.ones(len(chosen)), (by_label == STATEMENTS) * 1.0, (facts.right == STATEMENTS) * 1.0
        still, newly = right * true, (1 - right) * true
    else:  # a statement that is right by label is wrong under the truth where the label is, and the other way round
        of, right = np.full(len(chosen), float(STATEMENTS)), by_label.astype(float)
        still, newly = np.where(facts.wrong_label, 0.0, right), np.where(facts.wrong_label, of - right, 0.0)
    weight = chosen * len(chosen) / chosen.sum()
    clusters = Clusters(facts.heads, facts.tails)
    stratum = np.zeros(len(chosen), dtype=np.int64)
    return Reviewed(of, right, weight, chosen & ~facts.unclear, still, newly, stratum, clusters)


class Seen(NamedTuple):
    powered: Estimate
    alone: Estimate
    by_label: Estimate


def seen(seed: int, world: World, reviews: int, heads: int, mastery: bool) -> Seen:
    randomness = np.random.default_rng(seed)
    facts = drawn(randomness, world, heads)
    chosen = np.zeros(len(facts.heads), dtype=bool)
    chosen[randomness.choice(len(chosen), min(reviews, len(chosen)), replace=False)] = True
    found = reviewed(facts, chosen, mastery)
    under_truth = (facts.right == STATEMENTS) * 1.0 if mastery else facts.right / STATEMENTS
    alone = mean_interval(under_truth[found.decided], found.clusters.of(found.decided))
    return Seen(powered(found).estimate, alone, mean_interval(found.right / found.statements, found.clusters))


def cell(world: World, reviews: int, heads: int, mastery: bool, seeds: range, pool: ProcessPoolExecutor) -> Iterator[str]:
    """Coverage and mean half width of the interval, of that of the reviewed facts alone, and coverage of that by our labels."""
    of = partial(seen, world=world, reviews=reviews, heads=heads, mastery=mastery)
    found = list(pool.map(of, seeds, chunksize=25))
    true = truth(world)[0 if mastery else 1]
    for name in Seen._fields:
        made = [one for one in (getattr(one, name) for one in found) if one.low is not None]
        holds = np.mean([one.low <= true <= one.high for one in made])
        yield f"{holds:.1%} (±{50 * np.mean([one.high - one.low for one in made]):.1f})"


def main(chosen: argparse.Namespace) -> None:
    seeds = range(chosen.first, chosen.first + chosen.seeds)
    print("| score | mastered | error | reviewed | powered | reviewed alone | by label |\n" + "|---" * 7 + "|")
    cells = product(chosen.scores, chosen.mastered, chosen.errors, chosen.depends, chosen.reviews)
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        for name, share, error, on, reviews in cells:
            if error or on == chosen.depends[0]:  # no errors depend on nothing
                found = cell(World(share, error, on), reviews, chosen.heads, name == MASTERY, seeds, pool)
                what = (name, f"{share:.0%}", f"{error:.0%}{f', {on}' if error else ''}", str(reviews))
                print("|", " | ".join([*what, *found]), "|", flush=True)


MASTERY, AVERAGE = "mastery", "average"

if __name__ == "__main__":
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--seeds", type=int, default=1_000)
    arguments.add_argument("--first", type=int, default=0)
    arguments.add_argument("--heads", type=int, default=100)
    arguments.add_argument("--mastered", type=float, nargs="+", default=[0.5, 0.15])
    arguments.add_argument("--reviews", type=int, nargs="+", default=[30, 60, 120, 250, 500])
    arguments.add_argument("--errors", type=float, nargs="+", default=[0, 0.01, 0.02, 0.05, 0.1])
    arguments.add_argument("--depends", nargs="+", default=[ALONE, ANSWERS, HEADS])
    arguments.add_argument("--scores", nargs="+", default=[MASTERY, AVERAGE])
    main(arguments.parse_args())
