"""Curations: candidates of facts beside the sentences that propose them, and the log of what reviewers decide on each."""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

import sqlalchemy as sql

from medfact.errors import Mistake, UnknownName
from medfact.store import schema
from medfact.store.database import Part, now

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


_CANDIDATE = tuple(one.name for one in fields(Candidate))
_DECISION = tuple(one.name for one in fields(CurationDecision))


class Curations(Part):
    """The curations of a database. Whoever begins one, or decides, does so as the store's owner."""

    def begin(
        self, name: str, documents: str, candidates: Sequence[Candidate], reviewers: int, settings: Mapping[str, Any]
    ) -> Curation:
        """Records candidates, which are checked in this order; all or none."""
        made = Curation(secrets.token_hex(16), self.owner, name, documents, reviewers, now(), len(candidates), settings)
        row = {key: value for key, value in vars(made).items() if key != "candidates"}
        rows = [{**vars(one), "position": place, "curation": made.curation} for place, one in enumerate(candidates)]
        with self.database.writing() as connection:
            connection.execute(schema.curations.insert(), [{**row, "settings": json.dumps(settings)}])
            connection.execute(schema.curation_candidates.insert(), rows)
        return made

    def listed(self, *owners: str) -> list[Curation]:
        """All curations, or those of some owners, oldest first."""
        row = schema.curations.c
        query = sql.select(schema.curations, self._size()).order_by(row.made_at, row.curation)
        with self.database.reading() as connection:
            found = connection.execute(query.where(row.owner.in_(owners)) if owners else query)
            return [_curation(one) for one in found]

    def one(self, curation: str) -> Curation:
        """The curation whose id begins so. Raises UnknownName if there is none, Mistake if there are several."""
        row = schema.curations.c
        query = sql.select(schema.curations, self._size()).where(row.curation.startswith(curation.lower(), autoescape=True))
        with self.database.reading() as connection:
            matches = list(connection.execute(query.limit(2))) if curation else []
        if len(matches) > 1:
            raise Mistake(f"Several curations begin with {curation!r}.", "Give more of the id.")
        if not matches:
            raise UnknownName("curation", curation, hint="It may have been erased.")
        return _curation(matches[0])

    def close(self, curation: str) -> None:
        """Notes in the settings of a whole id that nobody is waited for any more."""
        row = schema.curations.c
        with self.database.writing() as connection:
            settings = json.loads(connection.execute(sql.select(row.settings).where(row.curation == curation)).scalar_one())
            closed = json.dumps({**settings, CLOSED: now()})
            connection.execute(schema.curations.update().where(row.curation == curation).values(settings=closed))

    @staticmethod
    def _size() -> sql.ColumnElement[int]:
        of = schema.curation_candidates.c
        count = sql.select(sql.func.count()).where(of.curation == schema.curations.c.curation)
        return count.correlate(schema.curations).scalar_subquery().label("candidates")

    def candidates(self, curation: str) -> list[Candidate]:
        """The candidates of a whole id, in their order."""
        row = schema.curation_candidates.c
        query = sql.select(*(row[name] for name in _CANDIDATE)).where(row.curation == curation).order_by(row.position)
        with self.database.reading() as connection:
            return [Candidate(**one._mapping) for one in connection.execute(query)]

    def record(self, curation: str, decisions: Iterable[CurationDecision]) -> None:
        """Adds decisions to the log of a whole id, all or none. Their number, owner and time are set here."""
        set_here = {"owner": self.owner, "decided_at": now(), "curation": curation}
        rows = [{**{key: value for key, value in vars(one).items() if key != "number"}, **set_here} for one in decisions]
        if rows:
            with self.database.writing() as connection:
                connection.execute(schema.curation_decisions.insert(), rows)

    def log(self, curation: str) -> list[CurationDecision]:
        """All decisions of a whole id, in their order."""
        row = schema.curation_decisions.c
        query = sql.select(*(row[name] for name in _DECISION)).where(row.curation == curation).order_by(row.number)
        with self.database.reading() as connection:
            return [CurationDecision(**one._mapping) for one in connection.execute(query)]

    def erase(self, curation: str) -> None:
        """Erases a curation of a whole id for good: its sentences, its candidates and all decisions."""
        with self.database.writing() as connection:
            for table in (schema.curation_decisions, schema.curation_candidates, schema.curations):
                connection.execute(table.delete().where(table.c.curation == curation))


def _curation(row: sql.Row[Any]) -> Curation:
    values = dict(row._mapping)
    return Curation(**{**values, "settings": json.loads(values["settings"])})
