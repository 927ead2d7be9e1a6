"""`python -m medfact` in processes that can be killed at any moment, forked from a process with all imports."""

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
def forked_quickly() -> Iterator[None]:
    """The process that others are forked from; it finds this house, and imports it."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("PYTHONPATH", os.pathsep.join([str(HELPERS.parents[1]), str(HELPERS), os.environ.get("PYTHONPATH", "")]))
        patched.setenv("OMP_WAIT_POLICY", "PASSIVE")  # the tests need a processor too
        CONTEXT.set_forkserver_preload(["preloaded", "processes"])
        forkserver.ensure_running()
    yield


class Command:
    """`python -m medfact ARGUMENTS`, as a process. `before` is called in it first."""

    def __init__(self, place: Path, *arguments: object, before: Callable[[], None] | None = None) -> None:
        place.mkdir(exist_ok=True)
        self._files = [place / f"{len(list(place.glob('*.out')))}.{name}" for name in ("out", "err")]
        arguments_of_run = ([str(argument) for argument in arguments], self._files, os.environ.get("MEDFACT_HOME", ""), before)
        self._process = CONTEXT.Process(target=_run, args=arguments_of_run)
        self._process.start()

    @property
    def out(self) -> str:
        return self._files[0].read_text()

    @property
    def err(self) -> str:
        return self._files[1].read_text()

    @property
    def code(self) -> int | None:
        """The exit code; None while the process lives, negative where a signal ended it."""
        return self._process.exitcode

    def ended(self, seconds: float = 60) -> Command:
        """Waits for the end."""
        self._process.join(seconds)
        assert self.code is not None, f"still there after {seconds} s: {self.err}"
        return self

    def kill(self) -> bool:
        """Kills it with SIGKILL; whether it lived until then."""
        self._process.kill()
        return self.ended().code == -9


def _run(arguments: list[str], files: list[Path], home: str, before: Callable[[], None] | None) -> None:
    from medfact import cli

    os.environ["MEDFACT_HOME"] = home
    sys.stdout, sys.stderr = (file.open("w", buffering=1) for file in files)
    if before is not None:
        before()
    try:
        code = cli.main(arguments)
    finally:
        sys.stdout.flush()
    sys.exit(code)


def keep_jobs(url: str, *runs: str) -> None:
    """Asks runs as the page does, from its own process, until that one is ended."""
    jobs = Jobs(Store(url))
    for run in runs:
        jobs.submit(run)
    signal.pause()
