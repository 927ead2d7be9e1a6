"""The papers' tables by their names, filled from reports, beside the papers' own figures. Computes nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from medfact.answers.prompts import LLM_EVAL
from medfact.metrics.averages import FEWEST_FACTS, error_prone
from medfact.metrics.measures import TypeAccuracy
from medfact.metrics.uncertainty import Estimate
from medfact.results.compare import Pair
from medfact.results.means import groups_of, mean_types, rows_of_means, with_means
from medfact.results.paper_rows import (
    PUBLISHED,
    RUN,
    ZERO_SHOT,
    Cell,
    PaperRow,
    PaperTable,
    coin,
    detail_of,
    figure_of,
    pointed,
    published,
    rows_of_paper,
    rows_of_runs,
    rows_side_by_side,
)
from medfact.results.report import Report
from medfact.results.wording import model_of
from medfact.spec import NO_RETRIEVAL, PROTOCOLS
from medfact.statements import IMPLICATIONS, TRUTH_PRESERVING

Make = Callable[[Sequence[Report]], PaperTable]


def tables(reports: Sequence[Report], paper: str | None = None, across: Sequence[Pair] = ()) -> list[PaperTable]:
    """All tables of a paper (`pretexttrans`, `tpeval`, `mkj`), or of all three, for these runs.

    A run fills the columns that its statements allow; a table for which no run has a figure shows the paper's own rows alone.
    across: the differences of the runs whose figures a paper compares (`across_of_papers`), for its arrows.
    """
    chosen = PAPERS if paper is None else {paper: PAPERS[paper]}
    made = [pointed(make(reports), reports, across) for makers in chosen.values() for make in makers]
    return [with_means(table, reports) if table.base == ZERO_SHOT else table for table in made]


def fits(report: Report, paper: str) -> bool:
    """Returns true if a run has the statements of a paper's method: its variants, or MKJ's one statement a fact."""
    variants: dict[str, Iterable[str]] = {"pretexttrans": IMPLICATIONS, "tpeval": TRUTH_PRESERVING}
    return set(variants[paper]) <= set(report.by_variant) if paper in variants else bool(report.protocol == paper)


def _of_method(reports: Sequence[Report], paper: str) -> list[Report]:
    """The runs of a paper's own method, without passages. Another method may ask sentences of the same variants."""
    return [
        report for report in reports if fits(report, paper) and (report.retrieval, report.protocol) == (NO_RETRIEVAL, paper)
    ]


def _view(
    name: str,
    title: str,
    columns: Sequence[str],
    of: Callable[[Report], Sequence[Cell]],
    chance: Sequence[float],
    reading: str,
    paper: str = "tpeval",
    runs: Callable[[Sequence[Report], str], list[Report]] = _of_method,
) -> Make:
    """A paper's figure as a table: the paper draws it, and prints no numbers."""

    def make(reports: Sequence[Report]) -> PaperTable:
        rows = (*rows_of_runs(runs(reports, paper), of), coin(*chance))
        return PaperTable(PROTOCOLS[paper].title, name, title, tuple(columns), rows, f"{reading} The paper prints no numbers.")

    return make


# ------------------------------------------------------------------------------------------------ PretextTrans

METHODS = ("Origin", "LLMEval", "PretextTrans")
PARTS = ("PretextTrans", "−LogImp", "−LMReph")
STEPS = ("none", "+dn", "+dn+inv", "+all")
STEP_NAMES = ("None", "+DN", "+DN+Inv", "+All")


def _table_3(reports: Sequence[Report]) -> PaperTable:
    def cells(report: Report) -> list[Cell]:
        average = report.average_accuracy if report.retrieval == NO_RETRIEVAL else None
        rephrased = average if report.rephraser and fits(report, "pretexttrans") else None
        return [average if report.pool == "origin" else None, average if report.pool == "llmeval" else None, rephrased]

    return PaperTable(
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
        base="Origin",
    )


def _table_13(reports: Sequence[Report]) -> PaperTable:
    def cells(report: Report) -> list[Cell]:
        average, plain = report.average_accuracy, report.by_implications.get("none")
        if report.rephraser:
            return [average, plain, None]
        return [None, None, average if report.protocol == "pretexttrans" else None]

    return PaperTable(
        "PretextTrans",
        "Table 13",
        "Average accuracy without a part of the method: without logical implication, without rephrasing (Table 4: two models)",
        PARTS,
        (
            *rows_side_by_side([r for r in reports if fits(r, "pretexttrans") and r.retrieval == NO_RETRIEVAL], cells),
            coin(0.5, 0.5, 0.5),
            *rows_of_paper("pretexttrans_table13", lambda r: r["method"].replace("-", "−"), PARTS),
        ),
        "What each part of the method takes off the score. A run of PretextTrans' own method whose sentences nothing "
        "rephrased is −LMReph; other methods have no rephrasing that they could lack.",
        base="PretextTrans",
    )


