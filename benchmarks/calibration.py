"""Coverage of the intervals of ECE, overconfidence and AUROC where heads and tails are shared.

    python benchmarks/calibration.py                  # 400 runs a design: about half an hour on one core
    python benchmarks/calibration.py --runs 100 --tail-effect 0.4

A model believes each true fact, and its false partner, with an evidence that is normal about ±1 and of variance 1.5, of which
head and tail have a share each. Eight statements a fact add their own noise. Its P(True) is Bayes' posterior of that evidence,
made bolder until the population's ECE in 20 bins is the one wanted: 0.02 is nearly calibrated. Heads and tails are drawn anew
in each run; the truth is known by integration over them.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np
from scipy import optimize, special, stats

from medfact.datasets.bundled import load_bundled
from medfact.metrics import Names, Records
from medfact.metrics.clusters import Codes, Floats
from medfact.metrics.probability import BINS, bins_of, probabilities
from medfact.metrics.uncertainty import Estimate
from medfact.statements import IMPLICATIONS

OF_FACT, OF_STATEMENT = 1.5, 0.5
"""Variances of a fact's evidence, of which head and tail have a share, and of what each of its statements adds."""

FIGURES = ("ece", "overconfidence", "shift", "auroc")
_GRID = np.linspace(-9, 9, 20_001)


class Design(NamedTuple):
    """Codes of heads and tails of true facts, and of the tails of their false partners."""

    heads: Codes
    tails: Codes
    false_tails: Codes


def zipf(tails: int) -> Floats:
    weights = 1 / np.arange(1, tails + 1)
    return np.asarray(weights / weights.sum())


def shared(heads: int, facts: int, weights: Floats) -> Design:
    """Heads with `facts` true facts each, whose tails are drawn with these weights."""
    randomness, n = np.random.default_rng(0), heads * facts
    drawn = randomness.choice(len(weights), (2, n), p=weights)
    return Design(np.repeat(np.arange(heads), facts), *drawn)


def own_tails(heads: int) -> Design:
    return Design(np.arange(heads), np.arange(heads), np.arange(heads, 2 * heads))


def clinical_core() -> Design:
    """Heads and tails as they are; a false partner has the tail of another fact of its relation."""
    facts = [fact for fact in load_bundled("clinical-core").facts if fact.positive]
    randomness = np.random.default_rng(0)
    heads, tails = (np.unique(names, return_inverse=True)[1] for names in zip(*((f.head, f.tail) for f in facts), strict=True))
    false, relations = tails.copy(), np.array([fact.relation for fact in facts])
    for relation in np.unique(relations):
        false[relations == relation] = randomness.permutation(false[relations == relation])
    return Design(heads, tails, false)


DESIGNS: dict[str, Callable[[], Design]] = {
    "200 heads, 30 Zipf tails": lambda: shared(200, 1, zipf(30)),
    "200 heads, no shared tails": lambda: own_tails(200),
    "60 heads × 3, 30 equal tails": lambda: shared(60, 3, np.full(30, 1 / 30)),
    "30 heads × 3, 20 Zipf tails": lambda: shared(30, 3, zipf(20)),
    "clinical-core": clinical_core,
}


class Truth(NamedTuple):
    """Scores over all heads and tails, and the boldness beyond Bayes that gives them."""

    boldness: float
    ece: float
    overconfidence: float
    shift: float
    auroc: float


def truth_of(ece: float) -> Truth:
    """Evidence of true statements is normal about 1, of false ones about −1."""
    spread = np.sqrt(OF_FACT + OF_STATEMENT)
    true, false = (stats.norm.pdf(_GRID, mean, spread) * (_GRID[1] - _GRID[0]) for mean in (1, -1))

    def scores(boldness: float) -> tuple[float, float]:
        p = special.expit(boldness * 2 * _GRID / spread**2)
        errors = (p * (true + false) - true) / 2
        binned = float(np.abs(np.bincount(bins_of(p), weights=errors, minlength=BINS)).sum())
        return binned, float(np.where(_GRID > 0, errors, -errors).sum())

    boldness = 1.0 if ece == 0 else float(optimize.brentq(lambda more: scores(more)[0] - ece, 1.0, 30.0))
    binned, over = scores(boldness)
    return Truth(boldness, binned, over, 0.0, float(special.ndtr(2 / (spread * np.sqrt(2)))))


