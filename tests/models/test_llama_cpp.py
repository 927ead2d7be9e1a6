"""A real server: the bundled model behind llama.cpp's answers as it does here. Skipped where llama.cpp is not installed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import llama_server
import pandas
import pytest

pytest.importorskip("xllamacpp", reason="llama.cpp is not installed")

pytestmark = pytest.mark.model

BUNDLED = Path(__file__).resolve().parents[2] / "assets" / "models" / "medfact-tiny"


CLOSE = 0.01
"""How far two programs' arithmetic may put P(True) apart."""


@pytest.fixture(scope="module")
def llama_cpp(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    path = tmp_path_factory.mktemp("gguf") / "medfact-tiny.gguf"
    llama_server.write_gguf(BUNDLED, path)
    with llama_server.serve_model(path) as address:
        yield address


@pytest.mark.parametrize("shots", [0, 5])
def test_a_model_answers_behind_a_server_as_it_does_here(
    shots: int, llama_cpp: str, medfact: Callable[..., Any], url: str
) -> None:
    common = ("--limit", 50, "--shots", shots, "--db", url)

    def answers(*model: object) -> pandas.DataFrame:
        outcome = medfact("run", "--model", *model, *common)
        assert outcome.code == 0, outcome.err
        (row,) = outcome.rows
        return pandas.DataFrame(medfact("answers", row["run"], "--db", url).rows).set_index("statement_id")

    here = answers("medfact-tiny")
    there = answers("openai:medfact-tiny", "--base-url", llama_cpp, "--completions").loc[here.index]
    assert len(here) == 800
    decided = (here["p_true"] - 0.5).abs() > CLOSE
    assert decided.mean() > 0.9
    assert (here["answer"] == there["answer"])[decided].all()
    assert there["p_true"].notna().all()
    assert (here["p_true"] - there["p_true"]).abs().max() < CLOSE
