"""A race that stops by itself, over real runs: on disk, in the order fixed before, with nothing asked that need not be."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from mock_service import Behaviour, MockService
from processes import CommandProcess, start_fork_server
from recorded import finished_event
from small_facts import write_csv
from waiting import wait_until

from medfact.errors import StoreError
from medfact.models import Completion, Prompt, ServiceSettings, load_model
from medfact.results.compare import race_curve, races_of, sides_of
from medfact.results.plots import plot_of
from medfact.results.report import report_of
from medfact.results.text import report_text
from medfact.results.wording import describe_ending
from medfact.runs import racing
from medfact.runs.ask import BATCH
from medfact.runs.events import Finished
from medfact.runs.jobs import Jobs
from medfact.runs.jobs.job import Together
from medfact.runs.jobs.run_threads import RunThreads
from medfact.runs.plan import plan
from medfact.runs.racing import RacingRuns, Standing, in_order_of_race, next_window, racing_specs
from medfact.runs.run import answer
from medfact.runs.start import start
from medfact.spec import RunSpec
from medfact.store import COMPLETE, DECIDED, FAILED_RUN, STOPPED, Run, Store
from medfact.views.report import html_report

HEADS = 60


@pytest.fixture
def many(tmp_path: Path) -> Path:
    """60 diseases with a drug of their own each, and as many more that are kept aside."""
    rows = [{"head": f"disease {n}", "relation": "therapeutic drugs", "tail": f"drug {n}"} for n in range(HEADS + 5)]
    return write_csv(tmp_path / "many.csv", rows)


class Sure:
    """A model that is right with a certain chance, which hangs on the statement. asked: what it was asked, in order."""

    chat = False

    def __init__(
        self, run: str, store: Store, chance: float, name: str, fails: Callable[[int], bool] = lambda _: False
    ) -> None:
        self.spec = name
        self.items = store.answers.asked(run)
        self.prompts: list[str] = []
        self._by_text = {item.statement.text: item for item in self.items}
        self._chance, self._fails = chance, fails

    @property
    def info(self) -> Any:
        return {"revision": "1", "decoding": {}}

    def complete(self, prompts: Sequence[Prompt]) -> Iterator[tuple[int, Completion]]:
        for place, prompt in enumerate(prompts):
            text = str(prompt.content).partition(", is the statement")[0] + "."
            item = self._by_text[text]
            self.prompts.append(item.statement.statement_id)
            if self._fails(item.position):
                yield place, Completion(None, failure="the service hung up")
                continue
            drawn = np.random.default_rng([len(self.spec), item.position]).random()
            yield place, Completion(str(item.statement.label if drawn < self._chance else not item.statement.label))


def recorded(many: Path, store: Store, models: int = 2) -> list[Run]:
    specs = [RunSpec(f"baseline:{n}", facts=str(many), shots=0) for n in range(models)]
    return [store.run(start(spec, store)) for spec in racing_specs(specs)]


def raced(
    runs: Sequence[Run], store: Store, chances: Sequence[float], stopped: Callable[[], bool] = lambda: False, **more: Any
) -> tuple[list[Sure], list[str], list[list[Standing]]]:
    """The models, how their runs ended, and every standing that was told."""
    told: list[list[Standing]] = []
    race = RacingRuns(runs, store, told.append)
    models = [
        Sure(run.run, store, chance, f"{'m' * n}", **more) for n, (run, chance) in enumerate(zip(runs, chances, strict=True), 1)
    ]

    def ask(run: Run, model: Sure) -> str:
        *_, last = answer(run.run, store, load=lambda *_, **__: model, race=lambda: race, stopped=stopped)
        return last.state if isinstance(last, Finished) else FAILED_RUN

    with ThreadPoolExecutor(len(runs)) as threads:
        states = list(threads.map(ask, runs, models))
    return models, states, told


def test_a_decided_race_stops_and_asks_no_more(many: Path, store: Store) -> None:
    runs = recorded(many, store)
    models, states, told = raced(runs, store, (0.97, 0.6))
    assert states == [DECIDED, DECIDED]
    asked = len(models[0].prompts)
    assert asked == len(models[1].prompts) < runs[0].statements * 2 / 3
    standing = told[-1][0].race
    assert standing is not None
    assert standing.decided_at is not None
    assert standing.low > 0
    record = store.run(runs[0].run)
    assert record.reason is not None
    assert record.reason.startswith(f"Decided after {standing.heads} of {HEADS} diseases: baseline:0 masters more facts than ")
    assert "baseline:1, by at least" in record.reason
    # what Compare finds afterwards is what the race found
    again = next(iter(races_of(sides_of(store, [run.run for run in runs])))).race
    assert again == standing
    text = report_text(report_of(store, record))
    assert "Decided after" in text
    assert "a random sample fixed in advance" in text


def test_a_race_is_told_and_drawn(many: Path, store: Store) -> None:
    runs = recorded(many, store)
    raced(runs, store, (0.97, 0.6))
    (found,) = races_of(sides_of(store, [run.run for run in runs]))
    assert found.race is not None
    curve = race_curve(1, "finding", found)
    assert curve is not None
    assert curve.marked is not None
    place, course = curve.marked[0], curve.lines["difference so far"]
    assert course[place][0] == found.race.decided_at
    low, before = course[place][1].low, course[place - 1][1].low
    assert low is not None
    assert before is not None
    assert low > 0 >= before or found.race.decided_at >= 10
    figure = plot_of(curve)
    assert [trace["name"] for trace in figure["data"]][-2:] == ["difference so far", "decided"]
    assert figure["data"][-1]["x"] == [found.race.decided_at]
    assert figure["data"][-2]["y"][-1] == pytest.approx(100 * found.race.value, abs=0.01)
    assert "dtick" not in figure["layout"]["xaxis"]
    assert plot_of(replace(curve, end=4))["layout"]["xaxis"]["dtick"] == 1, "no tick at half a disease"
    alone = html_report(store, [runs[0].run], "2026-11-24T20:00:00+00:00")
    assert "Is it decided which is better?" not in alone


def test_two_of_three_that_raced_have_the_bounds_of_their_race(many: Path, store: Store) -> None:
    runs = recorded(many, store, 3)
    _, _, told = raced(runs, store, (0.97, 0.6, 0.4))
    of_race = next(one.race for one in told[-1] if {one.a.run, one.b.run} == {runs[0].run, runs[1].run})
    (shown,) = races_of(sides_of(store, [runs[0].run, runs[1].run]))
    assert (shown.race, shown.family) == (of_race, 3)
    others = [store.run(start(RunSpec(f"baseline:{n}", facts=str(many), shots=0), store)) for n in range(2)]
    assert not races_of(sides_of(store, [run.run for run in others])), "they did not race"


def test_equal_models_are_asked_to_the_end(many: Path, store: Store) -> None:
    runs = recorded(many, store)
    models, states, told = raced(runs, store, (0.8, 0.8))
    assert states == [COMPLETE, COMPLETE]
    assert [len(model.prompts) for model in models] == [runs[0].statements] * 2
    last = told[-1][0].race
    assert last is not None
    assert (last.heads, last.decided_at) == (HEADS, None)


def test_the_order_is_fixed_before_and_the_same_for_all(many: Path, store: Store) -> None:
    spec = RunSpec("baseline:tail", facts=str(many), shots=0)
    planned = plan(spec)
    raced_ = in_order_of_race(planned)
    assert sorted(map(str, raced_.statements)) == sorted(map(str, planned.statements))
    heads = [item.statement.fact.head for item in raced_.statements]
    assert sum(one != other for one, other in pairwise(heads)) == HEADS - 1, "head by head"
    assert heads != [item.statement.fact.head for item in planned.statements]
    assert in_order_of_race(replace(planned, statements=planned.statements[::-1])).statements[0].statement.fact.head == heads[0]
    runs = recorded(many, store)
    orders = [[item.statement.statement_id for item in store.answers.asked(run.run)] for run in runs]
    assert orders[0] == orders[1] == [item.statement.statement_id for item in raced_.statements]


@pytest.mark.parametrize(
    ("heads", "least", "more", "until"),
    [
        (0, 384, None, 24),  # 384 / 16 statements a disease
        (0, 100, None, 7),  # whole diseases: 112
        (160, 384, None, 184),  # 160 / 16 diseases would be fewer
        (160, 96, None, 170),
        (240, 384, None, 250),  # no more than there are
        (48, 384, 40, 68),  # half of the way
        (48, 384, 4, 54),  # 96 statements at least
        (48, 384, 100, 72),
        (245, 384, 40, 250),
    ],
)
def test_windows_are_small_where_the_end_is_near(heads: int, least: int, more: int | None, until: int) -> None:
    after = 16 * np.arange(1, 251)
    assert next_window(after, heads, least, more) == until


def test_the_looks_of_a_close_race_come_closer(many: Path, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """Windows of 320 statements, 20 diseases, until the end is in sight."""
    monkeypatch.setattr(racing, "LEAST_ELSEWHERE", 320)
    told = raced(recorded(many, store), store, (0.95, 0.87))[2]
    counted = [standing.race.heads for (standing,) in told if standing.race]
    steps = np.diff(counted)
    assert steps[0] == 20
    assert steps[-1] < 20


def test_a_model_leaves_once_all_its_pairs_are_decided(many: Path, store: Store) -> None:
    runs = recorded(many, store, 3)
    models, states, told = raced(runs, store, (0.9, 0.9, 0.3))
    assert states == [COMPLETE, COMPLETE, DECIDED]
    assert len(models[2].prompts) < len(models[0].prompts) == runs[0].statements
    assert told[-1][0].race is not None
    assert told[-1][0].race.decided_at is None


def test_calls_that_always_fail_hold_no_race_up(many: Path, store: Store) -> None:
    runs = recorded(many, store)
    _, states, told = raced(runs, store, (0.97, 0.5), fails=lambda position: position % 40 == 0)
    assert states == [DECIDED, DECIDED]
    standing = told[-1][0].race
    assert standing is not None
    assert standing.failed > 0
    assert standing.decided_at is not None


def test_a_person_who_stops_a_race_is_named_and_it_goes_on(many: Path, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    for least in ("LEAST_HERE", "LEAST_ELSEWHERE"):
        monkeypatch.setattr(racing, least, 64)
    runs = recorded(many, store)
    models, states, _ = raced(runs, store, (0.8, 0.8), stopped=lambda: store.answers.news(runs[1].run).position.size > 100)
    assert set(states) == {STOPPED}
    assert any(
        "A person stopped this run" in describe_ending(run.state, run.reason) for run in map(store.run, [r.run for r in runs])
    )
    before = [len(model.prompts) for model in models]
    models, states, _ = raced([store.run(run.run) for run in runs], store, (0.8, 0.8))
    assert states == [COMPLETE, COMPLETE]
    assert [one + len(model.prompts) for one, model in zip(before, models, strict=True)] == [runs[0].statements] * 2


def test_who_is_left_alone_is_stopped_and_told_why(many: Path, store: Store) -> None:
    runs = recorded(many, store)
    race = RacingRuns(runs, store)
    race.leave(runs[1].run)
    model = Sure(runs[0].run, store, 0.9, "m")
    last = finished_event(answer(runs[0].run, store, load=lambda *_, **__: model, race=lambda: race))
    assert last.state == STOPPED
    assert "did not go on" in str(last.reason)
    assert model.prompts == []


# ------------------------------------------------------------------------------------------------ services and processes


def test_a_race_at_services_spends_no_more(many: Path, url: str, medfact: Callable[..., Any]) -> None:
    """A service that is right about nothing in particular, and a reader of words that is always right."""
    with MockService(Behaviour(reply_text="True")) as service:
        made = medfact(
            "run", "--race", "--facts", many, "--shots", 0, "--db", url, "--yes", "--model", "openai:gpt-4o",
            "--model", "baseline:negation-cue", "--model", "baseline:always-false", "--base-url", service.base_url,
        )  # fmt: skip
        calls = sum(service.call_counts().values())
    assert made.code == 0, made.err
    store = Store(url)
    runs = store.runs()
    answered = {run.model: store.answers.news(run.run).position.size for run in runs}
    assert calls == answered["openai:gpt-4o"], "every call is on disk, and none beside"
    assert "not decided" in made.err


def test_a_killed_race_goes_on(many: Path, url: str, tmp_path: Path) -> None:
    store = Store(url)
    with start_fork_server(), MockService(Behaviour(latency=0.05)) as service:
        arguments = ["--db", url, "--base-url", service.base_url, "--in-flight", "8"]
        started = CommandProcess(
            tmp_path / "race", "run", "--race", "--facts", many, "--shots", "0", "--yes", *arguments,
            "--model", "openai:gpt-4o", "--model", "baseline:random",
        )  # fmt: skip
        wait_until(lambda: sum(service.answer_counts.values()) > 300)
        assert started.kill()
        runs = store.runs()
        kept = {run.run: store.answers.news(run.run).position.size for run in runs}
        assert all(kept.values())
        before = service.call_counts()
        resumed = CommandProcess(tmp_path / "race", "resume", *(run.run for run in runs), *arguments).wait(120)
        assert resumed.code == 0, resumed.err
        after = service.call_counts()
    assert "race:" in resumed.err
    for run in runs:
        answers = [item.answer for item in store.answers.asked(run.run) if item.answer is not None]
        assert len(answers) >= kept[run.run]
        assert store.run(run.run).state in {COMPLETE, DECIDED}
    twice = {prompt for prompt, count in after.items() if count > 1}
    assert len(twice) <= BATCH + 8, "only what was not on disk when it was killed is asked again"
    assert before


def test_the_page_runs_a_race_in_one_process(many: Path, url: str) -> None:
    store = Store(url)
    specs = [
        RunSpec(model, facts=str(many), shots=0)
        for model in ("baseline:negation-cue", "baseline:random", "baseline:always-true")
    ]
    runs = [start(spec, store) for spec in racing_specs(specs)]
    jobs = Jobs(store)
    try:
        jobs.submit_race(dict.fromkeys(runs, (None, None)))
        wait_until(lambda: all(store.run(run).state in {COMPLETE, DECIDED} for run in runs))
        wait_until(lambda: jobs.going() == 0)
    finally:
        jobs.close()


def test_a_race_on_the_page_is_stopped_as_one(many: Path, url: str) -> None:
    store = Store(url)
    with MockService(Behaviour(latency=0.2)) as service:
        settings = ServiceSettings(base_url=service.base_url, in_flight=4)
        specs = [RunSpec(f"openai:gpt-4o{tail}", facts=str(many), shots=0, service=settings) for tail in ("", "-mini")]
        runs = [start(spec, store) for spec in racing_specs(specs)]
        jobs = Jobs(store)
        try:
            jobs.submit_race(dict.fromkeys(runs, ("sk-nobody-may-see", None)))
            wait_until(lambda: all(store.answers.news(run).position.size for run in runs))
            jobs.stop(runs[0])
            wait_until(lambda: all(store.run(run).state == STOPPED for run in runs))
        finally:
            jobs.close()
    assert [store.run(run).reason for run in runs] == [None, None]


def test_nobody_waits_for_a_run_that_could_not_enter(many: Path, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    runs = [run.run for run in recorded(many, store, 2)]
    threads, together = RunThreads(store, load_model, lambda *_: None, answer), Together("one evening", tuple(runs))
    with monkeypatch.context() as away:
        away.setattr(store.answers, "sheet", lambda _: (_ for _ in ()).throw(StoreError("The database is away.")))
        with pytest.raises(StoreError):
            threads._racing(together, runs[0])
    race = threads._racing(together, runs[1])
    assert list(race.windows(runs[1], lambda: False)) == [], "alone it cannot race, and it says so at once"
    assert (race.end_of(runs[1]) or ("", ""))[0] == STOPPED
