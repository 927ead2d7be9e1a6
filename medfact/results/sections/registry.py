"""Registry of the sections of results, with their order and the outputs that show them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from medfact.metrics.groupings import GROUPINGS
from medfact.results.blocks import Section
from medfact.results.compare import Change, InLanguages, Pair, Raced
from medfact.results.danger import Danger
from medfact.results.fact_table import OverModels
from medfact.results.report import Report

# Where sections are shown: the page, the report that is one file, `report` on the command line, LaTeX, a notebook.
PAGE, REPORT, TERMINAL, PAPER, NOTEBOOK = "page", "report", "terminal", "paper", "notebook"

EVERYWHERE = frozenset({PAGE, REPORT, TERMINAL, PAPER, NOTEBOOK})

# Tab of the results → its title. A section that names another tab adds it.
TABS = {"summary": "Summary", "confidence": "Confidence", "groups": "Groups", "statistics": "Statistics"}

# Sections that the page shows elsewhere: above the tabs, in a tab with more to do, and of several runs in “Statistics”.
ELSEWHERE = {"scores", "evidence", "compare"}


@dataclass(frozen=True)
class Beside:
    """Figures of runs beside each other."""

    names: Mapping[str, str]  # of the runs
    pairs: Sequence[Pair]
    races: Sequence[Raced]
    across: Sequence[Pair]
    over_models: OverModels
    changes: Sequence[Change]
    questions: Mapping[str, Any] = field(default_factory=dict)  # of each run
    languages: Sequence[InLanguages] = ()


@dataclass(frozen=True)
class Figures:
    """Figures that sections are made of."""

    reports: Mapping[str, Report]  # by the names of their runs
    dangers: Mapping[str, Danger] = field(default_factory=dict)  # false facts that each accepts
    beside: Beside | None = None
    opens: Mapping[tuple[str, int], Mapping[str, Any]] = field(default_factory=dict)  # (run, fact) → view at a click
    links: Mapping[str, str] = field(default_factory=dict)  # run → the page that reviews it
    group: str = ""  # choice in "Groups" (`Grouping.tab`); "" for all


Make = Callable[..., Section | None]  # makes a section of figures, and of the grouping that it is registered with


@dataclass(frozen=True)
class Entry:
    """A section in the registry."""

    name: str
    make: Make
    order: float
    tab: str
    where: frozenset[str]
    grouping: str


SECTIONS: dict[str, Entry] = {}  # every section by its name, which is that of its figure in a notebook

EACH = "each grouping"


def section(
    name: str, order: float, tab: str = "statistics", where: frozenset[str] = EVERYWHERE, grouping: str = ""
) -> Callable[[Make], Make]:
    """Registers a section. It is None where these figures have nothing to show.

    order: smaller numbers come first. grouping: name of the grouping that its function gets too; EACH for the section of all
    groupings that have none of their own.
    """

    def register(make: Make) -> Make:
        of_one = partial(make, grouping=GROUPINGS[grouping]) if grouping in GROUPINGS else make
        SECTIONS[name] = Entry(name, of_one, order, tab, where, grouping)
        return make

    return register


def all_sections() -> dict[str, Entry]:
    """Every section by its name, with those of groupings that have none of their own."""
    have = {entry.grouping for entry in SECTIONS.values()}
    general = SECTIONS[EACH]
    more = {
        name: replace(general, name=name, make=partial(general.make, grouping=grouping), grouping=name)
        for name, grouping in GROUPINGS.items()
        if grouping.tab and name not in have
    }
    return {name: entry for name, entry in {**SECTIONS, **more}.items() if name != EACH}


def tabs() -> dict[str, str]:
    """The tabs that hold sections, with their titles."""
    return TABS | {entry.tab: entry.tab.capitalize() for entry in SECTIONS.values() if entry.tab not in {*TABS, *ELSEWHERE}}


def sections_of(figures: Figures, where: str, tab: str | None = None) -> Iterator[Section]:
    """The sections that these figures have, in their order. tab: those of one tab alone."""
    for entry in sorted(all_sections().values(), key=lambda entry: entry.order):
        group = GROUPINGS[entry.grouping].tab if entry.grouping else ""
        is_chosen = not figures.group or not group or group == figures.group
        if where in entry.where and tab in {None, entry.tab} and is_chosen:
            section = entry.make(figures)
            if section is not None and section.blocks:
                yield section
