"""Scores as a LaTeX table: figures by hand, and text that stays text."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from small_facts import Answerer, rows_of_facts, write_csv

from medfact.metrics.uncertainty import Estimate
from medfact.results.latex import _cell, escaped
from medfact.runs.run import answer
from medfact.runs.start import start
from medfact.spec import RunSpec
from medfact.store import Store


@pytest.mark.parametrize(
    ("estimate", "cell"),
    [
        (Estimate(0.5244, 0.504, 0.544, 1600), "52.4 (50.4 to 54.4), $n = 1{,}600$"),
        (Estimate(-0.017, -0.069, 0.035, 40), "$-$1.7 ($-$6.9 to 3.5), $n = 40$"),
        (Estimate(0.5, None, None, 8), "50.0 (too few heads to say), $n = 8$"),
        (Estimate(None, None, None, 0), "--"),
        (None, "--"),
    ],
)
def test_a_cell(estimate: Estimate | None, cell: str) -> None:
    assert _cell(estimate) == cell


def test_text_is_text() -> None:
    assert escaped("a_b & 50% of {x}\n\\input{/etc/passwd} $y$ #1") == (
        r"a\_b \& 50\% of \{x\} \textbackslash{}input\{/etc/passwd\} \$y\$ \#1"
    )


def test_the_tables_of_two_runs(tmp_path: Path, store: Store, medfact: Callable[..., Any]) -> None:
    file = write_csv(tmp_path / "facts.csv", rows_of_facts())
    runs = []
    for reply in ("True", "False"):
        run = start(RunSpec(model=f"answerer_{reply}", facts=str(file), limit=12, shots=0), store)
        list(answer(run, store, load=Answerer(lambda prompt, reply=reply: reply).load))  # type: ignore[misc]
        runs.append(run)
    text = medfact("report", *runs, "--latex", "--db", store.url).out
    assert text.count(r"\begin{table}") == text.count(r"\end{table}") == 2
    assert r"answerer\_True" in text
    assert "50.0 (" in text
    body = [line for line in text.splitlines() if line.endswith(r"\\")]
    assert {line.count("&") for line in body} == {2}, "a name and a cell a run"
