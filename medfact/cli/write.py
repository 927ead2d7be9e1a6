"""Commands about what a language model writes: write it, and list what was written."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from medfact.answers.instructions import EIGHT, LLM_EVAL
from medfact.cli.consent import check_models, confirm_upload, service_key
from medfact.cli.options import spec_of
from medfact.cli.progress import show_progress
from medfact.cli.rows import emit, print_notes
from medfact.cli.show_data import load_collection
from medfact.models import BUNDLED_MODEL
from medfact.runs.costs import costs
from medfact.store import Run, Store
from medfact.writing.diversity import diversity
from medfact.writing.eight import usable_lines
from medfact.writing.runs import planned_writing, sentences, start_writing, write, writing_of
from medfact.writing.sentences import rejections


def start(options: argparse.Namespace) -> int:
    """Has one model write, and prints a row; with --dry-run, prints what it would cost."""
    spec = spec_of(options, options.model or BUNDLED_MODEL)
    check_models([spec])
    collection = load_collection(spec)
    if options.dry_run:
        task, planned = planned_writing(options.kind, spec, collection)
        return emit([costs(task, planned=planned)], options.output)
    confirm_upload([spec], options.yes)
    store = Store(options.db)
    writing = start_writing(options.kind, spec, store, collection)
    return go_on(writing, store, options.output, key=service_key(options))


def go_on(writing: str, store: Store, output: str | None, **options: Any) -> int:
    """Writes what is missing, and prints a row."""
    first = writing_of(writing, store)
    print_notes(first.notes)
    code = show_progress(write(first.run, store, **options), first.model)
    return max(code, emit([_row(store.run(first.run), store)], output))


def written(options: argparse.Namespace) -> int:
    """Lists what was written: a row per prototype, or per line of LLMEval."""
    store = Store(options.db)
    first = writing_of(options.run, store)
    return emit(_lines(first, store) if first.spec.task == LLM_EVAL else _sentences(first, store), options.output)


def _row(first: Run, store: Store) -> dict[str, Any]:
    row = {"run": first.run, "writer": first.model, "revision": first.model_revision, "state": first.state}
    if first.spec.task == LLM_EVAL:
        lines = [len(usable_lines(item.answer.raw or "")) for item in store.asked(first.run) if item.answer is not None]
        return {**row, "kind": LLM_EVAL, "facts": len(lines), "usable": sum(number >= EIGHT for number in lines)}
    made = sentences(first.run, store)
    return {
        **row,
        "kind": "rephrase",
        "sentences": len(made),
        "rephrased": sum(sentence.text is not None for sentence in made),
        "by_variant": rejections(made),
        "diversity": {
            "prototypes": asdict(diversity(sentence.prototype for sentence in made)),
            "written": asdict(diversity(sentence.statement(first.model) for sentence in made)),
        },
    }


def _sentences(first: Run, store: Store) -> Iterator[dict[str, Any]]:
    for sentence in sentences(first.run, store):
        made = sentence.prototype
        yield {
            "statement_id": made.statement_id,
            "fact_id": made.fact.fact_id,
            "variant": made.variant,
            "label": made.label,
            "prototype": made.text,
            "rephrasing": sentence.text,
            "stopped": list(sentence.stopped),
            "replies": list(sentence.replies),
        }


def _lines(first: Run, store: Store) -> Iterator[dict[str, Any]]:
    for item in store.asked(first.run):
        reply = "" if item.answer is None else item.answer.raw or ""
        lines = usable_lines(reply)
        fact = item.statement.fact
        yield {
            "fact_id": fact.fact_id,
            "triplet": item.statement.text,
            "label": fact.positive,
            "usable": len(lines) >= EIGHT,
            "lines": list(lines),
            "reply": reply,
        }
