"""Statements as tasks of other tools: what is in the folders, and that the tools give medfact's answers."""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import datasets
import pytest
import yaml
from harnesses import interpreter_path
from small_facts import write_csv

from medfact.assets import ASSETS
from medfact.cli.commands import TOOLS
from medfact.tasks import TOOLS as WRITTEN

MODEL = ASSETS / "models" / "medfact-tiny"
PLAIN = '"{% for message in messages %}{{ message.content }}{% endfor %}"'


def test_the_command_knows_every_tool() -> None:
    assert TOOLS.keys() == WRITTEN.keys()


@pytest.fixture
def offline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """Other tools keep what they keep here, and fetch nothing."""
    own = {"HF_HOME": str(tmp_path / "hf"), "HF_HUB_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1", "OMP_NUM_THREADS": "1"}
    return {name: value for name, value in os.environ.items() if not name.startswith("INSPECT")} | own


def rows_of(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


# ------------------------------------------------------------------------------------------------ the folders


def test_a_data_set_opens_with_its_card(tmp_path: Path, medfact: Callable[..., Any]) -> None:
    folder = tmp_path / "set"
    assert medfact("task", "datasets", "--limit", 5, "--into", folder).code == 0
    loaded = datasets.load_dataset(str(folder), cache_dir=str(tmp_path / "cache"))
    expected = medfact("statements", "--limit", 5).rows
    assert list(loaded) == ["test"]
    prompts = {row["statement_id"]: row["prompt"] for row in medfact("prompts", "--limit", 5).rows}
    assert list(loaded["test"]) == [
        {**row, "prompt": prompts[row["statement_id"]], "target": str(row["label"])} for row in expected
    ]
    card = (folder / "README.md").read_text(encoding="utf-8")
    front = yaml.safe_load(card.split("---")[1])
    assert front["configs"][0]["data_files"][0]["path"] == "data/test.parquet"
    assert front["size_categories"] == ["n<1K"]
    shown = [line.removeprefix("- ") for line in card.partition("## Some of them")[2].splitlines() if line.startswith("- ")]
    label_of = {row["statement"]: row["label"] for row in expected}
    assert sorted(label_of[line.removesuffix(" **FALSE (test statement)**")] for line in shown) == [False, False, True, True]
    assert all(("FALSE (test statement)" in line) is not label_of[line.partition(" **")[0]] for line in shown)


def test_names_from_a_file_are_text_on_the_card(tmp_path: Path, medfact: Callable[..., Any]) -> None:
    rows = [
        {"head": f"<img src=x> [disease {number}](http://127.0.0.1/)", "relation": "symptoms", "tail": f"`symptom` *{number}*"}
        for number in range(12)
    ]
    file = write_csv(tmp_path / "facts.csv", rows)
    assert medfact("task", "datasets", "--facts", file, "--into", tmp_path / "set").code == 0
    card = (tmp_path / "set" / "README.md").read_text(encoding="utf-8")
    assert re.search(r"\[disease \d", card.replace("\\", ""))
    shown = card.partition("## Some of them")[2].replace(" **FALSE (test statement)**", "")
    assert "127.0.0.1" in shown
    assert not re.search(r"(?<!\\)[\[\]`*]|<|http:", shown)


def test_the_prompts_are_those_that_a_model_gets(tmp_path: Path, medfact: Callable[..., Any]) -> None:
    expected = {
        row["statement_id"]: row for row in medfact("prompts", "--limit", 5, "--protocol", "mkj", "--pool", "medfact").rows
    }
    for tool, prompt in (("lm-eval", "prompt"), ("inspect", "input")):
        asked = ("--limit", 5, "--protocol", "mkj", "--pool", "medfact", "--into", tmp_path / tool)
        assert medfact("task", tool, *asked).code == 0
        rows = rows_of(tmp_path / tool / "statements.jsonl")
        assert len(rows) == len(expected) > 0
        for row in rows:
            own = expected[row.get("statement_id") or row["id"]]
            assert row[prompt] == own["prompt"]
            assert row["target"] == (str(own["label"]) if tool == "inspect" else int(not own["label"]))
    task = yaml.safe_load((tmp_path / "lm-eval" / "medfact.yaml").read_text(encoding="utf-8"))
    assert task["doc_to_choice"] == ["\nAnswer: True", "\nAnswer: False"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("task", "datasets", "--into", "."), "holds something already"),
        (("task", "datasets", "--into", "new", "--shot-draws", "2"), "each statement once"),
        (("task", "csv", "--into", "new"), "invalid choice"),
        (("task", "inspect"), "--into"),
    ],
)
def test_mistakes_are_sentences(medfact: Callable[..., Any], arguments: tuple[str, ...], said: str) -> None:
    done = medfact(*arguments, *(("--limit", "2") if "--into" in arguments else ()))
    assert done.code == 2
    assert said in done.err
    assert not Path("new").exists() or not any(Path("new").iterdir())


