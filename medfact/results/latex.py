"""Scores of runs as a LaTeX table, for a paper."""

from __future__ import annotations

from collections.abc import Mapping

from medfact.datasets.text import one_line
from medfact.metrics.uncertainty import Estimate
from medfact.results import wording
from medfact.results.blocks import Note, Table
from medfact.results.report import Report
from medfact.results.sections import PAPER, Figures, sections_of
from medfact.results.wording import describe_ending, false_on_purpose, remarks

_ESCAPES = {
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{", "}": r"\}",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": r"\textless{}", ">": r"\textgreater{}", "−": "$-$", "–": "--",
    "“": "``", "”": "''",
}  # fmt: skip


DAGGER = r"^\dagger"  # of a difference that is shown


def escaped(text: str) -> str:
    """Text that LaTeX prints as it stands."""
    return " ".join("".join(_ESCAPES.get(letter, letter) for letter in one_line(text)).split())


def latex_tables(reports: Mapping[str, Report]) -> str:
    """A table for each section that a paper has, among them one of scores and one of right answers by the way of asking;
    reports by what to call them.
    """
    lines = [r"% needs \usepackage{array,booktabs,longtable}"]
    for section in sections_of(Figures(reports), PAPER):
        notes = " ".join(
            line for block in section.blocks if isinstance(block, Note) and not block.quiet for line in block.lines
        )
        about = " ".join(filter(None, [f"{section.title}.", notes]))
        for block in section.blocks:
            if isinstance(block, Table):
                lines += [*_table(block, about), ""]
    return "\n".join([*lines, rf"\par\noindent{{\footnotesize All tables: {escaped(_about_all(reports))}\par}}", ""])


def _about_all(reports: Mapping[str, Report]) -> str:
    """On what and how each run was asked, what the intervals are about, and how runs ended that are not complete."""
    asked = {name: f"{report.method} on {report.dataset}" for name, report in reports.items()}
    alike = len(set(asked.values())) == 1
    how = next(iter(asked.values())) if alike else "; ".join(f"{name}: {one}" for name, one in asked.items())
    ended = {name: describe_ending(report.state, report.reason) for name, report in reports.items()}
    endings = "".join(f" {name}: {text}" for name, text in ended.items() if text)
    endings += "".join(f" {name}: {note}" for name, report in reports.items() for note in remarks(report))
    about = f"{wording.about_intervals(list(reports.values()))} {false_on_purpose(reports.values())}"
    return f"{how}{',' if alike else ';'} in per cent, with 95% intervals; n: of how many. {about}{endings}"


def _table(table: Table, caption: str) -> list[str]:
    """A line a run under each row's name, so that many runs make the table longer, not wider than a page."""
    notes = " ".join(dict.fromkeys(f"A{row.note[1:]}: {row.name}." for row in table.rows if row.note.startswith("as in ")))
    shown = rf" ${DAGGER}$: shown." if any(cell.shown for row in table.rows for cell in row.cells.values()) else ""
    lines = [
        line
        for row in table.rows
        for line in (
            rf"\multicolumn{{4}}{{@{{}}l}}{{{escaped(row.name)}}} \\*",
            *(
                rf"\quad\hangindent2em {escaped(name)} & {_cells(cell.estimate, shown=cell.shown)} \\"
                for name, cell in row.cells.items()
                if cell.estimate
            ),
        )
        if any(cell.estimate for cell in row.cells.values())
    ]
    return [
        r"\begin{longtable}{@{}>{\raggedright\arraybackslash}p{.48\linewidth}rrr@{}}",
        rf"\caption{{{escaped(f'{caption} {notes}'.strip())}{shown}}}\label{{tab:medfact-{table.name}}}\\",
        r"\toprule",
        r" & \% & 95\% interval & $n$ \\",
        r"\midrule",
        r"\endhead",
        r"\bottomrule",
        r"\endfoot",
        *lines,
        r"\end{longtable}",
    ]


def _cells(estimate: Estimate | None, *, shown: bool) -> str:
    """52.4 & 50.4 to 54.4 & 1,600; a dash where nothing was measured, a dagger where a difference is shown."""
    if estimate is None or estimate.value is None:
        return "-- & -- & --"
    low, high = estimate.low, estimate.high
    bounds = wording.TOO_FEW if low is None or high is None else f"{_percent(low)} to {_percent(high)}"
    return f"{_percent(estimate.value)}{f'${DAGGER}$' if shown else ''} & {bounds} & {wording.count(estimate.n)}"


def _percent(share: float) -> str:
    return f"{100 * share:.1f}".replace("-", "$-$")
