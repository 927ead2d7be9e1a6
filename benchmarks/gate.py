"""How often the gate (`medfact check`) fails a model that is as good as its baseline, and one that is worse.

    python benchmarks/gate.py                       # 1,000 seeds a cell

Both models master the same facts but for what differs between two versions ("churn", both ways alike); facts of one head and
facts of one tail are gained and lost together. 500 facts of 250 heads (`--heads`). It is looked at after every tenth of the
heads, and ends at the first look that decides; the last look is at all of them.

    python benchmarks/gate.py --named               # is one newly affirmed contraindication named, however early it ends?

A scripted model that is right on whatever is affirmed but for one contraindication, drawn anew by each seed. It gets every
denial wrong, so that it masters nothing and the check is decided early. The whole way is taken: plan, database, answers,
verdict.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "helpers"))
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np
from scipy import special
from scripted import ScriptedModel, statement_key

from medfact.metrics.race import CANNOT_TELL, FAIL, PASS, Differences, gate_result
from medfact.results.gate import Gate, gate_of, risky_facts
from medfact.results.report import Side, board_of
from medfact.runs.gating import AgainstBaseline, in_order_of_check
from medfact.runs.run import answer
from medfact.runs.start import recorded_plan, start, start_planned
from medfact.spec import RunSpec
from medfact.statements import VARIANTS, Statement
from medfact.store import Store

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
        verdict = gate_result(first(found, heads), margin).verdict
        if verdict != CANNOT_TELL:
            return Ended(verdict, heads / len(found.sizes))
    return Ended(gate_result(found, margin).verdict, 1.0)


def answered(store: Store, run: str, affirmed: str = "", **more: Any) -> Side:
    """A run of a model that knows all; or that gets denials wrong, and affirms the fact with this id."""

    def wrong(statement: Statement) -> bool:
        return bool(affirmed) and (statement.fact.fact_id == affirmed or VARIANTS[statement.variant].negated)

    signs = {statement_key(one): "+-"[wrong(one.statement)] for one in store.answers.asked(run)}
    list(answer(run, store, load=ScriptedModel.for_run(run, store, signs).load, **more))
    return Side(store.run(run), board_of(store, run))


def baseline(store: Store, facts: int = 40) -> Side:
    """The run of a model that knows all of so many indications and of their contraindications."""
    return answered(store, start(RunSpec(model="baseline:random", dataset="not-indicated", limit=facts, shots=0), store))


def checked(store: Store, base: Side, affirmed: str, margin: float = 0.02) -> Gate:
    """The check of a model that affirms one fact against one that knows all. affirmed: the fact's id."""
    planned, first = in_order_of_check(recorded_plan(base.run, store), risky_facts((store, base), {}))
    run = start_planned(base.run.spec, planned, store)
    check = AgainstBaseline(store.run(run), store, base.board, margin, first)
    side = answered(store, run, affirmed, race=lambda: check)
    return gate_of((store, side), (store, base), check.differences(), margin, 0, {})


def named(seeds: range) -> tuple[int, int]:
    """How often the fact that is newly affirmed is named, and how often the check ended before its end."""
    with tempfile.TemporaryDirectory() as folder:
        store = Store(f"sqlite:///{folder}/runs.db")
        base = baseline(store)
        risky = sorted(risky_facts((store, base), {}))
        found = early = 0
        for seed in seeds:
            affirmed = risky[int(np.random.default_rng(seed).integers(len(risky)))]
            gate = checked(store, base, affirmed)
            found += gate.verdict == FAIL and [one.fact.fact_id for one in gate.dangerous] == [affirmed]
            early += bool(gate.ended)
            store.delete(store.runs()[-1].run)
    return found, early


def reachable(seeds: range, churn: float, worse: float, heads: int) -> float:
    """How often a loss is shown by a test that knows the spread of the mean difference and need not estimate it: as often as
    by any test at this level (Neyman and Pearson).
    """
    spread = np.std([versions(seed, churn, worse, heads).least.mean() for seed in seeds])
    return float(special.ndtr(worse / spread + special.ndtri(0.025)))


def main(seeds: range, margin: float, heads: int) -> None:
    heading = "| churn | worse by | pass | fail | cannot tell | asked | at the end alone: pass | fail | can fail |"
    print(f"{A_HEAD * heads:,} facts\n{heading}\n" + "|---" * 9 + "|")
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        for churn in (0.06, 0.08, 0.10, 0.20):
            for worse in (0.0, 0.02, 0.05):
                cells = [f"{churn:.0%}", f"{100 * worse:.0f} points"]
                for early in (True, False):
                    of = partial(ended, churn=churn, worse=worse, margin=margin, early=early, heads=heads)
                    found = list(pool.map(of, seeds, chunksize=10))
                    verdicts = [one.verdict for one in found]
                    cells += [f"{verdicts.count(what) / len(seeds):.1%}" for what in (PASS, FAIL)]
                    if early:
                        cells += [
                            f"{verdicts.count(CANNOT_TELL) / len(seeds):.1%}",
                            f"{np.mean([one.share for one in found]):.0%}",
                        ]
                print("|", " | ".join([*cells, f"{reachable(seeds, churn, worse, heads):.1%}"]), "|", flush=True)


if __name__ == "__main__":
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--seeds", type=int, default=1_000)
    arguments.add_argument("--margin", type=float, default=0.02)
    arguments.add_argument("--heads", type=int, default=HEADS)
    arguments.add_argument("--named", action="store_true")
    options = arguments.parse_args()
    if options.named:
        found, early = named(range(options.seeds))
        print(f"named in {found:,} of {options.seeds:,} checks, {early:,} of which ended early")
    else:
        main(range(options.seeds), options.margin, options.heads)
