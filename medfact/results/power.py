"""What facts can show, in words, before they are asked."""

from __future__ import annotations

from collections.abc import Sequence

from medfact.facts import Fact
from medfact.metrics import codes
from medfact.metrics.clusters import Clusters
from medfact.metrics.power import POWER, expected_error, expected_half_width, facts_for, least_difference
from medfact.metrics.uncertainty import FEWEST_HEADS, too_few
from medfact.results.wording import counted

FINE = 0.02
"""A difference between two models that a reader would call small."""


def power_in_words(facts: Sequence[Fact], statements: int) -> str:
    """How good the scores will be, and what difference between two models they can show. facts: each once; statements: of them
    all.
    """
    clusters = Clusters(codes([fact.head for fact in facts]), codes([fact.tail_key for fact in facts]))
    if too_few(clusters.heads):
        return f"Scores will have no intervals: the facts are about fewer than {FEWEST_HEADS} diseases, or mostly about a few."
    error = expected_error(clusters, max(1, statements // len(facts)))
    more = facts_for(FINE, len(facts), error) - len(facts)
    fine = (
        f"; for {100 * FINE:.0f} points it would take about {counted(_rounded(more), 'fact')} more, true and false ones"
        if more > 0
        else ""
    )
    return (
        f"All-right scores will be good to about ±{100 * expected_half_width(clusters):.0f} points. This size can detect a "
        f"{100 * least_difference(error):.1f}-point difference between two models in right answers (80% power){fine}."
    )


def points_in_words(facts: Sequence[Fact], statements: int) -> str:
    """Which difference between two models such facts can detect. statements: of each fact."""
    clusters = Clusters(codes([fact.head for fact in facts]), codes([fact.tail_key for fact in facts]))
    if too_few(clusters.heads):
        return "too few diseases for an interval"
    points = 100 * least_difference(expected_error(clusters, max(1, statements)))
    return f"can detect a {points:.0f}-point difference ({100 * POWER:.0f} % power)"


def _rounded(facts: int) -> int:
    """Two digits of a number: more would be said than is known."""
    digits = max(0, len(str(facts)) - 2)
    return round(facts, -digits)
