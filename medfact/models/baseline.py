"""Rules that know no medicine, and their provider. Any model must score more than they do."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from medfact.models.prompt import Completion, Prompt
from medfact.models.providers import LoadOptions, ModelInfo, Provider, unknown_model

_NEGATION = re.compile(r"\b(not|cannot|no|never|unlikely)\b|n['’]t\b", re.IGNORECASE)


BASELINES: dict[str, Callable[[Prompt, int], bool]] = {
    "random": lambda prompt, seed: hashlib.sha256(f"{seed}\x1f{prompt.content}".encode()).digest()[0] % 2 == 0,
    "always-true": lambda prompt, seed: True,
    "always-false": lambda prompt, seed: False,
    "negation-cue": lambda prompt, seed: _NEGATION.search(prompt.statement) is None,
}
"""Name → answer to a prompt and a seed: a fair coin, always the same word, or true unless the statement is negated."""


@dataclass(frozen=True)
class Baseline:
    """A model that answers by a rule, without probabilities."""

    spec: str
    answer: Callable[[Prompt, int], bool]
    seed: int
    info: ModelInfo
    chat: bool = False

    def complete(self, prompts: Sequence[Prompt]) -> Iterator[tuple[int, Completion]]:
        for index, prompt in enumerate(prompts):
            yield index, Completion("True" if self.answer(prompt, self.seed) else "False")


PREFIX = "baseline:"

COIN, UNLESS_DENIED = f"{PREFIX}random", f"{PREFIX}negation-cue"


def _load(spec: str, options: LoadOptions) -> Baseline:
    """Raises UnknownName if there is no such rule."""
    name = spec.removeprefix(PREFIX)
    if name not in BASELINES:
        raise unknown_model(spec)
    return Baseline(spec, BASELINES[name], options.seed, {"revision": "1", "decoding": {"seed": options.seed}})


RULES = Provider(
    prefixes=(PREFIX,),
    load=_load,
    ready=tuple(f"{PREFIX}{name}" for name in BASELINES),
    titles={
        COIN: "a coin",
        "baseline:always-true": "always says true",
        "baseline:always-false": "always says false",
        UNLESS_DENIED: "true unless denied",
    },
    explained={
        COIN: "Answers true or false at random: what guessing scores.",
        "baseline:always-true": "Answers true to every sentence.",
        "baseline:always-false": "Answers false to every sentence.",
        UNLESS_DENIED: "Answers false to sentences with “not” or “no”, true to all others: it knows no medicine.",
    },
    title=str,
    help=(f"{PREFIX}NAME",),
    takes_names=False,
    is_rule=True,
)
