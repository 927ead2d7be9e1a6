"""Several draws of demonstrations in one run: what is asked, what is counted, how sure one is, and what cannot be asked."""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from recorded import complete_run, finished_event
from records import metrics_record, report_record
from scripted import Key, ScriptedModel, answer_run, spread_signs, statement_key
from small_facts import StubModel, write_csv

from medfact.errors import Mistake
from medfact.metrics import FAILED, UNREADABLE, Names, Records
from medfact.metrics.clusters import Clusters, parts_of
from medfact.models import Prompt
from medfact.results.report import Board, board_of, report_of
from medfact.results.text import report_text
from medfact.runs.events import Finished, Started
from medfact.runs.plan import plan
from medfact.runs.run import answer, run
from medfact.runs.start import start
from medfact.spec import BOUNDS, RunSpec
from medfact.statements import IMPLICATIONS
from medfact.store import COMPLETE, STOPPED, Asked, Store
from medfact.views.report import html_report

DRAWS = 3

FACTS = [
    {"head": "gout", "relation": "symptoms", "tail": "joint pain"},
    {"head": "asthma", "relation": "symptoms", "tail": "wheeze"},
]
"""Each has the other's tail as its false partner: 4 facts, 32 statements; the bundled facts lend their demonstrations."""

FOUR = (("gout", "joint pain"), ("gout", "wheeze"), ("asthma", "wheeze"), ("asthma", "joint pain"))
ALL, NONE, AFFIRMED = "++++ ++++", "---- ----", "++++ ----"
BY_DRAW = (
    dict.fromkeys(FOUR, ALL),
    dict.fromkeys(FOUR, AFFIRMED),
    {**dict.fromkeys(FOUR, NONE), ("gout", "joint pain"): ALL},
)
"""Right answers: 32 of 32 after the first draw, 16 after the second, 8 after the third."""


def signs_of(by_draw: Sequence[dict[tuple[str, str], str]]) -> dict[Key, str]:
    """One sign per draw for each statement."""
    spread = [spread_signs(signs, list(IMPLICATIONS)) for signs in by_draw]
    return {key: "".join(signs[key] for signs in spread) for key in spread[0]}


@pytest.fixture
def two(tmp_path: Path) -> RunSpec:
    return RunSpec(model="scripted", facts=str(write_csv(tmp_path / "two.csv", FACTS)), shot_draws=DRAWS)


@pytest.fixture
def spec(facts_file: Path) -> RunSpec:
    """3 positive and 3 negative facts: 48 statements, three times."""
    return RunSpec(model="answerer", facts=str(facts_file), limit=3, shot_draws=DRAWS)


def scripted(spec: RunSpec, store: Store, by_draw: Sequence[dict[tuple[str, str], str]]) -> str:
    run_id = start(spec, store)
    finished = answer_run(run_id, store, ScriptedModel.for_run(run_id, store, signs_of(by_draw)))[-1]
    assert isinstance(finished, Finished)
    assert finished.state == COMPLETE
    return run_id


def shots_before(prompt: Prompt) -> str:
    """The demonstrations of a prompt, a line each."""
    assert isinstance(prompt.content, str)
    return prompt.content.rpartition("\n")[0]


# ------------------------------------------------------------------------- what is asked


def test_every_statement_is_asked_after_each_draw_once(spec: RunSpec, store: Store) -> None:
    run_id = start(spec, store)
    model = StubModel()
    list(answer(run_id, store, load=model.load))
    asked = store.answers.asked(run_id)
    assert len(model.prompts) == len(asked) == store.run(run_id).statements == 48 * DRAWS
    assert set(Counter((item.statement.statement_id, item.draw) for item in asked).values()) == {1}
    shots: defaultdict[str, set[str]] = defaultdict(set)
    for item, prompt in zip(asked, model.prompts, strict=True):
        assert item.statement.text == prompt.statement
        shots[item.statement.statement_id].add(shots_before(prompt))
    assert len(shots) == 48
    assert {len(different) for different in shots.values()} == {DRAWS}
    assert all(block.count("\n") == 4 for different in shots.values() for block in different)
    # all statements with the first draw, then all with the second, then with the third, in the same order
    assert [item.draw for item in asked] == [0] * 48 + [1] * 48 + [2] * 48
    order = [item.statement.statement_id for item in asked]
    assert order[:48] == order[48:96] == order[96:]
    assert all(item.answer is not None and item.answer.draw == item.draw for item in asked)


