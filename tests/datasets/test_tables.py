"""Facts files: every format and encoding, what is wrong with them in one sentence, and exports that come back unchanged."""

import codecs
import csv
import gc
import json
import multiprocessing
import os
import sys
import tempfile
import threading
import time
import tracemalloc
import zipfile
from collections.abc import Callable
from hashlib import sha512
from pathlib import Path

import openpyxl
import psutil
import pyarrow
import pyarrow.parquet
import pytest
from small_disk import mount_small_disk
from small_facts import write_csv
from waiting import HANG_SECONDS

from medfact.datasets import Collection, isolated, load_file, read_table, select
from medfact.datasets.collection import Problem, summary
from medfact.datasets.columns import map_columns
from medfact.datasets.headers import Limits
from medfact.datasets.isolated import load_isolated
from medfact.datasets.table_reader import FORMATS
from medfact.datasets.table_writer import write_table
from medfact.datasets.text import BLOCK_BYTES, encoding_of
from medfact.errors import FactsError, MissingColumns
from medfact.facts import Fact
from medfact.runs.demonstrations import read_demonstrations
from medfact.spec import RunSpec
from medfact.statements import VARIANTS

ROWS = [
    {"head": "Sjögren syndrome", "relation": "symptoms", "tail": "dry mouth"},
    {"head": "Ménière disease", "relation": "symptoms", "tail": "vertigo, tinnitus"},
]
TRIPLETS = [(row["head"], row["relation"], row["tail"]) for row in ROWS]
LINE = "Ménière disease,symptoms,vertigo {:07}\n"
CSV_TEXT = 'head,relation,tail\nSjögren syndrome,symptoms,dry mouth\nMénière disease,symptoms,"vertigo, tinnitus"\n'


def separated(mark: str) -> str:
    return "\n".join(mark.join(cells) for cells in [tuple(ROWS[0]), *TRIPLETS])


def written(path: Path, content: str | bytes) -> Path:
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def triplets(collection: Collection) -> list[tuple[str, str, str | None]]:
    return [(fact.head, fact.relation, fact.tail) for fact in collection.facts]


def refusal(file: Path) -> str:
    """The one line that a file is refused with."""
    with pytest.raises(FactsError) as refused:
        load_file(file)
    line = str(refused.value)
    assert "\n" not in line
    assert file.name in line
    assert refused.value.hint
    return line


# ------------------------------------------------------------------------- formats


def write_xlsx(path: Path, rows: list[dict[str, str]] = ROWS) -> None:
    book = openpyxl.Workbook()
    book.active.append(list(rows[0]))
    for row in rows:
        book.active.append(list(row.values()))
    book.save(path)


WRITERS: dict[str, Callable[[Path], object]] = {
    ".csv": lambda path: write_csv(path, ROWS),
    ".tsv": lambda path: path.write_text(separated("\t"), encoding="utf-8"),
    ".jsonl": lambda path: path.write_text("\n".join(json.dumps(row) for row in ROWS), encoding="utf-8"),
    ".parquet": lambda path: pyarrow.parquet.write_table(pyarrow.Table.from_pylist(ROWS), path),
    ".xlsx": write_xlsx,
}


@pytest.mark.parametrize("ending", FORMATS)
def test_every_format_gives_the_same_facts(ending: str, tmp_path: Path) -> None:
    path = tmp_path / f"facts{ending}"
    WRITERS[ending](path)
    collection = load_file(path)
    assert triplets(collection) == TRIPLETS
    assert (collection.name, collection.problems, collection.notes) == (path.name, (), ())


HEADER = "head,relation,tail\n"
GOUT = ("gout", "symptoms", "pain")
ENCODED = {
    "UTF-8": CSV_TEXT.encode(),
    "UTF-8 BOM": codecs.BOM_UTF8 + CSV_TEXT.encode(),
    "UTF-16 BOM": CSV_TEXT.encode("utf-16"),
    "UTF-16 BE BOM": codecs.BOM_UTF16_BE + CSV_TEXT.encode("utf-16-be"),
    "UTF-16 LE": CSV_TEXT.encode("utf-16-le"),
    "UTF-16 BE": CSV_TEXT.encode("utf-16-be"),
    "Windows lines": CSV_TEXT.replace("\n", "\r\n").encode(),
    "old Mac lines": CSV_TEXT.replace("\n", "\r").encode(),
    "capitals": CSV_TEXT.replace("head,relation,tail", "HEAD,Relation,tAiL").encode(),
    "other names": CSV_TEXT.replace("head,relation,tail", "Subject,predicate,OBJECT").encode(),
    "spaces in the header": CSV_TEXT.replace("head,relation,tail", " head , relation,tail ").encode(),
    "one other name": CSV_TEXT.replace("head,relation,tail", "head,predicate,tail").encode(),
    **{f"separator {mark!r}": separated(mark).encode() for mark in (";", "\t", "|")},
}
READ: dict[str, tuple[str, str | bytes, list[tuple[str, str, str]]]] = {
    **{name: ("facts.csv", data, TRIPLETS) for name, data in ENCODED.items()},
    **{
        f"TSV with {mark!r}": ("facts.tsv", (HEADER + "gout,symptoms,pain\n").replace(",", mark), [GOUT]) for mark in (",", ";")
    },
    "a separator in a quoted header": (
        "facts.csv",
        'head;relation;tail;"source, as given, by us, here"\ngout;symptoms;pain;x\n',
        [GOUT],
    ),
    "a space before quotation marks": (
        "facts.csv",
        'head, relation, tail\n"gout", "symptoms", "pain, joint"\nflu, symptoms, so-called "flu"\n',
        [("gout", "symptoms", "pain, joint"), ("flu", "symptoms", 'so-called "flu"')],
    ),
    "quotation marks in a name": (
        "facts.csv",
        HEADER + 'gout,symptoms, "so-called" pain\n',
        [("gout", "symptoms", '"so-called" pain')],
    ),
}
"""What is read → file, contents, triplets."""


@pytest.mark.parametrize("case", READ)
def test_encodings_headers_separators_and_quotation_marks(case: str, tmp_path: Path) -> None:
    name, data, expected = READ[case]
    collection = load_file(written(tmp_path / name, data))
    assert (triplets(collection), collection.problems) == (expected, ())
    assert case not in ENCODED or collection.notes == ()


