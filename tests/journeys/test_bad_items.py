"""What was found wrong by reading is gone from the facts, and never drawn as false."""

from __future__ import annotations

import pytest

from medfact.datasets import load_bundled
from medfact.negatives.draw import _cached_draws

NO_FACTS = {
    "clinical-core": """
        hypertension: headache
        familial hypercholesterolemia: chest pain
        preeclampsia: proteinuria
        restless legs syndrome: leg
        pheochromocytoma: propranolol
        Clostridioides difficile infection: metronidazole
        Meniere disease: betahistine
        bronchiectasis: colistin
        Sjogren syndrome: hydroxychloroquine
        melanoma: sentinel lymph node biopsy
        breast cancer: sentinel lymph node biopsy
        chronic kidney disease: arteriovenous fistula creation
        amyotrophic lateral sclerosis: percutaneous endoscopic gastrostomy
        deep vein thrombosis: inferior vena cava filter placement
    """,
    "biomedical-core": """
        glioblastoma: astrocyte
        rhabdomyosarcoma: skeletal muscle tissue
        sacubitril: heart failure
        pyridoxine: peripheral neuropathy
        chronic traumatic encephalopathy: concussion
    """,
    "not-indicated": """
        atherosclerosis: tolazoline
        lung cancer: procarbazine
        melanoma: procarbazine
        hematologic cancer: streptozocin
    """,
}

NO_NEGATIVES = {
    "clinical-core": """
        idiopathic pulmonary fibrosis: diaphoresis
        pernicious anemia: dysarthria, muscle atrophy
        dilated cardiomyopathy: urinary frequency, alprostadil
        Sjogren syndrome: water brash, hydroxychloroquine
        beta thalassemia: retina
        systemic sclerosis: cold intolerance
        IgA nephropathy: warfarin
        chronic pancreatitis: surgical debridement
        nephrolithiasis: liver transplantation
        Hashimoto thyroiditis: temporal lobe
        cystic fibrosis: urinary urgency
        Graves disease: urinary urgency
        osteosarcoma: respiratory tract
        uterine fibroid: chest pain
        ankylosing spondylitis: urinary hesitancy
        cervical cancer: pulmonary lobectomy
        hypertension: headache
        pheochromocytoma: propranolol
        anorexia nervosa: tachycardia
        aortic stenosis: hemoptysis
        dermatomyositis: hand weakness
        granulomatosis with polyangiitis: skull
        idiopathic pulmonary fibrosis: lymphadenopathy
        multiple sclerosis: dyspnea
        polycythemia vera: purpura
    """,
    "biomedical-core": """
        giant cell arteritis: pulmonary embolism
        amlodipine: increased blood glucose
        propofol: decreased body temperature
        reserpine: decreased body temperature
        acetaminophen: decreased coagulation factor activity
        mannitol: increased heart rate
        systemic lupus erythematosus: bronchiectasis
        MALT lymphoma: nasopharynx
        constrictive pericarditis: crush injury
        morphine: increased blood glucose
        caffeine: increased insulin secretion
        levonorgestrel: decreased prostaglandin production
        bupivacaine: miosis
        phenylephrine: miosis
        terbutaline: decreased intraocular pressure
        eltrombopag: photosensitization
        Down syndrome: dermatitis herpetiformis
        Sjogren syndrome: primary sclerosing cholangitis
        primary hyperparathyroidism: Fanconi syndrome
        sickle cell disease: antiphospholipid syndrome
        Noonan syndrome: cerebral aneurysm
        dermatomyositis: elevated D-dimer
        cirrhosis: elevated serum lipase
        solitary fibrous tumor: BRAF V600E mutation
        spongiosis: Creutzfeldt-Jakob disease
        Shank3: tight junction
        RAD51: apoptosis
        arginase-1: apoptosis
        ABCA1: angiogenesis
        CDK4: angiogenesis
        Guillain-Barre syndrome: distal radius fracture
        tubal infertility: ulcerative colitis
        toxic megacolon: spinal cord injury
        acute respiratory distress syndrome: ventricular septal defect
        disseminated intravascular coagulation: streptococcal pharyngitis
        glioblastoma: astrocyte
        HIV infection: obstructive sleep apnea
        celiac disease: Barrett esophagus
        hepatitis B: osteoporosis
    """,
}


def pairs(text: str) -> list[tuple[str, str]]:
    lines = (line.strip().split(": ") for line in text.strip().splitlines())
    return [(head, tail) for head, tails in lines for tail in tails.split(", ")]


@pytest.mark.parametrize("name", NO_FACTS)
def test_arguable_facts_are_gone(name: str) -> None:
    stated = {(fact.head, fact.tail) for fact in load_bundled(name).facts}
    assert stated.isdisjoint(pairs(NO_FACTS[name]))


@pytest.mark.parametrize("name", NO_NEGATIVES)
def test_what_may_be_true_is_never_drawn(name: str) -> None:
    collection = load_bundled(name)
    draws = _cached_draws(collection.known)
    for head, tail in pairs(NO_NEGATIVES[name]):
        facts = [fact for fact in collection.facts if fact.head == head]
        assert facts, head
        safe = {false.tail for fact in facts for false in draws.relation_draws(fact).safe_tails(fact, 0, "any")}
        assert tail not in safe, (head, tail)


def test_one_name_for_one_thing() -> None:
    known = load_bundled("clinical-core").known
    assert known.entity("diaphoresis") == known.entity("hyperhidrosis")
    assert not any(
        "faggot" in (fact.tail or "") for name in ("clinical-core", "biomedical-core") for fact in load_bundled(name).facts
    )
