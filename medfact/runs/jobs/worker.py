"""A process that asks runs, so that the page stays quick and a model can be killed. It ends when the page's process does."""

from __future__ import annotations

import contextlib
import gc
import importlib
import multiprocessing
import os
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any

import psutil

from medfact.errors import MedfactError, ServiceAway, StoreError
from medfact.models import HERE, Model, Placement, is_local, load_model
from medfact.models.local.machine import memory_is_short
from medfact.runs.run import Answered, Event, Failed, Loading, Started, answer
from medfact.store import FAILED_RUN, PAUSED, RUNNING, Store

IDLE = 900.0
"""Seconds that a local model is kept loaded after its last run."""

GIVES_WAY = 10
"""How much it gives way to the page, and to the browser that shows it, from 0 to 19."""

LOOK = 5.0
"""Seconds between two looks at whether it should be kept."""


@dataclass(frozen=True)
class Told:
    """What a job is told of its run. state: its state now. answered: how many answers came with it; of total, before: how many
    statements it has, and had answered when it was begun.
    """

    state: str = RUNNING
    reason: str | None = None
    loading: str | None = None
    answered: int = 0
    total: int | None = None
    before: int = 0


def told_of(event: Event) -> Told:
    """An event of a run as a job is told of it; without the answers, which are on disk."""
    if isinstance(event, Started):
        return Told(total=event.statements, before=event.answered)
    if isinstance(event, Loading):
        return Told(loading=event.said)
    if isinstance(event, Answered):
        return Told(answered=len(event.answers))
    if isinstance(event, Failed):
        return Told(PAUSED if isinstance(event.error, StoreError | ServiceAway) else FAILED_RUN, event.error.public)
    return Told(event.state, event.reason)


def tell_all(events: Callable[[], Iterable[Event]], run: str, store: Store, tell: Callable[[Told], None]) -> None:
    """Tells what happens in a run until it ends, a fault of our own included."""
    try:
        for event in events():
            tell(told_of(event))
    except StoreError as error:
        tell(Told(PAUSED, error.public))
    except MedfactError as error:
        tell(_failed(run, store, error.public))
    except Exception as error:
        traceback.print_exc(file=sys.stderr)
        reason = f"Something went wrong that should not have: {type(error).__name__}. What was answered is kept."
        tell(_failed(run, store, reason))


def _failed(run: str, store: Store, reason: str) -> Told:
    with contextlib.suppress(StoreError):
        store.set_state(run, FAILED_RUN, reason)
    return Told(FAILED_RUN, reason)


class Worker:
    """The process, as the page's side holds it. It is started when first needed, and again after it died.

    told: gets what happens to a run, from a thread of the worker's own. died: gets the runs that a process was asked, and its
    exit code, once it is gone.
    """

    def __init__(self, url: str, told: Callable[[str, Told], None], died: Callable[[Iterable[str], int | None], None]) -> None:
        self._url, self._told, self._died = url, told, died
        self._context = multiprocessing.get_context("spawn")
        self._lock = threading.Lock()
        self._process: Any = None
        self._connection: Connection | None = None
        self._asked: set[str] = set()

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process is not None else None

    def ask(self, run: str, key: str | None, budget: float | None) -> None:
        """Begins to ask a run. key: of its service. budget: USD in all, in place of its spec's."""
        self._send(("ask", run, {"key": key, "budget": budget}))

    def stop(self, run: str) -> None:
        """Asks a run to end."""
        self._send(("stop", run, {}))

    def warm_up(self, model: str) -> None:
        """Loads a local model before it is needed."""
        self._send(("warm up", model, {}))

    def prepare(self) -> None:
        """Starts the process before it is needed, and has it import the client of the services, which takes a second."""
        self._send(("prepare", "", {}))

    def kill(self) -> None:
        """Ends the process at once; what was answered is on disk."""
        with self._lock:
            if self._process is not None:
                self._process.kill()

    def _send(self, message: tuple[str, str, dict[str, Any]]) -> None:
        with self._lock:
            if self._process is None or not self._process.is_alive():
                self._begin()
            if message[0] == "ask":
                self._asked.add(message[1])
            with contextlib.suppress(OSError):  # it just died: the listener says so
                self._connection.send(message)  # type: ignore[union-attr]

    def _begin(self) -> None:
        # Threads that wait for each other by spinning starve where the page, or its browser, needs a processor too.
        os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
        ours, theirs = self._context.Pipe()
        self._process = self._context.Process(target=_serve, args=(theirs, self._url), daemon=True)
        self._process.start()
        theirs.close()
        self._connection, self._asked = ours, set()
        listened = (ours, self._process, self._asked)
        threading.Thread(target=self._listen, args=listened, daemon=True, name="worker-listener").start()

    def _listen(self, connection: Connection, process: Any, asked: set[str]) -> None:
        with contextlib.suppress(EOFError, OSError):
            while True:
                self._told(*connection.recv())
        process.join()
        connection.close()
        self._died(asked, process.exitcode)


