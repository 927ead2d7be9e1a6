"""A model behind a service: real HTTP on loopback, with every fault that a service has."""

import logging
import socket
import threading
import time
from collections import Counter

import pytest
from mock_service import CONTENT_FAULTS, Behaviour, MockService, answer_word, hashed_share, p_true
from service_models import CHOICES, KEY, ModelLoader, make_prompts, matches_service
from service_models import load_service_model as load_service_model
from waiting import wait_until

from medfact.errors import MedfactError, ModelError
from medfact.models import Message, Prompt, ServiceSettings, check_spec, is_local, load_model, takes_messages
from medfact.models.providers import Monitor
from medfact.models.services.client import ServiceModel

SOON = 20
"""Seconds that nothing takes here unless it waits for a call that hangs (60 s, or for ever)."""


class Stopped(Monitor):
    """Gives calls in flight a fifth of a second once a run is stopped."""

    def __init__(self, stop: threading.Event) -> None:
        self._stop = stop

    def seconds_left(self) -> float | None:
        return 0.2 if self._stop.is_set() else None


# ------------------------------------------------------------------------------------------------ answers


def test_every_prompt_gets_its_answer_and_the_services_own_p_true(load_service_model: ModelLoader) -> None:
    prompts = make_prompts(100)
    with MockService(Behaviour(latency=0.05)) as service:
        got = dict(load_service_model(service).complete(prompts))
    assert sorted(got) == list(range(100))
    assert matches_service(prompts, got)
    assert {(done.p_low, done.p_high, done.cut, done.failure) for done in got.values()} == {(None, None, None, None)}
    assert all(done.p_mass == pytest.approx(0.98) for done in got.values())  # 2 % of the mass is no answer
    assert set(service.call_counts().values()) == {1}
    assert service.peak_in_flight <= 32


def test_what_the_service_said_of_each_call_is_kept(load_service_model: ModelLoader) -> None:
    (prompt,) = prompts = make_prompts(1)
    with MockService(Behaviour(latency=0.05, first_faults=("500",))) as service:
        ((_, done),) = load_service_model(service).complete(prompts)
    assert done.served is not None
    assert (done.served.model, done.served.fingerprint, done.served.attempts) == ("mock-2026-01-01", "fp_mock", 2)
    assert done.served.prompt_tokens == len(str(prompt.content)) // 4 + 4
    assert done.served.completion_tokens == 2  # "True" and "False": one for each four letters begun, and one
    assert 0.05 <= done.served.seconds < SOON


def test_a_text_goes_out_as_one_message_and_messages_as_they_are(load_service_model: ModelLoader) -> None:
    turns: tuple[Message, ...] = ({"role": "user", "content": "a"}, {"role": "assistant", "content": "True"})
    with MockService() as service:
        model = load_service_model(service, seed=7, max_tokens=3)
        list(model.complete([Prompt("text", CHOICES), Prompt((*turns, {"role": "user", "content": "b"}), CHOICES)]))
    text, messages = sorted((call.body for call in service.calls), key=lambda body: len(body["messages"]))
    assert text == {
        "model": "mock",
        "messages": [{"role": "user", "content": "text"}],
        "temperature": 0.0,
        "logprobs": True,
        "top_logprobs": 20,
        "max_tokens": 3,
        "seed": 7,
    }
    assert messages["messages"] == [*turns, {"role": "user", "content": "b"}]


@pytest.mark.parametrize("fault", sorted(CONTENT_FAULTS))
def test_a_reply_that_says_nothing_plain_is_a_reply(load_service_model: ModelLoader, fault: str) -> None:
    """Unreadable is not failed: an empty reply, a refusal, one cut off by its length or by a filter."""
    (prompt,) = prompts = make_prompts(1)
    with MockService(Behaviour(content_faults={fault: 1.0})) as service:
        ((_, done),) = load_service_model(service).complete(prompts)
    expected = (CONTENT_FAULTS[fault] or "").format(word=answer_word(str(prompt.content)).lower())
    cuts = {"length": "length", "content_filter": "content_filter", "refusal": "content_filter"}
    assert (done.text, done.failure, done.cut) == (expected, None, cuts.get(fault))
    assert done.p_true == (pytest.approx(p_true(str(prompt.content)), abs=1e-6) if fault == "hedge" else None)


