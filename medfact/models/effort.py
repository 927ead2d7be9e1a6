"""How services are told how much a model is to think: each under names of its own. Looked up in their documentation in
November 2026."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

NONE, LOW, MEDIUM, HIGH = "none", "low", "medium", "high"

EFFORTS: Mapping[str, str] = {
    NONE: "no thinking before the answer",
    LOW: "little",
    MEDIUM: "more",
    HIGH: "much",
}
"""Effort → what it means, for the page."""

THINKING_BUDGETS = {LOW: 1024, MEDIUM: 4096, HIGH: 16_384}
"""Most tokens of thinking, where a service takes a number; 1,024 is the least that Anthropic takes."""

Forms = Sequence[Mapping[str, Any]]
"""Ways to write an effort into a request, each tried where the one before is refused."""


def _openai(effort: str) -> Forms:
    return ({"reasoning_effort": effort},)


def _anthropic(effort: str) -> Forms:
    """Its layer for OpenAI's protocol ignores `reasoning_effort`. Newer models take no number of tokens."""
    if effort == NONE:
        return ({"thinking": {"type": "disabled"}},)
    budget = {"thinking": {"type": "enabled", "budget_tokens": THINKING_BUDGETS[effort]}}
    return (budget, {"thinking": {"type": "adaptive"}, "output_config": {"effort": effort}})


def _deepseek(effort: str) -> Forms:
    if effort == NONE:
        return ({"thinking": {"type": "disabled"}},)
    return ({"thinking": {"type": "enabled"}, "reasoning_effort": effort},)


def _own_server(effort: str) -> Forms:
    """vLLM, SGLang, llama.cpp: the switch of chat templates, and what the protocol itself has."""
    switch = {"chat_template_kwargs": {"enable_thinking": effort != NONE}}
    return ({**_openai(effort)[0], **switch}, switch, *_openai(effort))


_BY_HOST: Mapping[str, Callable[[str], Forms]] = {
    "api.anthropic.com": _anthropic,
    "api.deepseek.com": _deepseek,
    "openrouter.ai": lambda effort: ({"reasoning": {"effort": effort}},),
    "api.openai.com": _openai,
    "generativelanguage.googleapis.com": _openai,
    "api.mistral.ai": _openai,
    "api.groq.com": _openai,
    "api.together.ai": _openai,
    "api.together.xyz": _openai,
    "router.huggingface.co": _openai,
    "openai.azure.com": _openai,
    "amazonaws.com": _openai,
}
"""Host, or the end of its name → how it is told. Any other is a server of one's own."""

OLLAMA_PORT, LM_STUDIO_PORT = 11434, 1234
"""Where programs on one's own machine listen that take what the protocol has, and nothing of chat templates."""


def effort_forms(address: str, effort: str | None) -> Forms:
    """The ways to write an effort into a request to an address; () leaves it to the service."""
    if effort is None:
        return ()
    parts = urlsplit(address if "//" in address else f"//{address}")
    if parts.port in (OLLAMA_PORT, LM_STUDIO_PORT):
        return _openai(effort)
    host = f".{parts.hostname or ''}"
    return next((told for name, told in _BY_HOST.items() if host.endswith(f".{name}")), _own_server)(effort)


def template_arguments(effort: str) -> dict[str, str]:
    """The arguments of a chat template on this machine for an effort, beside the switch for thinking."""
    return {} if effort == NONE else {"reasoning_effort": effort}
