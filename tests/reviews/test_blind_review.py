"""A review is blind: neither queue nor page gives a label away, and whoever has seen one is not blind to it any more."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from math import sqrt
from pathlib import Path
from typing import Any

import pytest
from browser import app_fixture, module_folder_fixture
from visitors import Visitor, visitor_fixture
from waiting import wait_until

from medfact.datasets import load_bundled
from medfact.facts import Fact
from medfact.negatives import draw_negatives
from medfact.prototypes import load_pool
from medfact.reviews.game import packets
from medfact.reviews.queues import at_random
from medfact.reviews.reliability import reliability
from medfact.reviews.verdicts import is_blind, opinions, show_labels
from medfact.spec import LOCAL_OWNER
from medfact.store import Store, Verdict
from medfact.web.pages import Visitor as PageVisitor

# ------------------------------------------------------------------------------------------------ the order of the queue


def pairs_of(name: str) -> list[Fact]:
    """The true facts of a bundled set, each followed by its false partner: what is up for review."""
    known = load_bundled(name).known
    return [one for fact in load_bundled(name).facts if fact.positive for one in (fact, *draw_negatives(fact, known, 1, 0))]


FACTS = pairs_of("clinical-core")
BY_ID = {fact.fact_id: fact for fact in FACTS}

Clue = Callable[[Sequence[Fact], int], object]
"""What somebody who sees a place of a queue, and the labels before it, may go by."""


def place(every: int) -> Clue:
    return lambda queue, at: at % every


def place_in_relation(every: int) -> Clue:
    return lambda queue, at: sum(fact.relation == queue[at].relation for fact in queue[:at]) % every


CLUES: dict[str, Clue] = {
    **{f"every {every}": place(every) for every in range(2, 33)},
    **{f"every {every} of a relation": place_in_relation(every) for every in (2, 3, 4, 8)},
    "relation": lambda queue, at: queue[at].relation,
    "relation and parity": lambda queue, at: (queue[at].relation, at % 2),
    "label before": lambda queue, at: queue[at - 1].positive,
    "two labels before": lambda queue, at: (queue[at - 1].positive, queue[at - 2].positive),
    "relation before": lambda queue, at: (queue[at - 1].relation, queue[at].relation),
    "label before in the same relation": lambda queue, at: next(
        (one.positive for one in reversed(queue[:at]) if one.relation == queue[at].relation), None
    ),
    "order of ids": lambda queue, at: queue[at].fact_id > queue[at - 1].fact_id,
    "first digit of the id": lambda queue, at: queue[at].fact_id[0],
    "order of heads": lambda queue, at: queue[at].head > queue[at - 1].head,
    "order of tails": lambda queue, at: (queue[at].tail or "") > (queue[at - 1].tail or ""),
    "first letter of the tail": lambda queue, at: (queue[at].tail or " ")[0],
}


def guessed(queue: Sequence[Fact], clue: Clue) -> float:
    """The share of labels in the second half that a rule tells which was learnt in the first."""
    half = len(queue) // 2
    votes: defaultdict[object, Counter[bool]] = defaultdict(Counter)
    for at in range(2, half):
        votes[clue(queue, at)][queue[at].positive] += 1
    rule = {seen: of.most_common(1)[0][0] for seen, of in votes.items()}
    right = [rule.get(clue(queue, at), True) == queue[at].positive for at in range(half, len(queue))]
    return sum(right) / len(right)


@pytest.mark.parametrize("clue", CLUES.values(), ids=CLUES)
def test_nothing_about_a_place_in_the_queue_tells_a_label(clue: Clue) -> None:
    """Over four queues of about 5,000 facts: no rule is right much more often than a coin (four standard errors)."""
    queues = [at_random(FACTS, seed)[:1_200] for seed in range(4)]
    told = sum(guessed(queue, clue) for queue in queues) / 4
    assert abs(told - 0.5) < 4 * 0.5 / sqrt(4 * 600), f"{told:.1%} of labels"


def test_the_clues_themselves_find_an_order_that_tells() -> None:
    """What the queue once was: relations and labels in a fixed turn."""
    strata = defaultdict(list)
    for fact in FACTS:
        strata[fact.relation, fact.positive].append(fact)
    queue = [fact for facts in zip(*strata.values(), strict=False) for fact in facts]
    assert guessed(queue, CLUES["every 8"]) == 1.0
    assert guessed(queue, CLUES["label before"]) > 0.7


def test_labels_come_in_runs_of_all_lengths_and_relations_by_turns() -> None:
    queue = at_random(FACTS, 0)
    relations = {fact.relation for fact in FACTS}
    for start in range(0, 40 * len(relations), len(relations)):
        assert {fact.relation for fact in queue[start : start + len(relations)]} == relations
    first = [sum(fact.positive for fact in at_random(FACTS, seed)[:8]) for seed in range(200)]
    assert len(set(first)) > 5, "no fixed share of true facts in a round"
    assert abs(sum(first) / 1600 - 0.5) < 0.05


def test_nothing_about_a_place_in_the_game_tells_a_label() -> None:
    statements = list(load_pool("medfact").statements(FACTS[:400]))
    for every in (2, 3, 4, 8):
        told = [guessed([packet[0].fact for packet in packets(statements, f"p{n}")], place(every)) for n in range(12)]
        assert abs(sum(told) / 12 - 0.5) < 4 * 0.5 / sqrt(12 * 100), f"every {every}: {told}"


# ------------------------------------------------------------------------------------------------ the page


home = module_folder_fixture()


address = app_fixture("home")


ada = visitor_fixture("address")


def up(visitor: Visitor, at: int, **show: Any) -> tuple[str, str]:
    """The id and the fragment of the fact at a place of the queue, as somebody sees it who judges."""
    fragment = visitor.fetch_page("review", **{"reviewer": "ada", "place": at, **show})["fragments"]["fact"]
    (fact_id,) = re.findall(r'data-key="review-([0-9a-f]+)"', fragment)
    return fact_id, fragment


def judged(visitor: Visitor, home: Path, fact_id: str, action: str = "judge", **show: Any) -> bool:
    """Whether a verdict on a fact is recorded as blind."""
    visitor.press_button(action, fact_id, "review", reviewer="ada", fields={"verdict": "true"}, **show)
    log = Store(f"sqlite:///{home / 'medfact.db'}").verdicts.log([fact_id], [visitor.owner])
    assert log, "the verdict is kept"
    return log[-1].blind


def test_who_has_seen_no_label_is_blind(ada: Visitor, home: Path) -> None:
    assert [judged(ada, home, up(ada, at)[0]) for at in range(3)] == [True] * 3
    assert judged(ada, home, up(ada, 3)[0], "all_fine") is True


def test_who_ticks_looks_and_unticks_is_not_blind(ada: Visitor, home: Path) -> None:
    fact_id, fragment = up(ada, 5, checking=True)
    assert "mf-badge" in fragment
    assert judged(ada, home, up(ada, 5)[0]) is False
    assert up(ada, 6)[0] != fact_id
    assert judged(ada, home, up(ada, 6)[0]) is True, "another one was not seen"


@pytest.mark.parametrize("show", [{"reviewer": "ben"}, {"reviewer": ""}, {"search": "a"}, {"relation": "symptoms"}], ids=str)
def test_what_was_seen_under_another_name_or_view_was_seen(show: dict[str, Any], ada: Visitor, home: Path) -> None:
    seen, _ = up(ada, 7, **show, checking=True)
    with Visitor(str(ada.http.base_url)) as other_tab:
        other_tab.http.cookies = ada.http.cookies
        assert judged(other_tab, home, seen) is False


def test_another_browser_has_not_seen_it(ada: Visitor, home: Path) -> None:
    seen, _ = up(ada, 9, checking=True)
    with Visitor(str(ada.http.base_url)) as ben:
        assert judged(ben, home, seen) is True


def test_an_address_that_shows_labels_shows_them(ada: Visitor, home: Path) -> None:
    """`/review?checking=true&place=11` is drawn by the page's script, which asks with these values."""
    seen, _ = up(ada, 11, checking=True)
    assert judged(ada, home, seen, "all_fine") is False


