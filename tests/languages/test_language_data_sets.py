"""The data sets beside clinical-core in other languages: what can be asked, how it reads, and what no name may do."""

from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from itertools import product

import pytest

from medfact.assets import language_codes
from medfact.datasets import load_bundled
from medfact.facts import Fact
from medfact.facts import name_key as key
from medfact.languages import load_language
from medfact.statements import IMPLICATIONS, VARIANTS

SETS = ("rare-core", "safety-core", "clinical-relations", "core-medicine")
CODES = [code for code in language_codes() if code != "en"]
ROMANCE = ("es", "fr")

ALL_SETS = ("clinical-core", *SETS)

ASKED = {"clinical-core": 1_800, "rare-core": 3_950, "safety-core": 359, "clinical-relations": 512, "core-medicine": 1_240}
"""True facts that can be asked at least in each language, of 4,014, 361, 522 and 1,241."""

ASPIRATED = ("hernie", "hyalinose")
"""Words of French before which nothing is elided."""

STRESSED = ("asma", "habla")
"""Feminine nouns of Spanish that take "el", because they begin with a stressed a."""

INTERACTION = "must not be combined with"


@cache
def true_facts(dataset: str) -> tuple[Fact, ...]:
    return tuple(fact for fact in load_bundled(dataset).facts if fact.positive)


def kinds(dataset: str) -> Iterator[set[str]]:
    """Keys of entities that stand in each other's place: heads, tails of a relation, drugs of both sides of an interaction."""
    facts = true_facts(dataset)
    heads = {key(fact.head) for fact in facts}
    relations = {fact.relation for fact in facts}
    tails = {relation: {key(fact.tail or "") for fact in facts if fact.relation == relation} for relation in relations}
    yield heads | tails.pop(INTERACTION, set())
    yield from tails.values()


@pytest.mark.parametrize(("code", "dataset"), list(product(CODES, ALL_SETS)))
def test_nearly_all_facts_of_the_set_can_be_asked(code: str, dataset: str) -> None:
    assert len(load_language(code).pool.statable_facts(true_facts(dataset))) >= ASKED[dataset]


@pytest.mark.parametrize(("code", "dataset"), list(product(CODES, ALL_SETS)))
def test_no_two_entities_that_may_be_exchanged_share_a_name(code: str, dataset: str) -> None:
    """Capitals do not tell names apart: DTPa and dTpa are one name to a reader."""
    names = load_language(code).names
    for kind in kinds(dataset):
        texts = [names[entity].text.casefold() for entity in kind if entity in names]
        assert len(texts) == len(set(texts))


def stems(code: str, name: str) -> Iterator[str]:
    """What of a name stands in every sentence with it: German words lose their endings."""
    yield from (word[:-2].lower() for word in name.split()) if code == "de" else (name.lower(),)


@pytest.mark.parametrize(("code", "dataset"), list(product(CODES, ALL_SETS)))
def test_all_eight_statements_name_both_ends_and_have_no_mark(code: str, dataset: str) -> None:
    pool = load_language(code).pool
    for fact in pool.statable_facts(true_facts(dataset))[::23]:
        statements = {one.variant: one for one in pool.statements([fact])}
        assert list(statements) == list(IMPLICATIONS)
        assert len({one.text for one in statements.values()}) == 8
        for one in statements.values():
            assert not set("[]{}|~") & set(one.text)
            assert "  " not in one.text
            assert one.text.endswith((".", "。"))
            assert one.label is not VARIANTS[one.variant].negated
            for end in (fact.head, fact.tail or ""):
                assert all(stem in one.text.lower() for stem in stems(code, pool.names[key(end)].text))


def test_french_articles_are_elided_before_a_vowel_and_only_there() -> None:
    def vowel(text: str) -> bool:
        return text[0] in "aâàeéèêëiîïoôœuûy" or (text[0] == "h" and not text.startswith(ASPIRATED))

    for entity in sorted({entity for dataset in SETS for kind in kinds(dataset) for entity in kind}):
        name = load_language("fr").names.get(entity)
        if name is not None and name.article in {"le", "la", "l'"}:
            assert (name.article == "l'") is vowel(name.text.lower()), name.text


