"""The known relations that a relation without sentences may mean, and sentences of its own to begin from."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from medfact.assets import table_words
from medfact.datasets.elsewhere import fit_of
from medfact.facts import Fact, spelled
from medfact.prototypes.pool import Pool, fill, split_words

WEIGHT_OF_WORDS = 2.0
"""Weight of a word that hints at one relation alone, against names that are all of the right kinds."""

_WORD = re.compile(r"[^\W\d_]+")


@dataclass(frozen=True)
class Reading:
    """A known relation that another may mean.

    name: the relation, or a name of it from its other end.
    text: its description with the names of a fact.
    about: the kind of thing that the heads would be, such as condition or drug; "" for any other.
    is_turned: whether the facts would have head and tail exchanged.
    """

    relation: str
    name: str
    text: str
    about: str
    score: float
    is_turned: bool


def readings_of(pool: Pool, facts: Sequence[Fact]) -> list[Reading]:
    """All readings of the relation that some facts have, the likeliest first: by its words against the names of the pool's
    relations and hints in five languages, and by the kinds of things that the facts' names are known as.
    """
    head, tail = f"“{facts[0].head}”", f"“{facts[0].tail}”"
    pairs = [(fact.head, fact.tail or "") for fact in facts[:200]]  # whose names are looked up
    exchanged = [(there, here) for here, there in pairs]
    hinting = table_words()["relation_hints"]
    words = {
        one.name: _stems([one.name, *one.aliases, *one.inverse, *hinting.get(one.name, ())]) for one in pool.relations.values()
    }
    often = Counter(word for of in words.values() for word in of)
    asked = _stems([facts[0].relation])
    readings: list[Reading] = []
    for one in pool.relations.values():
        hints = WEIGHT_OF_WORDS * sum(1 / often[word] for word in asked & words[one.name])
        ends = [
            (one.name, one.head, pairs, (head, tail)),
            *((name, one.tail, exchanged, (tail, head)) for name in one.inverse[:1]),
        ]
        for name, about, named, shown in ends:
            text = " ".join(fill(one.description, *shown).split())
            readings.append(Reading(one.name, name, text, kind_of(about), hints + fit_of(named, one.name), name != one.name))
    return sorted(readings, key=lambda reading: -reading.score)


def likeliest(readings: Sequence[Reading], number: int = 3) -> list[Reading]:
    """The likeliest of sorted readings, each relation from one end alone; none for which nothing speaks."""
    best: dict[str, Reading] = {}
    for reading in readings:
        if reading.score > 0:
            best.setdefault(reading.relation, reading)
    return [*best.values()][:number]


def nearest_hint(pool: Pool, facts: Sequence[Fact]) -> str:
    """How the command line is told what the relation of some facts means."""
    relation, names = facts[0].relation, [reading.name for reading in likeliest(readings_of(pool, facts))]
    names = names or [*pool.relations][:3]
    column = f'--column "relation:{relation}=={names[0]}"'
    return (
        f"If “{relation}” means {', '.join(names[:-1])} or {names[-1]}, say so, as in {column}; else write sentences for it: "
        "on the page Evaluate, or in a file for --pool."
    )


def kind_of(thing: str) -> str:
    """The kind of a thing, such as condition or drug; "" for any other."""
    kinds = table_words()["kinds"].items()
    return next((kind for kind, named in kinds if not set(thing.casefold().split()).isdisjoint(named)), "")


def _stems(texts: Iterable[str]) -> frozenset[str]:
    """The first six letters of each word that may hint at a relation; of Chinese, each two signs that stand together."""
    words = [word for text in texts for word in _WORD.findall(spelled(split_words(text)))]
    linking = table_words()["relation_hints"]["linking"]
    latin = {word[:6] for word in words if word.isascii() and len(word) > 3 and word not in linking}
    return frozenset(latin | {word[at : at + 2] for word in words if not word.isascii() for at in range(len(word) - 1)})


# ------------------------------------------------------------------------------------------------ sentences to begin from

_HELPING = re.compile(r"(?:is|are|was|were|can be|may be|be|has|have|shows) (?=.)")
_ARTICLE = re.compile(r"(?:a|an|the) ")
_OPEN = re.compile(r"(.+) (by|with|for|from|in|on|through|after|before|to|of|at|against|during)")
_PARTICIPLE = re.compile(r"\w+(?:ed|en|wn|ght|ound|ung)\b")
_VERB = re.compile(r"(?!\w*(?:ss|us|is|[io]ns|ents|ors|ers|ies|nces|ics|ings|oms|gns|[st]ures|ects|ests|ds)\b)\w+s\b")


def begun_sentences(relation: str, about: str = "") -> tuple[str, ...]:
    """Four sentences with the words of a relation: plain, from the other end, about a patient, and both. They say the same, and
    each can be denied. about: the kind of the heads.
    """
    split = split_words(relation.replace("_", " ")).split()
    words = " ".join(word if word[:2].isupper() else word[:1].lower() + word[1:] for word in split)
    phrase = _HELPING.sub("", words, count=1) if _HELPING.match(words) else words
    open_end = _OPEN.fullmatch(phrase)
    patients, thing = ("In patients who take [X]", "drug") if about == "drug" else ("In patients with [X]", "condition")
    is_passive = open_end and not _ARTICLE.match(phrase) and (phrase != words or _PARTICIPLE.match(phrase))
    if is_passive or (phrase == words and _VERB.match(words)):
        whole, end = (f"is {phrase}", f"is {phrase}") if is_passive else (f"is something that {phrase}", phrase)
        return (
            f"[X] {whole} [Y].",
            f"[Y] is one of the things that [X] {end}.",
            f"{patients}, the {thing} {whole} [Y].",
            f"[Y] is one of the things that [X] {end} in patients.",
        )
    noun, preposition = open_end.groups() if open_end else (phrase, "of")
    noun = re.sub(r"(?<=[^sui])s$", "", re.sub(r"ies$", "y", _ARTICLE.sub("", noun, count=1)))
    noun = f"an {noun}" if noun[:1].lower() in {*"aeiou"} else f"a {noun}"
    if open_end:
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
