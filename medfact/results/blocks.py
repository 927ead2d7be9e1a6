"""Blocks that describe results independently of their rendering. A section is a list of blocks.

Each renderer accepts any block: the page (`results.plots`), the report that is one file (`views.fragments`), the terminal and
LaTeX (`results.text`), and the notebook.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from medfact.facts import Fact
from medfact.metrics.uncertainty import Estimate


class Cell(NamedTuple):
    """A figure in a table, or a text in its place."""

    estimate: Estimate | None = None
    many: str = ""  # what the estimate is over, such as "40 facts"
    under: tuple[str, ...] = ()  # lines next to the figure
    text: str = ""
    signed: bool = False  # True for a difference, in points
    shown: bool = False  # True for a significant difference, which tables frame

    @property
    def known(self) -> Estimate | None:
        """The estimate, if it has a value."""
        return self.estimate if self.estimate is not None and self.estimate.value is not None else None


ABSENT = Cell(text="–")


class Row(NamedTuple):
    """A row of a table."""

    name: str
    cells: Mapping[str, Cell]  # by the heads of their columns
    note: str = ""  # explanation of the row
    term: str = ""  # its short name, or that of the papers, for a terminal
    opens: Mapping[str, Any] | None = None  # view that a click on a page opens


@dataclass(frozen=True, kw_only=True)
class Table:
    """A table of figures and texts."""

    name: str  # its id on a page
    label: str  # its description for screen readers
    heading: str  # head of the names of rows
    rows: tuple[Row, ...]
    caption: str = ""
    folded: str = ""  # summary under which a page folds it; "" for an open table
    compact: bool = False  # True if a terminal leaves it out

    @property
    def heads(self) -> list[str]:
        """Heads of the columns, in order."""
        return list(dict.fromkeys(head for row in self.rows for head in row.cells))


@dataclass(frozen=True, kw_only=True)
class Shares(Table):
    """Shares from 0 to 100 % with n and interval, a dot each: a row for each subject, a column for each run."""

    finding: str  # the figure's title
    axis: str = "right answers, %"
    coin: bool = True  # True for a line at half
    alone: bool = False  # True if a single row is drawn, which compares nothing

    @property
    def is_drawn(self) -> bool:
        return (self.alone or len(self.rows) > 1) and any(cell.known for row in self.rows for cell in row.cells.values())


@dataclass(frozen=True, kw_only=True)
class Differences(Shares):
    """Differences in points around 0, with n and interval: a row for each pair, a dot each."""

    axis: str = "difference, points"
    coin: bool = False
    alone: bool = True

    @property
    def extent(self) -> float:
        """Largest absolute value of a difference or bound."""
        ends = (end for row in self.rows for cell in row.cells.values() for end in (cell.known or ())[:3])
        return max((abs(end) for end in ends if end is not None), default=0.0)


@dataclass(frozen=True, kw_only=True)
class Parts(Shares):
    """Shares that add up to a whole: a stacked bar for each run, a part for each row."""

    coin: bool = False
    alone: bool = True


class Point(NamedTuple):
    """A point in a square from 0 to 1."""

    x: float
    y: float
    n: int  # statements that it stands for
    words: str


class Panel(NamedTuple):
    """The square of one run."""

    points: tuple[Point, ...]
    place: int  # index of the run among all, for its colour
    finding: str
    band: tuple[tuple[float, float, float], ...] = ()  # (x, low, high) in which a perfect model's points are
    bars: tuple[tuple[float, float, int], ...] = ()  # (low, high, n): histogram of x


@dataclass(frozen=True, kw_only=True)
class Square:
    """Squares from 0 to 1 on both axes, one for each run. The area of a point is proportional to its n."""

    name: str
    label: str
    finding: str
    panels: Mapping[str, Panel]
    axes: tuple[str, str]
    rising: bool  # True if the line of perfection rises
    curve: bool  # True if points are joined
    folded: str = ""  # summary under which a page folds the squares

    @property
    def is_drawn(self) -> bool:
        return any(panel.points for panel in self.panels.values())

    @property
    def each(self) -> list[Square]:
        """A figure for each run that has points."""
        several = len(self.panels) > 1
        return [
            replace(
                self,
                name=f"{self.name}-{index}" if several else self.name,
                finding=f"{name}: {panel.finding.removeprefix(f'{name}: ')}" if several else panel.finding,
                panels={name: panel},
            )
            for index, (name, panel) in enumerate(self.panels.items())
            if panel.points
        ]


# At each x a share or difference, from −1 to 1. Its bounds are drawn at each point, or as a band if the curve has one.
CurveLine = tuple[tuple[float, Estimate], ...]


@dataclass(frozen=True, kw_only=True)
class Curve:
    """Lines over a count, such as the number of statements."""

    name: str
    label: str
    finding: str
    lines: Mapping[str, CurveLine]
    axes: tuple[str, str]  # titles of x and y
    coin: tuple[float, ...] = ()  # expectation of a coin at each x
    dashed: tuple[str, ...] = ()  # names of lines that are means of others
    band: bool = False  # True if bounds are drawn as an area
    signed: bool = False  # True if y is a difference
    marked: tuple[int, str] | None = None  # index of a point of the first line, and its description
    end: int | None = None  # of x

    @property
    def is_drawn(self) -> bool:
        return any(self.lines.values())

    @property
    def last_step(self) -> float:
        """End of the axis of x."""
        return self.end or max((line[-1][0] for line in self.lines.values() if line), default=0)

    @property
    def extent(self) -> float:
        """Half-width of the axis of y around 0: fits the first line and its last bounds, and cuts the wide early ones."""
        line = [estimate for _, estimate in next(iter(self.lines.values()))]
        values = (abs(estimate.value or 0.0) for estimate in line[len(line) // 10 :])
        return 1.15 * max(0.1, *values, *(1.5 * abs(end or 0.0) for last in line[-1:] for end in last[1:3]))


class FactLine(NamedTuple):
    """A fact and its description."""

    fact: Fact
    words: str
    key: str = ""
    opens: Mapping[str, Any] | None = None  # view that a click on a page opens


@dataclass(frozen=True, kw_only=True)
class Facts:
    """Facts in order, each with its label: false ones always bear their mark."""

    lines: tuple[FactLine, ...]


@dataclass(frozen=True, kw_only=True)
class Note:
    """Sentences."""

    lines: tuple[str, ...]
    heading: str = ""
    listed: bool = False  # True for points of a list
    link: tuple[str, str] | None = None  # address and text
    quiet: bool = False  # True if a terminal leaves it out


Figure = Shares | Differences | Square | Curve
Block = Table | Figure | Facts | Note


@dataclass(frozen=True)
class Section:
    """A titled part of a result."""

    title: str
    blocks: tuple[Block, ...] = ()
    folded: bool = False  # True if a page opens it only on request

    @property
    def figures(self) -> list[Figure]:
        """Blocks that have something to draw."""
        return [block for block in self.blocks if isinstance(block, Figure) and block.is_drawn]

    @property
    def finding(self) -> str:
        """Finding of the section's first figure."""
        return next((figure.finding for figure in self.figures), "")