def test_a_quoted_prompt_that_speaks_of_temperature_is_no_refused_parameter(load_service_model: ModelLoader) -> None:
    with MockService(Behaviour(constant_fault="echo")) as service:
        model = load_service_model(service)
        ((_, done),) = model.complete([Prompt("Gout raises the temperature. True or false?", CHOICES)])
    assert done.failure == "the service refuses (HTTP 400): Not allowed: Gout raises the temperature. True or false? (1 try)"
    assert (len(service.calls), model.notes) == (1, ())


# ------------------------------------------------------------------------------------------------ faults


def test_nothing_is_lost_and_nothing_is_asked_again_after_it_was_answered(load_service_model: ModelLoader) -> None:
    prompts = make_prompts(300)
    faults = {"429": 0.05, "500": 0.02, "reset": 0.02, "truncated": 0.02, "nothing": 0.01, "408": 0.01, "409": 0.01}
    with MockService(Behaviour(call_faults=faults, retry_after="0.2")) as service:
        got = dict(load_service_model(service).complete(prompts))
    assert sorted(got) == list(range(300))
    assert [done.failure for done in got.values() if done.text is None] == []
    assert matches_service(prompts, got)
    assert set(service.answer_counts.values()) == {1}
    assert 330 < len(service.calls) < 400  # 14 % of the calls fail: 300 / 0.86 = 349
    assert all(done.served.attempts == service.call_counts()[str(prompts[place].content)] for place, done in got.items())


def test_prompts_that_always_fail_are_reported_and_the_others_are_answered(load_service_model: ModelLoader) -> None:
    prompts = make_prompts(200)
    broken = {place for place in range(200) if hashed_share("sticky", prompts[place].content) < 0.06}
    with MockService(Behaviour(latency=0.02, prompt_faults={"500": 0.02, "reset": 0.02, "truncated": 0.02})) as service:
        model = load_service_model(service, tries=3)
        got = dict(model.complete(prompts))
        assert {place for place, done in got.items() if done.text is None} == broken
        assert 3 <= len(broken) <= 20
        assert matches_service(prompts, got)
        assert {got[place].failure for place in broken} == {
            "an error of the service (HTTP 500) (3 tries)",
            "the connection broke (3 tries)",
            "an incomplete reply (3 tries)",
        }
        assert Counter(service.call_counts().values()) == {1: 200 - len(broken), 3: len(broken)}
        before = len(service.calls)
        again = [place for place, done in model.complete(prompts) if done.text is None]
    assert set(again) == broken  # can be run again; what was answered is not asked again
    assert len(service.calls) - before == 3 * len(broken)


def test_the_slot_is_free_while_a_prompt_waits(load_service_model: ModelLoader) -> None:
    """About 20 of 200 prompts wait 1 s twice. With two slots held meanwhile that would be 20 s; free, the others take 2 s."""
    prompts = make_prompts(200)
    with MockService(Behaviour(latency=0.02, prompt_faults={"503": 0.1}, retry_after="1")) as service:
        begun = time.monotonic()
        arrived = [
            (time.monotonic() - begun, done) for _, done in load_service_model(service, in_flight=2, tries=3).complete(prompts)
        ]
    answered = [at for at, done in arrived if done.text is not None]
    assert 150 < len(answered) < 195
    assert max(answered) < 12  # the twenty calls that wait for two seconds would take twenty, two after two
    assert max(at for at, _ in arrived) < 18


def test_calls_in_flight_fall_to_what_a_service_takes(load_service_model: ModelLoader) -> None:
    prompts = make_prompts(150)
    with MockService(Behaviour(latency=0.03, max_in_flight=4, retry_after="0.1")) as service:
        got = dict(load_service_model(service, in_flight=32).complete(prompts))
    assert matches_service(prompts, got)
    assert all(done.text is not None for done in got.values())
    assert len(service.calls) < 400  # at 32 in flight all the time, 7 of 8 would be turned away: 1,200


def test_a_call_that_never_ends_is_given_up(load_service_model: ModelLoader) -> None:
    begun = time.monotonic()
    with MockService(Behaviour(constant_fault="hang")) as service:
        ((_, done),) = load_service_model(service, timeout=0.4, tries=2).complete(make_prompts(1))
    assert done.failure == "no reply within 0.4 s (2 tries)"
    assert time.monotonic() - begun < SOON


