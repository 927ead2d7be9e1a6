"""The prompt, letter by letter, and how replies are read: by the answer that they commit to, or as the papers read them."""

import csv
import io
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import pytest
import slow_texts

from medfact.answers import CHOICES, FORMATS, READINGS, Demonstration, make_prompt, read_answer
from medfact.facts import Fact
from medfact.statements import Statement

FEVER = "fever is a symptom of influenza."
SHOTS = (
    Demonstration("pain is a symptom of gout.", True),
    Demonstration("pain is not a symptom of gout.", False),
    Demonstration("rash is a symptom of gout.", False),
    Demonstration("cough is a symptom of asthma.", True),
    Demonstration("cough is a symptom of gout.", False),
)

# ------------------------------------------------------------------------- prompts


def test_the_prompt_without_shots() -> None:
    assert make_prompt(FEVER, (), chat=False).content == (
        "fever is a symptom of influenza, is the statement above true or false? Please answer True or False."
    )


def test_the_prompt_with_five_shots() -> None:
    assert make_prompt(FEVER, SHOTS, chat=False).content == (
        "pain is a symptom of gout, is the statement above true or false? Please answer True or False. True\n"
        "pain is not a symptom of gout, is the statement above true or false? Please answer True or False. False\n"
        "rash is a symptom of gout, is the statement above true or false? Please answer True or False. False\n"
        "cough is a symptom of asthma, is the statement above true or false? Please answer True or False. True\n"
        "cough is a symptom of gout, is the statement above true or false? Please answer True or False. False\n"
        "fever is a symptom of influenza, is the statement above true or false? Please answer True or False."
    )


def test_the_prompt_of_a_chat_model() -> None:
    ask = ", is the statement above true or false? Please answer True or False."
    assert make_prompt(FEVER, SHOTS[:2], chat=True).content == (
        {"role": "user", "content": f"pain is a symptom of gout{ask}"},
        {"role": "assistant", "content": "True"},
        {"role": "user", "content": f"pain is not a symptom of gout{ask}"},
        {"role": "assistant", "content": "False"},
        {"role": "user", "content": f"fever is a symptom of influenza{ask}"},
    )
    assert make_prompt(FEVER, (), chat=True).content == ({"role": "user", "content": f"fever is a symptom of influenza{ask}"},)


@pytest.mark.parametrize("chat", [False, True])
def test_a_statement_and_its_text_make_the_same_prompt(chat: bool) -> None:
    statement = Statement(Fact("influenza", "symptoms", "fever"), "medfact", "none", FEVER)
    made = make_prompt(statement, SHOTS, chat=chat)
    assert made == replace(make_prompt(FEVER, SHOTS, chat=chat), triplet=("influenza", "symptoms", "fever"))
    assert made.choices == CHOICES == (("True", "Yes"), ("False", "No"))
    assert made.statement == FEVER


def test_the_question_of_the_published_code_is_plain_text_for_chat_models_too() -> None:
    """As the script writes it, the stray colon too; labels in lower case; 50 tokens, stop at the next statement."""
    ask = ", is the statement above true or false? Please answer true/false.\nAnswer:".removeprefix(",")
    made = make_prompt(FEVER, SHOTS[:2], chat=True, question="code")
    assert made.content == (
        f'Statement: ": pain is a symptom of gout.",{ask} true\n\n'
        f'Statement: ": pain is not a symptom of gout.",{ask} false\n\n'
        f'Statement: ": fever is a symptom of influenza.",{ask}'
    )
    assert (made.stop, made.max_tokens) == ("\nStatement", 50)


def test_the_question_of_mkj_is_its_figure_8() -> None:
    expected = (
        "Given a statement, your task is to judge it true or false.\n"
        'Format your answer like this: "Answer: [True or False]".\n'
        "\n"
        "Statement: fever is a symptom of influenza."
    )
    plain = make_prompt(FEVER, (), chat=False, question="mkj", reading="last-word")
    assert plain.content == expected
    assert plain.settled_after is None
    assert make_prompt(FEVER, (), chat=True, question="mkj").content == ({"role": "user", "content": expected},)