def test_all_statements_of_a_group_and_draw_have_one_prefix(spec: RunSpec, store: Store) -> None:
    run_id = start(spec, store)
    model = StubModel()
    list(answer(run_id, store, load=model.load))
    prefixes: defaultdict[tuple[str, str, int], set[str]] = defaultdict(set)
    for item, prompt in zip(store.answers.asked(run_id), model.prompts, strict=True):
        prefixes[item.statement.fact.relation, item.statement.variant, item.draw].add(shots_before(prompt))
    assert {len(of_group) for of_group in prefixes.values()} == {1}
    assert len(set.union(*prefixes.values())) == len(prefixes)


@pytest.mark.parametrize("seed", range(4))
def test_every_draw_follows_the_rules_of_demonstrations(seed: int, facts_file: Path) -> None:
    made = plan(RunSpec(model="", facts=str(facts_file), shot_seed=seed, shot_draws=DRAWS))
    tested = {planned.statement.fact.head for planned in made.statements if planned.statement.fact.relation == "symptoms"}
    assert len(made.demonstrations) == 16 * DRAWS
    by_draw: defaultdict[str, list[int]] = defaultdict(list)
    for group, shots in made.demonstrations.items():
        relation, variant, *draw = group.split(" / ")
        assert len({shot.text for shot in shots}) == 5
        true = sum(shot.label for shot in shots)
        assert true in {2, 3}
        by_draw[f"{relation} {draw}"].append(true)
        by_draw[f"{relation} {draw} {IMPLICATIONS[variant].negated}"].append(true)
        if relation == "symptoms":
            assert not any(head in shot.text for head in tested for shot in shots)
    for majorities in by_draw.values():
        assert majorities.count(3) == majorities.count(2)  # in each draw, affirmed and negated forms alike


def test_the_first_draw_is_the_run_with_one(spec: RunSpec, store: Store) -> None:
    three, one = plan(spec), plan(replace(spec, shot_draws=1))
    assert three.statements[:48] == one.statements
    assert {group: three.demonstrations[group] for group in one.demonstrations} == one.demonstrations
    assert {planned.shots_of for planned in three.statements[48:]}.isdisjoint(one.demonstrations)

    def keys(given: RunSpec) -> list[str]:
        run_id = complete_run(given, store, load=StubModel().load)
        return [item.answer.key for item in store.answers.asked(run_id) if item.answer is not None]

    ours = keys(spec)
    assert ours[:48] == keys(replace(spec, shot_draws=1))
    assert len(set(ours)) == 48 * DRAWS


def test_more_draws_begin_with_the_fewer(spec: RunSpec) -> None:
    two, five = plan(replace(spec, shot_draws=2)), plan(replace(spec, shot_draws=5))
    assert five.statements[:96] == two.statements
    assert two.demonstrations.items() <= five.demonstrations.items()


@pytest.mark.parametrize("seed", range(6))
def test_two_or_three_of_five_are_true_in_turn_over_the_relations(seed: int) -> None:
    """In every way of asking, half of the relations have three true demonstrations and half have two, but for an odd one."""
    made = plan(RunSpec(model="", limit=8, shot_seed=seed))
    true: defaultdict[str, list[int]] = defaultdict(list)
    for group, shots in made.demonstrations.items():
        true[group.split(" / ")[1]].append(sum(shot.label for shot in shots))
    assert set(true) == set(IMPLICATIONS)
    assert all(len(of_way) >= 4 and abs(of_way.count(3) - of_way.count(2)) <= 1 for of_way in true.values()), true