# ------------------------------------------------------------------------------------------------ stopping


def test_breaking_off_ends_at_once_and_what_came_was_given(load_service_model: ModelLoader) -> None:
    prompts = make_prompts(40)
    with MockService(Behaviour(latency=0.05, prompt_faults={"hang": 0.5})) as service:
        model = load_service_model(service, in_flight=40)
        hanging = {place for place in range(40) if hashed_share("sticky", prompts[place].content) < 0.5}
        asked = model.complete(prompts)
        came = dict(next(asked) for _ in range(40 - len(hanging)))
        begun = time.monotonic()
        asked.close()
        assert time.monotonic() - begun < SOON
        assert set(came) == set(range(40)) - hanging
        wait_until(lambda: (service.aborted_calls, service.in_flight) == (len(hanging), 0))
        answered = prompts[min(came)]
        assert [done.text for _, done in model.complete([answered])] == [answer_word(str(answered.content))]


def test_a_run_that_is_stopped_while_nothing_comes_ends_with_what_came(load_service_model: ModelLoader) -> None:
    prompts, stop = make_prompts(40), threading.Event()
    with MockService(Behaviour(latency=0.05, prompt_faults={"hang": 0.5})) as service:
        model = load_service_model(service, in_flight=40, monitor=Stopped(stop))
        threading.Timer(0.8, stop.set).start()
        begun = time.monotonic()
        came = dict(model.complete(prompts))
        assert 0.7 < time.monotonic() - begun < SOON
    assert set(came) == {place for place in range(40) if hashed_share("sticky", prompts[place].content) >= 0.5}


def test_closing_ends_a_run_and_later_ones_say_so(load_service_model: ModelLoader) -> None:
    with MockService(Behaviour(constant_fault="hang")) as service:
        model = load_service_model(service)
        threading.Timer(0.3, model.close).start()
        begun = time.monotonic()
        assert list(model.complete(make_prompts(3))) == []
        assert time.monotonic() - begun < SOON
        with pytest.raises(ModelError, match="closed"):
            list(model.complete(make_prompts(1)))


# ------------------------------------------------------------------------------------------------ once


