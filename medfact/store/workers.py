"""Who asks a run: a process of this machine or of another, and whether it still lives."""

from __future__ import annotations

import os
import socket
from datetime import UTC, datetime
from functools import lru_cache

import psutil

BEAT = 15.0
"""Seconds between two signs of life."""

SILENCE = 90.0
"""Seconds without one after which a process of another machine counts as gone."""


SET_AT_MOST = 3600.0
"""Seconds by which a machine's clock may be set while a process runs: when it was started is told by that clock too."""


def myself() -> str:
    """The name of this process: machine, number, and when it was started, since numbers are given again."""
    return _name(os.getpid())


@lru_cache(maxsize=1)
def _name(pid: int) -> str:
    began, since_boot = _start(psutil.Process(pid))
    return f"{socket.gethostname()}:{pid}:{began:.1f}/{since_boot:.2f}"


def _start(process: psutil.Process) -> tuple[float, float]:
    """When a process was started: by the clock, and after the machine was, which setting the clock does not move."""
    began = process.create_time()
    return began, began - psutil.boot_time()


def in_words(worker: str | None) -> str:
    """A process for a person to read: "process 4711 on ward-7"."""
    host, pid, _ = (worker or "another machine:?:").rsplit(":", 2)
    return f"process {pid} on {host}"


def is_alive(worker: str | None, beat_at: str | None) -> bool:
    """Whether a process may still be at work: seen on this machine, or heard of lately from another."""
    if worker is None:
        return False
    host, pid, start = worker.rsplit(":", 2)
    if host == socket.gethostname():
        began, _, since_boot = start.partition("/")
        return _lives(int(pid), float(began), float(since_boot or "nan"))
    return beat_at is not None and (datetime.now(UTC) - datetime.fromisoformat(beat_at)).total_seconds() < SILENCE


def _lives(pid: int, began: float, since_boot: float) -> bool:
    try:
        process = psutil.Process(pid)
        now, since = _start(process)
        off = abs(now - began)
        same = off < 1 or (abs(since - since_boot) < 0.05 and off < SET_AT_MOST)
        return same and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False
    except psutil.AccessDenied:
        return True
