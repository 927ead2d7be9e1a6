"""What several models show of the facts: which are missed most, which labels all contradict, and whether models err alike; and
the same in sentences, once for the page, the command line and reports."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from medfact.facts import Fact
from medfact.metrics import record_of
from medfact.metrics.alikeness import Alike, Correlation, alike
from medfact.metrics.clusters import Codes, Floats
from medfact.metrics.hardness import FEWEST_MODELS, Rasch, rasch
from medfact.metrics.uncertainty import Estimate
from medfact.metrics.witnesses import FEWEST_WITNESSES, Against, against_labels, belief
from medfact.models import FUNCTION, provider_of
from medfact.results.fact_table import FactTable, fact_table, facts_of_rows
from medfact.results.sides import Side
from medfact.results.wording import ABSENT, NO_VALUE, TOO_FEW, count, counted, names_of_runs, share, signed_decimals
from medfact.statements import VARIANTS
from medfact.store import Store

HARDEST = 10
SUSPECT = 20
"""Facts that are listed."""


@dataclass(frozen=True)
class Missed:
    """A fact that models miss. right, of: statements over all models; middling: the share that a middling model has right, if
    enough models were asked. tied: how many facts have as few right.
    """

    fact: Fact
    right: int
    of: int
    middling: Estimate | None
    tied: int


@dataclass(frozen=True)
class Suspect:
    """A fact whose label all witnesses contradict. models: how many; ways: in how many statements each. times: how many times
    as often such answers are given where the label is wrong, if models err independently.
    """

    fact: Fact
    models: int
    ways: int
    times: float


@dataclass(frozen=True)
class PairAlike:
    """Two models, by what to call them, and how far they are right on the same facts."""

    a: str
    b: str
    alike: Alike


@dataclass(frozen=True)
class OverModels:
    """models: those that count, by what to call their runs; left_out: runs that do not, each with the reason. facts: in all.

    whole: facts that every model answered in every way. mastered_by_none: those of them that no model has wholly right.
    hardest: those missed most. rasch: of the models together, None with few. suspects: the first of suspects_of, whose labels
    all witnesses contradict; no_witness: models whose word does not count there; denied: whether facts are asked denied too,
    without which no label is contradicted coherently. pairs: how far two models are right on the same facts.
    """

    models: tuple[str, ...]
    left_out: tuple[tuple[str, str], ...]
    facts: int
    whole: int
    mastered_by_none: int
    hardest: tuple[Missed, ...]
    rasch: Rasch | None
    suspects: tuple[Suspect, ...]
    suspects_of: int
    no_witness: tuple[str, ...]
    denied: bool
    pairs: tuple[PairAlike, ...]

    def record(self) -> dict[str, Any]:
        """As JSON: the key `over_models` of `compare RUN RUN --json`."""
        fit = self.rasch
        return {
            "models": list(self.models),
            "left_out": [{"run": name, "reason": reason} for name, reason in self.left_out],
            "facts": self.facts,
            "answered_in_every_way": self.whole,
            "mastered_by_none": self.mastered_by_none,
            "hardest": [
                {**_fact(one.fact), "right": one.right, "of": one.of, "middling": record_of(one.middling)}
                for one in self.hardest
            ],
            "rasch": {name: getattr(fit, name) for name in ("spread", "testlet", "dispersion", "reliability")} if fit else None,
            "against_label": [{**_fact(one.fact), "models": one.models, "times": one.times} for one in self.suspects],
            "against_label_of": self.suspects_of,
            "no_witness": list(self.no_witness),
            "correlations": [
                {"a": one.a, "b": one.b, **{name: of._asdict() for name, of in one.alike._asdict().items()}}
                for one in self.pairs
            ],
        }


def _fact(fact: Fact) -> dict[str, Any]:
    return {name: getattr(fact, name) for name in ("fact_id", "head", "relation", "tail", "positive")}


def over_models(sides: Sequence[Side], store: Store) -> OverModels:
    """What the models of runs show of the facts that all of them were asked. A model counts once, with its first run, and a
    baseline not at all: it knows no medicine. Of several draws of demonstrations the first counts.
    """
    names = names_of_runs([side.run for side in sides])
    counting, left_out = _counting(sides, names)
    chosen = [side for side, name in zip(sides, names, strict=True) if name in counting]
    if not chosen:
        return OverModels((), tuple(left_out), 0, 0, 0, (), None, (), 0, (), False, ())
    table = fact_table(chosen)
    asked = _asked(chosen[0], table)
    whole = _whole(table)
    few = len(chosen) < FEWEST_MODELS
    fit = None if few or len(asked.rows) < 2 else rasch(asked.right, asked.of, asked.heads)
    against = _against(table, asked)
    hardest = _hardest(asked, fit) if len(chosen) > 1 else []
    suspects = against.facts[:SUSPECT]
    facts = facts_of_rows(store, table, [int(asked.rows[place]) for place in (*hardest, *suspects)])
    return OverModels(
        models=tuple(counting),
        left_out=tuple(left_out),
        facts=len(asked.rows),
        whole=int(whole.sum()),
        mastered_by_none=int((whole & ~table.mastered.any(axis=0)).sum()),
        hardest=tuple(_missed(asked, fit, place, facts) for place in hardest),
        rasch=fit,
        suspects=tuple(
            Suspect(facts[int(asked.rows[place])], int(many), int(asked.of[0, place]), float(np.exp(weight)))
            for place, many, weight in zip(suspects, against.how_many, against.weight, strict=False)
        ),
        suspects_of=len(against.facts),
        no_witness=tuple(name for name, of in zip(counting, against.witnesses, strict=True) if not of.any()),
        denied=len({VARIANTS[key].negated for key in table.variants}) == 2,
        pairs=tuple(_pairs(counting, asked)),
    )


def _pairs(names: Sequence[str], asked: _Asked) -> Iterator[PairAlike]:
    shares = asked.right / asked.of
    for a, b in combinations(range(len(names)), 2) if len(asked.rows) else ():
        yield PairAlike(names[a], names[b], alike(shares[a], shares[b], asked.positive, asked.heads, asked.tails))


def _counting(sides: Sequence[Side], names: Sequence[str]) -> tuple[list[str], list[tuple[str, str]]]:
    seen: set[tuple[str, str | None]] = set()
    counting, left_out = [], []
    for side, name in zip(sides, names, strict=True):
        run = side.run
        # functions of the same source may depend on different things: each run is a model of its own
        model = (run.model, run.run if run.model.startswith(FUNCTION) else run.model_revision)
        if provider_of(side.run.model).is_rule:
            left_out.append((name, "a baseline knows no medicine"))
        elif model in seen:
            left_out.append((name, "its model is here already, and counts once"))
        else:
            counting.append(name)
        seen.add(model)
    return counting, left_out


class _Asked(NamedTuple):
    """The facts that every model answered: their rows in the table, whether each holds, its head and tail; models × facts: how
    many statements are right, and of how many.
    """

    rows: Codes
    positive: np.ndarray[Any, np.dtype[np.bool_]]
    heads: Codes
    tails: Codes
    right: Floats
    of: Floats


def _asked(first: Side, table: FactTable) -> _Asked:
    scored = (table.fate >= -1).sum(axis=2)
    rows = np.flatnonzero((scored > 0).all(axis=0))
    sheet, numbers = first.board.sheet, table.number[0, rows]
    return _Asked(
        rows,
        table.positive[rows],
        np.unique(sheet.head[numbers], return_inverse=True)[1].astype(np.int64),
        np.unique(sheet.tail[numbers], return_inverse=True)[1].astype(np.int64),
        (table.fate[:, rows] == 1).sum(axis=2).astype(float),
        scored[:, rows].astype(float),
    )


def _whole(table: FactTable) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """Which facts every model answered in every way that it is asked. A failed call is no answer."""
    return np.asarray(table.answered & (table.fate != ABSENT).any(axis=2).all(axis=0), dtype=bool)


def _against(table: FactTable, asked: _Asked) -> Against:
    fate, negated = table.fate[:, asked.rows], np.array([VARIANTS[key].negated for key in table.variants], dtype=bool)
    there = fate > -4
    label = np.not_equal(asked.positive[:, None], negated[None, :])
    beliefs = [
        belief(
            (of == 1).sum(axis=1),
            (of == 0).sum(axis=1),
            (in_it & label).sum(axis=1),
            (in_it & ~label).sum(axis=1),
            asked.positive,
        )
        for of, in_it in zip(fate, there, strict=True)
    ]
    return against_labels(np.array(beliefs), np.asarray(there.any(axis=2), dtype=bool), asked.positive, asked.heads)


def _hardest(asked: _Asked, fit: Rasch | None) -> list[int]:
    """Places of the facts missed most: by difficulty, or with few models by the plain share right."""
    share = asked.right.sum(axis=0) / asked.of.sum(axis=0)
    order = np.argsort(share if fit is None else -fit.difficulty, kind="stable")
    return [int(place) for place in order if share[place] < 1][:HARDEST]


def _missed(asked: _Asked, fit: Rasch | None, place: int, facts: dict[int, Fact]) -> Missed:
    right, of = asked.right.sum(axis=0), asked.of.sum(axis=0)
    fact = facts[int(asked.rows[place])]
    middling = fit.middling(place, int(of[place])) if fit else None
    tied = int((right / of == right[place] / of[place]).sum())
    return Missed(fact, int(right[place]), int(of[place]), middling, tied)


# ------------------------------------------------------------------------------------------------ in words

NOTHING_SHARED = "No fact was answered by all of them, so nothing can be said of any label."

NOT_ENOUGH = "It takes two models, baselines not counted, that were asked the same facts."


def about_models(found: OverModels) -> list[str]:
    """Whose answers these are, in sentences."""
    lines = [f"{counted(len(found.models), 'model')} answered the same {counted(found.facts, 'fact')}."]
    return lines + [f"{name} does not count here: {reason}." for name, reason in found.left_out]


def hardest_in_words(found: OverModels) -> str:
    """How the facts that are missed most were found."""
    whole = f"{counted(found.whole, 'fact')} answered in every way"
    none = f"No model has all answers right on {count(found.mastered_by_none)} of {whole}."
    if not found.whole:
        none = "No fact was answered in every way by all models."
    if found.rasch is None:
        return (
            f"{none} Listed by right answers over all models. With fewer than {FEWEST_MODELS} models, places in this list are "
            "partly luck."
        )
    return (
        f"{none} Listed by difficulty: a Rasch model in which a model may know one disease better than another. "
        f"{found.rasch.reliability:.0%} of the spread in difficulty is more than chance; where intervals overlap, the order "
        "shows nothing."
    )


def missed_in_words(one: Missed) -> str:
    """How often a fact is missed."""
    said = f"{one.right} of {one.of} answers right"
    if one.middling:
        return f"{said}; an average model would have {share(one.middling)} right"
    others = counted(one.tied - 1, "other fact")
    return f"{said}, tied with {others}" if one.tied > 1 else said


def suspects_in_words(found: OverModels) -> str:
    """Whether there are facts whose label is the suspect, and whose word counts."""
    mute = found.no_witness
    if not found.facts:
        return NOTHING_SHARED
    if not found.denied:
        return "Labels cannot be judged here: without denied statements, a wrong answer may be mere habit."
    if len(found.models) - len(mute) < FEWEST_WITNESSES:
        said = "Needs two models better than chance."
    elif not found.suspects_of:
        said = "No label is contradicted by all models in every way of asking."
    else:
        said = (
            f"On {counted(found.suspects_of, 'fact')} all models say the opposite of the label, in every way of asking. "
            "Perhaps they learned the same mistake, perhaps the label is wrong: judge it before you blame the models."
        )
    if not mute:
        return said
    names, one = " and ".join(filter(None, [", ".join(mute[:-1]), mute[-1]])), len(mute) == 1
    return (
        f"{said} {names} {'is' if one else 'are'} not counted: {'it is' if one else 'they are'} not shown to tell true facts "
        "from false ones, in all ways of asking together."
    )


def against_in_words(models: int, ways: int) -> str:
    """That so many models contradict a label in so many ways."""
    every = {2: "both ways", 8: "all eight ways"}.get(ways, f"all {ways} ways")
    return f"{'both' if models == 2 else f'all {models}'} models say the opposite of the label in {every}"


def alike_in_words(pair: PairAlike) -> str:
    """Whether two models are right on the same facts."""
    overall, within = pair.alike
    if overall.value is None:
        return f"{pair.a} and {pair.b}: one of them is right on every fact alike, so there is nothing to correlate."
    between = f"between facts of the same disease {_correlation(within)}"
    low, high = within.low, within.high
    if low is None or high is None:
        says = "nothing can be said"
    elif low > 0:
        says = "they are right on the same facts more often than by chance"
    else:
        says = "they are right on different facts" if high < 0 else "not shown to be right on the same facts"
    return f"{pair.a} and {pair.b}: {says} (r = {_correlation(overall)}; {between})."


def _correlation(found: Correlation) -> str:
    if found.value is None:
        return NO_VALUE
    if found.low is None or found.high is None:
        return f"{signed_decimals(found.value, 2)}, {TOO_FEW}"
    value, low, high = (signed_decimals(end, 2) for end in (found.value, found.low, found.high))
    return f"{value}, {low} to {high}, n = {counted(found.n, 'fact')}"
