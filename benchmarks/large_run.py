"""How a large run goes: recorded, asked beside the page, watched meanwhile, and looked at afterwards.

    python benchmarks/large_run.py --facts 17000

Makes a file of so many facts in 17 relations; with their false partners and eight statements each, 17,000 of them are 272,000
statements. A coin answers them in a process of its own, as it does beside the page, while another thread looks at the run four
times a second. Absolute figures depend on the machine.
"""

from __future__ import annotations

import argparse
import csv
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import psutil

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from medfact.prototypes import load_pool
from medfact.results.live import Reports
from medfact.runs.jobs import Jobs
from medfact.runs.plan import plan
from medfact.runs.start import start
from medfact.spec import RunSpec
from medfact.store import GOING, Store, schema

TAILS_OF_A_HEAD = 5
ASIDE = 10
"""Heads of each relation beside those under test: for the demonstrations, and some more to draw from."""
EVERY = 0.25
"""Seconds between two looks."""
PAGE = 25
"""Facts on one page of the view of single facts."""


def write_facts(path: Path, facts: int) -> None:
    """So many facts under test, spread over the 17 relations of MedLAMA."""
    relations = list(load_pool("pretexttrans-medlama").relations)
    heads = -(-facts // (len(relations) * TAILS_OF_A_HEAD)) + ASIDE
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(("head", "relation", "tail"))
        for r, relation in enumerate(relations):
            for head in range(heads):
                for tail in range(TAILS_OF_A_HEAD):
                    number = (head * 7 + tail * 11) % (2 * heads)
                    writer.writerow((f"condition {r}-{head} of the left side", relation, f"finding {r}-{number}"))


@dataclass
class Watcher:
    """Looks at a run as a page does, and at the memory that everything takes."""

    look: Callable[[], object]
    seconds: list[float] = field(default_factory=list)
    own: int = 0
    beside: int = 0

    def __post_init__(self) -> None:
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._work, daemon=True)
        self._thread.start()

    def _work(self) -> None:
        this = psutil.Process()
        while not self._over.wait(EVERY):
            self.seconds.append(timed(self.look)[0])
            self.own = max(self.own, this.memory_info().rss)
            self.beside = max(self.beside, sum(child.memory_info().rss for child in this.children(recursive=True)))

    def end(self) -> None:
        self._over.set()
        self._thread.join()


def timed(work: Callable[[], object]) -> tuple[float, object]:
    """Seconds that the work took, and what it gave."""
    begun = time.perf_counter()
    made = work()
    return time.perf_counter() - begun, made


def show(what: str, seconds: float) -> None:
    print(f"{what:<56}{seconds:>10.3f} s", flush=True)


def asked_while_watched(store: Store, run: str) -> None:
    """Asks the run beside this process, and prints how long that took and how long each look."""
    jobs = Jobs(store)
    reports = Reports(store, jobs)
    begun = time.perf_counter()
    jobs.submit(run)
    watcher = Watcher(lambda: reports.live(run))
    while (snapshot := jobs.snapshot(run)) is not None and snapshot.state in GOING:
        time.sleep(0.05)
    show("asking it", time.perf_counter() - begun)
    watcher.end()
    jobs.close()
    looks = sorted(watcher.seconds)
    show(f"a look meanwhile, of {len(looks)}: the middle one", statistics.median(looks))
    show("the slowest but one of 20", looks[int(0.95 * (len(looks) - 1))])
    show("the slowest", looks[-1])
    print(f"memory at most: {watcher.own / 2**20:,.0f} MiB here, {watcher.beside / 2**20:,.0f} MiB in the processes beside")


def looked_at(store: Store, run: str) -> None:
    """Prints how long the first looks take of an application that has just been started."""
    jobs = Jobs(store)
    with store._engine.begin() as connection:
        connection.execute(schema.sheets.update().values(figures=None, figures_of=None))
    show("first look, where no figures were kept", timed(lambda: Reports(store, jobs).live(run))[0])
    show("first look at kept figures", timed(lambda: Reports(store, jobs).live(run))[0])
    show(f"a page of {PAGE} facts", timed(lambda: store.asked(run, facts=range(1000, 1000 + PAGE)))[0])
    jobs.close()


def main() -> None:
    """Makes the facts, records the run, asks it and looks at it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--facts", type=int, default=17_000)
    parser.add_argument("--shots", type=int, default=5)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        facts = Path(place) / "facts.csv"
        write_facts(facts, options.facts)
        store = Store(f"sqlite:///{place}/benchmark.db")
        spec = RunSpec(model="baseline:random", facts=str(facts), limit=options.facts, shots=options.shots)
        show("planning alone", timed(lambda: plan(spec))[0])
        seconds, run = timed(lambda: start(spec, store))
        show("planning and recording", seconds)
        record = store.run(str(run))
        print(f"{record.facts:,} facts, {record.statements:,} statements")
        asked_while_watched(store, record.run)
        looked_at(store, record.run)
        file = Path(place) / "benchmark.db"
        print(f"the database takes {file.stat().st_size / 2**20:,.0f} MiB")


if __name__ == "__main__":
    main()
