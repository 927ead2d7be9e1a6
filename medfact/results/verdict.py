"""The verdict of an evaluation, which page, report, terminal and JSON share: its sentences, in the order of the rules in
`docs/methods.md`.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence

from medfact.assets import pool_language
from medfact.datasets.columns import listed
from medfact.metrics.diagnosis import STANDS_OUT
from medfact.metrics.miscalibration import OVERCONFIDENT, TOO_HIGH, TOO_LOW, UNDERCONFIDENT
from medfact.metrics.over_languages import OverLanguages
from medfact.metrics.uncertainty import Estimate
from medfact.models import provider_of
from medfact.models.baseline import UNLESS_DENIED
from medfact.models.words_alone import EMBEDDING
from medfact.results.compare import MASTERY, Change, Pair, difference
from medfact.results.findings import Reports, of_differences
from medfact.results.languages import InLanguages, title
from medfact.results.pressed import loss_in_words
from medfact.results.recall import READ
from medfact.results.report import Report, size_of_defect
from medfact.results.wording import (
    TOO_FEW,
    counted,
    first_scores,
    in_draws,
    model_name,
    percent,
    score,
    share_of_failing,
    signed_share,
    unchecked_in_words,
)

Clause = tuple[str, str, str]
"""A clause about one model, with {it} for its name and {of} for a figure; the same about several; and the figure."""

OFF = {
    OVERCONFIDENT: ("{it} is overconfident by {of} points", "{it} are overconfident (by {of} points)"),
    UNDERCONFIDENT: ("{it} is underconfident by {of} points", "{it} are underconfident (by {of} points)"),
    TOO_HIGH: ("{it} gives “true” {of} points too much probability", "{it} give “true” too much probability ({of} points)"),
    TOO_LOW: ("{it} gives “true” {of} points too little probability", "{it} give “true” too little probability ({of} points)"),
}
"""Defect of P(True) → clauses about one model and about several."""


def verdict(
    reports: Reports,
    pairs: Sequence[Pair] = (),
    changes: Sequence[Change] = (),
    languages: Sequence[InLanguages] = (),
) -> str:
    """The verdict of one run or several, in sentences; "" before any answer. Baselines beside a model are not told of.

    pairs: differences of these runs. changes: effects of passages, of runs beside one without them. languages: models that were
    asked in several.
    """
    answered = {name: report for name, report in reports.items() if report.answered}
    answered = {name: report for name, report in answered.items() if not provider_of(report.model).is_rule} or answered
    if not answered:
        return ""
    first = next(iter(first_scores(answered.values())))
    pairs = [pair for pair in pairs if not any({pair.a, pair.b} <= {*each.runs.values()} for each in languages)]
    ranked = dict(sorted(answered.items(), key=lambda item: -(item[1].measure(first).value or 0.0)))
    sentences = list(_together(ranked, _against_chance, alone=""))
    if first == MASTERY:
        sentences += _mastery({"it": next(iter(ranked.values()))} if sentences and len(ranked) == 1 else ranked)
        sentences += _difference(ranked, pairs)
        if sides := "; ".join(_together(ranked, _against_rules)):
            rules = dict.fromkeys(text for report in ranked.values() for text in _rules_in_words(report))
            sentences.append(f"without any medicine, {', '.join(rules)}: {sides}")
    else:
        for name, report in ranked.items():
            scores = (f"{shown.heading} {shown.of_report(report)}" for shown in map(score, first_scores([report])))
            sentences.append(f"{name}: {'; '.join(scores)}")
        sentences += _difference(ranked, [pair for pair in pairs if pair.metric == "average_accuracy"])
    defects = {
        good.off.defect for report in ranked.values() if report.stands_out not in STANDS_OUT and (good := report.probabilities)
    }
    sentences += filter(None, ["; ".join(_together(ranked, lambda report: _failings(report, defects)))])
    sentences += _together(ranked, lambda report: _chosen(report, changes, languages))
    return " ".join(f"{text if text.startswith(tuple(ranked)) else text[:1].upper() + text[1:]}." for text in sentences)


def rules_of(report: Report) -> dict[str, Mapping[str, float]]:
    """Scores of rules that know no medicine on the facts of a run: the baseline's spec → measure → its value. “True unless
    denied” is right on all statements of true facts and on none of false ones, where English statements are denied.
    """
    true, false, words = report.positive_accuracy.n, report.negative_accuracy.n, report.words_alone
    is_denied = true and "dn" in report.by_variant and not pool_language(report.pool)
    unless_denied = dict.fromkeys((MASTERY, "average_accuracy"), true / max(true + false, 1))
    unless_denied |= {"pair_joint_accuracy": 0.0} if false else {}
    return {**({UNLESS_DENIED: unless_denied} if is_denied else {}), **({EMBEDDING: words} if words else {})}


def _together(ranked: Reports, clauses_of: Callable[[Report], Iterable[Clause]], alone: str = "it") -> Iterator[str]:
    """The clauses about each model; those that are the same, but for their figures, are one. alone: the only model's name."""
    each = [(clause[:2], name, clause[2]) for name, report in ranked.items() for clause in clauses_of(report)]
    every = {len(ranked): f"all {len(ranked)}", 2: "both", 1: alone or next(iter(ranked))}[len(ranked)]
    for clauses in dict.fromkeys(words for words, *_ in each):
        figures = {name: figure for words, name, figure in each if words == clauses}
        names = every if len(figures) == len(ranked) else listed(list(figures))
        each_once = list(figures.values())[: None if len(set(figures.values())) > 1 else 1]
        listing = "; ".join(each_once) if " and " in "".join(each_once) else listed(each_once)
        for thing in (" of facts", " true facts", " false facts"):
            listing = listing if ";" in listing else listing.replace(thing, "", listing.count(thing) - 1)
        yield clauses[len(figures) > 1].format(it=names, of=listing).removeprefix(f"{every}: ")


