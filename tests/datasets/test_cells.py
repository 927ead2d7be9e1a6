"""What the cells of a facts file hold instead of names: told by row and column, decoded where that is sure, or counted."""

from __future__ import annotations

import datetime
import json
import unicodedata
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import openpyxl
import pyarrow
import pyarrow.parquet
import pytest
from small_facts import write_csv

from medfact.datasets import Collection, load_file, select
from medfact.errors import FactsError
from medfact.facts import Fact

RUBELLA = ("rubella", "symptoms", "rash")


def triplets(collection: Collection) -> list[tuple[str, str, str | None]]:
    return [(fact.head, fact.relation, fact.tail) for fact in collection.facts]


def tails(path: Path, values: Sequence[Any]) -> Path:
    """A file of facts with these tails, one a row; the last row is one about rubella that is as it should be."""
    rows = [{"head": f"disease {n}", "relation": "symptoms", "tail": value} for n, value in enumerate(values, 1)]
    if path.suffix == ".xlsx":
        book = openpyxl.Workbook()
        for row in [tuple(rows[0]), *(tuple(row.values()) for row in rows), RUBELLA]:
            book.active.append(row)
        book.save(path)
        return path
    last = dict(zip(("head", "relation", "tail"), RUBELLA, strict=True))
    if path.suffix == ".parquet":
        pyarrow.parquet.write_table(
            pyarrow.table({"tail": values, **{n: [r[n] for r in rows] for n in ("head", "relation")}}), path
        )
        return path
    if path.suffix == ".jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in [*rows, last]), encoding="utf-8")
        return path
    return write_csv(path, [*rows, last])


# ------------------------------------------------------------------------------------------------ no names

ERROR = "the tail is a spreadsheet's error, such as #N/A, and no name"
DATE = "the tail is a date or a time, and no name"
TRUTH = "the tail is true or false, and no name"
RECORD = "the tail holds a record, and no name"
BYTES = "the tail holds bytes that are no text"
EMPTY = "the tail is empty"
LIST = "the tail holds a list that cannot be read"

NO_NAMES: list[tuple[str, Any, str]] = [
    *((".csv", text, ERROR) for text in ("#N/A", "#REF!", "#NAME?", "#VALUE!", "#DIV/0!", "#NUM!", "#NULL!", "#SPILL!", "#NV")),
    *((".csv", text, ERROR) for text in ("#WERT!", "#BEZUG!", "#NOM?", "#¡VALOR!", "#N/D", "Err:502", " #n/a ")),
    *(
        (".csv", text, DATE)
        for text in ("2024-03-01", "2024-03-01 00:00:00", "2024-03-01T12:30:00Z", "1-Mar", "2-Sep", "Mar-01")
    ),
    *(
        (".csv", text, DATE)
        for text in ("01-Mar-24", "3/1/2024", "01.03.2024", "12:30:00", "1 day, 2:30:00", "1 days 02:30:00")
    ),
    *((".csv", text, TRUTH) for text in ("TRUE", "False")),
    *((".csv", text, RECORD) for text in ("{'name': 'rash'}", '{"name": "rash"}', "{'name': ['rash']}")),
    (".csv", "b'\\xff\\xfe'", BYTES),
    (".csv", "['nausea', ", LIST),
    (".csv", "['nausea', {'a': 1}]", LIST),
    *((".csv", text, EMPTY) for text in ("[]", "()", "set()", "\u200b", "\ufeff", "\u00ad", " \u2060 ")),
    (".jsonl", True, TRUTH),
    (".jsonl", float("nan"), EMPTY),
    (".jsonl", {"name": "rash"}, RECORD),
    (".jsonl", [{"name": "rash"}], RECORD),
    (".xlsx", "#N/A", ERROR),
    (".xlsx", datetime.datetime(2024, 3, 1), DATE),
    (".xlsx", datetime.date(2024, 9, 2), DATE),
    (".xlsx", datetime.time(12, 30), DATE),
    (".xlsx", datetime.timedelta(hours=30), DATE),
    (".xlsx", True, TRUTH),
]


