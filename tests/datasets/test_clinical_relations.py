"""clinical-relations: its card and its files agree, each fact was read at its source, and no false partner may be true."""

from collections import Counter, defaultdict
from dataclasses import replace
from functools import partial

import pytest
from bundled_sets import load_card, load_rows

from medfact.datasets import grouping, load_bundled
from medfact.datasets.bundled import FOLDER
from medfact.datasets.sources import has_source, sources_of
from medfact.facts import KnowledgeBase
from medfact.negatives import JUDGED, NEAR

NAME = "clinical-relations"
rows = partial(load_rows, NAME)


FIRST = ("caused by", "diagnosed by", "risk factors")
LEAST = dict.fromkeys((*FIRST, "adverse effects", "may prevent", "first choice for", "drugs used in pregnancy"), 60)
"""Relation → how many facts it has at least."""
UNSPECIFIC = {
    "nausea",
    "vomiting",
    "headache",
    "rash",
    "dizziness",
    "fatigue",
    "diarrhea",
    "fever",
    "itching",
    "abdominal pain",
}


def test_the_card_and_the_documents_say_what_the_files_hold() -> None:
    card, facts = load_card(NAME), rows()
    of_relation = Counter(row["relation"] for row in facts)
    assert all(of_relation[relation] >= least for relation, least in LEAST.items())
    assert f"lists all {len(rows('.sources'))} decisions" in card
    kinds = Counter(row["tail_type"] for row in facts if row["relation"] == "caused by")
    pathogens, genes, others = kinds["Organism"], kinds["Cell or Molecular Dysfunction"], kinds["Finding"]
    assert f"{pathogens} are pathogens, {genes} changes of a gene and {others} others" in card
    text = (FOLDER.parents[1] / "docs" / "files.md").read_text(encoding="utf-8")
    assert f"`clinical-relations` | {len(facts)} facts" in text
    assert f"has {len(rows('.judged'))} drugs of which a page says expressly" in card


def test_a_page_that_opens_states_each_fact_but_those_that_the_card_says_nobody_read() -> None:
    read: defaultdict[tuple[str, ...], list[dict[str, str]]] = defaultdict(list)
    for row in rows(".sources"):
        read[row["head"], row["relation"], row["tail"]].append(row)
    facts = load_bundled("clinical-relations").facts
    for fact in facts:
        places = read[fact.head, fact.relation, fact.tail or ""]
        stating = [row for row in places if row["decision"] == "states"]
        assert has_source(fact) == bool(stating), "a page that nobody opened states nothing"
        for row in places:
            assert row["decision"] == "states" or row["decided_by"] == "editor, page not at hand"
        for row in stating:
            assert row["decided_by"] == "editor, read" or fact.relation == "drugs used in pregnancy"
            assert len(places) == 2 or (row["source"], row["source_id"]) == (fact.source, fact.source_id)
        assert all(one.address.startswith("https://") for one in sources_of(fact))
    days = Counter((row["decided_by"], row["read_on"]) for row in rows(".sources"))
    card = load_card(NAME)
    assert f"{sum(map(has_source, facts))} facts have one" in card
    assert f"on 27 November 2026 for {days['editor, read', '2026-11-27']} of the {len(facts)}:" in card
    assert f"For {days['editor, read', '2026-11-28']} of them the editor read another page on 28 November" in card
    without = [(fact.head, fact.tail) for fact in facts if not has_source(fact)]
    assert without == [("plague", "ciprofloxacin"), ("plague", "gentamicin")]
    assert f"**{len(without)} have no source that was read**: ciprofloxacin and gentamicin in plague" in card
    assert f"- {days['editor, read in a copy', '2026-11-27']} (tuberculosis," in card
    by = Counter(row["source"] for row in rows(".sources") if row["decision"] == "states")
    assert f"CDC {by['CDC']}, NHLBI {by['NHLBI']}," in card
    assert (
        f"other web pages {by['web page']}, PubMed Central {by['PubMed Central']}, NCBI Bookshelf {by['NCBI Bookshelf']}."
        in card
    )