@pytest.mark.parametrize("ending", [".csv", ".tsv"])
def test_latin_1_is_read_and_said(ending: str, tmp_path: Path) -> None:
    path = tmp_path / f"facts{ending}"
    WRITERS[ending](path)
    path.write_bytes(path.read_text(encoding="utf-8").encode("latin-1"))
    collection = load_file(path)
    assert triplets(collection) == TRIPLETS
    assert "Latin-1" in collection.notes[0]


def test_all_columns_arrive(tmp_path: Path) -> None:
    row = {
        "head": "gout",
        "relation": "symptoms",
        "tail": "pain",
        "positive": "TRUE",
        "head_type": "Disease",
        "tail_type": "Sign",
        "head_id": "D1",
        "tail_id": "S1",
        "source": "textbook",
        "source_id": "p. 3",
        "strength": "a common",
        "specialty": "rheumatology",
    }
    (fact,) = load_file(write_csv(tmp_path / "facts.csv", [row | {"remark": "not ours"}])).facts
    assert fact == Fact(**{**row, "positive": True})


def test_a_column_map_names_columns_or_gives_one_value_to_all_rows(tmp_path: Path) -> None:
    path = write_csv(tmp_path / "facts.csv", [{"disease": "gout", "sign": "pain"}, {"disease": "asthma", "sign": "wheeze"}])
    collection = load_file(path, {"head": "disease", "tail": "sign", "relation": "=symptoms"})
    assert triplets(collection) == [("gout", "symptoms", "pain"), ("asthma", "symptoms", "wheeze")]


@pytest.mark.parametrize("columns", [{"head": "sickness"}, {"hat": "disease"}])
def test_a_column_map_that_names_nothing_is_refused(columns: dict[str, str]) -> None:
    with pytest.raises(FactsError, match=r"sickness|hat"):
        map_columns(["disease", "relation", "tail"], columns, "facts.csv")


# ------------------------------------------------------------------------- false facts of a file


def test_positive_is_read_in_the_ways_in_which_people_write_it(tmp_path: Path) -> None:
    given = ["true", "TRUE", "yes", "1", "", "false", "No", "0"]
    rows = [{"head": f"d{i}", "relation": "symptoms", "tail": "pain", "positive": word} for i, word in enumerate(given)]
    collection = load_file(write_csv(tmp_path / "facts.csv", [*rows, rows[0] | {"head": "d9", "positive": "perhaps"}]))
    assert [fact.positive for fact in collection.facts] == [True] * 5 + [False] * 3
    assert collection.problems == (Problem(10, "positive must be true or false"),)


def test_a_jsonl_row_may_have_a_column_that_the_first_row_lacks(tmp_path: Path) -> None:
    path = tmp_path / "facts.jsonl"
    true, false = (
        {"head": "gout", "relation": "symptoms", "tail": "pain"},
        {"head": "gout", "relation": "symptoms", "tail": "cough"},
    )
    path.write_text(json.dumps(true) + "\n" + json.dumps(false | {"positive": False, "tail_type": "Sign"}), encoding="utf-8")
    second = load_file(path).facts[1]
    assert (second.positive, second.tail_type) == (False, "Sign")


def test_a_files_negatives_find_their_positive_fact(tmp_path: Path) -> None:
    positive = Fact("gout", "symptoms", "pain")
    blank = {"positive": "true", "negative_of": ""}
    rows = [
        {"head": "gout", "relation": "symptoms", "tail": "pain"} | blank,
        {"head": "gout", "relation": "symptoms", "tail": "cough", "positive": "false", "negative_of": positive.fact_id},
        {"head": "gout", "relation": "symptoms", "tail": "wheeze", "positive": "false", "negative_of": positive.fact_id},
        {"head": "gout", "relation": "symptoms", "tail": "rash", "positive": "false", "negative_of": ""},
    ]
    collection = load_file(write_csv(tmp_path / "facts.csv", rows))
    assert collection.problems == ()
    assert [(fact.tail, fact.negative_of, fact.k) for fact in collection.facts] == [
        ("pain", None, 0),
        ("cough", positive.fact_id, 1),
        ("wheeze", positive.fact_id, 2),
        ("rash", None, 0),
    ]
    assert collection.known.facts == (positive,)


@pytest.mark.parametrize("positive", ["true", "false"])
def test_a_row_is_repeated_whatever_its_negative_of_says_in_vain(positive: str, tmp_path: Path) -> None:
    first = {"head": "asthma", "relation": "symptoms", "tail": "wheeze", "positive": "true", "negative_of": ""}
    row = {"head": "gout", "relation": "symptoms", "tail": "pain", "positive": positive, "negative_of": ""}
    collection = load_file(write_csv(tmp_path / "facts.csv", [first, row, row | {"negative_of": "nobody"}]))
    assert [fact.head for fact in collection.facts] == ["asthma", "gout"]
    assert collection.problems == (Problem(4, "it repeats an earlier row, and is counted once"),)


@pytest.mark.parametrize(
    "change",
    [
        {"strength": "a common"}, {"tail_type": "Sign"}, {"tail": "cough"}, {"positive": "false"}, {"head_id": "D1"},
        {"tail": "cough", "positive": "false"},
    ],
    ids=", ".join,
)  # fmt: skip
def test_a_collections_fingerprint_changes_with_its_facts(change: dict[str, str], tmp_path: Path) -> None:
    blank = {"strength": "", "tail_type": "", "positive": "true", "head_id": ""}
    rows = [{"head": head, "relation": "symptoms", "tail": "pain"} | blank for head in ("gout", "asthma")]
    before = load_file(write_csv(tmp_path / "facts.csv", rows)).fingerprint()
    after = load_file(write_csv(tmp_path / "facts.csv", [rows[0], rows[1] | change])).fingerprint()
    assert before != after


def triplet(head: str, tail: str, positive: str = "true", negative_of: str = "") -> dict[str, str]:
    return {"head": head, "relation": "symptoms", "tail": tail, "positive": positive, "negative_of": negative_of}


