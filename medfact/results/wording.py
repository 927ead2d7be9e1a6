"""How results are put into words, once for the page, the command line and reports: names, states, fates, ways of asking,
numbers, and what is remarked wherever scores stand."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import PurePath

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
from medfact.store import (
    COMPLETE,
    DECIDED,
    FAILED_RUN,
    INTERRUPTED,
    PAUSED,
    RESUMABLE,
    RUNNING,
    STOPPED,
    WAITING,
    Answer,
    Asked,
    Run,
)

NO_VALUE = "no value"
TOO_FEW = "too few diseases to say"
"""What stands in place of an interval: under ten heads nothing is known of others."""
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
    """0.535 → "53.5%"; −0.006 → "−0.6%"."""
    return NO_VALUE if share is None else f"{_tenths(share):.1f}%".replace("-", MINUS)


def points(difference: float) -> str:
    """0.033 → "+3.3"; −0.033 → "−3.3"; 0 → "0.0"."""
    return f"{_tenths(difference):+.1f}".replace("-", MINUS).replace("+0.0", "0.0")


def _tenths(share: float) -> float:
    """A share in points, to a tenth; never −0.0."""
    return round(100 * share, 1) + 0.0


def interval(estimate: Estimate) -> str:
    """The 95% interval of a share: "50.1–56.9%"; "too few diseases to say" where there is none."""
    if estimate.low is None or estimate.high is None:
        return TOO_FEW
    return f"{100 * estimate.low:.1f}–{100 * estimate.high:.1f}%"


def share(estimate: Estimate) -> str:
    """A share with its interval: "61.2% (55.0–67.4%)"; "no value" where there is none."""
    return NO_VALUE if estimate.value is None else f"{percent(estimate.value)} ({interval(estimate)})"


def signed_share(estimate: Estimate) -> str:
    """A difference of shares with its interval: "−1.7 points (−6.9 to +3.5)"; "no value" where there is none."""
    if estimate.value is None:
        return NO_VALUE
    return f"{points(estimate.value)} points ({bounds_in_points(estimate.low, estimate.high)})"


def plain_value(estimate: Estimate) -> str:
    """What is no share of anything, such as a Brier score, with its interval: "0.183 (0.171–0.195)"."""
    if estimate.value is None:
        return NO_VALUE
    bounds = TOO_FEW if estimate.low is None or estimate.high is None else f"{estimate.low:.3f}–{estimate.high:.3f}"
    return f"{estimate.value:.3f} ({bounds})"


def about_intervals(reports: Sequence[Report]) -> str:
    """What the intervals of reports are about, in a sentence or two; they share an estimand."""
    first = reports[0]
    if first.estimand == THESE:
        asked, of = first.true_facts, first.population or first.true_facts
        whole = asked >= of and not any(report.shot_draws > 1 for report in reports)
        drawn = (
            "all were asked, so there is no sampling error"
            if whole
            else f"{count(asked)} of {counted(of, 'true fact')} were asked"
        )
        about = f"hold for only these facts: {drawn}"
    else:
        about = "generalise to similar facts: other diseases and findings of these kinds"
    draws = max(report.shot_draws for report in reports)
    shown = any(report.shots for report in reports)
    hold = f"cover {draws} draws of worked examples" if draws > 1 else "hold for this draw of worked examples" if shown else ""
    return f"The 95% intervals {about}. {f'They {hold}.' if hold else ''}".strip()


def share_of_failing(report: Report) -> str:
    """How many facts show the failing that stands out: "20% of facts"; "62 of 100 false facts" where the two kinds differ."""
    in_true, in_false, *_ = STANDS_OUT[report.stands_out or ""]
    of = report.diagnosis.by_name if report.diagnosis else {}
    true, false = sum(each.true_facts for each in of.values()), sum(each.false_facts for each in of.values())
    if in_true == in_false:
        return f"{100 * (of[in_true].true_facts + of[in_true].false_facts) / (true + false):.0f}% of facts"
    sides = [(of[in_true].true_facts, true, "true")] if in_true else []
    sides += [(of[in_false].false_facts, false, "false")] if in_false else []
    return " and ".join(
        f"{'all' if n == every else f'{n} of'} {counted(every, f'{kind} fact')}" for n, every, kind in sides if n
    )


def nothing_stands_out(reports: Iterable[Report]) -> str:
    """That no failing stands out, or that there is too little to say."""
    found = [report.diagnosis for report in reports if report.diagnosis]
    if found and all(one.share.low is None for diagnosis in found for one in diagnosis.by_name.values()):
        return f"{TOO_FEW} what stands out"
    few = bool(found) and all(one.facts < FEWEST_FACTS for one in found)
    return f"under {FEWEST_FACTS} facts: too few to say what stands out" if few else "no single failing stands out"


def bounds_in_points(low: float | None, high: float | None) -> str:
    """The interval of a difference: "+1.0 to +5.4"; why there is none."""
    return TOO_FEW if low is None or high is None else f"{points(low)} to {points(high)}"


def signed_decimals(value: float, digits: int = 3) -> str:
    """0.12 → "+0.120"; −0.12 → "−0.120"."""
    return f"{value:+.{digits}f}".replace("-", MINUS)


def in_draws(number: int, thing: str, report: Report) -> str:
    """What a figure counts. Facts and pairs count once for each draw of demonstrations: 30 facts of three draws → "10 facts in
    3 draws"."""
    draws = report.shot_draws
    if draws < 2 or thing not in {"fact", "pair"}:
        return counted(number, thing)
    if report.answered == report.statements and number % draws == 0:
        return f"{counted(number // draws, thing)} in {draws} draws"
    return f"{counted(number, thing)}, each of {draws} draws counted"


