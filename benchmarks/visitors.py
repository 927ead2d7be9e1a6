"""How long the page takes to open, and how long a click takes while runs of many visitors go on.

    python benchmarks/visitors.py --visitors 10 --facts 50 [--service]

Starts the app with an empty home and a browser. Each visitor has a browser context of their own. All press Evaluate at
once; then they take turns turning the pages of the list of facts until all runs are complete. A random baseline answers, or
with --service a service on this machine that takes 200 ms per call. Browser, app and service share the processors, so
absolute figures depend on the machine. Needs Chromium.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

from playwright.sync_api import Browser, Page, expect, sync_playwright

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "helpers"))

from browser import choose_models, find_chromium, type_pair_count
from mock_service import Behaviour, MockService

ROOT = Path(__file__).resolve().parents[1]

LATENCY = 0.2
"""Seconds per call of the service."""
LONGEST = 300
"""Seconds after which the benchmark gives up."""

CLICK = """async () => {
  const where = () => document.querySelector("#tab .mf-where")?.innerText ?? "", before = where(), begun = performance.now();
  const key = /^facts 1 /.test(before) ? "next" : "previous";
  document.querySelector(`#tab [data-key=${key}]`)?.click();
  while (where() === before && performance.now() - begun < 20000) await new Promise((soon) => setTimeout(soon, 5));
  return performance.now() - begun;
}"""
"""Milliseconds until the next statements are shown."""


@contextlib.contextmanager
def served() -> Iterator[str]:
    """The address of the app, once it answers."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with tempfile.TemporaryDirectory() as home:
        environment = {**os.environ, "MEDFACT_HOME": home, "GRADIO_SERVER_PORT": str(port), "HF_HUB_OFFLINE": "1"}
        app = subprocess.Popen([sys.executable, "app.py"], cwd=ROOT, env=environment, stdout=subprocess.DEVNULL)
        try:
            for _ in range(240):
                with contextlib.suppress(OSError):
                    urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=2).close()
                    break
                time.sleep(0.5)
            yield f"http://127.0.0.1:{port}/"
        finally:
            app.terminate()
            app.wait(30)


FIRST_STORY = """new MutationObserver((_, watching) => {
  if (!document.querySelector(".mf-numbers")) return;
  watching.disconnect();
  requestAnimationFrame(() => requestAnimationFrame(() => (window.firstStory = performance.now() / 1000)));
}).observe(document, { childList: true, subtree: true });"""
"""Seconds from the start of a page until the two numbers of its story are painted."""


def opened(browser: Browser, address: str) -> tuple[Page, float]:
    """A new visitor's first page, and the seconds until it shows its story."""
    page = browser.new_context(viewport={"width": 1280, "height": 900}).new_page()
    page.add_init_script(FIRST_STORY)
    page.goto(address, wait_until="commit")
    return page, page.wait_for_function("() => window.firstStory", timeout=120_000).json_value()


def prepare(page: Page, address: str, facts: int, service: MockService | None) -> None:
    """Chooses the model and the number of facts."""
    page.goto(f"{address}evaluate")
    choose_models(page, *([] if service else ["a coin"]))
    if service:
        page.get_by_role("button", name="+ Add model").click()
        for label, text in (("address", service.base_url), ("model's name", "m")):
            page.locator(".mf-row").get_by_label(label).fill(text)
    type_pair_count(page, facts)


def complete(page: Page) -> bool:
    return "run=" in page.url and "complete" in page.locator("#progress").inner_text()


def click_until_complete(pages: list[Page]) -> tuple[list[float], float]:
    """Milliseconds of each click while the runs go on, and the seconds until all are complete."""
    begun, times = time.perf_counter(), []
    for page in pages:
        page.evaluate("document.querySelector('#evaluate').click()")
    for page in pages:
        page.wait_for_url("**run=*")
        page.get_by_role("tab", name="Facts", exact=True).click()
        page.wait_for_selector("#tab .mf-where", timeout=120_000)
    going = set(range(len(pages)))
    while going and time.perf_counter() - begun < LONGEST:
        for number, page in enumerate(pages):
            times.append(page.evaluate(CLICK))
            if complete(page):
                going.discard(number)
    if going:
        raise SystemExit(f"{len(going)} of {len(pages)} runs did not finish within {LONGEST} s.")
    return times, time.perf_counter() - begun


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--visitors", type=int, default=10)
    parser.add_argument("--facts", type=int, default=50)
    parser.add_argument("--service", action="store_true")
    chosen = parser.parse_args()
    with contextlib.ExitStack() as stack:
        address = stack.enter_context(served())
        service = stack.enter_context(MockService(Behaviour(latency=LATENCY))) if chosen.service else None
        browser = stack.enter_context(sync_playwright()).chromium.launch(
            executable_path=find_chromium(), args=["--no-sandbox", "--disable-gpu"]
        )
        first, _ = opened(browser, address)  # the demonstration is computed once
        expect(first.locator("[data-key=demonstration]")).to_be_visible(timeout=120_000)
        first.context.close()
        pages, opening = zip(*[opened(browser, address) for _ in range(chosen.visitors)], strict=True)
        print(f"opening: {statistics.median(opening):.2f} s (from {min(opening):.2f} to {max(opening):.2f})")
        for page in pages:
            prepare(page, address, chosen.facts, service)
        time.sleep(5)
        times, seconds = click_until_complete(list(pages))
        worst = statistics.quantiles(times, n=20)[-1]
        print(f"{len(times)} clicks: median {statistics.median(times):.0f} ms, 95th percentile {worst:.0f} ms")
        print(f"all {chosen.visitors} runs complete after {seconds:.1f} s")
        browser.close()


if __name__ == "__main__":
    main()