PAIN = Fact("gout", "symptoms", "pain")
NAMES_NOTHING = "negative_of names no true fact of its head and relation; give that fact's tail"
FALSE_ROWS = {
    "another head": (
        triplet("asthma", "rash", "false", PAIN.fact_id),
        "negative_of names a fact with another head or relation",
    ),
    "a head": (triplet("gout", "cough", "false", "gout"), NAMES_NOTHING),
    "a tail of another head": (triplet("gout", "cough", "false", "wheeze"), NAMES_NOTHING),
    "a number": (triplet("gout", "cough", "false", "2"), NAMES_NOTHING),
}


@pytest.mark.parametrize("case", FALSE_ROWS)
def test_a_negative_of_that_names_no_true_fact_of_its_head_is_told(case: str, tmp_path: Path) -> None:
    row, words = FALSE_ROWS[case]
    collection = load_file(write_csv(tmp_path / "facts.csv", [triplet("gout", "pain"), triplet("asthma", "wheeze"), row]))
    (problem,) = collection.problems
    assert str(problem).startswith(f"row 4: {words}")
    assert collection.facts[2].negative_of is None


def test_false_facts_without_a_negative_of_find_the_only_true_fact_of_their_head(tmp_path: Path) -> None:
    rows = [
        triplet("asthma", "wheezing"),
        triplet("gout", "joint pain"),
        triplet("asthma", "joint pain", "false"),
        triplet("gout", "wheezing", "false"),
    ]
    collection = load_file(write_csv(tmp_path / "facts.csv", rows))
    asthma, gout = Fact("asthma", "symptoms", "wheezing"), Fact("gout", "symptoms", "joint pain")
    assert [fact.negative_of for fact in collection.facts] == [None, None, asthma.fact_id, gout.fact_id]
    assert (collection.problems, collection.notes) == ((), ())
    chosen = select(collection, negatives=1, held_out_heads=0, seed=0)
    assert [len(chosen.test), chosen.without_negative] == [4, ()]


@pytest.mark.parametrize("negatives", [0, 1, 2, 3])
def test_no_false_fact_of_a_file_is_lost_however_many_partners_are_asked_for(negatives: int, tmp_path: Path) -> None:
    """Where two or three are asked for, they are drawn; the file's own is asked on its own, and not drawn besides."""
    rows = [triplet("gout", "joint pain"), triplet("gout", "cough", "false")]
    rows += [triplet(f"disease {n}", f"sign {n}") for n in range(5)] + [triplet("cold", "cough")]
    chosen = select(load_file(write_csv(tmp_path / "facts.csv", rows)), negatives=negatives, held_out_heads=0, seed=0)
    of_gout = [(fact.tail, fact.negative_of is not None) for fact in chosen.test if fact.head == "gout" and not fact.positive]
    assert sum(tail == "cough" for tail, _ in of_gout) == 1
    assert ("cough", negatives == 1) in of_gout
    assert len(of_gout) == {0: 1, 1: 1, 2: 3, 3: 4}[negatives]
    assert len({fact.fact_id for fact in chosen.test}) == len(chosen.test)


@pytest.mark.parametrize("turned", [False, True])
def test_false_facts_that_may_belong_to_several_stand_alone_and_are_told(turned: bool, tmp_path: Path) -> None:
    """Gout has two true facts, and asthma two false ones, of which the first by name is paired, whatever the order."""
    false = [triplet("gout", "cough", "false"), triplet("asthma", "rash", "false"), triplet("asthma", "fever", "false")]
    true = [triplet("gout", "pain"), triplet("gout", "swelling"), triplet("asthma", "wheezing")]
    lonely = triplet("flu", "baldness", "false")  # of a head without a true fact: nothing to choose
    collection = load_file(write_csv(tmp_path / "facts.csv", [*true, *(false[::-1] if turned else false), lonely]))
    wheezing = Fact("asthma", "symptoms", "wheezing").fact_id
    partners = {fact.tail: fact.negative_of for fact in collection.facts if not fact.positive}
    assert partners == {"cough": None, "rash": None, "fever": wheezing, "baldness": None}
    (note,) = collection.notes
    assert note == "2 false facts have no partner in the file: negative_of does not say to which true fact each belongs."


@pytest.mark.parametrize("name", ["pain", "Pain", Fact("gout", "symptoms", "pain").fact_id])
def test_negative_of_is_the_tail_of_the_true_fact_or_its_id(name: str, tmp_path: Path) -> None:
    rows = [triplet("gout", "pain"), triplet("gout", "swelling"), triplet("gout", "cough", "false", name)]
    collection = load_file(write_csv(tmp_path / "facts.csv", rows))
    assert (collection.problems, collection.notes) == ((), ())
    assert collection.facts[2].negative_of == Fact("gout", "symptoms", "pain").fact_id


@pytest.mark.parametrize("first", ["true", "false"])
def test_a_fact_that_is_called_true_and_false_is_told_and_used_as_neither(first: str, tmp_path: Path) -> None:
    second = {"true": "false", "false": "true"}[first]
    rows = [
        triplet("asthma", "wheezing", first),
        triplet("gout", "wheezing"),
        triplet("gout", "pain"),
        triplet("Asthma", "wheezing ", second),
    ]
    collection = load_file(write_csv(tmp_path / "facts.csv", rows))
    assert [str(problem) for problem in collection.problems] == [
        f"row 5: it contradicts row 2, which calls it {first}; neither is used: delete the wrong one"
    ]
    assert triplets(collection) == [("gout", "symptoms", "wheezing"), ("gout", "symptoms", "pain")]
    assert "wheezing" in collection.known.known_tails("asthma")  # so that it is not drawn as a false partner either
    with pytest.raises(FactsError, match="row 3: it contradicts row 2"):
        load_file(write_csv(tmp_path / "only.csv", [rows[0], rows[3]]))


# ------------------------------------------------------------------------- files that are wrong


