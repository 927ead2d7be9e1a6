"""Runs that stand against each other: settings, paired differences, effects of passages, languages, and races."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from itertools import combinations
from typing import Any, NamedTuple, TypeVar, cast

import numpy as np

from medfact.assets import ENGLISH, language_names
from medfact.caching import shared_cache
from medfact.languages import load_language
from medfact.metrics import record_of
from medfact.metrics.comparison import (
    RIGHT_ANSWERS,
    STATEMENT,
    Contrast,
    OverLanguages,
    Values,
    aligned,
    compare,
    over_languages,
    pairing,
    values_of_runs,
)
from medfact.metrics.race import Differences, Race, band, race, raced
from medfact.metrics.uncertainty import Estimate
from medfact.results.blocks import Curve
from medfact.results.live import Reports, Version
from medfact.results.recall import retrieval_in_words, setting_of
from medfact.results.report import FEWEST as FEWEST
from medfact.results.report import MOST as MOST
from medfact.results.report import Side as Side
from medfact.results.report import checked
from medfact.results.report import sides_of as sides_of
from medfact.results.wording import TOO_FEW, counted, names_of_runs, signed_share
from medfact.runs.plan import question_of
from medfact.runs.pool import protocol_of
from medfact.runs.racing import describe_lead, of_one_race
from medfact.spec import COMPARED, NO_RETRIEVAL, PROTOCOLS
from medfact.store import Asked, Run, Store
from medfact.words import say

# The score that comparisons, races and cards name first.
MASTERY = "joint_accuracy"

METRICS = {
    "joint_accuracy": "all statements right (joint accuracy)",
    "average_accuracy": "right answers (average accuracy)",
    "pair_joint_accuracy": "true fact and its false twin both mastered (pair joint accuracy)",
}

# Score → the things that a better run has more of.
SCORED = {
    "joint_accuracy": "facts with all answers right",
    "average_accuracy": "right answers",
    "pair_joint_accuracy": "pairs with all answers right",
}

# MKJ's Acc, Acc_pos and Acc_neg.
TRUTHS = ("average_accuracy", "positive_accuracy", "negative_accuracy")

# ------------------------------------------------------------------------------------------------ pairings


@dataclass(frozen=True, kw_only=True)
class Pair(Contrast):
    """Contrast of run a less run b in one figure, over what both have answered."""

    a: str
    b: str
    metric: str  # a name of `metrics.comparison.FIGURES`
    paper: str = ""  # paper and table that print this difference

    def turned(self) -> Pair:
        """Returns b less a."""
        return replace(super().turned(), a=self.b, b=self.a)

    def record(self) -> dict[str, Any]:
        """An entry of `contrasts` of `compare RUN RUN --json`."""
        figures = {name: value for name, value in record_of(self).items() if name not in _NOT_OF_SHARES}
        return {"a": self.a, "b": self.b, **figures, "paper": self.paper}


_NOT_OF_SHARES = {"a", "b", "metric", "paper", "only_first", "only_second"}
# Key in the JSON of two runs → field of a contrast.
_KEYS = {
    "difference": "value", "low": "low", "high": "high", "p": "p", "only_a": "only_first", "only_b": "only_second", "n": "n",
    "low_all": "low_all", "high_all": "high_all", "share_a": "first", "share_b": "second",
}  # fmt: skip
# The same of two languages.
_LANGUAGE_KEYS = {
    "difference": "value", "first": "first", "less": "second", "low": "low", "high": "high", "low_all": "low_all",
    "high_all": "high_all", "n": "n", "p": "p", "p_holm": "p_holm",
}  # fmt: skip


def paired_record(contrast: Contrast, keys: Mapping[str, str] = _KEYS) -> dict[str, Any]:
    """Contrast of two runs as JSON. keys: key → field."""
    return {key: getattr(contrast, name) for key, name in keys.items()}


Couples = list[tuple[Side, Side]]


def _pair_runs(name: str, figures: Sequence[str], couples: Callable[[Sequence[Side]], Couples]) -> None:
    """Registers runs that stand against each other. All couples are a family, in each of the figures."""

    @pairing(name, family=lambda key: key[0])
    def values(sides: Sequence[Side]) -> dict[tuple[str, str, str], Values]:
        rows = {side.run.run: side.rows for side in sides}
        return {
            (figure, a.run.run, b.run.run): values
            for a, b in couples(sides)
            for figure, values in values_of_runs(rows[a.run.run], rows[b.run.run], figures).items()
        }


def _with_passages(sides: Sequence[Side]) -> Couples:
    """Each run with passages, and one of the same model without them."""
    without = [(side, next((other for other in sides if is_without(other.run, side.run)), None)) for side in sides]
    return [(side, other) for side, other in without if other]


def _of_papers(sides: Sequence[Side]) -> Couples:
    """Runs of one model and data set whose figures a paper's table compares."""
    return [
        (a, b)
        for a, b in combinations(sides, 2)
        if _paper_of(a.run, b.run) and (a.run.model, a.run.dataset) == (b.run.model, b.run.dataset)
    ]


