"""Excel workbooks: all rows that are there, whatever the file says of itself, and the sheet that holds facts."""

from __future__ import annotations

import re
import struct
import time
import tracemalloc
import zipfile
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import openpyxl
import pytest

from medfact.datasets import Collection, load_file, read_table
from medfact.datasets.frequencies import read_frequencies
from medfact.datasets.headers import VISITOR
from medfact.datasets.isolated import load_isolated
from medfact.errors import FactsError, MissingColumns
from medfact.spec import RunSpec

HEADER = ("head", "relation", "tail")
FACTS = [
    ("asthma", "symptoms", "wheezing"),
    ("asthma", "symptoms", "cough"),
    ("gout", "symptoms", "joint pain"),
    ("migraine", "symptoms", "nausea"),
    ("measles", "symptoms", "rash"),
]
SHEET = "xl/worksheets/sheet1.xml"


def workbook(path: Path, **sheets: Sequence[Sequence[Any]]) -> Path:
    """Writes a workbook with these sheets, in this order."""
    book = openpyxl.Workbook()
    book.remove(book.active)
    for title, rows in sheets.items():
        sheet = book.create_sheet(title)
        for row in rows:
            sheet.append(row)
    book.save(path)
    return path


def changed(path: Path, change: Callable[[str], str], part: str = SHEET) -> Path:
    """The workbook, with one of its parts as `change` makes it."""
    with zipfile.ZipFile(path) as book:
        parts = {name: book.read(name) for name in book.namelist()}
    parts[part] = change(parts[part].decode()).encode()
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as book:
        for name, data in parts.items():
            book.writestr(name, data)
    return path


def triplets(collection: Collection) -> list[tuple[str, str, str | None]]:
    return [(fact.head, fact.relation, fact.tail) for fact in collection.facts]


# ------------------------------------------------------------------------------------------------ all rows


@pytest.mark.parametrize("claim", ["A1", "A1:C3", "A1:B6", "B2:C3", "C6:A1", "A1:XFD1048576", "A:C", "", None])
def test_all_rows_are_read_whatever_the_sheet_says_of_its_size(claim: str | None, tmp_path: Path) -> None:
    said = "" if claim is None else f'<dimension ref="{claim}"/>'
    path = changed(
        workbook(tmp_path / "facts.xlsx", facts=[HEADER, *FACTS]), lambda xml: re.sub("<dimension[^>]*/>", said, xml)
    )
    begun = time.monotonic()
    collection = load_file(path)
    assert triplets(collection) == FACTS
    assert (collection.problems, collection.notes) == ((), ())
    assert time.monotonic() - begun < 20


@pytest.mark.parametrize("claim", ['count="1" uniqueCount="1"', 'count="999999999" uniqueCount="999999999"', ""])
def test_the_count_of_shared_texts_is_not_believed(claim: str, tmp_path: Path) -> None:
    """As Excel writes it: texts in a part of their own, to which cells refer by number."""
    path = workbook(tmp_path / "facts.xlsx", facts=[HEADER, *FACTS])
    texts: list[str] = []

    def shared(cell: re.Match[str]) -> str:
        texts.append(cell[2])
        return f'<c r="{cell[1]}" t="s"><v>{len(texts) - 1}</v></c>'

    changed(path, lambda xml: re.sub(r'<c r="(\w+)" t="inlineStr"><is><t>([^<]*)</t></is></c>', shared, xml))
    kind = "application/vnd.openxmlformats-officedocument.spreadsheetml.sharedStrings+xml"
    said = f'<Override PartName="/xl/sharedStrings.xml" ContentType="{kind}"/></Types>'
    changed(path, lambda xml: xml.replace("</Types>", said), "[Content_Types].xml")
    space = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    with zipfile.ZipFile(path, "a") as book:
        items = "".join(f"<si><t>{text}</t></si>" for text in texts)
        book.writestr("xl/sharedStrings.xml", f'<sst xmlns="{space}" {claim}>{items}</sst>')
    assert len(texts) == 3 * 6
    assert triplets(load_file(path)) == FACTS


