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


SLOW_FETCH_SCRIPT = """() => { const fetched = window.fetch.bind(window);
    window.fetch = async (...request) => (await new Promise((resolve) => setTimeout(resolve, 700)), fetched(...request)); }"""
"""JavaScript that delays each request to the server."""


def write_facts(path: Path, rows: list[tuple[str, str, str]], header: tuple[str, str, str]) -> Path:
    """Writes a CSV file of facts, and returns its path."""
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([header, *rows])
    return path


def upload_file(page: Page, file: Path, button: str = "Your own file") -> None:
    """Chooses a file with one of the upload buttons."""
    with page.expect_file_chooser() as chooser:
        page.get_by_role("button", name=button).click()
    chooser.value.set_files(file)


def open_tab(page: Page, name: str) -> None:
    """Opens a tab, and asserts that it is selected."""
    page.get_by_role("tab", name=name).click()
    expect(page.get_by_role("tab", name=name)).to_have_attribute("aria-selected", "true")


def rephrase_or_negate(prompt: str) -> str:
    """Writer that answers a triplet with eight sentences, negates an affirmed statement, and rephrases a negated one."""
    if parse_triplet(prompt):
        return write_lines(prompt, 8)
    text = parse_statement(prompt)
    return negate(text) if " not " in text else rephrase(prompt)


FINISH_TRANSITIONS = """() => document.getAnimations()
  .filter((animation) => Number.isFinite(animation.effect?.getComputedTiming().endTime))
  .forEach((animation) => animation.finish())"""
"""Ends what moves or fades on a page, without waiting for it; what goes round for ever goes on."""


def accessibility_violations(page: Page) -> list[tuple[str, list[str]]]:
    """Runs axe on a page; returns each violated rule with the beginnings of the elements that violate it."""
    expect(page.locator("p.loading")).to_have_count(0)  # a component of Gradio may still be loading
    page.evaluate(FINISH_TRANSITIONS)  # colours on their way from light to dark are legible in neither
    problems = Axe().run(page).response["violations"]
    return [(problem["id"], [node["html"][:200] for node in problem["nodes"]]) for problem in problems]
