"""What a service refuses: a parameter, in any service's words; one prompt; or everything."""

import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from odd_service import Reply, Request, ScriptedService, chat_reply, error_body
from recorded import finished_event
from service_models import KEY, ModelLoader, make_prompts
from service_models import load_service_model as load_service_model

from medfact.errors import ModelError
from medfact.models import ServiceSettings
from medfact.models.services.named import named_services
from medfact.runs.events import Failed, Finished, Loading
from medfact.runs.run import run
from medfact.spec import RunSpec
from medfact.store import COMPLETE, FAILED_RUN, PAUSED, STOPPED, Store

__all__ = ["load_service_model"]


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("medfact.models.services.schedule.wait_before", lambda *_, **__: 0.0)


def refusing(name: str, reply: Reply, above: float | None = None) -> Callable[[Request], Reply]:
    """A service that refuses a parameter, or more of it than so much."""

    def replies(request: Request) -> Reply:
        value = request.body.get(name)
        return reply if value is not None and (above is None or value > above) else Reply(chat_reply("True"))

    return replies


# ------------------------------------------------------------------------------------------------ parameters

LOGPROBS = [
    (403, error_body("You are not allowed to request logprobs from this model", type="invalid_request_error")),
    (400, [error_body("Logprobs is not enabled for models/gemini-2.5-flash", code=400, status="INVALID_ARGUMENT")]),
    (400, error_body("Unable to submit request because responseLogprobs is not supported", code=400)),
    (404, error_body("This model does not support logprobs")),
    (405, error_body("LOGPROBS not supported")),
    (406, {"detail": "log_probs is not supported"}),
    (422, {"detail": [{"loc": ["body", "logprobs"], "msg": "Extra inputs are not permitted"}]}),
    (424, {"message": "the engine was built without log probabilities"}),
    (501, error_body("logprobs is not implemented")),
    (400, error_body("Unsupported parameter", param="logprobs")),
    (400, {"error": "`logprobs` is unsupported for this deployment"}),
    (400, error_body("Provider returned error", metadata={"raw": '{"error": {"message": "logprobs are not supported"}}'})),
    (200, error_body("logprobs are not supported with reasoning models", code=400)),
]


@pytest.mark.parametrize(("status", "body"), LOGPROBS, ids=lambda value: str(value)[:60])
def test_log_probabilities_that_are_refused_are_left_out(load_service_model: ModelLoader, status: int, body: Any) -> None:
    with ScriptedService(refusing("logprobs", Reply(body, status))) as service:
        model = load_service_model(service.base_url, in_flight=2)
        got = dict(model.complete(make_prompts(6)))
        assert {done.text for done in got.values()} == {"True"}
        assert model.notes == ("The service returns no log-probabilities for this model, so P(True) is unknown.",)
        assert len(service.requests) <= 6 + 3
    assert model.info["decoding"]["p_true"] == "none"


FEWER = [
    (400, "Requested sample logprobs of 20, which is greater than max allowed: 5"),
    (422, "Input validation error: `top_n_tokens` must be >= 0 and <= 5. Given: 20"),
    (400, "Invalid 'top_logprobs': integer above maximum value. Expected a value <= 5, but got 20 instead."),
    (403, "TOP_LOGPROBS must be between 0 and 5"),
    (400, "top_logprobs: Input should be less than or equal to 5"),
    (400, "The number of logprobs may not exceed 5"),
    (501, "top-logprobs above 5 is not implemented, at most 5"),
]


@pytest.mark.parametrize(("status", "words"), FEWER)
def test_fewer_alternatives_are_requested_where_so_many_are_refused(
    load_service_model: ModelLoader, status: int, words: str
) -> None:
    with ScriptedService(refusing("top_logprobs", Reply(error_body(words), status), above=5)) as service:
        model = load_service_model(service.base_url, in_flight=2)
        got = dict(model.complete(make_prompts(4)))
        assert {done.text for done in got.values()} == {"True"}
        assert service.requests[-1].body["top_logprobs"] == 5
    assert model.notes == ("The service returns at most 5 alternatives per token.",)