def test_the_label_of_a_fact_gives_that_of_its_partner_away(ada: Visitor, home: Path) -> None:
    """Who judges a fact, and goes back to it, sees its label."""
    fact = next(fact for at in range(400) if (fact := BY_ID[up(ada, at)[0]]).negative_of is not None)
    true = BY_ID[str(fact.negative_of)]
    at = {up(ada, at, search=fact.head)[0]: at for at in range(len([one for one in FACTS if one.head == fact.head]))}
    assert judged(ada, home, fact.fact_id) is True
    with Visitor(str(ada.http.base_url)) as ben:
        assert judged(ben, home, fact.fact_id) is True
        assert "mf-badge" in up(ben, at[fact.fact_id], search=fact.head)[1]
        assert judged(ben, home, true.fact_id) is False
    assert judged(ada, home, true.fact_id) is True, "who did not go back is blind to the partner"


def test_a_file_of_ones_verdicts_shows_labels_too(ada: Visitor, home: Path) -> None:
    fact = next(fact for at in range(400) if (fact := BY_ID[up(ada, at)[0]]).negative_of is not None)
    assert judged(ada, home, fact.fact_id) is True
    assert ada.http.get("/download/reviews/verdicts.csv").status_code == 200
    assert judged(ada, home, str(fact.negative_of)) is False


