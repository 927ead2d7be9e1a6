"""Verdict of an evaluation, which page, report, terminal and JSON share: its sentences, in the order of `docs/methods.md`."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence

from medfact.assets import pool_language
from medfact.datasets.columns import listed
from medfact.metrics.comparison import OverLanguages
from medfact.metrics.diagnosis import STANDS_OUT
from medfact.metrics.uncertainty import Estimate
from medfact.models import provider_of
from medfact.models.baseline import UNLESS_DENIED
from medfact.models.words_alone import EMBEDDING
from medfact.results.compare import MASTERY, Change, InLanguages, Pair, difference
from medfact.results.compare import language_title as title
from medfact.results.findings import Reports, of_differences
from medfact.results.pressed import loss_in_words
from medfact.results.recall import READ
from medfact.results.report import Report, size_of_defect
from medfact.results.wording import (
    TOO_FEW,
    counted,
    describe_unchecked,
    first_scores,
    in_draws,
    model_name,
    percent,
    score,
    share_of_failing,
    signed_share,
)
from medfact.words import say, sayings

Clause = tuple[str, str, str]
"""Clause about one model, with {it} for its name and {of} for a figure; the clause about several models; and the figure."""


def verdict(
    reports: Reports,
    pairs: Sequence[Pair] = (),
    changes: Sequence[Change] = (),
    languages: Sequence[InLanguages] = (),
) -> str:
    """The verdict of one run or several, in sentences; "" before any answer. Baselines next to a model are left out.

    Args:
        pairs: differences of these runs.
        changes: effects of passages, of runs next to a run without them.
        languages: models that were asked in several languages.
    """
    answered = {name: report for name, report in reports.items() if report.answered}
    answered = {name: report for name, report in answered.items() if not provider_of(report.model).is_rule} or answered
    if not answered:
        return ""
    first = next(iter(first_scores(answered.values())))
    pairs = [pair for pair in pairs if not any({pair.a, pair.b} <= {*group.runs.values()} for group in languages)]
    ranked = dict(sorted(answered.items(), key=lambda item: -(item[1].measure(first).value or 0.0)))
    sentences = list(_merge(ranked, _compare_with_chance, alone=""))
    if first == MASTERY:
        sentences.append(_mastery({"it": next(iter(ranked.values()))} if sentences and len(ranked) == 1 else ranked))
        sentences += _differences(ranked, pairs)
        if sides := "; ".join(_merge(ranked, _compare_with_rules)):
            rules = dict.fromkeys(text for report in ranked.values() for text in _rule_scores(report))
            sentences.append(say("rules.sentence", rules=", ".join(rules), sides=sides))
    else:
        for name, report in ranked.items():
            scores = (f"{measure.heading} {measure.of_report(report)}" for measure in map(score, first_scores([report])))
            sentences.append(f"{name}: {'; '.join(scores)}")
        sentences += _differences(ranked, [pair for pair in pairs if pair.metric == "average_accuracy"])
    defects = {
        good.off.defect for report in ranked.values() if report.stands_out not in STANDS_OUT and (good := report.probabilities)
    }
    sentences += filter(None, ["; ".join(_merge(ranked, lambda report: _failings(report, defects)))])
    sentences += _merge(ranked, lambda report: _conditions(report, changes, languages))
    return " ".join(f"{text if text.startswith(tuple(ranked)) else text[:1].upper() + text[1:]}." for text in sentences)


def rules_of(report: Report) -> dict[str, Mapping[str, float]]:
    """Scores on a run's facts of rules without medical knowledge: baseline → measure → value.

    "True unless denied" is right on all statements of true facts and on none of false facts, if statements are negated in
    English.
    """
    true, false, words = report.positive_accuracy.n, report.negative_accuracy.n, report.words_alone
    has_negations = true and "dn" in report.by_variant and not pool_language(report.pool)
    unless_denied = dict.fromkeys((MASTERY, "average_accuracy"), true / max(true + false, 1))
    unless_denied |= {"pair_joint_accuracy": 0.0} if false else {}
    return {**({UNLESS_DENIED: unless_denied} if has_negations else {}), **({EMBEDDING: words} if words else {})}


def _merge(ranked: Reports, clauses_of: Callable[[Report], Iterable[Clause]], alone: str = "it") -> Iterator[str]:
    """Yields the clauses about each model; equal clauses become one with all figures. alone: name of a single model."""
    every = {len(ranked): f"all {len(ranked)}", 2: "both", 1: alone or next(iter(ranked))}[len(ranked)]
    figures: dict[tuple[str, str], dict[str, str]] = {}
    for name, report in ranked.items():
        for singular, plural, figure in clauses_of(report):
            figures.setdefault((singular, plural), {})[name] = figure
    for clause, by_name in figures.items():
        names = every if len(by_name) == len(ranked) else listed(list(by_name))
        distinct = list(by_name.values())[: None if len({*by_name.values()}) > 1 else 1]
        listing = "; ".join(distinct) if " and " in "".join(distinct) else listed(distinct)
        for thing in (" of facts", " true facts", " false facts"):
            listing = listing if ";" in listing else listing.replace(thing, "", listing.count(thing) - 1)
        yield clause[len(by_name) > 1].format(it=names, of=listing).removeprefix(f"{every}: ")


# ------------------------------------------------------------------------------------------------ clauses


def _clause(name: str, figure: str = "", **slots: object) -> Clause:
    """Clause of `assets/words.yaml` in both numbers."""
    slots |= {"it": "{it}", "of": "{of}"}
    return say(f"verdict.{name}.one", **slots), say(f"verdict.{name}.several", **slots), figure


def _compare_with_chance(report: Report) -> Iterator[Clause]:
    """Yields clauses if right answers are not shown to beat a coin and constant answers, or if replies are unreadable.

    At best, half of the unreadable replies were right.
    """
    average, false = report.average_accuracy, report.false_statements / max(report.statements, 1)
    chance, unreadable = max(false, 1 - false), report.unreadable / report.answered
    if average.low is not None and average.high is not None and average.low + unreadable / 2 <= chance:
        excess = (average.value or 0.0) + unreadable / 2 - chance
        result = "worse" if average.high + unreadable / 2 < chance else "same" if excess < 0.05 else "open"
        constant = say("constant_answer", word="false" if false > 0.5 else "true", share=percent(chance))
        yield _clause(
            "chance_unreadable" if unreadable >= 0.05 else "chance",
            f"{percent(average.value)} ({_bounds(average)})",
            than=f"{sayings('against_chance')[result]} {'a coin' if chance < 0.505 else constant}",
        )
    if unreadable >= 0.05:
        yield _clause("unreadable", percent(unreadable))


def _compare_with_rules(report: Report) -> Iterator[Clause]:
    """Yields a clause on whether mastery is above or below that of rules without medical knowledge."""
    mastery, scores, sides = report.joint_accuracy, rules_of(report), dict[str, list[str]]()
    if provider_of(report.model).is_rule or mastery.low is None or mastery.high is None:
        return
    for rule, by_measure in scores.items():
        side = "below" if mastery.high < by_measure[MASTERY] else "above" if mastery.low > by_measure[MASTERY] else "open"
        sides.setdefault(sayings("rules")[side], []).append(f"“{model_name(rule)}”")
    these = "these" if len(scores) > 1 else "that"
    if sides:
        yield _clause(
            "rules", sides=" and ".join(f"{side} {listed(rules) if len(sides) > 1 else these}" for side, rules in sides.items())
        )


def _rule_scores(report: Report) -> Iterator[str]:
    """Yields the scores of rules without medical knowledge; only the first states the verb and what is counted."""
    masters, of_facts, of_pairs = "masters ", " of facts", " of pairs"
    for rule, scores in rules_of(report).items():
        share = scores.get("pair_joint_accuracy")
        pairs = "" if share is None else f" and {100 * share:.0f}%{of_pairs}" if share else " and no pair"
        yield f"“{model_name(rule)}” {masters}{100 * scores[MASTERY]:.0f}%{of_facts}{pairs}"
        masters = of_facts = of_pairs = ""


def _failings(report: Report, defects: Container[str | None]) -> Iterator[Clause]:
    """Yields the failing that stands out, and a defect of P(True). defects: failings of at least one model."""
    if report.stands_out in STANDS_OUT:
        yield *STANDS_OUT[report.stands_out][2:], share_of_failing(report)
    if (good := report.probabilities) and good.off.defect in defects and good.off.defect and (size := size_of_defect(good)):
        yield _clause(good.off.defect, f"{100 * size:.0f}")


def _conditions(report: Report, changes: Sequence[Change], languages: Sequence[InLanguages]) -> Iterator[Clause]:
    """Yields language, worked examples, pressure, passages, and false facts that nobody checked."""
    language, texts = pool_language(report.pool), []
    if language:
        groups = [group for group in languages if group.runs.get(language) == report.run]
        comparisons = "".join(_compare_with_first(group.figures, language) for group in groups)
        texts.append(f"asked in {title(language)}{comparisons}")
    texts += [f"shown {counted(report.shots, 'worked example')}"] if report.shots else []
    texts += [loss_in_words(report.pressure)] if report.pressure else []
    if effect := next((change.metrics["average_accuracy"] for change in changes if change.with_ == report.run), None):
        effect_name = "more" if (effect.low_all or 0.0) > 0 else "fewer" if (effect.high_all or 0.0) < 0 else "open"
        texts.append(say(f"with_passages.{effect_name}", difference=difference(effect)))
    elif evidence := report.evidence:
        read = "read" if evidence.setting == READ else "related"
        texts.append(say(f"passages_shown.{read}", share=percent(evidence.recall.value)))
    texts += describe_unchecked(report.unchecked.presumed, report.unchecked.false_facts) if report.unchecked else []
    clauses = [f"{{it}}: {text[:1].lower()}{text[1:].rstrip('.')}" for text in texts]
    yield from ((clause, clause, "") for clause in clauses)


def _compare_with_first(spoken: OverLanguages, language: str) -> str:
    """Compares mastery in a language with the model's first language; "" for that language, or without a fact in both."""
    if (less := spoken.less.get(language)) is None or less.value is None:
        return ""
    result = "open" if not less.is_shown else "more" if less.value > 0 else "fewer"
    points = signed_share(Estimate(less.value, less.low_all, less.high_all, less.n))
    shares = f"{percent(less.first)} against {percent(less.second)}, {points}"
    return f", {say(f'in_language.{result}', first=title(spoken.languages[0]), shares=shares)}"


