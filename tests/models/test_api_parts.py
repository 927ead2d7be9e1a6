"""Parts of asking a service, on their own terms: P(True) from alternatives, pacing, parameters that give way, error bodies."""

import asyncio
import json
import math
import statistics
from math import inf

import pytest
from hypothesis import given
from hypothesis import strategies as st

from medfact.answers import make_prompt
from medfact.models import Completion, Prompt, Served
from medfact.models.services import pacing
from medfact.models.services.alternatives import AnswerProbability, answer_probability
from medfact.models.services.failures import Action, Endpoint
from medfact.models.services.pacing import Gate, in_units, retry_after, wait_before
from medfact.models.services.parameters import Parameters, parameters_of, without_refused
from medfact.models.services.refusals import failure_from_status
from medfact.models.services.replies import Malformed, combined, completion_of
from medfact.models.services.settings import ServiceSettings

CHOICES = (("True", "Yes"), ("False", "No"))
ENDPOINT = Endpoint("api.example.org", "gpt", "sk-0123456789abcdef")


def position(said: str, **alternatives: float) -> dict[str, object]:
    """A token's position; an underscore in front of an alternative is a space; one behind is nothing."""
    entries = [{"token": token.rstrip("_").replace("_", " "), "logprob": math.log(p)} for token, p in alternatives.items()]
    return {"token": said, "logprob": -0.1, "top_logprobs": entries}


# ------------------------------------------------------------------------------------------------ P(True)


def test_spellings_of_a_side_are_added_up() -> None:
    found = answer_probability([position("True", True_=0.4, _true=0.1, YES=0.1, False_=0.3, no=0.05, The=0.05)], CHOICES)
    assert found.p_true == pytest.approx(0.6 / 0.95)  # (0.4 + 0.1 + 0.1) / (0.6 + 0.3 + 0.05)
    assert found.p_mass == pytest.approx(0.95)
    assert (found.p_low, found.p_high) == (None, None)  # all of it is seen


def test_what_is_unseen_may_be_all_true_or_all_false() -> None:
    found = answer_probability([position("True", True_=0.5, False_=0.2, The=0.1)], CHOICES)
    assert found.p_true == pytest.approx(0.5 / 0.7)
    assert found.p_low == pytest.approx(0.5 / 0.9)  # 1 - 0.5 - 0.2 - 0.1 = 0.2 is unseen
    assert found.p_high == pytest.approx(0.7 / 0.9)


@given(st.lists(st.floats(0.001, 1), min_size=6, max_size=12), st.integers(2, 12))
def test_bounds_hold_the_truth_whatever_is_hidden(weights: list[float], shown: int) -> None:
    tokens = ["True", "False", " true", " no", "The", "YES", "FALSE", "It", "yes", "No", "**", "TRUE"][: len(weights)]
    p = {token: weight / sum(weights) for token, weight in zip(tokens, weights, strict=True)}
    true = sum(p[token] for token in p if token.strip().lower() in ("true", "yes"))
    false = sum(p[token] for token in p if token.strip().lower() in ("false", "no"))
    seen = sorted(p, key=lambda token: -p[token])[:shown]
    entries = [{"token": token, "logprob": math.log(p[token])} for token in seen]
    found = answer_probability([{"token": seen[0], "logprob": math.log(p[seen[0]]), "top_logprobs": entries}], CHOICES)
    if found.p_low is not None and found.p_high is not None:
        assert found.p_low - 1e-9 <= true / (true + false) <= found.p_high + 1e-9
    elif found.p_true is not None:
        assert found.p_true == pytest.approx(true / (true + false), abs=1e-5)


def test_the_first_answer_word_counts_else_the_first_token() -> None:
    first, answer = position("It", True_=0.1, It=0.9), position("false", true=0.25, false=0.75)
    assert answer_probability([first, position(" is", _is=1.0), answer], CHOICES).p_true == pytest.approx(0.25)
    assert answer_probability([first, position(" is", _is=1.0)], CHOICES).p_true == 1.0  # 0.1 of True, nothing of False is seen
    assert answer_probability([position("It", It=1.0)], CHOICES) == AnswerProbability(p_mass=0.0)
    assert answer_probability([], CHOICES) == AnswerProbability()


GERMAN = (("wahr", "richtig", "ja", "true"), ("falsch", "unwahr", "nein", "false"))
CHINESE = (("正确", "对", "是", "true"), ("错误", "错", "否", "不正确", "false"))


