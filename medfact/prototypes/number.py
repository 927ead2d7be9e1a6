"""Whether a name is in the plural: by its head noun, its ending, and lists of what English and Latin endings get wrong.

Only names that `vocabulary.csv` does not list are judged here: those of users' own tables. In doubt a name is singular.
"""

from __future__ import annotations

import re
from pathlib import Path

import yaml

_AFTER_HEAD = re.compile(
    r"\s(?:of|in|with|without|on|at|from|for|during|after|before|following|to|by|under|over|between|per|due|secondary|caused|"
    r"induced|triggered|involving|affecting|that|which|nos)(?:\s|$)|(?<=difficulty)\s|(?<=trouble)\s",
    re.IGNORECASE,
)
"""What ends a head noun: "shortness of breath" is singular, "changes in vision" plural."""

_WORDS = {
    name: frozenset(words.split())
    for name, words in yaml.safe_load(Path(__file__).with_name("number.yaml").read_text(encoding="utf-8")).items()
}

_SINGULAR_ENDINGS = re.compile(r"(?:ss|us|is|os|monas|myces|oides|ans|dens|lens|rens|mens|[^aeo]ys)$")
"""As in tetanus, sclerosis, polyhydramnios, Pseudomonas, Actinomyces, acanthosis nigricans, delirium tremens, synophrys."""


def is_plural(name: str) -> bool:
    """Whether a verb after this name is in the plural: "scaly plaques are", "diabetes is"."""
    bare = re.split(r"[(\[]", name, maxsplit=1)[0].rstrip()
    head = _AFTER_HEAD.split(bare, maxsplit=1)[0]
    first, *further = re.split(r"\s(?:and|&)\s|[,;/]\s?", head)
    if not further:
        return _ends_in_plural(first)
    return _ends_in_plural(further[-1]) or (_ends_in_plural(first) and " " not in further[-1].strip())


def _ends_in_plural(phrase: str) -> bool:
    """Whether the last word of a phrase is a noun in the plural."""
    words = re.findall(r"[\w'’-]+", phrase)
    return bool(words) and _is_plural_word(words[-1].rpartition("-")[2], alone_in_capitals=phrase.upper() != phrase)


def _is_plural_word(word: str, alone_in_capitals: bool) -> bool:
    if re.fullmatch(r"[A-Z0-9]{2,}s", word):
        return True  # NSAIDs
    if "'" in word or "’" in word or len(word) < 4 or (word.isupper() and (alone_in_capitals or len(word) < 6)):
        return False  # Crohn's; ear's; AIDS
    word = word.lower()
    if word in _WORDS["irregular"] | _WORDS["plural"] or word.endswith("omata"):
        return True
    if word.endswith("ae"):
        return word not in _WORDS["genitives"]
    return word.endswith("s") and word not in _WORDS["singular"] and not _SINGULAR_ENDINGS.search(word)
