"""A service with several replicas: spread by what they carry, one group at one replica, and those that fail are dropped."""

from __future__ import annotations

import argparse
import socket
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mock_service import Behaviour, MockService

from medfact.answers import Demonstration, make_prompt
from medfact.cli.commands import parser
from medfact.cli.options import repeated_spec, spec_of
from medfact.errors import Mistake, ServiceAway
from medfact.exchange.portable import portable
from medfact.models import Completion, Prompt, ServiceSettings
from medfact.models.prompt import groups_of
from medfact.models.services.client import load_service
from medfact.models.services.policy import check_imported_run, check_new_run, hosts_of, is_on_this_machine
from medfact.models.services.replicas import FAILURES_TO_DROP
from medfact.models.services.schedule import Division
from medfact.runs.run import answer
from medfact.runs.start import start
from medfact.spec import RunSpec
from medfact.store import COMPLETE, Store

KEY = "sk-nobody-may-see-me-0123456789"


@pytest.fixture(autouse=True)
def no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)


def prompts_of(count: int, groups: int = 12) -> list[Prompt]:
    """Prompts in a run's order: one of each group, then a second of each."""
    shots = [(Demonstration(f"Demonstration of group {group}.", True),) for group in range(groups)]
    return [make_prompt(f"Disease {n} may have fever.", shots[n % groups], chat=False) for n in range(count)]


def settings_of(addresses: Sequence[str], **settings: Any) -> ServiceSettings:
    return ServiceSettings(base_url=addresses[0], replicas=tuple(addresses[1:]), **{"key": KEY, "timeout": 5, **settings})


def asked_of(addresses: Sequence[str], prompts: list[Prompt], **settings: Any) -> tuple[dict[int, Completion], float, Any]:
    """What replicas answer, how long it took, and what the run would record of the model."""
    model = load_service("openai:mock", settings_of(addresses, **settings))
    begun = time.monotonic()
    try:
        return dict(model.complete(prompts)), time.monotonic() - begun, model.info
    finally:
        model.close()


# ------------------------------------------------------------------------- who sends what


@given(st.lists(st.integers(0, 5), max_size=60), st.lists(st.integers(0, 2), min_size=1, max_size=200))
def test_each_prompt_is_taken_once_whoever_takes(groups: list[int], takers: list[int]) -> None:
    division, taken = Division(groups), []
    for taker in takers:
        if (index := division.take(taker)) is not None:
            taken.append(index)
        if taker == 2:
            division.release(1)
    while (index := division.take(0)) is not None:
        taken.append(index)
    assert sorted(taken) == list(range(len(groups)))
    assert division.left == 0


def test_takers_of_equal_speed_keep_their_groups() -> None:
    """12 groups of 10, three takers in turn: no group is sent by two, and each taker has four."""
    division, senders = Division([n % 12 for n in range(120)]), defaultdict(set)
    for turn in range(120):
        index = division.take(turn % 3)
        assert index is not None
        senders[index % 12].add(turn % 3)
    assert Counter(len(of) for of in senders.values()) == {1: 12}
    assert Counter(of.copy().pop() for of in senders.values()) == {0: 4, 1: 4, 2: 4}


def test_groups_are_what_stands_before_the_statement() -> None:
    groups = groups_of(prompts_of(30, groups=3))
    assert len(set(groups)) == 3
    assert groups[0] == groups[3] != groups[1]
    turns = [make_prompt("A may have fever.", (Demonstration(d, True),), chat=True) for d in "xxy"]
    assert [group == groups_of(turns)[0] for group in groups_of(turns)] == [True, True, False]


# ------------------------------------------------------------------------- replicas that fail


