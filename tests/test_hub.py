"""Data sets of the hub: a folder that the library itself saved, and a name that is not there."""

from pathlib import Path

import pytest

from medfact.datasets import load
from medfact.errors import FactsError
from medfact.spec import RunSpec


@pytest.mark.parametrize("splits", [False, True])
def test_a_saved_data_set_is_read_with_a_column_map(tmp_path: Path, splits: bool) -> None:
    import datasets

    datasets.disable_progress_bars()
    rows = datasets.Dataset.from_dict({"disease": ["gout", "flu", ""], "sign": ["podagra", "fever", "x"]})
    (datasets.DatasetDict({"train": rows}) if splits else rows).save_to_disk(tmp_path / "saved")
    columns = (("head", "disease"), ("relation", "=symptoms"), ("tail", "sign"))
    collection = load(RunSpec(model="", facts=f"hf:{tmp_path / 'saved'}", columns=columns))
    assert [(fact.head, fact.relation, fact.tail) for fact in collection.facts] == [
        ("gout", "symptoms", "podagra"),
        ("flu", "symptoms", "fever"),
    ]
    assert [str(problem) for problem in collection.problems] == ["row 4: the head is empty; fill it in, or delete the row"]


def test_a_data_set_that_is_not_there_is_told_in_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(FactsError) as caught:
        load(RunSpec(model="", facts="hf:nobody/no-such-data-set"))
    assert "cannot be loaded" in str(caught.value)
    assert "\n" not in str(caught.value)
