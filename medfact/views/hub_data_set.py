"""A run as files of a data set on the Hub: its scores, and where they may be shown its answers, its report and its records."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import yaml

from medfact.datasets.table_writer import write_table
from medfact.exchange.rows import answer_row, score_rows
from medfact.results.every_eval import write_every_eval
from medfact.results.model_card import model_card
from medfact.results.report import Report, report_of
from medfact.spec import PROTOCOLS
from medfact.store import Run, Store
from medfact.views.report import html_report
from medfact.views.static_space import NOBODYS_REVIEWS

OF_ONES_OWN = "facts of a file of one's own"

_TABLES = {"scores": "scores.csv", "answers": "answers.parquet"}

README = """# Runs of medfact

Each folder is a run: a language model's answers to medical statements, each fact stated in logically related ways.
Its README.md has the scores with their 95% intervals. Half of the statements are false on purpose (MKJ: three of four);
each row's `label` tells. Nothing to train on, and not for clinical use.
"""


def files_of_run(store: Store, run: Run, *, with_facts: bool) -> dict[str, bytes]:
    """Path in the data set → content. with_facts: also what shows facts; otherwise scores over all of them alone."""
    report = report_of(store, run)
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        if with_facts:
            _write_all(store, run, report, folder)
        else:
            report = replace(report, dataset=OF_ONES_OWN, method=PROTOCOLS[report.protocol].title)  # no name of a file
        scores = score_rows(run.run, run.model, report, run.imported)
        write_table((row for row in scores if with_facts or not row["name"]), folder / _TABLES["scores"])
        (folder / "README.md").write_text(model_card([report]).split("---\n", 2)[2], encoding="utf-8")
        return dict(_read(folder, f"runs/{run.run}"))


def readme(files: dict[str, bytes]) -> str:
    """The page of a data set of runs, which tells the Hub's viewer where their tables are."""
    found = {name: file for name, file in _TABLES.items() if any(path.endswith(f"/{file}") for path in files)}
    configs = [{"config_name": name, "data_files": f"runs/*/{file}"} for name, file in found.items()]
    front = {"pretty_name": "Runs of medfact", "tags": ["medfact", "medical", "factuality"], "configs": configs}
    return f"---\n{yaml.safe_dump(front, sort_keys=False)}---\n\n{README}"


def _write_all(store: Store, run: Run, report: Report, folder: Path) -> None:
    now = datetime.now(UTC)
    answers = (answer_row(one, run) for one in store.answers.asked(run.run) if one.answer is not None)
    write_table(answers, folder / _TABLES["answers"])
    page = html_report(store, [run.run], now.isoformat(timespec="seconds"), NOBODYS_REVIEWS)
    (folder / "report.html").write_text(page, encoding="utf-8")
    write_every_eval(store, run, report, folder, int(now.timestamp()))


def _read(folder: Path, into: str) -> Iterator[tuple[str, bytes]]:
    for file in sorted(one for one in folder.rglob("*") if one.is_file()):
        yield f"{into}/{file.relative_to(folder).as_posix()}", file.read_bytes()
