"""Files of strangers, read in a process of their own, which is ended where a file takes too much time or memory."""

from __future__ import annotations

import contextlib
import multiprocessing
import threading
import time
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import psutil

from medfact.datasets import load
from medfact.datasets.collection import Collection
from medfact.datasets.limits import VISITOR
from medfact.errors import FactsError, MedfactError
from medfact.spec import RunSpec

MOST_SECONDS = 60.0
MOST_BYTES = 1 << 30
"""That reading a file may take, of time and of memory."""

AT_ONCE = 2
"""Files that are read at once; others wait for their turn."""

LOOKS_EVERY = 0.05
"""Seconds between two looks at what a process takes."""

_turn = threading.BoundedSemaphore(AT_ONCE)


def load_aside(spec: RunSpec) -> Collection:
    """As `load`, of a file that a visitor has brought. Raises FactsError too where it takes too much."""
    context = multiprocessing.get_context("spawn")
    name = Path(str(spec.facts)).name
    with _turn:
        ours, theirs = context.Pipe(duplex=False)
        process = context.Process(target=_read, args=(theirs, spec), daemon=True)
        process.start()
        theirs.close()
        try:
            read = _awaited(ours, process, name)
        finally:
            process.kill()
            process.join()
            ours.close()
    if isinstance(read, MedfactError):
        raise read
    assert isinstance(read, Collection)
    return read


def _awaited(connection: Connection, process: Any, name: str) -> Collection | MedfactError:
    begun = time.monotonic()
    while True:
        if connection.poll(LOOKS_EVERY):
            try:
                read: Collection | MedfactError = connection.recv()
            except EOFError:
                return FactsError(f"{name} cannot be read.", "Save it again, as CSV if you can.")
            return read
        if time.monotonic() - begun > MOST_SECONDS:
            return FactsError(
                f"{name} takes longer than {MOST_SECONDS:.0f} s to read.", "Take a part of it, or save it as CSV."
            )
        if _memory(process.pid) > MOST_BYTES:
            return FactsError(
                f"{name} takes more than {MOST_BYTES >> 30} GB of memory.", "Take a part of it, or save it as CSV."
            )


def _memory(pid: int) -> int:
    with contextlib.suppress(psutil.Error):
        return int(psutil.Process(pid).memory_info().rss)
    return 0


def _read(connection: Connection, spec: RunSpec) -> None:
    """In the process of its own."""
    psutil.Process().nice(psutil.BELOW_NORMAL_PRIORITY_CLASS if psutil.WINDOWS else 10)
    try:
        connection.send(load(spec, VISITOR))
    except MedfactError as error:
        connection.send(error)