@pytest.mark.parametrize(
    ("alternatives", "choices", "masses"),
    [
        ({"True. The": 0.6, "False. The": 0.3}, CHOICES, (0.6, 0.3)),
        ({"T": 0.6, "F": 0.3, "Y": 0.05, "I": 0.05}, CHOICES, (0.65, 0.3)),
        ({"Tr": 0.6, "Fal": 0.3, "Th": 0.1}, CHOICES, (0.6, 0.3)),
        ({" TRUE": 0.5, "▁True": 0.1, "Ġfalse": 0.2, "ĠFal": 0.1}, CHOICES, (0.6, 0.3)),
        ({"True": 0.6, "Fal": 0.3, "T": 0.1}, CHOICES, (0.6, 0.3)),  # beside words, a letter may begin any word
        ({"<0x54>": 0.6, "<0x46>": 0.3}, CHOICES, (0.6, 0.3)),  # T, F
        ({'"True"': 0.6, "**False**": 0.3}, CHOICES, (0.6, 0.3)),
        ({"True": 0.5, "True or False": 0.2, "Falsehood": 0.1, "False": 0.2}, CHOICES, (0.5, 0.2)),
        ({"Falsch, weil": 0.6, "Wah": 0.3}, GERMAN, (0.3, 0.6)),
        ({"正确，因为": 0.5, "正": 0.1, "不正确": 0.3}, CHINESE, (0.6, 0.3)),
        ({"不": 0.7, "对": 0.2}, CHINESE, (0.2, 0.7)),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, dict) else "",
)  # fmt: skip
def test_tokens_are_read_by_what_they_begin_with(
    alternatives: dict[str, float], choices: tuple[tuple[str, ...], tuple[str, ...]], masses: tuple[float, float]
) -> None:
    entries = [{"token": token, "logprob": math.log(p)} for token, p in alternatives.items()]
    found = answer_probability([{**entries[0], "top_logprobs": entries}], choices)
    assert found.p_mass == pytest.approx(sum(masses))
    assert found.p_true == pytest.approx(masses[0] / sum(masses))


def test_a_part_of_a_character_is_read_by_its_bytes() -> None:
    """正 is E6 AD A3, 错 is E9 94 99, and 对 and 否 both begin with E5."""
    entries = [
        {"token": f"bytes:{number}", "bytes": [number], "logprob": math.log(p)}
        for number, p in ((0xE6, 0.5), (0xE9, 0.25), (0xE5, 0.25))
    ]
    found = answer_probability([{**entries[0], "top_logprobs": entries}], CHINESE)
    assert (found.p_true, found.p_mass) == (pytest.approx(0.5 / 0.75), pytest.approx(0.75))


def test_what_stands_before_the_answer_in_its_token_is_passed_over() -> None:
    entries = [{"token": f"Answer: {word}", "logprob": math.log(p)} for word, p in (("True.", 0.6), ("False.", 0.2))]
    found = answer_probability([{**entries[0], "top_logprobs": entries}], CHOICES, lambda reply: reply.find("True"))
    assert found.p_true == pytest.approx(0.75)


def test_tokens_that_begin_alike_tell_nothing() -> None:
    entries = [{"token": token, "logprob": math.log(0.5)} for token in ("Answer: ", "The")]
    assert answer_probability([{**entries[0], "top_logprobs": entries}], CHOICES) == AnswerProbability(p_mass=0.0)


def test_a_token_that_is_not_among_its_alternatives_is_seen_too() -> None:
    said = {"token": "False", "logprob": math.log(0.1), "top_logprobs": [{"token": "True", "logprob": math.log(0.9)}]}
    assert answer_probability([said], CHOICES).p_true == pytest.approx(0.9)
    alone = {"token": "True", "logprob": math.log(0.7), "top_logprobs": []}
    found = answer_probability([alone], CHOICES)
    assert (found.p_low, found.p_high) == (pytest.approx(0.7), pytest.approx(1.0))


def test_a_token_that_its_alternatives_spell_otherwise_is_not_counted_twice() -> None:
    found = answer_probability([position("▁True", True_=0.7, False_=0.3) | {"logprob": math.log(0.7)}], CHOICES)
    assert found.p_true == pytest.approx(0.7)


