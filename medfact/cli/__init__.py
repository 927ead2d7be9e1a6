"""The command line: `python -m medfact COMMAND`. Data goes to stdout or a file, progress to stderr.

Exit codes: 0 complete, 2 a user's mistake, 3 complete but some calls failed.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from typing import NoReturn

from medfact import __version__
from medfact.cli import data, runs
from medfact.cli.options import (
    data_options,
    database_option,
    output_option,
    placement_options,
    resume_options,
    service_options,
)
from medfact.cli.rows import MISTAKE, OK, SOME_FAILED
from medfact.errors import MedfactError

__all__ = ["MISTAKE", "OK", "SOME_FAILED", "main"]

Command = Callable[[argparse.Namespace], int]

DISCLAIMER = "Not for clinical use. About half of the statements are false on purpose; each row's label says which."


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one command; returns the exit code."""
    parser = _parser()
    options = parser.parse_args(arguments)
    if options.command is None:
        parser.print_help()
        return OK
    try:
        return int(options.act(options))
    except MedfactError as error:
        print(f"medfact: {error}", file=sys.stderr)
        return MISTAKE
    except KeyboardInterrupt:
        print("medfact: stopped; what was answered is kept, and `resume` goes on.", file=sys.stderr)
        return MISTAKE
    except BrokenPipeError:
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115 - stdout must stay open until the interpreter ends
        return OK


# ------------------------------------------------------------------------------------------------ options


class _Parser(argparse.ArgumentParser):
    """Tells a mistake in one line."""

    def error(self, message: str) -> NoReturn:
        self.exit(MISTAKE, f"medfact: {message}. See `{self.prog} --help`.\n")


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="python -m medfact",
        description="Does a language model know a medical fact, or only one way of saying it?",
        epilog=DISCLAIMER,
    )
    parser.add_argument("--version", action="version", version=f"medfact {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", title="commands")

    def command(name: str, act: Command, help_: str, *options: Callable[[argparse.ArgumentParser], None]) -> None:
        added = commands.add_parser(name, help=help_, description=f"{help_[0].upper()}{help_[1:]}.")
        added.set_defaults(act=act)
        for add in options:
            add(added)

    made = (data_options, database_option, output_option)
    command("datasets", data.datasets, "list the bundled data sets", output_option)
    command("pools", data.pools, "list the prototypes, one row per pool, relation and form", output_option)
    command("facts", data.facts, "list facts with their negatives and roles", *made, _explain)
    command("statements", data.statements, "make the statements of the facts under test", *made)
    asked = (*made, placement_options, service_options)
    resumed = (_run, resume_options, database_option)
    command("prompts", data.prompts, "make the prompts, exactly as a model gets them", *asked, _one_model)
    command("run", runs.run, "ask one or more models; one run each", *asked, _models)
    command("resume", runs.resume, "go on with a run that was stopped or interrupted, or had failures", *resumed)
    command("runs", runs.runs, "list the runs, oldest first", database_option, output_option)
    command("report", runs.report, "show the figures of a run", _run, _json, database_option)
    command("compare", runs.compare, "compare two to eight runs on what they share", _compared, _json, database_option)
    command("tables", runs.tables, "show the papers' tables for one or more runs", _runs, database_option, output_option)
    command("answers", runs.answers, "list the answers of a run", _run, database_option, output_option)
    command("export", runs.export, "write a run into one file, answers included", _run, _to_file, database_option)
    command("import", runs.import_, "take a run out of such a file", _from_file, database_option)
    return parser


def _explain(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--explain", action="store_true", help="say how each negative fact was drawn")


def _one_model(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--model", metavar="SPEC", help="shape the prompts for this model; plain text without it")


def _models(parser: argparse.ArgumentParser) -> None:
    help_ = "medfact-tiny (the default), baseline:NAME, hf:REPOSITORY-OR-FOLDER or openai:MODEL; may repeat"
    parser.add_argument("--model", metavar="SPEC", action="append", help=help_)
    parser.add_argument("--again", metavar="RUN", help="ask what that run asked, from its record; its files may be gone")
    parser.add_argument("--dry-run", action="store_true", help="ask nothing; say what it would cost, one row a model")
    parser.add_argument("--yes", action="store_true", help="send your own facts to the service without asking")


def _run(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("run", metavar="RUN", help="a run's id or the beginning of it")


def _to_file(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("-o", "--output", metavar="FILE", help="medfact-run-ID.jsonl.gz by default")


def _from_file(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help="what `export` wrote")


def _runs(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("run", metavar="RUN", nargs="+", help="runs' ids or the beginnings of them")
    parser.add_argument("--paper", metavar="NAME", help="the tables of one paper: pretexttrans, tpeval or mkj; all by default")


def _compared(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("run", metavar="RUN", nargs="+", help="runs' ids or the beginnings of them")


def _json(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print it as JSON")