# ------------------------------------------------------------------------------------------------ clauses


def _against_chance(report: Report) -> Iterator[Clause]:
    """Right answers that are not shown to be better than a coin, or than the one answer that is right more often; replies
    that cannot be read, which may have been right as often as not.
    """
    average, false = report.average_accuracy, report.false_statements / max(report.statements, 1)
    word, chance = ("false", false) if false > 0.5 else ("true", 1 - false)
    unreadable, rule = report.unreadable / report.answered, f"always saying “{word}” ({percent(chance)})"
    even = " even when unreadable replies count half" if unreadable >= 0.05 else ""
    if average.low is not None and average.high is not None and average.low + unreadable / 2 <= chance:
        excess = (average.value or 0.0) + unreadable / 2 - chance
        how = "worse" if average.high + unreadable / 2 < chance else "no better" if excess < 0.05 else "not shown to be better"
        words = f"{how} than {'a coin' if chance < 0.505 else rule}{even}, right on {{of}} of statements"
        yield f"{{it}} is {words}", f"{{it}} are {words}", f"{percent(average.value)} ({_bounds(average)})"
    if unreadable >= 0.05:
        words = "{of} of the replies of {it} cannot be read, and count as wrong"
        yield words, words, percent(unreadable)


def _against_rules(report: Report) -> Iterator[Clause]:
    """On which side of rules that know no medicine the facts mastered are."""
    mastery, rules_known, sides = report.joint_accuracy, rules_of(report), dict[str, list[str]]()
    if provider_of(report.model).is_rule or not rules_known or mastery.low is None or mastery.high is None:
        return
    for rule, scores in rules_known.items():
        share = scores[MASTERY]
        side = "below" if mastery.high < share else "above" if mastery.low > share else "not shown to differ from"
        sides.setdefault(side, []).append(f"“{model_name(rule)}”")
    words = " and ".join(
        f"{side} {listed(rules) if len(sides) > 1 else 'these' if len(rules) > 1 else 'that'}" for side, rules in sides.items()
    )
    yield f"{{it}} is {words}", f"{{it}} are {words}", ""


def _rules_in_words(report: Report) -> Iterator[str]:
    verb, of_facts, of_pairs = "masters ", " of facts", " of pairs"
    for rule, scores in rules_of(report).items():
        pairs = scores.get("pair_joint_accuracy")
        both = "" if pairs is None else f" and {100 * pairs:.0f}%{of_pairs}" if pairs else " and no pair"
        yield f"“{model_name(rule)}” {verb}{100 * scores[MASTERY]:.0f}%{of_facts}{both}"
        verb = of_facts = of_pairs = ""


