"""A service with several replicas: spread by what they carry, one group at one replica, and those that fail are dropped."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mock_service import Behaviour, MockService

from medfact.answers import make_prompt
from medfact.cli.options import repeated_spec, spec_of
from medfact.errors import MedfactError, Mistake
from medfact.exchange.portable import portable
from medfact.models import Completion, Prompt, ServiceSettings
from medfact.models.prompt import groups_of
from medfact.models.services.client import load_service
from medfact.models.services.division import Division
from medfact.models.services.policy import check_imported_run, check_new_run, hosts_of, is_on_this_machine
from medfact.runs.run import answer
from medfact.runs.start import start
from medfact.spec import RunSpec
from medfact.statements import Statement
from medfact.store import COMPLETE, PAUSED, Store

KEY = "sk-nobody-may-see-me-0123456789"


@pytest.fixture(autouse=True)
def no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)


def prompts_of(count: int, groups: int = 12) -> list[Prompt]:
    """Prompts in a run's order: one of each group, then a second of each."""
    asked = []
    for number in range(count):
        statement = f"Disease {number} may have fever as one of its symptoms."
        content = f"Demonstrations of group {number % groups}.\n{statement} True or False?"
        asked.append(replace(make_prompt(statement_of(statement), (), chat=False), content=content))
    return asked


def statement_of(text: str) -> Any:
    class Stated:
        fact = type("F", (), {"head": "h", "relation": "r", "tail": "t"})()
        variant = type("V", (), {"negated": False})()

    stated = Stated()
    stated.text = text  # type: ignore[attr-defined]
    return stated


def asked_of(replicas: list[MockService], prompts: list[Prompt], **settings: Any) -> tuple[dict[int, Completion], float, Any]:
    """What replicas answer, how long it took, and what the run would record of the model."""
    first, *others = [replica.base_url for replica in replicas]
    service = ServiceSettings(base_url=first, replicas=tuple(others), key=KEY, **{"timeout": 5, **settings})
    model = load_service("openai:mock", service)
    begun = time.monotonic()
    try:
        return dict(model.complete(prompts)), time.monotonic() - begun, model.info
    finally:
        model.close()
