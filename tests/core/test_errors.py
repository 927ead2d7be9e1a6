"""Errors for people: what is wrong and what to do, however long the value was that somebody typed or sent."""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from medfact.errors import MAX_QUOTED_LENGTH, MedfactError, UnknownName

LONG = "x" * 9000


def test_of_a_long_value_the_beginning_and_the_end_are_quoted() -> None:
    """9,000 letters in quotation marks are 9,002 characters, of which the first 100 and the last 100 stay."""
    error = UnknownName("language", LONG, ["en", "es"])
    assert str(error) == f"There is no language '{'x' * 99}…{'x' * 99}'. There is: en, es."
    assert str(MedfactError(f"The folder {'a ' * 4500!r} is empty.")) == f"The folder '{'a ' * 49}a…{' a' * 49} ' is empty."
    assert LONG not in str(MedfactError("It is wrong.", f"Write {LONG}."))


@given(st.text("ab '\"\n", max_size=MAX_QUOTED_LENGTH - 2))
def test_what_is_short_is_quoted_whole(value: str) -> None:
    assert str(MedfactError(f"The donor's name {value!r} isn't known.")) == f"The donor's name {value!r} isn't known."


@pytest.mark.parametrize(
    "option", ["--language", "--shots", "--protocol", "--column", "--question", "--dtype", "--memory", "--dataset", "--facts"]
)
def test_no_option_echoes_a_long_value(option: str, medfact: Callable[..., Any]) -> None:
    outcome = medfact("run", "--model", "baseline:random", option, LONG, "--limit", 1)
    assert outcome.code == 2
    assert "xxx" in outcome.err
    assert len(outcome.err) < 1500, outcome.err
