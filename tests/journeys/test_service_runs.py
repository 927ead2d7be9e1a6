"""Runs of models behind a service, over real HTTP on loopback: nothing lost, nothing paid twice, the price known before."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from app_builders import jobs as jobs
from app_builders import no_key as no_key
from mock_service import Behaviour, MockService, answer_word, content_fault, hashed_share, p_true
from records import report_record, with_figures
from waiting import wait_until

from medfact.errors import Mistake
from medfact.models import ServiceSettings
from medfact.results.methods import methods_paragraph
from medfact.results.plots import COLOURS, plot_of
from medfact.results.report import Report, report_of
from medfact.results.sections import SECTIONS, Figures
from medfact.results.sections.probabilities import of_one_source
from medfact.results.text import report_text
from medfact.runs.costs import costs, describe_bill
from medfact.runs.events import AnswersSaved, Finished
from medfact.runs.jobs import Jobs
from medfact.runs.run import answer
from medfact.runs.start import start
from medfact.spec import RunSpec
from medfact.store import COMPLETE, FAILED_RUN, STOPPED, Store

pytestmark = pytest.mark.usefixtures("no_key")

KEY = "sk-nobody-may-see-me-0123456789"
TRANSIENT = {"429": 0.02, "reset": 0.02, "truncated": 0.01}


def spec_of(service: MockService, facts: Path, *, model: str = "openai:gpt-4o", **more: Any) -> RunSpec:
    """27 positive and 27 negative facts: 432 statements."""
    settings = more.pop("settings", {})
    return RunSpec(
        model=model,
        facts=str(facts),
        shots=0,
        service=ServiceSettings(base_url=service.base_url, timeout=5, **settings),
        **more,
    )


def told(run_id: str, store: Store, **options: Any) -> Finished:
    *_, finished = answer(run_id, store, key=KEY, **options)
    return finished


def right_by_hand(store: Store, run_id: str) -> float:
    """The share of statements on which the service's own word is the label."""
    asked = store.answers.asked(run_id)
    return sum((answer_word(item_prompt(item)) == "True") == item.statement.label for item in asked) / len(asked)


def item_prompt(item: Any) -> str:
    text = item.statement.text.removesuffix(".")
    return f"{text}, is the statement above true or false? Please answer True or False."


# ------------------------------------------------------------------------- faults


def test_a_healthy_run_says_what_the_service_said(facts_file: Path, store: Store) -> None:
    with MockService() as service:
        run_id = start(spec := spec_of(service, facts_file), store)
        assert told(run_id, store).state == COMPLETE
        assert set(service.call_counts().values()) == {1}
    asked = store.answers.asked(run_id)
    assert len(asked) == 432
    for item in asked:
        assert item.answer.p_true == pytest.approx(p_true(item_prompt(item)), abs=1e-6)
        assert item.answer.raw == answer_word(item_prompt(item))
    made = report_record(store, run_id)
    assert made["average_accuracy"]["value"] == pytest.approx(right_by_hand(store, run_id))
    assert made["service"]["calls"] == 432
    assert 0.5 < costs(spec)["prompt_tokens"] / made["service"]["prompt_tokens"] < 2, "the estimate is near"
    assert made["service"]["prompt_tokens"] == sum(item.answer.prompt_tokens for item in asked)
    # The list price of gpt-4o: 2.50 and 10.00 USD for a million tokens in and out.
    usd = (2.5 * made["service"]["prompt_tokens"] + 10 * made["service"]["completion_tokens"]) / 1e6
    assert made["service"]["usd"] == pytest.approx(usd)
    assert made["p_true_source"] == "logprobs"
    assert store.run(run_id).model_revision == "127.0.0.1"


def test_faults_lose_nothing_and_the_always_failing_can_be_asked_again(facts_file: Path, store: Store) -> None:
    with MockService() as service:
        healthy = start(spec_of(service, facts_file), store)
        told(healthy, store)
    sticky = {"500": 0.01}
    with MockService(Behaviour(call_faults=TRANSIENT, prompt_faults=sticky)) as service:
        run_id = start(spec_of(service, facts_file, settings={"tries": 4}), store)
        finished = told(run_id, store)
        prompts = {item_prompt(item): item for item in store.answers.asked(run_id)}
        always = {prompt for prompt in prompts if hashed_share("sticky", prompt) < 0.01}
        assert always
        assert finished.failed == len(always)
        assert {prompt for prompt, item in prompts.items() if item.answer.failure} == always
        assert all(service.answer_counts[prompt] == 1 for prompt in prompts.keys() - always), (
            "none is asked again once answered"
        )
        service.behaviour.prompt_faults = {}
        before = service.call_counts()
        finished = told(run_id, store)
        assert (finished.state, finished.failed) == (COMPLETE, 0)
        again = service.call_counts() - before
        assert set(again) == always, "resume asks the failed ones alone"
    one, other = (report_record(store, run)["average_accuracy"] for run in (healthy, run_id))
    assert one == other


