"""The card to be posted: its size, what stands on it, letters that no font has, runs that are not whole."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from PIL import Image
from small_facts import rows_of_facts, write_csv
from small_papers import mkj_entry, write_json

from medfact import __version__
from medfact.errors import Mistake
from medfact.metrics.uncertainty import Estimate
from medfact.results.compare import comparison, sides_of
from medfact.results.report import report_of
from medfact.results.score_card import ScoreCard, card_of, difference_in_words
from medfact.runs.run import answer
from medfact.runs.start import start
from medfact.spec import RunSpec
from medfact.store import STOPPED, Store
from medfact.views import score_card
from medfact.views.score_card import HEIGHT, LEFT, RIGHT, WIDTH, CardBar, CardText, fitted, layout, png_of, width_of


@pytest.fixture
def runs(store: Store, tmp_path: Path) -> list[str]:
    facts = str(write_csv(tmp_path / "many.csv", rows_of_facts()))
    made = [start(RunSpec(model=f"baseline:{name}", facts=facts, shots=0), store) for name in ("negation-cue", "random")]
    for run in made:
        list(answer(run, store))
    return made


def texts(card: ScoreCard) -> list[str]:
    return [piece.text for piece in layout(card) if isinstance(piece, CardText)]


def bars(card: ScoreCard) -> list[CardBar]:
    return [piece for piece in layout(card) if isinstance(piece, CardBar)]


def picture(card: ScoreCard) -> Image.Image:
    return Image.open(BytesIO(png_of(card)))


def test_what_stands_on_the_card_of_one_run(store: Store, runs: list[str]) -> None:
    report, card = report_of(store, store.run(runs[0])), card_of(store, runs[:1])
    said = texts(card)
    assert "true unless denied" in said
    assert any(text.startswith(f"many.csv: {store.run(runs[0]).facts} facts") for text in said)
    assert "50.0%" in said  # who says true unless denied has every true fact right, and no false one: one false to a true one
    low, high = report.joint_accuracy.low, report.joint_accuracy.high
    assert low is not None
    assert high is not None
    assert f"95% interval {100 * low:.1f}% to {100 * high:.1f}%, of {report.joint_accuracy.n} facts" in said
    assert "thin line: a coin, 0.39%" in said
    assert "thin line: a coin, 50%" in said
    assert "Not a measure of clinical competence." in said
    assert re.fullmatch(rf"\d+ \w+ \d{{4}}, medfact {re.escape(__version__)}", said[-1])
    assert [bar.estimate for bar in bars(card)] == [report.joint_accuracy, report.average_accuracy]


def test_true_facts_alone_are_not_called_true_and_false_ones(store: Store, runs: list[str]) -> None:
    spec = replace(store.run(runs[0]).spec, negatives=0)
    alone = start(spec, store)
    list(answer(alone, store))
    assert "true and false ones" not in card_of(store, [alone]).about
    assert "true and false ones" in card_of(store, runs[:1]).about


def test_the_picture_has_its_size_its_words_and_its_bars(store: Store, runs: list[str]) -> None:
    card = card_of(store, runs[:1])
    drawn = picture(card)
    assert drawn.size == (WIDTH, HEIGHT) == (1200, 630)
    assert drawn.text["Description"] == card.words  # type: ignore[attr-defined]
    pixels = drawn.convert("RGB")
    for bar in bars(card):
        left, right = bar.ends
        assert bar.estimate.low is not None
        inside = left + (bar.estimate.low + 0.01) * (right - left)
        outside = left + (bar.estimate.low - 0.05) * (right - left)
        assert pixels.getpixel((round(inside), bar.y)) == (0x00, 0x72, 0xB2)
        assert pixels.getpixel((round(outside), bar.y)) != (0x00, 0x72, 0xB2)


def assert_nothing_runs_over(card: ScoreCard) -> None:
    for piece in layout(card):
        if isinstance(piece, CardText):
            width = width_of(piece.text, piece.size, "")
            left = piece.x - width if piece.at_right else piece.x
            assert left >= LEFT - 1, piece
            assert left + width <= RIGHT + 1, piece
            assert piece.y + piece.size < HEIGHT, piece
            for bar in bars(card):
                beside = abs(piece.y + piece.size / 2 - bar.y) < piece.size / 2
                assert not beside or left + width < bar.ends[0] or left > bar.ends[1], (piece, bar)


def test_nothing_runs_over_the_edge_or_into_a_bar(store: Store, runs: list[str]) -> None:
    store.describe(runs[0], name="W" * 300, note=None)
    for chosen in (runs[:1], runs):
        card = card_of(store, chosen)
        assert_nothing_runs_over(card)
    assert any(text.endswith("…") for text in texts(card))


def test_two_runs_and_their_paired_difference(store: Store, runs: list[str]) -> None:
    card = card_of(store, runs)
    pair = next(pair for pair in comparison(sides_of(store, runs)).pairs if pair.metric == "joint_accuracy")
    assert pair.difference is not None
    assert pair.difference > 0
    more = f"{100 * pair.difference:.1f} points more facts with all answers right"
    assert f"true unless denied has {more} than a coin" in card.difference
    assert "Two models, the same facts" in texts(card)
    assert [bar.place for bar in bars(card)] == [0, 1, 0, 1]
    # the other way round it says the same of the same run
    assert card_of(store, runs[::-1]).difference == card.difference


def test_a_difference_that_is_not_shown_or_cannot_be(store: Store, runs: list[str]) -> None:
    pair = next(pair for pair in comparison(sides_of(store, runs)).pairs if pair.metric == "joint_accuracy")
    names = dict(zip(runs, ("A", "B"), strict=True))
    unsure = replace(pair, difference=0.03, low=-0.02, high=0.08, low_all=-0.02, high_all=0.08, p_holm=0.2)
    told = f"No difference in facts with all answers right is shown: +3.0 points (−2.0 to +8.0) of {pair.n} facts"
    assert difference_in_words(unsure, names) == told
    worse = replace(pair, difference=-0.3, low_all=-0.4, high_all=-0.2, p_holm=0.01)
    told = difference_in_words(worse, names)
    assert (
        told
        == f"B has 30.0 points more facts with all answers right than A (20.0 to 40.0), of {pair.n} facts that both answered"
    )
    assert "too few diseases to say" in difference_in_words(replace(pair, low_all=None, high_all=None), names)
    nothing = replace(pair, difference=None, low_all=None, high_all=None, n=0)
    assert "is shown: no value of 0 facts" in difference_in_words(nothing, names)


def test_a_run_that_is_not_whole_says_so(store: Store, runs: list[str]) -> None:
    store.set_state(runs[0], STOPPED)
    statements = store.run(runs[0]).statements
    (mark,) = card_of(store, runs[:1]).marks
    assert mark == f"true unless denied: stopped by hand, {statements} of {statements} statements asked"
    assert mark in " ".join(texts(card_of(store, runs[:1])))
    store.set_state(runs[0], STOPPED, "The budget is spent.")
    (mark,) = card_of(store, runs[:1]).marks
    assert mark == f"true unless denied: stopped, {statements} of {statements} statements asked"


def test_runs_asked_in_unequal_numbers_of_ways_share_a_heading_that_holds_for_both(store: Store, runs: list[str]) -> None:
    facts = store.run(runs[0]).spec.facts
    plain = start(RunSpec(model="baseline:random", facts=facts, pool="origin", shots=0), store)
    list(answer(plain, store))
    assert card_of(store, runs).figures[0].title == "all eight right"
    assert card_of(store, [plain]).figures[0].title != "all eight right"
    assert card_of(store, [runs[0], plain]).figures[0].title == "all right"


def test_runs_that_were_asked_otherwise_are_said_to_differ(store: Store, runs: list[str], tmp_path: Path) -> None:
    facts = store.run(runs[0]).spec.facts
    other = start(RunSpec(model="baseline:random", facts=facts, shots=2), store)
    list(answer(other, store))
    assert any("also differ in: demonstrations" in mark for mark in card_of(store, [runs[0], other]).marks)


def test_too_few_heads_and_nothing_at_all(store: Store, runs: list[str]) -> None:
    few, none = Estimate(0.5, None, None, 8), Estimate(None, None, None, 0)
    for chosen in (runs[:1], runs):
        card = card_of(store, chosen)
        for estimate, says in ((few, "too few diseases to say"), (none, "no value")):
            figures = tuple(replace(one, estimates=(estimate,) * len(chosen)) for one in card.figures)
            said = texts(replace(card, figures=figures))
            assert any(says in text for text in said)
            assert not any("interval" in text for text in said if "n = " in text or "of 8" in text)
            assert picture(replace(card, figures=figures)).size == (WIDTH, HEIGHT)


def test_letters_that_no_font_has_become_no_boxes(store: Store, runs: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(score_card, "_SPARE_FONTS", ())
    store.describe(runs[0], name="模型 <b>一</b>", note=None)
    store.describe(runs[1], name="Médecin Übung – 7B × 2", note=None)
    card = card_of(store, runs)
    said = texts(card)
    assert f"run {runs[0][:8]}" in said
    assert not any("模" in text for text in said)
    assert any(f"The name of run {runs[0][:8]} has letters" in text for text in said)
    assert "Medecin Ubung - 7B x 2" in said
    assert "模型 <b>一</b>" in card.words  # the words have it whole
    for text in said:
        assert score_card._has("", text.translate(score_card._ALIKE)), text


@pytest.mark.parametrize("name", [" ", "\u200b\u202e", "\x01\x02"])
def test_a_name_that_cannot_be_seen_is_none(store: Store, runs: list[str], name: str) -> None:
    store.describe(runs[0], name=name, note=None)
    assert f"run {runs[0][:8]}" in texts(card_of(store, runs[:1]))
    store.describe(runs[0], name=f"a{name}b", note=None)
    assert card_of(store, runs[:1]).names[0].replace(" ", "") == "ab"


def test_a_text_is_cut_to_its_width() -> None:
    assert fitted("short", 20, 500) == "short"
    cut = fitted("x" * 500, 20, 300)
    assert cut.endswith("…")
    assert width_of(cut, 20, "") <= 300 < width_of(cut + "xx", 20, "")


def test_one_run_or_two(store: Store, runs: list[str]) -> None:
    with pytest.raises(Mistake, match="one run or two, not 3"):
        card_of(store, [*runs, runs[0]])


def test_on_the_command_line(medfact: Callable[..., Any], url: str, runs: list[str], tmp_path: Path) -> None:
    file = tmp_path / "card.png"
    done = medfact("card", *runs, "--png", file, "--db", url)
    assert done.code == 0
    assert "Not a measure of clinical competence." in done.err
    with Image.open(file) as drawn:
        assert drawn.size == (1200, 630)
    away = medfact("card", runs[0], "--png", tmp_path / "no" / "card.png", "--db", url)
    assert (away.code, "cannot be written" in away.err) == (2, True)


# ------------------------------------------------------------------------------------------------ a method with other scores


@pytest.fixture
def mkj(store: Store, tmp_path: Path) -> list[str]:
    """Always false, and always true, of 25 facts with three false partners each."""
    facts = str(write_json(tmp_path / "mkj" / "data.json", [mkj_entry(i) for i in range(25)]).parent)
    made = [start(RunSpec(f"baseline:always-{said}", facts=facts, protocol="mkj"), store) for said in ("false", "true")]
    for run in made:
        list(answer(run, store))
    return made


def test_a_card_shows_the_scores_of_the_runs_own_method(store: Store, mkj: list[str]) -> None:
    """Always false of 25 true and 75 false statements: Acc_pos 0/25, Acc_neg 75/75, Acc (0 + 3 · 1) / 4, the gap 0 − 1."""
    card = card_of(store, mkj[:1])
    figures = [(one.title, one.of, one.estimates[0]) for one in card.figures]
    assert [(title, estimate and (estimate.value, estimate.n)) for title, _, estimate in figures] == [
        ("Acc", (0.75, 100)),
        ("Acc_pos, facts that hold", (0.0, 25)),
        ("Acc_neg, false facts", (1.0, 75)),
        ("Acc_gap, the gap", (-1.0, 100)),
    ]
    assert [one.chance for one in card.figures] == [0.5, 0.5, 0.5, 0.0]
    assert "Acc_gap, the gap −100.0 points (" in card.words
    assert not re.search("all right|one way right|right answers", card.words)
    said = texts(card)
    for text in ("Acc", "75.0%", "Acc_pos, facts that hold", "0.0%", "Acc_neg, false facts", "100.0%", "−100.0"):
        assert text in said
    low, high = report_of(store, store.run(mkj[0])).mkj_accuracy[1:3]
    assert low is not None
    assert high is not None
    assert f"{100 * low:.1f}% to {100 * high:.1f}%, n = 100" in said
    assert [bar.least for bar in bars(card)] == [0.0, 0.0, 0.0, -1.0]


def test_two_runs_of_it_and_one_of_another_method(store: Store, mkj: list[str], runs: list[str]) -> None:
    """Always false is right on 75 of 100 statements, always true on 25: 50 points."""
    card = card_of(store, mkj)
    assert "always says false has 50.0 points more right answers than always says true" in card.difference
    assert [bar.place for bar in bars(card)] == [0, 1] * 4
    mixed = card_of(store, [mkj[0], runs[0]])
    assert [[one is not None for one in figure.estimates] for figure in mixed.figures] == [[True, False]] * 4 + [
        [False, True]
    ] * 2
    assert mixed.words.count("Acc_pos") == 1
    for shown in (card_of(store, mkj[:1]), card, mixed):
        assert picture(shown).size == (WIDTH, HEIGHT)
        assert_nothing_runs_over(shown)


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
