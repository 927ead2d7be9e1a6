"""Runs beside each other in a notebook."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from medfact.errors import Mistake
from medfact.notebook.evaluation import Evaluated, open_run
from medfact.notebook.report import NOT_FOR_USE, Scores, figure_of
from medfact.notebook.source import frame_of
from medfact.results.compare import METRICS, Comparison, Side, comparison, sides_of
from medfact.results.report import report_of
from medfact.results.sections import SECTIONS, Beside, Figures
from medfact.results.sections.beside import beside_of
from medfact.results.text import comparison_text, names_in_a_terminal
from medfact.results.wording import TOO_FEW, counted, points
from medfact.store import Store

if TYPE_CHECKING:
    import pandas
    import plotly.graph_objects


class Compared:
    """Two to eight runs on the facts that they share."""

    def __init__(self, sides: list[Side], store: Store) -> None:
        self._sides, self._store = sides, store

    @cached_property
    def comparison(self) -> Comparison:
        """What the runs share, in what they differ, and their paired differences."""
        return comparison(self._sides)

    @cached_property
    def scores(self) -> Scores:
        """The scores of each run by itself, over all its facts."""
        return Scores(tuple(report_of(self._store, side.run) for side in self._sides), self._store)

    def _beside(self, names: dict[str, str]) -> Beside:
        return beside_of(self._store, self._sides, names)

    def frame(self) -> pandas.DataFrame:
        """A row a pair and score: a, b, metric, difference (a − b, a share), low, high, p, p_holm, only_a, only_b, n."""
        return frame_of(self.comparison.record()["pairs"])

    def figure(self, name: str = "ways of asking") -> plotly.graph_objects.Figure:
        """A figure of all the runs; see `Scores.figure`."""
        if name not in SECTIONS or SECTIONS[name].tab != "compare":  # what runs show beside each other takes long
            return self.scores.figure(name)
        names = {one.run: one.name for one in self.comparison.runs}
        return figure_of(Figures(self.scores.named, beside=self._beside(names)), name)

    def __str__(self) -> str:
        beside = self._beside(names_in_a_terminal(self.comparison))
        return comparison_text(self.comparison, list(self.scores.reports), beside)

    def __repr__(self) -> str:
        return f"<{len(self._sides)} runs on {counted(self.comparison.shared_facts, 'shared fact')}>"

    def _repr_html_(self) -> str:
        names = {one.run: one.name for one in self.comparison.runs}
        rows = Markup("").join(_row(pair, names) for pair in self.comparison.record()["pairs"])
        head = Markup("").join(
            Markup("<th>{}</th>").format(title)
            for title in ("a", "b", "score", "a − b, points", "95% interval, for all pairs", "n")
        )
        about = f"{counted(self.comparison.shared_facts, 'shared fact')}. {NOT_FOR_USE}"
        table = Markup("<table><thead><tr>{}</tr></thead><tbody>{}</tbody></table><p>{}</p>").format(head, rows, about)
        return table


def _row(pair: dict[str, Any], names: dict[str, str]) -> Markup:
    low, high = pair["low_all"], pair["high_all"]
    bounds = TOO_FEW if low is None else f"{points(low)} to {points(high)}"
    difference = "no value" if pair["difference"] is None else points(pair["difference"])
    cells = [names[pair["a"]], names[pair["b"]], METRICS[pair["metric"]], difference, bounds, f"{pair['n']:,}"]
    return Markup("<tr>{}</tr>").format(Markup("").join(Markup("<td>{}</td>").format(cell) for cell in cells))


def compare(*runs: Evaluated | str, db: str | None = None) -> Compared:
    """Compares two to eight runs on the facts they share. runs: as `evaluate` gives them, or their ids in the database `db`.

    Raises Mistake where they are too few or too many, or of different databases, and UnknownName where there is no such run.
    """
    opened = [run if isinstance(run, Evaluated) else open_run(run, db) for run in runs]
    if not opened:
        raise Mistake("No run is given.", "Compare 2 to 8.")
    stores = [run.store for run in opened]
    if len({store.url for store in stores}) > 1:
        raise Mistake("The runs are in different databases.", "Export one of them, and import it beside the other.")
    return Compared(sides_of(stores[0], [run.id for run in opened]), stores[0])
