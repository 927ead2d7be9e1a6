"""Until when facts hold: a fact may have been true once, and be so no longer.

A date is compared with the day on which the facts are read, in UTC, which is the day on which a run of them is planned: what a
run asks is recorded, and does not change afterwards. A year, or a day, is the last one on which the fact was true.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from datetime import UTC, date, datetime

from medfact.facts import Fact

_YEAR = re.compile(r"(\d{4})(?:\.0)?")
_DAY = re.compile(r"(\d{4}-\d{2}-\d{2})(?:[T ]00:00(?::00(?:\.0+)?)?)?")
"""As spreadsheets and tables of numbers write them, too: 2004.0, and a day at midnight."""


def today() -> date:
    """The day with which dates are compared."""
    return datetime.now(UTC).date()


def date_in(text: str) -> str | None:
    """A year or day as it is kept ("2004", "2004-09-30"), or None where a text is neither."""
    if found := _YEAR.fullmatch(text):
        return found[1] if int(found[1]) else None
    found = _DAY.fullmatch(text)
    try:
        return date.fromisoformat(found[1]).isoformat() if found else None
    except ValueError:
        return None


def is_over(fact: Fact, day: date) -> bool:
    """Whether the fact's `until` has passed on a day. Files of runs may hold any text there: what is no date has not passed."""
    until = date_in(fact.until or "")
    return until is not None and date.fromisoformat(until if "-" in until else f"{until}-12-31") < day


def was_true(fact: Fact) -> bool:
    """Whether a false fact says that it once was true."""
    return not fact.positive and bool(fact.until)


def bound_or_once_true(facts: Iterable[Fact]) -> Iterator[Fact]:
    """The false facts that may be true elsewhere or of others, or were so once: no draw calls them false."""
    for fact in facts:
        if not fact.positive and fact.tail is not None and (fact.until or fact.region or fact.population):
            yield fact


def left_out_note(number: int, day: date) -> str:
    """Says how many facts are no longer true, and how to ask them."""
    facts, their, them = ("1 fact is", "its", "it") if number == 1 else (f"{number:,} facts are", "their", "them")
    return (
        f"{facts} no longer true and {'was' if number == 1 else 'were'} left out: {their} until lies before {day.isoformat()}. "
        f"To ask whether a model still affirms {them}, write false in a column positive."
    )
