"""Labels of the three textbook sets: what is arguable is neither true nor false, and the cards say what the files hold."""

from __future__ import annotations

import csv
import re
from collections import Counter
from dataclasses import replace
from functools import cache
from itertools import product
from pathlib import Path

import pytest

from medfact.datasets import bundled_names, grouping, load_bundled
from medfact.facts import Fact, KnowledgeBase
from medfact.negatives import NEAR

FOLDER = Path(__file__).resolve().parents[2] / "assets" / "datasets"
SETS = ("biomedical-core", "clinical-core", "not-indicated")
SEEDS = (0, 1, 7)
Pair = tuple[str, str]

NEVER_FALSE = {
    "not-indicated": """
        thrombocytopenia: fondaparinux | glaucoma: atropine, homatropine, scopolamine | intracranial hemorrhage:
        alteplase, tenecteplase | myasthenia gravis: glycopyrronium bromide | chronic kidney disease: lithium |
        hyperthyroidism: dicycloverine | systemic fungal infection: prednisone, prednisolone,
        methylprednisolone, triamcinolone | asthma: pyridostigmine | ischemic stroke: pravastatin | myocardial
        infarction: pravastatin, amitriptyline | familial hypercholesterolemia: pravastatin | uveitis:
        scopolamine | generalized anxiety disorder: clonazepam | bipolar disorder: clonazepam | type 2 diabetes
        mellitus: rosiglitazone | Parkinson disease: clonazepam | gastrointestinal obstruction: morphine |
        decompensated cirrhosis: simvastatin
    """,
    "clinical-core": """
        arginine vasopressin deficiency: kidney | status epilepticus: postictal confusion | alcohol use
        disorder: impulsivity | opioid use disorder: miosis | typhoid fever: bradycardia | developmental
        dysplasia of the hip: femur | preeclampsia: edema | organophosphate poisoning: kidney, polyuria |
        ethylene glycol poisoning: cognitive impairment | myasthenia gravis: galantamine | acute myeloid
        leukemia: methylprednisolone | systemic sclerosis: benzylpenicillin | systemic lupus erythematosus:
        aorta | amyotrophic lateral sclerosis: hypothalamus | syphilis: synovial membrane | obesity: diaphoresis
        | asthma: salbutamol, formoterol | myocardial infarction: metoprolol | stress urinary incontinence:
        duloxetine | pernicious anemia: liver | acromegaly: confusion | ischemic stroke: aneurysm clipping
    """,
    "biomedical-core": """
        glucocerebrosidase: mitochondrion | insulin receptor: primary cilium | connexin 43: mitochondrial matrix
        | Shank3: nucleus | ghrelin: angiogenesis, fatty acid beta-oxidation | CDK4: apoptosis | tissue factor:
        apoptosis | hepcidin: bone resorption | methotrexate: gout | cirrhosis: microcytosis | aspirin: stroke |
        SRY: apoptosis | retinoblastoma: skin
    """,
}
"""Set → heads with tails that may be true, or are true under conditions."""

NEVER_TRUE = {
    "not-indicated": """
        Clostridioides difficile infection: metronidazole | community-acquired pneumonia: telithromycin |
        irritable bowel syndrome: tegaserod | type 2 diabetes mellitus: rosiglitazone, tolazamide | anxiety
        disorder: meprobamate | muscle spasm: carisoprodol | schizophrenia: thioridazine | anemia of chronic
        kidney disease: daprodustat | endometriosis: danazol | hypertension: polythiazide, hydroflumethiazide |
        asthma: salbutamol, formoterol | obesity: phentermine | beta thalassemia: betibeglogene autotemcel
    """,
    "clinical-core": """
        arginine vasopressin deficiency: hydrochlorothiazide, kidney | status epilepticus: postictal confusion |
        preeclampsia: edema | alcohol use disorder: impulsivity, drug tolerance | opioid use disorder: miosis,
        yawning, piloerection | typhoid fever: bradycardia | developmental dysplasia of the hip: femur | asthma:
        salbutamol, formoterol | HIV infection: abacavir | malaria: quinine | amyotrophic lateral sclerosis:
        edaravone | gonorrhea: cefixime | vertebral compression fracture: kyphoplasty | myocardial infarction:
        metoprolol | sickle cell disease: L-glutamine | obesity: phentermine | Graves disease: carbimazole |
        chronic venous insufficiency: diosmin | osteosarcoma: mifamurtide | gastroparesis: domperidone |
        prolactinoma: quinagolide | stress urinary incontinence: duloxetine
    """,
    "biomedical-core": """
        palivizumab: respiratory syncytial virus bronchiolitis | norfloxacin: spontaneous bacterial peritonitis
        | aspirin: stroke | azithromycin: Mycobacterium avium complex infection | albuterol: asthma
    """,
}
"""Set → heads with tails that are of their time, of one market, contested, or true of another disease."""

