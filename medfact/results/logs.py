"""Runs in the formats of other harnesses: lm-evaluation-harness samples, Inspect logs, and Every Eval Ever (schema 0.3.0)."""

from __future__ import annotations

import hashlib
import json
import re
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any

from medfact.datasets.table_writer import being_written
from medfact.datasets.text import escape_control_characters
from medfact.exchange.rows import portable, shown_model, statement_row
from medfact.metrics.uncertainty import Estimate
from medfact.models import provider_of
from medfact.models.hub import BUNDLED_FOLDERS
from medfact.results.model_card import figures_of
from medfact.results.report import Report
from medfact.results.wording import describe_ending, describe_state
from medfact.runs.prompts import Demonstrations, prompt_of, prompt_text
from medfact.store import COMPLETE, Answer, Asked, Run, Store
from medfact.tasks import TASK_ID
from medfact.version import VERSION

LM_EVAL, INSPECT = "lm-eval", "inspect"
LOGS = {LM_EVAL: "jsonl", INSPECT: "json"}  # harness → ending of its files
EVALUATION = "medfact"  # name of the evaluation, its source and its scorer
SCHEMA = "0.3.0"  # of Every Eval Ever


def _line(content: Mapping[str, Any], indent: int | None = None) -> str:
    return f"{escape_control_characters(json.dumps(content, ensure_ascii=False, indent=indent))}\n"


def _word(answer: bool | None) -> str:
    return "" if answer is None else str(answer)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


# ------------------------------------------------------------------------------------------------ lm-eval and Inspect


def log_of(store: Store, run: Run, report: Report, harness: str) -> Iterator[str]:
    """Yields the text of a run's log in parts, with answered statements and failed calls. harness: a name in LOGS."""
    demonstrations = store.answers.demonstrations(run.run)
    render = _lm_eval if harness == LM_EVAL else _inspect
    samples = (
        _line(render(run, number, item, item.answer, demonstrations))
        for number, item in enumerate(store.answers.asked(run.run))
        if item.answer is not None
    )
    if harness == LM_EVAL:
        return samples
    head = _line(_inspect_head(run, report)).rstrip()
    separated = (f"{',' if place else ''}\n{sample.rstrip()}" for place, sample in enumerate(samples))
    return chain([f'{head[:-1]}, "samples": ['], separated, ["\n]}\n"])


def _lm_eval(run: Run, number: int, item: Asked, answer: Answer, demonstrations: Demonstrations) -> dict[str, Any]:
    """A sample as `--log_samples` writes it. A failed call has no reply, and an acc of 0; `doc` says why it failed."""
    prompt = prompt_of(item, demonstrations, run.spec, chat=bool(run.chat))
    text, target = prompt_text(run, item, demonstrations), _word(item.statement.label)
    doc = {**statement_row(item.statement), "shot_draw": item.draw, "p_true": answer.p_true, "failure": answer.failure}
    doc |= {"run_imported": run.imported, "run_ended": describe_state(run.state, run.reason)}
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
        "acc": float(answer.answer is item.statement.label),
    }


def _inspect_head(run: Run, report: Report) -> dict[str, Any]:
    """An Inspect log (version 2) without its samples."""
    ended = run.finished_at or run.started_at
    shares = {"accuracy": report.average_accuracy, "joint_accuracy": report.joint_accuracy}
    metrics = {name: {"name": name, "value": estimate.value} for name, estimate in shares.items() if estimate.value is not None}
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
            "scores": [{"name": EVALUATION, "scorer": EVALUATION, "metrics": metrics}],
        },
        "stats": {"started_at": run.started_at, "completed_at": ended, "model_usage": {}},
    }


