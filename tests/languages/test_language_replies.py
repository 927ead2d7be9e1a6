"""Replies in other languages, read as a clinician would: 200 and more for each language, labelled by hand (`tests/data`)."""

import csv
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from medfact.assets import language_codes
from medfact.languages import load_language

CODES = [code for code in language_codes() if code != "en"]
ANSWERS = {"true": True, "false": False, "": None}
DATA = Path(__file__).parents[1] / "data"


def replies(code: str) -> list[tuple[str, bool | None, bool]]:
    """Reply, answer, and whether it answers in English."""
    with (DATA / f"replies_{code}.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    return [(row["reply"].replace("\\n", "\n"), ANSWERS[row["answer"]], row["in_english"] == "yes") for row in rows]


@pytest.mark.parametrize("code", CODES)
def test_ninety_seven_of_a_hundred_labelled_replies_are_read_right(code: str) -> None:
    labelled = replies(code)
    assert len(labelled) >= 200
    read = load_language(code).asking.read
    wrong = [reply for reply, answer, _ in labelled if read(reply).answer is not answer]
    assert len(wrong) <= 0.03 * len(labelled), wrong


@pytest.mark.parametrize("code", CODES)
def test_a_reply_in_english_is_read_and_known_as_such(code: str) -> None:
    read = load_language(code).asking.read
    answered = [(reply, english) for reply, answer, english in replies(code) if read(reply).answer is not None]
    assert {english for _, english in answered} == {True, False}
    assert [reply for reply, english in answered if read(reply).in_english is not english] == []


@pytest.mark.parametrize("code", CODES)
@given(st.text(max_size=300))
def test_any_text_is_read_and_the_place_of_its_answer_lies_within_it(code: str, reply: str) -> None:
    read = load_language(code).asking.read(reply)
    assert (read.answer is None) is (read.at is None) is (read.in_english is None)
    assert read.at is None or 0 <= read.at < len(reply)