_pair_runs("runs", ("average_accuracy", "joint_accuracy", "pair_joint_accuracy"), lambda sides: [*combinations(sides, 2)])
_pair_runs(
    "statements",
    (RIGHT_ANSWERS,),
    lambda sides: [couple for couple in combinations(sides, 2) if _sentences(couple[0]) != _sentences(couple[1])],
)
_pair_runs("papers", (RIGHT_ANSWERS,), _of_papers)
_pair_runs("passages", (*TRUTHS, "p_true_of_true", "p_true_of_false", "brier"), _with_passages)
_pair_runs("dates", (MASTERY,), lambda sides: [(side, sides[0]) for side in sides[1:]])


def pairs_of(sides: Sequence[Side], kind: str = "runs") -> list[Pair]:
    """Contrasts of the couples of a registered pairing, each couple in each of its figures."""
    runs = {side.run.run: side.run for side in sides}
    return [
        Pair(**vars(contrast), a=a, b=b, metric=figure, paper=_paper_of(runs[a], runs[b]))
        for (figure, a, b), contrast in compare(kind, sides).items()
    ]


# Names of two runs' sentences in that paper → the tables with their difference.
_ARROWS = {
    frozenset({"Origin", "PretextTrans"}): "PretextTrans, Table 3",
    frozenset({"LLMEval", "PretextTrans"}): "PretextTrans, Table 3",
    frozenset({"−LMReph", "PretextTrans"}): "PretextTrans, Tables 4 and 13",
}


def _paper_of(*runs: Run) -> str:
    """Name of the paper and table that print the difference of two runs; "" if none does."""
    names = set()
    for run in runs:
        ours = "" if not run.pool.startswith("pretexttrans") else "PretextTrans" if run.spec.writer else "−LMReph"
        names.add({"origin": "Origin", "llmeval": "LLMEval"}.get(run.pool, ours))
    return _ARROWS.get(frozenset(names), "")


def _sentences(side: Side) -> tuple[Any, ...]:
    """Key of a run's statements, different for those of another run about equal facts."""
    spec = side.run.spec
    pool = sorted((relation, sorted(sentences.items())) for relation, sentences in side.run.pool_text.items())
    return str(pool), side.run.pool, spec.writer, spec.writing, tuple(side.board.sheet.variants)


def across_runs(sides: Sequence[Side]) -> list[Pair]:
    """Right answers by fact, of every two runs that ask their facts in different statements."""
    return [pair for pair in pairs_of(sides, "statements") if pair.n]


def across_of_papers(sides: Sequence[Side]) -> list[Pair]:
    """Differences of runs that papers' tables print: right answers by fact, and accuracies with passages less those without."""
    of_mkj = pairs_of([side for side in sides if side.run.spec.protocol == "mkj"], "passages")
    passages = [replace(pair, paper="MKJ, Table 3") for pair in of_mkj if pair.metric in TRUTHS]
    return [*(pair for pair in pairs_of(sides, "papers") if pair.n), *passages]


# ------------------------------------------------------------------------------------------------ effects of passages


