"""The papers' tables by their names, filled from reports, beside the papers' own figures. Computes nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from medfact.metrics.averages import FEWEST_FACTS
from medfact.results.paper_rows import (
    RUN,
    Cell,
    Figure,
    Row,
    Table,
    coin,
    detail_of,
    rows_of_paper,
    rows_of_runs,
    rows_side_by_side,
    values_of,
)
from medfact.results.report import Report
from medfact.results.wording import model_of
from medfact.spec import NO_RETRIEVAL
from medfact.statements import IMPLICATIONS, TRUTH_PRESERVING


def tables(reports: Sequence[Report], paper: str | None = None) -> list[Table]:
    """All tables of a paper (`pretexttrans`, `tpeval`, `mkj`), or of all three, for these runs.

    A run fills the columns that its statements allow; a table for which no run has a figure shows the paper's own rows alone.
    """
    chosen = PAPERS if paper is None else {paper: PAPERS[paper]}
    return [make(reports) for makers in chosen.values() for make in makers]


def _has(report: Report, variants: Iterable[str]) -> bool:
    return set(variants) <= set(report.by_variant)


def fits(report: Report, paper: str) -> bool:
    """Whether a run has the statements of a paper's method: its variants, or MKJ's one statement a fact."""
    variants: dict[str, Iterable[str]] = {"pretexttrans": IMPLICATIONS, "tpeval": TRUTH_PRESERVING}
    return _has(report, variants[paper]) if paper in variants else bool(report.protocol == paper)


# ------------------------------------------------------------------------------------------------ PretextTrans

METHODS = ("Origin", "LLMEval", "PretextTrans")
PARTS = ("PretextTrans", "−LogImp", "−LMReph")
STEPS = ("none", "+dn", "+dn+inv", "+all")
STEP_NAMES = ("None", "+DN", "+DN+Inv", "+All")


def _table_3(reports: Sequence[Report]) -> Table:
    def cells(report: Report) -> list[Cell]:
        average = report.average_accuracy
        rephrased = average if report.rephraser and fits(report, "pretexttrans") else None
        return [average if report.pool == "origin" else None, average if report.pool == "llmeval" else None, rephrased]

    return Table(
        "PretextTrans",
        "Table 3",
        "Average accuracy on the original statements, on statements that a model wrote, and by the method",
        METHODS,
        (
            *rows_side_by_side(reports, cells),
            coin(0.5, 0.5, 0.5),
            *rows_of_paper("pretexttrans_table3", lambda r: r["method"], METHODS),
        ),
        "The lower the last column is against the first, the more a model knows a sentence and not the fact. A run without a "
        "rephraser stands in Table 13.",
        needs="It takes a run with the sentences `origin`, or one whose sentences a model rephrased or wrote (`write`).",
    )


def _table_13(reports: Sequence[Report]) -> Table:
    def cells(report: Report) -> list[Cell]:
        if not fits(report, "pretexttrans"):
            return [None, None, None]
        average, plain = report.average_accuracy, report.by_implications.get("none")
        return [average, plain, None] if report.rephraser else [None, None, average]

    return Table(
        "PretextTrans",
        "Table 13",
        "Average accuracy without a part of the method: without logical implication, without rephrasing (Table 4: two models)",
        PARTS,
        (
            *rows_side_by_side(reports, cells),
            coin(0.5, 0.5, 0.5),
            *rows_of_paper("pretexttrans_table13", lambda r: r["method"].replace("-", "−"), PARTS),
        ),
        "What each part of the method takes off the score. A run whose sentences nothing rephrased is −LMReph.",
    )


def _table_14(reports: Sequence[Report]) -> Table:
    def cells(report: Report) -> list[Cell]:
        return [report.by_implications.get(step) for step in STEPS]

    return Table(
        "PretextTrans",
        "Table 14",
        "Average accuracy as ways of saying are added (Table 5: two models)",
        STEP_NAMES,
        (
            *rows_of_runs([r for r in reports if fits(r, "pretexttrans")], cells),
            coin(0.5, 0.5, 0.5, 0.5),
            *rows_of_paper("pretexttrans_table14", lambda r: dict(zip(STEPS, STEP_NAMES, strict=True))[r["group"]], STEP_NAMES),
        ),
        "Plain; then denied too; then reversed too; then in a patient too. A fall from left to right means that "
        "the plain sentence was known better than the fact.",
    )


# ------------------------------------------------------------------------------------------------ TPEval

AMOUNTS = ("K=1", "K=8")


def _tpeval_table_1(reports: Sequence[Report]) -> Table:
    def cells(report: Report) -> list[Cell]:
        return [report.by_variant.get("S1"), report.average_accuracy]

    return Table(
        "TPEval",
        "Table 1",
        "Average accuracy with one statement a fact (S1) and with all eight",
        AMOUNTS,
        (
            *rows_of_runs([r for r in reports if fits(r, "tpeval")], cells),
            coin(0.5, 0.5),
            *_merged(rows_of_paper("tpeval_table1", lambda r: r["group"], AMOUNTS)),
        ),
        "A lower figure with eight statements than with one means that one way of saying was known better than the fact.",
    )


def _merged(rows: Iterator[Row]) -> Iterator[Row]:
    """The two data sets of TPEval's Table 1 (DiseK, TPDiseK) hold the same facts: one row a model."""
    found: dict[str, Row] = {}
    for row in rows:
        before = found.get(row.model)
        cells = row.cells if before is None else tuple(a or b for a, b in zip(before.cells, row.cells, strict=True))
        found[row.model] = Row(row.model, row.origin, before.detail if before else row.detail, cells)
    yield from found.values()


