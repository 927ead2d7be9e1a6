"""Workers of jobs, forked from a process with their imports, which take longer than most of their runs."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import pickle
import signal
import socket
import sys
import traceback
from collections.abc import Callable, Mapping
from multiprocessing.connection import Connection
from types import SimpleNamespace
from typing import Any

MOST_BYTES = 100_000
"""Most bytes of a message between the two ends of a socket."""


def socket_of_messages() -> tuple[socket.socket, socket.socket]:
    """Returns both ends of a socket that keeps messages apart."""
    return socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)


def context_of_forks(server: socket.socket) -> SimpleNamespace:
    """Returns what takes the place of `multiprocessing` in the module `worker`. server: where `serve_forks` reads requests."""
    context = SimpleNamespace(
        Pipe=multiprocessing.Pipe, Process=lambda target, args, daemon: ForkedProcess(server, target, args)
    )
    return SimpleNamespace(get_context=lambda method: context)


class ForkedProcess:
    """Stands for a `multiprocessing.Process` whose first argument is a connection."""

    pid: int

    def __init__(self, server: socket.socket, target: Callable[..., None], args: tuple[Any, ...]) -> None:
        self._server, self._connection, self._request = server, args[0], pickle.dumps((target, args[1:]))
        self._end, self._its_end = socket_of_messages()

    def start(self) -> None:
        """Has the process forked."""
        socket.send_fds(self._server, [self._request], [self._connection.fileno(), self._its_end.fileno()])
        self._its_end.close()
        self.pid = int(self._end.recv(MOST_BYTES))

    def kill(self) -> None:
        """Sends SIGKILL if the process runs."""
        if self.is_alive():
            os.kill(self.pid, signal.SIGKILL)

    def is_alive(self) -> bool:
        """Returns True until the process has ended."""
        with contextlib.suppress(BlockingIOError):
            self._end.recv(MOST_BYTES, socket.MSG_PEEK | socket.MSG_DONTWAIT)
            return False
        return True

    def join(self) -> None:
        """Waits for the end."""
        self._end.recv(MOST_BYTES, socket.MSG_PEEK)

    @property
    def exitcode(self) -> int | None:
        """The exit code; None while the process runs or if nobody is left to report it, negative if a signal ended it."""
        report = b"" if self.is_alive() else self._end.recv(MOST_BYTES, socket.MSG_PEEK)
        return int(report) if report else None


def serve_forks(requests: socket.socket, environment: Mapping[str, str]) -> None:
    """Forks a process for each request until the other end is closed, then ends this process."""
    os.environ.clear()
    os.environ.update(environment)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # ended children leave no zombies
    while True:
        request, descriptors, *_ = socket.recv_fds(requests, MOST_BYTES, 2)
        if not request:
            os._exit(0)
        if os.fork() == 0:
            requests.close()
            _run_and_report(request, *descriptors)
        for descriptor in descriptors:
            os.close(descriptor)


def _run_and_report(request: bytes, connection: int, end: int) -> None:
    """Forks the process of a request, and sends its id and at last its exit code."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    if (child := os.fork()) == 0:
        os.close(end)
        _run(request, connection)
    os.close(connection)
    with contextlib.suppress(OSError), socket.socket(fileno=end) as reports:  # nobody reads them after the end of the app
        reports.send(str(child).encode())
        reports.send(str(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])).encode())
    os._exit(0)


def _run(request: bytes, connection: int) -> None:
    """Calls the function of a request, and ends this process without the clean-up of what it inherited."""
    multiprocessing.current_process().daemon = True
    code = 1
    try:
        target, arguments = pickle.loads(request)
        target(Connection(connection), *arguments)
        code = 0
    except BaseException:
        traceback.print_exc()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)
