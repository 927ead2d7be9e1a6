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
from medfact.results.citations import bibtex, plain_citations
from medfact.results.danger import danger_of
from medfact.results.fact_table import Pairs, fact_table, pairs_of_run
from medfact.results.methods_paragraph import methods_paragraph
from medfact.results.report import MOST, Report, Side, board_of, report_of, sides_of
from medfact.results.sections import REPORT, Beside, Figures, sections_of
from medfact.results.sections.beside import beside_of
from medfact.results.verdict import verdict
from medfact.results.wording import FATES, Fate, false_on_purpose, fate, how_it_ended, remarks, state_in_words
from medfact.reviews.text import Summary, summary, summary_lines
from medfact.reviews.verdicts import held, opinions
from medfact.runs.board import Board
from medfact.runs.costs import bill_in_words, cut_in_words
from medfact.spec import RunSpec, reproducing_settings
from medfact.statements import ABSENT, Statement
from medfact.store import COMPLETE, Asked, Run, Store
from medfact.version import VERSION
from medfact.views.charts import svg
from medfact.views.fragments import render

_FACTS = {"dataset", "facts", "columns"}
"""Fields of a spec that describe the facts, not the settings, of a call in a notebook."""

_MAX_WORST = 10
"""True facts, each with its false partners, whose sentences a report lists: few enough to read on paper."""


@dataclass(frozen=True)
class RunPart:
    """Content of the report about one run."""

    name: str
    run: Run
    board: Board
    pairs: Pairs
    report: Report
    failed: int  # number of pairs that are not mastered
    command: str
    reviews: tuple[str, ...]
    labels: list[str]
    bill: tuple[str, ...]

    @property
    def pair_indices(self) -> dict[int, int]:
        """True fact, by its identity across runs → index of its pair in this run."""
        return {int(self.board.sheet.identity[members[0]]): index for index, members in enumerate(self.pairs.members)}

    @property
    def true_facts(self) -> dict[int, int]:
        """Number of a fact in this run → the true fact of its pair, by its identity across runs."""
        return {number: int(self.board.sheet.identity[members[0]]) for members in self.pairs.members for number in members}


def html_report(
    store: Store,
    run_ids: Sequence[str],
    made_at: str,
    owners: Sequence[str] = (),
    estimand: str = LIKE,
    files: Mapping[str, str] = MappingProxyType({}),
) -> str:
    """Renders the report of one to eight runs as HTML. Raises Mistake or UnknownName.

    Args:
        made_at: ISO 8601.
        owners: reviewers whose verdicts count; by default all.
        estimand: the population of its intervals.
        files: files next to the report → their descriptions.
    """
    if not 1 <= len(set(run_ids)) <= MOST:
        raise Mistake(f"{len(set(run_ids))} runs are given.", f"A report is about 1 to {MOST}.")
    runs = [store.run(run_id) for run_id in dict.fromkeys(run_ids)]
    names = wording.names_of_runs(runs)
    reviews = [summary(store, run.run, owners) for run in runs]
    parts = [_run_part(store, names[index], run, reviews[: index + 1], estimand) for index, run in enumerate(runs)]
    reports = {part.name: part.report for part in parts}
    verdicts = held(opinions(store.verdicts.log(owners=owners)))
    dangers = {name: danger_of(store, run, verdicts) for name, run in zip(names, runs, strict=True)}
    named = dict(zip([run.run for run in runs], names, strict=True))
    comparison = beside_of(store, sides_of(store, list(named)), named) if len(runs) > 1 else None
    return render(
        "report",
        made_at=made_at,
        files=files,
        version=VERSION,
        style=(ASSETS / "page" / "medfact.css").read_text(encoding="utf-8"),
        parts=parts,
        headlines=_summary_lines(parts, comparison),
        false_on_purpose=false_on_purpose(reports.values()),
        sections=render("blocks", sections=sections_of(Figures(reports, dangers, comparison), REPORT), plot=None, svg=svg),
        about_intervals=wording.about_intervals(list(reports.values())),
        methods=plain_citations(text := methods_paragraph(runs, list(reports.values())), runs),
        bibtex=bibtex(text, runs),
        title=wording.title_of_runs(runs),
        worst=worst_facts(store, parts),
        missed=max(part.failed for part in parts),
        setups=[_setup_rows(part) for part in parts],
    )


def _summary_lines(parts: Sequence[RunPart], comparison: Beside | None) -> list[str]:
    """Lines above the results: the verdict, and one for each incomplete run."""
    reports = {part.name: part.report for part in parts}
    compared = comparison and (comparison.pairs, comparison.changes, comparison.languages)
    lines = [verdict(reports, *compared) if compared else verdict(reports)]
    for part in parts:
        if (state := part.run.state) != COMPLETE:
            described = state_in_words(state, part.run.reason)
            line = f"{part.name}: the run is not complete ({described}): its figures are of what was answered."
            lines.append(f"{line} {how_it_ended(state, part.run.reason)}".rstrip())
    return list(filter(None, lines)) or ["Nothing has been answered yet."]


def _run_part(store: Store, name: str, run: Run, reviews: Sequence[Summary], estimand: str) -> RunPart:
    """Collects the part of a run. reviews: summaries of the runs above it and, last, of this run."""
    report, board = report_of(store, run, estimand), board_of(store, run.run)
    pairs = pairs_of_run(board)
    return RunPart(
        name=name,
        run=run,
        board=board,
        pairs=pairs,
        report=report,
        failed=len(pairs.missed()),
        command=repeat_command(replace(portable(run.spec), model=shown_model(run.model))),
        reviews=tuple(filter(None, summary_lines(reviews[-1], reviews[:-1]))),
        labels=remarks(report),
        bill=(*(bill_in_words(dict(report.service)) if report.service else ()), *cut_in_words(report.cut)),
    )