def duration(seconds: float) -> str:
    """125 → "2 min 5 s"; 0.2 → "less than 1 s"."""
    if seconds < 0.5:
        return "less than 1 s"
    hours, rest = divmod(round(seconds), 3600)
    minutes, left = divmod(rest, 60)
    if hours:
        return f"{hours:,} h {minutes} min"
    return f"{minutes} min {left} s" if minutes else f"{left} s"


def date(moment: str) -> str:
    """An ISO date and time → "23 Nov 2026, 02:08"; what is none, as it is."""
    try:
        at = datetime.fromisoformat(moment)
    except ValueError:
        return moment
    return f"{at.day} {at:%b %Y, %H:%M}"


# ------------------------------------------------------------------------------------------------ names


def model_name(spec: str) -> str:
    """What to call a model: the last part of a folder or repository, a service's own name, a baseline in words."""
    return provider_of(spec).title_of(spec)


_COLUMN_WORDS = {"head": "condition", "tail": "finding", "heads": "conditions", "tails": "findings"}
_COLUMN_WORD = re.compile(r"(?:'[^']*'|“[^”]*(?:”|\Z))|\b(heads?|tails?)\b")


def in_plain_words(message: str) -> str:
    """A sentence about a file of facts for the page: the head and the tail of a fact are the condition and the finding there.
    What is quoted is the file's own.
    """
    return _COLUMN_WORD.sub(lambda found: _COLUMN_WORDS[found[1]] if found[1] else found[0], message)


FROM_FILE = "from a file"
"""What is said wherever figures stand that were not measured here: anybody may have written the file."""

_TURNING = dict.fromkeys(map(ord, "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"))
"""Signs that turn the letters after them round."""


def marked(name: str, imported: bool) -> str:
    """A name with the mark of a run from a file, which no name can hide."""
    return f"{' '.join(name.translate(_TURNING).split())} ({FROM_FILE})" if imported else name


def own_name(run: Run) -> str:
    """What its owner calls a run, else its model's name; without the mark of a run from a file."""
    return run.name or model_name(run.model)


def run_name(run: Run) -> str:
    """What to call a run: its own name, else its model's."""
    return marked(own_name(run), run.imported)


def short_name(run: Run) -> str:
    """The same, with a long name cut."""
    return marked(shortened(own_name(run)), run.imported)


def model_of(report: Report) -> str:
    """What to call the model of a report."""
    return marked(model_name(report.model), report.imported)


def names_of_runs(runs: Sequence[Run]) -> list[str]:
    """What to call runs beside each other: where two would be alike, with what tells them apart: their language,
    sentences, passages, or else the beginning of the id.
    """
    return [marked(name, run.imported) for name, run in zip(_told_apart(runs), runs, strict=True)]


def title_of_runs(runs: Sequence[Run]) -> str:
    """What runs show, in the title of a page or a file: their names and their facts."""
    names = [shortened(name, 30) for name in names_of_runs(runs)]
    models = ", ".join(names) if len(names) <= 3 else f"{names[0]} and {len(names) - 1} more"
    return f"{models} on {' and '.join(dict.fromkeys(run.dataset for run in runs))}"