def blank_of(design: Design) -> Records:
    """The design's statements, eight for each true fact and for its false partner, without a P(True)."""
    n, ways = len(design.heads), list(IMPLICATIONS)
    fact = np.repeat(np.arange(2 * n), len(ways))
    positive = fact < n
    names = Names.of(ways * (2 * n))
    negated = names.map(lambda way: IMPLICATIONS[way].negated).astype(bool)
    heads, tails = np.tile(design.heads, 2), np.concatenate([design.tails, design.false_tails])
    nothing, none = Names.of([""] * len(fact)), np.full(len(fact), np.nan)
    return Records(
        fact, fact % n, heads[fact], tails[fact], np.zeros_like(fact), names, nothing, nothing, nothing,
        positive, positive != negated, np.zeros(len(fact), dtype=np.int8), none, none,
    )  # fmt: skip


def answered(
    blank: Records, truth: Truth, of_head: float, of_tail: float, of_knowledge: bool, randomness: np.random.Generator
) -> Records:
    """P(True) of each statement. of_head, of_tail: their shares of the variance of a fact's evidence. of_knowledge: they are
    effects on how well a fact is known; else on how readily it is called true.
    """
    effects = [
        np.sqrt(OF_FACT * share) * randomness.normal(size=codes.max() + 1)[codes]
        for share, codes in ((of_head, blank.head), (of_tail, blank.tail), (1 - of_head - of_tail, blank.fact))
    ]
    sign = np.where(blank.positive, 1, -1)
    held = sign * (1 + sum(effects)) if of_knowledge else sign + sum(effects)
    evidence = np.where(blank.negated, -held, held) + np.sqrt(OF_STATEMENT) * randomness.normal(size=len(held))
    p = special.expit(truth.boldness * 2 * evidence / (OF_FACT + OF_STATEMENT))
    return replace(blank, p_true=p, answer=(p > 0.5).astype(np.int8))


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--runs", type=int, default=400)
    options.add_argument("--first", type=int, default=0, help="the first seed")
    options.add_argument("--ece", type=float, default=0.02)
    options.add_argument("--head-effect", type=float, default=0.2)
    options.add_argument("--tail-effect", type=float, default=0.2)
    options.add_argument("--knowledge", action="store_true", help="heads and tails are known well or badly, not called true")
    options.add_argument("--design", nargs="*", default=list(DESIGNS))
    arguments = options.parse_args()
    truth = truth_of(arguments.ece)
    print(f"| {arguments.runs} runs, ECE {truth.ece:.3f} | {' | '.join(FIGURES)} | ECE: above, below, width | seconds |")
    print("|---|---|---|---|---|---|---|")
    for name in arguments.design:
        blank, began = blank_of(DESIGNS[name]()), time.perf_counter()
        # without shared tails a tail's effect is a fact's own
        of_tail = arguments.tail_effect if "no shared" not in name else 0.0
        estimates: dict[str, list[Estimate]] = {figure: [] for figure in FIGURES}
        for seed in range(arguments.first, arguments.first + arguments.runs):
            scores = probabilities(
                answered(blank, truth, arguments.head_effect, of_tail, arguments.knowledge, np.random.default_rng(seed))
            )
            assert scores is not None
            for figure in FIGURES:
                estimates[figure].append(getattr(scores.overall if figure == "auroc" else scores.off, figure))
        ends = {
            figure: np.array([(interval.low, interval.high) for interval in runs], dtype=float)
            for figure, runs in estimates.items()
        }
        held = {f: float(((e[:, 0] <= getattr(truth, f)) & (getattr(truth, f) <= e[:, 1])).mean()) for f, e in ends.items()}
        above, below = (ends["ece"][:, 0] > truth.ece).mean(), (ends["ece"][:, 1] < truth.ece).mean()
        width = np.diff(ends["ece"]).mean()
        shares = " | ".join(f"{held[figure]:.3f}" for figure in FIGURES)
        took = time.perf_counter() - began
        print(f"| {name} | {shares} | {above:.3f}, {below:.3f}, {width:.3f} | {took:.0f} |", flush=True)


if __name__ == "__main__":
    main()