# ------------------------------------------------------------------------------------------------ scores


def _mastery(ranked: Reports) -> str:
    """Mastery of facts and of pairs, the highest first; the verb, the interval's level and equal counts are stated once."""
    clauses, first = list[str](), ""
    for name, report in ranked.items():
        facts, twins = report.joint_accuracy, report.pair_joint_accuracy
        if not facts.n:
            clauses.append(say("no_mastery", it=name))
            continue
        of_facts, of_pairs = (f" of {in_draws(n, thing, report)}" for n, thing in ((facts.n, "fact"), (twins.n, "pair")))
        of_facts, of_pairs = ("", "") if of_facts == first else (of_facts, of_pairs.replace("pair", "true-false pair"))
        pairs = "" if twins.value is None else f" and {100 * twins.value:.0f}%{of_pairs} ({_bounds(twins)})"
        bounds = f"{'' if first or facts.low is None else '95% interval '}{_bounds(facts)}"
        clauses.append(f"{name} {'' if first else 'masters '}{100 * (facts.value or 0.0):.0f}%{of_facts} ({bounds}){pairs}")
        first = first or of_facts
    return ", ".join(clauses)


def _differences(ranked: Reports, pairs: Sequence[Pair]) -> Iterator[str]:
    """Yields the shown differences between these models, only those in mastery if there are any."""
    names = {report.run: name for name, report in ranked.items()}
    if pairs := [pair for pair in pairs if {pair.a, pair.b} <= names.keys()]:
        yield of_differences([pair for pair in pairs if pair.metric == MASTERY and pair.is_shown] or pairs, names)


def _bounds(share: Estimate) -> str:
    return TOO_FEW if share.low is None or share.high is None else f"{100 * share.low:.0f} to {100 * share.high:.0f}"
