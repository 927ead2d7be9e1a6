"""Scores of runs as a LaTeX table, for a paper."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from medfact.datasets.printable import one_line
from medfact.metrics.contrasts import Contrasted, title_of
from medfact.metrics.uncertainty import Estimate
from medfact.results import wording
from medfact.results.contrasts import ABOUT
from medfact.results.endings import how_it_ended
from medfact.results.remarks import false_on_purpose, remarks
from medfact.results.report import Report
from medfact.statements import VARIANTS

_ESCAPES = {
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{", "}": r"\}",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": r"\textless{}", ">": r"\textgreater{}", "−": "$-$", "–": "--",
    "“": "``", "”": "''",
}  # fmt: skip


def escaped(text: str) -> str:
    """Text that LaTeX prints as it stands."""
    return " ".join("".join(_ESCAPES.get(letter, letter) for letter in one_line(text)).split())


def latex_tables(reports: Mapping[str, Report]) -> str:
    """A table of scores, and one of right answers by the way of asking; reports by what to call them."""
    by_score = {
        wording.score(name, wording.ways_of(of)).heading: _under(reports, of, name)
        for name, of in wording.first_scores(reports.values()).items()
    }
    ways = list(dict.fromkeys(key for report in reports.values() for key in report.by_variant))
    by_way = {
        VARIANTS[key].plain: {name: report.by_variant[key] for name, report in reports.items() if key in report.by_variant}
        for key in ways
    }
    caption = _caption(reports)
    return "\n".join(
        [
            r"% needs \usepackage{array,booktabs,longtable}",
            *_table(by_score, caption, "scores"),
            "",
            *_table(by_way, f"Right answers by the way of asking. {caption}", "ways"),
            "",
            *_contrasts(reports, caption),
        ]
    )


def _under(reports: Mapping[str, Report], shown: Sequence[Report], score: str) -> dict[str, Estimate]:
    """What stands under the name of a score: that of each run whose method shows it."""
    return {name: getattr(report, score) for name, report in reports.items() if any(report is one for one in shown)}


def _caption(reports: Mapping[str, Report]) -> str:
    """On what and how each run was asked, what the intervals are about, and how runs ended that are not complete."""
    asked = {name: f"{report.method} on {report.dataset}" for name, report in reports.items()}
    alike = len(set(asked.values())) == 1
    how = next(iter(asked.values())) if alike else "; ".join(f"{name}: {one}" for name, one in asked.items())
    ended = {name: how_it_ended(report.state, report.reason) for name, report in reports.items()}
    endings = "".join(f" {name}: {text}" for name, text in ended.items() if text)
    endings += "".join(f" {name}: {note}" for name, report in reports.items() for note in remarks(report))
    about = f"{wording.about_intervals(list(reports.values()))} {false_on_purpose(reports.values())}"
    return f"{how}{',' if alike else ';'} in per cent, with 95% intervals; n: of how many. {about}{endings}"


def _contrasts(reports: Mapping[str, Report], caption: str) -> list[str]:
    """The table of paired contrasts by fact; nothing where every run asks in one way."""
    names = list(dict.fromkeys(name for report in reports.values() for name in report.contrasts))
    if not names:
        return []
    titles = {name: title_of(name) for name in names}
    rows = {
        titles[name][0]: {
            run: _difference(report.contrasts[name]) for run, report in reports.items() if name in report.contrasts
        }
        for name in names
    }
    papers = " ".join(f"As in {paper}: {title}." for title, paper in titles.values() if paper)
    about = f"The same facts, asked in two ways, in points. {ABOUT} {papers} {caption}"
    return [*_table(rows, about, "contrasts"), ""]


def _difference(found: Contrasted) -> Estimate:
    return Estimate(found.value, found.low, found.high, found.n)


def _table(rows: Mapping[str, Mapping[str, Estimate]], caption: str, label: str) -> list[str]:
    """A line a run under each row's name, so that many runs make the table longer, not wider than a page."""
    lines = [
        line
        for row, cells in rows.items()
        for line in (
            rf"\multicolumn{{4}}{{@{{}}l}}{{{escaped(row)}}} \\*",
            *(rf"\quad\hangindent2em {escaped(name)} & {_cells(cell)} \\" for name, cell in cells.items()),
        )
    ]
    return [
        r"\begin{longtable}{@{}>{\raggedright\arraybackslash}p{.48\linewidth}rrr@{}}",
        rf"\caption{{{escaped(caption)}}}\label{{tab:medfact-{label}}}\\",
        r"\toprule",
        r" & \% & 95\% interval & $n$ \\",
        r"\midrule",
        r"\endhead",
        r"\bottomrule",
        r"\endfoot",
        *lines,
        r"\end{longtable}",
    ]


def _cells(estimate: Estimate | None) -> str:
    """52.4 & 50.4 to 54.4 & 1,600; a dash where nothing was measured."""
    if estimate is None or estimate.value is None:
        return "-- & -- & --"
    low, high = estimate.low, estimate.high
    bounds = wording.TOO_FEW if low is None or high is None else f"{_percent(low)} to {_percent(high)}"
    return f"{_percent(estimate.value)} & {bounds} & {wording.count(estimate.n)}"


def _percent(share: float) -> str:
    return f"{100 * share:.1f}".replace("-", "$-$")
