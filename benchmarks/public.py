"""A public server under a hundred visitors, a tenth of them hostile, beside a quiet day of ten.

    python benchmarks/public.py --seconds 300 [--visitors 100] [--hostile 10] [--beside FOLDER]

Starts the app as a Space would (SPACE_ID is set, with a home of its own), twice: with ten visitors, then with all. Each visitor
speaks plain HTTP as a page's script does, from a cookie and an address of their own: opens the page, uploads a table of 60
facts, browses, presses Evaluate (60 pairs of the bundled facts, or of the table, asked of the bundled model), looks until the
run is complete, opens its tabs, and comes again. Ten seconds pass between clicks, 5 to 15. Of the hostile ones a third upload
files of 50 MB in a loop, a third press Evaluate with 1,000 pairs as soon as they may, and a third load the page ten times a
second. They are another process, with the lowest priority. Clients and server share the processors, so only the ratio of the
two days means something on another machine. With --beside both days are as full, and the first is that of the app in another
folder, whose own `benchmarks/public.py` speaks as its page does: `git worktree add FOLDER COMMIT` makes one.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import importlib.util
import multiprocessing
import os
import random
import secrets
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import psutil

ROOT = Path(__file__).resolve().parents[1]
QUIET = 10
PAIRS = 60
THINKING_SECONDS = 10.0
ARRIVING_SECONDS = 60.0
LONGEST_SECONDS = 60.0
TABLE = "head,relation,tail\n" + "".join(f"disease{n},symptoms,sign{n}\n" for n in range(60))


class Client:
    """One visitor: a cookie, an address, and what they measure."""

    def __init__(self, url: str, number: int, seen: dict[str, list[float]], answers: Counter[str]) -> None:
        headers = {
            "cookie": f"medfact-visitor={secrets.token_hex(16)}",
            "x-forwarded-for": f"11.0.{number // 250}.{number % 250 + 1}",
        }
        self.http = httpx.AsyncClient(base_url=url, headers=headers, timeout=LONGEST_SECONDS)
        self.seen, self.answers = seen, answers
        self.draw = random.Random(number)
        self.drawn: dict[str, str] = {}
        self.waited = 0.0

    async def ask(self, what: str, method: str, address: str, **more: Any) -> httpx.Response | None:
        """One request, timed."""
        begun = time.perf_counter()
        try:
            answer = await self.http.request(method, address, **more)
        except httpx.HTTPError as error:
            self.answers[f"{what} {type(error).__name__}"] += 1
            return None
        self.answers[f"{what} {answer.status_code}"] += 1
        seconds = time.perf_counter() - begun
        self.waited += 0 if what == "look" else seconds
        if answer.status_code == 200:
            self.seen[what].append(seconds)
        return answer

    async def look(
        self, what: str, page: str = "evaluate", action: Any = None, setup: Any = None, **show: Any
    ) -> dict[str, Any]:
        """What a page shows."""
        question = {"page": page, "show": show, "setup": setup, "action": action}
        question["drawn"] = self.drawn if page == "evaluate" else {}
        answer = await self.ask(what, "POST", "/updates", json=question)
        if answer is None or answer.status_code != 200:
            return {}
        told = dict(answer.json())
        if page == "evaluate":
            self.drawn = told["drawn"]
        return told

    async def press_evaluate(self, pairs: int, source: Any = None) -> str:
        """Presses Evaluate; the run's id, or "" where it was refused. source: of the facts, instead of the bundled ones."""
        setup = {"models": ["medfact-tiny"], "pairs": pairs, "shots": 0, "source": source}
        told = await self.look("press Evaluate", action={"name": "evaluate", "about": "", "fields": {}}, setup=setup)
        return str(told.get("show", {}).get("run", ""))

    async def upload(self, name: str, content: bytes) -> str:
        answer = await self.ask(f"upload {name}", "POST", "/gradio_api/upload", files={"files": (name, content)})
        return str(answer.json()[0]) if answer is not None and answer.status_code == 200 else ""


