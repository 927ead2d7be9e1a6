"""Runs in the formats of others: the Hub, lm-evaluation-harness, Inspect, and Every Eval Ever (schema 0.3.0)."""

from __future__ import annotations

import hashlib
import json
import re
import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any

import yaml

from medfact.datasets.table_writer import being_written
from medfact.datasets.text import escape_control_characters, one_line
from medfact.errors import Mistake, UnknownName
from medfact.exchange.rows import portable, shown_model, statement_row
from medfact.metrics.uncertainty import Estimate
from medfact.models import provider_of
from medfact.models.hub import BUNDLED_FOLDERS
from medfact.results.report import Report
from medfact.results.wording import (
    FROM_FILE,
    counted,
    describe_ending,
    describe_state,
    false_on_purpose,
    model_of,
    share,
    signed_share,
)
from medfact.runs.prompts import Demonstrations, prompt_of, prompt_text
from medfact.spec import PROTOCOLS
from medfact.store import COMPLETE, Answer, Asked, Run, Store
from medfact.tasks import TASK_ID
from medfact.version import VERSION
from medfact.words import say, sayings

HUB_NAME = re.compile(r"[\w-][\w.-]*/[\w-][\w.-]*", re.ASCII)  # OWNER/NAME of a repository of the Hub

WHERE = ".eval_results/medfact.yaml"  # path in the repository of the model


def model_card(reports: Sequence[Report]) -> str:
    """The snippet for runs of one or several models: YAML metadata between lines of dashes, and Markdown below it.

    A figure without a value is left out.
    """
    results = [(model_of(report), _result(report)) for report in reports]
    models = dict.fromkeys(name for name, _ in results)
    index = [{"name": model, "results": [result for name, result in results if name == model]} for model in models]
    metadata = yaml.safe_dump({"model-index": index}, allow_unicode=True, sort_keys=False, width=1_000)
    limits = f"{say('card.limits')} {false_on_purpose(reports)}"
    return "\n\n".join([f"---\n{metadata}---", say("card.heading"), *map(_markdown, reports), limits]) + "\n"


def _result(report: Report) -> dict[str, Any]:
    """An entry of the `model-index` metadata."""
    metrics = []
    for name, title, unit, figure in figures_of(report):
        bounds = "" if figure.low is None or figure.high is None else f"95% interval {figure.low:.4f} to {figure.high:.4f}, "
        metrics.append(
            {"type": name, "value": round(figure.value, 4), "name": f"{title}, {bounds}of {counted(figure.n, unit)}"}
        )
    return {
        "task": {"type": "text-classification", "name": say("card.task")},
        "dataset": {"name": f"medfact {report.dataset}", "type": "medfact", "config": report.method},
        "metrics": metrics,
    }


def _markdown(report: Report) -> str:
    """A table of one run."""
    shots = f"{report.shots}-shot" if report.shots else "zero-shot"
    subject = ", ".join(map(_escape, (f"{model_of(report)} on {report.dataset}", report.method, shots)))
    rows = (
        f"| {title} | {describe_figure(name, figure)} | {counted(figure.n, unit)} |"
        for name, title, unit, figure in figures_of(report)
    )
    table, ending = "\n".join([say("card.columns"), "|---|---|---|", *rows]), describe_ending(report.state, report.reason)
    return "\n\n".join(filter(None, [f"{subject}, seed {report.seed}, run {report.run}:", table, _escape(ending)]))


def _escape(text: str) -> str:
    """Escapes Markdown and the end of a table's cell."""
    return "".join(f"\\{c}" if c in "\\`*_{}[]<>()#+-.!|" else " " if c in "\r\n" else c for c in text)


def figures_of(report: Report) -> Iterator[tuple[str, str, str, Any]]:
    """Yields (name, title, unit, estimate) of each headline score of a run's method, and of the two harms."""
    listed = (*PROTOCOLS[report.protocol].headline_metrics, "false_affirmation", "false_denial")
    for name, title in sayings("card.title").items():
        figure = getattr(report, name)
        if name in listed and figure.value is not None:
            yield name, title, say(f"card.unit.{name}"), Estimate(figure.value, figure.low, figure.high, figure.n)


def describe_figure(name: str, figure: Estimate) -> str:
    """A figure with its interval, in percent or in points."""
    return signed_share(figure) if name == "accuracy_gap" else share(figure)


# ------------------------------------------------------------------------------------------------ leaderboards


def eval_results(scored: Sequence[tuple[Run, Report]], benchmark: str, task: str, source: str | None) -> str:
    """Content of the file for runs of one model. Raises Mistake or UnknownName.

    Args:
        benchmark: OWNER/NAME of a data set, or OWNER/NAME@REVISION.
        task: the id of one of its tasks, which is the name of a score.
        source: address of the evidence.
    """
    name, _, revision = benchmark.partition("@")
    if not HUB_NAME.fullmatch(name):
        raise Mistake(f"{benchmark!r} names no data set of the Hub.", "Write it as OWNER/NAME, or as OWNER/NAME@REVISION.")
    if source is not None and not source.startswith("https://"):
        raise Mistake(f"{source!r} is no address of a source.", "Begin it with https://.")
    if len({report.model for _, report in scored}) > 1:
        raise Mistake("These runs are of several models.", "Such a file belongs to one model: name runs of one.")
    data_set = {"id": name, "task_id": task} | ({"revision": revision} if revision else {})
    entries = []
    for run, report in scored:
        figures = {name: figure for name, _, _, figure in figures_of(report)}
        if task not in figures:
            raise UnknownName("score of this run", task, figures)
        entries.append(
            {
                "dataset": dict(data_set),
                "value": round(figures[task].value, 4),
                "date": (run.finished_at or run.started_at)[:10],
                **({"source": {"url": source, "name": "medfact"}} if source else {}),
                "notes": _notes(report),
            }
        )
    return yaml.safe_dump(entries, sort_keys=False, allow_unicode=True, width=1_000)