@pytest.mark.parametrize("shots", [1, 2, 5])
def test_no_two_draws_are_the_same_demonstrations(shots: int, facts_file: Path) -> None:
    """A prompt that is asked again says nothing about demonstrations. 10 facts or more are kept aside for each group."""
    for seed in range(10):
        made = plan(RunSpec(model="", facts=str(facts_file), shots=shots, shot_seed=seed, shot_draws=DRAWS, limit=2))
        drawn: defaultdict[str, list[object]] = defaultdict(list)
        for group, given in made.demonstrations.items():
            drawn[" / ".join(group.split(" / ")[:2])].append(given)
        assert {len(given) for given in drawn.values()} == {DRAWS}
        same = sorted(group for group, given in drawn.items() if len(set(given)) < DRAWS)
        assert same == [], f"seed {seed}"


# ------------------------------------------------------------------------- what is counted


def test_figures_over_three_draws_by_hand(two: RunSpec, store: Store) -> None:
    made = report_record(store, scripted(two, store, BY_DRAW))
    assert (made["facts"], made["shot_draws"], made["statements"], made["answered"]) == (4, 3, 3 * 32, 96)
    # (32/32 + 16/32 + 8/32) / 3 = 56/96
    average = made["average_accuracy"]
    assert (average["value"], average["n"]) == (pytest.approx((1 + 1 / 2 + 1 / 4) / 3), 96)
    # facts all right: 4 of 4, 0 of 4, 1 of 4; pairs: 2 of 2, 0 of 2, 0 of 2
    assert made["joint_accuracy"]["value"] == pytest.approx((1 + 0 + 1 / 4) / 3)
    assert made["pair_joint_accuracy"]["value"] == pytest.approx((1 + 0 + 0) / 3)
    # affirmed 16 + 16 + 4, negated 16 + 0 + 4, of 48 each
    assert made["by_polarity"]["affirmed"]["value"] == pytest.approx(36 / 48)
    assert made["by_polarity"]["negated"]["value"] == pytest.approx(20 / 48)
    # positive facts: 16 + 8 + 8, negative ones 16 + 8 + 0, of 48 each
    assert made["positive_accuracy"]["value"] == pytest.approx(32 / 48)
    assert made["negative_accuracy"]["value"] == pytest.approx(24 / 48)
    # any i of the eight: 5 of the 12 have 8 right, 4 have 4, 3 have none: C(4, i)/C(8, i) = 1/2, 3/14, 1/14, 1/70, 0
    expected = [(5 + 4 * share) / 12 for share in (1 / 2, 3 / 14, 1 / 14, 1 / 70, 0, 0, 0, 0)]
    assert made["joint_accuracy_at"] == pytest.approx(expected)
    assert made["joint_accuracy_ordered"] == pytest.approx([9 / 12] * 4 + [5 / 12] * 4)
    # forms with both polarities: 48; the second draw affirms, or denies, both: gout–joint pain and asthma–wheeze affirm the
    # affirmed form rightly and the negated one wrongly (8 forms), their partners deny both (8)
    assert made["coherence"] == {
        "n": 48,
        "affirms_both": pytest.approx(8 / 48),
        "denies_both": pytest.approx(8 / 48),
        "probability_gap": None,
        "couples": [],
    }
    # one negative per positive fact, whatever the number of draws
    assert made["chance"]["pair_joint_accuracy"] == 1 / 65_536
    assert made["mkj_accuracy"]["value"] == pytest.approx((32 / 48 + 24 / 48) / 2)


