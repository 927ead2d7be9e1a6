"""What a run will cost: a table of list prices, and tokens estimated from text before any are counted by a service."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from medfact.assets import ASSETS
from medfact.errors import ModelError
from medfact.models.prompt import Message

PRICES = ASSETS / "prices.yaml"

CHARACTERS_A_TOKEN = 4
"""Of scripts that put spaces between words."""

TOKENS_A_MESSAGE = 4
"""What a chat's format adds to each message: who speaks, where it begins and ends."""

_DATE = re.compile(r"-(\d{4}-\d{2}-\d{2}|\d{4,8})\Z")
_DENSE = re.compile(
    r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff]"
)
"""Characters of scripts without spaces between words, and of Korean: Thai, Lao, Burmese, Khmer, kana, Han, Hangul."""


@dataclass(frozen=True, slots=True)
class Price:
    """A list price in USD per million tokens, by whom, where it was read and when (ISO 8601)."""

    model: str
    input: float
    output: float
    provider: str
    source: str
    as_of: str


def price_of(model: str, table: Path = PRICES) -> Price | None:
    """The price of a model by its name: exactly so, or without the date at its end; None where it is unknown.

    Raises:
        ModelError: the table cannot be read; says where.
    """
    prices = _prices(table)
    name = model.removeprefix("openai:").strip()
    return prices.get(name) or prices.get(_DATE.sub("", name))


def estimate(statements: int, prompt_tokens: float, completion_tokens: float, price: Price) -> float:
    """What a run costs, in USD.

    Args:
        statements: how many are asked. prompt_tokens, completion_tokens: of one statement, on average. After a run: 1 statement
            and the run's sums.
    """
    return statements * (prompt_tokens * price.input + completion_tokens * price.output) / 1e6


def tokens_in(content: str | Iterable[Message]) -> int:
    """About how many tokens a text or messages hold; a text counts as one message.

    A character of a script that puts no spaces between words, or of Korean, counts as a token, four others as one; each message
    is rounded up, with TOKENS_A_MESSAGE beside it. A service counts by its own tokenizer: only its count after a run is exact.
    """
    texts = [content] if isinstance(content, str) else [message["content"] for message in content]
    return sum(_tokens(text) + TOKENS_A_MESSAGE for text in texts)


def _tokens(text: str) -> int:
    dense = len(_DENSE.findall(text))
    return math.ceil(dense + (len(text) - dense) / CHARACTERS_A_TOKEN)


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
    made = []
    for model, (entering, leaving) in group["models"].items():
        price = Price(str(model), float(entering), float(leaving), group["provider"], group["source"], str(group["as_of"]))
        if not (0 <= price.input < math.inf and 0 <= price.output < math.inf):
            raise ValueError(f"{model}: no price")
        made.append(price)
    return made