# ------------------------------------------------------------------------------------------------ facts missed most


@dataclass(frozen=True)
class StatementOutcomes:
    """A statement with the outcome and answer of each run; the answer is "" if it is unreadable or missing."""

    statement: Statement
    answers: tuple[tuple[Fate, str], ...]


@dataclass(frozen=True)
class MissedFact:
    """A fact with the outcomes of its statements, and a line for each interpretation of its answers."""

    fact: Fact
    meanings: tuple[str, ...]
    sentences: tuple[StatementOutcomes, ...]


def worst_facts(store: Store, parts: Sequence[RunPart]) -> list[tuple[MissedFact, ...]]:
    """Finds the pairs of facts that the runs miss most, worst first."""
    table = fact_table([Side(part.run, part.board) for part in parts])
    facts, true_facts = [store.answers.facts(part.run.run) for part in parts], [part.true_facts for part in parts]
    first_runs = (table.number >= 0).argmax(axis=0).tolist()
    numbers = [(run, int(table.number[run, row])) for row, run in enumerate(first_runs)]
    ordered = (numbers[row] for row in table.worst([facts[run][number] for run, number in numbers]))
    worst = list(dict.fromkeys(true_facts[run][number] for run, number in ordered))[:_MAX_WORST]
    indices = [part.pair_indices for part in parts]
    return [tuple(_missed_pair(store, parts, [by_fact.get(fact) for by_fact in indices])) for fact in worst]


def _missed_pair(store: Store, parts: Sequence[RunPart], indices: Sequence[int | None]) -> Iterator[MissedFact]:
    """Yields the facts of a pair. indices: index of the pair in each run, None if the run lacks it."""
    statements: dict[str, Statement] = {}
    by_run: list[dict[str, Asked]] = []
    meanings: dict[str, dict[str, list[str]]] = {}
    for part, index in zip(parts, indices, strict=True):
        members = [] if index is None else list(part.pairs.members[index])
        items = [item for item in store.answers.asked(part.run.run, facts=members) if item.draw == 0] if members else []
        by_run.append({item.statement.statement_id: item for item in items})
        statements |= {item.statement.statement_id: item.statement for item in items}
        for number, fact in {item.fact: item.statement.fact for item in items}.items():
            if diagnosis := part.pairs.diagnosis(number):
                text = meaning(diagnosis, fact.positive)
                meanings.setdefault(fact.fact_id, {}).setdefault(text, []).append(part.name)
    for fact in {statement.fact.fact_id: statement.fact for statement in statements.values()}.values():
        lines = (
            f"{' and '.join(names)}: {text}" if len(parts) > 1 else text
            for text, names in meanings.get(fact.fact_id, {}).items()
        )
        sentences = (
            StatementOutcomes(statement, tuple(_outcome_and_answer(items.get(statement_id)) for items in by_run))
            for statement_id, statement in statements.items()
            if statement.fact.fact_id == fact.fact_id
        )
        yield MissedFact(fact, tuple(lines), tuple(sentences))


def _outcome_and_answer(item: Asked | None) -> tuple[Fate, str]:
    if item is None:
        return FATES[ABSENT], ""
    answer = item.answer.answer if item.answer else None
    return fate(item), "" if answer is None else "true" if answer else "false"


# ------------------------------------------------------------------------------------------------ set-up of the runs


def _setup_rows(part: RunPart) -> dict[str, str]:
    """Rows of the table of a run's settings: label → value."""
    run, draws = part.run, part.report.shot_draws
    return {
        "run": run.run,
        "state": ": ".join(filter(None, (run.state, run.reason))),
        "model": shown_model(run.model),
        "revision": run.model_revision or "not known",
        "facts": f"{run.dataset}, fingerprint {run.dataset_fingerprint}",
        "method": part.report.method,
        "sentences (pool)": run.pool,
        "question": part.report.question,
        "worked examples": f"{run.shots} in {draws} draws" if draws > 1 else str(run.shots),
        "seed": str(run.spec.seed),
        "statements, facts": f"{run.statements:,}, {run.facts:,}",
        "begun": wording.date(run.started_at),
        "ended": wording.date(run.finished_at) if run.finished_at else "not yet",
        "versions": ", ".join(f"{name} {number}" for name, number in run.versions.items()),
    }


def repeat_command(spec: RunSpec) -> str:
    """Shell command that repeats a run; for a model that is a function, the call in a notebook.

    It omits a service's address, to which keys belong.
    """
    if spec.model.startswith(FUNCTION):
        return _notebook_call(spec)
    values: list[str] = []
    switches: list[str] = []
    lists: list[str] = []
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
    facts = repr(spec.facts or spec.dataset)
    if spec.facts and PurePath(spec.facts).name.startswith("data-frame-"):  # the name of a table of `medfact.notebook`
        facts = "table"
    if spec.columns:
        columns = [f"{name}={column!r}" for name, column in spec.columns if name.isidentifier()]
        facts = f"medfact.load_facts({', '.join([facts, *columns])})"
    settings = [f"{name}={value!r}" for name, value, _ in reproducing_settings(spec) if name not in _FACTS]
    return f"medfact.evaluate({', '.join([function, facts, *settings])})"
