"""Runs beside each other: what they share, in what they differ, paired differences, and what each said to each fact."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from itertools import combinations
from typing import Any, cast

import numpy as np

from medfact.assets import ENGLISH
from medfact.caching import shared_cache
from medfact.metrics import record_of
from medfact.metrics.differences import holm
from medfact.metrics.paired import Paired, paired, raced
from medfact.metrics.race import Differences, Race, band, race
from medfact.metrics.uncertainty import Estimate
from medfact.results.blocks import Curve
from medfact.results.contrasts import Across, across_runs, decision_in_words
from medfact.results.fact_table import FactTable, OverModels, fact_table, over_models
from medfact.results.languages import InLanguages, in_languages
from medfact.results.live import Reports, Version
from medfact.results.recall import retrieval_in_words
from medfact.results.report import FEWEST as FEWEST
from medfact.results.report import MOST as MOST
from medfact.results.report import Side as Side
from medfact.results.report import checked
from medfact.results.report import sides_of as sides_of
from medfact.results.wording import TOO_FEW, counted, names_of_runs, signed_share
from medfact.runs.plan import question_of
from medfact.runs.pool import protocol_of
from medfact.runs.racing import lead_in_words, of_one_race
from medfact.spec import COMPARED, PROTOCOLS
from medfact.store import Run, Store

MASTERY = "joint_accuracy"
"""The score that comparisons, races and cards speak of first."""

METRICS = {
    "joint_accuracy": "all statements right (joint accuracy)",
    "average_accuracy": "right answers (average accuracy)",
    "pair_joint_accuracy": "true fact and its false twin both mastered (pair joint accuracy)",
}

SCORED = {
    "joint_accuracy": "facts with all answers right",
    "average_accuracy": "right answers",
    "pair_joint_accuracy": "pairs with all answers right",
}
"""Score → the things that a better run has more of."""


@dataclass(frozen=True)
class RunName:
    """A run in a comparison. name: what a person reads. imported: it came from a file."""

    run: str
    model: str
    name: str
    imported: bool


@dataclass(frozen=True)
class Pair(Paired):
    """Two runs in one accuracy, as a − b over what both have answered. p_holm: p after Holm over all pairs of runs."""

    a: str
    b: str
    metric: str
    p_holm: float | None = None

    @property
    def turned(self) -> Pair:
        """The same as b − a."""
        return replace(
            self,
            a=self.b,
            b=self.a,
            difference=negated(self.difference),
            low=negated(self.high),
            high=negated(self.low),
            low_all=negated(self.high_all),
            high_all=negated(self.low_all),
            share_a=self.share_b,
            share_b=self.share_a,
            only_a=self.only_b,
            only_b=self.only_a,
        )


def negated(value: float | None) -> float | None:
    return None if value is None else 0.0 - value


@dataclass(frozen=True)
class Raced:
    """The race of two runs in mastery, as a − b. race: its standing; found: the differences; None where they share no fact.
    family: pairs that race together, those that are not compared among them.
    """

    a: str
    b: str
    race: Race | None
    found: Differences | None
    family: int


@dataclass(frozen=True)
class Comparison:
    """What runs share, in what they differ, and their paired differences.

    facts_of: how many facts each has; shared_facts: how many are in all, whatever their wording. same, differs: settings by
    what people call them, with one value or one a run.
    """

    runs: tuple[RunName, ...]
    facts_of: tuple[int, ...]
    shared_facts: int
    same: Mapping[str, Any]
    differs: Mapping[str, Sequence[Any]]
    pairs: tuple[Pair, ...]
    races: tuple[Raced, ...]

    def record(self) -> dict[str, Any]:
        """The comparison as JSON: the keys of `compare RUN RUN --json`."""
        return {
            "runs": record_of(self.runs),
            "facts": {"of": list(self.facts_of), "shared": self.shared_facts},
            "same": dict(self.same),
            "differs": record_of(self.differs),
            "pairs": record_of(self.pairs),
            "races": [{"a": one.a, "b": one.b, **(one.race._asdict() if one.race else {})} for one in self.races],
        }


def comparison(sides: Sequence[Side]) -> Comparison:
    """The comparison of two or more runs."""
    same, differs = _settings(sides)
    names = names_of_runs([side.run for side in sides])
    return Comparison(
        runs=tuple(
            RunName(side.run.run, side.run.model, name, side.run.imported) for side, name in zip(sides, names, strict=True)
        ),
        facts_of=tuple(side.run.facts for side in sides),
        shared_facts=len(reduce(np.intersect1d, (side.board.sheet.identity for side in sides))),
        same=same,
        differs=differs,
        pairs=tuple(pairs_of(sides)),
        races=races_of(sides),
    )


def races_of(sides: Sequence[Side]) -> tuple[Raced, ...]:
    """The race of every two runs that raced with each other. Claims hold for all pairs of their race together."""
    couples = [(a, b) for a, b in combinations(sides, 2) if of_one_race([a.run, b.run])]
    races = []
    for a, b in couples:
        racers = max(a.run.spec.racers, b.run.spec.racers, sum(side.run.spec.race == a.run.spec.race for side in sides))
        family = racers * (racers - 1) // 2
        found = raced(a.board.records(), b.board.records(), a.identity, b.identity)
        races.append(Raced(a.run.run, b.run.run, None if found is None else race(found, family), found, family))
    return tuple(races)


def pairs_of(sides: Sequence[Side]) -> list[Pair]:
    """Every pair of runs in each accuracy, with p and bounds adjusted for their number."""
    records = [(side, side.board.records()) for side in sides]
    couples = list(combinations(records, 2))
    pairs = [
        Pair(**vars(paired_), a=a.run.run, b=b.run.run, metric=metric)
        for (a, ours), (b, theirs) in couples
        for metric, paired_ in paired(ours, theirs, a.identity, b.identity, len(couples)).items()
    ]
    adjusted = {metric: holm([pair.p for pair in pairs if pair.metric == metric]) for metric in METRICS}
    return [replace(pair, p_holm=adjusted[pair.metric].pop(0)) for pair in pairs]


def _settings(sides: Sequence[Side]) -> tuple[dict[str, Any], dict[str, list[Any]]]:
    """What is the same in all runs, and what differs, under the names that a person reads."""
    asked = [set(side.run.pool_text) for side in sides]
    shared = frozenset(set.intersection(*asked)) if all(asked) else None
    all_ = [settings_of(side.run, shared) for side in sides]
    same: dict[str, Any] = {}
    differs: dict[str, list[Any]] = {}
    for name in all_[0]:
        values = [settings[name] for settings in all_]
        if all(value == values[0] for value in values):
            same |= {} if values[0][1] in _UNSAID else {name: values[0][0]}
        else:
            differs[name] = _told_apart(values)
    return same, differs


def settings_of(run: Run, relations: Collection[str] | None = None) -> dict[str, tuple[Any, str]]:
    """Setting → what a person reads of it, and what tells it from another. relations: those whose sentences count, by default
    all that are asked.
    """
    sentences = {name: of for name, of in run.pool_text.items() if relations is None or name in relations}
    spec, protocol = run.spec, protocol_of(run.spec)
    negatives = protocol.negatives if spec.negatives is None else spec.negatives
    return {
        "data": (run.dataset, run.dataset_fingerprint),
        "method": (PROTOCOLS[spec.protocol].title, spec.protocol),
        "sentences (pool)": (run.pool, f"{run.pool} {sorted((k, sorted(v.items())) for k, v in sentences.items())}"),
        "question": (question_of(spec), question_of(spec)),
        "reading of replies": (protocol.reading, protocol.reading),
        "demonstrations": (run.shots, str(run.shots)),
        **{told.compared: (_readable(value := getattr(spec, name)), str(value)) for name, told in COMPARED.items()},
        "false partners a fact": (negatives, str(negatives)),
        "retrieval": (retrieval_in_words(run), f"{retrieval_in_words(run)} {spec.corpus} {spec.encoder} {spec.encoder_url}"),
        "seed": (spec.seed, str(spec.seed)),
        "seed of the demonstrations": (
            spec.seed if spec.shot_seed is None else spec.shot_seed,
            str((spec.shot_seed, spec.seed, spec.demonstrations)),
        ),
    }


_UNSAID = {str(()), str(None), str(False), ENGLISH}
"""What is not worth a word where it is so of all runs: nothing chosen, and English."""


def _readable(value: Any) -> Any:
    """A setting's value as a person reads it: the names of a list in a row."""
    return (", ".join(value) or "none") if isinstance(value, tuple) else value


