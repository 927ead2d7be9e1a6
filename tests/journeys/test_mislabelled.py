"""Forms that the papers label wrongly: noted on each run that asks them, with the scores without them beside."""

from collections.abc import Callable
from pathlib import Path

import pytest
from small_facts import write_csv
from small_papers import Medfact, Row, command_rows, make_disek_rows, report_run, run_baseline

from medfact.prototypes import load_pool, mislabelled_forms

WRONG = {
    "tpeval": {
        "symptoms": {"S4", "S8"},
        "affected sites": {"S4", "S8"},
        "therapeutic drugs": {"S4", "S8"},
        "surgical procedures": {"S4", "S8"},
    },
    "pretexttrans": {
        "symptoms": {"ins", "inv+ins", "inv+ins+dn"},
        "affected sites": {"inv+ins", "inv+ins+dn"},
        "therapeutic drugs": {"inv+ins+dn"},
        "surgical procedures": {"inv+ins+dn"},
    },
}


@pytest.fixture
def disek(tmp_path: Path) -> Path:
    return write_csv(tmp_path / "disek.csv", make_disek_rows())


@pytest.mark.parametrize("method", WRONG)
def test_a_run_names_the_forms_and_scores_without_them(method: str, disek: Path, medfact: Medfact) -> None:
    run = run_baseline(medfact, method, disek, "--shots", 0, "--limit", 8)["run"]
    found = report_run(medfact, run)["well_labelled"]
    asked = {row["relation"] for row in command_rows(medfact("answers", run))}
    assert {name: set(of) for name, of in found["forms"].items()} == {r: f for r, f in WRONG[method].items() if r in asked}
    rows = command_rows(medfact("answers", run))
    kept = [row for row in rows if row["variant"] not in WRONG[method][row["relation"]]]
    assert found["statements"] == len(rows) - len(kept) > 0
    assert found["average_accuracy"]["n"] == len(kept)
    right = sum(row["answer"] == row["label"] for row in kept)
    assert found["average_accuracy"]["value"] == pytest.approx(right / len(kept))
    facts: dict[str, list[Row]] = {}
    for row in kept:
        facts.setdefault(row["fact_id"], []).append(row)
    mastered = sum(all(row["answer"] == row["label"] for row in of) for of in facts.values())
    assert found["joint_accuracy"]["value"] == pytest.approx(mastered / len(facts))


def test_the_note_stands_beside_the_scores(disek: Path, medfact: Medfact) -> None:
    """In the terminal and in LaTeX, by the model that always says true."""
    run = run_baseline(medfact, "tpeval", disek, "--shots", 0, "--limit", 8, model="always-true")["run"]
    report = report_run(medfact, run)
    # of a true fact S1 to S4 are labelled true, of a false one S5 to S8: 4 of 8 either way; without S4 and S8, 3 of 6
    assert report["average_accuracy"]["value"] == report["well_labelled"]["average_accuracy"]["value"] == 0.5
    assert report["well_labelled"]["statements"] == 8 * 2 * 2, "S4 and S8 of 8 facts and their partners"
    text = medfact("report", run).out
    assert "note: The labels of 32 statements in the published sentences do not follow from the facts (S4, S8; " in text
    assert "Without them: right answers 50.0%" in text
    assert "of 96 statements" in text
    assert "(S4, S8; " in medfact("report", run, "--latex").out


@pytest.mark.parametrize("options", [("--protocol", "medfact"), ("--protocol", "tpeval", "--pool", "origin")])
def test_other_runs_have_no_such_note(options: tuple[str, ...], disek: Path, medfact: Medfact) -> None:
    (row,) = command_rows(medfact("run", "--facts", disek, "--shots", 0, "--limit", 4, "--model", "baseline:random", *options))
    assert report_run(medfact, row["run"])["well_labelled"] is None
    assert "do not follow" not in medfact("report", row["run"]).out


def test_a_form_is_known_by_its_words(published: Callable[[str], dict[str, dict[str, str]]]) -> None:
    """A pool of one's own with the same sentence has the same fault; with another sentence it has not."""
    asked = published("pretexttrans-disek")
    assert set(mislabelled_forms(asked, ["Symptom"])["Symptom"]) == {"ins", "inv+ins", "inv+ins+dn"}
    asked["symptoms"]["inv+ins"] = "If a patient has symptoms of [Y], they may have [X]."
    assert set(mislabelled_forms(asked, ["Symptom"])["Symptom"]) == {"ins", "inv+ins+dn"}
    assert mislabelled_forms(asked, ["no such relation"]) == {}


@pytest.fixture
def published() -> Callable[[str], dict[str, dict[str, str]]]:
    return lambda name: {key: dict(of.sentences) for key, of in load_pool(name).relations.items()}