def test_rows_far_below_and_styled_cells_far_out_cost_little(tmp_path: Path) -> None:
    """A fact in the last row that a sheet may have, and 300 rows whose last cell, in the last column, holds nothing."""
    path = workbook(tmp_path / "facts.xlsx", facts=[HEADER, *FACTS])
    styled = "".join(f'<row r="{n}"><c r="XFD{n}" s="0"/></row>' for n in range(10, 310))
    cells = "".join(f'<c r="{c}1048576" t="inlineStr"><is><t>{t}</t></is></c>' for c, t in zip("ABC", FACTS[0], strict=True))
    last = cells.replace("asthma", "rubella")
    changed(path, lambda xml: xml.replace("</sheetData>", f'{styled}<row r="1048576">{last}</row></sheetData>'))
    collection = load_isolated(RunSpec(model="", facts=str(path)))
    assert triplets(collection) == [*FACTS, ("rubella", "symptoms", "wheezing")]
    assert collection.problems == ()


@pytest.mark.parametrize("row", [1_048_577, 2_000_000_000])
def test_a_row_that_no_sheet_can_have_ends_the_reading_soon(row: int, tmp_path: Path) -> None:
    path = workbook(tmp_path / "facts.xlsx", facts=[HEADER, *FACTS])
    far = f'<row r="{row}"><c r="A{row}" t="inlineStr"><is><t>far</t></is></c></row>'
    changed(path, lambda xml: xml.replace("</sheetData>", f"{far}</sheetData>"))
    begun = time.monotonic()
    with pytest.raises(FactsError, match=r"facts\.xlsx has more rows than a sheet can have"):
        load_file(path)
    assert time.monotonic() - begun < 30


def test_a_header_that_reaches_far_out_is_refused_for_a_visitor(tmp_path: Path) -> None:
    path = workbook(tmp_path / "facts.xlsx", facts=[HEADER, *FACTS])
    changed(path, lambda xml: xml.replace("</row>", '<c r="XFD1" t="inlineStr"><is><t>far</t></is></c></row>', 1))
    with pytest.raises(FactsError, match="more than 1,000 columns"):
        load_file(path, limits=VISITOR)


def test_a_part_that_unpacks_to_more_than_it_says_is_not_unpacked(tmp_path: Path) -> None:
    """30 MB of spaces in a sheet that says it has 1,000 bytes: the check of the size believes that, and no more is unpacked."""
    path = workbook(tmp_path / "facts.xlsx", facts=[HEADER, *FACTS])
    changed(path, lambda xml: xml.replace("</sheetData>", " " * (30 << 20) + "</sheetData>"))
    with zipfile.ZipFile(path) as book:
        size = next(part.file_size for part in book.infolist() if part.filename == SHEET)
    data = path.read_bytes()
    assert data.count(struct.pack("<I", size)) == 2, "in the part's own header, and in the directory"
    path.write_bytes(data.replace(struct.pack("<I", size), struct.pack("<I", 1_000)))
    tracemalloc.start()
    with pytest.raises(FactsError, match=r"facts\.xlsx is (?:not an Excel workbook|damaged)"):
        load_file(path, limits=replace(VISITOR, unpacked=1 << 20))
    assert tracemalloc.get_traced_memory()[1] < 10 << 20
    tracemalloc.stop()


# ------------------------------------------------------------------------------------------------ sheets and headers


README = [("This workbook holds our triplets; see sheet 2.",)]


def test_the_only_sheet_with_facts_is_read_wherever_it_stands(tmp_path: Path) -> None:
    path = workbook(tmp_path / "facts.xlsx", README=README, triplets=[HEADER, *FACTS], notes=[("a", "b")])
    collection = load_file(path)
    assert triplets(collection) == FACTS
    assert collection.notes == ("facts.xlsx has 3 sheets: 'triplets' is read, the only one with the columns that are needed.",)


