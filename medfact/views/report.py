"""The report of some runs as one HTML file: no script, nothing from elsewhere, legible offline and on paper."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields
from pathlib import PurePath
from typing import Any

from medfact import __version__
from medfact.assets import ASSETS
from medfact.errors import Mistake
from medfact.exchange.portable import portable
from medfact.facts import Fact
from medfact.metrics.coherence import AGREES
from medfact.metrics.diagnosis import DIAGNOSES, meaning
from medfact.metrics.estimand import LIKE
from medfact.models import FUNCTION
from medfact.negatives import DIFFICULTIES
from medfact.prototypes import ORIGIN
from medfact.results import over_models_text, wording
from medfact.results.citations import bibtex, plain_citations
from medfact.results.compare import MOST, pairs_of, sides_of
from medfact.results.contrasts import ABOUT, across_runs, lines_of_runs
from medfact.results.danger import Danger, danger_of
from medfact.results.endings import how_it_ended, state_in_words
from medfact.results.methods_paragraph import methods_paragraph
from medfact.results.over_models import over_models
from medfact.results.pairs import Pairs, pairs_of_run
from medfact.results.probability_plots import has_band, of_one_source
from medfact.results.recall import SETTINGS
from medfact.results.remarks import false_on_purpose, remarks
from medfact.results.report import Board, Report, board_of, report_of
from medfact.results.text import in_draws
from medfact.reviews.summary import summary
from medfact.reviews.text import summary_lines
from medfact.reviews.verdicts import held, opinions
from medfact.runs.costs import bill_in_words, cut_in_words
from medfact.spec import NO_RETRIEVAL, PROTOCOLS, RunSpec
from medfact.store import COMPLETE, Asked, Run, Store
from medfact.views.figures import figures_of
from medfact.views.fragments import render
from medfact.views.races import races

SHOWN_FAILURES = 30
"""Pairs of a run whose statements are listed, those with the fewest right answers first."""

_FLAGS = {
    "dataset": "--dataset", "facts": "--facts", "protocol": "--protocol", "pool": "--pool", "limit": "--limit",
    "per_relation": "--per-relation", "negatives": "--negatives", "negative_difficulty": "--negative-difficulty",
    "shots": "--shots", "seed": "--seed", "shot_seed": "--shot-seed", "shot_draws": "--shot-draws",
    "demonstrations": "--demonstrations", "templates": "--templates", "question": "--question", "language": "--language",
    "retrieval": "--retrieval", "corpus": "--corpus", "corpus_column": "--corpus-column", "passages": "--passages",
    "encoder": "--encoder",
}  # fmt: skip
_SWITCHES = {"reviewed": "--reviewed", "accept_drafts": "--accept-drafts", "leave_out": "--leave-out-fact"}
"""Fields of a spec → the options of `run` that set them."""


_IN_A_CALL = {*_FLAGS, *_SWITCHES, "rela", "sab"} - {"dataset", "facts"}
"""The same fields, as a notebook names them."""


@dataclass(frozen=True)
class Failure:
    """A pair that is not mastered: its facts, each with what its diagnosis means (or ""), and its statements."""

    facts: tuple[tuple[Fact, str], ...]
    statements: tuple[Asked, ...]
    right: int


@dataclass(frozen=True)
class Section:
    """A run in the report. failures: the worst pairs; failed: how many pairs are not mastered, of `pairs`."""

    name: str
    run: Run
    report: Report
    danger: Danger
    failures: tuple[Failure, ...]
    failed: int
    pairs: int
    command: str
    reviews: tuple[str, ...]
    labels: list[str]
    bill: tuple[str, ...]


def html_report(store: Store, run_ids: Sequence[str], made_at: str, owners: Sequence[str] = (), estimand: str = LIKE) -> str:
    """The report of one to eight runs as HTML. made_at: ISO 8601. owners: whose verdicts count, by default everybody's.
    estimand: what its intervals are about.

    Files are named without their folders. Raises Mistake or UnknownName.
    """
    if not 1 <= len(set(run_ids)) <= MOST:
        raise Mistake(f"{len(set(run_ids))} runs are given.", f"A report is about 1 to {MOST}.")
    runs = [store.run(run_id) for run_id in dict.fromkeys(run_ids)]
    names = wording.names_of_runs(runs)
    sections = [_section(store, name, run, owners, estimand) for name, run in zip(names, runs, strict=True)]
    reports = {section.name: section.report for section in sections}
    sides = sides_of(store, [run.run for run in runs]) if len(runs) > 1 else []
    named = dict(zip([run.run for run in runs], names, strict=True))
    return render(
        "report",
        made_at=made_at,
        version=__version__,
        style=(ASSETS / "page" / "medfact.css").read_text(encoding="utf-8"),
        sections=sections,
        first=sections[0],
        headlines=[_headline(section) for section in sections],
        **_scores(reports.values()),
        figures=figures_of(reports, pairs_of(sides) if sides else (), named),
        across=[one.line(named) for one in across_runs(sides)],
        races=races(store, named),
        relations=sorted({name for report in reports.values() for name in report.by_relation}),
        categories=list(dict.fromkeys(name for report in reports.values() for name in report.by_category)),
        difficulties=_difficulties(list(reports.values())),
        banded=any(has_band(report.calibration) for report in of_one_source(reports).values()),
        good={name: report.probabilities for name, report in reports.items() if report.probabilities},
        meanings=DIAGNOSES,
        contrasted=lines_of_runs(reports),
        about_contrasts=ABOUT,
        agreements={name: report.self_agreement for name, report in reports.items() if report.self_agreement},
        agrees=AGREES,
        about_intervals=wording.about_intervals([section.report for section in sections]),
        together=over_models(sides, store) if sides else None,
        in_words=over_models_text,
        methods=plain_citations(text := methods_paragraph(runs, list(reports.values())), runs),
        bibtex=bibtex(text, runs),
        settings=SETTINGS,
        shown=SHOWN_FAILURES,
    )


def _scores(reports: Iterable[Report]) -> dict[str, Any]:
    """The scores that the runs' methods show first, and which runs have which."""
    first = wording.first_scores(reports)
    return {
        "scores": [wording.score(name, wording.ways_of(of)) for name, of in first.items()],
        "scores_of": first,
        "false_on_purpose": false_on_purpose(reports),
    }


