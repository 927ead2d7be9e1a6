"""The papers' published figures, and their tables filled by runs of one's own."""

import csv
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from pathlib import Path

import pandas
import pytest
from small_facts import StubModel, write_csv
from small_papers import (
    Medfact,
    Row,
    command_rows,
    error_line,
    make_disek_rows,
    make_mkj_entry,
    report_run,
    run_baseline,
    write_json,
    write_medlama,
)

from medfact.results.papers import CONDITIONS, FOLDER, PAPERS, PaperTable, declared_tables, published
from medfact.runs.run import answer
from medfact.runs.start import start
from medfact.spec import RunSpec
from medfact.store import Store


@pytest.fixture
def medlama(tmp_path: Path) -> Path:
    return write_medlama(tmp_path / "medlama" / "2021AA")


@pytest.fixture
def disek(tmp_path: Path) -> Path:
    return write_csv(tmp_path / "disek.csv", make_disek_rows())


@pytest.fixture
def mkj(tmp_path: Path) -> Path:
    """100 facts, 400 statements."""
    return write_json(tmp_path / "mkj" / "data.json", [make_mkj_entry(i) for i in range(100)]).parent


@pytest.fixture
def data(medlama: Path, disek: Path, mkj: Path) -> dict[str, Path]:
    return {"medlama": medlama, "disek": disek, "mkj": mkj}


# ------------------------------------------------------------------------- published figures

PUBLISHED = {
    # file: (figures, paper, table, models, data sets)
    "pretexttrans_table3": (78, "PretextTrans", "Table 3", 13, {"MedLAMA", "DiseK"}),
    "pretexttrans_table13": (72, "PretextTrans", "Table 13", 12, {"MedLAMA", "DiseK"}),
    "pretexttrans_table14": (96, "PretextTrans", "Table 14", 12, {"MedLAMA", "DiseK"}),
    "tpeval_table1": (30, "TPEval", "Table 1", 15, {"DiseK", "TPDiseK"}),
    "mkj_table1": (32, "MKJ", "Table 1", 8, {"MKJ"}),
    "mkj_table2": (10, "MKJ", "Table 2", 1, {"MKJ"}),
    "mkj_table3": (96, "MKJ", "Table 3", 16, {"MKJ"}),
    "mkj_table5": (72, "MKJ", "Table 5", 18, {"MKJ"}),
}


def figures(file: str) -> list[dict[str, str]]:
    """The figures of one published table, without the guards of a spreadsheet."""
    with (FOLDER / f"{file}.csv").open(encoding="utf-8", newline="") as stream:
        return [{name: text.lstrip("'") for name, text in row.items()} for row in csv.DictReader(stream)]


def test_the_published_tables_are_these() -> None:
    assert {path.stem for path in FOLDER.glob("*.csv")} == set(PUBLISHED)


@pytest.mark.parametrize("file", PUBLISHED)
def test_published_figures_are_complete(file: str) -> None:
    count, paper, table, models, data_sets = PUBLISHED[file]
    rows = figures(file)
    assert len(rows) == count
    assert {(row["paper"], row["table"]) for row in rows} == {(paper, table)}
    assert len({row["model"] for row in rows}) == models
    assert {row["dataset"] for row in rows} == data_sets
    kinds = Counter((row["dataset"], row["method"], row["metric"], row["group"]) for row in rows)
    assert set(kinds.values()) == {models}, "every model has every figure"
    for row in rows:
        assert -1 <= float(row["value"]) <= 1
        assert float(row["value"]) >= 0 or row["metric"] == "accuracy_gap"
        assert row["n"].isdecimal() or row["n"] == ""
        assert row["shots"] in {"0", "5", ""}
        assert row["shots"] or row["model"] == "Random"


@pytest.mark.parametrize(
    "table", [table for paper in PAPERS for table in declared_tables(paper)], ids=lambda table: table.title
)
def test_a_declared_table_names_conditions_and_published_columns_that_exist(table: PaperTable) -> None:
    assert {table.runs, *(column.condition for column in table.columns.values())} <= CONDITIONS.keys()
    assert table.base in {"", "zero-shot", *table.columns}
    if table.published and not table.types:
        keys = {table.key.format_map(row) for row in published(table.published)}
        assert {column.published or name for name, column in table.columns.items()} == keys


