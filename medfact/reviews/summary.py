"""The reviews of a run: its scores under them, how reliable its labels are, and how far reviewers agree."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from medfact.facts import Fact
from medfact.metrics.agreement import MISSING, Agreement, agreement
from medfact.metrics.records import codes
from medfact.metrics.uncertainty import Estimate
from medfact.results.report import board_of
from medfact.reviews.draws import draws_of
from medfact.reviews.reliability import Row, Sentences, by_origin, ceiling, reliability
from medfact.reviews.scores import PoweredScores, ReviewedScores, powered_scores, reviewed_scores
from medfact.reviews.verdicts import ADJUDICATOR, DEPENDS, FALSE, TRUE, Opinion, judged, opinions
from medfact.statements import VARIANTS, Statement
from medfact.store import Store

SAID = (FALSE, TRUE, DEPENDS)
"""The categories of agreement."""


@dataclass(frozen=True)
class Summary:
    """The reviews of a run. powered: scores under the reviewers' truth, for all facts. labels: of `reliability`, the last row
    of all. sentences: of `by_origin`. ceiling: on joint accuracy, from label errors. by_relation, by_form: agreement, by a
    relation's name and by a way of asking.
    """

    facts_reviewed: int
    reviewers: int
    scores: ReviewedScores
    powered: PoweredScores
    labels: tuple[Row, ...]
    sentences: tuple[Sentences, ...]
    ceiling: Estimate
    agreement: Agreement
    by_relation: Mapping[str, Agreement]
    by_form: Mapping[str, Agreement]
    disputed: tuple[Fact, ...]
    """Facts about which reviewers differ."""

    @property
    def of_facts(self) -> tuple[Any, ...]:
        """All that does not depend on the model: equal for runs that asked the same."""
        counts = (self.scores.wrong, self.scores.sentences, self.scores.dropped, self.disputed)
        figures = (self.labels, self.sentences, self.ceiling, self.agreement, self.by_relation, self.by_form)
        return (self.facts_reviewed, self.reviewers, *counts, *figures)


def told_once(summaries: Mapping[str, Summary]) -> dict[str, Summary]:
    """A summary for all runs whose reviews are the same, by their names; under "" where that is all of them."""
    groups: dict[str, list[str]] = {}
    for name, made in summaries.items():
        groups.setdefault(repr(made.of_facts), []).append(name)
    return {", ".join(names) if len(groups) > 1 else "": summaries[names[0]] for names in groups.values()}


def summary(store: Store, run_id: str, owners: Sequence[str] = ()) -> Summary:
    """The summary of a run. owners: whose verdicts count, by default everybody's. Raises what the run's records raise."""
    run = store.run(run_id)
    asked = [item.statement for item in store.answers.asked(run.run)]
    facts = list(dict.fromkeys(statement.fact.fact_id for statement in asked))
    log = store.verdicts.log(facts, owners)
    reviewed = opinions(log)
    judgements = {s.statement_id: judged(s, reviewed[s.fact.fact_id]) for s in asked if s.fact.fact_id in reviewed}
    once = list({statement.statement_id: statement for statement in asked}.values())
    labels, records = reliability(once, reviewed), board_of(store, run.run).records()
    draws = draws_of(list({statement.fact.fact_id: statement.fact for statement in asked}.values()), log)
    return Summary(
        len(reviewed),
        len({reviewer for of in reviewed.values() for reviewer in of}),
        reviewed_scores(records, [statement.statement_id for statement in asked], judgements),
        powered_scores(records, asked, draws),
        labels,
        by_origin(once, reviewed),
        ceiling(once, reviewed),
        agreement_on(once, reviewed),
        _agreement_by(once, reviewed, lambda statement: statement.fact.relation),
        _agreement_by(once, reviewed, lambda statement: VARIANTS[statement.variant].plain),
        tuple(dict.fromkeys(s.fact for s in once if s.statement_id in judgements and judgements[s.statement_id].disputed)),
    )


def _agreement_by(
    statements: Sequence[Statement], reviewed: Mapping[str, Mapping[str, Opinion]], name_of: Callable[[Statement], str]
) -> dict[str, Agreement]:
    parts: dict[str, list[Statement]] = {}
    for statement in statements:
        if statement.fact.fact_id in reviewed:
            parts.setdefault(name_of(statement), []).append(statement)
    return {name: agreement_on(part, reviewed) for name, part in parts.items()}


def agreement_on(statements: Sequence[Statement], reviewed: Mapping[str, Mapping[str, Opinion]]) -> Agreement:
    """Agreement on which statements are true, false, or depend on the patient, adjudicators left out; intervals by head."""
    rows = list(_ratings(statements, reviewed))
    names = sorted({reviewer for _, of in rows for reviewer in of})
    table = np.array([[of.get(name, MISSING) for name in names] for _, of in rows], dtype=np.int64).reshape(
        len(rows), len(names)
    )
    return agreement(table, codes([head for head, _ in rows]))


def _ratings(
    statements: Sequence[Statement], reviewed: Mapping[str, Mapping[str, Opinion]]
) -> Iterator[tuple[str, dict[str, int]]]:
    """Of each judged statement its head, and each reviewer's verdict, as a place in SAID."""
    for statement in statements:
        single = [one for one in reviewed.get(statement.fact.fact_id, {}).values() if one.fact.role != ADJUDICATOR]
        said = {one.reviewer: SAID.index(says) for one in single if (says := one.says(statement)) is not None}
        if said:
            yield statement.fact.head, said
