"""A run as a folder that a free static Space of the Hub serves as it is, and that opens offline."""

from __future__ import annotations

from pathlib import Path

import yaml

from medfact.datasets.printable import one_line
from medfact.datasets.table_writer import being_written, write_table
from medfact.errors import Mistake
from medfact.exchange.portable import shown_model
from medfact.exchange.rows import answer_row
from medfact.results.model_card import model_card
from medfact.results.report import report_of
from medfact.results.wording import counted, own_name, shortened
from medfact.store import Run, Store
from medfact.views.report import html_report
from medfact.views.score_card import card_of

MARK = ".medfact-static"
"""The file by which a folder is known as one that was written here, and may be written again."""

FILES = {"answers.csv": "all answers, one row a statement (CSV)", "card.svg": "a card to post (SVG)"}
"""File → what the page says of it."""

LONGEST_TITLE, LONGEST_DESCRIPTION = 60, 60
"""Of a description the Hub takes no more."""

NOBODYS_REVIEWS = ("",)
"""What reviewers said is not in the run, and stays here."""


def write_static(store: Store, run: Run, folder: Path, name: str | None, made_at: str) -> None:
    """Writes the folder. name: the title; by default the run's own. made_at: ISO 8601.

    Raises Mistake where the folder holds something else, and FactsError where it cannot be written.
    """
    report = report_of(store, run)
    page = html_report(store, [run.run], made_at, NOBODYS_REVIEWS, files=FILES)
    readme = _front_matter(run, name) + model_card([report]).split("---\n", 2)[2]
    with being_written(folder):
        _check(folder)
        folder.mkdir(parents=True, exist_ok=True)
        (folder / MARK).write_text(f"{run.run}\n", encoding="utf-8")
        (folder / "index.html").write_text(page, encoding="utf-8")
        (folder / "README.md").write_text(readme, encoding="utf-8")
        (folder / "card.svg").write_text(card_of([run], [report]).svg, encoding="utf-8")
    write_table((answer_row(one, run) for one in store.answers.asked(run.run) if one.answer), folder / "answers.csv")


def _check(folder: Path) -> None:
    """Raises Mistake unless a folder is new, empty but for Git's own files, or was written here."""
    if not folder.exists():
        return
    if not folder.is_dir():
        raise Mistake(f"{folder} is a file.", "Name a new folder.")
    names = {one.name for one in folder.iterdir() if not one.name.startswith(".git")}
    if names and MARK not in names:
        raise Mistake(f"{folder} holds something already.", "Name a new folder, or one that was written so.")
    if links := [one.name for one in folder.iterdir() if one.is_symlink()]:
        raise Mistake(f"{folder} holds a link, {links[0]}.", "Take it away, or name a new folder.")


def _front_matter(run: Run, name: str | None) -> str:
    title = shortened(" ".join(one_line(name or own_name(run) or shown_model(run.model)).split()), LONGEST_TITLE)
    header = {
        "title": title,
        "emoji": "🩺",
        "colorFrom": "blue",
        "colorTo": "green",
        "sdk": "static",
        "pinned": False,
        "short_description": shortened(f"{counted(run.facts, 'medical fact')}, each asked in many ways", LONGEST_DESCRIPTION),
        "tags": ["medfact", "medical", "factuality", "evaluation"],
    }
    return f"---\n{yaml.safe_dump(header, sort_keys=False, allow_unicode=True)}---\n"