@pytest.mark.parametrize("name", ["label", "Truth", "is_true", "correct"])
def test_a_column_that_says_which_facts_are_false_is_not_passed_over(name: str, tmp_path: Path) -> None:
    rows = [{"head": "gout", "relation": "symptoms", "tail": tail, name: said} for tail, said in (("pain", 1), ("cough", 0))]
    path = write_csv(tmp_path / "facts.csv", rows)
    assert f"facts.csv: column {name!r} says true or false" in refusal(path)
    assert f"--column positive={name}" in refusal(path)
    assert [fact.positive for fact in load_file(path, {"positive": name}).facts] == [True, False]
    assert [fact.positive for fact in load_file(path, {"positive": "=true"}).facts] == [True, True]
    kept = write_csv(tmp_path / "both.csv", [row | {"positive": "true"} for row in rows])
    assert [fact.positive for fact in load_file(kept).facts] == [True, True]


def test_a_label_that_says_other_things_is_said_not_to_be_used(tmp_path: Path) -> None:
    row = {"head": "gout", "relation": "symptoms", "tail": "pain"}
    (note,) = load_file(write_csv(tmp_path / "facts.csv", [row | {"label": "A12"}])).notes
    assert note.startswith("facts.csv: the column 'label' is not used.")
    assert load_file(write_csv(tmp_path / "true.csv", [row | {"label": "true", "page": "false"}])).notes == ()


def test_a_missing_column_is_named_with_those_that_are_there(tmp_path: Path) -> None:
    path = write_csv(tmp_path / "facts.csv", [{"disease": "gout", "relation": "symptoms", "sign": "pain"}])
    with pytest.raises(MissingColumns) as refused:
        load_file(path)
    assert refused.value.columns == ["disease", "relation", "sign"]
    assert "facts.csv, row 1: the columns head and tail are missing" in str(refused.value)


BINARY = b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x02\x00" + bytes(range(256)) * 20
OBJECT = json.dumps(ROWS[0]) + "\n"
REFUSED: dict[str, tuple[str, str | bytes, str]] = {
    **{f"binary, called {ending}": (f"facts{ending}", BINARY, " is not a") for ending in FORMATS},
    "broken UTF-8": ("facts.csv", CSV_TEXT.encode() + b"Sj\xc3\n", "facts.csv, row 4"),
    "broken UTF-8 blocks later": (
        "facts.csv",  # a row has 38 bytes; 60,000 of them are more than two blocks
        (HEADER + "".join(LINE.format(n) for n in range(60_000))).encode() + b"gout,symptoms,\xff\xfe pain\n",
        "facts.csv, row 60002",
    ),
    "an open quotation mark": (
        "facts.csv",
        HEADER + 'gout,symptoms,pain\ngout,symptoms,"red skin\nasthma,symptoms,wheeze\n',
        "facts.csv, row 3: a quotation mark",
    ),
    "a row with more cells": (
        "facts.csv",
        HEADER + "gout,symptoms,pain\ngout,symptoms,red, hot skin\n",
        "facts.csv, row 3: it has 4 cells where the header has 3",
    ),
    "more cells in each row": (
        "facts.csv",
        HEADER + "gout,symptoms,pain, joint\nflu,symptoms,pain, muscle\n",
        "row 2: it has 4 cells where the header has 3",
    ),
    **{
        f"JSON: {line}": ("facts.jsonl", f"{OBJECT}{line}\n", "facts.jsonl, row 2: it is not a JSON object")
        for line in ("not json", '["a", "list"]', '{"head": "gout", ')
    },
    "a name twice in an object": ("facts.jsonl", OBJECT.replace("}", ', "tail": "rash"}'), "row 1: 'tail' stands in it twice"),
    **{
        f"empty: {name} {text!r}": (name, text, f"{name} is empty")
        for name, text in (("facts.csv", ""), ("facts.csv", " \n\n"), ("facts.jsonl", "\n"), ("facts.tsv", "\n"))
    },
    "no usable fact": ("facts.csv", HEADER + "gout,symptoms,\n", "holds no usable true fact"),
    "a header alone": ("facts.csv", HEADER, "facts.csv has a header, and no rows. Write one fact a row below the header."),
    "a long cell": (
        "facts.csv",
        f"{HEADER}gout,symptoms,{'x' * 100_001}\n",
        "row 2: a cell is longer than 100,000 characters",
    ),
    "a column twice": (
        "facts.csv",
        "head,relation,tail,tail\ngout,symptoms,pain,fever\n",
        "the column 'tail' occurs twice",
    ),
    "an unknown ending": ("facts.docx", "x", "files of this kind are not read"),
}
"""What is wrong → file, contents, words of the refusal."""


@pytest.mark.parametrize("case", REFUSED)
def test_a_file_that_is_wrong_is_refused_by_row(case: str, tmp_path: Path) -> None:
    name, data, words = REFUSED[case]
    assert words in refusal(written(tmp_path / name, data))


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    assert "There is no file" in refusal(tmp_path / "nothing.csv")


def test_rows_that_cannot_be_used_are_told_by_number_and_left_out(tmp_path: Path) -> None:
    path = tmp_path / "facts.csv"
    path.write_text(
        "head,relation,tail\n"
        "gout,symptoms,\n"  # row 2
        "gout,,pain\n"  # row 3
        "\n"  # an empty line counts as a row, and is no problem
        'gout,symptoms,"a tail\nover two lines"\n'  # rows 5 and 6; white space is mended
        f"gout,symptoms,{'x' * 1001}\n"  # row 7
        "gout,symptoms,pa\x01in\n"  # row 8
        "gout,symptoms,pain\n",
        encoding="utf-8",
    )
    collection = load_file(path)
    assert triplets(collection) == [("gout", "symptoms", "a tail over two lines"), ("gout", "symptoms", "pain")]
    assert [(problem.row, problem.message.split(";")[0]) for problem in collection.problems] == [
        (2, "the tail is empty"),
        (3, "the relation is empty"),
        (7, "the tail is longer than 1000 characters"),
        (8, "the tail holds control characters"),
    ]


def test_300_duplicate_rows_are_counted_once_and_told_in_one_line(tmp_path: Path) -> None:
    row = {"head": "gout", "relation": "symptoms", "tail": "pain"}
    collection = load_file(write_csv(tmp_path / "facts.csv", [row] * 301))
    assert triplets(collection) == [("gout", "symptoms", "pain")]
    assert len(collection.problems) == 300
    assert summary(collection.problems) == ["300 rows (the first is row 3): it repeats an earlier row, and is counted once"]


