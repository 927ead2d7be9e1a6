"""Models of the mock service, and their prompts."""

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
    """A function that loads the model of a service; all models are closed at the end."""
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    models = []

    def load_model(service: MockService | str, *, monitor: Monitor = NO_MONITOR, **settings: object) -> ServiceModel:
        base_url = service if isinstance(service, str) else service.base_url
        service_settings = ServiceSettings(**{"base_url": base_url, "key": KEY, **settings})  # type: ignore[arg-type]
        models.append(load_service("openai:mock", service_settings, monitor))
        return models[-1]

    yield load_model
    for model in models:
        model.close()


Load = Callable[..., ServiceModel]


def make_prompts(count: int) -> list[Prompt]:
    """Returns prompts with different texts."""
    return [Prompt(f"Sign {i} is a sign of disease {i}. True or false?", CHOICES, reads=read_answer) for i in range(count)]


def matches_service(prompts: list[Prompt], completions: dict[int, Completion]) -> bool:
    """Returns True if every completion has the text and the P(True) of the mock service; failed calls are ignored."""
    texts = [str(prompt.content) for prompt in prompts]
    return all(
        completion.text == answer_word(texts[index]) and completion.p_true == pytest.approx(p_true(texts[index]), abs=1e-6)
        for index, completion in completions.items()
        if completion.text is not None
    )
