"""Runs beside each other: what they share and differ in, paired differences, and each fact's ticks, worked by hand."""

import json
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from recorded import complete_run
from records import comparison_record
from small_facts import StubModel, make_fact_rows, write_csv

from medfact.errors import Mistake, UnknownName
from medfact.metrics import FAILED, PENDING, UNREADABLE
from medfact.results import findings
from medfact.results.compare import MASTERY, Comparisons, Pair, Side, comparison, conclusion, difference, races_of, sides_of
from medfact.results.fact_table import FactTable, fact_table
from medfact.results.live import Reports
from medfact.results.sections.beside import pair_cell
from medfact.results.wording import ABSENT
from medfact.runs.jobs import Jobs
from medfact.runs.run import answer
from medfact.runs.start import start
from medfact.spec import RunSpec
from medfact.store import Store
from medfact.views.score_card import describe_difference
from medfact.web.evaluate.form import EvaluateShow
from medfact.web.pages import Versioned, Visitor
from medfact.web.pages.evaluate import view
from medfact.web.services import Services

PAIRS = 27
"""True facts under test in the small facts file, each with a false partner: 54 facts, 432 statements."""


def run_of(facts: Path, store: Store, model: str = "baseline:negation-cue", **spec: Any) -> str:
    return complete_run(RunSpec(model=model, facts=str(facts), **{"shots": 0, **spec}), store)


def of_metric(made: dict[str, Any], metric: str) -> dict[str, Any]:
    (found,) = [pair for pair in made["pairs"] if pair["metric"] == metric]
    return found


def test_two_simple_answerers(facts_file: Path, store: Store, medfact: Callable[..., Any]) -> None:
    """True unless denied is right on all eight of a true fact and on none of a false one; always true on four of each."""
    cue, always = (run_of(facts_file, store, f"baseline:{name}") for name in ("negation-cue", "always-true"))
    told = medfact("compare", cue, always[:10], "--json", "--db", store.url)
    assert told.code == 0
    made = json.loads(told.out)
    assert {pair["metric"] for pair in made["pairs"]} == {"average_accuracy", "joint_accuracy", "pair_joint_accuracy"}
    assert {(pair["a"], pair["b"], pair["p_holm"] == pair["p"]) for pair in made["pairs"]} == {(cue, always, True)}
    average = of_metric(made, "average_accuracy")
    assert (average["difference"], average["n"]) == (0.0, 16 * PAIRS)
    # Of a true fact the four denied statements, of a false one the four denied ones too: there always true is wrong, or right.
    assert (average["only_a"], average["only_b"]) == (4 * PAIRS, 4 * PAIRS)
    joint = of_metric(made, "joint_accuracy")
    assert (joint["difference"], joint["only_a"], joint["only_b"], joint["n"]) == (0.5, PAIRS, 0, 2 * PAIRS)
    assert 0 < joint["low"] < 0.5 < joint["high"] < 1
    assert joint["p"] < 0.01
    pairs = of_metric(made, "pair_joint_accuracy")
    assert (pairs["difference"], pairs["only_a"], pairs["only_b"], pairs["n"], pairs["p"]) == (0.0, 0, 0, PAIRS, 1.0)
    assert pairs["low"] < 0 < pairs["high"]
    assert made["facts"] == {"of": [2 * PAIRS, 2 * PAIRS], "shared": 2 * PAIRS}
    assert made["differs"] == {}


def test_three_are_compared_in_pairs_with_p_after_holm(facts_file: Path, store: Store) -> None:
    runs = [run_of(facts_file, store, f"baseline:{name}") for name in ("negation-cue", "always-true", "always-false")]
    made = comparison_record(sides_of(store, runs))
    joint = [pair for pair in made["pairs"] if pair["metric"] == "joint_accuracy"]
    assert [(pair["a"], pair["b"]) for pair in joint] == [(runs[0], runs[1]), (runs[0], runs[2]), (runs[1], runs[2])]
    first, second, third = (pair["p"] for pair in joint)
    assert first == second < third == 1.0
    assert [pair["p_holm"] for pair in joint] == [min(1.0, 3 * first), min(1.0, 3 * first), 1.0]


