"""The prompts of statements: the one place where they are assembled."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from medfact.answers import INSTRUCTIONS, Demonstration, make_prompt
from medfact.answers.prompts import CONFIDENCE_QUESTION
from medfact.answers.reading import COMMITTED
from medfact.assets import ENGLISH
from medfact.languages import load_language, read_answer, settles
from medfact.models import Prompt, provider_of
from medfact.runs.plan import question_of
from medfact.runs.pool import protocol_of
from medfact.spec import RunSpec
from medfact.store import Asked, Run

Demonstrations = Mapping[str, Sequence[Demonstration]]
"""Group → the demonstrations that precede its statements."""


def prompt_of(item: Asked, demonstrations: Demonstrations, spec: RunSpec, *, chat: bool) -> Prompt:
    """The prompt of a statement, planned or recorded. chat: whether the model takes messages."""
    if spec.task is not None:
        return make_prompt(item.statement, (), chat=chat, question=INSTRUCTIONS[spec.task])
    if spec.asked_in != ENGLISH:
        question = load_language(spec.asked_in).asking.format
        return make_prompt(item.statement, demonstrations.get(item.shots_of, ()), chat=chat, question=question)
    reading = protocol_of(spec).reading
    prompt = make_prompt(
        item.statement,
        demonstrations.get(item.shots_of, ()),
        chat=chat,
        question=question_of(spec),
        reading=reading,
        passages=[passage.text for passage in item.passages or ()],
    )
    more = _IN_ANY_LANGUAGE if reading == COMMITTED else {}
    return replace(prompt, second=CONFIDENCE_QUESTION if states(spec) else "", **more)


_IN_ANY_LANGUAGE: dict[str, Any] = {
    "reads": lambda reply: read_answer(ENGLISH, None, reply).answer,
    "place": lambda reply: read_answer(ENGLISH, None, reply).at,
    "settles": partial(settles, ENGLISH, None),
}
"""How replies to a question in English are read, which may be in another language. The papers' readings know English alone."""


def states(spec: RunSpec) -> bool:
    """Whether the model is asked how sure it is: a rule has nothing to say to that, and gives its P(True) as ever."""
    return spec.stated and not spec.writes and not provider_of(spec.model).is_rule


def prompt_text(run: Run, item: Asked, demonstrations: Demonstrations) -> str:
    """The prompt of a recorded statement as one text for people; messages stand under their roles."""
    content = prompt_of(item, demonstrations, run.spec, chat=bool(run.chat)).content
    return content if isinstance(content, str) else "\n\n".join(f"[{turn['role']}]\n{turn['content']}" for turn in content)
