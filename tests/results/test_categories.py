"""Accuracy by category of semantic types: the bundled table, a project's own, and the arithmetic."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from small_facts import StubModel, write_csv

from medfact.errors import FactsError
from medfact.metrics.groupings import CATEGORIES_FILE as FILE
from medfact.metrics.groupings import categories
from medfact.results.report import report_of
from medfact.runs.run import answer
from medfact.runs.start import start
from medfact.spec import RunSpec
from medfact.store import Store

TYPES = ("Sign or Symptom", "Pharmacologic Substance; Sign or Symptom", "Idea or Concept")
"""Of the tails of disease 0, 1, 2, 3, …, in turn."""


def asked(tmp_path: Path, store: Store) -> str:
    """12 true facts without partners, of three kinds of tails; the answer is True to those about disease 0 to 5 alone."""
    rows = [
        {"head": f"disease{n:02}", "relation": "symptoms", "tail": f"sign{n:02}", "tail_type": TYPES[n % 3]} for n in range(12)
    ]
    file = write_csv(tmp_path / "facts.csv", rows)
    spec = RunSpec(model="baseline:random", facts=str(file), protocol="mkj", pool="mkj", negatives=0)
    run = start(spec, store)
    model = StubModel(lambda prompt: str(int(prompt.statement.split("disease")[1][:2]) < 6))
    list(answer(run, store, load=model.load))
    return run


def test_accuracy_by_category_by_hand(tmp_path: Path, store: Store) -> None:
    """Diseases 0, 3, 6, 9 have a sign (pathological conditions), of which 0 and 3 are answered True: 2 of 4. Diseases 1, 4, 7
    and 10 have a drug that is a sign too: the first type counts (biomedical entities), 2 of 4. An idea is in no category.
    """
    found = report_of(store, store.run(asked(tmp_path, store))).by_category
    assert {name: (one.value, one.n) for name, one in found.items()} == {
        "biomedical entities": (0.5, 4),
        "pathological conditions": (0.5, 4),
    }
    assert all(one.low is one.high is None for one in found.values()), "four heads are too few"


def test_a_table_of_ones_own_replaces_the_bundled_one(tmp_path: Path, store: Store, home: Path) -> None:
    run = asked(tmp_path, store)
    assert len(report_of(store, store.run(run)).by_category) == 2
    home.mkdir(exist_ok=True)
    (home / FILE).write_text("ideas:\n  - Idea or Concept\n", encoding="utf-8")
    found = report_of(store, store.run(run)).by_category
    assert {name: (one.value, one.n) for name, one in found.items()} == {"ideas": (0.5, 4)}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("- a\n- b\n", "not a table"),
        ("a: b\n", "not a table"),
        ("a: [1]\n", "not a table"),
        ("a: [x]\nb: [x]\n", "'x' stands in two"),
        ("a: [x\n", "line"),
    ],
)
def test_a_broken_table_is_told(home: Path, text: str, said: str, medfact: Callable[..., Any]) -> None:
    home.mkdir()
    (home / FILE).write_text(text, encoding="utf-8")
    with pytest.raises(FactsError, match=said):
        categories()


def test_the_bundled_table_names_each_type_once() -> None:
    assert set(categories().values()) == {"biomedical entities", "pathological conditions", "clinical practice"}
    assert categories()["Hormone"] == "biomedical entities"
    assert categories()["Clinical Drug"] == "clinical practice"