@pytest.mark.parametrize("ending", [".xlsx", ".parquet"])
def test_a_workbook_renamed_csv_is_refused(ending: str, tmp_path: Path) -> None:
    WRITERS[ending](tmp_path / f"facts{ending}")
    path = (tmp_path / f"facts{ending}").rename(tmp_path / "facts.csv")
    assert "is not a text file" in refusal(path)


def test_of_several_sheets_the_first_is_read_and_that_is_said(tmp_path: Path) -> None:
    write_xlsx(tmp_path / "facts.xlsx")
    book = openpyxl.load_workbook(tmp_path / "facts.xlsx")
    book.create_sheet("other").append(["a note"])
    book.save(tmp_path / "facts.xlsx")
    collection = load_file(tmp_path / "facts.xlsx")
    assert triplets(collection) == TRIPLETS
    assert collection.notes == ("facts.xlsx has 2 sheets: the first is read.",)


def many_rows(path: Path) -> bytes:
    """A file of 1,000 different facts, large enough for every part of its format to be there."""
    heads, tails = [f"head {i}" for i in range(1000)], [f"tail {i * 7919 % 997}" for i in range(1000)]
    if path.suffix == ".xlsx":
        book = openpyxl.Workbook(write_only=True)
        sheet = book.create_sheet()
        sheet.append(["head", "relation", "tail"])
        for head, tail in zip(heads, tails, strict=True):
            sheet.append([head, "symptoms", tail])
        book.save(path)
    else:
        table = pyarrow.table({"head": heads, "relation": ["symptoms"] * 1000, "tail": tails})
        pyarrow.parquet.write_table(table, path)
    return path.read_bytes()


@pytest.mark.parametrize("ending", [".xlsx", ".parquet"])
@pytest.mark.parametrize("share", [0.02, 0.5, 0.98])
def test_a_truncated_file_is_refused(ending: str, share: float, tmp_path: Path) -> None:
    path = tmp_path / f"facts{ending}"
    data = many_rows(path)
    path.write_bytes(data[: int(share * len(data))])
    assert " is not a" in refusal(path)


@pytest.mark.parametrize("ending", [".xlsx", ".parquet"])
@pytest.mark.parametrize("share", [0.1, 0.5, 0.7])
def test_a_file_that_is_damaged_inside_is_refused(ending: str, share: float, tmp_path: Path) -> None:
    path = tmp_path / f"facts{ending}"
    data = bytearray(many_rows(path))
    at = int(share * len(data))
    data[at : at + 200] = b"\xff" * 200
    path.write_bytes(data)
    refusal(path)


# ------------------------------------------------------------------------- text is text

STRANGE = [
    "[X]",
    "a [Y] of [X]",
    "<img src=x onerror=alert(1)>",
    '=HYPERLINK("x")',
    "${alert(1)}",
    "{statement}",
    "+1",
    "-beta",
    "@x",
]


@pytest.mark.parametrize("ending", [".csv", ".tsv", ".jsonl", ".parquet", ".xlsx"])
def test_strange_names_are_kept_as_they_are(ending: str, tmp_path: Path) -> None:
    rows = [{"head": name, "relation": "symptoms", "tail": f"pain {i}"} for i, name in enumerate(STRANGE)]
    path = tmp_path / f"facts{ending}"
    if ending == ".xlsx":
        book = openpyxl.Workbook()
        for cells in [list(rows[0]), *(list(row.values()) for row in rows)]:
            book.active.append(cells)
            for cell in book.active[book.active.max_row]:
                cell.data_type = "s"  # text, also where it begins with =
        book.save(path)
    elif ending == ".csv":
        write_csv(path, rows)
    else:
        write_table(rows, path)
    assert [fact.head for fact in load_file(path).facts] == STRANGE


TEXTS = [
    "two\nlines",
    "a\ttab",
    "\t=1",
    "'=1",
    "'-beta",
    "plain",
    "with, comma; semicolon",
    'a "quoted" word',
    '"all quoted"',
    "Ménière’s ≥ 3 µg",
    "'apostrophe",
    '=HYPERLINK("http://x","y")',
    "+1",
    "-beta",
    "@SUM(A1)",
    "[X] and [Y]",
    "",
]


@pytest.mark.parametrize("ending", [".csv", ".tsv", ".jsonl", ".parquet"])
@pytest.mark.parametrize("text", TEXTS)
def test_what_is_written_is_read_back(ending: str, text: str, tmp_path: Path) -> None:
    path = tmp_path / f"rows{ending}"
    assert write_table([{"a": text, "b": "z"}, {"a": "y", "b": text}], path) == 2
    columns, rows = read_table(path)
    assert columns == ["a", "b"]
    assert [row for _, row in rows] == [{"a": text, "b": "z"}, {"a": "y", "b": text}]


def test_rows_are_numbered_as_a_spreadsheet_counts(tmp_path: Path) -> None:
    for ending in (".csv", ".tsv", ".parquet"):
        path = tmp_path / f"rows{ending}"
        write_table([{"a": "x"}, {"a": "y"}], path)
        assert [number for number, _ in read_table(path)[1]] == [2, 3]


@pytest.mark.parametrize(("ending", "separator"), [(".csv", ","), (".tsv", "\t")])
@pytest.mark.parametrize("formula", ["=1+1", "+1", "-1", "@x", "\t=1", "\r=1"])
def test_formulas_are_guarded_with_an_apostrophe(ending: str, separator: str, formula: str, tmp_path: Path) -> None:
    path = tmp_path / f"rows{ending}"
    write_table([{"a": "x", "b": formula}], path)
    with path.open(encoding="utf-8", newline="") as file:
        assert list(csv.reader(file, delimiter=separator))[1] == ["x", f"'{formula}"]