NO_LONGER_MARKETED = """
    aprotinin, astemizole, betibeglogene autotemcel, cerivastatin, chlorpropamide, cisapride, daprodustat, dexfenfluramine,
    fenfluramine, gatifloxacin, hydroflumethiazide, lorcaserin, meprobamate, methaqualone, nefazodone, norfloxacin, palivizumab,
    pemoline, pergolide, phenacetin, polythiazide, propoxyphene, ranitidine, rimonabant, rofecoxib, rosiglitazone, sibutramine,
    sitaxentan, tegaserod, telithromycin, terfenadine, thioridazine, tolazamide, tolbutamide, trovafloxacin, troglitazone,
    valdecoxib, voxelotor, ximelagatran, zalcitabine
"""
"""Drugs that were withdrawn or ended in a large market: no treatment of anything."""

IN_COMBINATION_ONLY = """
    carbidopa, cilastatin, clavulanate, elbasvir, elexacaftor, glecaprevir, ledipasvir, lumacaftor, lumefantrine, nirmatrelvir,
    ombitasvir, paritaprevir, pibrentasvir, proguanil, sulbactam, tazobactam, tezacaftor, velpatasvir, vaborbactam, voxilaprevir
"""


def listed(text: str) -> set[Pair]:
    """Pairs from "head: tail, tail | head: tail"."""
    pairs = (entry.split(":") for entry in " ".join(text.split()).split("|"))
    return {(head.strip(), tail.strip()) for head, tails in pairs for tail in tails.split(",")}


def names(text: str) -> set[str]:
    return {name.strip() for name in text.split(",")}


def drug_of(fact: Fact) -> str | None:
    """The side of a fact on which a drug stands, if it has one."""
    return fact.head if fact.relation.startswith("may ") else fact.tail


def rows(file: str) -> list[dict[str, str]]:
    with (FOLDER / file).open(encoding="utf-8", newline="") as opened:
        return list(csv.DictReader(opened))


def true_pairs(name: str) -> set[Pair]:
    return {(fact.head, fact.tail or "") for fact in load_bundled(name).facts if fact.positive}


@cache
def false_facts(name: str, seed: int) -> tuple[Fact, ...]:
    """The false facts that a run with this seed may ask: drawn ones, and those of the files."""
    collection = load_bundled(name)
    group = grouping(collection, 1, seed, NEAR)
    drawn = [false for fact in collection.facts if fact.positive for false in group(fact)[1:]]
    return (*drawn, *(fact for fact in collection.facts if not fact.positive), *collection.known.judged)


@pytest.mark.parametrize(("name", "seed"), list(product(SETS, SEEDS)))
def test_what_may_be_true_is_never_false(name: str, seed: int) -> None:
    arguable = listed(NEVER_FALSE[name]) | (listed(NEVER_TRUE[name]) - true_pairs(name))
    assert not arguable & {(fact.head, fact.tail) for fact in false_facts(name, seed)}


@pytest.mark.parametrize("name", SETS)
def test_what_may_be_true_cannot_be_drawn_with_any_seed(name: str) -> None:
    """Each pair is linked in the tables, where its names are asked at all."""
    known = load_bundled(name).known
    tails = {known.entity(fact.tail or "") for fact in known.facts}
    heads = {known.entity(fact.head) for fact in known.facts}
    for head, tail in listed(NEVER_FALSE[name]):
        if known.entity(head) in heads and known.entity(tail) in tails:
            kin = known.relatives(tail) & {known.entity(one) for one in known.known_tails(head)}
            assert known.entity(tail) in known.linked(head) or kin, (head, tail)


