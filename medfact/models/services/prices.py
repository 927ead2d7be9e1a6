"""What a run costs: a table of list prices, and estimates of tokens before a service has counted any."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import date
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from medfact.assets import ASSETS
from medfact.errors import ModelError
from medfact.models.prompt import Message
from medfact.models.services.named import service_named
from medfact.models.services.settings import OPENAI_PREFIX

PRICES = ASSETS / "prices.yaml"

CHARACTERS_PER_TOKEN = 4
"""In scripts that put spaces between words."""

TOKENS_PER_MESSAGE = 4
"""What a chat format adds to each message: the role, its beginning and end."""

DATE_OF_MODEL = re.compile(r"-(\d{4}-\d{2}-\d{2}|\d{4,8})\Z")
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
    """The price of a model at its service by its exact name, or by its name without a date at the end; None if it is unknown.

    A name without a service is one of OpenAI. A person's own table, which MEDFACT_PRICES names, goes before.

    Raises:
        ModelError: a table cannot be read.
    """
    spec = (model if service_named(model) else f"{OPENAI_PREFIX}{model}").strip()
    own = os.environ.get("MEDFACT_PRICES", "")
    prices = {**_prices(table), **(_prices(Path(own)) if own else {})}
    return prices.get(spec) or prices.get(DATE_OF_MODEL.sub("", spec))


def age_of(as_of: str, today: date | None = None) -> str:
    """How old a price is, in words: "3 months old". "" where its date is none, such as a year alone."""
    try:
        days = ((today or date.today()) - date.fromisoformat(as_of)).days
    except ValueError:
        return ""
    count, unit = (days, "day") if days < 60 else (round(days / 30.44), "month")
    return f"{max(count, 0)} {unit}{'' if count == 1 else 's'} old"


def dated(as_of: str) -> str:
    """The date of a price with its age: "2026-08-31 (3 months old)"."""
    age = age_of(as_of)
    return f"{as_of} ({age})" if age else as_of


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
    """The prices of a table by the specs of their models."""
    try:
        groups = yaml.safe_load(table.read_text(encoding="utf-8"))
        return {f"{group.get('service', OPENAI_PREFIX)}{price.model}": price for group in groups for price in _group(group)}
    except (OSError, ValueError, LookupError, TypeError, AttributeError, yaml.YAMLError) as error:
        problem = " ".join(str(error).split())[:120]
        raise ModelError(
            f"The price table {table.name} cannot be read ({problem}).",
            "Each group has service, provider, source, as_of, and models with [input, output] in USD per million tokens.",
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
