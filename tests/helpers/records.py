"""Reports and measures as the JSON that they become, for tests that name figures by their documented keys."""

from __future__ import annotations

from typing import Any

from medfact.metrics import Records, measure, probability, record_of
from medfact.metrics.clusters import Codes, Floats, clustered_variance, variance_by_tail
from medfact.results.compare import Side, comparison
from medfact.results.report import report_of
from medfact.store import Store


def measured(records: Records) -> dict[str, Any]:
    return dict(record_of(measure(records)))


def calibrated(records: Records) -> dict[str, Any]:
    return dict(record_of(probability.calibration(records)))


def reported(store: Store, run: str) -> dict[str, Any]:
    return dict(record_of(report_of(store, store.run(run))))


def compared(sides: list[Side]) -> dict[str, Any]:
    return comparison(sides).record()


def two_way_variance(values: Floats, heads: Codes, tails: Codes, both: Codes | None = None) -> float:
    """Variance of the mean, clustered by head and by tail; never below that by head alone. `both`: their crossed codes."""
    return clustered_variance(values, heads) + variance_by_tail(values, heads, tails, both)
