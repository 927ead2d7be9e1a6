"""What figures show, in a sentence each: their titles. No order is claimed that intervals leave open."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Sized
from dataclasses import replace

from medfact.metrics.averages import FEWEST_FACTS
from medfact.metrics.coherence import NEGATION
from medfact.metrics.diagnosis import STANDS_OUT
from medfact.metrics.groupings import STATEMENT, VARIANT, Grouping
from medfact.metrics.probability import DEFECTS
from medfact.metrics.uncertainty import Estimate, is_above
from medfact.results.compare import MASTERY, SCORED, Pair
from medfact.results.rarity import Rarity
from medfact.results.report import Report
from medfact.results.wording import TOO_FEW, nothing_stands_out, percent, points, share, share_of_failing
from medfact.statements import VARIANTS
from medfact.words import say

Reports = Mapping[str, Report]  # the reports of several runs, by what to call them

_POLARITY = {"affirmed": "affirmed", "negated": "denied"}

_SPELLED = 3  # so many runs are named in a title, each with what it shows; of more it says of how many


def of_ways(reports: Reports) -> str:
    said = {}
    for name, report in reports.items():
        ways = {VARIANTS[key].plain: one for key, one in report.by_variant.items()}
        # half of the error is for the pairs of ways, half for what denial does to all of them
        polarities = {_POLARITY[of]: one for of, one in report.by_polarity.items() if of in _POLARITY}
        said[name] = _apart(ways, "when asked", 2 * _pairs(ways)) or _apart(polarities, "when", 2)
        if len(report.by_variant) == 1:
            said[name] = f"right on {share(report.average_accuracy)} of the statements"
    return _title(
        said, "no way of asking is shown to be answered better than another", "right answers depend on the way of asking"
    )


def of_groups(reports: Reports, grouping: Grouping) -> str:
    """Title of right answers by a grouping."""
    gaps = {name: _apart(getattr(report, grouping.key), grouping.preposition) for name, report in reports.items()}
    return _title_of_groups(gaps, grouping)


def of_types(reports: Reports, grouping: Grouping) -> str:
    """Title of right answers by semantic type of the tail; types of few facts are not compared."""
    types = {name: report.by_tail_type for name, report in reports.items()}
    ranked = {
        name: {of: accuracy.estimate for of, accuracy in by_type.items() if accuracy.facts >= FEWEST_FACTS}
        for name, by_type in types.items()
    }
    gaps = {name: _apart(shares, grouping.preposition) for name, shares in ranked.items()}
    title = _title_of_groups(gaps, replace(grouping, title="semantic type"))
    has_small = any(0 < accuracy.facts < FEWEST_FACTS for by_type in types.values() for accuracy in by_type.values())
    return f"{title}. {say('groups.few_facts', fewest=FEWEST_FACTS)}" if has_small else title


def _title_of_groups(gaps: Mapping[str, str], grouping: Grouping) -> str:
    known = "answered" if grouping.reads in (VARIANT, STATEMENT) else "known"
    none = say("groups.none", title=grouping.title, known=known)
    return _title(gaps, none, say("groups.some", title=grouping.title))


def of_diagnoses(reports: Reports) -> str:
    said = {
        name: STANDS_OUT[of][2].format(it="it", of=share_of_failing(report))
        if (of := report.stands_out) in STANDS_OUT
        else DEFECTS.get(of or "", "")
        for name, report in reports.items()
        if report.diagnosis
    }
    return _title(said, nothing_stands_out(reports.values()), "a failing stands out")


def of_calibration(reports: Reports) -> str:
    said = {
        name: DEFECTS[one.off.defect] if (one := report.probabilities) and one.off.defect else ""
        for name, report in reports.items()
    }
    found = [one.off for report in reports.values() if (one := report.probabilities)]
    none = f"{TOO_FEW} whether" if found and all(one.shift.low is None for one in found) else "it is not shown that"
    off = "the probability of true is off by more than chance"
    return _title(said, f"{none} {off}", off)


def of_sureness(reports: Reports) -> str:
    said = {}
    for name, report in reports.items():
        if (found := report.probabilities) is None:
            continue
        every, sure = found.overall.selective[0].accuracy, found.overall.selective[-1].accuracy
        kept = percent(found.overall.selective[-1].coverage)
        how = "more" if is_above(sure, every, 1) else "less" if is_above(every, sure, 1) else ""
        said[name] = how and f"the most confident {kept} are right {how} often than all answers"
    return _title(
        said, "confident answers are not shown to be right more often", "confident answers are right more, or less, often"
    )


def of_coherence(reports: Reports) -> str:
    said = {}
    for name, report in reports.items():
        found = report.self_agreement and report.self_agreement.by_implication.get(NEGATION)
        if found and found.share.value is not None:
            said[name] = f"gives a statement and its opposite the same answer in {share(_rest(found.share))} of pairs"
    if len(said) > _SPELLED:
        gaps = [100 * (report.coherence.probability_gap or 0.0) for report in reports.values() if report.coherence.couples]
        off = f"{min(gaps):.0f} to {max(gaps):.0f} points"
        return f"the probabilities of true of a statement and of its opposite add up to 1 only within {off}, on average"
    return _title(said, "how a statement and its opposite are answered", "")


def _rest(share: Estimate) -> Estimate:
    """The share for which something does not hold."""
    value, low, high = (None if end is None else 1 - end for end in (share.value, share.high, share.low))
    return Estimate(value, low, high, share.n)


def of_differences(pairs: Sequence[Pair], names: Mapping[str, str]) -> str:
    """The title of paired differences in one or several accuracies: those that are shown, mastery first; else that none is."""
    shown = sorted((pair for pair in pairs if pair.is_shown), key=lambda pair: pair.metric != MASTERY)
    if not shown:
        scores = [SCORED[name] for name in SCORED if any(pair.metric == name and pair.n for pair in pairs)]
        return f"No difference in {' or '.join(filter(None, [', '.join(scores[:-1]), *scores[-1:]]))} is shown"
    first = shown[: _SPELLED - 1]
    said = "; ".join(_difference(pair, names) for pair in first)
    if shown[0].metric != MASTERY and any(pair.metric == MASTERY for pair in pairs):
        said = f"No difference in {SCORED[MASTERY]} is shown; {said}"
    rest = shown[len(first) :]
    further = " and ".join(dict.fromkeys(SCORED[pair.metric] for pair in rest))
    more = "1 more difference in {} is shown" if len(rest) == 1 else f"{len(rest)} more differences in {{}} are shown"
    return f"{said}; {more.format(further)}" if rest else said


def _difference(pair: Pair, names: Mapping[str, str]) -> str:
    value, low, high = pair.value or 0.0, pair.low_all, pair.high_all
    better, other = (pair.a, pair.b) if value > 0 else (pair.b, pair.a)
    ends = (low or 0.0, high or 0.0) if value > 0 else (-(high or 0.0), -(low or 0.0))
    bounds = " to ".join(f"{100 * end:.1f}" for end in ends)
    return f"{names[better]} has {100 * abs(value):.1f} points more {SCORED[pair.metric]} than {names[other]} ({bounds})"


def of_rarity(name: str, view: Rarity) -> str:
    """The title of right answers against how often tails are named."""
    slope = view.by_tail.line.slope
    if slope.value is None or slope.low is None or slope.high is None:
        return f"{name}: too little to say whether rarely named findings are known less"
    if slope.low > 0 or slope.high < 0:
        how = "more" if slope.value > 0 else "less"
        return (
            f"{name}: findings that are named ten times as often are answered {how} often right "
            f"({points(slope.value)} points, {points(slope.low)} to {points(slope.high)})"
        )
    return f"{name}: rarely named findings are not shown to be known less, or better"


# ------------------------------------------------------------------------------------------------ what may be said


def _pairs(things: Sized) -> int:
    return len(things) * (len(things) - 1) // 2


def _apart(shares: Mapping[str, Estimate], by: str, family: int = 0) -> str:
    """The highest and the lowest of shares, where they are shown to differ; else "". by: how a part is named. family: how many
    pairs are looked at; by default those of these shares.
    """
    known = {
        name: one for name, one in shares.items() if one.value is not None and one.low is not None and one.high is not None
    }
    if len(known) < 2:
        return ""
    most = max(known, key=lambda name: known[name].value or 0.0)
    least = min(known, key=lambda name: known[name].value or 0.0)
    if not is_above(known[most], known[least], family or _pairs(known)):
        return ""
    high, low = percent(known[most].value), percent(known[least].value)
    return say("groups.apart", by=by, high=high, most=most, low=low, least=least)


def _title(said: Mapping[str, str], none: str, some: str) -> str:
    """One sentence of what runs show. said: run → what it shows, "" for nothing; none: where none shows it; some: where some do
    that are too many to name.
    """
    shown = {name: text for name, text in said.items() if text}
    if not shown:
        return f"{none[:1].upper()}{none[1:]}"
    if len(said) > _SPELLED:
        return f"In {len(shown)} of {len(said)} runs {some}"
    rest = f"; {', '.join(name for name in said if name not in shown)}: {none}" if len(shown) < len(said) else ""
    return f"{'; '.join(f'{name}: {text}' for name, text in shown.items())}{rest}"
