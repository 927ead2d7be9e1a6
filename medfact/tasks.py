"""Exports a plan's statements as a task for Hugging Face datasets, lm-evaluation-harness or Inspect: a folder with table,
configuration and README.md.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from medfact.datasets.table_writer import being_written, write_table
from medfact.datasets.text import one_line
from medfact.errors import FactsError, Mistake
from medfact.exchange.rows import statement_row
from medfact.runs.prompts import prompt_of
from medfact.spec import NO_RETRIEVAL, PROTOCOLS, RunSpec
from medfact.statements import Statement
from medfact.store import Plan
from medfact.version import VERSION

FALSE_MARK = "FALSE (test statement)"  # after a false statement, for readers
MAX_EXAMPLES = 4
"""Number of example statements in the README.md of a data set."""

_SIZE_CATEGORIES = ((1_000, "n<1K"), (10_000, "1K<n<10K"), (100_000, "10K<n<100K"), (1_000_000, "100K<n<1M"))

_COLUMNS = """| column | meaning |
|---|---|
| `statement`, `label` | what is judged, and whether it is true: {false} are false on purpose |
| `fact_id`, `head`, `relation`, `tail`, `positive` | the fact behind it, and whether that holds |
| `negative_of` | of a false fact: the true fact whose partner it is |
| `pool`, `variant` | whose sentences state it, and how: reversed (`inv`), as a patient's case (`ins`), denied (`dn`) |
| `statement_id` | a hash of all of these |
"""

_PROMPT_COLUMNS = """| `prompt`, `target` | what a model of plain text gets, and the right answer, as `eval.yaml` says |
"""

_RUN_INSTRUCTIONS = {
    "lm-eval": """In this folder:

```sh
lm_eval --include_path . --tasks medfact --model hf --model_args pretrained=MODEL --log_samples --output_path results
```

`acc` is the share of statements for which the right one of True and False is the likelier continuation (average accuracy). With
`--apply_chat_template` a chat model gets the prompt as one message, which medfact puts into turns.
""",
    "inspect": """In this folder:

```sh
inspect eval medfact_task.py --model hf/local -M model_path=MODEL -M do_sample=false
```

`accuracy` is the share of statements whose reply has the right one of True and False first (average accuracy); medfact's own
reading also knows echoes and corrections. For a service add `--temperature 0`. A base model without a chat template gets the
prompt as it stands with

```sh
-M 'chat_template="{% for message in messages %}{{ message.content }}{% endfor %}"'
```
""",
}

_WARNING = """## What this is not
Not a measure of clinical competence, not for clinical use, and nothing to train on: {false} of the statements are
false on purpose.
"""


def task_card(plan: Plan, spec: RunSpec, tool: str) -> str:
    """Renders the README.md of a task, with the command of an evaluation framework. tool: LM_EVAL or INSPECT."""
    joint = "A fact is mastered when all of its statements are judged right (joint accuracy): group the samples by `fact_id`.\n"
    return "\n".join(
        [
            _title(plan),
            *_introduction(plan, spec),
            "## Run it",
            _RUN_INSTRUCTIONS[tool],
            joint,
            "## Rows",
            *_columns_and_warning(plan),
        ]
    )


def data_set_card(plan: Plan, spec: RunSpec) -> str:
    """Renders the README.md of a data set: metadata for the Hub as YAML, description, columns and examples."""
    columns, warning = _columns_and_warning(plan)
    parts = [
        _title(plan),
        *_introduction(plan, spec),
        "## Columns",
        columns + _PROMPT_COLUMNS,
        "## Some of them",
        *_example_lines(plan),
        "",
        warning,
    ]
    return front_matter(plan, "data/test.parquet") + "\n".join(parts)


def front_matter(plan: Plan, table: str) -> str:
    """Renders the YAML block at the start of a README.md, the Hub's metadata of a data set. table: its file of statements."""
    count = len(plan.statements)
    metadata = {
        "pretty_name": f"medfact statements of {_escape_markdown(plan.dataset)}",
        "language": ["en"],
        "task_categories": ["text-classification"],
        "tags": ["medical", "factuality", "medfact"],
        "size_categories": [next((name for most, name in _SIZE_CATEGORIES if count < most), "n>1M")],
        "configs": [{"config_name": "default", "data_files": [{"split": "test", "path": table}]}],
    }
    return f"---\n{yaml.safe_dump(metadata, sort_keys=False, allow_unicode=True)}---\n\n"


