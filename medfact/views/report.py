"""The report of runs as one HTML file without a script, for reading offline and on paper; and a run as files for the Hub.

Files for the Hub are a static Space, which also opens offline, or a folder of a data set. A data set has scores, and also
answers, report and records if its facts may be published.
"""

from __future__ import annotations

import shlex
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path, PurePath
from types import MappingProxyType
from typing import Any

import yaml

from medfact.assets import ASSETS
from medfact.datasets.table_writer import being_written, write_table
from medfact.datasets.text import one_line
from medfact.errors import Mistake
from medfact.exchange.rows import answer_row, portable, score_rows, shown_model
from medfact.facts import Fact
from medfact.metrics.diagnosis import meaning
from medfact.metrics.records import LIKE
from medfact.models import FUNCTION
from medfact.results import wording
from medfact.results.danger import danger_of
from medfact.results.exports import model_card, write_every_eval
from medfact.results.fact_table import Pairs, fact_table, pairs_of_run
from medfact.results.findings import verdict
from medfact.results.methods import bibtex, methods_paragraph, plain_citations
from medfact.results.report import MOST, Report, Side, board_of, report_of, sides_of
from medfact.results.sections import REPORT, Beside, Figures, sections_of
from medfact.results.sections.beside import beside_of
from medfact.results.wording import FATES, Fate, describe_ending, describe_state, fate
from medfact.reviews.text import summary, summary_lines
from medfact.reviews.verdicts import held, opinions
from medfact.runs.board import Board
from medfact.runs.costs import describe_bill, describe_cut
from medfact.spec import PROTOCOLS, RunSpec, reproducing_settings
from medfact.statements import ABSENT, Statement
from medfact.store import COMPLETE, Asked, Run, Store
from medfact.version import VERSION
from medfact.views.fragments import render, svg
from medfact.views.score_card import make_score_card
from medfact.words import say, sayings

MAX_WORST = 10  # true facts, each with its false partners, whose sentences a report lists: few enough to read on paper


@dataclass(frozen=True)
class RunPart:
    """Content of the report about one run."""

    name: str
    run: Run
    board: Board
    pairs: Pairs
    report: Report
    reviews: tuple[str, ...]

    @property
    def setup(self) -> dict[str, str]:
        """Rows of the table of the run's settings: label → value."""
        run, draws = self.run, self.report.shot_draws
        return {
            "run": run.run,
            "state": ": ".join(filter(None, (run.state, run.reason))),
            "model": shown_model(run.model),
            "revision": run.model_revision or "not known",
            "facts": f"{run.dataset}, fingerprint {run.dataset_fingerprint}",
            "method": self.report.method,
            "sentences (pool)": run.pool,
            "question": self.report.question,
            "worked examples": f"{run.shots} in {draws} draws" if draws > 1 else str(run.shots),
            "seed": str(run.spec.seed),
            "statements, facts": f"{run.statements:,}, {run.facts:,}",
            "begun": wording.date(run.started_at),
            "ended": wording.date(run.finished_at) if run.finished_at else "not yet",
            "versions": ", ".join(f"{name} {number}" for name, number in run.versions.items()),
        }

    @property
    def command(self) -> str:
        """Command that repeats the run."""
        return repeat_command(replace(portable(self.run.spec), model=shown_model(self.run.model)))

    @property
    def notes(self) -> list[str]:
        """Notes, remarks, costs and reviews of the run."""
        bill = describe_bill(dict(self.report.service)) if self.report.service else ()
        return [*self.run.notes, *wording.remarks(self.report), *bill, *describe_cut(self.report.cut), *self.reviews]