# ------------------------------------------------------------------------------------------------ the tools themselves

FACTS = ("--limit", "10")
"""10 true facts and as many false partners."""


@pytest.fixture(scope="module")
def python() -> Path:
    """The interpreter that has both tools."""
    if not interpreter_path().exists():
        pytest.skip("lm-eval and Inspect are not installed: python tests/helpers/harnesses.py")
    return interpreter_path()


@pytest.fixture
def own_answers(medfact: Callable[..., Any]) -> dict[str, bool]:
    """medfact-tiny's answers as medfact reads them: statement → answer. All are readable."""
    ran = medfact("run", "--model", "medfact-tiny", *FACTS).rows[0]
    rows = medfact("answers", ran["run"]).rows
    assert len({row["fact_id"] for row in rows}) == 20
    assert {row["answer"] for row in rows} == {True, False}
    return {row["statement_id"]: row["answer"] for row in rows}


def run(command: list[object], folder: Path, environment: dict[str, str]) -> None:
    done = subprocess.run(
        [str(part) for part in command], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout[-2_000:] + done.stderr[-2_000:]


@pytest.mark.model
def test_lm_eval_gives_the_same_answers(
    tmp_path: Path, medfact: Callable[..., Any], python: Path, own_answers: dict[str, bool], offline: dict[str, str]
) -> None:
    folder = tmp_path / "task"
    medfact("task", "lm-eval", *FACTS, "--into", folder)
    command = [python, "-m", "lm_eval", "run", "--include_path", ".", "--tasks", "medfact", "--model", "hf"]
    command += ["--model_args", f"pretrained={MODEL}", "--device", "cpu", "--batch_size", "16"]
    run([*command, "--log_samples", "--output_path", "results"], folder, offline)
    samples = [sample for file in (folder / "results").rglob("samples_medfact*.jsonl") for sample in rows_of(file)]
    answers = {}
    for sample in samples:
        true, false = (float(likelihood) for likelihood, *_ in sample["filtered_resps"])
        answers[sample["doc"]["statement_id"]] = true > false
        assert (sample["acc"] == 1.0) is ((true > false) is sample["doc"]["label"])
    assert answers == own_answers


@pytest.mark.model
def test_inspect_gives_the_same_answers(
    tmp_path: Path, medfact: Callable[..., Any], python: Path, own_answers: dict[str, bool], offline: dict[str, str]
) -> None:
    folder = tmp_path / "task"
    medfact("task", "inspect", *FACTS, "--into", folder)
    command = [python, "-m", "inspect_ai", "eval", "medfact_task.py", "--model", "hf/local", "-M", f"model_path={MODEL}"]
    command += ["-M", "device=cpu", "-M", "do_sample=false", "-M", f"chat_template={PLAIN}"]
    run([*command, "--log-format", "json", "--log-dir", "logs", "--display", "plain"], folder, offline)
    log = json.loads(next((folder / "logs").glob("*.json")).read_text(encoding="utf-8"))
    assert log["status"] == "success"
    answers = {sample["id"]: sample["scores"]["pattern"]["answer"] for sample in log["samples"]}
    assert {one: answer.lower() == "true" for one, answer in answers.items()} == own_answers
    right = sum(sample["scores"]["pattern"]["value"] == "C" for sample in log["samples"])
    assert log["results"]["scores"][0]["metrics"]["accuracy"]["value"] == pytest.approx(right / len(own_answers))


FROM_THE_HUB = """
import sys
from pathlib import Path
import huggingface_hub
import inspect_ai._eval.task.hf as hf

folder, model, template = sys.argv[1:]
huggingface_hub.hf_hub_download = lambda filename, **_: str(Path(folder) / filename)
load = hf.hf_dataset
hf.hf_dataset = lambda path, revision, **more: load(path=folder, **more)

from inspect_ai import eval
(log,) = eval("hf/me/medfact", model="hf/local", model_args={
    "model_path": model, "device": "cpu", "do_sample": False, "chat_template": template,
}, log_format="json", log_dir=str(Path(folder) / "logs"), display="plain")
assert log.status == "success", log.error
"""
"""Runs a benchmark of the Hub by its name, its files being in a folder here: all else is Inspect's own reading of eval.yaml."""


@pytest.mark.model
@pytest.mark.parametrize(("tool", "statement"), [("inspect", "id"), ("datasets", "statement_id")])
def test_inspect_runs_it_as_a_benchmark_of_the_hub(
    tmp_path: Path,
    medfact: Callable[..., Any],
    python: Path,
    own_answers: dict[str, bool],
    offline: dict[str, str],
    tool: str,
    statement: str,
) -> None:
    folder = tmp_path / "task"
    assert medfact("task", tool, *FACTS, "--into", folder).code == 0
    run([python, "-c", FROM_THE_HUB, folder, MODEL, PLAIN.strip('"')], folder, offline)
    log = json.loads(next((folder / "logs").glob("*.json")).read_text(encoding="utf-8"))
    answers = {one["metadata"][statement]: one["scores"]["pattern"]["answer"].lower() == "true" for one in log["samples"]}
    assert answers == own_answers


def test_a_benchmark_says_what_the_hub_asks_for(tmp_path: Path, medfact: Callable[..., Any]) -> None:
    for tool in ("datasets", "inspect"):
        folder = tmp_path / tool
        medfact("task", tool, "--limit", 3, "--into", folder)
        benchmark = yaml.safe_load((folder / "eval.yaml").read_text(encoding="utf-8"))
        assert list(benchmark) == ["name", "description", "evaluation_framework", "tasks"]
        assert benchmark["evaluation_framework"] == "inspect-ai"
        (task,) = benchmark["tasks"]
        assert (task["id"], task["config"], task["split"]) == ("average_accuracy", "default", "test")
        (loaded,) = datasets.load_dataset(str(folder), task["config"], cache_dir=str(tmp_path / "cache")).values()
        fields = task["field_spec"]
        assert {fields["input"], fields["target"], *fields["metadata"]} <= set(loaded.column_names)
        assert set(loaded[fields["target"]]) == {"True", "False"}


def test_the_card_counts_one_of_a_thing_as_one(tmp_path: Path, medfact: Callable[..., Any]) -> None:
    facts = tmp_path / "one.csv"
    facts.write_text("head,relation,tail\nmarsh frog disease,symptoms,pain\n", encoding="utf-8")
    medfact("task", "datasets", "--into", tmp_path / "set", "--facts", facts, "--shots", 0)
    card = (tmp_path / "set" / "README.md").read_text(encoding="utf-8")
    assert "8 statements about 1 true fact and 0 false partners, each" in card
    assert "0 demonstrations, seed 0" in card
