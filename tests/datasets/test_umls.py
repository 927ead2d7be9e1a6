"""UMLS in RRF: which way a row reads, which name a concept gets, what is left out, and what a broken file is refused with."""

import importlib.util
import tracemalloc
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from umls_files import ALBUTEROL, ASPIRIN, ASTHMA, COUGH, FEVER, NAMES, TREATS, mrconso_row, mrrel_row, write_umls

from medfact.datasets.umls import LICENCE, is_umls, load_umls
from medfact.errors import FactsError
from medfact.negatives import draw_negatives


def triplets(folder: Path, *relations: str, sources: tuple[str, ...] = ()) -> list[tuple[str, str, str | None]]:
    facts = load_umls(folder, relations or ("may_treat",), sources).facts
    return [(fact.head, fact.relation, fact.tail) for fact in facts]


def refusal(folder: Path, *relations: str, sources: tuple[str, ...] = (), language: str = "ENG") -> str:
    """The one line that a folder is refused with."""
    with pytest.raises(FactsError) as refused:
        load_umls(folder, relations, sources, language)
    line = str(refused.value)
    assert "\n" not in line
    assert refused.value.hint
    return line


# ------------------------------------------------------------------------- the folder


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        (("MRCONSO.RRF", "MRREL.RRF"), True),
        (("mrconso.rrf", "MrRel.Rrf", "readme.txt"), True),
        (("MRCONSO.RRF",), False),
        (("MRREL.csv", "MRCONSO.csv"), False),
        ((), False),
    ],
)
def test_a_folder_is_umls_when_names_and_relations_are_there(tmp_path: Path, files: tuple[str, ...], expected: bool) -> None:
    for file in files:
        (tmp_path / file).touch()
    assert is_umls(tmp_path) is expected


def test_a_file_or_nothing_is_not_umls(tmp_path: Path) -> None:
    (tmp_path / "MRREL.RRF").touch()
    assert not is_umls(tmp_path / "MRREL.RRF")
    assert not is_umls(tmp_path / "nowhere")


def test_files_in_lower_case_and_with_windows_line_ends_are_read(tmp_path: Path) -> None:
    for file, rows in {"mrrel.rrf": TREATS, "mrconso.rrf": NAMES}.items():
        (tmp_path / file).write_bytes("".join(f"{row}\r\n" for row in rows).encode())
    assert triplets(tmp_path) == [("albuterol", "may_treat", "asthma")]


# ------------------------------------------------------------------------- facts


def test_the_second_concept_is_the_head(tmp_path: Path) -> None:
    row = f"{ASTHMA}|A1|AUI|RO|{ALBUTEROL}|A2|AUI|may_treat|R1||MED-RT|MED-RT||Y|N||"
    (fact,) = load_umls(write_umls(tmp_path, [row]), ["may_treat"]).facts
    assert (fact.head, fact.relation, fact.tail) == ("albuterol", "may_treat", "asthma")
    assert (fact.head_id, fact.tail_id) == (ALBUTEROL, ASTHMA)
    assert fact.source == "UMLS MED-RT"
    assert fact.positive
    assert (fact.head_type, fact.tail_type) == (None, None)


def test_a_repeated_fact_stays_once_with_its_first_source(tmp_path: Path) -> None:
    rows = [mrrel_row(ALBUTEROL, "may_treat", ASTHMA, sab=sab) for sab in ("NDFRT", "MED-RT", "NDFRT")]
    (fact,) = load_umls(write_umls(tmp_path, rows), ["may_treat"]).facts
    assert fact.source == "UMLS NDFRT"


def test_sources_choose_rows_of_relations_and_leave_names_alone(tmp_path: Path) -> None:
    rows = [mrrel_row(ALBUTEROL, "may_treat", ASTHMA, sab="NDFRT"), mrrel_row(ASPIRIN, "may_treat", FEVER, sab="MED-RT")]
    assert triplets(write_umls(tmp_path, rows), sources=("MED-RT",)) == [("aspirin", "may_treat", "fever")]
    assert len(triplets(tmp_path, sources=("MED-RT", "NDFRT"))) == 2


