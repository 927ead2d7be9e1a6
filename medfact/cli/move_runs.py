"""Commands that take a run to another machine: export and import."""

from __future__ import annotations

import argparse
from pathlib import Path

from medfact.cli import OK
from medfact.cli.database import kept
from medfact.cli.rows import emit, print_progress, run_row
from medfact.errors import Mistake
from medfact.exchange import export_run, import_run
from medfact.store import Store


def export(options: argparse.Namespace) -> int:
    """Writes a run to a file, which appears only when it is whole."""
    store = kept(options.db)
    run_id = store.run(options.run).run
    path = Path(options.output or f"medfact-run-{run_id[:8]}.jsonl.gz")
    part = Path(f"{path}.part")
    try:
        try:
            with part.open("wb") as file:
                export_run(store, run_id, file)
            part.replace(path)
        finally:
            part.unlink(missing_ok=True)
    except OSError as error:
        raise Mistake(f"{path} cannot be written: {error.strerror}.", "Choose another place.") from None
    print_progress(f"run {run_id} written to {path}")
    return OK


def import_(options: argparse.Namespace) -> int:
    """Reads a run from a file and prints its row."""
    path = Path(options.file)
    try:
        with path.open("rb") as file:
            store = Store(options.db)
            run_id = import_run(store, file, path.name)
    except OSError as error:
        raise Mistake(f"{path} cannot be read: {error.strerror}.", "Check the path.") from None
    return emit([run_row(store.run(run_id), store)], None)