def questions_of(sides: Sequence[Side]) -> dict[str, str]:
    """Run → how it asks."""
    return {side.run.run: question_of(side.run.spec) for side in sides}


def _told_apart(values: Sequence[tuple[Any, str]]) -> list[Any]:
    """What a person reads of settings that differ; where the names are the same, which of them hold the same."""
    names = [value for value, _ in values]
    if len(set(names)) > 1:
        return names
    contents = list(dict.fromkeys(content for _, content in values))
    return [f"{name} (contents {contents.index(content) + 1})" for name, content in values]


# ------------------------------------------------------------------------------------------------ in words


def difference(pair: Paired) -> str:
    """A difference in points with bounds that hold for all pairs together: "+3.2 points (+1.0 to +5.4)"; else "no value"."""
    return signed_share(Estimate(pair.difference, pair.low_all, pair.high_all, pair.n))


def verdict(pair: Pair, names: Mapping[str, str]) -> str:
    """What a pair shows, in a sentence. names: run → what to call it."""
    a, b = names[pair.a], names[pair.b]
    if pair.difference is None:
        return f"{a} and {b} have nothing in common that both answered."
    if pair.low_all is None:
        return f"No difference can be shown between {a} and {b}: {TOO_FEW}."
    if not pair.is_shown:
        decision = decision_in_words(pair, "pairs") if pair.is_open else f"no difference in {SCORED[pair.metric]} is shown"
        return f"{decision[0].upper()}{decision[1:]}."
    better, other = (a, b) if pair.difference > 0 else (b, a)
    return f"{better} has more {SCORED[pair.metric]} than {other}."