def test_bounds_that_hold_for_all_pairs_together_belong_to_the_adjusted_p(store: Store, facts_file: Path) -> None:
    """With three pairs each interval is at 1 − 0.05 / 3; with one pair it is the pair's own."""
    runs = [run_of(facts_file, store, f"baseline:{name}") for name in ("random", "negation-cue", "always-true")]
    for pair in comparison_record(sides_of(store, runs))["pairs"]:
        assert pair["low_all"] <= pair["low"] <= pair["difference"] <= pair["high"] <= pair["high_all"]
    three = [pair for pair in comparison_record(sides_of(store, runs))["pairs"] if pair["metric"] == "average_accuracy"]
    assert any(pair["low_all"] < pair["low"] for pair in three)
    for pair in comparison_record(sides_of(store, runs[:2]))["pairs"]:
        assert (pair["low_all"], pair["high_all"]) == (pair["low"], pair["high"])


def test_what_differs_is_flagged_and_only_what_is_shared_is_compared(facts_file: Path, store: Store) -> None:
    ours = run_of(facts_file, store)
    seed = comparison_record(sides_of(store, [ours, run_of(facts_file, store, seed=1)]))
    assert set(seed["differs"]) == {"seed", "seed of the demonstrations"}
    assert seed["differs"]["seed"] == [0, 1]
    assert PAIRS * 0.5 < seed["facts"]["shared"] < 2 * PAIRS, "other heads are kept aside, and false partners drawn"
    shots = comparison_record(sides_of(store, [ours, run_of(facts_file, store, shots=5)]))
    assert shots["differs"] == {"demonstrations": [0, 5]}
    pool = comparison_record(sides_of(store, [ours, run_of(facts_file, store, pool="origin")]))
    assert pool["differs"]["sentences (pool)"] == ["medfact", "origin"]
    assert of_metric(pool, "joint_accuracy")["n"] == 2 * PAIRS, "each fact by its own statements"
    assert of_metric(pool, "average_accuracy")["n"] == 2 * PAIRS, "the one way of saying that both have"
    some = facts_file.with_name("symptoms.csv")
    some.write_text("".join(row for row in facts_file.read_text().splitlines(keepends=True) if "therapeutic" not in row))
    fewer = comparison_record(sides_of(store, [ours, run_of(some, store)]))
    assert set(fewer["differs"]) == {"data"}, "the sentences of the symptoms, which both ask, are the same"
    rows = facts_file.read_text().replace("sign00", "another sign")
    facts_file.write_text(rows)
    data = comparison_record(sides_of(store, [ours, run_of(facts_file, store)]))
    assert data["differs"] == {"data": ["facts.csv (contents 1)", "facts.csv (contents 2)"]}


def test_too_few_too_many_the_same_and_unknown(facts_file: Path, store: Store, medfact: Callable[..., Any]) -> None:
    runs = [run_of(facts_file, store, limit=1) for _ in range(9)]
    with pytest.raises(Mistake, match="1 run is given"):
        sides_of(store, runs[:1])
    with pytest.raises(Mistake, match="9 runs are given"):
        sides_of(store, runs)
    with pytest.raises(Mistake, match="given twice"):
        sides_of(store, [runs[0], runs[0][:20]])
    with pytest.raises(UnknownName):
        sides_of(store, [runs[0], "no such run"])
    told = medfact("compare", runs[0], "--db", store.url)
    assert (told.code, told.err.count("\n")) == (2, 1)


def test_runs_without_a_common_fact_are_not_compared(tmp_path: Path, store: Store) -> None:
    """Ten diseases here, one there: what would stand in every table is nothing."""
    other = write_csv(tmp_path / "other.csv", [{"head": "gout", "relation": "symptoms", "tail": "podagra"}])
    ours = write_csv(tmp_path / "ours.csv", make_fact_rows(10))
    runs = [run_of(file, store, "baseline:random") for file in (ours, other)]
    jobs = Jobs(store)
    reports = Reports(store, jobs)
    services = Services(store, jobs, reports, Comparisons(store, reports))
    show = EvaluateShow(run=",".join(runs), tab="statistics")
    shown = view(Visitor(services, "dora", ("dora",), ""), show).fragments["tab"]
    assert isinstance(shown, Versioned)
    assert "no fact in common" in shown.draw()
    jobs.close()