def test_a_concept_without_a_name_in_the_language_is_counted(tmp_path: Path) -> None:
    names = [
        mrconso_row(ALBUTEROL, "albuterol"),
        mrconso_row(ASTHMA, "asthma"),
        mrconso_row(ASTHMA, "asma", lat="SPA"),
        mrconso_row(FEVER, "fiebre", lat="SPA"),
        mrconso_row(COUGH, "cough", suppress="O"),
    ]
    rows = [*TREATS, mrrel_row(ALBUTEROL, "may_treat", FEVER), mrrel_row(ALBUTEROL, "may_treat", COUGH)]
    collection = load_umls(write_umls(tmp_path, rows, names), ["may_treat"])
    assert [fact.tail for fact in collection.facts] == ["asthma"]
    # fever has a Spanish name alone, the name of cough is obsolete
    assert "In MRREL.RRF 2 rows are left out: a concept has no name in ENG." in collection.notes


def test_facts_are_named_in_the_language_asked_for(tmp_path: Path) -> None:
    names = [*NAMES, mrconso_row(ALBUTEROL, "salbutamol", lat="SPA"), mrconso_row(ASTHMA, "asma", lat="SPA")]
    (fact,) = load_umls(write_umls(tmp_path, TREATS, names), ["may_treat"], language="SPA").facts
    assert (fact.head, fact.tail) == ("salbutamol", "asma")


ROWS = {
    "of the chosen relation alone, in the order of the file": (
        [
            mrrel_row(ASPIRIN, "may_treat", FEVER),
            mrrel_row(ASTHMA, "may_be_treated_by", ALBUTEROL),
            mrrel_row(ASTHMA, "has_symptom", COUGH),
            *TREATS,
            mrrel_row(ASPIRIN, "", FEVER),
            mrrel_row(ASPIRIN, "may_treat_not", FEVER),
            mrrel_row(ASPIRIN, "isa", FEVER, sab="may_treat"),
        ],
        [("aspirin", "may_treat", "fever"), ("albuterol", "may_treat", "asthma")],
    ),
    "not obsolete, and not of a concept with itself": (
        [
            *(mrrel_row(ASPIRIN, "may_treat", FEVER, suppress=mark) for mark in "OEY"),
            mrrel_row(COUGH, "may_treat", COUGH),
            *TREATS,
        ],
        [("albuterol", "may_treat", "asthma")],
    ),
}


@pytest.mark.parametrize("case", ROWS)
def test_which_rows_are_facts(case: str, tmp_path: Path) -> None:
    rows, expected = ROWS[case]
    assert triplets(write_umls(tmp_path, rows)) == expected


# ------------------------------------------------------------------------- names, types, hierarchy


@pytest.mark.parametrize(
    ("better", "worse"),
    [
        ("P VO N", "S PF Y"),  # TS counts before STT and ISPREF together
        ("P PF N", "P VO Y"),  # then STT before ISPREF
        ("S VO Y", "S VO N"),
    ],
)
@pytest.mark.parametrize("swapped", [False, True])
def test_the_preferred_name(tmp_path: Path, better: str, worse: str, swapped: bool) -> None:
    two = [mrconso_row(ASTHMA, "zz better", better), mrconso_row(ASTHMA, "aa worse", worse)]
    names = [mrconso_row(ALBUTEROL, "albuterol"), *(two[::-1] if swapped else two)]
    collection = load_umls(write_umls(tmp_path, TREATS, names), ["may_treat"])
    assert collection.facts[0].tail == "zz better"
    assert collection.known.synonyms == (("zz better", "aa worse"),)


