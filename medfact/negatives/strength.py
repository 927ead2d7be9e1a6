"""How strongly a false tail is stated of a head: the same under every seed.

A negative is stated as strongly as the fact that it is a partner of. Where a head has facts of several strengths, its false
tails are dealt out to them once and for all; else a pair would be "recognized" under one seed and "common" under another.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from medfact.facts import Fact, digest


def has_several_strengths(facts: Iterable[Fact]) -> bool:
    """Whether facts are stated in several strengths."""
    return len({fact.strength or "" for fact in facts}) > 1


class Dealt:
    """The strengths of a head's false tails in one relation.

    facts: those of the head. strata: its safe tails, as entities: near ones, then far ones. Each strength gets a share of both.
    """

    def __init__(self, head: str, facts: Sequence[Fact], strata: Iterable[Iterable[str]]) -> None:
        self._head = head
        self._strengths = [fact.strength or "" for fact in sorted(facts, key=lambda fact: digest("strength", fact.fact_id))]
        tails = (tail for stratum in strata for tail in sorted(stratum, key=self._place))
        self._of = {tail: self._strengths[number % len(facts)] for number, tail in enumerate(tails)} if facts else {}

    def fit(self, fact: Fact, tail: str) -> bool:
        """Whether a tail, if it is false, is stated as strongly as the fact. What is not safe is dealt out by chance."""
        own = fact.strength or ""
        if {*self._strengths} == {own} or own not in self._strengths:
            return True
        if tail not in self._of:
            self._of[tail] = self._strengths[int(self._place(tail), 16) % len(self._strengths)]
        return self._of[tail] == own

    def _place(self, tail: str) -> str:
        return digest("strength", self._head, tail)
