"""Models behind a service that think: cut thinking is asked again with more room and never scored; effort is sent under each
service's own name.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from odd_service import Reply, Request, ScriptedService, chat_reply, delta_event, error_body, event_stream
from recorded import finished_event
from small_models import write_small_llama

from medfact.answers import make_prompt
from medfact.models import ServiceSettings, is_settled, load_model
from medfact.models.effort import EFFORTS, effort_forms
from medfact.models.prompt import is_cut_in_thinking
from medfact.models.services.parameters import CUT_BEFORE_ANSWER, EFFORT_REFUSED
from medfact.runs.costs import bill_of, describe_bill
from medfact.runs.run import run
from medfact.spec import RunSpec
from medfact.store import COMPLETE, STOPPED, Asked, Run, Store

NEEDED = 2000
"""Tokens that the model needs to think and to answer."""

MISLEADING = "True? Let me think. True. Answer: True. But that may be an echo of the question. " * 4
"""Thinking that a hasty reader would take for an answer."""

NO_SETTINGS: dict[str, Any] = {}

Kind = Callable[[int, bool, str], Any]
"""What a service says with a limit: tokens, whether they were enough, and the answer."""


def usage(tokens: int, thinking: int | None = None, **more: Any) -> dict[str, Any]:
    details = {} if thinking is None else {"completion_tokens_details": {"reasoning_tokens": thinking}}
    return {"prompt_tokens": 30, "completion_tokens": tokens, "total_tokens": 30 + tokens, **details, **more}


def beside(field: str) -> Kind:
    """Thinking in a field of its own."""

    def reply(tokens: int, enough: bool, answer: str) -> Any:
        return chat_reply(answer if enough else "", "stop" if enough else "length", usage(tokens), **{field: MISLEADING})

    return reply


def marked(begin: str, end: str) -> Kind:
    """Thinking in the text, between marks."""

    def reply(tokens: int, enough: bool, answer: str) -> Any:
        text = f"{begin}{MISLEADING}{end}{answer}" if enough else f"{begin}{MISLEADING}"
        return chat_reply(text, "stop" if enough else "length", usage(tokens))

    return reply


def parts(tokens: int, enough: bool, answer: str) -> Any:
    content = [{"type": "thinking", "thinking": [{"type": "text", "text": MISLEADING}]}]
    return chat_reply(content + [{"type": "text", "text": answer}] * enough, "stop" if enough else "length", usage(tokens))


def hidden(tokens: int, enough: bool, answer: str) -> Any:
    """Thinking that is not served, and is counted."""
    return chat_reply(answer if enough else None, "stop" if enough else "length", usage(tokens, tokens - 2 * enough))


def stream(tokens: int, enough: bool, answer: str) -> Any:
    last = delta_event("stop", content=answer) if enough else delta_event("length")
    return event_stream(delta_event(reasoning=MISLEADING), {**last, "usage": usage(tokens)})


def ended(tokens: int, enough: bool, answer: str) -> Any:
    """The service says that the model ended by itself, and its tokens show that it did not."""
    return chat_reply(answer if enough else "", "stop", usage(tokens), reasoning_content=MISLEADING)


def nothing(tokens: int, enough: bool, answer: str) -> Any:
    """Nothing but an end for the length."""
    return chat_reply(answer, "stop", usage(tokens)) if enough else chat_reply("", "length", usage(tokens))


def no_message(tokens: int, enough: bool, answer: str) -> Any:
    if enough:
        return chat_reply(answer, "stop", usage(tokens))
    return {"model": "m", "choices": [{"index": 0, "finish_reason": "MAX_TOKENS"}], "usage": usage(tokens)}


def left_out(tokens: int, enough: bool, answer: str) -> Any:
    """The thinking counts in the total alone."""
    counts = {"prompt_tokens": 30, "completion_tokens": 2 * enough, "total_tokens": 30 + tokens}
    return chat_reply(answer if enough else "", "stop" if enough else "length", counts)


def answer_begun(tokens: int, enough: bool, answer: str) -> Any:
    """The limit cuts the answer after the thinking."""
    return chat_reply(
        f"<think>hm</think>The statement is {f'{answer}.'.lower() if enough else ''}", "stop" if enough else "length"
    )


KINDS: dict[str, Kind] = {
    "reasoning_content": beside("reasoning_content"),
    "reasoning": beside("reasoning"),
    "thinking": beside("thinking"),
    "reasoning_details": lambda tokens, enough, answer: chat_reply(
        answer if enough else None,
        "stop" if enough else "length",
        usage(tokens),
        reasoning_details=[{"type": "reasoning.text", "text": MISLEADING}],
    ),
    "think tags": marked("<think>\n", "\n</think>\n\n"),
    "tags begun by the template": marked("", "\n</think>\n\n"),
    "brackets": marked("[THINK]", "[/THINK]"),
    "channels": marked("<|channel|>analysis<|message|>", "<|end|><|start|>assistant<|channel|>final<|message|>"),
    "half channels": marked("<|channel>thought\n", "\n<channel|>"),
    "unused tokens": marked("<unused94>thought\n", "<unused95>"),
    "parts": parts,
    "hidden and counted": hidden,
    "a stream": stream,
    "said to have ended": ended,
    "empty": nothing,
    "no message": no_message,
    "left out of the completion": left_out,
    "an answer that is cut": answer_begun,
}


class Thinker:
    """A service whose model needs some tokens, of whose replies the first that it could give in full are known."""

    def __init__(self, kind: Kind, needed: int = NEEDED, most: int | None = None, refusal: str = "") -> None:
        self.kind, self.needed, self.most, self.refusal = kind, needed, most, refusal

    def __call__(self, request: Request) -> Reply:
        limit = request.body.get("max_tokens") or request.body.get("max_completion_tokens")
        assert limit is not None
        if self.most is not None and limit > self.most:
            return Reply(error_body(self.refusal.format(limit=limit, most=self.most)), 400)
        return Reply(self.kind(min(limit, self.needed), limit >= self.needed, "False"))


def spec_of(service: ScriptedService, facts: Path, settings: dict[str, Any] = NO_SETTINGS, **more: Any) -> RunSpec:
    own = ServiceSettings(base_url=service.base_url, key="k", timeout=10, **settings)
    return RunSpec(**{"model": "openai:m", "facts": str(facts), "limit": 1, "shots": 0, "service": own, **more})


def asked(spec: RunSpec, store: Store) -> tuple[Run, list[Asked]]:
    last = finished_event(run(spec, store))
    assert (last.state, last.failed) == (COMPLETE, 0)
    return store.run(last.run), list(store.answers.asked(last.run))


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_what_was_cut_in_thinking_is_asked_again_and_counted(kind: Kind, facts_file: Path, store: Store) -> None:
    assert len(KINDS) >= 14
    with ScriptedService(Thinker(kind)) as service:
        record, items = asked(spec_of(service, facts_file), store)
        limits = [request.body["max_tokens"] for request in service.requests]
    assert {item.answer and item.answer.answer for item in items} == {False}
    assert sorted(set(limits)) == [256, 1024, 4096]
    bill = bill_of(record, store)
    assert bill is not None
    assert bill["calls"] == len(limits)
    assert bill["prompt_tokens"] == 30 * len(limits)
    assert CUT_BEFORE_ANSWER in record.notes
    assert record.decoding["thinking_tokens"] == 4096


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_thinking_that_never_ends_is_never_scored(kind: Kind, facts_file: Path, store: Store) -> None:
    with ScriptedService(Thinker(kind, needed=10**9)) as service:
        record, items = asked(spec_of(service, facts_file), store)
        limits = {request.body["max_tokens"] for request in service.requests}
    assert {256, 1024, 4096} <= limits <= {256, 1024, 4096, 16_384, 32_768}
    assert {(item.answer.answer, item.answer.p_true) for item in items if item.answer} == {(None, None)}
    if kind not in (KINDS[BEGUN], answer_begun):
        assert f"Thinking was cut off for {len(items)} answers" in "\n".join(record.notes)


BEGUN = "tags begun by the template"
"""Where no reply shows a mark, nobody can tell that it was thinking that was cut."""


def test_thinking_whose_beginning_no_reply_shows_is_known_by_the_replies_that_end(facts_file: Path, store: Store) -> None:
    """One statement thinks for ever, the others end: what was cut is not read, although it opens with “True”."""
    first: list[str] = []

    def reply(request: Request) -> Reply:
        first.append(request.prompt)
        needed = 10**9 if request.prompt == first[0] else NEEDED
        return Thinker(KINDS[BEGUN], needed)(request)

    with ScriptedService(reply) as service:
        _, items = asked(spec_of(service, facts_file), store)
    answers = [item.answer.answer for item in items if item.answer]
    assert answers.count(None) == 1
    assert answers.count(False) == len(items) - 1


@pytest.mark.parametrize("kind", ["think tags", "reasoning_content", "empty", "hidden and counted"])
def test_a_limit_of_ones_own_is_kept_and_cut_thinking_is_not_read(kind: str, facts_file: Path, store: Store) -> None:
    with ScriptedService(Thinker(KINDS[kind])) as service:
        _, items = asked(spec_of(service, facts_file, {"max_tokens": 300}), store)
        assert {request.body["max_tokens"] for request in service.requests} == {300}
        assert len(service.requests) == len(items)
    assert {item.answer and item.answer.answer for item in items} == {None}


@pytest.mark.parametrize(
    "refusal",
    [
        "max_tokens is too large: {limit}. This model supports at most {most} completion tokens.",
        "This model's maximum context length is 4096 tokens. However, you requested {limit} tokens in the completion.",
        "max_tokens must be less than or equal to {most}",
    ],
)
def test_the_limit_rises_as_far_as_the_service_has_room(refusal: str, facts_file: Path, store: Store) -> None:
    with ScriptedService(Thinker(KINDS["reasoning_content"], most=3000, refusal=refusal)) as service:
        _, items = asked(spec_of(service, facts_file), store)
        assert 2000 <= service.requests[-1].body["max_tokens"] <= 3000
    assert {item.answer and item.answer.answer for item in items} == {False}


PROMPT_TOKENS = 300

ROOMS = {
    "context and prompt": ("This model's maximum context length is {context} tokens and your request has {prompt} input "
        "tokens ({limit} > {context} - {prompt})."),
    "sum": "`inputs` + `max_new_tokens` must be <= {context}. Given: {prompt} `inputs` tokens and {limit} `max_new_tokens`",
    "total": "Invalid request: Your request exceeded model token limit: {context} (requested: {total})",
    "written sum": "The prompt and max_tokens exceed the model context: {prompt} + {limit} > {context}",
    "reply": "max_tokens is too large: {limit}. This model supports at most {room} completion tokens; you provided {limit}.",
    "range": "Invalid max_tokens value, the valid range of max_tokens is [1, {room}]",
}  # fmt: skip


def roomy(refusal: str, room: int, needed: int, status: int = 400) -> Callable[[Request], Reply]:
    """A service whose prompts have PROMPT_TOKENS, and whose replies may have so many."""

    def reply(request: Request) -> Reply:
        limit = request.body.get("max_tokens") or request.body.get("max_completion_tokens") or 10**9
        if limit > room:
            numbers = {"limit": limit, "room": room, "context": room + PROMPT_TOKENS, "total": limit + PROMPT_TOKENS}
            return Reply(error_body(refusal.format(prompt=PROMPT_TOKENS, **numbers)), status)
        counted = {**usage(min(limit, needed)), "prompt_tokens": PROMPT_TOKENS}
        return Reply(chat_reply("False" if limit >= needed else "", "stop" if limit >= needed else "length", counted))

    return reply


@pytest.mark.parametrize("refusal", ROOMS.values(), ids=ROOMS)
def test_replies_get_all_the_room_that_a_refusal_names(refusal: str, facts_file: Path, store: Store) -> None:
    room = 7892
    with ScriptedService(roomy(refusal, room, needed=room - room // 64)) as service:
        record, items = asked(spec_of(service, facts_file), store)
        limits = [request.body["max_tokens"] for request in service.requests]
    assert {item.answer and item.answer.answer for item in items} == {False}
    assert max(limit for limit in limits if limit <= room) == room
    assert sum(limit > room for limit in limits) <= 32, "those on their way are refused once"
    assert sum("room" in note or "at most" in note for note in record.notes) == 1


@pytest.mark.parametrize(
    ("refusal", "status"),
    [
        (
            "Request too large for model m on tokens per minute (TPM): Limit {context}, Requested {total}, please reduce it.",
            413,
        ),
        ("Request too large for m on tokens per min (TPM): Limit {context}, Requested {total}.", 429),
        ("`max_new_tokens` must be lower", 400),
        ("max_tokens is invalid", 422),
        ("max_tokens: value is not accepted", 422),
        ("Too many tokens were requested", 400),
        ("Your request exceeded the model token limit of {context}", 400),
    ],
)
def test_without_a_number_the_room_is_sought_between_what_was_taken_and_what_was_refused(
    refusal: str, status: int, facts_file: Path, store: Store
) -> None:
    with ScriptedService(roomy(refusal, 3796, needed=3400, status=status)) as service:
        _, items = asked(spec_of(service, facts_file, {"in_flight": 1}), store)
        assert {name for request in service.requests for name in request.body if name.startswith("max_")} == {"max_tokens"}
        assert 3400 <= service.requests[-1].body["max_tokens"] <= 3796
        assert len(service.requests) <= len(items) + 9
    assert {item.answer and item.answer.answer for item in items} == {False}


def test_a_long_prompt_takes_no_room_from_the_others(facts_file: Path, store: Store) -> None:
    """Its own refusal names how long it is, and the others keep what they had."""
    long: list[str] = []

    def reply(request: Request) -> Reply:
        long.extend([request.prompt] if not long else [])
        tokens, limit = 9_000 if request.prompt in long else 300, request.body["max_tokens"]
        if tokens + limit > 16_384:
            words = f"maximum context length is 16384 tokens and your request has {tokens} input tokens"
            return Reply(error_body(f"max_tokens is too large: {limit}. This model's {words}."), 400)
        counted = {**usage(min(limit, 12_000)), "prompt_tokens": tokens}
        return Reply(chat_reply("False" if limit >= 12_000 else "", "stop" if limit >= 12_000 else "length", counted))

    with ScriptedService(reply) as service:
        _, items = asked(spec_of(service, facts_file, {"in_flight": 1}), store)
    assert [item.answer.answer for item in items if item.answer].count(False) == len(items) - 1


def test_thinking_stands_apart_in_the_bill_and_what_is_not_counted_is_not_known(facts_file: Path, store: Store) -> None:
    with ScriptedService(Thinker(hidden, needed=200)) as service:
        record, items = asked(spec_of(service, facts_file), store)
    bill = bill_of(record, store)
    assert bill is not None
    assert bill["reasoning_tokens"] == 198 * len(items)
    assert f", {198 * len(items):,} of them for thinking" in describe_bill(bill)[0]
    assert {item.answer and item.answer.reasoning_tokens for item in items} == {198}
    with ScriptedService(Thinker(beside("reasoning"), needed=200)) as service:
        record, _ = asked(spec_of(service, facts_file, seed=1), store)
    bill = bill_of(record, store)
    assert bill is not None
    assert bill["reasoning_tokens"] is None
    assert "thinking" not in describe_bill(bill)[0]


def test_a_reply_that_was_paid_for_counts_although_the_call_after_it_fails(facts_file: Path, store: Store) -> None:
    """The first reply is cut, and the longer one never comes."""

    def reply(request: Request) -> Reply:
        if request.body["max_tokens"] > 256:
            return Reply(error_body("out of order"), 500)
        return Reply(chat_reply("", "length", usage(256), reasoning_content="hm"))

    with ScriptedService(reply) as service:
        spec = spec_of(service, facts_file, {"tries": 1, "top_logprobs": 0})
        list(run(spec, store))
        cut = sum(request.body["max_tokens"] == 256 for request in service.requests)
    (record,) = store.runs()
    assert store.answers.tokens_used(record.run)[1] in range(256, 256 * cut + 1)


def test_a_budget_ends_a_run_while_the_limit_still_rises(facts_file: Path, store: Store) -> None:
    """Each reply that is cut is paid for at once: a model that thinks for ever cannot spend many budgets."""
    with ScriptedService(Thinker(hidden, needed=10**9)) as service:
        spec = spec_of(service, facts_file, {"in_flight": 1}, model="openai:gpt-4o", budget=0.02)
        last = finished_event(run(spec, store))
        assert len(service.requests) <= 4  # 256, 1,024 and 4,096 tokens cost 5 cents at 10 USD a million
    assert last.state == STOPPED
    assert "budget" in str(last.reason)


# ------------------------------------------------------------------------------------------------ effort


@pytest.mark.parametrize(
    ("address", "effort", "sent"),
    [
        ("https://api.openai.com/v1", "low", {"reasoning_effort": "low"}),
        ("https://me.openai.azure.com/openai/v1", "high", {"reasoning_effort": "high"}),
        ("https://openrouter.ai/api/v1", "high", {"reasoning": {"effort": "high"}}),
        ("https://openrouter.ai/api/v1", "none", {"reasoning": {"effort": "none"}}),
        ("https://api.anthropic.com/v1", "none", {"thinking": {"type": "disabled"}}),
        ("https://api.anthropic.com/v1", "medium", {"thinking": {"type": "enabled", "budget_tokens": 4096}}),
        ("https://generativelanguage.googleapis.com/v1beta/openai", "none", {"reasoning_effort": "none"}),
        ("https://api.deepseek.com", "none", {"thinking": {"type": "disabled"}}),
        ("https://api.deepseek.com", "low", {"thinking": {"type": "enabled"}, "reasoning_effort": "low"}),
        ("https://api.mistral.ai/v1", "high", {"reasoning_effort": "high"}),
        ("https://api.groq.com/openai/v1", "none", {"reasoning_effort": "none"}),
        ("http://127.0.0.1:11434/v1", "none", {"reasoning_effort": "none"}),
        (
            "http://127.0.0.1:8000/v1",
            "none",
            {"reasoning_effort": "none", "chat_template_kwargs": {"enable_thinking": False}},
        ),
        (
            "https://evil-openrouter.ai/v1",
            "low",
            {"reasoning_effort": "low", "chat_template_kwargs": {"enable_thinking": True}},
        ),
        ("https://api.openai.com/v1", None, {}),
    ],
)
def test_effort_has_each_service_s_own_name(address: str, effort: str | None, sent: dict[str, Any]) -> None:
    assert next(iter(effort_forms(address, effort)), {}) == sent


@pytest.mark.parametrize("effort", EFFORTS)
def test_an_effort_is_sent_and_recorded(effort: str, facts_file: Path, store: Store) -> None:
    with ScriptedService(Thinker(nothing, needed=100)) as service:
        record, _ = asked(spec_of(service, facts_file, effort=effort), store)
        forms = effort_forms(service.base_url, effort)
        for request in service.requests:
            assert {name: request.body[name] for name in forms[0]} == forms[0]
        limits = {request.body["max_tokens"] for request in service.requests}
    assert min(limits) == 256 if effort == "none" else min(limits) > 4096
    assert record.decoding["effort"] == effort
    assert record.spec.effort == effort
    assert RunSpec.from_record(json.loads(json.dumps(record.spec.to_record()))) == record.spec


def test_without_an_effort_nothing_is_sent(facts_file: Path, store: Store) -> None:
    with ScriptedService(Thinker(nothing, needed=100)) as service:
        record, _ = asked(spec_of(service, facts_file), store)
        assert not {"reasoning_effort", "reasoning", "thinking"} & {*service.requests[0].body}
    assert "effort" not in record.decoding


@pytest.mark.parametrize(
    ("refused", "words", "left"),
    [
        ({"chat_template_kwargs"}, "Unrecognized request argument supplied: chat_template_kwargs", {"reasoning_effort"}),
        ({"reasoning_effort"}, "Unsupported parameter: 'reasoning_effort'", {"chat_template_kwargs"}),
        ({"reasoning_effort", "chat_template_kwargs"}, "{name} is not permitted", set()),
    ],
)
def test_an_effort_that_is_refused_is_said_otherwise_or_told(
    refused: set[str], words: str, left: set[str], facts_file: Path, store: Store
) -> None:
    def reply(request: Request) -> Reply:
        for name in sorted(refused & {*request.body}):
            return Reply(error_body(words.format(name=name)), 400)
        return Reply(chat_reply("False"))

    with ScriptedService(reply) as service:
        record, items = asked(spec_of(service, facts_file, effort="low"), store)
        assert {*service.requests[-1].body} & {"reasoning_effort", "chat_template_kwargs"} == left
    assert {item.answer and item.answer.answer for item in items} == {False}
    assert record.decoding["effort"] == ("low" if left else "refused")
    assert any(note.startswith(EFFORT_REFUSED) for note in record.notes) is not bool(left)


def test_two_efforts_of_one_model_are_compared_in_pairs(
    facts_file: Path, tmp_path: Path, medfact: Callable[..., Any], store: Store
) -> None:
    def reply(request: Request) -> Reply:
        return Reply(chat_reply("True" if request.body["reasoning_effort"] == "high" else "False"))

    with ScriptedService(reply) as service:
        runs = []
        for effort in ("low", "high"):
            outcome = medfact(
                "run", "--facts", facts_file, "--shots", 0, "--limit", 2, "--db", store.url, "--effort", effort,
                "--model", "openai:m", "--base-url", service.base_url,
            )  # fmt: skip
            assert outcome.code == 0, outcome.err
            runs.append(outcome.rows[0]["run"])
    told = medfact("compare", *runs, "--db", store.url)
    assert "DIFFERENT effort: low, high" in told.out
    assert "m, effort low" in told.out
    assert "m, effort high" in told.out
    made = json.loads(medfact("compare", *runs, "--db", store.url, "--json").out)
    assert {pair["n"] for pair in made["pairs"] if pair["metric"] == "average_accuracy"} != {0}
    wrong = medfact("run", "--model", "openai:m", "--effort", "huge", "--db", store.url)
    assert (wrong.code, len(wrong.err.strip().splitlines())) == (2, 1)
    assert "There is no effort 'huge'" in wrong.err


# ------------------------------------------------------------------------------------------------ on this machine


@pytest.mark.model
@pytest.mark.parametrize(("context", "limit"), [(1400, 4096), (700, 1024)])
def test_a_model_on_this_machine_gets_room_for_thinking_as_far_as_its_context_has_it(
    context: int, limit: int, tmp_path: Path
) -> None:
    """A random model whose template begins the thinking never ends it: nothing is read of that."""
    folder = write_small_llama(tmp_path, chat=True, context=context)
    template = (folder / "chat_template.jinja").read_text(encoding="utf-8")
    (folder / "chat_template.jinja").write_text(f"{template}<think>\n", encoding="utf-8")
    model = load_model(f"hf:{folder}")
    statement = "fever is a symptom of gout."
    ((_, done),) = model.complete([make_prompt(statement, (), chat=True)])
    assert done.cut == "length"
    assert (done.text or "").startswith("<think>")
    assert not is_settled(done.text or "")
    assert is_cut_in_thinking(done.text or "")
    assert model.thinking_tokens == limit  # type: ignore[attr-defined]
