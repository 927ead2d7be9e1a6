"""How long "Save and next" takes on the page Review while several reviewers judge at once; and that no verdict is lost.

    python benchmarks/reviewers.py --reviewers 20 --facts 30 [--database postgresql://…] [--pause 2]

Starts the app with an empty home. Each reviewer is a program of one browser's cookie that judges one fact after the other,
with one exception among its sentences, and thinks for a moment between two (`--pause`, on average). What is timed is the
request that saves a verdict and brings the next fact. Reviewers and app share the processors of this machine.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import random
import re
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx2

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from medfact.store import Store  # noqa: E402


@contextlib.contextmanager
def served(database: str, home: str) -> Iterator[str]:
    """The address of the app, once it answers."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    more = {"MEDFACT_HOME": home, "MEDFACT_DATABASE_URL": database, "GRADIO_SERVER_PORT": str(port), "HF_HUB_OFFLINE": "1"}
    app = subprocess.Popen([sys.executable, "app.py"], cwd=ROOT, env={**os.environ, **more}, stdout=subprocess.DEVNULL)
    try:
        for _ in range(240):
            with contextlib.suppress(httpx2.HTTPError):
                httpx2.get(f"http://127.0.0.1:{port}/healthz", timeout=2)
                break
            time.sleep(0.5)
        yield f"http://127.0.0.1:{port}/"
    finally:
        app.terminate()
        app.wait(30)


def review(address: str, number: int, facts: int, pause: float) -> list[float]:
    """Milliseconds of each save of one reviewer."""
    took, chance = [], random.Random(number)
    with httpx2.Client(base_url=address, timeout=30) as client:
        client.get("review", headers={"accept": "text/html"})
        show, drawn = {"reviewer": f"r{number}", "place": 0}, {}
        answer = client.post("updates", json={"page": "review", "show": show, "drawn": drawn}).json()
        for place in range(facts):
            fragment = answer["fragments"]["fact"]
            fact = re.search(r'data-timed="(\w+)"', fragment)[1]
            statement = re.search(r'name="of-(\w+)"', fragment)[1]
            time.sleep(chance.expovariate(1 / pause) if pause else 0)
            fields = {"verdict": "true" if number % 2 else "false", f"of-{statement}": "unclear", "comment": f"r{number}"}
            action = {"name": "judge", "about": fact, "fields": {**fields, "seconds": str(pause)}}
            begun = time.perf_counter()
            question = {"page": "review", "show": {**show, "place": place}, "drawn": answer["drawn"], "action": action}
            reply = client.post("updates", json=question)
            reply.raise_for_status()
            answer = reply.json()
            took.append(1000 * (time.perf_counter() - begun))
    return took


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--reviewers", type=int, default=20)
    parser.add_argument("--facts", type=int, default=30)
    parser.add_argument("--pause", type=float, default=2.0, help="seconds between two saves of a reviewer, on average")
    parser.add_argument("--database", help="an empty database; by default a file of SQLite")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as home:
        database = options.database or f"sqlite:///{home}/medfact.db"
        with served(database, home) as address, ThreadPoolExecutor(options.reviewers) as threads:
            time.sleep(10)  # the demonstration is asked first
            every = list(
                threads.map(lambda number: review(address, number, options.facts, options.pause), range(options.reviewers))
            )
        log = Store(database).verdicts.log()
    took = sorted(one for of in every for one in of)
    expected = 2 * options.reviewers * options.facts
    mixed = sum(one.statement_id == "" and one.comment != one.reviewer for one in log)
    print(f"{options.reviewers} reviewers, {len(took)} saves: median {statistics.median(took):.0f} ms, ", end="")
    print(f"p95 {took[int(0.95 * len(took))]:.0f} ms, longest {took[-1]:.0f} ms; ", end="")
    print(f"{len(log)} of {expected} verdicts kept, {mixed} mixed up")


if __name__ == "__main__":
    main()
