"""What a rephrasing changed, word by word, for people to see."""

from __future__ import annotations

from difflib import SequenceMatcher

KEPT, LEFT_OUT, ADDED = "kept", "left out", "added"

Marks = tuple[tuple[str, str], ...]
"""Pieces of two texts in order: (KEPT, LEFT_OUT or ADDED; the words)."""


def marks(before: str, after: str) -> Marks:
    """The words of two texts: those of both, those of the first alone, those of the second alone."""
    old, new = before.split(), after.split()
    pieces: list[tuple[str, str]] = []
    for what, i, j, k, m in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if what == "equal":
            pieces.append((KEPT, " ".join(old[i:j])))
            continue
        pieces += [(LEFT_OUT, " ".join(old[i:j]))] if j > i else []
        pieces += [(ADDED, " ".join(new[k:m]))] if m > k else []
    return tuple(pieces)
