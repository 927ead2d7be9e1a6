"""Wording of results for every interface: formats of numbers, names, states and outcomes, and remarks beside scores."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import chain
from pathlib import PurePath
from typing import NamedTuple

from medfact.assets import language_names
from medfact.facts import Fact
from medfact.metrics import FAILED, PENDING, UNREADABLE
from medfact.metrics.diagnosis import FEWEST_FACTS, STANDS_OUT
from medfact.metrics.measures import MEASURES, Measure
from medfact.metrics.records import THESE
from medfact.metrics.uncertainty import Estimate
from medfact.models import provider_of
from medfact.prototypes import load_pool, pool_names
from medfact.results.report import Report
from medfact.runs.gating import CHECK_DECIDED
from medfact.spec import NO_RETRIEVAL, PROTOCOLS
from medfact.statements import ABSENT as ABSENT
from medfact.statements import VARIANTS
from medfact.store import DECIDED, FAILED_RUN, RESUMABLE, STOPPED, Answer, Asked, Run
from medfact.words import say, sayings

NO_VALUE = "no value"
TOO_FEW = "too few diseases to say"  # in place of an interval of fewer than ten heads
MINUS = "−"

# ------------------------------------------------------------------------------------------------ numbers


def count(number: int) -> str:
    """12345 → "12,345"."""
    return f"{number:,}"


def counted(number: int, thing: str) -> str:
    """(1, "run") → "1 run"; (2, "more run") → "2 more runs"; (2, "pair of runs") → "2 pairs of runs"."""
    name, *rest = re.split("(?= of | about )", thing, maxsplit=1)
    return f"{number:,} {name}{'' if number == 1 else 's'}{''.join(rest)}"


def percent(share: float | None) -> str:
    """0.535 → "53.5%"; −0.006 → "−0.6%"; −0.0004 → "0.0%"."""
    return NO_VALUE if share is None else f"{round(100 * share, 1) + 0.0:.1f}%".replace("-", MINUS)


def points(difference: float) -> str:
    """0.033 → "+3.3"; −0.033 → "−3.3"; 0 → "0.0"."""
    return f"{round(100 * difference, 1) + 0.0:+.1f}".replace("-", MINUS).replace("+0.0", "0.0")


def signed_decimals(value: float, digits: int = 3) -> str:
    """0.12 → "+0.120"; −0.12 → "−0.120"."""
    return f"{value:+.{digits}f}".replace("-", MINUS)


def interval(estimate: Estimate) -> str:
    """95% interval of a share: "50.1–56.9%"; "too few diseases to say" if it has none."""
    return TOO_FEW if estimate.low is None or estimate.high is None else f"{100 * estimate.low:.1f}–{100 * estimate.high:.1f}%"


def bounds_in_points(low: float | None, high: float | None) -> str:
    """Interval of a difference: "+1.0 to +5.4"; "too few diseases to say" without bounds."""
    return TOO_FEW if low is None or high is None else f"{points(low)} to {points(high)}"


def share(estimate: Estimate) -> str:
    """Share with its interval: "61.2% (55.0–67.4%)"; "no value" if it has none."""
    return NO_VALUE if estimate.value is None else f"{percent(estimate.value)} ({interval(estimate)})"


def signed_share(estimate: Estimate) -> str:
    """Difference of shares with its interval: "−1.7 points (−6.9 to +3.5)"; "no value" if it has none."""
    value, low, high, _ = estimate
    return NO_VALUE if value is None else f"{points(value)} points ({bounds_in_points(low, high)})"


def plain_value(estimate: Estimate) -> str:
    """Value that is not a share, such as a Brier score, with its interval: "0.183 (0.171–0.195)"."""
    bounds = TOO_FEW if estimate.low is None or estimate.high is None else f"{estimate.low:.3f}–{estimate.high:.3f}"
    return NO_VALUE if estimate.value is None else f"{estimate.value:.3f} ({bounds})"


def in_draws(number: int, thing: str, report: Report) -> str:
    """Number of things behind a figure; facts and pairs count once for each draw of demonstrations.

    30 facts of three draws → "10 facts in 3 draws".
    """
    draws = report.shot_draws if thing in {"fact", "pair"} else 1
    if draws > 1 and report.answered == report.statements and number % draws == 0:
        return f"{counted(number // draws, thing)} in {draws} draws"
    return f"{counted(number, thing)}{f', each of {draws} draws counted' if draws > 1 else ''}"


def duration(seconds: float) -> str:
    """125 → "2 min 5 s"; 0.2 → "less than 1 s"."""
    minutes, left = divmod(round(seconds), 60)
    short = f"{minutes} min {left} s" if minutes else f"{left} s" if seconds >= 0.5 else "less than 1 s"
    return f"{minutes // 60:,} h {minutes % 60} min" if minutes >= 60 else short


def date(moment: str) -> str:
    """ISO date and time → "23 Nov 2026, 02:08"; any other text unchanged."""
    try:
        at = datetime.fromisoformat(moment)
    except ValueError:
        return moment
    return f"{at.day} {at:%b %Y, %H:%M}"


def shortened(text: str, most: int = 60) -> str:
    """Text cut to a number of characters, "…" included."""
    return text if len(text) <= most else f"{text[: most - 1]}…"


# ------------------------------------------------------------------------------------------------ names

FROM_FILE = "from a file"  # mark of figures that were not measured here: anybody may have written the file

_BIDI_MARKS = dict.fromkeys(map(ord, "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"))

_COLUMN = re.compile(r"(?:'[^']*'|“[^”]*(?:”|\Z))|\b(head|tail)(s?)\b")


def with_plain_columns(message: str) -> str:
    """Replaces "head" and "tail" in a message about a file of facts by the page's names, except in quoted text."""
    names = {"head": "condition", "tail": "finding"}
    return _COLUMN.sub(lambda match: f"{names[match[1]]}{match[2]}" if match[1] else match[0], message)


