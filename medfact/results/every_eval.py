"""A run in the format of Every Eval Ever (schema 0.3.0): a record of its scores, and beside it a row a statement.

Both files lie where that data base has them: `data/medfact/OWNER/MODEL/UUID.json` and `UUID_samples.jsonl`.
"""

from __future__ import annotations

import hashlib
import json
import re
import uuid
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from medfact.datasets.table_writer import being_written
from medfact.datasets.text import escape_control_characters
from medfact.exchange.rows import shown_model, statement_row
from medfact.metrics.uncertainty import Estimate
from medfact.models import provider_of
from medfact.models.hub import BUNDLED_FOLDERS
from medfact.results.model_card import figures_of
from medfact.results.report import Report
from medfact.results.wording import describe_ending, describe_state
from medfact.runs.prompts import Demonstrations, prompt_text
from medfact.store import Answer, Asked, Run, Store
from medfact.tasks import TASK
from medfact.version import VERSION

SCHEMA = "0.3.0"

EVALUATION = "medfact"

_LOWER_IS_BETTER = {"false_affirmation", "false_denial"}

_ROWS_ARE_OF = {"mkj": "mkj_accuracy"}
"""Protocol → the score that rows of statements belong to; otherwise the average accuracy."""


def write_every_eval(store: Store, run: Run, report: Report, folder: Path, made_at: int) -> Path:
    """Writes both files below a folder; returns the place of the record. made_at: seconds since 1970.

    A failed call has no score, so it has no row; the record says how many failed.
    """
    model = model_id(run)
    name = str(uuid.UUID(run.run, version=4))
    place = Path("data", EVALUATION, *(part.replace("/", "_") for part in model.split("/", 1)))
    rows = Path(place, f"{name}_samples.jsonl")
    with being_written(folder):
        (folder / place).mkdir(parents=True, exist_ok=True)
        digest, count = hashlib.sha256(), 0
        with (folder / rows).open("wb") as file:
            for row in _rows(store, run, report):
                line = _line(row)
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
        record = _record(run, report, made_at) | ({"detailed_evaluation_results": details} if count else {})
        if not count:
            (folder / rows).unlink()
        (folder / place / f"{name}.json").write_bytes(_line(record, indent=1))
    return place / f"{name}.json"


def model_id(run: Run) -> str:
    """A model as OWNER/NAME: its repository, else its name after its kind, such as `openai`; of a bundled model, after ours."""
    spec = shown_model(run.model)
    kind, name = spec.split(":", 1) if ":" in spec else ("", spec)
    parts = [part for part in re.sub(r'[<>:"\\|?*\s\x00-\x1f]+', "-", name).split("/") if part.strip(". ")]
    named = "/".join(part.strip(". ") for part in parts) or "model"
    return named if "/" in named else f"{re.sub(r'[^a-z0-9-]+', '-', kind) or EVALUATION}/{named}"


def _line(content: Mapping[str, Any], indent: int | None = None) -> bytes:
    return f"{escape_control_characters(json.dumps(content, ensure_ascii=False, indent=indent, allow_nan=False))}\n".encode()


def _evaluation_id(run: Run) -> str:
    return f"{EVALUATION}/{model_id(run)}/{run.run}"


# ------------------------------------------------------------------------------------------------ the record


def _record(run: Run, report: Report, made_at: int) -> dict[str, Any]:
    return {
        "schema_version": SCHEMA,
        "evaluation_id": _evaluation_id(run),
        "evaluation_timestamp": run.finished_at or run.started_at,
        "retrieved_timestamp": str(made_at),
        "source_metadata": {
            "source_name": EVALUATION,
            "source_type": "evaluation_run",
            "source_organization_name": "unknown",
            "evaluator_relationship": "other",
            "additional_details": _texts(_about(run, report)),
        },
        "eval_library": {"name": EVALUATION, "version": VERSION},
        "model_info": _model(run),
        "evaluation_results": [_result(run, report, *figure) for figure in figures_of(report)],
    }