def test_equally_preferred_names_go_by_the_sources_given_then_by_the_alphabet(tmp_path: Path) -> None:
    names = [mrconso_row(ALBUTEROL, "albuterol")]
    names += [mrconso_row(ASTHMA, name, sab=sab) for name, sab in (("a", "MTH"), ("c", "NCI"), ("b", "NCI"), ("d", "MED-RT"))]
    folder = write_umls(tmp_path, TREATS, names)
    assert load_umls(folder, ["may_treat"]).known.synonyms == (("a", "b", "c", "d"),)
    assert load_umls(folder, ["may_treat"], ["MED-RT", "NCI"]).known.synonyms == (("d", "b", "c", "a"),)


def test_spellings_and_other_languages_are_no_further_names(tmp_path: Path) -> None:
    names = [
        *NAMES,
        mrconso_row(ASTHMA, "Asthma", "S PF Y"),
        mrconso_row(ASTHMA, "bronchial  asthma", "S PF Y"),
        mrconso_row(ASTHMA, "asma", lat="SPA"),
        mrconso_row(ASTHMA, "old asthma", "S PF Y", suppress="Y"),
    ]
    collection = load_umls(write_umls(tmp_path, TREATS, names), ["may_treat"])
    assert collection.known.synonyms == (("asthma", "bronchial asthma"),)
    assert collection.known.entity("Bronchial Asthma") == collection.known.entity("asthma")


def test_fifty_further_names_are_kept(tmp_path: Path) -> None:
    names = [*NAMES, *(mrconso_row(ASTHMA, f"asthma of kind {i:02}", "S VO N") for i in range(60))]
    (group,) = load_umls(write_umls(tmp_path, TREATS, names), ["may_treat"]).known.synonyms
    assert len(group) == 1 + 50
    assert group[-1] == "asthma of kind 49"


def test_several_semantic_types_are_joined_in_alphabetical_order(tmp_path: Path) -> None:
    types = [
        f"{ALBUTEROL}|T121|A1|Pharmacologic Substance|AT1||",
        f"{ALBUTEROL}|T109|A1|Organic Chemical|AT2||",
        f"{FEVER}|T184|A2|Sign or Symptom|AT3||",
    ]
    (fact,) = load_umls(write_umls(tmp_path, MRSTY=types), ["may_treat"]).facts
    assert fact.head_type == "Organic Chemical; Pharmacologic Substance"
    assert fact.tail_type is None  # no row says anything of asthma


def test_the_hierarchy_gives_pairs_of_the_concepts_that_occur(tmp_path: Path) -> None:
    names = [
        mrconso_row(ALBUTEROL, "albuterol"),
        mrconso_row(ASTHMA, "asthma", aui="A11"),
        mrconso_row(ASTHMA, "asma", lat="SPA", aui="A12"),
        mrconso_row(COUGH, "cough variant asthma", aui="A21"),
        mrconso_row(COUGH, "cough asthma", "S PF Y", aui="A22"),
        mrconso_row(FEVER, "fever", aui="A31"),
    ]
    tree = [
        f"{COUGH}|A21|1|A11|MSH|isa|A11|||",
        f"{COUGH}|A22|1|A12|MSHSPA||A12|||",  # the same pair again, through the Spanish name
        f"{COUGH}|A21|2|A31|MSH|isa|A31|||",  # fever does not occur in the facts
        f"{COUGH}|A22|1|A21|MSH||A21|||",  # the concept above itself
        f"{FEVER}|A31|1|A11|MSH|isa|A11|||",
        f"{ASTHMA}|A11|1||MSH||||||",  # a root
    ]
    rows = [*TREATS, mrrel_row(ALBUTEROL, "may_treat", COUGH)]
    known = load_umls(write_umls(tmp_path, rows, names, MRHIER=tree), ["may_treat"]).known
    assert known.is_a == (("cough variant asthma", "asthma"),)
    assert known.entity("asthma") in known.relatives("cough variant asthma")


def test_the_order_of_the_names_and_types_in_the_files_changes_nothing(tmp_path: Path) -> None:
    names = [*NAMES, mrconso_row(ASTHMA, "bronchial asthma", "S PF Y"), mrconso_row(ALBUTEROL, "salbutamol", "S PF Y")]
    types = [f"{ASTHMA}|T047|A|Disease or Syndrome|AT1||", f"{ASTHMA}|T033|A|Finding|AT2||"]
    first = load_umls(write_umls(tmp_path, TREATS, names, MRSTY=types), ["may_treat"])
    second = load_umls(write_umls(tmp_path, TREATS, names[::-1], MRSTY=types[::-1]), ["may_treat"])
    assert first == second
    assert first.fingerprint() == second.fingerprint()


