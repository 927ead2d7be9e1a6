"""Candidate relations for a relation without sentences, and generic sentences made from its name."""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from medfact.assets import table_words
from medfact.datasets.semantic_types import type_fit
from medfact.facts import Fact, fold_text
from medfact.prototypes.pool import Pool, fill, split_words

WEIGHT_OF_WORDS = 2.0
"""Weight of a word that hints at only one relation, compared to names that all have the right kinds."""

_MAX_PAIRS = 200
"""Facts whose names are looked up."""

_WORD = re.compile(r"[^\W\d_]+")


@dataclass(frozen=True)
class RelationCandidate:
    """A relation of the pool that a user's relation may mean."""

    relation: str
    name: str  # the relation, or a name of its inverse
    text: str  # the relation's description, filled with the names of a fact
    about: str  # the kind of the heads, such as condition or drug; "" for any other
    score: float
    is_inverted: bool  # true if head and tail of the facts would be exchanged


def rank_relations(pool: Pool, facts: Sequence[Fact]) -> list[RelationCandidate]:
    """Ranks all relations of a pool, and their inverses, as the meaning of the relation of some facts, best first.

    The score adds two parts: words shared with the names of the pool's relations and with hints in five languages, and the
    kinds of things that the facts' names are known as.
    """
    pairs = [(fact.head, fact.tail or "") for fact in facts[:_MAX_PAIRS]]
    head, tail = f"“{facts[0].head}”", f"“{facts[0].tail}”"
    words = table_words()["relations"]
    stems = {
        name: _stems([name, *relation.aliases, *relation.inverse, *words.get(name, {}).get("hints", ())])
        for name, relation in pool.relations.items()
    }
    frequency = Counter(stem for relation_stems in stems.values() for stem in relation_stems)
    relation_stems = _stems([facts[0].relation])
    readings: list[RelationCandidate] = []
    for relation in pool.relations.values():
        score = WEIGHT_OF_WORDS * sum(1 / frequency[stem] for stem in relation_stems & stems[relation.name])
        text = " ".join(fill(relation.description, head, tail).split())
        fit = type_fit(pairs, relation.name)
        readings.append(
            RelationCandidate(relation.name, relation.name, text, thing_kind(relation.head), score + fit, is_inverted=False)
        )
        for name in relation.inverse[:1]:
            text = " ".join(fill(relation.description, tail, head).split())
            fit = type_fit([pair[::-1] for pair in pairs], relation.name)
            readings.append(
                RelationCandidate(relation.name, name, text, thing_kind(relation.tail), score + fit, is_inverted=True)
            )
    return sorted(readings, key=lambda reading: -reading.score)


def best_candidates(readings: Sequence[RelationCandidate], number: int = 3) -> list[RelationCandidate]:
    """The best of sorted readings with a positive score, each relation in only one direction."""
    best: dict[str, RelationCandidate] = {}
    for reading in readings:
        if reading.score > 0:
            best.setdefault(reading.relation, reading)
    return [*best.values()][:number]


def nearest_hint(pool: Pool, facts: Sequence[Fact]) -> str:
    """The hint for the command line that shows how to declare the meaning of the relation of some facts."""
    relation, names = facts[0].relation, [reading.name for reading in best_candidates(rank_relations(pool, facts))]
    names = names or [*pool.relations][:3]
    column = f'--column "relation:{relation}=={names[0]}"'
    return (
        f"If “{relation}” means {', '.join(names[:-1])} or {names[-1]}, say so, as in {column}; else write sentences for it: "
        "on the page Evaluate, or in a file for --pool."
    )


def thing_kind(thing: str) -> str:
    """The kind of a thing, such as condition or drug; "" for any other."""
    kinds = table_words()["kinds"].items()
    return next((kind for kind, named in kinds if not set(thing.casefold().split()).isdisjoint(named)), "")


def _stems(texts: Iterable[str]) -> frozenset[str]:
    """The first six letters of each word that may hint at a relation; of Chinese, each bigram of characters."""
    words = [word for text in texts for word in _WORD.findall(fold_text(split_words(text)))]
    linking = table_words()["linking"]
    latin = {word[:6] for word in words if word.isascii() and len(word) > 3 and word not in linking}
    bigrams = {first + second for word in words if not word.isascii() for first, second in itertools.pairwise(word)}
    return frozenset(latin | bigrams)


# ------------------------------------------------------------------------------------------------ generic sentences

_AUXILIARY = re.compile(r"(?:is|are|was|were|can be|may be|be|has|have|shows) (?=.)")
_ARTICLE = re.compile(r"(?:a|an|the) ")
_NOUN_AND_PREPOSITION = re.compile(r"(.+) (by|with|for|from|in|on|through|after|before|to|of|at|against|during)")
_PARTICIPLE = re.compile(r"\w+(?:ed|en|wn|ght|ound|ung)\b")
_VERB = re.compile(r"(?!\w*(?:ss|us|is|[io]ns|ents|ors|ers|ies|nces|ics|ings|oms|gns|[st]ures|ects|ests|ds)\b)\w+s\b")


def generic_sentences(relation: str, about: str = "") -> tuple[str, ...]:
    """Generates four equivalent sentences from the name of a relation: plain, inverted, about a patient, and both.

    Each of them can be negated.

    Args:
        about: the kind of the heads.
    """
    split = split_words(relation.replace("_", " ")).split()
    words = " ".join(word if word[:2].isupper() else word[:1].lower() + word[1:] for word in split)
    phrase = _AUXILIARY.sub("", words, count=1) if _AUXILIARY.match(words) else words
    preposition_match = _NOUN_AND_PREPOSITION.fullmatch(phrase)
    patients, thing = ("In patients who take [X]", "drug") if about == "drug" else ("In patients with [X]", "condition")
    is_passive = preposition_match and not _ARTICLE.match(phrase) and (phrase != words or _PARTICIPLE.match(phrase))
    if is_passive or (phrase == words and _VERB.match(words)):
        whole, end = (f"is {phrase}", f"is {phrase}") if is_passive else (f"is something that {phrase}", phrase)
        return (
            f"[X] {whole} [Y].",
            f"[Y] is one of the things that [X] {end}.",
            f"{patients}, the {thing} {whole} [Y].",
            f"[Y] is one of the things that [X] {end} in patients.",
        )
    noun, preposition = preposition_match.groups() if preposition_match else (phrase, "of")
    noun = re.sub(r"(?<=[^sui])s$", "", re.sub(r"ies$", "y", _ARTICLE.sub("", noun, count=1)))
    noun = f"an {noun}" if noun[:1].lower() in {*"aeiou"} else f"a {noun}"
    if preposition_match:
        return (
            f"[X] is {noun} {preposition} [Y].",
            f"[Y] has [X] as {noun}.",
            f"In patients with [Y], [X] is {noun} {preposition} the condition.",
            f"[Y] is one of the conditions {preposition} which [X] is {noun} in patients.",
        )
    return (
        f"[Y] is {noun} of [X].",
        f"[X] has [Y] as {noun}.",
        f"{patients}, [Y] is {noun} of the {thing}.",
        f"[X] is one of the {thing}s of which [Y] is {noun} in patients.",
    )