def test_a_pair_in_words() -> None:
    names = {"1": "one", "2": "two"}
    pair = Pair(0.61, 0.578, 0.032, 0.01, 0.054, 1000, 0.01, 0.01, 0.002, 0.064, 40, 8, a="1", b="2", metric="joint_accuracy")
    assert difference(pair) == "+3.2 points (+0.2 to +6.4)"  # for all pairs together
    more = "has more facts with all answers right than"
    assert conclusion(pair, names) == f"one {more} two."
    assert conclusion(replace(pair, value=-0.032, low_all=-0.064, high_all=-0.002), names) == f"two {more} one."
    assert conclusion(replace(pair, p_holm=0.05), names) == f"one {more} two.", "the interval that is printed decides"
    nothing = replace(pair, value=None, low_all=None, high_all=None, p_holm=None)
    assert difference(nothing) == "no value"
    assert conclusion(nothing, names) == "one and two have nothing in common that both answered."
    # p says nothing; under ten heads there is no interval
    at_odds = replace(pair, value=0.008, low_all=-0.001, high_all=0.017, p_holm=0.016)
    opened = "Open: 0 lies just inside the interval that holds for all pairs together."
    assert conclusion(at_odds, names) == opened
    neither = replace(at_odds, low=-0.001)
    assert conclusion(neither, names) == "No difference in facts with all answers right is shown."
    few = replace(pair, low=None, high=None, low_all=None, high_all=None)
    assert conclusion(few, names) == "No difference can be shown between one and two: too few diseases to say."


def test_where_the_printed_interval_holds_zero_nothing_is_called_a_difference() -> None:
    """A p of 0.016 beside −0.1 to 1.7 points: no sentence, title, frame or card names a better run."""
    names = {"1": "one", "2": "two"}
    for change in ({"p_holm": 0.016}, {"low_all": None, "high_all": None, "p_holm": 0.016}):
        at_odds = replace(
            Pair(0.61, 0.602, 0.008, -0.001, 0.017, 1000, 0.016, None, -0.001, 0.017, 40, 32, a="1", b="2", metric=MASTERY),
            **change,
        )
        said = [
            conclusion(at_odds, names),
            findings.of_differences([at_odds], names),
            describe_difference(at_odds, names),
            pair_cell(at_odds, names).under[-1],
        ]
        assert not any("more" in sentence.replace("no more", "") for sentence in said), said
        assert not pair_cell(at_odds, names).shown


def test_runs_that_ask_different_statements_show_both_sides_over_what_was_compared(
    facts_file: Path, store: Store, medfact: Callable[..., Any]
) -> None:
    """Always true has 50 % of all eight ways right, and of the one way that the other run asks too 27 of 54: both sides are
    of these, whatever else each was asked.
    """
    cue, plain = run_of(facts_file, store), run_of(facts_file, store, "baseline:always-true", pool="origin")
    made = comparison_record(sides_of(store, [cue, plain]))
    average, joint = (of_metric(made, metric) for metric in ("average_accuracy", "joint_accuracy"))
    # affirmed statements alone: “true unless denied” says True to 27 true ones and to 27 false ones
    assert (average["share_a"], average["share_b"], average["n"]) == (0.5, 0.5, 2 * PAIRS)
    assert (joint["share_a"], joint["share_b"], joint["n"]) == (0.5, 0.5, 2 * PAIRS)
    told = medfact("compare", cue, plain, "--db", store.url)
    line = next(line for line in told.out.splitlines() if " 50.0% of what both answered" in line)
    assert line.count(" 50.0%") == 2
    assert f"Right in one run only: 0 of {2 * PAIRS} in " in line
    assert ", 0 in " in line


