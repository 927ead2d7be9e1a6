"""Data sets of the hub: a folder that the library itself saved, and a name that is not there."""

from pathlib import Path
from typing import Any

import pytest

from medfact.datasets import load
from medfact.errors import FactsError
from medfact.exchange.rows import portable
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


def saved(folder: Path, data: dict[str, list[Any]], **features: Any) -> str:
    """A data set in a folder, as the library saves it; some columns as other than plain values."""
    import datasets

    datasets.disable_progress_bars()
    rows = datasets.Dataset.from_dict(data)
    for name, feature in features.items():
        rows = rows.cast_column(name, feature)
    rows.save_to_disk(folder)
    return f"hf:{folder}"


def test_the_numbers_of_classes_are_decoded(tmp_path: Path) -> None:
    import datasets

    data = {"head": ["gout", "flu"], "relation": [1, 0], "tail": ["podagra", "oseltamivir"], "positive": ["true", "true"]}
    relations = datasets.ClassLabel(names=["therapeutic drugs", "symptoms"])
    facts = load(RunSpec(model="", facts=saved(tmp_path / "saved", data, relation=relations))).facts
    assert [(fact.head, fact.relation) for fact in facts] == [("gout", "symptoms"), ("flu", "therapeutic drugs")]


def test_a_list_of_tails_is_a_fact_for_each_and_a_list_of_heads_is_told(tmp_path: Path) -> None:
    data = {
        "head": [["gout"], ["flu"], ["flu", "cold"]],
        "relation": ["symptoms"] * 3,
        "tail": [["podagra", "fever"], [], ["cough"]],
    }
    collection = load(RunSpec(model="", facts=saved(tmp_path / "saved", data)))
    assert [(fact.head, fact.tail) for fact in collection.facts] == [("gout", "podagra"), ("gout", "fever")]
    assert [str(problem) for problem in collection.problems] == [
        "row 3: the tail is empty; fill it in, or delete the row",
        "row 4: the head holds a list; write one row for each of its elements",
    ]


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("owner/name", ("owner/name", None, None, None)),
        ("name", ("name", None, None, None)),
        ("owner/name:config", ("owner/name", "config", None, None)),
        ("owner/name:config/test", ("owner/name", "config", "test", None)),
        ("owner/name:/train[:50%]", ("owner/name", None, "train[:50%]", None)),
        ("owner/name@v1.0", ("owner/name", None, None, "v1.0")),
        ("owner/name:config/test@refs/pr/3", ("owner/name", "config", "test", "refs/pr/3")),
    ],
)
def test_a_configuration_a_split_and_a_revision_can_be_named(
    given: str, expected: tuple[str | None, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the library is asked for; the hub itself cannot be reached here."""
    import datasets

    rows = datasets.Dataset.from_dict({"head": ["gout"], "relation": ["symptoms"], "tail": ["podagra"]})
    asked = []

    def load_dataset(path: str, name: str | None, *, split: str | None, revision: str | None) -> Any:
        asked.append((path, name, split, revision))
        return rows if split else datasets.DatasetDict({"train": rows})

    monkeypatch.setattr("datasets.load_dataset", load_dataset)
    assert len(load(RunSpec(model="", facts=f"hf:{given}")).facts) == 1
    assert asked == [expected]
    assert portable(RunSpec(model="", facts=f"hf:{given}")).facts == f"hf:{given}"


def test_a_data_set_that_is_not_there_is_told_in_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)  # both have read the environment by now
    monkeypatch.setattr("datasets.config.HF_HUB_OFFLINE", True)
    with pytest.raises(FactsError) as caught:
        load(RunSpec(model="", facts="hf:nobody/no-such-data-set"))
    assert "cannot be loaded" in str(caught.value)
    assert "\n" not in str(caught.value)
