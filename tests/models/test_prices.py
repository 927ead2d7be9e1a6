"""What a run costs: the table of list prices, and tokens estimated from text."""

from datetime import date
from pathlib import Path

import pytest

from medfact.errors import ModelError
from medfact.models.services.prices import PRICES, Price, estimate, price_of, tokens_in


@pytest.mark.parametrize(
    ("model", "listed"),
    [
        ("gpt-4o", "gpt-4o"),
        ("openai:gpt-4o", "gpt-4o"),
        ("gpt-4o-2024-08-06", "gpt-4o"),
        ("gpt-4o-2024-05-13", "gpt-4o-2024-05-13"),  # dearer than its successors, and listed itself
        ("gpt-4o-mini-2024-07-18", "gpt-4o-mini"),
        ("gpt-3.5-turbo-0125", "gpt-3.5-turbo"),
        ("gpt-4.1-mini", "gpt-4.1-mini"),
        ("gpt-4o-audio", None),
        ("gpt-4o-mini-tts", None),
        ("gpt", None),
        ("", None),
        ("my-own-model", None),
    ],
)
def test_a_name_stands_for_its_dated_versions_and_for_nothing_else(model: str, listed: str | None) -> None:
    price = price_of(model)
    assert (price.model if price else None) == listed


def test_every_price_says_where_and_when_it_was_read() -> None:
    price = price_of("gpt-4o-mini")
    assert price is not None
    assert (price.input, price.output, price.provider) == (0.15, 0.60, "OpenAI")
    assert "price page" in price.source
    assert date(2025, 1, 1) <= date.fromisoformat(price.as_of) <= date.today()
    assert "check before relying on them" in PRICES.read_text(encoding="utf-8")


def test_a_run_costs_its_statements_times_their_tokens() -> None:
    price = Price("m", 2.0, 8.0, "P", "its page", "2025-01-01")
    # 272,000 statements of 60 and 2 tokens: 16.32 M at 2 USD and 0.544 M at 8 USD: 32.64 + 4.352
    assert estimate(272_000, 60, 2, price) == pytest.approx(36.992)
    assert estimate(1, 1_000_000, 500_000, price) == pytest.approx(2 + 4)
    assert estimate(0, 60, 2, price) == 0


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("", 4),
        ("True", 5),
        ("Gout may lead to a swollen toe.", 12),  # 31 characters: 7.75, so 8; and 4
        ("痛风", 6),
        ("痛风 is gout", 8),  # 2 and a quarter of " is gout", 8 characters: 2; and 4
        ("é ß", 5),
        ("통풍", 6),
    ],
)
def test_tokens_are_estimated_by_the_rule(text: str, tokens: int) -> None:
    assert tokens_in(text) == tokens


def test_each_message_is_counted() -> None:
    turns = ({"role": "user", "content": "abcde"}, {"role": "assistant", "content": "True"})
    assert tokens_in(turns) == (2 + 4) + (1 + 4)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "- provider: [",
        "- {provider: P, source: s, as_of: 2025-01-01, models: {m: [1]}}",
        "- {provider: P, source: s, as_of: 2025-01-01, models: {m: [1, -2]}}",
        "- {provider: P, source: s, as_of: 2025-01-01, models: {m: [1, nan]}}",
        "- {provider: P, models: {m: [1, 2]}}",
    ],
)
def test_a_table_that_cannot_be_read_says_so(tmp_path: Path, text: str) -> None:
    table = tmp_path / "prices.yaml"
    table.write_text(text, encoding="utf-8")
    with pytest.raises(ModelError, match=r"The price table prices\.yaml cannot be read") as raised:
        price_of("m", table)
    assert "\n" not in str(raised.value)


def test_a_table_of_ones_own_is_used(tmp_path: Path) -> None:
    table = tmp_path / "prices.yaml"
    table.write_text(
        "- {provider: P, source: s, as_of: 2025-01-01, models: {m: [1, 2.5], m-2025-02-03: [3, 4]}}", encoding="utf-8"
    )
    assert price_of("m", table) == Price("m", 1.0, 2.5, "P", "s", "2025-01-01")
    assert price_of("m-2025-02-03", table) == Price("m-2025-02-03", 3.0, 4.0, "P", "s", "2025-01-01")
    assert price_of("gpt-4o", table) is None