async def honest(client: Client, until: float) -> None:
    """Browses and evaluates until the time is over."""
    await asyncio.sleep(client.draw.uniform(0, min(ARRIVING_SECONDS, (until - time.monotonic()) / 5)))
    while time.monotonic() < until:
        client.drawn, source, client.waited = {}, None, 0.0
        await client.ask("open the page", "GET", "/")
        await client.look("click")
        if path := await client.upload("facts.csv", (TABLE + f"x{client.draw.random()},symptoms,y\n").encode()):
            await think(client)
            told = await client.look("take the file", action={"name": "take_file", "about": path, "fields": {}})
            source = (told.get("setup") or {}).get("source")
        for page in ("facts", "runs", "review"):
            await think(client)
            await client.look("click", page=page)
        await think(client)
        begun = time.perf_counter()
        if run := await client.press_evaluate(PAIRS, source if client.draw.random() < 0.5 else None):
            await until_complete(client, run, begun)
        for tab in ("facts", "confidence", "summary"):
            await think(client)
            await client.look("click", run=run, tab=tab)
        client.seen["all waiting of a visit"].append(client.waited)


async def think(client: Client) -> None:
    """What passes between two clicks."""
    await asyncio.sleep(client.draw.uniform(0.5, 1.5) * THINKING_SECONDS)


async def until_complete(client: Client, run: str, begun: float) -> None:
    """Looks at a run as often as the page says."""
    first = True
    while time.perf_counter() - begun < LONGEST_SECONDS:
        told = await client.look("look", run=run)
        bar = told.get("fragments", {}).get("progress", "")
        if first and "waiting" not in bar and bar:
            client.seen["wait for the first answers"].append(time.perf_counter() - begun)
            first = False
        if told and told["again"] is None:
            client.seen["wait for the whole run"].append(time.perf_counter() - begun)
            client.waited += time.perf_counter() - begun
            return
        await asyncio.sleep(float(told.get("again") or 1.0))
    client.answers["a run that did not end"] += 1


async def hostile(client: Client, number: int, until: float) -> None:
    """Does one thing without end."""
    large = secrets.token_bytes(1 << 20) * 47
    while time.monotonic() < until:
        if number % 3 == 0:
            await client.upload("large.bin", large + secrets.token_bytes(16))
        elif number % 3 == 1:
            await client.press_evaluate(1_000)
        else:
            await client.ask("reload", "GET", "/")
            await asyncio.sleep(0.1)


def attack(url: str, count: int, seconds: float, ended: Any) -> None:
    """The hostile visitors, in a process of their own, which yields to all others: theirs are other machines."""
    os.nice(19)

    async def all_of_them() -> Counter[str]:
        answers: Counter[str] = Counter()
        clients = [Client(url, 1_000 + number, defaultdict(list), answers) for number in range(count)]
        await asyncio.gather(*(hostile(client, number, time.monotonic() + seconds) for number, client in enumerate(clients)))
        return answers

    ended.put(asyncio.run(all_of_them()))


