"""Three replicas of a service, one of them failing and one slow: how much of what the two good ones carry a run gets.

    python benchmarks/replicas.py --rounds 3

The services stand on loopback, each in a process of its own. Each good one is measured alone by the same client, then all three
together, in turn. Prints statements per second, and the share of the sum; also of the ideal, calls in flight over latency.
"""

from __future__ import annotations

import argparse
import statistics
import time

from api import KEY, make_prompt, served

from medfact.answers import Demonstration
from medfact.models import Prompt, ServiceSettings
from medfact.models.services.client import load_service


def rate(addresses: list[str], prompts: list[Prompt], in_flight: int) -> float:
    """Statements per second; every one must be answered."""
    settings = ServiceSettings(base_url=addresses[0], replicas=tuple(addresses[1:]), key=KEY, in_flight=in_flight)
    model = load_service("openai:mock", settings)
    begun = time.perf_counter()
    answered = sum(completion.failure is None for _, completion in model.complete(prompts))
    taken = time.perf_counter() - begun
    model.close()
    assert answered == len(prompts)
    return len(prompts) / taken


def main() -> None:
    """Runs the rounds and prints the medians."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--statements", type=int, default=1_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--in-flight", type=int, default=16)
    parser.add_argument("--latency", type=float, default=0.2, help="seconds, of the good one")
    parser.add_argument("--slow", type=float, default=0.8, help="seconds, of the slow one")
    options = parser.parse_args()
    shots = [(Demonstration(f"Demonstration of group {group}.", True),) for group in range(40)]
    prompts = [make_prompt(f"Disease {n} may have fever.", shots[n % 40], chat=False) for n in range(options.statements)]
    ideal = [options.in_flight / seconds for seconds in (options.latency, options.slow)]
    rates: dict[str, list[float]] = {"good": [], "slow": [], "all three": []}
    with (
        served("--latency", str(options.latency)) as good,
        served("--latency", str(options.slow)) as slow,
        served("--every", "500") as failing,
    ):
        for _ in range(options.rounds):
            rates["good"].append(rate([good], prompts[: len(prompts) // 2], options.in_flight))
            rates["slow"].append(rate([slow], prompts[: len(prompts) // 8], options.in_flight))
            rates["all three"].append(rate([failing, good, slow], prompts, options.in_flight))
    medians = {name: statistics.median(of) for name, of in rates.items()}
    carried = medians["good"] + medians["slow"]
    for name, value in medians.items():
        print(f"{name:<12}{value:>8.1f} statements/s")
    share = medians["all three"] / carried
    print(f"{share:.2f} of what the two good ones carry, {medians['all three'] / sum(ideal):.2f} of the ideal {sum(ideal):.0f}")


if __name__ == "__main__":
    main()