@pytest.mark.parametrize("name", SETS)
def test_what_is_contested_or_of_its_time_is_not_true(name: str) -> None:
    assert not listed(NEVER_TRUE[name]) & true_pairs(name)


@pytest.mark.parametrize("name", SETS)
def test_no_drug_that_is_no_longer_marketed_stands_as_a_treatment(name: str) -> None:
    assert not {drug_of(fact) for fact in load_bundled(name).facts if fact.positive} & names(NO_LONGER_MARKETED)


@pytest.mark.parametrize("name", SETS)
def test_a_drug_that_is_given_in_combination_only_stands_for_no_treatment_alone(name: str) -> None:
    assert not {drug_of(fact) for fact in load_bundled(name).facts} & names(IN_COMBINATION_ONLY)


def test_one_treatment_and_one_symptom_have_one_name() -> None:
    tails = {tail for _, tail in true_pairs("clinical-core")}
    for either, other in (
        ("plasma exchange", "therapeutic plasma exchange"),
        ("intravenous immunoglobulin", "human normal immunoglobulin"),
        ("diaphoresis", "hyperhidrosis"),
    ):
        assert (either in tails, other in tails) == (True, False)


@pytest.mark.parametrize("file", sorted(path.name for path in FOLDER.glob("*.csv")))
def test_no_file_holds_markup_of_the_page_that_it_came_from(file: str) -> None:
    assert not re.search(r"&(?:#\d+|#x[0-9a-f]+|[a-z]+);", (FOLDER / file).read_text(encoding="utf-8"), re.IGNORECASE)


def test_the_source_of_a_label_is_an_address_and_its_words_are_no_caution() -> None:
    """An address can be opened; words have a table of their own, one row for each contraindication of a label."""
    labels = [fact for fact in load_bundled("not-indicated").facts if "FDA" in (fact.source or "")]
    said = {(row["head"], row["tail"]): row["words"] for row in rows("not-indicated.label-words.csv")}
    assert all(re.fullmatch(r"https://dailymed\.nlm\.nih\.gov/\S+", fact.source_id or "") for fact in labels)
    assert said.keys() == {(fact.head, fact.tail) for fact in labels}
    weaker = re.compile(
        r"\bcaution(?:s|ed|ary)?\b|\bcautious|\bwith care\b|not recommended|may be contraindicated", re.IGNORECASE
    )
    assert not [words for words in said.values() if weaker.search(words)]


def test_a_fixed_false_fact_is_denied_by_no_table() -> None:
    """What a set calls false, no set knows as true or arguable under any of its names."""
    knowers = {name: load_bundled(name).known for name in SETS}
    fixed = [f for name in SETS for f in (*knowers[name].judged, *load_bundled(name).facts) if not f.positive]
    assert len(fixed) > 500
    for fact in fixed:
        denied_by = [name for name, known in knowers.items() if known.entity(fact.tail or "") in known.linked(fact.head)]
        assert denied_by == [], (fact.head, fact.tail)


OTHER_RELATIONS = {"safety-core", "clinical-relations"}
"""Sets of other relations: what is contraindicated in a disease, may well be false as a treatment."""


def truths(name: str) -> KnowledgeBase:
    """What a set knows to be true. The further pairs of not-indicated and rare-core are mostly ones that nobody judged."""
    known = load_bundled(name).known
    return known if name in {"biomedical-core", "clinical-core"} else replace(known, also_true=())


@pytest.mark.parametrize(("name", "seed"), list(product((*SETS, "core-medicine"), SEEDS)))
def test_what_another_set_knows_true_of_the_same_names_is_never_drawn(name: str, seed: int) -> None:
    own = load_bundled(name).known
    others = [truths(other) for other in bundled_names() if other not in {name, *OTHER_RELATIONS}]
    for fact in false_facts(name, seed):
        for head, tail, known in product(own.names(fact.head), own.names(fact.tail or ""), others):
            assert known.entity(tail) not in known.linked(head), (head, fact.relation, tail)


