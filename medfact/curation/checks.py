"""Reviewers' decisions on candidates, the facts file of what they settled, rows and words for both, and reviewer agreement."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from statistics import median
from typing import Any

import numpy as np

from medfact.curation.names import Name, with_known_names
from medfact.datasets.headers import MAX_NAME
from medfact.errors import Mistake
from medfact.facts import Fact, name_key, normalize_space
from medfact.metrics.agreement import MISSING, Agreement, agreement
from medfact.metrics.clusters import effective_number
from medfact.metrics.records import codes
from medfact.metrics.uncertainty import NOTHING, Estimate, wilson
from medfact.prototypes import load_pool
from medfact.prototypes.library import BUILTIN_POOL
from medfact.results.wording import counted, plain_value, share
from medfact.reviews.transfer import LONGEST_NAME
from medfact.store import Candidate, Curation, CurationDecision
from medfact.store.curations import CLOSED
from medfact.store.verdicts import WITHDRAWN

ACCEPTED, MENDED, REFUSED = "accepted", "mended", "refused"
DECISIONS = {
    ACCEPTED: "the sentence states the fact",
    MENDED: "the sentence states it in other words or of something else",
    REFUSED: "the sentence does not state it",
}
"""What may be decided, and what it says."""

ALL, MAJORITY = "all", "majority"
RULES = {
    ALL: "all who checked it accept the same fact",
    MAJORITY: "more than half of those who checked it accept the same fact",
}
"""When a candidate becomes a fact."""

LONGEST_NOTE = 2_000

Triplet = tuple[str, str, str]
Said = Mapping[int, Mapping[str, CurationDecision]]
"""Position of a candidate → reviewer → what that reviewer decides on it now."""


def who(decision: CurationDecision) -> str:
    """A reviewer: the browser or account, and the name."""
    return f"{decision.owner}/{decision.reviewer}"


def standing(log: Iterable[CurationDecision]) -> Said:
    """What stands: of each reviewer and candidate the last decision, unless it was withdrawn."""
    found: defaultdict[int, dict[str, CurationDecision]] = defaultdict(dict)
    for one in log:
        if one.decision == WITHDRAWN:
            found[one.position].pop(who(one), None)
        else:
            found[one.position][who(one)] = one
    return {position: of for position, of in found.items() if of}


def decided(
    candidate: Candidate,
    reviewer: str,
    decision: str,
    fact: Triplet | None = None,
    note: str = "",
    seconds: float | None = None,
) -> CurationDecision:
    """A decision of a reviewer. fact: what the sentence states, where it is mended. Raises Mistake."""
    reviewer = normalize_space(reviewer)
    if not reviewer:
        raise Mistake("Say who you are first: a name, or initials.", "Decisions are kept under it.")
    if len(reviewer) > LONGEST_NAME:
        raise Mistake(f"A reviewer's name may have {LONGEST_NAME} characters.", "Shorten it, or take initials.")
    if decision not in DECISIONS:
        raise Mistake(f"{decision!r} is no decision.", f"It is one of {', '.join(DECISIONS)}.")
    own = candidate.head, candidate.relation, candidate.tail
    if decision != MENDED:
        head, relation, tail = own if decision == ACCEPTED else ("", "", "")
        return CurationDecision(reviewer, candidate.position, decision, head, relation, tail, note[:LONGEST_NOTE], seconds)
    head, relation, tail = mended = tuple(normalize_space(part) for part in fact or own)
    if not all(mended):
        raise Mistake("A fact has a head, a relation and a tail.", "Fill in all three.")
    if max(map(len, mended)) > MAX_NAME:
        raise Mistake(f"A name may have {MAX_NAME:,} characters.", "Shorten it.")
    if mended == own:
        raise Mistake("Nothing is mended: the fact is the proposed one.", "Accept it, or change a name.")
    return CurationDecision(reviewer, candidate.position, MENDED, head, relation, tail, note[:LONGEST_NOTE], seconds)


def following(candidates: Sequence[Candidate], said: Said, reviewer: str, after: int = 0) -> Candidate | None:
    """The first candidate from a position on that this reviewer has not decided, or else before; None for none."""
    open_ = [one for one in candidates if reviewer not in said.get(one.position, {})]
    return next((one for one in open_ if one.position >= after), open_[0] if open_ else None)


def last_of(log: Iterable[CurationDecision], reviewer: str) -> CurationDecision | None:
    """This reviewer's last decision that stands."""
    own = [one for of in standing(log).values() for name, one in of.items() if name == reviewer]
    return max(own, key=lambda one: one.number, default=None)


