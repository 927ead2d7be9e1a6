"""A local model that remembers its replies gives the same ones, and is asked only what is new."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from medfact.models import BUNDLED_MODEL, Completion, ModelInfo, Prompt, load_model
from medfact.runs.jobs.run_threads import RememberedModel

WORDS = (("True",), ("False",))


@dataclass
class Counting:
    """Says how many letters a prompt has, and notes what it was asked; it fails at "broken"."""

    spec: str = "hf:counting"
    chat: bool = False
    info: ModelInfo = field(default_factory=lambda: ModelInfo(revision="1", decoding={}))
    asked: list[object] = field(default_factory=list)

    def complete(self, prompts: Sequence[Prompt]) -> Iterator[tuple[int, Completion]]:
        for index, prompt in enumerate(prompts):
            self.asked.append(prompt.content)
            failed = prompt.content == "broken"
            yield index, Completion(None, failure="no") if failed else Completion(str(len(str(prompt.content))))


def texts(model: RememberedModel, *contents: str) -> dict[str, str | None]:
    prompts = [Prompt(content, WORDS) for content in contents]
    return {contents[index]: completion.text for index, completion in model.complete(prompts)}


def test_only_what_is_new_is_asked() -> None:
    counting = Counting()
    model = RememberedModel(counting)
    assert texts(model, "a", "bb") == {"a": "1", "bb": "2"}
    assert texts(model, "bb", "ccc", "a") == {"bb": "2", "ccc": "3", "a": "1"}
    assert counting.asked == ["a", "bb", "ccc"]


def test_a_remembered_reply_says_that_it_took_no_call() -> None:
    model = RememberedModel(Counting())
    prompts = [Prompt("a", WORDS)]
    (_, first), (_, second) = [*model.complete(prompts), *model.complete(prompts)]
    assert first.served is None
    assert second.served is not None
    assert second.served.attempts == 0


def test_failures_and_other_settings_are_asked_again() -> None:
    counting = Counting()
    model = RememberedModel(counting)
    for _ in range(2):
        texts(model, "broken")
    list(model.complete([Prompt("a", WORDS)]))
    list(model.complete([Prompt("a", WORDS, max_tokens=3)]))
    assert counting.asked == ["broken", "broken", "a", "a"]


def test_a_real_model_gives_the_same_replies_and_probabilities() -> None:
    plain = load_model(BUNDLED_MODEL)
    model = RememberedModel(plain)
    prompts = [Prompt(f"Fever is a symptom of {name}. True or false? Answer:", WORDS) for name in ("asthma", "malaria", "gout")]
    list(model.complete(prompts[:2]))
    found, expected = (dict(asked.complete(prompts)) for asked in (model, plain))
    for index in range(3):
        assert found[index].text == expected[index].text
        assert abs((found[index].p_true or 0) - (expected[index].p_true or 0)) < 1e-5
