"""The prompt, letter by letter, and how replies are read: by the answer that they commit to."""

import pytest

from medfact.answers import CHOICES, Demonstration, chat_prompt, make_prompt, plain_prompt, question, read_answer
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
    assert plain_prompt(FEVER, ()).content == (
        "fever is a symptom of influenza, is the statement above true or false? Please answer True or False."
    )


def test_the_prompt_with_five_shots() -> None:
    assert plain_prompt(FEVER, SHOTS).content == (
        "pain is a symptom of gout, is the statement above true or false? Please answer True or False. True\n"
        "pain is not a symptom of gout, is the statement above true or false? Please answer True or False. False\n"
        "rash is a symptom of gout, is the statement above true or false? Please answer True or False. False\n"
        "cough is a symptom of asthma, is the statement above true or false? Please answer True or False. True\n"
        "cough is a symptom of gout, is the statement above true or false? Please answer True or False. False\n"
        "fever is a symptom of influenza, is the statement above true or false? Please answer True or False."
    )


def test_the_prompt_of_a_chat_model() -> None:
    ask = ", is the statement above true or false? Please answer True or False."
    assert chat_prompt(FEVER, SHOTS[:2]).content == (
        {"role": "user", "content": f"pain is a symptom of gout{ask}"},
        {"role": "assistant", "content": "True"},
        {"role": "user", "content": f"pain is not a symptom of gout{ask}"},
        {"role": "assistant", "content": "False"},
        {"role": "user", "content": f"fever is a symptom of influenza{ask}"},
    )
    assert chat_prompt(FEVER, ()).content == ({"role": "user", "content": f"fever is a symptom of influenza{ask}"},)


@pytest.mark.parametrize("chat", [False, True])
def test_a_statement_and_its_text_make_the_same_prompt(chat: bool) -> None:
    statement = Statement(Fact("influenza", "symptoms", "fever"), "medfact", "none", FEVER)
    expected = (chat_prompt if chat else plain_prompt)(FEVER, SHOTS)
    assert make_prompt(statement, SHOTS, chat=chat) == make_prompt(FEVER, SHOTS, chat=chat) == expected
    assert expected.choices == CHOICES == (("True", "Yes"), ("False", "No"))
    assert expected.question == question(FEVER)


@pytest.mark.parametrize("text", ["{0} of {statement}", "E. coli {x}", "[X]", "100 % of ${y}"])
def test_braces_and_signs_in_a_statement_are_text(text: str) -> None:
    assert question(text).startswith(f"{text}, is the statement above")


@pytest.mark.parametrize(
    ("text", "begins"),
    [("It is so.", "It is so, is"), ("It is so. ", "It is so, is"), ("It is so", "It is so, is"), ("E.g.", "E.g, is")],
)
def test_one_full_stop_is_dropped_before_the_comma(text: str, begins: str) -> None:
    assert question(text).startswith(begins)


# ------------------------------------------------------------------------- replies

TRUE_REPLIES = [
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
]
FALSE_REPLIES = [
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
]
UNREADABLE = [
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
]
NEVER_TRUE = ["The statement is incorrect.", "Incorrect", "That is untrue.", "It is not the case that this is true."]
"""Whether these are read as False or not at all is open; True they are not."""


@pytest.mark.parametrize("reply", TRUE_REPLIES)
def test_replies_that_say_true(reply: str) -> None:
    assert read_answer(reply) is True


@pytest.mark.parametrize("reply", FALSE_REPLIES)
def test_replies_that_say_false(reply: str) -> None:
    assert read_answer(reply) is False


@pytest.mark.parametrize("reply", UNREADABLE)
def test_replies_that_cannot_be_read(reply: str) -> None:
    assert read_answer(reply) is None


@pytest.mark.parametrize("reply", NEVER_TRUE)
def test_a_denial_is_never_read_as_true(reply: str) -> None:
    assert read_answer(reply) is not True