def test_the_race_and_the_comparison_speak_of_one_score(tmp_path: Path, store: Store, medfact: Callable[..., Any]) -> None:
    """“True unless denied” and “always true” have half of all answers right, but the one masters every true fact: the race is
    of mastery, as what the comparison says first.
    """
    rows = [{"head": f"disease {n}", "relation": "therapeutic drugs", "tail": f"drug {n}"} for n in range(65)]
    file = write_csv(tmp_path / "many.csv", rows)
    models = ("baseline:negation-cue", "baseline:always-true")
    cue, always = (run_of(file, store, model, race="one", racers=2) for model in models)
    alone = run_of(file, store, "baseline:always-true")
    sides = sides_of(store, [cue, always])
    (raced,) = races_of(sides_of(store, [cue, always, alone]))
    assert (raced.a, raced.b, raced.family) == (cue, always, 1), "who did not race is in no race"
    assert raced.race.value == 0.5
    assert raced.race.decided_at is not None
    made = comparison(sides)
    said = findings.of_differences(made.pairs, {run.run: run.name for run in made.runs})
    assert said.startswith("true unless denied has 50.0 points more facts with all answers right than always says true")
    told = medfact("compare", cue, always, "--db", store.url).out
    assert told.index("all eight right (joint accuracy)") < told.index("right answers (average accuracy)")
    assert "true unless denied masters more facts than" in told.partition("Is it decided which is better?")[2]
    assert "has more facts with all answers right than" in told


def test_a_title_says_first_what_is_shown_of_mastery() -> None:
    made = {"joint_accuracy": (0.01, -0.02, 0.04), "average_accuracy": (0.03, 0.01, 0.05)}
    pairs = [
        Pair(0.5, 0.5, *ends, 100, 0.01, 0.01, *ends[1:], 4, 1, a="1", b="2", metric=metric)
        for metric, ends in reversed(made.items())
    ]
    names = {"1": "one", "2": "two"}
    assert findings.of_differences(pairs, names) == (
        "No difference in facts with all answers right is shown; one has 3.0 points more right answers than two (1.0 to 5.0)"
    )
    shown = [pairs[0], replace(pairs[1], value=0.04, low_all=0.02, high_all=0.06)]
    assert findings.of_differences(shown, names) == (
        "one has 4.0 points more facts with all answers right than two (2.0 to 6.0); "
        "one has 3.0 points more right answers than two (1.0 to 5.0)"
    )


def test_too_few_is_said_where_a_score_says_so(tmp_path: Path, store: Store, medfact: Callable[..., Any]) -> None:
    """Twelve diseases, of which one has most facts, are worth fewer than ten: no score has an interval, and no difference."""
    rows = [{"head": f"disease {n}", "relation": "therapeutic drugs", "tail": f"drug {n}"} for n in range(60)]
    file = write_csv(tmp_path / "few.csv", [{**row, "head": "disease 0"} if 17 < n < 60 else row for n, row in enumerate(rows)])
    runs = [run_of(file, store, f"baseline:{name}", negatives=0) for name in ("always-true", "always-false")]
    report = json.loads(medfact("report", runs[0], "--json", "--db", store.url).out)
    assert report["average_accuracy"]["low"] is None
    made = comparison_record(sides_of(store, runs))
    assert all(pair["low"] is pair["low_all"] is None for pair in made["pairs"])
    assert "No difference can be shown" in medfact("compare", *runs, "--db", store.url).out


# ------------------------------------------------------------------------- fact by fact


def table_of(store: Store, *runs: str) -> FactTable:
    return fact_table(sides_of(store, runs))


def test_rows_of_ticks_and_their_filters(facts_file: Path, store: Store) -> None:
    cue, always = (run_of(facts_file, store, f"baseline:{name}") for name in ("negation-cue", "always-true"))
    table = table_of(store, cue, always)
    assert table.fate.shape == (2, 2 * PAIRS, 8)
    # true unless denied, on true facts and on false ones; always true, on true facts and on false ones
    each = ("✓✓✓✓✓✓✓✓", "✗✗✗✗✗✗✗✗", "✓✓✓✓✗✗✗✗", "✗✗✗✗✓✓✓✓")
    assert sorted(table.patterns()) == sorted((pattern, PAIRS) for pattern in each)
    assert len(table.chosen()) == len(table.chosen("differ")) == 2 * PAIRS
    assert len(table.chosen("every")) == 0
    assert table.positive[table.chosen("none")].tolist() == [False] * PAIRS
    assert table.positive[table.chosen(pattern="✓✓✓✓✗✗✗✗")].all()
    for unknown in ("✓", "nonsense!", "✓✓✓✓✓✓✓?"):
        assert len(table.chosen(pattern=unknown)) == 0