def model_name(spec: str) -> str:
    """Name of a model: the last part of a folder or repository, a service's model, the title of a baseline."""
    return provider_of(spec).title_of(spec)


def marked(name: str, imported: bool) -> str:
    """Adds the mark of a run from a file, which no character of the name can hide."""
    return f"{' '.join(name.translate(_BIDI_MARKS).split())} ({FROM_FILE})" if imported else name


def own_name(run: Run) -> str:
    """Name that its owner gave a run, else its model's; without the mark of a run from a file."""
    return run.name or model_name(run.model)


def run_name(run: Run, max_length: int | None = None) -> str:
    """Name of a run, with the mark of a run from a file; a longer name is cut before the mark."""
    return marked(shortened(own_name(run), max_length) if max_length else own_name(run), run.imported)


def model_of(report: Report) -> str:
    """Name of a report's model, with the mark of a run from a file."""
    return marked(model_name(report.model), report.imported)


def names_of_runs(runs: Sequence[Run]) -> list[str]:
    """Distinct names of runs. Equal names get the first traits that differ, such as the language, or else the run's id."""
    names = [own_name(run) for run in runs]
    for traits in zip(*map(_traits, runs), strict=True):
        counts = Counter(names) if len(set(traits)) > 1 else Counter()
        names = [f"{name}{trait}" if counts[name] > 1 else name for name, trait in zip(names, traits, strict=True)]
    return [marked(name, run.imported) for name, run in zip(names, runs, strict=True)]


def _traits(run: Run) -> Iterator[str]:
    """Traits that tell two runs of a model apart, as they follow its name. The last is the beginning of the run's id."""
    spec, texts = run.spec, sayings("run_trait")
    sentences = "rephrased" if spec.writer else "origin" if run.pool == "origin" else "templates"
    passages = f"{spec.retrieval} {texts['related' if spec.leave_out else 'passages']}"
    traits = (
        language_names().get(spec.asked_in, spec.asked_in),
        texts["llmeval" if run.pool == "llmeval" else sentences],
        texts["no_passages"] if spec.retrieval == NO_RETRIEVAL else passages,
        counted(run.shots, "worked example") if run.shots else "",
        texts["pressure"] if spec.pressure else "",
        f"effort {spec.effort}" if spec.effort else texts["default_effort"],
        texts["stated" if spec.stated else "not_stated"],
    )
    return chain((f", {trait}" if trait else "" for trait in traits), [f" ({run.run[:8]})"])


