"""So many requests compute at the same time, and whoever waits for something else lets others go on."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest

from medfact import computing as places
from medfact.computing import AT_ONCE, computing, waiting_elsewhere

SOON = 20.0


def begun(work: Callable[[], None]) -> threading.Thread:
    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    return thread


def busy(until: threading.Event, here: threading.Semaphore) -> Callable[[], None]:
    """Computes until it is told."""

    def work() -> None:
        with computing():
            here.release()
            until.wait(SOON)

    return work


def test_one_more_than_there_are_places_waits_until_one_is_free() -> None:
    over, here = threading.Event(), threading.Semaphore(0)
    threads = [begun(busy(over, here)) for _ in range(AT_ONCE + 1)]
    assert all(here.acquire(timeout=SOON) for _ in range(AT_ONCE))
    assert not here.acquire(timeout=0.2)
    over.set()
    assert here.acquire(timeout=SOON)
    for thread in threads:
        thread.join(SOON)


def test_who_waits_for_a_service_takes_no_place() -> None:
    answered, there, over, here = threading.Event(), threading.Semaphore(0), threading.Event(), threading.Semaphore(0)

    def tried() -> None:
        with computing(), computing(), waiting_elsewhere(), waiting_elsewhere():
            there.release()
            answered.wait(SOON)

    waiting = [begun(tried) for _ in range(3 * AT_ONCE)]
    assert all(there.acquire(timeout=SOON) for _ in waiting)
    threads = [begun(busy(over, here)) for _ in range(AT_ONCE)]
    assert all(here.acquire(timeout=SOON) for _ in range(AT_ONCE))
    over.set()
    answered.set()
    for thread in [*waiting, *threads]:
        thread.join(SOON)
        assert not thread.is_alive()
    with computing():  # and all places are there again
        assert places._places._value == AT_ONCE - 1  # type: ignore[attr-defined]


def test_who_had_a_place_goes_on_without_one_in_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """Eight that wait for what it holds cannot hold it up for ever."""
    monkeypatch.setattr(places, "PATIENCE_SECONDS", 0.1)
    over, here, mine, finished = threading.Event(), threading.Semaphore(0), threading.Semaphore(0), threading.Event()
    filled = threading.Event()

    def first() -> None:
        with computing():
            with waiting_elsewhere():
                mine.release()
                filled.wait(SOON)
            finished.set()

    thread = begun(first)
    assert mine.acquire(timeout=SOON)
    others = [begun(busy(over, here)) for _ in range(AT_ONCE)]
    assert all(here.acquire(timeout=SOON) for _ in range(AT_ONCE))
    filled.set()
    assert finished.wait(SOON)
    over.set()
    for one in [thread, *others]:
        one.join(SOON)
    assert places._places._value == AT_ONCE  # type: ignore[attr-defined]
