"""A small run with hostile texts, and edits of the lines of its file."""

from __future__ import annotations

import io
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
import sqlalchemy as sql

from medfact.answers import Demonstration
from medfact.exchange import import_run
from medfact.facts import Fact
from medfact.models import Placement, ServiceSettings
from medfact.prototypes import load_pool
from medfact.spec import RunSpec
from medfact.store import (
    STOPPED,
    Answer,
    Asked,
    Plan,
    Store,
    schema,
)

KEY = "sk-nobody-may-see-me-0123456789"
"""API key of the service, which no file may contain."""

SPEC = RunSpec(
    model="openai:gpt-4o",
    facts="/home/ada/patients/facts.csv",
    columns=(("head", "disease"),),
    shots=2,
    shot_draws=2,
    budget=5.0,
    placement=Placement(dtype="float32", memory=10**9, remote_code=True),
    service=ServiceSettings(base_url="https://models.example/v1?key=abc", key=KEY, timeout=5),
)
"""Spec of the run, with texts that a file may not reveal."""

POSITIVE = (
    Fact("gout ${alert(1)} [X] \u202e", "symptoms", "Schmerz – «é» 😀", head_type="Disease", tail_type="Sign", head_id="D1"),
    Fact("=cmd|'/c calc'!A0", "symptoms", "<img src=x onerror=alert(1)>", source="book", source_id="p. 3", strength="a"),
    Fact("../../etc/passwd", "therapeutic drugs", "'; DROP TABLE runs; --", tail_type="Drug", specialty="x\ty"),
)
"""True facts with hostile texts."""

FACTS = tuple(fact for fact in POSITIVE for fact in (fact, fact.negative(f"no {fact.tail}", "T9", 1)))
"""Each true fact, followed by a false one."""

STATEMENTS = tuple(load_pool("medfact").statements(FACTS))

DRAWS = ((0, ""), (1, " / draw 2"))
"""(number of a draw of demonstrations, end of its key)."""

PLAN = Plan(
    dataset="facts.csv",
    dataset_fingerprint="f00d",
    pool="medfact",
    shots=2,
    statements=tuple(Asked(s, f"{s.fact.relation} / {s.variant}{end}", draw) for draw, end in DRAWS for s in STATEMENTS),
    demonstrations={
        "therapeutic drugs / dn": (Demonstration("Ärzte – no drug.", False), Demonstration("A drug.", True)),
        "symptoms / none": (Demonstration("pain is a symptom of gout.", True), Demonstration("rash ${x} is one too.", False)),
    },
    notes=("a note – «ü»", "another\nnote"),
    pool_text={"symptoms": {"none": "[Y] is a symptom of [X]."}},
)


def make_answer(planned: Asked, index: int) -> Answer | None:
    """Returns an answer to a planned statement: by index in turn right, wrong, unreadable, truncated, failed, and None."""
    label = planned.statement.label
    served = {"served_model": "gpt-4o-2024-08-06", "fingerprint": "fp_é", "prompt_tokens": 40 + index, "completion_tokens": 1}
    turns: list[Answer | None] = [
        Answer("", "", label, 1 / 3, 0.9, str(label), None, **served, seconds=0.1, attempts=1),
        Answer("", "", not label, 0.1 + 0.2, 1.0, "\x00 no 😀", None, p_low=0.25, p_high=0.4, attempts=2),
        Answer("", "", None, None, None, "Who\r\nknows? \ud83d", None, **served, seconds=1e-9, attempts=0),
        Answer("", "", None, 0.5, 0.5, "The", None, cut="length"),
        Answer("", "", None, None, None, None, "timed out: <html>"),
        None,
    ]
    reply = turns[index % len(turns)]
    return reply and replace(reply, statement_id=planned.statement.statement_id, key=f"k{index}", draw=planned.draw)


def store_stopped_run(store: Store, spec: RunSpec = SPEC, plan: Plan = PLAN) -> str:
    """Records a run that was stopped halfway, with the answers of `make_answer`, a name and a note; returns its id."""
    run = store.start_run(spec, plan, {"medfact": "0.1.0", "python": "3.11"})
    store.claim(run)
    store.record_model(run, revision="models.example", chat=True, decoding={"temperature": 0.0, "p_true": "logprobs"})
    replies = [reply for index, planned in enumerate(plan.statements) if (reply := make_answer(planned, index)) is not None]
    for first in range(0, len(replies), 7):
        store.answers.save(run, replies[first : first + 7][::-1])
    store.set_state(run, STOPPED, "The budget of $5.00 is spent.")
    store.describe(run, name="Été ${alert(1)}", note="<b>look</b>\n\ud83d")
    return run


def import_run_file(store: Store, data: bytes) -> str:
    """Imports the content of a run's file into a store, and returns the id of the run."""
    return import_run(store, io.BytesIO(data), "run.jsonl.gz")


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sets the environment of each test: the key of the service, and no base URL."""
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)


def read_tables(store: Store) -> dict[str, list[Any]]:
    """Returns table → its rows as sorted texts; without the table of sheets, which is derived from others."""
    with store.database.reading() as connection:
        names = [name for name in schema.metadata.tables if name != "sheets"]
        return {name: sorted(map(repr, connection.execute(sql.select(schema.metadata.tables[name])))) for name in names}


def statement_lines(lines: list[Any]) -> list[dict[str, Any]]:
    """Returns the records of the statements in the parsed lines of a run's file."""
    return [line["statement"] for line in lines if "statement" in line]


Change = Callable[[list[Any]], object]
"""An edit, in place, of the parsed lines of a run's file."""


def first_line(kind: str, lines: list[Any]) -> dict[str, Any]:
    """Returns the first line with a key, such as "run" or "answer", after the header, which has a "run" too."""
    return next(line for line in lines[1:] if kind in line)


def change_spec(**values: Any) -> Change:
    """Returns a change that sets these fields of the run's spec."""
    return lambda lines: lines[1]["run"]["spec"].update(values)
