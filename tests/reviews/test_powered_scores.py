"""Which facts count as drawn, for how many each speaks, and a run's scores under the reviewers' truth, worked out by hand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from recorded import complete_run

from medfact.facts import Fact
from medfact.reviews.queues import at_random
from medfact.reviews.scores import draws_of
from medfact.reviews.text import Summary, summary
from medfact.reviews.verdicts import ADJUDICATOR, CHOSEN, CONTESTED, DEPENDS, FALSE, GAME, TRUE, UNCLEAR, WITHDRAWN
from medfact.spec import RunSpec
from medfact.statements import Statement
from medfact.store import Store, Verdict

FACTS = [Fact(f"disease{n:02}", "symptoms", f"sign{n:02}") for n in range(20)]


def on(fact: Fact, number: int, verdict: str = TRUE, reviewer: str = "ada", **more: Any) -> Verdict:
    return Verdict(reviewer, fact.fact_id, verdict, number=number, **more)


def weights(facts: Sequence[Fact], log: Sequence[Verdict]) -> list[float]:
    found = draws_of(facts, log).weights
    return [found.get(fact.fact_id, 0.0) for fact in facts]


def test_what_came_at_random_and_blindly_is_drawn_once_however_often_it_was_judged() -> None:
    """Facts 0 to 3 are drawn: singly, in bulk, by two, and taken back, which decides nothing. What was seen, was played, was
    decided by an adjudicator, or concerns one sentence alone is no draw. Each of four draws of 20 facts speaks for five.
    """
    log = [on(FACTS[0], 1), on(FACTS[1], 2, bulk=True), on(FACTS[2], 3), on(FACTS[2], 4, FALSE, "ben")]
    log += [on(FACTS[3], 5), on(FACTS[3], 6, WITHDRAWN), on(FACTS[4], 7, blind=False), on(FACTS[5], 8, queue=GAME)]
    log += [on(FACTS[6], 9, role=ADJUDICATOR), on(FACTS[7], 10, UNCLEAR, statement_id="s")]
    found = draws_of(FACTS, log)
    assert found.drawn == {fact.fact_id for fact in FACTS[:4]}
    assert weights(FACTS, log) == [5.0] * 4 + [0.0] * 16
    assert len(found.reviewed[FACTS[2].fact_id]) == 2
    assert FACTS[3].fact_id not in found.reviewed
    again = [*log, on(FACTS[0], 11, FALSE, blind=False)]
    (opinion,) = draws_of(FACTS, again).reviewed[FACTS[0].fact_id].values()
    assert opinion.fact.verdict == TRUE, "what was said before the label was seen counts"


def test_contested_facts_speak_for_themselves_if_they_were_judged_before_the_draws() -> None:
    """20 facts; two are contested, four drawn. Contested first: the draws speak for the 18 that were left, 4.5 each, and the
    contested for themselves. Contested last: the draws were from all 20, 5 each. Between two draws and two others: half each,
    the first two draws for 20/4, the others for 18/4. Another reviewer's contested facts leave the draws alone.
    """
    disputed, drawn = FACTS[:2], FACTS[2:6]

    def log(first: int, reviewer: str = "ada") -> list[Verdict]:
        random = [on(fact, 10 + n) for n, fact in enumerate(drawn)]
        return sorted(
            [*(on(fact, first + n, reviewer=reviewer, queue=CONTESTED) for n, fact in enumerate(disputed)), *random],
            key=lambda one: one.number,
        )

    assert weights(FACTS, log(1))[:7] == [1.0, 1.0, 4.5, 4.5, 4.5, 4.5, 0.0]
    assert weights(FACTS, log(20))[:7] == [0.0, 0.0, 5.0, 5.0, 5.0, 5.0, 0.0]
    between = [replace(one, number=3 * one.number) if one.queue != CONTESTED else one for one in log(34)]
    assert weights(FACTS, sorted(between, key=lambda one: one.number))[:7] == [0.5, 0.5, 5.0, 5.0, 4.5, 4.5, 0.0]
    assert weights(FACTS, log(1, "ben"))[:7] == [0.0, 0.0, 5.0, 5.0, 5.0, 5.0, 0.0]
    assert sum(weights(FACTS, log(1))) == sum(weights(FACTS, log(20))) == 20
    chosen = [replace(one, queue=CHOSEN) if one.queue == CONTESTED else one for one in log(1)]
    assert weights(FACTS, chosen) == weights(FACTS, log(1)), "so do those that a reviewer chose"


def test_small_relations_and_facts_without_a_source_weigh_as_often_as_they_are_drawn() -> None:
    """The queue takes one of each relation in turn: of 16 and 4 facts two each are drawn, and speak for 8 and for 2. Where the
    ten facts without a source come first, those with one are a stratum of their own, which was not reached; where both kinds
    are drawn alike, they are one.
    """
    two = [*FACTS[:16], *(replace(fact, relation="affected sites", fact_id="") for fact in FACTS[16:])]
    drawn = [on(fact, n) for n, fact in enumerate((*two[:2], *two[16:18]))]
    assert weights(two, drawn) == [8.0] * 2 + [0.0] * 14 + [2.0] * 2 + [0.0] * 2
    mixed = [replace(fact, source="a book", fact_id="") if n % 2 else fact for n, fact in enumerate(FACTS)]
    first = draws_of(mixed, [on(fact, n) for n, fact in enumerate(mixed[:16:2])])
    assert len(set(first.stratum.values())) == 2
    assert [first.weights[fact.fact_id] for fact in mixed[:16:2]] == [10 / 8] * 8
    alike = draws_of(mixed, [on(fact, n) for n, fact in enumerate(mixed[:8])])
    assert len(set(alike.stratum.values())) == 1


def asked_of(store: Store, run: str) -> tuple[list[Statement], list[Fact]]:
    statements = [item.statement for item in store.answers.asked(run)]
    return statements, list({one.fact.fact_id: one.fact for one in statements}.values())


@pytest.fixture
def run(store: Store) -> str:
    """A model that says true unless negated: it masters the 40 true facts, and gets all eight of the 40 false ones wrong."""
    return complete_run(RunSpec(model="baseline:negation-cue", limit=40, shots=0), store)


def say(fact: Fact, otherwise: bool = False) -> str:
    return TRUE if fact.positive != otherwise else FALSE


def test_a_run_whose_facts_are_all_reviewed_has_the_score_of_its_reviewers(store: Store, run: str) -> None:
    """80 facts, 40 mastered by label. Reviewers hold 3 of the mastered false, and 1 false partner true, and one mastered fact
    depends on the patient: 40 − 3 + 1 − 1 = 37 of 79, in right answers too, since all eight of a fact go together.
    """
    _, facts = asked_of(store, run)
    true, false = ([one for one in facts if one.positive is kind] for kind in (True, False))
    other = {fact.fact_id for fact in (*true[:3], false[0])}
    log = [Verdict("ada", fact.fact_id, say(fact, fact.fact_id in other)) for fact in facts if fact != true[3]]
    store.verdicts.record([*log, Verdict("ada", true[3].fact_id, DEPENDS)])
    made = summary(store, run).powered
    for score in (made.joint, made.average):
        assert score.estimate.value == pytest.approx(37 / 79)
        assert (score.estimate.n, score.facts) == (80, 80)
        assert score.trust == pytest.approx(36 / 39 - 1 / 40)
    assert (made.drawn, made.undecided) == (80, 1)


def test_a_part_of_the_random_queue_says_it_of_all_by_its_weights(store: Store, run: str) -> None:
    """The first half of the random queue, in which reviewers hold every fifth mastered fact false. Of each relation with N
    facts n were drawn; of the mastered ones the share a = Σ N/n over those held true by Σ N/n; of the others none is
    contradicted.
    """
    _, facts = asked_of(store, run)
    drawn = at_random(facts, 0)[:40]
    true = [fact for fact in drawn if fact.positive]
    other = {fact.fact_id for fact in true[::5]}
    store.verdicts.record([Verdict("ada", fact.fact_id, say(fact, fact.fact_id in other)) for fact in drawn])
    of = {one.relation: sum(fact.relation == one.relation for fact in facts) for one in facts}
    weight = {one.relation: of[one.relation] / sum(fact.relation == one.relation for fact in drawn) for one in drawn}
    a = sum(weight[one.relation] for one in true if one.fact_id not in other) / sum(weight[one.relation] for one in true)
    made = summary(store, run)
    assert made.powered.joint.estimate.value == pytest.approx(0.5 * a)
    assert made.powered.joint.estimate.low < 0.5 * a < made.powered.joint.estimate.high < 0.6
    assert made.scores.corrected.joint.value > 0.5 * a, "the labels of all others may be as wrong"


def test_contested_verdicts_alone_give_no_score(store: Store, run: str) -> None:
    _, facts = asked_of(store, run)
    store.verdicts.record([Verdict("ada", fact.fact_id, FALSE, queue=CONTESTED) for fact in facts[:30]])
    made: Summary = summary(store, run)
    assert made.facts_reviewed == 30
    assert made.powered.joint.estimate.value is None
    assert made.powered.joint.why_not == "no randomly drawn fact was judged blind"
