"""“Beat the model”: packets, answers and scores, worked out by hand; and what a visitor may send over plain HTTP."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from app_builders import services_on
from recorded import complete_run
from small_facts import make_fact_rows, make_facts

from medfact.prototypes import load_pool
from medfact.results.report import board_of
from medfact.reviews.game import NO_CLOCK, VISITOR, answers_in, outcome, packets, verdicts_of
from medfact.reviews.transfer import rows_of, verdicts_in
from medfact.reviews.verdicts import CANNOT, FALSE, GAME, TRUE, opinions
from medfact.runs.run import answer
from medfact.runs.start import start
from medfact.spec import RunSpec
from medfact.store import Store, Verdict
from medfact.web.pages import Action, Visitor
from medfact.web.services import Services
from medfact.web.updates import PAGES, Question
from medfact.web.updates import answer as updates
from medfact.web.visitors import NOBODY

TRUE_FACTS = make_facts([row for row in make_fact_rows() if row["relation"] == "symptoms"])
FALSE_FACTS = tuple(
    replace(fact, tail=f"sign of disease {number}", positive=False, negative_of=fact.fact_id, k=1, fact_id="")
    for number, fact in enumerate(TRUE_FACTS)
)
STATEMENTS = list(load_pool("medfact").statements([*TRUE_FACTS, *FALSE_FACTS]))
PACKET = tuple(statement for statement in STATEMENTS if statement.fact == TRUE_FACTS[0])


def test_a_packet_is_one_of_a_true_fact_and_its_false_partner() -> None:
    dealt = packets(STATEMENTS, "ada")
    facts = [packet[0].fact for packet in dealt]
    assert {len(packet) for packet in dealt} == {8}
    assert all(statement.fact == packet[0].fact for packet in dealt for statement in packet)
    assert len({fact.negative_of or fact.fact_id for fact in facts}) == len(facts) == len(TRUE_FACTS)
    assert 8 <= sum(fact.positive for fact in facts[:20]) <= 12
    assert dealt == packets(reversed(STATEMENTS), "ada")
    assert dealt != packets(STATEMENTS, "ben")


def test_answers_are_verdicts_in_the_queue_of_the_game_and_no_opinions(store: Store, tmp_path: Path) -> None:
    first, second, third = (statement.statement_id for statement in PACKET[:3])
    other = next(statement for statement in STATEMENTS if statement.fact == TRUE_FACTS[5])
    fields = {first: "true", second: "false", third: "<b>perhaps", other.statement_id: "true", "seconds": "3", "": "true"}
    verdicts = verdicts_of(PACKET, fields, 12.5, clock=True, blind=False)
    store.of("ada").verdicts.record(verdicts)
    log = store.verdicts.log()
    assert [verdict.verdict for verdict in log] == [TRUE, FALSE, *[CANNOT] * 6]
    assert {(one.reviewer, one.queue, one.seconds, one.comment, one.blind) for one in log} == {(VISITOR, GAME, 12.5, "", False)}
    assert opinions(log) == {}
    ids = [statement.statement_id for statement in PACKET]
    assert answers_in(log) == dict.fromkeys(ids) | {first: True, second: False}
    assert {one.comment for one in verdicts_of(PACKET, {}, None, clock=False, blind=True)} == {NO_CLOCK}
    again = [Verdict(VISITOR, PACKET[0].fact.fact_id, said, first, queue=GAME, owner="ada") for said in (FALSE, TRUE)]
    assert answers_in(again) == {first: False}, "the first answer counts"
    file = tmp_path / "verdicts.jsonl"
    file.write_text("\n".join(json.dumps(row) for row in rows_of(verdicts, STATEMENTS)))
    assert answers_in(verdicts_in(file)) == answers_in(verdicts), "a game survives a table"


def test_scores_of_the_person_and_of_the_model(store: Store, facts_file: Path) -> None:
    """The model holds every sentence true: half of its answers are right, and no fact is mastered."""
    run = start(RunSpec(model="baseline:always-true", facts=str(facts_file), limit=6, shots=0), store)
    list(answer(run, store))
    records, statements = board_of(store, run).records(), [item.statement for item in store.answers.asked(run)]
    ids = [statement.statement_id for statement in statements]
    facts = {statement.fact.head: statement.fact for statement in statements if statement.fact.positive}
    first, second, third, fourth = ([one for one in statements if one.fact == fact] for fact in list(facts.values())[:4])
    answers: dict[str, bool | None] = {one.statement_id: one.label for one in (*first, *second, *third)}
    answers[second[2].statement_id] = not second[2].label
    answers[third[6].statement_id] = None
    unfinished = {one.statement_id: one.label for one in fourth[:7]}  # a fact of which not everything was shown
    person, model = outcome(records, ids, answers | unfinished)
    assert (person.facts, person.average.n, person.joint.n) == (3, 24, 3)
    assert person.average.value == pytest.approx((8 + 7 + 7) / 24)
    assert person.joint.value == pytest.approx(1 / 3)
    assert person.joint.low is person.joint.high is None, "three facts are too few to say anything of others"
    assert model.average.value == pytest.approx(12 / 24)
    assert model.joint.value == 0
    assert outcome(records, ids, {})[0].facts == 0


# ------------------------------------------------------------------------------------------------ over plain HTTP


@pytest.fixture
def services(store: Store, facts_file: Path) -> Iterator[Services]:
    spec = RunSpec(model="baseline:always-true", facts=str(facts_file), limit=6, shots=0)
    complete_run(spec, store.of("demonstration"))
    with services_on(store) as services:
        yield services


def ask(services: Services, owner: str, action: Action | None = None, **show: Any) -> dict[str, Any]:
    run = services.store.runs("demonstration")[0].run
    question = Question(page="game", show=show, action=action)
    return dict(json.loads(updates(Visitor(services, owner, (owner,), run), PAGES["game"], question)))


def hand_in(services: Services, owner: str, number: object, fields: dict[str, str], **show: Any) -> dict[str, Any]:
    return ask(services, owner, Action(name="game_done", about=str(number), fields=fields), game=1, **show)


def up(services: Services, owner: str, game: int = 1) -> list[str]:
    """Ids of the sentences that are up."""
    return list(dict.fromkeys(re.findall(r'data-key="true-([0-9a-f]+)"', ask(services, owner, game=game)["fragments"]["game"])))


def log_of(services: Services, owner: str) -> list[Verdict]:
    return services.store.verdicts.log(owners=[owner])


def test_answers_are_recorded_once_and_labels_shown_after_them(services: Services) -> None:
    ids = up(services, "ada")
    assert len(ids) == 8
    assert "FALSE (test statement)" not in ask(services, "ada", game=1)["fragments"]["game"]
    result = hand_in(services, "ada", 1, {**dict.fromkeys(ids[:6], "true"), "seconds": "17.25"})["fragments"]["game"]
    assert [one.verdict for one in log_of(services, "ada")] == [TRUE] * 6 + [CANNOT] * 2
    assert {one.seconds for one in log_of(services, "ada")} == {17.25}
    assert "2 sentences without an answer: counted as wrong" in result
    assert "One fact says nothing about others" in result
    assert "FALSE (test statement)" in result
    again = hand_in(services, "ada", 1, dict.fromkeys(ids, "false"))
    assert "you have judged them already" in again["fragments"]["said"]
    assert len(log_of(services, "ada")) == 8
    assert len(up(services, "ada", game=2)) == 8
    assert up(services, "ada", game=1) == [], "the result stands"


@pytest.mark.parametrize("number", [0, 2, -1, 99, 10**30, "1 OR 1=1", "²", "", "<b>"])
def test_a_packet_that_is_not_up_is_refused(services: Services, number: object) -> None:
    assert "These sentences are not up" in hand_in(services, "ada", number, {})["fragments"]["said"]
    assert log_of(services, "ada") == []


def test_hostile_forms_and_visitors_without_a_cookie_leave_nothing(services: Services) -> None:
    others = (name for owner in ("ben", "cleo", "dora") for name in up(services, owner))
    other = next(name for name in others if name not in up(services, "ada"))
    hostile = {other: "true", "0" * 20: "true", "<script>": "true", "seconds": "nan"}
    hand_in(services, "ada", 1, hostile, clock=False)
    log = log_of(services, "ada")
    assert {(one.verdict, one.seconds, one.comment) for one in log} == {(CANNOT, None, NO_CLOCK)}
    assert {one.statement_id for one in log}.isdisjoint(hostile)
    assert "needs a cookie" in ask(services, NOBODY, game=1)["fragments"]["game"]
    hand_in(services, NOBODY, 1, {})
    assert log_of(services, NOBODY) == []
    for begun in (ask(services, "ben"), ask(services, "ben", game="<b>")):
        assert "data-countdown" not in begun["fragments"]["game"]
        assert 'id="game-start"' in begun["fragments"]["game"]


def test_all_packets_can_be_played(services: Services) -> None:
    for number in range(1, 7):
        hand_in(services, "ada", number, dict.fromkeys(up(services, "ada", game=number), "true"))
    assert len(log_of(services, "ada")) == 8 * 6, "one fact of each of six pairs"
    assert "That was the last fact" in ask(services, "ada", game=99)["fragments"]["game"]
