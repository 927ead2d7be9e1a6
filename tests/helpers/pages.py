"""Actions in a browser that tests of several pages share."""

from __future__ import annotations

import csv
from pathlib import Path

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect
from writers import negate, parse_statement, parse_triplet, rephrase, write_lines

HOSTILE = [
    "[X] syndrome",
    "<img src=x onerror=alert(1)>",
    '=HYPERLINK("http://127.0.0.1/x")',
    "${alert(1)}",
    "{{value}}",
    "`${document.title='broken'}`",
]
"""Names as an attacker would choose them, which a page must show as plain text."""


SLOW_FETCH_SCRIPT = """() => { const fetched = window.fetch.bind(window);
    window.fetch = async (...request) => (await new Promise((resolve) => setTimeout(resolve, 700)), fetched(...request)); }"""
"""JavaScript that delays each request of the page to the server by 0.7 s."""


def write_facts(path: Path, rows: list[tuple[str, str, str]], header: tuple[str, str, str]) -> Path:
    """Writes a CSV file with a header and rows of facts, and returns its path."""
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([header, *rows])
    return path


def upload_file(page: Page, file: Path, button: str = "Your own file") -> None:
    """Clicks an upload button, and chooses a file in the dialogue that it opens. button: its label."""
    with page.expect_file_chooser() as chooser:
        page.get_by_role("button", name=button).click()
    chooser.value.set_files(file)


def open_tab(page: Page, name: str) -> None:
    """Clicks the tab with a label, and asserts that it is then selected."""
    page.get_by_role("tab", name=name).click()
    expect(page.get_by_role("tab", name=name)).to_have_attribute("aria-selected", "true")


def rephrase_or_negate(prompt: str) -> str:
    """Returns the reply of a writer to a prompt: eight lines about its triplet, if it has one.

    Otherwise, if its statement is affirmed, the reply is the negated statement; if it is negated, a rephrased one.
    """
    if parse_triplet(prompt):
        return write_lines(prompt, 8)
    text = parse_statement(prompt)
    return negate(text) if " not " in text else rephrase(prompt)


FINISH_TRANSITIONS = """() => document.getAnimations()
  .filter((animation) => Number.isFinite(animation.effect?.getComputedTiming().endTime))
  .forEach((animation) => animation.finish())"""
"""JavaScript that ends the animations of a page at once, except for endless ones."""


def accessibility_violations(page: Page) -> list[tuple[str, list[str]]]:
    """Runs axe on a page; returns each violated rule's id with the first 200 characters of each element that violates it."""
    expect(page.locator("p.loading")).to_have_count(0)  # a component of Gradio may still be loading
    page.evaluate(FINISH_TRANSITIONS)  # colours on their way from light to dark are legible in neither
    problems = Axe().run(page).response["violations"]
    return [(problem["id"], [node["html"][:200] for node in problem["nodes"]]) for problem in problems]
