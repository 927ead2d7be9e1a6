"""So many requests compute at the same time, and whoever waits for something else lets others go on."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from medfact import concurrency as places
from medfact.concurrency import COMPUTE_SLOTS, HEAD_START_SECONDS, FairSemaphore, compute_slot, slot_released, yield_slot
from medfact.datasets.isolated import count_passages, in_turn
from medfact.errors import ModelError
from medfact.models.services.policy import check_public_url
from medfact.web.downloads import ROWS_AT_ONCE, _giving_way

SOON = 20.0


def begun(work: Callable[[], None]) -> threading.Thread:
    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    return thread


def busy(until: threading.Event, here: threading.Semaphore, who: str) -> Callable[[], None]:
    """Computes until it is told."""

    def work() -> None:
        with compute_slot(who):
            here.release()
            until.wait(SOON)

    return work


def test_one_more_than_there_are_places_waits_until_one_is_free() -> None:
    over, here = threading.Event(), threading.Semaphore(0)
    threads = [begun(busy(over, here, f"{n}")) for n in range(COMPUTE_SLOTS + 1)]
    assert all(here.acquire(timeout=SOON) for _ in range(COMPUTE_SLOTS))
    assert not here.acquire(timeout=0.2)
    over.set()
    assert here.acquire(timeout=SOON)
    for thread in threads:
        thread.join(SOON)


def test_one_place_is_left_for_somebody_else() -> None:
    over, here, other = threading.Event(), threading.Semaphore(0), threading.Semaphore(0)
    threads = [begun(busy(over, here, "a")) for _ in range(2 * COMPUTE_SLOTS)]
    assert all(here.acquire(timeout=SOON) for _ in range(COMPUTE_SLOTS - 1))
    assert not here.acquire(timeout=0.2), "one is free, and “a” waits"
    threads.append(begun(busy(over, other, "b")))
    assert other.acquire(timeout=SOON)
    over.set()
    assert all(here.acquire(timeout=SOON) for _ in range(COMPUTE_SLOTS + 1)), "those of “a” that waited come, too"
    for thread in threads:
        thread.join(SOON)
    assert places._semaphore.free == COMPUTE_SLOTS


def test_who_waits_for_a_service_takes_no_place() -> None:
    answered, there, over, here = threading.Event(), threading.Semaphore(0), threading.Event(), threading.Semaphore(0)

    def tried() -> None:
        with compute_slot("a"), compute_slot("a"), slot_released(), slot_released():
            there.release()
            answered.wait(SOON)

    waiting = [begun(tried) for _ in range(3 * COMPUTE_SLOTS)]
    assert all(there.acquire(timeout=SOON) for _ in waiting)
    threads = [begun(busy(over, here, f"{n}")) for n in range(COMPUTE_SLOTS)]
    assert all(here.acquire(timeout=SOON) for _ in range(COMPUTE_SLOTS))
    over.set()
    answered.set()
    for thread in [*waiting, *threads]:
        thread.join(SOON)
        assert not thread.is_alive()
    with compute_slot("a"):  # and all places are there again
        assert places._semaphore.free == COMPUTE_SLOTS - 1


def test_who_had_a_place_goes_on_without_one_in_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those who have all places, and wait for what it holds, cannot hold it up for ever."""
    monkeypatch.setattr(places, "SLOT_TIMEOUT_SECONDS", 0.1)
    over, here, mine, finished = threading.Event(), threading.Semaphore(0), threading.Semaphore(0), threading.Event()
    filled = threading.Event()

    def first() -> None:
        with compute_slot("a"):
            with slot_released():
                mine.release()
                filled.wait(SOON)
            finished.set()

    thread = begun(first)
    assert mine.acquire(timeout=SOON)
    others = [begun(busy(over, here, f"{n}")) for n in range(COMPUTE_SLOTS)]
    assert all(here.acquire(timeout=SOON) for _ in range(COMPUTE_SLOTS))
    filled.set()
    assert finished.wait(SOON)
    over.set()
    for one in [thread, *others]:
        one.join(SOON)
    assert places._semaphore.free == COMPUTE_SLOTS


def test_who_holds_what_others_wait_for_goes_on_without_a_place() -> None:
    over, here = threading.Event(), threading.Semaphore(0)
    others = [begun(busy(over, here, f"{n}")) for n in range(COMPUTE_SLOTS)]
    assert all(here.acquire(timeout=SOON) for _ in range(COMPUTE_SLOTS))
    with compute_slot("a", 0.05):
        assert places._semaphore.free == 0
    assert places._semaphore.free == 0, "none was taken, and none is given back"
    over.set()
    for one in others:
        one.join(SOON)
    assert places._semaphore.free == COMPUTE_SLOTS


def test_to_look_a_host_up_takes_no_place(monkeypatch: pytest.MonkeyPatch) -> None:
    """A name server may take long to answer, or never do."""
    free: list[int] = []

    def looked_up(*_: object, **__: object) -> list[object]:
        free.append(places._semaphore.free)
        raise OSError

    monkeypatch.setattr(socket, "getaddrinfo", looked_up)
    with compute_slot("a"), pytest.raises(ModelError, match="not a public address"):
        check_public_url("https://models.example/v1")
    assert free == [COMPUTE_SLOTS]


def test_a_long_file_lets_others_compute() -> None:
    """Whoever has computed least comes after so many rows, and the file goes on after that."""
    over, here, done = threading.Event(), threading.Semaphore(0), threading.Event()
    others = [begun(busy(over, here, f"{n}")) for n in range(COMPUTE_SLOTS - 1)]
    assert all(here.acquire(timeout=SOON) for _ in others)

    def waits() -> None:
        with compute_slot("b"):
            done.set()

    with compute_slot("a"):
        thread = begun(waits)
        while not places._semaphore._waiters:
            thread.join(0.01)
        rows = _giving_way({"row": n} for n in range(2 * ROWS_AT_ONCE))
        assert [next(rows)["row"] for _ in range(ROWS_AT_ONCE)][-1] == ROWS_AT_ONCE - 1
        assert not done.is_set()
        assert next(rows)["row"] == ROWS_AT_ONCE
        assert done.is_set()
    over.set()
    for one in [*others, thread]:
        one.join(SOON)


