"""Waits with a timeout for a busy machine."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from medfact.runs.jobs import Jobs, Snapshot

HANG_SECONDS = 600
"""A wait of this length means that the program hangs, even on a busy machine."""


def wait_until(condition: Callable[[], bool], seconds: float = HANG_SECONDS) -> None:
    """Polls a condition until it returns True; raises AssertionError after this number of seconds."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "not reached"
        time.sleep(0.01)


def wait_for_run(jobs: Jobs, run: str, condition: Callable[[Snapshot], bool], seconds: float = HANG_SECONDS) -> Snapshot:
    """Polls the snapshot of a run until it meets a condition, and returns it; raises AssertionError after these seconds."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        snapshot = jobs.snapshot(run)
        if snapshot is not None and condition(snapshot):
            return snapshot
        time.sleep(0.02)
    raise AssertionError(f"not reached: {jobs.snapshot(run)}")