def _failings(report: Report, defects: Container[str | None]) -> Iterator[Clause]:
    """The failing of the answers that stands out, or else that of P(True).

    defects: those of P(True) that are named of some model, and so of each that has them.
    """
    if report.stands_out in STANDS_OUT:
        yield *STANDS_OUT[report.stands_out][2:], share_of_failing(report)
    if (good := report.probabilities) and good.off.defect in defects and good.off.defect and (size := size_of_defect(good)):
        yield *OFF[good.off.defect], f"{100 * size:.0f}"


def _chosen(report: Report, changes: Sequence[Change], languages: Sequence[InLanguages]) -> Iterator[Clause]:
    """Language, worked examples, passages and pushes, and false facts that nobody checked."""
    language = pool_language(report.pool)
    beside = "".join(_beside_another(each.figures, language) for each in languages if each.runs.get(language) == report.run)
    texts = [f"asked in {title(language)}{beside}"] if language else []
    texts += [f"shown {counted(report.shots, 'worked example')}"] if report.shots else []
    texts += [loss_in_words(report.pressure)] if report.pressure else []
    if effect := next((change.metrics["average_accuracy"] for change in changes if change.with_ == report.run), None):
        low, high = effect.low_all or 0.0, effect.high_all or 0.0
        verb = "add to" if low > 0 else "take from" if high < 0 else "are not shown to change"
        texts.append(f"passages {verb} its right answers: {difference(effect)}")
    elif evidence := report.evidence:
        held = f"held the fact for {percent(evidence.recall.value)} of statements about true facts"
        texts.append(f"passages {held if evidence.setting == READ else 'that do not contain the answer were shown'}")
    texts += unchecked_in_words(report.unchecked.presumed, report.unchecked.false_facts) if report.unchecked else []
    clauses = [f"{{it}}: {text[:1].lower()}{text[1:].rstrip('.')}" for text in texts]
    yield from ((clause, clause, "") for clause in clauses)


def _beside_another(spoken: OverLanguages, language: str) -> str:
    """Facts mastered in a language beside the first language of the same model; "" for that one, or without a fact in both."""
    if (less := spoken.less.get(language)) is None or less.value is None:
        return ""
    verb = f"masters {'more' if less.value > 0 else 'fewer'}" if less.is_shown else "is not shown to master more or fewer"
    points = signed_share(Estimate(less.value, less.low_all, less.high_all, less.n))
    than = f"facts than in {title(spoken.languages[0])}: {percent(less.first)} against {percent(less.second)}"
    return f", it {verb} {than}, {points}"


# ------------------------------------------------------------------------------------------------ scores


def _mastery(ranked: Reports) -> Iterator[str]:
    """Mastery of facts and of pairs, the highest first."""
    clauses, first = list[str](), ""
    for name, report in ranked.items():
        facts, twins = report.joint_accuracy, report.pair_joint_accuracy
        counts = f" of {in_draws(facts.n, 'fact', report)}", f" of {in_draws(twins.n, 'pair', report)}"
        of_facts, of_pairs = ("", "") if counts[0] == first else (counts[0], counts[1].replace("pair", "true-false pair"))
        both = "" if twins.value is None else f" and {100 * twins.value:.0f}%{of_pairs} ({_bounds(twins)})"
        bounds = f"{'' if first or facts.low is None else '95% interval '}{_bounds(facts)}"
        share = f"{'' if first else 'masters '}{100 * (facts.value or 0.0):.0f}%{of_facts} ({bounds}){both}"
        clauses.append(f"{name} {share if facts.n else 'has no fact with all its answers yet'}")
        first = first or (counts[0] if facts.n else "")
    yield ", ".join(clauses)


def _difference(ranked: Reports, pairs: Sequence[Pair]) -> Iterator[str]:
    """Which model has more, where that is shown; mastery alone, where it is shown to differ."""
    names = {report.run: name for name, report in ranked.items()}
    if known := [pair for pair in pairs if {pair.a, pair.b} <= names.keys()]:
        yield of_differences([pair for pair in known if pair.metric == MASTERY and pair.is_shown] or known, names)


def _bounds(share: Estimate) -> str:
    return TOO_FEW if share.low is None or share.high is None else f"{100 * share.low:.0f} to {100 * share.high:.0f}"
