"""Figures of what the evidence shows: paired differences, and right answers by relation and by semantic type of the tail."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from medfact.metrics.averages import FEWEST_FACTS
from medfact.metrics.measures import TypeAccuracy
from medfact.metrics.uncertainty import Estimate
from medfact.results.compare import METRICS, Pair
from medfact.results.plots import Plot, Reports, Rows, dots, errors, lines_of, marker, plot_of, wrapped
from medfact.results.wording import SCORES, counted

MOST_ROWS = 40
"""Rows of a figure; of more types, those with most facts."""

SHORT = {
    "average_accuracy": "right answers",
    "joint_accuracy": "all right",
    "pair_joint_accuracy": "all right, false partner too",
}


def paired_differences(pairs: Sequence[Pair], names: Mapping[str, str]) -> Plot:
    """Differences in points, a row a pair of runs, a dot with its interval for each accuracy; bounds hold for all together.

    names: run → what to call it.
    """
    couples = list(dict.fromkeys((pair.a, pair.b) for pair in pairs))
    metrics = [metric for metric in METRICS if any(pair.metric == metric and pair.difference is not None for pair in pairs)]
    traces = [_differences(index, metric, len(metrics), pairs, couples) for index, metric in enumerate(metrics)]
    if not traces:
        return {}
    most = max(lines_of(names[a]) + lines_of(f"less {names[b]}") for a, b in couples)
    ends = [abs(100 * end) for pair in pairs for end in (pair.difference, pair.low_all, pair.high_all) if end is not None]
    reach = 1.05 * max(ends, default=0) + 1
    return plot_of(
        traces,
        xaxis={"title": {"text": "difference, points"}, "range": [-reach, reach], "fixedrange": True, "zeroline": True},
        yaxis={
            "tickvals": list(range(len(couples))),
            "ticktext": [f"{wrapped(names[a])}<br>less {wrapped(names[b])}" for a, b in couples],
            "range": [len(couples) - 0.4, -0.6],
            "fixedrange": True,
            "automargin": True,
            "zeroline": False,
        },
        height=130 + (20 + 16 * most) * len(couples),
    )


def _differences(index: int, metric: str, of: int, pairs: Sequence[Pair], couples: Sequence[tuple[str, str]]) -> Plot:
    shown = [pair for pair in pairs if pair.metric == metric and pair.difference is not None]
    estimates = [Estimate(pair.difference, pair.low_all, pair.high_all, pair.n) for pair in shown]
    return {
        "type": "scatter",
        "mode": "markers",
        "name": SHORT[metric],
        "x": [100 * (pair.difference or 0.0) for pair in shown],
        "y": [couples.index((pair.a, pair.b)) + 0.7 * (index - (of - 1) / 2) / of for pair in shown],
        "error_x": errors(estimates),
        "marker": marker(index, 10),
        "customdata": [[counted(pair.n, SCORES[pair.metric].of), pair.only_a, pair.only_b] for pair in shown],
        "hovertemplate": "%{x:+.1f} points of %{customdata[0]}; right by one alone: %{customdata[1]} and %{customdata[2]}",
    }


def by_relation(reports: Reports) -> Plot:
    """Right answers by relation: a row a relation, a dot with its interval a model."""
    return _dots(rows_by_relation(reports))


def by_tail_type(reports: Reports) -> Plot:
    """Right answers by semantic type of the tail: a row a type, a dot with its interval a model."""
    return _dots(rows_by_type(reports))


def rows_by_relation(reports: Reports) -> Rows:
    """Relation → model → right answers, in the order of the alphabet."""
    names = sorted({name for report in reports.values() for name in report.by_relation})[:MOST_ROWS]
    return {name: {model: report.by_relation.get(name) for model, report in reports.items()} for name in names}


def rows_by_type(reports: Reports) -> Rows:
    """Semantic type and its number of facts → model → right answers: first those of enough facts in every run that asks them,
    from the fewest right answers of the first model up, then the others, by the alphabet. Types without a name are left out.
    """
    facts: dict[str, int] = {}
    for report in reports.values():
        for name, found in report.by_tail_type.items():
            facts[name] = min(facts.get(name, found.facts), found.facts)
    facts.pop("", None)
    names = sorted(facts, key=lambda name: (-facts[name], name))[:MOST_ROWS]
    first = next(iter(reports.values()))
    values = {name: of.value or 0.0 for name, of in first.by_tail_type.items()}
    enough = sorted((n for n in names if facts[n] >= FEWEST_FACTS), key=lambda name: (values.get(name, 0.0), name))
    rest = sorted(name for name in names if facts[name] < FEWEST_FACTS)
    labels = {name: f"{name} ({counted(facts[name], 'fact')})" for name in enough}
    labels |= {name: f"{name} ({counted(facts[name], 'fact')}, not ranked)" for name in rest}
    return {
        label: {model: _estimate(report.by_tail_type.get(name)) for model, report in reports.items()}
        for name, label in labels.items()
    }


def _estimate(found: TypeAccuracy | None) -> Estimate | None:
    return None if found is None else Estimate(found.value, found.low, found.high, found.n)


def _dots(rows: Rows) -> Plot:
    """One row alone compares nothing."""
    return dots(rows) if len(rows) > 1 else {}
