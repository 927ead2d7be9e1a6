"""A collection: the facts of one source, everything known around them, and the problems found while reading."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from medfact.facts import Fact, KnowledgeBase, canonical_text, digest


@dataclass(frozen=True, slots=True)
class Problem:
    """What is wrong with a row and what to do. The row is numbered as in a spreadsheet: the header is row 1."""

    row: int
    message: str
    file: str = ""
    """The file's name, where several are read together."""

    @property
    def where(self) -> str:
        return f"{self.file}, row {self.row}" if self.file else f"row {self.row}"

    def __str__(self) -> str:
        return f"{self.where}: {self.message}"


@dataclass(frozen=True)
class Collection:
    """The facts of a source.

    facts: the source's positive facts and its own negative ones, if it has any.
    ready: fact id → the sentence in which the source states that fact.
    alone: id of a false fact that was paired without the file saying so → the same fact without a partner.
    withdrawn: false facts that have left the source: neither asked nor drawn, and no others are drawn in their place.
    read_from: the fingerprint of what was read, where facts were turned since (`prototypes.direction`).
    """

    name: str
    facts: tuple[Fact, ...]
    known: KnowledgeBase
    problems: tuple[Problem, ...] = ()
    notes: tuple[str, ...] = ()
    ready: Mapping[str, str] = field(default_factory=dict)
    alone: Mapping[str, Fact] = field(default_factory=dict)
    withdrawn: tuple[Fact, ...] = ()
    read_from: str = ""
    listed: Mapping[str, str] = field(default_factory=dict)
    """Key of a name → its semantic types, as the source lists them for names in facts and in none."""

    @cached_property
    def relations(self) -> frozenset[str]:
        """The relations of the facts that have no ready sentence."""
        return frozenset(fact.relation for fact in self.facts if fact.fact_id not in self.ready)

    @cached_property
    def memo(self) -> dict[Any, Any]:
        """What others computed from this collection, kept for as long as it lives."""
        return {}

    def stated(self, negatives: int) -> tuple[Fact, ...]:
        """The facts for a test of so many negative ones per positive one. The file's own are partners, one for one, only where
        one is asked for: elsewhere drawn ones would replace them, and they would never be asked.
        """
        return self.facts if negatives == 1 else tuple(self.alone.get(fact.fact_id, fact) for fact in self.facts)

    def fingerprint(self) -> str:
        """A hash that changes whenever the facts, their ready sentences or the known facts and names change."""
        return self.read_from or self._fingerprint

    @cached_property
    def _fingerprint(self) -> str:
        negatives = sorted(canonical_text(fact, self.ready) for fact in self.facts if not fact.positive)
        return digest(self.known.fingerprint(self.ready), *negatives)


def summary(problems: Iterable[Problem]) -> list[str]:
    """One line for each kind of problem: how many rows have it, and the first of them."""
    problems = list(problems)
    counts = Counter(problem.message for problem in problems)
    first = {problem.message: problem.where for problem in reversed(problems)}
    return [
        f"{first[message]}: {message}" if count == 1 else f"{count} rows (the first is {first[message]}): {message}"
        for message, count in counts.items()
    ]
