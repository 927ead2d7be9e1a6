"""What a service's reply means: why it ended, whether it failed, what its message says, in whatever shape and packing."""

import gzip
import json
import math
import re
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from odd_service import Reply, Request, ScriptedService, chat_reply, delta_event, error_body, event_stream
from service_models import CHOICES, ModelLoader, make_prompts
from service_models import load_service_model as load_service_model

from medfact.answers import read_answer
from medfact.errors import ModelError
from medfact.models import Completion, Prompt
from medfact.models.services.contents import ending_of
from medfact.models.services.parameters import CUT_BEFORE_ANSWER
from medfact.models.services.replies import READ_IN_THINKING, THINKING_ALONE, TOKENS_ESTIMATED, shortened

__all__ = ["load_service_model"]


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("medfact.models.services.schedule.wait_before", lambda *_, **__: 0.0)


def asked(load_service_model: ModelLoader, reply: Reply, **settings: Any) -> tuple[Completion, list[Request], tuple[str, ...]]:
    """What becomes of one prompt."""
    with ScriptedService(reply) as service:
        model = load_service_model(service.base_url, **{"tries": 2, **settings})
        ((_, done),) = model.complete(make_prompts(1))
        return done, service.requests, model.notes


# ------------------------------------------------------------------------------------------------ why a reply ended

NORMAL = [
    "stop", "STOP", "eos", "eos_token", "EOS", "end_turn", "endTurn", "stop_sequence", "COMPLETE", "complete", "done", "",
    None, "stopped", "FINISH_REASON_STOP", "end_of_text", "stop_token", "tool_calls", "FINISH_REASON_UNSPECIFIED",
]  # fmt: skip
LENGTH = [
    "length", "LENGTH", "max_tokens", "MAX_TOKENS", "maxTokens", "model_length", "max_output_tokens", "token_limit",
    "max_length", "FINISH_REASON_MAX_TOKENS", "max_new_tokens", "model_context_window_exceeded",
    "context_length_exceeded", "truncated",
]  # fmt: skip
FILTERED = [
    "content_filter", "contentFilter", "content_filtered", "sensitive", "SAFETY", "RECITATION", "PROHIBITED_CONTENT",
    "BLOCKLIST", "refusal", "SPII", "IMAGE_SAFETY", "guardrail_intervened", "blocked", "policy_violation",
]  # fmt: skip
FAILED = [
    "error", "ERROR", "error_finish", "abort", "aborted", "cancelled", "insufficient_system_resource", "network_error",
    "timeout", "OTHER", "MALFORMED_FUNCTION_CALL", "something else", "repetition", 7, True, {"type": "crash"},
]  # fmt: skip


@pytest.mark.parametrize("reason", [*NORMAL, *LENGTH, *FILTERED], ids=repr)
def test_a_reply_ends_as_its_reason_says_in_any_service_s_words(load_service_model: ModelLoader, reason: object) -> None:
    done, requests, _ = asked(load_service_model, Reply(chat_reply("It is said that", reason)))
    cut = "length" if reason in LENGTH else "content_filter" if reason in FILTERED else None
    assert (done.text, done.cut, done.failure) == ("It is said that", cut, None)
    assert len(requests) == 1


@pytest.mark.parametrize("reason", FAILED, ids=repr)
@pytest.mark.parametrize("text", ["True", ""])
def test_a_reply_that_did_not_end_is_asked_again_and_never_read(
    load_service_model: ModelLoader, reason: object, text: str
) -> None:
    done, requests, _ = asked(load_service_model, Reply(chat_reply(text, reason)))
    assert done.text is None
    assert done.failure is not None
    assert f"finish_reason {json.dumps(reason)}" in done.failure
    assert len(requests) == 2


def test_a_reason_in_parts_and_a_gateway_s_reason() -> None:
    assert ending_of({"type": "stop"}) == "normal"
    assert ending_of({"reason": "MAX_TOKENS"}) == "length"
    assert ending_of({}) == "failed"


