"""A race in words and as a curve, once for the page, the command line and reports: where it stands, and how it went."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from medfact.metrics.race import Race, band
from medfact.metrics.uncertainty import Estimate
from medfact.results.blocks import Curve
from medfact.results.compare import Raced, negated
from medfact.results.wording import counted
from medfact.runs.racing import lead_in_words

MOST_STEPS = 400
"""Diseases that are drawn; of more, evenly spread ones, the first, the deciding and the last among them."""

ABOUT = (
    "The score is mastery: facts with all answers right. Diseases count in a random order that was fixed before, each once "
    "both models have been asked all of it. The bounds are about these facts. A race is decided once 0 lies outside them and "
    "outside the interval about similar facts. It asks for more than a comparison that is looked at once, and may stay "
    "undecided where that shows a difference."
)


def race_in_words(a: str, b: str, race: Race | None, names: Mapping[str, str]) -> str:
    """Where the race of two runs stands, in a sentence. names: run → what to call it."""
    one, other = names[a], names[b]
    if race is None:
        return f"{one} and {other} share no fact, so they do not race."
    if not race.heads:
        return f"{one} and {other}: no disease is complete in both yet."
    failed = f"; {counted(race.failed, 'fact')} with failed calls counted against the leader" if race.failed else ""
    of = f"{race.heads:,} of {counted(race.of, 'disease')} counted{failed}"
    if race.decided_at:
        return f"Decided: {lead_in_words(one, other, race)}, after {counted(race.decided_at, 'disease')} ({of})."
    better, worse, least = (one, other, race.low) if race.low > -race.high else (other, one, -race.high)
    rest = ": the other diseases are unlikely to" if race.heads < race.of else ""
    more = f": about {counted(race.more, 'disease')} more would decide, if they are like these" if race.more else rest
    if least > 0:
        these = f"On these facts {better} masters more than {worse}, by at least {100 * least:.1f} points"
        return f"{these}; whether on similar facts is not decided{more} ({of})."
    return f"{one} and {other}: not decided {'yet' if race.heads < race.of else 'with these facts'}{more} ({of})."


def race_curve(place: int, finding: str, raced: Raced) -> Curve | None:
    """The course of a race: by how much the leader is ahead so far, with bounds that hold at any time; None before a disease is
    complete in both runs.
    """
    if raced.found is None or raced.race is None or not raced.race.heads:
        return None
    count, decided = raced.race.heads, raced.race.decided_at
    heads = np.unique(np.linspace(1, count, min(count, MOST_STEPS)).round().astype(int))
    heads = np.union1d(heads, [decided]) if decided else heads
    course = zip(heads.tolist(), *(part[heads - 1].tolist() for part in band(raced.found, raced.family)), strict=True)
    line = tuple((number, Estimate(value, low, high, number)) for number, value, low, high in course)
    if raced.race.low + raced.race.high < 0:  # the second is ahead, as the finding says
        line = tuple((number, Estimate(negated(one.value), negated(one.high), negated(one.low), one.n)) for number, one in line)
    return Curve(
        name=f"race-{place}",
        label="The difference in facts with all answers right, in points, over the diseases counted, with bounds that hold at "
        "any time.",
        finding=finding,
        lines={"difference so far": line},
        axes=(f"diseases counted, of {raced.race.of:,}", "difference, points"),
        band=True,
        signed=True,
        marked=(heads.tolist().index(decided), f"decided after {counted(decided, 'disease')}") if decided else None,
        end=raced.race.of,
    )
