"""The demonstration comes back by itself: after its database was away, nobody is there who would resume it."""

from __future__ import annotations

import threading
from contextlib import suppress

from medfact.errors import MedfactError
from medfact.store import COMPLETE, INTERRUPTED, PAUSED
from medfact.web.services import Services

LOOK_SECONDS = 5.0
"""Time between two looks."""


def keep_up(services: Services, run: str, over: threading.Event) -> None:
    """Resumes the demonstration whenever it was paused or interrupted, until it is complete or the server ends."""
    while not over.wait(LOOK_SECONDS):
        with suppress(MedfactError):  # the database is still away
            (now,) = services.as_now([services.run(run)])
            if now.state == COMPLETE:
                return
            if now.state in {PAUSED, INTERRUPTED}:
                services.jobs.submit(run)