def test_numbers_truth_and_nothing_are_written_plainly(tmp_path: Path) -> None:
    row = {"a": -0.25, "b": True, "c": False, "d": None, "e": 3, "f": ["x", "é"], "g": 1 / 3}
    write_table([row], tmp_path / "rows.csv")
    with (tmp_path / "rows.csv").open(encoding="utf-8", newline="") as file:
        (written,) = csv.DictReader(file)
    assert written == {
        "a": "-0.25",
        "b": "true",
        "c": "false",
        "d": "",
        "e": "3",
        "f": '["x", "é"]',
        "g": "0.3333333333333333",
    }
    write_table([row], tmp_path / "rows.jsonl")
    assert json.loads((tmp_path / "rows.jsonl").read_text(encoding="utf-8")) == row
    write_table([row], tmp_path / "rows.parquet")
    assert pyarrow.parquet.read_table(tmp_path / "rows.parquet").to_pylist() == [row]


def test_a_place_that_cannot_be_written_and_an_unknown_ending_are_told(tmp_path: Path) -> None:
    with pytest.raises(FactsError, match="cannot be written"):
        write_table([{"a": 1}], tmp_path / "no folder" / "rows.csv")
    with pytest.raises(FactsError, match="are not written"):
        write_table([{"a": 1}], tmp_path / "rows.docx")


# --------------------------------------------------------------------------------------------- streams


@pytest.mark.parametrize("ending", [".csv", ".tsv", ".jsonl", ".parquet"])
def test_a_large_table_is_read_in_bounded_memory(tmp_path: Path, ending: str) -> None:
    """120,000 rows, 4 to 10 MB as text: Python's own memory stays under 4 MB (a Parquet batch has 10,000 rows)."""
    file = tmp_path / f"facts{ending}"
    write_table(({"head": f"disease {n:06}", "relation": "symptoms", "tail": f"sign {n:06}"} for n in range(120_000)), file)
    tracemalloc.start()
    _, rows = read_table(file)
    count = sum(1 for _ in rows)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert count == 120_000
    assert peak < (12e6 if ending == ".parquet" else 4e6)


def test_a_character_between_two_blocks_is_one_character(tmp_path: Path) -> None:
    """One line longer than a block, so that the block ends inside it, in the middle of an é."""
    for shift in range(3):
        file = tmp_path / f"facts{shift}.tsv"
        wide = "x" * shift + "é" * BLOCK_BYTES
        file.write_text(f"head\trelation\ttail\n# {wide}\n", encoding="utf-8")
        assert encoding_of(file).name == "UTF-8"


def test_an_accent_blocks_later_makes_a_file_latin_1(tmp_path: Path) -> None:
    text = "head,relation,tail\n" + "".join(f"disease,symptoms,vertigo and more {n:07}\n" for n in range(60_000))
    file = tmp_path / "facts.csv"
    file.write_bytes((text + "Ménière disease,symptoms,vertigo\n").encode("latin-1"))
    assert encoding_of(file).name == "Windows-1252 or Latin-1"
    _, rows = read_table(file)
    assert list(rows)[-1][1]["head"] == "Ménière disease"


def test_a_quotation_mark_at_the_end_of_a_long_tsv_is_part_of_the_name(tmp_path: Path) -> None:
    file = tmp_path / "facts.tsv"
    rows = "".join(f"disease {n}\tsymptoms\tpain\n" for n in range(50_000))
    file.write_text(f'head\trelation\ttail\n{rows}gout\tsymptoms\tthe "big" toe\n"x\tsymptoms\tpain\n')
    _, read = read_table(file)
    assert [row["tail"] for _, row in read][-2:] == ['the "big" toe', "pain"]


def test_columns_that_only_a_late_json_row_has_are_columns(tmp_path: Path) -> None:
    file = tmp_path / "facts.jsonl"
    plain = '{"head": "gout", "relation": "symptoms", "tail": "pain"}\n'
    file.write_text(plain * 5_000 + plain.replace("}", ', "source": "a book"}'))
    columns, rows = read_table(file)
    assert columns == ["head", "relation", "tail", "source"]
    assert list(rows)[-1] == (5_001, {"head": "gout", "relation": "symptoms", "tail": "pain", "source": "a book"})


# ------------------------------------------------------------------------------------- order and odd cells


@pytest.mark.parametrize("turned", [False, True])
def test_which_of_two_rows_of_one_triplet_is_kept_does_not_depend_on_their_order(tmp_path: Path, turned: bool) -> None:
    rows = [{**ROWS[0], "tail_type": "Sign"}, {**ROWS[0], "tail_type": "Finding"}, {**ROWS[1], "tail_type": "Sign"}]
    collection = load_file(write_csv(tmp_path / "facts.csv", rows[::-1] if turned else rows))
    assert {fact.tail_type for fact in collection.facts if fact.tail == "dry mouth"} == {"Finding"}
    assert [problem.message for problem in collection.problems] == ["it repeats an earlier row, and is counted once"]


def test_heads_that_share_an_identifier_are_kept_aside_together(tmp_path: Path) -> None:
    """Twelve heads of two names each: none is both in the demonstrations and under test."""
    rows = [
        {"head": f"{name} {n}", "relation": "symptoms", "tail": f"sign {n}{name}", "head_id": f"D{n}"}
        for n in range(12)
        for name in ("disease", "illness")
    ]
    collection = load_file(write_csv(tmp_path / "facts.csv", rows))
    made = select(collection, negatives=1, held_out_heads=5, seed=0)
    assert len({fact.head_id for fact in made.shots}) == 5
    assert not {fact.head_id for fact in made.shots} & {fact.head_id for fact in made.test}


@pytest.mark.parametrize("column", ["head", "source", "head_id"])
def test_half_a_character_is_told_by_row(tmp_path: Path, column: str) -> None:
    file = tmp_path / "facts.jsonl"
    rows = [ROWS[0], {**ROWS[1], column: "half \ud800"}]
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    (problem,) = load_file(file).problems
    assert str(problem) == f"row 2: the {column} holds half a character; type it again"


def test_a_workbook_that_begins_with_a_chart_is_one_sentence(tmp_path: Path) -> None:
    book = openpyxl.Workbook()
    book.create_chartsheet("chart", 0)
    book.save(tmp_path / "facts.xlsx")
    assert "facts.xlsx" in refusal(tmp_path / "facts.xlsx")


# --------------------------------------------------------------------------------------------- files of strangers

FEW = Limits(columns=20, rows=50, characters=10_000, relations=5, unpacked=1 << 20)