def _columns_and_warning(plan: Plan) -> tuple[str, str]:
    """Renders the table of columns, and the warning; both state the share of false statements."""
    false = sum(not item.statement.label for item in plan.statements)
    share = f"{100 * false / max(len(plan.statements), 1):.0f}%"
    return _COLUMNS.replace("{false}", share), _WARNING.replace("{false}", share)


def _title(plan: Plan) -> str:
    return f"# medfact: statements of {_escape_markdown(plan.dataset)}\n"


def _introduction(plan: Plan, spec: RunSpec) -> Iterator[str]:
    """Yields lines of Markdown: size and origin of a task, and the notes of its plan."""
    facts = {item.statement.fact.fact_id: item.statement.fact.positive for item in plan.statements}
    true = sum(facts.values())
    yield (
        f"{_pluralize(len(plan.statements), 'statement')} about {_pluralize(true, 'true fact')} and "
        f"{_pluralize(len(facts) - true, 'false partner')}, each to be judged true or false. "
        f"Method: {PROTOCOLS[spec.protocol].title}, sentences of the pool {_escape_markdown(plan.pool)}, "
        f"{_pluralize(plan.shots, 'demonstration')}, seed {spec.seed}. Fingerprint of the facts: "
        f"{plan.dataset_fingerprint}. Written by medfact {VERSION}.\n"
    )
    for note in plan.notes:
        yield f"- {_escape_markdown(note)}"
    if plan.notes:
        yield ""