@dataclass(frozen=True)
class Change:
    """Effects of passages on one model, over statements that both runs answered (MKJ, Section 4.6)."""

    without: str  # runs
    with_: str
    model: str
    setting: str
    metrics: Mapping[str, Contrast]  # TRUTHS, with less without
    probabilities: Mapping[str, Contrast]  # the same of P(True); {} where one of the runs has none
    helped: tuple[int, ...]  # positions in the run with passages of statements that are right only with them
    harmed: tuple[int, ...]  # the same of those right only without

    def record(self) -> dict[str, Any]:
        """An entry of `evidence` of `compare RUN RUN --json`."""
        figures = {"metrics": self.metrics, "probabilities": self.probabilities}
        return {name: record_of(value) for name, value in vars(self).items()} | {
            key: {name: paired_record(contrast) for name, contrast in contrasts.items()} for key, contrasts in figures.items()
        }


def is_without(run: Run, with_: Run) -> bool:
    """Returns true if a run differs from one with passages in these alone."""
    names = ("model", "protocol", "seed", "shot_seed", "demonstrations", *COMPARED)
    return (
        run.spec.retrieval == NO_RETRIEVAL != with_.spec.retrieval
        and all(getattr(run.spec, name) == getattr(with_.spec, name) for name in names)
        and (run.dataset_fingerprint, run.pool, run.shots) == (with_.dataset_fingerprint, with_.pool, with_.shots)
    )


def changes(sides: Sequence[Side]) -> list[Change]:
    """The change for each run with passages that stands beside one of the same model without them."""
    pairs = {(pair.a, pair.metric): pair for pair in pairs_of(sides, "passages")}
    changed = []
    for with_, without in _with_passages(sides):
        ours, theirs, run = with_.rows, without.rows, with_.run.run
        rows, others = aligned([ours, theirs], STATEMENT)
        answered = ours.records.scored[rows] & theirs.records.scored[others]
        rows, others = rows[answered], others[answered]
        right, right_before = ours.records.right[rows], theirs.records.right[others]
        change = Change(
            without=without.run.run,
            with_=run,
            model=with_.run.model,
            setting=setting_of(with_.run),
            metrics={name: pairs[run, name] for name in TRUTHS},
            probabilities={
                name: pair for (subject, name), pair in pairs.items() if subject == run and name not in TRUTHS and pair.n
            },
            helped=tuple(sorted(rows[right & ~right_before].tolist())),
            harmed=tuple(sorted(rows[~right & right_before].tolist())),
        )
        changed.append(change)
    return changed


def blamed(item: Asked) -> int | None:
    """Index of the passage to look at first for a flip: that with the fact, else the best; None without any."""
    passages = item.passages or ()
    return next((place for place, passage in enumerate(passages) if passage.gold), 0) if passages else None


# ------------------------------------------------------------------------------------------------ languages


@dataclass(frozen=True)
class InLanguages:
    """A model's runs in several languages."""

    model: str
    runs: dict[str, str]  # language → id of its run
    figures: OverLanguages
    in_english: dict[str, tuple[int, int]]  # language but English → readable replies in English, and all readable ones

    def record(self) -> dict[str, Any]:
        """As JSON: an entry of the key `over_languages` of `compare RUN RUN --json`."""
        figures = self.figures
        less, *by_relation = (
            {language: paired_record(contrast, _LANGUAGE_KEYS) for language, contrast in contrasts.items()}
            for contrasts in (figures.less, *figures.by_relation.values())
        )
        return {
            "model": self.model,
            "runs": self.runs,
            "facts": figures.facts,
            "right_in_all": record_of(figures.everywhere),
            "right_in": record_of(figures.each),
            "right_in_both": [{"languages": list(couple), **record_of(share)} for couple, share in figures.couples.items()],
            "right_only_in": record_of(figures.alone),
            f"less_{figures.languages[0]}": less,
            "by_relation": dict(zip(figures.by_relation, by_relation, strict=True)),
            "by_variant": record_of(figures.by_variant),
            "consistent": record_of(figures.consistent),
            "replies_in_english": {language: {"number": n, "of": total} for language, (n, total) in self.in_english.items()},
        }