DIED = {"code": 502, "message": "Upstream died"}


def with_choice(text: str, **more: Any) -> dict[str, Any]:
    reply = chat_reply(text, "error")
    reply["choices"][0] |= more
    return reply


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (with_choice("Tr", error=DIED), "an error of the service (error 502): Upstream died"),
        (with_choice("", error=DIED), "an error of the service (error 502): Upstream died"),
        ({**chat_reply("True"), "error": DIED}, "an error of the service (error 502): Upstream died"),
        ({"error": DIED}, "an error of the service (error 502): Upstream died"),
        ({"error": "the engine is overloaded"}, "an error of the service (in its reply): the engine is overloaded"),
        (
            {"choices": None, **error_body("slow down", code="rate_limit_exceeded")},
            "too many calls (error rate_limit_exceeded): slow",
        ),
        (
            {"choices": None, **error_body("Provider returned error", code=429, metadata={"raw": '{"message": "Busy"}'})},
            "too many calls (error 429): Provider returned error: Busy",
        ),
        ({"base_resp": {"status_code": 1000, "status_msg": "unknown error"}}, "(error 1000): unknown error"),
        ({"object": "error", "message": "CUDA out of memory", "code": 50001}, "(error 50001): CUDA out of memory"),
        ({"detail": "worker restarted"}, "(in its reply): worker restarted"),
        (chat_reply("", usage={"prompt_tokens": 30, "completion_tokens": 0}), "an empty reply of 0 tokens"),
        (chat_reply(None, None, usage={"prompt_tokens": 30, "completion_tokens": "0"}), "an empty reply of 0 tokens"),
        (
            event_stream(delta_event(content="False"), {"error": {"code": 500, "message": "engine died"}}),
            "(error 500): engine died",
        ),
        (event_stream(delta_event(content="False")) + 'event: error\ndata: {"message": "gone"}\n\n', "(in its reply): gone"),
        (event_stream(delta_event(content="False"), {"choices": [{"delta": {}, "error": DIED}]}), "(error 502): Upstream died"),
        (event_stream(delta_event(content="False"), end=""), "an incomplete reply"),
    ],
)
def test_a_generation_that_its_service_calls_failed_is_asked_again_and_never_read(
    load_service_model: ModelLoader, body: Any, words: str
) -> None:
    done, requests, _ = asked(load_service_model, Reply(body))
    assert done.text is None
    assert words in str(done.failure)
    assert str(done.failure).endswith("(2 tries)")
    assert len(requests) == 2


def test_a_failed_generation_is_answered_at_the_next_try(load_service_model: ModelLoader) -> None:
    with ScriptedService(
        lambda request: Reply(with_choice("Tr", error=DIED) if request.number == 0 else chat_reply("False"))
    ) as service:
        ((_, done),) = load_service_model(service.base_url).complete(make_prompts(1))
    assert (done.text, done.failure) == ("False", None)
    assert done.served is not None
    assert (done.served.attempts, done.served.wasted_tokens > 0) == (2, True)  # the first may be billed


def test_the_words_of_a_failed_generation_are_shown_without_the_key(load_service_model: ModelLoader) -> None:
    done, _, _ = asked(load_service_model, Reply(error_body("bad key sk-secret-0123456789abcdef, says Bearer xyz", code=500)))
    assert "bad key ***" in str(done.failure)
    assert "sk-secret" not in str(done.failure)


@pytest.mark.parametrize(
    ("code", "sentence"),
    [
        (402, "The quota at 127.0.0.1 is used up. It says: Not today."),
        (401, "127.0.0.1 rejected this key."),
        ("model_not_found", "127.0.0.1 has no model 'mock'. It says: Not today."),
        ("insufficient_quota", "The quota at 127.0.0.1 is used up."),
    ],
)
def test_an_error_in_a_reply_of_status_200_means_what_its_code_means(
    load_service_model: ModelLoader, code: object, sentence: str
) -> None:
    with ScriptedService(Reply(error_body("Not today", code=code))) as service:
        with pytest.raises(ModelError, match=re.escape(sentence)):
            list(load_service_model(service.base_url).complete(make_prompts(3)))
        assert len(service.requests) <= 3


