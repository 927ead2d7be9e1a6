"""What models think before they answer is found in every format, and is never the answer."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from medfact.answers import READINGS, read_answer
from medfact.models.thinking import (
    FORMATS,
    ThinkingFormat,
    end_of_thinking,
    is_mark,
    opened_by,
    thinks,
    without_thinking,
)

THOUGHT = "It is true that this is a sign.\nAnswer: True? But it is denied, so that is not true."
ANSWERS = {"False": False, "**True**": True, "The statement is false.\n\nFever is no sign of it.": False}
each_format = pytest.mark.parametrize("form", FORMATS.values(), ids=FORMATS)


@each_format
@pytest.mark.parametrize("answer", ANSWERS)
@pytest.mark.parametrize("reading", READINGS)
def test_the_answer_is_read_after_the_thinking(form: ThinkingFormat, answer: str, reading: str) -> None:
    reply = form.example.format(thought=THOUGHT, answer=answer)
    assert len(without_thinking(reply)) == len(reply)
    assert without_thinking(reply).strip() == answer
    assert read_answer(reply, reading) is read_answer(answer, reading)
    assert read_answer(reply) is ANSWERS[answer]
    assert without_thinking(reply[end_of_thinking(reply) :]).strip() == answer
    assert end_of_thinking(reply) is not None


@each_format
@pytest.mark.parametrize("reading", READINGS)
def test_thinking_that_is_cut_is_no_answer(form: ThinkingFormat, reading: str) -> None:
    reply = form.example.format(thought=THOUGHT, answer="")
    cut = reply[: reply.index(THOUGHT) + len(THOUGHT)]
    assert end_of_thinking(cut) is None
    assert end_of_thinking(cut) is None
    assert without_thinking(cut).strip() == ""
    assert read_answer(cut, reading) is None


@pytest.mark.parametrize("form", [form for form in FORMATS.values() if form.template_may_open])
def test_thinking_may_begin_in_the_chat_template(form: ThinkingFormat) -> None:
    before, _, after = form.example.partition("{thought}")
    assert without_thinking(THOUGHT + after.format(answer="False")).strip() == "False"
    assert (
        opened_by(f"<|user|>Is it true?<|assistant|>{before}").strip() == before.strip().removesuffix("thought").strip()
        or before.strip()
    )
    assert thinks(f"{{% if add_generation_prompt %}}{before}{{% endif %}}")


def test_a_prompt_that_ends_otherwise_opens_no_thinking() -> None:
    assert opened_by("<|user|>Is <think> a tag?<|assistant|>") == ""
    assert opened_by("assistant: <think>\n") == "<think>\n"


@pytest.mark.parametrize(
    "reply", ["True", "I think it is false.", "## Answer\n\nTrue", "analysis shows it is true", "a < b > c: True"]
)
def test_ordinary_replies_hold_no_thinking(reply: str) -> None:
    assert without_thinking(reply) == reply
    assert end_of_thinking(reply) == 0


def test_the_special_tokens_of_the_formats_are_kept() -> None:
    assert is_mark("<|channel|>")
    assert is_mark("[THINK]")
    assert not is_mark("</s>")
    assert not is_mark("<|endoftext|>")


@given(
    st.lists(st.sampled_from([*(form.example for form in FORMATS.values()), "<think>", "</think>", "True", "\n", "<|end|>"]))
)
def test_positions_stay_valid(parts: list[str]) -> None:
    reply = "".join(parts)
    blanked = without_thinking(reply)
    assert len(blanked) == len(reply)
    assert all(new in (old, " ") for old, new in zip(reply, blanked, strict=True))


@pytest.mark.parametrize(
    "part", ["<think>", "</think>", "<", "<|channel|>", "## Thinking\n", "<details ", "here is my ", "[unused"]
)
def test_a_long_reply_takes_no_longer_than_its_length(part: str) -> None:
    """Eight times the length takes about eight times as long; 32 leaves room for a busy machine, and a square would be 64."""

    def seconds(length: int) -> float:
        reply = (part * length)[:length]
        begun = time.process_time()
        without_thinking(reply)
        return time.process_time() - begun

    short = min(seconds(2_500) for _ in range(3))
    assert min(seconds(20_000) for _ in range(3)) < 32 * max(short, 0.005)