def test_the_published_tables_of_pretexttrans_agree_with_each_other() -> None:
    """The same run stands in three tables: the whole method, and the method without logical implication."""
    by_method = [
        {(r["model"], r["dataset"], r["method"]): r["value"] for r in figures(f"pretexttrans_table{n}")} for n in (3, 13)
    ]
    by_step = {(r["model"], r["dataset"], r["group"]): r["value"] for r in figures("pretexttrans_table14")}
    for model, data_set, step in by_step:
        if step == "+all":
            key = (model, data_set, "PretextTrans")
            assert by_step[model, data_set, step] == by_method[0][key] == by_method[1][key]
        if step == "none":
            assert by_step[model, data_set, step] == by_method[1][model, data_set, "-LogImp"]


@pytest.mark.parametrize("file", ["mkj_table1", "mkj_table3", "mkj_table5"])
def test_mkjs_published_accuracies_are_the_weighted_mean_or_say_why_not(file: str) -> None:
    found: defaultdict[tuple[str, str], dict[str, dict[str, str]]] = defaultdict(dict)
    for row in figures(file):
        found[row["model"], row["method"]][row["metric"]] = row
    for by_metric in found.values():
        accuracy, positive, negative = (
            float(by_metric[name]["value"]) for name in ("mkj_accuracy", "positive_accuracy", "negative_accuracy")
        )
        rounded = 0.0003 if file == "mkj_table3" else 0.0101  # printed with four decimals, or with two
        fits = abs((positive + 3 * negative) / 4 - accuracy) <= rounded
        assert fits or "does not fit" in by_metric["mkj_accuracy"]["note"]
        if "accuracy_gap" in by_metric:
            assert abs(positive - negative - float(by_metric["accuracy_gap"]["value"])) <= 0.0101


# ------------------------------------------------------------------------- the papers' tables


METHODS = {
    "pretexttrans": ("pretexttrans", "medlama", "--limit", 40),
    "another": ("pretexttrans", "disek", "--shots", 0),
    "origin": ("pretexttrans", "disek", "--pool", "origin"),
    "tpeval": ("tpeval", "disek"),
    "mkj": ("mkj", "mkj"),
}
"""What a run is called here → its protocol, its data and its options."""

RunOf = Callable[[str], str]


@pytest.fixture
def run_of(data: dict[str, Path], medfact: Medfact) -> RunOf:
    """Makes a run of one of METHODS; returns its id."""

    def run(name: str) -> str:
        protocol, source, *options = METHODS[name]
        return str(run_baseline(medfact, str(protocol), data[str(source)], *options)["run"])

    return run


@pytest.fixture
def runs(run_of: RunOf) -> list[str]:
    """A run of each method."""
    return [run_of(name) for name in METHODS]


def tables(medfact: Medfact, *arguments: object) -> dict[tuple[str, str], list[Row]]:
    """(paper, table) → its figures, of `tables ARGUMENTS`."""
    found: defaultdict[tuple[str, str], list[Row]] = defaultdict(list)
    for row in command_rows(medfact("tables", *arguments)):
        found[row["paper"], row["table"]].append(row)
    return found


def own(rows: Iterable[Row]) -> dict[str, Row]:
    """Column → the figure of the one run that a table shows."""
    return {row["column"]: {key: row[key] for key in ("value", "low", "high", "n")} for row in rows if row["from"] == "run"}


def test_each_paper_has_its_tables(runs: list[str], medfact: Medfact) -> None:
    of_paper = {
        "pretexttrans": {
            ("PretextTrans", name) for name in ("Table 3", "Table 13", "Table 14", "Figures 5 and 9", "Figure 10")
        },
        "tpeval": {
            ("TPEval", name) for name in ("Table 1", "Figure 6 left", "Figure 6 right", "Figure 7a", "Figure 7b", "Figure 7c")
        },
        "mkj": {("MKJ", "Table 1"), ("MKJ", "Table 2"), ("MKJ", "Table 3"), ("MKJ", "Table 5")},
    }
    for paper, expected in of_paper.items():
        assert set(tables(medfact, *runs, "--paper", paper)) == expected
    assert set(tables(medfact, *runs)) == set.union(*of_paper.values())