def test_when_an_opening_word_is_the_answer() -> None:
    """At once after demonstrations; else "True or False" or "True if …" could follow."""
    assert make_prompt(FEVER, SHOTS, chat=False).settled_after == 1
    assert make_prompt(FEVER, SHOTS, chat=True).settled_after == 1
    assert make_prompt(FEVER, (), chat=True).settled_after == 2
    assert make_prompt(FEVER, (), chat=False).settled_after == 2
    assert make_prompt(FEVER, SHOTS, chat=False, reading="keyword").settled_after is None


@pytest.mark.parametrize("text", ["{0} of {statement}", "E. coli {x}", "[X]", "100 % of ${y}"])
def test_braces_and_signs_in_a_statement_are_text(text: str) -> None:
    assert FORMATS["paper"].ask(text).startswith(f"{text}, is the statement above")


@pytest.mark.parametrize(
    ("text", "begins"),
    [("It is so.", "It is so, is"), ("It is so. ", "It is so, is"), ("It is so", "It is so, is"), ("E.g.", "E.g, is")],
)
def test_one_full_stop_is_dropped_before_the_comma(text: str, begins: str) -> None:
    assert FORMATS["paper"].ask(text).startswith(begins)


# ------------------------------------------------------------------------- replies

REPLIES: dict[bool | None, list[str]] = {
    True: [
        "True",
        "true",
        " TRUE.",
        "**True**",
        "`True`",
        "True\n\nFever is common in influenza; it would be false to deny it.",
        "Yes",
        "Yes, it is.",
        "Correct.",
        "Entailed",
        "The statement is true.",
        "The statement above is true",
        "The answer is True.",
        "The answer is: **True**.",
        "Answer: True",
        "True or False: True",
        "True/False? True.",
        "One might say false, but it is **True**.",
        "At first it looks false. However, the statement is true.",
        "It is not false.",
        "That is not wrong.",
        "True. The diagnosis is influenza.",
        "<think>It could be false, or true. Fever is listed.</think>True",
        "True. Fever is common in influenza, although its absence does not prove the diagnosis wrong.",
        "True, but in rare cases it is false.",
        "The statement that fever is not a symptom of gout is true.",
        "Gout does not cause rash is a true statement.",
        "Fever is not a symptom of gout. True.",
        "Both pain and swelling occur in gout, so the statement is true.",
        "Let me see. It looks false at first ... </think>\n\nTrue",
        "No known disease has this; the statement is true.",
        "True, if I remember correctly.",
        "True (95% confident)",
        "It is more likely true than false.",
        "Sure! Here is my answer:\n\n**True**",
    ],
    False: [
        "False",
        "false.",
        "**False**",
        "No",
        "No.",
        "No, it is not.",
        "Wrong",
        "Contradicted.",
        "The statement is false.",
        "Answer: False. One might think that it is true.",
        "The correct answer is False.",
        "It is not true.",
        "This is not entirely correct.",
        "That isn't true.",
        "That isn’t true.",
        "That is never true.",
        "That doesn't seem correct.",
        "It cannot be true.",
        "The statement might seem true, but it is false.",
        "False. The correct treatment is surgery.",
        "No, that is not correct.",
        "The statement that gout cannot cause rash is false.",
        "It is false that gout is not painful.",
        "It is unlikely to be true.",
        "Yes, it is not true.",
        "It would be wrong to say this is true.",
        "It is correct to say the statement is false",
        "None of this is true.",
        "This is by no means true.",
        "I doubt it's true.",
        "It doesn't seem that it's true.",
        "The statement is false because fever is a true symptom.",
        "It is an incorrect claim.",
        "Falsehood.",
    ],
    None: [
        "",
        " \n",
        "?",
        "The patient has a fever.",
        "The diagnosis is influenza.",
        "I know nothing about nosology.",
        "Yesterday, nobody noticed.",
        "I am sorry, I can't help with that.",
        "As a language model I cannot give medical advice.",
        "I don't know.",
        "I do not know whether this is true or false.",
        "I cannot determine whether this statement is true.",
        "I'm not sure if this is true.",
        "Both true and false.",
        "Yes and no.",
        "It is true and it is false.",
        "Neither true nor false.",
        "Is the statement above true or false? Please answer True or False.",
        "<think>It seems true. But then again",
        "The answer is yes and no",
        "Partially true.",
        "It is true only if the patient is a child; otherwise false.",
        "No fever occurs in gout.",
        "I don't have enough information to say that this statement is true.",
        "I can't verify that this is true.",
        "There is insufficient evidence to conclude that this is true.",
        "I'm not able to say it's false.",
        "If the patient has fever, true; otherwise false.",
        "True if the patient is a child.",
        "True, but only in adults.",
        "This could be true.",
        "The probability that it is true is 20 %.",
        '{"true": 0.2, "false": 0.8}',
        "<think>The box is \\boxed{True}",
        "No puedo confirmar que sea True.",
    ],
}
NEVER_TRUE = ["The statement is incorrect.", "Incorrect", "That is untrue.", "It is not the case that this is true."]
"""Whether these are read as False or not at all is open; True they are not."""


