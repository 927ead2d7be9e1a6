"""Replies in other languages, read as a clinician would: 200 and more for each language, labelled by hand (`tests/data`)."""

import csv
import re
import time
from itertools import product
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from medfact.assets import language_codes
from medfact.languages import load_language, read_reply

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
    assert [reply for reply, english in answered if (read(reply).language == "en") is not english] == []


@pytest.mark.parametrize("code", CODES)
def test_a_word_alone_behind_a_colon_answers_and_one_in_a_sentence_there_does_not(code: str) -> None:
    asking = load_language(code).asking
    for word, answer in zip(asking.answers, (True, False), strict=True):
        assert asking.read(f"Aaa bbb ccc: {word}.").answer is answer
        assert asking.read(f"Aaa bbb ccc {word} ddd.").answer is None


@pytest.mark.parametrize(
    ("reply", "answer"),
    [
        ("No es verdad que sea falso.", True),
        ("No es cierto que la afirmación sea falsa.", True),
        ("No es cierto que la gota cause tos.", False),
        ("Es falso que sea verdadera.", False),
        ("No es falso que sea falso.", False),
        ("No es falso que sea verdadero.", True),
        ("Es cierto que no es falso.", True),
        ("Es cierto que la gota duele, pero la afirmación es falsa.", False),
        ("Es cierto que la gota duele, pero no causa tos.", None),
        ("Sería incorrecto decir que es falsa.", True),
        ("Es improbable que la afirmación sea falsa.", True),
        ("No es probable que sea verdad.", False),
        ("Dudo que sea falso.", True),
        ("No es cierto que no sea verdadera.", None),
    ],
)
def test_spanish_denials_of_denials_are_read_as_what_they_come_to_or_not_at_all(reply: str, answer: bool | None) -> None:
    assert load_language("es").asking.read(reply).answer is answer


@pytest.mark.parametrize("code", CODES)
@given(st.text(max_size=300))
def test_any_text_is_read_and_the_place_of_its_answer_lies_within_it(code: str, reply: str) -> None:
    read = load_language(code).asking.read(reply)
    assert (read.answer is None) is (read.at is None) is (read.language is None)
    assert read.at is None or 0 <= read.at < len(reply)


@pytest.mark.parametrize(("code", "of"), list(product(CODES, ("true", "corrected", "label", "turned", "open"))))
def test_a_long_reply_is_read_in_time_in_proportion_to_its_length(code: str, of: str) -> None:
    """Ten times the length takes about ten times as long; 40 leaves room for a busy machine, and a square would be 100."""
    words = load_language(code).asking.words
    plain = [one for one in words.lists[of] if re.fullmatch(r"[\w ]+", one)]
    part = f"{plain[0]} "

    def seconds(times: int) -> float:
        begun = time.process_time()
        read_reply(code, words, part * times + words.lists["true"][0])
        return time.process_time() - begun

    short = min(seconds(times) for times in (300, 301, 302))  # not the same text thrice: what was read is remembered
    assert seconds(3_000) < 40 * max(short, 0.005)
