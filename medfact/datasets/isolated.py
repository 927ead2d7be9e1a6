"""Visitors' files, each read in a separate process, which is killed if it takes too much time or memory."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Protocol, TypeVar, cast

import psutil

from medfact.concurrency import slot_released
from medfact.datasets import load_alone
from medfact.datasets.bundled_knowledge import with_bundled_knowledge
from medfact.datasets.collection import Collection
from medfact.datasets.documents import read_documents
from medfact.datasets.frequencies import Frequencies, read_frequencies
from medfact.datasets.guessing import Guess, guess_file
from medfact.datasets.headers import VISITOR, Limits
from medfact.errors import FactsError, MedfactError
from medfact.spec import RunSpec

MAX_SECONDS = 60.0
MAX_BYTES = 1 << 30
"""Processor time and memory for reading one file."""

SHORT_SECONDS, NICENESS = 0.2, 10
"""A file that takes more of the processor's time than this has its process yield to all others, so much."""

LEAST_SHARE = 0.25
"""However little time others leave, so much of each second of the clock counts at least, should it compute nothing."""

MAX_PROCESSES = 2
"""Files that are read at the same time; others wait."""

QUICK_SECONDS = 4.0
"""A file that takes more of the processor's time is a long one: it makes room for those that do not."""

POLL_SECONDS = 0.05
"""How often the time and memory of a process are checked."""

Result = TypeVar("Result")

_processes = threading.BoundedSemaphore(MAX_PROCESSES)


class TooMuch(FactsError):
    """A file takes too much time or memory, on a machine as busy as this one is now."""


def fails_again(error: Exception) -> bool:
    """Whether reading a file would fail in the same way another time."""
    return isinstance(error, FactsError) and not isinstance(error, TooMuch)


class Turn(Protocol):
    """A place among those who read files, for one file."""

    def becomes_long(self) -> bool:
        """Goes over to the long ones; False where there is no room among them."""

    def end(self) -> None:
        """Gives the place up."""


class NeedsTurn(Exception):
    """A file is to be read, and whoever asks has no turn: a server gives turns to requests, which hold no thread meanwhile."""


_turn: ContextVar[list[Turn] | None] = ContextVar("turn", default=None)
"""The turn of whoever asks, if any is left; None where nobody gives turns and whoever asks waits here."""


def has_turn() -> bool:
    """Whether whoever asks has a turn that is not used yet: others wait for it."""
    return bool(_turn.get())


@contextmanager
def in_turn(*turns: Turn) -> Iterator[None]:
    """Within it a file is read in the turn that is given, and none without."""
    token = _turn.set([*turns])
    try:
        yield
    finally:
        _turn.reset(token)


def check_turn() -> None:
    """Raises NeedsTurn where no file may be read now."""
    if _turn.get() == []:
        raise NeedsTurn


@contextmanager
def reading() -> Iterator[Turn | None]:
    """Meanwhile a file is read: in the turn of whoever asks, or when one of the few places is free. Raises NeedsTurn."""
    check_turn()
    if turns := _turn.get():
        turn = turns.pop()
        try:
            yield turn
        finally:
            turn.end()
    else:
        with _processes:
            yield None


def load_isolated(spec: RunSpec) -> Collection:
    """Like `load`, for a visitor's file. Also raises FactsError if reading takes too much time or memory."""
    return with_bundled_knowledge(_isolated(Path(str(spec.facts)).name, load_alone, spec))


def count_passages(path: str, column: str | None) -> int:
    """How many passages `read_documents` finds in a visitor's file. Raises as that does, and as `load_isolated`."""
    return _isolated(Path(path).name, _number_of_passages, Path(path), column)


def _number_of_passages(path: Path, column: str | None, limits: Limits) -> int:
    return len(read_documents(path, column, limits))


def guess_isolated(path: str, people: str) -> tuple[tuple[str, ...], Guess]:
    """The headers of a visitor's table, and what is guessed of it (`guess_file`). Raises as `load_isolated`."""
    return _isolated(Path(path).name, guess_file, Path(path), people)


def read_frequencies_isolated(path: Path) -> Frequencies:
    """Like `read_frequencies`, for a visitor's file. Also raises FactsError if reading takes too much time or memory."""
    return _isolated(path.name, read_frequencies, path)


def _isolated(name: str, read: Callable[..., Result], *arguments: Any) -> Result:
    """What a function of a module makes of its arguments and the limits for visitors, in a process of its own."""
    context = _context()
    check_turn()
    with slot_released(), reading() as turn:  # in this order: the turn is over before it waits to go on
        receiver, sender = context.Pipe(duplex=False)
        process = context.Process(target=_send, args=(sender, read, arguments), daemon=True)
        process.start()
        sender.close()
        try:
            result = _receive(receiver, process, name, turn)
        finally:
            process.kill()
            process.join()
            receiver.close()
    if isinstance(result, MedfactError):
        raise result
    return cast(Result, result)


@cache
def _context() -> Any:
    """How processes are started: where the system can, from one that has all this imported and holds nothing else."""
    if "forkserver" not in multiprocessing.get_all_start_methods():
        return multiprocessing.get_context("spawn")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([__name__])
    return context


def _receive(receiver: Connection, process: Any, name: str, turn: Turn | None) -> Any:
    started, is_long = time.monotonic(), turn is None
    while not receiver.poll(POLL_SECONDS):
        computed, taken = _used(process.pid)
        if computed > SHORT_SECONDS:
            _yield_to_others(process.pid)
        seconds = max(computed, LEAST_SHARE * (time.monotonic() - started))
        if seconds > MAX_SECONDS:
            return TooMuch(f"{name} takes longer than {MAX_SECONDS:.0f} s to read.", "Use a part of it, or save it as CSV.")
        if taken > MAX_BYTES:
            return TooMuch(f"{name} takes more than {MAX_BYTES >> 30} GB of memory.", "Use a part of it, or save it as CSV.")
        if seconds > QUICK_SECONDS and not is_long:
            if turn and not turn.becomes_long():
                return TooMuch(f"{name} takes long to read, as others do.", "Try again in a minute, or use a part of it.")
            is_long = True
    try:
        return receiver.recv()
    except EOFError:
        return FactsError(f"{name} cannot be read.", "Save it again, as CSV if you can.")


def _used(pid: int) -> tuple[float, int]:
    """Seconds of processor time and bytes that the process has taken; 0 once it has ended."""
    with contextlib.suppress(psutil.Error):
        process = psutil.Process(pid)
        times = process.cpu_times()
        return times.user + times.system, int(process.memory_info().rss)
    return 0.0, 0


def _yield_to_others(pid: int) -> None:
    with contextlib.suppress(psutil.Error, OSError):
        process = psutil.Process(pid)
        process.nice(psutil.BELOW_NORMAL_PRIORITY_CLASS if psutil.WINDOWS else NICENESS)
        if psutil.LINUX:  # there each thread has its own
            for thread in process.threads():
                os.setpriority(os.PRIO_PROCESS, thread.id, NICENESS)


def _send(sender: Connection, read: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
    """The work of the separate process."""
    try:
        sender.send(read(*arguments, VISITOR))
    except MedfactError as error:
        sender.send(error)
