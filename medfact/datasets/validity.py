"""Validity of facts: their last day, region and population, as tables write them and as facts keep them.

`until` is the last year or day on which a fact is true. It is compared with the day (UTC) on which the facts are read: when
a run of them is planned. Recorded runs do not change afterwards.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, date, datetime

from medfact.datasets.cells import NUMBER, doubt, fault
from medfact.datasets.headers import MAX_NAME
from medfact.facts import Fact, normalize_space

_YEAR = re.compile(r"(\d{4})(?:\.0)?")
_DAY = re.compile(r"(\d{4}-\d{2}-\d{2})(?:[T ]00:00(?::00(?:\.0+)?)?)?")
"""Also as spreadsheets and tables of numbers write them: 2004.0, and a day at midnight."""

_UNBOUNDED = {
    "region": frozenset({"worldwide", "world wide", "world", "global", "globally", "everywhere", "all countries"}),
    "population": frozenset({"all", "everybody", "everyone", "all patients", "all people", "any"}),
}
"""Column → words that mean no bound; facts have an empty cell instead."""

_CONTROL = re.compile(r"[\x00-\x1f\x7f]")


def today() -> date:
    """The current day in UTC."""
    return datetime.now(UTC).date()


def date_in(text: str) -> str | None:
    """A year or day in its normal form ("2004", "2004-09-30"); None for other texts."""
    if year := _YEAR.fullmatch(text):
        return year[1] if int(year[1]) else None
    day = _DAY.fullmatch(text)
    try:
        return date.fromisoformat(day[1]).isoformat() if day else None
    except ValueError:
        return None


def is_over(fact: Fact, day: date) -> bool:
    """Returns True if the fact's `until` is before a day. Files of runs may have other texts there, which are ignored."""
    until = date_in(fact.until or "")
    return until is not None and date.fromisoformat(until if "-" in until else f"{until}-12-31") < day


def bound_or_once_true(facts: Iterable[Fact]) -> Iterator[Fact]:
    """Yields the false facts that may be true elsewhere or of others, or were true once: no draw calls them false."""
    for fact in facts:
        if not fact.positive and fact.tail is not None and (fact.until or fact.region or fact.population):
            yield fact


def left_out_note(number: int, day: date) -> str:
    """The note on facts that are no longer true, with a way to ask them."""
    facts, their, them = ("1 fact is", "its", "it") if number == 1 else (f"{number:,} facts are", "their", "them")
    return (
        f"{facts} no longer true and {'was' if number == 1 else 'were'} left out: {their} until lies before {day.isoformat()}. "
        f"To ask whether a model still affirms {them}, write false in a column positive."
    )


def normalized(cells: Mapping[str, str]) -> dict[str, str]:
    """Valid cells of a row, with dates, regions and populations in their normal form."""
    cells = dict(cells)
    if text := cells.get("until"):
        cells["until"] = date_in(text) or text
    for name, unbounded in _UNBOUNDED.items():
        if text := cells.get(name):
            text = normalize_space(text)
            cells[name] = "" if text.lower() in unbounded else text
    return cells


def problem_of(cells: Mapping[str, str]) -> str:
    """The problem of a row's date, region or population, with a remedy; "" if they are valid."""
    if (text := cells.get("until", "")) and date_in(text) is None:
        return f"until is {text[:40]!r}, and neither a year (2004) nor a day (2004-09-30); correct it, or leave it empty"
    return next(filter(None, (_problem_of_name(name, cells.get(name, "")) for name in _UNBOUNDED)), "")


def _problem_of_name(column: str, text: str) -> str:
    if len(text) > MAX_NAME:
        return f"the {column} is longer than {MAX_NAME} characters; give a name"
    if _CONTROL.search(text):
        return f"the {column} holds control characters; type it again"
    if reason := fault(text):
        return f"the {column} {reason}"
    if doubt(text) == NUMBER:
        return f"the {column} is the number {text[:40]!r}, and no name; name it, or give the column another header"
    return ""
