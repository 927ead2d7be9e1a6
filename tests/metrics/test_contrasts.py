"""Paired contrasts by fact, worked by hand: between ways of asking in one run, and between runs that ask other statements."""

import json
import re
from collections.abc import Callable
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from recorded import complete_run
from records import EXAMPLE, ONLY_PLAIN_RIGHT, RIGHT, make_forty_records, make_records
from scipy import stats
from small_facts import write_csv

from medfact.metrics import Names
from medfact.metrics.comparison import CONTRASTS, RIGHT_ANSWERS, RunRecords, compare_runs, contrasts
from medfact.metrics.records import of_these_facts
from medfact.results.compare import across_runs, sides_of
from medfact.spec import RunSpec
from medfact.statements import IMPLICATIONS, TRUTH_PRESERVING
from medfact.store import Store


def test_every_contrast_is_over_facts_that_are_answered_in_all_ways_of_both_sides() -> None:
    """Of the example, the last way of c failed, of b the third and the last are wrong, and of b' all eight."""
    found = contrasts(EXAMPLE)
    assert list(found) == [one.name for one in CONTRASTS if set(one.second) <= set(IMPLICATIONS)]

    def shown(name: str) -> tuple[Any, ...]:
        one = found[name]
        return one.first, one.second, one.value, one.n

    # a, a', b, b', c': plainly 1, 1, 1, 0, 1; in all eight ways 1, 1, 6/8, 0, 1
    assert shown("plain_less_all") == pytest.approx((4 / 5, 3.75 / 5, 0.05, 5))
    # b: 3 of 4 affirmed, 3 of 4 denied; of all others as many on either side
    assert shown("affirmed_less_denied") == pytest.approx((3.75 / 5, 3.75 / 5, 0, 5))
    # c counts too: 1, 1, 0, 0, 1, 1 against 1, 1, 1, 0, 1, 1
    assert shown("ins_less_plain") == pytest.approx((4 / 6, 5 / 6, -1 / 6, 6))
    assert shown("inv+ins+dn_less_plain") == pytest.approx((3 / 5, 4 / 5, -1 / 5, 5))
    assert shown("none_less_+dn") == pytest.approx((5 / 6, 5 / 6, 0, 6))
    # b: four of the first four, six of eight
    assert shown("+dn+inv_less_+all") == pytest.approx((4 / 5, 3.75 / 5, 0.05, 5))
    assert all(one.low is one.high is None and not one.is_shown for one in found.values()), "four heads are too few"


def test_value_and_bounds_are_those_of_other_code() -> None:
    """40 facts of 20 diseases, denied less plain: −1 in 14 facts, +1 in 4, 0 in 22, which is −10 of 40.

    Recomputed with loops and scipy: a bootstrap over diseases, a t interval, and a test that flips the signs of diseases.
    """
    change = np.array([-1] * 14 + [1] * 4 + [0] * 22)[np.argsort([n * 7 % 40 for n in range(40)])]
    signs = {-1: "TTTTTFFF", 0: "TTTTFFFF", 1: "FTTTFFFF"}  # plain alone right, both, denied alone
    records = make_records(*((f"f{n:02}", f"h{n // 2:02}", f"t{n:02}", signs[one]) for n, one in enumerate(change)))
    found = contrasts(records)
    contrast = found["dn_less_plain"]
    assert (contrast.value, contrast.n) == (-0.25, 40)
    sums = change.reshape(20, 2).sum(axis=1)
    deviations = sums - 2 * -0.25
    error = (20 / 19 * (deviations**2).sum()) ** 0.5 / 40
    drawn = sums[np.random.default_rng(1).integers(0, 20, (100_000, 20))].sum(axis=1) / 40
    flips = np.array(list(product((-1, 1), repeat=int((sums != 0).sum()))))
    p = (np.abs(flips @ sums[sums != 0]) >= abs(sums.sum())).mean()
    assert contrast.p == pytest.approx(p, abs=0.005)

    def freedom(sizes: np.ndarray) -> float:
        """Degrees of freedom of a variance that few clusters dominate, by their squared sums."""
        return min(len(sizes) - 1, 2 / ((sizes**4).sum() / (sizes**2).sum() ** 2 - 1 / len(sizes)))

    by_head, by_tail = freedom(deviations), freedom(change + 0.25)
    for family, low, high in ((1, contrast.low, contrast.high), (len(found), contrast.low_all, contrast.high_all)):
        t = stats.t.ppf(1 - 0.025 / family, 19)
        outside = stats.norm.cdf(-((20 / 19) ** 0.5) * t)
        ends = np.quantile(drawn, [outside, 1 - outside])
        widest = stats.t.ppf(1 - 0.025 / family, (by_head * min(by_head, by_tail) ** 2) ** (1 / 3)) * error if family > 1 else 0
        expected = [
            min(ends[0], (ends[0] - 0.25 - t * error) / 2, -0.25 - widest),
            max(ends[1], (ends[1] - 0.25 + t * error) / 2, -0.25 + widest),
        ]
        if p >= 0.05 / family:
            expected = [min(expected[0], 0), max(expected[1], 0)]
        assert [low, high] == pytest.approx(expected, abs=0.015)
    assert p < 0.05
    assert contrast.is_open, "shown by itself, not among all contrasts"
    assert not contrast.is_shown