@pytest.mark.parametrize("logprob", [None, -9999.0, float("-inf"), float("nan"), "x"])
def test_a_log_probability_that_is_none_is_no_mass(logprob: object) -> None:
    entries = [{"token": "True", "logprob": math.log(0.5)}, {"token": "False", "logprob": logprob}]
    assert answer_probability([{"token": "True", "logprob": -0.7, "top_logprobs": entries}], CHOICES).p_mass == pytest.approx(
        0.5
    )


# ------------------------------------------------------------------------------------------------ replies


def test_repeated_answers_count_where_they_can_be_read() -> None:
    prompt = make_prompt("x", (), chat=True)
    replies = [Completion("True"), Completion("False"), Completion("True"), Completion("Hm"), Completion(None, failure="late")]
    done = combined(replies, prompt)
    assert (done.text, done.p_true, done.p_mass) == ("True", 2.5 / 4, 0.75)  # (2 + 1/2) / (3 + 1), and 3 of 4 are read
    assert combined([Completion("Hm")], prompt).p_true is None
    served = [Served(prompt_tokens=30, attempts=2, wasted_tokens=20), Served(prompt_tokens=10)]
    total = combined([Completion("True", served=one) for one in served], prompt).served
    assert total == Served(prompt_tokens=40, attempts=3, wasted_tokens=20)  # what was wasted is paid for once
    assert combined([Completion(None, failure="late")] * 2, prompt) == Completion(None, failure="late")


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b'{"choices": []}',
        b"[]",
        b"null",
        b'{"choices": [{"message": null}]}',
        b'{"error": {"message": "x"}}',
        b"\xff",
    ],
)
def test_a_body_that_is_no_reply_is_malformed(body: bytes) -> None:
    with pytest.raises(Malformed) as raised:
        completion_of(body, Prompt("x", CHOICES))
    assert not raised.value.is_web_page


# ------------------------------------------------------------------------------------------------ pacing


def test_waits_double_up_to_a_bound_and_are_spread() -> None:
    for attempt, bound in ((1, 0.5), (2, 1.0), (3, 2.0), (7, 30.0), (50, 30.0)):
        drawn = [wait_before(attempt) for _ in range(400)]
        assert 0 <= min(drawn) < 0.1 * bound
        assert 0.9 * bound < max(drawn) <= bound
        assert statistics.mean(drawn) == pytest.approx(bound / 2, rel=0.2)
    assert max(wait_before(1, overloaded=True) for _ in range(400)) > 1.5
    assert all(5 <= wait_before(1, overloaded=True, requested=5.0) <= 5.1 for _ in range(50))


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ({}, None),
        ({"retry-after": "2.5"}, 2.5),
        ({"retry-after": "-3"}, 0.0),
        ({"retry-after": "86400"}, 86_400.0),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "Wed, 21 Oct 2015 07:28:00 GMT"}, 0.0),
        ({"retry-after": "Thu, 01 Jan 2026 01:00:00 GMT"}, 3_600.0),
        ({"retry-after": "Wed, 21 Oct 2099 07:28:00 GMT"}, None),
        ({"retry-after": "1767229200"}, 3_600.0),
        ({"retry-after": "6m0s"}, 360.0),
        (
            {
                "x-ratelimit-reset-requests": "2m59.5s",
                "x-ratelimit-remaining-requests": "0",
                "x-ratelimit-reset-tokens": "7s",
                "x-ratelimit-remaining-tokens": "500",
            },
            179.5,
        ),
        ({"X-RateLimit-Reset": "1767229200000", "X-RateLimit-Remaining": "0"}, 3_600.0),
        ({"limit-requests-reset": "2026-01-01T02:00:00Z", "limit-requests-remaining": "0"}, 7_200.0),
        ({"x-ratelimit-reset": "86400", "x-ratelimit-remaining": "3"}, None),
        ({"retry-after": "1", "retry-after-ms": "250"}, 0.25),
    ],
)
def test_what_a_service_asks_to_wait(monkeypatch: pytest.MonkeyPatch, headers: dict[str, str], expected: float | None) -> None:
    monkeypatch.setattr(pacing, "clock", lambda: NEW_YEAR_2026)
    assert retry_after(headers) == expected


NEW_YEAR_2026 = 1_767_225_600.0


