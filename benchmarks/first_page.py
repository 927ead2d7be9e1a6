"""What the first page weighs and when it shows its story, in Chromium on loopback.

    python benchmarks/first_page.py http://127.0.0.1:7860/ [--loads 5] [--slower 4]

The server runs already. Bytes are as they were transferred, with an empty cache; `--slower 4` leaves the browser a quarter of
a core's time.
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import time

from playwright.sync_api import Page, sync_playwright

STORY = ".mf-numbers"
"""What shows the two numbers of the story."""


def load(page: Page, address: str, slower: float) -> tuple[int, int, float]:
    """Requests, kilobytes, and seconds until the story is there."""
    session = page.context.new_cdp_session(page)
    session.send("Network.enable")
    session.send("Network.setCacheDisabled", {"cacheDisabled": True})
    session.send("Emulation.setCPUThrottlingRate", {"rate": slower})
    sizes: list[float] = []
    session.on("Network.loadingFinished", lambda event: sizes.append(event["encodedDataLength"]))
    begun = time.monotonic()
    page.goto(address)
    page.wait_for_selector(STORY)
    seconds = time.monotonic() - begun
    page.wait_for_load_state("networkidle")
    return len(sizes), round(sum(sizes) / 1000), seconds


def main() -> None:
    """Prints the median of some loads."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("address")
    parser.add_argument("--loads", type=int, default=5)
    parser.add_argument("--slower", type=float, default=4.0)
    options = parser.parse_args()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox", "--disable-gpu"])
        loads = [load(browser.new_context().new_page(), options.address, options.slower) for _ in range(options.loads)]
        browser.close()
    requests, kilobytes, seconds = (statistics.median(column) for column in zip(*loads, strict=True))
    print(f"{requests:.0f} requests, {kilobytes:.0f} kB, the story after {seconds:.2f} s ({options.loads} loads)")


if __name__ == "__main__":
    main()
