"""A run in the format of Every Eval Ever: its own validator finds nothing to mend, and no failed call has a row."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from harnesses import interpreter_path
from recorded import complete_run
from small_facts import StubModel, make_fact_rows, write_csv

from medfact.models import Completion
from medfact.results.exports import model_id
from medfact.results.report import report_of
from medfact.runs.start import start
from medfact.spec import RunSpec
from medfact.store import Store

VALIDATOR = "every_eval_ever.validator.validate"


def has_validator() -> bool:
    found = interpreter_path().exists() and subprocess.run(
        [interpreter_path(), "-c", f"import {VALIDATOR}"], capture_output=True, check=False
    )
    return bool(found) and found.returncode == 0


def reply(prompt: Any) -> Any:
    """About one disease a reply is not readable, and about one the call fails."""
    if "disease03" in prompt.statement:
        return "who knows?"
    return Completion(None, failure="no reply") if "disease05" in prompt.statement else Completion("True", p_true=0.9)


@pytest.fixture
def run(tmp_path: Path, store: Store) -> str:
    file = write_csv(tmp_path / "facts.csv", make_fact_rows())
    return complete_run(RunSpec(model="answerer", facts=str(file), limit=20, shots=2), store, load=StubModel(reply).load)


def written(medfact: Callable[..., Any], run: str, url: str, folder: Path) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    done = medfact("answers", run, "--log", "every-eval-ever", "-o", folder, "--db", url)
    assert done.code == 0, done.err
    (record,) = folder.glob("data/medfact/*/*/*.json")
    (rows,) = folder.glob("data/medfact/*/*/*_samples.jsonl")
    return json.loads(record.read_text("utf-8")), [json.loads(line) for line in rows.read_text("utf-8").splitlines()]


def test_scores_and_rows_say_the_same(run: str, store: Store, medfact: Callable[..., Any], url: str, tmp_path: Path) -> None:
    record, rows = written(medfact, run, url, tmp_path / "eee")
    report = report_of(store, store.run(run))
    scores = {one["evaluation_result_id"].partition("/")[2]: one for one in record["evaluation_results"]}
    assert scores["average_accuracy"]["score_details"]["score"] == report.average_accuracy.value
    assert scores["joint_accuracy"]["score_details"]["uncertainty"]["num_samples"] == report.joint_accuracy.n
    assert scores["false_affirmation"]["metric_config"]["lower_is_better"] is True
    assert report.failed > 0 < report.unreadable
    assert len(rows) == report.answered == record["detailed_evaluation_results"]["total_rows"]
    assert sum(row["evaluation"]["score"] for row in rows) / len(rows) == report.average_accuracy.value
    assert {row["evaluation_result_id"] for row in rows} == {f"{run}/average_accuracy"}
    assert record["source_metadata"]["additional_details"]["failed"] == str(report.failed)


@pytest.mark.skipif(not has_validator(), reason="Every Eval Ever is not installed: python tests/helpers/harnesses.py")
def test_its_own_validator_finds_nothing(run: str, medfact: Callable[..., Any], url: str, tmp_path: Path) -> None:
    written(medfact, run, url, tmp_path)
    command = [str(interpreter_path()), "-m", VALIDATOR, "--format", "json"]
    command += sorted(str(file.relative_to(tmp_path)) for file in tmp_path.glob("data/*/*/*/*.json*"))
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    found = json.loads(done.stdout)
    assert [(one["valid"], one["errors"], one["warnings"]) for one in found] == [(True, [], [])] * 2
    assert (done.returncode, found[1]["line_count"] > 0) == (0, True)


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ("medfact-tiny", "medfact/medfact-tiny"),
        ("hf:owner/name", "owner/name"),
        ("hf:/srv/models/mine", "hf/mine"),
        ("openai:gpt-4o", "openai/gpt-4o"),
        ("openai:meta/llama:free", "meta/llama-free"),
        ("baseline:random", "baseline/random"),
    ],
)
def test_what_a_model_is_called_names_no_folder(store: Store, spec: str, expected: str) -> None:
    run = store.run(start(RunSpec(model="baseline:random", limit=2, shots=0), store))
    assert model_id(replace(run, model=spec)) == expected


def test_two_files_want_a_folder(run: str, medfact: Callable[..., Any], url: str) -> None:
    done = medfact("answers", run, "--log", "every-eval-ever", "--db", url)
    assert (done.code, done.err.count("\n")) == (2, 1)
    assert "-o FOLDER" in done.err