@pytest.mark.parametrize("name", METHODS)
def test_published_figures_stand_beside_any_run(name: str, run_of: RunOf, medfact: Medfact) -> None:
    made = tables(medfact, run_of(name))
    for file, (_, paper, table, *_) in PUBLISHED.items():
        expected = Counter((row["model"], float(row["value"])) for row in figures(file) if row["model"] != "Random")
        shown = [row for row in made[paper, table] if row["from"] == "published" and not row["model"].startswith("mean of")]
        assert Counter((row["model"], row["value"]) for row in shown if row["value"] is not None) == expected
        assert all(row["detail"] for row in shown)
        assert all(row["low"] is row["high"] is row["n"] is None for row in shown)
        (chance,) = {row["model"] for row in made[paper, table] if row["from"] == "chance"}
        assert chance == "Random"


def test_a_run_of_the_users_has_n_and_interval(runs: list[str], medfact: Medfact) -> None:
    rows = [row for of in tables(medfact, *runs).values() for row in of if row["from"] == "run"]
    shown = [row for row in rows if row["value"] is not None]
    assert len(shown) > 20
    for row in shown:
        assert row["n"] > 0
        if row["low"] is not None:
            assert -1 <= row["low"] <= row["value"] <= row["high"] <= 1
        assert "facts" in row["detail"]
    assert sum(row["low"] is not None for row in shown) > 10, "fewer than ten heads have no interval"
    for row in rows:
        assert row["value"] is not None or row["low"] is row["high"] is None


@pytest.mark.parametrize(("name", "shots"), [("pretexttrans", "5-shot"), ("another", "zero-shot")])
def test_a_run_without_rephrasing_fills_that_column_of_table_13(name: str, shots: str, run_of: RunOf, medfact: Medfact) -> None:
    run = run_of(name)
    made = tables(medfact, run, "--paper", "pretexttrans")
    table = own(made["PretextTrans", "Table 13"])
    assert list(table) == ["PretextTrans", "−LogImp", "−LMReph"]
    assert table["−LMReph"] == report_run(medfact, run)["average_accuracy"]
    assert table["PretextTrans"]["value"] is table["−LogImp"]["value"] is None
    (detail,) = {row["detail"] for row in made["PretextTrans", "Table 13"] if row["from"] == "run"}
    assert shots in detail
    assert "PretextTrans −LMReph" in detail
    assert own(made["PretextTrans", "Table 3"]) == {}, "a run without a rephraser is not the method's"


