"""Records of answers in short notation, and metrics, reports and comparisons as JSON records."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from medfact.metrics import FAILED, PENDING, UNREADABLE, Names, Records, codes, measure, probability, record_of
from medfact.metrics.clusters import Codes, Floats, clustered_variance, variance_by_tail
from medfact.results.compare import Side, comparison
from medfact.results.report import Report, report_of
from medfact.statements import IMPLICATIONS
from medfact.store import Store


def metrics_record(records: Records) -> dict[str, Any]:
    """Returns all metrics of records as a JSON record, as a report has them."""
    return dict(record_of(measure(records)))


def calibration_record(records: Records) -> dict[str, Any]:
    """Returns the calibration of records as a JSON record."""
    return dict(record_of(probability.calibration(records)))


def report_record(store: Store, run: str) -> dict[str, Any]:
    """Returns the report of a run as a JSON record. run: its id."""
    return dict(record_of(report_of(store, store.run(run))))


def with_figures(report: Report, **changes: Any) -> Report:
    """Returns a copy of a report. changes: new values, each of a figure if one has that name, otherwise of a field."""
    figures = {name: changes.pop(name) for name in [*changes] if name in report.figures}
    return replace(report, figures={**report.figures, **figures}, **changes)


def comparison_record(sides: list[Side]) -> dict[str, Any]:
    """Returns the comparison of runs, the sides, as a JSON record."""
    return comparison(sides).record()


def two_way_variance(values: Floats, heads: Codes, tails: Codes, crossed: Codes | None = None) -> float:
    """Returns the variance of the mean, clustered by head and by tail; at least that by head.

    heads, tails: code of the head and of the tail of each value. crossed: code of its pair; None to number the pairs.
    """
    return clustered_variance(values, heads) + variance_by_tail(values, heads, tails, crossed)


SIGNS = {"T": 1, "F": 0, "?": UNREADABLE, "!": FAILED, ".": PENDING}
"""Sign → code of an answer: True, False, unreadable, failed or pending."""


def make_records(*facts: tuple[str, str, str, str], p_true: Sequence[float] = (), p_mass: Sequence[float] = ()) -> Records:
    """Returns records of facts, each written as (name, head, tail, signs), with a row per sign.

    signs: characters of SIGNS, such as "TTFF?...": the answers to the first variants in the order of IMPLICATIONS.
    p_true, p_mass: P(True) and the mass of each row, fact by fact; without them, all are NaN.

    A name with an apostrophe is a false fact, the negative of the fact with the rest of the name: a' belongs to a. A head may
    begin with its relation, "relation: head"; otherwise the relation is "symptoms".
    """
    rows = [
        (name, head, tail, variant, sign)
        for name, head, tail, signs in facts
        for variant, sign in zip(IMPLICATIONS, signs, strict=False)
    ]
    positive = np.array(["'" not in row[0] for row in rows], dtype=bool)
    negated = np.array([IMPLICATIONS[row[3]].negated for row in rows], dtype=bool)
    blank = np.full(len(rows), np.nan)
    return Records(
        fact=codes([row[0] for row in rows]),
        pair=codes([row[0].strip("'\"") for row in rows]),
        head=codes([row[1] for row in rows]),
        tail=codes([row[2] for row in rows]),
        draw=np.zeros(len(rows), dtype=np.int64),
        variants=Names.of([row[3] for row in rows]),
        relations=Names.of([row[1].split(":")[0] if ":" in row[1] else "symptoms" for row in rows]),
        tail_types=Names.of([row[2][:1] for row in rows]),
        difficulties=Names.of([""] * len(rows)),
        positive=positive,
        label=positive != negated,
        answer=np.array([SIGNS[row[4]] for row in rows], dtype=np.int8),
        p_true=np.array(p_true, dtype=float) if len(p_true) else blank,
        p_mass=np.array(p_mass, dtype=float) if len(p_mass) else blank,
    )


RIGHT, RIGHT_OF_FALSE = "TTTTFFFF", "FFFFTTTT"
"""Signs of the right answers: to a true fact, and to a false one."""


EXAMPLE = make_records(
    ("a", "gout", "x1", RIGHT),  # 8 right
    ("a'", "gout", "x2", RIGHT_OF_FALSE),  # 8 right: the pair is mastered
    ("b", "asthma", "x3", "TTFTFFF?"),  # 6 right, 1 wrong, 1 unreadable
    ("b'", "asthma", "y1", "TTTTFFFF"),  # 0 right: all wrong
    ("c", "flu", "y2", "TTTTFFF!"),  # 7 right, 1 failed: not scored, and not complete
    ("c'", "flu", "y3", RIGHT_OF_FALSE),  # 8 right
)


ONLY_PLAIN_RIGHT = "TFFFTTTT"
"""Signs of the answers to a true fact if only the first, to the plain statement, is right: 1 of 8."""


def make_forty_records(heads: int) -> Any:
    """Returns records of 40 true facts, ten with ONLY_PLAIN_RIGHT and then 30 with all answers right. heads: their number."""
    return make_records(
        *((f"f{n:02}", f"h{n % heads:02}", f"t{n:02}", ONLY_PLAIN_RIGHT if n < 10 else RIGHT) for n in range(40))
    )
