"""How close calls to a service come to the wire's limit: medfact's adapter beside a plain loop over the same client.

    python benchmarks/api.py --statements 800 --rounds 5

The service stands on loopback in a process of its own and replies after a fixed latency. The two take turns. Prints medians of
the rounds: statements per second as a share of the ideal (calls in flight over latency), and CPU time of this process.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import openai

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from medfact.answers import make_prompt
from medfact.models import Prompt, ServiceSettings
from medfact.models.services.client import load_service
from medfact.spec import RunSpec
from medfact.store import Store
from medfact.writing.runs import start_writing, write

KEY = "sk-benchmark"
SERVICE = Path(__file__).resolve().parents[1] / "tests" / "helpers" / "mock_service.py"


def adapter(base_url: str, prompts: list[Prompt], in_flight: int) -> tuple[float, float]:
    """Seconds and CPU seconds of medfact's adapter."""
    model = load_service("openai:mock", ServiceSettings(base_url=base_url, key=KEY, in_flight=in_flight))
    begun, cpu = time.perf_counter(), time.process_time()
    answered = sum(completion.p_true is not None for _, completion in model.complete(prompts))
    taken = time.perf_counter() - begun, time.process_time() - cpu
    model.close()
    assert answered == len(prompts)
    return taken


def plain(base_url: str, prompts: list[Prompt], in_flight: int) -> tuple[float, float]:
    """The same of a semaphore around the client's own call."""
    return asyncio.run(_plain(base_url, prompts, in_flight))


async def _plain(base_url: str, prompts: list[Prompt], in_flight: int) -> tuple[float, float]:
    slots = asyncio.Semaphore(in_flight)
    async with openai.AsyncOpenAI(base_url=base_url, api_key=KEY, max_retries=0) as client:

        async def ask(prompt: Prompt) -> bool:
            async with slots:
                reply = await client.chat.completions.create(
                    model="mock",
                    messages=[{"role": "user", "content": str(prompt.content)}],
                    temperature=0.0,
                    logprobs=True,
                    top_logprobs=20,
                    max_tokens=prompt.max_tokens,
                )
            return reply.choices[0].logprobs is not None

        begun, cpu = time.perf_counter(), time.process_time()
        answered = await asyncio.gather(*(ask(prompt) for prompt in prompts))
        taken = time.perf_counter() - begun, time.process_time() - cpu
    assert all(answered)
    return taken


def rephrasing(base_url: str, statements: int, in_flight: int) -> tuple[float, float]:
    """Seconds and CPU seconds of a whole rephrasing: recorded, written, judged by the guards, on disk."""
    with tempfile.TemporaryDirectory() as folder:
        store = Store(f"sqlite:///{folder}/writing.db")
        service = ServiceSettings(base_url=base_url, in_flight=in_flight, fresh=True)
        writing = start_writing("rephrase", RunSpec("openai:mock", limit=statements // 16, shots=0, service=service), store)
        begun, cpu = time.perf_counter(), time.process_time()
        assert list(write(writing, store, key=KEY))
        taken = time.perf_counter() - begun, time.process_time() - cpu
        assert all(item.answer is not None for item in store.answers.asked(writing))
    return taken


CLIENTS: dict[str, Callable[[str, list[Prompt], int], tuple[float, float]]] = {
    "medfact's adapter": adapter,
    "plain AsyncOpenAI loop": plain,
}


REPHRASING = "a rephrasing, whole"


@contextmanager
def served(*options: str) -> Iterator[str]:
    """A service in a process of its own; its address."""
    command = [sys.executable, str(SERVICE), *options]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as service:
        assert service.stdout is not None
        yield json.loads(service.stdout.readline())["base_url"]
        service.communicate("")


def main() -> None:
    """Runs the rounds, the clients in turn, and prints the medians."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--statements", type=int, default=800)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--in-flight", type=int, default=32)
    parser.add_argument("--latency", type=float, default=0.2, help="seconds")
    options = parser.parse_args()
    texts = [f"Disease {i} may have sign {i % 7} as one of its symptoms." for i in range(options.statements)]
    prompts = [make_prompt(text, (), chat=False) for text in texts]
    taken: dict[str, list[tuple[float, float]]] = {name: [] for name in (*CLIENTS, REPHRASING)}
    with (
        served("--latency", str(options.latency)) as asked,
        served("--latency", str(options.latency), "--repeats-statements") as written,
    ):
        for _ in range(options.rounds):
            for name, client in CLIENTS.items():
                taken[name].append(client(asked, prompts, options.in_flight))
            taken[REPHRASING].append(rephrasing(written, options.statements, options.in_flight))
    ideal = options.in_flight / options.latency
    count = options.statements
    print(
        f"{count} statements, {options.in_flight} in flight, median of {options.rounds} rounds; ideal {ideal:,.0f} statements/s"
    )
    for name, rounds in taken.items():
        rate = statistics.median(count / seconds for seconds, _ in rounds)
        cpu = statistics.median(1000 * seconds / count for _, seconds in rounds)
        print(f"{name:<26}{rate:>10,.1f} statements/s{rate / ideal:>8.2f} of ideal{cpu:>8.2f} ms CPU a statement")


if __name__ == "__main__":
    main()
