"""The card that can be posted: its words, its drawing as valid SVG, hostile names, unfinished runs, other methods."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from small_facts import make_fact_rows, write_csv
from small_papers import make_mkj_entry, write_json

from medfact import __version__
from medfact.errors import Mistake
from medfact.metrics.uncertainty import Estimate
from medfact.results.compare import comparison, sides_of
from medfact.results.report import report_of
from medfact.runs.run import answer
from medfact.runs.start import start
from medfact.spec import RunSpec
from medfact.store import STOPPED, Store
from medfact.views.score_card import ScoreCard, describe_difference, make_score_card


def asked(store: Store, *specs: RunSpec) -> list[str]:
    runs = [start(spec, store) for spec in specs]
    for run in runs:
        list(answer(run, store))
    return runs


@pytest.fixture
def runs(store: Store, tmp_path: Path) -> list[str]:
    facts = str(write_csv(tmp_path / "many.csv", make_fact_rows()))
    return asked(store, *(RunSpec(model=f"baseline:{name}", facts=facts, shots=0) for name in ("negation-cue", "random")))


@pytest.fixture
def mkj(store: Store, tmp_path: Path) -> list[str]:
    """Always false, and always true, of 25 facts with three false partners each."""
    facts = str(write_json(tmp_path / "mkj" / "data.json", [make_mkj_entry(i) for i in range(25)]).parent)
    return asked(store, *(RunSpec(f"baseline:always-{label}", facts=facts, protocol="mkj") for label in ("false", "true")))


def card(store: Store, runs: Sequence[str]) -> ScoreCard:
    records = [store.run(run) for run in runs]
    compared = comparison(sides_of(store, runs)) if len(runs) == 2 else None
    return make_score_card(records, [report_of(store, record) for record in records], compared)


def texts(drawn: ScoreCard) -> list[str]:
    """Texts of the drawing, which is parsed as XML."""
    root = ElementTree.fromstring(drawn.svg)
    assert (root.get("width"), root.get("height")) == ("1200", "630")
    return ["".join(node.itertext()) for node in root.iter("{http://www.w3.org/2000/svg}text")]


def test_the_card_of_one_run(store: Store, runs: list[str]) -> None:
    """Who says true unless denied has every true fact right, and no false one: one false to a true one."""
    report, drawn = report_of(store, store.run(runs[0])), card(store, runs[:1])
    low, high = report.joint_accuracy.low, report.joint_accuracy.high
    said = texts(drawn)
    assert said[1] == "true unless denied"
    assert said[2].startswith(f"many.csv: {store.run(runs[0]).facts} facts, true and false ones, asked in eight ways")
    assert "50.0%" in said
    assert f"95% interval {100 * low:.1f}–{100 * high:.1f}%, of {report.joint_accuracy.n} facts" in said
    assert "All eight rightthin line: a coin, 0.39%" in said
    assert "Not a measure of clinical competence. Not for clinical use." in said
    assert re.fullmatch(rf"\d+ \w+ \d{{4}}, medfact {re.escape(__version__)}", said[-1])
    assert drawn.alt_text in "".join(ElementTree.fromstring(drawn.svg).itertext()), "for those who cannot see it"
    assert f"all eight right 50.0% ({100 * low:.1f}–{100 * high:.1f}%) of {report.joint_accuracy.n} facts" in drawn.alt_text
    alone = asked(store, replace(store.run(runs[0]).spec, negatives=0))
    assert "true and false ones" not in card(store, alone).about


def test_a_bar_is_as_long_as_its_interval(store: Store, runs: list[str]) -> None:
    """A bar lies from 300 to 780: an interval from 0.25 to 0.75 has 240 pixels and begins at 420."""
    drawn = card(store, runs[:1])
    score = drawn.scores[0]._replace(estimates=(Estimate(0.5, 0.25, 0.75, 40),))
    bars = ElementTree.fromstring(replace(drawn, scores=(score, score)).svg).iter("{http://www.w3.org/2000/svg}rect")
    assert [(one.get("x"), one.get("width")) for one in bars if one.get("height") == "10"] == [("420.0", "240.0")] * 2


def test_two_runs_and_their_paired_difference(store: Store, runs: list[str]) -> None:
    drawn = card(store, runs)
    pair = next(pair for pair in comparison(sides_of(store, runs)).pairs if pair.metric == "joint_accuracy")
    more = f"{100 * pair.value:.1f} points more facts with all answers right"
    assert f"true unless denied has {more} than a coin" in drawn.difference
    assert texts(drawn)[1:3] == ["true unless denied", "a coin"]
    assert card(store, runs[::-1]).difference == drawn.difference
    names = dict(zip(runs, ("A", "B"), strict=True))
    unsure = replace(pair, value=0.03, low=-0.02, high=0.08, low_all=-0.02, high_all=0.08, p_holm=0.2)
    told = "No difference in facts with all answers right is shown: +3.0 points (−2.0 to +8.0)"
    assert describe_difference(unsure, names) == f"{told}, over {pair.n} facts that both answered"
    worse = describe_difference(replace(pair, value=-0.3, low_all=-0.4, high_all=-0.2, p_holm=0.01), names)
    assert worse.startswith("B has 30.0 points more facts with all answers right than A (20.0 to 40.0)")
    assert "too few diseases to say" in describe_difference(replace(pair, low_all=None, high_all=None), names)
    with pytest.raises(Mistake, match="one run or two, not 3"):
        card(store, [*runs, runs[0]])


def test_unfinished_runs_and_other_settings_are_told(store: Store, runs: list[str]) -> None:
    store.set_state(runs[0], STOPPED)
    statements = store.run(runs[0]).statements
    remark = f"true unless denied: stopped by hand, {statements} of {statements} statements asked"
    drawn = card(store, runs[:1])
    assert drawn.remarks == (remark,)
    assert remark in texts(drawn)
    other = asked(store, RunSpec(model="baseline:random", facts=store.run(runs[0]).spec.facts, shots=2))
    assert any("also differ in: demonstrations" in remark for remark in card(store, [runs[0], *other]).remarks)


def test_too_few_heads_and_nothing_at_all(store: Store, runs: list[str]) -> None:
    for chosen in (runs[:1], runs):
        drawn = card(store, chosen)
        for estimate, words in (
            (Estimate(0.5, None, None, 8), "too few diseases to say"),
            (Estimate(None, None, None, 0), "no value"),
        ):
            scores = tuple(score._replace(estimates=(estimate,) * len(chosen)) for score in drawn.scores)
            said = texts(replace(drawn, scores=scores))
            assert sum(words in text for text in said) == 2 * len(chosen)
            assert not any("interval" in text for text in said)


@pytest.mark.parametrize("name", [" ", "\u200b\u202e", "\x01\x02"])
def test_a_name_that_cannot_be_seen_is_none(store: Store, runs: list[str], name: str) -> None:
    store.describe(runs[0], name=name, note=None)
    assert f"run {runs[0][:8]}" in texts(card(store, runs[:1]))
    store.describe(runs[0], name=f"a{name}b", note=None)
    assert card(store, runs[:1]).names[0].replace(" ", "") == "ab"


def test_names_stay_text_and_fit(store: Store, runs: list[str]) -> None:
    """The size is chosen so that 60 letters of 1 em, the widest, take 1,072 pixels at most."""
    store.describe(runs[0], name="W" * 300, note=None)
    store.describe(runs[1], name="模型 <script>alert(1)</script> & “x”", note=None)
    assert texts(card(store, runs))[1:3] == [f"{'W' * 59}…", "模型 <script>alert(1)</script> & “x”"]
    for chosen in (runs[:1], runs):
        found = re.search(r'font-size="([\d.]+)" font-weight="700">W', card(store, chosen).svg)
        assert found
        assert 10 < float(found[1]) <= 1_072 / 60


def test_a_method_with_other_scores(store: Store, mkj: list[str], runs: list[str]) -> None:
    """Always false of 25 true and 75 false statements: Acc_pos 0/25, Acc_neg 75/75, Acc (0 + 3 · 1) / 4, the gap 0 − 1."""
    drawn = card(store, mkj[:1])
    found = [(row.score.heading, at and (at.value, at.n), row.chance) for row in drawn.scores for at in row.estimates]
    assert found == [
        ("Acc", (0.75, 100), 0.5),
        ("Acc_pos, facts that hold", (0.0, 25), 0.5),
        ("Acc_neg, false facts", (1.0, 75), 0.5),
        ("Acc_gap, the gap", (-1.0, 100), 0.0),
    ]
    assert "Acc_gap, the gap −100.0 points (" in drawn.alt_text
    assert {"75.0%", "0.0%", "100.0%", "−100.0"} <= set(texts(drawn))
    # always false is right on 75 of 100 statements, always true on 25: 50 points
    assert "always says false has 50.0 points more right answers than always says true" in card(store, mkj).difference
    mixed = card(store, [mkj[0], runs[0]])
    having = [[at is not None for at in row.estimates] for row in mixed.scores]
    assert having == [[True, False]] * 4 + [[False, True]] * 2
    assert mixed.difference == "", "no statement was asked of both"
    assert mixed.alt_text.count("Acc_pos") == 1
    assert texts(mixed)


def test_on_the_command_line(medfact: Callable[..., Any], url: str, runs: list[str], tmp_path: Path) -> None:
    file = tmp_path / "card.svg"
    done = medfact("card", *runs, "--svg", file, "--db", url)
    assert done.code == 0
    assert "Not a measure of clinical competence." in done.err
    assert ElementTree.parse(file).getroot().get("width") == "1200"
    away = medfact("card", runs[0], "--svg", tmp_path / "no" / "card.svg", "--db", url)
    assert (away.code, "cannot be written" in away.err) == (2, True)


def test_rows_of_runs_have_the_scores_of_their_own_method(
    store: Store, mkj: list[str], runs: list[str], medfact: Callable[..., Any]
) -> None:
    rows = {row["run"]: row for row in medfact("runs", "--db", store.url).rows}
    ours, others = rows[mkj[0]], rows[runs[0]]
    named = ("mkj_accuracy", "positive_accuracy", "negative_accuracy", "accuracy_gap")
    assert [ours[name] for name in named] == [0.75, 0.0, 1.0, -1.0]
    assert ours["joint_accuracy"] is ours["average_accuracy"] is None
    assert all(others[name] is None for name in named)
    assert (others["joint_accuracy"], others["average_accuracy"]) == (0.5, 0.5)