def withdrawn(decision: CurationDecision) -> CurationDecision:
    """What takes a decision back."""
    return CurationDecision(decision.reviewer, decision.position, WITHDRAWN)


@dataclass(frozen=True)
class Progress:
    """How far a curation is checked. done: reviewer → how many candidates they have decided. is_closed: whether its owner
    waits for nobody any more. is_finished: whether it is closed, or as many have finished as it wants, and nobody is in
    between: only then one sees what others decided.
    """

    done: Mapping[str, int]
    of: int
    wanted: int
    is_closed: bool = False

    @property
    def finished(self) -> int:
        return sum(number >= self.of for number in self.done.values())

    @property
    def is_finished(self) -> bool:
        have_all = self.finished >= self.wanted and self.finished == len(self.done)
        return self.of > 0 and (self.is_closed or have_all)


def progress_of(curation: Curation, said: Said) -> Progress:
    done = Counter(name for of in said.values() for name in sorted(of))
    return Progress(done, curation.candidates, curation.reviewers, CLOSED in curation.settings)


def check_closable(progress: Progress) -> None:
    """Raises Mistake where there is nothing to close."""
    if progress.is_finished:
        raise Mistake("All reviewers have finished, and what they decided is shown.", "Export the facts.")
    if not progress.done:
        raise Mistake("Nobody has decided anything yet.", "Close it once somebody has, or erase it.")


# ------------------------------------------------------------------------------------------------ what is settled


@dataclass(frozen=True)
class Settled:
    """A fact that reviewers accept. accepted_by: who does; checked_by: how many checked the candidate."""

    candidate: Candidate
    fact: Triplet
    accepted_by: tuple[CurationDecision, ...]
    checked_by: int


def settled(candidates: Sequence[Candidate], said: Said, rule: str, fewest: int) -> list[Settled]:
    """The facts that reviewers accept, in the candidates' order, each once; of controls none, whatever was decided.

    rule: of RULES. fewest: reviewers who must have checked a candidate.
    """
    found: dict[tuple[str, ...], Settled] = {}
    for one in candidates:
        of = list(said.get(one.position, {}).values())
        if one.control or len(of) < max(fewest, 1):
            continue
        votes: defaultdict[tuple[str, ...], list[CurationDecision]] = defaultdict(list)
        for decision in of:
            if decision.decision != REFUSED:
                votes[_key(decision)].append(decision)
        most = max(votes.values(), key=len, default=[])
        if len(most) == len(of) or (rule == MAJORITY and 2 * len(most) > len(of)):
            fact = most[0].head, most[0].relation, most[0].tail
            found.setdefault(_key(most[0]), Settled(one, fact, tuple(most), len(of)))
    return list(found.values())


def _key(decision: CurationDecision) -> tuple[str, ...]:
    return tuple(map(name_key, (decision.head, decision.relation, decision.tail)))


def fact_rows(found: Iterable[Settled]) -> Iterator[dict[str, Any]]:
    """Rows of a facts file. Of a name that was mended, type and identifier are those that the bundled sets know of it."""
    for one in found:
        candidate, (head, relation, tail) = one.candidate, one.fact
        head_type, head_id = _known(head, candidate.head, candidate.head_type, candidate.head_id)
        tail_type, tail_id = _known(tail, candidate.tail, candidate.tail_type, candidate.tail_id)
        yield {
            "head": head,
            "relation": relation,
            "tail": tail,
            "head_type": head_type,
            "tail_type": tail_type,
            "head_id": head_id,
            "tail_id": tail_id,
            "source": candidate.source,
            "source_id": candidate.address,
            "sentence": candidate.sentence,
            "document": candidate.title or None,
            "accepted_by": "; ".join(sorted({decision.reviewer for decision in one.accepted_by})),
            "accepted": len(one.accepted_by),
            "checked": one.checked_by,
            "mended": one.fact != (candidate.head, candidate.relation, candidate.tail),
        }


