"""What a run costs: a table of list prices, and estimates of tokens before a service has counted any."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from medfact.assets import ASSETS
from medfact.errors import ModelError
from medfact.models.prompt import Message
from medfact.models.services.settings import OPENAI_PREFIX

PRICES = ASSETS / "prices.yaml"

CHARACTERS_PER_TOKEN = 4
"""In scripts that put spaces between words."""

TOKENS_PER_MESSAGE = 4
"""What a chat format adds to each message: the role, its beginning and end."""

_DATE = re.compile(r"-(\d{4}-\d{2}-\d{2}|\d{4,8})\Z")
_DENSE = re.compile(
    r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff]"
)
"""Characters of scripts without spaces between words, and of Korean: Thai, Lao, Burmese, Khmer, kana, Han, Hangul."""


@dataclass(frozen=True, slots=True)
class Price:
    """A list price in USD per million tokens: whose it is, where it was read and when (ISO 8601)."""

    model: str
    input: float
    output: float
    provider: str
    source: str
    as_of: str
    batch: float = 1.0
    """The share of it that calls in a batch cost."""

    def in_batch(self) -> Price:
        """What calls in a batch cost."""
        return replace(self, input=self.input * self.batch, output=self.output * self.batch)


def price_of(model: str, table: Path = PRICES) -> Price | None:
    """The price of a model by its exact name, or by its name without a date at the end; None if it is unknown.

    Raises:
        ModelError: the table cannot be read.
    """
    prices = _prices(table)
    name = model.removeprefix(OPENAI_PREFIX).strip()
    return prices.get(name) or prices.get(_DATE.sub("", name))


def estimate(statements: int, prompt_tokens: float, completion_tokens: float, price: Price) -> float:
    """The cost of a run in USD.

    Args:
        statements: their number. prompt_tokens, completion_tokens: the mean per statement. For a finished run, pass 1 statement
            and the run's totals.
    """
    return statements * (prompt_tokens * price.input + completion_tokens * price.output) / 1e6


def tokens_in(content: str | Iterable[Message]) -> int:
    """About how many tokens a text or messages have; a text counts as one message.

    Each character of a script without spaces between words, or of Korean, counts as one token, and four other characters count
    as one. Each message is rounded up, plus TOKENS_PER_MESSAGE. The service's own count after a run is the exact one.
    """
    texts = [content] if isinstance(content, str) else [message["content"] for message in content]
    return sum(_tokens(text) + TOKENS_PER_MESSAGE for text in texts)


def _tokens(text: str) -> int:
    dense = len(_DENSE.findall(text))
    return math.ceil(dense + (len(text) - dense) / CHARACTERS_PER_TOKEN)


@cache
def _prices(table: Path) -> Mapping[str, Price]:
    try:
        groups = yaml.safe_load(table.read_text(encoding="utf-8"))
        return {price.model: price for group in groups for price in _group(group)}
    except (OSError, ValueError, LookupError, TypeError, AttributeError, yaml.YAMLError) as error:
        problem = " ".join(str(error).split())[:120]
        raise ModelError(
            f"The price table {table.name} cannot be read ({problem}).",
            "Each group has provider, source, as_of, and models with [input, output] in USD per million tokens.",
        ) from None


def _group(group: dict[str, Any]) -> list[Price]:
    prices = []
    for model, (input_, output) in group["models"].items():
        told = (group["provider"], group["source"], str(group["as_of"]), float(group.get("batch", 1)))
        price = Price(str(model), float(input_), float(output), *told)
        if not (0 <= price.input < math.inf and 0 <= price.output < math.inf and 0 < price.batch <= 1):
            raise ValueError(f"{model}: no price")
        prices.append(price)
    return prices
