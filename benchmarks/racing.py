"""What a race costs that goes to its end: two runs of one model, never told apart, in step and one after the other."""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from medfact.models import load_model
from medfact.runs.racing import RacingRuns, racing_specs
from medfact.runs.run import answer
from medfact.runs.start import start
from medfact.spec import RunSpec
from medfact.store import Store


def main(model: str, pairs: int, shots: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        store = Store(f"sqlite:///{folder}/runs.db")
        spec = RunSpec(model, limit=pairs, shots=shots)
        loaded = load_model(model)

        def ask(run: str, race: RacingRuns | None = None) -> None:
            for _ in answer(run, store, load=lambda *_, **__: loaded, race=(lambda: race) if race else None):
                pass

        ask(start(RunSpec(model, limit=10, shots=shots), store))  # warms up
        alone = [start(spec, store) for _ in range(2)]
        together = [start(one, store) for one in racing_specs([spec, spec])]
        begun = time.process_time()
        for run in alone:
            ask(run)
        between = time.process_time()
        race = RacingRuns([store.run(run) for run in together], store)
        with ThreadPoolExecutor(2) as threads:
            list(threads.map(lambda run: ask(run, race), together))
        ended = time.process_time()
        states = {store.run(run).state for run in (*alone, *together)}
        count = store.run(alone[0]).statements
    first, second = between - begun, ended - between
    print(f"{model}, {count:,} statements twice, {shots} shots: {first:.1f} s of processor one after the other,", end=" ")
    print(f"{second:.1f} s as a race ({100 * (second / first - 1):+.0f}%); {', '.join(states)}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", default="medfact-tiny")
    parser.add_argument("--pairs", type=int, default=200)
    parser.add_argument("--shots", type=int, default=5)
    options = parser.parse_args()
    main(options.model, options.pairs, options.shots)