@pytest.mark.parametrize("name", ["pretexttrans", "another"])
def test_table_14_is_by_implications(name: str, run_of: RunOf, medfact: Medfact) -> None:
    run = run_of(name)
    table = own(tables(medfact, run, "--paper", "pretexttrans")["PretextTrans", "Table 14"])
    by_implications = report_run(medfact, run)["by_implications"]
    assert list(table) == ["None", "+DN", "+DN+Inv", "+All"]
    assert list(by_implications) == ["none", "+dn", "+dn+inv", "+all"]
    assert list(table.values()) == list(by_implications.values())
    assert [figure["n"] for figure in table.values()] == [table["+All"]["n"] * share // 8 for share in (1, 2, 4, 8)]


def test_a_run_of_origin_fills_that_column_of_table_3(run_of: RunOf, medfact: Medfact) -> None:
    run = run_of("origin")
    made = tables(medfact, run, "--paper", "pretexttrans")
    table = own(made["PretextTrans", "Table 3"])
    assert table["Origin"] == report_run(medfact, run)["average_accuracy"]
    assert table["LLMEval"]["value"] is table["PretextTrans"]["value"] is None
    assert own(made["PretextTrans", "Table 13"]) == own(made["PretextTrans", "Table 14"]) == {}


def test_tpevals_table_1_is_s1_and_all_eight(run_of: RunOf, medfact: Medfact) -> None:
    run = run_of("tpeval")
    table = own(tables(medfact, run, "--paper", "tpeval")["TPEval", "Table 1"])
    report = report_run(medfact, run)
    assert table == {"K=1": report["by_variant"]["S1"], "K=8": report["average_accuracy"]}


@pytest.mark.parametrize("name", ["pretexttrans", "origin", "mkj"])
def test_a_run_of_other_sentences_is_not_in_tpevals_table(name: str, run_of: RunOf, medfact: Medfact) -> None:
    assert own(tables(medfact, run_of(name), "--paper", "tpeval")["TPEval", "Table 1"]) == {}


def test_runs_of_another_method_do_not_fill_a_papers_table(disek: Path, medfact: Medfact) -> None:
    """medfact's own method asks PretextTrans' eight variants, and can ask TPEval's sentences."""
    of_ours = [run_baseline(medfact, "medfact", disek, "--pool", pool)["run"] for pool in ("pretexttrans-disek", "tpeval")]
    made = tables(medfact, *of_ours)
    tables_of_methods = [("PretextTrans", "Table 14"), ("PretextTrans", "Figures 5 and 9"), ("TPEval", "Table 1")]
    assert [own(made[table]) for table in tables_of_methods] == [{}, {}, {}]


def test_pretexttrans_curves_stand_in_its_tables(run_of: RunOf, medfact: Medfact) -> None:
    run = run_of("another")
    made = tables(medfact, run, "--paper", "pretexttrans")
    curve = own(made["PretextTrans", "Figures 5 and 9"])
    assert [figure["value"] for figure in curve.values()] == report_run(medfact, run)["joint_accuracy_at"]
    assert list(curve)[::7] == ["1 of 8", "8 of 8"]
    assert own(made["PretextTrans", "Figure 10"]) == {}, "nobody wrote sentences"


def test_mkjs_tables_are_its_accuracies_and_its_types(run_of: RunOf, medfact: Medfact) -> None:
    run = run_of("mkj")
    made = tables(medfact, run, "--paper", "mkj")
    report = report_run(medfact, run)
    assert own(made["MKJ", "Table 5"]) == {
        "Acc": report["mkj_accuracy"],
        "Acc_pos": report["positive_accuracy"],
        "Acc_neg": report["negative_accuracy"],
        "Acc_gap": report["accuracy_gap"],
    }
    assert own(made["MKJ", "Table 3"]) == {}, "nothing was looked up"
    assert own(made["MKJ", "Table 2"]) == {}, "no type is shown to be known better, and none is one of the paper's ten"


def test_a_runs_figures_stand_beside_the_papers_types(tmp_path: Path, medfact: Medfact) -> None:
    """Two of MKJ's ten types, with too few facts to be ranked, and one type that the paper does not have."""
    kinds = ("Hormone", "Sign or Symptom", "Food")
    entries = [make_mkj_entry(i) | {"semantic_type": [kinds[i % 3]]} for i in range(12)]
    run = run_baseline(medfact, "mkj", write_json(tmp_path / "mkj" / "data.json", entries).parent)["run"]
    rows = tables(medfact, run, "--paper", "mkj")["MKJ", "Table 2"]
    by_type = report_run(medfact, run)["by_tail_type"]
    ours = {row["semantic_type"]: (row["value"], row["n"]) for row in rows if row["from"] == "run"}
    assert ours == {name: (by_type[name]["value"], 16) for name in kinds[:2]}, "4 facts of a type, 4 statements each"
    theirs = {row["semantic_type"]: row["value"] for row in rows if row["from"] == "published"}
    assert len(theirs) == 10
    assert (theirs["Hormone"], theirs["Sign or Symptom"]) == (0.55, 0.41)


def test_means_over_ones_models_by_hand(tmp_path: Path, store: Store, medfact: Medfact) -> None:
    """Facts of one of the paper's ten types. Two models of one series say True and False throughout, a third one True. Acc is
    0.25, 0.75, 0.25: their mean 5/12, that of the series 1/2; Acc_pos is 1, 0, 1: 2/3 and 1/2. A coin that is asked too counts
    in neither.
    """
    entries = [make_mkj_entry(i) | {"semantic_type": ["Hormone"]} for i in range(100)]
    mkj = write_json(tmp_path / "mkj" / "data.json", entries).parent
    says = {"openai:qwen-1b": "True", "openai:qwen-2b": "False", "openai:phi-3b": "True"}
    runs = []
    for model, reply in says.items():
        run = start(RunSpec(model=model, facts=str(mkj), protocol="mkj"), store)
        assert list(answer(run, store, load=StubModel(lambda prompt, reply=reply: reply).load))  # type: ignore[misc]
        runs.append(run)
    runs.append(run_baseline(medfact, "mkj", mkj, "--db", store.url)["run"])
    rows = tables(medfact, *runs, "--paper", "mkj", "--db", store.url)
    found: defaultdict[str, dict[str, Row]] = defaultdict(dict)
    for row in rows["MKJ", "Table 1"]:
        found[row["model"]][row["column"]] = row
    every, series = found["mean of 3 models"], found["qwen series, mean of 2"]
    assert [every[name]["value"] for name in ("Acc", "Acc_pos", "Acc_gap")] == pytest.approx([5 / 12, 2 / 3, 1 / 3])
    assert [series[name]["value"] for name in ("Acc", "Acc_pos", "Acc_gap")] == pytest.approx([0.5, 0.5, 0.0])
    single = [found[name]["Acc"] for name in ("qwen-1b", "qwen-2b", "phi-3b")]
    assert every["Acc"]["low"] == pytest.approx(sum(row["low"] for row in single) / 3)
    assert not any(name.startswith("phi series") for name in found)
    by_type = [row for row in rows["MKJ", "Table 2"] if row["model"] == "mean of 3 models"]
    assert by_type
    assert all(row["value"] == pytest.approx(5 / 12) for row in by_type), "each type has one true fact for three false ones"


def test_tpevals_views_stand_in_its_tables(run_of: RunOf, medfact: Medfact) -> None:
    run = run_of("tpeval")
    made, report = tables(medfact, run, "--paper", "tpeval"), report_run(medfact, run)

    def values(figure: str) -> list[float]:
        return [one["value"] for one in own(made["TPEval", figure]).values()]

    assert values("Figure 6 left") == report["joint_accuracy_ordered"]
    assert values("Figure 6 right") == report["average_accuracy_ordered"]
    assert values("Figure 7a") == [report[f"{side}_accuracy"]["value"] for side in ("positive", "negative")]
    assert values("Figure 7b") == [report["by_polarity"][one]["value"] for one in ("affirmed", "negated")]
    assert values("Figure 7c") == [report["by_form"][form]["value"] for form in ("S1", "S2", "S3", "S4")]


@pytest.mark.parametrize("options", [(), ("--pool", "origin"), ("--retrieval", "sparse")])
def test_runs_of_another_method_are_not_lmreph(options: tuple[str, ...], disek: Path, medfact: Medfact) -> None:
    """medfact's own method has no rephrasing to lack, and passages are no part of PretextTrans."""
    method = "pretexttrans" if "sparse" in options else "medfact"
    pool = () if options else ("--pool", "pretexttrans-disek")
    run = run_baseline(medfact, method, disek, "--shots", 0, "--limit", 8, *options, *pool)["run"]
    assert own(tables(medfact, run, "--paper", "pretexttrans")["PretextTrans", "Table 13"]) == {}


def test_runs_of_two_methods_are_each_named_with_their_own(run_of: RunOf, medfact: Medfact) -> None:
    runs = [run_of("another"), run_of("mkj")]
    latex = medfact("report", *runs, "--latex").out
    caption = next(line for line in latex.splitlines() if "All tables:" in line)
    assert "PretextTrans $-$LMReph on disek.csv" in caption
    assert "MKJ on " in caption
    assert r"50\% to 75\% of the statements are false on purpose." in caption
    scores = latex.partition(r"\end{longtable}")[0]
    of_mkj = scores.partition(r"\multicolumn{4}{@{}l}{Acc}")[2].partition(r"\multicolumn")[0]
    assert of_mkj.count(r"\quad") == 1, "a method's own scores are those of its runs"


NUMBER = re.compile(r"-?\d+(\.\d+)?(e-?\d+)?")


def test_tables_as_csv_have_no_formula(runs: list[str], tmp_path: Path, medfact: Medfact) -> None:
    path = tmp_path / "tables.csv"
    assert medfact("tables", *runs, "-o", path).code == 0
    assert len(pandas.read_csv(path)) > 400
    with path.open(encoding="utf-8", newline="") as file:
        cells = [cell for row in csv.reader(file) for cell in row]
    risky = [cell for cell in cells if cell[:1] in {"=", "+", "-", "@", "\t", "\r"}]
    assert all(NUMBER.fullmatch(cell) for cell in risky)
    assert "'+DN" in cells


def test_mistakes_are_one_line(mkj: Path, medfact: Medfact) -> None:
    run = run_baseline(medfact, "mkj", mkj, "--limit", 2)["run"]
    for arguments, words in (
        (("xyz",), "no run 'xyz'"),
        ((run, "xyz", "--paper", "mkj"), "no run 'xyz'"),
        ((), "RUN"),
        *(((run, "--paper", paper), f"no paper {paper!r}") for paper in ("nonsense", "", "PretextTran")),
    ):
        assert words in error_line(medfact("tables", *arguments))