def _known(name: str, proposed: str, kind: str | None, identifier: str | None) -> tuple[str | None, str | None]:
    """Type and identifier of a name: those of the proposed one, if it still is that."""
    if name == proposed:
        return kind, identifier
    known = with_known_names(Name(name))
    return known.type, known.identifier


MOST_CONTROLS = 0.1
"""The share of controls that a reviewer may accept by a slip. Whose interval lies above it does not read."""

FEWEST_CONTROLS = 10
"""With fewer controls nobody is called careless."""

_CODES = {name: code for code, name in enumerate(DECISIONS)}


@dataclass(frozen=True)
class Reviewer:
    """What a reviewer decided. id: `checks.who`. accepted: of the proposals, the share accepted, mended or not; controls:
    of the controls, the share accepted as they are. Intervals: Wilson's, with the diseases' worth as n. seconds: the median
    time of a decision; None where nobody measured.
    """

    id: str
    name: str
    decided: int
    accepted: Estimate
    controls: Estimate
    seconds: float | None

    @property
    def is_careless(self) -> bool:
        """Returns true if more controls are accepted than slips explain."""
        return self.controls.n >= FEWEST_CONTROLS and (self.controls.low or 0.0) > MOST_CONTROLS


@dataclass(frozen=True)
class Pair:
    """How far two reviewers agree on the proposals that both have decided: accept, mend or refuse."""

    a: str
    b: str
    agreement: Agreement


@dataclass(frozen=True)
class Quality:
    """reviewers: by name. pairs: of those who share a proposal."""

    reviewers: tuple[Reviewer, ...]
    pairs: tuple[Pair, ...]


def quality_of(candidates: Sequence[Candidate], said: Said) -> Quality:
    """What all reviewers' decisions say of them."""
    names = {name: one.reviewer for of in said.values() for name, one in of.items()}
    order = sorted(names, key=lambda name: (names[name].casefold(), name))
    return Quality(tuple(_reviewer(candidates, said, name) for name in order), tuple(_pairs(candidates, said, order, names)))


def _reviewer(candidates: Sequence[Candidate], said: Said, name: str) -> Reviewer:
    own = [(one, said[one.position][name]) for one in candidates if name in said.get(one.position, {})]
    seconds = [decision.seconds for _, decision in own if decision.seconds is not None]
    return Reviewer(
        name,
        own[0][1].reviewer,
        len(own),
        _share([(one.head, decision.decision != REFUSED) for one, decision in own if not one.control]),
        _share([(one.head, decision.decision == ACCEPTED) for one, decision in own if one.control]),
        median(seconds) if seconds else None,
    )


def _share(rows: Sequence[tuple[str, bool]]) -> Estimate:
    """The share of rows that hold. Rows of one disease stand or fall together."""
    if not rows:
        return NOTHING
    share = sum(holds for _, holds in rows) / len(rows)
    worth = min(len(rows), effective_number(codes([head for head, _ in rows])))
    return Estimate(share, *wilson(share, worth), len(rows))


def _pairs(candidates: Sequence[Candidate], said: Said, order: Sequence[str], names: dict[str, str]) -> Iterator[Pair]:
    real = [one for one in candidates if not one.control and one.position in said]
    for a, b in combinations(order, 2):
        ratings = np.array(
            [
                [_CODES[of[name].decision] if name in of else MISSING for name in (a, b)]
                for of in (said[one.position] for one in real)
            ],
            dtype=np.int64,
        )
        found = agreement(ratings.reshape(len(real), 2), codes([one.head for one in real]))
        if found.items:
            yield Pair(names[a], names[b], found)


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
