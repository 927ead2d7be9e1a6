"""Whether a rephrased sentence still makes the claim of its prototype. A guard stops a sentence when in doubt.

Of 680 rephrasings published with PretextTrans, at least 30 change the claim: another drug, a lost or added "not", a stronger
verb. No model is asked here: the guards compare words. The names of the fact are masked: "non-small cell" is no denial.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path

import yaml

from medfact.prototypes.grammar import noun_phrase

HEAD, TAIL = "⟦head⟧", "⟦tail⟧"
ARTICLES = ("a", "an", "the")
FEWEST_TIMES, MOST_TIMES = 0.5, 2.0
"""A rephrasing has between half and twice the prototype's words."""

MOST_CHARACTERS = 2_000
"""A longer reply is no rephrasing: it is not read further."""

REASONS = {
    "empty": "nothing was written",
    "length": "it is less than half or more than twice as long",
    "sentences": "it is not one statement of one sentence",
    "entity": "the name of the condition or of the finding is missing or changed",
    "bounds": "it leaves out the place, or the people, that the fact is said of",
    "other entity": "it names something else that is known",
    "repeated": "it names the condition or the finding more often than its prototype",
    "negation": "it denies what the prototype affirms, or affirms what that denies",
    "strength": "it claims more or less (always, can, should, only, best)",
    "qualifier": "it adds or drops a restriction (severe, children, first, a number)",
    "relation": "it links the two in another way, or the other way round",
    "explanation": "it explains or gives examples",
    "entailment": "a model for inference finds that it says something else",
}
"""Why a sentence is stopped, in the order in which the guards look; the last one looks only where a writing names its model."""


def _pattern(words: Iterable[str]) -> re.Pattern[str]:
    """A pattern of whole words; a trailing * leaves the ending open."""
    alternatives = (re.escape(word).replace(r"\*", r"\w*").replace(r"\ ", r"\s+") for word in words)
    return re.compile(rf"(?<![\w-])(?:{'|'.join(alternatives)})(?![\w-])", re.IGNORECASE)


_CUES = yaml.safe_load(Path(__file__).with_name("cues.yaml").read_text(encoding="utf-8"))
_DENIALS, _QUALIFIERS = _pattern(_CUES["denials"]), _pattern(_CUES["qualifiers"])
_STRENGTHS = {name: _pattern(words) for name, words in _CUES["strengths"].items()}
_EQUIVALENTS = [(re.compile(pattern, re.IGNORECASE), replacement) for pattern, replacement in _CUES["equivalents"]]
_ADVERBS = re.compile(r"\b[a-z]+ly\b", re.IGNORECASE)
_NEUTRAL_ADVERBS = frozenset({"surgically", "medically", "clinically", "namely", "family", "likely"})
_LINKS = {name: _pattern(words) for name, words in _CUES["links"].items()}
_EXPLAINS = re.compile(
    r"\b(?:because|since|therefore|thus|hence|meaning|which means|(?:,|-)\s*that is|i\.e|e\.g|for example|for instance|such as|"
    r"in other words|due to the fact|as it|so that|thereby|namely|including but|note that|please|paraphras\w*|rephras\w*|"
    r"statement|sentence|"
    r"here is|demonstrat\w*|opposite|original|direction)\b|[():;\[\]{}\n]|https?:|^\s*\w+,\s",
    re.IGNORECASE,
)
_ALLOWED_LINKS = {
    "treat": {"treat", "relieve", "operate"},
    "operate": {"operate", "treat"},
    "symptom": {"symptom", "associate"},
    "affect": {"affect"},
    "cause": {"cause"},
}
"""Link of the prototype → what a rephrasing may call it as well. Other links may stand only if the prototype has them."""

