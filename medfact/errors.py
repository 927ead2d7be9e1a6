"""All errors shown to users, in one tree.

MedfactError
├── Mistake            the user's input cannot be used; the command line ends with exit code 2
│   ├── FactsError     a facts file; names the file, the row or column, and the remedy
│   │   └── ColumnsMissing  required columns are missing; carries those that the file has
│   ├── PoolError      a prototype pool; names the file, the relation and the form
│   ├── UnknownName    a data set, pool, protocol, model or run that does not exist; names those that do
│   ├── ModelError     a model that cannot be loaded or reached
│   │   └── ServiceAway  a service that answered before and no longer does
│   ├── UnreadableRun  a run whose record is damaged, or of a newer medfact; it can be deleted
│   ├── ReferenceAway  an outside database (PubMed, UMLS) that cannot be asked now
│   └── PartMissing    a part of medfact that is not installed; names the command that brings it
└── StoreError         the database cannot be read or written; stored data is kept

Each error has a problem and a hint of what to do. Together they make one line, shown without a traceback.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from difflib import get_close_matches
from typing import Any

LONGEST_QUOTED = 200
"""Characters of a value that an error quotes whole: whatever somebody typed or sent, a message stays readable."""

_MOST = LONGEST_QUOTED + 1
_QUOTED_OR_UNBROKEN = re.compile(rf"(?<!\w)'[^'\n]{{{_MOST},}}'(?!\w)|(?<!\w)\"[^\"\n]{{{_MOST},}}\"(?!\w)|\S{{{2 * _MOST},}}")
"""A long value as `repr` quotes it, or a long text without a space."""

_TWO_STOPS = re.compile(r"(?<!\.)\.\.$")


class MedfactError(Exception):
    """An error for users. problem: what is wrong, and where. hint: what to do. Long values are quoted without their middle."""

    def __init__(self, problem: str, hint: str = "") -> None:
        problem = _TWO_STOPS.sub(".", problem)  # a sentence that quotes another one
        self.problem = _QUOTED_OR_UNBROKEN.sub(_without_middle, problem)
        self.hint = _QUOTED_OR_UNBROKEN.sub(_without_middle, hint)
        super().__init__(f"{self.problem} {self.hint}".strip())

    @property
    def public(self) -> str:
        """The message without private details, for pages and records."""
        return str(self)

    def __reduce__(self) -> tuple[Any, ...]:
        """Lets one process send the error to another."""
        return _restored, (type(self), str(self), self.__dict__)


def _without_middle(value: re.Match[str]) -> str:
    """The beginning and the end of a value: the names of files stand at the end."""
    text, half = value.group(), LONGEST_QUOTED // 2
    return f"{text[:half]}…{text[-half:]}"


def _restored(kind: type[MedfactError], text: str, state: dict[str, Any]) -> MedfactError:
    error = kind.__new__(kind, text)
    error.__dict__.update(state)
    return error


def first_line(error: BaseException, most: int = 160) -> str:
    """The beginning of what an error says, or else its kind: for a sentence of our own, which has a stop. A colon leads to the
    next line.
    """
    lines = [line.strip() for line in str(error).splitlines() if line.strip()] or [type(error).__name__]
    return (" ".join(lines[:2]) if lines[0].endswith(":") else lines[0])[:most].rstrip(" .")


class Mistake(MedfactError):
    """The user's input cannot be used."""


class NoSentences(Mistake):
    """No fact can be asked, because there are no sentences for their relations. Pages show themselves what to do."""

    @property
    def public(self) -> str:
        return self.problem


class FactsError(Mistake):
    """A facts file cannot be read as facts."""


class ColumnsMissing(FactsError):
    """A facts file lacks required columns. columns: those that it has."""

    def __init__(self, problem: str, hint: str, columns: list[str]) -> None:
        self.columns = columns
        super().__init__(problem, hint)


class PoolError(Mistake):
    """A prototype pool breaks a rule."""


class UnknownName(Mistake):
    """A name that does not exist. hint: what to say instead of the name that was meant, or of those that are known."""

    def __init__(self, kind: str, name: str, known: Iterable[str] = (), hint: str = "") -> None:
        self.kind = kind
        names = sorted(known)
        similar = get_close_matches(name, names, n=1)
        meant = f"Did you mean {similar[0]!r}?" if similar else f"There is: {', '.join(names) or 'none yet'}."
        super().__init__(f"There is no {kind} {name!r}.", hint or meant)


class ModelError(Mistake):
    """A model cannot be loaded or reached."""


class ServiceAway(ModelError):
    """A service answered before and no longer does."""


class UnreadableRun(Mistake):
    """A run whose record cannot be read. run: its id. why: what is wrong with it, in a few words."""

    def __init__(self, run: str, why: str) -> None:
        self.run, self.why = run, why
        super().__init__(f"Run {run} cannot be read: {why}.", f"Update medfact, or delete it: `medfact delete {run}`.")


class ReferenceAway(Mistake):
    """An outside database cannot be asked: there is no network, it is busy, or it does not accept the key."""


class PartMissing(Mistake):
    """A part of medfact that is not installed."""


class StoreError(MedfactError):
    """The database cannot be read or written. cause: why, without its address or user. may_pass: the same may succeed soon."""

    def __init__(self, problem: str, hint: str = "", cause: str = "", may_pass: bool = False) -> None:
        self.cause, self.may_pass = cause, may_pass
        super().__init__(problem, hint)

    @property
    def public(self) -> str:
        why = f": {self.cause}" if self.cause else ""
        return f"The database cannot be used{why}. {self.hint}".strip()