def _texts(details: Mapping[str, object]) -> dict[str, str]:
    """Details as the schema has them: texts, and none that says nothing."""
    return {name: str(value) for name, value in details.items() if value not in (None, "")}


def _about(run: Run, report: Report) -> dict[str, object]:
    return {
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


def _model(run: Run) -> dict[str, Any]:
    remote, bundled = provider_of(run.model).is_remote, run.model in BUNDLED_FOLDERS
    known = {
        "deployment_type": "unknown" if remote else "self_deployed",
        "model_availability": "open_weights" if bundled else "unknown",
    }
    return {
        "name": shown_model(run.model),
        "id": model_id(run),
        "additional_details": known | _texts({"revision": run.model_revision}),
    }


def _result(run: Run, report: Report, name: str, title: str, of: str, figure: Estimate) -> dict[str, Any]:
    uncertainty: dict[str, Any] = {"num_samples": figure.n}
    if figure.low is not None and figure.high is not None:
        bounds = {"lower": figure.low, "upper": figure.high, "confidence_level": 0.95}
        uncertainty["confidence_interval"] = {**bounds, "method": "clustered by disease and finding"}
    return {
        "evaluation_result_id": f"{run.run}/{name}",
        "evaluation_name": f"{EVALUATION} {run.dataset}: {name}",
        "source_data": {"dataset_name": run.dataset, "source_type": "other"},
        "metric_config": {
            "evaluation_description": f"{title}, of {of}s",
            "metric_id": name,
            "metric_name": title,
            "metric_unit": "proportion",
            "lower_is_better": name in _LOWER_IS_BETTER,
            "score_type": "continuous",
            "min_score": -1.0 if name == "accuracy_gap" else 0.0,
            "max_score": 1.0,
        },
        "score_details": {"score": figure.value, "uncertainty": uncertainty},
    }


# ------------------------------------------------------------------------------------------------ the rows


def _rows(store: Store, run: Run, report: Report) -> Iterator[dict[str, Any]]:
    demonstrations = store.answers.demonstrations(run.run)
    score = _ROWS_ARE_OF.get(report.protocol, TASK)
    for item in store.answers.asked(run.run):
        if item.answer is not None and item.answer.failure is None:
            yield _row(run, item, item.answer, demonstrations, score)


def _row(run: Run, item: Asked, answer: Answer, demonstrations: Demonstrations, score: str) -> dict[str, Any]:
    label, said = str(item.statement.label), "" if answer.answer is None else str(answer.answer)
    right, raw = answer.answer is item.statement.label, item.statement.text
    attribution = {"turn_idx": 0, "source": "output.raw", "extracted_value": said, "is_terminal": True}
    return {
        "schema_version": SCHEMA,
        "evaluation_id": _evaluation_id(run),
        "model_id": model_id(run),
        "evaluation_name": f"{EVALUATION} {run.dataset}: {score}",
        "evaluation_result_id": f"{run.run}/{score}",
        "sample_id": f"{item.statement.statement_id}{f'/{item.draw}' if item.draw else ''}",
        "sample_hash": hashlib.sha256(f"{raw}{label}".encode()).hexdigest(),
        "interaction_type": "single_turn",
        "input": {
            "raw": raw,
            "formatted": prompt_text(run, item, demonstrations),
            "reference": [label],
            "choices": ["True", "False"],
        },
        "output": {"raw": [answer.raw or ""]},
        "answer_attribution": [{**attribution, "extraction_method": "medfact"}],
        "evaluation": {"score": float(right), "is_correct": right},
        **_costs(answer),
        "metadata": _texts({**statement_row(item.statement), "p_true": answer.p_true}),
    }


def _costs(answer: Answer) -> dict[str, Any]:
    """The tokens and the time of a call, where they are known."""
    tokens = answer.prompt_tokens, answer.completion_tokens
    usage = {"input_tokens": tokens[0], "output_tokens": tokens[1], "total_tokens": sum(filter(None, tokens))}
    found: dict[str, Any] = {} if None in tokens else {"token_usage": usage}
    return found | ({} if answer.seconds is None else {"performance": {"latency_ms": 1_000 * answer.seconds}})
