"""The verdict of an evaluation: mastery first, and one diagnosis a model, which no figure contradicts."""

from dataclasses import replace
from pathlib import Path

import pytest
from small_facts import Answerer, rows_of_facts, write_csv

from medfact.metrics.diagnosis import BLIND
from medfact.metrics.miscalibration import OVERCONFIDENT
from medfact.metrics.uncertainty import Estimate
from medfact.results import findings
from medfact.results.report import Report, report_of
from medfact.results.verdict import verdict
from medfact.runs.run import answer
from medfact.runs.start import start
from medfact.spec import RunSpec
from medfact.store import Store


@pytest.fixture
def report(tmp_path: Path, store: Store) -> Report:
    file = write_csv(tmp_path / "facts.csv", rows_of_facts())
    run = start(RunSpec(model="answerer", facts=str(file), limit=12, shots=0), store)
    list(answer(run, store, load=Answerer(lambda prompt: "True").load))
    return report_of(store, store.run(run))


def mastering(report: Report, share: float, stands_out: str | None, n: int = 120) -> Report:
    mastery = Estimate(share, max(0.0, share - 0.08), share + 0.09, n)
    return replace(report, joint_accuracy=mastery, stands_out=stands_out)


def test_the_best_comes_first_with_its_interval_and_one_diagnosis_each(report: Report) -> None:
    tiny, narrow = mastering(report, 0.01, BLIND), mastering(report, 0.30, None)
    assert verdict({"tiny": tiny, "narrow": narrow}) == (
        "narrow masters 30% of 120 facts (95% interval 22 to 39), tiny 1% (0 to 10). tiny: it overlooks “not”."
    )
    other = mastering(report, 0.01, BLIND, n=80)
    assert "tiny 1% of 80 facts (0 to 10)" in verdict({"narrow": narrow, "tiny": other})
    assert verdict({"tiny": tiny}).endswith(" What stands out: it overlooks “not”.")
    assert verdict({"tiny": replace(tiny, answered=0)}) == ""


def test_no_figure_names_another_diagnosis_than_the_verdict(report: Report) -> None:
    """What stands out in the one is how sure it is; of the other nothing does."""
    sure, none = mastering(report, 0.3, OVERCONFIDENT), mastering(report, 0.2, None)
    assert "sure: it is overconfident" in verdict({"sure": sure, "none": none})
    title = findings.of_diagnoses({"sure": sure, "none": none})
    assert title == "No single failure stands out"
    assert findings.of_diagnoses({"sure": sure, "x": replace(none, stands_out=None)}).count("stands out") == 1