@contextlib.contextmanager
def served(home: Path) -> Iterator[tuple[str, psutil.Process]]:
    """The app as a Space starts it."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    space = {"SPACE_ID": "somebody/medfact", "GRADIO_SERVER_NAME": "127.0.0.1", "GRADIO_SERVER_PORT": str(port)}
    environment = {**os.environ, **space, "MEDFACT_HOME": str(home), "HF_HUB_OFFLINE": "1"}
    with (home / "log.txt").open("w") as log:
        app = subprocess.Popen([sys.executable, "app.py"], cwd=ROOT, env=environment, stdout=log, stderr=log)
        url = f"http://127.0.0.1:{port}"
        try:
            for _ in range(240):
                with contextlib.suppress(httpx.HTTPError):
                    if httpx.get(f"{url}/healthz", timeout=2).status_code == 200:
                        break
                time.sleep(0.5)
            yield url, psutil.Process(app.pid)
        finally:
            app.terminate()
            app.wait(30)


class Watch:
    """The memory and the disk of the app, at their most."""

    def __init__(self, app: psutil.Process, home: Path) -> None:
        self.memory = self.disk = 0.0
        self._app, self._home, self._over = app, home, threading.Event()
        threading.Thread(target=self._keep, daemon=True).start()

    def _keep(self) -> None:
        while not self._over.wait(1):
            with contextlib.suppress(psutil.Error, OSError):
                processes = [self._app, *self._app.children(recursive=True)]
                self.memory = max(self.memory, sum(one.memory_info().rss for one in processes) / 1e6)
                self.disk = max(self.disk, sum(file.stat().st_size for file in self._home.rglob("*") if file.is_file()) / 1e6)

    def end(self) -> None:
        self._over.set()


def day(visitors: int, attackers: int, seconds: float) -> dict[str, Any]:
    """A day in `seconds`: what honest visitors saw, and what became of the app."""
    seen: dict[str, list[float]] = defaultdict(list)
    answers: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as folder, served(Path(folder)) as (url, app):
        time.sleep(10)  # the demonstration
        watch, ended = Watch(app, Path(folder)), multiprocessing.Queue()
        process = multiprocessing.Process(target=attack, args=(url, attackers, seconds, ended))
        if attackers:
            process.start()

        async def all_of_them() -> None:
            until = time.monotonic() + seconds
            await asyncio.gather(*(honest(Client(url, number, seen, answers), until) for number in range(visitors)))

        asyncio.run(all_of_them())
        hostile_answers = ended.get(timeout=120) if attackers else Counter()
        watch.end()
        alive = app.is_running() and app.status() != psutil.STATUS_ZOMBIE
        crashes = (Path(folder) / "log.txt").read_text().count("Traceback") + (not alive)
        return {"seen": seen, "answers": answers, "hostile": hostile_answers, "watch": watch, "crashes": crashes}


def in_another_state(folder: Path) -> Any:
    """This benchmark as it was there: a page ignores a set-up that it does not understand, and its visitors would ask less."""
    there = importlib.util.spec_from_file_location("public_of_another_state", folder / "benchmarks" / "public.py")
    assert there is not None
    assert there.loader is not None
    benchmark = sys.modules[there.name] = importlib.util.module_from_spec(there)
    there.loader.exec_module(benchmark)
    return benchmark


def figures(times: list[float]) -> str:
    """Median, 95th percentile and longest, in seconds."""
    if len(times) < 2:
        return "no value"
    return f"{statistics.median(times):.2f} / {statistics.quantiles(times, n=20)[-1]:.2f} / {max(times):.2f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--visitors", type=int, default=100)
    parser.add_argument("--hostile", type=int, default=10)
    parser.add_argument("--beside", type=Path, help="a folder with another state of medfact")
    chosen = parser.parse_args()
    many = chosen.visitors - chosen.hostile, chosen.hostile
    first = "the same day, the app in " + chosen.beside.name if chosen.beside else "quiet day"
    calm_day = in_another_state(chosen.beside).day(*many, chosen.seconds) if chosen.beside else day(QUIET, 0, chosen.seconds)
    print(f"{first} over: a whole run took {figures(calm_day['seen']['wait for the whole run'])} s", file=sys.stderr)
    busy = day(*many, chosen.seconds)
    of_first = f"{chosen.visitors} in another state" if chosen.beside else f"{QUIET}"
    print(f"seconds: median / 95th percentile / longest, of {of_first} and of {chosen.visitors}, {chosen.hostile} hostile\n")
    print(f"| | n | {first} | n | busy day | ratio of medians |\n|---|---|---|---|---|---|")
    for what in (
        "open the page",
        "click",
        "look",
        "press Evaluate",
        "upload facts.csv",
        "take the file",
        "wait for the first answers",
        "wait for the whole run",
        "all waiting of a visit",
    ):
        calm, full = calm_day["seen"][what], busy["seen"][what]
        ratio = f"{statistics.median(full) / statistics.median(calm):.1f}" if calm and full else "no value"
        print(f"| {what} | {len(calm)} | {figures(calm)} | {len(full)} | {figures(full)} | {ratio} |")
    for name, found in ((first, calm_day), ("busy day", busy)):
        most = found["watch"]
        print(f"\n{name}: memory at most {most.memory:,.0f} MB, disk {most.disk:,.0f} MB, crashes {found['crashes']}")
        print("  answers to honest visitors: " + ", ".join(f"{what} {n:,}" for what, n in sorted(found["answers"].items())))
        print("  to hostile ones: " + ", ".join(f"{what} {n:,}" for what, n in sorted(found["hostile"].items())))


if __name__ == "__main__":
    main()
