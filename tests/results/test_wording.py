"""How results are put into words: names, numbers, states and fates, each in one way."""

from dataclasses import replace

import pytest

from medfact.metrics.race import Race
from medfact.metrics.uncertainty import NOTHING, Estimate
from medfact.results import wording
from medfact.results.compare import describe_race
from medfact.runs.start import start
from medfact.spec import RunSpec
from medfact.store import DECIDED, Store


@pytest.mark.parametrize(
    ("spec", "name"),
    [
        ("medfact-tiny", "medfact-tiny"),
        ("baseline:negation-cue", "true unless denied"),
        ("baseline:random", "a coin"),
        ("hf:HuggingFaceTB/SmolLM2-135M", "SmolLM2-135M"),
        ("hf:/home/someone/models/SmolLM2/", "SmolLM2"),
        ("openai:gpt-4o-mini", "gpt-4o-mini"),
        ("answerer", "answerer"),
    ],
)
def test_a_model_is_called_by_its_name(spec: str, name: str) -> None:
    assert wording.model_name(spec) == name


@pytest.mark.parametrize(
    ("made", "text"),
    [
        (wording.counted(1, "run"), "1 run"),
        (wording.counted(1_000, "more run"), "1,000 more runs"),
        (wording.counted(1, "statement about true facts"), "1 statement about true facts"),
        (wording.counted(0, "couple of statements"), "0 couples of statements"),
        (wording.percent(0.535), "53.5%"),
        (wording.percent(None), "no value"),
        (wording.points(0.033), "+3.3"),
        (wording.points(-0.033), "−3.3"),
        (wording.points(-0.0004), "0.0"),
        (wording.percent(-0.006), "−0.6%"),
        (wording.percent(-0.0004), "0.0%"),
        (wording.interval(Estimate(0.5, 0.501, 0.569, 9)), "50.1–56.9%"),
        (wording.interval(Estimate(0.5, None, None, 9)), "too few diseases to say"),
        (wording.share(Estimate(0.612, 0.55, 0.674, 9)), "61.2% (55.0–67.4%)"),
        (wording.share(NOTHING), "no value"),
        (wording.duration(0.2), "less than 1 s"),
        (wording.duration(125), "2 min 5 s"),
        (wording.duration(7440), "2 h 4 min"),
        (wording.date("2026-11-23T02:08:09+00:00"), "23 Nov 2026, 02:08"),
        (wording.date("some day"), "some day"),
        (wording.counted(1, "fact"), "1 fact"),
        (wording.counted(1200, "fact"), "1,200 facts"),
        (wording.shortened("x" * 70), "x" * 59 + "…"),
    ],
)
def test_numbers_dates_and_counts(made: str, text: str) -> None:
    assert made == text


def test_runs_beside_each_other_have_different_names(store: Store) -> None:
    runs = [store.run(start(RunSpec(model="baseline:random", limit=2, shots=0), store)) for _ in range(2)]
    named = replace(runs[0], name="mine")
    assert wording.names_of_runs([named, runs[1]]) == ["mine", "a coin"]
    assert wording.names_of_runs(runs) == [f"a coin ({run.run[:8]})" for run in runs]
    spanish = replace(runs[1], spec=runs[1].spec.override(asked_in="es"))
    assert wording.names_of_runs([runs[0], spanish]) == ["a coin, English", "a coin, Spanish"]


def test_no_two_fates_look_alike() -> None:
    for part in ("name", "glyph", "plain"):
        values = [getattr(fate, part) for fate in wording.FATES.values()]
        assert len(set(values)) == len(values)


def test_a_race_that_is_shown_on_these_facts_alone_says_so() -> None:
    """Bounds of 6 to 11 points on the facts at hand leave zero out, though facts like them are not decided."""
    names = {"1": "a", "2": "b"}
    shown = Race(-0.08, -0.11, -0.06, 40, 40, None, None)
    assert describe_race("1", "2", shown, names) == (
        "On these facts b masters more than a, by at least 6.0 points; "
        "for similar facts that is not decided (40 of 40 diseases counted)."
    )
    undecided = shown._replace(high=0.01)
    for race, said in (
        (undecided, "a and b: not decided with these facts (40 of 40 diseases counted)."),
        (
            undecided._replace(heads=20, more=7),
            "a and b: not decided yet: about 7 diseases more would decide, if they are like these (20 of 40 diseases counted).",
        ),
        (
            undecided._replace(heads=20),
            "a and b: not decided yet: the other diseases are unlikely to decide it (20 of 40 diseases counted).",
        ),
        (
            shown._replace(decided_at=9),
            "Decided: b masters more facts than a, by at least 6.0 points on these facts, "
            "after 9 diseases (40 of 40 diseases counted).",
        ),
    ):
        assert describe_race("1", "2", race, names) == said


def test_a_check_that_ended_early_is_no_race() -> None:
    reason = "The check was decided after 72 of 295 facts: fail."
    assert wording.describe_state(DECIDED, reason) == "stopped early: the check was decided"
    assert (
        wording.describe_state(DECIDED, "Decided after 4 of 9 diseases: a masters more facts than b.")
        == "stopped early: decided"
    )
    assert "race" not in wording.describe_ending(DECIDED, reason)
    assert "only the bounds of the check" in wording.describe_ending(DECIDED, reason)
