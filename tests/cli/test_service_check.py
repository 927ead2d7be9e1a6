"""`run --check-service`: a service whose answers depend on its load is told from one whose answers do not."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from mock_service import Behaviour, MockService

Medfact = Callable[..., Any]


class Rounding(MockService):
    """A service that turns its answers round where it computes several calls together."""

    def _reply(self, prompt: str, attempt: int, body: dict[str, Any]) -> dict[str, Any]:
        return super()._reply(f"{prompt} together" if self.in_flight > 8 else prompt, attempt, body)


def checked(medfact: Medfact, service: MockService, url: str, *more: object) -> dict[str, Any]:
    outcome = medfact("run", "--check-service", "--model", "openai:gpt-4o", "--base-url", service.base_url, "--db", url, *more)
    assert outcome.code == 0, outcome.err
    (row,) = outcome.rows
    return row


def test_a_service_that_answers_alike_in_any_company(medfact: Medfact, url: str) -> None:
    with MockService(Behaviour(latency=0.05)) as service:
        row = checked(medfact, service, url)
        assert service.peak_in_flight > 3
        assert set(service.call_counts().values()) == {4}
        assert len(service.call_counts()) == row["prompts"] == 32
    assert (row["calls"], row["failed"]) == (128, 0)
    assert row["usd"] > 0
    for name in ("load", "order"):
        assert (row[name]["answers"], row[name]["n"]) == (0, 32)
        assert (row[name]["probabilities"], row[name]["n_p"]) == (0, 32)
    assert row["said"].endswith("Nothing here depends on order or load.")
    assert "0 of 32 answers differ (95% interval 0% to 11%)" in row["said"]
    assert not medfact("runs", "--db", url).rows, "no run is recorded"


def test_a_service_whose_answers_depend_on_its_load(medfact: Medfact, url: str) -> None:
    with Rounding(Behaviour(latency=0.2)) as service:
        row = checked(medfact, service, url)
    assert row["load"]["answers"] > 0
    assert row["load"]["probabilities"] > row["load"]["answers"]
    assert row["load"]["largest"] > 0.1
    assert re.search(r"[1-9]\d* of 32 answers differ", row["said"])
    assert "depend on what else the service computes" in row["said"]


def test_a_service_that_never_repeats_itself(medfact: Medfact, url: str) -> None:
    with MockService(Behaviour(latency=0.01, is_sampled=True, ignores_logprobs=True)) as service:
        row = checked(medfact, service, url)
    assert row["load"]["largest"] is None
    assert "whatever its company" in row["said"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--model", "medfact-tiny"], "is for a model behind a service"),
        ([], "Give --model"),
        (["--model", "openai:gpt-4o", "--facts", "mine.csv"], "asks bundled facts"),
        (["--model", "openai:gpt-4o", "--base-url", "http://127.0.0.1:9/v1", "--budget", "0.000001"], "more than the budget"),
    ],
)
def test_mistakes_are_one_line(arguments: list[str], said: str, medfact: Medfact) -> None:
    outcome = medfact("run", "--check-service", *arguments)
    assert outcome.code == 2
    (line,) = outcome.err.strip().splitlines()
    assert said in line


def test_a_dry_run_asks_nothing(medfact: Medfact) -> None:
    (row,) = medfact("run", "--check-service", "--model", "openai:gpt-4o", "--dry-run").rows
    assert row["calls"] == 128
    assert row["usd"] > 0
