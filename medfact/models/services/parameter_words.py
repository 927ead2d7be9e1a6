"""Which parameter a service refuses, in the words of many services, and how much of it it takes."""

from __future__ import annotations

import re

PARAMETER = re.compile(
    r"(?:top[ _-]?)?(?:num[ _-]?)?log[ _-]?prob(?:abilitie)?s?|top_n_tokens|n_probs"
    r"|max[ _-]?(?:new|output|completion)?[ _-]?tokens"
    r"|(?<![a-z])(?:temperature|seed|stop)(?![a-z])",
    re.IGNORECASE,
)
"""Parameters named in a refusal that can be left out, lowered or replaced."""

TOO_LONG = re.compile(r"context.{0,20}length|too (?:long|many tokens)|maximum context", re.IGNORECASE)
"""A complaint about the length of the prompt, whichever parameters it mentions."""

_LIMIT = re.compile(
    r"(?:<=?|≤|less than(?: or equal to)?|at most|no more than|not exceed|up to|max(?:imum)?(?: \w+){0,3}?(?: is)?"
    r"|(?:between|from) \d+ (?:and|to)|\[\d+,)\W{0,3}(\d{1,6})\b",
    re.IGNORECASE,
)
"""A phrase that says how much is allowed."""


def parameters_named(words: str, field: str | None = None) -> list[str]:
    """The parameters that a refusal names, by the protocol's names. field: the one that stands in a field of its own."""
    found = [*([field] if field else []), *PARAMETER.findall(words)]
    return list(dict.fromkeys(map(_protocol_name, found)))


def _protocol_name(found: str) -> str:
    name = re.sub(r"[^a-z]", "", found.lower())
    if "prob" in name or name == "topntokens":
        return "top_logprobs" if name.startswith(("top", "nprobs", "num")) else "logprobs"
    if name.startswith("max") and name.endswith("tokens"):
        return "max_completion_tokens" if "completion" in name else "max_tokens"
    return name


def limit_in(words: str, requested: int) -> int | None:
    """The number below the one requested that a refusal says is allowed; None where it says none. It may quote both."""
    return max((number for number in map(int, _LIMIT.findall(words)) if number < requested), default=None)
