"""The prompt of a statement: the one place where prompts are assembled."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from medfact.answers import Demonstration, make_prompt
from medfact.runs.plan import question_of
from medfact.store import Asked, Run


def prompt_text(run: Run, item: Asked, demonstrations: Mapping[str, Sequence[Demonstration]]) -> str:
    """The exact prompt of a run's statement as one text, for people; the turns of a conversation each under its role."""
    shots = demonstrations.get(item.shots_of, ())
    prompt = make_prompt(item.statement, shots, chat=bool(run.chat), question=question_of(run.spec)).content
    return prompt if isinstance(prompt, str) else "\n\n".join(f"[{turn['role']}]\n{turn['content']}" for turn in prompt)