def language_title(language: str) -> str:
    """Name of a language."""
    return language_names().get(language, language)


def in_languages(sides: Sequence[Side], store: Store) -> tuple[InLanguages, ...]:
    """Models among these runs that were asked the same in several languages, of each the first run.

    Pools are of one method, each in its language.
    """
    names = ("protocol", "seed", "shot_seed", "demonstrations", "retrieval", *(name for name in COMPARED if name != "asked_in"))
    alike: dict[tuple[str, ...], dict[str, Side]] = {}
    for side in sides:
        spec = side.run.spec
        pool = "" if spec.asked_in != ENGLISH else spec.pool or spec.question or ""
        key = (side.run.model, side.run.dataset_fingerprint, pool, *(str(getattr(spec, name)) for name in names))
        alike.setdefault(key, {}).setdefault(spec.asked_in, side)
    groups = (
        {language: group[language] for language in sorted(group, key=[*language_names()].index)}
        for group in alike.values()
        if len(group) > 1
    )
    return tuple(
        InLanguages(
            model=next(iter(group.values())).run.model,
            runs={language: side.run.run for language, side in group.items()},
            figures=over_languages({language: side.rows for language, side in group.items()}),
            in_english={
                language: replies_in_english(side.run, store) for language, side in group.items() if language != ENGLISH
            },
        )
        for group in groups
    )


def replies_in_english(run: Run, store: Store) -> tuple[int, int]:
    """Numbers of readable replies of a run in another language: those in English, and all of them."""
    read = load_language(run.spec.asked_in).asking.read
    replies = (item.answer.raw for item in store.answers.asked(run.run) if item.answer is not None and item.answer.raw)
    languages = [read(reply).language for reply in replies]
    return languages.count(ENGLISH), sum(language is not None for language in languages)


# ------------------------------------------------------------------------------------------------ comparison


class RunName(NamedTuple):
    """A run in a comparison."""

    run: str
    model: str
    name: str  # for people
    imported: bool


@dataclass(frozen=True)
class Raced:
    """Race of two runs in mastery, as a less b; None where they share no fact."""

    a: str
    b: str
    race: Race | None
    differences: Differences | None
    family: int  # pairs that race together, those that are not compared among them


@dataclass(frozen=True)
class Comparison:
    """Common and different settings of runs, and their paired differences."""

    runs: tuple[RunName, ...]
    facts_of: tuple[int, ...]  # number of facts of each run
    shared_facts: int  # number of facts in all runs, in any wording
    same: Mapping[str, Any]  # setting → its value
    differs: Mapping[str, Sequence[Any]]  # setting → its value in each run
    pairs: tuple[Pair, ...]
    races: tuple[Raced, ...]

    def record(self) -> dict[str, Any]:
        """The comparison as JSON: the keys of `compare RUN RUN --json`."""
        return {
            "runs": [run._asdict() for run in self.runs],
            "facts": {"of": list(self.facts_of), "shared": self.shared_facts},
            "same": dict(self.same),
            "differs": record_of(self.differs),
            "pairs": [
                paired_record(pair) | {"a": pair.a, "b": pair.b, "metric": pair.metric, "p_holm": pair.p_holm}
                for pair in self.pairs
            ],
            "races": [{"a": raced.a, "b": raced.b, **(raced.race._asdict() if raced.race else {})} for raced in self.races],
        }


def comparison(sides: Sequence[Side]) -> Comparison:
    """The comparison of two or more runs."""
    same, differs = _settings(sides)
    runs = [side.run for side in sides]
    names = dict(zip((run.run for run in runs), names_of_runs(runs), strict=True))
    return Comparison(
        runs=tuple(RunName(run.run, run.model, names[run.run], run.imported) for run in runs),
        facts_of=tuple(run.facts for run in runs),
        shared_facts=len(reduce(np.intersect1d, (side.board.sheet.identity for side in sides))),
        same=same,
        differs=differs,
        pairs=tuple(pairs_of(sides)),
        races=races_of(sides),
    )