# ------------------------------------------------------------------------------------------------ what a message says


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ([{"type": "text", "text": "True"}], "True"),
        ([{"type": "text", "text": {"value": "True", "annotations": []}}], "True"),
        ([{"type": "output_text", "text": "True"}], "True"),
        ([{"type": "text", "content": [{"type": "text", "text": "Tr"}, {"type": "text", "text": "ue"}]}], "True"),
        ([[{"text": "Tr"}], [{"text": "ue"}]], "True"),
        (["Tr", "ue"], "True"),
        ({"type": "text", "text": "True"}, "True"),
        ({"parts": [{"text": "True"}]}, "True"),
        ([{"type": "text", "text": 5}, {"type": "text", "text": "True"}], "True"),
        ([{"type": "image_url", "image_url": {"url": "x"}}], ""),
        ([{"type": "text", "text": None}], ""),
        ([], ""),
        ("", ""),
        (None, ""),
        (
            [{"type": "thinking", "thinking": [{"type": "text", "text": "It is true."}]}, {"type": "text", "text": "False"}],
            "False",
        ),
        ([{"type": "reasoning", "summary": [{"type": "summary_text", "text": "true"}]}, {"text": "False"}], "False"),
        ([{"text": "It is true.", "thought": True}, {"text": "False"}], "False"),
        ([{"type": "reasoning.text", "text": "true"}, {"type": "text", "text": "False"}], "False"),
    ],
    ids=lambda value: json.dumps(value)[:40],
)
def test_the_text_of_a_message_is_found_in_any_shape(load_service_model: ModelLoader, content: Any, text: str) -> None:
    done, _, _ = asked(load_service_model, Reply(chat_reply(content)))
    assert (done.text, done.failure) == (text, None)


@pytest.mark.parametrize("content", [5, 0.97, True, {"answer": 1}, {"text": {"x": {}}}], ids=repr)
def test_a_content_without_text_is_no_reply(load_service_model: ModelLoader, content: Any) -> None:
    """It is not what the model said, so it is not stored as such, in Python's or any other spelling."""
    done, _, _ = asked(load_service_model, Reply(chat_reply(content)))
    assert (done.text, done.failure) == (None, "an incomplete reply (2 tries)")


def test_a_refusal_in_a_part_is_one(load_service_model: ModelLoader) -> None:
    done, _, _ = asked(load_service_model, Reply(chat_reply([{"type": "refusal", "refusal": "I cannot."}])))
    assert (done.text, done.cut) == ("I cannot.", "content_filter")


# ------------------------------------------------------------------------------------------------ streams and packings

BODY = {"choices": [{"index": 0, "delta": {"content": "True"}, "finish_reason": "stop"}]}
LINE = f"data: {json.dumps(BODY)}\n\n"


@pytest.mark.parametrize(
    "stream",
    [
        LINE + "data: [DONE]\n\n",
        LINE,
        "id: 1\nretry: 3000\n" + LINE,
        "retry: 3000\n\n" + LINE,
        ": a comment\n\n" + LINE,
        "\ufeff" + LINE,
        "\n\n" + LINE,
        "event: message\n" + LINE,
        LINE.replace("\n", "\r\n"),
        LINE.replace("\n", "\r"),
        LINE.replace("data: ", "data:"),
        LINE.replace('{"choices"', '{\ndata: "choices"'),
        event_stream(delta_event(content="Tr"), delta_event(content="ue")).replace("\n\n", "\n"),
        event_stream(
            delta_event(role="assistant"), delta_event(content=[{"type": "text", "text": "True"}]), delta_event("stop")
        ),
        event_stream(delta_event(reasoning_content="It is false.\u2028No."), delta_event(content="True"), delta_event("stop")),
        event_stream({"choices": []}, {"choices": [{"text": "True", "finish_reason": "stop"}]}),
    ],
    ids=range(16),
)
def test_a_stream_is_read_however_it_is_written(load_service_model: ModelLoader, stream: str) -> None:
    done, _, _ = asked(load_service_model, Reply(stream, headers={"Content-Type": "text/event-stream"}))
    assert (done.text, done.failure, done.cut) == ("True", None, None)