KEPT = 8
"""Comparisons that are kept."""


class Comparisons:
    """Comparisons and fact tables, made once per version of their runs, and kept for those last looked at."""

    def __init__(self, store: Store, reports: Reports) -> None:
        self._store, self._reports = store, reports
        self._kept = shared_cache(KEPT)(self._make)  # whoever looks at other runs does not wait

    def made(self, runs: Sequence[str]) -> Comparison:
        """As `comparison`. Raises Mistake and UnknownName."""
        return cast(Comparison, self._once(comparison, runs))

    def table(self, runs: Sequence[str]) -> FactTable:
        """As `fact_table`."""
        return cast(FactTable, self._once(fact_table, runs))

    def over_models(self, runs: Sequence[str]) -> OverModels:
        """As `over_models`."""
        return cast(OverModels, self._once(over_models, runs, self._store))

    def languages(self, runs: Sequence[str]) -> tuple[InLanguages, ...]:
        """As `in_languages`."""
        return cast(tuple[InLanguages, ...], self._once(in_languages, runs, self._store))

    def across(self, runs: Sequence[str]) -> list[Across]:
        """As `across_runs`."""
        return cast(list[Across], self._once(across_runs, runs))

    def races(self, runs: Sequence[str]) -> tuple[Raced, ...]:
        """As `races_of`."""
        return cast(tuple[Raced, ...], self._once(races_of, runs))

    def _once(self, make: Callable[..., Any], runs: Sequence[str], *more: Store) -> Any:
        return self._kept(make, tuple((run, self._reports.version(run)) for run in runs), *more)

    def _make(self, make: Callable[..., Any], versions: Sequence[tuple[str, Version]], *more: Store) -> Any:
        return make(checked([Side(self._store.run(run), self._reports.board(run)) for run, _ in versions]), *more)


# ------------------------------------------------------------------------------------------------ races

MOST_STEPS = 400
"""Diseases that are drawn; of more, evenly spread ones, the first, the deciding and the last among them."""

ABOUT_RACES = (
    "The score is mastery: facts with all answers right. Diseases count in a random order that was fixed before, each once "
    "both models have been asked all of it. The bounds are about these facts. A race is decided once 0 lies outside them and "
    "outside the interval about similar facts. It asks for more than a comparison that is looked at once, and may stay "
    "undecided where that shows a difference."
)


def race_in_words(a: str, b: str, race: Race | None, names: Mapping[str, str]) -> str:
    """Where the race of two runs stands, in a sentence. names: run → what to call it."""
    one, other = names[a], names[b]
    if race is None:
        return f"{one} and {other} share no fact, so they do not race."
    if not race.heads:
        return f"{one} and {other}: no disease is complete in both yet."
    failed = f"; {counted(race.failed, 'fact')} with failed calls counted against the leader" if race.failed else ""
    of = f"{race.heads:,} of {counted(race.of, 'disease')} counted{failed}"
    if race.decided_at:
        return f"Decided: {lead_in_words(one, other, race)}, after {counted(race.decided_at, 'disease')} ({of})."
    better, worse, least = (one, other, race.low) if race.low > -race.high else (other, one, -race.high)
    rest = ": the other diseases are unlikely to" if race.heads < race.of else ""
    more = f": about {counted(race.more, 'disease')} more would decide, if they are like these" if race.more else rest
    if least > 0:
        these = f"On these facts {better} masters more than {worse}, by at least {100 * least:.1f} points"
        return f"{these}; whether on similar facts is not decided{more} ({of})."
    return f"{one} and {other}: not decided {'yet' if race.heads < race.of else 'with these facts'}{more} ({of})."


def race_curve(place: int, finding: str, raced: Raced) -> Curve | None:
    """The course of a race: by how much the leader is ahead so far, with bounds that hold at any time; None before a disease is
    complete in both runs.
    """
    if raced.found is None or raced.race is None or not raced.race.heads:
        return None
    count, decided = raced.race.heads, raced.race.decided_at
    heads = np.unique(np.linspace(1, count, min(count, MOST_STEPS)).round().astype(int))
    heads = np.union1d(heads, [decided]) if decided else heads
    course = zip(heads.tolist(), *(part[heads - 1].tolist() for part in band(raced.found, raced.family)), strict=True)
    line = tuple((number, Estimate(value, low, high, number)) for number, value, low, high in course)
    if raced.race.low + raced.race.high < 0:  # the second is ahead, as the finding says
        line = tuple((number, Estimate(negated(one.value), negated(one.high), negated(one.low), one.n)) for number, one in line)
    return Curve(
        name=f"race-{place}",
        label="The difference in facts with all answers right, in points, over the diseases counted, with bounds that hold at "
        "any time.",
        finding=finding,
        lines={"difference so far": line},
        axes=(f"diseases counted, of {raced.race.of:,}", "difference, points"),
        band=True,
        signed=True,
        marked=(heads.tolist().index(decided), f"decided after {counted(decided, 'disease')}") if decided else None,
        end=raced.race.of,
    )
