"""Curations: candidates of facts beside the sentences that propose them, and the log of what reviewers decide on each."""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from medfact.errors import Mistake, UnknownName
from medfact.store import schema
from medfact.store.database import now
from medfact.store.log import Kind, Log, LogPart

CLOSED = "closed_at"
"""The setting that says when whoever began a curation has closed it."""


@dataclass(frozen=True)
class Candidate:
    """A fact that a sentence proposes: no more than that until somebody has read it.

    position: its place in the order in which all check, from 0. title: what the sentence's document is about. cue: a word in
    the sentence that may deny the fact, "" for none. control: whether the tail was exchanged for one that the sentence does not
    name; such a candidate becomes no fact, whatever is decided.
    """

    head: str
    relation: str
    tail: str
    sentence: str
    title: str = ""
    source: str = ""
    address: str = ""
    cue: str = ""
    control: bool = False
    head_type: str | None = None
    tail_type: str | None = None
    head_id: str | None = None
    tail_id: str | None = None
    position: int = 0


@dataclass(frozen=True)
class Curation:
    """A set of candidates. reviewers: how many are to check each. candidates: how many there are, controls among them."""

    curation: str
    owner: str
    name: str
    documents: str
    reviewers: int
    made_at: str
    candidates: int
    settings: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class CurationDecision:
    """What a reviewer decides on the candidate at a position. head, relation, tail: the fact that is accepted, "" where none.

    number, owner, decided_at: set when it is recorded. seconds: from the moment it was shown; None where nobody measured.
    """

    reviewer: str
    position: int
    decision: str
    head: str = ""
    relation: str = ""
    tail: str = ""
    note: str = ""
    seconds: float | None = None
    number: int = 0
    owner: str = ""
    decided_at: str = ""


@dataclass(frozen=True)
class _Candidates:
    """The candidates of a curation, in their order."""

    curation: str
    candidates: tuple[Candidate, ...]


CURATIONS = Kind("curation", Curation, subject="curation")
CANDIDATES = Kind("candidates", _Candidates, subject="curation")
DECISIONS_ON_CANDIDATES = Kind("check", CurationDecision, person="reviewer", at="decided_at")

_EVENT = schema.log.c


class Curations(LogPart):
    """The curations of a database. Whoever begins one, or decides, does so as the store's owner."""

    def begin(
        self, name: str, documents: str, candidates: Sequence[Candidate], reviewers: int, settings: Mapping[str, Any]
    ) -> Curation:
        """Records candidates, which are checked in this order; all or none."""
        curation = Curation(secrets.token_hex(16), self.owner, name, documents, reviewers, now(), len(candidates), settings)
        in_order = tuple(replace(candidate, position=place) for place, candidate in enumerate(candidates))
        self._log.add(CANDIDATES, _Candidates(curation.curation, in_order))
        self._log.add(CURATIONS, curation)  # the last: a curation without its candidates is none
        return curation

    def listed(self, *owners: str) -> list[Curation]:
        """All curations, or those of some owners, oldest first."""
        found = self._log.of(CURATIONS, *([_EVENT.owner.in_(owners)] if owners else []))
        return sorted(found, key=lambda curation: (curation.made_at, curation.curation))

    def one(self, curation: str) -> Curation:
        """The curation whose id begins so. Raises UnknownName if there is none, Mistake if there are several."""
        begins = _EVENT.subject.startswith(curation.lower(), autoescape=True)
        matches = self._log.of(CURATIONS, begins) if curation else []
        if len(matches) > 1:
            raise Mistake(f"Several curations begin with {curation!r}.", "Give more of the id.")
        if not matches:
            raise UnknownName("curation", curation, hint="It may have been erased.")
        return matches[0]

    def close(self, curation: str) -> None:
        """Notes in the settings of a whole id that nobody is waited for any more."""
        (known,) = self._log.of(CURATIONS, _EVENT.subject == curation)
        closed = replace(known, settings={**known.settings, CLOSED: now()})
        Log(self.database, known.owner).add(CURATIONS, closed, replacing=(_EVENT.subject == curation,))

    def candidates(self, curation: str) -> list[Candidate]:
        """The candidates of a whole id, in their order."""
        found = self._log.of(CANDIDATES, _EVENT.subject == curation)
        return [candidate for one in found for candidate in one.candidates]

    def record(self, curation: str, decisions: Iterable[CurationDecision]) -> None:
        """Adds decisions to the log of a whole id, all or none. Their number, owner and time are set here."""
        self._log.add(DECISIONS_ON_CANDIDATES, *decisions, subject=curation)

    def log(self, curation: str) -> list[CurationDecision]:
        """All decisions of a whole id, in their order."""
        return self._log.of(DECISIONS_ON_CANDIDATES, _EVENT.subject == curation)

    def erase(self, curation: str) -> None:
        """Erases a curation of a whole id for good: its sentences, its candidates and all decisions."""
        for kind in (DECISIONS_ON_CANDIDATES, CANDIDATES, CURATIONS):
            self._log.erase(kind, _EVENT.subject == curation)
