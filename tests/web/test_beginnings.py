"""Runs that are being begun: how many they are."""

import threading

import pytest

from medfact.concurrency import COMPUTE_SLOTS, compute_slot
from medfact.errors import Mistake
from medfact.web.beginnings import Beginnings


def test_what_is_being_begun_counts_until_it_is_over_or_fails() -> None:
    beginnings = Beginnings()

    def no_room() -> None:
        raise Mistake("There is no room.", "Wait.")

    with beginnings.counted("a", 2, lambda: None), beginnings.counted("b", 1, lambda: None):
        assert (beginnings.going(), beginnings.going("a"), beginnings.going("c")) == (3, 2, 0)
        with pytest.raises(Mistake), beginnings.counted("a", 5, no_room):
            pass
        assert beginnings.going("a") == 2
    assert beginnings.going() == 0


def test_a_press_that_waits_for_another_of_the_same_visitor_takes_no_place() -> None:
    beginnings, over, recording, pressing = Beginnings(), threading.Event(), threading.Event(), threading.Semaphore(0)

    def first() -> None:
        with compute_slot("a"), beginnings.alone("a"):
            recording.set()
            over.wait(20)

    def press() -> None:
        with compute_slot("a"):
            pressing.release()
            with beginnings.alone("a"):
                pass

    threads = [threading.Thread(target=first, daemon=True)]
    threads[0].start()
    assert recording.wait(20)
    threads += [threading.Thread(target=press, daemon=True) for _ in range(2 * COMPUTE_SLOTS)]
    for thread in threads[1:]:
        thread.start()
    assert all(pressing.acquire(timeout=20) for _ in threads[1:]), "each has had a place, which another has now"
    over.set()
    for thread in threads:
        thread.join(20)
        assert not thread.is_alive()
