"""How a service that speaks the OpenAI protocol is called. Imports no HTTP client."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

from medfact.errors import Mistake, ModelError
from medfact.setting import ADDRESS, NOTHING, SEEDS, SERVICE, TOKENS, Bounds, setting, settings_by_name

OPENAI_PREFIX = "openai:"
"""How the specs of models behind such a service begin."""

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


def _temperature(text: str) -> float | None:
    try:
        return None if text == "default" else float(text)
    except ValueError:
        raise Mistake(f"--temperature {text!r} is not a number.", "Write a number from 0 to 2, or `default`.") from None


@dataclass(frozen=True, slots=True)
class ServiceSettings:
    """How a service is called. Neither key nor address appears in the `repr`."""

    # fmt: off
    base_url: str | None = setting(
        None, "--base-url", "URL",
        "address of the service, such as http://127.0.0.1:8000/v1",
        group=SERVICE, place=0, resumable=True, export_policy=ADDRESS, repr_=False,
    )
    """The address up to and including `/v1`; None means OPENAI_BASE_URL, else OpenAI."""

    key: str | None = setting(None, export_policy=NOTHING, repr_=False)
    """None means OPENAI_API_KEY, where the policy allows it (`policy.environment_key`)."""

    in_flight: int = setting(
        32, "--in-flight", "N", "most calls at once",
        group=SERVICE, place=0, bounds=Bounds(1, 1_024, "number of calls in flight"), resumable=True,
    )
    """Fewer when the service says there are too many."""

    tries: int = setting(
        6, "--tries", "N", "most calls per prompt",
        group=SERVICE, place=0, bounds=Bounds(1, 100, "number of tries"), resumable=True,
    )
    """Most calls for one prompt before it counts as failed."""

    timeout: float = setting(
        60.0, "--timeout", "SECONDS", "time limit of one call",
        group=SERVICE, place=0, bounds=Bounds(1e-3, 3_600, "time limit of a call"), resumable=True,
    )
    temperature: float | None = setting(
        0.0, "--temperature", "T", "0 to 2, or `default` for the service's own",
        group=SERVICE, place=3, parse=_temperature, bounds=Bounds(0, 2, "temperature"),
    )
    """None leaves the service's default."""

    top_logprobs: int = setting(
        20, "--alternatives", "N", "log-probabilities per token, 0 to 20",
        group=SERVICE, place=3, bounds=Bounds(0, 20, "number of alternatives"),
    )
    """Alternatives requested per token, from 0 (no P(True)) to 20."""

    max_tokens: int | None = setting(None, bounds=TOKENS)
    """Most tokens in a reply; None takes the prompt's limit, or THINKING_TOKENS for a model that thinks."""

    repeats: int = setting(
        0, "--repeats", "K", "measure P(True) by K answers, not by log-probabilities",
        group=SERVICE, place=3, bounds=Bounds(0, 100, "number of repeats"),
    )
    """Answers per prompt, at the service's own temperature, instead of log-probabilities; 0 for none."""

    shots_as_turns: bool = setting(False, "--shots-as-turns", "", "send demonstrations as chat turns", group=SERVICE, place=4)
    """Demonstrations are turns of a conversation, not part of one text. Whoever writes the prompts follows this: a text is sent
    as one user message, messages are sent as they are."""

    seed: int | None = setting(
        None, "--service-seed", "S", "seed to send with each call",
        group=SERVICE, place=3, bounds=SEEDS._replace(noun="seed of the service"),
    )
    """Sent if set; with repeats, each repeat gets the next seed."""

    fresh: bool = setting(
        False, "--fresh", "", "ask identical prompts again, also within a run", group=SERVICE, excludes="spec.reuse"
    )
    completions: bool = setting(
        False, "--completions", "", "send plain text to /completions, for base models", group=SERVICE, place=2
    )
    """Prompts go to /completions as plain text, for a model without a chat template."""

    effort: str | None = setting(None, export_policy=NOTHING)
    """How much the model is to think, as the run's spec says where its model is loaded; None leaves it to the service."""
    # fmt: on

    def __post_init__(self) -> None:
        if self.completions and self.shots_as_turns:
            raise ModelError("Text completions have no turns.", "Leave out --completions or --shots-as-turns.")
        declared = settings_by_name(self)
        for name, words in _NAMES.items():  # others are held to their bounds where they enter: recorded ones stay readable
            value, bounds = getattr(self, name), declared[name].bounds
            most = bounds.maximum if bounds and name in _OF_THE_PROTOCOL else inf
            if value is not None and bounds and not bounds.minimum <= value <= most:
                raise ModelError(
                    f"A setting of the service is out of range: {words}.",
                    "Use at least 1 call and 1 try, a temperature from 0 to 2, and 0 to 20 alternatives.",
                )


DEFAULTS = ServiceSettings()
"""The method's own settings: one text, greedy decoding, and the alternatives of each token."""
