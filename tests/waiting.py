"""Waiting for a job."""

from __future__ import annotations

import time
from collections.abc import Callable

from medfact.runs.jobs import Jobs, Snapshot


def wait_for(jobs: Jobs, run: str, reached: Callable[[Snapshot], bool], seconds: float = 120) -> Snapshot:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        snapshot = jobs.snapshot(run)
        if snapshot is not None and reached(snapshot):
            return snapshot
        time.sleep(0.02)
    raise AssertionError(f"not reached: {jobs.snapshot(run)}")
