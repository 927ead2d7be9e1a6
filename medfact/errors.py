"""Every error that a person can meet, in one tree.

MedfactError
├── Mistake            what the user gave cannot be used; the command line ends with exit code 2
│   ├── FactsError     a facts file: which file, row or column, and how to mend it
│   │   └── ColumnsMissing  required columns are not there; carries the names that are
│   ├── PoolError      a prototype pool: which file, relation and form
│   ├── UnknownName    a data set, pool, protocol, model or run that does not exist; says which do
│   └── ModelError     a model that cannot be loaded or reached
└── StoreError         the database cannot be read or written; what was stored is kept

Each error carries what is wrong and a hint of what to do; both together are one line, without a traceback.
"""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from typing import Any


class MedfactError(Exception):
    """An error for people: `problem` says what is wrong and where, `hint` what to do about it."""

    def __init__(self, problem: str, hint: str = "") -> None:
        self.problem = problem
        self.hint = hint
        super().__init__(f"{problem} {hint}".strip())

    @property
    def public(self) -> str:
        """What may be said of it to anybody, and kept."""
        return str(self)

    def __reduce__(self) -> tuple[Any, ...]:
        """So that one process can tell another of it."""
        return _restored, (type(self), str(self), self.__dict__)


def _restored(kind: type[MedfactError], text: str, state: dict[str, Any]) -> MedfactError:
    error = kind.__new__(kind, text)
    error.__dict__.update(state)
    return error


class Mistake(MedfactError):
    """Something the user gave cannot be used."""


class FactsError(Mistake):
    """A facts file cannot be read as facts."""


class ColumnsMissing(FactsError):
    """A facts file lacks required columns; `columns` are those that it has."""

    def __init__(self, problem: str, hint: str, columns: list[str]) -> None:
        self.columns = columns
        super().__init__(problem, hint)


class PoolError(Mistake):
    """A prototype pool breaks a rule."""


class UnknownName(Mistake):
    """A name that nothing here bears."""

    def __init__(self, kind: str, name: str, known: Iterable[str]) -> None:
        names = sorted(known)
        near = get_close_matches(name, names, n=1)
        hint = f"Did you mean {near[0]!r}?" if near else f"There is: {', '.join(names) or 'none yet'}."
        super().__init__(f"There is no {kind} {name!r}.", hint)


class ModelError(Mistake):
    """A model cannot be loaded or reached."""


class ServiceAway(ModelError):
    """A service that has answered before answers no more."""


class StoreError(MedfactError):
    """The database cannot be read or written. `cause`: why, without where it is and who uses it."""

    def __init__(self, problem: str, hint: str = "", cause: str = "") -> None:
        self.cause = cause
        super().__init__(problem, hint)

    @property
    def public(self) -> str:
        why = f": {self.cause}" if self.cause else ""
        return f"The database cannot be used{why}. {self.hint}".strip()
