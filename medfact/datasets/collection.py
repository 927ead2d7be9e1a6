"""A collection: the facts of one source, what is known around them, and the rows that were left out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from medfact.facts import Fact, KnowledgeBase, digest


@dataclass(frozen=True, slots=True)
class Problem:
    """A row that was left out or mended: its number as a spreadsheet counts (the header is row 1), and what to do."""

    row: int
    what: str
    file: str = ""
    """The file's name, where several are read together."""

    @property
    def where(self) -> str:
        return f"{self.file}, row {self.row}" if self.file else f"row {self.row}"

    def __str__(self) -> str:
        return f"{self.where}: {self.what}"


@dataclass(frozen=True)
class Collection:
    """Facts as a source gives them: `facts` hold the file's positive and, where it has them, negative facts."""

    name: str
    facts: tuple[Fact, ...]
    known: KnowledgeBase
    problems: tuple[Problem, ...] = ()
    notes: tuple[str, ...] = ()

    def fingerprint(self) -> str:
        """Changes whenever the facts or what is known around them change."""
        return digest(self.known.fingerprint(), *sorted(repr(fact) for fact in self.facts if not fact.positive))


def summary(problems: Iterable[Problem]) -> list[str]:
    """One line for each kind of problem: how many rows, and the first of them by number."""
    problems = list(problems)
    counts = Counter(problem.what for problem in problems)
    first = {problem.what: problem.where for problem in reversed(problems)}
    return [
        f"{first[what]}: {what}" if count == 1 else f"{count} rows (the first is {first[what]}): {what}"
        for what, count in counts.items()
    ]