def html_report(
    store: Store,
    run_ids: Sequence[str],
    made_at: str,  # ISO 8601
    owners: Sequence[str] = (),
    estimand: str = LIKE,
    files: Mapping[str, str] = MappingProxyType({}),
) -> str:
    """Renders the report of one to eight runs as HTML. Raises Mistake or UnknownName.

    Args:
        owners: reviewers whose verdicts count; by default all.
        estimand: the population of its intervals.
        files: files next to the report → their descriptions.
    """
    if not 1 <= len(set(run_ids)) <= MOST:
        raise Mistake(f"{len(set(run_ids))} runs are given.", f"A report is about 1 to {MOST}.")
    runs = [store.run(run_id) for run_id in dict.fromkeys(run_ids)]
    names, boards = wording.names_of_runs(runs), [board_of(store, run.run) for run in runs]
    reports = {name: report_of(store, run, estimand) for name, run in zip(names, runs, strict=True)}
    reviews = [summary(store, run.run, owners) for run in runs]
    lines = [tuple(filter(None, summary_lines(review, reviews[:index]))) for index, review in enumerate(reviews)]
    parts = list(map(RunPart, names, runs, boards, map(pairs_of_run, boards), reports.values(), lines))
    verdicts = held(opinions(store.verdicts.log(owners=owners)))
    dangers = {name: danger_of(store, run, verdicts) for name, run in zip(names, runs, strict=True)}
    named = {run.run: name for name, run in zip(names, runs, strict=True)}
    comparison = beside_of(store, sides_of(store, list(named)), named) if len(runs) > 1 else None
    methods = methods_paragraph(runs, list(reports.values()))
    return render(
        "report",
        made_at=made_at,
        files=files,
        version=VERSION,
        style=(ASSETS / "page" / "medfact.css").read_text(encoding="utf-8"),
        parts=parts,
        headlines=_summary_lines(parts, comparison),
        false_on_purpose=wording.false_on_purpose(reports.values()),
        sections=render("blocks", sections=sections_of(Figures(reports, dangers, comparison), REPORT), plot=None, svg=svg),
        about_intervals=wording.about_intervals(list(reports.values())),
        methods=plain_citations(methods, runs),
        bibtex=bibtex(methods, runs),
        title=wording.title_of_runs(runs),
        worst=worst_facts(store, parts),
        missed=max(len(part.pairs.missed()) for part in parts),
    )


def _summary_lines(parts: Sequence[RunPart], comparison: Beside | None) -> list[str]:
    """Lines above the results: the verdict, and one for each incomplete run."""
    compared = (comparison.pairs, comparison.changes, comparison.languages) if comparison else ()
    lines = [verdict({part.name: part.report for part in parts}, *compared)]
    for name, run in ((part.name, part.run) for part in parts if part.run.state != COMPLETE):
        line = say("report.incomplete", name=name, state=describe_state(run.state, run.reason))
        lines.append(f"{line} {describe_ending(run.state, run.reason)}".rstrip())
    return list(filter(None, lines)) or [say("report.empty")]


# ------------------------------------------------------------------------------------------------ facts missed most

MissedFact = tuple[Fact, list[str], list[tuple[Statement, list[tuple[Fate, str]]]]]
"""Fact, interpretations of the answers to it, and its statements with the outcome and answer of each run."""


def worst_facts(store: Store, parts: Sequence[RunPart]) -> list[list[MissedFact]]:
    """Finds the pairs of facts that the runs miss most, worst first."""
    table = fact_table([Side(part.run, part.board) for part in parts])
    facts = [store.answers.facts(part.run.run) for part in parts]
    # of each run: true fact, by its identity across runs → numbers of the facts of its pair
    members = [{int(part.board.sheet.identity[pair[0]]): pair for pair in part.pairs.members} for part in parts]
    true_facts = [{number: true_fact for true_fact, pair in by_fact.items() for number in pair} for by_fact in members]
    first_runs = (table.number >= 0).argmax(axis=0).tolist()
    numbers = [(run, int(table.number[run, row])) for row, run in enumerate(first_runs)]
    ordered = (numbers[row] for row in table.worst([facts[run][number] for run, number in numbers]))
    worst = list(dict.fromkeys(true_facts[run][number] for run, number in ordered))[:MAX_WORST]
    return [list(_missed_pair(store, parts, [by_fact.get(true_fact, ()) for by_fact in members])) for true_fact in worst]


