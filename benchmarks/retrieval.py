"""Indexing and ranking 100,000 passages, and what passages do to a model on MKJ's statements.

python benchmarks/retrieval.py                                         # the index alone
python benchmarks/retrieval.py --mkj FOLDER --encoder FOLDER --model SPEC --limit 25
"""

from __future__ import annotations

import argparse
import resource
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from medfact.metrics.uncertainty import Estimate
from medfact.results.compare import changes, difference, sides_of
from medfact.results.report import report_of
from medfact.retrieval import open_sparse
from medfact.runs.events import Failed
from medfact.runs.run import run
from medfact.spec import RunSpec
from medfact.store import Store

PASSAGES, WORDS, QUERIES = 100_000, 60, 1_000


def index() -> None:
    """Times an index of random passages, whose words follow Zipf's law."""
    draw = np.random.default_rng(0)
    words = np.array([f"word{number}" for number in range(50_000)])
    chance = 1 / np.arange(1, len(words) + 1)
    passages = [" ".join(row) for row in words[draw.choice(len(words), (PASSAGES, WORDS), p=chance / chance.sum())]]
    queries = [" ".join(passage.split()[:12]) for passage in passages[:QUERIES]]
    with tempfile.TemporaryDirectory() as place:
        begun = time.perf_counter()
        made = open_sparse(passages, Path(place))
        built = time.perf_counter()
        found = sum(ranked[0].passage == number for number, ranked in enumerate(made.rank(queries, 5)))
        ended = time.perf_counter()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
    print(
        f"{PASSAGES:,} passages of {WORDS} words: {built - begun:.1f} s; {QUERIES:,} queries: {ended - built:.1f} s; {peak} MiB"
    )
    print(f"the passage that a query begins comes first for {found} of {QUERIES:,}")


def written(estimate: Estimate) -> str:
    """A share of so many, with its interval."""
    if estimate.value is None or estimate.low is None or estimate.high is None:
        return "no value"
    return f"{estimate.value:.1%} of {estimate.n}, {estimate.low:.1%} to {estimate.high:.1%}"


def protocol(spec: RunSpec, encoder: str) -> None:
    """Asks a model without passages, and with sparse and dense ones in both settings; prints the tables."""
    ways = [("sparse", False), ("sparse", True), ("dense", False), ("dense", True)]
    specs = [spec, *(replace(spec, retrieval=kind, leave_out=out, encoder=encoder) for kind, out in ways)]
    with tempfile.TemporaryDirectory() as place:
        store = Store(f"sqlite:///{place}/benchmark.db")
        runs = []
        for one in specs:
            events = list(run(one, store))
            if isinstance(events[-1], Failed):
                raise events[-1].error
            runs.append(events[0].run)
        print("| run | Acc | Acc_pos | Acc_neg | the fact among five passages |\n|---|---|---|---|---|")
        for name in runs:
            found = report_of(store, store.run(name))
            figures = (found.mkj_accuracy, found.positive_accuracy, found.negative_accuracy)
            recall = written(found.evidence.recall) if found.evidence else "–"
            print(f"| {found.method} | {' | '.join(map(written, figures))} | {recall} |")
        print("\n| less the run without passages | Acc | Acc_pos | Acc_neg | helped, harmed |\n|---|---|---|---|---|")
        for change in changes(sides_of(store, runs)):
            method = report_of(store, store.run(change.with_)).method
            cells = " | ".join(difference(found) for found in change.metrics.values())
            print(f"| {method} | {cells} | {len(change.helped)}, {len(change.harmed)} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--mkj", help="MKJ's folder; without it, only the index is timed")
    parser.add_argument("--model", default="baseline:random")
    parser.add_argument("--encoder", default=RunSpec.encoder)
    parser.add_argument("--limit", type=int, default=25)
    options = parser.parse_args()
    if options.mkj is None:
        index()
        return
    protocol(RunSpec(model=options.model, facts=options.mkj, protocol="mkj", limit=options.limit), options.encoder)


if __name__ == "__main__":
    main()