def closed_address() -> str:
    """An address where nobody listens."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{free.getsockname()[1]}/v1"


@pytest.mark.parametrize("fault", ["500", "reset", "404", "401", "html", "hang", "unreachable"])
def test_of_three_one_fails_and_one_is_slow(fault: str) -> None:
    """Nothing is lost, and no prompt gets two answers. The failing one gets as many calls at once as drop it: where they hang,
    the others may be done before the next.
    """
    with (
        MockService(Behaviour(latency=0.03)) as fast,
        MockService(Behaviour(latency=0.2)) as slow,
        MockService(Behaviour(every="" if fault == "unreachable" else fault)) as failing,
    ):
        bad = closed_address() if fault == "unreachable" else failing.base_url
        addresses = [bad, fast.base_url, slow.base_url]
        answers, _, info = asked_of(addresses, prompts_of(240), in_flight=FAILURES_TO_DROP, timeout=1.5)
        answered = sum((one.answered for one in (fast, slow, failing)), Counter[str]())
    assert sorted(answers) == list(range(240))
    assert all(completion.failure is None for completion in answers.values())
    assert set(answered.values()) == {1}
    assert len(answered) == 240
    (note,) = [note for note in info["notes"] if "was dropped" in note]
    assert bad.removeprefix("http://").removesuffix("/v1") in note
    assert KEY not in note


def test_of_three_one_fails_and_the_good_ones_are_used() -> None:
    """They carry 40 and 10 statements a second, a little less on a busy machine: each alone is measured by the same client."""
    shares = []
    with (
        MockService(Behaviour(latency=0.1)) as fast,
        MockService(Behaviour(latency=0.4)) as slow,
        MockService(Behaviour(every="500")) as failing,
    ):
        for _ in range(2):
            rates = []
            for addresses, count in (([fast], 120), ([slow], 32), ([failing, fast, slow], 400)):
                asked = prompts_of(count)
                answers, seconds, _ = asked_of([one.base_url for one in addresses], asked, in_flight=4)
                assert all(completion.failure is None for completion in answers.values())
                rates.append(len(answers) / seconds)
            shares.append(rates[2] / (rates[0] + rates[1]))
    assert max(shares) >= 0.9


def test_a_group_goes_to_one_replica() -> None:
    """Of 24 groups of 20, at two replicas of the same speed, nearly all are asked at one of them alone."""
    with MockService(Behaviour(latency=0.02)) as one, MockService(Behaviour(latency=0.02)) as other:
        asked_of([one.base_url, other.base_url], prompts_of(480, groups=24), in_flight=8)
        shares = [Counter(call.prompt.partition("group ")[2].partition(".")[0] for call in of.calls) for of in (one, other)]
    assert all(sum(share.values()) > 480 / 4 for share in shares)
    split = [min(shares[0][group], shares[1][group]) for group in shares[0] | shares[1]]
    assert sum(split) <= 480 / 5, "by chance it would be about half of all"


def test_a_replica_that_dies_midway_costs_nothing_but_time() -> None:
    with MockService(Behaviour(latency=0.02)) as good, MockService(Behaviour(latency=0.02, answers=60, dies="500")) as dying:
        answers, _, info = asked_of([good.base_url, dying.base_url], prompts_of(400), in_flight=8)
        answered = good.answered + dying.answered
    assert all(completion.failure is None for completion in answers.values())
    assert set(answered.values()) == {1}
    assert len(answered) == 400
    assert 60 <= dying.answered.total() < 60 + 8
    assert any("an error of the service" in note for note in info["notes"])


def test_a_dropped_replica_that_is_back_gets_calls_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("medfact.models.services.replicas.FIRST_ABSENCE_SECONDS", 0.5)
    with MockService(Behaviour(latency=0.05)) as good, MockService(Behaviour(latency=0.05, first=("500",))) as ill:
        answers, _, info = asked_of([good.base_url, ill.base_url], prompts_of(300), in_flight=4)
        ill_before = ill.answered.total()
        assert all(completion.failure is None for completion in answers.values())
    assert len(answers) == 300
    assert good.answered.total() + ill_before == 300
    assert any("tried again later" in note for note in info["notes"])


def test_an_overloaded_replica_gets_less_and_is_not_dropped() -> None:
    with MockService(Behaviour(latency=0.05)) as good, MockService(Behaviour(latency=0.05, at_once=2)) as narrow:
        answers, _, info = asked_of([good.base_url, narrow.base_url], prompts_of(400), in_flight=8)
    assert all(completion.failure is None for completion in answers.values())
    assert 0 < narrow.answered.total() < good.answered.total()
    assert not any("dropped" in note for note in info["notes"])


def test_prompts_that_no_replica_takes_drop_none_of_them() -> None:
    """A third of the prompts are too long for the model: each is refused by both, once, and fails."""
    with MockService(Behaviour(sticky={"long": 0.33}, latency=0.01)) as one, ExitStack() as at_end:
        other = at_end.enter_context(MockService(Behaviour(sticky={"long": 0.33}, latency=0.01)))
        answers, _, info = asked_of([one.base_url, other.base_url], prompts_of(200), in_flight=8)
        asked = one.asked() + other.asked()
    refused = [index for index, completion in answers.items() if completion.failure]
    assert 40 < len(refused) < 90
    assert Counter(asked.values()) == {1: 200 - len(refused), 2: len(refused)}
    assert info["notes"] == ()


def test_the_last_replica_decides_the_end_of_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("medfact.models.services.replicas.FAILURES_TO_PAUSE", 10)
    with (
        MockService(Behaviour(answers=40, dies="500")) as one,
        MockService(Behaviour(answers=40, dies="500")) as other,
        pytest.raises(ServiceAway),
    ):
        asked_of([one.base_url, other.base_url], prompts_of(400), in_flight=16, tries=30)
    with pytest.raises(Exception, match="cannot be reached"):
        asked_of([closed_address(), closed_address()], prompts_of(60))


def test_replicas_of_different_models_are_noted() -> None:
    class Other(MockService):
        def _reply(self, prompt: str, attempt: int, body: dict[str, Any]) -> dict[str, Any]:
            return super()._reply(prompt, attempt, body) | {"model": "mock-8b-awq"}

    with MockService(Behaviour(latency=0.02)) as one, Other(Behaviour(latency=0.02)) as other:
        _, _, info = asked_of([one.base_url, other.base_url], prompts_of(100), in_flight=4)
    assert any("different models" in note and "mock-8b-awq" in note for note in info["notes"])


def test_a_run_over_replicas_scores_like_one_service(facts_file: Path, store: Store) -> None:
    """Identical prompts are asked once at all replicas together; a failing one is named in the run's notes."""
    with MockService(Behaviour(latency=0.01)) as one, MockService(Behaviour(latency=0.01)) as other, ExitStack() as at_end:
        bad = at_end.enter_context(MockService(Behaviour(every="500")))
        spec = RunSpec("openai:gpt-4o", facts=str(facts_file), shots=0, limit=8)
        runs = []
        for addresses in ([one.base_url], [other.base_url, bad.base_url, one.base_url]):
            run = start(replace(spec, service=replace(settings_of(addresses), key=None)), store)
            *_, finished = answer(run, store, key=KEY)
            assert finished.state == COMPLETE
            runs.append(run)
        assert set((one.answered + other.answered).values()) == {2}, "once in each run"
    alone, spread = (
        [(i.statement.statement_id, i.answer.answer, i.answer.p_true) for i in store.answers.asked(run)] for run in runs
    )
    assert alone == spread
    assert any("was dropped" in note for note in store.run(runs[1]).notes)
    assert not any("dropped" in note for note in store.run(runs[0]).notes)
    assert store.run(runs[1]).spec.service.replicas == (bad.base_url, one.base_url)


