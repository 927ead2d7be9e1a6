"""The blocks of which results are told: what is shown, and nothing of how it is drawn.

A section is made of blocks. Each renderer draws any block: the page (`results.plots`), the report that is one file
(`views.charts`), the terminal (`results.text`), a paper (`results.latex`) and the notebook.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from medfact.facts import Fact
from medfact.metrics.uncertainty import Estimate


class Cell(NamedTuple):
    """A figure in a table, or a text in its place.

    many: of how many things, in words. under: lines that stand beside the figure. signed: a difference, in points.
    shown: a difference that is shown, which tables frame.
    """

    estimate: Estimate | None = None
    many: str = ""
    under: tuple[str, ...] = ()
    text: str = ""
    signed: bool = False
    shown: bool = False

    @property
    def known(self) -> Estimate | None:
        """The estimate, where it has a value."""
        return self.estimate if self.estimate is not None and self.estimate.value is not None else None


ABSENT = Cell(text="–")


class Row(NamedTuple):
    """A row of a table. cells: by the heads of their columns. note: what the row means; term: its papers' or short name, for
    a terminal. opens: what a page shows when it is clicked."""

    name: str
    cells: Mapping[str, Cell]
    note: str = ""
    term: str = ""
    opens: Mapping[str, Any] | None = None


@dataclass(frozen=True, kw_only=True)
class Table:
    """A table. name: its id on a page. label: what it is, for who cannot see it. heading: over the names of rows.
    caption: above it. folded: what is clicked to open it, "" where it is open. compact: whether a terminal leaves it out."""

    name: str
    label: str
    heading: str
    rows: tuple[Row, ...]
    caption: str = ""
    folded: str = ""
    compact: bool = False

    @property
    def heads(self) -> list[str]:
        """The heads of the columns, in their order."""
        return list(dict.fromkeys(head for row in self.rows for head in row.cells))


@dataclass(frozen=True, kw_only=True)
class Shares(Table):
    """Shares with n and interval, a row a thing and a column a run: a dot each, from 0 to 100 %. The same as a table is one
    fold away. finding: what it shows, its title. coin: whether a line at half is drawn. alone: whether one row is drawn,
    which compares nothing."""

    finding: str
    axis: str = "right answers, %"
    coin: bool = True
    alone: bool = False

    @property
    def is_drawn(self) -> bool:
        known = any(cell.known for row in self.rows for cell in row.cells.values())
        return known and (self.alone or len(self.rows) > 1)


@dataclass(frozen=True, kw_only=True)
class Differences(Shares):
    """Differences in points with n and interval: a row a pair, a dot each; at 0 there is none."""

    axis: str = "difference, points"
    coin: bool = False
    alone: bool = True


@dataclass(frozen=True, kw_only=True)
class Parts(Shares):
    """Shares that add up to a whole: one stacked bar a run, a part a row."""

    coin: bool = False
    alone: bool = True


class Point(NamedTuple):
    """A place in a square from 0 to 1. n: for how many it stands. words: what it is."""

    x: float
    y: float
    n: int
    words: str


class Panel(NamedTuple):
    """The square of one run. place: of the run among all, for its colour. band: (x, least, most) of where points of a perfect
    model lie; finding: what this square alone shows; bars: (low, high, n) of how often each x occurs."""

    points: tuple[Point, ...]
    place: int
    finding: str
    band: tuple[tuple[float, float, float], ...] = ()
    bars: tuple[tuple[float, float, int], ...] = ()


@dataclass(frozen=True, kw_only=True)
class Square:
    """Squares from 0 to 1 both ways, one a run, with points as large as what they stand for. rising: whether the dashed line
    of perfection rises. curve: whether points are joined."""

    name: str
    label: str
    finding: str
    panels: Mapping[str, Panel]
    axes: tuple[str, str]
    rising: bool
    curve: bool
    folded: str = ""
    """Line under which the page folds the squares away."""

    @property
    def is_drawn(self) -> bool:
        return any(panel.points for panel in self.panels.values())

    @property
    def each(self) -> list[Square]:
        """A figure of its own for each run that has points."""
        several = len(self.panels) > 1
        return [
            replace(
                self,
                name=f"{self.name}-{place}" if several else self.name,
                finding=f"{name}: {said}" if several and not (said := panel.finding).startswith(f"{name}: ") else panel.finding,
                panels={name: panel},
            )
            for place, (name, panel) in enumerate(self.panels.items())
            if panel.points
        ]


CurveLine = tuple[tuple[float, Estimate], ...]
"""A line of a curve: at each x a share or difference, from −1 to 1. Its bounds are drawn at each point, or as a band where the
curve has one."""


@dataclass(frozen=True, kw_only=True)
class Curve:
    """Lines over something that is counted. axes: of x and y. coin: what a coin gets at each x. dashed: lines that are means of
    others. band: whether bounds are drawn as one area. signed: whether y is a difference. marked: a place on the first line,
    with what it is. end: of x."""

    name: str
    label: str
    finding: str
    lines: Mapping[str, CurveLine]
    axes: tuple[str, str]
    coin: tuple[float, ...] = ()
    dashed: tuple[str, ...] = ()
    band: bool = False
    signed: bool = False
    marked: tuple[int, str] | None = None
    end: int | None = None

    @property
    def is_drawn(self) -> bool:
        return any(self.lines.values())


class FactLine(NamedTuple):
    """A fact with what is told of it. opens: what a page shows when it is clicked."""

    fact: Fact
    words: str
    key: str = ""
    opens: Mapping[str, Any] | None = None


@dataclass(frozen=True, kw_only=True)
class Facts:
    """Facts in their order, each with its label: false ones always bear their mark."""

    lines: tuple[FactLine, ...]


@dataclass(frozen=True, kw_only=True)
class Note:
    """Sentences. heading: they stand below a heading of their own. listed: as points
    of a list. link: (address, text) of a page. quiet: a page and a report explain it, a terminal does not."""

    lines: tuple[str, ...]
    heading: str = ""
    listed: bool = False
    link: tuple[str, str] | None = None
    quiet: bool = False


Block = Table | Shares | Differences | Square | Curve | Facts | Note
Figure = Shares | Differences | Square | Curve


@dataclass(frozen=True)
class Section:
    """A part of a result: its title, and the blocks that tell it. folded: whether a page opens it only when it is asked for."""

    title: str
    blocks: tuple[Block, ...] = field(default=())
    folded: bool = False

    @property
    def figures(self) -> list[Figure]:
        """The blocks that have something to draw."""
        return [block for block in self.blocks if isinstance(block, Figure) and block.is_drawn]

    @property
    def finding(self) -> str:
        """What the section's first figure shows."""
        return next((figure.finding for figure in self.figures), "")
