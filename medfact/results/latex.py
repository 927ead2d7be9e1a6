"""Scores of runs as a LaTeX table, for a paper."""

from __future__ import annotations

from collections.abc import Mapping

from medfact.datasets.text import one_line
from medfact.metrics.uncertainty import Estimate
from medfact.results import wording
from medfact.results.blocks import Note, Table
from medfact.results.report import Report
from medfact.results.sections import PAPER, Figures, sections_of
from medfact.words import say

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
    """A table for each section that belongs in a paper, with a footnote on all. reports: name of a run → its report."""
    lines = [r"% needs \usepackage{array,booktabs,longtable}"]
    for section in sections_of(Figures(reports), PAPER):
        notes = [line for block in section.blocks if isinstance(block, Note) and not block.quiet for line in block.lines]
        caption = " ".join([f"{section.title}.", *filter(None, notes)])
        for block in section.blocks:
            if isinstance(block, Table):
                lines += [*_table(block, caption), ""]
    return "\n".join([*lines, rf"\par\noindent{{\footnotesize All tables: {escaped(_about_all(reports))}\par}}", ""])


def _about_all(reports: Mapping[str, Report]) -> str:
    """States how each run was asked, the population of the intervals, and how incomplete runs ended."""
    methods = {name: f"{report.method} on {report.dataset}" for name, report in reports.items()}
    is_same = len(set(methods.values())) == 1
    settings = f"{next(iter(methods.values()))}," if is_same else f"{'; '.join(map(': '.join, methods.items()))};"
    about = [wording.about_intervals(list(reports.values())), wording.false_on_purpose(reports.values())]
    endings = {name: wording.describe_ending(report.state, report.reason) for name, report in reports.items()}
    about += [f"{name}: {ending}" for name, ending in endings.items() if ending]
    about += [f"{name}: {remark}" for name, report in reports.items() for remark in wording.remarks(report)]
    return say("latex.about", settings=settings, remarks=" ".join(about))


def _table(table: Table, caption: str) -> list[str]:
    """A line a run under each row's name, so that many runs make the table longer, not wider than a page."""
    notes = " ".join(dict.fromkeys(f"A{row.note[1:]}: {row.name}." for row in table.rows if row.note.startswith("as in ")))
    dagger = rf" ${DAGGER}$: shown." if any(cell.shown for row in table.rows for cell in row.cells.values()) else ""
    lines = []
    for row in table.rows:
        cells = {name: cell for name, cell in row.cells.items() if cell.estimate}
        lines += [rf"\multicolumn{{4}}{{@{{}}l}}{{{escaped(row.name)}}} \\*"] if cells else []
        lines += [
            rf"\quad\hangindent2em {escaped(name)} & {_cells(cell.estimate, shown=cell.shown)} \\"
            for name, cell in cells.items()
        ]
    return [
        r"\begin{longtable}{@{}>{\raggedright\arraybackslash}p{.48\linewidth}rrr@{}}",
        rf"\caption{{{escaped(f'{caption} {notes}'.strip())}{dagger}}}\label{{tab:medfact-{table.name}}}\\",
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
    """52.4 & 50.4 to 54.4 & 1,600; a dash if nothing was measured, a dagger if a difference is shown."""
    if estimate is None or estimate.value is None:
        return "-- & -- & --"
    value, low, high = ("" if end is None else f"{100 * end:.1f}".replace("-", "$-$") for end in estimate[:3])
    bounds = f"{low} to {high}" if low and high else wording.TOO_FEW
    return f"{value}{f'${DAGGER}$' if shown else ''} & {bounds} & {wording.count(estimate.n)}"