def test_identical_prompts_are_asked_once_over_all_calls(load_service_model: ModelLoader) -> None:
    prompts = make_prompts(10) * 5
    with MockService(Behaviour(latency=0.02)) as service:
        model = load_service_model(service, in_flight=4)
        got = dict(model.complete(prompts))
        got_again = dict(model.complete(prompts[:10]))
        longer = Prompt(prompts[0].content, CHOICES, max_tokens=50)
        list(model.complete([longer]))
    assert sorted(got) == list(range(50))
    assert matches_service(prompts, got)
    assert matches_service(prompts, got_again)
    assert service.call_counts() == Counter({str(p.content): 1 for p in prompts}) + Counter([str(longer.content)])
    attempts = Counter(done.served.attempts for done in got.values())
    assert attempts == {1: 10, 0: 40}  # 40 of 50 were taken from an identical prompt and cost nothing
    assert sum(done.served.prompt_tokens for done in got.values()) == sum(len(str(p.content)) // 4 + 4 for p in prompts[:10])


def test_drawn_answers_are_asked_each(load_service_model: ModelLoader) -> None:
    with MockService() as service:
        list(load_service_model(service, temperature=None).complete(make_prompts(2) * 3))
        assert set(service.call_counts().values()) == {3}
        list(load_service_model(service, temperature=0.7).complete(make_prompts(2) * 3))
    assert set(service.call_counts().values()) == {6}


def test_prompts_that_were_thought_repeatable_are_asked_each_where_the_service_draws(load_service_model: ModelLoader) -> None:
    with MockService(Behaviour(latency=0.05, parameter_limits={"temperature": None})) as service:
        got = dict(load_service_model(service).complete(make_prompts(2) * 3))
    assert sorted(got) == list(range(6))
    assert set(service.answer_counts.values()) == {3}


# ------------------------------------------------------------------------------------------------ parameters


@pytest.mark.parametrize(
    ("refuses", "decoding", "sent"),
    [
        ({"temperature": None}, {"temperature": None, "p_true": "logprobs"}, {"max_tokens": 256, "top_logprobs": 20}),
        (
            {"temperature": None, "logprobs": None, "max_tokens": None, "seed": None},
            {"temperature": None, "p_true": "none", "limit": "max_completion_tokens", "seed": None},
            {"max_completion_tokens": 4096},
        ),
    ],
    ids=["temperature", "a thinking model"],
)
def test_a_parameter_that_a_service_refuses_gives_way_once(
    load_service_model: ModelLoader, refuses: dict[str, float | None], decoding: dict[str, object], sent: dict[str, object]
) -> None:
    with MockService(Behaviour(latency=0.02, parameter_limits=refuses)) as service:
        model = load_service_model(service, seed=3, in_flight=4, tries=1)
        got = dict(model.complete(make_prompts(20)))
        refused = len(service.calls) - 20
        assert {done.failure for done in got.values()} == {None}
        assert model.info["decoding"].items() >= decoding.items()
        assert service.calls[-1].body.items() >= sent.items()
        assert set(refuses) & set(service.calls[-1].body) <= {"top_logprobs"}
        assert len(model.notes) == len(refuses)
        assert 1 <= refused <= 5 * len(refuses)  # at most once for each call that was out, and the one made ahead
        list(model.complete([Prompt("one more", CHOICES)]))
    assert len(service.calls) == 20 + refused + 1


def test_repeated_answers_stand_in_for_log_probabilities(load_service_model: ModelLoader) -> None:
    prompts = make_prompts(20)
    with MockService(Behaviour(is_sampled=True)) as service:
        model = load_service_model(service, repeats=5)
        got = dict(model.complete(prompts))
    for place, prompt in enumerate(prompts):
        text = str(prompt.content)
        true = sum(hashed_share("sampled", text, attempt) < p_true(text) for attempt in range(5))
        assert got[place].p_true == (true + 0.5) / 6
        assert got[place].p_mass == 1
        assert (got[place].served.attempts, got[place].served.completion_tokens) == (5, 10)
    assert set(service.call_counts().values()) == {5}
    assert all("temperature" not in call.body and "logprobs" not in call.body for call in service.calls)
    assert model.info["decoding"]["p_true"] == "repeats"


# ------------------------------------------------------------------------------------------------ the end of a run


def one_line_without_key(error: MedfactError) -> bool:
    held = f"{error}{error!r}{error.__cause__!r}"
    return "\n" not in str(error) and len(str(error)) < 160 and KEY not in held and KEY[:12] not in held


def test_a_quota_that_ends_midway_ends_the_run_after_what_had_come(load_service_model: ModelLoader) -> None:
    prompts = make_prompts(100)
    with MockService(Behaviour(latency=0.01, prompt_faults={"quota": 0.03})) as service:
        came = []
        with pytest.raises(ModelError, match="quota"):
            came.extend(done for _, done in load_service_model(service, in_flight=1).complete(prompts))
    assert len(came) == next(place for place in range(100) if hashed_share("sticky", prompts[place].content) < 0.03)


def closed_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


@pytest.mark.parametrize(
    ("base_url", "prompts", "sentence"),
    [
        ("http://127.0.0.1:{port}/v1", 100, "127.0.0.1 cannot be reached."),
        ("http://nowhere.invalid/v1", 1, "The host nowhere.invalid was not found."),
        ("{service}/wrong", 100, "127.0.0.1 answers, but not as a model service."),
        ("https{service_tls}", 100, "No secure connection to 127.0.0.1."),
    ],
    ids=["nobody listens", "no such host", "wrong path", "no secure connection"],
)
def test_a_service_that_is_not_there_ends_the_run_quickly(
    load_service_model: ModelLoader, base_url: str, prompts: int, sentence: str
) -> None:
    with MockService() as service:
        tls = service.base_url.removeprefix("http")
        address = base_url.format(port=closed_port(), service=service.base_url, service_tls=tls)
        with pytest.raises(ModelError) as raised:
            list(load_service_model(address).complete(make_prompts(prompts)))
    assert str(raised.value).startswith(sentence)
    assert one_line_without_key(raised.value)


def test_a_service_that_falters_at_first_is_not_given_up(load_service_model: ModelLoader) -> None:
    """Web pages for a few prompts, while the others are still on their way, are no wrong address."""
    prompts = make_prompts(30)
    with MockService(Behaviour(latency=1.0, prompt_faults={"html": 0.2})) as service:
        got = dict(load_service_model(service, tries=3).complete(prompts))
    assert sum(done.text is not None for done in got.values()) > 15
    failures = {done.failure for done in got.values() if done.text is None}
    assert failures == {"a web page instead of a reply (3 tries)"}


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"base_url": None, "key": None}, "No key for api.openai.com. Set OPENAI_API_KEY, or type it."),
        ({"base_url": "api.example.org/v1"}, "The base URL is not a web address."),
        ({"base_url": "ftp://example.org"}, "The base URL is not a web address."),
        ({"base_url": "http://[::1/v1"}, "The base URL is not a web address."),
        ({"base_url": f"https://me:{KEY}@example.org/v1"}, "The base URL contains a user name or password."),
        ({"key": f"{KEY}\n{KEY}"}, "The key for 127.0.0.1 contains characters that no key has."),
        ({"key": f"{KEY}…"}, "The key for 127.0.0.1 contains characters that no key has."),
        ({"in_flight": 0}, "A setting of the service is out of range: calls in flight."),
        ({"top_logprobs": 21}, "A setting of the service is out of range: alternatives."),
    ],
)
def test_what_cannot_be_used_is_said_before_anything_is_asked(
    load_service_model: ModelLoader, settings: dict[str, object], sentence: str
) -> None:
    with pytest.raises(ModelError) as raised:
        load_service_model("http://127.0.0.1/v1", **settings)
    assert str(raised.value).startswith(sentence)
    assert one_line_without_key(raised.value)


