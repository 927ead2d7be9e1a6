"""`eval.yaml`: with it the Hub takes a data set as a benchmark, which Inspect then runs by its name alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import yaml

from medfact.datasets.text import one_line
from medfact.store import Plan

FILE = "eval.yaml"

TASK = "average_accuracy"
"""The one task, named after its score: Inspect knows no facts, so that it cannot count those that are mastered."""

FIRST_WORD = r"\b(True|False)\b"
"""Which answer a reply gives, as Inspect reads it."""


def eval_yaml(planned: Plan, fields: Mapping[str, str | Sequence[str]], max_tokens: int) -> str:
    """The text of the file. fields: which columns hold input, target and metadata, in Inspect's terms."""
    task: dict[str, Any] = {
        "id": TASK,
        "config": "default",
        "split": "test",
        "field_spec": dict(fields),
        "solvers": [{"name": "generate", "args": {"max_tokens": max_tokens}}],
        "scorers": [{"name": "pattern", "args": {"pattern": FIRST_WORD}}],
    }
    benchmark = {
        "name": f"medfact: statements of {one_line(planned.dataset)}",
        "description": "Medical statements, each to be judged true or false: every fact is stated in logically related ways.",
        "evaluation_framework": "inspect-ai",
        "tasks": [task],
    }
    return yaml.safe_dump(benchmark, sort_keys=False, allow_unicode=True)