def test_facts_of_one_disease_stand_or_fall_together() -> None:
    apart, together = contrasts(make_forty_records(40))["plain_less_all"], contrasts(make_forty_records(10))["plain_less_all"]
    assert apart.value == together.value
    few = contrasts(make_forty_records(5))["plain_less_all"]
    assert few.low is few.low_all is None
    assert not few.is_shown
    of_two = make_records(
        *((f"f{n:02}", f"h{n // 2:02}", f"t{n:02}", ONLY_PLAIN_RIGHT if n < 10 else RIGHT) for n in range(40))
    )
    wider = contrasts(of_two)["plain_less_all"]
    assert wider.low < apart.low, "ten facts of five diseases say less than ten of ten"


def test_of_all_facts_of_a_finite_population_nothing_is_open() -> None:
    whole = contrasts(of_these_facts(make_forty_records(40), {"symptoms": 40}))["plain_less_all"]
    assert (whole.low, whole.value, whole.high, whole.p) == (0.21875, 0.21875, 0.21875, None)
    half, like = (
        contrasts(of_these_facts(make_forty_records(40), {"symptoms": 80}))["plain_less_all"],
        contrasts(make_forty_records(40))["plain_less_all"],
    )
    assert 0.21875 - half.low == pytest.approx((0.21875 - like.low) * 0.5**0.5)


def test_tpevals_first_statement_stands_against_all_eight() -> None:
    keys = dict(zip(IMPLICATIONS, TRUTH_PRESERVING, strict=True))
    records = make_forty_records(40)
    found = contrasts(replace(records, variants=records.variants.renamed(lambda key: keys[key])))
    assert list(found) == ["plain_less_all", "affirmed_less_denied", *(f"S{n}_less_plain" for n in range(2, 9))]
    assert found["plain_less_all"].value == 0.21875
    assert found["S5_less_plain"].value == -0.25


def test_one_way_of_asking_has_no_contrast() -> None:
    plain = EXAMPLE.variants.among(["none"])
    one = replace(EXAMPLE.only(plain), variants=Names.of(["none"] * int(plain.sum())))
    assert contrasts(one) == {}


def test_two_runs_in_right_answers_by_fact_whatever_each_was_asked() -> None:
    """40 facts in all eight ways against the plain one: 31.25 of 40 less 40 of 40; a fact that one run lacks does not count."""
    ours = make_forty_records(40)
    plain = ours.only(ours.variants.among(["none"]))
    found = compare_runs(RunRecords(ours, ours.fact), RunRecords(plain, plain.fact), [RIGHT_ANSWERS])[RIGHT_ANSWERS]
    assert (found.first, found.second, found.value, found.n) == (0.78125, 1.0, -0.21875, 40)
    some = plain.only(plain.fact < 20)
    fewer = compare_runs(RunRecords(ours, ours.fact), RunRecords(some, some.fact), [RIGHT_ANSWERS])[RIGHT_ANSWERS]
    assert (fewer.first, fewer.value, fewer.n) == ((10 + 10 / 8) / 20, pytest.approx(-0.4375), 20)


# ------------------------------------------------------------------------------------------------ in all that shows a run


@pytest.fixture
def runs(tmp_path: Path, store: Store) -> list[str]:
    """Always true, of 25 true facts: right affirmed, wrong denied; asked in eight ways, and in the data set's one."""
    rows = [{"head": f"disease {n}", "relation": "therapeutic drugs", "tail": f"drug {n}"} for n in range(30)]
    file = write_csv(tmp_path / "facts.csv", rows)
    made = []
    for pool in ("medfact", "origin"):
        spec = RunSpec("baseline:always-true", facts=str(file), shots=0, negatives=0, pool=pool)
        made.append(complete_run(spec, store))
    return made


def test_reports_tell_the_contrasts(runs: list[str], store: Store, medfact: Callable[..., Any]) -> None:
    eight, plain = runs
    told = json.loads(medfact("report", eight, "--json", "--db", store.url).out)["contrasts"]
    assert set(told["plain_less_all"]) == {
        "first", "less", "value", "low", "high", "n", "p", "p_holm", "low_all", "high_all",
    }  # fmt: skip
    assert [told[name]["value"] for name in ("plain_less_all", "affirmed_less_denied", "dn_less_plain")] == [0.5, 1.0, -1.0]
    text = medfact("report", eight, "--db", store.url).out
    (plainly,) = (line for line in text.splitlines() if "asked plainly; in all eight ways (as in PretextTrans" in line)
    beside = "asked plainly 100.0%, 50.0 points higher than in all eight ways 50.0%"
    assert plainly.endswith(f"of {told['plain_less_all']['n']} facts; {beside}; shown")
    assert r" & 50.0$^\dagger$ & " in medfact("report", eight, "--latex", "--db", store.url).out
    assert "asked in two ways" not in medfact("report", plain, "--db", store.url).out


def test_runs_that_ask_other_statements_are_compared_by_fact(
    runs: list[str], store: Store, medfact: Callable[..., Any]
) -> None:
    eight, plain = runs
    (told,) = json.loads(medfact("compare", plain, eight, "--json", "--db", store.url).out)["contrasts"]
    assert (told["a"], told["b"], told["first"], told["less"], told["value"]) == (plain, eight, 1.0, 0.5, 0.5)
    text = medfact("compare", plain, eight, "--db", store.url).out
    assert re.search(rf"of {told['n']} facts; .*100\.0%, 50\.0 points higher than .* 50\.0%; shown", text)
    again = complete_run(store.run(eight).spec, store)
    assert across_runs(sides_of(store, [eight, again])) == [], "what asks the same is compared statement by statement"
