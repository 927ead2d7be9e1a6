"""Results as text: reports, comparisons and the rarity view for a terminal, and the scores of runs as LaTeX tables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from medfact.datasets.text import one_line
from medfact.metrics.uncertainty import Estimate
from medfact.prototypes.grammar import scope_prefix
from medfact.results import wording
from medfact.results.blocks import Block, Cell, Curve, Facts, Note, Section, Table
from medfact.results.compare import Comparison
from medfact.results.danger import Danger
from medfact.results.findings import verdict
from medfact.results.rarity import Rarity
from medfact.results.report import Report
from medfact.results.sections import PAPER, TERMINAL, Beside, Figures, sections_of
from medfact.results.wording import counted, describe_ending, marked, share
from medfact.runs.costs import describe_bill, describe_cut
from medfact.words import say, sayings

MAX_REASON = 300  # characters of the text beside a fact


def report_text(report: Report, danger: Danger | None = None, name: str = "") -> str:
    """The report as text, every share with its interval and n.

    Args:
        danger: false facts that the model accepts.
        name: of the run, by default its model's.
    """
    name = name or wording.model_of(report)
    figures = Figures({name: report}, {name: danger} if danger else {})
    lines = [
        say("terminal.run", report=report, model=marked(report.model, report.imported)),
        say("terminal.answered", report=report),
        *filter(None, [describe_ending(report.state, report.reason), verdict({name: report})]),
        *(line for section in sections_of(figures, TERMINAL) for line in lines_of(section)),
        "",
        *(describe_bill(dict(report.service)) if report.service else ()),
        *describe_cut(report.cut),
        *(f"note: {note}" for note in (*report.notes, *wording.remarks(report))),
        f"{wording.about_intervals([report])} {wording.false_on_purpose([report])} {say('terminal.limits')}",
    ]
    return "\n".join(map(one_line, lines))


def comparison_text(comparison: Comparison, reports: Sequence[Report], beside: Beside) -> str:
    """The comparison as text: settings, verdict, each run's scores and their differences."""
    named = {beside.names[report.run]: report for report in reports}
    totals = "" if {*comparison.facts_of} == {comparison.shared_facts} else f", of {', '.join(map(str, comparison.facts_of))}"
    endings = {name: describe_ending(report.state, report.reason) for name, report in named.items()}
    figures = Figures(named, beside=beside)
    lines = [
        f"{counted(comparison.shared_facts, 'fact')} in all runs{totals}.",
        *(f"{name}: {ending}" for name, ending in endings.items() if ending),
        *(f"DIFFERENT {setting}: {', '.join(map(str, values))}" for setting, values in comparison.differs.items()),
        *(f"the same {setting}: {value}" for setting, value in comparison.same.items()),
        *filter(None, [verdict(named, beside.pairs, beside.changes, beside.languages)]),
        *(line for tab in ("scores", "compare") for part in sections_of(figures, TERMINAL, tab) for line in lines_of(part)),
    ]
    return "\n".join(map(one_line, lines))


def names_in_a_terminal(comparison: Comparison) -> dict[str, str]:
    """Run → its name after the beginning of its id, which stands there once."""
    return {run.run: f"{run.run[:8]} {run.name.replace(f' ({run.run[:8]})', '')}" for run in comparison.runs}


# ------------------------------------------------------------------------------------------------ sections


def lines_of(section: Section) -> Iterator[str]:
    """Yields an empty line, the title with the finding, and the lines of the blocks that do not repeat the finding."""
    finding = section.finding
    yield ""
    yield f"{section.title}{'' if section.title.endswith('?') else ':'} {finding}" if finding else section.title
    for block in section.blocks:
        yield from (f"  {line}" for line in _lines_of_block(block) if line != finding or not finding)


def _lines_of_block(block: Block) -> Iterator[str]:
    if isinstance(block, Table) and not block.compact:
        yield from _lines_of_table(block)
    elif isinstance(block, Facts):
        for line in block.lines:
            fact = f"{scope_prefix(line.fact)}{line.fact.head} | {line.fact.relation} | {line.fact.tail or '(not known)'}"
            yield f"[{wording.label_of(line.fact)}] {fact}: {wording.shortened(line.words, MAX_REASON)}"
    elif isinstance(block, Note) and not block.quiet:
        yield from ([f"{block.heading}:"] if block.heading else [])
        yield from block.lines
    elif isinstance(block, Curve):
        yield block.finding


def _lines_of_table(table: Table) -> Iterator[str]:
    """Yields a line for each row of a table with one column; else the row's name and a line for each column."""
    for row in table.rows:
        name = f"{' '.join(row.name.split())}{f' ({row.term})' if row.term else ''}"
        cells = {head: "; ".join([_figure(cell), *cell.under]) for head, cell in row.cells.items()}
        if len(table.heads) == 1:
            yield f"{name:<51} {cells[table.heads[0]]}"
        else:
            yield from (f"{name}:", *(f"  {head}: {cells[head]}" for head in table.heads if head in cells))


