"""Fair turns: a first run never waits for another visitor's long or many ones, and nothing is lost by giving way."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from small_models import small_llama
from waiting import wait_for

from medfact.runs.jobs import Jobs
from medfact.runs.jobs.job import Job, JobUpdate
from medfact.runs.jobs.lanes import CALM_SECONDS, MUCH_SECONDS, SHORT_SLICE_SECONDS, SLICE_SECONDS, Lane
from medfact.runs.jobs.usage import HALF_LIFE_SECONDS, MOST_OWNERS, Usage
from medfact.runs.start import start
from medfact.spec import RunSpec
from medfact.store import COMPLETE, RUNNING, STOPPED, WAITING, Store

ADA, BEN, CEM = "a" * 32, "b" * 32, "c" * 32


class Clock:
    """The time, which a test sets."""

    def __init__(self) -> None:
        self.now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr("medfact.runs.jobs.job.time.monotonic", clock)
    return clock


def job(name: str, owner: str) -> Job:
    return Job(name, owner, "local", 1_000, 1, None, None)


def answering(lane: Lane, name: str, owner: str) -> Job:
    """A job whose turn it is, and that has begun to answer."""
    lane.add(job(name, owner))
    begun = lane.start_next()
    assert begun is not None
    begun.apply(JobUpdate(answered=1))
    return begun


def test_what_was_used_long_ago_counts_less_and_a_new_day_begins_at_nought() -> None:
    clock = Clock()
    usage = Usage(clock)
    usage.add(ADA, 100)
    clock.now += HALF_LIFE_SECONDS
    assert (usage.lately(ADA), usage.today(ADA), usage.lately(BEN)) == (50, 100, 0)
    usage.add(ADA, 10)
    assert (usage.lately(ADA), usage.today(ADA)) == (60, 110)
    clock.now += 86_400
    assert usage.today(ADA) == 0
    usage.add(ADA, 1)
    assert usage.today(ADA) == 1


def test_only_so_many_owners_are_remembered() -> None:
    usage = Usage()
    for number in range(MOST_OWNERS + 5):
        usage.add(str(number), 1)
    assert usage.lately("4") == 0
    assert usage.lately("5") > 0


def test_twenty_runs_of_one_never_delay_anothers_first(clock: Clock) -> None:
    """Time used decides: who has used none comes before the nineteen others, whenever they came."""
    lane = Lane(1, 1)
    for number in range(20):
        lane.add(job(f"ada {number}", ADA))
    running = lane.start_next()
    assert running is not None
    lane.add(job("ben", BEN))
    lane.add(job("cem", CEM))
    clock.now += 30
    lane.remove(running)
    assert [getattr(lane.start_next(), "run", None)] == ["ben"]
    clock.now += 30
    lane.remove(lane.running[0])
    assert [getattr(lane.start_next(), "run", None)] == ["cem"]


def test_a_job_gives_way_after_its_slice_to_who_has_used_less(clock: Clock) -> None:
    lane = Lane(1, 1)
    lane.add(job("long", ADA))
    long = lane.start_next()
    assert long is not None
    lane.add(job("another of hers", ADA))
    clock.now += 100
    long.apply(JobUpdate(answered=1))
    clock.now += 200
    assert lane.to_give_way() == [], "nobody else waits"
    lane.add(job("first", BEN))
    assert lane.to_give_way() == [long]
    long.giving_way = True
    assert lane.to_give_way() == [], "once is enough"


def test_a_model_that_took_long_to_load_answers_as_long(clock: Clock) -> None:
    """Else two models that take turns would be loaded all the time."""
    lane = Lane(1, 1)
    lane.add(job("large", ADA))
    large = lane.start_next()
    assert large is not None
    lane.add(job("first", BEN))
    clock.now += 60
    assert lane.to_give_way() == [], "it is loaded still"
    large.apply(JobUpdate(answered=1))
    clock.now += 59
    assert lane.to_give_way() == []
    clock.now += 2
    assert lane.to_give_way() == [large]


def test_who_has_used_as_much_does_not_interrupt(clock: Clock) -> None:
    lane = Lane(1, 1)
    lane.usage.add(BEN, 50)
    hers = answering(lane, "hers", ADA)
    lane.add(job("his", BEN))
    clock.now += 40
    assert lane.to_give_way() == []
    clock.now += 20
    assert lane.to_give_way() == [hers]


def had_a_turn(lane: Lane, name: str, owner: str) -> None:
    lane.add(job(name, owner))
    running = lane.start_next()
    assert running is not None
    assert running.run == name
    lane.remove(running)


def test_who_has_used_much_rests_until_nobody_else_comes(clock: Clock) -> None:
    lane = Lane(1, 1)
    had_a_turn(lane, "long", ADA)
    lane.usage.add(ADA, MUCH_SECONDS + 1)
    had_a_turn(lane, "first", BEN)
    long = job("long", ADA)
    lane.add(long)
    clock.now += CALM_SECONDS - 0.1
    assert lane.start_next() is None
    assert (lane.pressing(), lane.has_waiting()) == (0, True)
    had_a_turn(lane, "second", BEN)
    clock.now += CALM_SECONDS - 0.1
    assert lane.start_next() is None
    clock.now += 0.1
    assert lane.pressing() == 1
    assert lane.start_next() is long


def test_nobody_gives_way_to_who_rests(clock: Clock) -> None:
    """Else both would rest, and the lane would be empty."""
    lane = Lane(1, 1)
    had_a_turn(lane, "hers", ADA)
    had_a_turn(lane, "his", CEM)
    lane.usage.add(ADA, 100)
    lane.usage.add(CEM, 50)
    lane.add(job("hers", ADA))
    clock.now += CALM_SECONDS
    hers = lane.start_next()
    assert hers is not None
    hers.apply(JobUpdate(answered=1))
    clock.now += 10
    lane.add(job("his", CEM))
    assert lane.to_give_way() == [hers], "he waits, and has used less"
    first = job("first", BEN)
    lane.add(first)
    lane.remove(first)
    assert lane.to_give_way() == [], "he rests, since somebody else came"


def test_who_has_used_much_gives_way_sooner(clock: Clock) -> None:
    lane = Lane(1, 1)
    lane.usage.add(ADA, 100)
    hers = answering(lane, "hers", ADA)
    lane.add(job("his", BEN))
    clock.now += SHORT_SLICE_SECONDS / 2
    assert lane.to_give_way() == []
    clock.now += SHORT_SLICE_SECONDS
    assert SLICE_SECONDS > 1.5 * SHORT_SLICE_SECONDS
    assert lane.to_give_way() == [hers]


def test_a_run_too_short_for_a_rate_tells_the_next_one_how_long_it_takes(clock: Clock) -> None:
    """100 statements in a turn of half a second: another 1,000 take 5 seconds."""
    lane = Lane(1, 1)
    short, next_, last = job("short", ADA), job("next", BEN), job("last", BEN)
    for one in (short, next_, last):
        lane.add(one)
    lane.start_next()
    short.apply(JobUpdate(total=100))
    clock.now += 0.5
    short.apply(JobUpdate(answered=100))
    assert lane.ahead_of(last)[1] is None
    lane.remove(short)
    lane.start_next()
    assert lane.ahead_of(last) == (1, 5.0)


def test_a_rest_has_an_end_though_others_keep_coming(clock: Clock) -> None:
    """A first run comes every second: one turn a minute is left."""
    lane = Lane(1, 1)
    had_a_turn(lane, "long", ADA)
    lane.usage.add(ADA, 100)
    lane.add(job("long", ADA))
    turns = []
    for second in range(150):
        lane.add(job(f"run {second}", str(second)))
        while (running := lane.start_next()) is not None:
            turns += [second] if running.owner == ADA else []
            lane.remove(running)
            if running.owner == ADA:
                lane.add(job("long", ADA))
        clock.now += 1
    assert turns == [60, 120]


def test_who_has_used_little_or_is_alone_need_not_rest(clock: Clock) -> None:
    lane = Lane(1, 1)
    lane.usage.add(ADA, MUCH_SECONDS)
    had_a_turn(lane, "first", BEN)
    had_a_turn(lane, "long", ADA)
    lane.usage.add(ADA, 100)
    had_a_turn(Lane(1, 1), "alone", ADA)
    services = Lane(1, 1, calm_seconds=0)
    services.usage.add(ADA, 100)
    had_a_turn(services, "first", BEN)
    had_a_turn(services, "long", ADA)


def test_who_waits_is_told_a_place_and_a_time(clock: Clock) -> None:
    """1,000 statements at 100 a second, of which another owner's job gets a slice at most before it gives way."""
    lane = Lane(1, 1)
    first, second, own = job("first", ADA), job("second", BEN), job("own", BEN)
    for one in (first, second, own):
        lane.add(one)
    assert lane.start_next() is first
    assert lane.ahead_of(second) == (1, None), "no speed is known yet"
    first.apply(JobUpdate(answered=100))
    clock.now += 1
    first.apply(JobUpdate(answered=100))
    assert lane.ahead_of(second) == (1, SLICE_SECONDS)
    assert lane.ahead_of(own) == (2, SLICE_SECONDS + 10)
    lane.remove(first)
    assert lane.start_next() is second
    assert lane.ahead_of(own) == (1, 10), "the last speed stands until there is a new one"