_QUOTES = "\"'“”‘’«»`*_ \t\r\n"
_BEFORE_A_NAME = r"(?:(?:a|an|the|patients|people|individuals|those|with|who|have|which)\s+){0,9}"
_TARGETS = re.compile(
    rf"\b(?P<link>\w+)\s+(?:\w+\s+){{0,2}}?(?P<by>of|for|by|with|from)\s+{_BEFORE_A_NAME}(?P<to>{HEAD}|{TAIL})"
)
"""A link, and the name that it goes to: "symptom or sign of [head]", "conditions of which [tail]"."""
_PEOPLE = r"(?:patients?|people|persons?|individuals?|someone|somebody|those|they|he|she|their|his|her)"
_MENTIONS_PEOPLE = re.compile(rf"\b{_PEOPLE}\b", re.IGNORECASE)
_CONDITIONAL = re.compile(r"\b(?:if|when|whenever|provided|assuming|should)\b", re.IGNORECASE)
_GIVEN = re.compile(
    rf"\b{_PEOPLE}\s+(?:who\s+|that\s+)?(?:with|has|have|had|having|show\w*|experienc\w+|suffer\w*|diagnosed|exhibit\w*|present\w*|display\w*|report\w*)\s+"
    rf"(?:[\w’']+\s+){{0,4}}?(?P<to>{HEAD}|{TAIL})",
    re.IGNORECASE,
)
"""What a patient is said to have before anything follows from it: "a patient with symptoms of [tail]"."""
_WITHIN = re.compile(rf"\b(?:included|contained|located|found)\s+(?:in|within)\s+(?:(?:a|an|the)\s+)?(?:{HEAD}|{TAIL})")
_VERBS = r"(?P<link>treats?|affects?|causes?|prevents?|encodes?)"
_OBJECTS = re.compile(rf"\b{_VERBS}\s+(?:(?:a|an|the)\s+)?(?P<to>{HEAD}|{TAIL})")
_SUBJECTS = re.compile(rf"(?P<of>{HEAD}|{TAIL})\s+(?:(?:does|do|can|may)\s+)?(?:not\s+)?{_VERBS}\b")
"""A verb with the name that it acts on, and with the name that acts."""


Names = tuple[str, ...]


@dataclass(frozen=True)
class Claim:
    """What a sentence must still say.

    text:        the prototype with its names filled in.
    head, tail:  every name under which each may stand; the first is the one in the text.
    other_names: names of other things that are known.
    forms:       the fact in all its ways of asking: they tell which name a link may go to.
    bounds:      the place and the people that the fact is said of, where it is bound: they stay, or another fact is stated.
    """

    text: str
    head: Names
    tail: Names
    other_names: frozenset[str] = frozenset()
    forms: tuple[str, ...] = ()
    bounds: Names = ()

    @cached_property
    def masked(self) -> str:
        return _plain(masked(self.text, self.head, self.tail))


def names_in_a_sentence(name: str) -> Names:
    """A name as it is, and as it stands in the project's own sentences without its article."""
    text = noun_phrase(name).text
    article, _, rest = text.partition(" ")
    return tuple(dict.fromkeys((rest if article in ARTICLES and rest else text, name)))


def cleaned(reply: str) -> str:
    """A reply without stray escapes, marks of emphasis and quotation marks around it."""
    text = reply.replace("\\n", "\n").replace('\\"', '"').replace("\\'", "'").replace("\\_", "_").replace("**", "")
    text = text.strip(_QUOTES)
    return " ".join(text.split(" ")) if text else ""


def why_stopped(reply: str, claim: Claim) -> str | None:
    """The first of REASONS for which a cleaned reply is not used, or None if it is."""
    if not reply:
        return "empty"
    if len(reply) > MOST_CHARACTERS:
        return "length"
    text = _plain(masked(reply, claim.head, claim.tail))
    for reason, broken in _GUARDS.items():
        if broken(text, claim):
            return reason
    return None


def masked(text: str, head: Sequence[str], tail: Sequence[str]) -> str:
    """The text with a mark for every whole name, longer names first."""
    marks = [(name, HEAD) for name in head] + [(name, TAIL) for name in tail]
    for name, mark in sorted(marks, key=lambda pair: -len(pair[0])):
        text = _name(name).sub(mark, text)
    return text


def _plain(text: str) -> str:
    """A masked text in which one phrase stands for all that say the same: "not likely" for "unlikely"."""
    for pattern, replacement in _EQUIVALENTS:
        text = pattern.sub(replacement, text)
    return text


@lru_cache(maxsize=1 << 14)
def _name(name: str) -> re.Pattern[str]:
    """A name as whole words, in any case, with or without the plural's ending."""
    spaced = r"\s+".join(map(re.escape, name.split()))
    return re.compile(rf"(?<![\w-]){spaced}(?:s|es)?(?![\w-])(?!\u2019s\b|'s\b)", re.IGNORECASE)


def _sentences(text: str, claim: Claim) -> bool:
    ends = re.findall(r"[.!?](?=\s|$)", text)
    return len(ends) > 1 or (bool(ends) and not text.rstrip().endswith(".")) or any(mark in text for mark in "?!\n")


def _entity(text: str, claim: Claim) -> bool:
    return any(mark in claim.masked and mark not in text for mark in (HEAD, TAIL))


def _bounds(text: str, claim: Claim) -> bool:
    return any(not _name(bound).search(text) for bound in claim.bounds)


def _repeated(text: str, claim: Claim) -> bool:
    return any(text.count(mark) > max(1, claim.masked.count(mark)) for mark in (HEAD, TAIL))


