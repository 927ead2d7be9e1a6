"""Which process works on a run, on this machine or another, and whether it is alive."""

from __future__ import annotations

import os
import re
import socket
from datetime import UTC, datetime
from functools import lru_cache

import psutil

BEAT_SECONDS = 15.0
"""Time between two heartbeats of a process that works on a run."""

_SILENT_SECONDS = 90.0
"""A process of another machine without a heartbeat for so long counts as gone."""

_CLOCK_CHANGE_SECONDS = 3600.0
"""How much the clock, which dates the start of processes, may be changed while one runs."""

_NAME = re.compile(r"(.*):(\d{1,10}):(\d+\.\d*(?:/\d+\.\d*)?)")


def myself() -> str:
    """The name of this process: machine, process id, and start time, since process ids are reused."""
    return _name(os.getpid())


@lru_cache(maxsize=1)
def _name(pid: int) -> str:
    began = psutil.Process(pid).create_time()
    return f"{socket.gethostname()}:{pid}:{began:.1f}/{began - psutil.boot_time():.2f}"


def in_words(worker: str | None) -> str:
    """A process in words: "process 4711 on ward-7"."""
    host, pid, _ = _parts(worker or "")
    return f"process {pid or '?'} on {host or 'another machine'}"


def _parts(worker: str) -> tuple[str, str, str]:
    """Machine, process id and start time; all "" where it is no process's name."""
    found = _NAME.fullmatch(worker)
    return (found[1], found[2], found[3]) if found else ("", "", "")


def is_alive(worker: str | None, beat_at: str | None) -> bool:
    """Whether a process may be alive: it exists on this machine, or sent a recent heartbeat from another."""
    if worker == myself():
        return True
    host, pid, start = _parts(worker or "")
    if not pid:
        return False
    if host == socket.gethostname():
        began, _, since_boot = start.partition("/")
        return _exists(int(pid), float(began), float(since_boot or "nan"))
    return beat_at is not None and (datetime.now(UTC) - datetime.fromisoformat(beat_at)).total_seconds() < _SILENT_SECONDS


def _exists(pid: int, began: float, since_boot: float) -> bool:
    try:
        process = psutil.Process(pid)
        return _began_so(process.create_time(), began, since_boot) and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False
    except psutil.AccessDenied:
        return True


def _began_so(now: float, began: float, since_boot: float) -> bool:
    """Whether a start, by today's clock, is the one that was noted. Setting the clock does not move the time since the boot."""
    off = abs(now - began)
    return off < 1 or (off < _CLOCK_CHANGE_SECONDS and abs(now - psutil.boot_time() - since_boot) < 0.05)
