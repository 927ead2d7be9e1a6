"""Waiting for what must happen, for as long as a busy machine may take."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from medfact.runs.jobs import Jobs, Snapshot

HANG_SECONDS = 600
"""Nothing that goes on takes as long, however busy the machine is."""


def wait_until(reached: Callable[[], bool], seconds: float = HANG_SECONDS) -> None:
    """Waits until something is so, however busy the machine is."""
    end = time.monotonic() + seconds
    while not reached():
        assert time.monotonic() < end, "not reached"
        time.sleep(0.01)


def wait_for_run(jobs: Jobs, run: str, reached: Callable[[Snapshot], bool], seconds: float = HANG_SECONDS) -> Snapshot:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        snapshot = jobs.snapshot(run)
        if snapshot is not None and reached(snapshot):
            return snapshot
        time.sleep(0.02)
    raise AssertionError(f"not reached: {jobs.snapshot(run)}")
