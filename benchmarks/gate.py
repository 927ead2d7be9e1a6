"""How often the gate (`medfact check`) fails a model that is as good as its baseline, and one that is worse.

    python benchmarks/gate.py                       # 1,000 seeds a cell

Both models master the same facts but for what differs between two versions ("churn", both ways alike); facts of one head and
facts of one tail are gained and lost together. 500 facts of 250 heads. It is looked at after every tenth of the heads, and ends
at the first look that decides; the last look is at all of them.
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
from scipy import special

from medfact.metrics.gate import CANNOT_TELL, FAIL, PASS, standing
from medfact.metrics.race import Differences

HEADS, A_HEAD, LOOKS = 250, 2, 10
OF_HEAD, OF_TAIL = 0.10, 0.05
"""Share of the variance of what a version gains or loses that its facts' head, and their tail, hold."""


class Ended(NamedTuple):
    verdict: str
    share: float


def versions(seed: int, churn: float, worse: float, heads: int = HEADS, tails: int = 60) -> Differences:
    """Differences in mastery, new − baseline, −worse on average over many seeds. churn: share that differs, both ways."""
    randomness = np.random.default_rng(seed)
    facts = heads * A_HEAD
    head = np.repeat(np.arange(heads), A_HEAD)
    tail = randomness.integers(0, tails, facts)
    alone = 1 - OF_HEAD - OF_TAIL
    moved = np.sqrt(OF_HEAD) * randomness.normal(0, 1, heads)[head] + np.sqrt(OF_TAIL) * randomness.normal(0, 1, tails)[tail]
    moved += np.sqrt(alone) * randomness.normal(0, 1, facts)
    gained, lost = special.ndtri((churn - worse) / 2), special.ndtri((churn + worse) / 2)
    differences = (moved < gained).astype(float) - (moved > -lost).astype(float)
    order = randomness.permutation(heads)[head]
    return Differences(differences, differences, order, np.full(heads, A_HEAD), heads, tail)


def first(found: Differences, heads: int) -> Differences:
    """What there is after so many heads."""
    rows = found.heads < heads
    parts = (part[rows] for part in (found.least, found.most, found.heads))
    return Differences(*parts, found.sizes, heads, found.tails[rows] if found.tails is not None else None)


def ended(seed: int, churn: float, worse: float, margin: float, early: bool, heads: int = HEADS) -> Ended:
    """How a check ends."""
    found = versions(seed, churn, worse, heads)
    for heads in [len(found.sizes) * look // LOOKS for look in range(1, LOOKS)] if early else ():
        verdict = standing(first(found, heads), margin).verdict
        if verdict != CANNOT_TELL:
            return Ended(verdict, heads / len(found.sizes))
    return Ended(standing(found, margin).verdict, 1.0)


def main(seeds: range, margin: float) -> None:
    print("| churn | worse by | pass | fail | cannot tell | asked | at the end alone: pass | fail |\n" + "|---" * 8 + "|")
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        for churn in (0.06, 0.10, 0.20):
            for worse in (0.0, 0.02, 0.05):
                cells = [f"{churn:.0%}", f"{100 * worse:.0f} points"]
                for early in (True, False):
                    of = partial(ended, churn=churn, worse=worse, margin=margin, early=early)
                    found = list(pool.map(of, seeds, chunksize=10))
                    verdicts = [one.verdict for one in found]
                    cells += [f"{verdicts.count(what) / len(seeds):.1%}" for what in (PASS, FAIL)]
                    if early:
                        cells += [
                            f"{verdicts.count(CANNOT_TELL) / len(seeds):.1%}",
                            f"{np.mean([one.share for one in found]):.0%}",
                        ]
                print("|", " | ".join(cells), "|", flush=True)


if __name__ == "__main__":
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--seeds", type=int, default=1_000)
    arguments.add_argument("--margin", type=float, default=0.02)
    options = arguments.parse_args()
    main(range(options.seeds), options.margin)
