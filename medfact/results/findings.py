"""The verdict above results and the titles of figures. Neither claims an order that intervals leave open.

Page, report, terminal and JSON share the verdict; `docs/methods.md` has the order of its sentences.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from math import comb

from medfact.assets import pool_language
from medfact.datasets.columns import listed
from medfact.metrics.averages import FEWEST_FACTS
from medfact.metrics.coherence import NEGATION
from medfact.metrics.comparison import OverLanguages
from medfact.metrics.diagnosis import STANDS_OUT
from medfact.metrics.groupings import GROUPINGS, STATEMENT, VARIANT, Grouping
from medfact.metrics.probability import DEFECTS
from medfact.metrics.uncertainty import Estimate, is_above
from medfact.models import provider_of
from medfact.models.baseline import UNLESS_DENIED
from medfact.models.words_alone import EMBEDDING
from medfact.results.compare import MASTERY, SCORED, Change, InLanguages, Pair
from medfact.results.compare import language_title as title
from medfact.results.pressed import loss_in_words
from medfact.results.rarity import Rarity
from medfact.results.recall import READ
from medfact.results.report import Report, size_of_defect
from medfact.results.wording import (
    TOO_FEW,
    counted,
    describe_unchecked,
    first_scores,
    in_draws,
    model_name,
    nothing_stands_out,
    percent,
    points,
    score,
    share,
    share_of_failing,
    signed_share,
)
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
        largest = _apart(ways, "when asked", 2 * comb(len(ways), 2)) or _apart(polarities, "when", 2)
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
            failing = [clause.format(it="it", of=figure) for clause, _, figure in _failings(report, ())]
            texts[name] = "".join(failing) or DEFECTS.get(report.stands_out or "", "")
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


def _apart(shares: Mapping[str, Estimate], by: str, family: int = 0) -> str:
    """The highest and the lowest share, where they are shown to differ; else "".

    by: words before a group's name. family: number of pairs that are compared; 0 for all pairs of these shares.
    """
    measured = {name: share for name, share in shares.items() if None not in share[:3]}
    most = max(measured, key=lambda name: measured[name].value or 0.0, default="")
    least = min(measured, key=lambda name: measured[name].value or 0.0, default="")
    if len(measured) < 2 or not is_above(measured[most], measured[least], family or comb(len(measured), 2)):
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


# ------------------------------------------------------------------------------------------------ verdict

# Clause about one model, with {it} for its name and {of} for a figure; the clause about several models; and the figure
Clause = tuple[str, str, str]


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
        rules = ", ".join(dict.fromkeys(text for report in ranked.values() for text in _rule_scores(report)))
        sides = "; ".join(_merge(ranked, _compare_with_rules))
        sentences += [say("rules.sentence", rules=rules, sides=sides)] if sides else []
    else:
        for name, report in ranked.items():
            scores = (f"{measure.heading} {measure.of_report(report)}" for measure in map(score, first_scores([report])))
            sentences.append(f"{name}: {'; '.join(scores)}")
        sentences += _differences(ranked, [pair for pair in pairs if pair.metric == "average_accuracy"])
    others = [report.probabilities for report in ranked.values() if report.stands_out not in STANDS_OUT]
    defects = {probabilities.off.defect for probabilities in others if probabilities}
    sentences += filter(None, ["; ".join(_merge(ranked, lambda report: _failings(report, defects)))])
    sentences += _merge(ranked, lambda report: _conditions(report, changes, languages))
    return " ".join(f"{text if text.startswith(tuple(ranked)) else text[:1].upper() + text[1:]}." for text in sentences)


def rules_of(report: Report) -> dict[str, Mapping[str, float]]:
    """Scores on a run's facts of rules without medical knowledge: baseline → measure → value.

    "True unless denied" is right on all statements of true facts and on none of false facts, if statements are negated in
    English.
    """
    true, false = report.positive_accuracy.n, report.negative_accuracy.n
    has_negations = true and "dn" in report.by_variant and not pool_language(report.pool)
    unless_denied = dict.fromkeys((MASTERY, "average_accuracy"), true / max(true + false, 1))
    unless_denied |= {"pair_joint_accuracy": 0.0} if false else {}
    rules = {UNLESS_DENIED: unless_denied if has_negations else None, EMBEDDING: report.words_alone}
    return {rule: scores for rule, scores in rules.items() if scores}


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


# ------------------------------------------------------------------------------------------------ clauses of the verdict


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
        than = f"{say(f'against_chance.{result}')} {'a coin' if chance < 0.505 else constant}"
        name = "chance_unreadable" if unreadable >= 0.05 else "chance"
        yield _clause(name, f"{percent(average.value)} ({_bounds(average)})", than=than)
    if unreadable >= 0.05:
        yield _clause("unreadable", percent(unreadable))


def _compare_with_rules(report: Report) -> Iterator[Clause]:
    """Yields a clause on whether mastery is above or below that of rules without medical knowledge."""
    mastery, sides = report.joint_accuracy, dict[str, list[str]]()
    if provider_of(report.model).is_rule or mastery.low is None or mastery.high is None:
        return
    for rule, scores in rules_of(report).items():
        side = "below" if mastery.high < scores[MASTERY] else "above" if mastery.low > scores[MASTERY] else "open"
        sides.setdefault(say(f"against_rules.{side}"), []).append(f"“{model_name(rule)}”")
    these = {side: listed(rules) if len(sides) > 1 else "these" if len(rules) > 1 else "that" for side, rules in sides.items()}
    if sides:
        yield _clause("rules", sides=" and ".join(map(" ".join, these.items())))


def _rule_scores(report: Report) -> Iterator[str]:
    """Yields the scores of rules without medical knowledge; only the first states the verb and what is counted."""
    for index, (rule, scores) in enumerate(rules_of(report).items()):
        masters, of_facts, of_pairs = ("", "", "") if index else ("masters ", " of facts", " of pairs")
        share = scores.get("pair_joint_accuracy")
        pairs = "" if share is None else f" and {100 * share:.0f}%{of_pairs}" if share else " and no pair"
        yield f"“{model_name(rule)}” {masters}{100 * scores[MASTERY]:.0f}%{of_facts}{pairs}"


def _failings(report: Report, defects: Container[str | None]) -> Iterator[Clause]:
    """Yields the failing that stands out, and a defect of P(True). defects: failings of at least one model."""
    if report.stands_out in STANDS_OUT:
        yield _clause(report.stands_out, share_of_failing(report))
    defect, size = report.probabilities and report.probabilities.off.defect, size_of_defect(report.probabilities)
    if defect and defect in defects and size:
        yield _clause(defect, f"{100 * size:.0f}")


def _conditions(report: Report, changes: Sequence[Change], languages: Sequence[InLanguages]) -> Iterator[Clause]:
    """Yields language, worked examples, pressure, passages, and false facts that nobody checked."""
    language = pool_language(report.pool) or ""
    groups = [group.figures for group in languages if group.runs.get(language) == report.run]
    comparisons = "".join(_compare_with_first(figures, language) for figures in groups)
    texts = [f"asked in {title(language)}{comparisons}"] if language else []
    texts += [f"shown {counted(report.shots, 'worked example')}"] if report.shots else []
    texts += [loss_in_words(report.pressure)] if report.pressure else []
    if effect := next((change.metrics["average_accuracy"] for change in changes if change.with_ == report.run), None):
        effect_name = "more" if (effect.low_all or 0.0) > 0 else "fewer" if (effect.high_all or 0.0) < 0 else "open"
        texts.append(say(f"with_passages.{effect_name}", difference=signed_share(effect.estimate)))
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
    shares = f"{percent(less.first)} against {percent(less.second)}, {signed_share(less.estimate)}"
    return f", {say(f'in_language.{result}', first=title(spoken.languages[0]), shares=shares)}"


# ------------------------------------------------------------------------------------------------ scores in the verdict


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
