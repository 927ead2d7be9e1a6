"""Reports and comparisons as text for a terminal: their sections, each block a few lines."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from medfact.datasets.text import one_line
from medfact.metrics.uncertainty import Estimate
from medfact.prototypes.grammar import scope_prefix
from medfact.results.blocks import Block, Cell, Curve, Facts, Note, Section, Table
from medfact.results.compare import Comparison
from medfact.results.danger import Danger
from medfact.results.rarity import Fit, Rarity
from medfact.results.report import Report
from medfact.results.sections import TERMINAL, Beside, Figures, sections_of
from medfact.results.verdict import verdict
from medfact.results.wording import (
    NO_VALUE,
    about_intervals,
    count,
    counted,
    describe_ending,
    false_on_purpose,
    label_of,
    marked,
    model_of,
    points,
    remarks,
    share,
    shortened,
    signed_share,
)
from medfact.runs.costs import bill_in_words, cut_in_words

LONGEST = 300
"""Letters of what stands beside a fact."""


def report_text(report: Report, danger: Danger | None = None, name: str = "") -> str:
    """A report for a person: plain names, every share with its interval and n. danger: the false facts that it accepts. name:
    of the run, by default its model's.
    """
    name = name or model_of(report)
    figures = Figures({name: report}, {name: danger} if danger else {})
    lines = [
        f"run {report.run} ({report.state}): {marked(report.model, report.imported)} on {report.dataset}, pool {report.pool}, "
        f"{report.shots} shots, seed {report.seed}",
        f"{report.answered} of {report.statements} statements answered: {report.right} right, {report.wrong} wrong, "
        f"{report.unreadable} unreadable (counted as wrong); {report.failed} failed (not counted)",
        *filter(None, [describe_ending(report.state, report.reason)]),
        *filter(None, [verdict({name: report})]),
        *(line for section in sections_of(figures, TERMINAL) for line in lines_of(section)),
        "",
        *(bill_in_words(dict(report.service)) if report.service else ()),
        *cut_in_words(report.cut),
        *(f"note: {note}" for note in (*report.notes, *remarks(report))),
        f"{about_intervals([report])} {false_on_purpose([report])} Mastery of a fact is not competence. Not for clinical use.",
    ]
    return "\n".join(map(one_line, lines))


def comparison_text(comparison: Comparison, reports: Sequence[Report], beside: Beside) -> str:
    """A comparison for a person: what differs, each run's scores, and what the runs show beside each other."""
    names = beside.names
    of = "" if {*comparison.facts_of} == {comparison.shared_facts} else f", of {', '.join(map(str, comparison.facts_of))}"
    lines = [f"{counted(comparison.shared_facts, 'fact')} in all runs{of}."]
    lines += [f"{names[report.run]}: {ended}" for report in reports if (ended := describe_ending(report.state, report.reason))]
    lines += [f"DIFFERENT {setting}: {', '.join(map(str, values))}" for setting, values in comparison.differs.items()]
    lines += [f"the same {setting}: {value}" for setting, value in comparison.same.items()]
    named = {names[report.run]: report for report in reports}
    lines += filter(None, [verdict(named, beside.pairs, beside.changes, beside.languages)])
    figures = Figures(named, beside=beside)
    for tab in ("scores", "compare"):
        lines += [line for section in sections_of(figures, TERMINAL, tab) for line in lines_of(section)]
    return "\n".join(map(one_line, lines))


def names_in_a_terminal(comparison: Comparison) -> dict[str, str]:
    """Run → what to call it, with the beginning of its id, once."""
    return {run.run: f"{run.run[:8]} {run.name.replace(f' ({run.run[:8]})', '')}" for run in comparison.runs}


# ------------------------------------------------------------------------------------------------ sections


def lines_of(section: Section) -> Iterator[str]:
    """A section as lines: its title with its finding, and its blocks."""
    finding = section.finding
    yield ""
    colon = "" if section.title.endswith("?") else ":"
    yield f"{section.title}{colon} {finding}" if finding else section.title
    for block in section.blocks:
        yield from (f"  {line}" for line in _lines_of_block(block) if line != finding or not finding)


