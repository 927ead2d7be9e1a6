"""How fast everything but the model is: planning, prompts, saving answers, computing scores.

    python benchmarks/pipeline.py --facts 1000 --rounds 5

Prints each stage's median over the rounds, in statements per second, and its share of the total. Absolute figures depend on the
machine; compare stages within one run.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from medfact.answers import make_prompt
from medfact.metrics import measure
from medfact.results.report import board_of
from medfact.runs.plan import plan
from medfact.runs.run import answer
from medfact.spec import RunSpec
from medfact.store import Store


def timed(work: Callable[[], object]) -> tuple[float, object]:
    """Seconds that the work took, and its result."""
    begun = time.perf_counter()
    result = work()
    return time.perf_counter() - begun, result


def one_round(facts: int) -> tuple[dict[str, float], int]:
    """Seconds per stage, and the number of statements."""
    seconds: dict[str, float] = {}
    spec = RunSpec(model="baseline:random", limit=facts, shots=5)
    seconds["plan (facts, negatives, statements, shots)"], planned = timed(lambda: plan(spec))
    statements = planned.statements
    seconds["prompts"], _ = timed(
        lambda: [make_prompt(p.statement, planned.demonstrations.get(p.shots_of, ()), chat=False) for p in statements]
    )
    with tempfile.TemporaryDirectory() as place:
        store = Store(f"sqlite:///{place}/benchmark.db")
        seconds["record the run"], run = timed(lambda: store.start_run(spec, planned, {}))
        seconds["ask and save (random baseline)"], _ = timed(lambda: list(answer(run, store)))
        seconds["read back"], _ = timed(lambda: store.answers.asked(run))
        seconds["all scores"], _ = timed(lambda: measure(board_of(store, run).records()))
    return seconds, len(statements)


def main() -> None:
    """Runs the rounds and prints the medians."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--facts", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    rounds = [one_round(options.facts) for _ in range(options.rounds)]
    count = rounds[0][1]
    medians = {stage: statistics.median(seconds[stage] for seconds, _ in rounds) for stage in rounds[0][0]}
    whole = sum(medians.values())
    print(f"{count} statements, median of {options.rounds} rounds")
    for stage, seconds in medians.items():
        print(f"{stage:<46}{count / seconds:>12,.0f} statements/s{100 * seconds / whole:>8.1f} %")


if __name__ == "__main__":
    main()