# ------------------------------------------------------------------------- with models


@pytest.fixture
def jobs(tmp_path: Path) -> Iterator[Jobs]:
    made = Jobs(Store(f"sqlite:///{tmp_path / 'jobs.db'}"))
    yield made
    made.close()


def submitted(jobs: Jobs, model: str, owner: str, pairs: int) -> str:
    run = start(RunSpec(model=model, limit=pairs, shots=0), jobs.store.of(owner))
    jobs.submit(run)
    return run


@pytest.mark.model
def test_a_long_local_run_makes_room_and_goes_on_with_nothing_lost(
    jobs: Jobs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("medfact.runs.jobs.lanes.SLICE_SECONDS", 0.3)
    monkeypatch.setattr("medfact.runs.jobs.manager.TURN_LOOK_SECONDS", 0.05)
    model = f"hf:{small_llama(tmp_path / 'model', lean=4.0)}"
    loaded = submitted(jobs, model, CEM, 2)
    assert wait_for(jobs, loaded, lambda snapshot: snapshot.state == COMPLETE)
    long = submitted(jobs, model, ADA, 400)
    wait_for(jobs, long, lambda snapshot: snapshot.done > 0)
    more = submitted(jobs, model, ADA, 2)
    first = submitted(jobs, model, BEN, 2)
    assert wait_for(jobs, first, lambda snapshot: snapshot.state == COMPLETE)
    assert (jobs.snapshot(more).state, jobs.store.run(long).state) != (COMPLETE, COMPLETE)  # type: ignore[union-attr]
    assert jobs.snapshot(long).done < 6_400  # type: ignore[union-attr]
    assert wait_for(jobs, long, lambda snapshot: snapshot.state == COMPLETE, 240).done == 6_400
    assert wait_for(jobs, more, lambda snapshot: snapshot.state == COMPLETE)
    happened = [event.what for event in jobs.store.state_changes(long)]
    assert happened[:4] == [WAITING, RUNNING, WAITING, RUNNING]
    assert STOPPED not in happened
    assert all(item.answer is not None and item.answer.failure is None for item in jobs.store.asked(long))


@pytest.mark.model
def test_a_run_that_gives_way_can_be_stopped(jobs: Jobs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("medfact.runs.jobs.lanes.SLICE_SECONDS", 0.3)
    monkeypatch.setattr("medfact.runs.jobs.manager.TURN_LOOK_SECONDS", 0.05)
    model = f"hf:{small_llama(tmp_path / 'model', lean=4.0)}"
    loaded = submitted(jobs, model, CEM, 2)
    assert wait_for(jobs, loaded, lambda snapshot: snapshot.state == COMPLETE)
    long = submitted(jobs, model, ADA, 400)
    wait_for(jobs, long, lambda snapshot: snapshot.done > 0)
    other = submitted(jobs, model, BEN, 100)
    wait_for(jobs, long, lambda snapshot: snapshot.state == WAITING)
    jobs.stop(long)
    assert wait_for(jobs, long, lambda snapshot: snapshot.state == STOPPED)
    assert jobs.store.run(long).state == STOPPED
    jobs.stop(other)


@pytest.mark.model
def test_local_models_work_so_many_minutes_a_day_for_a_visitor(
    jobs: Jobs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "limits.yaml").write_text("visitor: {local_minutes_a_day: 0.03}\n")
    monkeypatch.setenv("MEDFACT_LIMITS", str(tmp_path / "limits.yaml"))
    monkeypatch.setattr("medfact.runs.jobs.manager.TURN_LOOK_SECONDS", 0.05)
    monkeypatch.setenv("MEDFACT_PUBLIC", "1")
    run = start(RunSpec(model="medfact-tiny", limit=1_000, shots=0, dataset="clinical-core"), jobs.store.of(ADA))
    jobs.submit(run)
    stopped = wait_for(jobs, run, lambda snapshot: snapshot.state == STOPPED)
    assert "minutes of models on this server" in (jobs.store.run(run).reason or "")
    assert stopped.done < stopped.total
    assert jobs.local_minutes_left(ADA) <= 0 < jobs.local_minutes_left(BEN)
    assert jobs.local_minutes_left("demonstration") > 1e9
