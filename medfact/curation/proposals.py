"""From passages to candidates: what a sentence about a disease names may be a fact. It is a proposal, which somebody reads.

A sentence that names a disease and a drug may say anything of the two: that the one treats the other, or that it does not.
So each candidate stands beside its sentence, and words that may deny are pointed out.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from medfact.curation.names import Finder, Found, Name, Passage, are_linked, stems, with_known_names
from medfact.errors import Mistake
from medfact.prototypes import load_pool
from medfact.prototypes.library import BUILTIN_POOL
from medfact.retrieval import Retriever
from medfact.store import Candidate

CUES = (
    "not", "no", "never", "without", "unlike", "rarely", "seldom", "neither", "nor", "cannot", "unlikely", "avoid", "avoided",
    "except", "instead of", "rather than", "rule out", "ruled out", "absence of", "lack of", "free of", "other than",
    "contraindicated", "ineffective", "worsen", "worsens", "distinguished from", "differ from", "mistaken for", "confused with",
)  # fmt: skip
"""Words after which a sentence may deny what it names, or say it of something else."""

_CUE = re.compile(rf"\b(?:{'|'.join(map(re.escape, CUES))})\b|n['’]t\b", re.IGNORECASE)

_LOOKED_AT = 400
"""Of the passages that are ranked, the best so many are looked at for the disease's names."""

FEWEST_CONTROLS = 10
"""Where there are as many candidates: of fewer, a share says nothing of a reviewer."""


@dataclass(frozen=True)
class Proposing:
    """How candidates are proposed. per_relation: of a disease and a relation, at most. passages: that are retrieved for each.
    controls: of the candidates, the share to which as many controls are added. seed: of the order, and of the controls.
    """

    per_relation: int = 10
    passages: int = 40
    controls: float = 0.1
    seed: int = 0

    def __post_init__(self) -> None:
        if not 1 <= self.per_relation <= 1_000:
            raise Mistake("Of a disease and a relation 1 to 1,000 candidates are proposed.", "Change --per-relation.")
        if not 1 <= self.passages <= 1_000:
            raise Mistake("For a disease and a relation 1 to 1,000 passages are retrieved.", "Change --passages.")
        if not 0 <= self.controls <= 0.5:
            raise Mistake("Controls are a share of the candidates, from 0 to 0.5.", "Change --controls.")


class _Place(NamedTuple):
    """Where a tail was found. The smaller, the better: what may deny comes last; a document about the disease comes before
    others, in which it may be one of several; a sentence that names it before one that does not.
    """

    may_deny: bool
    is_elsewhere: bool
    only_title: bool
    rank: int
    sentence: str
    passage: Passage
    found: Found
    cue: str


def cue_in(sentence: str) -> str:
    """The first word of a sentence that may deny what it names, "" for none."""
    match = _CUE.search(sentence)
    return match.group().lower() if match else ""


def query_of(disease: Name, relation: str) -> str:
    """What is searched for: the disease's names, the relation's, and its description in our own pool, if that states it."""
    pool = load_pool(BUILTIN_POOL)
    known = pool.relations.get(pool.canonical(relation) or "")
    return " ".join((*disease.names, relation, *(re.sub(r"\[[XY]\]", "", known.description).split() if known else ())))


def proposed(
    diseases: Sequence[Name],
    tails: Mapping[str, Sequence[Name]],
    passages: Sequence[Passage],
    retriever: Retriever,
    how: Proposing,
) -> list[Candidate]:
    """The candidates of all diseases and relations, controls among them: disease after disease, each in a random order.

    tails: relation → what may stand at its end. retriever: of the passages' `searched`, in the same order.
    """
    finders = {relation: Finder(names) for relation, names in tails.items()}
    made: list[Candidate] = []
    for disease in diseases:
        of_disease: list[Candidate] = []
        ranks = retriever.rank([query_of(disease, relation) for relation in tails], max(_LOOKED_AT, how.passages))
        for relation, ranked in zip(tails, ranks, strict=True):
            retrieved = naming(disease, (passages[place] for place, _ in ranked))[: how.passages]
            places = best_places(disease, finders[relation], retrieved)
            real = [_candidate(disease, relation, place) for place in places[: how.per_relation]]
            named = {place.found.name.name for place in places}
            of_disease += real + _controls(disease, real, [one for one in tails[relation] if one.name not in named], how)
        random.Random(f"curation {how.seed} {disease.name}").shuffle(of_disease)
        made += of_disease
    return _thinned(made, how)