def _other_entity(text: str, claim: Claim) -> bool:
    there = claim.masked.casefold()
    return any(name.casefold() not in there for name in _known_in(text, claim.other_names))


def _known_in(text: str, names: Iterable[str]) -> Iterable[str]:
    """The names that stand in a text as whole words. Looked up word by word: there may be thousands."""
    words = re.findall(r"[\w'-]+", text.casefold())
    known = names if isinstance(names, frozenset) else frozenset(names)
    for first in range(len(words)):
        for last in range(first + 1, min(first + 7, len(words)) + 1):
            name = " ".join(words[first:last])
            if name in known or (name.endswith("s") and name[:-1] in known):
                yield name


def _length(text: str, claim: Claim) -> bool:
    ratio = len(text.split()) / len(claim.masked.split())
    return not FEWEST_TIMES <= ratio <= MOST_TIMES


def _negation(text: str, claim: Claim) -> bool:
    return denials_in(text) != denials_in(claim.masked)


def denials_in(text: str) -> int:
    """How often a text denies something."""
    return len(_DENIALS.findall(text))


def _strength(text: str, claim: Claim) -> bool:
    return any(bool(words.search(text)) != bool(words.search(claim.masked)) for words in _STRENGTHS.values())


def _qualifier(text: str, claim: Claim) -> bool:
    def found(of: str) -> Counter[str]:
        return Counter(word.casefold() for word in (*_QUALIFIERS.findall(of), *re.findall(r"\d+", of)))

    adverbs = _unknown_adverbs(text) - _unknown_adverbs(claim.masked)
    conditional = bool(_CONDITIONAL.search(text)) and not _CONDITIONAL.search(claim.masked)
    return bool(adverbs) or conditional or set(found(text)) != set(found(claim.masked))


def _unknown_adverbs(text: str) -> set[str]:
    """Words such as "permanently", but for those that the other guards weigh."""
    words = {word.casefold() for word in _ADVERBS.findall(text)} - _NEUTRAL_ADVERBS
    return {word for word in words if not any(known.search(word) for known in (*_STRENGTHS.values(), _DENIALS))}


def _relation(text: str, claim: Claim) -> bool:
    theirs = {name for name, words in _LINKS.items() if words.search(text)}
    ours = {name for name, words in _LINKS.items() if words.search(claim.masked)}
    allowed = ours.union(*(_ALLOWED_LINKS.get(name, set()) for name in ours))
    lost = bool(ours) and theirs.isdisjoint(allowed)
    return lost or not theirs <= allowed or _turned(text, claim) or _of_nobody(text, claim)


def _of_nobody(text: str, claim: Claim) -> bool:
    """Whether a sentence about patients names none any more, or starts from another thing that they have."""
    if not _MENTIONS_PEOPLE.search(claim.masked):
        return False
    ours, theirs = _GIVEN.search(claim.masked), _GIVEN.search(text)
    started = theirs is not None and (ours is None or theirs["to"] != ours["to"])
    return started or not _MENTIONS_PEOPLE.search(text)


def _turned(text: str, claim: Claim) -> bool:
    """Whether a link goes to the other name than in the fact's prototypes: "[head] is a symptom of [tail]"."""
    there: dict[tuple[str, str], str] = {}
    for form in (*claim.forms, claim.text):
        there |= dict(_targets(masked(form, claim.head, claim.tail)))
    if _WITHIN.search(text) and not _WITHIN.search(claim.masked):
        return True
    return any(there.get(link, to) != to for link, to in _targets(text)) or any(
        there.get((_link_of(found["link"]), "")) == found["of"] for found in _SUBJECTS.finditer(text)
    )


def _targets(text: str) -> Iterator[tuple[tuple[str, str], str]]:
    """Each link with its preposition ("" for none), and the name that it goes to."""
    yield from (((_link_of(found["link"]), found["by"]), found["to"]) for found in _TARGETS.finditer(text))
    yield from (((_link_of(found["link"]), ""), found["to"]) for found in _OBJECTS.finditer(text))


def _link_of(word: str) -> str:
    return next((name for name, words in _LINKS.items() if words.fullmatch(word)), word.casefold())


def _explanation(text: str, claim: Claim) -> bool:
    return len(_EXPLAINS.findall(text)) > len(_EXPLAINS.findall(claim.masked)) or text.count(",") > claim.masked.count(",") + 2


_GUARDS = {
    "length": _length,
    "sentences": _sentences,
    "entity": _entity,
    "bounds": _bounds,
    "other entity": _other_entity,
    "repeated": _repeated,
    "negation": _negation,
    "strength": _strength,
    "qualifier": _qualifier,
    "relation": _relation,
    "explanation": _explanation,
}
