"""What one reply of a service took: its calls, their tokens, and how a completion tells of them."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field, replace

from medfact.models.prompt import Completion, Prompt, Served
from medfact.models.services.errors import CallFailure
from medfact.models.services.replicas import Replica


@dataclass
class Effort:
    """What one reply has taken so far.

    attempt: calls. counted: those that count as tries. unreached: those that met no service. answers, fresh_answers: as many as
    there were when the prompt first failed. refused_by: replicas that do not take the prompt.
    """

    attempt: int = 0
    counted: int = 0
    unreached: int = 0
    wasted_tokens: int = 0
    answers: int | None = None
    fresh_answers: int | None = None
    refused_by: set[Replica] = field(default_factory=set)


def digest_of(prompt: Prompt) -> bytes:
    """A hash of everything in a prompt that a service's answer depends on."""
    return hashlib.blake2b(repr((prompt.content, prompt.choices, prompt.max_tokens)).encode(), digest_size=16).digest()


def failed(failure: CallFailure, attempts: int) -> Completion:
    return Completion(None, failure=f"{failure.reason} ({attempts} {'try' if attempts == 1 else 'tries'})")


def with_effort(completion: Completion, seconds: float, effort: Effort) -> Completion:
    """A completion with the time and the calls that it took."""
    served, wasted = completion.served or Served(), effort.wasted_tokens
    tokens = (served.prompt_tokens or 0) + wasted if wasted else served.prompt_tokens
    return replace(
        completion,
        served=replace(served, seconds=seconds, attempts=effort.attempt, prompt_tokens=tokens, wasted_tokens=wasted),
    )


def reused(completion: Completion) -> Completion:
    """The answer to an identical prompt: it took no call and cost nothing."""
    if completion.served is None:
        return completion
    free = replace(completion.served, prompt_tokens=0, completion_tokens=0, seconds=0.0, attempts=0, wasted_tokens=0)
    return replace(completion, served=free)
