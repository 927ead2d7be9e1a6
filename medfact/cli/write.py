"""Commands about what a language model writes: write it, and list what was written."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

from medfact.answers.prompts import LLM_EVAL_STATEMENTS
from medfact.cli import OK, print_data
from medfact.cli.evaluate import check_models, confirm_upload
from medfact.cli.options import spec_of
from medfact.cli.progress import show_progress
from medfact.cli.rows import check_output, emit, kept, print_notes
from medfact.cli.show_data import load_collection
from medfact.datasets.table_writer import being_written
from medfact.errors import Mistake
from medfact.models import BUNDLED_MODEL, key_of_named
from medfact.runs.costs import costs
from medfact.store import Run, Store
from medfact.writing.diversity import diversity
from medfact.writing.kinds import EIGHT_STATEMENTS, writing_kind
from medfact.writing.runs import SHOWN, drafts, planned_writing, sentences, start_writing, write, writer_of, writing_of
from medfact.writing.sentences import REPHRASED, rejections
from medfact.writing.templates import pool_file, usable_lines


def start_writer(options: argparse.Namespace) -> int:
    """Has one model write, and prints a row; with --dry-run, prints what it would cost."""
    check_output(options.output)
    spec = spec_of(options, options.model or BUNDLED_MODEL)
    check_models([spec])
    collection = load_collection(spec)
    if options.dry_run:
        task, planned = planned_writing(options.kind, spec, collection)
        return emit([costs(task, planned=planned)], options.output)
    confirm_upload([spec], options.yes)
    store = Store(options.db)
    writing = start_writing(options.kind, spec, store, collection)
    return go_on(writing, store, options.output, key=key_of_named(spec.model, spec.service))


def go_on(writing: str, store: Store, output: str | None, **options: Any) -> int:
    """Writes what is missing, and prints a row."""
    first = writing_of(writing, store)
    print_notes(first.notes)
    code = show_progress(write(first.run, store, **options), first.model)
    return max(code, emit([_row(store.run(first.run), store)], output))


def written(options: argparse.Namespace) -> int:
    """Lists what was written: a row per prototype, or per line of LLMEval."""
    store = kept(options.db)
    first = writing_of(options.run, store)
    kind = writing_kind(first)
    if kind.forms:
        rows = (
            {
                "relation": draft.relation,
                "sentences": dict(draft.sentences),
                "problem": draft.problem,
                "reply": draft.reply,
            }
            for draft in drafts(first.run, store)
        )
        return emit(rows, options.output)
    return emit(_lines(first, store) if kind is EIGHT_STATEMENTS else _sentences(first, store), options.output)


def save_drafts(options: argparse.Namespace) -> int:
    """Saves the drafts that break no rule as a pool file, which says that nobody has accepted them."""
    store = kept(options.db)
    first = writing_of(options.run, store)
    usable = {draft.relation: draft.sentences for draft in drafts(first.run, store) if draft.problem is None}
    text = pool_file(usable, str(first.spec.task), writer_of(first), accepted="", extends=options.extends)
    if options.output is None:
        print_data(text, end="")
        return OK
    path = Path(options.output)
    if path.exists():
        raise Mistake(f"{path.name} exists.", "Choose another name: a file that somebody has read is not overwritten.")
    with being_written(path):
        path.write_text(text, encoding="utf-8")
    return OK


def _row(first: Run, store: Store) -> dict[str, Any]:
    kind = writing_kind(first)
    row = {"run": first.run, "writer": first.model, "revision": first.model_revision, "state": first.state, "kind": kind.name}
    if kind is EIGHT_STATEMENTS:
        lines = [len(usable_lines(item.answer.raw or "")) for item in store.answers.asked(first.run) if item.answer is not None]
        return {**row, "facts": len(lines), "usable": sum(number >= LLM_EVAL_STATEMENTS for number in lines)}
    if kind.forms:
        made_drafts = drafts(first.run, store)
        usable = sum(draft.problem is None for draft in made_drafts)
        return {**row, "relations": len(made_drafts), "usable": usable}
    made = sentences(first.run, store)
    return {
        **row,
        "sentences": len(made),
        "rephrased": sum(sentence.fate == REPHRASED for sentence in made),
        "by_variant": rejections(made),
        "diversity": {
            "prototypes": asdict(diversity(sentence.prototype for sentence in made)),
            "written": asdict(diversity(sentence.statement(first.model) for sentence in made)),
        },
    }


def _sentences(first: Run, store: Store) -> Iterator[dict[str, Any]]:
    for item, sentence in zip(store.answers.asked(first.run), sentences(first.run, store), strict=True):
        made = sentence.prototype
        yield {
            "statement_id": made.statement_id,
            "fact_id": made.fact.fact_id,
            "variant": made.variant,
            "label": made.label,
            "role": "shots" if item.shots_of == SHOWN else "test",
            "prototype": made.text,
            "rephrasing": sentence.text,
            "stopped": list(sentence.stopped),
            "replies": list(sentence.replies),
        }


def _lines(first: Run, store: Store) -> Iterator[dict[str, Any]]:
    for item in store.answers.asked(first.run):
        reply = "" if item.answer is None else item.answer.raw or ""
        lines = usable_lines(reply)
        fact = item.statement.fact
        yield {
            "fact_id": fact.fact_id,
            "triplet": item.statement.text,
            "label": fact.positive,
            "usable": len(lines) >= LLM_EVAL_STATEMENTS,
            "lines": list(lines),
            "reply": reply,
        }
