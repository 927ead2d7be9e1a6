"""“Beat the model”: packets, answers and figures, worked out by hand; and what a visitor may send over plain HTTP."""

from __future__ import annotations

import html
import json
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from small_facts import facts_of, rows_of_facts

from medfact.metrics.records import Records
from medfact.metrics.uncertainty import wilson
from medfact.prototypes import load_pool
from medfact.results.compare import Comparisons
from medfact.results.live import Reports
from medfact.results.report import board_of
from medfact.reviews.game import (
    NO_CLOCK,
    VISITOR,
    Answers,
    Packet,
    answers_from,
    answers_in,
    is_played,
    outcome,
    packets,
    people,
    verdicts_of,
)
from medfact.reviews.transfer import rows_of, verdicts_in
from medfact.reviews.verdicts import CANNOT, FALSE, GAME, TRUE, opinions
from medfact.runs.jobs import Jobs
from medfact.runs.run import answer
from medfact.runs.start import start
from medfact.spec import RunSpec
from medfact.statements import VARIANTS, Statement
from medfact.store import Store, Verdict
from medfact.web.pages import Action, Visitor
from medfact.web.services import Services
from medfact.web.updates import PAGES, Question
from medfact.web.updates import answer as updates
from medfact.web.visitors import NOBODY

TRUE_FACTS = facts_of([row for row in rows_of_facts() if row["relation"] == "symptoms"])
FALSE_FACTS = tuple(
    replace(fact, tail=f"sign of disease {number}", positive=False, negative_of=fact.fact_id, k=1, fact_id="")
    for number, fact in enumerate(TRUE_FACTS)
)
STATEMENTS = list(load_pool("medfact").statements([*TRUE_FACTS, *FALSE_FACTS]))


def truth(statements: list[Statement] | tuple[Statement, ...]) -> dict[str, bool | None]:
    return {statement.statement_id: statement.label for statement in statements}


# ------------------------------------------------------------------------------------------------ packets


def test_the_first_packet_is_eight_sentences_about_one_fact_and_the_others_sixteen_about_two() -> None:
    made = packets(STATEMENTS, "ada")
    assert [packet.number for packet in made] == list(range(1, len(made) + 1))
    # 28 pairs, of each one fact: 1, then 13 times 2, and 1 is left
    assert [len(packet.facts) for packet in made] == [1, *[2] * 13, 1]
    assert [(len(packet.statements), packet.seconds) for packet in made[:2]] == [(8, 20), (16, 40)]
    for packet in made:
        assert Counter(one.fact for one in packet.statements) == dict.fromkeys(packet.facts, 8)


def test_only_one_of_a_true_fact_and_its_false_partner_is_played() -> None:
    facts = [fact for packet in packets(STATEMENTS, "ada") for fact in packet.facts]
    assert len({fact.negative_of or fact.fact_id for fact in facts}) == len(facts) == len(TRUE_FACTS)
    assert 8 <= sum(fact.positive for fact in facts[:20]) <= 12


def test_packets_are_the_same_at_each_look_and_others_for_another_person() -> None:
    assert packets(STATEMENTS, "ada") == packets(reversed(STATEMENTS), "ada")
    assert packets(STATEMENTS, "ada") != packets(STATEMENTS, "ben")
    mixed = packets(STATEMENTS, "ada")[1]
    assert list(mixed.statements) != sorted(mixed.statements, key=lambda one: one.fact.fact_id), "two facts are mixed"


# ------------------------------------------------------------------------------------------------ answers


PACKET = Packet(2, TRUE_FACTS[:2], tuple(one for one in STATEMENTS if one.fact in TRUE_FACTS[:2]))


def test_fields_say_something_of_the_packets_statements_alone() -> None:
    first, second, third = (one.statement_id for one in PACKET.statements[:3])
    other = next(one for one in STATEMENTS if one.fact == TRUE_FACTS[5])
    fields = {first: "true", second: "false", third: "<b>perhaps", other.statement_id: "true", "seconds": "3", "": "true"}
    answers = answers_from(PACKET, fields)
    assert len(answers) == 16
    assert (answers[first], answers[second], answers[third]) == (True, False, None)
    assert list(answers.values()).count(None) == 14
    assert is_played(PACKET, answers)
    assert not is_played(packets([one for one in STATEMENTS if one.fact == TRUE_FACTS[5]], "ada")[0], answers)


