"""Grammar of generated sentences: articles and number of names, agreement of verbs, and prefixes for a fact's scope.

`assets/datasets/vocabulary.csv` lists the names of the bundled data: `article` (a, an, the, or none), `number`, and `written`
for a name with another form in sentences ("joint" as "the joints"). Names of users' own tables keep their form; their number
is guessed from their ending, and is singular in doubt.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path

import yaml

from medfact.datasets.bundled import vocabulary
from medfact.facts import Fact, name_key

# ------------------------------------------------------------------------------------------------ sentences

_SLOT_OR_VERB = re.compile(r"\[(?P<slot>[XY])\]|\{(?P<singular>[^{}|]*)\|(?P<plural>[^{}|]*)\}")


@dataclass(frozen=True, slots=True)
class NounPhrase:
    """A noun phrase."""

    text: str  # a name with its article
    plural: bool


@cache
def _noun_phrases() -> dict[str, NounPhrase]:
    """Loads the vocabulary: name key → noun phrase."""
    return {
        name_key(row["name"]): NounPhrase(
            row["written"] or " ".join(filter(None, (row["article"], row["name"]))), row["number"] == "plural"
        )
        for row in vocabulary()
    }


@lru_cache(maxsize=1 << 17)
def noun_phrase(name: str) -> NounPhrase:
    """Looks up the noun phrase of a name in the vocabulary. A name that is not listed gets no article, and a guessed number."""
    return _noun_phrases().get(name_key(name)) or NounPhrase(name, is_plural(name))


def render_sentence(prototype: str, head: str, tail: str, prefix: str = "") -> str:
    """Fills a prototype with noun phrases and capitalizes the sentence.

    `{is|are}` agrees with the name before it. Slots are filled in one pass: a name may itself contain [X].

    Args:
        prefix: text in front of the sentence, such as `scope_prefix(fact)`.
    """
    x, y = noun_phrase(head), noun_phrase(tail)
    filled = prefix + _format_string(prototype, x.plural, y.plural) % {"X": x.text, "Y": y.text}
    return filled[:1].upper() + filled[1:]


@lru_cache(maxsize=1 << 12)
def _format_string(prototype: str, x_is_plural: bool, y_is_plural: bool) -> str:
    """Converts a prototype to a format string with `%(X)s` and `%(Y)s`, with verbs that agree with the name before them."""
    is_plural, subject = {"X": x_is_plural, "Y": y_is_plural}, "X"
    parts, end = [], 0
    for match in _SLOT_OR_VERB.finditer(prototype):
        parts.append(prototype[end : match.start()].replace("%", "%%"))
        if match["slot"]:
            subject = match["slot"]
            parts.append(f"%({subject})s")
        else:
            parts.append(match["plural" if is_plural[subject] else "singular"].replace("%", "%%"))
        end = match.end()
    return "".join([*parts, prototype[end:].replace("%", "%%")])


# ------------------------------------------------------------------------------------------------ number of names

_AFTER_HEAD_NOUN = re.compile(
    r"\s(?:of|in|with|without|on|at|from|for|during|after|before|following|to|by|under|over|between|per|due|secondary|caused|"
    r"induced|triggered|involving|affecting|that|which|nos)(?:\s|$)|(?<=difficulty)\s|(?<=trouble)\s",
    re.IGNORECASE,
)
"""End of the head noun in a name. It has the name's number: "shortness of breath" is singular, "changes in vision" plural."""

_EXCEPTIONS = {
    name: frozenset(words.split())
    for name, words in yaml.safe_load(Path(__file__).with_name("number.yaml").read_text(encoding="utf-8")).items()
}
"""Kind of exception → words whose number does not follow from their English or Latin ending."""

_SINGULAR_ENDINGS = re.compile(r"(?:ss|us|is|os|monas|myces|oides|ans|dens|lens|rens|mens|[^aeo]ys)$")
"""Singular endings in s: tetanus, sclerosis, polyhydramnios, Pseudomonas, acanthosis nigricans, delirium tremens, synophrys."""