def _missed_pair(store: Store, parts: Sequence[RunPart], members: Sequence[Sequence[int]]) -> Iterator[MissedFact]:
    """Yields the facts of a pair. members: their numbers in each run, none if the run lacks the pair."""
    by_run: list[dict[str, Asked]] = [
        {
            item.statement.statement_id: item
            for item in (store.answers.asked(part.run.run, facts=list(numbers)) if numbers else ())
            if item.draw == 0
        }
        for part, numbers in zip(parts, members, strict=True)
    ]
    statements = {key: item.statement for items in by_run for key, item in items.items()}
    for fact in {statement.fact.fact_id: statement.fact for statement in statements.values()}.values():
        names: dict[str, list[str]] = {}
        for part, items in zip(parts, by_run, strict=True):
            number = next((item.fact for item in items.values() if item.statement.fact.fact_id == fact.fact_id), None)
            if number is not None and (diagnosis := part.pairs.diagnosis(number)):
                names.setdefault(meaning(diagnosis, fact.positive), []).append(part.name)
        lines = [f"{' and '.join(runs)}: {text}" if len(parts) > 1 else text for text, runs in names.items()]
        its_statements = (entry for entry in statements.items() if entry[1].fact.fact_id == fact.fact_id)
        yield fact, lines, [(line, [_outcome_and_answer(items.get(key)) for items in by_run]) for key, line in its_statements]


def _outcome_and_answer(item: Asked | None) -> tuple[Fate, str]:
    """Outcome of a statement and the answer; "" if it is unreadable or missing."""
    answer = item.answer.answer if item and item.answer else None
    return fate(item) if item else FATES[ABSENT], "" if answer is None else "true" if answer else "false"


# ------------------------------------------------------------------------------------------------ commands


def repeat_command(spec: RunSpec) -> str:
    """Shell command that repeats a run; for a model that is a function, the call in a notebook.

    It omits a service's address, to which keys belong.
    """
    if spec.model.startswith(FUNCTION):
        return _notebook_call(spec)
    settings = [(setting.flag, value) for _, value, setting in reproducing_settings(spec)]
    values = [part for flag, value in settings if not isinstance(value, bool | tuple) for part in (flag, str(value))]
    switches = [flag for flag, value in settings if isinstance(value, bool)]
    items = [(flag, item) for flag, value in settings if isinstance(value, tuple) for item in value]
    lists = [part for flag, item in items for part in (flag, item if isinstance(item, str) else "=".join(item))]
    return shlex.join(["python", "-m", "medfact", "run", "--model", spec.model, *values, *switches, *lists])


def _notebook_call(spec: RunSpec) -> str:
    """Notebook call that repeats the run of a function."""
    name = spec.model.removeprefix(FUNCTION)
    function = name if name.isidentifier() and name != "lambda" else "my_model"
    is_table = PurePath(spec.facts or "").name.startswith("data-frame-")  # the name of a table of `medfact.notebook`
    facts = "table" if is_table else repr(spec.facts or spec.dataset)
    if spec.columns:
        columns = [f"{name}={column!r}" for name, column in spec.columns if name.isidentifier()]
        facts = f"medfact.load_facts({', '.join([facts, *columns])})"
    others = (entry for entry in reproducing_settings(spec) if entry[0] not in {"dataset", "facts", "columns"})
    settings = [f"{name}={value!r}" for name, value, _ in others]
    return f"medfact.evaluate({', '.join([function, facts, *settings])})"


# ------------------------------------------------------------------------------------------------ files for the Hub

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
    title = wording.shortened(" ".join(one_line(name or wording.own_name(run) or shown_model(run.model)).split()), MAX_TITLE)
    description = wording.shortened(say("card.space", facts=wording.counted(run.facts, "medical fact")), MAX_DESCRIPTION)
    texts = {
        MARK: f"{run.run}\n",
        "index.html": html_report(store, [run.run], made_at, NO_REVIEWERS, files=sayings("space")),
        "README.md": _front_matter("space", {"title": title, "short_description": description}) + _card_text(report),
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
