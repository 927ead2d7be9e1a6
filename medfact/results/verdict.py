"""What an evaluation shows, in a sentence or two: how many facts each model masters, and at most one diagnosis of each."""

from __future__ import annotations

from collections.abc import Mapping

from medfact.metrics.uncertainty import Estimate
from medfact.results.report import Report
from medfact.results.wording import NO_VALUE, TOO_FEW, first_scores, in_draws, score, stands_out

MASTERY = "joint_accuracy"


def verdict(reports: Mapping[str, Report]) -> str:
    """The models, from the one that masters most of its facts down, and what stands out in each; "" before any answer."""
    known = {name: report for name, report in reports.items() if report.answered}
    if not known:
        return ""
    first = next(iter(first_scores(known.values())))
    ranked = sorted(known.items(), key=lambda item: -(item[1].measure(first).value or 0.0))
    if first == MASTERY:
        told = [_masters(name, report, place == 0, ranked[0][1]) for place, (name, report) in enumerate(ranked)]
    else:
        told = [f"{name}: {(of := score(first)).heading} {of.of_report(report)}" for name, report in ranked]
    stands = {name: words for name, report in ranked if (words := stands_out(report))}
    found = [f"{name if len(ranked) > 1 else 'What stands out'}: {words}" for name, words in stands.items()]
    return f"{', '.join(told)}." + (f" {'; '.join(found)}." if found else "")


def _masters(name: str, report: Report, is_first: bool, first: Report) -> str:
    """ "tiny masters 2% of 120 facts (95% interval 0 to 6)"; of the others what differs."""
    mastery = report.joint_accuracy
    if mastery.value is None:
        return f"{name}: {NO_VALUE} yet"
    facts = in_draws(mastery.n, "fact", report)
    of = f" of {facts}" if is_first or facts != in_draws(first.joint_accuracy.n, "fact", first) else ""
    return f"{name} {'masters ' if is_first else ''}{100 * mastery.value:.0f}%{of} ({_bounds(mastery, is_first)})"


def _bounds(mastery: Estimate, is_first: bool) -> str:
    if mastery.low is None or mastery.high is None:
        return TOO_FEW
    return f"{'95% interval ' if is_first else ''}{100 * mastery.low:.0f} to {100 * mastery.high:.0f}"
