"""Commands that show runs: the list of them, and the report, answers, tables and comparison of some."""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path

from medfact.cli import OK, print_data, say
from medfact.cli.rows import emit, kept, run_rows
from medfact.datasets.table_writer import being_written, json_line
from medfact.datasets.text import one_line
from medfact.errors import Mistake, UnknownName
from medfact.exchange.rows import answer_row
from medfact.metrics import record_of
from medfact.metrics.records import ESTIMANDS
from medfact.results import papers
from medfact.results.compare import across_of_papers, comparison
from medfact.results.danger import danger_of
from medfact.results.exports import LOGS, WHERE, eval_results, log_of, model_card, write_every_eval
from medfact.results.findings import verdict
from medfact.results.methods import latex_methods
from medfact.results.report import Side, board_of, report_of, sides_of
from medfact.results.sections.beside import beside_of
from medfact.results.text import comparison_text, latex_tables, names_in_a_terminal, report_text
from medfact.results.wording import counted, names_of_runs, own_name, run_name
from medfact.reviews.text import Summary, summary, summary_lines
from medfact.reviews.verdicts import held, opinions
from medfact.tasks import TASK_ID
from medfact.views.report import html_report
from medfact.views.score_card import MAX_RUNS, make_score_card

EVERY_EVAL = "every-eval-ever"
"""The format of `answers --log` that is a folder."""


def runs(options: argparse.Namespace) -> int:
    """Lists the runs."""
    return emit(run_rows(kept(options.db)), options.output)


def report(options: argparse.Namespace) -> int:
    """Shows the scores of runs, or writes a report of them."""
    if options.estimand not in ESTIMANDS:
        raise UnknownName("estimand", options.estimand, ESTIMANDS)
    store = kept(options.db)
    if options.html:
        made_at = datetime.now(UTC).isoformat(timespec="seconds")
        text = html_report(store, [store.run(run).run for run in options.run], made_at, estimand=options.estimand)
        with being_written(Path(options.html).name):
            Path(options.html).write_text(text, encoding="utf-8")
        say(f"report of {counted(len(options.run), 'run')} written to {Path(options.html)}")
        return OK
    if options.latex:
        records = [store.run(run) for run in dict.fromkeys(options.run)]
        reports = [report_of(store, record, options.estimand) for record in records]
        print_data(latex_tables(dict(zip(names_of_runs(records), reports, strict=True))))
        print_data(latex_methods(records, reports), end="")
        return OK
    before: list[Summary] = []
    for number, run in enumerate(options.run):
        record = store.run(run)
        scores, name = report_of(store, record, options.estimand), run_name(record)
        reviews = summary(store, scores.run)
        board = danger_of(store, record, held(opinions(store.verdicts.log())))
        if options.json:
            more = {"danger": record_of(board), "reviews": record_of(reviews) if reviews.facts_reviewed else None}
            print_data(json_line({"verdict": verdict({own_name(record): scores}), **record_of(scores), **more}))
        else:
            reviewed = map(one_line, summary_lines(reviews, before))
            print("\n".join([*([""] if number else []), report_text(scores, board, name), *reviewed]))
        before.append(reviews)
    return OK


def card(options: argparse.Namespace) -> int:
    """Prints what can stand on a model's page: figures as metadata and a table, or as `.eval_results`; or draws a card."""
    if not options.dataset and (options.task or options.source):
        raise Mistake("--task and --source are for a benchmark of the Hub.", "Name it with --dataset OWNER/NAME.")
    store = kept(options.db)
    records = [store.run(run) for run in dict.fromkeys(options.run)]
    reports = [report_of(store, record) for record in records]
    if options.svg:
        compared = comparison(sides_of(store, options.run)) if len(records) == MAX_RUNS else None
        drawn, file = make_score_card(records, reports, compared), Path(options.svg)
        with being_written(file.name):
            file.write_text(drawn.svg, encoding="utf-8")
        say(f"card written to {file}; its alternative text:\n{drawn.alt_text}")
        return OK
    if options.dataset:
        scored = list(zip(records, reports, strict=True))
        print_data(eval_results(scored, options.dataset, options.task or TASK_ID, options.source), end="")
        say(f"note: in the model's repository this stands in {WHERE}")
        return OK
    print_data(model_card(reports), end="")
    return OK


def answers(options: argparse.Namespace) -> int:
    """Lists the answers of a run."""
    store = kept(options.db)
    record = store.run(options.run)
    if options.log == EVERY_EVAL:
        if options.output is None:
            raise Mistake("Every Eval Ever has two files.", "Name a folder for them: -o FOLDER.")
        file = write_every_eval(store, record, report_of(store, record), Path(options.output), int(time.time()))
        say(f"record and rows written to {Path(options.output, file)} and beside it")
        return OK
    if options.log is not None:
        if options.log not in LOGS:
            raise UnknownName("log format", options.log, (*LOGS, EVERY_EVAL))
        return _write_log(log_of(store, record, report_of(store, record), options.log), options.output)
    rows = (answer_row(asked, record) for asked in store.answers.asked(record.run) if asked.answer is not None)
    return emit(rows, options.output)


def _write_log(parts: Iterable[str], file: str | None) -> int:
    if file is None:
        for part in parts:
            print_data(part, end="")
        return OK
    with being_written(file), Path(file).open("w", encoding="utf-8") as written:
        written.writelines(parts)
    say(f"log written to {file}")
    return OK


def tables(options: argparse.Namespace) -> int:
    """Lists the papers' tables for one or more runs: one row per number."""
    if options.paper is not None and options.paper not in papers.PAPERS:
        raise UnknownName("paper", options.paper, papers.PAPERS)
    store = kept(options.db)
    records = [store.run(run_id) for run_id in options.run]
    scores = [report_of(store, record) for record in records]
    across = across_of_papers([Side(record, board_of(store, record.run)) for record in records])
    return emit((row for table in papers.tables(scores, options.paper, across) for row in table.as_rows()), options.output)


def compare(options: argparse.Namespace) -> int:
    """Compares two to eight runs."""
    store = kept(options.db)
    sides = sides_of(store, options.run)
    compared = comparison(sides)
    reports = [report_of(store, side.run) for side in sides]
    names = names_in_a_terminal(compared)
    beside = beside_of(store, sides, names)
    if options.json:
        evidence = {"evidence": [change.record() for change in beside.changes]} if beside.changes else {}
        record = {"contrasts": [one.record() for one in beside.across], "over_models": beside.over_models.record()}
        languages = {"over_languages": [one.record() for one in beside.languages]} if beside.languages else {}
        named = {names[report.run]: report for report in reports}
        told = {"verdict": verdict(named, beside.pairs, beside.changes, beside.languages)}
        print_data(json_line({**told, **compared.record(), **record, **evidence, **languages}))
    else:
        print(comparison_text(compared, reports, beside))
    return OK
