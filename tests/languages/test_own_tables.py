"""Tables in other languages than English: the language they are in, and their sentences, each read and written down by hand."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import pytest

from medfact.datasets import load, load_bundled
from medfact.errors import Mistake
from medfact.facts import name_key
from medfact.languages import language_of, load_language
from medfact.languages.pool import _without_accents
from medfact.prototypes import load_pool
from medfact.runs.plan import plan
from medfact.runs.pool import asked_as_written
from medfact.spec import RunSpec
from medfact.store import Plan

TABLES = {
    "es": [
        ("Hipotiroidismo", "Sintoma", "Intolerancia al frio"), ("Hipotiroidismo", "Tratamiento", "Levotiroxina"),
        ("Migraña", "Sintoma", "Fotofobia"), ("Migraña", "Tratamiento", "Sumatriptan"),
        ("Crisis asmatica", "Sintoma", "Sibilancias"), ("VIH", "Tratamiento", "Dolutegravir"),
        ("Culebrilla", "Sintoma", "Vesiculas en un dermatoma"), ("Escarlatina", "Etiologia", "Streptococcus pyogenes"),
        ("Culebrilla", "Etiologia", "Virus varicela zoster"),
    ],
    "fr": [
        ("hypothyroïdie", "symptôme", "frilosité"), ("hypothyroïdie", "traitement", "lévothyroxine"),
        ("HTA", "traitement", "amlodipine"), ("AVC", "symptômes", "hémiplégie"),
        ("BPCO", "facteur de risque", "tabagisme"), ("embolie pulmonaire", "facteur de risque", "immobilisation prolongée"),
        ("hernie discale", "symptôme", "sciatique"),
    ],
    "de": [
        ("Grauer Star", "Operation", "Phakoemulsifikation"), ("Akute Appendizitis", "Operation", "Appendektomie"),
        ("Pfeiffersches Drüsenfieber", "Symptom", "Lymphknotenschwellung"), ("Keuchhusten", "Symptom", "nächtlicher Husten"),
        ("Bandscheibenvorfall", "Symptom", "Taubheit im Bein"), ("Gürtelrose", "Symptom", "einseitiger Hautausschlag"),
        ("Xerbolk", "Symptom", "Himbeerzunge"),
    ],
    "zh": [
        ("带状疱疹", "症状", "单侧皮疹"), ("慢阻肺", "症状", "咳痰"), ("痛风", "药物治疗", "别嘌醇"),
        ("偏头痛", "药物治疗", "舒马普坦"),
    ],
}  # fmt: skip
"""Tables as clinicians might write them: without accents, with capitals, with names that nobody translated."""

SENTENCES = {
    "es": [
        "La intolerancia al frío es un síntoma o signo reconocido del hipotiroidismo.",
        "Las sibilancias son un síntoma o signo reconocido de la crisis asmatica.",
        "Las vesiculas en un dermatoma son un síntoma o signo reconocido de la culebrilla.",
        "El VIH es una de las afecciones que se tratan con dolutegravir en los pacientes.",
        "Las causas reconocidas de la escarlatina incluyen Streptococcus pyogenes.",
        "El virus varicela zoster no es una causa reconocida de la culebrilla.",
    ],
    "fr": [
        "La frilosité est un symptôme ou signe reconnu de l'hypothyroïdie.",
        "Chez les patients atteints d'HTA, on utilise l'amlodipine pour traiter l'affection.",
        "Les symptômes et signes reconnus de l'AVC comprennent l'hémiplégie.",
        "Le tabagisme est un facteur de risque reconnu de la BPCO.",
        "La sciatique n'est pas un symptôme ou signe reconnu de la hernie discale.",
    ],
    "de": [
        "Die Phakoemulsifikation ist ein Verfahren, das zur Behandlung des grauen Stars durchgeführt wird.",
        "Bei Patienten mit akuter Appendizitis wird Appendektomie zur Behandlung der Erkrankung durchgeführt.",
        "Lymphknotenschwellung ist ein bekanntes Symptom oder Zeichen des pfeifferschen Drüsenfiebers.",
        "Nächtlicher Husten ist kein bekanntes Symptom oder Zeichen des Keuchhustens.",
        "Der Bandscheibenvorfall zählt zu den Erkrankungen, zu deren bekannten Symptomen und Zeichen bei Patienten Taubheit im "
        "Bein gehört.",
        "Himbeerzunge ist ein bekanntes Symptom oder Zeichen von Xerbolk.",
    ],
    "zh": ["单侧皮疹是带状疱疹的公认症状或体征。", "在慢阻肺患者中，咳痰不是该病症的公认症状或体征。"],
}
"""Language → statements among those of its table."""


def table_of(folder: Path, rows: list[tuple[str, str, str]], **settings: Any) -> tuple[RunSpec, Any]:
    file = folder / "own.csv"
    with file.open("w", encoding="utf-8", newline="") as out:
        csv.writer(out).writerows([("head", "relation", "tail"), *rows])
    spec = RunSpec("", facts=str(file), **{"shots": 0, "limit": 50, "negatives": 0, **settings})
    return spec, load(spec)


def asked(folder: Path, rows: list[tuple[str, str, str]], **settings: Any) -> Plan:
    spec, collection = table_of(folder, rows, **settings)
    return plan(asked_as_written(spec, collection), collection)


@pytest.mark.parametrize("language", TABLES)
def test_a_table_is_told_by_its_words_and_asked_in_its_language(language: str, tmp_path: Path) -> None:
    planned = asked(tmp_path, TABLES[language])
    texts = {item.statement.text for item in planned.statements}
    assert len(texts) == 8 * len(TABLES[language])
    assert set(SENTENCES[language]) <= texts
    assert {item.statement.pool for item in planned.statements} == {f"medfact-{language}"}
    assert any(note.startswith("Asked in ") and "as the table is; " in note for note in planned.notes)


def test_names_that_nobody_translated_are_counted_once(tmp_path: Path) -> None:
    rows = [("sarampión", "síntoma", "manchas de Koplik"), ("agua en el pulmón", "síntoma", "falta de aire nocturna")]
    said = "Asked in Spanish, as the table is; 2 names stand as written. 2 of 2 true facts can be asked in this language."
    assert said in asked(tmp_path, rows).notes


@pytest.mark.parametrize("name", ["clinical-core", "core-medicine", "rare-core", "safety-core", "clinical-relations"])
def test_rows_in_english_are_told_as_english(name: str, tmp_path: Path) -> None:
    facts = [fact for fact in load_bundled(name).facts if fact.positive and fact.tail]
    for begin in range(0, min(len(facts), 300), 6):
        rows = [(fact.head, fact.relation, str(fact.tail)) for fact in facts[begin : begin + 6]]
        assert language_of(table_of(tmp_path, rows)[1]) == "en", rows


def test_english_that_is_chosen_for_another_language_is_said(tmp_path: Path) -> None:
    spec, collection = table_of(tmp_path, TABLES["es"])
    planned = plan(spec, collection)
    assert {item.statement.pool for item in planned.statements} == {"medfact"}
    assert any("The table is in Spanish, and is asked in English" in note for note in planned.notes)


def test_what_cannot_be_asked_in_a_language_has_its_true_reason(tmp_path: Path) -> None:
    rows = [
        ("asthma", "symptoms", "wheezing"), ("gout", "symptoms", "a very odd toe"), ("gout", "symptoms", "podagra"),
        ("migraine", "symptoms", "seeing kites"),
    ]  # fmt: skip
    (said,) = [note for note in asked(tmp_path, rows, asked_in="es").notes if "can be asked" in note]
    assert said.startswith("2 of 4 true facts")
    assert said.endswith("Not asked: 2 names have no Spanish name yet: a very odd toe, seeing kites.")
    spec, collection = table_of(tmp_path, TABLES["es"], asked_in="fr")
    with pytest.raises(Mistake, match=r"own\.csv can be asked in French.* no French name yet: Hipotiroidismo.*Choose Spanish"):
        plan(spec, collection)


def test_an_operation_among_treatments_is_called_no_medicine(tmp_path: Path) -> None:
    rows = [("apendicitis", "tratamiento", "apendicectomía"), ("migraña", "tratamiento", "sumatriptán")]
    planned = asked(tmp_path, rows)
    assert not any("apendicectomía" in item.statement.text for item in planned.statements)
    assert any("apendicectomía is no medicine; a relation of their own" in note for note in planned.notes)
    names, drugs = load_language("es").names, {f.tail for f in load_bundled("clinical-core").facts if "drugs" in f.relation}
    named = [names[name_key(drug or "")].text for drug in drugs if name_key(drug or "") in names]
    assert len(named) > 200
    assert not [name for name in named if load_language("es").pool.no_drug.search(_without_accents(name))]


def test_worked_examples_are_in_the_language_and_of_other_conditions(tmp_path: Path) -> None:
    planned = asked(tmp_path, TABLES["es"], shots=5, negatives=1)
    shots = [shot.text for group in planned.demonstrations.values() for shot in group]
    assert shots
    assert all({"el", "la", "los", "las", "del", "de"} & set(text.lower().split()) for text in shots)
    assert not [text for text in shots if "migraña" in text.lower() or "hipotiroidismo" in text.lower()]


@pytest.mark.parametrize(
    ("written", "means", "turned"),
    [
        ("síntoma", "symptoms", False), ("Sintomas", "symptoms", False), ("Medikament", "therapeutic drugs", False),
        ("traitement", "therapeutic drugs", False), ("药物治疗", "therapeutic drugs", False),
        ("手术", "surgical procedures", False),
        ("Erreger", "caused by", False), ("facteurs de risque", "risk factors", False),
        ("Nebenwirkungen", "adverse effects", False),
        ("indiziert bei", "therapeutic drugs", True), ("síntoma de", "symptoms", True), ("引起", "caused by", True),
    ],
)  # fmt: skip
def test_relations_are_known_under_their_names_in_four_languages(written: str, means: str, turned: bool) -> None:
    for pool in map(load_pool, ("medfact", "tpeval")):
        if means in pool.relations:
            assert (pool.canonical(written), pool.inverse_of(written)) == ((None, means) if turned else (means, None))
