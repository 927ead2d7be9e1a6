"""Scores of a run without part of its statements: facts that its bundled set has withdrawn since, forms that a paper mislabels.

The figures of the run stay as recorded, and these stand beside them. Withdrawals are computed when a run is shown, from the set
as it is now: nothing of them is recorded.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from medfact.datasets import bundled_names, load_bundled
from medfact.datasets.bundled import files_key
from medfact.datasets.withdrawn import TRUE, Withdrawal, withdrawals
from medfact.errors import Mistake
from medfact.facts import Fact
from medfact.metrics.clusters import Bools
from medfact.metrics.joint import facts_of, pair_joint
from medfact.metrics.records import Records
from medfact.metrics.uncertainty import NOTHING, Estimate
from medfact.negatives import PUBLISHED
from medfact.prototypes import mislabelled_forms
from medfact.runs.plan import negative_difficulty_of
from medfact.store import Plan, Run, Store


@dataclass(frozen=True)
class Without:
    """The scores of a run without the facts that were withdrawn, and without the partners of these. statements: left out."""

    statements: int
    average_accuracy: Estimate
    joint_accuracy: Estimate
    pair_joint_accuracy: Estimate


@dataclass(frozen=True)
class Withdrawn:
    """Facts of a run that its data set has withdrawn since. dataset: the bundled set. from_a_file: whether the run came from a
    file, whose facts the set may never have had. true_facts, false_facts: how many the run asks.

    gone: true ones that the set no longer holds. doubted: false ones that it now holds true or arguable, or that a source
    called false and no longer does.
    """

    dataset: str
    from_a_file: bool
    true_facts: int
    false_facts: int
    gone: tuple[Withdrawal, ...]
    doubted: tuple[Withdrawal, ...]
    without: Without


def data_key(run: Run) -> str:
    """A hash of the files of the bundled set that a run asks; "" of a run that asks no bundled set."""
    return files_key(run.spec.dataset) if _asks_a_bundled_set(run) else ""


def _asks_a_bundled_set(run: Run) -> bool:
    return run.spec.facts is None and run.spec.dataset in bundled_names() and run.dataset == run.spec.dataset


def withdrawn_of(run: Run, records: Records, store: Store) -> Withdrawn | None:
    """What a run asked and its bundled set has withdrawn since; None where nothing was, and of runs of other facts."""
    facts, found = _found(run, store)
    if not found:
        return None
    numbers = [number for number, fact in enumerate(facts) if fact.fact_id in found]
    positive = sum(fact.positive for fact in facts)
    gone = tuple(one for one in found.values() if one.asked_as == TRUE)
    doubted = tuple(one for one in found.values() if one.asked_as != TRUE)
    return Withdrawn(
        dataset=run.dataset,
        from_a_file=run.imported,
        true_facts=positive,
        false_facts=len(facts) - positive,
        gone=gone,
        doubted=doubted,
        without=_without(records, numbers, run.spec.shot_draws),
    )


def _found(run: Run, store: Store) -> tuple[list[Fact], dict[str, Withdrawal]]:
    """The facts of a run by number, and those that were withdrawn, by id; nothing of a run of other facts.

    A run that was recorded here with the set as it is now asks nothing that was withdrawn.
    """
    if not _asks_a_bundled_set(run):
        return [], {}
    if not run.imported and load_bundled(run.dataset).fingerprint() == run.dataset_fingerprint:
        return [], {}
    facts = store.answers.facts(run.run)
    return facts, withdrawals(run.dataset, facts, are_free=negative_difficulty_of(run.spec) == PUBLISHED)


@dataclass(frozen=True)
class LeftOut:
    """What a recorded plan is not asked of again. facts: the ids of those withdrawn since, and of their partners. statements:
    about these. dataset: the set that withdrew them.
    """

    facts: frozenset[str] = frozenset()
    statements: int = 0
    dataset: str = ""


def still_held(planned: Plan, run: Run, store: Store) -> tuple[Plan, LeftOut]:
    """The plan of a recorded run without the pairs of which its bundled set has withdrawn a fact since, and what is left out.

    Raises Mistake where nothing is left.
    """
    facts, found = _found(run, store)
    pairs = {fact.negative_of or fact.fact_id for fact in facts if fact.fact_id in found}
    out = frozenset(fact.fact_id for fact in facts if (fact.negative_of or fact.fact_id) in pairs)
    if not out:
        return planned, LeftOut()
    kept = tuple(one for one in planned.statements if one.statement.fact.fact_id not in out)
    if not kept:
        raise Mistake(
            f"All facts of run {run.run} have been withdrawn from {run.dataset} since, or are not in it.",
            f"Ask {run.dataset} as it is now in a new run, and compare with that.",
        )
    return replace(planned, statements=kept), LeftOut(out, len(planned.statements) - len(kept), run.dataset)


def _without(records: Records, numbers: list[int], draws: int) -> Without:
    """The scores without some facts, by number, and without the partners of these. draws: of demonstrations."""
    pairs = np.unique(records.pair[np.isin(records.fact // draws, numbers)])
    return Without(*_scores_without(records, np.isin(records.pair, pairs)))


def _scores_without(records: Records, out: Bools) -> tuple[int, Estimate, Estimate, Estimate]:
    """Statements left out; average, joint and pair joint accuracy of the others."""
    count = int(out.sum())
    if out.all():
        return count, NOTHING, NOTHING, NOTHING
    rest = records.only(~out)
    facts = facts_of(rest)
    return count, rest.accuracy(np.ones(len(rest.fact), dtype=bool)), facts.joint(), pair_joint(rest, facts)


@dataclass(frozen=True)
class WellLabelled:
    """The scores of a run over the statements whose label follows from their fact. forms: relation → form that is left out →
    why. statements: how many are left out. With fewer statements a fact, all of them are right more easily.
    """

    forms: Mapping[str, Mapping[str, str]]
    statements: int
    average_accuracy: Estimate
    joint_accuracy: Estimate
    pair_joint_accuracy: Estimate


def well_labelled(run: Run, records: Records) -> WellLabelled | None:
    """The scores without the forms that the run's sentences label wrongly; None where it asks no such form."""
    forms = mislabelled_forms(run.pool_text, records.relations.names)
    wrong = np.zeros(len(records.fact), dtype=bool)
    for relation, of_relation in forms.items():
        wrong |= records.relations.among([relation]) & records.variants.among([*of_relation])
    return WellLabelled(forms, *_scores_without(records, wrong)) if wrong.any() else None
