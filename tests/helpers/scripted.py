"""A model whose right and wrong answers are known beforehand: the test double behind figures worked by hand."""

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
"""The four fates of a statement."""

UNREADABLE_REPLY = "I would rather not say."
TIMED_OUT = "timed out"

Key = tuple[str, str, str]
"""The head and the tail of a fact, and a variant."""


def spread_signs(signs: Mapping[tuple[str, str], str], variants: Sequence[str]) -> dict[Key, str]:
    """(head, tail) → one sign per variant, in their order; spaces between signs are for the reader. Spread out over keys."""
    spread = {}
    for (head, tail), written in signs.items():
        row = written.replace(" ", "")
        for variant, sign in zip(variants, row, strict=True):
            spread[head, tail, variant] = sign
    return spread


@dataclass
class ScriptedModel:
    """Replies by a script, and keeps what it was asked.

    signs: for each statement one sign, or one for each draw of demonstrations. Which word is right follows from the label.
    p_true, p_mass: for each statement; without a value a statement has none.
    """

    place: Mapping[str, Asked]
    signs: Mapping[Key, str]
    p_true: Mapping[Key, float] = field(default_factory=dict)
    p_mass: Mapping[Key, float] = field(default_factory=dict)
    statements: list[Asked] = field(default_factory=list)
    prompts: list[Prompt] = field(default_factory=list)
    spec: str = "scripted"
    chat: bool = False

    @classmethod
    def for_run(cls, run: str, store: Store, signs: Mapping[Key, str], **probabilities: Any) -> "ScriptedModel":
        """The scripted model of a run, which knows every statement and draw by its prompt. Each must have a sign.

        probabilities: `p_true` and `p_mass`.
        """
        spec, demonstrations, asked = store.run(run).spec, store.answers.demonstrations(run), store.answers.asked(run)
        place = {}
        for item in asked:
            shots = demonstrations.get(item.shots_of, ())
            place[str(make_prompt(item.statement, shots, chat=False, question=question_of(spec)).content)] = item
        assert len(place) == len(asked), "two statements of the run have one prompt"
        assert {statement_key(item) for item in asked} == set(signs), "the script is not about the statements of this run"
        return cls(place, signs, **probabilities)

    @property
    def info(self) -> Any:
        return {"revision": "7", "decoding": {"greedy": True}}

    def complete(self, prompts: Sequence[Prompt]) -> Iterator[tuple[int, Completion]]:
        for place, prompt in enumerate(prompts):
            item = self.place[str(prompt.content)]
            self.statements.append(item)
            self.prompts.append(prompt)
            yield place, self.completion(item)

    def completion(self, item: Asked) -> Completion:
        """The reply to a statement after a draw of demonstrations."""
        key = statement_key(item)
        sign = self.signs[key][item.draw if len(self.signs[key]) > 1 else 0]
        if sign == FAILED:
            return Completion(None, failure=TIMED_OUT)
        text = {RIGHT: str(item.statement.label), WRONG: str(not item.statement.label), UNREADABLE: UNREADABLE_REPLY}[sign]
        return Completion(text, self.p_true.get(key), self.p_mass.get(key))

    def load(self, spec: str, **placed: object) -> "ScriptedModel":
        """Stands where `load_model` does."""
        return self


def statement_key(item: Asked) -> Key:
    fact = item.statement.fact
    return fact.head, fact.tail or "", item.statement.variant


def answer_run(run: str, store: Store, model: ScriptedModel) -> list[Event]:
    """All events of asking a run's statements of a scripted model."""
    return list(answer(run, store, load=model.load))