def races_of(sides: Sequence[Side]) -> tuple[Raced, ...]:
    """The race of every two runs that raced with each other. Claims hold for all pairs of their race together."""
    races = []
    for a, b in combinations(sides, 2):
        if of_one_race([a.run, b.run]):
            racers = max(a.run.spec.racers, b.run.spec.racers, sum(side.run.spec.race == a.run.spec.race for side in sides))
            family, differences = racers * (racers - 1) // 2, raced(a.rows, b.rows)
            standing = None if differences is None else race(differences, family)
            races.append(Raced(a.run.run, b.run.run, standing, differences, family))
    return tuple(races)


def _settings(sides: Sequence[Side]) -> tuple[dict[str, Any], dict[str, list[Any]]]:
    """Settings that are the same in all runs, and those that differ, under the names that a person reads."""
    relations = [set(side.run.pool_text) for side in sides]
    shared = frozenset(set.intersection(*relations)) if all(relations) else None
    every = [settings_of(side.run, shared) for side in sides]
    same: dict[str, Any] = {}
    differs: dict[str, list[Any]] = {}
    for setting in every[0]:
        names, keys = zip(*(settings[setting] for settings in every), strict=True)
        if len({*keys}) > 1 or any(name != names[0] for name in names):
            contents = list(dict.fromkeys(keys))
            numbered = [f"{name} (contents {contents.index(key) + 1})" for name, key in zip(names, keys, strict=True)]
            differs[setting] = list(names) if len(set(names)) > 1 else numbered
        elif keys[0] not in _UNSAID:
            same[setting] = names[0]
    return same, differs


# Values that need no mention where all runs have them: nothing chosen, and English.
_UNSAID = {str(()), str(None), str(False), ENGLISH}


def settings_of(run: Run, relations: Collection[str] | None = None) -> dict[str, tuple[Any, str]]:
    """Setting → its value for people, and a key that differs where it does. relations: those whose sentences count, by default
    all that are asked.
    """
    pool = {name: sorted(sentences.items()) for name, sentences in run.pool_text.items()}
    sentences = sorted(entry for entry in pool.items() if relations is None or entry[0] in relations)
    spec, protocol, retrieval = run.spec, protocol_of(run.spec), retrieval_in_words(run)
    negatives = protocol.negatives if spec.negatives is None else spec.negatives
    compared = {setting.compared: getattr(spec, name) for name, setting in COMPARED.items()}
    return {
        "data": (run.dataset, run.dataset_fingerprint),
        "method": (PROTOCOLS[spec.protocol].title, spec.protocol),
        "sentences (pool)": (run.pool, f"{run.pool} {sentences}"),
        "question": (question_of(spec), question_of(spec)),
        "reading of replies": (protocol.reading, protocol.reading),
        "demonstrations": (run.shots, str(run.shots)),
        **{
            name: (", ".join(value) or "none" if isinstance(value, tuple) else value, str(value))
            for name, value in compared.items()
        },
        "false partners a fact": (negatives, str(negatives)),
        "retrieval": (retrieval, f"{retrieval} {spec.corpus} {spec.encoder} {spec.encoder_url}"),
        "seed": (spec.seed, str(spec.seed)),
        "seed of the demonstrations": (
            spec.seed if spec.shot_seed is None else spec.shot_seed,
            str((spec.shot_seed, spec.seed, spec.demonstrations)),
        ),
    }


Result = TypeVar("Result")


class Comparisons:
    """Comparisons and fact tables, kept for each version of the runs that were compared last."""

    def __init__(self, store: Store, reports: Reports) -> None:
        self._store, self._reports = store, reports
        self._cached = shared_cache(8)(self._compute)  # requests for other runs do not wait

    def made(self, runs: Sequence[str]) -> Comparison:
        """As `comparison`. Raises Mistake and UnknownName."""
        return self.of(comparison, runs)

    def of(self, compute: Callable[..., Result], runs: Sequence[str], *more: Store) -> Result:
        """The result of a function of sides, such as `fact_table` or `races_of`, for these runs."""
        return cast(Result, self._cached(compute, tuple((run, self._reports.version(run)) for run in runs), *more))

    def _compute(self, compute: Callable[..., Any], versions: Sequence[tuple[str, Version]], *more: Store) -> Any:
        return compute(checked([Side(self._store.run(run), self._reports.board(run)) for run, _ in versions]), *more)