def test_of_several_sheets_with_facts_the_first_must_be_one(tmp_path: Path) -> None:
    path = workbook(tmp_path / "facts.xlsx", README=README, one=[HEADER, *FACTS], two=[HEADER, *FACTS])
    with pytest.raises(FactsError) as refused:
        load_file(path)
    assert str(refused.value) == (
        "facts.xlsx: the first sheet, 'README', has not the columns that are needed; 'one' and 'two' have. "
        "Put the sheet to read first, or save it as a file of its own."
    )


def test_facts_on_later_sheets_are_not_lost_without_a_word(tmp_path: Path) -> None:
    path = workbook(tmp_path / "facts.xlsx", one=[HEADER, *FACTS[:2]], other=[("a", "b")], two=[HEADER, *FACTS[2:]])
    collection = load_file(path)
    assert triplets(collection) == FACTS[:2]
    assert collection.notes == ("facts.xlsx has 3 sheets: the first is read, and not 'two', which has such columns too.",)


def test_where_no_sheet_has_the_columns_all_are_named(tmp_path: Path) -> None:
    path = workbook(tmp_path / "facts.xlsx", README=README, mine=[("disease", "relation", "sign"), *FACTS])
    with pytest.raises(MissingColumns) as refused:
        load_file(path)
    assert "'README'" in str(refused.value)
    assert "'mine'" in str(refused.value)
    assert refused.value.columns == ["disease", "relation", "sign"], "those of the first sheet that can be a table"
    assert triplets(load_file(path, {"head": "disease", "tail": "sign"})) == FACTS


@pytest.mark.parametrize("above", [["Table 1. Symptoms"], ["Table 1. Symptoms, by disease", "as of 2026"], ["", "Symptoms"]])
@pytest.mark.parametrize("ending", [".xlsx", ".csv", ".tsv"])
def test_a_title_above_the_header_is_passed_over_and_said(ending: str, above: list[str], tmp_path: Path) -> None:
    path = tmp_path / f"facts{ending}"
    if ending == ".xlsx":
        workbook(path, facts=[*([line] for line in above), HEADER, *FACTS])
    else:
        separator = "," if ending == ".csv" else "\t"
        path.write_text("\n".join([*above, *(separator.join(row) for row in (HEADER, *FACTS))]), encoding="utf-8")
    collection = load_file(path)
    assert triplets(collection) == FACTS
    assert collection.notes == (f"facts{ending}: the header is row {len(above) + 1}; what stands above it is not read.",)


def test_other_tables_of_a_workbook_are_found_too(tmp_path: Path) -> None:
    path = workbook(tmp_path / "counts.xlsx", README=README, counts=[("From a corpus",), ("term", "count"), ("gout", 12)])
    assert read_frequencies(path).counts == {"gout": 12}


def test_a_table_without_a_wanted_column_is_read_from_its_first_row(tmp_path: Path) -> None:
    path = workbook(tmp_path / "rows.xlsx", one=[("# a", "b"), (1, 2)])
    columns, rows = read_table(path)
    assert (columns, list(rows)) == (["# a", "b"], [(2, {"# a": "1", "b": "2"})])


# ------------------------------------------------------------------------------------------------ what a layout says


def test_a_merged_cell_holds_for_all_its_rows(tmp_path: Path) -> None:
    """Asthma for three rows, its relation for two, and gout for two; a title merged over the columns stays a title."""
    rows = [
        ("Facts", None, None),
        HEADER,
        ("asthma", "symptoms", "wheezing"),
        (None, None, "cough"),
        (None, "caused by", "smoke"),
    ]
    rows += [("gout", "symptoms", "pain"), (None, "symptoms", "swelling")]
    path = workbook(tmp_path / "facts.xlsx", facts=rows)
    merged = "".join(f'<mergeCell ref="{area}"/>' for area in ("A1:C1", "A3:A5", "B3:B4", "A6:A7"))
    changed(path, lambda xml: xml.replace("</sheetData>", f"</sheetData><mergeCells>{merged}</mergeCells>"))
    collection = load_file(path)
    assert triplets(collection) == [
        ("asthma", "symptoms", "wheezing"), ("asthma", "symptoms", "cough"), ("asthma", "caused by", "smoke"),
        ("gout", "symptoms", "pain"), ("gout", "symptoms", "swelling"),
    ]  # fmt: skip
    assert collection.problems == ()