def raw_deflate(data: bytes) -> bytes:
    packing = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    return packing.compress(data) + packing.flush()


PLAIN = json.dumps(chat_reply("True, " + "and so on. " * 50)).encode()


@pytest.mark.parametrize(
    ("packing", "packed"),
    [
        ("gzip", gzip.compress(PLAIN)),
        ("x-gzip", gzip.compress(PLAIN)),
        ("gzip", gzip.compress(PLAIN[:40]) + gzip.compress(PLAIN[40:])),
        ("gzip", gzip.compress(PLAIN) + b"\0" * 40),
        ("deflate", zlib.compress(PLAIN)),
        ("deflate", raw_deflate(PLAIN)),
        ("DEFLATE", raw_deflate(PLAIN)),
    ],
    ids=["gzip", "x-gzip", "two parts", "padding", "zlib", "raw", "raw, in capitals"],
)
def test_a_packed_reply_is_unpacked(load_service_model: ModelLoader, packing: str, packed: bytes) -> None:
    done, _, _ = asked(load_service_model, Reply(packed, headers={"Content-Encoding": packing}))
    assert done.failure is None
    assert str(done.text).startswith("True, and so on.")


@pytest.mark.parametrize(
    "packed",
    [gzip.compress(PLAIN)[:60], b"not packed", raw_deflate(PLAIN)[:20]],
    ids=["gzip, cut", "not packed", "raw, cut"],  # what gzip makes holds the time, and each worker collects its own tests
)
def test_a_reply_whose_packing_is_broken_is_none(load_service_model: ModelLoader, packed: bytes) -> None:
    done, _, _ = asked(load_service_model, Reply(packed, headers={"Content-Encoding": "deflate"}))
    assert done.failure is not None


# ------------------------------------------------------------------------------------------------ tokens


@pytest.mark.parametrize(
    ("usage", "tokens"),
    [
        ({"prompt_tokens": 30, "completion_tokens": 2}, (30, 2)),
        ({"prompt_tokens": 30.0, "completion_tokens": 2.0}, (30, 2)),
        ({"prompt_tokens": "30", "completion_tokens": "2"}, (30, 2)),
        ({"input_tokens": 30, "output_tokens": 2}, (30, 2)),
        ({"prompt_tokens": 30, "total_tokens": 32}, (30, 2)),
        (None, None),
        ({}, None),
        ([], None),
        ({"prompt_tokens": 0, "completion_tokens": 0}, None),
        ({"prompt_tokens": None, "completion_tokens": None}, None),
        ({"prompt_tokens": -3, "completion_tokens": 1.5}, None),
        ({"prompt_tokens": "many", "completion_tokens": "nan"}, None),
        ({"prompt_tokens": 1e30, "completion_tokens": 10**30}, None),
        ({"prompt_tokens": True, "completion_tokens": True}, None),
    ],
    ids=repr,
)
def test_tokens_are_counted_or_estimated_and_that_is_said(
    load_service_model: ModelLoader, usage: Any, tokens: tuple[int, int] | None
) -> None:
    done, _, notes = asked(load_service_model, Reply(chat_reply("True", usage=usage)))
    assert done.served is not None
    assert (TOKENS_ESTIMATED in notes) is (tokens is None)
    # 46 characters are 12 tokens, "True" is one, and a message adds four
    assert (done.served.prompt_tokens, done.served.completion_tokens) == (tokens or (16, 5))


def test_thinking_that_is_served_apart_is_estimated_too(load_service_model: ModelLoader) -> None:
    done, _, _ = asked(load_service_model, Reply(chat_reply("True", usage=None, reasoning_content="x" * 400)))
    assert done.served is not None
    assert done.served.completion_tokens == 101 + 4