def title_of_runs(runs: Sequence[Run]) -> str:
    """Title of a page or file about runs: their names and data sets."""
    names = [shortened(name, 30) for name in names_of_runs(runs)]
    models = ", ".join(names) if len(names) <= 3 else f"{names[0]} and {len(names) - 1} more"
    return f"{models} on {' and '.join(dict.fromkeys(run.dataset for run in runs))}"


def pool_title(pool: str) -> str:
    """Title of a bundled pool; the name of any other, which may be any text."""
    return load_pool(pool).title if pool in pool_names() else PurePath(pool).name


def describe_source(source: str) -> str:
    """Describes the source of a run's P(True), which may be any text in an imported run."""
    return sayings("probability_source").get(source.replace(" ", "_"), say("probability_source.unknown"))


# ------------------------------------------------------------------------------------------------ states and outcomes

STATES = sayings("state")  # state of a run → its description


def describe_state(state: str, reason: str | None) -> str:
    """Describes a run's state. A failed run has a short reason if there is one; a reason to stop rules out "by hand"."""
    causes = [short for words, short in sayings("failure").items() if words in (reason or "") and state == FAILED_RUN]
    is_check = state == DECIDED and (reason or "").startswith(CHECK_DECIDED)
    name = "check_decided" if is_check else "stopped_for_reason" if state == STOPPED and reason else state
    return ": ".join([STATES[name], *causes[:1]])


def describe_ending(state: str, reason: str | None) -> str:
    """Warns readers of scores that a run did not ask everything; "" if it did, or is running."""
    if state == DECIDED:
        ending = "check" if (reason or "").startswith(CHECK_DECIDED) else "race"
        return f"{reason or ''} {say('ending.early', ending=ending)}".strip()
    return reason or (say("ending.by_hand") if state == STOPPED else "") if state in RESUMABLE else ""


class Fate(NamedTuple):
    """Outcome of a statement."""

    name: str  # that of its colour
    glyph: str  # so that colour is never the only sign
    plain: str


FATES = {
    code: Fate(name, glyph, sayings("fate")[name])
    for code, glyph, name in (
        (1, "✓", "right"),
        (0, "✗", "wrong"),
        (UNREADABLE, "?", "unreadable"),
        (FAILED, "!", "failed"),
        (PENDING, "·", "pending"),
        (ABSENT, "–", "absent"),
    )
}


def fate(item: Asked) -> Fate:
    """Outcome of a statement of a run."""
    answer = item.answer
    if answer is None or answer.failure is not None:
        return FATES[PENDING if answer is None else FAILED]
    return FATES[UNREADABLE if answer.answer is None else int(answer.answer == item.statement.label)]


FALSE_MARK = "FALSE (test statement)"  # of every false fact and statement


def describe_label(label: bool, presumed: bool | None = None) -> str:
    """Describes the label of a fact or statement. presumed: nobody has checked it (`Fact.presumed`)."""
    text = "true" if label else FALSE_MARK
    return f"{'presumed' if label else 'PRESUMED'} {text}" if presumed else text


def label_of(fact: Fact) -> str:
    """Describes the label of a fact."""
    return describe_label(fact.positive, fact.presumed)


def describe_unchecked(presumed: int, false: int) -> list[str]:
    """States in a sentence that nobody has checked some of the false facts; empty if all were checked."""
    return [say("unchecked", presumed=count(presumed), facts=counted(false, "false fact"))] if presumed else []


def describe_unchecked_facts(facts: Iterable[Fact]) -> list[str]:
    """States in a sentence that nobody has checked some of these facts' false ones; empty if all were checked."""
    presumed = [bool(fact.presumed) for fact in facts if not fact.positive]
    return describe_unchecked(sum(presumed), len(presumed))