def test_answers_are_verdicts_in_the_queue_of_the_game_and_no_opinions(store: Store) -> None:
    said = answers_from(PACKET, {PACKET.statements[0].statement_id: "true", PACKET.statements[1].statement_id: "false"})
    made = verdicts_of(PACKET, said, 12.5, clock=True, seen={PACKET.facts[0].fact_id})
    store.of("ada").verdicts.record(made)
    log = store.verdicts.log()
    assert [one.verdict for one in log] == [TRUE, FALSE, *[CANNOT] * 14]
    assert {(one.reviewer, one.queue, one.seconds, one.comment) for one in log} == {(VISITOR, GAME, 12.5, "")}
    assert {(one.fact_id, one.blind) for one in log} == {(PACKET.facts[0].fact_id, False), (PACKET.facts[1].fact_id, True)}
    assert opinions(log) == {}
    assert answers_in(log) == {"ada/visitor": said}
    assert {one.comment for one in verdicts_of(PACKET, said, None, clock=False, seen=())} == {NO_CLOCK}


def test_the_first_answer_to_a_sentence_counts() -> None:
    one = PACKET.statements[0]
    log = [Verdict(VISITOR, one.fact.fact_id, verdict, one.statement_id, queue=GAME, owner="ada") for verdict in (FALSE, TRUE)]
    assert answers_in(log) == {"ada/visitor": {one.statement_id: False}}


def test_games_survive_a_table(tmp_path: Path) -> None:
    made = verdicts_of(PACKET, truth(PACKET.statements), 9.0, clock=False, seen=())
    file = tmp_path / "verdicts.jsonl"
    file.write_text("\n".join(json.dumps(row) for row in rows_of(made, STATEMENTS)))
    assert answers_in(verdicts_in(file)) == answers_in(made)


# ------------------------------------------------------------------------------------------------ figures


@pytest.fixture
def board(store: Store, facts_file: Path) -> tuple[Records, list[Statement]]:
    """A run that holds every sentence true: half of its answers are right, and no fact is mastered."""
    run = start(RunSpec(model="baseline:always-true", facts=str(facts_file), limit=6, shots=0), store)
    list(answer(run, store))
    return board_of(store, run).records(), [item.statement for item in store.answers.asked(run)]


def of_fact(statements: list[Statement], fact_id: str) -> list[Statement]:
    return [one for one in statements if one.fact.fact_id == fact_id]


def three_facts(statements: list[Statement]) -> list[list[Statement]]:
    """The statements of three true facts of different heads, in the order of the ways of asking."""
    facts = {one.fact.head: one.fact for one in statements if one.fact.positive}
    assert len(facts) >= 3
    order = list(VARIANTS)
    return [
        sorted(of_fact(statements, fact.fact_id), key=lambda one: order.index(one.variant)) for fact in list(facts.values())[:3]
    ]


def test_average_mastery_and_who_is_standing(board: tuple[Records, list[Statement]]) -> None:
    records, statements = board
    first, second, third = three_facts(statements)
    said = truth([*first, *second, *third])
    said[second[2].statement_id] = not second[2].label  # falls at the third way of asking
    said[third[6].statement_id] = None  # no answer at the seventh
    found = outcome(records, [one.statement_id for one in statements], said)
    assert (found.person.facts, found.person.average.n, found.person.joint.n) == (3, 24, 3)
    assert found.person.average.value == pytest.approx((8 + 7 + 7) / 24)
    assert found.person.joint.value == pytest.approx(1 / 3)
    assert found.person.joint.low is found.person.joint.high is None, "three facts are too few to say anything of others"
    assert [row.person for row in found.standing] == [3, 3, 2, 2, 2, 2, 1, 1]
    # the model says true throughout: the four affirmed sentences of true facts are right, and the fifth is the first denied
    assert found.model.average.value == pytest.approx(12 / 24)
    assert found.model.joint.value == 0
    assert [row.model for row in found.standing] == [3, 3, 3, 3, 0, 0, 0, 0]
    assert [row.variant for row in found.standing] == list(VARIANTS)[:8]