@pytest.mark.parametrize("name", ["clinical-core", "biomedical-core"])
def test_a_false_site_is_neither_part_nor_whole_of_a_listed_one(name: str) -> None:
    """Followed through the table by hand, in both directions, from every site that is true of the disease."""
    table = [(row["part"], row["whole"]) for row in rows(f"{name}.part-of.csv")]
    assert all(part != whole for part, whole in table)
    true = {(fact.head, fact.relation, fact.tail) for fact in load_bundled(name).facts}
    sites = {tail for _, _, tail in true}
    assert not [pair for pair in table if not set(pair) <= sites]
    for seed in SEEDS:
        for fact in false_facts(name, seed):
            for kin in (reached(fact.tail or "", table), reached(fact.tail or "", [(whole, part) for part, whole in table])):
                assert not [site for site in kin if (fact.head, fact.relation, site) in true], (fact.head, fact.tail)


def reached(start: str, steps: list[Pair]) -> set[str]:
    """Everything that steps lead to, one or more."""
    found: set[str] = set()
    ahead = {start}
    while ahead := {after for before, after in steps if before in ahead} - found:
        found |= ahead
    return found


@pytest.mark.parametrize(
    ("part", "whole"),
    [
        ("hypothalamus", "brain"),
        ("caudate nucleus", "brain"),
        ("right ventricular outflow tract", "heart"),
        ("retina", "eye"),
        ("bronchus", "respiratory tract"),
        ("sigmoid colon", "large intestine"),
        ("mammillary body", "brain"),
    ],
)
def test_a_part_is_related_to_its_whole(part: str, whole: str) -> None:
    known = load_bundled("clinical-core").known
    sites = {fact.tail for fact in known.facts}
    assert whole not in sites or known.entity(whole) in known.relatives(part)


def test_the_cards_numbers_are_those_of_the_files() -> None:
    """Numbers of facts, heads, tails, sources and further pairs, each counted anew."""
    for name in SETS:
        card = " ".join((FOLDER / f"{name}.md").read_text(encoding="utf-8").split())
        for phrase in _phrases(name):
            assert phrase in card, f"{name}: {phrase}"


def test_the_documentation_has_the_numbers_of_the_files() -> None:
    text = (FOLDER.parents[1] / "docs" / "files.md").read_text(encoding="utf-8")
    for name in ("clinical-core", "biomedical-core"):
        assert re.search(rf"`{name}`(?: \(default\))? \| {len(rows(f'{name}.csv')):,} facts", text)
    positive = [row["positive"] for row in rows("not-indicated.csv")]
    assert f"{positive.count('false')} false facts that would do harm" in text
    assert f"{positive.count('true')} true ones beside them" in text


def _phrases(name: str) -> list[str]:
    facts, also = rows(f"{name}.csv"), rows(f"{name}.also-true.csv")
    further = {row: len(tails.split(" | ")) for row, tails in enumerate(row["tail"] for row in also)}
    true = [row for row in facts if row.get("positive") != "false"]
    false = [row for row in facts if row.get("positive") == "false"]
    by = {source: sum(row["source"] == source for row in facts) for source in {row["source"] for row in facts}}
    of_us = sum(row["source"] == "medfact editors" for row in true)
    if name == "biomedical-core":
        return [
            f"{len(true):,} true facts",
            f"{sum(further.values()):,} pairs that are also true",
            f"{len(true) - of_us} of them name such a table",
            f"{of_us} ({100 * of_us / len(true):.0f} %) have the source",
            f"{len(rows('biomedical-core.part-of.csv'))} pairs of a part and its whole",
        ]
    if name == "not-indicated":
        return [
            f"{len(false)} false facts of the relation",
            f"{len(true)} true ones, about {len({row['head'] for row in facts})} diseases",
            f"{by['FDA label: contraindicated']} pairs that a label approved by the FDA",
            f"{by['medfact editors (contraindicated)']} pairs in which",
            f"{len(true)} true facts: PharmacotherapyDB (CC0) {by['PharmacotherapyDB']}, LabeledIn (public domain) "
            f"{by['LabeledIn']}, medfact editors {of_us}",
        ]
    return [
        f"{len(true) - of_us} facts (LabeledIn {by['LabeledIn']}, public domain; "
        f"PharmacotherapyDB {by['PharmacotherapyDB']}, CC0",
        f"The other {of_us:,} have the source",
        f"{len(rows('clinical-core.part-of.csv'))} pairs of a part and its whole",
    ]


