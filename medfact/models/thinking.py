"""How models mark what they think before they answer: one list of formats, for every model and service.

Thinking is overwritten with spaces, never cut out, so that positions in a reply stay valid.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import NamedTuple


class ThinkingFormat(NamedTuple):
    """What stands around thinking, as regular expressions.

    begins, ends:      the texts before the thinking, and between it and the answer.
    example:           a reply in this format, with {thought} and {answer} for its parts.
    template_may_open: the chat template may have written the beginning, so that a reply has the end alone.
    """

    begins: str
    ends: str
    example: str
    template_may_open: bool = True


_TAG = r"(?:\w{1,20}[:_])?(?:think(?:ing)?|thoughts?|reason(?:ing)?|reflection|scratchpad|inner_monologue|cot)"
_HEADING = r"(?:\A|\n)[ \t]*#{1,6}[ \t]*"
_CONSTRAINT = r"[^<]{0,80}(?:<\|constrain\|>[^<]{0,40})?<\|message\|>"

FORMATS = {
    "tags": ThinkingFormat(rf"<{_TAG}(?:\s[^<>\n]{{0,80}})?>", rf"</{_TAG}>", "<think>\n{thought}\n</think>\n\n{answer}"),
    "brackets": ThinkingFormat(
        r"\[(?:think(?:ing)?|thoughts?|reasoning)\]",
        r"\[/(?:think(?:ing)?|thoughts?|reasoning)\]",
        "[THINK]{thought}[/THINK]{answer}",
    ),
    "triangles": ThinkingFormat("◁think▷", "◁/think▷", "◁think▷{thought}◁/think▷{answer}"),
    "channels": ThinkingFormat(
        rf"<\|channel\|>\s*(?:analysis|commentary)\b{_CONSTRAINT}",
        rf"(?:<\|start\|>\s*assistant\s*)?<\|channel\|>\s*final\b{_CONSTRAINT}",
        "<|channel|>analysis<|message|>{thought}<|end|><|start|>assistant<|channel|>final<|message|>{answer}<|return|>",
    ),
    "channels without their marks": ThinkingFormat(
        r"(?-i:\A\s*analysis(?=[A-Z]))",
        r"(?-i:assistantfinal(?=[A-Z\W]))",
        "analysis{thought}assistantfinal{answer}",
        template_may_open=False,
    ),
    "half channels": ThinkingFormat(
        r"<\|channel>\s*thought\b", r"<channel\|>", "<|channel>thought\n{thought}\n<channel|>{answer}<turn|>"
    ),
    "recipients": ThinkingFormat(
        r"to=self<\|message\|>",
        r"to=user<\|message\|>",
        "to=self<|message|>{thought}<|eom|><|start|>assistant to=user<|message|>{answer}<|eot|>",
    ),
    "unused tokens": ThinkingFormat("<unused94>", "<unused95>", "<unused94>thought\n{thought}<unused95>{answer}"),
    "numbered tokens": ThinkingFormat(r"\[unused16\]", r"\[unused17\]", "[unused16]{thought}[unused17]{answer}[unused10]"),
    "start and end": ThinkingFormat(
        r"<\|START_THINKING\|>",
        r"<\|END_THINKING\|>",
        "<|START_THINKING|>{thought}<|END_THINKING|><|START_RESPONSE|>{answer}<|END_RESPONSE|>",
    ),
    "thought and solution": ThinkingFormat(
        r"<\|begin_of_thought\|>",
        r"<\|end_of_thought\|>",
        "<|begin_of_thought|>\n\n{thought}\n\n<|end_of_thought|>\n\n<|begin_of_solution|>\n\n{answer}\n\n<|end_of_solution|>",
    ),
    "prefix and suffix": ThinkingFormat(
        r"<\|inner_prefix\|>", r"<\|inner_suffix\|>", "<|inner_prefix|>{thought}<|inner_suffix|>{answer}"
    ),
    "begin alone": ThinkingFormat(
        r"<\|think\|>",
        r"<\|end\|>",
        "<|think|>{thought}<|end|><|begin|>assistant<|content|>{answer}<|end|>",
        template_may_open=False,
    ),
    "turns": ThinkingFormat(
        r"<\|im_start\|>\s*think\b", r"<\|im_start\|>\s*answer\b", "<|im_start|>think\n{thought}\n<|im_start|>answer\n{answer}"
    ),
    "folds": ThinkingFormat(
        r"<details\b[^<>\n]{0,120}>(?=\s*<summary>[^<\n]{0,40}(?:thought|think|reason))",
        r"</details>",
        '<details type="reasoning" done="true">\n<summary>Thought for 5 seconds</summary>\n{thought}\n</details>\n{answer}',
        template_may_open=False,
    ),
    "headings": ThinkingFormat(
        rf"{_HEADING}(?:Thinking|Thoughts?)\b[^\n]{{0,20}}(?=\n|\Z)",
        rf"{_HEADING}(?:Final\s+)?(?:Response|Answer|Output|Conclusion)\b[^\n]{{0,10}}(?=\n|\Z)",
        "## Thinking\n\n{thought}\n\n## Final Response\n\n{answer}",
        template_may_open=False,
    ),
    "phrases": ThinkingFormat(
        r"Here(?:['’]s| is) my thought process:",
        r"Here(?:['’]s| is) my response:",
        "Here is my thought process:\n{thought}\n\nHere is my response:\n{answer}",
    ),
}
"""Name → format, as chat templates and the parsers of vLLM, SGLang and llama.cpp have them in November 2026.