# ------------------------------------------------------------------------------------------------ the key


def test_the_key_goes_to_the_service_and_nowhere_else(
    load_service_model: ModelLoader, caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    caplog.set_level(logging.DEBUG)
    shown: list[object] = []
    with MockService(Behaviour(key=KEY, prompt_faults={"500": 0.2, "long": 0.2})) as service:
        model = load_service_model(service, tries=2)
        shown += [*model.complete(make_prompts(20)), model, vars(model).get("settings"), model.info, model.notes]
        assert service.calls[0].headers["authorization"] == f"Bearer {KEY}"
    for fault in ("401", "403", "404", "quota"):
        with MockService(Behaviour(constant_fault=fault)) as service, pytest.raises(ModelError) as raised:
            list(load_service_model(service).complete(make_prompts(2)))
        shown.append((str(raised.value), repr(raised.value), repr(raised.value.__cause__)))
    captured = capsys.readouterr()
    text = "\n".join([*map(repr, shown), *map(str, shown), caplog.text, captured.out, captured.err])
    assert len(caplog.records) > 20
    assert KEY not in text
    assert KEY[:12] not in text


def test_a_service_of_ones_own_needs_no_key(load_service_model: ModelLoader) -> None:
    with MockService(Behaviour(key="none")) as service:
        ((_, done),) = load_service_model(service, key=None).complete(make_prompts(1))
    assert done.failure is None
    with MockService(Behaviour(key="another")) as service, pytest.raises(ModelError) as raised:
        list(load_service_model(service, key=None).complete(make_prompts(1)))
    assert str(raised.value) == "No key for 127.0.0.1. Set OPENAI_API_KEY, or type it."


# ------------------------------------------------------------------------------------------------ the spec


def test_the_spec_names_a_model_of_a_service(load_service_model: ModelLoader) -> None:
    check_spec("openai:gpt-4o-mini")
    with pytest.raises(MedfactError):
        check_spec("openai: ")
    assert not takes_messages("openai:gpt-4o-mini")
    assert takes_messages("openai:gpt-4o-mini", service=ServiceSettings(shots_as_turns=True))
    assert not is_local("openai:gpt-4o-mini")
    with MockService() as service:
        model = load_model("openai:some/model:free", service=ServiceSettings(base_url=service.base_url, key=KEY))
        assert isinstance(model, ServiceModel)
        assert (model.spec, model.chat, model.host) == ("openai:some/model:free", False, "127.0.0.1")
        list(model.complete(make_prompts(1)))
        model.close()
    assert service.calls[0].body["model"] == "some/model:free"