OTHERS = [
    ("temperature", 400, "'temperature' does not support 0.0 with this model. Only the default (1) is.", "its default"),
    ("temperature", 403, "Invalid Temperature: only 1 is allowed for this model", "its default"),
    ("temperature", 501, "temperature is not implemented", "its default"),
    ("seed", 400, "Unknown parameter: 'Seed'", "a seed"),
    ("seed", 422, "random_seed: extra fields not permitted", "a seed"),
    ("max_tokens", 400, "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead.", "max_completion_tokens"),
    ("max_tokens", 403, "MAX_TOKENS is not supported", "max_completion_tokens"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "status", "words", "note"), OTHERS)
def test_other_parameters_give_way_too(load_service_model: ModelLoader, name: str, status: int, words: str, note: str) -> None:
    with ScriptedService(refusing(name, Reply(error_body(words), status))) as service:
        model = load_service_model(service.base_url, in_flight=1, seed=3)
        ((_, done),) = model.complete(make_prompts(1))
        assert done.text == "True"
        assert name not in service.requests[-1].body
        assert service.requests[-1].body["logprobs"] is True  # nothing else was left out
    assert len(model.notes) == 1
    assert note in model.notes[0]


@pytest.mark.parametrize("name", ["random_seed", None])
def test_a_seed_is_sent_under_the_services_own_name(
    load_service_model: ModelLoader, monkeypatch: pytest.MonkeyPatch, name: str | None
) -> None:
    sent = name or "seed"
    with ScriptedService(refusing(sent, Reply(error_body("Not permitted", param=sent), 422))) as service:
        row = replace(named_services()[0], address=service.base_url, seed=name)
        monkeypatch.setattr("medfact.models.services.named.named_services", lambda: (row,))
        model = load_service_model(service.base_url, in_flight=1, seed=3)
        ((_, done),) = model.complete(make_prompts(1))
        assert done.text == "True"
        assert [{key: value for key, value in request.body.items() if "seed" in key} for request in service.requests] == [
            {sent: 3},
            {},
        ]
    assert model.notes == ("The service does not accept a seed for this model.",)


@pytest.mark.parametrize("words", ["stop is not supported with this model", "Stop sequences are not supported"])
def test_a_refused_stop_gives_way_where_texts_are_completed(load_service_model: ModelLoader, words: str) -> None:
    (prompt,) = make_prompts(1)
    with ScriptedService(refusing("stop", Reply(error_body(words), 403))) as service:
        model = load_service_model(service.base_url, completions=True)
        ((_, done),) = model.complete([replace(prompt, stop="\n")])
        assert done.failure is None or done.failure.startswith("an incomplete reply")
        assert "stop" not in service.requests[-1].body
    assert "stop sequence" in model.notes[0]


def test_a_limit_above_what_is_allowed_is_lowered(load_service_model: ModelLoader) -> None:
    words = "max_tokens is too large: 256. This model supports at most 128 completion tokens."
    with ScriptedService(refusing("max_tokens", Reply(error_body(words), 400), above=128)) as service:
        model = load_service_model(service.base_url)
        ((_, done),) = model.complete(make_prompts(1))
        assert (done.text, service.requests[-1].body["max_tokens"]) == ("True", 128)
    assert model.notes == ("The service allows at most 128 tokens in a reply.",)


@pytest.mark.parametrize(
    "reply",
    [
        Reply({}, 400),
        Reply(error_body("invalid_request_error"), 403),
        Reply({"detail": "unexpected field"}, 422),
        Reply("no", 501),
    ],
    ids=lambda reply: f"{reply.status} {reply.body}",
)
def test_where_first_calls_fail_unexplained_they_are_tried_without_log_probabilities(
    load_service_model: ModelLoader, reply: Reply
) -> None:
    with ScriptedService(refusing("logprobs", reply)) as service:
        model = load_service_model(service.base_url, in_flight=8)
        got = dict(model.complete(make_prompts(200)))
        assert {done.failure for done in got.values()} == {None}
        # Two tries are proof. Until their replies are here, calls go on with log-probabilities: some 40, or a few more.
        assert len(service.requests) < 200 + 100
    assert model.notes[0].startswith(
        "The service returns no log-probabilities for this model, so P(True) is unknown. Calls that"
    )


