"""Agreement of reviewers: hand-worked tables, published examples, and what other packages give."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from medfact.metrics.agreement import MISSING, agreement
from medfact.words import say

M = MISSING

UNITS = np.array(
    [
        [1, 1, M, 1], [2, 2, 3, 2], [3, 3, 3, 3], [3, 3, 3, 3], [2, 2, 2, 2], [1, 2, 3, 4],
        [4, 4, 4, 4], [1, 1, 2, 1], [2, 2, 2, 2], [M, 5, 5, 5], [M, M, 1, 1], [M, M, 3, M],
    ]
)  # fmt: skip
"""Krippendorff (2011): four observers, twelve units; his alpha for nominal data is 0.743."""

TWO = np.array(
    [
        [0, 0], [1, 2], [0, 0], [1, M], [0, 0], [2, 0], [0, 0], [0, 0], [0, 0], [0, M], [2, 2], [2, 0], [1, 1], [0, 1], [0, 0],
        [0, 0], [2, 2], [0, 0], [2, 2], [0, 0], [0, 0], [0, 0], [0, 0], [0, 2], [1, 1], [0, 1], [0, 0], [2, 0], [1, 1], [0, 2],
    ]
)  # fmt: skip


def test_krippendorffs_published_example() -> None:
    """The other three figures are those of irrCAC 0.4.4 (which rounds to five places); alpha those of krippendorff 0.9.0."""
    made = agreement(UNITS)
    assert (made.items, made.raters) == (11, 4)
    assert made.alpha.value == pytest.approx(0.743421052631579)
    assert made.raw.value == pytest.approx(0.81818, abs=5e-6)
    assert made.ac1.value == pytest.approx(0.77544, abs=5e-6)
    assert made.fleiss.value == pytest.approx(0.76117, abs=5e-6)
    assert (made.cohen.value, made.why_not) == (None, {"cohen": say("agreement.not_two_raters")})


def test_two_raters_of_whom_one_left_two_items_out() -> None:
    made = agreement(TWO)
    assert made.items == 28
    assert made.alpha.value == pytest.approx(0.47805456702253857)
    assert made.raw.value == pytest.approx(0.71429, abs=5e-6)
    assert made.ac1.value == pytest.approx(0.60697, abs=5e-6)
    assert made.fleiss.value == pytest.approx(0.47682, abs=5e-6)


def test_cohens_kappa_by_hand() -> None:
    """50 items: both yes 20, both no 15, yes–no 5, no–yes 10. Raw 35/50 = 0.7. The first says yes to 25, the second to 30: by
    chance they agree on 0.5 · 0.6 + 0.5 · 0.4 = 0.5. Kappa = 0.2 / 0.5 = 0.4. Yes is chosen 55 times of 100: for AC1, chance is
    2 · 0.55 · 0.45 = 0.495, and (0.7 − 0.495) / 0.505 = 0.40594.
    """
    made = agreement(np.array([[1, 1]] * 20 + [[0, 0]] * 15 + [[1, 0]] * 5 + [[0, 1]] * 10))
    assert made.raw.value == pytest.approx(0.7)
    assert made.cohen.value == pytest.approx(0.4)
    assert made.ac1.value == pytest.approx(0.205 / 0.505)
    assert made.fleiss.value == pytest.approx((0.7 - 0.505) / 0.495)


def test_skewed_labels_make_kappa_small_and_ac1_not() -> None:
    """118 of 125 both yes, 5 and 2 one each (Gwet's paradox): raw 0.944, and Cohen's kappa below 0."""
    made = agreement(np.array([[1, 1]] * 118 + [[1, 0]] * 5 + [[0, 1]] * 2))
    assert made.raw.value == pytest.approx(0.944)
    assert made.cohen.value == pytest.approx((0.944 - (123 * 120 + 2 * 5) / 125**2) / (1 - (123 * 120 + 2 * 5) / 125**2))
    assert -0.1 < made.cohen.value < 0
    assert made.ac1.value == pytest.approx(0.94, abs=0.005)


def test_what_cannot_be_said_has_no_value_and_a_reason() -> None:
    alone = agreement(np.array([[1], [0], [1]]))
    assert alone.raw.value is None
    assert set(alone.why_not.values()) == {say("agreement.one_rater")}
    same = agreement(np.array([[1, 1], [1, 1], [1, 1]]))
    assert same.raw.value == 1.0
    assert same.why_not == dict.fromkeys(("cohen", "fleiss", "ac1", "alpha"), say("agreement.one_category"))
    nobody = agreement(np.empty((0, 2), int))
    assert set(nobody.why_not.values()) == {say("agreement.one_rater")}


def test_the_interval_leaves_out_one_cluster_at_a_time() -> None:
    """Raw agreement of four items is 3/4. Without one that agrees it is 2/3, without the other 1: the jackknife's error is
    √(3/4 · (3 · (2/3 − 3/4)² + (1 − 3/4)²)) = 0.25, and t with 3 degrees is 3.18245.
    """
    made = agreement(np.array([[1, 1], [0, 0], [1, 1], [1, 0]])).raw
    assert made.low == pytest.approx(max(-1.0, 0.75 - 3.18245 * 0.25), abs=1e-4)
    assert made.high == 1.0
    one_head = agreement(np.array([[1, 1], [0, 0], [1, 1], [1, 0]]), np.zeros(4, int)).raw
    assert (one_head.value, one_head.low, one_head.n) == (0.75, None, 4)


TABLES = st.integers(2, 4).flatmap(
    lambda raters: st.lists(st.lists(st.integers(-1, 3), min_size=raters, max_size=raters), min_size=1, max_size=20)
)


@given(TABLES)
def test_names_of_categories_and_order_do_not_matter(table: list[list[int]]) -> None:
    ratings = np.array(table)
    renamed = np.where(ratings == M, M, 7 - ratings)[::-1]
    one, other = agreement(ratings), agreement(renamed)
    for name in ("raw", "cohen", "fleiss", "ac1", "alpha"):
        values = [getattr(made, name).value for made in (one, other)]
        assert (values[0] is None) == (values[1] is None)
        assert values[0] is None or math.isclose(values[0], values[1], abs_tol=1e-9)
        assert values[0] is None or values[0] <= 1 + 1e-9


def test_where_all_agree_the_interval_is_no_point() -> None:
    """Two raters agree on 20 items, 10 yes and 10 no. Wilson's lower bound of 20 of 20 is 20 / (20 + z²) = 0.8389; by chance
    they would agree on a half, so kappa's is (0.8389 − 0.5) / 0.5 = 0.6778. In two clusters of ten it is 2 / (2 + z²) = 0.3424.
    """
    table = np.array([[item % 2, item % 2] for item in range(20)])
    made = agreement(table)
    assert (made.raw.value, made.raw.high) == (1, 1)
    assert made.raw.low == pytest.approx(20 / (20 + 1.959964**2), abs=1e-6)
    assert made.cohen.low == pytest.approx(2 * made.raw.low - 1)
    assert made.fleiss.low == pytest.approx(made.cohen.low)
    clustered = agreement(table, np.arange(20) // 10)
    assert clustered.raw.low == pytest.approx(2 / (2 + 1.959964**2), abs=1e-6)
