"""All errors shown to users, in one tree:

MedfactError
├── Mistake            the user's input cannot be used; the command line ends with exit code 2.
│   ├── FactsError     a facts file; names the file, the row or column, and the remedy.
│   │   └── MissingColumns  required columns are missing; carries those that the file has.
│   ├── PoolError      a prototype pool; names the file, the relation and the form.
│   ├── NoPrototypes   the pools have no prototypes for the relations of the facts.
│   ├── UnknownName    a data set, pool, protocol, model or run that does not exist; lists valid names.
│   ├── ModelError     a model that cannot be loaded or reached.
│   │   └── ServiceDown  a service that stopped responding.
│   ├── UnreadableRun  a run whose record is damaged, or from a newer medfact; it can be deleted.
│   ├── ReferenceDown  an external database (PubMed, UMLS) that is unavailable.
│   └── NotInstalled  an optional dependency that is not installed; names the install command.
└── StoreError         the database cannot be read or written; stored data is kept.

Each error has a problem and a hint (the remedy). Together they make one line, shown without a traceback.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from difflib import get_close_matches
from typing import Any

MAX_QUOTED_LENGTH = 200
"""Maximum length of a quoted value; longer ones are truncated in the middle."""

_TOO_LONG = MAX_QUOTED_LENGTH + 1
_QUOTED_OR_UNBROKEN = re.compile(
    rf"(?<!\w)'[^'\n]{{{_TOO_LONG},}}'(?!\w)|(?<!\w)\"[^\"\n]{{{_TOO_LONG},}}\"(?!\w)|\S{{{2 * _TOO_LONG},}}"
)
"""A long value as `repr` quotes it, or a long text without spaces."""

_DOUBLE_FULL_STOP = re.compile(r"(?<!\.)\.\.$")


class MedfactError(Exception):
    """An error for users. problem: the defect and its place. hint: the remedy. Long values are truncated."""

    def __init__(self, problem: str, hint: str = "") -> None:
        problem = _DOUBLE_FULL_STOP.sub(".", problem)  # after a quoted sentence
        self.problem = _QUOTED_OR_UNBROKEN.sub(_truncate_middle, problem)
        self.hint = _QUOTED_OR_UNBROKEN.sub(_truncate_middle, hint)
        super().__init__(f"{self.problem} {self.hint}".strip())

    @property
    def public(self) -> str:
        """The message without private details, for pages and records."""
        return str(self)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickles the error without calling its constructor."""
        return _unpickle, (type(self), str(self), self.__dict__)


def _truncate_middle(value: re.Match[str]) -> str:
    """Truncates a long value in the middle: a path keeps the name of its file."""
    text, half = value.group(), MAX_QUOTED_LENGTH // 2
    return f"{text[:half]}…{text[-half:]}"


def _unpickle(kind: type[MedfactError], text: str, state: dict[str, Any]) -> MedfactError:
    error = kind.__new__(kind, text)
    error.__dict__.update(state)
    return error


def first_line(error: BaseException, max_length: int = 160) -> str:
    """First line of an error's message without its full stop, or its class; two lines if the first ends with a colon."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()] or [type(error).__name__]
    return (" ".join(lines[:2]) if lines[0].endswith(":") else lines[0])[:max_length].rstrip(" .")


class Mistake(MedfactError):
    """The user's input cannot be used."""


class NoPrototypes(Mistake):
    """The pools have no prototypes for the relations of the facts. `public` omits the hint: pages show another one."""

    @property
    def public(self) -> str:
        return self.problem


class FactsError(Mistake):
    """A facts file cannot be read as facts."""


class MissingColumns(FactsError):
    """A facts file lacks required columns. columns: its columns."""

    def __init__(self, problem: str, hint: str, columns: list[str]) -> None:
        self.columns = columns
        super().__init__(problem, hint)


class PoolError(Mistake):
    """A prototype pool breaks a rule."""


class UnknownName(Mistake):
    """A name that does not exist. kind: a noun, such as "pool". The default hint names a similar valid name, or all."""

    def __init__(self, kind: str, name: str, valid: Iterable[str] = (), hint: str = "") -> None:
        self.kind = kind
        names = sorted(valid)
        similar = get_close_matches(name, names, n=1)
        suggestion = f"Did you mean {similar[0]!r}?" if similar else f"There is: {', '.join(names) or 'none yet'}."
        super().__init__(f"There is no {kind} {name!r}.", hint or suggestion)


class ModelError(Mistake):
    """A model cannot be loaded or reached."""


class ServiceDown(ModelError):
    """A service stopped responding."""


class UnreadableRun(Mistake):
    """A run whose record cannot be read. run: its id. reason: a short phrase."""

    def __init__(self, run: str, reason: str) -> None:
        self.run, self.reason = run, reason
        super().__init__(f"Run {run} cannot be read: {reason}.", f"Update medfact, or delete it: `medfact delete {run}`.")


class ReferenceDown(Mistake):
    """An external database is unavailable: no network, overloaded, or the key is rejected."""


class NotInstalled(Mistake):
    """An optional dependency is not installed."""


class StoreError(MedfactError):
    """The database cannot be read or written. cause: short reason, without address or user. is_transient: worth a retry."""

    def __init__(self, problem: str, hint: str = "", cause: str = "", is_transient: bool = False) -> None:
        self.cause, self.is_transient = cause, is_transient
        super().__init__(problem, hint)

    @property
    def public(self) -> str:
        cause = f": {self.cause}" if self.cause else ""
        return f"The database cannot be used{cause}. {self.hint}".strip()
