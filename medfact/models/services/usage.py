"""How many tokens a call took: as the service counts them, else as estimated from the texts."""

from __future__ import annotations

from typing import Any

MAX_TOKENS = 10_000_000
"""More tokens than any call can use: a larger count is an error of the service."""

_PROMPT = ("prompt_tokens", "input_tokens", "promptTokens", "promptTokenCount", "prompt_eval_count")
_COMPLETION = ("completion_tokens", "output_tokens", "completionTokens", "candidatesTokenCount", "eval_count")
_TOTAL = ("total_tokens", "totalTokens", "totalTokenCount")


def counted_tokens(reply: dict[str, Any]) -> tuple[int | None, int | None]:
    """The tokens of the prompt and of the completion as a reply counts them; None for what it does not count."""
    usage = next((found for name in ("usage", "usageMetadata") if isinstance(found := reply.get(name), dict)), reply)
    prompt, completion, total = (_first(usage, names) for names in (_PROMPT, _COMPLETION, _TOTAL))
    if completion is None and prompt and total:
        completion = max(total - prompt, 0)
    return prompt or None, completion  # no prompt has 0 tokens


def _first(usage: dict[str, Any], names: tuple[str, ...]) -> int | None:
    return next((count for name in names if (count := _count(usage.get(name))) is not None), None)


def _count(value: object) -> int | None:
    """A number of tokens, which some services write as 30.0 or "30"; None for anything that cannot be one."""
    if isinstance(value, str):
        try:
            value = float(value)
        except ValueError:
            return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= MAX_TOKENS or value != int(value):
        return None
    return int(value)