@pytest.mark.parametrize("ending", FORMATS)
@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([{"head": f"h{n}", "relation": "symptoms", "tail": "pain"} for n in range(60)], "more than 50 rows"),
        ([{"head": f"h{n}", "relation": f"r{n}", "tail": "pain"} for n in range(20)], "more than 5 relations"),
        ([{"head": f"h{n}", "relation": "symptoms", "tail": "x" * 400} for n in range(40)], "more than 10,000 characters"),
        ([{"head": "h", "relation": "symptoms", "tail": "t", **{f"c{n}": "x" for n in range(30)}}], "more than 20 columns"),
    ],
    ids=["rows", "relations", "characters", "columns"],
)
def test_a_strangers_table_is_read_as_far_as_its_limits(
    ending: str, rows: list[dict[str, str]], said: str, tmp_path: Path
) -> None:
    file = tmp_path / f"facts{ending}"
    if ending == ".xlsx":
        write_xlsx(file, rows)
    else:
        write_table(rows, file)
    load_file(file)
    with pytest.raises(FactsError, match=said):
        load_file(file, limits=FEW)


def test_a_workbook_that_unpacks_to_much_is_not_unpacked(tmp_path: Path) -> None:
    """A few kB that unpack to 30 MB, against a limit of 1 MB; a visitor's is 150 MB."""
    write_xlsx(tmp_path / "facts.xlsx")
    with zipfile.ZipFile(tmp_path / "facts.xlsx", "a", zipfile.ZIP_DEFLATED) as book:
        book.writestr("xl/worksheets/sheet2.xml", b" " * (30 << 20))
    assert (tmp_path / "facts.xlsx").stat().st_size < 100_000
    tracemalloc.start()
    with pytest.raises(FactsError, match="unpacks to more than 1 MB"):
        load_file(tmp_path / "facts.xlsx", limits=FEW)
    assert tracemalloc.get_traced_memory()[1] < 5 << 20
    tracemalloc.stop()


def test_a_long_cell_of_a_parquet_file_is_not_written_out_row_by_row(tmp_path: Path) -> None:
    """One cell of a megabyte, said by a dictionary in 3,000 rows: 3 GB, if each row had its own."""
    dictionary = pyarrow.array(["x" * (1 << 20)])
    tails = pyarrow.DictionaryArray.from_arrays(pyarrow.array([0] * 3_000, pyarrow.int32()), dictionary)
    heads = [f"head {n}" for n in range(3_000)]
    table = pyarrow.table({"head": heads, "relation": ["symptoms"] * 3_000, "tail": tails})
    pyarrow.parquet.write_table(table, tmp_path / "facts.parquet")
    assert (tmp_path / "facts.parquet").stat().st_size < 200_000
    before = pyarrow.total_allocated_bytes()
    assert "a cell is longer than 100,000 characters" in refusal(tmp_path / "facts.parquet")
    assert pyarrow.total_allocated_bytes() - before < 100 << 20


