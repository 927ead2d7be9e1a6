"""The figures of the report that is one file, each with the finding as its title."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from markupsafe import Markup

from medfact.results import evidence_plots, findings, plots
from medfact.results.compare import Pair
from medfact.results.plots import Reports
from medfact.results.probability_plots import of_one_source
from medfact.views import charts


def figures_of(reports: Reports, pairs: Sequence[Pair], names: Mapping[str, str]) -> dict[str, Markup]:
    """Name → figure, empty where there is nothing to draw. pairs: of the runs, compared; names: run → what to call it.

    Calibration and coherence have a square a run, one after the other; runs whose P(True) comes from another source than the
    first one's have no curve.
    """
    order, drawn = list(reports), of_one_source(reports)
    relations, types = evidence_plots.rows_by_relation(reports), evidence_plots.rows_by_type(reports)
    return {
        "ways": charts.dots(plots.rows_by_way(reports), order, findings.of_ways(reports)),
        "diagnoses": charts.dots(plots.rows_by_diagnosis(reports), order, findings.of_diagnoses(reports)),
        "relations": _if_several(relations, order, findings.of_relations(reports)),
        "types": _if_several(types, order, findings.of_types(reports)),
        "sureness": charts.dots(plots.rows_by_sureness(reports), order, findings.of_sureness(reports)),
        "differences": charts.differences(pairs, names, findings.of_differences(pairs, names)) if pairs else Markup(),
        "calibration": Markup().join(
            charts.calibration(name, report.calibration, order.index(name), findings.of_calibration({name: report}))
            for name, report in drawn.items()
        ),
        "coherence": Markup().join(
            charts.coherence(name, report.coherence, order.index(name), findings.of_coherence({name: report}))
            for name, report in drawn.items()
        ),
    }


def _if_several(rows: plots.Rows, order: Sequence[str], title: str) -> Markup:
    """One row alone compares nothing."""
    return charts.dots(rows, order, title) if len(rows) > 1 else Markup()