def test_a_blind_page_holds_nothing_of_the_label(ada: Visitor) -> None:
    """The pages of true and false facts differ in names, sentences, numbers and identifiers alone, which are hashes."""
    shapes: defaultdict[bool, set[str]] = defaultdict(set)
    for at in range(1, 41):
        fact_id, fragment = up(ada, at)
        fact = BY_ID[fact_id]
        bare = re.sub(r'<bdi>.*?</bdi>|<span class="mf-sentence">.*?</span>', "", fragment)
        bare = re.sub(r"\b[0-9a-f]{20}\b|\d+", "", bare).replace(fact.relation, "")
        shapes[fact.positive].add(bare)
        assert [fact_id in key for key in re.findall(r'data-key="verdict-true-([^"]+)"', fragment)] == [True]
    assert shapes[True] == shapes[False]
    assert len(shapes[True]) == 1


def play_first_packet(person: Visitor) -> None:
    """Answers "true" throughout, once the demonstration, whose facts the game shows, is asked."""
    ids: list[str] = []

    def has_packet() -> bool:
        ids[:] = re.findall(r'data-key="true-([0-9a-f]+)"', person.fetch_page("game", game=1)["fragments"]["game"])
        return bool(ids)

    wait_until(has_packet)
    person.press_button("game_done", 1, "game", game=1, fields=dict.fromkeys(ids, "true"))


def test_a_game_shows_the_labels_of_a_pair(ada: Visitor, home: Path) -> None:
    """The result shows a false fact with the true one beside it."""
    store = Store(f"sqlite:///{home / 'medfact.db'}")
    play_first_packet(ada)
    log = store.verdicts.log(owners=[ada.owner])
    assert {one.blind for one in log} == {True}
    (played,) = {one.fact_id for one in log}
    true = BY_ID[played].negative_of or played
    partners = [fact.fact_id for fact in FACTS if true in (fact.fact_id, fact.negative_of)]
    assert len(partners) == 2
    assert [judged(ada, home, fact_id) for fact_id in partners] == [False, False]


def test_a_label_that_was_seen_in_a_review_makes_a_game_not_blind(ada: Visitor, home: Path) -> None:
    """Whatever packet comes first: all labels that may be up are seen before."""
    store = Store(f"sqlite:///{home / 'medfact.db'}")
    show_labels(store.of(ada.owner), FACTS)
    play_first_packet(ada)
    assert {one.blind for one in store.verdicts.log(owners=[ada.owner])} == {False}


def test_who_signs_in_after_looking_is_not_blind(store: Store) -> None:
    """Verdicts that the command line took over from others say nothing of what this person has seen."""
    first, second, third = FACTS[0], FACTS[2], FACTS[4]
    person = PageVisitor(Any, "account", ("account", "browser", LOCAL_OWNER), "")
    show_labels(store.of("browser"), [first])
    store.of("browser").verdicts.record([Verdict("ada", second.fact_id, "true")])
    store.of(LOCAL_OWNER).verdicts.record([Verdict("ben", third.fact_id, "true")])
    assert [is_blind(store, fact, person.selves) for fact in (first, second, third)] == [False, False, True]
    assert [is_blind(store, fact, ["another"]) for fact in (first, second, third)] == [True] * 3


def test_games_that_were_played_in_another_order_stand_as_they_were_played() -> None:
    statements = list(load_pool("medfact").statements(FACTS[:60]))
    order = packets(statements, "ada")
    later = [order[4], order[2]]  # as if these had come first
    answers = {statement.statement_id: True for packet in later for statement in packet}
    assert packets(statements, "ada", answers)[:2] == later
    assert packets(statements, "ada", {statement.statement_id: True for statement in order[0]})[0] == order[0]


# ------------------------------------------------------------------------------------------------ what is counted


def test_reliability_counts_verdicts_that_are_blind_throughout() -> None:
    """An exception that was made with the label in sight spoils the verdict on its fact."""
    statements = list(load_pool("medfact").statements(FACTS[:1]))
    fact = statements[0].fact
    blind = Verdict("ada", fact.fact_id, "true", number=1)
    assert reliability(statements, opinions([blind]))[-1].wrong.n == 8
    for how in ({"blind": False}, {"queue": "contested"}, {"bulk": True}):
        made: dict[str, Any] = {"statement_id": statements[0].statement_id, "number": 2, **how}
        seen = Verdict("ada", fact.fact_id, "otherwise", **made)
        assert reliability(statements, opinions([blind, seen]))[-1].wrong.n == 0
