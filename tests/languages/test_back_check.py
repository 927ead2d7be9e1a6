"""Our names translated back: what the list of it says holds of the names, and the documentation's table is that of the list."""

import importlib.util
from datetime import date
from pathlib import Path
from types import ModuleType

import pytest

from medfact.assets import language_codes
from medfact.datasets import load_bundled
from medfact.facts import name_key
from medfact.languages import load_language
from medfact.languages.names import OURS

ROOT = Path(__file__).parents[2]
CODES = [code for code in language_codes() if code != "en"]
MARK = "translated back"

CHECKED = ("clinical-core", "rare-core", "safety-core")
"""The sets whose names were translated back; those that the other sets alone have were written later, and say nothing."""

RENAMED = {
    "zh": (
        "caplacizumab", "elexacaftor-tezacaftor-ivacaftor", "naldemedine", "naloxegol", "palopegteriparatide", "ravulizumab",
        "resmetirom", "romosozumab", "seladelpar", "sparsentan",
    ),
    "fr": ("Proteus-like syndrome",),
}  # fmt: skip
"""Names that were changed after they had been translated back, and have not been since."""

ADDED = ("recombinant zoster vaccine",)
"""Entities that came into a checked set later."""


def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("back_check_benchmark", ROOT / "benchmarks" / "back_check.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


BACK_CHECK = script()
ROWS: list[dict[str, str]] = BACK_CHECK.judged()
VERDICTS = {BACK_CHECK.SAME, *BACK_CHECK.SOMETHING_ELSE, *BACK_CHECK.UNCLEAR}


def test_each_row_is_of_one_of_our_names_as_it_stands_now() -> None:
    assert {row["language"] for row in ROWS} == set(CODES)
    assert len({(row["language"], name_key(row["entity"])) for row in ROWS}) == len(ROWS)
    for row in ROWS:
        name = load_language(row["language"]).names[name_key(row["entity"])]
        assert name.source == OURS, row
        assert row["name_now"] == name.text, row
        assert row["verdict"] in VERDICTS, row
        assert row["back_translation"], row
        assert row["decision"] == ("kept" if row["name"] == row["name_now"] else "changed"), row
        assert row["decided_by"] == OURS
        assert date.fromisoformat(row["decided_on"])


def test_what_says_something_else_is_changed_or_has_a_reason_and_what_says_the_same_is_kept() -> None:
    for row in ROWS:
        if row["verdict"] == BACK_CHECK.SAME:
            assert row["decision"] == "kept", row
        else:
            assert row["reason"], row


@pytest.mark.parametrize("code", CODES)
def test_each_of_our_names_was_translated_back_or_was_changed_and_came_back_otherwise(code: str) -> None:
    again = {
        name_key(row["entity"]): "translated back again" in row["reason"]
        for row in ROWS
        if row["language"] == code and row["decision"] == "changed"
    }
    names = load_language(code).names
    assert again
    facts = [fact for dataset in CHECKED for fact in load_bundled(dataset).facts]
    checked = {name_key(end) for fact in facts for end in (fact.head, fact.tail or "")}
    unmarked = {key for key, name in names.items() if name.source == OURS and MARK not in name.checked}
    came_back_otherwise = {key for key, otherwise in again.items() if otherwise}
    since = {name_key(entity) for entity in (*RENAMED.get(code, ()), *ADDED)}
    assert unmarked & checked == (came_back_otherwise | since) & checked
    assert not [key for key, name in names.items() if name.source != OURS and MARK in name.checked]


def test_the_documentation_has_the_table_that_the_list_gives() -> None:
    lines = (ROOT / "docs" / "languages.md").read_text(encoding="utf-8").splitlines()
    for line in BACK_CHECK.table():
        assert line in lines


def test_a_share_has_its_interval() -> None:
    """1 of 4: Wilson's centre is (0.25 + 3.8415 / 8) / (1 + 3.8415 / 4) = 0.7302 / 1.9604 = 0.3725, and its half
    (1.9600 / 1.9604) √(0.1875 / 4 + 3.8415 / 64) = 0.3269."""
    assert BACK_CHECK.share(1, 4) == "25.0 % (4.6–69.9)"