@pytest.mark.parametrize(
    ("words", "named", "expected"),
    [
        ("Limit 100000, Used 97050, Requested 3619. Please try again in 9m38.016s.", (), 578.016),
        ("Rate limit reached. Please try again in 6ms.", (), 0.006),
        ("Please retry after 24 hours", (), 86_400.0),
        ("Requests have exceeded the call rate limit. Please retry after 86400 seconds.", (), 86_400.0),
        ("Try again in 1 hour and 5 minutes.", (), 3_900.0),
        ("Your limit resets in 3 hours", (), 10_800.0),
        ("Limit resets in 1d 2h 3m", (), 93_780.0),
        ("retry-after: 3600", (), 3_600.0),
        ("You may try again at 2026-01-01 12:00 UTC", (), 43_200.0),
        ("You have used up your daily limit of 1000 requests", (), inf),
        ("Too many tokens per day, please wait before trying again.", (), inf),
        ("The limits are 15 requests per minute and 1500 per day", (), None),
        ("slow down", (("retry_after", "3600"),), 3_600.0),
        ("slow down", (("resets_in_seconds", "7200"),), 7_200.0),
        ("quota", (("retryDelay", "26s"), ("quotaId", "InputTokensPerModelPerMinute-FreeTier")), 26.0),
        ("quota", (("retryDelay", "26s"), ("quotaId", "RequestsPerDayPerProject-FreeTier")), inf),
        ("free-models-per-day", (("X-RateLimit-Remaining", "0"), ("X-RateLimit-Reset", "1767261600000")), 36_000.0),
        ("this worked for 30 days", (), None),
    ],
)
def test_what_a_service_asks_to_wait_in_words(
    monkeypatch: pytest.MonkeyPatch, words: str, named: tuple[tuple[str, str], ...], expected: float | None
) -> None:
    monkeypatch.setattr(pacing, "clock", lambda: NEW_YEAR_2026)
    assert retry_after({}, words, named) == (None if expected is None else pytest.approx(expected))


@pytest.mark.parametrize(
    ("seconds", "words"), [(578.016, "9m38s"), (86_400, "1d"), (61, "1m1s"), (93_784, "1d2h"), (0.2, "0s")]
)
def test_a_wait_is_written_as_services_write_it(seconds: float, words: str) -> None:
    assert in_units(seconds) == words


def test_a_gate_that_is_held_stays_shut_for_as_long_whatever_succeeds() -> None:
    now = [100.0]

    async def use() -> None:
        gate = Gate(8, clock=lambda: now[0])
        await gate.enter()
        gate.hold(578)
        gate.hold(300)
        waiting = [asyncio.create_task(gate.enter()) for _ in range(3)]
        await asyncio.sleep(0)
        for now[0] in (101.0, 400.0, 677.9):
            gate.succeeded()
            gate.widen(8)
            await asyncio.sleep(0)
            assert [turn.done() for turn in waiting] == [False] * 3
        now[0] = 678.1
        gate.leave()
        await asyncio.gather(*waiting)

    asyncio.run(use())


def test_after_a_hold_one_call_goes_first() -> None:
    now = [100.0]

    async def use() -> None:
        gate = Gate(8, clock=lambda: now[0])
        gate.hold(90)
        waiting = [asyncio.create_task(gate.enter()) for _ in range(3)]
        await asyncio.sleep(0)
        now[0] = 191.0
        gate.widen(8)
        await asyncio.sleep(0)
        assert sum(turn.done() for turn in waiting) == 1
        gate.succeeded()
        await asyncio.gather(*waiting)

    asyncio.run(use())


def test_a_gate_halves_once_for_calls_that_were_out_together_and_grows_again() -> None:
    gate = Gate(32)
    for _ in range(2):
        gate.rejected(seconds=0.1)
    assert gate.limit == 32
    for _ in range(10):
        gate.rejected(seconds=0.1)
    assert gate.limit == 16  # the third one narrows it; the others were out already
    for _ in range(3):
        gate.rejected(seconds=-1.0)  # sent after the gate was narrowed
    assert gate.limit == 8
    for _ in range(6):
        gate.succeeded()
    assert gate.limit == 11  # one more for each two
    for _ in range(2 + 6):
        gate.succeeded()
    assert gate.limit == 13  # from 12 on, three quarters of the 16 that were too many, one more for each six
    for _ in range(6 * 20):
        gate.succeeded()
    assert gate.limit == 32


def test_a_few_calls_that_are_turned_away_do_not_narrow_a_gate() -> None:
    gate = Gate(32)
    for _ in range(20):
        for _ in range(9):
            gate.succeeded()
        gate.rejected(seconds=0.1)
    assert gate.limit == 32  # one in ten; more than one in eight would


