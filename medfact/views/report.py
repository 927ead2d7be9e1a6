"""The report of runs as one self-contained HTML file without a script, for reading offline and on paper."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePath
from types import MappingProxyType

from medfact.assets import ASSETS
from medfact.errors import Mistake
from medfact.exchange.rows import portable, shown_model
from medfact.facts import Fact
from medfact.metrics.diagnosis import meaning
from medfact.metrics.records import LIKE
from medfact.models import FUNCTION
from medfact.results import wording
from medfact.results.danger import danger_of
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
from medfact.spec import RunSpec, reproducing_settings
from medfact.statements import ABSENT, Statement
from medfact.store import COMPLETE, Asked, Run, Store
from medfact.version import VERSION
from medfact.views.charts import svg
from medfact.views.fragments import render
from medfact.words import say

MAX_WORST = 10
"""True facts, each with its false partners, whose sentences a report lists: few enough to read on paper."""


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
    named = dict(zip([run.run for run in runs], names, strict=True))
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
    reports = {part.name: part.report for part in parts}
    compared = (comparison.pairs, comparison.changes, comparison.languages) if comparison else ()
    lines = [verdict(reports, *compared)]
    for part in parts:
        state, reason = part.run.state, part.run.reason
        if state != COMPLETE:
            line = say("report.incomplete", name=part.name, state=describe_state(state, reason))
            lines.append(f"{line} {describe_ending(state, reason)}".rstrip())
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
    by_run: list[dict[str, Asked]] = []
    for part, numbers in zip(parts, members, strict=True):
        answered = store.answers.asked(part.run.run, facts=list(numbers)) if numbers else ()
        by_run.append({item.statement.statement_id: item for item in answered if item.draw == 0})
    statements = {key: item.statement for items in by_run for key, item in items.items()}
    for fact in {statement.fact.fact_id: statement.fact for statement in statements.values()}.values():
        names: dict[str, list[str]] = {}
        for part, items in zip(parts, by_run, strict=True):
            number = next((item.fact for item in items.values() if item.statement.fact.fact_id == fact.fact_id), None)
            if number is not None and (diagnosis := part.pairs.diagnosis(number)):
                names.setdefault(meaning(diagnosis, fact.positive), []).append(part.name)
        lines = [f"{' and '.join(runs)}: {text}" if len(parts) > 1 else text for text, runs in names.items()]
        sentences = [
            (statement, [_outcome_and_answer(items.get(key)) for items in by_run])
            for key, statement in statements.items()
            if statement.fact.fact_id == fact.fact_id
        ]
        yield fact, lines, sentences


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
    values, switches, lists = list[str](), list[str](), list[str]()
    for _, value, setting in reproducing_settings(spec):
        if isinstance(value, bool):
            switches.append(setting.flag)
        elif isinstance(value, tuple):
            lists += [part for item in value for part in (setting.flag, item if isinstance(item, str) else "=".join(item))]
        else:
            values += [setting.flag, str(value)]
    return shlex.join(["python", "-m", "medfact", "run", "--model", spec.model, *values, *switches, *lists])


def _notebook_call(spec: RunSpec) -> str:
    """Notebook call that repeats the run of a function."""
    name = spec.model.removeprefix(FUNCTION)
    function = name if name.isidentifier() and name != "lambda" else "my_model"
    is_table = spec.facts and PurePath(spec.facts).name.startswith("data-frame-")  # the name of a table of `medfact.notebook`
    facts = "table" if is_table else repr(spec.facts or spec.dataset)
    if spec.columns:
        columns = [f"{name}={column!r}" for name, column in spec.columns if name.isidentifier()]
        facts = f"medfact.load_facts({', '.join([facts, *columns])})"
    facts_fields = {"dataset", "facts", "columns"}
    settings = [f"{name}={value!r}" for name, value, _ in reproducing_settings(spec) if name not in facts_fields]
    return f"medfact.evaluate({', '.join([function, facts, *settings])})"