def test_one_call_that_fails_by_chance_costs_no_log_probabilities(load_service_model: ModelLoader) -> None:
    with ScriptedService(lambda request: Reply({}, 400) if request.number == 0 else Reply(chat_reply("True"))) as service:
        model = load_service_model(service.base_url, in_flight=1)
        got = dict(model.complete(make_prompts(5)))
        assert {done.text for done in got.values()} == {"True"}
        assert service.requests[-1].body["logprobs"] is True
    assert model.notes == ()


def test_one_failed_try_of_a_service_that_breaks_costs_no_log_probabilities(load_service_model: ModelLoader) -> None:
    with ScriptedService(lambda request: Reply({}, 500) if request.number < 3 else Reply(chat_reply("True"))) as service:
        model = load_service_model(service.base_url, in_flight=2)
        dict(model.complete(make_prompts(5)))
        assert all(request.body["logprobs"] is True for request in service.requests)


# ------------------------------------------------------------------------------------------------ one prompt


def spec_at(service: ScriptedService, facts: Path, **settings: Any) -> RunSpec:
    own = ServiceSettings(base_url=service.base_url, key=KEY, timeout=10, **settings)
    return RunSpec(model="openai:m", facts=str(facts), shots=0, limit=2, service=own)


MODERATED = [
    (403, error_body('Your chosen model requires moderation and your input was flagged for "self-harm".', code=403)),
    (
        400,
        error_body(
            "The response was filtered due to the prompt triggering the content management policy.", code="content_filter"
        ),
    ),
    (400, error_body("Output data may contain inappropriate content.", code="data_inspection_failed")),
    (400, error_body("Content Exists Risk", type="invalid_request_error")),
    (451, error_body("This request violates our usage policies.")),
    (403, error_body("Request blocked", innererror={"code": "ResponsibleAIPolicyViolation"})),
    (200, error_body("Your input was flagged by the moderation", code=403)),
]


@pytest.mark.parametrize(("status", "body"), MODERATED, ids=lambda value: str(value)[:50])
def test_a_prompt_that_a_filter_holds_back_is_unreadable_and_the_others_are_asked(
    status: int, body: Any, facts_file: Path, store: Store
) -> None:
    with ScriptedService(
        lambda request: Reply(body, status) if request.number % 5 == 0 else Reply(chat_reply("True"))
    ) as service:
        last = finished_event(run(spec_at(service, facts_file), store))
    assert (last.state, last.failed) == (COMPLETE, 0)
    cut = [item.answer for item in store.answers.asked(last.run) if item.answer and item.answer.cut == "content_filter"]
    assert len(cut) == 7  # 32 statements, each fifth call from the first
    assert {answer.answer for answer in cut} == {None}


FIREWALL = "<!DOCTYPE html><html><head><title>Attention Required! | Firewall</title></head><body>no</body></html>"
REFUSED = [
    (403, FIREWALL, "a web page instead of a reply (HTTP 403): Attention Required! | Firewall"),
    (406, FIREWALL, "a web page instead of a reply (HTTP 406): Attention Required! | Firewall"),
    (403, error_body("Forbidden"), "the service refuses (HTTP 403): Forbidden"),
    (413, error_body("Payload too large"), "the service refuses (HTTP 413): Payload too large"),
    (404, error_body("Not here"), "the service refuses (HTTP 404): Not here"),
    (400, error_body("I do not like this one"), "the service refuses (HTTP 400): I do not like this one"),
]


@pytest.mark.parametrize(("status", "body", "words"), REFUSED)
def test_one_refused_prompt_fails_alone(status: int, body: Any, words: str, facts_file: Path, store: Store) -> None:
    with ScriptedService(
        lambda request: Reply(body, status) if request.number in (5, 9) else Reply(chat_reply("True"))
    ) as service:
        last = finished_event(run(spec_at(service, facts_file, in_flight=1), store))
    assert (last.state, last.failed) == (COMPLETE, 2)
    failures = [item.answer.failure for item in store.answers.asked(last.run) if item.answer and item.answer.failure]
    assert failures == [f"{words} (1 try)"] * 2
    assert all(
        item.answer and item.answer.answer is None
        for item in store.answers.asked(last.run)
        if item.answer and item.answer.failure
    )


