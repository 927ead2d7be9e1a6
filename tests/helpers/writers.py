"""Replies of good and bad writers to prompts, and sentences that a model drafts or a person types in the studio."""

from __future__ import annotations

import re

from medfact.reviews.studio import FORMS

SYNONYMS = (
    (" used to treat ", " used in treating "),
    ("a recognized symptom", "a known symptom"),
    ("Recognized symptoms", "Known symptoms"),
    ("performed to treat", "carried out to treat"),
    ("one of the conditions", "among the conditions"),
)


def parse_statement(prompt: str) -> str:
    """Returns the statement of a prompt; empty without one."""
    return prompt.partition("Statement: ")[2].partition("\n")[0]


def rephrase(prompt: str) -> str:
    """Returns the statement of a prompt with a synonym, if one of SYNONYMS applies."""
    text = parse_statement(prompt)
    return next((text.replace(old, new) for old, new in SYNONYMS if old in text), text)


def negate(text: str) -> str:
    """Returns a statement with a "not", or without its "not"."""
    return text.replace(" not", "", 1) if " not" in text else re.sub(r" (is|are|include|affects?) ", r" \1 not ", text, count=1)


def parse_triplet(prompt: str) -> str:
    """Returns the triplet of a prompt; empty without one."""
    return prompt.partition("Knowledge triplet: ")[2]


def write_lines(prompt: str, number: int) -> str:
    """Returns this number of lines about the triplet of a prompt."""
    return "\n".join(f"{parse_triplet(prompt).strip('()')} in words number {n}." for n in range(number))


DRAFTED_SENTENCES = (
    "[Y] is used to prevent [X].",
    "Drugs and nutrients used to prevent [X] include [Y].",
    "In patients at risk of [X], [Y] is used to prevent it.",
    "[X] is one of the conditions which [Y] is used to prevent in patients.",
    "[Y] is not used to prevent [X].",
    "Drugs and nutrients used to prevent [X] do not include [Y].",
    "In patients at risk of [X], [Y] is not used to prevent it.",
    "[X] is not one of the conditions which [Y] is used to prevent in patients.",
)
"""Prototypes that a language model drafts."""

TYPED_SENTENCES = dict(
    zip(
        FORMS,
        (
            "[Y] is used to relieve [X].",
            "[X] is relieved with [Y].",
            "In patients at risk, [Y] is used to relieve [X].",
            "[X] is one of the conditions for which [Y] is used as relief.",
            "[Y] is not used to relieve [X].",
            "[X] is not relieved with [Y].",
            "In patients at risk, [Y] is not used to relieve [X].",
            "[X] is not one of the conditions for which [Y] is used as relief.",
        ),
        strict=True,
    )
)
"""Form → prototype that a person types in the studio."""

RELATION = "is relieved by"