@pytest.mark.parametrize(("ending", "value", "said"), NO_NAMES, ids=[f"{ending}-{value}" for ending, value, _ in NO_NAMES])
def test_a_cell_that_is_no_name_is_told_by_row_and_column(ending: str, value: Any, said: str, tmp_path: Path) -> None:
    collection = load_file(tails(tmp_path / f"facts{ending}", ["cough", value]))
    assert triplets(collection) == [("disease 1", "symptoms", "cough"), RUBELLA]
    (problem,) = collection.problems
    assert problem.row == (2 if ending == ".jsonl" else 3)
    assert problem.message.startswith(said)
    assert ";" in problem.message, "it says what to do"


@pytest.mark.parametrize("column", ["head", "relation"])
def test_heads_and_relations_too(column: str, tmp_path: Path) -> None:
    rows = [dict(zip(("head", "relation", "tail"), RUBELLA, strict=True))]
    collection = load_file(write_csv(tmp_path / "facts.csv", [*rows, rows[0] | {column: "#REF!"}]))
    (problem,) = collection.problems
    assert (problem.row, problem.message.split(" is ")[0]) == (3, f"the {column}")


NAMES = [
    "14-3-3 protein", "t(9;22)(q34;q11)", "50-78-2", "HLA-B*27:05", "EC 1.14.13", "1.14.13",
    "#143100 Huntington disease", "22:6", "[D]Chest pain", "[18F]fluorodeoxyglucose", "(+)-tubocurarine", "[X]",
    "true vocal cord", "b'", "May", "2 days", "Sep-tum", "Err", "{statement}", "a [Y] of [X]", "March1", "'n roll",
    "MARCH1", "(R)-lipoic acid", "not true", "AT&T", "R&D;", "5'-AMP", "alpha & beta", "AND/OR", "5-HT1A",
    "11-cis-retinal", "Dec1", "I", "C",
]  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_odd_names_are_names(name: str, tmp_path: Path) -> None:
    collection = load_file(tails(tmp_path / "facts.csv", [name]))
    assert triplets(collection)[0][2] == name
    assert collection.problems == ()
    assert all(note.startswith("Tags or codes beside names (") for note in collection.notes)


def test_parquet_columns_of_other_types(tmp_path: Path) -> None:
    """Dates, durations, booleans, records and bytes that are no text, typed as such."""
    for values in (
        [datetime.date(2024, 3, 1)],
        [datetime.datetime(2024, 3, 1, 12)],
        [datetime.time(12, 30)],
        [datetime.timedelta(hours=3)],
        [True],
        [{"name": "rash"}],
        [b"\xff\xfe"],
    ):
        with pytest.raises(FactsError, match=r"row 2: the tail (?:is|holds)"):
            load_file(tails(tmp_path / "facts.parquet", values))


# ------------------------------------------------------------------------------------------------ decoded


@pytest.mark.parametrize("kind", [pyarrow.binary(), pyarrow.large_binary(), pyarrow.binary_view(), pyarrow.binary(3)])
def test_bytes_are_text_where_they_are_utf_8(kind: Any, tmp_path: Path) -> None:
    texts = ["bäh", "gut", "abc", "äx"]
    columns = {
        name: pyarrow.array([text.encode()[:3].ljust(3, b"x") for text in texts]).cast(kind) for name in ("head", "tail")
    }
    path = tmp_path / "facts.parquet"
    pyarrow.parquet.write_table(pyarrow.table({**columns, "relation": ["symptoms"] * 4}), path)
    assert [fact.tail for fact in load_file(path).facts] == ["bä", "gut", "abc", "äx"]


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("b'wheezing'", ["wheezing"]),
        ('b"Crohn\'s disease"', ["Crohn's disease"]),
        ("b'Sj\\xc3\\xb6gren'", ["Sjögren"]),
        ("['nausea', 'photophobia']", ["nausea", "photophobia"]),
        ('["nausea", "Crohn\'s disease"]', ["nausea", "Crohn's disease"]),
        ("['nausea' 'photophobia']", ["nausea", "photophobia"]),  # as numpy writes it
        ("('nausea', 'photophobia')", ["nausea", "photophobia"]),
        ("{'nausea', 'photophobia'}", ["nausea", "photophobia"]),
        ("['nausea']", ["nausea"]),
        ('["Sj\\u00f6gren"]', ["Sjögren"]),
        ("[b'nausea', b'rash']", ["nausea", "rash"]),
        ("Sj&ouml;gren&#39;s &#x26; co", ["Sjögren's & co"]),
        ("dry mouth &amp; eyes", ["dry mouth & eyes"]),
    ],
)
def test_what_is_surely_meant_is_read(written: str, meant: list[str], tmp_path: Path) -> None:
    collection = load_file(tails(tmp_path / "facts.csv", [written]))
    assert triplets(collection) == [*(("disease 1", "symptoms", tail) for tail in meant), RUBELLA]
    assert collection.problems == ()
    (note,) = collection.notes
    assert "the tail of 1 row" in note


