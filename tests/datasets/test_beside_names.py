"""What names carry beside themselves, such as "(disorder)" or "T78.2 - ": names are compared without it, and it is counted."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from small_facts import write_csv

from medfact.cli import main
from medfact.datasets import load_bundled, load_file
from medfact.facts import IDENTIFIER, core_name, first_affix, name_key

SAME = {
    "anaphylaxis": (
        "Anaphylaxis (disorder)", "Anaphylaxis (finding).", "Anaphylaxis [Disease/Finding]", "anaphylaxis [dup]",
        "Anaphylaxis, NOS",
        "Anaphylaxis NOS", "anaphylaxis, unspecified", "T78.2 - Anaphylaxis", "T78.2 Anaphylaxis", "T78 Anaphylaxis",
        "T78: anaphylaxis",
        "Anaphylaxis (T78.2)", "anaphylaxis, ICD-10 T78.2", "39579001 |Anaphylaxis (disorder)|", "39579001|Anaphylaxis|",
        "C0002792 anaphylaxis", "MONDO:0100053 anaphylaxis", "anaphylaxis (MONDO:0100053)", '"Anaphylaxis"', "“Anaphylaxis”",
        "«Anaphylaxis»", "'Anaphylaxis'", "anaphylaxis@en", '"anaphylaxis"@en', '"anaphylaxis"^^xsd:string',
        "<b>Anaphylaxis</b>",
        "**Anaphylaxis**", "[D]Anaphylaxis", "#143100 Anaphylaxis", "http://dbpedia.org/resource/Anaphylaxis",
        "Ａｎａｐｈｙｌａｘｉｓ",
        "Anaphylaxis (Störung)", "anaphylaxis nicht näher bezeichnet", "• anaphylaxis",
    ),
    "acute asthma": ("asthma, acute", "Acute_Asthma", "AcuteAsthma", "acute‑asthma", "Asthma, acute (disorder)"),
    "acute myeloid leukemia": ("Leukemia, Myeloid, Acute", "Leukaemia, myeloid, acute (disorder)"),
    "sjogrens syndrome": ("Sjögren's syndrome", "Sjögren’s syndrome", "SJÖGRENʼS SYNDROME"),
    "iktal": ("İktal", "iktal"),
}  # fmt: skip

OTHERS = [
    "B12 deficiency", "5-HT1A", "14-3-3 protein", "t(9;22)(q34;q11)", "[X]", "HLA-B*27:05", "C3 glomerulopathy", "1,2-dimethyl",
    "[18F]fluorodeoxyglucose", "HPRT1 gene", "P53 mutation", "J45.9", "(finding)", "NOS", "McArdle disease", "COVID-19",
    "NOS2 deficiency",
    "A20 haploinsufficiency", "disease number 100000", "ratio 1:200", "IgA (secretory)", "SpO2 < 90 % and > 80 %",
    "diabetes mellitus type 2",
]  # fmt: skip


@pytest.mark.parametrize(("key", "name"), [(key, name) for key, names in SAME.items() for name in names])
def test_a_name_is_compared_without_what_it_carries(key: str, name: str) -> None:
    assert name_key(name) == key


@pytest.mark.parametrize("name", OTHERS)
def test_what_belongs_to_a_name_stays(name: str) -> None:
    assert core_name(name) == name


@pytest.mark.parametrize(
    "unit",
    [
        "(",
        "[",
        "<a",
        "a@",
        "^^",
        "|",
        "J45.9 ",
        ", ",
        "aB",
        "C0000001 ",
        "1",
        "A1",
        "ICD ",
        "http://",
        "(disorder)",
        " nos",
        "a:",
        "-",
        "'",
    ],
)
def test_long_repetitions_are_read_at_once(unit: str) -> None:
    """No pattern takes more than a step or so for each character: 20,000 of them would take minutes otherwise."""
    text = unit * 20_000
    for part in (text, text[:1_000], f"x {text[:990]}"):
        assert isinstance(core_name(part), str)
        IDENTIFIER.fullmatch(part)


@pytest.mark.parametrize(
    ("name", "tag"),
    [("asthma (disorder)", "(disorder)"), ("asthma, NOS", "NOS"), ("J45.9 - asthma", "J45.9"), ("asthma.", ""), ("asthma", "")],
)
def test_the_tag_of_a_name(name: str, tag: str) -> None:
    assert first_affix(name) == tag


@pytest.mark.parametrize("written", ["{} (disorder)", "T78.2 - {}", "{}, NOS", "39579001 |{}|", '"{}"@en', "<i>{}</i>"])
def test_no_false_partner_that_a_bundled_set_knows_to_be_true(
    written: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of anaphylaxis, the bundled sets know all these signs to be true: whatever its name carries, none is drawn for it."""
    signs = ["flushing", "hypotension", "pruritus", "stridor", "urticaria", "vomiting", "wheezing"]
    name = written.format("Anaphylaxis")
    rows = [{"head": f"condition {n}", "relation": "symptoms", "tail": sign} for n, sign in enumerate(signs)]
    path = write_csv(tmp_path / "facts.csv", [{"head": name, "relation": "symptoms", "tail": "angioedema"}, *rows])
    assert main(["facts", "--facts", str(path), "--shots", "0"]) == 0
    out, errors = capsys.readouterr()
    drawn = [row for row in map(json.loads, out.splitlines()) if row["role"] == "test" and not row["positive"]]
    (partner,) = (row["tail"] for row in drawn if row["head"] == name)
    assert partner in {fact.tail for fact in load_bundled("clinical-core").facts} - set(signs), (
        "one that a bundled set would draw"
    )
    assert ("Tags or codes beside names" in errors or "Markup" in errors) == (first_affix(name) != "")


