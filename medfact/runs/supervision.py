"""While a run is asked: signs of life, requests to stop, its budget, and a record of how it ended."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from medfact.errors import StoreError
from medfact.models import Completion, Served
from medfact.models.providers import Monitor
from medfact.runs.costs import Purse
from medfact.store import BEAT_SECONDS, STOPPED, Store

_LOOK_SECONDS = 1.0
"""Time between two looks for a request to stop."""

_RETRY_SECONDS = 2.0
"""Time between two attempts to record how a run ended."""

_STOP_SECONDS = 1.0
"""How long the calls in flight, which are paid for, may take after a run is stopped."""


End = tuple[str, str | None]
"""A state, and why the run is in it."""


def by_hand() -> End:
    """How a run ends that its user stops."""
    return STOPPED, None


@dataclass(frozen=True)
class StopSignal:
    """Tells whether a run must stop: its caller says so, or another program has asked for it. end: how it ends then."""

    stopped: Callable[[], bool]
    end: Callable[[], End] = by_hand
    asked: threading.Event = field(default_factory=threading.Event)

    def __call__(self) -> bool:
        return self.stopped() or self.asked.is_set()

    def how(self) -> End:
        """How the run ends: as its caller says, where it was not another program that has asked for it."""
        return by_hand() if self.asked.is_set() else self.end()


@contextlib.contextmanager
def supervised(run_id: str, store: Store, claim: int, stop: StopSignal) -> Iterator[None]:
    """Meanwhile, a thread records signs of life and looks for requests to stop. claim: the number of this claim of the run."""
    over = threading.Event()

    def look() -> None:
        last_beat = time.monotonic()
        while not over.wait(_LOOK_SECONDS):
            with contextlib.suppress(StoreError):
                if time.monotonic() - last_beat > BEAT_SECONDS:
                    last_beat = time.monotonic()
                    store.beat(run_id)
                if store.is_asked_to_stop(run_id, claim):
                    stop.asked.set()

    threading.Thread(target=look, daemon=True, name=f"look-{run_id}").start()
    try:
        yield
    finally:
        over.set()


def record_end(run_id: str, store: Store, state: str, reason: str, claim: int) -> None:
    """Records why a run ended: now or, in a thread, once the database can be written; not if it was claimed again."""

    def recorded() -> bool:
        with contextlib.suppress(StoreError):
            store.set_state(run_id, state, reason, since=claim)
            return True
        return False

    def keep_trying() -> None:
        while not recorded():
            time.sleep(_RETRY_SECONDS)

    if not recorded():
        threading.Thread(target=keep_trying, daemon=True, name=f"end-{run_id}").start()


class RunMonitor(Monitor):
    """Pays for a service's replies as they come, and ends the calls of a run that is stopped or has spent its budget. hangs:
    whether the database holds up what is to be saved.
    """

    def __init__(self, stop: StopSignal, purse: Purse, timeout: float, hangs: Callable[[], bool]) -> None:
        self._stop, self._purse, self._timeout, self._hangs = stop, purse, timeout, hangs

    def completed(self, completion: Completion) -> None:
        served = completion.served
        if served is not None:
            self._purse.pay(
                (served.prompt_tokens or 0) - served.wasted_tokens, (served.completion_tokens or 0) - served.wasted_completion
            )

    def wasted(self, prompt_tokens: int) -> None:
        self._purse.pay(prompt_tokens, 0)

    def discarded(self, served: Served) -> None:
        self._purse.pay(served.prompt_tokens or 0, served.completion_tokens or 0)

    def seconds_left(self) -> float | None:
        if self._stop():
            return _STOP_SECONDS
        return self._timeout if self._purse.empty else None

    def must_wait(self) -> bool:
        return self._hangs()
