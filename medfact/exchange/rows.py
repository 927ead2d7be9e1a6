"""Facts, statements, answers and scores as rows for files and other tools."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from medfact.facts import Fact
from medfact.metrics.measures import Measures
from medfact.metrics.uncertainty import Estimate
from medfact.statements import Statement
from medfact.store import Asked, Run

_FACT_COLUMNS = (
    "fact_id", "negative_of", "head", "relation", "tail", "positive", "head_type", "tail_type", "head_id", "tail_id",
    "source", "source_id",
)  # fmt: skip
_SERVED = ("p_low", "p_high", "cut", "served_model", "fingerprint", "prompt_tokens", "completion_tokens", "seconds", "attempts")


def fact_row(fact: Fact) -> dict[str, Any]:
    """A row of `facts`, but for its role."""
    return {name: getattr(fact, name) for name in _FACT_COLUMNS}


def statement_row(statement: Statement) -> dict[str, Any]:
    """A row of `statements`."""
    fact = statement.fact
    return {
        "statement_id": statement.statement_id,
        "fact_id": fact.fact_id,
        "negative_of": fact.negative_of,
        "head": fact.head,
        "relation": fact.relation,
        "tail": fact.tail,
        "positive": fact.positive,
        "pool": statement.pool,
        "variant": statement.variant,
        "statement": statement.text,
        "label": statement.label,
    }


def answer_row(item: Asked, record: Run) -> dict[str, Any]:
    """A row of `answers`: a statement with what the model answered, or why its call failed."""
    answer = item.answer
    return statement_row(item.statement) | {
        "model": record.model,
        "answer": answer and answer.answer,
        "p_true": answer and answer.p_true,
        "p_mass": answer and answer.p_mass,
        "raw": answer and answer.raw,
        "failure": answer and answer.failure,
        "shot_draw": item.draw,
        **{name: answer and getattr(answer, name) for name in _SERVED},
    }


def score_rows(run: str, model: str, measures: Measures) -> Iterator[dict[str, Any]]:
    """Every figure of a run that has an interval, one a row; `group` and `name` say over which statements."""
    for field, value in vars(measures).items():
        named = {"": value} if isinstance(value, Estimate) else value if field.startswith("by_") else {}
        for name, estimate in named.items():
            figure = {"value": estimate.value, "low": estimate.low, "high": estimate.high, "n": estimate.n}
            yield {
                "run": run,
                "model": model,
                "figure": "average_accuracy" if name else field,
                "group": field,
                "name": name,
                **figure,
            }