# ------------------------------------------------------------------------- notes, problems, refusals


def test_the_licence_is_noted_and_nothing_else_when_all_is_well(tmp_path: Path) -> None:
    collection = load_umls(write_umls(tmp_path / "."), ["may_treat"])
    assert collection.notes == (LICENCE,)
    assert "licence" in LICENCE
    assert collection.problems == ()
    assert collection.name == tmp_path.name
    assert collection.known.facts == collection.facts


def test_without_a_relation_the_twelve_most_frequent_are_named(tmp_path: Path) -> None:
    # relation 1 has one row, ..., relation 14 has fourteen; the third to the fourteenth are the twelve most frequent
    rows = [mrrel_row(ALBUTEROL, f"relation_{n:02}", f"C{i:07}") for n in range(1, 15) for i in range(n)]
    # none of these is counted
    rows += (
        [mrrel_row(COUGH, "isa", COUGH)] * 99
        + [mrrel_row(COUGH, "isa", FEVER, suppress="O")] * 99
        + [mrrel_row(COUGH, "", FEVER)] * 99
    )
    line = refusal(write_umls(tmp_path, rows))
    expected = ", ".join(f"relation_{n:02} ({n})" for n in range(14, 2, -1))
    assert line == f"No relation of UMLS was chosen. The most frequent in MRREL.RRF: {expected}. Choose with `--rela NAME`."