def test_a_coin_and_one_fact_without_an_interval(board: tuple[Records, list[Statement]]) -> None:
    records, statements = board
    found = outcome(records, [one.statement_id for one in statements], truth(three_facts(statements)[0]))
    assert found.coin.average.value == 1 / 2
    assert found.coin.joint.value == 1 / 2**8 == 1 / 256
    assert (found.person.average.value, found.person.average.low, found.person.joint.low) == (1, None, None)


def test_facts_of_which_something_was_not_shown_do_not_count(board: tuple[Records, list[Statement]]) -> None:
    records, statements = board
    first, second, _ = three_facts(statements)
    found = outcome(records, [one.statement_id for one in statements], truth([*first, *second[:7]]))
    assert (found.person.facts, found.person.average.n) == (1, 8)
    assert outcome(records, [one.statement_id for one in statements], {}).person.facts == 0


def test_what_people_reach_together(board: tuple[Records, list[Statement]]) -> None:
    records, statements = board
    first, second, third = three_facts(statements)
    ada, ben, idle = truth([*first, *second]), truth([*second, *third]), dict.fromkeys(truth(first))
    for number in (0, 1):
        ben[third[number].statement_id] = not third[number].label
    everybody: dict[str, Answers] = {"ada": ada, "ben": ben, "idle": idle}
    found = people(records, [one.statement_id for one in statements], everybody)
    assert found.people == 2, "who answered nothing did not judge"
    # ada 16 of 16, ben 8 + 6 of 16
    assert found.average.value == pytest.approx((16 + 14) / 32)
    assert (found.average.n, found.joint.n) == (32, 4)
    assert found.joint.value == pytest.approx(3 / 4)
    assert people(records, [one.statement_id for one in statements], {}).average.value is None


def test_people_are_the_clusters(board: tuple[Records, list[Statement]]) -> None:
    """Ten people, of whom five know both facts and five neither, are worth ten trials, however many answers they gave."""
    records, statements = board
    first, second, _ = three_facts(statements)
    knows = truth([*first, *second])
    guesses: dict[str, bool | None] = {name: not label for name, label in knows.items()}
    ids = [one.statement_id for one in statements]
    found = people(records, ids, {f"person{n}": knows if n < 5 else guesses for n in range(10)})
    assert (found.average.value, found.joint.value) == (0.5, 0.5)
    low, high = wilson(0.5, 10)
    assert found.average.low is not None
    assert found.average.low < low < high < (found.average.high or 0)
    few = people(records, ids, {"ada": knows, "ben": guesses})
    assert (few.average.value, few.average.low, few.average.high) == (0.5, None, None)


# ------------------------------------------------------------------------------------------------ over plain HTTP


@pytest.fixture
def services(tmp_path: Path, facts_file: Path) -> Iterator[Services]:
    store = Store(f"sqlite:///{tmp_path / 'medfact.db'}")
    jobs = Jobs(store)
    reports = Reports(store, jobs)
    run = start(RunSpec(model="baseline:always-true", facts=str(facts_file), limit=6, shots=0), store.of("demonstration"))
    list(answer(run, store))
    yield Services(store, jobs, reports, Comparisons(store, reports))
    jobs.close()


def ask(services: Services, owner: str, action: Action | None = None, **show: Any) -> dict[str, Any]:
    run = services.store.runs("demonstration")[0].run
    question = Question(page="game", show=show, action=action)
    return dict(json.loads(updates(Visitor(services, owner, (owner,), run), PAGES["game"], question)))


def hand_in(services: Services, owner: str, number: object, fields: dict[str, str], **show: Any) -> dict[str, Any]:
    return ask(services, owner, Action(name="game_done", about=str(number), fields=fields), game=1, **show)