# ------------------------------------------------------------------------------------------------ in words


def decision_in_words(contrast: Contrast, family: str = "comparisons") -> str:
    """Decision by the interval that is printed, which holds for all contrasts of the family."""
    if contrast.is_open:
        return say("comparison.open", family=family)
    return TOO_FEW if contrast.low_all is None else "shown" if contrast.is_shown else "not shown"


def difference(contrast: Contrast) -> str:
    """A difference in points with bounds that hold for all pairs together: "+3.2 points (+1.0 to +5.4)"; else "no value"."""
    return signed_share(contrast.estimate)


def conclusion(pair: Pair, names: Mapping[str, str]) -> str:
    """Decision about a pair, in a sentence. names: run → name."""
    a, b = names[pair.a], names[pair.b]
    if pair.value is None:
        return say("comparison.nothing_shared", a=a, b=b)
    if pair.low_all is None:
        return say("comparison.too_few", a=a, b=b, too_few=TOO_FEW)
    if pair.is_open:
        decision = decision_in_words(pair, "pairs")
        return f"{decision[0].upper()}{decision[1:]}."
    if not pair.is_shown:
        return say("comparison.not_shown", score=SCORED[pair.metric])
    better, other = (a, b) if pair.value > 0 else (b, a)
    return say("comparison.shown", better=better, other=other, score=SCORED[pair.metric])


def describe_race(a: str, b: str, race: Race | None, names: Mapping[str, str]) -> str:
    """Standing of the race of two runs, in a sentence. names: run → name."""
    if race is None or not race.heads:
        return say("race.no_fact" if race is None else "race.no_disease", a=names[a], b=names[b])
    failed = say("race.failed", facts=counted(race.failed, "fact")) if race.failed else ""
    so_far = say("race.counted", heads=race.heads, diseases=counted(race.of, "disease"), failed=failed)
    if race.decided_at:
        lead, after = describe_lead(names[a], names[b], race), counted(race.decided_at, "disease")
        return say("race.decided", lead=lead, diseases=after, counted=so_far)
    better, worse, least = (a, b, race.low) if race.low > -race.high else (b, a, -race.high)
    more = say("race.more", diseases=counted(race.more, "disease")) if race.more else ""
    more = more or (say("race.hopeless") if race.heads < race.of else "")
    slots = {"better": names[better], "worse": names[worse], "points": 100 * least, "a": names[a], "b": names[b]}
    key = "on_these_facts" if least > 0 else "undecided" if race.heads < race.of else "not_with_these_facts"
    return say(f"race.{key}", **slots, more=more, counted=so_far)


# Diseases that are drawn; of more, evenly spread ones, the first, the deciding and the last among them.
MAX_STEPS = 400


def race_curve(place: int, finding: str, raced: Raced) -> Curve | None:
    """Course of a race: lead so far, with bounds that hold at any time; None before a disease is complete in both runs."""
    if raced.differences is None or raced.race is None or not raced.race.heads:
        return None
    count, decided = raced.race.heads, raced.race.decided_at
    heads = np.unique(np.linspace(1, count, min(count, MAX_STEPS)).round().astype(int))
    heads = np.union1d(heads, [decided]) if decided else heads
    course = zip(heads.tolist(), *(part[heads - 1].tolist() for part in band(raced.differences, raced.family)), strict=True)
    if raced.race.low + raced.race.high < 0:  # the second is ahead, as the finding says
        course = ((number, 0.0 - value, 0.0 - high, 0.0 - low) for number, value, low, high in course)  # type: ignore[assignment]
    return Curve(
        name=f"race-{place}",
        label=say("race.label"),
        finding=finding,
        lines={"difference so far": tuple((number, Estimate(value, low, high, number)) for number, value, low, high in course)},
        axes=(f"diseases counted, of {raced.race.of:,}", "difference, points"),
        band=True,
        signed=True,
        marked=(heads.tolist().index(decided), f"decided after {counted(decided, 'disease')}") if decided else None,
        end=raced.race.of,
    )
