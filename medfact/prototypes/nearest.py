"""Help for a relation of users' facts that a pool lacks: similar relations of the pool, and sentences made from its name."""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from medfact.assets import table_words
from medfact.datasets.semantic_types import type_fit
from medfact.facts import Fact, fold_text
from medfact.prototypes.pool import Pool, fill_slots, split_words

WEIGHT_OF_WORDS = 2.0
"""Score of a word that only one relation has; entity types that fit perfectly score 1."""

_MAX_PAIRS = 200
"""Maximum number of facts whose names are looked up."""

_WORD = re.compile(r"[^\W\d_]+")


@dataclass(frozen=True)
class RelationCandidate:
    """A relation of the pool, or its inverse, that a user's relation may mean."""

    relation: str  # the pool's name
    name: str  # the same, or a name of the inverse
    text: str  # the relation's description, filled with head and tail of a user's fact
    head_kind: str  # of the user's heads, as of `entity_kind`
    score: float  # 0 or more, as of `suggest_relations`
    is_inverted: bool  # True if the name is the inverse's


def suggest_relations(pool: Pool, facts: Sequence[Fact]) -> list[RelationCandidate]:
    """Lists the relations of a pool, and their inverses, that the relation of a user's facts may mean, best first.

    The score adds two terms. The first counts words shared with the relation's names and its keywords in five languages,
    weighted by rarity. The second measures how well the entity types of heads and tails fit. facts: one or more, all of one
    relation.
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
    candidates: list[RelationCandidate] = []
    for relation in pool.relations.values():
        score = WEIGHT_OF_WORDS * sum(1 / frequency[stem] for stem in relation_stems & stems[relation.name])
        text = " ".join(fill_slots(relation.description, head, tail).split())
        fit = type_fit(pairs, relation.name)
        candidates.append(
            RelationCandidate(relation.name, relation.name, text, entity_kind(relation.head), score + fit, is_inverted=False)
        )
        for name in relation.inverse[:1]:
            text = " ".join(fill_slots(relation.description, tail, head).split())
            fit = type_fit([pair[::-1] for pair in pairs], relation.name)
            candidates.append(
                RelationCandidate(relation.name, name, text, entity_kind(relation.tail), score + fit, is_inverted=True)
            )
    return sorted(candidates, key=lambda candidate: -candidate.score)


def best_candidates(candidates: Sequence[RelationCandidate], number: int = 3) -> list[RelationCandidate]:
    """Selects up to `number` candidates with a positive score, each relation in only one direction. candidates: best first."""
    best: dict[str, RelationCandidate] = {}
    for candidate in candidates:
        if candidate.score > 0:
            best.setdefault(candidate.relation, candidate)
    return [*best.values()][:number]


def relation_hint(pool: Pool, facts: Sequence[Fact]) -> str:
    """Hint for users of the command line: options that map the relation of their facts to one of the pool."""
    relation, names = facts[0].relation, [candidate.name for candidate in best_candidates(suggest_relations(pool, facts))]
    names = names or [*pool.relations][:3]
    column = f'--column "relation:{relation}=={names[0]}"'
    return (
        f"If “{relation}” means {', '.join(names[:-1])} or {names[-1]}, say so, as in {column}; else write sentences for it: "
        "on the page Evaluate, or in a file for --pool."
    )


def entity_kind(type_label: str) -> str:
    """Coarse kind of an entity type, such as "condition" for "diseases"; "" if it is not listed."""
    words = f" {' '.join(type_label.casefold().split())} "
    kinds = table_words()["kinds"].items()
    return next((kind for kind, terms in kinds if any(f" {term} " in words for term in terms)), "")


def _stems(texts: Iterable[str]) -> frozenset[str]:
    """Extracts stems by which names of relations are compared: first six letters of content words; for Chinese, bigrams."""
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


def generic_sentences(relation: str, head_kind: str = "") -> tuple[str, ...]:
    """Generates four equivalent prototypes from the name of a relation: plain, inverted, about a patient, and both.

    Each can be negated. head_kind: as of `entity_kind`.
    """
    split = split_words(relation.replace("_", " ")).split()
    words = " ".join(word if word[:2].isupper() else word[:1].lower() + word[1:] for word in split)
    phrase = _AUXILIARY.sub("", words, count=1) if _AUXILIARY.match(words) else words
    preposition_match = _NOUN_AND_PREPOSITION.fullmatch(phrase)
    patients, head_noun = ("In patients who take [X]", "drug") if head_kind == "drug" else ("In patients with [X]", "condition")
    is_passive = preposition_match and not _ARTICLE.match(phrase) and (phrase != words or _PARTICIPLE.match(phrase))
    if is_passive or (phrase == words and _VERB.match(words)):
        whole, end = (f"is {phrase}", f"is {phrase}") if is_passive else (f"is something that {phrase}", phrase)
        return (
            f"[X] {whole} [Y].",
            f"[Y] is one of the things that [X] {end}.",
            f"{patients}, the {head_noun} {whole} [Y].",
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
        f"{patients}, [Y] is {noun} of the {head_noun}.",
        f"[X] is one of the {head_noun}s of which [Y] is {noun} in patients.",
    )