def _lines_of_block(block: Block) -> Iterator[str]:
    if isinstance(block, Table) and not block.compact:
        yield from _lines_of_table(block)
    elif isinstance(block, Facts):
        for one in block.lines:
            fact = f"{scope_prefix(one.fact)}{one.fact.head} | {one.fact.relation} | {one.fact.tail or '(not known)'}"
            yield f"[{label_of(one.fact)}] {fact}: {shortened(one.words, LONGEST)}"
    elif isinstance(block, Note) and not block.quiet:
        yield from ([f"{block.heading}:"] if block.heading else [])
        yield from block.lines
    elif isinstance(block, Curve):
        yield block.finding


def _lines_of_table(table: Table) -> Iterator[str]:
    """A line a row where there is one column, and one a column below the row's name where there are more."""
    heads = table.heads
    for row in table.rows:
        name = f"{' '.join(row.name.split())}{f' ({row.term})' if row.term else ''}"
        if len(heads) == 1:
            yield f"{name:<51} {in_words(row.cells[heads[0]])}"
            continue
        yield f"{name}:"
        yield from (f"  {head}: {in_words(row.cells[head])}" for head in heads if head in row.cells)


def in_words(cell: Cell) -> str:
    """A cell in a line: "61.2% (55.0–67.4%) of 120 facts; what stands beside it"."""
    if cell.estimate is None:
        return "; ".join([cell.text, *cell.under])
    figure = signed_share(cell.estimate) if cell.signed else share(cell.estimate)
    return "; ".join([f"{figure} of {cell.many}", *cell.under])


# ------------------------------------------------------------------------------------------------ rarity


RARITY_OF = {
    "by_tail": "the finding",
    "by_head": "the condition",
    "by_rarer": "the rarer of the two",
    "by_together": "both together, true facts",
    "by_together_of_false": "both together, false facts",
}
"""The fields of `Rarity` with a fit → whose frequency it is about."""


def rarity_text(rarity: Rarity) -> str:
    """The rarity view for a person: the slope per tenfold frequency, and the semantic types from rare to common."""
    lines = [
        f"run {rarity.run}: {marked(rarity.model, rarity.imported)} on {rarity.dataset}; frequencies from {rarity.source}",
        f"{counted(rarity.facts, 'fact')} answered, true and false ones, each with its own tail",
        "",
        "right answers for a tenfold frequency of",
        *(
            f"  {name:<28}{fit_in_words(fit)}"
            for field, name in RARITY_OF.items()
            if (fit := getattr(rarity, field)) is not None
        ),
    ]
    if rarity.types:
        lines += ["", "semantic types of tails, from rare to common (geometric mean of the frequencies + 1; right answers)"]
    for name, of in rarity.types.items():
        times = NO_VALUE if of.mean_log_frequency is None else f"{10**of.mean_log_frequency:,.1f}"
        facts = f"{count(of.with_frequency)} of {counted(of.accuracy.facts, 'fact')}"
        right = f"{share(of.accuracy.estimate)} of {counted(of.accuracy.n, 'statement')}"
        lines.append(f"  {name:<40}{times:>12} ({facts}); {right}")
    if rarity.types:
        lines.append(f"  across types, for a tenfold frequency: {slope_in_words(rarity.types_line.slope, 'type')}")
    lines += ["", *(f"note: {note}" for note in rarity.notes)]
    lines.append("Intervals are 95%, clustered by disease and finding. A slope is no cause. Not for clinical use.")
    return "\n".join(map(one_line, lines))


def fit_in_words(fit: Fit) -> str:
    """A slope, of how many facts, and which names have no frequency."""
    without = f"; {count(fit.without)} without a frequency, such as {', '.join(fit.missing)}" if fit.without else ""
    return f"{slope_in_words(fit.line.slope, 'fact')}{without}"


def slope_in_words(slope: Estimate, of: str) -> str:
    """A slope in points with its interval: "+4.8 points (+2.1 to +7.5) of 120 facts"; else why there is none."""
    if slope.value is None and of == "type":
        return f"{counted(slope.n, of)} {'is' if slope.n == 1 else 'are'} too few for a line"
    if slope.value is None:
        return f"{NO_VALUE}: too few facts with different frequencies (n = {count(slope.n)})"
    if slope.low is None or slope.high is None:
        return f"{points(slope.value)} points (no interval) of {counted(slope.n, of)}"
    return f"{points(slope.value)} points ({points(slope.low)} to {points(slope.high)}) of {counted(slope.n, of)}"
