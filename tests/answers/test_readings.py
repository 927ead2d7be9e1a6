"""The answer that a reply commits to, over 1,900 replies, labelled by hand without a look at the code, kind by kind."""

import csv
import io
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import pytest

from medfact.answers import read_answer
from medfact.answers.reading import committed


class Labelled(NamedTuple):
    """A reply with what it says. kept: "kept" if it stayed out of the making of the reading: a third of most kinds.

    Of those, 95.5 % were read rightly when they were first tried; what was missed was mended after that.
    """

    kind: str
    reply: str
    label: str
    kept: str


FILE = Path(__file__).parents[1] / "data" / "replies_by_kind.csv"
REPLIES = [Labelled(**row) for row in csv.DictReader(io.StringIO(FILE.read_bytes().decode(), newline=""))]
SAYS = {"true": True, "false": False, "": None}

REFUSALS = {
    "refusal plain", "refusal mentions true", "refusal mentions false", "refusal mentions both words", "cannot verify",
    "cannot judge with keyword", "not knowing", "not enough information", "no evidence", "unclear unsure with keyword",
    "doubt without direction", "mixed: plain refusal", "mixed: plain cannot verify", "mixed: plain not enough information",
    "mixed: plain doubt", "mixed: cannot verify, unusual", "mixed: doubt, unusual", "keywords in refusals: refusal",
    "keywords in refusals: evidence",
}  # fmt: skip

LEAST = {"no keyword commits": 0.75, "table answer": 0.75, "off topic": 0.75, "not the case": 0.75, "thinking tags": 0.75}
"""Kinds that are read less often: they commit without a keyword, as a cross in a table, or hold "True" in another sense."""


def share(replies: list[Labelled]) -> float:
    return sum(read_answer(one.reply) is SAYS[one.label] for one in replies) / len(replies)


def test_there_are_enough_replies_of_every_kind() -> None:
    own = Counter(one.kind for one in REPLIES if not one.kind.startswith(("mixed:", "keywords in refusals:")))
    assert sum(own.values()) >= 1_000
    assert min(own.values()) >= 10
    assert sum(one.kept == "kept" for one in REPLIES) > sum(own.values()) / 4
    assert {one.kind for one in REPLIES} >= REFUSALS


def test_at_least_97_in_100_are_read_rightly() -> None:
    assert share(REPLIES) >= 0.97
    assert share([one for one in REPLIES if one.kept == "kept"]) >= 0.97


@pytest.mark.parametrize("kind", sorted({one.kind for one in REPLIES}))
def test_each_kind_is_read(kind: str) -> None:
    replies = [one for one in REPLIES if one.kind == kind]
    wrong = [(one.reply, one.label) for one in replies if read_answer(one.reply) is not SAYS[one.label]]
    assert share(replies) >= LEAST.get(kind, 0.75 if kind.startswith("mixed:") else 0.85), wrong


def test_no_refusal_is_read_as_an_answer() -> None:
    refusals = [one for one in REPLIES if one.kind in REFUSALS and not one.label]
    assert len(refusals) >= 300
    assert [one.reply for one in refusals if read_answer(one.reply) is not None] == []


def test_an_answer_is_hardly_ever_read_as_its_opposite() -> None:
    opposite = [one for one in REPLIES if one.label and read_answer(one.reply) is (not SAYS[one.label])]
    assert len(opposite) <= 0.002 * len(REPLIES), opposite


def test_the_deciding_word_stands_where_it_is_said_to_stand() -> None:
    for one in REPLIES:
        verdict = committed(one.reply)
        assert (verdict.at is None) == (verdict.answer is None)
        if verdict.at is not None:
            assert one.reply[verdict.at].isalpha(), one.reply


@pytest.mark.parametrize(
    ("reply", "label"),
    [
        ("I don't have enough information to say that this statement is true.", None),
        ("I can't verify that this is true.", None),
        ("There is insufficient evidence to conclude that this is true.", None),
        ("I'm not able to say it's false.", None),
        ("None of this is true.", False),
        ("This is by no means true.", False),
        ("I doubt it's true.", False),
        ("It doesn't seem that it's true.", False),
        ("If the patient has fever, true; otherwise false.", None),
        ("True if the patient is a child.", None),
        ("True, but only in adults.", None),
        ("True, if I remember correctly.", True),
        ("This could be true.", None),
        ("The probability that it is true is 20 %.", None),
        ('{"true": 0.2, "false": 0.8}', None),
        ("True (95% confident)", True),
        ("The statement is false because fever is a true symptom.", False),
        ("It is an incorrect claim.", False),
        ("It is more likely true than false.", True),
        ("Falsehood.", False),
        ("Sure! Here is my answer:\n\n**True**", True),
        ("<think>The box is \\boxed{True}", None),
        ("No puedo confirmar que sea True.", None),
    ],
)
def test_replies_that_were_once_read_wrongly(reply: str, label: bool | None) -> None:
    assert read_answer(reply) is label
