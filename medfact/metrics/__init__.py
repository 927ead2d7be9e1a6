"""Every figure of a run, from arrays alone.

Four fates of a statement are never mixed: right, wrong, unreadable (scored as wrong, as the papers' indicator does) and
failed (never scored). Nothing to measure gives no value, never zero.
"""

from __future__ import annotations

from typing import Any

# in the order of their figures in reports
from medfact.metrics import averages as averages
from medfact.metrics import groupings as groupings
from medfact.metrics.coherence import coherence as coherence
from medfact.metrics.measures import MEASURES, Measures, record_of
from medfact.metrics.probability import calibration
from medfact.metrics.records import FAILED, PENDING, UNREADABLE, Names, Records, codes, facts_of

__all__ = ["FAILED", "PENDING", "UNREADABLE", "Measures", "Names", "Records", "calibration", "codes", "measure", "record_of"]


def measure(records: Records) -> Measures:
    """All figures of a run that follow from its records."""
    facts = facts_of(records)
    figures: dict[str, Any] = {}
    for name, measure in MEASURES.items():
        figures[name] = measure.compute(figures) if measure.derived else measure.compute(records, facts)
    return Measures(figures=figures)
