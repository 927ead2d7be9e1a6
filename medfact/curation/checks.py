"""What reviewers decide on candidates: accepted, mended or refused; what they have settled, and the facts file of that."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from medfact.curation.names import Name, with_known_names
from medfact.datasets.headers import MAX_NAME
from medfact.errors import Mistake
from medfact.facts import name_key, normalize_space
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
