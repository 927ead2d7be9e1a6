"""Score card of one or two runs, to share: scores with n and 95% intervals as one SVG, which a browser saves as PNG."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from textwrap import wrap
from typing import NamedTuple

from markupsafe import Markup

from medfact.errors import Mistake
from medfact.metrics.uncertainty import Estimate
from medfact.results.compare import MASTERY, Comparison, Pair, difference
from medfact.results.findings import of_differences
from medfact.results.plots import COLOURS
from medfact.results.report import Report
from medfact.results.sections.answers import describe_fall
from medfact.results.wording import (
    Score,
    counted,
    date,
    describe_state,
    headlines,
    marked,
    names_of_runs,
    score,
    share,
    shortened,
    signed_share,
    ways_of,
)
from medfact.spec import PROTOCOLS
from medfact.store import COMPLETE, Run
from medfact.version import VERSION
from medfact.views.fragments import render
from medfact.words import say

MAX_RUNS = 2

_LINE_WIDTH, _LINE_LETTERS, _MAX_LINES = 1072, 100, 4  # of lines at the foot: pixels, letters at 20 pixels, number of lines


class CardRow(NamedTuple):
    """One score with its estimate for each run on the card."""

    score: Score
    estimates: tuple[Estimate | None, ...]  # one for each run; None if its method has no such score
    chance: float | None  # expected score of a fair coin; None if it is unknown, or differs between the runs


@dataclass(frozen=True)
class ScoreCard:
    """The content of a score card."""

    names: tuple[str, ...]
    about: str
    scores: tuple[CardRow, ...]
    falls: tuple[tuple[Estimate, ...], ...]  # by run: share of facts still right after one way of asking, two, …
    difference: str  # paired difference of two runs, in a sentence; "" for one run
    remarks: tuple[str, ...]
    date_line: str

    @property
    def alt_text(self) -> str:
        """The content as text, for screen readers."""
        sentences = [self.about]
        for index, name in enumerate(self.names):
            scores = [
                f"{metric.heading} {(signed_share if metric.signed else share)(at)} of {counted(at.n, metric.of)}"
                for metric, estimates, _ in self.scores
                if (at := estimates[index])
            ]
            sentences.append(f"{name}: {'; '.join(scores)}")
        falls = map(describe_fall, self.names, self.falls)
        sentences += [*falls, self.difference, *self.remarks, say("score_card.limits"), self.date_line]
        return " ".join(f"{sentence.rstrip('.')}." for sentence in sentences if sentence)

    @property
    def svg(self) -> Markup:
        """Renders the card as an SVG of 1200 × 630 pixels."""
        foot = [*wrap(self.difference, _LINE_LETTERS), *wrap(". ".join(self.remarks), _LINE_LETTERS)]
        if len(foot) > _MAX_LINES:
            foot[_MAX_LINES - 1 :] = [f"{foot[_MAX_LINES - 1]} …"]
        sizes = {text: round(min(50, _LINE_WIDTH / _estimate_ems(text)), 1) for text in (*self.names, self.about, *foot)}
        small = min([20, *map(sizes.__getitem__, foot)])
        values = {"card": self, "sizes": sizes, "foot": foot, "foot_size": small, "colours": COLOURS}
        return render("score_card", not_competence=say("score_card.limits"), **values)


def make_score_card(records: Sequence[Run], reports: Sequence[Report], compared: Comparison | None = None) -> ScoreCard:
    """Makes the card of one run, or of two with their comparison. Raises Mistake for any other number."""
    if not 1 <= len(records) <= MAX_RUNS:
        raise Mistake(f"A card shows one run or two, not {len(records)}.", "Choose one or two runs.")
    unmarked = names_of_runs([replace(record, imported=False) for record in records])  # a long name is cut, its mark is not
    names = [
        marked(_displayable_name(name) or f"run {record.run[:8]}", record.imported)
        for name, record in zip(unmarked, records, strict=True)
    ]
    sentence, remarks = "", _incomplete_remarks(names, records, reports)
    if compared is not None:
        has_mastery = all(MASTERY in PROTOCOLS[report.protocol].summary_metrics for report in reports)
        pair = next(pair for pair in compared.pairs if pair.metric == (MASTERY if has_mastery else "average_accuracy"))
        named = dict(zip([record.run for record in records], names, strict=True))
        sentence = describe_difference(pair, named) if pair.n else ""
        remarks += [say("score_card.settings", names=", ".join(compared.differs))] if compared.differs else []
    rows = []
    for name in headlines(reports):
        having = [report for report in reports if name in PROTOCOLS[report.protocol].summary_metrics]
        metric = score(name, ways_of(having))
        estimates = tuple(report.measure(name) if report in having else None for report in reports)
        chances = {metric.of_coin(report.chance) for report in having}
        rows.append(CardRow(metric, estimates, chances.pop() if len(chances) == 1 else None))
    ended = max(record.finished_at or record.started_at for record in records)
    return ScoreCard(
        tuple(names),
        _description(records, reports),
        tuple(rows),
        tuple(report.curves["joint_any_order"] for report in reports),
        sentence,
        tuple(remarks),
        f"{date(ended).partition(',')[0]}, medfact {VERSION}",
    )


def describe_difference(pair: Pair, names: Mapping[str, str]) -> str:
    """Describes the paired difference of two runs in a sentence. names: run → name."""
    total = counted(pair.n, "fact" if pair.metric == MASTERY else "statement")
    slots = {"finding": of_differences([pair], names), "total": total, "difference": difference(pair)}
    return say(f"score_card.{'shown' if pair.is_shown else 'open'}", **slots)


def _displayable_name(name: str) -> str:
    """Shortens a name to one line, without control characters and direction marks."""
    letters = (c for c in unicodedata.normalize("NFC", name) if c.isspace() or unicodedata.category(c)[0] != "C")
    return shortened(" ".join("".join(letters).split()))


def _estimate_ems(text: str) -> float:
    """Estimates the width of a text in ems, rather too wide: fonts differ, and no text may be cut off."""
    return sum(
        1.0 if c in "MWmw@%…—" or unicodedata.east_asian_width(c) in "WF" else 0.7 if c.isupper() else 0.58 for c in text
    )


def _description(records: Sequence[Run], reports: Sequence[Report]) -> str:
    ways = max(len(report.by_variant) for report in reports)
    has_false = any(report.negative_accuracy.n for report in reports)
    return say(
        "score_card.about",
        datasets=" and ".join(dict.fromkeys(shortened(_displayable_name(record.dataset), 30) for record in records)),
        facts=" and ".join(dict.fromkeys(counted(record.facts, "fact") for record in records)),
        false=", true and false ones" if has_false else "",
        ways="asked in eight ways" if ways == 8 else f"asked in {counted(ways, 'way')}" if ways else "not asked yet",
        methods=" and ".join(dict.fromkeys(report.method for report in reports)),
    )


def _incomplete_remarks(names: Sequence[str], records: Sequence[Run], reports: Sequence[Report]) -> list[str]:
    remarks = []
    for name, record, report in zip(names, records, reports, strict=True):
        if record.state != COMPLETE:
            answered, state = f"{report.answered + report.failed:,}", describe_state(record.state, record.reason)
            statements = counted(report.statements, "statement")
            remarks.append(say("score_card.incomplete", name=name, state=state, answered=answered, statements=statements))
        elif report.failed:
            remarks.append(say("score_card.failed", name=name, calls=counted(report.failed, "call")))
    return remarks