def describe_answer(item: Asked) -> str:
    """Describes a model's answer to a statement in a sentence."""
    answer, outcome = item.answer, fate(item).name
    if answer is None or outcome == "failed":
        return say(f"answer.{outcome}", failure=answer and answer.failure)
    if outcome == "unreadable":
        return sayings("unreadable").get(answer.cut or "", say("unreadable.unclear"))
    return f"says {'true' if answer.answer else 'false'}: {outcome}"


def describe_probability(answer: Answer | None, source: str = "") -> str:
    """Describes the model's P(True); "" if it is unknown. source: where it comes from, as a run records it."""
    if answer is None or answer.p_true is None:
        return ""
    if answer.p_low is not None and answer.p_high is not None:
        return f"probability of true about {answer.p_true:.3f}, between {answer.p_low:.3f} and {answer.p_high:.3f}"
    origins = {"repeats": " (from repeated answers)", "stated": f" (stated: “{shortened(answer.stated or '', 30)}”)"}
    return f"probability of true {answer.p_true:.3f}{origins.get(source, '')}"


# ------------------------------------------------------------------------------------------------ scores


@dataclass(frozen=True)
class Score(Measure):
    """A registered measure with formats for a report's value and a fair coin's."""

    @property
    def term(self) -> str:
        """The papers' term for the measure, if its heading does not contain it."""
        term = self.explained.partition(":")[0]
        return "" if term in self.heading else term

    def of_report(self, report: Report) -> str:
        """Formats the score of a report with its interval."""
        return (signed_share if self.signed else share)(report.measure(self.name))

    def of_coin(self, chance: Mapping[str, float | None]) -> float | None:
        """Expected score of a fair coin; None if it is unknown."""
        return chance[self.name] if callable(self.coin) else self.coin

    def by_chance(self, chance: Mapping[str, float | None]) -> str:
        """Formats the expected score of a fair coin."""
        value = self.of_coin(chance)
        odds = f" (1 in {round(1 / value):,})" if value not in (None, 0.0, 0.5) else ""
        return NO_VALUE if value is None else f"{100 * value:.2g}%{odds}"


def score(name: str, ways: int = 0) -> Score:
    """A score with its heading. ways: number of statements about a fact; 0 if the runs differ."""
    all_right = {0: MEASURES[name].heading, 1: "the one way right", 8: "all eight right"}.get(ways, f"all {ways} right")
    return Score(**{**vars(MEASURES[name]), **({"heading": all_right} if name == "joint_accuracy" else {})})


def first_scores(reports: Iterable[Report]) -> dict[str, list[Report]]:
    """Headline scores of these runs' methods, mastery first, then the measures shown of every run; each with its runs."""
    scores: dict[str, list[Report]] = {}
    for report in reports:
        headlines = sorted(PROTOCOLS[report.protocol].headline_metrics, key=lambda name: name != "joint_accuracy")
        for name in [*headlines, *(measure.name for measure in MEASURES.values() if measure.always)]:
            scores.setdefault(name, []).append(report)
    return scores


def headlines(reports: Iterable[Report]) -> list[str]:
    """Scores of these runs' methods for places with room for few."""
    return list(dict.fromkeys(name for report in reports for name in PROTOCOLS[report.protocol].summary_metrics))


def ways_of(reports: Iterable[Report]) -> int:
    """Number of statements that these runs ask about a fact; 0 if they differ."""
    ways = {len(report.by_variant) for report in reports}
    return ways.pop() if len(ways) == 1 else 0


def share_of_failing(report: Report) -> str:
    """Facts that show the failing that stands out: "20% of facts"; "62 of 100 false facts" if true and false facts differ."""
    in_true, in_false = STANDS_OUT[report.stands_out or ""]
    diagnoses = report.diagnosis.by_name if report.diagnosis else {}
    true = {name: diagnosed.true_facts for name, diagnosed in diagnoses.items()}
    false = {name: diagnosed.false_facts for name, diagnosed in diagnoses.items()}
    if in_true == in_false:
        return f"{100 * (true[in_true] + false[in_false]) / sum([*true.values(), *false.values()]):.0f}% of facts"
    sides = (true.get(in_true, 0), sum(true.values()), "true fact"), (false.get(in_false, 0), sum(false.values()), "false fact")
    return " and ".join(f"{'all' if n == total else f'{n} of'} {counted(total, kind)}" for n, total, kind in sides if n)


