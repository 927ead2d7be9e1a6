"""Services that rephrase and write, well and badly."""

from __future__ import annotations

import re

SYNONYMS = (
    (" used to treat ", " used in treating "),
    ("a recognized symptom", "a known symptom"),
    ("Recognized symptoms", "Known symptoms"),
    ("performed to treat", "carried out to treat"),
    ("one of the conditions", "among the conditions"),
)


def statement_in(prompt: str) -> str:
    return prompt.partition("Statement: ")[2].partition("\n")[0]


def faithful(prompt: str) -> str:
    text = statement_in(prompt)
    return next((text.replace(old, new) for old, new in SYNONYMS if old in text), text)


def denied(text: str) -> str:
    return text.replace(" not", "", 1) if " not" in text else re.sub(r" (is|are|include|affects?) ", r" \1 not ", text, count=1)


def triplet_in(prompt: str) -> str:
    return prompt.partition("Knowledge triplet: ")[2]


def lines_about(prompt: str, number: int) -> str:
    return "\n".join(f"{triplet_in(prompt).strip('()')} in words number {n}." for n in range(number))