def _told_apart(runs: Sequence[Run]) -> list[str]:
    names = [own_name(run) for run in runs]
    for trait in _TRAITS:
        often = Counter(names)
        told = [
            f"{name}, {said}" if often[name] > 1 and (said := trait(run)) else name
            for name, run in zip(names, runs, strict=True)
        ]
        names = told if len(set(map(trait, runs))) > 1 else names
    often = Counter(names)
    return [name if often[name] == 1 else f"{name} ({run.run[:8]})" for name, run in zip(names, runs, strict=True)]


def _sentences_of(run: Run) -> str:
    """What a run asks, in a word or two."""
    if run.pool == "llmeval":
        return "LLMEval"
    return "rephrased" if run.spec.writer else "one plain sentence" if run.pool == "origin" else "templates"


def _passages_of(run: Run) -> str:
    """Whether a run shows passages, and in which setting."""
    spec = run.spec
    if spec.retrieval == NO_RETRIEVAL:
        return "without passages"
    return f"{spec.retrieval} passages without the answer" if spec.leave_out else f"{spec.retrieval} passages"


_TRAITS: tuple[Callable[[Run], str], ...] = (
    lambda run: language_names().get(run.spec.asked_in, run.spec.asked_in),
    _sentences_of,
    _passages_of,
    lambda run: counted(run.shots, "worked example") if run.shots else "",
    lambda run: "pushed" if run.spec.pressure else "",
    lambda run: f"effort {run.spec.effort}" if run.spec.effort else "effort as usual",
    lambda run: "P(True) stated" if run.spec.stated else "P(True) not stated",
)


SOURCES = {
    "first token": "measured, from the model's own log-probabilities",
    "logprobs": "measured, from the model's own log-probabilities",
    "repeats": "estimated from repeated answers",
    "stated": "stated by the model when asked how sure it is",
}
"""Where P(True) comes from → in words."""


def source_in_words(source: str) -> str:
    """Where a run's P(True) comes from; a file of a run may name anything."""
    return SOURCES.get(source, "of an unknown kind")


def shortened(text: str, most: int = 60) -> str:
    """A text cut to so many characters."""
    return text if len(text) <= most else f"{text[: most - 1]}…"


def pool_title(pool: str) -> str:
    """A name for people of a pool that comes with the project; any other one's own. A run's file may name whatever it likes."""
    return load_pool(pool).title if pool in pool_names() else PurePath(pool).name


# ------------------------------------------------------------------------------------------------ states and fates

STATES = {
    WAITING: "waiting for its turn",
    RUNNING: "running",
    COMPLETE: "complete",
    STOPPED: "stopped by hand",
    DECIDED: "stopped early: decided",
    FAILED_RUN: "failed",
    PAUSED: "paused",
    INTERRUPTED: "interrupted: the program that asked it has ended",
}
"""State of a run → what a person reads."""


IN_SHORT = {
    "rejected this key": "key rejected",
    "does not let this key use": "key not allowed to use the model",
    "No key for": "no key",
    "The quota at": "quota used up",
    "cannot be reached": "service not reached",
    "has no model": "no such model",
    "There is no model": "no such model",
}
"""Words of the reason for which a run failed → the same in short."""


def state_in_words(state: str, reason: str | None) -> str:
    """A run's state. What was stopped for a reason was not stopped by hand; what failed says why, if a word or two can."""
    if state == FAILED_RUN:
        return ": ".join(["failed", *(short for words, short in IN_SHORT.items() if words in (reason or ""))][:2])
    if state == DECIDED and (reason or "").startswith(CHECK_DECIDED):
        return f"stopped early: {CHECK_DECIDED[0].lower()}{CHECK_DECIDED[1:]}"
    return "stopped" if state == STOPPED and reason else STATES[state]


def how_it_ended(state: str, reason: str | None) -> str:
    """What somebody should know who reads the scores of a run that did not ask everything; "" where it did, or goes on."""
    if state == STOPPED and not reason:
        return (
            "A person stopped this run before its end. Its scores cover only the answers until then. They may be biased: "
            "that person could see the scores."
        )
    if state == DECIDED:
        ended = "check" if (reason or "").startswith(CHECK_DECIDED) else "race"
        about = (
            "Its scores cover the diseases asked until then, a random sample fixed in advance. A difference that ends a "
            f"{ended} early tends to be overstated: use the bounds of the {ended} alone."
        )
        return f"{reason or ''} {about}".strip()
    return reason or "" if state in RESUMABLE else ""