def test_the_card_of_not_indicated_counts_what_was_read() -> None:
    card = " ".join((FOLDER / "not-indicated.md").read_text(encoding="utf-8").split())
    read, facts = rows("not-indicated.sources.csv"), rows("not-indicated.csv")
    by = Counter(row["decision"] for row in read)
    later = Counter(row["source"] for row in read if row["read_on"] == "2026-11-28")
    false = [row for row in facts if row["positive"] == "false"]
    of_us = sum(row["source"] == "medfact editors (contraindicated)" for row in false)
    for phrase in (
        f"All {len(false)} false facts name a label or page",
        f"{len(false) - of_us} the label that they were taken from, the other {of_us} a page that an editor read",
        f"For {later.total()} of these that was on 28 November 2026: {later['PubMed']} abstracts at PubMed, "
        f"{later['article'] + later['PubMed Central']} articles elsewhere, {later['web page']} pages of other sites, "
        f"{later['CDC']} of CDC and {later['NCBI Bookshelf']} of NCBI's bookshelf",
        f"read {len(read)} places for what is in the set: {by['states']} state the fact, {by['does not state']} do not, "
        f"{by['repeats']} repeats another source, none denies one",
    ):
        assert phrase in card, phrase


def test_false_facts_that_left_not_indicated_are_listed_and_neither_asked_nor_drawn_nor_true() -> None:
    card = " ".join((FOLDER / "not-indicated.md").read_text(encoding="utf-8").split())
    every = rows("not-indicated.withdrawn.csv")
    left = [row for row in every if row["why"] != "the label has changed"]
    assert [(row["head"], row["tail"]) for row in every if row not in left] == [("congenital long QT syndrome", "citalopram")]
    assert "congenital long QT syndrome – citalopram is" in card
    listed_there = re.search(r"Left because no source plainly says so: (.*?)\.", card)
    pairs = {(row["head"], row["tail"]) for row in left}
    assert pairs == {tuple(pair.split(" – ")) for pair in listed_there[1].split("; ")}
    why = Counter(row["why"] for row in left)
    assert f"{len(left)} false facts left the set" in card
    assert f"for {why['no source found']} no page was found, for {why['sources disagree']} pages disagree, " in card
    assert f"and for {why['no plain source']} what was found speaks of a similar condition" in card
    ids = {fact.fact_id: fact for fact in load_bundled("not-indicated").facts if fact.positive}
    for row in left:
        partner = ids.get(row["negative_of"])
        assert partner.head == row["head"] if partner else not row["negative_of"], "its partner is still a true fact"
    alone = {row["negative_of"] for row in left} - {fact.negative_of for fact in load_bundled("not-indicated").facts} - {""}
    assert f"the {len(alone)} true facts that were paired with one of them have no false partner now" in card
    assert not pairs & {(row["head"], row["tail"]) for row in rows("not-indicated.csv")}
    assert not pairs & {pair for name in bundled_names() for pair in true_pairs(name)}
    for seed in SEEDS:
        asked = false_facts("not-indicated", seed)
        assert not pairs & {(fact.head, fact.tail) for fact in asked}
        assert not alone & {fact.negative_of for fact in asked}, "nobody read what would be drawn in their place"


def test_what_a_card_says_is_left_out_is_not_in_the_file() -> None:
    """The card of not-indicated names pairs as "disease – drug"; none of them is a fact, and none may be drawn."""
    card = " ".join((FOLDER / "not-indicated.md").read_text(encoding="utf-8").split())
    left_out = re.search(r"Left out as arguable: (.*?)\.", card)
    pairs = {(head.strip(), tail.strip()) for head, tail in (pair.split(" – ") for pair in left_out[1].split(";"))}
    assert ("chronic kidney disease", "lithium") in pairs
    assert not pairs & {(row["head"], row["tail"]) for row in rows("not-indicated.csv")}
    for seed in SEEDS:
        assert not pairs & {(fact.head, fact.tail) for fact in false_facts("not-indicated", seed)}
