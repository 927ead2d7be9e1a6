"""safety-core: its card and its files agree, each fact was read at its source, and no false partner may be true."""

from collections import Counter
from functools import partial

import pytest
from bundled_sets import SEEDS, draw_negatives, load_card, load_rows

from medfact.datasets import load_bundled
from medfact.datasets.bundled import FOLDER
from medfact.datasets.sources import independent, sources_of
from medfact.languages import load_language
from medfact.prototypes import load_pool

NAME = "safety-core"
rows = partial(load_rows, NAME)
drawn = partial(draw_negatives, NAME)


CONTRAINDICATED, COMBINED, VACCINES = "contraindicated in", "must not be combined with", "contraindicated vaccines"


def test_the_card_and_the_documents_say_what_the_files_hold() -> None:
    card, facts = load_card(NAME), rows()
    by = Counter(row["source"] for row in facts)
    assert f"{by['FDA label: contraindicated']} facts. `source_id` is where DailyMed" in card
    assert f"{by['CDC: decision support for vaccines']} facts. `source_id` is the disease" in card
    assert f"{by['ANSM: thesaurus of interactions']} facts: pairs of which" in card
    groups = Counter(row["tail"] for row in facts)
    assert f"{groups['pregnancy']} are of pregnancy, {groups['breastfeeding']} of breastfeeding" in card
    text = (FOLDER.parents[1] / "docs" / "files.md").read_text(encoding="utf-8")
    assert f"`safety-core` | {len(facts)} facts where a wrong answer harms" in text


def test_every_fact_was_read_at_a_source_that_opens() -> None:
    read = {(row["head"], row["relation"], row["tail"], row["source_id"]): row for row in rows(".sources")}
    for fact in load_bundled("safety-core").facts:
        row = read[fact.head, fact.relation, fact.tail or "", fact.source_id or ""]
        assert (row["decision"], row["decided_by"]) == ("states", "editor, read")
        assert sources_of(fact)[0].address.startswith("https://")


def test_what_only_frances_agency_says_is_said_of_france_as_of_its_edition_and_labels_are_undated() -> None:
    """A vaccine beside a drug has a second source, CDC's rules, so that it is said of everybody."""
    for fact in load_bundled("safety-core").facts:
        of_ansm = fact.source == "ANSM: thesaurus of interactions"
        assert fact.as_of == ("2020" if of_ansm else None)
        assert fact.region == ("France" if of_ansm and independent(sources_of(fact)) == 1 else None)
        assert (fact.region is not None) == (fact.relation == COMBINED)
    assert all(false.region == "France" for false in drawn(0) if false.relation == COMBINED)
    texts = [text.text for text in load_pool("medfact").statements(drawn(0)) if text.fact.relation == COMBINED]
    assert len(texts) == 127 * 8
    assert all(text.startswith("In France, ") for text in texts)


def test_a_vaccine_has_sentences_of_its_own_that_nobody_takes_it_in() -> None:
    """Each false partner is a vaccine that CDC's rules recommend to the patients who get the drug."""
    vaccines = {row["tail"] for row in rows() if row["relation"] == VACCINES} | {row["tail"] for row in rows(".judged")}
    assert not vaccines & {row["tail"] for row in rows() if row["relation"] == COMBINED}
    partners = {seed: [false for false in drawn(seed) if false.relation == VACCINES] for seed in SEEDS}
    for seed, false in partners.items():
        assert len(false) == 11
        assert {one.source for one in false} == {"CDC: decision support for vaccines"}
        assert len({one.tail for one in false}) > 2, seed
    true = next(fact for fact in load_bundled("safety-core").facts if fact.relation == VACCINES and fact.head == "tacrolimus")
    english = {one.variant: one.text for one in load_pool("medfact").statements([true])}
    assert english["ins"] == "In patients treated with tacrolimus, the yellow fever vaccine is contraindicated."
    assert english["inv"] == "Vaccines contraindicated during treatment with tacrolimus include the yellow fever vaccine."
    for code, text in OF_TACROLIMUS.items():
        assert {one.variant: one.text for one in load_language(code).pool.statements([true])}["ins"] == text


OF_TACROLIMUS = {
    "es": "En los pacientes tratados con tacrolimus, la administración de la vacuna contra la fiebre amarilla está "
    "contraindicada.",
    "fr": "Chez les patients traités par tacrolimus, l'administration du vaccin contre la fièvre jaune est contre-indiquée.",
    "de": "Bei Patienten, die mit Tacrolimus behandelt werden, ist der Gelbfieber-Impfstoff kontraindiziert.",
    "zh": "对于正在接受他克莫司治疗的患者，黄热病疫苗是禁用疫苗。",
}


def test_a_pair_stands_once_whichever_drug_is_named_first() -> None:
    pairs = Counter(frozenset((row["head"], row["tail"])) for row in rows() if row["relation"] == COMBINED)
    assert set(pairs.values()) == {1}


@pytest.mark.parametrize(
    ("head", "tail"),
    [
        ("enalapril", "pregnancy"),
        ("atorvastatin", "pregnancy"),
        ("yellow fever vaccine", "pregnancy"),
        ("propranolol", "severe heart failure"),
        ("metformin", "acute liver failure"),
        ("prednisone", "peptic ulcer"),
        ("citalopram", "epilepsy"),
        ("ribavirin", "congenital long QT syndrome"),
        ("colchicine", "ketoconazole"),
        ("warfarin", "clarithromycin"),
        ("eletriptan", "ketoconazole"),
        ("dabigatran", "rifampicin"),
        ("amiodarone", "bleomycin"),
        ("citalopram", "congenital long QT syndrome"),
    ],
)
def test_what_a_class_or_a_caution_makes_arguable_is_never_called_false(head: str, tail: str) -> None:
    known = load_bundled("safety-core").known
    assert known.entity(tail) in known.linked(head) | known.learned_entities(head)