def shown(services: Services, owner: str, game: int = 1) -> list[str]:
    """The ids of the sentences that are up."""
    return list(dict.fromkeys(re.findall(r'data-key="true-([0-9a-f]+)"', ask(services, owner, game=game)["fragments"]["game"])))


def log_of(services: Services, owner: str) -> list[Verdict]:
    return services.store.verdicts.log(owners=[owner])


def test_the_answers_are_kept_and_a_second_time_is_refused(services: Services) -> None:
    ids = shown(services, "ada")
    assert len(ids) == 8
    found = hand_in(services, "ada", 1, {**dict.fromkeys(ids[:6], "true"), "seconds": "17.25"})
    assert [one.verdict for one in log_of(services, "ada")] == [TRUE] * 6 + [CANNOT] * 2
    assert {one.seconds for one in log_of(services, "ada")} == {17.25}
    result = found["fragments"]["game"]
    assert "2 sentences without an answer: counted as wrong" in result
    assert "One fact says nothing about others" in result
    again = hand_in(services, "ada", 1, dict.fromkeys(ids, "false"))
    assert "You have played this packet already" in again["fragments"]["said"]
    assert len(log_of(services, "ada")) == 8
    assert len(shown(services, "ada", game=2)) == 16
    assert shown(services, "ada", game=1) == [], "the result stands"


@pytest.mark.parametrize("number", [0, 2, -1, 99, 10**30, "1 OR 1=1", "²", "", "<b>"])
def test_a_packet_that_is_not_up_is_refused(services: Services, number: object) -> None:
    said = hand_in(services, "ada", number, dict.fromkeys(shown(services, "ada"), "true"))["fragments"]["said"]
    assert "no such packet" in said or "not been shown" in said
    assert log_of(services, "ada") == []


def test_what_was_not_shown_is_not_kept(services: Services) -> None:
    others = (name for owner in ("ben", "cleo", "dora") for name in shown(services, owner))
    other = next(name for name in others if name not in shown(services, "ada"))
    hostile = {other: "true", "0" * 20: "true", "<script>": "true", "seconds": "nan"}
    hand_in(services, "ada", 1, hostile, clock=False)
    log = log_of(services, "ada")
    assert {one.verdict for one in log} == {CANNOT}
    assert {one.statement_id for one in log}.isdisjoint(hostile)
    assert {(one.seconds, one.comment) for one in log} == {(None, NO_CLOCK)}


def test_a_visitor_without_a_cookie_is_told_so_and_leaves_nothing(services: Services) -> None:
    assert "needs a cookie" in ask(services, NOBODY, game=1)["fragments"]["game"]
    hand_in(services, NOBODY, 1, {})
    assert services.store.verdicts.log() == []


def test_nothing_is_shown_before_a_start_or_in_nonsense(services: Services) -> None:
    for begun in (ask(services, "ada"), ask(services, "ada", game="<b>")):
        assert "data-countdown" not in begun["fragments"]["game"]
        assert 'id="game-start"' in begun["fragments"]["game"]
    assert len(shown(services, "ada", game=9999)) == 8, "the packet that is up"


def test_other_people_are_shown_from_two_on_and_never_oneself(services: Services) -> None:
    for number, owner in enumerate(("ada", "ben", "cleo")):
        found = hand_in(services, owner, 1, dict.fromkeys(shown(services, owner), "true"))["fragments"]["game"]
        assert ("other people here" in found) == (number == 2)
    assert "other people here (2)" in html.unescape(found)
    assert "of 16 answers" in found


def test_all_packets_can_be_played(services: Services) -> None:
    played = 0
    for number in range(1, 9):
        ids = shown(services, "ada", game=number)
        if not ids:
            break
        found = hand_in(services, "ada", number, dict.fromkeys(ids, "true"), **{})
        played += len(ids)
    assert played == 8 * 6, "one fact of each of six pairs"
    assert "That was the last packet" in ask(services, "ada", game=99)["fragments"]["game"]
    assert np.isclose(len(log_of(services, "ada")), played)
    assert found["fragments"]["said"] is not None
