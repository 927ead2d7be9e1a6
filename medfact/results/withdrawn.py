"""Scores of a run without some of its statements: withdrawn facts, and forms that a paper labels wrongly.

They are shown beside the recorded figures, which do not change. Withdrawals follow from the bundled data set as it is now.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from medfact.datasets import bundled_names, load_bundled
from medfact.datasets.bundled import files_key
from medfact.datasets.withdrawn import TRUE, Withdrawal, withdrawals
from medfact.errors import Mistake
from medfact.facts import Fact
from medfact.metrics.averages import pair_joint
from medfact.metrics.clusters import Bools
from medfact.metrics.records import Records, facts_of
from medfact.metrics.uncertainty import Estimate
from medfact.negatives import PUBLISHED
from medfact.prototypes import mislabelled_forms
from medfact.runs.plan import negative_difficulty_of
from medfact.store import Plan, Run, Store
from medfact.words import say


@dataclass(frozen=True, kw_only=True)
class ScoresWithout:
    """Scores of a run without some of its statements. Fewer statements per fact make mastery easier."""

    # relation → form that is left out → reason
    forms: Mapping[str, Mapping[str, str]] | None = field(default=None, metadata={"if_known": True})
    statements: int  # left out
    average_accuracy: Estimate
    joint_accuracy: Estimate
    pair_joint_accuracy: Estimate


@dataclass(frozen=True)
class Withdrawn:
    """Facts of a run that its bundled data set has withdrawn since."""

    dataset: str
    from_a_file: bool  # the run came from a file, whose facts the data set may never have had
    true_facts: int  # of the run
    false_facts: int
    gone: tuple[Withdrawal, ...]  # true facts that the data set lacks
    doubted: tuple[Withdrawal, ...]  # false facts that it holds true or arguable, or no longer calls false
    without: ScoresWithout  # without them and their partners


@dataclass(frozen=True)
class LeftOut:
    """Statements of a recorded plan that are not repeated."""

    facts: frozenset[str] = frozenset()  # ids of withdrawn facts and of their partners
    statements: int = 0
    dataset: str = ""  # that withdrew them


def data_key(run: Run) -> str:
    """Hash of the files of the run's bundled data set; "" for a run of other facts."""
    is_bundled = run.spec.facts is None and run.spec.dataset in bundled_names() and run.dataset == run.spec.dataset
    return files_key(run.spec.dataset) if is_bundled else ""


def withdrawn_of(run: Run, records: Records, store: Store) -> Withdrawn | None:
    """Returns the withdrawn facts of a run; None without any."""
    facts, withdrawn = _withdrawn_facts(run, store)
    if not withdrawn:
        return None
    numbers = [number for number, fact in enumerate(facts) if fact.fact_id in withdrawn]
    pairs = np.unique(records.pair[np.isin(records.fact // run.spec.shot_draws, numbers)])
    positive = sum(fact.positive for fact in facts)
    return Withdrawn(
        dataset=run.dataset,
        from_a_file=run.imported,
        true_facts=positive,
        false_facts=len(facts) - positive,
        gone=tuple(row for row in withdrawn.values() if row.asked_as == TRUE),
        doubted=tuple(row for row in withdrawn.values() if row.asked_as != TRUE),
        without=_scores_without(records, np.isin(records.pair, pairs)),
    )


def _withdrawn_facts(run: Run, store: Store) -> tuple[list[Fact], dict[str, Withdrawal]]:
    """Facts of a run by number, and withdrawn ones by id; nothing for a run of other facts or of the data set as it is now."""
    if not data_key(run) or (not run.imported and load_bundled(run.dataset).fingerprint() == run.dataset_fingerprint):
        return [], {}
    facts = store.answers.facts(run.run)
    return facts, withdrawals(run.dataset, facts, are_free=negative_difficulty_of(run.spec) == PUBLISHED)


def still_held(planned: Plan, run: Run, store: Store) -> tuple[Plan, LeftOut]:
    """Returns the plan of a recorded run without pairs that include a withdrawn fact. Raises Mistake if nothing is left."""
    facts, withdrawn = _withdrawn_facts(run, store)
    pairs = {fact.negative_of or fact.fact_id for fact in facts if fact.fact_id in withdrawn}
    left_out = frozenset(fact.fact_id for fact in facts if (fact.negative_of or fact.fact_id) in pairs)
    if not left_out:
        return planned, LeftOut()
    statements = tuple(item for item in planned.statements if item.statement.fact.fact_id not in left_out)
    if not statements:
        slots = {"run": run.run, "dataset": run.dataset}
        raise Mistake(say("withdrawn.nothing_left", **slots), say("withdrawn.new_run", **slots))
    return replace(planned, statements=statements), LeftOut(left_out, len(planned.statements) - len(statements), run.dataset)


def well_labelled(run: Run, records: Records) -> ScoresWithout | None:
    """Returns the scores over statements whose label follows from their fact; None if the run asks no others."""
    forms = mislabelled_forms(run.pool_text, records.relations.names)
    wrong = np.zeros(len(records.fact), dtype=bool)
    for relation, reasons in forms.items():
        wrong |= records.relations.among([relation]) & records.variants.among([*reasons])
    return replace(_scores_without(records, wrong), forms=forms) if wrong.any() else None


def _scores_without(records: Records, left_out: Bools) -> ScoresWithout:
    rest = records.only(~left_out)
    facts = facts_of(rest)
    return ScoresWithout(
        statements=int(left_out.sum()),
        average_accuracy=rest.accuracy(np.ones(len(rest.fact), dtype=bool)),
        joint_accuracy=facts.joint(),
        pair_joint_accuracy=pair_joint(rest, facts),
    )
