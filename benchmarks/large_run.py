"""How long a large run takes to record, to ask, to watch meanwhile, to open afterwards and to draw.

    python benchmarks/large_run.py --facts 17000

Writes a file with that many facts of 17 relations. With their false partners and eight statements each, 17,000 facts are
272,000 statements. A random baseline answers them in a process of its own, as on the page, while another thread reads the
live report four times a second. Absolute figures depend on the machine.
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
from functools import partial
from pathlib import Path

import orjson
import psutil

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from medfact.datasets.frequencies import read_frequencies
from medfact.prototypes import load_pool
from medfact.results import plots
from medfact.results.compare import Comparisons
from medfact.results.live import Reports
from medfact.results.rarity import rarity_of
from medfact.runs.jobs import Jobs
from medfact.runs.plan import plan
from medfact.runs.start import start
from medfact.spec import RunSpec
from medfact.store import RUNNING, WAITING, Store, schema
from medfact.web.pages import Visitor
from medfact.web.services import Services
from medfact.web.updates import PAGES, Question, answer

TAILS_OF_A_HEAD = 5
ASIDE = 10
"""Extra heads per relation, for the demonstrations."""
EVERY = 0.25
"""Seconds between two readings of the live report."""
PAGE = 25
"""Facts on one page of the list of facts."""


def write_facts(path: Path, facts: int) -> None:
    """Writes enough facts to test that many, spread over the 17 relations of MedLAMA."""
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
    """Reads a run as a page does, and measures the memory of all processes."""

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
    """Seconds that the work took, and its result."""
    begun = time.perf_counter()
    result = work()
    return time.perf_counter() - begun, result


def show(label: str, seconds: float, of_processor: float | None = None) -> None:
    beside = "" if of_processor is None else f"{of_processor:>10.3f} s of one processor"
    print(f"{label:<56}{seconds:>10.3f} s{beside}", flush=True)


def ask_and_watch(store: Store, run: str) -> None:
    """Asks the run in a process beside this one; prints how long that took, and how long each reading."""
    jobs = Jobs(store)
    reports = Reports(store, jobs)
    begun = time.perf_counter()
    jobs.submit(run)
    watcher = Watcher(lambda: reports.live(run))
    while (snapshot := jobs.snapshot(run)) is not None and snapshot.state in {WAITING, RUNNING}:
        time.sleep(0.05)
    show("asking", time.perf_counter() - begun)
    watcher.end()
    jobs.close()
    looks = sorted(watcher.seconds)
    show(f"live report meanwhile, median of {len(looks)}", statistics.median(looks))
    show("95th percentile", looks[int(0.95 * (len(looks) - 1))])
    show("slowest", looks[-1])
    print(f"peak memory: {watcher.own / 2**20:,.0f} MiB here, {watcher.beside / 2**20:,.0f} MiB in child processes")


def open_afterwards(store: Store, run: str) -> None:
    """Prints how long the first reports take in an application that has just started."""
    jobs = Jobs(store)
    with store.database.engine.begin() as connection:
        connection.execute(schema.sheets.update().values(figures=None, figures_of=None))
    show("first report without stored scores", timed(lambda: Reports(store, jobs).live(run))[0])
    show("first report with stored scores", timed(lambda: Reports(store, jobs).live(run))[0])
    show("second report with stored scores", timed(lambda: Reports(store, jobs).live(run))[0])
    show(f"one page of {PAGE} facts", timed(lambda: store.answers.asked(run, facts=range(1000, 1000 + PAGE)))[0])
    jobs.close()


def draw(store: Store, run: str, place: Path) -> None:
    """Prints how long each tab of the run's page takes, its report being known, and how much goes to the browser.

    Where others use the machine too, the processor's own seconds tell more than those of the clock.
    """
    jobs = Jobs(store)
    reports = Reports(store, jobs)
    small = start(RunSpec(model="baseline:random", limit=2, shots=0), store)
    visitor = Visitor(Services(store, jobs, reports, Comparisons(store, reports)), "local", ("local",), small)
    reports.live(run)
    answer(visitor, PAGES["evaluate"], Question(page="evaluate"))  # the inputs, which every page has
    whole, of_processor = 0.0, 0.0
    for tab in ("overview", "facts", "calibration", "papers"):
        question = Question(page="evaluate", show={"run": run, "tab": tab})
        begun = time.process_time()
        seconds, made = timed(partial(answer, visitor, PAGES["evaluate"], question))
        used = time.process_time() - begun
        whole, of_processor = whole + seconds, of_processor + used
        show(f"tab {tab}, {len(bytes(made)) / 1024:,.0f} KiB", seconds, used)  # type: ignore[call-overload]
    file = place / "frequencies.csv"
    tails = {item.statement.fact.tail for item in store.answers.asked(run)}
    file.write_text("name,count\n" + "".join(f"{tail},{n * n}\n" for n, tail in enumerate(sorted(tails))))
    frequencies = read_frequencies(file)
    begun = time.process_time()
    seconds, made = timed(lambda: plots.rarity(*rarity_of(store, run, frequencies, reports.board(run))))
    used = time.process_time() - begun
    show(f"rarity, {len(orjson.dumps(made)) / 1024:,.0f} KiB", seconds, used)
    show("all figures together", whole + seconds, of_processor + used)
    jobs.close()


def main() -> None:
    """Writes the facts, records the run, asks it and opens it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--facts", type=int, default=17_000)
    parser.add_argument("--shots", type=int, default=5)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        facts = Path(place) / "facts.csv"
        write_facts(facts, options.facts)
        store = Store(f"sqlite:///{place}/benchmark.db")
        spec = RunSpec(model="baseline:random", facts=str(facts), limit=options.facts, shots=options.shots)
        show("planning", timed(lambda: plan(spec))[0])
        seconds, run = timed(lambda: start(spec, store))
        show("planning and recording", seconds)
        record = store.run(str(run))
        print(f"{record.facts:,} facts, {record.statements:,} statements")
        ask_and_watch(store, record.run)
        open_afterwards(store, record.run)
        draw(store, record.run, Path(place))
        file = Path(place) / "benchmark.db"
        print(f"database size: {file.stat().st_size / 2**20:,.0f} MiB")


if __name__ == "__main__":
    main()
