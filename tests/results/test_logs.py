"""The answers of a run as logs of other harnesses: what is in them, and where they differ from answers of the run."""

import json
import subprocess
from pathlib import Path

import pytest
from harnesses import interpreter_path
from small_facts import StubModel, make_fact_rows, write_csv

from medfact.models import Completion
from medfact.results.exports import log_of
from medfact.results.report import report_of
from medfact.runs.run import answer
from medfact.runs.start import start
from medfact.spec import RunSpec
from medfact.store import Store


@pytest.fixture
def run(tmp_path: Path, store: Store) -> str:
    """Answers True to all but what is about disease 3, which cannot be read."""
    file = write_csv(tmp_path / "facts.csv", make_fact_rows())
    run = start(RunSpec(model="answerer", facts=str(file), limit=6, shots=2), store)
    model = StubModel(lambda prompt: "who <b>knows?</b>" if "disease03" in prompt.statement else Completion("True", p_true=0.9))
    list(answer(run, store, load=model.load))
    return run


def text(store: Store, run: str, harness: str) -> str:
    record = store.run(run)
    return "".join(log_of(store, record, report_of(store, record), harness))


def test_a_log_of_inspect(run: str, store: Store) -> None:
    log = json.loads(text(store, run, "inspect"))
    report = report_of(store, store.run(run))
    assert (log["version"], log["status"], log["eval"]["model"]) == (2, "success", "answerer")
    assert log["results"]["scores"][0]["metrics"]["accuracy"]["value"] == report.average_accuracy.value
    assert len(log["samples"]) == log["results"]["total_samples"] == report.statements
    right = [sample["scores"]["medfact"]["value"] == "C" for sample in log["samples"]]
    assert sum(right) == report.right
    unreadable = [sample for sample in log["samples"] if sample["scores"]["medfact"]["answer"] == ""]
    assert len(unreadable) == report.unreadable
    assert all(sample["output"]["choices"][0]["message"]["content"] == "who <b>knows?</b>" for sample in unreadable)


OPENED = """
import json, sys
from inspect_ai.log import read_eval_log, read_eval_log_sample_summaries
log = read_eval_log(sys.argv[1])
right = sum(sample.scores["medfact"].value == "C" for sample in log.samples)
print(json.dumps([log.status, len(log.samples), right, len(read_eval_log_sample_summaries(sys.argv[1]))]))
"""


@pytest.mark.skipif(not interpreter_path().exists(), reason="Inspect is not installed: python tests/helpers/harnesses.py")
def test_a_log_of_inspect_opens_in_inspect(run: str, store: Store, tmp_path: Path) -> None:
    file, report = tmp_path / "log.json", report_of(store, store.run(run))
    file.write_text(text(store, run, "inspect"), encoding="utf-8")
    opened = subprocess.run([interpreter_path(), "-c", OPENED, file], capture_output=True, text=True, check=False)
    assert opened.returncode == 0, opened.stderr[-2_000:]
    assert json.loads(opened.stdout) == ["success", report.statements, report.right, report.statements]
