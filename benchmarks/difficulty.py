"""What models score by the difficulty of the false partners, as a table.

python benchmarks/difficulty.py MODEL [MODEL ...] --limit 50 --shots 5
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from medfact.metrics import measure
from medfact.metrics.measures import Estimate
from medfact.results.report import board_of
from medfact.results.wording import model_name
from medfact.runs.events import Failed
from medfact.runs.run import run
from medfact.spec import RunSpec
from medfact.store import Store


def written(estimate: Estimate) -> str:
    """A share of so many, with its interval where it has one."""
    if estimate.value is None:
        return "no value"
    bounds = "" if estimate.low is None or estimate.high is None else f", {estimate.low:.1%} to {estimate.high:.1%}"
    return f"{estimate.value:.1%} of {estimate.n:,}{bounds}"


def rows(spec: RunSpec) -> list[str]:
    """A row for all facts, and one for each difficulty."""
    with tempfile.TemporaryDirectory() as place:
        store = Store(f"sqlite:///{place}/benchmark.db")
        events = list(run(spec, store))
        if isinstance(events[-1], Failed):
            raise events[-1].error
        measures = measure(board_of(store, events[0].run).records())
    parts = {"all": measures.figures, **measures.by_difficulty}
    return [
        f"| {model_name(spec.model)} | {name} | {written(of['average_accuracy'])} | {written(of['joint_accuracy'])} | "
        f"{written(of['pair_joint_accuracy'])} |"
        for name, of in parts.items()
    ]


def main() -> None:
    """Asks each model, and prints its rows."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("models", nargs="+", metavar="MODEL")
    parser.add_argument("--dataset", default=RunSpec.dataset)
    parser.add_argument("--limit", type=int, default=None)
    parser.add_argument("--shots", type=int, default=5)
    options = parser.parse_args()
    print("| model | false partners | right answers | all eight right | false partner too |\n|---|---|---|---|---|")
    for model in options.models:
        spec = RunSpec(model=model, dataset=options.dataset, limit=options.limit, shots=options.shots)
        print("\n".join(rows(spec)), flush=True)


if __name__ == "__main__":
    main()