def _figure(cell: Cell) -> str:
    share_or_difference = wording.signed_share if cell.signed else share
    return cell.text if cell.estimate is None else f"{share_or_difference(cell.estimate)} of {cell.many}"


# ------------------------------------------------------------------------------------------------ rarity

RARITY_OF = sayings("rarity_of")
"""Fields of `Rarity` with a fit → the entity or pair whose frequency counts."""


def rarity_text(rarity: Rarity) -> str:
    """The rarity view as text: the slope per tenfold frequency, and the semantic types from rare to common."""
    lines = [
        say("rarity.run", rarity=rarity, model=marked(rarity.model, rarity.imported)),
        say("rarity.facts", facts=counted(rarity.facts, "fact")),
        "",
        say("rarity.slopes"),
    ]
    for field, name in RARITY_OF.items():
        if fit := getattr(rarity, field):
            without = say("rarity.missing", number=wording.count(fit.without), names=", ".join(fit.missing))
            lines.append(f"  {name:<28}{describe_slope(fit.line.slope, 'fact')}{without if fit.without else ''}")
    lines += ["", say("rarity.types")] if rarity.types else []
    for name, group in rarity.types.items():
        mean = wording.NO_VALUE if group.mean_log_frequency is None else f"{10**group.mean_log_frequency:,.1f}"
        facts = f"{wording.count(group.with_frequency)} of {counted(group.accuracy.facts, 'fact')}"
        right = f"{share(group.accuracy.estimate)} of {counted(group.accuracy.n, 'statement')}"
        lines.append(f"  {name:<40}{mean:>12} ({facts}); {right}")
    lines += [f"  {say('rarity.across')} {describe_slope(rarity.types_line.slope, 'type')}"] if rarity.types else []
    lines += ["", *(f"note: {note}" for note in rarity.notes), say("rarity.limits")]
    return "\n".join(map(one_line, lines))


def describe_slope(slope: Estimate, unit: str) -> str:
    """Slope in points with its interval, "+4.8 points (+2.1 to +7.5) of 120 facts", or the reason why it has none."""
    if slope.value is None:
        return say("few_types" if unit == "type" else "few_frequencies", types=counted(slope.n, unit), n=wording.count(slope.n))
    bounds = "no interval" if slope.low is None or slope.high is None else wording.bounds_in_points(slope.low, slope.high)
    return f"{wording.points(slope.value)} points ({bounds}) of {counted(slope.n, unit)}"


# ------------------------------------------------------------------------------------------------ LaTeX

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
        lines += [line for block in section.blocks if isinstance(block, Table) for line in _table(block, caption)]
    return "\n".join([*lines, rf"\par\noindent{{\footnotesize All tables: {escaped(_about_all(reports))}\par}}", ""])


def _about_all(reports: Mapping[str, Report]) -> str:
    """States how each run was asked, the population of the intervals, and how incomplete runs ended."""
    methods = {name: f"{report.method} on {report.dataset}" for name, report in reports.items()}
    is_same = len(set(methods.values())) == 1
    settings = f"{next(iter(methods.values()))}," if is_same else f"{'; '.join(map(': '.join, methods.items()))};"
    about = [wording.about_intervals(list(reports.values())), wording.false_on_purpose(reports.values())]
    endings = {name: describe_ending(report.state, report.reason) for name, report in reports.items()}
    about += [f"{name}: {ending}" for name, ending in endings.items() if ending]
    about += [f"{name}: {remark}" for name, report in reports.items() for remark in wording.remarks(report)]
    return say("latex.about", settings=settings, remarks=" ".join(about))


def _table(table: Table, caption: str) -> list[str]:
    """A line a run under each row's name, so that many runs make the table longer, not wider than a page."""
    notes = " ".join(dict.fromkeys(f"A{row.note[1:]}: {row.name}." for row in table.rows if row.note.startswith("as in ")))
    dagger = rf" ${DAGGER}$: shown." if any(cell.shown for row in table.rows for cell in row.cells.values()) else ""
    lines = []
    for row in table.rows:
        figures = [
            rf"\quad\hangindent2em {escaped(name)} & {_cells(cell.estimate, shown=cell.shown)} \\"
            for name, cell in row.cells.items()
            if cell.estimate
        ]
        lines += [rf"\multicolumn{{4}}{{@{{}}l}}{{{escaped(row.name)}}} \\*", *figures] if figures else []
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
        "",
    ]


def _cells(estimate: Estimate | None, *, shown: bool) -> str:
    """52.4 & 50.4 to 54.4 & 1,600; a dash if nothing was measured, a dagger if a difference is shown."""
    if estimate is None or estimate.value is None:
        return "-- & -- & --"
    value, low, high = ("" if end is None else f"{100 * end:.1f}".replace("-", "$-$") for end in estimate[:3])
    bounds = f"{low} to {high}" if low and high else wording.TOO_FEW
    return f"{value}{f'${DAGGER}$' if shown else ''} & {bounds} & {wording.count(estimate.n)}"
