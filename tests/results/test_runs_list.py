"""What the page Runs says of runs, in words: how long, how much, how far, and which of them a search finds."""

from dataclasses import replace
from typing import Any

import pytest
from recorded import complete_run
from records import with_figures
from small_facts import StubModel

from medfact.results.live import Live, Version
from medfact.results.report import report_of
from medfact.runs.jobs import Snapshot
from medfact.spec import RunSpec
from medfact.store import COMPLETE, IMPORTED, INTERRUPTED, NOTED, PAUSED, RUNNING, STOPPED, WAITING, Run, RunEvent, Store
from medfact.web.pages import progress, runs


@pytest.fixture
def ended(store: Store, facts_file: Any) -> Run:
    run = complete_run(
        RunSpec(model="answerer", facts=str(facts_file), limit=2, shots=0), store, load=StubModel(lambda prompt: "True").load
    )
    return store.run(run)


def live(store: Store, run: Run) -> Live:
    return Live(run, None, report_of(store, run), Version(run.changed, run.state, 0), run.state)


def at(minute: int, second: int = 0) -> str:
    return f"2026-01-01T10:{minute:02}:{second:02}+00:00"


@pytest.mark.parametrize(
    ("events", "said"),
    [
        ([(at(0), WAITING), (at(1), RUNNING), (at(3, 5), COMPLETE)], "2 min 5 s"),
        ([(at(0), WAITING), (at(1), RUNNING), (at(2), STOPPED), (at(50), RUNNING), (at(51), COMPLETE)], "2 min 0 s"),
        ([(at(1), RUNNING), (at(2), NOTED), (at(3), COMPLETE), (at(40), IMPORTED)], "2 min 0 s"),  # neither is a state
        ([(at(1), RUNNING)], "58 min 0 s"),  # interrupted: to the last that was heard of it
        ([(at(0), WAITING), (at(1), STOPPED)], ""),
        ([(at(0), RUNNING), (at(0), COMPLETE)], "less than 1 s"),
        ([("2026-01-01T08:00:00+00:00", RUNNING), (at(4), COMPLETE)], "2 h 4 min"),
    ],
)
def test_time_is_that_of_asking(ended: Run, events: list[tuple[str, str]], said: str) -> None:
    run = replace(ended, finished_at=None, beat_at=at(59))
    assert runs.took([RunEvent(*event, None) for event in events], run, going=False) == said


def test_time_goes_on_while_a_run_does(ended: Run) -> None:
    assert runs.took([RunEvent(at(0), RUNNING, None)], replace(ended, finished_at=None), going=True).endswith(" min so far")


BILL = {
    "host": "api.openai.com",
    "models": [],
    "prompt_tokens": 10,
    "completion_tokens": 2,
    "price_of": "2026-01",
    "calls": 3,
    "reused": 0,
    "cut": 0,
    "seconds": None,
    "upstreams": {},
    "bounded": None,
    "uncounted": 0,
    "estimated": False,
}


@pytest.mark.parametrize(
    ("usd", "said"), [(None, "price not known"), (0.0, "$0.00"), (0.004, "less than $0.01"), (1234.5, "$1,234.50")]
)
def test_cost_in_words(usd: float | None, said: str) -> None:
    text, bill = runs.cost({**BILL, "usd": usd})
    assert text == said
    assert "api.openai.com" in bill


def test_a_model_here_costs_nothing() -> None:
    assert runs.cost(None)[0] == "free"


def test_what_a_budget_stopped_was_not_stopped_by_hand(store: Store, ended: Run) -> None:
    stopped = live(store, replace(ended, state=STOPPED, reason="The budget of $1.00 is spent."))
    assert runs.state_of(stopped).word == "stopped"
    assert runs.state_of(stopped).rest == ("32 of 32 statements", "The budget of $1.00 is spent.")
    assert runs.state_of(live(store, replace(ended, state=STOPPED))).word == "stopped by hand"


def test_a_run_whose_answers_are_pushed_says_how_many_pushes_are_left(store: Store, ended: Run) -> None:
    job = Snapshot(1, RUNNING, None, total=32, done=32, rate=8.0, seconds_left=0.0, loading="pushes: 12 of 640")
    pushed = replace(live(store, replace(ended, state=RUNNING)), job=job)
    assert runs.state_of(pushed).rest == ("32 of 32 statements", "pushes: 12 of 640")
    assert progress.progress_of("mine", pushed).text == "pushes: 12 of 640"
    answered = replace(pushed, job=replace(job, loading=None, done=16, seconds_left=2.0))
    assert progress.progress_of("mine", answered).text == "8 a second · 2 s left"


@pytest.mark.parametrize(
    ("words", "state", "found"),
    [
        ("", "", True),
        ("first HEART", "", True),  # the name, and the note
        ("answerer facts.csv medfact", "", True),
        ("heart lung", "", False),
        ("heart", "complete", True),
        ("heart", "going", False),
        ("heart", "resumable", False),
    ],
)
def test_what_a_search_finds(ended: Run, words: str, state: str, found: bool) -> None:
    run = replace(ended, name="A first try", note="of the heart")
    assert runs.matches(run, words.casefold().split(), state) is found


@pytest.mark.parametrize(
    ("states", "begins"),
    [
        ([COMPLETE], ""),
        ([INTERRUPTED, COMPLETE], "1 run was interrupted."),
        ([PAUSED] * 2, "2 runs were paused."),
        ([PAUSED] * 6 + [INTERRUPTED], "7 runs were interrupted or paused."),
    ],
)
def test_what_waits_to_be_taken_up_again(ended: Run, states: list[str], begins: str) -> None:
    made = runs.notice([replace(ended, state=state) for state in states])
    assert made["text"].startswith(begins)
    assert bool(made["text"]) == bool(begins)
    assert len(made["runs"]) <= runs.NOTICED
    assert made["more"].startswith("And 2 more") == (len(states) == 7)


@pytest.mark.parametrize(("model", "said"), [("openai:m", "waiting for the first answer"), ("hf:m", "loading the model")])
def test_what_a_run_waits_for_at_its_beginning(model: str, said: str, ended: Run, store: Store) -> None:
    job = Snapshot(1, RUNNING, None, total=16, done=0, rate=None, seconds_left=None)
    asked = live(store, ended)
    nothing = with_figures(asked.report, answered=0)
    begun = replace(asked, run=replace(ended, model=model, state=RUNNING), job=job, report=nothing)
    assert said in progress.progress_of("m", begun).text
