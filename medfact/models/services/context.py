"""Notices that a service cuts prompts: it counts far fewer tokens than they have, or the same number for all long ones."""

from __future__ import annotations

from dataclasses import dataclass

from medfact.models.prompt import Completion, Prompt
from medfact.models.services.prices import tokens_in

FEWEST_PROMPTS = 8
"""With fewer prompts, nothing is said."""

FEWEST_TOKENS = 256
"""No context is shorter."""

SAFE_SHARE = 1 / 3
"""Of the estimated tokens of a prompt: no tokenizer makes fewer of it."""

DIFFERENT_TOKENS = 6
"""Prompts that differ by so many estimated tokens are not, most of them, counted alike by chance."""


@dataclass
class _Alike:
    """Prompts for which a service counted the same number of tokens. least, most: their estimates."""

    prompts: int = 0
    longer: int = 0
    least: int = 1 << 62
    most: int = 0


class PromptCounts:
    """The tokens that a service counted of the prompts so far, beside those that were estimated."""

    def __init__(self) -> None:
        self._prompts = self._short = 0
        self._by_count: dict[int, _Alike] = {}

    def note(self, completion: Completion, prompt: Prompt) -> str | None:
        """A note once most prompts are cut; None before that, and where the service does not count."""
        counted = completion.served.prompt_tokens if completion.served else None
        if not counted:
            return None
        estimated = tokens_in(prompt.content)
        self._prompts += 1
        self._short += estimated >= FEWEST_TOKENS and counted < SAFE_SHARE * estimated
        alike = self._by_count.setdefault(counted, _Alike())
        alike.prompts += 1
        alike.longer += estimated > counted
        alike.least, alike.most = min(alike.least, estimated), max(alike.most, estimated)
        return self._verdict()

    def _verdict(self) -> str | None:
        most = max(self._by_count)
        longest = self._by_count[most]
        enough = max(FEWEST_PROMPTS, self._prompts / 2)
        is_full = (
            most >= FEWEST_TOKENS
            and min(longest.prompts, longest.longer) >= enough
            and longest.most - longest.least >= DIFFERENT_TOKENS
        )
        if not is_full and self._short < enough:
            return None
        estimate = max(alike.most for alike in self._by_count.values())
        context = 1 << (estimate * 5 // 4).bit_length()  # a quarter more, for the reply and for the error of the estimate
        return (
            f"The service counts {most:,} tokens at most in prompts of up to about {estimate:,}: it seems to cut them, so that "
            "the model does not see all of the question. Give it a longer context and ask again: with Ollama, set num_ctx "
            f"(OLLAMA_CONTEXT_LENGTH, or PARAMETER num_ctx in a Modelfile) to {context:,}; elsewhere, the "
            "context length that the server is started with. Or ask with fewer --passages or --shots."
        )
