"""Processes in which the app asks models, forked from a process that has imported their libraries.

They are the app's own processes in all else: the same functions, arguments, environment and log.
"""

from __future__ import annotations

import io
import multiprocessing
import os
from collections.abc import Callable
from multiprocessing import forkserver, popen_forkserver, reduction, spawn, util
from multiprocessing.context import BaseContext, set_spawning_popen
from multiprocessing.process import BaseProcess
from typing import Any

LIBRARIES = (
    "medfact.runs.jobs.worker",
    "medfact.writing.runs",
    "medfact.models.local.loading",
    "medfact.models.services.client",
    "transformers.models.llama.modeling_llama",
)


class WorkerServer(forkserver.ForkServer):
    """Forks processes for the process that starts it and for the forks of that process."""

    def ensure_running(self) -> None:
        """Starts the server once. A fork of the process that started it cannot ask whether it still runs."""
        if self._forkserver_pid is None:  # type: ignore[has-type]
            super().ensure_running()


SERVER = WorkerServer()


class WorkerPopen(popen_forkserver.Popen):
    """Starts a process at `SERVER`, as its base class does at the server of `multiprocessing`."""

    def _launch(self, process: BaseProcess) -> None:
        described = io.BytesIO()
        set_spawning_popen(self)
        try:
            reduction.dump(spawn.get_preparation_data(process.name), described)
            reduction.dump(process, described)
        finally:
            set_spawning_popen(None)
        self.sentinel, written = SERVER.connect_to_new_process(self._fds)
        self.finalizer = util.Finalize(self, util.close_fds, (os.dup(written), self.sentinel))
        with open(written, "wb", closefd=True) as pipe:
            pipe.write(described.getbuffer())
        self.pid = forkserver.read_signed(self.sentinel)


class WorkerProcess(BaseProcess):
    """A process of the app with the app's environment variables and output."""

    def __init__(self, target: Callable[..., object], args: tuple[Any, ...], daemon: bool) -> None:
        outputs = [f"/proc/{os.getpid()}/fd/{number}" for number in (1, 2)]
        super().__init__(target=_run_as_child, args=(dict(os.environ), outputs, target, args), daemon=daemon)

    _Popen = staticmethod(WorkerPopen)
    _start_method = "spawn"  # of the processes that it starts in turn


class WorkerContext(BaseContext):
    """A context of `multiprocessing` with such processes."""

    Process = WorkerProcess


def start_server() -> None:
    """Starts the process from which workers are forked."""
    SERVER.set_forkserver_preload([__name__, *LIBRARIES])
    SERVER.ensure_running()


def fork_workers() -> None:
    """Lets this process fork the processes that it would spawn."""
    get_context = multiprocessing.get_context
    multiprocessing.get_context = lambda method=None: WorkerContext() if method == "spawn" else get_context(method)


def _run_as_child(
    environment: dict[str, str], outputs: list[str], target: Callable[..., object], args: tuple[Any, ...]
) -> None:
    os.environ.clear()
    os.environ.update(environment)
    for number, output in enumerate(outputs, 1):
        os.dup2(os.open(output, os.O_WRONLY | os.O_APPEND), number)
    target(*args)