def _table_14(reports: Sequence[Report]) -> PaperTable:
    return PaperTable(
        "PretextTrans",
        "Table 14",
        "Average accuracy as ways of saying are added (Table 5: two models)",
        STEP_NAMES,
        (
            *rows_of_runs(_of_method(reports, "pretexttrans"), lambda report: [report.by_implications.get(s) for s in STEPS]),
            coin(0.5, 0.5, 0.5, 0.5),
            *rows_of_paper("pretexttrans_table14", lambda r: dict(zip(STEPS, STEP_NAMES, strict=True))[r["group"]], STEP_NAMES),
        ),
        "Plain; then denied too; then reversed too; then in a patient too. A fall from left to right means that "
        "the plain sentence was known better than the fact.",
        base="None",
    )


def _curve(name: str, method: str, runs: Callable[[Sequence[Report], str], list[Report]]) -> Make:
    """Figures 5 and 9 (PretextTrans) and 10 (LLMEval): joint accuracy with more and more statements a fact."""
    return _view(
        name,
        f"Joint accuracy by the number of statements a fact, asked by {method}",
        [f"{number} of 8" for number in range(1, 9)],
        lambda report: _padded(report.curves.joint_any_order),
        [0.5**number for number in range(1, 9)],
        "The mean over all orders in which the statements of a fact can be added.",
        "pretexttrans",
        runs,
    )


# ------------------------------------------------------------------------------------------------ TPEval

AMOUNTS = ("K=1", "K=8")


def _tpeval_table_1(reports: Sequence[Report]) -> PaperTable:
    return PaperTable(
        "TPEval",
        "Table 1",
        "Average accuracy with one statement a fact (S1) and with all eight",
        AMOUNTS,
        (
            *rows_of_runs(_of_method(reports, "tpeval"), lambda report: [report.by_variant.get("S1"), report.average_accuracy]),
            coin(0.5, 0.5),
            *_merged(rows_of_paper("tpeval_table1", lambda r: r["group"], AMOUNTS)),
        ),
        "A lower figure with eight statements than with one means that one way of saying was known better than the fact.",
    )


def _merged(rows: Iterator[PaperRow]) -> Iterator[PaperRow]:
    """The two data sets of TPEval's Table 1 (DiseK, TPDiseK) hold the same facts: one row a model."""
    found: dict[str, PaperRow] = {}
    for row in rows:
        before = found.get(row.model)
        cells = row.cells if before is None else tuple(a or b for a, b in zip(before.cells, row.cells, strict=True))
        found[row.model] = PaperRow(row.model, row.origin, before.detail if before else row.detail, cells)
    yield from found.values()


STATEMENTS = tuple(TRUTH_PRESERVING)
"""S1 to S8, the order in which TPEval adds statements."""


def _tpeval_views() -> tuple[Make, ...]:
    """Figures 6 and 7: with more and more statements a fact; by whether the fact holds, by polarity, by form of expression."""
    polarities, forms = ("affirmed", "negated"), ("S1", "S2", "S3", "S4")
    return (
        _view(
            "Figure 6 left",
            "Joint accuracy with the first statement of a fact, the first two, … all eight",
            [f"to {key}" for key in STATEMENTS],
            lambda report: _padded(report.curves.joint_ordered),
            [0.5**number for number in range(1, 9)],
            "Facts whose statements up to this one are all right.",
        ),
        _view(
            "Figure 6 right",
            "Average accuracy with the first statement of a fact, the first two, … all eight",
            [f"to {key}" for key in STATEMENTS],
            lambda report: _padded(report.curves.average_ordered),
            [0.5] * 8,
            "Right answers among the statements up to this one.",
        ),
        _view(
            "Figure 7a",
            "Average accuracy by type of knowledge: facts that hold, and false ones",
            ("positive triplets", "negative triplets"),
            lambda report: (report.positive_accuracy, report.negative_accuracy),
            [0.5] * 2,
            "All eight statements about facts that hold, and about false ones.",
        ),
        _view(
            "Figure 7b",
            "Average accuracy by polarity",
            ("S1 to S4, affirmed", "S5 to S8, denied"),
            lambda report: [report.by_polarity.get(one) for one in polarities],
            [0.5] * 2,
            "A model that overlooks “not” is right on the first and wrong on the second.",
        ),
        _view(
            "Figure 7c",
            "Average accuracy by form of expression",
            ("Q1 (S1, S5)", "Q2 (S2, S6)", "Q3 (S3, S7)", "Q4 (S4, S8)"),
            lambda report: [report.by_form.get(one) for one in forms],
            [0.5] * 4,
            "Each form affirmed and denied. The labels of Q4 do not follow from the fact: see the notes of the run.",
        ),
    )


def _padded(curve: Sequence[Estimate]) -> list[Cell]:
    """A point for each statement; nothing where facts differ in how many they have."""
    return [*curve] if len(curve) == len(STATEMENTS) else [None] * len(STATEMENTS)


# ------------------------------------------------------------------------------------------------ MKJ

