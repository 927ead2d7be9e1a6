"""A curation in plain words and as rows: a candidate as a reviewer sees it, and what the reviewers together have decided."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from medfact.curation.checks import MAJORITY, RULES, Progress, Said, progress_of, settled
from medfact.curation.quality import MOST_CONTROLS, Pair, Reviewer, quality_of
from medfact.facts import Fact
from medfact.prototypes import load_pool
from medfact.prototypes.library import BUILTIN_POOL
from medfact.results.wording import counted, plain_value, share
from medfact.store import Candidate, Curation

WRONG_ON_PURPOSE = (
    "A proposal is no fact: the sentence may deny it or speak of something else, and some proposals are wrong on purpose."
)


def in_words(candidate: Candidate) -> str:
    """The proposed fact as a plain sentence of our own pool, "" if that does not state its relation."""
    fact = Fact(candidate.head, candidate.relation, candidate.tail)
    return next((one.text for one in load_pool(BUILTIN_POOL).statements([fact])), "")


def candidate_row(candidate: Candidate, of: int) -> dict[str, Any]:
    """A candidate for a reviewer: without anything that tells a control."""
    shown = ("head", "relation", "tail", "sentence", "title", "source", "address")
    told = {name: getattr(candidate, name) or None for name in shown}
    return {"number": candidate.position + 1, "of": of, **told, "may_deny": candidate.cue or None}


def candidate_text(candidate: Candidate, of: int, done: int) -> Iterator[str]:
    """The same for a terminal."""
    yield f"{candidate.position + 1} of {of}, {done} decided by you"
    yield f"“{candidate.sentence}”"
    yield f"    about {candidate.title or 'no subject that is given'}; {candidate.source}, {candidate.address}"
    if candidate.cue:
        yield f"    may deny: “{candidate.cue}”"
    yield f"Does it say this? {candidate.head} — {candidate.relation} → {candidate.tail}"
    if words := in_words(candidate):
        yield f"    Proposed: {words}"


def curation_row(curation: Curation, progress: Progress) -> dict[str, Any]:
    """A curation in a list."""
    told = {name: getattr(curation, name) for name in ("curation", "name", "documents", "made_at", "candidates", "reviewers")}
    return {**told, "begun": len(progress.done), "finished": progress.finished, "is_finished": progress.is_finished}


def outcome_row(curation: Curation, candidates: Sequence[Candidate], said: Said) -> dict[str, Any]:
    """What reviewers have decided together; how far they are, and no more, as long as not all have finished."""
    progress = progress_of(curation, said)
    row = curation_row(curation, progress)
    if not progress.is_finished:
        return {**row, "facts": None, "by_reviewer": None, "by_pair": None}
    quality = quality_of(candidates, said)
    facts = {rule: len(settled(candidates, said, rule, curation.reviewers)) for rule in RULES}
    return {
        **row,
        "facts": facts,
        "by_reviewer": [
            {
                "reviewer": one.name,
                "decided": one.decided,
                "accepted": one.accepted._asdict(),
                "controls_accepted": one.controls._asdict(),
                "careless": one.is_careless,
                "median_seconds": one.seconds,
            }
            for one in quality.reviewers
        ],
        "by_pair": [_pair_row(one) for one in quality.pairs],
    }


def _pair_row(one: Pair) -> dict[str, Any]:
    figures = {name: getattr(one.agreement, name)._asdict() for name in ("raw", "cohen", "ac1")}
    return {"a": one.a, "b": one.b, "n": one.agreement.items, **figures, "why_not": one.agreement.why_not}


def outcome_text(curation: Curation, candidates: Sequence[Candidate], said: Said) -> Iterator[str]:
    """What `outcome_row` says, for a person."""
    progress = progress_of(curation, said)
    yield f"{curation.name} ({curation.curation}): {counted(curation.candidates, 'candidate')} from {curation.documents}"
    yield f"finished: {progress.finished} of {counted(progress.wanted, 'reviewer')}"
    if not progress.is_finished:
        yield "what they decided is shown when all have finished"
        return
    for rule, when in RULES.items():
        facts = settled(candidates, said, rule, curation.reviewers)
        yield f"{counted(len(facts), 'fact')} where {when}{' (--by majority)' if rule == MAJORITY else ''}"
    quality = quality_of(candidates, said)
    yield from map(reviewer_text, quality.reviewers)
    yield from map(pair_text, quality.pairs)


def reviewer_text(one: Reviewer) -> str:
    """What is said of a reviewer."""
    text = (
        f"{one.name}: accepts {share(one.accepted)} of {counted(one.accepted.n, 'proposal')}, and {share(one.controls)} of "
        f"{counted(one.controls.n, 'control')}, whose sentence does not name it"
    )
    pace = f"; {one.seconds:.1f} s a candidate (median)" if one.seconds is not None else ""
    careless = f"; CARELESS: more than {MOST_CONTROLS:.0%} of controls, slips left aside" if one.is_careless else ""
    return f"{text}{pace}{careless}"


def pair_text(one: Pair) -> str:
    """What is said of a pair of reviewers."""
    figures = one.agreement
    kappa = plain_value(figures.cohen) if figures.cohen.value is not None else f"no value ({figures.why_not['cohen']})"
    return (
        f"{one.a} and {one.b} agree on {share(figures.raw)} of {counted(figures.items, 'proposal')}; kappa {kappa}, "
        f"AC1 {plain_value(figures.ac1)}"
    )