def test_four_fates(facts_file: Path, store: Store) -> None:
    content = {
        "empty": 0.03,
        "hedge": 0.03,
        "refusal": 0.03,
        "both": 0.02,
        "null": 0.01,
        "length": 0.02,
        "content_filter": 0.02,
    }
    with MockService(Behaviour(content_faults=content, prompt_faults={"500": 0.01})) as service:
        run_id = start(spec_of(service, facts_file, settings={"tries": 1}), store)
        told(run_id, store)
    fates = {item_prompt(item): content_fault(content, item_prompt(item)) for item in store.answers.asked(run_id)}
    unreadable = readable = failed = 0
    for item in store.answers.asked(run_id):
        fate, given = fates[item_prompt(item)], item.answer
        if given.failure is not None:
            failed += 1
            assert hashed_share("sticky", item_prompt(item)) < 0.01
        elif fate in {"", "hedge"}:
            readable += 1
            assert given.answer is (answer_word(item_prompt(item)) == "True"), "a hedge says its answer"
        else:
            unreadable += 1
            assert given.answer is None, fate
            cuts = {"length": "length", "content_filter": "content_filter", "refusal": "content_filter"}
            assert given.cut == cuts.get(fate)
    made = report_record(store, run_id)
    assert (made["right"] + made["wrong"], made["unreadable"], made["failed"]) == (readable, unreadable, failed)
    assert min(readable, unreadable, failed) > 0
    assert f"{unreadable} unreadable (counted as wrong); {failed} failed (not counted)" in report_text(
        report_of(store, store.run(run_id))
    )


def test_bounds_where_the_service_shows_five_alternatives(facts_file: Path, store: Store) -> None:
    with MockService() as service:
        run_id = start(spec_of(service, facts_file, settings={"top_logprobs": 5}), store)
        told(run_id, store)
    bounded = [item for item in store.answers.asked(run_id) if item.answer.p_low is not None]
    assert bounded
    for item in bounded:
        assert item.answer.p_low - 1e-9 <= p_true(item_prompt(item)) <= item.answer.p_high + 1e-9
    made = report_record(store, run_id)
    assert made["service"]["bounded"]["n"] == len(bounded)
    assert "known within bounds" in " ".join(describe_bill(made["service"]))


# ------------------------------------------------------------------------- what ends a run


@pytest.mark.parametrize("every", ["401", "404", "quota", "html"])
def test_what_ends_a_run_is_one_sentence_without_the_key(
    every: str, facts_file: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    caplog.set_level(logging.DEBUG)
    store = Store(f"sqlite:///{tmp_path / 'runs.db'}")
    with MockService(Behaviour(constant_fault=every)) as service:
        run_id = start(spec_of(service, facts_file), store)
        begun = time.monotonic()
        list(answer(run_id, store, key=KEY))
        assert time.monotonic() - begun < 20
    record = store.run(run_id)
    assert record.state == FAILED_RUN
    assert "\n" not in (record.reason or "\n")
    assert "Traceback" not in capfd.readouterr().err
    assert KEY not in caplog.text
    assert KEY not in repr(record)
    for file in tmp_path.iterdir():
        assert KEY.encode() not in file.read_bytes(), file.name


def test_what_came_before_the_end_is_kept(facts_file: Path, store: Store) -> None:
    """The quota is used up after some calls: what was answered and paid for by then is on disk, and resume asks the rest."""
    with MockService(Behaviour(latency=0.02)) as service:
        run_id = start(spec_of(service, facts_file, settings={"in_flight": 4}), store)
        events = answer(run_id, store, key=KEY)
        for event in events:
            if isinstance(event, AnswersSaved):
                service.behaviour.constant_fault = "quota"
        assert store.run(run_id).state == FAILED_RUN
        kept = {item_prompt(item) for item in store.answers.asked(run_id) if item.answer is not None}
        assert set(service.answer_counts) - kept == set()
        service.behaviour.constant_fault = ""
        assert told(run_id, store).state == COMPLETE
        assert set(service.answer_counts.values()) == {1}, "nothing is paid twice"


def test_no_key_reaches_the_command_lines_output(
    facts_file: Path, tmp_path: Path, medfact: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    url = f"sqlite:///{tmp_path / 'runs.db'}"
    common = ("--facts", facts_file, "--db", url, "--shots", 0, "--model", "openai:gpt-4o")
    with MockService(Behaviour(constant_fault="401")) as service:
        outcome = medfact("run", *common, "--base-url", service.base_url)
    assert outcome.code == 2
    assert outcome.err.count("Traceback") == 0
    assert KEY not in outcome.out + outcome.err
    with MockService() as service:
        outcome = medfact(
            "run", *common, "--base-url", service.base_url, "--model", "openai:gpt-5", "--model", "baseline:random"
        )
        assert outcome.code == 0, outcome.err
        assert {call.headers["authorization"] for call in service.calls} == {f"Bearer {KEY}"}
    assert [row["state"] for row in outcome.rows] == [COMPLETE] * 3
    assert KEY not in outcome.out + outcome.err
    assert all(KEY.encode() not in file.read_bytes() for file in tmp_path.rglob("*") if file.is_file())


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--base-url", "ftp://x"), "not a web address"),
        (("--base-url", "http://127.0.0.1:9/v1"), "cannot be reached"),
        (("--temperature", "warm"), "is not a number"),
        (("--alternatives", "50"), "out of range"),
        (("--budget", "-1"), "not an amount to spend"),
    ],
)
def test_rubbish_is_told_in_one_line(
    options: tuple[str, str], said: str, facts_file: Path, tmp_path: Path, medfact: Callable[..., Any]
) -> None:
    outcome = medfact("run", "--db", f"sqlite:///{tmp_path / 'x.db'}", "--facts", facts_file, "--model", "openai:m", *options)
    assert outcome.code == 2
    assert said in outcome.err.splitlines()[-1] or said in outcome.err
    assert "Traceback" not in outcome.err