def _inspect(run: Run, number: int, item: Asked, answer: Answer, demonstrations: Demonstrations) -> dict[str, Any]:
    """A sample of an Inspect log. An unreadable reply is incorrect; a failed call has an error and no score."""
    content = prompt_of(item, demonstrations, run.spec, chat=bool(run.chat)).content
    messages = [{"role": "user", "content": content}] if isinstance(content, str) else [dict(turn) for turn in content]
    reply = {"role": "assistant", "content": answer.raw or "", "source": "generate", "model": shown_model(run.model)}
    score = {
        "value": "C" if answer.answer is item.statement.label else "I",
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
        "scores": None if failed else {EVALUATION: score},
        "metadata": {**statement_row(item.statement), "shot_draw": item.draw},
        **({"error": failed} if failed else {}),
    }


# ------------------------------------------------------------------------------------------------ Every Eval Ever


def write_every_eval(store: Store, run: Run, report: Report, folder: Path, made_at: int) -> Path:
    """Writes a record of the scores, and beside it a file with a row per statement; returns the path of the record.

    Paths are those of that database: `data/medfact/OWNER/MODEL/UUID.json` and `UUID_samples.jsonl`. A failed call has no score,
    so it has no row; the record states their number. made_at: seconds since 1970.
    """
    name = str(uuid.UUID(run.run, version=4))
    place = Path("data", EVALUATION, *(part.replace("/", "_") for part in model_id(run).split("/", 1)))
    rows = Path(place, f"{name}_samples.jsonl")
    with being_written(folder):
        (folder / place).mkdir(parents=True, exist_ok=True)
        digest, count = hashlib.sha256(), 0
        with (folder / rows).open("wb") as file:
            for line in _every_eval_rows(store, run, report):
                file.write(line)
                digest.update(line)
                count += 1
        record = _record(run, report, made_at)
        if count:
            record["detailed_evaluation_results"] = {
                "format": "jsonl",
                "file_path": rows.as_posix(),
                "hash_algorithm": "sha256",
                "checksum": digest.hexdigest(),
                "total_rows": count,
                "additional_details": {"failed_calls_without_row": str(report.failed)},
            }
        else:
            (folder / rows).unlink()
        (folder / place / f"{name}.json").write_bytes(_line(record, indent=1).encode())
    return place / f"{name}.json"


def model_id(run: Run) -> str:
    """A model as OWNER/NAME: its repository, else its kind, such as `openai`, and its name; `medfact/NAME` if bundled."""
    spec = shown_model(run.model)
    kind, name = spec.split(":", 1) if ":" in spec else ("", spec)
    parts = [part for part in re.sub(r'[<>:"\\|?*\s\x00-\x1f]+', "-", name).split("/") if part.strip(". ")]
    named = "/".join(part.strip(". ") for part in parts) or "model"
    return named if "/" in named else f"{re.sub(r'[^a-z0-9-]+', '-', kind) or EVALUATION}/{named}"


def _record(run: Run, report: Report, made_at: int) -> dict[str, Any]:
    about = {
        "run": run.run,
        "ended": describe_state(run.state, run.reason),
        "why": describe_ending(run.state, run.reason),
        "imported": run.imported,
        "method": report.method,
        "pool": run.pool,
        "shots": run.shots,
        "seed": report.seed,
        "statements": run.statements,
        "answered": report.answered,
        "unreadable": report.unreadable,
        "failed": report.failed,
        "dataset_fingerprint": run.dataset_fingerprint,
    }
    model = {
        "deployment_type": "unknown" if provider_of(run.model).is_remote else "self_deployed",
        "model_availability": "open_weights" if run.model in BUNDLED_FOLDERS else "unknown",
        "revision": run.model_revision,
    }
    return {
        "schema_version": SCHEMA,
        "evaluation_id": f"{EVALUATION}/{model_id(run)}/{run.run}",
        "evaluation_timestamp": run.finished_at or run.started_at,
        "retrieved_timestamp": str(made_at),
        "source_metadata": {
            "source_name": EVALUATION,
            "source_type": "evaluation_run",
            "source_organization_name": "unknown",
            "evaluator_relationship": "other",
            "additional_details": _texts(about),
        },
        "eval_library": {"name": EVALUATION, "version": VERSION},
        "model_info": {"name": shown_model(run.model), "id": model_id(run), "additional_details": _texts(model)},
        "evaluation_results": [_result(run, report, *figure) for figure in figures_of(report)],
    }