# ------------------------------------------------------------------------------------------------ its own side


def _serve(connection: Connection, url: str) -> None:
    """The loop of the process: begins and stops runs, each in a thread, until the page's process is gone.

    Then this one ends at once: what was answered is on disk, and nothing that a library would still wait for keeps it. An
    interrupt from the keyboard is the page's to deal with.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    psutil.Process().nice(psutil.BELOW_NORMAL_PRIORITY_CLASS if psutil.WINDOWS else GIVES_WAY)
    store, kept = Store(url), Kept()
    stops: dict[str, threading.Event] = {}
    sending = threading.Lock()

    def work(run: str, stop: threading.Event, options: dict[str, Any]) -> None:
        def tell(told: Told) -> None:
            with sending, contextlib.suppress(OSError):
                connection.send((run, told))

        tell_all(lambda: answer(run, store, stopped=stop.is_set, load=kept.load, **options), run, store, tell)

    with contextlib.suppress(EOFError, OSError):
        while True:
            if not connection.poll(LOOK):
                kept.release_if(kept.idle() > IDLE or memory_is_short())
                continue
            what, name, options = connection.recv()
            if what == "ask":
                stops[name] = threading.Event()
                threading.Thread(target=work, args=(name, stops[name], options), daemon=True, name=f"run-{name}").start()
            elif what == "stop" and name in stops:
                stops[name].set()
            elif what == "prepare":
                threading.Thread(target=importlib.import_module, args=("medfact.models.services.client",), daemon=True).start()
            elif what == "warm up":
                threading.Thread(target=_warm_up, args=(kept, name), daemon=True).start()
    os._exit(0)


def _warm_up(kept: Kept, model: str) -> None:
    with contextlib.suppress(MedfactError):
        kept.load(model)


class Kept:
    """The last local model that was loaded, for the runs that come after. Other models are loaded anew each time."""

    def __init__(self, load: Callable[..., Model] = load_model) -> None:
        self._load = load
        self._model: dict[tuple[str, Placement], Model] = {}
        self._used = time.monotonic()
        self._lock = threading.Lock()

    def load(self, spec: str, *, placement: Placement = HERE, **options: Any) -> Model:
        if not is_local(spec):
            return self._load(spec, placement=placement, **options)
        with self._lock:
            self._used = time.monotonic()
            if (spec, placement) not in self._model:
                self._model.clear()
                gc.collect()
                self._model[spec, placement] = self._load(spec, placement=placement, **options)
            return self._model[spec, placement]

    def idle(self) -> float:
        """Seconds since a model was last asked for."""
        return time.monotonic() - self._used

    def release_if(self, wanted: bool) -> None:
        """Lets the model go where that is wanted and no run uses it."""
        if wanted and self._lock.acquire(blocking=False):
            with contextlib.ExitStack() as after:
                after.callback(self._lock.release)
                if self._model:
                    self._model.clear()
                    gc.collect()