SPANISH = [*NAMES, mrconso_row(ASTHMA, "asma", lat="SPA")]
REFUSED: dict[str, tuple[str, dict[str, Any], list[str]]] = {
    "a relation": (
        "may_treats",
        {},
        ["MRREL.RRF has no usable row of may_treats. The most frequent in MRREL.RRF: may_treat (1)."],
    ),
    "a source": (
        "may_treat",
        {"sources": ("MSH",)},
        ["MRREL.RRF from MSH has no usable row of may_treat. There is no usable relation in MRREL.RRF from MSH."],
    ),
    "a language of one side": (
        "may_treat",
        {"language": "spa"},
        ["No fact has names in 'SPA' for both its concepts: 1 of 2 concepts have one.", "ENG, SPA"],
    ),
    "a language": (
        "may_treat",
        {"language": "FRE"},
        ["MRCONSO.RRF has no names in 'FRE' for these facts. Languages of their concepts: ENG, SPA."],
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_not_there_is_refused_with_what_is(case: str, tmp_path: Path) -> None:
    relation, options, words = REFUSED[case]
    line = refusal(write_umls(tmp_path, TREATS, SPANISH), relation, **options)
    assert [part for part in words if part not in line] == []


def test_one_of_two_relations_that_is_not_there_is_noted(tmp_path: Path) -> None:
    notes = load_umls(write_umls(tmp_path), ["may_treat", "may_cure"]).notes
    assert notes[1:] == ("MRREL.RRF gave no fact of may_cure; the facts are those of the other relations.",)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    write_umls(tmp_path)
    (tmp_path / "MRCONSO.RRF").unlink()
    assert "has no MRCONSO.RRF" in refusal(tmp_path, "may_treat")
    assert "has no MRCONSO.RRF" in refusal(tmp_path / "nowhere", "may_treat")


@pytest.mark.parametrize(("file", "needed"), [("MRREL", 15), ("MRCONSO", 17), ("MRSTY", 4), ("MRHIER", 4)])
def test_a_file_that_is_not_rrf_is_refused_with_its_row(tmp_path: Path, file: str, needed: int) -> None:
    folder = write_umls(tmp_path, **{file: ["<html>", "not here|may_treat|"]})
    assert f"{file}.RRF, row 1: it has 1 columns of the {needed} that are needed; this is not RRF." in refusal(
        folder, "may_treat"
    )


@pytest.mark.parametrize("content", [b"", b"\x00\xff\x00" * 99])
def test_an_empty_or_binary_file_is_refused(tmp_path: Path, content: bytes) -> None:
    (write_umls(tmp_path) / "MRREL.RRF").write_bytes(content)
    assert "MRREL.RRF" in refusal(tmp_path, "may_treat")


def test_rows_have_the_columns_they_need_with_and_without_the_last_bar(tmp_path: Path) -> None:
    bare = mrrel_row(ASPIRIN, "may_treat", FEVER).removesuffix("||")
    assert bare.endswith("|N")
    cut = bare.removesuffix("|N")
    collection = load_umls(write_umls(tmp_path, [*TREATS, bare, cut]), ["may_treat"])
    assert [fact.head for fact in collection.facts] == ["albuterol", "aspirin"]
    (problem,) = collection.problems
    assert str(problem) == "MRREL.RRF, row 3: it has 14 columns of the 15 that are needed; the row may be cut off"


def test_odd_rows_are_named_with_file_and_row(tmp_path: Path) -> None:
    folder = write_umls(
        tmp_path,
        [*TREATS, mrrel_row("", "may_treat", FEVER)],
        [*NAMES, mrconso_row(ASTHMA, " ")],
        MRSTY=[f"{ASTHMA}|T047|A1||AT1||"],
    )
    with (folder / "MRCONSO.RRF").open("ab") as file:
        file.write(mrconso_row(ASTHMA, "Ménière").encode("latin-1") + b"\n")
    assert [str(problem) for problem in load_umls(folder, ["may_treat"]).problems] == [
        "MRREL.RRF, row 2: a concept's identifier (CUI) is empty",
        "MRCONSO.RRF, row 6: its name is empty or not UTF-8",
        "MRCONSO.RRF, row 7: its name is empty or not UTF-8",
        "MRSTY.RRF, row 1: its semantic type is empty or not UTF-8",
    ]


def test_twenty_problems_are_named_and_the_rest_counted(tmp_path: Path) -> None:
    collection = load_umls(write_umls(tmp_path, [*TREATS, *["C1|may_treat|"] * 23]), ["may_treat"])
    assert [problem.row for problem in collection.problems] == list(range(2, 22))
    assert collection.notes[1:] == ("3 further rows could not be read, beside the 20 that are named.",)


# ------------------------------------------------------------------------- a made-up Metathesaurus


@pytest.fixture(scope="module")
def made_up() -> ModuleType:
    """The benchmark, which writes one of any size."""
    spec = importlib.util.spec_from_file_location("umls_benchmark", Path(__file__).parents[2] / "benchmarks" / "umls.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_a_made_up_metathesaurus_is_read_whole(tmp_path: Path, made_up: ModuleType) -> None:
    made_up.generate(tmp_path, rows=5_000, concepts=400)
    collection = load_umls(tmp_path, ["may_treat"])
    # 5000 / 25 = 200 facts, all different; heads are concepts 0 to 99, tails 100 to 199
    assert len(collection.facts) == 200
    first, last = collection.facts[0], collection.facts[-1]
    assert (first.head_id, first.tail_id, first.head_type, first.tail_type) == ("C0000000", "C0000100", "type 0", "type 1")
    assert first.head == "invented thing of the body number 0"
    # the last one: turn 1, head 99, tail 100 + (99 * 3 + 1) % 100 = 198
    assert (last.head_id, last.tail_id) == ("C0000099", "C0000198")
    # each of the 200 concepts has three English names that are not obsolete, and each but concept 0 a parent that occurs
    assert {len(group) for group in collection.known.synonyms} == {3}
    assert len(collection.known.synonyms) == 200
    assert len(collection.known.is_a) == 199
    assert collection.problems == ()


def test_memory_follows_the_chosen_rows_and_not_the_files(tmp_path: Path, made_up: ModuleType) -> None:
    made_up.generate(tmp_path, rows=50_000, concepts=20_000)
    relations = tmp_path / "MRREL.RRF"
    rare = mrrel_row("C0000001", "rare", "C0000002", sab="MTH")
    with relations.open("a", encoding="utf-8") as file:
        file.write(f"{rare}\n")
    tracemalloc.start()
    try:
        facts = load_umls(tmp_path, ["rare"]).facts
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert [(fact.head_id, fact.tail_id) for fact in facts] == [("C0000001", "C0000002")]
    assert sum(file.stat().st_size for file in tmp_path.iterdir()) > 15_000_000
    assert peak < 1_000_000


# ------------------------------------------------------------------------- what is known beside the facts


def drawn_for(folder: Path, head: str, *relations: str, sources: tuple[str, ...] = ()) -> set[str | None]:
    """All tails that could be drawn as false ones of a head's first fact."""
    collection = load_umls(folder, relations or ("may_treat",), sources)
    fact = next(fact for fact in collection.facts if fact.head == head)
    return {negative.tail for negative in draw_negatives(fact, collection.known, 20, seed=0)}


FURTHER = [
    mrrel_row(ALBUTEROL, "may_treat", ASTHMA),
    mrrel_row(ASPIRIN, "may_treat", FEVER),
    mrrel_row(ASPIRIN, "may_treat", COUGH),
]


@pytest.mark.parametrize(
    "row",
    [
        mrrel_row(ALBUTEROL, "may_prevent", COUGH),
        mrrel_row(ALBUTEROL, "", COUGH),
        mrrel_row(ALBUTEROL, "may_treat", COUGH, sab="SNOMEDCT_US"),
        mrrel_row(COUGH, "contraindicated_with", ALBUTEROL),
        mrrel_row(ALBUTEROL, "may_prevent", COUGH, suppress="O"),
    ],
    ids=["another relation", "no relation", "another source", "the other direction", "suppressed"],
)
def test_what_any_row_links_is_not_drawn(tmp_path: Path, row: str) -> None:
    assert drawn_for(write_umls(tmp_path, FURTHER), "albuterol", sources=("MED-RT",)) == {"fever", "cough"}
    assert drawn_for(write_umls(tmp_path, [*FURTHER, row]), "albuterol", sources=("MED-RT",)) == {"fever"}


def test_siblings_may_be_drawn(tmp_path: Path) -> None:
    row = f"{COUGH}|A1|AUI|SIB|{ALBUTEROL}|A2|AUI||R1||MSH|MSH||Y|N||"
    assert "cough" in drawn_for(write_umls(tmp_path, [*FURTHER, row]), "albuterol")


def test_an_ancestor_over_a_concept_that_does_not_occur_is_not_drawn(tmp_path: Path) -> None:
    """Asthma (A1) is below A7, which no fact names, and that below cough (A2): only the path to the root says so."""
    names = [
        mrconso_row(ALBUTEROL, "albuterol"),
        mrconso_row(ASTHMA, "asthma", aui="A1"),
        mrconso_row(COUGH, "cough", aui="A2"),
        mrconso_row(ASPIRIN, "aspirin"),
        mrconso_row(FEVER, "fever"),
    ]
    hierarchy = [f"{ASTHMA}|A1|1|A7|MSH|isa|A9.A2.A7|||"]
    assert drawn_for(write_umls(tmp_path, FURTHER, names, MRHIER=hierarchy), "albuterol") == {"fever"}


def test_a_name_beyond_the_names_that_are_kept_still_joins_concepts(tmp_path: Path) -> None:
    """Asthma's 61st name is cough's preferred one, so cough is not drawn for what treats asthma."""
    many = [mrconso_row(ASTHMA, f"asthma by its name number {n:02}", "S VO N") for n in range(60)]
    names = [*NAMES, *many, mrconso_row(ASTHMA, "cough", "S VO N", sab="ZZZ")]
    assert drawn_for(write_umls(tmp_path, FURTHER, names), "albuterol") == {"fever"}
