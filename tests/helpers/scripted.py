"""A model with predetermined right and wrong answers, for figures that are computed by hand."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from medfact.answers import make_prompt
from medfact.models import Completion, Prompt
from medfact.runs.events import Event
from medfact.runs.plan import question_of
from medfact.runs.run import answer
from medfact.store import Asked, Store

RIGHT, WRONG, UNREADABLE, FAILED = "+", "-", "?", "!"
"""Signs of the four outcomes of a statement."""

UNREADABLE_REPLY = "I would rather not say."
TIMED_OUT = "timed out"

Key = tuple[str, str, str]
"""Head and tail of a fact, and a variant."""


def spread_signs(signs: Mapping[tuple[str, str], str], variants: Sequence[str]) -> dict[Key, str]:
    """Returns the sign of each key. signs: (head, tail) → one sign per variant, in their order; spaces are ignored."""
    signs_by_key = {}
    for (head, tail), row in signs.items():
        for variant, sign in zip(variants, row.replace(" ", ""), strict=True):
            signs_by_key[head, tail, variant] = sign
    return signs_by_key


@dataclass
class ScriptedModel:
    """Replies by a script, and records its prompts."""

    statement_by_prompt: Mapping[str, Asked]
    signs: Mapping[Key, str]  # one sign, or one for each draw of demonstrations
    p_true: Mapping[Key, float] = field(default_factory=dict)  # only of statements that have one
    p_mass: Mapping[Key, float] = field(default_factory=dict)
    statements: list[Asked] = field(default_factory=list)  # of the prompts
    prompts: list[Prompt] = field(default_factory=list)
    spec: str = "scripted"
    chat: bool = False

    @classmethod
    def for_run(cls, run: str, store: Store, signs: Mapping[Key, str], **probabilities: Any) -> "ScriptedModel":
        """Returns a model for a run; asserts that each statement has a sign and a prompt of its own.

        probabilities: `p_true` and `p_mass`.
        """
        spec, demonstrations, items = store.run(run).spec, store.answers.demonstrations(run), store.answers.asked(run)
        by_prompt = {}
        for item in items:
            shots = demonstrations.get(item.shots_of, ())
            by_prompt[str(make_prompt(item.statement, shots, chat=False, question=question_of(spec)).content)] = item
        assert len(by_prompt) == len(items), "two statements of the run have one prompt"
        assert {statement_key(item) for item in items} == set(signs), "the script has other statements than the run"
        return cls(by_prompt, signs, **probabilities)

    @property
    def info(self) -> Any:
        """Revision and decoding, as a real model reports them."""
        return {"revision": "7", "decoding": {"greedy": True}}

    def complete(self, prompts: Sequence[Prompt]) -> Iterator[tuple[int, Completion]]:
        """Yields the index of each prompt with its reply."""
        for index, prompt in enumerate(prompts):
            item = self.statement_by_prompt[str(prompt.content)]
            self.statements.append(item)
            self.prompts.append(prompt)
            yield index, self.reply_to(item)

    def reply_to(self, item: Asked) -> Completion:
        """Returns the reply to a statement of a run. `item.draw` is the number of its draw of demonstrations."""
        key = statement_key(item)
        sign = self.signs[key][item.draw if len(self.signs[key]) > 1 else 0]
        if sign == FAILED:
            return Completion(None, failure=TIMED_OUT)
        text = {RIGHT: str(item.statement.label), WRONG: str(not item.statement.label), UNREADABLE: UNREADABLE_REPLY}[sign]
        return Completion(text, self.p_true.get(key), self.p_mass.get(key))

    def load(self, spec: str, **placed: object) -> "ScriptedModel":
        """Returns this model, in place of `load_model`."""
        return self


def statement_key(item: Asked) -> Key:
    """Returns (head, tail, variant), which identifies a statement."""
    fact = item.statement.fact
    return fact.head, fact.tail or "", item.statement.variant


def answer_run(run: str, store: Store, model: ScriptedModel) -> list[Event]:
    """Executes a run with a scripted model, and returns its events."""
    return list(answer(run, store, load=model.load))
