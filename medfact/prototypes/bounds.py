"""Where and of whom a fact is said, in front of its sentences: "In the United States, in pregnancy, …".

They stand before every form, affirmed and denied: a denial denies the statement, not its place. What follows goes on in small
letters, but for names.
"""

from __future__ import annotations

import re

from medfact.facts import Fact

_PREPOSITIONS = frozenset({
    "in", "during", "among", "for", "at", "after", "before", "within", "outside", "throughout", "under", "with", "without",
    "on", "from", "across",
})  # fmt: skip

_TAKES_THE = re.compile(
    r"united (?:states|kingdom|arab emirates)\b.*|european (?:union|economic area)|(?:\w+ ){0,3}republic(?: of .*)?|netherlands"
    r"|philippines|bahamas|gambia|maldives|congo|ivory coast|middle east|(?:\w+ )?americas|caribbean|tropics|sahel|balkans"
    r"|(?:\w+ )+islands|u\.?s\.?(?:a\.?)?|u\.?k\.?|e\.?u\.?|u\.?a\.?e\.?|eea",
    re.IGNORECASE,
)
"""Names of places that take an article: "in the United States", but "in Japan"."""

_PLAIN_WORD = re.compile(r"[A-Z](?=(?:[a-z]*|[a-z]+(?:-[a-z]+)+)(?:[\s,;:]|$))")
"""The capital of a sentence's first word, "First-choice" among them; not that of "E. coli", "COVID-19", "T-cell" or "HIV"."""


def bounds_before(fact: Fact) -> str:
    """What stands before a fact's sentences: "In the United States, in pregnancy, "; "" of everybody everywhere."""
    phrases = [_in(_with_article(fact.region))] if fact.region else []
    phrases += [_in(fact.population)] if fact.population else []
    if not phrases:
        return ""
    text = ", ".join(phrases)
    return f"{text[0].upper()}{text[1:]}, "


def inside(prototype: str) -> str:
    """A prototype as it goes on after a comma: its own first word small; a name in its first slot is left as it is."""
    return prototype[0].lower() + prototype[1:] if _PLAIN_WORD.match(prototype) else prototype


def _with_article(region: str) -> str:
    return f"the {region}" if _TAKES_THE.fullmatch(region) else region


def _in(text: str) -> str:
    """A place or group with the preposition that it has, or else "in"."""
    first, _, rest = text.partition(" ")
    return f"{first.lower()} {rest}" if rest and first.lower() in _PREPOSITIONS else f"in {text}"