# ------------------------------------------------------------------------------------------------ thinking apart

THINKING = "It is true that this is a sign.\nBut it is denied."
APART: dict[str, dict[str, Any]] = {
    "reasoning_content": {"reasoning_content": THINKING},
    "reasoning": {"reasoning": THINKING},
    "reasoning_text": {"reasoning_text": THINKING},
    "thinking": {"thinking": THINKING},
    "reasoning_details": {"reasoning": THINKING, "reasoning_details": [{"type": "reasoning.text", "text": THINKING}]},
    "details alone": {"reasoning_details": [{"type": "reasoning.summary", "summary": THINKING}]},
    "blocks": {"thinking_blocks": [{"type": "thinking", "thinking": THINKING, "signature": "x"}]},
}


def positions(tokens: list[str], p_of_true: float) -> dict[str, Any]:
    """Log-probabilities of tokens; at each, True is as likely as at the last token, if that is an answer, else certain."""

    def entry(token: str, p: float) -> dict[str, Any]:
        return {"token": token, "logprob": math.log(p)}

    found = []
    for index, token in enumerate(tokens):
        p = p_of_true if index == len(tokens) - 1 else 0.999
        found.append({**entry(token, 0.5), "top_logprobs": [entry("True", p), entry("False", 1 - p)]})
    return {"content": found}


@pytest.mark.parametrize("fields", APART.values(), ids=APART)
@pytest.mark.parametrize("listed", ["thinking too", "answer alone"])
def test_thinking_apart_is_no_answer_and_p_true_is_that_of_the_answer(
    load_service_model: ModelLoader, fields: dict[str, Any], listed: str
) -> None:
    before = ["It", " is", " true", ".", "\n", "But", "True", "</s>"] if listed == "thinking too" else []
    reply = chat_reply("False", **fields)
    reply["choices"][0]["logprobs"] = positions([*before, "False"], 0.25)
    done, _, notes = asked(load_service_model, Reply(reply))
    assert (done.text, notes) == ("False", ())
    assert done.p_true == pytest.approx(0.25)


def test_p_true_is_unknown_where_nobody_knows_which_token_answers(load_service_model: ModelLoader) -> None:
    reply = chat_reply("False", reasoning="It is true.")
    reply["choices"][0]["logprobs"] = positions(["It", " is", " true", "."], 0.25)
    done, _, _ = asked(load_service_model, Reply(reply))
    assert (done.text, done.p_true) == ("False", None)


@pytest.mark.parametrize("fields", APART.values(), ids=APART)
@pytest.mark.parametrize("content", [None, "", "\n", []], ids=repr)
def test_thinking_alone_is_no_answer_and_a_note_says_so(
    load_service_model: ModelLoader, fields: dict[str, Any], content: Any
) -> None:
    done, _, notes = asked(load_service_model, Reply(chat_reply(content, **fields)))
    assert (done.text, done.cut) == (f"<think>\n{THINKING}", None)
    assert read_answer(done.text or "") is None
    assert THINKING_ALONE in notes
    assert READ_IN_THINKING not in notes


@pytest.mark.parametrize(
    ("thinking", "text", "answer"),
    [
        ("True", "True", True),
        (" **False.**\n", " **False.**\n", False),
        ("Answer: False", "Answer: False", False),
        ("It could be true. Final answer: False", "Final answer: False", False),
        ("Is it false?\n\n**Final Answer:** True.", "Final Answer:** True.", True),
        (r"It is true that it helps, so \boxed{\text{False}}", r"\boxed{\text{False}}", False),
        (r"Either \boxed{True} or \boxed{False}? I say \boxed{True}", r"\boxed{True}", True),
    ],
)
def test_an_answer_in_the_thinking_alone_is_read_where_it_is_one(
    load_service_model: ModelLoader, thinking: str, text: str, answer: bool
) -> None:
    done, _, notes = asked(load_service_model, Reply(chat_reply(None, reasoning_content=thinking)))
    assert (done.text, done.cut) == (text, None)
    assert read_answer(done.text or "") is answer
    assert READ_IN_THINKING in notes


