"""Waits with a timeout for a busy machine."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from medfact.runs.jobs import Jobs, Snapshot

HANG_SECONDS = 600
"""A wait of this length means that the program hangs, even on a busy machine."""


def wait_until(reached: Callable[[], bool], seconds: float = HANG_SECONDS) -> None:
    """Polls a condition until it is true; asserts that this is within the time."""
    deadline = time.monotonic() + seconds
    while not reached():
        assert time.monotonic() < deadline, "not reached"
        time.sleep(0.01)


def wait_for_run(jobs: Jobs, run: str, reached: Callable[[Snapshot], bool], seconds: float = HANG_SECONDS) -> Snapshot:
    """Polls the snapshot of a run until it meets a condition, and returns it; raises AssertionError at the timeout."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        snapshot = jobs.snapshot(run)
        if snapshot is not None and reached(snapshot):
            return snapshot
        time.sleep(0.02)
    raise AssertionError(f"not reached: {jobs.snapshot(run)}")
