"""Patience with a database that is away for a moment: another program holds it, its server restarts, its disk hiccups."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from functools import partial
from typing import Any, cast

from medfact.errors import StoreError
from medfact.store import Store
from medfact.store.database import Part

_log = logging.getLogger(__package__)

AGAIN_SECONDS = 0.2
"""Time between two tries."""

HANGS_AFTER_SECONDS = 0.2
"""A write that takes so long is held up."""


class PatientStore:
    """Stands for a store, `hasty`. What fails for a reason that may pass is tried again, for as long as the store has patience
    with its database; so an answer that cannot be saved is kept in memory until it can. stopped: whether to give up sooner.
    """

    def __init__(self, store: Store | PatientStore, stopped: Callable[[], bool]) -> None:
        self.hasty: Store = store.hasty if isinstance(store, PatientStore) else store
        self._stopped = stopped
        self._begun: float | None = None

    def __getattr__(self, name: str) -> Any:
        return self.patient(getattr(self.hasty, name))

    def patient(self, member: Any) -> Any:
        """A member of the store that has patience too: what can be called, or a part of the store."""
        if isinstance(member, Part):
            return _PatientPart(member, self.patient)
        return partial(self._patiently, member) if callable(member) else member

    def hangs(self) -> bool:
        """Whether something is held up now: then nothing further should be begun that would have to be saved."""
        begun = self._begun
        return begun is not None and time.monotonic() - begun > HANGS_AFTER_SECONDS

    def _patiently(self, work: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
        begun = self._begun = time.monotonic()
        try:
            while True:
                try:
                    return work(*arguments, **options)
                except StoreError as error:
                    if (
                        not error.is_transient
                        or self._stopped()
                        or time.monotonic() - begun > self.hasty.database.patience_seconds
                    ):
                        raise
                    _log.debug("The database is away; the same is tried again.", exc_info=True)
                    time.sleep(AGAIN_SECONDS)
        finally:
            self._begun = None


class _PatientPart:
    """Stands for a part of such a store."""

    def __init__(self, part: Part, patient: Callable[[Any], Any]) -> None:
        self._part, self._patient = part, patient

    def __getattr__(self, name: str) -> Any:
        return self._patient(getattr(self._part, name))


def never() -> bool:
    """Nobody stops it."""
    return False


def patient(store: Store, stopped: Callable[[], bool] = never) -> Store:
    """A store that has patience with its database."""
    return cast(Store, PatientStore(store, stopped))