def test_lists_as_texts_and_as_values_are_the_same_facts(tmp_path: Path) -> None:
    typed = load_file(tails(tmp_path / "facts.jsonl", [["nausea", "photophobia"]]))
    assert typed.notes == ()
    assert typed.facts == load_file(tails(tmp_path / "facts.csv", ["['nausea', 'photophobia']"])).facts


def test_the_elements_of_a_list_have_identifiers_of_their_own(tmp_path: Path) -> None:
    path = tmp_path / "facts.jsonl"
    row = {"head": "migraine", "relation": "symptoms", "tail": ["nausea", "photophobia"]}
    path.write_text(json.dumps(row | {"tail_id": ["S1", "S2"]}) + "\n" + json.dumps(row | {"tail_id": "S1"}), encoding="utf-8")
    collection = load_file(path)
    assert [(fact.tail, fact.tail_id) for fact in collection.facts] == [("nausea", "S1"), ("photophobia", "S2")]
    assert [str(problem) for problem in collection.problems] == [
        "row 2: it has 2 tails and 1 identifiers; there must be as many of each"
    ]


# ------------------------------------------------------------------------------------------------ kept, and counted


def test_words_for_a_missing_value_are_kept_and_counted(tmp_path: Path) -> None:
    words = ["nan", "None", "NULL", "N/A", "NaN", "<NA>", "-", "?", "n.a.", "missing", "unknown", "—", "(null)", "\\N", "NaT"]
    collection = load_file(tails(tmp_path / "facts.csv", words))
    assert [fact.tail for fact in collection.facts] == [*words, "rash"]
    assert collection.problems == ()
    (note,) = collection.notes
    assert note.startswith(f"Words for a missing value (nan, None, NULL, …): the tail of {len(words)} rows.")
    only = load_file(tails(tmp_path / "one.csv", ["NaN"]))
    assert only.notes[0].startswith("Words for a missing value (NaN): the tail of 1 row.")


def test_words_for_a_missing_identifier_are_empty_cells(tmp_path: Path) -> None:
    """All names with one identifier count as names of one thing."""
    rows = [{"head": head, "relation": "symptoms", "tail": "pain", "head_id": "nan"} for head in ("gout", "flu")]
    collection = load_file(write_csv(tmp_path / "facts.csv", rows))
    assert {fact.head_id for fact in collection.facts} == {None}
    assert collection.notes == ("Words for a missing value (nan): the head_id of 2 rows. They are read as an empty cell.",)


def test_bare_numbers_are_kept_and_counted_by_column(tmp_path: Path) -> None:
    rows = [{"from": str(n), "relation": "symptoms", "to": str(9036 + n)} for n in range(1, 4)]
    collection = load_file(write_csv(tmp_path / "facts.csv", rows), {"head": "from", "tail": "to"})
    assert triplets(collection) == [("1", "symptoms", "9037"), ("2", "symptoms", "9038"), ("3", "symptoms", "9039")]
    (note,) = collection.notes
    assert note.startswith("Bare numbers (1, 9037, 2, …): the head of 3 rows, the tail of 3 rows.")
    numbers = ["2", "1e-05", "-3.5", "1,200", "50%", ".5", "2.0"]
    assert f"the tail of {len(numbers)} rows" in load_file(tails(tmp_path / "more.csv", numbers)).notes[0]
    assert "the tail of 2 rows" in load_file(tails(tmp_path / "facts.xlsx", [2, 1e-05])).notes[0]


@pytest.mark.parametrize("text", ["wheezing|cough|dyspnea", "joint pain; swelling", "wheezing || cough"])
def test_several_names_in_a_cell_are_one_and_that_is_said(text: str, tmp_path: Path) -> None:
    collection = load_file(tails(tmp_path / "facts.csv", [text]))
    assert triplets(collection)[0][2] == text
    (note,) = collection.notes
    assert note.startswith(f"Several names in one cell ({text}): the tail of 1 row.")


