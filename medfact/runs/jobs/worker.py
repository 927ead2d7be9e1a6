"""A process that asks runs, so that the page stays quick and a model can be killed. It ends with the page's process."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterable
from multiprocessing.connection import Connection
from typing import Any

import psutil

from medfact import log_setup
from medfact.errors import MedfactError
from medfact.extras import not_installed_errors
from medfact.limits import is_public_server, restrict_by_default
from medfact.models.local.memory import memory_is_short
from medfact.runs.jobs.job import Ask, JobUpdate, Together
from medfact.runs.jobs.run_threads import ModelCache, RunThreads
from medfact.store import STOPPED, Store

_KEEP_LOADED_SECONDS = 900.0
"""How long a local model stays loaded after its last run."""

_LOOK_SECONDS = 5.0
"""Time between two looks whether the model may stay loaded."""

_NICENESS = 10
"""How much the process yields to the page and its browser, from 0 to 19; not on a public server, where no browser runs."""


class Worker:
    """The process, seen from the page. It starts when it is first needed, and again after it died.

    report: gets the updates of runs, from a thread. died: gets the runs of a process that is gone, and its exit code.
    """

    def __init__(
        self,
        url: str,
        report: Callable[[str, JobUpdate], None],
        died: Callable[[Iterable[str], int | None], None],
        ask: Ask,
    ) -> None:
        self._url, self._report, self._died, self._ask = url, report, died, ask
        self._context = multiprocessing.get_context("spawn")
        self._lock = threading.Lock()
        self._process: Any = None
        self._connection: Connection | None = None
        self._runs: set[str] = set()

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process is not None else None

    def ask(
        self, run: str, key: str | None, budget: float | None, race: Together | None = None, for_host: bool = False
    ) -> None:
        """Starts to ask a run; see `RunThreads.ask`."""
        self._send("ask", run, key, budget, race, for_host)

    def stop(self, run: str, state: str = STOPPED, reason: str | None = None) -> None:
        """Asks a run to end, in a state and for a reason."""
        self._send("stop", run, state, reason)

    def warm_up(self, model: str) -> None:
        """Loads a local model before it is needed."""
        self._send("warm_up", model)

    def kill(self) -> None:
        """Ends the process at once; the answers are on disk."""
        with self._lock:
            if self._process is not None:
                self._process.kill()

    def _send(self, command: str, *arguments: Any) -> None:
        with self._lock:
            if self._process is None or not self._process.is_alive():
                self._start()
            if command == "ask":
                self._runs.add(arguments[0])
            with contextlib.suppress(OSError):  # it just died, which the listener reports
                self._connection.send((command, arguments))  # type: ignore[union-attr]

    def _start(self) -> None:
        # Threads that spin while they wait slow down the page and its browser.
        os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
        ours, theirs = self._context.Pipe()
        self._process = self._context.Process(target=_serve, args=(theirs, self._url, self._ask), daemon=True)
        self._process.start()
        theirs.close()
        self._connection, self._runs = ours, set()
        arguments = (ours, self._process, self._runs)
        threading.Thread(target=self._listen, args=arguments, daemon=True, name="worker-listener").start()

    def _listen(self, connection: Connection, process: Any, runs: set[str]) -> None:
        with contextlib.suppress(EOFError, OSError):
            while True:
                self._report(*connection.recv())
        process.join()
        connection.close()
        self._died(runs, process.exitcode)


# ------------------------------------------------------------------------------------- inside the process


def _serve(connection: Connection, url: str, ask: Ask) -> None:
    """Follows the page's commands until its process is gone, then ends at once: no library may delay the end.

    Leaves interrupts from the keyboard to the page.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    restrict_by_default()
    log_setup.configure()
    if not is_public_server():
        psutil.Process().nice(psutil.BELOW_NORMAL_PRIORITY_CLASS if psutil.WINDOWS else _NICENESS)
    models, sending = ModelCache(), threading.Lock()

    def report(run: str, update: JobUpdate) -> None:
        with sending, contextlib.suppress(OSError):
            connection.send((run, update))

    threads = RunThreads(Store(url), models.load, report, ask)
    commands: dict[str, Callable[..., None]] = {
        "ask": threads.ask,
        "stop": threads.stop,
        "warm_up": lambda model: _in_thread(models.load, model),
    }
    with contextlib.suppress(EOFError, OSError):
        while True:
            if connection.poll(_LOOK_SECONDS):
                command, arguments = connection.recv()
                commands[command](*arguments)
            elif models.idle_seconds() > _KEEP_LOADED_SECONDS or memory_is_short():
                models.release()
    os._exit(0)


def _in_thread(work: Callable[[str], object], argument: str) -> None:
    def quietly() -> None:
        with contextlib.suppress(MedfactError), not_installed_errors():
            work(argument)

    threading.Thread(target=quietly, daemon=True).start()