def test_own_facts_go_to_another_machine_by_leave_alone(facts_file: Path, tmp_path: Path, medfact: Callable[..., Any]) -> None:
    url = f"sqlite:///{tmp_path / 'x.db'}"
    outcome = medfact("run", "--db", url, "--facts", facts_file, "--model", "openai:m", "--base-url", "https://api.example/v1")
    assert outcome.code == 2
    assert "Your facts go to api.example. They must hold no patient data." in outcome.err
    assert Store(url).runs() == []


# ------------------------------------------------------------------------- prices


def test_a_dry_run_says_the_price_and_asks_nothing(facts_file: Path, medfact: Callable[..., Any], tmp_path: Path) -> None:
    with MockService() as service:
        common = ("run", "--dry-run", "--facts", facts_file, "--shots", 0, "--base-url", service.base_url)
        outcome = medfact(*common, "--model", "openai:gpt-4o", "--model", "openai:unheard-of", "--model", "baseline:random")
        assert service.calls == []
    known, unknown, own = outcome.rows
    assert known["statements"] == 432
    # 2.50 and 10.00 USD for a million tokens in and out; four tokens a reply
    assert known["completion_tokens"] == 4 * 432
    assert known["usd"] == round((2.5 * known["prompt_tokens"] + 10 * 4 * 432) / 1e6, 2)
    assert (unknown["usd"], own["usd"]) == (None, None)
    assert "is not known" in unknown["said"]
    assert "free" in own["said"]


def test_a_budget_ends_the_run_and_resume_goes_on(facts_file: Path, store: Store) -> None:
    with MockService(Behaviour(latency=0.05)) as service:
        spec = spec_of(service, facts_file, settings={"in_flight": 8})
        whole = costs(spec)["usd"]
        limit = 0.004
        run_id = start(RunSpec.from_record({**spec.to_record(), "budget": limit}), store)
        finished = told(run_id, store)
        assert (finished.state, store.run(run_id).state) == (STOPPED, STOPPED)
        assert "The budget of $0.004 is spent" in (finished.reason or "")
        spent = report_record(store, run_id)["service"]["usd"]
        done = sum(item.answer is not None for item in store.answers.asked(run_id))
        batch = 8 * spent / done * 1.5  # those in flight; some cost half as much again as the others
        assert limit <= spent <= limit + batch
        assert whole is not None
        assert told(run_id, store).state == STOPPED, "nothing is asked while the budget is spent"
        assert sum(item.answer is not None for item in store.answers.asked(run_id)) == done
        assert told(run_id, store, budget=10.0).state == COMPLETE
        assert all(count == 1 for count in service.answer_counts.values()), "nothing is paid twice"


def test_a_budget_wants_a_price(facts_file: Path, store: Store) -> None:
    with MockService() as service:
        run_id = start(spec_of(service, facts_file, model="openai:unheard-of", budget=1.0), store)
        with pytest.raises(Mistake, match="is not known, so a budget cannot be kept"):
            list(answer(run_id, store, key=KEY))