def is_plural(name: str) -> bool:
    """Returns True if a name takes a plural verb: "scaly plaques are", but "diabetes is"."""
    bare = re.split(r"[(\[]", name, maxsplit=1)[0].rstrip()
    head_noun = _AFTER_HEAD_NOUN.split(bare, maxsplit=1)[0]
    first, *others = re.split(r"\s(?:and|&)\s|[,;/]\s?", head_noun)
    if not others:
        return _ends_in_plural(first)
    return _ends_in_plural(others[-1]) or (_ends_in_plural(first) and " " not in others[-1].strip())


def _ends_in_plural(phrase: str) -> bool:
    """Returns True if the last word of a phrase is a plural noun."""
    words = re.findall(r"[\w'’-]+", phrase)
    return bool(words) and _is_plural_word(words[-1].rpartition("-")[2], is_in_mixed_case=phrase.upper() != phrase)


def _is_plural_word(word: str, is_in_mixed_case: bool) -> bool:
    """Returns True if a noun is plural. is_in_mixed_case: its phrase is not all capitals."""
    if re.fullmatch(r"[A-Z0-9]{2,}s", word):
        return True  # NSAIDs
    if "'" in word or "’" in word or len(word) < 4 or (word.isupper() and (is_in_mixed_case or len(word) < 6)):
        return False  # Crohn's; ear's; AIDS
    word = word.lower()
    if word in _EXCEPTIONS["irregular"] | _EXCEPTIONS["plural"] or word.endswith("omata"):
        return True
    if word.endswith("ae"):
        return word not in _EXCEPTIONS["genitives"]
    return word.endswith("s") and word not in _EXCEPTIONS["singular"] and not _SINGULAR_ENDINGS.search(word)


# ------------------------------------------------------------------------------------------------ scope: region, population

_PREPOSITIONS = frozenset({
    "in", "during", "among", "for", "at", "after", "before", "within", "outside", "throughout", "under", "with", "without",
    "on", "from", "across",
})  # fmt: skip

_PLACE_WITH_ARTICLE = re.compile(
    r"united (?:states|kingdom|arab emirates)\b.*|european (?:union|economic area)|(?:\w+ ){0,3}republic(?: of .*)?|netherlands"
    r"|philippines|bahamas|gambia|maldives|congo|ivory coast|middle east|(?:\w+ )?americas|caribbean|tropics|sahel|balkans"
    r"|(?:\w+ )+islands|u\.?s\.?(?:a\.?)?|u\.?k\.?|e\.?u\.?|u\.?a\.?e\.?|eea",
    re.IGNORECASE,
)
"""Names of places that take an article: "in the United States", but "in Japan"."""

_ORDINARY_CAPITAL = re.compile(r"[A-Z](?=(?:[a-z]*|[a-z]+(?:-[a-z]+)+)(?:[\s,;:]|$))")
"""Capital of a first word that can be in lower case, such as "First-choice"; not of "E. coli", "COVID-19", "T-cell", "HIV"."""


def scope_prefix(fact: Fact) -> str:
    """Prefix of a fact's sentences with its region and population, "In the United States, in pregnancy, "; "" without either.

    Negated forms have the same prefix as affirmed ones: they do not negate the scope.
    """
    region = f"the {fact.region}" if _PLACE_WITH_ARTICLE.fullmatch(fact.region or "") else fact.region
    prefix = ", ".join(_with_preposition(text) for text in (region, fact.population) if text)
    return prefix and f"{prefix[0].upper()}{prefix[1:]}, "


def decapitalize(prototype: str) -> str:
    """Puts the first word of a prototype in lower case, so that it can follow a prefix; a slot or name stays unchanged."""
    return prototype[0].lower() + prototype[1:] if _ORDINARY_CAPITAL.match(prototype) else prototype


def _with_preposition(text: str) -> str:
    """Puts "in" before a region or population, unless it begins with a preposition."""
    first, _, rest = text.partition(" ")
    return f"{first.lower()} {rest}" if rest and first.lower() in _PREPOSITIONS else f"in {text}"
