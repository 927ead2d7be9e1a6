"""Titles of figures: a sentence about what each shows. No order is claimed that intervals leave open."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Sized
from dataclasses import replace

from medfact.metrics.averages import FEWEST_FACTS
from medfact.metrics.coherence import NEGATION
from medfact.metrics.diagnosis import STANDS_OUT
from medfact.metrics.groupings import GROUPINGS, STATEMENT, VARIANT, Grouping
from medfact.metrics.probability import DEFECTS
from medfact.metrics.uncertainty import Estimate, is_above
from medfact.results.compare import MASTERY, SCORED, Pair
from medfact.results.rarity import Rarity
from medfact.results.report import Report
from medfact.results.wording import nothing_stands_out, percent, points, share, share_of_failing
from medfact.statements import VARIANTS
from medfact.words import say

Reports = Mapping[str, Report]  # reports by what their runs are called

POLARITY = {"affirmed": "affirmed", "negated": "denied"}
MOST_NAMED = 3  # runs that a title names, each with what it shows; of more it gives the number


def of_ways(reports: Reports) -> str:
    """Title of right answers by the way of asking."""
    texts = {}
    for name, report in reports.items():
        ways = {VARIANTS[key].plain: accuracy for key, accuracy in report.by_variant.items()}
        # half of the error is for the pairs of ways, half for what denial does to all of them
        polarities = {POLARITY[key]: accuracy for key, accuracy in report.by_polarity.items()}
        largest = _apart(ways, "when asked", 2 * _pairs(ways)) or _apart(polarities, "when", 2)
        texts[name] = say("findings.one_way", share=share(report.average_accuracy)) if len(ways) == 1 else largest
    return _title_of_groups(texts, GROUPINGS["variant"])


def of_groups(reports: Reports, grouping: Grouping) -> str:
    """Title of right answers by a grouping."""
    texts = {name: _apart(getattr(report, grouping.key), grouping.preposition) for name, report in reports.items()}
    return _title_of_groups(texts, grouping)


def of_types(reports: Reports, grouping: Grouping) -> str:
    """Title of right answers by semantic type of the tail; types of few facts are not compared."""
    texts, has_small = {}, False
    for name, report in reports.items():
        ranked = {key: types.estimate for key, types in report.by_tail_type.items() if types.facts >= FEWEST_FACTS}
        has_small |= any(0 < types.facts < FEWEST_FACTS for types in report.by_tail_type.values())
        texts[name] = _apart(ranked, grouping.preposition)
    title = _title_of_groups(texts, replace(grouping, title="semantic type"))
    return f"{title}. {say('groups.few_facts', fewest=FEWEST_FACTS)}" if has_small else title


def _title_of_groups(texts: Mapping[str, str], grouping: Grouping) -> str:
    verb = "answered" if grouping.reads in (VARIANT, STATEMENT) else "known"
    return _title(texts, say("groups.none", title=grouping.title, known=verb), say("groups.some", title=grouping.title))


def of_diagnoses(reports: Reports) -> str:
    """Title of why facts fail."""
    texts = {}
    for name, report in reports.items():
        if report.diagnosis:
            first = report.stands_out or ""
            slots = {"it": "it", "of": share_of_failing(report) if first in STANDS_OUT else ""}
            texts[name] = say(f"verdict.{first}.one", **slots) if first in STANDS_OUT else DEFECTS.get(first, "")
    return _title(texts, nothing_stands_out(reports.values()), say("findings.some_failing"))


def of_calibration(reports: Reports) -> str:
    """Title of how far probabilities are off."""
    off = {name: report.probabilities.off if report.probabilities else None for name, report in reports.items()}
    texts = {name: DEFECTS[error.defect] if error and error.defect else "" for name, error in off.items()}
    is_open = any(off.values()) and all(error.shift.low is None for error in off.values() if error)
    return _title(texts, say(f"findings.calibration_{'open' if is_open else 'none'}"), say("findings.calibration_some"))


def of_sureness(reports: Reports) -> str:
    """Title of right answers among the most confident."""
    texts = {}
    for name, report in reports.items():
        if report.probabilities:
            every, *_, sure = report.probabilities.overall.selective
            more, less = is_above(sure.accuracy, every.accuracy, 1), is_above(every.accuracy, sure.accuracy, 1)
            sentence = say("findings.sure", share=percent(sure.coverage), how="more" if more else "less")
            texts[name] = sentence if more or less else ""
    return _title(texts, say("findings.sure_none"), say("findings.sure_some"))


def of_coherence(reports: Reports) -> str:
    """Title of answers to a statement and to its opposite."""
    texts = {}
    for name, report in reports.items():
        agrees = report.self_agreement and report.self_agreement.by_implication.get(NEGATION)
        if agrees and agrees.share.value is not None:
            value, low, high = (None if end is None else 1 - end for end in agrees.share[:3])
            texts[name] = say("findings.same_answer", share=share(Estimate(value, high, low, agrees.share.n)))
    if len(texts) > MOST_NAMED:
        gaps = [100 * (report.coherence.probability_gap or 0.0) for report in reports.values() if report.coherence.couples]
        return say("findings.gaps", least=f"{min(gaps):.0f}", most=f"{max(gaps):.0f}")
    return _title(texts, say("findings.coherence_none"), "")


def of_differences(pairs: Sequence[Pair], names: Mapping[str, str]) -> str:
    """Title of paired differences in some accuracies: those that are shown, mastery first; else that none is."""
    significant = sorted((pair for pair in pairs if pair.is_shown), key=lambda pair: pair.metric != MASTERY)
    if not significant:
        scores = [SCORED[name] for name in SCORED if any(pair.metric == name and pair.n for pair in pairs)]
        return say("findings.no_difference", score=" or ".join(filter(None, [", ".join(scores[:-1]), *scores[-1:]])))
    first, rest = significant[: MOST_NAMED - 1], significant[MOST_NAMED - 1 :]
    has_other_mastery = first[0].metric != MASTERY and any(pair.metric == MASTERY for pair in pairs)
    texts = [say("findings.no_difference", score=SCORED[MASTERY])] if has_other_mastery else []
    texts += [_difference(pair, names) for pair in first]
    scores = [*dict.fromkeys(SCORED[pair.metric] for pair in rest)]
    more = say("findings.another" if len(rest) == 1 else "findings.more", n=len(rest), scores=" and ".join(scores))
    return "; ".join([*texts, more] if rest else texts)


def _difference(pair: Pair, names: Mapping[str, str]) -> str:
    pair = pair if (pair.value or 0.0) > 0 else pair.turned()
    bounds = " to ".join(f"{100 * (end or 0.0) + 0.0:.1f}" for end in (pair.low_all, pair.high_all))
    slots = {"a": names[pair.a], "b": names[pair.b], "score": SCORED[pair.metric], "bounds": bounds}
    return say("findings.difference", points=f"{100 * (pair.value or 0.0):.1f}", **slots)


def of_rarity(name: str, view: Rarity) -> str:
    """Title of right answers by frequency of the tail's name."""
    slope = view.by_tail.line.slope
    if slope.value is None or slope.low is None or slope.high is None or slope.low <= 0 <= slope.high:
        return say("findings.rarity_open" if None in slope[:3] else "findings.rarity_none", run=name)
    value, low, high = points(slope.value), points(slope.low), points(slope.high)
    return say("findings.rarity", run=name, how="more" if slope.value > 0 else "less", points=value, low=low, high=high)


