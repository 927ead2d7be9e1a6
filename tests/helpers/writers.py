"""Replies of models that write sentences, and sentences that a model drafts or a person types in the studio."""

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
"""(text, its replacement) with the same meaning."""


def parse_statement(prompt: str) -> str:
    """Returns the statement that a prompt asks to change; "" if it has none."""
    return prompt.partition("Statement: ")[2].partition("\n")[0]


def rephrase(prompt: str) -> str:
    """Returns the statement of a prompt, rephrased with the first of SYNONYMS that applies; unchanged if none does."""
    text = parse_statement(prompt)
    return next((text.replace(old, new) for old, new in SYNONYMS if old in text), text)


def negate(text: str) -> str:
    """Negates a statement: removes its first " not", or inserts one after its first verb, such as "is" or "include"."""
    return text.replace(" not", "", 1) if " not" in text else re.sub(r" (is|are|include|affects?) ", r" \1 not ", text, count=1)


def parse_triplet(prompt: str) -> str:
    """Returns the knowledge triplet that a prompt asks to put into words, with its parentheses; "" if it has none."""
    return prompt.partition("Knowledge triplet: ")[2]


def write_lines(prompt: str, line_count: int) -> str:
    """Returns a text of this number of lines, each a different sentence about the triplet of a prompt."""
    return "\n".join(f"{parse_triplet(prompt).strip('()')} in words number {n}." for n in range(line_count))


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
"""Prototypes of a relation that a language model drafts, in the order of FORMS."""

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
"""Relation of TYPED_SENTENCES, which no pool has."""