`tags`: DeepSeek R1, Qwen, Phi, ERNIE, Seed, EXAONE and most others. `brackets`: Magistral. `triangles`: Kimi. `channels`:
gpt-oss; without their marks where a server drops special tokens. `half channels`: Gemma 4. `recipients`: Muse. `unused tokens`:
MedGemma. `numbered tokens`: Pangu. `start and end`: Command. `thought and solution`: Sky-T1, OpenThinker. `prefix and suffix`:
Apertus. `begin alone`: Solar. `turns`: s1. `folds`: web interfaces in front of a model. `headings`: HuatuoGPT-o1. `phrases`:
Granite.
"""

BEGINNING = "<think>\n"
"""The commonest beginning."""

_FLAGS = re.IGNORECASE | re.ASCII
_ENDS = re.compile("|".join(f"(?P<_{number}>{form.ends})" for number, form in enumerate(FORMATS.values())), _FLAGS)
_BEGINS = re.compile("|".join(f"(?P<_{number}>{form.begins})" for number, form in enumerate(FORMATS.values())), _FLAGS)

_FRAMES = re.compile(
    r"</?(?:answer|final_answer|final|response|output|solution|result|verdict)>"
    r"|<\|[^|<>\n]{1,40}\|?>(?:assistant\b)?|<[a-z_]{1,20}\|>|</?(?:s|eos|bos|pad|end_of_turn|start_of_turn)>|\[unused\d+\]|\A\s*thought\n",
    _FLAGS,
)
"""What stands around an answer that follows thinking, and special tokens that a server left in the text."""


class _Mark(NamedTuple):
    """A beginning or an end of thinking in a reply."""

    at: int
    after: int
    form: ThinkingFormat
    begins: bool


class _Thinking(NamedTuple):
    """Where thinking stands in a reply, its marks included. is_cut: nothing ends it."""

    begin: int
    end: int
    is_cut: bool


def _marks(reply: str) -> list[_Mark]:
    forms = tuple(FORMATS.values())
    found = [
        _Mark(match.start(), match.end(), forms[int(str(match.lastgroup)[1:])], begins)
        for pattern, begins in ((_BEGINS, True), (_ENDS, False))
        for match in pattern.finditer(reply)
    ]
    return sorted(found, key=lambda mark: mark.at)


def _thinking_in(reply: str) -> Iterator[_Thinking]:
    """All thinking in a reply. An end without a beginning covers all before it: the chat template wrote the beginning."""
    begun: _Mark | None = None
    for mark in _marks(reply):
        if mark.begins:
            begun = begun or mark
        elif begun is None and mark.form.template_may_open:
            yield _Thinking(0, mark.after, is_cut=False)
        elif begun is not None and begun.form is mark.form:
            yield _Thinking(begun.at, mark.after, is_cut=False)
            begun = None
    if begun is not None:
        yield _Thinking(begun.at, len(reply), is_cut=True)


def without_thinking(reply: str) -> str:
    """The reply with spaces in place of its thinking, and of the marks and special tokens around its answer."""
    for thinking in _thinking_in(reply):
        reply = reply[: thinking.begin] + " " * (thinking.end - thinking.begin) + reply[thinking.end :]
    return _FRAMES.sub(lambda frame: " " * len(frame.group()), reply)


def end_of_thinking(reply: str) -> int | None:
    """The index where the text after all thinking begins, 0 if there is no thinking; None if nothing ends it."""
    last = max(_thinking_in(reply), key=lambda thinking: thinking.end, default=None)
    return 0 if last is None else None if last.is_cut else last.end


def shows_thinking(reply: str) -> bool:
    """Whether a reply has marks of thinking."""
    return next(_thinking_in(reply), None) is not None


def begun_by_template(reply: str) -> bool:
    """Whether a reply ends thinking that it has not begun: the chat template wrote the beginning."""
    first = next(iter(_marks(reply)), None)
    return first is not None and not first.begins and first.form.template_may_open


def opened_by(prompt: str) -> str:
    """The mark at the end of a prompt with which its chat template begins the thinking; "" if there is none."""
    last = next((mark for mark in reversed(_marks(prompt[-200:])) if mark.begins), None)
    return prompt[-200:][last.at : last.after] + "\n" if last and not prompt[-200:][last.after :].strip() else ""


def thinks(template: str) -> bool:
    """Whether a chat template has marks of thinking."""
    return _BEGINS.search(template) is not None


@cache
def is_mark(token: str) -> bool:
    """Whether a special token is part of the marks of a format, so that a reply cannot be read without it."""
    return len(token.strip()) > 2 and any(token in form.example for form in FORMATS.values())
