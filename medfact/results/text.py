"""Reports, comparisons and the rarity view as text for a terminal: each block of a section is a few lines."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from medfact.datasets.text import one_line
from medfact.metrics.uncertainty import Estimate
from medfact.prototypes.grammar import scope_prefix
from medfact.results import wording
from medfact.results.blocks import Block, Curve, Facts, Note, Section, Table
from medfact.results.compare import Comparison
from medfact.results.danger import Danger
from medfact.results.rarity import Rarity
from medfact.results.report import Report
from medfact.results.sections import TERMINAL, Beside, Figures, sections_of
from medfact.results.verdict import verdict
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
        cells = {}
        for head, cell in row.cells.items():
            figure = cell.text
            if cell.estimate is not None:
                figure = f"{(wording.signed_share if cell.signed else share)(cell.estimate)} of {cell.many}"
            cells[head] = "; ".join([figure, *cell.under])
        if len(table.heads) == 1:
            yield f"{name:<51} {cells[table.heads[0]]}"
        else:
            yield from (f"{name}:", *(f"  {head}: {cells[head]}" for head in table.heads if head in cells))


# ------------------------------------------------------------------------------------------------ rarity

RARITY_OF = sayings("rarity_of")
"""Fields of `Rarity` with a fit → the entity or pair whose frequency counts."""


def rarity_text(rarity: Rarity) -> str:
    """The rarity view as text: the slope per tenfold frequency, and the semantic types from rare to common."""
    model = marked(rarity.model, rarity.imported)
    lines = [
        f"run {rarity.run}: {model} on {rarity.dataset}; frequencies from {rarity.source}",
        say("rarity.facts", facts=counted(rarity.facts, "fact")),
        "",
        say("rarity.slopes"),
    ]
    fits = {name: fit for field, name in RARITY_OF.items() if (fit := getattr(rarity, field)) is not None}
    for name, fit in fits.items():
        missing = say("rarity.missing", number=wording.count(fit.without), names=", ".join(fit.missing)) if fit.without else ""
        lines.append(f"  {name:<28}{describe_slope(fit.line.slope, 'fact')}{missing}")
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