def test_facts_stand_in_the_same_row_whatever_their_order(facts_file: Path, store: Store) -> None:
    """A second run of other facts, and of the same ones: each tick is that of the fact's own statement."""
    whole, part = run_of(facts_file, store), run_of(facts_file, store, "baseline:always-false", limit=7)
    table = table_of(store, part, whole)
    assert table.number.shape == (2, 2 * PAIRS)
    for index, run in enumerate((part, whole)):
        items = store.answers.asked(run)
        for row, number in enumerate(table.number[index].tolist()):
            own = [item for item in items if item.fact == number]
            fates = [int(item.answer.answer == item.statement.label) for item in own if item.answer] or [ABSENT] * 8
            assert table.fate[index, row].tolist() == fates
            assert all(item.statement.fact.positive == table.positive[row] for item in own)
    assert (table.number[0] >= 0).sum() == 14
    other = {item.fact: (item.statement.fact.head, item.statement.fact.tail) for item in store.answers.asked(whole)}
    for item in store.answers.asked(part):
        row = table.number[0].tolist().index(item.fact)
        assert other[int(table.number[1, row])] == (item.statement.fact.head, item.statement.fact.tail)


def test_every_fate_has_its_tick(facts_file: Path, store: Store) -> None:
    run = start(RunSpec(model="answerer", facts=str(facts_file), limit=1, shots=0), store)
    replies = iter(["True", "who knows?"])
    list(answer(run, store, load=StubModel(lambda prompt: next(replies, "False")).load))
    sides = sides_of(store, [run, run_of(facts_file, store, limit=1)])
    board = sides[0].board
    board.answer[3:5] = FAILED, PENDING
    table = fact_table([Side(sides[0].run, board), sides[1]])
    assert table.fate[0, 0, [1, 3, 4]].tolist() == [UNREADABLE, FAILED, PENDING]
    assert set(table.fate[0, 0, [0, 2, 5, 6, 7]].tolist()) <= {0, 1}


def test_a_comparison_is_made_anew_when_a_run_moves(facts_file: Path, store: Store) -> None:
    jobs = Jobs(store)
    kept = Comparisons(store, Reports(store, jobs))
    done = run_of(facts_file, store, "baseline:random")
    going = start(RunSpec(model="baseline:always-true", facts=str(facts_file), shots=0), store)
    assert {pair.n for pair in kept.made([done, going]).pairs} == {0}
    assert kept.made([done, going]) is kept.made([done, going])
    list(answer(going, store))
    assert {pair.n for pair in kept.made([done, going]).pairs} == {16 * PAIRS, 2 * PAIRS, PAIRS}
    assert np.array_equal(kept.of(fact_table, [done, going]).fate, table_of(store, done, going).fate)
    jobs.close()


def test_who_compares_other_runs_does_not_wait(facts_file: Path, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    jobs = Jobs(store)
    kept = Comparisons(store, Reports(store, jobs))
    slow, quick = [[run_of(facts_file, store, "baseline:random", seed=seed) for seed in seeds] for seeds in ((0, 1), (2, 3))]
    making, go_on = threading.Event(), threading.Event()
    made: list[list[Side]] = []

    def slowly(sides: list[Side]) -> int:
        made.append(sides)
        number = len(made)
        if sides[0].run.run == slow[0]:
            making.set()
            assert go_on.wait(60)
        return number

    monkeypatch.setattr("medfact.results.compare.comparison", slowly)
    got: list[object] = []
    threads = [threading.Thread(target=lambda: got.append(kept.made(slow)), daemon=True) for _ in range(2)]
    for thread in threads:
        thread.start()
    other = threading.Thread(target=lambda: kept.made(quick), daemon=True)
    try:
        assert making.wait(60)
        other.start()
        other.join(10)
        assert not other.is_alive()
    finally:
        go_on.set()
        for thread in threads:
            thread.join(60)
    assert got == [1, 1], "who looks at the same runs waits, and it is made once"
    assert len(made) == 2
    jobs.close()
