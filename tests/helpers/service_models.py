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
"""Words that count as True, and words that count as False."""

KEY = "sk-secret-0123456789abcdef"
"""API key of each model, unless a test gives another."""

ModelLoader = Callable[..., ServiceModel]
"""(service or base URL, monitor=…, further fields of `ServiceSettings`) → a model of that service."""


@pytest.fixture
def load_service_model(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModelLoader]:
    """A function that loads the model "openai:mock" of a service, as `ModelLoader`.

    The environment has no key and no base URL of OpenAI. All loaded models are closed at the end.
    """
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    models = []

    def load(service: MockService | str, *, monitor: Monitor = NO_MONITOR, **settings: object) -> ServiceModel:
        base_url = service if isinstance(service, str) else service.base_url
        service_settings = ServiceSettings(**{"base_url": base_url, "key": KEY, **settings})  # type: ignore[arg-type]
        models.append(load_service("openai:mock", service_settings, monitor))
        return models[-1]

    yield load
    for model in models:
        model.close()


def make_prompts(count: int) -> list[Prompt]:
    """Returns this number of prompts, which ask about different statements."""
    return [Prompt(f"Sign {i} is a sign of disease {i}. True or false?", CHOICES, reads=read_answer) for i in range(count)]


def matches_service(prompts: list[Prompt], completions: dict[int, Completion]) -> bool:
    """Returns True if each completion has the text and the P(True) that the mock service gives to its prompt.

    completions: index of the prompt → its completion. Those without a text, whose call failed, are ignored.
    """
    texts = [str(prompt.content) for prompt in prompts]
    return all(
        completion.text == answer_word(texts[index]) and completion.p_true == pytest.approx(p_true(texts[index]), abs=1e-6)
        for index, completion in completions.items()
        if completion.text is not None
    )
