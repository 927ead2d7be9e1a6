"""Actions in a browser that tests of several pages share."""

from __future__ import annotations

import csv
from pathlib import Path

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect
from writers import denied, faithful, lines_about, statement_in, triplet_in

HOSTILE = [
    "[X] syndrome",
    "<img src=x onerror=alert(1)>",
    '=HYPERLINK("http://127.0.0.1/x")',
    "${alert(1)}",
    "{{value}}",
    "`${document.title='broken'}`",
]


SLOWLY = """() => { const fetched = window.fetch.bind(window);
    window.fetch = async (...asked) => (await new Promise((done) => setTimeout(done, 700)), fetched(...asked)); }"""
"""The way to the server takes longer."""


def write_facts(path: Path, rows: list[tuple[str, str, str]], header: tuple[str, str, str]) -> Path:
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([header, *rows])
    return path


def upload(page: Page, file: Path, button: str = "Your own file") -> None:
    """Chooses a file with one of the upload buttons."""
    with page.expect_file_chooser() as chooser:
        page.get_by_role("button", name=button).click()
    chooser.value.set_files(file)


def tab(page: Page, name: str) -> None:
    page.get_by_role("tab", name=name).click()
    expect(page.get_by_role("tab", name=name)).to_have_attribute("aria-selected", "true")


def half(prompt: str) -> str:
    """Rephrases what does not name prednisone or another word with a p, and changes the claim of the rest."""
    if triplet_in(prompt):
        return lines_about(prompt, 8)
    text = statement_in(prompt)
    return denied(text) if " not " in text else faithful(prompt)


def violations(page: Page) -> list[tuple[str, list[str]]]:
    """Accessibility rules that a page breaks by axe, each with the beginnings of the elements that break it."""
    expect(page.locator("p.loading")).to_have_count(0)  # a part of the page library is still on its way
    problems = Axe().run(page).response["violations"]
    return [(problem["id"], [node["html"][:200] for node in problem["nodes"]]) for problem in problems]
