"""The command line: `python -m medfact COMMAND`. Data goes to stdout or a file, progress to stderr.

Exit codes: 0 complete, 2 a user's mistake or Ctrl-C, 3 complete but some calls failed.
"""

from __future__ import annotations

import errno
import logging
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, redirect_stdout, suppress
from typing import Any, TextIO, cast

from medfact import log_setup
from medfact.cli.commands import parser
from medfact.datasets.text import REPLACED, one_line, strip_control_characters
from medfact.errors import MedfactError, UnknownName
from medfact.extras import not_installed_errors

_log = logging.getLogger(__package__)

OK, MISTAKE, SOME_FAILED = 0, 2, 3
"""Exit codes."""


class _Printable:
    """A stream without characters that a terminal obeys: much of what is printed comes from files and models."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        self._stream.write(strip_control_characters(text))
        return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


@contextmanager
def printable_stdout() -> Iterator[None]:
    """Meanwhile all that goes to stdout is printable."""
    with redirect_stdout(cast(TextIO, _Printable(sys.stdout))):
        yield


def say(text: str) -> None:
    """Prints on stderr, on one line."""
    print(one_line(text), file=sys.stderr)


LISTED = 3
"""Runs or curations that are named where an id is none."""


def latest(kind: str, url: str | None) -> str:
    """The ids of the runs or curations begun last: all in the database is this person's. "" for another kind of name."""
    if kind not in ("run", "curation"):
        return ""
    from medfact.store import Store  # takes long to import, and few commands end so

    store = Store(url)
    ids = [run.run for run in store.runs()] if kind == "run" else [one.curation for one in store.curations.listed()]
    return f"The latest {'is' if len(ids) == 1 else 'are'} {', '.join(ids[-LISTED:])}." if ids else "There is none yet."


class Stopped(KeyboardInterrupt):
    """Ctrl-C while runs were asked: their answers are saved. Its arguments: the ids of the runs, where they are known."""


@contextmanager
def resumable(*runs: str) -> Iterator[None]:
    """Says of an interruption in it that there are runs to resume."""
    try:
        yield
    except KeyboardInterrupt:
        raise Stopped(*runs) from None


def print_data(text: str, end: str = "\n", *, flush: bool = False) -> None:
    """Prints rows, or what goes into a file, as UTF-8: on Windows, a pipe or file has the encoding of the system's language."""
    if not sys.stdout.isatty():
        _set_encoding(sys.stdout, "utf-8")
    print(text, end=end, flush=flush)


def _set_encoding(stream: Any, encoding: str | None = None) -> None:
    """Has a stream write in an encoding, or in its own, with replacements for what that lacks."""
    if hasattr(stream, "reconfigure") and not (stream.errors == REPLACED and encoding in (None, stream.encoding)):
        stream.reconfigure(encoding=encoding or stream.encoding, errors=REPLACED)


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one command; returns the exit code. arguments: None takes those of the process."""
    for stream in (sys.stdout, sys.stderr):
        _set_encoding(stream)
    try:
        try:
            return _run(arguments)
        finally:
            sys.stdout.flush()
    except OSError as error:
        # nobody reads the output any more; Windows calls that an invalid argument
        if not isinstance(error, BrokenPipeError) and (error.errno != errno.EINVAL or error.filename is not None):
            raise
        for stream in (sys.stdout, sys.stderr):  # what is left in them would end the interpreter with an error
            with suppress(OSError, ValueError):
                os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
        return OK


def _run(arguments: Sequence[str] | None) -> int:
    whole = parser()
    try:
        options = whole.parse_args(arguments)
        if options.command is None:
            whole.print_help()
            return OK
        log_setup.configure(options.verbose)
        with not_installed_errors(), printable_stdout():
            return int(options.command.run(options))
    except MedfactError as error:
        _log.debug("The command ends with a mistake.", exc_info=True)
        hint = latest(error.kind, options.db) if isinstance(error, UnknownName) else ""
        say(f"medfact: {f'{error.problem} {hint}' if hint else error}")
        return MISTAKE
    except RuntimeError as error:
        if "home directory" not in str(error):
            raise
        say("medfact: A library looks for a home folder, and this system knows none. Set HOME to a folder, such as HOME=/data.")
        return MISTAKE
    except KeyboardInterrupt as stop:
        how = " ".join(("resume", *stop.args)) if isinstance(stop, Stopped) else ""
        kept = f" All answers so far are saved; `{how}` continues." if how else ""
        say(f"medfact: stopped.{kept}")
        return MISTAKE
