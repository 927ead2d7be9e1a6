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


def myself() -> str:
    """The name of this process: machine, number, and when it was started, since numbers are given again."""
    return _name(os.getpid())


@lru_cache(maxsize=1)
def _name(pid: int) -> str:
    return f"{socket.gethostname()}:{pid}:{psutil.Process(pid).create_time():.1f}"


def is_alive(worker: str | None, beat_at: str | None) -> bool:
    """Whether a process may still be at work: seen on this machine, or heard of lately from another."""
    if worker is None:
        return False
    host, pid, began = worker.rsplit(":", 2)
    if host == socket.gethostname():
        return _lives(int(pid), float(began))
    return beat_at is not None and (datetime.now(UTC) - datetime.fromisoformat(beat_at)).total_seconds() < SILENCE


def _lives(pid: int, began: float) -> bool:
    try:
        process = psutil.Process(pid)
        return bool(abs(process.create_time() - began) < 1 and process.status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False
    except psutil.AccessDenied:
        return True
