"""The command that writes what is asked as a task of another tool."""

from __future__ import annotations

import argparse
from pathlib import Path

from medfact.cli import OK
from medfact.cli.options import spec_of
from medfact.cli.rows import print_notes, print_progress
from medfact.cli.show_data import held_in, load_collection, rejections
from medfact.results.wording import counted
from medfact.runs.plan import plan
from medfact.tasks import write_task


def task(options: argparse.Namespace) -> int:
    """Writes the statements of the facts under test as the folder of a task."""
    spec = spec_of(options, "")
    planned = plan(spec, load_collection(spec), rejections(options), held_in(options))
    print_notes(planned.notes)
    count = write_task(options.tool, planned, spec, Path(options.into))
    print_progress(f"{counted(count, 'statement')} written to {options.into}; its README.md says how to run them")
    return OK
