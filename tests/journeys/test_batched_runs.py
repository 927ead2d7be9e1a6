"""Runs that are asked in batches: killed in each phase, nothing is lost and nothing is paid twice."""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from app_builders import no_key as no_key
from app_builders import quick_processes as quick_processes
from mock_batches import PHASES, MockBatchService
from mock_service import answer_word, p_true
from processes import CommandProcess
from records import report_record
from run_files import alter_run_file, export_run_file, remove_answers
from test_service_runs import item_prompt
from waiting import wait_until

from medfact.exchange import import_run
from medfact.models import ServiceSettings
from medfact.runs import batches
from medfact.runs.costs import bill_of, describe_bill
from medfact.runs.run import answer
from medfact.runs.start import start
from medfact.spec import RunSpec
from medfact.store import COMPLETE, FAILED_RUN, PAUSED, STOPPED, Store

pytestmark = pytest.mark.usefixtures("quick_processes", "no_key")

KEY = "sk-nobody-may-see-me-0123456789"
SOON = 0.05
"""Seconds after which a batch is looked at first: a service on this machine is done at once."""


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batches, "FIRST_POLL_SECONDS", SOON)


@pytest.fixture
def service() -> Iterator[MockBatchService]:
    with MockBatchService() as service:
        yield service


def begun(service: MockBatchService, facts: Path, store: Store, **more: Any) -> str:
    settings = ServiceSettings(**{"base_url": service.base_url, "timeout": 2, **more.pop("settings", {})})
    spec = {"model": "openai:gpt-4o", "facts": str(facts), "shots": 0, "limit": 4, "batch": True, **more}
    return start(RunSpec(**spec, service=settings), store)


def asked(run: str, store: Store, **options: Any) -> Any:
    *_, last = answer(run, store, key=KEY, **options)
    return last


def assert_all_answered_once(run: str, store: Store, service: MockBatchService) -> None:
    assert store.run(run).state == COMPLETE
    assert service.answer_counts
    assert set(service.answer_counts.values()) == {1}, "each call is paid once"
    items = store.answers.asked(run)
    assert len(service.answer_counts) == len({item_prompt(item) for item in items})
    for item in items:
        assert item.answer is not None
        assert item.answer.raw == answer_word(item_prompt(item))
        assert item.answer.p_true == pytest.approx(p_true(item_prompt(item)), abs=1e-6)
    assert all(one.closed for one in store.batches.of(run))


def test_a_batch_brings_what_the_service_would_have_said(service: MockBatchService, facts_file: Path, store: Store) -> None:
    run = begun(service, facts_file, store)
    steps = [event.step for event in answer(run, store, key=KEY) if hasattr(event, "step")]
    assert_all_answered_once(run, store, service)
    assert any(step.startswith("waiting for the service's batch, submitted at ") for step in steps)
    (batch,) = service.batches.values()
    assert (batch["endpoint"], batch["completion_window"]) == ("/v1/chat/completions", "24h")
    made = report_record(store, run)
    entering, leaving = made["service"]["prompt_tokens"], made["service"]["completion_tokens"]
    assert made["service"]["usd"] == pytest.approx(0.5 * (2.5 * entering + 10 * leaving) / 1e6)
    bill = bill_of(store.run(run), store)
    assert bill is not None
    assert "batch: half the list price of 2025-08-31" in describe_bill(bill)[0]
    assert bill["seconds"] is None, "nobody knows how long a call in a batch took"


@pytest.mark.parametrize("phase", PHASES)
def test_killed_in_each_phase_nothing_is_lost_and_nothing_paid_twice(
    phase: str, service: MockBatchService, facts_file: Path, store: Store, tmp_path: Path
) -> None:
    service.held_phase = phase
    started = CommandProcess(
        tmp_path, "run", "--model", "openai:gpt-4o", "--base-url", service.base_url, "--facts", facts_file, "--limit", 4,
        "--shots", 0, "--timeout", 2, "--batch", "--db", store.url, before=give_key,
    )  # fmt: skip
    wait_until(lambda: service.phase_counts[phase])
    assert started.kill()
    service.held_phase = ""
    service.release.set()
    (run,) = [run.run for run in store.runs()]
    resumed = CommandProcess(tmp_path, "resume", run, "--db", store.url, before=give_key).wait(300)
    assert resumed.code == 0, resumed.err
    assert json.loads(resumed.out)["state"] == COMPLETE
    assert_all_answered_once(run, store, service)


def give_key() -> None:
    os.environ["OPENAI_API_KEY"] = KEY
    batches.FIRST_POLL_SECONDS = SOON


@contextmanager
def program(*arguments: object) -> Iterator[subprocess.Popen[str]]:
    """The command line in a process of its own, which is ended afterwards, also where it takes no notice of a signal."""
    command = [sys.executable, "-m", "medfact", *map(str, arguments)]
    root = Path(__file__).resolve().parents[2]
    given = {**os.environ, "OPENAI_API_KEY": KEY}
    piped = subprocess.PIPE
    with subprocess.Popen(command, cwd=root, stdout=piped, stderr=piped, text=True, env=given) as started:
        try:
            yield started
        finally:
            started.kill()


