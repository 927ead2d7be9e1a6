"""A plan as the folder of a task: the statements in a table, what the tool reads beside it, and a page for people."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from medfact.datasets.table_writer import being_written, write_table
from medfact.errors import FactsError, Mistake
from medfact.exchange.rows import statement_row
from medfact.runs.prompts import prompt_of
from medfact.spec import NO_RETRIEVAL, RunSpec
from medfact.store import Plan
from medfact.tasks.benchmark import FILE as EVAL_YAML
from medfact.tasks.benchmark import eval_yaml
from medfact.tasks.card import card, data_set_card, front_matter

LM_EVAL, INSPECT = "lm-eval", "inspect"

TABLE = "statements.jsonl"

_INSPECT_TASK = '''"""Medical statements to judge true or false, written by medfact; README.md says how to run this."""

from pathlib import Path

from inspect_ai import Task, task
from inspect_ai.dataset import json_dataset
from inspect_ai.model import GenerateConfig
from inspect_ai.scorer import pattern
from inspect_ai.solver import generate


@task
def medfact() -> Task:
    statements = json_dataset(str(Path(__file__).with_name("{table}")), name="medfact")
    config = GenerateConfig(max_tokens={tokens})
    return Task(statements, solver=generate(), scorer=pattern(r"\\b(True|False)\\b"), config=config)
'''


def write_task(tool: str, planned: Plan, spec: RunSpec, folder: Path) -> int:
    """Writes a plan's statements, with exactly the prompts that medfact gives a model of plain text; returns their number.

    tool: a name in TOOLS. folder: must not hold a task yet.

    Raises:
        Mistake: passages are to be retrieved, which no other tool does, or each statement is asked several times.
        FactsError: the folder holds something, or cannot be written.
    """
    if spec.retrieval != NO_RETRIEVAL or spec.shot_draws > 1:
        raise Mistake("A task has each statement once and without passages.", "Leave out --retrieval and --shot-draws.")
    with being_written(folder):
        if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            raise FactsError(f"{folder} holds something already.", "Name a new folder.")
        folder.mkdir(parents=True, exist_ok=True)
        return TOOLS[tool](planned, spec, folder)


def _write_data_set(planned: Plan, spec: RunSpec, folder: Path) -> int:
    (folder / "data").mkdir()
    prompts = [prompt_of(item, planned.demonstrations, spec, chat=False) for item in planned.statements]
    rows = [
        {**statement_row(item.statement), "prompt": str(prompt.content), "target": str(item.statement.label)}
        for item, prompt in zip(planned.statements, prompts, strict=True)
    ]
    fields = {"input": "prompt", "target": "target", "metadata": ["statement_id", "fact_id", "variant"]}
    _write(folder / EVAL_YAML, eval_yaml(planned, fields, prompts[0].max_tokens))
    _write(folder / "README.md", data_set_card(planned, spec))
    return write_table(rows, folder / "data" / "test.parquet")


def _write_lm_eval(planned: Plan, spec: RunSpec, folder: Path) -> int:
    prompts = [prompt_of(item, planned.demonstrations, spec, chat=False) for item in planned.statements]
    rows = [
        {**statement_row(item.statement), "prompt": str(prompt.content), "target": 0 if item.statement.label else 1}
        for item, prompt in zip(planned.statements, prompts, strict=True)
    ]
    task: dict[str, Any] = {
        "task": "medfact",
        "dataset_path": "json",
        "dataset_kwargs": {"data_files": {"test": TABLE}},
        "test_split": "test",
        "output_type": "multiple_choice",
        "doc_to_text": "prompt",
        "doc_to_choice": list(prompts[0].answers),
        "doc_to_target": "target",
        "target_delimiter": "",
        "num_fewshot": 0,
        "metric_list": [{"metric": "acc", "aggregation": "mean", "higher_is_better": True}],
        "metadata": {"version": 1.0, "dataset": planned.dataset, "fingerprint": planned.dataset_fingerprint},
    }
    _write(folder / "medfact.yaml", yaml.safe_dump(task, sort_keys=False, allow_unicode=True))
    _write(folder / "README.md", card(planned, spec, LM_EVAL))
    return write_table(rows, folder / TABLE)


def _write_inspect(planned: Plan, spec: RunSpec, folder: Path) -> int:
    prompts = [prompt_of(item, planned.demonstrations, spec, chat=False) for item in planned.statements]
    rows: list[Mapping[str, Any]] = [
        {
            "id": item.statement.statement_id,
            "input": str(prompt.content),
            "target": str(item.statement.label),
            "metadata": statement_row(item.statement),
        }
        for item, prompt in zip(planned.statements, prompts, strict=True)
    ]
    fields = {"input": "input", "target": "target", "metadata": ["id", "metadata"]}
    _write(folder / EVAL_YAML, eval_yaml(planned, fields, prompts[0].max_tokens))
    _write(folder / "medfact_task.py", _INSPECT_TASK.format(table=TABLE, tokens=prompts[0].max_tokens))
    _write(folder / "README.md", front_matter(planned, TABLE) + card(planned, spec, INSPECT))
    return write_table(map(dict, rows), folder / TABLE)


def _write(file: Path, text: str) -> None:
    file.write_text(text, encoding="utf-8")


TOOLS = {"datasets": _write_data_set, LM_EVAL: _write_lm_eval, INSPECT: _write_inspect}
"""Tool → what writes its folder."""