def test_a_first_prompt_that_is_refused_does_not_end_the_run(facts_file: Path, store: Store) -> None:
    with ScriptedService(lambda request: Reply(FIREWALL, 403) if request.number == 0 else Reply(chat_reply("True"))) as service:
        last = finished_event(run(spec_at(service, facts_file, in_flight=1), store))
    assert (last.state, last.failed) == (COMPLETE, 1)


# ------------------------------------------------------------------------------------------------ everything

ALL_ALIKE = [
    (403, error_body("Your country is not supported"),
     "does not let this key use 'm'. It says: Your country is not supported."),
    (403, FIREWALL, "127.0.0.1 answers with a web page (HTTP 403): Attention Required! | Firewall."),
    (404, error_body("No endpoints found for foo/bar.", code=404),
     "has no model 'm'. It says: No endpoints found for foo/bar."),
    (404, error_body("The deployment for this resource does not exist.", code="DeploymentNotFound"),
     "127.0.0.1 has no model 'm'."),
    (404, error_body("models/m is not found for API version v1beta"), "127.0.0.1 has no model 'm'."),
    (404, {"error": 'model "m" not found, try pulling it first'}, "127.0.0.1 has no model 'm'."),
    (404, error_body("No allowed providers are available for the selected model."), "127.0.0.1 has no model 'm'."),
    (400, error_body("x", code="model_not_found"), "127.0.0.1 has no model 'm'."),
    (404, {"detail": "Not Found"}, "127.0.0.1 answers, but not as a model service."),
    (402, error_body("Insufficient credits"), "The quota at 127.0.0.1 is used up. It says: Insufficient credits."),
    (400, error_body("Your credit balance is too low"), "The quota at 127.0.0.1 is used up."),
    (400, error_body("tea time"), "the service refuses (HTTP 400): tea time."),
    (404, error_body("This model is only supported in v1/responses and not in v1/chat/completions."),
     "only answers at /responses"),
    (400, error_body("Please use the responses endpoint for m"), "only answers at /responses, which medfact"),
    (400, error_body("m is not accessible via the /chat/completions endpoint"), "'m' at 127.0.0.1 only answers at /responses"),
    (498, error_body("Invalid token"), "127.0.0.1 rejected this key. It says: Invalid token."),
    (400, {"Message": "tea"}, "(HTTP 400): tea."),
    (400, {"Error": {"Message": "tea"}}, "(HTTP 400): tea."),
    (400, {"errors": [{"message": "tea"}, {"message": "cake"}]}, "(HTTP 400): tea."),
    (400, {"errors": {"body": ["tea"]}, "title": "Wrong"}, "(HTTP 400): body: tea."),
    (400, {"detail": [{"loc": ["body", "x"], "msg": "tea"}]}, "(HTTP 400): body.x: tea."),
    (400, {"errorMessage": "tea"}, "(HTTP 400): tea."),
    (400, {"error": 'upstream: {"error": {"msg": "tea"}}'}, "(HTTP 400): upstream: tea."),
    (400, "tea in plain words", "(HTTP 400): tea in plain words."),
]  # fmt: skip


@pytest.mark.parametrize(("status", "body", "words"), ALL_ALIKE, ids=lambda value: str(value)[:50])
def test_a_run_whose_first_calls_all_fail_alike_ends_in_the_service_s_words(
    status: int, body: Any, words: str, facts_file: Path, store: Store
) -> None:
    with ScriptedService(Reply(body, status)) as service:
        *_, last = run(spec_at(service, facts_file), store)
    assert isinstance(last, Failed)
    assert words in str(last.error)
    assert store.run(last.run).state == FAILED_RUN


