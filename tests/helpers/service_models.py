"""A model behind a small service on loopback."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from mock_service import MockService, answer_word, p_true

from medfact.answers import read_answer
from medfact.models import Completion, Prompt, ServiceSettings
from medfact.models.providers import NO_MONITOR, Monitor
from medfact.models.services.client import ServiceModel, load_service

CHOICES = (("True", "Yes"), ("False", "No"))


KEY = "sk-secret-0123456789abcdef"


@pytest.fixture
def load(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., ServiceModel]]:
    """Models of services, closed at the end."""
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    models = []

    def loaded(service: MockService | str, *, monitor: Monitor = NO_MONITOR, **settings: object) -> ServiceModel:
        base_url = service if isinstance(service, str) else service.base_url
        own_settings = ServiceSettings(**{"base_url": base_url, "key": KEY, **settings})  # type: ignore[arg-type]
        models.append(load_service("openai:mock", own_settings, monitor))
        return models[-1]

    yield loaded
    for model in models:
        model.close()


Load = Callable[..., ServiceModel]


def make_prompts(count: int) -> list[Prompt]:
    return [Prompt(f"Sign {i} is a sign of disease {i}. True or false?", CHOICES, reads=read_answer) for i in range(count)]


def matches_service(prompts: list[Prompt], got: dict[int, Completion]) -> bool:
    """True if every answer is the service's own, with its own P(True)."""
    texts = [str(prompt.content) for prompt in prompts]
    return all(
        done.text == answer_word(texts[place]) and done.p_true == pytest.approx(p_true(texts[place]), abs=1e-6)
        for place, done in got.items()
        if done.text is not None
    )
