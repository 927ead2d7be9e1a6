"""So many requests compute at the same time, and whoever waits for something else lets others go on."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest

from medfact import computing as places
from medfact.computing import AT_ONCE, Place, Places, computing, waiting_elsewhere

SOON = 20.0


def begun(work: Callable[[], None]) -> threading.Thread:
    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    return thread


def busy(until: threading.Event, here: threading.Semaphore) -> Callable[[], None]:
    """Computes until it is told."""

    def work() -> None:
        with computing("a"):
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
        with computing("a"), computing("a"), waiting_elsewhere(), waiting_elsewhere():
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
    with computing("a"):  # and all places are there again
        assert places._places.free == AT_ONCE - 1


def test_who_had_a_place_goes_on_without_one_in_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """Eight that wait for what it holds cannot hold it up for ever."""
    monkeypatch.setattr(places, "PATIENCE_SECONDS", 0.1)
    over, here, mine, finished = threading.Event(), threading.Semaphore(0), threading.Semaphore(0), threading.Event()
    filled = threading.Event()

    def first() -> None:
        with computing("a"):
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
    assert places._places.free == AT_ONCE


class Line:
    """Those who compute at places, and those who wait for one, at a time that the test sets."""

    def __init__(self, number: int, monkeypatch: pytest.MonkeyPatch, for_many: int = 2) -> None:
        self.places, self.now, self.has = Places(number, for_many), 100.0, dict[str, Place]()
        self.came, self._got = list[str](), threading.Semaphore(0)
        monkeypatch.setattr("medfact.computing.time.monotonic", lambda: self.now)

    def has_computed(self, who: str, seconds: float) -> None:
        """As if they had, at this moment."""
        self.places._usage.add(who, seconds)

    def comes(self, who: str) -> None:
        """Takes a place, or waits in the line."""

        def work() -> None:
            self.has[who] = got(self.places.take(who))
            self.came.append(who)
            self._got.release()

        thread = begun(work)
        while thread.is_alive() and not any(waiting.who == who for waiting in self.places._waiting):
            thread.join(0.01)

    def goes(self, who: str) -> None:
        self.places.give_back(self.has.pop(who), 0.0)

    def next(self) -> str:
        """Who has got a place, once it has."""
        assert self._got.acquire(timeout=SOON)
        return self.came[-1]


def got(place: Place | None) -> Place:
    assert place is not None
    return place


def test_who_has_computed_least_comes_first_and_waiting_makes_up_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """One place. “many” has computed 2 s, “few” 1 s: of two who came at the same moment “few” is first. Where “many” came 10 s
    before, a sixth of a half-life, 2 · 0.5^(1/6) - 10 = -8.2 are less than the 1 · 0.5^(1/6) - 0 = 0.9 of “few”.
    """

    def order(seconds_before: float) -> list[str]:
        line = Line(1, monkeypatch)
        line.has_computed("many", 2.0)
        line.has_computed("few", 1.0)
        line.comes("other")
        assert line.next() == "other"
        line.comes("many")
        line.now += seconds_before
        line.comes("few")
        line.goes("other")
        first = line.next()
        line.goes(first)
        return [first, line.next()]

    assert order(0.0) == ["few", "many"]
    assert order(10.0) == ["many", "few"]


def test_those_who_computed_much_lately_share_some_of_the_places(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three places, one of them for those with 3 s or more. “much” has it: “more” waits although two places are free, others
    do not, and “more” gets the place that “much” gives back.
    """
    line = Line(3, monkeypatch, for_many=1)
    line.has_computed("much", 6.0)
    line.has_computed("more", 7.0)
    line.comes("much")
    assert line.next() == "much"
    line.comes("more")
    for who in ("one", "two"):
        line.comes(who)
        assert line.next() == who
    line.goes("one")
    assert "more" not in line.came, "it would be the second of those with much"
    line.goes("much")
    assert line.next() == "more"


def test_what_was_computed_long_ago_is_forgiven(monkeypatch: pytest.MonkeyPatch) -> None:
    """4 s are 2 s after a half-life of 60 s: less than 3, so that “more” need not wait for “much” any more."""
    line = Line(3, monkeypatch, for_many=1)
    line.has_computed("more", 4.0)
    line.now += 60.0
    line.has_computed("much", 6.0)
    for who in ("much", "more"):
        line.comes(who)
        assert line.next() == who
