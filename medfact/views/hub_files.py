"""A run as files for the Hub: a static Space, which also opens offline, or a folder of a data set.

A data set has scores, and also answers, report and records if its facts may be published.
"""

from __future__ import annotations

import tempfile
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import yaml

from medfact.assets import ASSETS
from medfact.datasets.table_writer import being_written, write_table
from medfact.datasets.text import one_line
from medfact.errors import Mistake
from medfact.exchange.rows import answer_row, score_rows, shown_model
from medfact.results.exports import model_card, write_every_eval
from medfact.results.report import Report, report_of
from medfact.results.wording import counted, own_name, shortened
from medfact.spec import PROTOCOLS
from medfact.store import Run, Store
from medfact.views.report import html_report
from medfact.views.score_card import make_score_card
from medfact.words import say, sayings

MARK = ".medfact-static"  # marks a folder as written here, so that it may be overwritten

MAX_TITLE, MAX_DESCRIPTION = 60, 60  # characters; the Hub refuses longer descriptions

NO_REVIEWERS = ("",)  # reviews are not part of a run, so they are not published

_TABLES = {"scores": "scores.csv", "answers": "answers.parquet"}  # tables of a data set → their files


def write_static_space(store: Store, run: Run, folder: Path, name: str | None, made_at: str) -> None:
    """Writes a run as the folder of a static Space on the Hub.

    Args:
        name: the title; by default the run's own.
        made_at: ISO 8601.

    Raises Mistake if the folder has other content, and FactsError if it cannot be written.
    """
    report = report_of(store, run)
    title = " ".join(one_line(name or own_name(run) or shown_model(run.model)).split())
    description = say("card.space", facts=counted(run.facts, "medical fact"))
    header = {"title": shortened(title, MAX_TITLE), "short_description": shortened(description, MAX_DESCRIPTION)}
    texts = {
        MARK: f"{run.run}\n",
        "index.html": html_report(store, [run.run], made_at, NO_REVIEWERS, files=sayings("space")),
        "README.md": _front_matter("space", header) + _card_text(report),
        "card.svg": make_score_card([run], [report]).svg,
    }
    with being_written(folder):
        _check_overwritable(folder)
        folder.mkdir(parents=True, exist_ok=True)
        for file, text in texts.items():
            (folder / file).write_text(text, encoding="utf-8")
    _write_answers(store, run, folder / "answers.csv")


def _check_overwritable(folder: Path) -> None:
    """Raises Mistake if a folder has files other than Git's and was not written by `write_static_space`."""
    if folder.exists() and not folder.is_dir():
        raise Mistake(f"{folder} is a file.", "Name a new folder.")
    paths = list(folder.iterdir()) if folder.exists() else []
    names = {path.name for path in paths if not path.name.startswith(".git")}
    if names and MARK not in names:
        raise Mistake(f"{folder} holds something already.", "Name a new folder, or one that was written so.")
    if links := [path.name for path in paths if path.is_symlink()]:
        raise Mistake(f"{folder} holds a link, {links[0]}.", "Take it away, or name a new folder.")


def _front_matter(kind: str, values: dict[str, Any]) -> str:
    """YAML at the top of a README.md. kind: key of `hub.yaml`."""
    fields = yaml.safe_load((ASSETS / "hub.yaml").read_text(encoding="utf-8"))[kind] | values
    return f"---\n{yaml.safe_dump(fields, sort_keys=False, allow_unicode=True)}---\n"


def _card_text(report: Report) -> str:
    """The model card of a run without its metadata."""
    return model_card([report]).split("---\n", 2)[2]


def _write_answers(store: Store, run: Run, file: Path) -> None:
    write_table((answer_row(item, run) for item in store.answers.asked(run.run) if item.answer is not None), file)


# ------------------------------------------------------------------------------------------------ data set


def data_set_files(store: Store, run: Run, *, with_facts: bool) -> dict[str, bytes]:
    """Files of a run in a data set on the Hugging Face Hub: path → content. Without facts, only aggregate scores."""
    report = report_of(store, run)
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        if with_facts:
            now = datetime.now(UTC)
            _write_answers(store, run, folder / _TABLES["answers"])
            page = html_report(store, [run.run], now.isoformat(timespec="seconds"), NO_REVIEWERS)
            (folder / "report.html").write_text(page, encoding="utf-8")
            write_every_eval(store, run, report, folder, int(now.timestamp()))
        else:  # no name of a file
            report = replace(report, dataset=say("card.user_facts"), method=PROTOCOLS[report.protocol].title)
        scores = score_rows(run.run, run.model, report, run.imported)
        write_table((row for row in scores if with_facts or not row["name"]), folder / _TABLES["scores"])
        (folder / "README.md").write_text(_card_text(report), encoding="utf-8")
        paths = sorted(path for path in folder.rglob("*") if path.is_file())
        return {f"runs/{run.run}/{path.relative_to(folder).as_posix()}": path.read_bytes() for path in paths}


def data_set_readme(files: dict[str, bytes]) -> str:
    """Renders the README.md of a data set of runs, which declares its tables for the Hub's viewer."""
    tables = {name: file for name, file in _TABLES.items() if any(path.endswith(f"/{file}") for path in files)}
    configs = [{"config_name": name, "data_files": f"runs/*/{file}"} for name, file in tables.items()]
    return f"{_front_matter('data_set', {'configs': configs})}\n{say('card.data_set')}\n"