def _notes(report: Report) -> str:
    """Every figure with its n and interval, and the settings of the run."""
    figures = (
        f"{name} {describe_figure(name, figure)} of {counted(figure.n, unit)}" for name, _, unit, figure in figures_of(report)
    )
    setting = (
        f"{report.method}, pool {report.pool}, {counted(report.shots, 'demonstration')}, seed {report.seed}, run {report.run}"
    )
    ending = FROM_FILE if report.imported else "", describe_ending(report.state, report.reason)
    parts = [f"{model_of(report)} on {report.dataset}", *figures, setting, f"medfact {VERSION}", *ending]
    return one_line("; ".join(filter(None, parts)))


# ------------------------------------------------------------------------------------------------ logs

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
    head = _line(_inspect_head(run, report)).rstrip()
    separated = (f"{',' if place else ''}\n{sample.rstrip()}" for place, sample in enumerate(samples))
    return samples if harness == LM_EVAL else chain([f'{head[:-1]}, "samples": ['], separated, ["\n]}\n"])


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
    shares = {"accuracy": report.average_accuracy.value, "joint_accuracy": report.joint_accuracy.value}
    metrics = {name: {"name": name, "value": value} for name, value in shares.items() if value is not None}
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
        "stats": {"started_at": run.started_at, "completed_at": run.finished_at or run.started_at, "model_usage": {}},
    }


def _inspect(run: Run, number: int, item: Asked, answer: Answer, demonstrations: Demonstrations) -> dict[str, Any]:
    """A sample of an Inspect log. An unreadable reply is incorrect; a failed call has an error and no score."""
    content = prompt_of(item, demonstrations, run.spec, chat=bool(run.chat)).content
    messages = [{"role": "user", "content": content}] if isinstance(content, str) else [dict(turn) for turn in content]
    reply = {"role": "assistant", "content": answer.raw or "", "source": "generate", "model": shown_model(run.model)}
    value = "C" if answer.answer is item.statement.label else "I"
    score = {EVALUATION: {"value": value, "answer": _word(answer.answer), "metadata": {"p_true": answer.p_true}}}
    error = {"error": {"message": answer.failure, "traceback": "", "traceback_ansi": ""}} if answer.failure is not None else {}
    return {
        "id": number + 1,
        "epoch": 1,
        "input": messages,
        "target": _word(item.statement.label),
        "messages": [*messages, reply],
        "output": {"model": shown_model(run.model), "choices": [{"message": reply, "stop_reason": "stop"}]},
        "scores": None if error else score,
        "metadata": {**statement_row(item.statement), "shot_draw": item.draw},
        **error,
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
        details = {
            "format": "jsonl",
            "file_path": rows.as_posix(),
            "hash_algorithm": "sha256",
            "checksum": digest.hexdigest(),
            "total_rows": count,
            "additional_details": {"failed_calls_without_row": str(report.failed)},
        }
        if not count:
            (folder / rows).unlink()
        record = _record(run, report, made_at) | ({"detailed_evaluation_results": details} if count else {})
        (folder / place / f"{name}.json").write_bytes(_line(record, indent=1).encode())
    return place / f"{name}.json"


def model_id(run: Run) -> str:
    """A model as OWNER/NAME: its repository, else its kind, such as `openai`, and its name; `medfact/NAME` if bundled."""
    *kinds, name = shown_model(run.model).split(":", 1)
    parts = re.sub(r'[<>:"\\|?*\s\x00-\x1f]+', "-", name).split("/")
    named = "/".join(filter(None, (part.strip(". ") for part in parts))) or "model"
    return named if "/" in named else f"{re.sub(r'[^a-z0-9-]+', '-', ''.join(kinds)) or EVALUATION}/{named}"


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
        "evaluation_results": [_eval_result(run, report, *figure) for figure in figures_of(report)],
    }


def _texts(details: Mapping[str, object]) -> dict[str, str]:
    """Details as texts, as the schema has them, without empty ones."""
    return {name: str(value) for name, value in details.items() if value not in (None, "")}


def _eval_result(run: Run, report: Report, name: str, title: str, unit: str, figure: Estimate) -> dict[str, Any]:
    method = {"confidence_level": 0.95, "method": "clustered by disease and finding"}
    has_interval = figure.low is not None and figure.high is not None
    interval = {"confidence_interval": {"lower": figure.low, "upper": figure.high, **method}} if has_interval else {}
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
        "score_details": {"score": figure.value, "uncertainty": {"num_samples": figure.n, **interval}},
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