def nothing_stands_out(reports: Iterable[Report]) -> str:
    """States that no failing stands out, or that there are too few facts to say."""
    diagnoses = [report.diagnosis for report in reports if report.diagnosis]
    if diagnoses and all(part.share.low is None for diagnosis in diagnoses for part in diagnosis.by_name.values()):
        return say("failing.few_diseases")
    is_few = diagnoses and all(diagnosis.facts < FEWEST_FACTS for diagnosis in diagnoses)
    return say("failing.few" if is_few else "failing.none", facts=FEWEST_FACTS)


# ------------------------------------------------------------------------------------------------ remarks


def settings(report: Report) -> list[str]:
    """Facts, method, sentences, worked examples and seed of a run."""
    draws = f" in {report.shot_draws} draws" if report.shot_draws > 1 else ""
    shots = f"{counted(report.shots, 'worked example') if report.shots else 'no worked examples'}{draws}"
    return [report.dataset, report.method, f"sentences: {pool_title(report.pool)}", shots, f"seed {report.seed}"]


def shared_settings(reports: Sequence[Report]) -> str:
    """States the settings that all runs share, and if they differ in others."""
    columns = [set(texts) for texts in zip(*map(settings, reports), strict=True)]
    shared = "; ".join(text for texts in columns if len(texts) == 1 for text in texts)
    other = say("settings.other") if any(len(texts) > 1 for texts in columns) else ""
    return f"{say('settings.shared', settings=shared) if shared else ''} {other}".strip()


def about_intervals(reports: Sequence[Report]) -> str:
    """States what the intervals of reports with one estimand generalise to."""
    first, draws = reports[0], max(report.shot_draws for report in reports)
    population = first.population or first.true_facts
    scope = "like" if first.estimand != THESE else "all" if first.true_facts >= population and draws == 1 else "drawn"
    text = say(f"intervals.{scope}", asked=count(first.true_facts), facts=counted(population, "true fact"))
    has_examples = draws > 1 or any(report.shots for report in reports)
    return (
        f"{text} {say('interval_draws.several' if draws > 1 else 'interval_draws.one', draws=draws)}" if has_examples else text
    )


def false_on_purpose(reports: Iterable[Report]) -> str:
    """States the share of false statements: "75% of the statements are false on purpose."."""
    shares = sorted({round(100 * report.false_statements / report.statements) for report in reports if report.statements})
    ends = dict.fromkeys(f"{share}%" for share in shares[:1] + shares[-1:]) or ["Some"]
    return say("false_on_purpose", share=" to ".join(ends))


def remarks(report: Report) -> list[str]:
    """Remarks on a run beside the notes that it recorded: on its worked examples, its labels and its unchecked facts."""
    remarks = [say("remark.plain_examples")] if report.shots_rephrased is False else []
    if (labelled := report.well_labelled) and labelled.forms:
        average, joint, pair = labelled.average_accuracy, labelled.joint_accuracy, labelled.pair_joint_accuracy
        label = say(
            "remark.labels",
            statements=counted(labelled.statements, "statement"),
            forms=", ".join(key for key in VARIANTS if any(key in forms for forms in labelled.forms.values())),
            relations="; ".join(f"{name}: {', '.join(forms)}" for name, forms in labelled.forms.items()),
            average=f"{share(average)} of {counted(average.n, 'statement')}",
            joint=f"{share(joint)} of {counted(joint.n, 'fact')}",
            pair=f"{share(pair)} of {counted(pair.n, 'pair')}",
        )
        remarks.append(label)
    if report.unchecked:
        unchecked = describe_unchecked(report.unchecked.presumed, report.unchecked.false_facts)
        remarks += [f"{sentence} {say('remark.unchecked')}" for sentence in unchecked]
    return remarks
