"""Sentences that a language model drafts."""

from __future__ import annotations

GOOD = (
    "[Y] is used to prevent [X].",
    "Drugs and nutrients used to prevent [X] include [Y].",
    "In patients at risk of [X], [Y] is used to prevent it.",
    "[X] is one of the conditions which [Y] is used to prevent in patients.",
    "[Y] is not used to prevent [X].",
    "Drugs and nutrients used to prevent [X] do not include [Y].",
    "In patients at risk of [X], [Y] is not used to prevent it.",
    "[X] is not one of the conditions which [Y] is used to prevent in patients.",
)