def test_tags_are_counted(tmp_path: Path) -> None:
    rows = [{"head": f"disease {n} (disorder)", "relation": "symptoms", "tail": f"sign {n} (finding)"} for n in range(3)]
    (note,) = load_file(write_csv(tmp_path / "facts.csv", rows)).notes
    assert note == (
        "Tags or codes beside names ((disorder), (finding)): the head of 3 rows, the tail of 3 rows. They would stand in each "
        "sentence; take them off."
    )


def test_full_and_half_width_are_one_fact(tmp_path: Path) -> None:
    rows = [{"head": head, "relation": "symptoms", "tail": "喘息"} for head in ("ＡＳＴＨＭＡ", "ASTHMA", "ｶﾞﾝ", "ガン")]
    collection = load_file(write_csv(tmp_path / "facts.csv", rows))
    assert [fact.head for fact in collection.facts] == ["ASTHMA", "ガン"]


IDENTIFIERS = [
    "C0004096", "MONDO:0004979", "HP:0030828", "DOID_2841", "J45.909", "R21", "Q35869", "http://www.wikidata.org/entity/Q35869",
    "DB00843", "UMLS:C0004096", "ICD10:J45.9", "SNOMED:195967001", "MESH:D001249", "D001249",
]  # fmt: skip


@pytest.mark.parametrize("name", IDENTIFIERS)
def test_identifiers_are_counted_and_the_column_of_names_is_named(name: str, tmp_path: Path) -> None:
    row = {"head": name, "relation": "symptoms", "tail": "rash", "subject_name": "asthma", "page": "12"}
    (note,) = load_file(write_csv(tmp_path / "facts.csv", [row])).notes
    assert note == (
        f"Identifiers ({name}): the head of 1 row. They count as names; give the names in their place. The file also has "
        "'subject_name': name such a column as head or tail."
    )


# ------------------------------------------------------------------------------------------------ each edge twice


PAIRS = [("asthma", "wheezing"), ("gout", "joint pain"), ("measles", "rash"), ("migraine", "photophobia")]


def edges(tmp_path: Path, relation: str, typed: bool, pairs: list[tuple[str, str]]) -> Path:
    rows = [
        {"head": a, "relation": relation, "tail": b, "head_type": "disease", "tail_type": "effect/phenotype"} for a, b in pairs
    ]
    ends = {"head": "tail", "tail": "head", "head_type": "tail_type", "tail_type": "head_type"}
    rows += [{name: row[ends.get(name, name)] for name in row} for row in rows]
    kept = [row if typed else {name: row[name] for name in ("head", "relation", "tail")} for row in rows]
    return write_csv(tmp_path / "facts.csv", kept)


def asked(path: Path, capsys: pytest.CaptureFixture[str]) -> tuple[set[tuple[str, str]], str]:
    assert main(["facts", "--facts", str(path), "--shots", "0"]) == 0
    out, errors = capsys.readouterr()
    rows = [row for row in map(json.loads, out.splitlines()) if row["role"] == "test"]
    return {(row["head"], row["tail"]) for row in rows if row["positive"]}, errors


@pytest.mark.parametrize(
    ("relation", "typed", "pairs"),
    [
        ("symptoms", True, PAIRS),
        ("symptoms", False, PAIRS[:1]),
        ("has symptom", True, PAIRS),
        ("symptoms", True, [("illness 1", "sign 1"), ("illness 2", "sign 2")]),
    ],
)
def test_of_an_edge_that_stands_twice_the_right_way_round_is_kept(
    relation: str, typed: bool, pairs: list[tuple[str, str]], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    true, errors = asked(edges(tmp_path, relation, typed, pairs), capsys)
    assert true == set(pairs)
    rows = "1 row is the reverse of another" if len(pairs) == 1 else f"{len(pairs)} rows are the reverse of others"
    assert f"{relation!r}: {rows}, such as" in errors


def test_where_nothing_tells_the_pairs_are_counted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    true, errors = asked(edges(tmp_path, "symptoms", False, [("illness 1", "sign 1"), ("illness 2", "sign 2")]), capsys)
    assert len(true) == 4
    assert "'symptoms': 2 pairs of names stand both ways round, such as “illness 1, symptoms, sign 1”" in errors


def test_symmetric_relations_stay(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, errors = asked(edges(tmp_path, "interacts with", False, [("warfarin", "aspirin"), ("a drug", "another drug")]), capsys)
    assert "both ways round" not in errors
    assert "reverse" not in errors