# ------------------------------------------------------------------------------------------------ shared


def _pairs(things: Sized) -> int:
    return len(things) * (len(things) - 1) // 2


def _apart(shares: Mapping[str, Estimate], by: str, family: int = 0) -> str:
    """The highest and the lowest share, where they are shown to differ; else "".

    by: words before a group's name. family: number of pairs that are compared; 0 for all pairs of these shares.
    """
    measured = {name: share for name, share in shares.items() if None not in share[:3]}
    most = max(measured, key=lambda name: measured[name].value or 0.0, default="")
    least = min(measured, key=lambda name: measured[name].value or 0.0, default="")
    if len(measured) < 2 or not is_above(measured[most], measured[least], family or _pairs(measured)):
        return ""
    high, low = percent(measured[most].value), percent(measured[least].value)
    return say("groups.apart", by=by, high=high, most=most, low=low, least=least)


def _title(texts: Mapping[str, str], none: str, some: str) -> str:
    """One sentence about several runs. texts: run → what it shows, "" for nothing; none: the sentence where no run shows it;
    some: that where too many do to name them.
    """
    telling = {name: text for name, text in texts.items() if text}
    if not telling or len(texts) > MOST_NAMED:
        in_some = say("findings.in_some_runs", n=len(telling), runs=len(texts), finding=some)
        return in_some if telling else f"{none[:1].upper()}{none[1:]}"
    rest = ", ".join(name for name in texts if name not in telling)
    return "; ".join([*(f"{name}: {text}" for name, text in telling.items()), *([f"{rest}: {none}"] if rest else [])])
