"""Small facts and their files, and a stub model."""

import csv
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from medfact.facts import Fact
from medfact.models import Completion, Prompt

HEADS = 14
"""Number of diseases."""


def make_fact_rows(heads: int = HEADS) -> list[dict[str, str]]:
    """Returns three facts per disease as rows: disease i has the symptoms sign i and i + 1 (after the last, 0), and drug i."""
    rows = []
    for i in range(heads):
        head = f"disease{i:02}"
        rows.append({"head": head, "relation": "symptoms", "tail": f"sign{i:02}"})
        rows.append({"head": head, "relation": "symptoms", "tail": f"sign{(i + 1) % heads:02}"})
        rows.append({"head": head, "relation": "therapeutic drugs", "tail": f"drug{i:02}"})
    return rows


def make_facts(rows: Sequence[Mapping[str, str]]) -> tuple[Fact, ...]:
    """Converts rows to facts, with a field for each column."""
    return tuple(Fact(**row) for row in rows)


def write_csv(path: Path, rows: Sequence[Mapping[str, object]]) -> Path:
    """Writes rows, each column → value, as a CSV file with a header, and returns its path."""
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, fieldnames=list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return path


@dataclass
class StubModel:
    """Model that replies by a rule, and records its prompts."""

    reply: Callable[[Prompt], str | Completion] = lambda prompt: "True"  # the rule
    chat: bool = False  # True if it takes messages
    prompts: list[Prompt] = field(default_factory=list)  # all prompts so far, in order
    spec: str = "answerer"

    @property
    def info(self) -> Any:
        """Revision and decoding, as a real model reports them."""
        return {"revision": "7", "decoding": {"greedy": True}}

    def complete(self, prompts: Sequence[Prompt]) -> Iterator[tuple[int, Completion]]:
        """Yields the index of each prompt with its reply."""
        for index, prompt in enumerate(prompts):
            self.prompts.append(prompt)
            reply = self.reply(prompt)
            yield index, Completion(reply) if isinstance(reply, str) else reply

    def load(self, spec: str, **placed: object) -> "StubModel":
        """Returns this model for any arguments; a stand-in for `load_model`."""
        return self