# ------------------------------------------------------------------------------------------------ MKJ

ACCURACIES = {
    "Acc": "mkj_accuracy",
    "Acc_pos": "positive_accuracy",
    "Acc_neg": "negative_accuracy",
    "Acc_gap": "accuracy_gap",
}
OF_METRIC = {metric: name for name, metric in ACCURACIES.items()}


def _accuracies(name: str, file: str, title: str) -> Callable[[Sequence[Report]], Table]:
    def make(reports: Sequence[Report]) -> Table:
        single = [report for report in reports if fits(report, "mkj") and report.retrieval == NO_RETRIEVAL]
        return Table(
            "MKJ",
            name,
            title,
            tuple(ACCURACIES),
            (
                *rows_of_runs(single, lambda report: [getattr(report, metric) for metric in ACCURACIES.values()]),
                coin(0.5, 0.5, 0.5, 0.0),
                *rows_of_paper(file, lambda r: OF_METRIC[r["metric"]], tuple(ACCURACIES)),
            ),
            "Acc weighs true and false statements as 1 : k false partners (k = 3 in the paper). A negative gap: the model "
            "denies more readily than it affirms. The paper gives n = 3,000, yet its percentages fit 400 statements.",
        )

    return make


def _mkj_table_2(reports: Sequence[Report]) -> Table:
    rows = tuple(
        Row(
            model_of(report),
            RUN,
            f"{side} error-prone; {detail_of(report)}",
            (Figure(*values_of(report.by_tail_type[name])),),
            name,
        )
        for report in reports
        if report.retrieval == NO_RETRIEVAL
        for side in ("most", "least")
        for name in getattr(report.error_prone, side)
    )
    return Table(
        "MKJ",
        "Table 2",
        "The five most and the five least error-prone semantic types of the tail",
        ("accuracy",),
        rows,
        f"Where a model errs most. Types with fewer than {FEWEST_FACTS} facts are not ranked: they move a lot by chance.",
        heading="semantic type",
    )


RETRIEVED = tuple(f"{kind}: {name}" for kind in ("sparse", "dense") for name in list(ACCURACIES)[:3])


def _mkj_table_3(reports: Sequence[Report]) -> Table:
    def cells(report: Report) -> list[Cell]:
        return [
            getattr(report, ACCURACIES[c.split(": ")[1]]) if report.retrieval == c.split(":")[0] else None for c in RETRIEVED
        ]

    def column(row: Mapping[str, str]) -> str:
        return f"{row['method'].split()[0].lower()}: {OF_METRIC[row['metric']]}"

    return Table(
        "MKJ",
        "Table 3",
        "Accuracy with retrieved documents (sparse and dense retrieval)",
        RETRIEVED,
        (*rows_of_runs(reports, cells), coin(*[0.5] * 6), *rows_of_paper("mkj_table3", column, RETRIEVED)),
        "What documents that were looked up add. Only runs with retrieval have a row. In the paper the corpus holds the fact "
        "under test; “fact left out” stands beside the runs whose corpus does not.",
        needs="It takes a run with retrieval.",
    )


PAPERS: Mapping[str, tuple[Callable[[Sequence[Report]], Table], ...]] = {
    "pretexttrans": (_table_3, _table_13, _table_14),
    "tpeval": (_tpeval_table_1,),
    "mkj": (
        _accuracies("Table 5", "mkj_table5", "Accuracy, over true statements, over false ones, and the gap between them"),
        _accuracies("Table 1", "mkj_table1", "The same, averaged over families of models"),
        _mkj_table_2,
        _mkj_table_3,
    ),
}
"""The tables of each paper that report results, by the name of its protocol."""