@dataclass(frozen=True)
class Fate:
    """What became of a statement. name: of its colour; glyph: its sign, so that colour is never alone."""

    name: str
    glyph: str
    plain: str


FATES = {
    1: Fate("right", "✓", "right"),
    0: Fate("wrong", "✗", "wrong"),
    UNREADABLE: Fate("unreadable", "?", "unreadable, counted as wrong"),
    FAILED: Fate("failed", "!", "the call failed, not counted"),
    PENDING: Fate("pending", "·", "not asked yet"),
    ABSENT: Fate("absent", "–", "not part of this run"),
}


def fate(item: Asked) -> Fate:
    """What became of a statement of a run."""
    answer = item.answer
    if answer is None:
        return FATES[PENDING]
    if answer.failure is not None:
        return FATES[FAILED]
    if answer.answer is None:
        return FATES[UNREADABLE]
    return FATES[int(answer.answer == item.statement.label)]


FALSE_MARK = "FALSE (test statement)"
"""What every false fact or statement bears."""


def label_of(fact: Fact) -> str:
    """Whether a fact holds, in the words that stand beside it everywhere."""
    return label_in_words(fact.positive, fact.presumed)


def label_in_words(label: bool, presumed: bool | None = None) -> str:
    """The label of a fact or a statement. presumed: whether nobody has checked it (`Fact.presumed`)."""
    if label:
        return "presumed true" if presumed else "true"
    return f"PRESUMED {FALSE_MARK}" if presumed else FALSE_MARK


def checked_by_nobody(facts: Iterable[Fact]) -> list[str]:
    """How many of the false facts among some are presumed, in a sentence; nothing where none is."""
    false = [fact for fact in facts if not fact.positive]
    return unchecked_in_words(sum(fact.presumed or False for fact in false), len(false))


def unchecked_in_words(presumed: int, false: int) -> list[str]:
    """That so many of so many false facts are presumed, in a sentence; nothing where none is."""
    return [f"Nobody has checked {presumed:,} of {counted(false, 'false fact')}."] if presumed else []


CUT = {"length": "it was cut off at the length limit", "content_filter": "the service's content filter held it back"}


def verdict(item: Asked) -> str:
    """What a model answered, in a sentence."""
    answer, name = item.answer, fate(item).name
    if answer is None:
        return "Not asked yet."
    if name == "failed":
        return f"The call failed and is not counted: {answer.failure}."
    if name == "unreadable":
        return f"The reply cannot be read: {CUT.get(answer.cut or '', 'it says neither true nor false')}. It counts as wrong."
    return f"says {'true' if answer.answer else 'false'}: {name}"


def probability(answer: Answer | None, source: str = "") -> str:
    """The model's probability of true, in words; "" where it is not known. source: of it, as a run records it."""
    if answer is None or answer.p_true is None:
        return ""
    if answer.p_low is None or answer.p_high is None:
        named = {"repeats": " (from repeated answers)", "stated": f" (stated: “{shortened(answer.stated or '', 30)}”)"}
        return f"probability of true {answer.p_true:.3f}{named.get(source, '')}"
    return f"probability of true about {answer.p_true:.3f}, between {answer.p_low:.3f} and {answer.p_high:.3f}"


# ------------------------------------------------------------------------------------------------ scores


@dataclass(frozen=True)
class Score(Measure):
    """A registered measure, in words."""

    @property
    def term(self) -> str:
        """The papers' term for it, where the heading does not say it."""
        term = self.explained.partition(":")[0]
        return "" if term in self.heading else term

    def of_report(self, report: Report) -> str:
        """The score of a report in words, with its interval."""
        estimate = report.measure(self.name)
        return signed_share(estimate) if self.signed else share(estimate)

    def of_coin(self, chance: Mapping[str, float | None]) -> float | None:
        """What a fair coin is expected to score; None where that is not known."""
        return chance[self.name] if callable(self.coin) else self.coin

    def by_chance(self, chance: Mapping[str, float | None]) -> str:
        """What a fair coin is expected to score, in words."""
        value = self.of_coin(chance)
        if value is None:
            return NO_VALUE
        return f"{100 * value:.2g}%" if value in (0.0, 0.5) else f"{100 * value:.2g}% (1 in {round(1 / value):,})"


WAYS = {1: "the one way right", 8: "all eight right"}


