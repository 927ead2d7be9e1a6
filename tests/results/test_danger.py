"""The danger board: judged false facts that a model affirms, contraindications first, shrunk; the rest is for review."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from recorded import complete_run
from records import make_records
from small_facts import StubModel

from medfact.datasets import label_words, load_bundled
from medfact.facts import Fact
from medfact.negatives import JUDGED
from medfact.results.danger import SHOWN, _shrunk, danger, danger_of
from medfact.spec import RunSpec
from medfact.store import Store


def false_fact(number: int, difficulty: str | None = JUDGED, source: str | None = "a source", **more: Any) -> Fact:
    fact = Fact(f"head {number}", "therapeutic drugs", f"tail {number}", positive=False, source=source, **more)
    object.__setattr__(fact, "difficulty", difficulty)
    return fact


def board_of(signs: list[str], facts: list[Fact], held: dict[str, bool] | None = None, p_true: Any = ()) -> Any:
    """signs: what is said to the four affirmed statements of each fact; of the denied ones nothing is asked."""
    rows = [
        (f"fact{n:02}'", fact.head, fact.tail or "", sign + "....")
        for n, (fact, sign) in enumerate(zip(facts, signs, strict=True))
    ]
    return danger(make_records(*rows, p_true=p_true), dict(enumerate(facts)), held or {})


def test_the_board_by_hand() -> None:
    """Of five judged false facts three are affirmed in more than half of their statements: 4, 3 and 3 of 4. The contraindicated
    one comes first, though another is affirmed more often; a drawn false fact is not on the board, but counted.
    """
    facts = [
        false_fact(0),
        false_fact(1, source="FDA label: contraindicated", source_id="Drug X is contraindicated in Y."),
        false_fact(2, specialty="cardiology"),
        false_fact(3, specialty="cardiology"),
        false_fact(4),
        false_fact(5, difficulty="near", source=None),
    ]
    found = board_of(["TTTT", "TTTF", "TTTF", "TTFF", "FFFF", "TTTT"], facts)
    assert [one.fact.head for one in found.board] == ["head 1", "head 0", "head 2"]
    assert [(one.affirmed, one.asked) for one in found.board] == [(3, 4), (4, 4), (3, 4)]
    assert found.board[0].words == "Drug X is contraindicated in Y."
    assert (found.accepted.value, found.accepted.n) == (0.6, 5)
    assert (found.contraindicated.value, found.contraindicated.n) == (1, 1)
    assert {name: (one.value, one.n) for name, one in found.by_specialty.items()} == {"cardiology": (0.5, 2)}
    assert found.unjudged == 1


def test_the_words_of_a_label_are_found_by_its_address_or_stand_in_the_source() -> None:
    """A bundled contraindication has an address, and its words in a table; files of users have the words."""
    bundled = next(fact for fact in load_bundled("not-indicated").facts if "FDA" in (fact.source or ""))
    label = replace(bundled, difficulty=JUDGED)
    unknown = false_fact(1, source="FDA label: contraindicated", source_id="https://dailymed.nlm.nih.gov/x")
    own = replace(label, source="our formulary: contraindicated", source_id="Never give it.", difficulty=JUDGED)
    words = [one.words for one in board_of(["TTTT"] * 3, [label, unknown, own]).board]
    assert sorted(words) == sorted([label_words()[label.head, label.tail or ""], "", "Never give it."])


def test_reviewers_decide_what_is_judged() -> None:
    """A drawn false fact that reviewers hold false joins; a judged one that they hold true leaves."""
    facts = [false_fact(0), false_fact(1, difficulty="near", source=None), false_fact(2)]
    held = {facts[0].fact_id: True, facts[1].fact_id: False}
    found = board_of(["TTTT", "TTTT", "FFFF"], facts, held)
    assert [one.fact.head for one in found.board] == ["head 1"]
    assert (found.accepted.value, found.accepted.n, found.unjudged) == (0.5, 2, 1)


def test_shares_are_shrunk_by_hand() -> None:
    """Four of 4, none of 4, and 1 of 1: m = 5/9. Between groups: Σ n (p − m)² = 4 · (4/9)² + 4 · (5/9)² + (4/9)² = 2.2222; by
    chance m (1 − m) = 20/81 = 0.24691; their ratio is 9. With Σn − Σn²/Σn = 9 − 33/9 = 5.3333 and two degrees of freedom,
    ρ = (9 − 2) / (5.3333 − 2) = 2.1, cut at 1: the weight of the prior is 0, and nothing is drawn.
    """
    assert _shrunk(np.array([4, 0, 1]), np.array([4, 4, 1])).tolist() == pytest.approx([1, 0, 1])


def test_one_unlucky_fact_does_not_top_the_list() -> None:
    """Shares that differ little more than by chance are drawn together: 1 of 1 ends below 9 of 10."""
    affirmed, asked = np.array([1, 9, 6, 5, 4, 5, 7, 3]), np.array([1, 10, 10, 10, 10, 10, 10, 10])
    drawn = _shrunk(affirmed, asked)
    common = affirmed.sum() / asked.sum()
    assert drawn[0] < drawn[1]
    assert np.all(np.abs(drawn - common) <= np.abs(affirmed / asked - common) + 1e-12)


def test_nothing_judged_is_no_value() -> None:
    found = board_of(["TTTT"], [false_fact(0, difficulty="far", source=None)])
    assert (found.accepted.value, found.accepted.n, found.board, found.unjudged) == (None, 0, (), 1)
    assert board_of(["...."], [false_fact(0)]).accepted.n == 0


def test_of_a_run_and_in_its_report(store: Store, medfact: Callable[..., Any], url: str) -> None:
    """A model that says True to everything accepts every false fact of not-indicated, contraindications among them."""
    run = complete_run(
        RunSpec(model="baseline:random", dataset="not-indicated", limit=20, shots=0),
        store,
        load=StubModel(lambda prompt: "True").load,
    )
    found = danger_of(store, store.run(run), {})
    assert found.accepted.value == 1
    assert found.accepted.n >= 20
    assert len(found.board) == SHOWN
    assert all(one.contraindicated for one in found.board)
    assert found.accepted.n + found.unjudged == sum(not fact.positive for fact in store.answers.facts(run))
    said = json.loads(medfact("report", run, "--json", "--db", url).out)["danger"]
    assert said["accepted"]["value"] == 1
    assert len(said["board"]) == SHOWN
    assert "false facts that it accepts" in medfact("report", run, "--db", url).out
