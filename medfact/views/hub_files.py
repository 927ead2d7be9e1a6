"""A run as files for the Hub: a static Space, which also opens offline, or a folder of a data set.

A data set has scores, and also answers, report and records if its facts may be published.
"""

from __future__ import annotations

import tempfile
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import yaml

from medfact.datasets.table_writer import being_written, write_table
from medfact.datasets.text import one_line
from medfact.errors import Mistake
from medfact.exchange.rows import answer_row, score_rows, shown_model
from medfact.results.logs import write_every_eval
from medfact.results.model_card import model_card
from medfact.results.report import Report, report_of
from medfact.results.wording import counted, own_name, shortened
from medfact.spec import PROTOCOLS
from medfact.store import Run, Store
from medfact.views.report import html_report
from medfact.views.score_card import make_score_card

MARK = ".medfact-static"
"""The file that marks a folder as written here, so that it may be overwritten."""

FILES = {"answers.csv": "all answers, one row a statement (CSV)", "card.svg": "a card to post (SVG)"}
"""File → its description on the page."""

MAX_TITLE, MAX_DESCRIPTION = 60, 60
"""Characters; the Hub refuses longer descriptions."""

NO_REVIEWERS = ("",)
"""Reviews are not part of a run, so they are not published."""


def write_static_space(store: Store, run: Run, folder: Path, name: str | None, made_at: str) -> None:
    """Writes a run as the folder of a static Space on the Hub.

    Args:
        name: the title; by default the run's own.
        made_at: ISO 8601.

    Raises Mistake if the folder has other content, and FactsError if it cannot be written.
    """
    report = report_of(store, run)
    page = html_report(store, [run.run], made_at, NO_REVIEWERS, files=FILES)
    data_set_readme = _front_matter(run, name) + model_card([report]).split("---\n", 2)[2]
    with being_written(folder):
        _check_overwritable(folder)
        folder.mkdir(parents=True, exist_ok=True)
        (folder / MARK).write_text(f"{run.run}\n", encoding="utf-8")
        (folder / "index.html").write_text(page, encoding="utf-8")
        (folder / "README.md").write_text(data_set_readme, encoding="utf-8")
        (folder / "card.svg").write_text(make_score_card([run], [report]).svg, encoding="utf-8")
    write_table((answer_row(item, run) for item in store.answers.asked(run.run) if item.answer), folder / "answers.csv")


def _check_overwritable(folder: Path) -> None:
    """Raises Mistake if a folder has files other than Git's and was not written by `write_static_space`."""
    if not folder.exists():
        return
    if not folder.is_dir():
        raise Mistake(f"{folder} is a file.", "Name a new folder.")
    names = {path.name for path in folder.iterdir() if not path.name.startswith(".git")}
    if names and MARK not in names:
        raise Mistake(f"{folder} holds something already.", "Name a new folder, or one that was written so.")
    if links := [path.name for path in folder.iterdir() if path.is_symlink()]:
        raise Mistake(f"{folder} holds a link, {links[0]}.", "Take it away, or name a new folder.")


def _front_matter(run: Run, name: str | None) -> str:
    title = shortened(" ".join(one_line(name or own_name(run) or shown_model(run.model)).split()), MAX_TITLE)
    header = {
        "title": title,
        "emoji": "🩺",
        "colorFrom": "blue",
        "colorTo": "green",
        "sdk": "static",
        "pinned": False,
        "short_description": shortened(f"{counted(run.facts, 'medical fact')}, each asked in many ways", MAX_DESCRIPTION),
        "tags": ["medfact", "medical", "factuality", "evaluation"],
    }
    return f"---\n{yaml.safe_dump(header, sort_keys=False, allow_unicode=True)}---\n"


# ------------------------------------------------------------------------------------------------ data set

USER_FACTS = "facts of a file of one's own"

_TABLES = {"scores": "scores.csv", "answers": "answers.parquet"}

README = """# Runs of medfact

Each folder is a run: a language model's answers to medical statements, each fact stated in logically related ways.
Its README.md has the scores with their 95% intervals. Half of the statements are false on purpose (MKJ: three of four);
each row's `label` tells. Nothing to train on, and not for clinical use.
"""


def data_set_files(store: Store, run: Run, *, with_facts: bool) -> dict[str, bytes]:
    """Path in a data set of the Hub → content, for one run. Without facts, only scores over all of them are included."""
    report = report_of(store, run)
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        if with_facts:
            _write_with_facts(store, run, report, folder)
        else:  # no name of a file
            report = replace(report, dataset=USER_FACTS, method=PROTOCOLS[report.protocol].title)
        scores = score_rows(run.run, run.model, report, run.imported)
        write_table((row for row in scores if with_facts or not row["name"]), folder / _TABLES["scores"])
        (folder / "README.md").write_text(model_card([report]).split("---\n", 2)[2], encoding="utf-8")
        paths = sorted(path for path in folder.rglob("*") if path.is_file())
        return {f"runs/{run.run}/{path.relative_to(folder).as_posix()}": path.read_bytes() for path in paths}


def data_set_readme(files: dict[str, bytes]) -> str:
    """Renders the README.md of a data set of runs, which declares its tables for the Hub's viewer."""
    tables = {name: file for name, file in _TABLES.items() if any(path.endswith(f"/{file}") for path in files)}
    configs = [{"config_name": name, "data_files": f"runs/*/{file}"} for name, file in tables.items()]
    header = {"pretty_name": "Runs of medfact", "tags": ["medfact", "medical", "factuality"], "configs": configs}
    return f"---\n{yaml.safe_dump(header, sort_keys=False)}---\n\n{README}"


def _write_with_facts(store: Store, run: Run, report: Report, folder: Path) -> None:
    now = datetime.now(UTC)
    answers = (answer_row(item, run) for item in store.answers.asked(run.run) if item.answer is not None)
    write_table(answers, folder / _TABLES["answers"])
    page = html_report(store, [run.run], now.isoformat(timespec="seconds"), NO_REVIEWERS)
    (folder / "report.html").write_text(page, encoding="utf-8")
    write_every_eval(store, run, report, folder, int(now.timestamp()))