def test_markup_is_text_and_that_is_said(tmp_path: Path) -> None:
    collection = load_file(tails(tmp_path / "facts.csv", ["<b>oral ulcers</b>", "SpO2 < 90 % and > 80 %"]))
    assert [fact.tail for fact in collection.facts][:2] == ["<b>oral ulcers</b>", "SpO2 < 90 % and > 80 %"]
    (note,) = collection.notes
    assert note.startswith("Markup (<b>oral ulcers</b>): the tail of 1 row.")


# ------------------------------------------------------------------------------------------------ what cannot be seen

SPELLINGS = {
    "NFD": unicodedata.normalize("NFD", "Sjögren syndrome"),
    "zero width space": "Sjögren\u200b syndrome",
    "zero width joiner": "Sjö\u200dgren syndrome",
    "word joiner": "Sjögren\u2060 syndrome",
    "no-break space": "Sjögren\u00a0syndrome",
    "narrow no-break space": "Sjögren\u202fsyndrome",
    "soft hyphen": "Sjö\u00adgren syndrome",
    "byte order mark": "\ufeffSjögren syndrome",
    "direction mark": "Sjögren syndrome\u200e",
    "mark between letter and accent": "Sjo\u200b\u0308gren syndrome",
    "variation selector": "Sjögren\ufe0e syndrome",
}


@pytest.mark.parametrize("column", ["head", "relation", "tail"])
@pytest.mark.parametrize("spelling", SPELLINGS.values(), ids=SPELLINGS)
@pytest.mark.parametrize("turned", [False, True])
def test_what_cannot_be_seen_makes_no_second_fact(column: str, spelling: str, turned: bool, tmp_path: Path) -> None:
    plain = {"head": "gout", "relation": "symptoms", "tail": "dry mouth"} | {column: "Sjögren syndrome"}
    rows = [plain, plain | {column: spelling}]
    collection = load_file(write_csv(tmp_path / "facts.csv", rows[::-1] if turned else rows))
    (fact,) = collection.facts
    assert fact == Fact(**plain), "the plain spelling is kept, whatever the order"
    assert [str(problem) for problem in collection.problems] == ["row 3: it repeats an earlier row, and is counted once"]


@pytest.mark.parametrize("spelling", [SPELLINGS["NFD"], SPELLINGS["zero width space"]])
def test_a_name_that_stands_once_stays_as_it_is_written_and_keeps_its_id(spelling: str, tmp_path: Path) -> None:
    row = {"head": spelling, "relation": "symptoms", "tail": "dry mouth"}
    (fact,) = load_file(write_csv(tmp_path / "facts.csv", [row])).facts
    assert (fact.head, fact.fact_id) == (spelling, Fact(**row).fact_id)


@pytest.mark.parametrize("spelling", [SPELLINGS["NFD"], SPELLINGS["zero width space"]])
def test_false_facts_find_their_true_one_under_the_other_spelling(spelling: str, tmp_path: Path) -> None:
    rows = [
        {"head": "Sjögren syndrome", "relation": "symptoms", "tail": "dry mouth", "positive": "true", "negative_of": ""},
        {"head": spelling, "relation": "symptoms", "tail": "rash", "positive": "false", "negative_of": ""},
        {"head": "gout", "relation": "symptoms", "tail": "rash", "positive": "true", "negative_of": ""},
    ]
    for named in ("", "dry mouth"):
        rows[1]["negative_of"] = named
        collection = load_file(write_csv(tmp_path / "facts.csv", rows))
        assert collection.facts[1].negative_of == collection.facts[0].fact_id
        assert (collection.problems, collection.notes) == ((), ())
    drawn = select(collection, negatives=2, held_out_heads=0, seed=0).test
    assert [fact.tail for fact in drawn if not fact.positive].count("rash") == 1, "what is asked anyway is not drawn besides"


def test_spellings_that_can_be_seen_are_facts_of_their_own_and_that_is_said(tmp_path: Path) -> None:
    rows = [{"head": head, "relation": "symptoms", "tail": tail} for head, tail in (("gout", "Pain"), ("gout", "pain"))]
    collection = load_file(write_csv(tmp_path / "facts.csv", rows))
    assert [fact.tail for fact in collection.facts] == ["Pain", "pain"]
    (note,) = collection.notes
    assert note.startswith(
        "1 fact says the same as another one in other capitals or spelling, such as gout, symptoms, pain. Both count"
    )
    two = [rows[0] | {"head_id": name} for name in ("D1", "D2")]
    assert load_file(write_csv(tmp_path / "two.csv", two)).notes == (), "identifiers tell them apart"