def _difficulties(reports: Sequence[Report]) -> dict[str, str]:
    """The difficulties of false partners that some run asks, with what they mean."""
    asked = {name for report in reports for name in report.by_difficulty}
    return {name: meaning for name, meaning in DIFFICULTIES.items() if name in asked}


def _headline(section: Section) -> str:
    """What a run shows, in a sentence or two."""
    report = section.report
    joint, average = report.joint_accuracy, report.average_accuracy
    if joint.value is None or average.value is None:
        return f"{section.name}: nothing has been answered yet."
    if "joint_accuracy" not in PROTOCOLS[report.protocol].first:
        told = [
            f"{of.heading} {of.of_report(report)}" for of in map(wording.SCORES.__getitem__, wording.first_scores([report]))
        ]
        return f"{section.name}: {'; '.join(told)}.{_besides(section)}"
    ways = len(report.by_variant) or 1
    every = "one statement" if ways == 1 else f"all {ways} statements"
    both = ", true and false ones," if report.negative_accuracy.n else ""
    return (
        f"{section.name} gets {every} right for {wording.share(joint)} of {in_draws(joint.n, 'fact', report)}{both} "
        f"and {wording.share(average)} of {wording.counted(average.n, 'statement')}.{_besides(section)}"
    )


def _besides(section: Section) -> str:
    """The failure that stands out, and that a run is not complete; "" where there is neither."""
    first = wording.stands_out(section.report)
    told = f" What stands out: {first}." if first else ""
    if section.run.state != COMPLETE:
        state = state_in_words(section.run.state, section.run.reason)
        told += f" The run is not complete ({state}): its figures are of what was answered."
        told += f" {how_it_ended(section.run.state, section.run.reason)}".rstrip()
    return told


def _section(store: Store, name: str, run: Run, owners: Sequence[str], estimand: str) -> Section:
    report, board = report_of(store, run, estimand), board_of(store, run.run)
    pairs = pairs_of_run(board.sheet, board.fates())
    missed = pairs.chosen("missed")
    return Section(
        name=name,
        run=run,
        report=report,
        danger=danger_of(store, run, held(opinions(store.verdicts.log(owners=owners)))),
        failures=tuple(_failures(store, run, board, pairs, missed[:SHOWN_FAILURES])),
        failed=len(missed),
        pairs=len(pairs.members),
        command=command_of(portable(run.spec)),
        reviews=tuple(filter(None, summary_lines(summary(store, run.run, owners)))),
        labels=remarks(report),
        bill=(*(bill_in_words(dict(report.service)) if report.service else ()), *cut_in_words(report.cut)),
    )


def _failures(store: Store, run: Run, board: Board, pairs: Pairs, chosen: Sequence[int]) -> Iterator[Failure]:
    for pair in chosen:
        members = list(pairs.members[pair])
        items = tuple(item for item in store.answers.asked(run.run, facts=members) if item.draw == 0)
        facts = {item.fact: item.statement.fact for item in items}
        named = tuple(
            (facts[number], _meaning(pairs.diagnosis(number), facts[number])) for number in members if number in facts
        )
        yield Failure(named, items, pairs.right(pair))


def _meaning(diagnosis: str | None, fact: Fact) -> str:
    return meaning(diagnosis, fact.positive) if diagnosis else ""


def command_of(spec: RunSpec) -> str:
    """The command that asks a model the same again; a service's address is left out, since keys hang on it. The run of a
    function has no command: its call in a notebook.
    """
    if spec.model.startswith(FUNCTION):
        return _call_of(spec)
    parts = ["python", "-m", "medfact", "run", "--model", spec.model]
    defaults = {field.name: field.default for field in fields(RunSpec)}
    unused = {"passages", "encoder", "encoder_url", "corpus_column"} if spec.retrieval == NO_RETRIEVAL else set()
    unused |= set() if spec.pool == ORIGIN else {"templates"}
    for name, flag in _FLAGS.items():
        value = getattr(spec, name)
        if name in unused or (name == "encoder" and spec.retrieval != "dense"):
            continue
        if value is not None and value != defaults[name]:
            parts += [flag, str(value)]
    parts += [flag for name, flag in _SWITCHES.items() if getattr(spec, name)]
    for name, flag in (("rela", "--rela"), ("sab", "--sab")):
        for value in getattr(spec, name):
            parts += [flag, value]
    for ours, theirs in spec.columns:
        parts += ["--column", f"{ours}={theirs}"]
    return shlex.join(parts)


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
    settings = [
        f"{field.name}={getattr(spec, field.name)!r}"
        for field in fields(RunSpec)
        if field.name in _IN_A_CALL and getattr(spec, field.name) != field.default
    ]
    return f"medfact.evaluate({', '.join([function, facts, *settings])})"