def test_people_read_of_how_many_facts_and_draws(two: RunSpec, store: Store) -> None:
    """Four facts, two of them true, in three draws: n is 12 and 6. With a failed call it is 11, and no number of facts."""
    run = scripted(two, store, BY_DRAW)
    text = report_text(report_of(store, store.run(run)))
    assert re.search(r"all eight right \(joint accuracy\) .* of 4 facts in 3 draws\n", text)
    assert re.search(r"\(pair joint accuracy\) .* of 2 pairs in 3 draws\n", text)
    html = html_report(store, [run], "2026-11-24T02:00:00+00:00")
    assert "of 4 facts in 3 draws (" in html
    assert "its 4 facts were asked in 3 draws of worked examples" in html
    last = {**BY_DRAW[2], ("gout", "joint pain"): "+++! ++++"}
    failed = scripted(two, store, (*BY_DRAW[:2], last))
    assert " of 11 facts, each of 3 draws counted\n" in report_text(report_of(store, store.run(failed)))


def test_an_incomplete_draw_leaves_out_that_draw_of_the_fact_alone(two: RunSpec, store: Store) -> None:
    last = {**BY_DRAW[2], ("gout", "joint pain"): "+++! ++++"}
    made = report_record(store, scripted(two, store, (*BY_DRAW[:2], last)))
    assert (made["failed"], made["joint_accuracy"]["value"], made["joint_accuracy"]["n"]) == (1, pytest.approx(4 / 11), 11)
    assert (made["pair_joint_accuracy"]["value"], made["pair_joint_accuracy"]["n"]) == (pytest.approx(2 / 5), 5)


def test_live_figures_are_the_reports(two: RunSpec, store: Store) -> None:
    run_id = start(two, store)
    board = Board(store.answers.sheet(run_id))
    for _ in answer(run_id, store, load=ScriptedModel.for_run(run_id, store, signs_of(BY_DRAW)).load):
        board.take(store.answers.news(run_id, board.changed))
    whole = board_of(store, run_id)
    codes = [answer_code(item) for item in store.answers.asked(run_id)]
    assert board.answer.tolist() == whole.answer.tolist() == codes
    np.testing.assert_equal(metrics_record(board.records()), metrics_record(whole.records()))


def answer_code(item: Asked) -> int:
    """1 for True, 0 for False, UNREADABLE or FAILED."""
    assert item.answer is not None
    if item.answer.failure is not None:
        return FAILED
    return UNREADABLE if item.answer.answer is None else int(item.answer.answer)


# ------------------------------------------------------------------------- how sure one is


@pytest.fixture
def six(facts_file: Path) -> RunSpec:
    return RunSpec(model="scripted", facts=str(facts_file), limit=12, shot_draws=DRAWS)


def records_by_draw(spec: RunSpec, store: Store, right: Sequence[float]) -> Records:
    """24 facts of 12 heads or so; after each draw about this share of the answers is right, the rest spread over facts."""
    run_id = start(spec, store)
    signs: defaultdict[Key, str] = defaultdict(str)
    for number, item in enumerate(store.answers.asked(run_id)):
        signs[statement_key(item)] += "+" if (number * 0.618034) % 1 < right[item.draw] else "-"
    answer_run(run_id, store, ScriptedModel.for_run(run_id, store, signs))
    return board_of(store, run_id).records()


def test_what_draws_add_to_the_error_is_the_loop(six: RunSpec, store: Store) -> None:
    """By draw less by head within draws; three draws that differ widely say little, and with 2 degrees of freedom."""
    records = records_by_draw(six, store, (0.95, 0.5, 0.2))
    rows = list(zip(records.head, records.draw, records.right.astype(float), strict=True))
    mean = sum(row[-1] for row in rows) / len(rows)

    def clustered(*columns: int) -> float:
        sums: defaultdict[tuple[int, ...], float] = defaultdict(float)
        for row in rows:
            sums[tuple(int(row[column]) for column in columns)] += row[-1] - mean
        return sum(s * s for s in sums.values()) / len(rows) ** 2 * len(sums) / (len(sums) - 1)

    by_draw = parts_of(records.right.astype(float), Clusters(records.head, records.tail, records.draw))[-1]
    # heads within draws are not all of one size, which the product allows for
    assert by_draw == (pytest.approx(clustered(1) - clustered(0, 1), rel=0.01), DRAWS - 1)
    assert by_draw.variance > 0.02


