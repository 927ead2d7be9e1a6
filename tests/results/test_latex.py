"""Scores as a LaTeX table: figures by hand, and text that stays text."""

import subprocess
from collections.abc import Callable
from pathlib import Path
from shutil import which
from typing import Any

import pytest
from recorded import complete_run
from small_facts import StubModel, make_fact_rows, write_csv

from medfact.metrics.uncertainty import Estimate
from medfact.results.text import _cells, escaped
from medfact.spec import RunSpec
from medfact.store import Store


@pytest.mark.parametrize(
    ("estimate", "cell"),
    [
        (Estimate(0.5244, 0.504, 0.544, 1600), "52.4 & 50.4 to 54.4 & 1,600"),
        (Estimate(-0.017, -0.069, 0.035, 40), "$-$1.7 & $-$6.9 to 3.5 & 40"),
        (Estimate(0.5, None, None, 8), "50.0 & too few diseases to say & 8"),
        (Estimate(None, None, None, 0), "-- & -- & --"),
        (None, "-- & -- & --"),
    ],
)
def test_a_cell(estimate: Estimate | None, cell: str) -> None:
    assert _cells(estimate, shown=False) == cell
    if estimate and estimate.value is not None:
        assert _cells(estimate, shown=True) == cell.replace(" & ", "$^\\dagger$ & ", 1)


def test_text_is_text() -> None:
    assert escaped("a_b & 50% of {x}\n\\input{/etc/passwd} $y$ #1") == (
        r"a\_b \& 50\% of \{x\} \textbackslash{}input\{/etc/passwd\} \$y\$ \#1"
    )


@pytest.mark.skipif(not which("pdflatex"), reason="no LaTeX on this machine")
def test_the_tables_fit_a_page(tmp_path: Path, store: Store, medfact: Callable[..., Any]) -> None:
    file = write_csv(tmp_path / "facts & more_%.csv", make_fact_rows())
    runs = []
    for reply in ("True", "False", "true", "false"):
        run = complete_run(
            RunSpec(model=f"answerer_with_a_long_name_{reply}", facts=str(file), limit=12, shots=0),
            store,
            load=StubModel(lambda prompt, reply=reply: reply).load,
        )
        runs.append(run)
    text = medfact("report", *runs, "--latex", "--db", store.url).out
    packages = r"\usepackage{array,booktabs,longtable}"
    paper = "\n".join([r"\documentclass{article}", packages, r"\begin{document}", text, r"\end{document}"])
    (tmp_path / "paper.tex").write_text(paper, encoding="utf-8")
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "paper.tex"]
    made = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, errors="replace", check=False)
    assert made.returncode == 0, made.stdout[-2_000:]
    assert "in alignment" not in made.stdout, "no table is too wide"