@pytest.mark.parametrize(("reply", "answer"), [(reply, answer) for answer, replies in REPLIES.items() for reply in replies])
def test_the_answer_of_a_reply(reply: str, answer: bool | None) -> None:
    assert read_answer(reply) is answer


@pytest.mark.parametrize("reply", NEVER_TRUE)
def test_a_denial_is_never_read_as_true(reply: str) -> None:
    assert read_answer(reply) is not True


DATA = Path(__file__).parents[1] / "data"
LABELLED = list(csv.DictReader(io.StringIO((DATA / "replies.csv").read_bytes().decode(), newline="")))
SAYS = {"true": True, "false": False, "": None}


@pytest.mark.parametrize("reading", READINGS)
def test_every_hand_labelled_reply(reading: str) -> None:
    """360 replies, labelled by hand for each of the three readings, without a look at how they are done."""
    assert len(LABELLED) >= 120
    wrong = [row["reply"] for row in LABELLED if read_answer(row["reply"], reading) is not SAYS[row[reading.replace("-", "_")]]]
    assert wrong == []


@pytest.mark.parametrize(
    ("reply", "committed", "keyword", "last_word"),
    [
        ("diagnosis", None, None, None),
        ("incorrect", False, False, None),
        ("not true", False, False, True),
        ("One might say false, but it is **True**", True, None, True),
        ("Answer: [True]", True, True, True),
        ("", None, None, None),
    ],
)
def test_the_three_readings_differ(reply: str, committed: bool | None, keyword: bool | None, last_word: bool | None) -> None:
    assert [read_answer(reply, reading) for reading in READINGS] == [committed, keyword, last_word]


@pytest.mark.parametrize("word", ["True", "False"])
@pytest.mark.parametrize("rest", ["", " yes no true false", "\n\nFalse True", ". No. Yes.", " x", ", it is wrong or correct"])
def test_an_opening_word_commits_unless_a_condition_follows(word: str, rest: str) -> None:
    """So a local model may stop as soon as none can follow, and the reading is the same."""
    assert read_answer(word + rest) is SAYS[word.lower()]


@pytest.mark.parametrize("reply", ["It cannot be considered true.", "This is simply not a true statement.", "Not at all true."])
def test_a_keyword_that_is_turned_round_counts_for_the_other_side(reply: str) -> None:
    assert read_answer(reply, "keyword") is False


LONG_REPLIES = [
    "\n", "a", " ", ". wait ", "x\t", "not ", "answer is ", "a*", "true or false ", "wrong to say ", "might have ", "true ",
    "it is true, ", "\"a b c d\" ", "\\text{", "'true': ", "no doubt ", ", in a ", "but ", "true: 3 ",
]  # fmt: skip


