"""Two workers of a Ray cluster on this machine beside one process with two threads, and 64 workers that sleep.

    pip install -r tests/requirements/ray.txt
    python benchmarks/cluster.py --rounds 3                  # a random 60M-parameter Llama, 50 facts x 8 statements, five-shot
    python benchmarks/cluster.py --simulate 64               # without Ray: threads that sleep as long as a model would compute

Loading is left out: what is timed is `complete`, from the first prompt to the last answer. The two ways take turns.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(Path(__file__).resolve().parent))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "helpers"))


def simulated(workers: int, seconds: float, statements: int) -> None:
    """Prints the share of linear that so many sleeping workers reach."""
    from test_cluster import Sleepers, prompts_of

    from medfact.models.cluster.schedule import Distribution

    prompts = prompts_of(statements, groups=80)
    sleepers = Sleepers([seconds] * workers)
    begun = time.perf_counter()
    answered = sum(1 for _ in Distribution(prompts, sleepers, [], lambda: None, print).completions())
    taken = time.perf_counter() - begun
    sleepers.close()
    rate, linear = answered / taken, workers / seconds
    print(f"{workers} workers, {1 / seconds:g} statements/s each: {rate:,.0f} statements/s, {rate / linear:.3f} of linear")


def compared(facts: int, rounds: int, actors: int) -> None:
    """Prints statements per second of both ways, and their ratio."""
    import torch
    from local import random_llama, workload

    from medfact.models import load_model
    from medfact.models.cluster.model import ClusterSettings, connected

    with tempfile.TemporaryDirectory() as folder:
        prompts = workload(facts, 5, Path(folder))
        random_llama(Path(folder), [str(prompt.content) for prompt in prompts])
        spec = f"hf:{folder}"
        here: Any = load_model(spec)
        taken: dict[str, list[float]] = {"one process": [], "cluster": []}
        with connected(ClusterSettings("ray", actors=actors), 1) as load:
            there: Any = load(spec)
            while len(there._actors.joined) < actors:
                there._actors.events(0.2)
            for _ in range(rounds):
                for name, model in (("one process", here), ("cluster", there)):
                    begun = time.perf_counter()
                    answers = dict(model.complete(prompts))
                    taken[name].append(time.perf_counter() - begun)
                    assert len(answers) == len(prompts)
                    print(f"{name}: {len(prompts) / taken[name][-1]:.1f} statements/s", flush=True)
            there.close()
    rates = {name: len(prompts) / statistics.median(seconds) for name, seconds in taken.items()}
    print(f"{len(prompts)} statements, five shots, median of {rounds} rounds")
    print(f"one process, {torch.get_num_threads()} threads: {rates['one process']:.1f} statements/s")
    print(f"{actors} workers, one processor each: {rates['cluster']:.1f} statements/s")
    print(f"ratio {rates['cluster'] / rates['one process']:.2f}")


def main() -> None:
    """Runs one of the two."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--facts", type=int, default=50)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--actors", type=int, default=2)
    parser.add_argument("--simulate", type=int, metavar="N", help="N workers that sleep, instead")
    parser.add_argument("--seconds", type=float, default=0.02, help="of a simulated statement")
    parser.add_argument("--statements", type=int, default=32_000)
    options = parser.parse_args()
    if options.simulate:
        simulated(options.simulate, options.seconds, options.statements)
    else:
        compared(options.facts, options.rounds, options.actors)


if __name__ == "__main__":
    main()