ACCURACIES = {
    "Acc": "mkj_accuracy",
    "Acc_pos": "positive_accuracy",
    "Acc_neg": "negative_accuracy",
    "Acc_gap": "accuracy_gap",
}
OF_METRIC = {metric: name for name, metric in ACCURACIES.items()}


def _accuracies(name: str, file: str, title: str) -> Make:
    def make(reports: Sequence[Report]) -> PaperTable:
        def cells(report: Report) -> list[Cell]:
            return [getattr(report, metric) for metric in ACCURACIES.values()]

        single = _of_method(reports, "mkj")
        return PaperTable(
            "MKJ",
            name,
            title,
            tuple(ACCURACIES),
            (
                *rows_of_runs(single, cells),
                *(rows_of_means(single, cells) if name == "Table 1" else ()),
                coin(0.5, 0.5, 0.5, 0.0),
                *rows_of_paper(file, lambda r: OF_METRIC[r["metric"]], tuple(ACCURACIES)),
            ),
            "Acc weighs true and false statements as 1 : k false partners (k = 3 in the paper). A negative gap: the model "
            "denies more readily than it affirms. The paper gives n = 3,000, yet its percentages fit 400 statements.",
        )

    return make


def _mkj_table_2(reports: Sequence[Report]) -> PaperTable:
    single = _of_method(reports, "mkj")
    own = [row for report in single for row in _types(model_of(report), report, report.by_tail_type)]
    own += [row for name, of in groups_of(single) for row in _types(name, of[0], mean_types(of))]
    theirs = tuple(
        PaperRow(row["model"], PUBLISHED, f"MKJ; {row['method']} error-prone", (figure_of(row),), row["group"])
        for row in published("mkj_table2")
    )
    return PaperTable(
        "MKJ",
        "Table 2",
        "The five most and the five least error-prone semantic types of the finding",
        ("accuracy",),
        (*own, coin(0.5), *theirs),
        f"The types that a model is shown to answer worse than its best, or better than its worst; then the paper's ten, as "
        f"far as its facts have them. Types with fewer than {FEWEST_FACTS} facts are not ranked.",
        heading="semantic type",
    )


def _types(model: str, report: Report, by_type: Mapping[str, TypeAccuracy]) -> Iterator[PaperRow]:
    """The most and the least error-prone types of a model, or of several on average, then those of the paper's ten that are
    neither. report: supplies the setting.
    """
    found = error_prone(by_type)
    ranked = {name: f"{side} error-prone" for side in ("most", "least") for name in getattr(found, side)}
    ten = {row["group"]: "one of the paper's ten" for row in published("mkj_table2") if row["group"] in by_type}
    for name, place in {**ranked, **{name: place for name, place in ten.items() if name not in ranked}}.items():
        figure = by_type[name].estimate
        yield PaperRow(model, RUN, f"{place}; {detail_of(report)}", (figure,), name)


RETRIEVED = tuple(f"{kind}: {name}" for kind in ("sparse", "dense") for name in list(ACCURACIES)[:3])


def _mkj_table_3(reports: Sequence[Report]) -> PaperTable:
    def cells(report: Report) -> list[Cell]:
        return [
            getattr(report, ACCURACIES[c.split(": ")[1]]) if report.retrieval == c.split(":")[0] else None for c in RETRIEVED
        ]

    return PaperTable(
        "MKJ",
        "Table 3",
        "Accuracy with retrieved documents (sparse and dense retrieval)",
        RETRIEVED,
        (
            *rows_side_by_side([r for r in reports if fits(r, "mkj")], cells),
            coin(*[0.5] * 6),
            *rows_of_paper(
                "mkj_table3",
                lambda row: f"{row['method'].split()[0].lower()}: {OF_METRIC[row['metric']]}",
                RETRIEVED,
                has_arrows=True,
            ),
        ),
        "What documents that were looked up add: runs with retrieval, beside the same model's run without. In the paper the "
        "corpus holds the fact under test. Its text gives means of 83.05% and 81.85%, its rows 83.9% and 82.7%.",
        needs="It takes a run with retrieval; arrows take the same run without, too.",
        base=ZERO_SHOT,
    )


PAPERS: Mapping[str, tuple[Make, ...]] = {
    "pretexttrans": (
        _table_3,
        _table_13,
        _table_14,
        _curve("Figures 5 and 9", "PretextTrans", _of_method),
        _curve("Figure 10", "LLMEval", lambda reports, _: [report for report in reports if report.pool == LLM_EVAL]),
    ),
    "tpeval": (_tpeval_table_1, *_tpeval_views()),
    "mkj": (
        _accuracies("Table 5", "mkj_table5", "Accuracy, over true statements, over false ones, and the gap between them"),
        _accuracies("Table 1", "mkj_table1", "The same, averaged over families of models"),
        _mkj_table_2,
        _mkj_table_3,
    ),
}
"""The tables of each paper that report results, by the name of its protocol."""