def test_articles_have_the_gender_and_number_of_their_name() -> None:
    spanish = {("masculine", False): "el", ("feminine", False): "la", ("masculine", True): "los", ("feminine", True): "las"}
    french = {"le": ("masculine", False), "la": ("feminine", False)}
    for entity in {entity for dataset in SETS for kind in kinds(dataset) for entity in kind}:
        es, fr = (load_language(code).names.get(entity) for code in ROMANCE)
        if es is not None and es.article and es.text.split()[0] not in STRESSED:
            assert es.article == spanish[es.gender, es.plural], es.text
        if fr is not None and fr.article in french:
            assert (fr.gender, fr.plural) == french[fr.article], fr.text
        if fr is not None:
            assert (fr.article == "les") is fr.plural, fr.text


SAID = [
    ("es", "rare-core", "Angelman syndrome", "Inappropriate laughter", "ins",
     "En los pacientes con síndrome de Angelman, la risa inapropiada es un hallazgo frecuente de la enfermedad."),
    ("fr", "rare-core", "Angelman syndrome", "Inappropriate laughter", "ins",
     "Chez les patients atteints du syndrome d'Angelman, le rire inapproprié est une manifestation fréquente de la maladie."),
    ("es", "rare-core", "Werner syndrome", "WRN gene", "dn", "El gen WRN no se asocia al síndrome de Werner."),
    ("fr", "rare-core", "Werner syndrome", "WRN gene", "none", "Le gène WRN est associé au syndrome de Werner."),
    ("es", "safety-core", "methotrexate", "breastfeeding", "none",
     "El uso del metotrexato está contraindicado en la lactancia materna."),
    ("fr", "safety-core", "methotrexate", "breastfeeding", "dn",
     "L'utilisation du méthotrexate n'est pas contre-indiquée pendant l'allaitement."),
    ("es", "safety-core", "nitroglycerin", "riociguat", "ins+dn",
     "En Francia, en los pacientes que ya reciben riociguat, el uso de la nitroglicerina no está contraindicado."),
    ("fr", "safety-core", "voriconazole", "St John's wort", "ins",
     "En France, chez les patients déjà traités par millepertuis, l'utilisation du voriconazole est contre-indiquée."),
    ("es", "clinical-relations", "anthrax", "Bacillus anthracis", "inv+dn",
     "Las causas reconocidas del carbunco no incluyen Bacillus anthracis."),
    ("fr", "clinical-relations", "anthrax", "Bacillus anthracis", "inv+ins",
     "La maladie du charbon est l'une des affections dont Bacillus anthracis est une cause reconnue chez les patients."),
    ("es", "clinical-relations", "glaucoma", "tonometry", "inv+ins",
     "El glaucoma es una de las afecciones para las que la tonometría se usa como prueba diagnóstica en los pacientes."),
    ("fr", "clinical-relations", "glaucoma", "tonometry", "ins+dn",
     "En cas de suspicion de glaucome chez les patients, la tonométrie ne sert pas à diagnostiquer l'affection."),
    ("es", "clinical-relations", "lung cancer", "radon exposure", "none",
     "La exposición al radón es un factor de riesgo reconocido del cáncer de pulmón."),
    ("fr", "clinical-relations", "lung cancer", "radon exposure", "inv",
     "Les facteurs de risque reconnus du cancer du poumon comprennent l'exposition au radon."),
    ("de", "safety-core", "methotrexate", "breastfeeding", "none", "Methotrexat ist in der Stillzeit kontraindiziert."),
    ("de", "safety-core", "conjugated estrogens", "pregnancy", "ins+dn",
     "In der Behandlung von Patienten sind konjugierte Estrogene in der Schwangerschaft nicht kontraindiziert."),
    ("de", "safety-core", "conjugated estrogens", "deep vein thrombosis", "inv",
     "Zu den Arzneimitteln, die bei tiefer Venenthrombose kontraindiziert sind, gehören konjugierte Estrogene."),
    ("de", "safety-core", "nitrofurantoin", "newborn infants", "inv+ins+dn",
     "Unter den Arzneimitteln für Patienten gehört Nitrofurantoin nicht zu denen, die bei Neugeborenen kontraindiziert sind."),
    ("de", "safety-core", "varicella vaccine", "severe combined immunodeficiency", "none",
     "Der Varizellen-Impfstoff ist bei schwerem kombiniertem Immundefekt kontraindiziert."),
    ("de", "safety-core", "methotrexate", "yellow fever vaccine", "ins",
     "Bei Patienten, die mit Methotrexat behandelt werden, ist der Gelbfieber-Impfstoff kontraindiziert."),
    ("de", "safety-core", "nitroglycerin", "riociguat", "inv+ins",
     "In Frankreich gilt: Riociguat gehört zu den Arzneimitteln, mit denen zusammen Glyceroltrinitrat bei Patienten "
     "kontraindiziert ist."),
    ("de", "clinical-relations", "peptic ulcer", "Helicobacter pylori", "dn",
     "Helicobacter pylori ist keine bekannte Ursache des peptischen Ulkus."),
    ("de", "clinical-relations", "vesicoureteral reflux", "voiding cystourethrogram", "ins",
     "Bei Patienten mit Verdacht auf vesikoureteralen Reflux wird die Miktionszystourethrographie zur Diagnose der Erkrankung "
     "eingesetzt."),
    ("de", "clinical-relations", "infective endocarditis", "artificial heart valve", "none",
     "Künstliche Herzklappen sind ein bekannter Risikofaktor für die infektiöse Endokarditis."),
    ("zh", "safety-core", "methotrexate", "breastfeeding", "none", "甲氨蝶呤是哺乳期的禁用药物。"),
    ("zh", "safety-core", "rotavirus vaccine", "history of intussusception", "inv+ins+dn",
     "在用于患者的药物中，有肠套叠病史者的禁用药物不包括轮状病毒疫苗。"),
    ("zh", "safety-core", "nitroglycerin", "riociguat", "ins+dn", "在法国，对于正在使用利奥西呱的患者，硝酸甘油不是禁用药物。"),
    ("zh", "safety-core", "voriconazole", "St John's wort", "inv", "在法国，禁止与圣约翰草合用的药物包括伏立康唑。"),
    ("zh", "clinical-relations", "anthrax", "Bacillus anthracis", "inv+dn", "炭疽的公认病因不包括炭疽芽孢杆菌。"),
    ("zh", "clinical-relations", "achalasia", "esophageal manometry", "ins+dn",
     "在疑似贲门失弛缓症的患者中，食管测压不用于诊断该病症。"),
    ("zh", "clinical-relations", "lung cancer", "radon exposure", "inv+ins",
     "在患者中，肺癌是以氡暴露为公认危险因素的病症之一。"),
    ("es", "clinical-relations", "colchicine", "familial Mediterranean fever attacks", "inv+ins+dn",
     "Las crisis de fiebre mediterránea familiar no son una de las afecciones que se previenen con la colchicina en los "
     "pacientes."),
    ("fr", "clinical-relations", "inhaled corticosteroids", "oral thrush", "inv+ins",
     "Les corticoïdes inhalés sont l'un des médicaments dont le muguet buccal est un effet indésirable reconnu chez les "
     "patients."),
    ("de", "clinical-relations", "phlebotomy", "hemochromatosis type 1", "ins+dn",
     "In den Vereinigten Staaten gilt: Bei Patienten mit Hämochromatose Typ 1 ist der Aderlass keine Therapie der ersten "
     "Wahl für die Erkrankung."),
    ("zh", "clinical-relations", "chickenpox", "valacyclovir", "ins", "在美国，在患有水痘的孕妇中，伐昔洛韦用于治疗该病症。"),
    ("es", "clinical-relations", "tuberculosis", "rifampin", "inv",
     "En los Estados Unidos, los medicamentos que se usan en el embarazo para tratar la tuberculosis incluyen la rifampicina."),
    ("fr", "core-medicine", "ventricular fibrillation", "defibrillation", "ins",
     "Chez les patients présentant une fibrillation ventriculaire, on pratique la défibrillation pour traiter l'affection."),
    ("de", "core-medicine", "measles", "Koplik spot", "none",
     "Koplik-Flecken sind ein bekanntes Symptom oder Zeichen der Masern."),
    ("zh", "core-medicine", "measles", "Koplik spot", "inv", "麻疹的公认症状和体征包括Koplik斑。"),
    ("fr", "was-true", "vaginal progesterone", "preterm birth", "dn",
     "Aux États-Unis, pendant la grossesse, la progestérone vaginale ne sert pas à prévenir la prématurité."),
    ("de", "was-true", "vaginal progesterone", "preterm birth", "none",
     "In den Vereinigten Staaten gilt in der Schwangerschaft: Vaginales Progesteron wird zur Prävention von Frühgeburtlichkeit "
     "eingesetzt."),
    ("de", "was-true", "vertigo", "betahistine", "none",
     "In der Europäischen Union gilt: Betahistin ist ein Medikament, das zur Behandlung von Drehschwindel eingesetzt wird."),
]  # fmt: skip