# ------------------------------------------------------------------------- who may be contacted


def test_an_old_record_has_one_address() -> None:
    old = RunSpec("openai:x", service=ServiceSettings(base_url="https://a.example/v1")).to_record()
    del old["service"]["replicas"]
    assert RunSpec.from_record(old).service == ServiceSettings(base_url="https://a.example/v1")


def test_every_replica_passes_the_policy(monkeypatch: pytest.MonkeyPatch) -> None:
    here, away = "http://127.0.0.1:8000/v1", "https://models.example/v1"
    mixed = ServiceSettings(base_url=here, replicas=(away, here))
    assert hosts_of(mixed) == ["127.0.0.1", "models.example"]
    assert not is_on_this_machine(mixed)
    with pytest.raises(Mistake, match=r"models\.example"):
        check_imported_run("r", mixed)
    with pytest.raises(Mistake, match=r"127\.0\.0\.1, models\.example"):
        check_new_run(mixed, own_facts=True, agreed=False)
    with pytest.raises(Mistake, match="user name"):
        load_service("openai:x", ServiceSettings(base_url=here, replicas=("http://u:p@127.0.0.1/v1",)))
    monkeypatch.setenv("MEDFACT_PUBLIC", "1")
    with pytest.raises(Mistake, match="not a public address"):
        check_new_run(ServiceSettings(base_url="https://1.1.1.1/v1", replicas=(here,)), own_facts=False, agreed=False)


def test_the_environments_key_goes_to_no_replica_that_nobody_named(monkeypatch: pytest.MonkeyPatch) -> None:
    with MockService() as known, MockService() as unknown:
        monkeypatch.setenv("OPENAI_API_KEY", KEY)
        monkeypatch.setenv("OPENAI_BASE_URL", known.base_url)
        asked_of([known.base_url, unknown.base_url], prompts_of(40), in_flight=2, key=None)
        heads = {name: {call.headers["authorization"] for call in of.calls} for name, of in (("yes", known), ("no", unknown))}
    assert heads == {"yes": {f"Bearer {KEY}"}, "no": {"Bearer none"}}


def test_a_file_names_one_address_at_most() -> None:
    spec = RunSpec("openai:x", service=ServiceSettings(base_url="https://a.example/v1", replicas=("https://b.example/v1",)))
    assert portable(spec).service == ServiceSettings(base_url="https://a.example/v1")


def options_of(*words: str) -> argparse.Namespace:
    return parser().parse_args(words)


def test_typed_addresses_replace_all_recorded_ones(store: Store, facts_file: Path) -> None:
    typed = spec_of(options_of("run", "--base-url", "http://a/v1", "--base-url", "http://b/v1"), "openai:x").service
    assert (typed.base_url, typed.replicas) == ("http://a/v1", ("http://b/v1",))
    record = store.run(start(RunSpec("openai:x", facts=str(facts_file), service=typed), store))
    again = repeated_spec(options_of("run", "--base-url", "http://c/v1"), "openai:x", record).service
    assert (again.base_url, again.replicas) == ("http://c/v1", ())


def test_consent_names_all_hosts(medfact: Callable[..., Any], facts_file: Path, url: str) -> None:
    addresses = ("--base-url", "https://a.example/v1", "--base-url", "https://b.example/v1")
    outcome = medfact("run", "--model", "openai:x", "--facts", facts_file, "--db", url, *addresses)
    assert outcome.code == 2
    assert "a.example, b.example" in outcome.err
