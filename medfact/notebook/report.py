"""The scores of runs in a notebook: as a data frame, as figures, and as a table to look at."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from medfact.datasets.table_writer import being_written
from medfact.datasets.text import one_line
from medfact.errors import Mistake, UnknownName
from medfact.exchange.rows import score_rows
from medfact.extras import not_installed_errors
from medfact.metrics import record_of
from medfact.notebook.source import frame_of
from medfact.results.plots import plot_of
from medfact.results.report import Report
from medfact.results.sections import NOTEBOOK, Figures, all_sections
from medfact.results.text import report_text
from medfact.results.wording import count, false_on_purpose, first_scores, names_of_runs, score, ways_of
from medfact.store import Store
from medfact.views.report import html_report

if TYPE_CHECKING:
    import pandas
    import plotly.graph_objects

NOT_FOR_USE = "Not a measure of clinical competence, and not for clinical use."


class Scores:
    """The scores of one run, or of several beside each other."""

    def __init__(self, reports: tuple[Report, ...], store: Store) -> None:
        self.reports = reports
        self._store = store

    @cached_property
    def named(self) -> dict[str, Report]:
        """The reports, by what a person calls their runs."""
        names = names_of_runs([self._store.run(report.run) for report in self.reports])
        return dict(zip(names, self.reports, strict=True))

    def frame(self) -> pandas.DataFrame:
        """The figures that have an interval, a row each: run, model, figure, group, name, value, low, high (shares), n.

        Without the curves: `record()` holds all.
        """
        return frame_of(row for report in self.reports for row in score_rows(report.run, report.model, report, report.imported))

    def record(self) -> dict[str, Any]:
        """All figures of the first run, by their names: the JSON of `medfact report RUN --json`."""
        return dict(record_of(self.reports[0]))

    def figure(self, name: str = "ways of asking") -> plotly.graph_objects.Figure:
        """The figure of a section: "ways of asking", "why facts fail", "relations", "calibration", "surest answers" and others,
        which an unknown name lists. Raises UnknownName where there is no such section, and Mistake where nothing can be drawn.
        """
        return figure_of(Figures(self.named), name)

    def save_html(self, file: str | Path) -> Path:
        """Writes the report that opens offline and prints. Raises Mistake where the file cannot be written."""
        made_at = datetime.now(UTC).isoformat(timespec="seconds")
        text = html_report(self._store, [report.run for report in self.reports], made_at, estimand=self.reports[0].estimand)
        with being_written(file):
            Path(file).write_text(text, encoding="utf-8")
        return Path(file)

    def __str__(self) -> str:
        return "\n".join(report_text(report, name=name) for name, report in self.named.items())

    def __repr__(self) -> str:
        return one_line(f"<scores of {', '.join(self.named)}>")

    def _repr_html_(self) -> str:
        shown = first_scores(self.reports)
        titles = [score(name, ways_of(of)).heading for name, of in shown.items()]
        head = Markup("").join(Markup("<th>{}</th>").format(title) for title in ("run", *titles, "unreadable", "failed"))
        rows = Markup("").join(_row(name, report, shown) for name, report in self.named.items())
        asked = {name: f"{report.dataset}, {report.method}, {report.shots} shots" for name, report in self.named.items()}
        alike = len(set(asked.values())) == 1
        how = asked[next(iter(asked))] if alike else "; ".join(f"{name}: {one}" for name, one in asked.items())
        about = f"{how}{',' if alike else '.'} 95% intervals. {false_on_purpose(self.reports)} {NOT_FOR_USE}"
        return Markup("<table><thead><tr>{}</tr></thead><tbody>{}</tbody></table><p>{}</p>").format(head, rows, about)


def _row(name: str, report: Report, shown: Mapping[str, Sequence[Report]]) -> Markup:
    cells = [
        f"{score(one).of_report(report)}, n = {count(report.measure(one).n)}" if report in of else "–"
        for one, of in shown.items()
    ]
    cells += [f"{count(report.unreadable)} of {count(report.answered)}", count(report.failed)]
    return Markup("<tr><th>{}</th>{}</tr>").format(name, Markup("").join(Markup("<td>{}</td>").format(cell) for cell in cells))


def figure_of(figures: Figures, name: str) -> plotly.graph_objects.Figure:
    """The first figure of a section. Raises UnknownName where there is no such section, Mistake where it has nothing to draw,
    and NotInstalled without plotly.
    """
    known = [entry.name for entry in all_sections().values() if NOTEBOOK in entry.where]
    if name not in known:
        raise UnknownName("figure", name, known)
    made = all_sections()[name].make(figures)
    plot = plot_of(made.figures[0]) if made and made.figures else {}
    if not plot:
        raise Mistake(f"There is nothing to draw of {name!r}.", "No answer of these runs has what it needs.")
    with not_installed_errors():
        import plotly.graph_objects
    return plotly.graph_objects.Figure(data=plot["data"], layout=plot["layout"])
