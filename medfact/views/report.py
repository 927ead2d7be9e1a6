"""The report of some runs as one HTML file: no script, nothing from elsewhere, legible offline and on paper."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePath
from types import MappingProxyType

from medfact.assets import ASSETS
from medfact.errors import Mistake
from medfact.exchange.portable import portable, shown_model
from medfact.metrics.records import LIKE
from medfact.models import FUNCTION
from medfact.results import wording
from medfact.results.citations import bibtex, plain_citations
from medfact.results.danger import danger_of
from medfact.results.methods_paragraph import methods_paragraph
from medfact.results.pairs import pairs_of_run
from medfact.results.report import MOST, Report, board_of, report_of, sides_of
from medfact.results.sections import REPORT, Beside, Figures, sections_of
from medfact.results.sections.beside import beside_of
from medfact.results.verdict import verdict
from medfact.results.wording import false_on_purpose, how_it_ended, remarks, state_in_words
from medfact.reviews.summary import Summary, summary
from medfact.reviews.text import summary_lines
from medfact.reviews.verdicts import held, opinions
from medfact.runs.costs import bill_in_words, cut_in_words
from medfact.spec import RunSpec, repeated_settings
from medfact.store import COMPLETE, Run, Store
from medfact.version import VERSION
from medfact.views.fragments import render
from medfact.views.sections import in_a_file
from medfact.views.worst_facts import Asking, worst_facts

_FACTS = {"dataset", "facts", "columns"}
"""Fields of a spec that are not settings of a call in a notebook, but its facts."""


@dataclass(frozen=True)
class RunPart:
    """A run in the report. failed: how many pairs are not mastered, of `asked.pairs`."""

    name: str
    asked: Asking
    report: Report
    failed: int
    command: str
    reviews: tuple[str, ...]
    labels: list[str]
    bill: tuple[str, ...]

    @property
    def run(self) -> Run:
        """What was recorded of it."""
        return self.asked.run


def html_report(
    store: Store,
    run_ids: Sequence[str],
    made_at: str,
    owners: Sequence[str] = (),
    estimand: str = LIKE,
    files: Mapping[str, str] = MappingProxyType({}),
) -> str:
    """The report of one to eight runs as HTML. made_at: ISO 8601. owners: whose verdicts count, by default everybody's.
    estimand: what its intervals are about. files: that lie beside it → what they are.

    Files are named without their folders. Raises Mistake or UnknownName.
    """
    if not 1 <= len(set(run_ids)) <= MOST:
        raise Mistake(f"{len(set(run_ids))} runs are given.", f"A report is about 1 to {MOST}.")
    runs = [store.run(run_id) for run_id in dict.fromkeys(run_ids)]
    names = wording.names_of_runs(runs)
    reviews = [summary(store, run.run, owners) for run in runs]
    parts = [_part(store, names[place], run, reviews[: place + 1], estimand) for place, run in enumerate(runs)]
    reports = {part.name: part.report for part in parts}
    judged = held(opinions(store.verdicts.log(owners=owners)))
    dangers = {name: danger_of(store, run, judged) for name, run in zip(names, runs, strict=True)}
    named = dict(zip([run.run for run in runs], names, strict=True))
    beside = beside_of(store, sides_of(store, list(named)), named) if len(runs) > 1 else None
    return render(
        "report",
        made_at=made_at,
        files=files,
        version=VERSION,
        style=(ASSETS / "page" / "medfact.css").read_text(encoding="utf-8"),
        parts=parts,
        first=parts[0],
        headlines=_headlines(parts, beside),
        false_on_purpose=false_on_purpose(reports.values()),
        sections=in_a_file(sections_of(Figures(reports, dangers, beside), REPORT)),
        about_intervals=wording.about_intervals(list(reports.values())),
        methods=plain_citations(text := methods_paragraph(runs, list(reports.values())), runs),
        bibtex=bibtex(text, runs),
        title=wording.title_of_runs(runs),
        worst=worst_facts(store, {part.name: part.asked for part in parts}),
        missed=max(part.failed for part in parts),
        asked=list(zip(ASKED, zip(*map(_asked, parts), strict=True), strict=True)),
    )


def _headlines(parts: Sequence[RunPart], beside: Beside | None) -> list[str]:
    """The verdict, and which runs are not complete."""
    reports = {part.name: part.report for part in parts}
    told = [verdict(reports, beside.pairs, beside.changes, beside.languages) if beside else verdict(reports)]
    for part in parts:
        if (state := part.run.state) != COMPLETE:
            told.append(
                f"{part.name}: the run is not complete ({state_in_words(state, part.run.reason)}): its figures are of what was"
            )
            told[-1] += f" answered. {how_it_ended(state, part.run.reason)}".rstrip()
    return list(filter(None, told)) or ["Nothing has been answered yet."]


def _part(store: Store, name: str, run: Run, reviews: Sequence[Summary], estimand: str) -> RunPart:
    """The part of a run. reviews: of the runs above and, at the end, of this one."""
    report, board = report_of(store, run, estimand), board_of(store, run.run)
    pairs = pairs_of_run(board)
    return RunPart(
        name=name,
        asked=Asking(run, board, pairs),
        report=report,
        failed=len(pairs.chosen("missed")),
        command=command_of(replace(portable(run.spec), model=shown_model(run.model))),
        reviews=tuple(filter(None, summary_lines(reviews[-1], reviews[:-1]))),
        labels=remarks(report),
        bill=(*(bill_in_words(dict(report.service)) if report.service else ()), *cut_in_words(report.cut)),
    )


ASKED = (
    "run", "state", "model", "revision", "facts", "method", "sentences (pool)", "question", "worked examples", "seed",
    "statements, facts", "begun", "ended", "versions",
)  # fmt: skip
"""What is said of how a run was asked."""


def _asked(part: RunPart) -> tuple[str, ...]:
    """What was asked, of whom, when: as ASKED says."""
    run, draws = part.run, part.report.shot_draws
    return (
        run.run,
        ": ".join(filter(None, (run.state, run.reason))),
        shown_model(run.model),
        run.model_revision or "not known",
        f"{run.dataset}, fingerprint {run.dataset_fingerprint}",
        part.report.method,
        run.pool,
        part.report.question,
        f"{run.shots} in {draws} draws" if draws > 1 else str(run.shots),
        str(run.spec.seed),
        f"{run.statements:,}, {run.facts:,}",
        wording.date(run.started_at),
        wording.date(run.finished_at) if run.finished_at else "not yet",
        ", ".join(f"{name} {number}" for name, number in run.versions.items()),
    )


def command_of(spec: RunSpec) -> str:
    """The command that asks a model the same again; a service's address is left out, since keys hang on it. The run of a
    function has no command: its call in a notebook.
    """
    if spec.model.startswith(FUNCTION):
        return _call_of(spec)
    values: list[str] = []
    switches: list[str] = []
    lists: list[str] = []
    for _, value, told in repeated_settings(spec):
        if isinstance(value, bool):
            switches.append(told.flag)
        elif isinstance(value, tuple):
            lists += [part for one in value for part in (told.flag, one if isinstance(one, str) else "=".join(one))]
        else:
            values += [told.flag, str(value)]
    return shlex.join(["python", "-m", "medfact", "run", "--model", spec.model, *values, *switches, *lists])


def _call_of(spec: RunSpec) -> str:
    """The call in a notebook that asks a function the same again."""
    name = spec.model.removeprefix(FUNCTION)
    function = name if name.isidentifier() and name != "lambda" else "my_model"
    facts = repr(spec.facts or spec.dataset)
    if spec.facts and PurePath(spec.facts).name.startswith("data-frame-"):  # as `medfact.notebook` keeps it
        facts = "table"
    if spec.columns:
        columns = [f"{ours}={theirs!r}" for ours, theirs in spec.columns if ours.isidentifier()]
        facts = f"medfact.load_facts({', '.join([facts, *columns])})"
    settings = [f"{name}={value!r}" for name, value, _ in repeated_settings(spec) if name not in _FACTS]
    return f"medfact.evaluate({', '.join([function, facts, *settings])})"
