"""Reports of runs, from statements and answers as arrays; and runs side by side, as comparisons take them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any
from zipfile import BadZipFile

import numpy as np
from pydantic import ValidationError

from medfact.answers.prompts import LLM_EVAL
from medfact.caching import shared_cache as keep_for_all
from medfact.datasets.bundled import words_alone
from medfact.errors import Mistake, StoreError, UnreadableRun
from medfact.metrics import Measures, Records, measure, record_of
from medfact.metrics.clusters import Codes
from medfact.metrics.coherence import SelfAgreement, self_agreement
from medfact.metrics.comparison import Contrast, RunRecords, contrasts
from medfact.metrics.diagnosis import BLIND, NO, OPPOSITE, YES, Diagnosis, diagnosis
from medfact.metrics.dropped import Dropped, dropped
from medfact.metrics.groupings import COLUMNS, FACT, GROUPINGS, Grouping, categories_key
from medfact.metrics.measures import MEASURES, read_figures, read_record
from medfact.metrics.pressure import Pressure
from medfact.metrics.probability import TOO_HIGH, TOO_LOW, Probabilities, probabilities
from medfact.metrics.records import LIKE, THESE, UNREADABLE, of_these_facts
from medfact.metrics.uncertainty import Estimate
from medfact.models import LENGTH, provider_of
from medfact.results.blocks import CurveLine
from medfact.results.pressed import pressure_of
from medfact.results.recall import Evidence, evidence_of
from medfact.results.withdrawn import ScoresWithout, Withdrawn, data_key, well_labelled, withdrawn_of
from medfact.runs.board import Board as Board
from medfact.runs.board import board_of as board_of
from medfact.runs.costs import bill_of
from medfact.runs.demonstrations import shots_rephrased
from medfact.runs.plan import question_of
from medfact.spec import RunSpec, describe_options, method_label
from medfact.store import GOING, Run, Store
from medfact.version import VERSION


@dataclass(frozen=True)
class Unchecked:
    """False facts of a run. presumed: those that were drawn, and that nobody vouches for."""

    presumed: int
    false_facts: int


IF_KNOWN = {"if_known": True}  # of a field that only some runs have: None in others, and absent from their JSON


@dataclass(frozen=True, kw_only=True)
class Report(Measures):
    """A run in figures: its settings and model, and every measure of its answers.

    The JSON of `report RUN --json` is `record_of` this, with `verdict` and others beside it.
    """

    run: str
    model: str
    model_revision: str | None
    dataset: str
    protocol: str
    method: str  # the paper's name of it
    rephraser: str | None
    question: str
    pool: str
    shots: int
    false_statements: int
    shots_rephrased: bool | None  # demonstrations are rephrased too; None where statements are not, or without demonstrations
    retrieval: str
    evidence: Evidence | None  # what was retrieved
    well_labelled: ScoresWithout | None  # scores without forms that the paper labels wrongly; None where the run asks none
    diagnosis: Diagnosis | None  # why facts fail
    self_agreement: SelfAgreement | None
    contrasts: Mapping[str, Contrast]  # differences of two ways of asking, paired by fact
    probabilities: Probabilities | None  # how good P(True) is
    seed: int
    shot_seed: int | None
    shot_draws: int
    state: str
    reason: str | None  # why the run ended; None for a run that a person stopped
    imported: bool  # from a file, which anybody may have written
    cut: int  # replies that ended early because of their length
    p_true_source: str
    service: Mapping[str, Any] | None  # bill of a model behind a service
    stands_out: str | None  # the defect to name first (`named_first`); None of a rule that knows no medicine
    estimand: str  # target of the intervals (`ESTIMANDS`)
    true_facts: int  # with an answer
    population: int | None  # true facts that they were drawn from, where recorded
    notes: tuple[str, ...]
    chosen: Mapping[str, str] | None = field(default=None, metadata=IF_KNOWN)  # settings that are not the default, in words
    pressure: Pressure | None = field(default=None, metadata=IF_KNOWN)  # what pushes did to the answers
    dropped: Dropped | None = field(default=None, metadata=IF_KNOWN)  # answers about facts that were true once
    withdrawn: Withdrawn | None = field(default=None, metadata=IF_KNOWN)  # facts that the bundled set has withdrawn since
    unchecked: Unchecked | None = field(default=None, metadata=IF_KNOWN)  # false facts that nobody has checked
    words_alone: Mapping[str, float] | None = field(default=None, metadata=IF_KNOWN)  # scores of word matching on all its facts


def report(run: Run, records: Records, store: Store, estimand: str = LIKE) -> Report:
    """The report of a run from its records. store: has what else is known of it. estimand: what its intervals are about."""
    if estimand == THESE:
        records = of_these_facts(records, run.population)
    measures, diagnosed, agreement, good = _figures(records)
    later = _Later if estimand == LIKE and len(records.fact) <= LATER else lambda compute: compute()
    return Report(
        run=run.run,
        model=run.model,
        model_revision=run.model_revision,
        dataset=run.dataset,
        protocol=run.spec.protocol,
        method=method_label(run.spec, run.pool),
        rephraser=None if run.pool == LLM_EVAL else run.spec.writer,
        question=question_of(run.spec),
        pool=run.pool,
        shots=run.shots,
        false_statements=int((~records.label).sum()),
        shots_rephrased=shots_rephrased(run),
        retrieval=run.spec.retrieval,
        evidence=evidence_of(run, records, store),
        well_labelled=well_labelled(run, records),
        diagnosis=diagnosed,
        self_agreement=agreement,
        contrasts=later(partial(_contrasts, records)),
        probabilities=good,
        seed=run.spec.seed,
        shot_seed=run.spec.shot_seed,
        shot_draws=run.spec.shot_draws,
        state=run.state,
        reason=run.reason,
        imported=run.imported,
        cut=store.answers.replies_cut(run.run, LENGTH),
        p_true_source=run.p_true_source,
        service=bill_of(run, store),
        stands_out=None if provider_of(run.model).is_rule else named_first(diagnosed, good),
        estimand=estimand,
        true_facts=len(np.unique(records.triplet[records.scored & records.positive])),
        population=sum(run.population.values()) or None,
        notes=tuple(run.notes),
        **_if_known(run, records, store),
        figures={**measures.figures, **_in_groups(run, records, store, later)},
    )


def _if_known(run: Run, records: Records, store: Store) -> dict[str, Any]:
    """Fields that only some runs have, each None where this one has none."""
    measured_with = ("protocol", "asked_in", "facts", "negatives", "negative_difficulty")
    as_measured = all(getattr(run.spec, name) == getattr(RunSpec, name) for name in measured_with)
    was_true = np.isin(records.fact // run.spec.shot_draws, store.answers.once_true(run.run))
    return {
        "chosen": describe_options(run.spec, run.shots) or None,
        "words_alone": (words_alone(run.dataset) or None) if as_measured else None,
        "pressure": pressure_of(run, records, store),
        "dropped": dropped(records.as_committed, was_true),
        "withdrawn": withdrawn_of(run, records, store),
        "unchecked": Unchecked(*counts) if (counts := store.answers.presumed(run.run))[0] else None,
    }


# Most statements of a run whose contrasts and figures by fact are computed when they are first read. Until then its
# records stay in memory: too much of a longer run, and too long for a report that is never kept, such as one about these
# facts alone.
LATER = 5_000


class _Later(Mapping[str, Any]):
    """Figures that are computed when they are first read: contrasts alone take a third of the time, and one tab shows them."""

    def __init__(self, compute: Callable[[], Mapping[str, Any]]) -> None:
        self._compute = compute

    def _figures(self) -> Mapping[str, Any]:
        figures = self._compute()
        self._compute = lambda: figures  # the records go
        return figures

    def __getitem__(self, name: str) -> Any:
        return self._figures()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._figures())

    def __len__(self) -> int:
        return len(self._figures())


@keep_for_all(64, key=lambda records: records.digest)
def _contrasts(records: Records) -> Mapping[str, Contrast]:
    return contrasts(records)


FACTS_KEPT = 50_000  # facts of runs last looked at: those of a few hundred visitors


@keep_for_all(FACTS_KEPT, lambda subjects: 1 + len(subjects))
def subjects_of_run(store: Store, run: str, reads: str) -> Sequence[Any]:
    """Facts of a run by number, or its statements by position. They are recorded with the run and never change."""
    return tuple(store.answers.facts(run)) if reads == FACT else tuple(item.statement for item in store.answers.asked(run))


def _in_groups(run: Run, records: Records, store: Store, later: Callable[..., Any]) -> dict[str, Any]:
    """Figures by every grouping that reads the facts or the statements of a run."""

    def compute(grouping: Grouping) -> Mapping[str, Any]:
        return grouping.measure(records, subjects_of_run(store, run.run, grouping.reads))

    return {grouping.key: later(partial(compute, grouping)) for grouping in GROUPINGS.values() if grouping.reads not in COLUMNS}


@keep_for_all(64, key=lambda records: (records.digest, categories_key(), *MEASURES, *GROUPINGS))
def _figures(records: Records) -> tuple[Measures, Diagnosis | None, SelfAgreement | None, Probabilities | None]:
    """Figures that follow from the records alone. Visitors of a public server often get the same answers to the same facts."""
    return measure(records), diagnosis(records.as_committed), self_agreement(records), probabilities(records)


# A model that says the same to fewer of the facts does not say it to everything: its P(True) leans that way.
_EVERYTHING = 1 / 3


def size_of_defect(good: Probabilities | None) -> float:
    """Size of the defect of P(True) that is shown, as a share; 0 for none, or under five points."""
    if good is None or good.off.defect is None:
        return 0.0
    size = abs((good.off.shift if good.off.defect in (TOO_HIGH, TOO_LOW) else good.off.overconfidence).value or 0.0)
    return size if size >= 0.05 else 0.0


def named_first(diagnosed: Diagnosis | None, good: Probabilities | None) -> str | None:
    """The failing of the answers that stands out, else the defect of P(True), of at least five points.

    A calibrated model believes the opposite now and then, and is not sure of it: where P(True) is known, only
    that it is off is named. A P(True) that is too high makes “true” of all that is doubtful, so that some facts look as if it
    said “true” to everything.
    """
    first = diagnosed.first if diagnosed else None
    off = good.off.defect if good and size_of_defect(good) else None
    if diagnosed and (first, off) in {(YES, TOO_HIGH), (NO, TOO_LOW)}:
        # of a fact of the other label all the same answers look as if “not” were overlooked
        same = sum(diagnosed.by_name[name].share.value or 0.0 for name in (str(first), BLIND))
        return off if same < _EVERYTHING else first
    return off if first == OPPOSITE and good and good.off.shift.low is not None else first or off


def report_of(
    store: Store,
    run: Run,
    estimand: str = LIKE,
    *,
    board: Callable[[str], Board] | None = None,
    keep: Callable[[Store, Run, Report], None] | None = None,
) -> Report:
    """Returns the report of a run: the stored one if its answers have not changed. Stores that of a run that has ended.

    board: reads its records; keep: stores the report. Raises UnreadableRun if its record is damaged.
    """
    with readable(run.run):
        stored = kept_report(store, run)
        if stored is not None and estimand == LIKE:
            return stored
        records = (board or partial(board_of, store))(run.run).records()
        computed = report(run, records, store, estimand)
        if run.state not in GOING and estimand == LIKE:
            (keep or store_report)(store, run, computed)
    return computed


@contextmanager
def readable(run: str) -> Iterator[None]:
    """Turns what a damaged record leads to into one error, which lists of runs can show."""
    try:
        yield
    except (ValueError, TypeError, LookupError, AttributeError, EOFError, BadZipFile) as error:
        raise UnreadableRun(run, f"its record is damaged ({type(error).__name__})") from error


def kept_report(store: Store, run: Run) -> Report | None:
    """Returns the stored report of a run, if it has its present answers and is of this version of medfact.

    Raises Mistake for a run that wrote sentences: it has no scores.
    """
    if run.spec.writes:
        raise Mistake(f"Run {run.run} wrote sentences, and has no scores.", f"See `written {run.run}`, and ask them in a run.")
    stored = store.answers.figures(run.run)
    if not stored or any(stored.get(name) != value for name, value in _follows_from(run).items()):
        return None
    with suppress(ValidationError, KeyError):  # a plug-in has added a measure since, or changed one
        return read_record(Report, {**stored["report"], "figures": read_figures(stored["report"])})
    return None


def _follows_from(run: Run) -> dict[str, Any]:
    """Versions that a report depends on beside the answers; they are stored with it."""
    return {"medfact": VERSION, "categories": categories_key(), "data": data_key(run)}


def store_report(store: Store, run: Run, computed: Report) -> None:
    """Stores the report of a run that has ended, so that it opens at once the next time."""
    with suppress(StoreError):  # a report is shown even where nothing can be written
        store.answers.keep_figures(run.run, {**_follows_from(run), "report": record_of(computed)}, run.changed)


# ------------------------------------------------------------------------------------------------ runs side by side

FEWEST, MOST = 2, 8  # number of runs in a comparison


@dataclass(frozen=True)
class Side:
    """One of the runs that are compared: its record and its rows."""

    run: Run
    board: Board

    @property
    def identity(self) -> Codes:
        """Of each statement, a number that names its fact in every run."""
        return self.board.sheet.identity[self.board.sheet.fact]

    @property
    def rows(self) -> RunRecords:
        """Its records, to be aligned with those of other runs."""
        return RunRecords(self.board.records(), self.identity)


def sides_of(store: Store, runs: Sequence[str]) -> list[Side]:
    """The runs of these ids, or beginnings of ids, as they stand. Raises Mistake and UnknownName."""
    return checked([Side(record, board_of(store, record.run)) for record in map(store.run, runs)])


def checked(sides: list[Side]) -> list[Side]:
    """The same sides. Raises Mistake where they are too few or too many, or one stands twice."""
    if not FEWEST <= len(sides) <= MOST:
        raise Mistake(f"{len(sides)} {'run is' if len(sides) == 1 else 'runs are'} given.", f"Compare {FEWEST} to {MOST}.")
    if len({side.run.run for side in sides}) < len(sides):
        raise Mistake("A run is given twice.", "Compare different runs.")
    return sides


# ------------------------------------------------------------------------------------------------ from its board and store

MOST_STEPS = 60  # places of the line that are drawn


def standing(board: Board) -> CurveLine:
    """Answers so far → the share of the run's facts without a wrong one among them, in the order in which they are asked."""
    fates = board.fates()
    nth = np.cumsum(fates >= UNREADABLE)
    wrong = (fates >= UNREADABLE) & (fates != 1)
    facts, last = len(board.sheet.positive), int(nth[-1]) if len(nth) else 0
    falls = np.full(facts, np.iinfo(np.int64).max)  # the answer at which each fact falls
    np.minimum.at(falls, board.sheet.fact[wrong], nth[wrong])
    steps = np.unique(np.linspace(0, last, min(last + 1, MOST_STEPS)).round().astype(int))
    return tuple((float(step), Estimate(float((falls > step).mean()), None, None, facts)) for step in steps if facts)
