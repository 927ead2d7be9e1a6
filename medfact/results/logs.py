"""The answers of a run as the logs of other harnesses: samples of lm-evaluation-harness, and a log of Inspect."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import replace
from itertools import chain
from typing import Any

from medfact.datasets.text import escape_control_characters
from medfact.exchange.rows import portable, shown_model, statement_row
from medfact.results.report import Report
from medfact.results.wording import describe_ending, describe_state
from medfact.runs.prompts import Demonstrations, prompt_of, prompt_text
from medfact.store import COMPLETE, Answer, Asked, Run, Store
from medfact.version import VERSION

LM_EVAL, INSPECT = "lm-eval", "inspect"
LOGS = {LM_EVAL: "jsonl", INSPECT: "json"}
"""Harness → how the names of its files end."""

_SCORER = "medfact"


def log_of(store: Store, run: Run, report: Report, harness: str) -> Iterator[str]:
    """The text of a run's log, in parts. harness: a name in LOGS. Only answered statements and failed calls are in it."""
    demonstrations = store.answers.demonstrations(run.run)
    asked = ((number, item, item.answer) for number, item in enumerate(store.answers.asked(run.run)) if item.answer is not None)
    if harness == LM_EVAL:
        return (_line(_lm_eval(run, number, item, answer, demonstrations)) for number, item, answer in asked)
    samples = (_line(_inspect(run, number, item, answer, demonstrations)).rstrip() for number, item, answer in asked)
    head = _line(_inspect_head(run, report)).rstrip()
    separated = (f"{',' if place else ''}\n{sample}" for place, sample in enumerate(samples))
    return chain([f'{head[:-1]}, "samples": ['], separated, ["\n]}\n"])


def _line(content: dict[str, Any]) -> str:
    return escape_control_characters(json.dumps(content, ensure_ascii=False)) + "\n"


def _word(answer: bool | None) -> str:
    return "" if answer is None else str(answer)


def _right(item: Asked, answer: Answer) -> bool:
    return answer.answer is item.statement.label


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _lm_eval(run: Run, number: int, item: Asked, answer: Answer, demonstrations: Demonstrations) -> dict[str, Any]:
    """A sample as `--log_samples` writes it. A failed call has no reply, and an acc of 0; `doc` says why it failed."""
    prompt = prompt_of(item, demonstrations, run.spec, chat=bool(run.chat))
    text, target = prompt_text(run, item, demonstrations), _word(item.statement.label)
    doc = {**statement_row(item.statement), "shot_draw": item.draw, "p_true": answer.p_true, "failure": answer.failure}
    doc["run_imported"] = run.imported
    doc["run_ended"] = describe_state(run.state, run.reason)
    return {
        "doc_id": number,
        "doc": doc,
        "target": target,
        "arguments": {"gen_args_0": {"arg_0": text, "arg_1": {"until": [prompt.stop], "max_gen_toks": prompt.max_tokens}}},
        "resps": [[answer.raw or ""]],
        "filtered_resps": [_word(answer.answer)],
        "filter": "medfact",
        "metrics": ["acc"],
        "doc_hash": _digest(json.dumps(doc, ensure_ascii=False)),
        "prompt_hash": _digest(text),
        "target_hash": _digest(target),
        "acc": float(_right(item, answer)),
    }


def _inspect_head(run: Run, report: Report) -> dict[str, Any]:
    """All of an Inspect log (version 2) but for its samples."""
    ended = run.finished_at or run.started_at
    shares = {"accuracy": report.average_accuracy, "joint_accuracy": report.joint_accuracy}
    metrics = {name: {"name": name, "value": one.value} for name, one in shares.items() if one.value is not None}
    return {
        "version": 2,
        "status": "success" if run.state == COMPLETE else "cancelled",
        "eval": {
            "eval_id": run.run,
            "run_id": run.run,
            "created": run.started_at,
            "task": f"medfact/{run.spec.protocol}",
            "task_id": run.run,
            "task_version": 0,
            "dataset": {"name": run.dataset, "samples": run.statements},
            "model": shown_model(run.model),
            "model_args": {"revision": run.model_revision} if run.model_revision else {},
            "config": {},
            "packages": {"medfact": VERSION},
            "metadata": {
                "spec": replace(portable(run.spec), model=shown_model(run.model)).to_record(),
                "dataset_fingerprint": run.dataset_fingerprint,
                "pool": run.pool,
                "imported": run.imported,
                "ended": describe_state(run.state, run.reason),
                "why": describe_ending(run.state, run.reason),
            },
        },
        "plan": {"name": "plan", "steps": []},
        "results": {
            "total_samples": run.statements,
            "completed_samples": report.answered,
            "scores": [{"name": _SCORER, "scorer": _SCORER, "metrics": metrics}],
        },
        "stats": {"started_at": run.started_at, "completed_at": ended, "model_usage": {}},
    }


def _inspect(run: Run, number: int, item: Asked, answer: Answer, demonstrations: Demonstrations) -> dict[str, Any]:
    """A sample of an Inspect log. An unreadable reply is incorrect; a failed call has an error and no score."""
    content = prompt_of(item, demonstrations, run.spec, chat=bool(run.chat)).content
    messages = [{"role": "user", "content": content}] if isinstance(content, str) else [dict(turn) for turn in content]
    reply = {"role": "assistant", "content": answer.raw or "", "source": "generate", "model": shown_model(run.model)}
    score = {
        "value": "C" if _right(item, answer) else "I",
        "answer": _word(answer.answer),
        "metadata": {"p_true": answer.p_true},
    }
    failed = {"message": answer.failure, "traceback": "", "traceback_ansi": ""} if answer.failure is not None else None
    return {
        "id": number + 1,
        "epoch": 1,
        "input": messages,
        "target": _word(item.statement.label),
        "messages": [*messages, reply],
        "output": {"model": shown_model(run.model), "choices": [{"message": reply, "stop_reason": "stop"}]},
        "scores": None if failed else {_SCORER: score},
        "metadata": {**statement_row(item.statement), "shot_draw": item.draw},
        **({"error": failed} if failed else {}),
    }