def test_who_has_read_a_file_gives_the_turn_back_before_waiting_to_go_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All places are taken while it is read: another request may read the next file meanwhile."""
    monkeypatch.setattr(places, "SLOT_TIMEOUT_SECONDS", 3 * SOON)
    file, turn = tmp_path / "passages.csv", Taken()
    file.write_text("text\nGout is painful.\n", encoding="utf-8")
    over, has_place, go, finished = (threading.Event() for _ in range(4))
    here = threading.Semaphore(0)

    def takes_a_file() -> None:
        with compute_slot("a"), in_turn(turn):
            has_place.set()
            go.wait(SOON)
            assert count_passages(str(file), "text") == 1
            finished.set()

    reader = begun(takes_a_file)
    assert has_place.wait(SOON)
    others = [begun(busy(over, here, f"{n}")) for n in range(COMPUTE_SLOTS)]
    assert all(here.acquire(timeout=SOON) for _ in range(COMPUTE_SLOTS - 1))
    go.set()
    assert here.acquire(timeout=SOON), "the last of them has the place that the reader gave away"
    assert turn.ended.wait(SOON / 2), "before the others give a place back"
    assert not finished.is_set()
    over.set()
    for one in [reader, *others]:
        one.join(SOON)
    assert finished.is_set()


class Taken:
    """A turn to read."""

    def __init__(self) -> None:
        self.ended = threading.Event()

    def becomes_long(self) -> bool:
        return True

    def end(self) -> None:
        self.ended.set()


def comes(who: str, one: FairSemaphore, came: list[str], got: threading.Semaphore, head_start: float = 0.0) -> None:
    """Somebody waits for a place of these, and says when it has come."""

    def work() -> None:
        one.acquire(who, head_start=head_start)
        came.append(who)
        got.release()

    thread = begun(work)
    while not any(waiter.owner == who for waiter in one._waiters):
        thread.join(0.01)


def test_who_has_computed_least_comes_first_and_waiting_makes_up_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """One place. “many” has computed 8 s, “few” 1 s: of two who came at the same moment “few” is first. Where “many” came 10 s
    before, a sixth of a half-life, 8 · 0.5^(1/6) - 10 = -2.9 are less than the 1 · 0.5^(1/6) - 0 = 0.9 of “few”.
    """
    now = [100.0]
    monkeypatch.setattr("medfact.concurrency.time.monotonic", lambda: now[0])

    def order(seconds_before: float) -> list[str]:
        one, came, got = FairSemaphore(1), list[str](), threading.Semaphore(0)

        for who, seconds in (("many", 8.0), ("few", 1.0)):
            one.acquire(who)
            one.release(who, seconds)
        one.acquire("other")
        comes("many", one, came, got)
        now[0] += seconds_before
        comes("few", one, came, got)
        for who in ("other", "many"):
            one.release(who, 0.0)
            assert got.acquire(timeout=SOON)
        return came

    assert order(0.0) == ["few", "many"]
    assert order(10.0) == ["many", "few"]


@pytest.mark.parametrize(
    ("seconds_before", "first"),
    [(0.0, "look"), (1.9, "look"), (2.1, "press")],
)
def test_a_look_counts_as_if_it_had_waited_two_seconds_longer(
    seconds_before: float, first: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One place, and nobody has computed anything: a press that came less than 2 s before a look comes after it, else first."""
    assert HEAD_START_SECONDS == 2.0
    now = [100.0]
    monkeypatch.setattr("medfact.concurrency.time.monotonic", lambda: now[0])
    one, came, got = FairSemaphore(1), list[str](), threading.Semaphore(0)

    one.acquire("other")
    comes("press", one, came, got)
    now[0] += seconds_before
    comes("look", one, came, got, HEAD_START_SECONDS)
    one.release("other", 0.0)
    assert got.acquire(timeout=SOON)
    assert came == [first]


@pytest.mark.parametrize("goes_on", [True, False])
def test_who_has_begun_goes_on_before_who_has_not_unless_it_gives_way(goes_on: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """One place, which “a” gives away while “b” computes; “c” comes meanwhile. Nobody has computed for as long as 2 s."""
    monkeypatch.setattr(places, "_semaphore", one := FairSemaphore(1))
    came, left, over, here = list[str](), threading.Event(), threading.Event(), threading.Semaphore(0)

    def a() -> None:
        with compute_slot("a"):
            if goes_on:
                with slot_released():
                    left.set()
                    while len(one._waiters) < 1:  # until “c” waits, too
                        threading.Event().wait(0.01)
            else:
                left.set()
                while len(one._waiters) < 2:  # “b”, who takes the place, and “c”
                    threading.Event().wait(0.01)
                yield_slot()
            came.append("a")

    def c() -> None:
        with compute_slot("c"):
            came.append("c")

    threads = [begun(a)]
    assert left.wait(SOON)
    threads.append(begun(busy(over, here, "b")))
    if goes_on:
        assert here.acquire(timeout=SOON)
    threads.append(begun(c))
    if not goes_on:
        assert here.acquire(timeout=SOON)
    while len(one._waiters) < 2:
        threads[0].join(0.01)
    over.set()
    for thread in threads:
        thread.join(SOON)
    assert came == (["a", "c"] if goes_on else ["c", "a"])