def test_a_short_run_that_is_refused_throughout_ends_so_too(load_service_model: ModelLoader) -> None:
    with (
        ScriptedService(Reply(error_body("no"), 403)) as service,
        pytest.raises(ModelError, match="does not let this key use 'mock'"),
    ):
        list(load_service_model(service.base_url).complete(make_prompts(2)))


def test_no_key_is_in_the_words_of_a_service(load_service_model: ModelLoader) -> None:
    refusal = Reply(error_body(f"key {KEY} may not, nor Bearer abc.def"), 403)
    with ScriptedService(refusal) as service, pytest.raises(ModelError) as raised:
        list(load_service_model(service.base_url).complete(make_prompts(2)))
    assert "key *** may not, nor ***" in str(raised.value)


# ------------------------------------------------------------------------------------------------ waits


@pytest.mark.parametrize(
    "after",
    [
        "Mon, 01 Jan 2025 00:00:00 +99999999999999", "Mon, 99 Jan 2025 00:00:00 GMT", "Mon, 01 Jan 99999 00:00:00 GMT",
        "0001-01-01", "-1e999", "9" * 400, "1e999", "nan", "soon", "Fri, 31 Dec 0000 23:59:59 GMT", ",", "12:00",
        "Mon, 01 Jan 0001 00:00:00 +2359",
    ],
)  # fmt: skip
def test_an_absurd_wait_is_no_error(load_service_model: ModelLoader, after: str) -> None:
    first = Reply(error_body("slow down"), 429, {"Retry-After": after, "Retry-After-Ms": "soon"})
    with ScriptedService(lambda request: first if request.number == 0 else Reply(chat_reply("True"))) as service:
        ((_, done),) = load_service_model(service.base_url).complete(make_prompts(1))
    assert done.text == "True"


# ------------------------------------------------------------------------- tokens that do not tell


def with_tokens(*tokens: str) -> Reply:
    """Answers True; its token and the alternatives are these, equally likely."""
    entries = [{"token": token, "logprob": math.log(1 / len(tokens))} for token in tokens]
    body = chat_reply("True")
    body["choices"][0]["logprobs"] = {"content": [{**entries[0], "top_logprobs": entries}]}
    return Reply(body)


def test_tokens_that_do_not_tell_are_not_called_missing(load_service_model: ModelLoader) -> None:
    with ScriptedService(with_tokens("§1", "§2")) as service:
        model = load_service_model(service.base_url)
        got = dict(model.complete(make_prompts(16)))
    assert {(done.text, done.p_true, done.p_mass) for done in got.values()} == {("True", None, 0.0)}
    (note,) = model.notes
    assert "its tokens do not show True and False apart" in note
    assert "returns no log-probabilities" not in note


def test_groups_of_letters_tell(load_service_model: ModelLoader) -> None:
    with ScriptedService(with_tokens("Tr", "Fal")) as service:
        model = load_service_model(service.base_url)
        got = dict(model.complete(make_prompts(16)))
    assert {(done.p_true, done.p_mass) for done in got.values()} == {(0.5, 1.0)}
    assert model.notes == ()


@pytest.mark.parametrize(
    ("status", "words"),
    [
        (424, "the model is not ready"), (425, "too early"), (498, "Flex tier capacity exceeded"), (499, "closed"),
        (529, "Overloaded"), (403, "m is still loading"), (400, "The model is currently overloaded. Please try again later."),
    ],
)  # fmt: skip
def test_what_may_pass_is_tried_again(status: int, words: str, facts_file: Path, store: Store) -> None:
    seen = set[str]()

    def reply(request: Request) -> Reply:
        is_first = request.prompt not in seen
        seen.add(request.prompt)
        return Reply(error_body(words), status) if is_first and request.number % 3 == 2 else Reply(chat_reply("True"))

    with ScriptedService(reply) as service:
        last = finished_event(run(spec_at(service, facts_file, in_flight=1), store))
        assert len(service.requests) > len(seen)
    assert (last.state, last.failed) == (COMPLETE, 0)


DAY = "Rate limit reached on tokens per day (TPD): Limit 100000, Used 97050, Requested 3619. Please try again in {after}."