@pytest.mark.parametrize("reading", READINGS)
@pytest.mark.parametrize("part", LONG_REPLIES)
def test_a_long_reply_takes_no_longer_than_its_length(part: str, reading: str) -> None:
    """Eight times the length takes about eight times as long; 32 leaves room for a busy machine, and a square would be 64."""

    def seconds(length: int) -> float:
        reply = "x" + (part * length)[:length]
        begun = time.process_time()
        read_answer(reply, reading)
        return time.process_time() - begun

    short = min(seconds(2_500) for _ in range(3))
    assert min(seconds(20_000) for _ in range(3)) < 32 * max(short, 0.005)


@pytest.mark.parametrize(
    "reply", ["simply " * 50 + "gout true", "a" + "=" * 19_999, "a:" + ":" * 19_998, "\n.'" * 6_666, "hardly " * 2_857 + "true"]
)
def test_no_reply_holds_its_reader_up(reply: str) -> None:
    """Each is read in about 0.02 s; "simply" 22 times took a second, and twice as long with each more."""
    assert slow_texts.measure_seconds(lambda: read_answer(reply, "committed"), 1.0) < 1.0


# ------------------------------------------------------------------------- replies by kind


class Labelled(NamedTuple):
    """A reply with what it says. kept: "kept" if it stayed out of the making of the reading: a third of most kinds.

    Of those, 95.5 % were read rightly when they were first tried; what was missed was mended after that.
    """

    kind: str
    reply: str
    label: str
    kept: str


BY_KIND = [
    Labelled(**row) for row in csv.DictReader(io.StringIO((DATA / "replies_by_kind.csv").read_bytes().decode(), newline=""))
]

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
    return sum(read_answer(reply.reply) is SAYS[reply.label] for reply in replies) / len(replies)


def test_there_are_enough_replies_of_every_kind() -> None:
    own = Counter(reply.kind for reply in BY_KIND if not reply.kind.startswith(("mixed:", "keywords in refusals:")))
    assert sum(own.values()) >= 1_000
    assert min(own.values()) >= 10
    assert sum(reply.kept == "kept" for reply in BY_KIND) > sum(own.values()) / 4
    assert {reply.kind for reply in BY_KIND} >= REFUSALS


def test_at_least_97_in_100_are_read_rightly() -> None:
    assert share(BY_KIND) >= 0.97
    assert share([reply for reply in BY_KIND if reply.kept == "kept"]) >= 0.97


@pytest.mark.parametrize("kind", sorted({reply.kind for reply in BY_KIND}))
def test_each_kind_is_read(kind: str) -> None:
    replies = [reply for reply in BY_KIND if reply.kind == kind]
    wrong = [(reply.reply, reply.label) for reply in replies if read_answer(reply.reply) is not SAYS[reply.label]]
    assert share(replies) >= LEAST.get(kind, 0.75 if kind.startswith("mixed:") else 0.85), wrong


def test_no_refusal_is_read_as_an_answer() -> None:
    refusals = [reply for reply in BY_KIND if reply.kind in REFUSALS and not reply.label]
    assert len(refusals) >= 300
    assert [reply.reply for reply in refusals if read_answer(reply.reply) is not None] == []


def test_an_answer_is_hardly_ever_read_as_its_opposite() -> None:
    opposite = [reply for reply in BY_KIND if reply.label and read_answer(reply.reply) is (not SAYS[reply.label])]
    assert len(opposite) <= 0.002 * len(BY_KIND), opposite


def test_the_deciding_word_stands_where_it_is_said_to_stand() -> None:
    for reply in BY_KIND:
        answer = READINGS["committed"](reply.reply)
        assert (answer.at is None) == (answer.answer is None)
        if answer.at is not None:
            assert reply.reply[answer.at].isalpha(), reply.reply
