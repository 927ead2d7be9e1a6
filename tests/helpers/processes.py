"""`python -m medfact` in processes that tests may kill, forked from a process with all imports."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing import forkserver
from pathlib import Path

import pytest

from medfact.runs.jobs import Jobs
from medfact.store import Store

HELPERS = Path(__file__).resolve().parent

CONTEXT = multiprocessing.get_context("forkserver")


@contextmanager
def start_fork_server() -> Iterator[None]:
    """Starts the process from which commands are forked, with medfact imported; it outlives the context."""
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setenv(
            "PYTHONPATH", os.pathsep.join([str(HELPERS.parents[1]), str(HELPERS), os.environ.get("PYTHONPATH", "")])
        )
        monkeypatch.setenv("OMP_WAIT_POLICY", "PASSIVE")  # the tests need a processor too
        CONTEXT.set_forkserver_preload(["preloaded", "processes"])
        forkserver.ensure_running()
    yield


class CommandProcess:
    """A process of `python -m medfact ARGUMENTS`.

    folder: folder of its output. before: a function that the process calls first.
    """

    def __init__(self, folder: Path, *arguments: object, before: Callable[[], None] | None = None) -> None:
        folder.mkdir(exist_ok=True)
        self._outputs = [folder / f"{len(list(folder.glob('*.out')))}.{name}" for name in ("out", "err")]
        call = ([str(argument) for argument in arguments], self._outputs, os.environ.get("MEDFACT_HOME", ""), before)
        self._process = CONTEXT.Process(target=_run_command, args=call)
        self._process.start()

    @property
    def out(self) -> str:
        """Standard output so far."""
        return self._outputs[0].read_text()

    @property
    def err(self) -> str:
        """Standard error so far."""
        return self._outputs[1].read_text()

    @property
    def code(self) -> int | None:
        """The exit code; None while the process runs, negative if a signal ended it."""
        return self._process.exitcode

    def wait(self, seconds: float = 60) -> CommandProcess:
        """Waits for the end, asserts that it came in time, and returns the process."""
        self._process.join(seconds)
        assert self.code is not None, f"still running after {seconds} s: {self.err}"
        return self

    def kill(self) -> bool:
        """Sends SIGKILL; returns True if the process ran until then."""
        self._process.kill()
        return self.wait().code == -9


def _run_command(arguments: list[str], outputs: list[Path], home: str, call_first: Callable[[], None] | None) -> None:
    """Runs a command in this process and ends it with the exit code. outputs: files for standard output and error."""
    from medfact import cli

    os.environ["MEDFACT_HOME"] = home
    sys.stdout, sys.stderr = (file.open("w", buffering=1) for file in outputs)
    if call_first is not None:
        call_first()
    try:
        code = cli.main(arguments)
    finally:
        sys.stdout.flush()
    sys.exit(code)


def run_jobs_until_killed(url: str, *runs: str) -> None:
    """Executes runs in this process as the page does, and waits until a signal ends it."""
    jobs = Jobs(Store(url))
    for run in runs:
        jobs.submit(run)
    signal.pause()
