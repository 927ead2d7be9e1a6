"""The content of a card to be posted, of one run or of two beside each other: scores with n and intervals."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from medfact.errors import Mistake
from medfact.metrics.uncertainty import Estimate
from medfact.results.compare import MASTERY, Pair, comparison, difference, sides_of
from medfact.results.findings import of_differences
from medfact.results.report import Report, report_of
from medfact.results.sections.scores import falls_in_words
from medfact.results.wording import (
    FROM_FILE,
    counted,
    date,
    headlines,
    marked,
    names_of_runs,
    score,
    share,
    shortened,
    signed_share,
    state_in_words,
    ways_of,
)
from medfact.spec import PROTOCOLS
from medfact.store import COMPLETE, Run, Store
from medfact.version import VERSION

MOST_RUNS = 2
NOT_COMPETENCE = "Not a measure of clinical competence"
LONGEST_NAME = 60


@dataclass(frozen=True)
class CardScore:
    """A score of every run on the card, None for a run whose method has others. chance: what a fair coin is expected to score,
    None where that is not known. signed: it is a difference, from −1 to 1.
    """

    title: str
    of: str
    estimates: tuple[Estimate | None, ...]
    chance: float | None
    signed: bool = False

    def said(self, estimate: Estimate) -> str:
        return f"{self.title} {signed_share(estimate) if self.signed else share(estimate)} of {counted(estimate.n, self.of)}"


@dataclass(frozen=True)
class ScoreCard:
    """A card's content. ids, names, imported: one a run, which may come from a file. about: the facts, and how they were asked.
    falls: the share of facts still right after one way of asking, two, … of each run; empty where facts have one statement.
    marks: other remarks. difference: of two runs, in a sentence, else "". made: when, and by which medfact."""

    ids: tuple[str, ...]
    names: tuple[str, ...]
    imported: tuple[bool, ...]
    about: str
    figures: tuple[CardScore, ...]
    falls: tuple[tuple[Estimate, ...], ...]
    marks: tuple[str, ...]
    difference: str
    made: str

    @property
    def words(self) -> str:
        """All that the card says, for those who cannot see it."""
        scores = [
            f"{marked(name, self.imported[place])}: "
            + "; ".join(figure.said(estimate) for figure in self.figures if (estimate := figure.estimates[place]))
            for place, name in enumerate(self.names)
        ]
        falls = [falls_in_words(name, points) for name, points in zip(self.names, self.falls, strict=True)]
        sentences = [self.about, *scores, *falls, self.difference, *self.marks, NOT_COMPETENCE, self.made]
        return " ".join(f"{sentence.rstrip('.')}." for sentence in sentences if sentence)


def card_of(store: Store, runs: Sequence[str]) -> ScoreCard:
    """The card of one run or two. Raises Mistake and UnknownName."""
    records = [store.run(run) for run in runs]
    if not 1 <= len(records) <= MOST_RUNS:
        raise Mistake(f"A card shows one run or two, not {len(records)}.", "Choose one or two runs.")
    reports = [report_of(store, record) for record in records]
    plain = [replace(record, imported=False) for record in records]  # a long name is cut, and the mark is not
    names = [_readable(name) or f"run {record.run[:8]}" for name, record in zip(names_of_runs(plain), records, strict=True)]
    told, differs = _paired(store, records, names)
    ended = max(record.finished_at or record.started_at for record in records)
    files = [name for name, record in zip(names, records, strict=True) if record.imported]
    return ScoreCard(
        ids=tuple(record.run[:8] for record in records),
        names=tuple(names),
        imported=tuple(record.imported for record in records),
        about=_about(records, reports),
        figures=tuple(_figure(name, reports) for name in headlines(reports)),
        falls=tuple(report.curves.joint_any_order for report in reports),
        marks=(*(f"{name}: {FROM_FILE}" for name in files), *_open(names, records, reports), *differs),
        difference=told,
        made=f"{date(ended).partition(',')[0]}, medfact {VERSION}",
    )


def _readable(name: str) -> str:
    """A name in one line, shortened, without signs that cannot be seen or that turn the others round."""
    seen = "".join(
        letter for letter in unicodedata.normalize("NFC", name) if letter.isspace() or unicodedata.category(letter)[0] != "C"
    )
    return shortened(" ".join(seen.split()), LONGEST_NAME)


def _about(records: Sequence[Run], reports: Sequence[Report]) -> str:
    datasets = " and ".join(dict.fromkeys(_readable(record.dataset) for record in records))
    facts = " and ".join(dict.fromkeys(counted(record.facts, "fact") for record in records))
    methods = " and ".join(dict.fromkeys(report.method for report in reports))
    ways = max(len(report.by_variant) for report in reports)
    asked = "asked in eight ways" if ways == 8 else f"asked in {counted(ways, 'way')}" if ways else "not asked yet"
    both = ", true and false ones" if any(report.negative_accuracy.n for report in reports) else ""
    return f"{datasets}: {facts}{both}, {asked}. Method: {methods}."


def _figure(name: str, reports: Sequence[Report]) -> CardScore:
    having = [report for report in reports if name in PROTOCOLS[report.protocol].headline]
    shown = score(name, ways_of(having))
    chances = {shown.of_coin(report.chance) for report in having}
    return CardScore(
        shown.heading,
        shown.of,
        tuple(getattr(report, name) if report in having else None for report in reports),
        chances.pop() if len(chances) == 1 else None,
        shown.signed,
    )


def _open(names: Sequence[str], records: Sequence[Run], reports: Sequence[Report]) -> list[str]:
    """What of the runs is not answered."""
    told = []
    for name, record, report in zip(names, records, reports, strict=True):
        if record.state != COMPLETE:
            asked, how = report.answered + report.failed, state_in_words(record.state, record.reason)
            told.append(f"{name}: {how}, {asked:,} of {counted(report.statements, 'statement')} asked")
        elif report.failed:
            told.append(f"{name}: {counted(report.failed, 'call')} failed, not counted")
    return told


def _paired(store: Store, records: Sequence[Run], names: Sequence[str]) -> tuple[str, list[str]]:
    """The difference of two runs in a sentence, and in what they differ apart from the model."""
    if len(records) < MOST_RUNS:
        return "", []
    made = comparison(sides_of(store, [record.run for record in records]))
    compared = MASTERY if all(MASTERY in PROTOCOLS[record.spec.protocol].headline for record in records) else "average_accuracy"
    pair = next(pair for pair in made.pairs if pair.metric == compared)
    named = {record.run: marked(name, record.imported) for name, record in zip(names, records, strict=True)}
    return difference_in_words(pair, named), [f"The runs also differ in: {', '.join(made.differs)}"] if made.differs else []


def difference_in_words(pair: Pair, names: Mapping[str, str]) -> str:
    """What two runs show beside each other, in a sentence. names: run → what to call it."""
    told, of = of_differences([pair], names), "facts" if pair.metric == MASTERY else "statements"
    return (
        f"{told}, of {pair.n:,} {of} that both answered" if pair.is_shown else f"{told}: {difference(pair)} of {pair.n:,} {of}"
    )
