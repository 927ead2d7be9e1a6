"""Queues of jobs: who comes first, how many run at once, and how long the others wait. No model is asked."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as some

from medfact.models import BASELINE, LOCAL
from medfact.runs.jobs.job import Job, JobUpdate, Together
from medfact.runs.jobs.queues import JobQueue


def job_of(owner: str, run: str = "", total: int = 16, race: Together | None = None) -> Job:
    return Job(run or owner, owner, LOCAL, total, 1, None, None, race)


def start_all(queue: JobQueue) -> list[Job]:
    """Ends and starts jobs until none is left; returns them as they were started."""
    order = []
    while (job := queue.start_next()) is not None:
        order.append(job)
        queue.remove(job)
    return order


def test_a_newcomer_waits_for_one_of_twenty_runs() -> None:
    queue = JobQueue(1, 1)
    for _ in range(20):
        queue.add(job_of("eager"))
    first = queue.start_next()
    queue.add(newcomer := job_of("ada"))
    assert queue.start_next() is None, "one runs at once"
    assert queue.ahead_of(newcomer) == (1, None)
    assert first is not None
    queue.remove(first)
    assert queue.start_next() is newcomer


@given(some.lists(some.sampled_from("abcd"), max_size=12))
def test_one_of_each_owner_comes_before_a_second_of_any(owners: list[str]) -> None:
    """Of a, a, b, a, c come a, b, c, then a, then a: by the number of the owner's jobs before, then as they came."""
    queue = JobQueue(1, 1)
    jobs = [job_of(owner, str(number)) for number, owner in enumerate(owners)]
    for job in jobs:
        queue.add(job)
    rank = {job: (owners[:number].count(job.owner), number) for number, job in enumerate(jobs)}
    assert start_all(queue) == sorted(jobs, key=rank.__getitem__)


def test_one_owner_never_fills_all_places() -> None:
    queue = JobQueue(10, 8)
    for owner in [*["eager"] * 12, "ada"]:
        queue.add(job_of(owner))
    while queue.start_next():
        pass
    assert Counter(job.owner for job in queue.running) == {"eager": 8, "ada": 1}
    assert queue.has_waiting()


def test_runs_of_a_race_start_together_where_one_may_run() -> None:
    race = Together("one evening", ("first", "second"))
    queue = JobQueue(1, 1)
    queue.add(job_of("ada", "first", race=race))
    queue.add(job_of("bob"))
    queue.add(job_of("ada", "second", race=race))
    while queue.start_next():
        pass
    assert [job.run for job in queue.running] == ["first", "second"]


def test_the_time_to_wait_follows_from_the_speed_of_the_run_before() -> None:
    """4 statements a second, 12 left of the job that runs and 16 of the one before: (12 + 16) / 4 = 7 seconds."""
    queue = JobQueue(1, 1)
    first, second, third = job_of("a"), job_of("b"), job_of("c")
    for job in (first, second, third):
        queue.add(job)
    assert queue.start_next() is first
    first.apply(JobUpdate(total=16, answered_before=4))
    queue.last_rate = 4.0
    assert queue.ahead_of(second) == (1, 3.0)
    assert queue.ahead_of(third) == (2, 7.0)
    assert queue.ahead_of(first) == (0, None)


def test_an_owner_is_charged_for_the_time_of_a_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """Begun at least two seconds ago, with 8 new answers: at most 4 a second."""
    monkeypatch.setattr("medfact.runs.jobs.queues._day", lambda: 20_000.0)
    queue = JobQueue(1, 1)
    queue.add(job := job_of("a"))
    queue.start_next()
    job.apply(JobUpdate(answered=8))
    assert job.started_at is not None
    job.started_at -= 2.0
    queue.remove(job)
    assert queue.last_rate is not None
    assert 0 < queue.last_rate <= 4.0
    assert queue.used_today("a") >= 2.0
    assert queue.used_today("b") == 0
    monkeypatch.setattr("medfact.runs.jobs.queues._day", lambda: 20_001.0)
    assert queue.used_today("a") == 0, "tomorrow"


def test_a_job_that_is_taken_out_says_whether_it_waited() -> None:
    queue = JobQueue(1, 1)
    running, waiting = job_of("a"), job_of("b")
    queue.add(running)
    queue.add(waiting)
    queue.start_next()
    assert queue.remove(waiting)
    assert not queue.remove(running)
    assert not queue.has_waiting()
    assert Job("r", "o", BASELINE, 1, 1, None, None).run_seconds == 0
