"""What a model says of what was true once, against figures worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest
from records import RIGHT, RIGHT_OF_FALSE, make_records

from medfact.metrics.dropped import AFFIRMS, SAYS_FALSE, SAYS_TRUE, UP_TO_DATE, Dropped, diagnosis, dropped
from medfact.metrics.records import Records
from medfact.metrics.uncertainty import NOTHING, Estimate


def figures(records: Records) -> Dropped:
    """All false facts were true once."""
    made = dropped(records, ~records.positive)
    assert made is not None
    return made


def test_every_figure_by_hand() -> None:
    made = figures(
        make_records(
            ("a", "gout", "x1", RIGHT),
            ("a'", "gout", "y1", RIGHT),  # affirmed and its denials denied: 4 of 4 called true, 0 of 4
            ("b", "asthma", "x2", "FFFFTTTT"),  # a true fact that is denied
            ("b'", "asthma", "y2", "TTFFTTFF"),  # half of the affirmed ones: not more than half; 2 of 4 denials
            ("c'", "flu", "y3", "TT?.FFFF"),  # 2 of 3 answered ones: affirmed; an unreadable reply calls nothing true
            ("d'", "cough", "y4", "....TTTT"),  # no affirmed statement was answered: no fact of the share
        )
    )
    assert (made.affirmed.value, made.affirmed.n) == (pytest.approx(2 / 3), 3)
    assert (made.statements.value, made.statements.n) == (pytest.approx(8 / 11), 11)  # 4 + 2 + 2 of 4 + 4 + 3
    assert (made.denials.value, made.denials.n) == (pytest.approx(6 / 16), 16)  # 0 + 2 + 0 + 4 of 4 each
    assert (made.holding.value, made.holding.n) == (0.5, 2)
    assert made.diagnosis is None, "four heads have no interval"


def test_only_what_was_true_counts_and_nothing_is_no_value() -> None:
    records = make_records(("a", "gout", "x1", RIGHT), ("a'", "gout", "y1", RIGHT), ("b'", "asthma", "y2", "........"))
    assert dropped(records, np.zeros(24, dtype=bool)) is None
    assert dropped(records, records.positive) is None, "what holds was not dropped"
    assert dropped(records, (records.fact == 2)) is None, "nothing was answered"


def of_model(said_of_true: str, said_of_dropped: str) -> Dropped:
    """Forty pairs, each of another head, of which a model always says the same."""
    pairs = ((f"f{n:02}", said_of_true, f"f{n:02}'", said_of_dropped) for n in range(40))
    rows = [
        row
        for true, said, false, of_false in pairs
        for row in ((true, f"h{true}", f"x{true}", said), (false, f"h{true}", f"y{true}", of_false))
    ]
    return figures(make_records(*rows))


@pytest.mark.parametrize(
    ("of_true", "of_dropped", "named"),
    [
        (RIGHT, RIGHT, AFFIRMS),
        (RIGHT, "TTTT....", AFFIRMS),  # nothing was denied: nobody is caught saying “true” to both
        (RIGHT, RIGHT_OF_FALSE, UP_TO_DATE),
        ("TTTTTTTT", "TTTTTTTT", SAYS_TRUE),
        ("FFFFFFFF", "FFFFFFFF", SAYS_FALSE),
        (RIGHT_OF_FALSE, RIGHT_OF_FALSE, SAYS_FALSE),
    ],
)
def test_a_model_is_named_by_what_it_does(of_true: str, of_dropped: str, named: str) -> None:
    assert of_model(of_true, of_dropped).diagnosis == named


def test_nothing_is_named_that_the_intervals_do_not_show() -> None:
    low, unsure, high = Estimate(0.2, 0.1, 0.3, 90), Estimate(0.5, 0.4, 0.6, 90), Estimate(0.8, 0.7, 0.9, 90)
    assert diagnosis(unsure, unsure, low, high, low) is None
    assert diagnosis(high, low, unsure, high, low) is None
    assert diagnosis(low, high, high, unsure, unsure) is None
    assert diagnosis(high, low, NOTHING, NOTHING, NOTHING) == AFFIRMS
    assert diagnosis(low, high, NOTHING, NOTHING, NOTHING) is None
    assert diagnosis(low, low, low, low, low) is None, "what cannot be read denies nothing"


@pytest.mark.parametrize(
    ("of_true", "of_dropped"), [("????????", "????????"), (RIGHT, "????????"), ("????????", RIGHT_OF_FALSE)]
)
def test_replies_that_cannot_be_read_deny_nothing(of_true: str, of_dropped: str) -> None:
    """Such a model was said to say “false”, and one that answers of what holds alone, to be up to date."""
    assert of_model(of_true, of_dropped).diagnosis is None