def _pluralize(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _example_lines(plan: Plan) -> Iterator[str]:
    """Yields a Markdown list of true and false example statements; the false ones are marked."""
    statements = [item.statement for item in plan.statements]
    for label in (True, False):
        matching = [statement for statement in statements if statement.label is label]
        yield from map(_example_line, matching[: MAX_EXAMPLES // 2])


def _example_line(statement: Statement) -> str:
    return f"- {_escape_markdown(statement.text)}{'' if statement.label else f' **{FALSE_MARK}**'}"


def _escape_markdown(text: str) -> str:
    """Escapes Markdown, links and HTML in a text of unknown origin."""
    escaped = " ".join(text.split()).replace("&", "&amp;").replace("<", "&lt;").replace("://", "\\://")
    return re.sub(r"([`*_\[\]|~$])", r"\\\1", escaped)


EVAL_FILE = "eval.yaml"  # Inspect's description of a data set on the Hub

TASK_ID = "average_accuracy"
"""Id of the task in Inspect, named after its score. Inspect does not group by fact, so it cannot count mastered facts."""

ANSWER_PATTERN = r"\b(True|False)\b"
"""Regular expression by which Inspect finds the answer in a reply: the first True or False."""


def eval_yaml(plan: Plan, fields: Mapping[str, str | Sequence[str]], max_tokens: int) -> str:
    """Renders EVAL_FILE. fields: Inspect's `field_spec`, which names the columns of input, target and metadata."""
    task: dict[str, Any] = {
        "id": TASK_ID,
        "config": "default",
        "split": "test",
        "field_spec": dict(fields),
        "solvers": [{"name": "generate", "args": {"max_tokens": max_tokens}}],
        "scorers": [{"name": "pattern", "args": {"pattern": ANSWER_PATTERN}}],
    }
    benchmark = {
        "name": f"medfact: statements of {one_line(plan.dataset)}",
        "description": "Medical statements, each to be judged true or false: every fact is stated in logically related ways.",
        "evaluation_framework": "inspect-ai",
        "tasks": [task],
    }
    return yaml.safe_dump(benchmark, sort_keys=False, allow_unicode=True)


LM_EVAL, INSPECT = "lm-eval", "inspect"  # keys of TOOLS

TABLE_FILE = "statements.jsonl"  # in a task's folder, for both

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


def write_task(tool: str, plan: Plan, spec: RunSpec, folder: Path) -> int:
    """Writes the statements of a plan and their plain-text prompts as a task's folder; returns the number of statements.

    tool: a key of TOOLS. folder: new or empty.

    Raises:
        Mistake: the spec has retrieval, or asks each statement several times, which the tools cannot do.
        FactsError: the folder is not empty, or cannot be written.
    """
    if spec.retrieval != NO_RETRIEVAL or spec.shot_draws > 1:
        raise Mistake("A task has each statement once and without passages.", "Leave out --retrieval and --shot-draws.")
    with being_written(folder):
        if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            raise FactsError(f"{folder} holds something already.", "Name a new folder.")
        folder.mkdir(parents=True, exist_ok=True)
        return TOOLS[tool](plan, spec, folder)


def _write_data_set(plan: Plan, spec: RunSpec, folder: Path) -> int:
    """Writes a data set for the Hub: Parquet table, README.md and EVAL_FILE. Returns the number of statements."""
    (folder / "data").mkdir()
    prompts = [prompt_of(item, plan.demonstrations, spec, chat=False) for item in plan.statements]
    rows = [
        {**statement_row(item.statement), "prompt": str(prompt.content), "target": str(item.statement.label)}
        for item, prompt in zip(plan.statements, prompts, strict=True)
    ]
    fields = {"input": "prompt", "target": "target", "metadata": ["statement_id", "fact_id", "variant"]}
    (folder / EVAL_FILE).write_text(eval_yaml(plan, fields, prompts[0].max_tokens), encoding="utf-8")
    (folder / "README.md").write_text(data_set_card(plan, spec), encoding="utf-8")
    return write_table(rows, folder / "data" / "test.parquet")


def _write_lm_eval(plan: Plan, spec: RunSpec, folder: Path) -> int:
    """Writes a multiple-choice task for lm-evaluation-harness. Returns the number of statements."""
    prompts = [prompt_of(item, plan.demonstrations, spec, chat=False) for item in plan.statements]
    rows = [
        {**statement_row(item.statement), "prompt": str(prompt.content), "target": 0 if item.statement.label else 1}
        for item, prompt in zip(plan.statements, prompts, strict=True)
    ]
    task: dict[str, Any] = {
        "task": "medfact",
        "dataset_path": "json",
        "dataset_kwargs": {"data_files": {"test": TABLE_FILE}},
        "test_split": "test",
        "output_type": "multiple_choice",
        "doc_to_text": "prompt",
        "doc_to_choice": list(prompts[0].answers),
        "doc_to_target": "target",
        "target_delimiter": "",
        "num_fewshot": 0,
        "metric_list": [{"metric": "acc", "aggregation": "mean", "higher_is_better": True}],
        "metadata": {"version": 1.0, "dataset": plan.dataset, "fingerprint": plan.dataset_fingerprint},
    }
    (folder / "medfact.yaml").write_text(yaml.safe_dump(task, sort_keys=False, allow_unicode=True), encoding="utf-8")
    (folder / "README.md").write_text(task_card(plan, spec, LM_EVAL), encoding="utf-8")
    return write_table(rows, folder / TABLE_FILE)


def _write_inspect(plan: Plan, spec: RunSpec, folder: Path) -> int:
    """Writes a task for Inspect: a Python file, a table, README.md and EVAL_FILE. Returns the number of statements."""
    prompts = [prompt_of(item, plan.demonstrations, spec, chat=False) for item in plan.statements]
    rows: list[Mapping[str, Any]] = [
        {
            "id": item.statement.statement_id,
            "input": str(prompt.content),
            "target": str(item.statement.label),
            "metadata": statement_row(item.statement),
        }
        for item, prompt in zip(plan.statements, prompts, strict=True)
    ]
    fields = {"input": "input", "target": "target", "metadata": ["id", "metadata"]}
    (folder / EVAL_FILE).write_text(eval_yaml(plan, fields, prompts[0].max_tokens), encoding="utf-8")
    (folder / "medfact_task.py").write_text(
        _INSPECT_TASK.format(table=TABLE_FILE, tokens=prompts[0].max_tokens), encoding="utf-8"
    )
    (folder / "README.md").write_text(front_matter(plan, TABLE_FILE) + task_card(plan, spec, INSPECT), encoding="utf-8")
    return write_table(map(dict, rows), folder / TABLE_FILE)


TOOLS = {"datasets": _write_data_set, LM_EVAL: _write_lm_eval, INSPECT: _write_inspect}
"""Name of a tool → the function that writes a task's folder for it."""