def naming(disease: Name, passages: Iterable[Passage]) -> list[Passage]:
    """The passages that name a disease, in their order; those of documents about it before others."""
    itself = Finder([disease])
    about, others = list[Passage](), list[Passage]()
    for passage in passages:
        if itself.is_in(*passage.about):
            about.append(passage)
        elif itself.is_in(*passage.sentences):
            others.append(passage)
    return [*about, *others]


def best_places(disease: Name, finder: Finder, passages: Sequence[Passage]) -> list[_Place]:
    """Of each tail the best sentence that names it, in the order in which they are proposed. passages: best first.

    The sentence names the disease, or stands in a document about it.
    """
    itself, own = Finder([disease]), set(map(stems, disease.names))
    best: dict[str, _Place] = {}
    for rank, passage in enumerate(passages):
        is_about = itself.is_in(*passage.about)
        for sentence in passage.sentences:
            names_it = itself.is_in(sentence)
            if not (names_it or is_about):
                continue
            cue = cue_in(sentence)
            for found in finder.find(sentence):
                place = _Place(bool(cue), not is_about, not names_it, rank, sentence, passage, found, cue)
                name = found.name.name
                if not own & set(map(stems, found.name.names)) and (name not in best or place[:4] < best[name][:4]):
                    best[name] = place
    return sorted(best.values(), key=lambda place: (*place[:4], place.found.start))


def _candidate(disease: Name, relation: str, place: _Place) -> Candidate:
    name, passage = place.found.name, place.passage
    return Candidate(
        disease.name,
        relation,
        name.name,
        place.sentence,
        passage.title,
        passage.source,
        passage.address,
        place.cue,
        head_type=disease.type,
        tail_type=name.type,
        head_id=disease.identifier,
        tail_id=name.identifier,
    )


def _controls(disease: Name, real: Sequence[Candidate], others: Sequence[Name], how: Proposing) -> list[Candidate]:
    """A control for each candidate, if there is one: the same sentence with a tail of the same type that it does not name, that
    nothing retrieved for the disease names, and that no bundled set links to the disease.
    """
    if not how.controls:
        return []
    generator = random.Random(f"control {how.seed} {disease.name} {real[0].relation if real else ''}")
    made, used = [], set[str]()
    for one in real:
        fitting = [name for name in others if name.type == one.tail_type and name.name not in used]
        generator.shuffle(fitting)
        for name in fitting:
            if not Finder([name]).is_in(one.sentence, one.title) and not are_linked(disease, name):
                used.add(name.name)
                made.append(replace(one, tail=name.name, tail_type=name.type, tail_id=name.identifier, control=True))
                break
    return made


def _thinned(made: Sequence[Candidate], how: Proposing) -> list[Candidate]:
    """All candidates, with as many of the controls as are wanted, drawn at random. Their order stays."""
    places = [place for place, one in enumerate(made) if one.control]
    real = len(made) - len(places)
    wanted = min(len(places), real, max(FEWEST_CONTROLS, round(how.controls * real))) if how.controls else 0
    kept = set(random.Random(f"controls {how.seed}").sample(places, wanted))
    return [one for place, one in enumerate(made) if not one.control or place in kept]


def marked(candidate: Candidate) -> Iterator[tuple[str, str]]:
    """The sentence in pieces, in order, each with what it is: "head", "tail", "cue", or "" for the rest.

    A name is found as the candidate has it, or under another one that the bundled sets know.
    """
    sentence = candidate.sentence
    spans = [(match.start(), match.end(), "cue") for match in _CUE.finditer(sentence)]
    for kind, name in (("head", candidate.head), ("tail", candidate.tail)):
        spans += [(one.start, one.end, kind) for one in Finder([with_known_names(Name(name))]).find(sentence)]
    at = 0
    for start, end, kind in sorted(spans, key=lambda span: (span[0], -span[1])):
        if start < at:
            continue
        if start > at:
            yield sentence[at:start], ""
        yield sentence[start:end], kind
        at = end
    if at < len(sentence):
        yield sentence[at:], ""