def _texts(details: Mapping[str, object]) -> dict[str, str]:
    """Details as texts, as the schema has them, without empty ones."""
    return {name: str(value) for name, value in details.items() if value not in (None, "")}


def _result(run: Run, report: Report, name: str, title: str, unit: str, figure: Estimate) -> dict[str, Any]:
    uncertainty: dict[str, Any] = {"num_samples": figure.n}
    if figure.low is not None and figure.high is not None:
        bounds = {"lower": figure.low, "upper": figure.high, "confidence_level": 0.95}
        uncertainty["confidence_interval"] = {**bounds, "method": "clustered by disease and finding"}
    return {
        "evaluation_result_id": f"{run.run}/{name}",
        "evaluation_name": f"{EVALUATION} {run.dataset}: {name}",
        "source_data": {"dataset_name": run.dataset, "source_type": "other"},
        "metric_config": {
            "evaluation_description": f"{title}, of {unit}s",
            "metric_id": name,
            "metric_name": title,
            "metric_unit": "proportion",
            "lower_is_better": name in {"false_affirmation", "false_denial"},
            "score_type": "continuous",
            "min_score": -1.0 if name == "accuracy_gap" else 0.0,
            "max_score": 1.0,
        },
        "score_details": {"score": figure.value, "uncertainty": uncertainty},
    }


def _every_eval_rows(store: Store, run: Run, report: Report) -> Iterator[bytes]:
    demonstrations = store.answers.demonstrations(run.run)
    score = "mkj_accuracy" if report.protocol == "mkj" else TASK_ID  # that the rows belong to: TASK_ID is the average accuracy
    for item in store.answers.asked(run.run):
        if item.answer is not None and item.answer.failure is None:
            yield _line(_row(run, item, item.answer, demonstrations, score)).encode()


def _row(run: Run, item: Asked, answer: Answer, demonstrations: Demonstrations, score: str) -> dict[str, Any]:
    label, is_right, raw = str(item.statement.label), answer.answer is item.statement.label, item.statement.text
    attribution = {"turn_idx": 0, "source": "output.raw", "extracted_value": _word(answer.answer), "is_terminal": True}
    costs: dict[str, Any] = {}
    if answer.prompt_tokens is not None and answer.completion_tokens is not None:
        tokens = answer.prompt_tokens, answer.completion_tokens
        costs["token_usage"] = {"input_tokens": tokens[0], "output_tokens": tokens[1], "total_tokens": sum(tokens)}
    if answer.seconds is not None:
        costs["performance"] = {"latency_ms": 1_000 * answer.seconds}
    return {
        "schema_version": SCHEMA,
        "evaluation_id": f"{EVALUATION}/{model_id(run)}/{run.run}",
        "model_id": model_id(run),
        "evaluation_name": f"{EVALUATION} {run.dataset}: {score}",
        "evaluation_result_id": f"{run.run}/{score}",
        "sample_id": f"{item.statement.statement_id}{f'/{item.draw}' if item.draw else ''}",
        "sample_hash": _digest(f"{raw}{label}"),
        "interaction_type": "single_turn",
        "input": {
            "raw": raw,
            "formatted": prompt_text(run, item, demonstrations),
            "reference": [label],
            "choices": ["True", "False"],
        },
        "output": {"raw": [answer.raw or ""]},
        "answer_attribution": [{**attribution, "extraction_method": "medfact"}],
        "evaluation": {"score": float(is_right), "is_correct": is_right},
        **costs,
        "metadata": _texts({**statement_row(item.statement), "p_true": answer.p_true}),
    }