def test_ctrl_c_says_how_to_go_on(service: MockBatchService, facts_file: Path, store: Store) -> None:
    service.polls_until_done = 10**6
    with program(
        "run", "--model", "openai:gpt-4o", "--base-url", service.base_url, "--facts", facts_file, "--limit", 4, "--shots", 0,
        "--batch", "--db", store.url,
    ) as started:  # fmt: skip
        wait_until(lambda: service.phase_counts["state"])
        started.send_signal(signal.SIGINT)
        _, err = started.communicate(timeout=60)
    (run,) = store.runs()
    assert started.returncode == 2
    assert err.splitlines()[-1] == f"medfact: stopped. All answers so far are saved; `resume {run.run}` continues."
    assert run.state == STOPPED
    service.release.set()
    assert asked(run.run, store).state == COMPLETE
    assert_all_answered_once(run.run, store, service)


@pytest.mark.parametrize("first", [(500,), (429,), (503, 429)])
def test_faults_of_the_service_are_borne(
    first: tuple[int, ...], service: MockBatchService, facts_file: Path, store: Store
) -> None:
    service.first_statuses = first
    run = begun(service, facts_file, store)
    assert asked(run, store).state == COMPLETE
    assert_all_answered_once(run, store, service)
    assert len(service.batches) == 1


