"""What a service may do to whoever asks it: send too much, send elsewhere, be slow, be wrong, or go away."""

import contextlib
import json
import re
import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import trustme
from hypothesis import example, given
from hypothesis import strategies as st
from mock_service import Behaviour, MockService
from psutil import Process
from recorded import finished_event
from service_models import CHOICES, KEY, ModelLoader, make_prompts, matches_service
from service_models import load_service_model as load_service_model

from medfact.answers import make_prompt, read_answer
from medfact.errors import ModelError, ServiceDown
from medfact.models import Prompt, ServiceSettings
from medfact.models.services.failures import Action, Endpoint
from medfact.models.services.policy import check_public_url, is_public_address, key_of
from medfact.models.services.refusals import failure_from_status
from medfact.models.services.replies import MAX_BODY_BYTES, MAX_REPLY_CHARACTERS, Malformed, completion_of
from medfact.runs.events import Failed
from medfact.runs.run import answer, run
from medfact.runs.start import start
from medfact.spec import RunSpec
from medfact.store import COMPLETE, FAILED_RUN, PAUSED, Store

__all__ = ["load_service_model"]

MB = 1 << 20


@pytest.fixture
def public(monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that strangers use."""
    monkeypatch.setenv("SPACE_ID", "somebody/medfact")


def spec_at(service: MockService | str, facts: Path, **settings: Any) -> RunSpec:
    base_url = service if isinstance(service, str) else service.base_url
    return RunSpec(model="openai:m", facts=str(facts), shots=0, service=ServiceSettings(base_url=base_url, **settings))


# ------------------------------------------------------------------------- how much is taken in


def test_a_reply_that_unpacks_to_a_gigabyte_is_read_as_far_as_a_megabyte(load_service_model: ModelLoader) -> None:
    with MockService(Behaviour(constant_fault="bomb")) as service:
        model = load_service_model(service)
        list(model.complete(make_prompts(1)))  # the packed reply itself is made now
        before = Process().memory_info().rss
        ((_, done),) = model.complete(make_prompts(1))
        assert Process().memory_info().rss - before < 50 * MB
    assert done.text is not None
    assert done.text.startswith("True, no no")
    assert done.text.endswith(f"[cut here: the service's reply is longer than {MAX_BODY_BYTES:,} bytes]")
    assert len(done.text) < MAX_REPLY_CHARACTERS + 100
    assert done.cut == "length"


@pytest.mark.parametrize("packing", ["br", "zstd", "gzip, gzip", "gzip, identity", "identity, gzip"])
def test_a_reply_that_is_packed_otherwise_is_not_unpacked(packing: str, load_service_model: ModelLoader) -> None:
    with MockService(Behaviour(constant_fault="bomb", content_encoding=packing)) as service:
        model = load_service_model(service, tries=1)
        list(model.complete(make_prompts(1)))
        before = Process().memory_info().rss
        ((_, done),) = model.complete(make_prompts(1))
        assert Process().memory_info().rss - before < 50 * MB
    assert done.failure


def test_a_reply_that_shows_the_key_is_kept_without_it(load_service_model: ModelLoader) -> None:
    with MockService(Behaviour(reply_text=f"True, says {KEY}.")) as service:
        ((_, done),) = load_service_model(service).complete(make_prompts(1))
    assert done.text == "True, says ***."


# ------------------------------------------------------------------------- who is asked, and with whose key


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1",
        "10.0.0.7",
        "192.168.1.1",
        "169.254.169.254",
        "100.64.0.1",
        "0.0.0.0",
        "224.0.0.1",
        "239.255.255.250",
        "255.255.255.255",
        "192.88.99.1",
        "::1",
        "::",
        "::127.0.0.1",
        "::ffff:127.0.0.1",
        "::ffff:8.8.8.8",
        "fe80::1",
        "fe80::1%eth0",
        "fc00::1",
        "3fff::1",
        "192.0.0.8",
        "168.63.129.16",
        "fec0::1",
        "ff02::1",
        "64:ff9b::7f00:1",
        "64:ff9b:1::7f00:1",
        "2002:7f00:1::",
        "2001:0:4136:e378:8000:63bf:3fff:fdd2",
        "nowhere",
        "",
    ],
)
def test_no_address_that_leads_into_a_network_of_its_own_is_public(address: str) -> None:
    assert not is_public_address(address)


@pytest.mark.parametrize("address", ["8.8.8.8", "1.1.1.1", "2606:4700:4700::1111", "2a00:1450:4001:80b::200e"])
def test_an_address_that_everybody_can_reach_is_public(address: str) -> None:
    assert is_public_address(address)


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1:1/v1",
        "https://127.0.0.1:1/v1",
        "https://localhost/v1",
        "https://[::1]/v1",
        "https://169.254.169.254/v1",
        "https://0x7f000001/v1",
        "https://2130706433/v1",
        "https://nowhere.invalid/v1",
    ],
)
def test_a_public_server_refuses_private_addresses(url: str) -> None:
    with pytest.raises(ModelError, match="not a public address"):
        check_public_url(url)


@pytest.mark.usefixtures("public")
@pytest.mark.parametrize("scheme", ["http", "https"])
def test_the_client_of_a_public_server_asks_no_private_address(load_service_model: ModelLoader, scheme: str) -> None:
    """Whatever let the address in: the client looks at it again for every connection."""
    with MockService() as service:
        with pytest.raises(ModelError, match="is not a public address"):
            list(load_service_model(service.base_url.replace("http", scheme)).complete(make_prompts(3)))
        assert service.calls == []


@pytest.mark.usefixtures("public")
def test_a_run_that_names_a_private_address_is_not_resumed_on_a_public_server(facts_file: Path, store: Store) -> None:
    with MockService() as service:
        run_id = start(spec_at(service, facts_file), store)
        *_, last = answer(run_id, store, key=KEY)
        assert service.calls == []
    assert isinstance(last, Failed)
    assert "not a public address" in str(last.error)
    assert store.run(run_id).state == FAILED_RUN


class SecureService:
    """A service with https on every loopback address, which counts who connects to which of them, and by which name."""

    def __init__(self, names: tuple[str, ...]) -> None:
        self.authority = trustme.CA()
        self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.authority.issue_cert(*names).configure_cert(self._context)
        self.named: list[str | None] = []
        self._context.sni_callback = lambda connection, name, context: self.named.append(name)
        self.asked: list[str] = []
        self.headers: list[str] = []
        self._listening = [socket.create_server((address, 0)) for address in ("127.0.0.1",)]
        self.port = self._listening[0].getsockname()[1]
        self._listening.append(socket.create_server(("127.0.0.2", self.port)))
        for listening in self._listening:
            threading.Thread(target=self._serve, args=(listening,), daemon=True).start()

    def _serve(self, listening: socket.socket) -> None:
        while True:
            try:
                connection, _ = listening.accept()
            except OSError:
                return
            self.asked.append(listening.getsockname()[0])
            with connection, self._context.wrap_socket(connection, server_side=True) as secure:
                self.headers.append(secure.recv(65_536).decode("latin-1"))
                body = b'{"choices": [{"message": {"content": "True"}, "finish_reason": "stop"}]}'
                secure.sendall(b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: %d\r\n\r\n" % len(body) + body)

    def close(self) -> None:
        for listening in self._listening:
            listening.close()


@pytest.fixture
def secure(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[SecureService]:
    service = SecureService(("models.example",))
    service.authority.cert_pem.write_to_path(str(tmp_path / "authority.pem"))
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "authority.pem"))
    yield service
    service.close()


@pytest.mark.usefixtures("public")
def test_a_host_whose_address_changes_is_asked_where_it_was_checked(
    load_service_model: ModelLoader, secure: SecureService, monkeypatch: pytest.MonkeyPatch
) -> None:
    """127.0.0.1 stands for a public address here, and 127.0.0.2 for one inside: the name leads there once it was checked."""
    found = iter(["127.0.0.1"])

    def look_up(host: str, *_: Any, **__: Any) -> list[Any]:
        assert host == "models.example"
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (next(found, "127.0.0.2"), secure.port))]

    monkeypatch.setattr("socket.getaddrinfo", look_up)
    monkeypatch.setattr("medfact.models.services.policy.is_public_address", lambda address: address == "127.0.0.1")
    model = load_service_model(f"https://models.example:{secure.port}/v1", in_flight=2)
    got = dict(model.complete(make_prompts(8)))
    assert {done.text for done in got.values()} == {"True"}
    assert set(secure.asked) == {"127.0.0.1"}
    assert set(secure.named) == {"models.example"}  # and the certificate was checked against that name
    assert all(f"host: models.example:{secure.port}" in headers.lower() for headers in secure.headers)


def test_no_redirect_is_followed(load_service_model: ModelLoader) -> None:
    with (
        MockService() as inside,
        MockService(Behaviour(constant_fault="redirect", reply_text=f"{inside.base_url}/chat/completions")) as service,
    ):
        with pytest.raises(ModelError, match="redirects calls to another address"):
            list(load_service_model(service).complete(make_prompts(5)))
        assert inside.calls == []


@pytest.mark.parametrize(
    ("base_url", "environment", "place", "expected"),
    [
        (None, {}, {}, KEY),
        ("https://api.openai.com/v1/", {}, {}, KEY),
        ("http://127.0.0.1:8000/v1", {"OPENAI_BASE_URL": "http://127.0.0.1:8000/v1/"}, {}, KEY),
        ("http://127.0.0.1:8000/v1", {}, {}, "none"),
        ("https://api.openai.com.evil.example/v1", {}, {}, "none"),
        ("https://api.openai.com/v1/../x", {}, {}, ""),
        (None, {}, {"SPACE_ID": "somebody/medfact"}, ""),
        (None, {}, {"MEDFACT_PUBLIC": "1"}, ""),
        ("https://models.example/v1", {"OPENAI_BASE_URL": "https://models.example/v1"}, {"MEDFACT_PUBLIC": "1"}, "none"),
    ],
)
def test_the_environments_key_goes_where_the_environment_says(
    base_url: str | None,
    environment: dict[str, str],
    place: dict[str, str],
    expected: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name, value in {"OPENAI_BASE_URL": "", "OPENAI_API_KEY": KEY, **environment, **place}.items():
        monkeypatch.setenv(name, value)
    settings = ServiceSettings(base_url=base_url)
    if not expected:
        with pytest.raises(ModelError, match="No key for"):
            key_of(settings)
    else:
        assert key_of(settings) == expected
        assert key_of(ServiceSettings(base_url=base_url, key="typed")) == "typed"


def test_resume_sends_the_key_to_ones_own_address_and_to_no_other_visitors(
    facts_file: Path, store: Store, medfact: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    sent = {}
    for owner in ("local", "0" * 32):
        with MockService() as service:
            run_id = start(spec_at(service, facts_file), store.of(owner))
            assert medfact("resume", run_id, "--db", store.url).code == 0
            sent[owner] = {call.headers["authorization"] for call in service.calls}
    assert sent == {"local": {f"Bearer {KEY}"}, "0" * 32: {"Bearer none"}}
    with MockService() as service:
        run_id = start(spec_at("http://127.0.0.1:9/v1", facts_file), store.of("0" * 32))
        outcome = medfact("resume", run_id, "--db", store.url, "--base-url", service.base_url, "--timeout", 5, "--in-flight", 2)
        assert outcome.code == 0, outcome.err
        assert {call.headers["authorization"] for call in service.calls} == {f"Bearer {KEY}"}  # its address was typed now
        assert service.peak_in_flight == 2


# ------------------------------------------------------------------------- slow, wrong, gone


def test_a_slow_service_that_takes_one_call_after_the_other_loses_nothing(load_service_model: ModelLoader) -> None:
    """A fifth of a second a reply, 2 s allowed, 32 in flight asked: the last of 20 calls waits 4 s."""
    prompts = make_prompts(20)
    with MockService(Behaviour(latency=0.2, is_serial=True)) as service:
        got = dict(load_service_model(service, timeout=2.0).complete(prompts))
        assert {done.failure for done in got.values()} == {None}
        assert matches_service(prompts, got)
        assert len(service.calls) <= 26


@pytest.mark.parametrize("dies", ["gone", "nothing", "html"])
def test_a_service_that_goes_away_pauses_the_run(
    dies: str, facts_file: Path, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("medfact.models.services.failures.LONGEST_PROBE_WAIT_SECONDS", 0.2)
    with MockService(Behaviour(max_answers=50, final_fault=dies)) as service:
        *_, last = run(spec_at(service, facts_file, key=KEY), store)
        answers = sum(service.answer_counts.values())
        vain = len(service.calls) - answers
    assert isinstance(last, Failed)
    assert isinstance(last.error, ServiceDown)
    record = store.run(last.run)
    assert record.state == PAUSED
    assert f"127.0.0.1 gave {answers} answers, and none to the last 5" in str(record.reason)
    assert "Resume the run once it is back" in str(record.reason)
    assert vain <= 60
    answered = [item for item in store.answers.asked(last.run) if item.answer is not None and item.answer.failure is None]
    assert len(answered) == answers >= 50


def test_answers_that_were_on_their_way_do_not_make_a_dead_service_alive(
    facts_file: Path, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Half of the answers take a second: they arrive when other calls have failed, and say nothing of what came later."""
    monkeypatch.setattr("medfact.models.services.failures.LONGEST_PROBE_WAIT_SECONDS", 0.2)
    with MockService(Behaviour(max_answers=60, final_fault="500", prompt_faults={"slow": 0.5}, slow_seconds=1.0)) as service:
        *_, last = run(spec_at(service, facts_file, key=KEY, in_flight=32), store)
        vain = len(service.calls) - sum(service.answer_counts.values())
    assert isinstance(last, Failed)
    assert isinstance(last.error, ServiceDown)
    assert vain <= 50 + 32, "fifty failures, and the calls that were in flight"


def test_a_prompt_that_always_fails_does_not_make_a_service_away(load_service_model: ModelLoader) -> None:
    """A tenth of the prompts meet an error each time, many more than 50 in all; the others are answered meanwhile."""
    prompts = make_prompts(400)
    with MockService(Behaviour(latency=0.02, prompt_faults={"500": 0.1})) as service:
        got = dict(load_service_model(service, tries=3, in_flight=32).complete(prompts))
    failed = [done for done in got.values() if done.failure]
    assert len(got) == 400
    assert 20 < len(failed) < 80


def test_a_run_that_paused_goes_on_when_the_service_is_back(
    facts_file: Path, store: Store, medfact: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("medfact.models.services.failures.FAILURES_TO_PAUSE", 12)
    with MockService(Behaviour(max_answers=30, final_fault="500")) as service:
        outcome = medfact(
            "run", "--facts", facts_file, "--shots", 0, "--db", store.url, "--model", "openai:m", "--base-url", service.base_url
        )
        assert outcome.code == 3
        assert re.search(r"gave 3\d answers, and none to the last 12 calls", outcome.err)
        assert outcome.rows[0]["state"] == PAUSED
        service.behaviour = Behaviour()
        again = medfact("resume", outcome.rows[0]["run"], "--db", store.url)
    assert again.code == 0, again.err
    assert (again.rows[0]["state"], again.rows[0]["answered"]) == (COMPLETE, again.rows[0]["statements"])


@pytest.mark.parametrize(
    "message",
    [
        "'logprobs' is not supported with this model.",
        "This model does not support 'temperature'.",
        "Not allowed: in this mouse model it was not found. True or false?",
    ],
)
def test_what_speaks_of_a_parameter_or_of_the_prompt_is_no_unknown_model(message: str) -> None:
    body = json.dumps({"error": {"message": message}}).encode()
    quoted = ["in this mouse model it was not found. True or false?"]
    assert failure_from_status(400, body, {}, Endpoint("h", "m", KEY), quoted).action is Action.CHANGE_PARAMETERS


def test_every_call_in_vain_counts_in_the_budget(facts_file: Path, store: Store) -> None:
    """Replies that are no replies are paid for all the same: at $2.50 a million tokens, 3 or 4 of about 30 tokens."""
    spec = spec_at("", facts_file, key=KEY)
    with MockService(Behaviour(constant_fault="nothing")) as service:
        spec = RunSpec(
            model="openai:gpt-4o",
            facts=spec.facts,
            shots=0,
            budget=0.0003,
            service=ServiceSettings(base_url=service.base_url, in_flight=1, key=KEY),
        )
        last = finished_event(run(spec, store))
        assert len(service.calls) <= 6
    assert "budget" in str(last.reason)


def test_the_commonest_failure_is_told(facts_file: Path, store: Store, medfact: Callable[..., Any]) -> None:
    with MockService(Behaviour(prompt_faults={"long": 0.1})) as service:
        outcome = medfact(
            "run", "--facts", facts_file, "--shots", 0, "--db", store.url, "--model", "openai:m", "--base-url", service.base_url
        )
    assert outcome.code == 3
    failed = outcome.rows[0]["failed"]
    assert (
        f"openai:m: {failed} of the {failed} failed calls: the service refuses (HTTP 400): This model's maximum" in outcome.err
    )


# ------------------------------------------------------------------------- services of other kinds


def test_a_service_that_only_streams_is_read(load_service_model: ModelLoader) -> None:
    prompts = make_prompts(20)
    with MockService(Behaviour(is_streaming=True)) as service:
        got = dict(load_service_model(service).complete(prompts))
    assert matches_service(prompts, got)
    assert all(done.text is not None and done.served is not None and done.served.prompt_tokens for done in got.values())


def test_a_service_that_ignores_log_probabilities_is_noted(facts_file: Path, store: Store) -> None:
    with MockService(Behaviour(ignores_logprobs=True)) as service:
        last = finished_event(run(spec_at(service, facts_file, key=KEY), store))
    notes = " ".join(store.run(last.run).notes)
    assert "The service returns no log-probabilities although they are requested" in notes
    assert "--repeats 5" in notes


@pytest.mark.parametrize("chosen", [True, False], ids=["chosen", "by itself"])
def test_a_model_without_a_chat_template_is_asked_to_complete_a_text(load_service_model: ModelLoader, chosen: bool) -> None:
    prompts = make_prompts(20)
    with MockService(Behaviour(rejects_messages=not chosen)) as service:
        model = load_service_model(service, completions=chosen, in_flight=4)
        got = dict(model.complete(prompts))
        assert matches_service(prompts, got)
        assert {done.failure for done in got.values()} == {None}
        completed = [call for call in service.calls if call.path == "/v1/completions"]
        assert len(completed) == 20
        assert len(service.calls) <= 20 + (0 if chosen else 4)
        assert all("messages" not in call.body and call.body["max_tokens"] == 256 for call in completed)
    assert bool(model.notes) is not chosen
    assert model.info["decoding"]["completions"] is True


def test_turns_cannot_be_completed() -> None:
    with pytest.raises(ModelError, match="no turns"):
        ServiceSettings(completions=True, shots_as_turns=True)


# ------------------------------------------------------------------------- replies that were cut off


def test_a_service_that_stops_before_it_answers_is_asked_without_a_stop(load_service_model: ModelLoader) -> None:
    """It thinks aloud, or begins with an empty line: a stop at a line's end would cut everything away."""
    prompts = [Prompt(f"Question {number}", CHOICES, stop="\n", place=lambda reply: None) for number in range(12)]
    with MockService(Behaviour(reply_text="\n\nTrue\nand so on")) as service:
        model = load_service_model(service, in_flight=2, completions=True)
        got = dict(model.complete(prompts))
        assert {done.text for done in got.values()} == {"\n\nTrue"}
        assert len(service.calls) <= 12 + 2
        assert sum("stop" in call.body for call in service.calls) <= 2
    assert "stops before the answer" in model.notes[0]


def test_p_true_of_a_services_reply_is_that_of_its_deciding_word() -> None:
    """ "It is not wrong": the reading turns "wrong" round, and its token is the third."""
    said = ["Answer", ":", " True", " There", " is", " no", " doubt"]
    masses = {" True": (-0.1, -2.5), " no": (-9.0, -0.1)}
    positions = [
        {
            "token": token,
            "logprob": -0.1,
            "top_logprobs": [
                {"token": word, "logprob": p} for word, p in zip((" True", " no"), masses.get(token, (-9, -9)), strict=True)
            ],
        }
        for token in said
    ]
    choice = {"message": {"content": "".join(said)}, "logprobs": {"content": positions}, "finish_reason": "stop"}
    prompt = make_prompt("x", (), chat=True, reading="last-word")
    done = completion_of(json.dumps({"choices": [choice]}).encode(), prompt)
    assert read_answer(done.text or "", "last-word") is True
    assert done.p_true is not None
    assert done.p_true > 0.9


NAMES_OF_PARTS = ["content", "tokens", "token_logprobs", "top_logprobs", "token", "logprob", "text"]

ODD = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.sampled_from(["True", " False", "", "tokens", "content"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(NAMES_OF_PARTS), inner, max_size=4),
    max_leaves=12,
)
"""What a service may send in place of anything."""


@given(logprobs=st.dictionaries(st.sampled_from(NAMES_OF_PARTS), ODD, max_size=4), other=ODD)
@example(logprobs={"tokens": ["True"], "token_logprobs": 5, "top_logprobs": 5}, other=None)
def test_whatever_a_service_says_of_probabilities_breaks_nothing(logprobs: object, other: object) -> None:
    for choice in (
        {"message": {"content": "True"}, "logprobs": logprobs},
        {"text": "True", "logprobs": logprobs, "finish_reason": other},
        {"message": other, "logprobs": logprobs},
    ):
        body = json.dumps({"choices": [choice], "usage": other, "model": other}).encode()
        with contextlib.suppress(Malformed):
            done = completion_of(body, make_prompt("x", (), chat=True))
            assert done.p_true is None or 0 <= done.p_true <= 1