def score(name: str, ways: int = 0) -> Score:
    """A score with its heading; ways: in how many ways the runs ask a fact, 0 where they differ in that."""
    found = Score(**vars(MEASURES[name]))
    if name != "joint_accuracy" or not ways:
        return found
    return replace(found, heading=WAYS.get(ways, f"all {ways} right"))


def first_scores(reports: Iterable[Report]) -> dict[str, list[Report]]:
    """The scores that the methods of these runs show first, mastery before all others, and the runs of each; then the measures
    that are shown of every run.
    """
    shown: dict[str, list[Report]] = {}
    always = [name for name, one in MEASURES.items() if one.always]
    for report in reports:
        for name in [*sorted(PROTOCOLS[report.protocol].headline_metrics, key=lambda name: name != "joint_accuracy"), *always]:
            shown.setdefault(name, []).append(report)
    return shown


def headlines(reports: Iterable[Report]) -> list[str]:
    """The scores that the methods of these runs show where there is room for few."""
    return list(dict.fromkeys(name for report in reports for name in PROTOCOLS[report.protocol].summary_metrics))


def ways_of(reports: Iterable[Report]) -> int:
    """In how many ways these runs ask a fact; 0 where they differ in that."""
    ways = {len(report.by_variant) for report in reports}
    return ways.pop() if len(ways) == 1 else 0


def settings(report: Report) -> list[str]:
    """On what and how a run was asked."""
    draws = f" in {report.shot_draws} draws" if report.shot_draws > 1 else ""
    shots = counted(report.shots, "worked example") if report.shots else "no worked examples"
    return [report.dataset, report.method, f"sentences: {pool_title(report.pool)}", f"{shots}{draws}", f"seed {report.seed}"]


def shared_settings(reports: Sequence[Report]) -> str:
    """The settings that all runs share, in one sentence, and that there are others."""
    shared = [texts[0] for texts in zip(*map(settings, reports), strict=True) if len(set(texts)) == 1]
    differ = "" if len(shared) == len(settings(reports[0])) else " The runs differ in other settings."
    return f"All: {'; '.join(shared)}.{differ}" if shared else differ.strip()


# ------------------------------------------------------------------------------------------------ remarks


def false_on_purpose(reports: Iterable[Report]) -> str:
    """How many of the statements that runs ask are false, in a sentence: "75% of the statements are false on purpose."."""
    shares = sorted({round(100 * one.false_statements / one.statements) for one in reports if one.statements})
    least_and_most = dict.fromkeys(f"{of}%" for of in (shares[0], shares[-1])) if shares else ("Some",)
    return f"{' to '.join(least_and_most)} of the statements are false on purpose."


def remarks(report: Report) -> list[str]:
    """All that is remarked of a run beside the notes that it recorded."""
    return [*about_demonstrations(report), *about_labels(report), *about_unchecked(report)]


def about_unchecked(report: Report) -> list[str]:
    """How many of its false facts nobody has checked; nothing where that is none."""
    said = unchecked_in_words(report.unchecked.presumed, report.unchecked.false_facts) if report.unchecked else []
    return [
        f"{words} medfact drew them from what the table does not state. Some may be true; then right answers count as wrong."
        for words in said
    ]


def about_demonstrations(report: Report) -> list[str]:
    """That the demonstrations of rephrased statements are not rephrased; nothing where they are, or nothing is."""
    if report.shots_rephrased is not False:
        return []
    return [
        "Its statements are rephrased, its worked examples are not. A difference from a run of the templates is due to both: "
        "the rephrasing, and worked examples in another form."
    ]


def about_labels(report: Report) -> list[str]:
    """Which of the forms that a run asks its paper labels wrongly, and its scores without them; nothing where it asks none."""
    found = report.well_labelled
    if found is None:
        return []
    forms = {key: None for key in VARIANTS if any(key in of for of in found.forms.values())}
    relations = "; ".join(f"{name}: {', '.join(of)}" for name, of in found.forms.items())
    average, joint, pair = found.average_accuracy, found.joint_accuracy, found.pair_joint_accuracy
    return [
        f"The labels of {counted(found.statements, 'statement')} in the published sentences do not follow from the facts "
        f"({', '.join(forms)}; {relations}). Without them: right answers {share(average)} of "
        f"{counted(average.n, 'statement')}, all right {share(joint)} of {counted(joint.n, 'fact')}, false twin mastered too "
        f"{share(pair)} of {counted(pair.n, 'pair')}; fewer statements a fact make all right easier."
    ]