def test_a_batch_that_was_begun_too_late_to_be_told_is_found(
    service: MockBatchService, facts_file: Path, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("medfact.models.services.batches.wait_before", lambda *_, **__: 0.0)
    service.hidden_listings = 1  # the call has ended by its time limit, a look has found no batch, and then there is one
    run = begun(service, facts_file, store, settings={"timeout": 5})
    assert asked(run, store).state == COMPLETE
    assert_all_answered_once(run, store, service)
    assert len(service.batches) == 1


def test_several_batches_where_one_would_be_too_large(
    service: MockBatchService, facts_file: Path, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batches, "MOST_REQUESTS", 30)
    run = begun(service, facts_file, store)
    assert asked(run, store).state == COMPLETE
    assert_all_answered_once(run, store, service)
    assert len(service.batches) == 3  # 64 statements


@pytest.mark.parametrize("ends", ["expired", "cancelled"])
def test_calls_without_a_reply_have_failed_and_resume_asks_them_alone(
    ends: str, service: MockBatchService, facts_file: Path, store: Store
) -> None:
    service.final_status, service.is_dropped = ends, lambda number: number % 4 == 0
    run = begun(service, facts_file, store)
    finished = asked(run, store)
    assert (finished.state, finished.failed) == (COMPLETE, 16)
    assert finished.commonest == (f"the batch ended without a reply ({ends})", 16)
    before = len(service.answer_counts)
    service.final_status, service.is_dropped = "completed", lambda number: False
    assert asked(run, store).failed == 0
    assert len(service.answer_counts) - before == 16
    assert_all_answered_once(run, store, service)


def test_a_parameter_that_is_refused_is_left_out_in_another_batch(
    service: MockBatchService, facts_file: Path, store: Store
) -> None:
    error = {"error": {"message": "'max_tokens' is not supported. Use 'max_completion_tokens' instead.", "param": "max_tokens"}}
    service.refuse_call = lambda body: (400, error) if "max_tokens" in body else None
    run = begun(service, facts_file, store)
    assert asked(run, store).failed == 0
    assert_all_answered_once(run, store, service)
    assert any("max_completion_tokens" in note for note in store.run(run).notes)
    assert store.run(run).decoding["limit"] == "max_completion_tokens"


def test_a_batch_that_is_refused_as_a_whole_says_why(service: MockBatchService, facts_file: Path, store: Store) -> None:
    service.batch_error = "The model `gpt-4o` is not there."
    run = begun(service, facts_file, store)
    failed = asked(run, store)
    assert str(failed.error) == "127.0.0.1 refuses the batch: The model `gpt-4o` is not there. Resume to send it again."
    assert store.run(run).state == FAILED_RUN
    service.batch_error = ""
    assert asked(run, store).state == COMPLETE
    assert_all_answered_once(run, store, service)


STATES = [
    {"status": "COMPLETED"},
    {"status": "Completed", "errors": [{"message": "line 3 was skipped"}]},
    {"status": "SUCCESS", "errors": "none to speak of"},
    {"status": "JOB_STATE_SUCCEEDED", "request_counts": None},
    {"status": "ended", "request_counts": {"processing": 0, "succeeded": "16", "errored": None}},
    {"status": "TIMEOUT_EXCEEDED", "errors": {"code": 7}},
    {"status": "CANCELED", "request_counts": [16]},
    {"status": "wrapped up", "errors": {"data": "odd"}},
    {"status": None, "metadata": "medfact"},
]


@pytest.mark.parametrize("state", STATES, ids=lambda state: str(state["status"]))
def test_a_batch_whose_end_is_told_in_other_words_is_collected(
    state: dict[str, Any], service: MockBatchService, facts_file: Path, store: Store
) -> None:
    service.polls_until_done = 1
    as_told = service._state

    def told(batch: dict[str, Any]) -> tuple[int, bytes]:
        status, body = as_told(batch)
        read = json.loads(body)
        return status, json.dumps(read | state if read.get("output_file_id") else read).encode()

    service._state = told  # type: ignore[method-assign]
    run = begun(service, facts_file, store)
    *_, last = answer(run, store, key=KEY)
    assert store.run(run).state == COMPLETE, last
    assert {item.answer and item.answer.failure for item in store.answers.asked(run)} == {None}
    assert set(service.answer_counts.values()) == {1}, "paid once"


@pytest.mark.parametrize(
    ("errors", "words"),
    [
        ("tea", "tea"),
        (["tea", "cake"], "tea; cake"),
        ({"message": "tea"}, "tea"),
        ({"data": [{"code": 7, "msg": "tea"}]}, "tea"),
    ],
)
def test_a_batch_that_failed_is_told_in_the_services_words(
    errors: Any, words: str, service: MockBatchService, facts_file: Path, store: Store
) -> None:
    service.batch_error = "x"
    as_told = service._state

    def told(batch: dict[str, Any]) -> tuple[int, bytes]:
        status, body = as_told(batch)
        return status, json.dumps(json.loads(body) | {"errors": errors}).encode()

    service._state = told  # type: ignore[method-assign]
    run = begun(service, facts_file, store)
    list(answer(run, store, key=KEY))
    assert store.run(run).state == FAILED_RUN
    assert f"refuses the batch: {words}. Resume" in str(store.run(run).reason)


def test_repeated_answers_come_in_one_batch(service: MockBatchService, facts_file: Path, store: Store) -> None:
    run = begun(service, facts_file, store, settings={"repeats": 3}, limit=2)
    assert asked(run, store).state == COMPLETE
    assert set(service.answer_counts.values()) == {1}
    assert len(service.answer_counts) == 3 * len(store.answers.asked(run))
    assert {item.answer.attempts for item in store.answers.asked(run)} == {3}


def test_a_budget_is_looked_at_before_a_batch_is_sent(service: MockBatchService, facts_file: Path, store: Store) -> None:
    run = begun(service, facts_file, store, budget=0.001)
    failed = asked(run, store)
    assert "A batch cannot be stopped midway" in str(failed.error)
    assert not service.requests
    assert asked(run, store, budget=1.0).state == COMPLETE


def test_a_service_that_goes_away_pauses_the_run(service: MockBatchService, facts_file: Path, store: Store) -> None:
    run = begun(service, facts_file, store, settings={"tries": 2})
    service.first_statuses = (0, 500, 500)
    asked(run, store)
    assert store.run(run).state == PAUSED
    service.first_statuses = ()
    assert asked(run, store).state == COMPLETE
    assert_all_answered_once(run, store, service)


def test_a_dry_run_shows_the_price_of_a_batch(medfact: Callable[..., Any], facts_file: Path) -> None:
    rows = [
        medfact("run", "--model", "openai:gpt-4o", "--facts", facts_file, "--dry-run", *more).rows[0]
        for more in ([], ["--batch"])
    ]
    assert rows[1]["usd"] == pytest.approx(rows[0]["usd"] / 2, rel=0.2)
    assert "at batch: half the list price of 2025-08-31" in rows[1]["said"]


def test_results_longer_than_their_calls_may_reply_are_not_read(
    service: MockBatchService, facts_file: Path, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A line of 70 MB and then the results: what is within a megabyte a call is read, in pieces of at most a megabyte."""
    results = service._results
    monkeypatch.setattr(service, "_results", lambda lines: (b'"' + b"x" * 70_000_000 + b'"\n' + results(lines)[0], b""))
    run = begun(service, facts_file, store)
    finished = asked(run, store)
    assert finished.failed == store.run(run).statements, "the results come behind what is read"
    assert all("without a reply" in str(item.answer and item.answer.failure) for item in store.answers.asked(run))
    monkeypatch.setattr(service, "_results", lambda lines: (b'"' + b"x" * 3_000_000 + b'"\n' + results(lines)[0], b""))
    assert asked(run, store).state == COMPLETE, "one line that is too long hides no other"
    assert all(item.answer and item.answer.failure is None for item in store.answers.asked(run))


def test_a_run_from_a_file_is_never_a_batch(service: MockBatchService, facts_file: Path, store: Store) -> None:
    run = begun(service, facts_file, store)
    name, data = alter_run_file(export_run_file(store, run), {}, remove_answers)
    import_run(store, io.BytesIO(data), "run.gz")
    record = store.run(name)
    assert record.spec.batch, "it is shown"
    assert not record.spec.is_batched
    store.trust(name, "model", "service", "facts")
    asked(name, store)
    assert not service.batches
    assert [kind for kind in service.requests if kind.endswith(("/files", "/batches"))] == []