@pytest.mark.parametrize(
    ("protocol", "model", "typed", "sent"),
    [
        ("pretexttrans", "azure:gpt-4o", (), None),
        ("tpeval", "azure:gpt-4o", (), None),
        ("pretexttrans", "azure:gpt-4o", ("--temperature", "0"), 0.0),
        ("medfact", "azure:gpt-4o", (), 0.0),
        ("mkj", "azure:gpt-4o", (), 0.0),
        ("pretexttrans", "openai:own-model", (), 0.0),
    ],
)
def test_the_papers_leave_decoding_to_commercial_services(
    protocol: str,
    model: str,
    typed: tuple[str, ...],
    sent: float | None,
    store: Store,
    medfact: Callable[..., Any],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """No temperature is sent then, and an identical prompt is asked again. MKJ's decoding is greedy; so is that of a server of
    one's own, and what somebody types counts.
    """
    monkeypatch.setenv("AZURE_OPENAI_API_KEY", KEY)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with MockService() as service:
        options = ("--protocol", protocol, "--model", model, "--base-url", service.base_url, *typed)
        outcome = medfact("run", "--limit", 1, "--shots", 0, *options, "--db", store.url)
        assert outcome.code == 0, outcome.err
        assert {call.body.get("temperature") for call in service.calls} == {sent}
    record = store.run(outcome.rows[0]["run"])
    assert record.decoding["temperature"] == record.spec.service.temperature == sent
    paragraph = methods_paragraph([record], [report_of(store, record)])
    assert ("generation settings as the service sets them" in paragraph) == (sent is None)
    assert ("temperature 0.0" in paragraph) == (sent == 0)


def test_answers_are_reused_by_leave(facts_file: Path, store: Store) -> None:
    with MockService() as service:
        first = start(spec_of(service, facts_file), store)
        told(first, store)
        for reuse, calls in ((False, 864), (True, 864)):
            run_id = start(spec_of(service, facts_file, reuse=reuse), store)
            assert told(run_id, store).state == COMPLETE
            assert len(service.calls) == calls
        made = report_record(store, run_id)
        assert (made["service"]["reused"], made["service"]["calls"], made["service"]["usd"]) == (432, 0, 0.0)
        assert "432 answers were taken from identical prompts" in " ".join(describe_bill(made["service"]))
        assert made["average_accuracy"] == report_record(store, first)["average_accuracy"]
        other = start(spec_of(service, facts_file, reuse=True, settings={"temperature": None}), store)
        told(other, store)
        assert report_record(store, other)["service"]["reused"] == 0, "other settings are another question"


# ------------------------------------------------------------------------- sources, jobs


def test_sources_of_p_true_are_never_mixed(facts_file: Path, store: Store) -> None:
    with MockService(Behaviour(is_sampled=True)) as service:
        runs = [
            start(spec_of(service, facts_file, per_relation=3, settings=settings), store) for settings in ({}, {"repeats": 3})
        ]
        for run_id in runs:
            told(run_id, store)
    reports = {run_id: report_of(store, store.run(run_id)) for run_id in runs}
    assert [reports[run_id].p_true_source for run_id in runs] == ["logprobs", "repeats"]
    assert list(of_one_source(reports)) == [runs[0]]
    assert {trace["name"] for trace in drawn(reports) if trace.get("name")} == {runs[0]}
    nothing = replace(reports[runs[0]].calibration, n=0, bins=())
    swapped = drawn({"unasked": with_figures(reports[runs[0]], calibration=nothing), **reports})
    colours = {trace["line"]["color"] for trace in swapped if trace.get("name")}
    assert colours == {COLOURS[1]}, "a model has the same colour in every figure"


def drawn(reports: dict[str, Report]) -> list[dict[str, Any]]:
    """The traces of the calibration curves."""
    section = SECTIONS["calibration"].make(Figures(reports))
    assert section is not None
    return list(plot_of(section.figures[0])["data"])


def test_stop_ends_a_slow_service_soon_and_keeps_what_came(facts_file: Path, jobs: Jobs) -> None:
    with MockService(Behaviour(latency=0.05, prompt_faults={"hang": 0.3})) as service:
        run_id = start(spec_of(service, facts_file, settings={"in_flight": 200}), jobs.store)
        beside = start(RunSpec(model="baseline:random", facts=str(facts_file), shots=0), jobs.store)
        jobs.submit(run_id, KEY)
        jobs.submit(beside)
        wait_until(lambda: jobs.snapshot(run_id).done >= 64)
        wait_until(lambda: jobs.snapshot(beside).state == COMPLETE)
        begun = time.monotonic()
        jobs.stop(run_id)
        wait_until(lambda: jobs.snapshot(run_id).state == STOPPED)
        assert time.monotonic() - begun < 20, "the calls that hang would take a minute"
        kept = {item_prompt(item) for item in jobs.store.answers.asked(run_id) if item.answer is not None}
    assert set(service.answer_counts) - kept == set(), "what was received is kept"
    assert KEY not in json.dumps([run.spec.to_record() for run in jobs.store.runs()])
