"""The cells that say until when, where and of whom a fact holds: as they are kept, and what is wrong with them."""

from __future__ import annotations

import re
from collections.abc import Mapping

from medfact.datasets.cells import NUMBER, doubt, fault
from medfact.datasets.headers import MAX_NAME
from medfact.datasets.holding import date_in
from medfact.facts import visible

_EVERYWHERE = frozenset({"worldwide", "world wide", "world", "global", "globally", "everywhere", "all countries"})
_EVERYBODY = frozenset({"all", "everybody", "everyone", "all patients", "all people", "any"})

_NAMED = {"region": _EVERYWHERE, "population": _EVERYBODY}
"""Column → the words that bind nothing: a fact of everybody everywhere has an empty cell."""

_CONTROL = re.compile(r"[\x00-\x1f\x7f]")


def kept(cells: Mapping[str, str]) -> dict[str, str]:
    """The same cells, with dates and places as facts have them. Of cells with which nothing is wrong."""
    read = dict(cells)
    if text := read.get("until"):
        read["until"] = date_in(text) or text
    for name, unbound in _NAMED.items():
        if text := read.get(name):
            plain = visible(text)
            read[name] = "" if plain.lower() in unbound else plain
    return read


def wrong(cells: Mapping[str, str]) -> str:
    """What is wrong with such a cell of a row and what to do, or nothing."""
    if (text := cells.get("until", "")) and date_in(text) is None:
        return f"until is {text[:40]!r}, and neither a year (2004) nor a day (2004-09-30); correct it, or leave it empty"
    return next(filter(None, (_wrong_name(name, cells.get(name, "")) for name in _NAMED)), "")


def _wrong_name(name: str, text: str) -> str:
    if len(text) > MAX_NAME:
        return f"the {name} is longer than {MAX_NAME} characters; give a name"
    if _CONTROL.search(text):
        return f"the {name} holds control characters; type it again"
    if faulty := fault(text):
        return f"the {name} {faulty}"
    if doubt(text) == NUMBER:
        return f"the {name} is the number {text[:40]!r}, and no name; name it, or give the column another header"
    return ""