# ------------------------------------------------------------------------------------------------ headers


@pytest.mark.parametrize("header", ["Head,head,relation,tail", "head,HEAD,relation,tail", "subject,Subject,relation,tail"])
def test_two_columns_of_one_name_in_other_letters_are_refused(header: str, tmp_path: Path) -> None:
    path = tmp_path / "facts.csv"
    path.write_text(f"{header}\nA1,asthma,symptoms,wheezing\n", encoding="utf-8")
    one, other = header.split(",")[:2]
    with pytest.raises(FactsError) as refused:
        load_file(path)
    assert (
        str(refused.value)
        == f"facts.csv, row 1: the columns {one!r} and {other!r} differ in letters alone. Rename one of them."
    )
    assert triplets(load_file(path, {"head": other})) == [("asthma", "symptoms", "wheezing")]


HEADERS = {
    "our own name beside another": ("facts.csv", "subject,head,relation,tail\nA1,rubella,symptoms,rash\n"),
    "invisible spaces": ("facts.csv", "\u200bhead,relation\u00a0,\u00adtail\nrubella,symptoms,rash\n"),
    "byte order marks": ("facts.csv", "\ufeff\ufeffhead,relation,tail\u200e\nrubella,symptoms,rash\n"),
    "a number sign": ("facts.tsv", "# made by hand\n#head\trelation\ttail\nrubella\tsymptoms\trash\n"),
    "a title with commas": (
        "facts.csv",
        "Symptoms, signs, and findings, by disease\nhead;relation;tail\nrubella;symptoms;rash\n",
    ),
    "a table of Markdown": ("facts.csv", "| head | relation | tail |\n|:---|---|---:|\n| rubella | symptoms | rash |\n"),
}


@pytest.mark.parametrize("case", HEADERS)
def test_a_header_is_found_and_read_as_it_is_seen(case: str, tmp_path: Path) -> None:
    name, text = HEADERS[case]
    (tmp_path / name).write_text(text, encoding="utf-8")
    collection = load_file(tmp_path / name)
    assert (triplets(collection), collection.problems) == ([RUBELLA], ())


@pytest.mark.parametrize("separator", [";", ",", "\t", "|", "^"])
@pytest.mark.parametrize("line", ["sep={}", "SEP={}", '"sep={}"'])
def test_a_line_that_names_the_separator_is_followed(line: str, separator: str, tmp_path: Path) -> None:
    path = tmp_path / "facts.csv"
    rows = [("head", "relation", "tail"), RUBELLA, ("gout, acute; severe", "symptoms", "pain")]
    cells = "".join(separator.join(f'"{cell}"' for cell in row) + "\r\n" for row in rows)
    path.write_bytes((line.format(separator) + "\r\n" + cells).encode())
    collection = load_file(path)
    assert triplets(collection) == rows[1:]
    assert collection.notes == ()
    bad = path.write_bytes((line.format(separator) + "\r\n" + cells + f"flu{separator}symptoms{separator}\r\n").encode())
    assert bad
    assert load_file(path).problems[0].row == 5


@pytest.mark.parametrize("ending", [".csv", ".tsv", ".xlsx"])
def test_comments_are_passed_over(ending: str, tmp_path: Path) -> None:
    path = tmp_path / f"facts{ending}"
    lines = [["#description: a, b; c"], ["# date: 2026"], ["head", "relation", "tail"], [*RUBELLA], ["# the end"]]
    if ending == ".xlsx":
        book = openpyxl.Workbook()
        for line in lines:
            book.active.append(line)
        book.save(path)
    else:
        path.write_text("\n".join(("," if ending == ".csv" else "\t").join(line) for line in lines), encoding="utf-8")
    collection = load_file(path)
    assert triplets(collection) == [RUBELLA]
    assert (collection.problems, collection.notes) == ((), ())


def test_all_groups_of_rows_of_a_parquet_file_are_read(tmp_path: Path) -> None:
    path = tmp_path / "facts.parquet"
    rows = [{"head": f"disease {n}", "relation": "symptoms", "tail": "pain"} for n in range(50)]
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows), path, row_group_size=7)
    assert len(load_file(path).facts) == 50