@pytest.mark.parametrize("name", ["average_accuracy", "positive_accuracy", "macro_accuracy", "joint_accuracy"])
def test_the_same_answers_again_make_nobody_surer(name: str) -> None:
    """Three draws with equal answers are worth no more than one: the same value, the same interval."""
    heads = 12
    # two facts a head, one of which is mastered, the other not: so even that the clustered error of the share is nothing
    signs = np.array([[True] * 8, [True] * 7 + [False]] * heads)
    once = records_of_signs(signs, draws=1)
    again = records_of_signs(signs, draws=DRAWS)
    expected, made = metrics_record(once)[name], metrics_record(again)[name]
    assert made["value"] == expected["value"]
    assert (made["low"], made["high"]) == pytest.approx((expected["low"], expected["high"]))


def records_of_signs(signs: np.ndarray, draws: int) -> Records:
    """Positive facts, two a head, each with its own tail, with these right and wrong answers after every draw."""
    facts = len(signs)
    fact = np.repeat(np.arange(facts), 8)
    variant = np.tile(np.array(list(IMPLICATIONS)), facts)
    label = np.array([not IMPLICATIONS[key].negated for key in variant])
    count = 8 * facts

    def tiled(values: np.ndarray) -> np.ndarray:
        return np.tile(values, draws)

    draw = np.repeat(np.arange(draws), count)
    codes = tiled(fact) + draw * facts
    return Records(
        fact=codes,
        pair=codes,
        head=tiled(fact // 2),
        tail=tiled(fact),
        draw=draw,
        variants=Names.of(tiled(variant).tolist()),
        relations=Names.of(["symptoms"] * count * draws),
        tail_types=Names.of(["Sign"] * count * draws),
        difficulties=Names.of([""] * count * draws),
        positive=np.ones(count * draws, dtype=bool),
        label=tiled(label),
        answer=tiled((signs.reshape(-1) == label).astype(np.int8)),
        p_true=np.full(count * draws, np.nan),
        p_mass=np.full(count * draws, np.nan),
    )


# ------------------------------------------------------------------------- breaks, the command line, mistakes


@pytest.mark.parametrize("batches", [1, 2, 4])
def test_after_a_stop_only_what_is_pending_is_asked(
    batches: int, spec: RunSpec, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """144 statements: one batch of 32 lies within the first draw, the second ends in the second, the fourth in the third."""
    monkeypatch.setattr("medfact.runs.ask.BATCH", 32)
    run_id = start(spec, store)
    first, turns = StubModel(), iter([*[False] * batches, True])
    ended = finished_event(answer(run_id, store, stopped=lambda: next(turns), load=first.load))
    assert (ended.state, len(first.prompts)) == (STOPPED, 32 * batches)
    before = [item.answer for item in store.answers.asked(run_id)][: 32 * batches]

    later = StubModel(lambda prompt: "False")
    started, *_, ended = answer(run_id, Store(store.url), load=later.load)
    assert isinstance(started, Started)
    assert isinstance(ended, Finished)
    assert (started.statements, started.answered, ended.state) == (144, 32 * batches, COMPLETE)
    assert len(later.prompts) == 144 - 32 * batches
    assert {prompt.content for prompt in later.prompts}.isdisjoint(prompt.content for prompt in first.prompts)
    asked = store.answers.asked(run_id)
    assert [item.answer for item in asked][: 32 * batches] == before
    assert all(item.answer is not None and item.answer.answer is False for item in asked[32 * batches :])


def test_a_failure_in_one_draw_is_asked_again_in_that_draw(two: RunSpec, store: Store) -> None:
    failing = {**BY_DRAW[1], ("asthma", "wheeze"): "++!+ ++++"}
    run_id = scripted(two, store, (BY_DRAW[0], failing, BY_DRAW[2]))
    before = store.answers.asked(run_id)
    model = ScriptedModel.for_run(run_id, store, signs_of((BY_DRAW[2], BY_DRAW[0], BY_DRAW[2])))
    answer_run(run_id, store, model)
    assert [(statement_key(item), item.draw) for item in model.statements] == [(("asthma", "wheeze", "ins"), 1)]
    changed = [(a, b) for a, b in zip(before, store.answers.asked(run_id), strict=True) if a != b]
    ((old, new),) = changed
    assert (old.draw, new.draw) == (1, 1)
    assert (old.answer and old.answer.failure, new.answer and new.answer.answer) == ("timed out", True)


Medfact = Callable[..., Any]


def test_rows_of_answers_tell_the_draw(medfact: Medfact, facts_file: Path, url: str) -> None:
    options = ("--facts", facts_file, "--limit", 2, "--model", "baseline:random", "--db", url)
    (row,) = medfact("run", *options, "--shot-draws", 3).rows
    assert (row["statements"], row["answered"]) == (96, 96)
    rows = medfact("answers", row["run"], "--db", url).rows
    assert Counter(r["shot_draw"] for r in rows) == {0: 32, 1: 32, 2: 32}
    assert len({(r["statement_id"], r["shot_draw"]) for r in rows}) == 96
    (single,) = medfact("run", *options).rows
    alone = medfact("answers", single["run"], "--db", url).rows
    assert {r["shot_draw"] for r in alone} == {0}
    assert [r for r in rows if r["shot_draw"] == 0] == alone  # a coin of the prompt says the same to the same prompt
    by_statement = {r["statement_id"]: r["answer"] for r in alone}
    assert any(r["answer"] != by_statement[r["statement_id"]] for r in rows)  # and something else after other demonstrations

    report = next(iter(medfact("report", row["run"], "--json", "--db", url).rows))
    right = [[r["answer"] == r["label"] for r in rows if r["shot_draw"] == draw] for draw in range(3)]
    assert report["shot_draws"] == 3
    assert report["average_accuracy"]["value"] == pytest.approx(sum(sum(of) / len(of) for of in right) / 3)
    listed = {r["run"]: r for r in medfact("runs", "--db", url).rows}
    assert (listed[row["run"]]["statements"], listed[single["run"]]["statements"]) == (96, 32)


def test_statements_are_listed_once(medfact: Medfact, facts_file: Path) -> None:
    options = ("--facts", facts_file, "--limit", 2)
    assert medfact("statements", *options, "--shot-draws", 3).rows == medfact("statements", *options).rows


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"shot_draws": 0}, "The number of shot draws is 0."),
        ({"shot_draws": -1}, "The number of shot draws is -1."),
        ({"shot_draws": int(BOUNDS["spec.shot_draws"].maximum) + 1}, "The number of shot draws is 21."),
        ({"shot_draws": 2, "shots": 0}, "Several draws of demonstrations need drawn demonstrations."),
        ({"shot_draws": 2, "protocol": "mkj"}, "Several draws of demonstrations need drawn demonstrations."),
        ({"shot_draws": 2, "demonstrations": "mine.csv"}, "Several draws of demonstrations need drawn demonstrations."),
    ],
)
def test_what_cannot_be_asked_is_told_in_a_line(change: dict[str, Any], words: str, spec: RunSpec, store: Store) -> None:
    with pytest.raises(Mistake) as error:
        list(run(replace(spec, **change), store))
    assert str(error.value).startswith(words)
    assert "\n" not in str(error.value)
    assert store.runs() == []