@pytest.mark.parametrize(
    ("head", "tail"),
    [
        ("gastric cancer", "smoking"),
        ("stroke", "diabetes mellitus"),
        ("stroke", "radon exposure"),
        ("cirrhosis", "hepatitis B virus infection"),
        ("pulmonary embolism", "computed tomography"),
        ("celiac disease", "upper endoscopy"),
        ("myocardial infarction", "electrocardiography"),
        ("iron deficiency anemia", "colonoscopy"),
        ("infectious mononucleosis", "Toxoplasma gondii"),
        ("hemochromatosis", "HBB gene mutations"),
        ("finasteride", "heart failure"),
        ("clopidogrel", "gastrointestinal bleeding"),
        ("methotrexate", "leukopenia"),
        ("vancomycin", "hearing loss"),
        ("gentamicin", "pulmonary fibrosis"),
        ("interferon alfa", "hypoglycemia"),
        ("prednisone", "hypoglycemia"),
        ("MMR vaccine", "subacute sclerosing panencephalitis"),
        ("influenza vaccine", "pneumococcal pneumonia"),
        ("rifampin", "anaplasmosis"),
        ("prednisone", "Kimura disease"),
        ("deep vein thrombosis", "aspirin"),
        ("surgical removal", "loiasis"),
        ("MMR vaccine", "genital warts"),
        ("varicella vaccine", "measles"),
        ("immune globulin", "dermatomyositis"),
        ("stem cell transplantation", "thalassemia"),
        ("toxoplasmosis", "trimethoprim-sulfamethoxazole"),
        ("chlamydia", "erythromycin"),
        ("pubic lice", "trimethoprim-sulfamethoxazole"),
    ],
)
def test_what_a_clinician_could_defend_is_never_called_false(head: str, tail: str) -> None:
    known = load_bundled("clinical-relations").known
    assert known.entity(tail) in known.linked(head)


def test_the_relations_that_came_later_left_the_draws_of_the_first_as_they_were() -> None:
    collection = load_bundled("clinical-relations")
    also = [(row["head"], tail) for row in rows(".also-true") if row["relation"] in FIRST for tail in row["tail"].split(" | ")]
    facts = tuple(fact for fact in collection.facts if fact.relation in FIRST)
    alone = replace(collection, facts=facts, known=KnowledgeBase(facts, also_true=tuple(also)))
    assert len(facts) == 221
    for seed in (0, 1, 7):
        with_all, as_before = grouping(collection, 1, seed, NEAR), grouping(alone, 1, seed, NEAR)
        assert [with_all(fact) for fact in facts] == [as_before(fact) for fact in facts]


def test_an_adverse_effect_is_a_specific_one() -> None:
    tails = {row["tail"] for row in rows() if row["relation"] == "adverse effects"}
    assert tails.isdisjoint(UNSPECIFIC)


def test_first_choices_and_drugs_in_pregnancy_are_said_of_a_country_and_year_and_nothing_else_is() -> None:
    without = Counter[str]()
    for fact in load_bundled("clinical-relations").facts:
        if fact.region is None:
            assert fact.as_of is None
            without[fact.relation] += 1
        else:
            assert fact.relation in ("first choice for", "drugs used in pregnancy")
            assert fact.region == "United States"
            assert 1998 <= int(fact.as_of or "") <= 2024
    assert without["first choice for"] == 0
    assert without["drugs used in pregnancy"] == 12, "those that came first"


def test_what_pregnant_women_do_not_get_is_drawn_where_a_source_says_so() -> None:
    collection = load_bundled("clinical-relations")
    group = grouping(collection, 1, 0, JUDGED)
    drawn = {(false.head, false.tail) for fact in collection.facts for false in group(fact)[1:] if false.difficulty == JUDGED}
    assert drawn == {(row["head"], row["tail"]) for row in rows(".judged")}
    assert ("deep vein thrombosis", "warfarin") in drawn
