"""What intervals are about: these facts alone, by the finite-population correction, or facts like these."""

import math
from pathlib import Path

import numpy as np
import pytest
from recorded import complete_run
from records import RIGHT, make_records, metrics_record, report_record
from scipy import stats
from small_facts import StubModel, make_fact_rows, write_csv

from medfact.metrics import Records
from medfact.metrics.records import LIKE, THESE, of_these_facts
from medfact.metrics.uncertainty import wilson
from medfact.results.report import report_of
from medfact.results.wording import about_intervals
from medfact.spec import RunSpec
from medfact.store import Store

WRONG = "FFFFTTTT"


def asked(known: list[bool], relation: str = "symptoms") -> list[tuple[str, str, str, str]]:
    """A true fact for each, all of whose answers are right or wrong."""
    return [(f"{relation}{i}", f"{relation}: h{i}", f"t{i}", RIGHT if right else WRONG) for i, right in enumerate(known)]


def test_all_facts_of_a_population_leave_nothing_open() -> None:
    records = make_records(*asked([True, True, False]))
    made = metrics_record(of_these_facts(records, {}))
    for name in ("average_accuracy", "joint_accuracy", "macro_accuracy", "positive_accuracy", "yes_bias"):
        assert made[name]["low"] == made[name]["value"] == made[name]["high"], name
    assert made["joint_accuracy"]["value"] == pytest.approx(2 / 3)
    assert metrics_record(records)["joint_accuracy"]["low"] is None, "three heads are too few to say anything of others"


def test_half_of_a_population_leaves_half_the_variance() -> None:
    """20 facts of 40, 10 of them known: the variance of the share is ½ · (¼ · 20/19) / 20. As 20 facts show it, Wilson's
    interval has 38 trials; the usual design effect, here ½ for facts of one each, counts as one fact of 11 (10 known, and it).
    """
    made = metrics_record(of_these_facts(make_records(*asked([True, False] * 10)), {"symptoms": 40}))["joint_accuracy"]
    found = 0.5 * 0.25 * 20 / 19 / 20
    effect = (10 * found * 20 / 0.25 + 0.5) / 11
    free = 19 * (1 + 0.5 / (10 * found * 20 / 0.25)) ** 2
    trials = 20 / effect * (stats.t.ppf(0.975, 19) / stats.t.ppf(0.975, free)) ** 2
    assert (made["low"], made["high"]) == pytest.approx(wilson(0.5, trials))
    assert 38 < trials < 40


def test_each_relation_has_a_population_of_its_own() -> None:
    """All facts of one relation were asked, and know nothing of what is open; 20 of 200 of the other."""
    rows = [*asked([True, False] * 10), *asked([True, False] * 10, "drugs")]
    made = of_these_facts(make_records(*rows), {"symptoms": 20, "drugs": 200})
    shares = metrics_record(made)["by_relation"]
    assert shares["symptoms"]["low"] == shares["symptoms"]["high"] == 0.5
    assert shares["drugs"]["high"] - shares["drugs"]["low"] > 0.3


@pytest.mark.parametrize("known", [0.1, 0.5])
def test_the_interval_holds_the_populations_share(known: float) -> None:
    """Of 120 facts of two relations 60 are asked; in 300 populations the 95 % interval holds the share in all of them."""
    held = 0
    for seed in range(300):
        randomness = np.random.default_rng(seed)
        population = randomness.random((2, 60)) < np.array([[known / 2], [known * 3 / 2]])
        drawn = [population[i][randomness.permutation(60)[:30]] for i in range(2)]
        records = make_records(*asked(drawn[0].tolist()), *asked(drawn[1].tolist(), "drugs"))
        found = joint_of(of_these_facts(records, {"symptoms": 60, "drugs": 60}))
        held += found[0] <= population.mean() <= found[1]
    assert 0.92 <= held / 300 <= 0.99


def joint_of(records: Records) -> tuple[float, float]:
    found = metrics_record(records)["joint_accuracy"]
    return found["low"], found["high"]


@pytest.fixture
def facts(tmp_path: Path) -> Path:
    return write_csv(tmp_path / "facts.csv", make_fact_rows())


def run_of(facts: Path, store: Store, limit: int | None) -> str:
    return complete_run(
        RunSpec(model="answerer", facts=str(facts), shots=0, limit=limit),
        store,
        load=StubModel(lambda prompt: str("disease0" in prompt.statement)).load,
    )


def test_a_run_knows_of_how_many_facts_its_own_were_drawn(facts: Path, store: Store) -> None:
    some, every = (store.run(run_of(facts, store, limit)) for limit in (12, None))
    assert some.population == every.population
    report = report_of(store, every, THESE)
    assert report.true_facts == report.population == sum(every.population.values())
    assert report.joint_accuracy.low == report.joint_accuracy.value == report.joint_accuracy.high
    assert "All were asked" in about_intervals([report])
    part = report_of(store, some, THESE)
    assert (part.true_facts, part.population) == (12, sum(some.population.values()))
    assert f"these {part.population} true facts and no others; 12 of them were asked" in about_intervals([part])
    like = report_of(store, some)
    assert "similar facts" in about_intervals([like])
    # about these facts less is open than about facts like these
    assert width(part.average_accuracy) < width(like.average_accuracy)
    assert report_record(store, some.run)["estimand"] == LIKE


def width(estimate: object) -> float:
    low, high = getattr(estimate, "low"), getattr(estimate, "high")  # noqa: B009
    return math.inf if low is None else float(high - low)