@pytest.mark.parametrize(
    ("name", "most", "said"), [("MAX_SECONDS", 0.0, "takes longer than"), ("MAX_BYTES", 1 << 20, "memory")]
)
def test_a_process_that_takes_too_much_of_a_file_is_ended(
    name: str, most: float, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = write_csv(tmp_path / "facts.csv", ROWS)
    spec = RunSpec(model="", facts=str(file))
    assert triplets(load_isolated(spec)) == TRIPLETS
    monkeypatch.setattr(isolated, name, most)
    monkeypatch.setattr(isolated, "POLL_SECONDS", 0)
    with pytest.raises(FactsError, match=f"facts.csv takes .*{said}|facts.csv {said}"):
        load_isolated(spec)
    assert not multiprocessing.active_children()


def _waits(seconds: float, limits: Limits) -> str:
    """A reader that gets no processor meanwhile."""
    time.sleep(seconds)
    return "read"


def test_a_file_is_refused_for_what_it_computes_and_not_for_a_busy_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """Time of the clock counts by its share alone, here by none: 1.5 s of waiting are allowed where 1 s may be computed."""
    with monkeypatch.context() as patch:
        patch.setattr(isolated, "MAX_SECONDS", 1.0)
        patch.setattr(isolated, "LEAST_SHARE", 0.0)
        assert isolated._isolated("facts.csv", _waits, 1.5) == "read"
    monkeypatch.setattr(isolated, "MAX_SECONDS", 0.05)
    with pytest.raises(FactsError, match="takes longer than"):
        isolated._isolated("facts.csv", _waits, 60.0)


def _yields(usual: int, seconds: float, limits: Limits) -> bool:
    """A reader that computes for so long, or until its process, with a thread that it has begun, yields more than usual."""
    over = threading.Event()
    threading.Thread(target=over.wait, daemon=True).start()

    def does_yield() -> bool:
        return all(os.getpriority(os.PRIO_PROCESS, thread.id) > usual for thread in psutil.Process().threads())

    until = time.monotonic() + seconds
    while time.monotonic() < until and not does_yield():
        pass
    over.set()
    return does_yield()


@pytest.mark.skipif(not psutil.LINUX, reason="threads have no priority of their own elsewhere")
def test_a_file_that_is_read_soon_need_not_yield_to_what_others_compute(monkeypatch: pytest.MonkeyPatch) -> None:
    usual = int(psutil.Process().nice())
    monkeypatch.setattr(isolated, "NICENESS", min(19, usual + 5))
    monkeypatch.setattr(isolated, "SHORT_SECONDS", HANG_SECONDS)
    assert not isolated._isolated("facts.csv", _yields, usual, 0.3)
    monkeypatch.setattr(isolated, "SHORT_SECONDS", 0.1)
    assert isolated._isolated("facts.csv", _yields, usual, HANG_SECONDS)


@pytest.mark.parametrize("rows", [16_000, 100_000], ids=["at its end", "in its rows"])
def test_a_workbook_for_which_the_disk_has_no_room_leaves_nothing_behind(
    rows: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ignored: list[object] = []
    monkeypatch.setattr(sys, "unraisablehook", ignored.append)
    with mount_small_disk(tmp_path / "disk", 4) as disk:
        monkeypatch.setattr(tempfile, "tempdir", str(disk))
        with pytest.raises(FactsError, match="cannot be written: No space left on device"):
            write_table(({"head": sha512(b"%d" % row).hexdigest(), "row": row} for row in range(rows)), disk / "rows.xlsx")
        gc.collect()
        assert [file.name for file in disk.iterdir() if file.name != "rows.xlsx"] == []
        assert ignored == []


# ------------------------------------------------------------------------- tables as other programs write them


@pytest.mark.parametrize("header", ["head,relation,tail", '"head","relation","tail"'])
def test_row_names_of_r_are_passed_over_and_said(header: str, tmp_path: Path) -> None:
    path = written(tmp_path / "facts.csv", f'{header}\n"1","gout","symptoms","pain"\n"2","flu","symptoms","fever"\n')
    collection = load_file(path)
    assert triplets(collection) == [GOUT, ("flu", "symptoms", "fever")]
    assert collection.notes == ("facts.csv: each row has one cell more than the header, a number in front, which is not read.",)


@pytest.mark.parametrize(("ending", "separator"), [(".csv", ","), (".tsv", "\t")])
@pytest.mark.parametrize("line_end", ["\r\n", "\n"])
def test_a_carriage_return_alone_ends_no_row(ending: str, separator: str, line_end: str, tmp_path: Path) -> None:
    rows = [("head", "relation", "tail"), ("asthma", "symptoms", "wheez\ring"), GOUT]
    collection = load_file(written(tmp_path / f"facts{ending}", "".join(separator.join(row) + line_end for row in rows)))
    assert triplets(collection) == [GOUT]
    assert [str(problem) for problem in collection.problems] == ["row 2: the tail holds control characters; type it again"]


def test_a_header_further_down_is_no_fact(tmp_path: Path) -> None:
    path = written(tmp_path / "facts.csv", "disease,finding\ngout,pain\nDisease,finding\ndisease,finding\n\nflu,fever\n")
    columns = {"head": "disease", "tail": "finding", "relation": "=symptoms"}
    collection = load_file(path, columns)
    assert triplets(collection) == [GOUT, ("flu", "symptoms", "fever")]
    assert [str(problem) for problem in collection.problems] == [
        "row 3: it is the header again, and is left out", "row 4: it is the header again, and is left out",
    ]  # fmt: skip


def test_another_table_below_is_not_read_as_facts_of_the_first(tmp_path: Path) -> None:
    text = "head,relation,tail\ngout,symptoms,pain\n\ntail,relation,head\nfever,symptoms,flu\n"
    collection = load_file(written(tmp_path / "facts.csv", text))
    assert triplets(collection) == [GOUT]
    assert str(collection.problems[0]).startswith("row 4: another table begins here")


@pytest.mark.parametrize("word", ["NA", "N/A", "nan", "NULL", "none", "-", "?", "."])
def test_words_for_a_missing_value_are_empty_where_a_cell_may_be(word: str, tmp_path: Path) -> None:
    optional = ["head_type", "tail_type", "head_id", "tail_id", "source", "region", "until", "strength", "negative_of"]
    row = dict(zip(("head", "relation", "tail"), GOUT, strict=True)) | dict.fromkeys(optional, word)
    collection = load_file(write_csv(tmp_path / "facts.csv", [row]))
    assert collection.facts == (Fact(*GOUT),)
    assert collection.problems == ()
    (note,) = collection.notes
    assert note.startswith(f"Words for a missing value ({word}): the ")
    told = load_file(write_csv(tmp_path / "facts.csv", [row | {"positive": word}, row | {"tail": "rash", "positive": "true"}]))
    assert "pain" not in [fact.tail for fact in told.facts], "whether it holds is not known"


BOOLEANS = [
    ("WAHR", "FALSCH"), ("ja", "nein"), ("VRAI", "FAUX"), ("oui", "non"), ("VERDADERO", "FALSO"), ("sí", "no"),
    ("是", "否"), ("真", "假"),
    ("1.00", ".00"), ("1,00", "0,00"), ("T", "F"), ("Richtig", "Falsch"), ("supported", "refuted"), ("✓", "✗"),
]  # fmt: skip


@pytest.mark.parametrize(("true", "false"), BOOLEANS)
def test_true_and_false_in_five_languages(true: str, false: str, tmp_path: Path) -> None:
    rows = [triplet("gout", "pain", true), triplet("flu", "rash", false)]
    assert [fact.positive for fact in load_file(write_csv(tmp_path / "facts.csv", rows)).facts] == [True, False]
    shots = [{"relation": "symptoms", "variant": "affirmed", "statement": "s", "label": label} for label in (true, false)]
    path = write_csv(tmp_path / "shots.csv", [row | {"variant": next(iter(VARIANTS))} for row in shots])
    assert [label for *_, label in read_demonstrations(path)] == [True, False]


@pytest.mark.parametrize(
    ("tail", "words"),
    [
        ("wheezing, cough, dyspnea", "Several names in one cell"),
        ("wheezing/cough/dyspnea", "Several names in one cell"),
        ("wheezing / cough", "Several names in one cell"),
        ("wheezing\ncough\ndyspnea", "Several names in one cell"),
        ("咳嗽、发热", "Several names in one cell"),
        ("SjÃ¶gren sign", "Text that was decoded twice"),
        ("Crohnâ€™s sign", "Text that was decoded twice"),
        ("TNF-Î± deficiency", "Text that was decoded twice"),
        ("Sj\ufffdgren sign", "Lost characters"),
        ("M?ni?re sign", "Lost characters"),
        ("Patients often have a fever at night.", "Sentences"),
        ("the skin is red", "Sentences"),
    ],
)
def test_tails_that_are_no_plain_names_are_noted(tail: str, words: str, tmp_path: Path) -> None:
    (note,) = load_file(write_csv(tmp_path / "facts.csv", [triplet("gout", tail)])).notes
    assert note.startswith(words)


@pytest.mark.parametrize("tail", ["vertigo, tinnitus", "AND/OR", "résumé»", "Señal", "pain in a toe", "Ménière’s disease"])
def test_plain_names_are_not_noted(tail: str, tmp_path: Path) -> None:
    assert load_file(write_csv(tmp_path / "facts.csv", [triplet("gout", tail)])).notes == ()
