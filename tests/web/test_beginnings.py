"""Runs that are being begun: how many they are."""

import pytest

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
