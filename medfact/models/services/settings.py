"""How a service that speaks the OpenAI protocol is called. Imports no HTTP client."""

from __future__ import annotations

from dataclasses import dataclass, field

from medfact.bounds import BOUNDS, MOST_ALTERNATIVES
from medfact.errors import ModelError

OPENAI_PREFIX = "openai:"
"""How the specs of models behind such a service begin."""

MAX_ALTERNATIVES = MOST_ALTERNATIVES
"""The protocol's largest `top_logprobs`."""

_NAMES = {
    "in_flight": "calls in flight",
    "tries": "tries",
    "timeout": "timeout",
    "temperature": "temperature",
    "top_logprobs": "alternatives",
    "max_tokens": "tokens in a reply",
    "repeats": "repeats",
}

_OF_THE_PROTOCOL = {"temperature", "top_logprobs"}
"""Settings that no service takes beyond their bounds."""


@dataclass(frozen=True, slots=True)
class ServiceSettings:
    """How a service is called. Neither key nor address appears in the `repr`.

    base_url:       the address up to and including `/v1`; None means OPENAI_BASE_URL, else OpenAI.
    replicas:       further addresses that serve the same model; calls are spread over all of them.
    key:            None means OPENAI_API_KEY, where the policy allows it (`policy.environment_key`).
    in_flight:      most calls at once, at each address; fewer when the service says there are too many.
    tries:          most calls for one prompt before it counts as failed.
    timeout:        seconds that one call may take.
    temperature:    None leaves the service's default.
    top_logprobs:   alternatives requested per token, from 0 (no P(True)) to 20.
    max_tokens:     most tokens in a reply; None takes the prompt's limit, or THINKING_TOKENS for a model that thinks.
    repeats:        answers per prompt, at the service's own temperature, instead of log-probabilities; 0 for none.
    shots_as_turns: demonstrations are turns of a conversation, not part of one text. Whoever writes the prompts follows this: a
                    text is sent as one user message, messages are sent as they are.
    completions:    prompts go to /completions as plain text, for a model without a chat template.
    fresh:          identical prompts are asked again each time, even within a run.
    seed:           sent if set; with repeats, each repeat gets the next seed.
    """

    base_url: str | None = field(default=None, repr=False)
    key: str | None = field(default=None, repr=False)
    in_flight: int = 32
    tries: int = 6
    timeout: float = 60.0
    temperature: float | None = 0.0
    top_logprobs: int = 20
    max_tokens: int | None = None
    repeats: int = 0
    shots_as_turns: bool = False
    seed: int | None = None
    fresh: bool = False
    completions: bool = False
    replicas: tuple[str, ...] = field(default=(), repr=False)

    def __post_init__(self) -> None:
        if self.completions and self.shots_as_turns:
            raise ModelError("Text completions have no turns.", "Leave out --completions or --shots-as-turns.")
        for name, words in _NAMES.items():  # others are held to their bounds where they enter: recorded ones stay readable
            least, most, _ = BOUNDS[f"service.{name}"]
            value = getattr(self, name)
            if value is not None and not (least <= value and (value <= most or name not in _OF_THE_PROTOCOL)):
                raise ModelError(
                    f"A setting of the service is out of range: {words}.",
                    "Use at least 1 call and 1 try, a temperature from 0 to 2, and 0 to 20 alternatives.",
                )


DEFAULTS = ServiceSettings()
"""The method's own settings: one text, greedy decoding, and the alternatives of each token."""