def test_a_gate_lets_in_by_turns_and_keeps_no_place_for_those_who_left() -> None:
    async def use() -> list[int]:
        gate, order = Gate(1), []

        async def enter(number: int) -> None:
            await gate.enter()
            order.append(number)
            await asyncio.sleep(0.01)
            gate.leave()

        tasks = [asyncio.create_task(enter(number)) for number in range(5)]
        await asyncio.sleep(0)
        tasks[2].cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        assert gate.inside == 0
        await asyncio.wait_for(gate.enter(), 1)
        return order

    assert asyncio.run(use()) == [0, 1, 3, 4]


# ------------------------------------------------------------------------------------------------ parameters


def test_what_is_not_sent_cannot_give_way() -> None:
    bare = Parameters(None, None, None, None, limit_name=None)
    for message in ("temperature", "logprobs", "top_logprobs", "max_tokens", "seed", "the prompt"):
        assert without_refused(bare, message) is None
    assert without_refused(Parameters(0.0, 20, None, 1), "max_tokens is too large: the maximum context length is 8") is None
    assert without_refused(Parameters(0.0, 20, None, 1), "refused", "seed") is not None


def test_repeats_ask_for_no_temperature_and_give_each_turn_its_seed() -> None:
    terms = parameters_of(ServiceSettings(repeats=3, seed=10, max_tokens=4))
    prompt = Prompt("x", CHOICES)
    said = {"messages": [{"role": "user", "content": "x"}]}
    assert terms.body(prompt, 2) == {**said, "max_tokens": 4, "seed": 12}
    assert parameters_of(ServiceSettings(top_logprobs=0)).body(prompt) == {**said, "temperature": 0.0, "max_tokens": 256}


# ------------------------------------------------------------------------------------------------ errors


@pytest.mark.parametrize(
    ("status", "body", "action"),
    [
        (404, {"error": {"message": "The model 'gpt' does not exist", "code": "model_not_found"}}, "has no model 'gpt'"),
        (404, {"object": "error", "message": "The model `gpt` does not exist.", "type": "NotFoundError"}, "has no model 'gpt'"),
        (400, {"error": {"message": "x", "code": "model_not_found"}}, "has no model 'gpt'"),
        (
            400,
            {"error": {"message": "/chat/completions: Invalid model name passed in model=gpt. See `/v1/models`"}},
            "has no model 'gpt'",
        ),
        (400, {"error": {"message": "The model `gpt` does not exist"}}, "has no model 'gpt'"),
        (422, {"detail": "unknown model gpt"}, "has no model 'gpt'"),
        (400, {"object": "error", "message": "model gpt not found, try pulling it first"}, "has no model 'gpt'"),
        (404, {"detail": "Not Found"}, "not as a model service"),
        (405, "", "not as a model service"),
        (402, {"error": {"message": "Insufficient Balance"}}, "quota"),
        (429, {"error": {"message": "x", "type": "insufficient_quota", "code": None}}, "quota"),
        (429, {"error": {"message": "x", "type": "tokens", "code": "rate_limit_exceeded"}}, Action.RETRY),
        (502, "<html>", Action.RETRY),
        (413, {"error": "too large"}, Action.FAIL_PROMPT),
        (422, {"detail": [{"loc": ["body", "seed"]}]}, Action.CHANGE_PARAMETERS),
        (400, {"error": {"message": "x", "code": "content_filter"}}, Action.ACCEPT_FILTERED),
    ],
)
def test_errors_are_understood_as_services_write_them(status: int, body: object, action: object) -> None:
    failure = failure_from_status(status, json.dumps(body).encode(), {}, ENDPOINT)
    if isinstance(action, str):
        assert failure.action is Action.END_RUN
        assert action in str(failure.error)
    else:
        assert (failure.action, failure.error) == (action, None)


def test_no_message_holds_the_key() -> None:
    assert ENDPOINT.key not in repr(ENDPOINT) + repr(
        ServiceSettings(key=ENDPOINT.key, base_url=f"https://{ENDPOINT.key}@example.org")
    )
    for text in (f"bad key {ENDPOINT.key}", f"key {ENDPOINT.key[:12]}***", "Bearer abc", "use sk-other-key", "a\nb " * 200):
        line = ENDPOINT.scrubbed(text)
        assert ENDPOINT.key[:12] not in line
        assert "abc" not in line
        assert "sk-other" not in line
        assert "\n" not in line
        assert len(line) <= 301
