"""What facts can show, in words, before they are asked."""

from __future__ import annotations

from collections.abc import Sequence

from medfact.facts import Fact
from medfact.metrics import codes
from medfact.metrics.clusters import Clusters
from medfact.metrics.power import (
    expected_error,
    expected_half_width,
    facts_for,
    least_difference,
    least_mastery_difference,
)
from medfact.metrics.uncertainty import FEWEST_HEADS, too_few
from medfact.results.wording import counted

FINE = 0.02
"""A difference between two models that a reader would call small."""


def power_in_words(facts: Sequence[Fact], statements: int) -> str:
    """How good the scores will be, and which differences between two models they can show. facts: each once; statements: of
    them all.
    """
    clusters = _clusters(facts)
    if too_few(clusters.heads):
        return f"Scores will have no intervals: the facts are about fewer than {FEWEST_HEADS} diseases, or mostly about a few."
    ways = max(1, statements // len(facts))
    more = facts_for(FINE, len(facts), expected_error(clusters, ways)) - len(facts)
    fine = (
        f"; for {100 * FINE:.0f} points in right answers it would take about {counted(_rounded(more), 'fact')} more, true and "
        "false ones"
        if more > 0
        else ""
    )
    half = f"All-right scores will be good to about ±{100 * expected_half_width(clusters):.0f} points"
    return f"{half}. Between two models, this size {_finds(clusters, ways)}{fine}."


def points_in_words(facts: Sequence[Fact], statements: int) -> str:
    """Which differences between two models such facts find. statements: of each fact."""
    clusters = _clusters(facts)
    return "too few diseases for an interval" if too_few(clusters.heads) else _finds(clusters, max(1, statements))


def _clusters(facts: Sequence[Fact]) -> Clusters:
    return Clusters(codes([fact.head for fact in facts]), codes([fact.tail_key for fact in facts]))


def _finds(clusters: Clusters, statements: int) -> str:
    """The smallest differences that are found 4 times in 5, by score: of one statement a fact both scores are one."""
    right = f"finds {100 * least_difference(expected_error(clusters, statements)):.0f} points in right answers"
    mastery = 100 * least_mastery_difference(clusters)
    return right + (f", {mastery:.0f} in facts all right" if statements > 1 else "") + ", 4 times in 5"


def _rounded(facts: int) -> int:
    """Two digits of a number: more would be said than is known."""
    digits = max(0, len(str(facts)) - 2)
    return round(facts, -digits)