@pytest.mark.parametrize(("code", "dataset", "head", "tail", "variant", "text"), SAID)
def test_a_fact_says_what_it_says_in_english(code: str, dataset: str, head: str, tail: str, variant: str, text: str) -> None:
    fact = next(fact for fact in true_facts(dataset) if (fact.head, fact.tail) == (head, tail))
    assert {one.variant: one.text for one in load_language(code).pool.statements([fact])}[variant] == text


@pytest.mark.parametrize("code", CODES)
def test_places_and_groups_of_the_bundled_sets_have_words_and_others_are_not_asked(code: str) -> None:
    pool = load_language(code).pool
    facts = load_bundled("was-true").facts
    assert pool.statable_facts(facts) == facts
    for bound in ("European Union", "France", "United States"):
        fact = replace(facts[0], region=bound)
        assert all(one.text.startswith(pool.blank.words_before(fact)) for one in pool.statements([fact]))


GIVEN_AWAY = [
    ("varicella-zoster virus", "es"),  # of varicela (chickenpox)
    ("varicella-zoster virus", "fr"),
    ("variola virus", "es"),  # of viruela (smallpox)
    ("variola virus", "fr"),  # of variole
    ("plague", "es"),  # peste, beside Yersinia pestis
    ("plague", "fr"),
    ("mammography", "es"),  # mamografía, beside cáncer de mama
    ("ferritin test", "es"),  # ferritina, beside anemia ferropénica
    ("ferritin test", "fr"),
    ("potassium chloride", "de"),  # Kaliumchlorid, beside Hyperkaliämie
    ("potassium chloride", "zh"),
    ("acarbose", "zh"),  # 阿卡波糖, beside 糖尿病酮症酸中毒
    ("Borrelia burgdorferi", "de"),  # of Lyme-Borreliose
    ("plague", "de"),
    ("liver biopsy", "de"),  # Leberbiopsie, beside Leberzirrhose
    ("liver biopsy", "zh"),
    ("mammography", "de"),  # Mammographie, beside Mammakarzinom
    ("variola virus", "zh"),
    ("Burkholderia pseudomallei", "zh"),  # of 类鼻疽
    ("kidney biopsy", "zh"),
]


@pytest.mark.parametrize(("entity", "code"), GIVEN_AWAY)
def test_a_name_that_would_give_the_answer_away_is_left_out(entity: str, code: str) -> None:
    """Where the English names share no word but those of the language would, the fact is not asked in it."""
    assert key(entity) not in load_language(code).names
    facts = true_facts("clinical-relations") + true_facts("safety-core")
    lost = [fact for fact in facts if entity in (fact.head, fact.tail)]
    assert lost
    assert not load_language(code).pool.statable_facts(lost)


def test_a_finding_is_named_apart_from_what_it_comes_with() -> None:
    """HPO's Spanish of these terms names a disease, or another finding; ours does not."""
    spanish = load_language("es").names
    assert spanish[key("Recurrent paroxysmal headache")].text == "cefalea paroxística recurrente"
    assert "talo vertical" not in spanish[key("Rocker bottom foot")].text
    assert spanish[key("Omphalocele")].text != spanish[key("Umbilical hernia")].text
    assert load_language("fr").names[key("Visual loss")].text != load_language("fr").names[key("Blindness")].text