def limited(after: str, answers: int, headers: dict[str, str] | None = None) -> Callable[[Request], Reply]:
    """A service whose limit is used up after so many answers."""
    refusal = Reply(error_body(DAY.format(after=after), code="rate_limit_exceeded"), 429, headers or {})
    return lambda request: Reply(chat_reply("True")) if request.number < answers else refusal


def test_a_long_wait_is_said_and_nothing_is_asked_meanwhile(facts_file: Path, store: Store) -> None:
    with ScriptedService(limited("9m38.016s", 8)) as service:
        spec, told, asked = spec_at(service, facts_file, in_flight=4, tries=2), list[str](), list[int]()
        for event in run(spec, store, stopped=lambda: bool(told)):
            if isinstance(event, Loading) and "asks to wait" in event.step:
                told.append(event.step)
                asked.append(len(service.requests))
        assert len(service.requests) <= 8 + 4
    assert told == [f"127.0.0.1 asks to wait 9m38s: {DAY.format(after='9m38.016s')}"]
    (record,) = store.runs()
    answers = [item.answer for item in store.answers.asked(record.run) if item.answer]
    assert (record.state, len(answers)) == (STOPPED, 8)
    assert not any(answer.failure for answer in answers)


def test_a_wait_that_passes_is_no_try(facts_file: Path, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("medfact.models.services.failures.LONG_WAIT_SECONDS", 0.0)
    wait = Reply(error_body("slow down"), 429, {"Retry-After-Ms": "10"})
    with ScriptedService(lambda request: wait if 3 < request.number < 12 else Reply(chat_reply("True"))) as service:
        events = list(run(spec_at(service, facts_file, in_flight=1, tries=1), store))
    assert isinstance(events[-1], Finished)
    assert (events[-1].state, events[-1].failed) == (COMPLETE, 0)
    assert any(isinstance(event, Loading) and event.step == "127.0.0.1 asks to wait 0s: slow down" for event in events)


WAITS = [
    ("9m38s", {"Retry-After": "86400"}, "127.0.0.1 asks to wait 1d, until 2026-01-02 00:00 UTC. It says: Rate limit reached"),
    ("20m", {}, "127.0.0.1 asks to wait 20m, until 2026-01-01 00:20 UTC."),
    ("1s", {"Retry-After": "Thu, 01 Jan 2026 03:00:00 GMT"}, "127.0.0.1 asks to wait 3h, until 2026-01-01 03:00 UTC."),
    ("a while", {}, "127.0.0.1 takes no more calls for now, and does not say how long. It says: Rate limit reached"),
]


@pytest.mark.parametrize(("after", "headers", "words"), WAITS)
def test_a_run_pauses_where_the_wait_is_long_and_goes_on_later(
    after: str,
    headers: dict[str, str],
    words: str,
    facts_file: Path,
    store: Store,
    medfact: Callable[..., Any],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("medfact.models.services.pacing.clock", lambda: 1_767_225_600.0)
    with ScriptedService(limited(after, 8, headers)) as service:
        common = ("--facts", facts_file, "--shots", 0, "--limit", 2, "--db", store.url, "--in-flight", 2)
        outcome = medfact("run", *common, "--model", "openai:m", "--base-url", service.base_url)
        assert outcome.code == 3
        assert words in outcome.err
        assert "esume the run" in outcome.err
        (row,) = outcome.rows
        assert (row["state"], row["answered"], row["failed"]) == (PAUSED, 8, 0)
        assert words in row["reason"]
        assert len(service.requests) <= 8 + 2
        before = len(service.requests)
        early = medfact("resume", row["run"], "--db", store.url)
        assert (early.code, early.rows[0]["state"]) == (3, PAUSED)
        assert words in early.err
        assert len(service.requests) <= before + 2
        service._replies = lambda _: Reply(chat_reply("True"))
        later = medfact("resume", row["run"], "--db", store.url)
        assert (later.code, later.rows[0]["state"], later.rows[0]["answered"]) == (0, COMPLETE, row["statements"])