@pytest.mark.parametrize("area", ["A2:A1048576", "A1:XFD1048576", "A1:C6"])
def test_areas_that_no_sheet_has_cost_nothing(area: str, tmp_path: Path) -> None:
    path = workbook(tmp_path / "facts.xlsx", facts=[HEADER, *FACTS])
    merged = f"<mergeCells>{f'<mergeCell ref={chr(34)}{area}{chr(34)}/>' * 1_000}</mergeCells>"
    changed(path, lambda xml: xml.replace("</sheetData>", f"</sheetData>{merged}"))
    assert triplets(load_file(path)) == FACTS


def test_hidden_rows_are_counted(tmp_path: Path) -> None:
    path = workbook(tmp_path / "facts.xlsx", facts=[HEADER, *FACTS])
    changed(
        path, lambda xml: xml.replace('<row r="3"', '<row r="3" hidden="1"').replace('<row r="5"', '<row r="5" hidden="true"')
    )
    changed(path, lambda xml: xml.replace("</sheetData>", '<row r="9" hidden="1"/></sheetData>'))
    collection = load_file(path)
    assert triplets(collection) == FACTS
    assert collection.notes == ("facts.xlsx: 2 rows are hidden in the sheet, and read all the same; delete what is not meant.",)


def test_a_formula_without_a_stored_value_is_told(tmp_path: Path) -> None:
    path = workbook(tmp_path / "facts.xlsx", facts=[HEADER, *FACTS, ("rubella", "symptoms", '=CONCATENATE("ra","sh")')])
    collection = load_file(path)
    assert triplets(collection) == FACTS
    (problem,) = collection.problems
    assert (problem.row, problem.message[:49]) == (7, "the tail is a formula without a stored value; ope")
    changed(path, lambda xml: re.sub(r"(</f>)<v ?/>", r"\1<v>rash</v>", xml).replace('<c r="C7"', '<c r="C7" t="str"'))
    assert triplets(load_file(path))[-1] == ("rubella", "symptoms", "rash")


PASSWORD = b"\xd0\xcf\x11\xe0" + bytes(600) + "EncryptedPackage".encode("utf-16-le") + bytes(300)


@pytest.mark.parametrize(
    ("parts", "words"),
    [
        (PASSWORD, "is protected by a password"),
        (b"\xd0\xcf\x11\xe0" + bytes(600), "is a workbook of Excel 97 to 2003"),
        ({"mimetype": "x", "content.xml": "<a/>"}, "is an OpenDocument spreadsheet"),
        ({"[Content_Types].xml": "<a/>", "xl/workbook.bin": "x"}, "is an Excel Binary Workbook"),
        ({"readme.txt": "x"}, "is not an Excel workbook"),
    ],
)
def test_other_formats_are_named(parts: bytes | dict[str, str], words: str, tmp_path: Path) -> None:
    path = tmp_path / "facts.xlsx"
    if isinstance(parts, bytes):
        path.write_bytes(parts)
    else:
        with zipfile.ZipFile(path, "w") as book:
            for name, text in parts.items():
                book.writestr(name, text)
    with pytest.raises(FactsError, match=words):
        load_file(path)


def test_strict_open_xml_is_named_and_not_empty(tmp_path: Path) -> None:
    path = workbook(tmp_path / "facts.xlsx", facts=[HEADER, *FACTS])
    plain, strict = "http://schemas.openxmlformats.org/spreadsheetml/2006/main", "http://purl.oclc.org/ooxml/spreadsheetml/main"
    changed(path, lambda xml: xml.replace(plain, strict))
    for _ in range(2):
        with pytest.raises(FactsError, match="is saved as Strict Open XML"):
            load_file(path)
        changed(path, lambda xml: xml.replace(plain, strict), "xl/workbook.xml")