@pytest.mark.parametrize("reason", ["length", "content_filter"])
def test_thinking_that_was_cut_is_no_answer(load_service_model: ModelLoader, reason: str) -> None:
    done, _, notes = asked(load_service_model, Reply(chat_reply(None, reason, reasoning_content="True")))
    assert (done.text, done.cut, notes) == ("", reason, (CUT_BEFORE_ANSWER,) if reason == "length" else ())


def test_of_long_thinking_the_answer_is_kept() -> None:
    reply = f"<think>{'It could be true. ' * 3_000}</think>\n\nFalse"
    kept = shortened(reply)
    assert len(kept) < 22_000
    assert kept.endswith("</think>\n\nFalse")
    assert "[cut here: the reply has 54," in kept
    assert shortened("x" * 30_000).endswith("[cut here: the reply has 30,000 characters]")


# ------------------------------------------------------------------------------------------------ where a reply ends


@pytest.mark.parametrize(
    ("reply", "settled_after", "kept"),
    [
        ("True\nfever is a symptom", 1, "True"),
        ("\n\n**False**\nBecause", 1, "\n\n**False**"),
        ("Sure! Here is my answer:\n\n**True**", 1, "Sure! Here is my answer:\n\n**True**"),
        ("It is true.\nBut it is denied.\nFalse", 1, "It is true.\nBut it is denied.\nFalse"),
        ("It is true.\nSome say false.", None, "It is true."),
        ("Sure!\nTrue", None, "Sure!\nTrue"),
    ],
)
def test_a_chat_s_reply_ends_at_the_stop_if_it_has_answered_by_then(
    load_service_model: ModelLoader, reply: str, settled_after: int | None, kept: str
) -> None:
    def place(text: str) -> int | None:
        at = text.lower().find("true")
        return at if at >= 0 else None

    prompt = Prompt("x", CHOICES, stop="\n", settled_after=settled_after, place=place)
    with ScriptedService(Reply(chat_reply(reply))) as service:
        ((_, done),) = load_service_model(service.base_url).complete([prompt])
        assert "stop" not in service.requests[0].body
    assert done.text == kept


def test_a_wait_that_a_failed_reply_asks_for_is_kept(load_service_model: ModelLoader, monkeypatch: pytest.MonkeyPatch) -> None:
    asked_to_wait: list[float | None] = []
    monkeypatch.setattr(
        "medfact.models.services.schedule.wait_before", lambda *_, requested, **__: asked_to_wait.append(requested) or 0.0
    )
    busy = Reply(error_body("slow down", code=429), headers={"Retry-After": "7"})
    with ScriptedService(lambda request: busy if request.number == 0 else Reply(chat_reply("True"))) as service:
        ((_, done),) = load_service_model(service.base_url).complete(make_prompts(1))
    assert (done.text, asked_to_wait) == ("True", [7.0])


@pytest.mark.parametrize(
    ("models", "named"),
    [
        (["m-large", "m-small"], "m-large, m-small"),
        (["m-2024-05-13", "m-2024-08-06"], "m-2024-05-13, m-2024-08-06"),
        (["m", "m-2024-08-06"], None),
        (["owner/M", "m"], None),
        (["m", None], None),
    ],
)
def test_replies_that_name_several_models_get_a_note(
    models: list[str | None], named: str | None, facts_file: Path, url: str, medfact: Callable[..., Any]
) -> None:
    with ScriptedService(lambda request: Reply(chat_reply("True") | {"model": models[request.number % 2]})) as service:
        common = ("--facts", facts_file, "--shots", 0, "--limit", 2, "--db", url, "--in-flight", 1)
        told = medfact("run", *common, "--model", "openai:m", "--base-url", service.base_url).err
    assert told.count("name several models") == (named is not None)
    assert named is None or f"The replies name several models: {named}." in told
