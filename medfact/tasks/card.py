"""The pages that stand beside exported statements: what they are, how to run them, and what they are not."""

from __future__ import annotations

import re
from collections.abc import Iterator

import yaml

from medfact.spec import PROTOCOLS, RunSpec
from medfact.statements import Statement
from medfact.store import Plan
from medfact.version import VERSION

FALSE_MARK = "FALSE (test statement)"
SHOWN = 4
"""Statements that a page shows."""

_SIZES = ((1_000, "n<1K"), (10_000, "1K<n<10K"), (100_000, "10K<n<100K"), (1_000_000, "100K<n<1M"))

_COLUMNS = """| column | meaning |
|---|---|
| `statement`, `label` | what is judged, and whether it is true: {false} are false on purpose |
| `fact_id`, `head`, `relation`, `tail`, `positive` | the fact behind it, and whether that holds |
| `negative_of` | of a false fact: the true fact whose partner it is |
| `pool`, `variant` | whose sentences state it, and how: reversed (`inv`), as a patient's case (`ins`), denied (`dn`) |
| `statement_id` | a hash of all of these |
"""

_PROMPT = """| `prompt`, `target` | what a model of plain text gets, and the right answer, as `eval.yaml` says |
"""

_RUN = {
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

_NOT = """## What this is not
Not a measure of clinical competence, not for clinical use, and nothing to train on: {false} of the statements are
false on purpose.
"""


def card(planned: Plan, spec: RunSpec, tool: str) -> str:
    """The page of a task. tool: whose command it names."""
    joint = "A fact is mastered when all of its statements are judged right (joint accuracy): group the samples by `fact_id`.\n"
    return "\n".join(
        [_title(planned), *_about(planned, spec), "## Run it", _RUN[tool], joint, "## Rows", *_with_false(planned)]
    )


def data_set_card(planned: Plan, spec: RunSpec) -> str:
    """The page of a data set: metadata for the Hub as YAML, then as `card`."""
    columns, warning = _with_false(planned)
    parts = [
        _title(planned),
        *_about(planned, spec),
        "## Columns",
        columns + _PROMPT,
        "## Some of them",
        *_some(planned),
        "",
        warning,
    ]
    return front_matter(planned, "data/test.parquet") + "\n".join(parts)


def front_matter(planned: Plan, table: str) -> str:
    """The metadata of a data set for the Hub. table: the file that holds its statements, in its folder."""
    count = len(planned.statements)
    metadata = {
        "pretty_name": f"medfact statements of {_plain(planned.dataset)}",
        "language": ["en"],
        "task_categories": ["text-classification"],
        "tags": ["medical", "factuality", "medfact"],
        "size_categories": [next((name for most, name in _SIZES if count < most), "n>1M")],
        "configs": [{"config_name": "default", "data_files": [{"split": "test", "path": table}]}],
    }
    return f"---\n{yaml.safe_dump(metadata, sort_keys=False, allow_unicode=True)}---\n\n"


def _with_false(planned: Plan) -> tuple[str, str]:
    """The columns, and what this is not, with the share of the statements that are false."""
    false = sum(not item.statement.label for item in planned.statements)
    share = f"{100 * false / max(len(planned.statements), 1):.0f}%"
    return _COLUMNS.replace("{false}", share), _NOT.replace("{false}", share)


def _title(planned: Plan) -> str:
    return f"# medfact: statements of {_plain(planned.dataset)}\n"


def _about(planned: Plan, spec: RunSpec) -> Iterator[str]:
    facts = {item.statement.fact.fact_id: item.statement.fact.positive for item in planned.statements}
    true = sum(facts.values())
    yield (
        f"{_counted(len(planned.statements), 'statement')} about {_counted(true, 'true fact')} and "
        f"{_counted(len(facts) - true, 'false partner')}, each to be judged true or false. "
        f"Method: {PROTOCOLS[spec.protocol].title}, sentences of the pool {_plain(planned.pool)}, "
        f"{_counted(planned.shots, 'demonstration')}, seed {spec.seed}. Fingerprint of the facts: "
        f"{planned.dataset_fingerprint}. Written by medfact {VERSION}.\n"
    )
    for note in planned.notes:
        yield f"- {_plain(note)}"
    if planned.notes:
        yield ""


def _counted(number: int, thing: str) -> str:
    return f"{number:,} {thing}{'' if number == 1 else 's'}"


def _some(planned: Plan) -> Iterator[str]:
    """Statements of both labels; a false one carries its mark."""
    statements = [item.statement for item in planned.statements]
    for label in (True, False):
        yield from (_line(one) for one in [one for one in statements if one.label is label][: SHOWN // 2])


def _line(statement: Statement) -> str:
    return f"- {_plain(statement.text)}{'' if statement.label else f' **{FALSE_MARK}**'}"


def _plain(text: str) -> str:
    """Text of others as text in Markdown: no markup, no link, no HTML."""
    escaped = " ".join(text.split()).replace("&", "&amp;").replace("<", "&lt;").replace("://", "\\://")
    return re.sub(r"([`*_\[\]|~$])", r"\\\1", escaped)
