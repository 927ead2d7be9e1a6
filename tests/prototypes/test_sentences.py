"""Every statement of the bundled facts reads right: a capital, one full stop, articles and verbs that fit."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

import pytest

from medfact.datasets import bundled_names, load_bundled
from medfact.datasets.bundled import vocabulary
from medfact.facts import Fact
from medfact.negatives import NEAR, draw_negatives
from medfact.prototypes import load_pool
from medfact.prototypes.grammar import is_plural, noun_phrase, render_sentence
from medfact.statements import IMPLICATIONS, Statement

SETS = bundled_names()

FAULTS = {
    "no capital": re.compile(r"^[^A-Z0-9]"),
    "no full stop": re.compile(r"[^.]$|\.\.$"),
    "two spaces": re.compile(r"\s\s| [.,]"),
    "a slot": re.compile(r"\[[XY]\]|[{}|]"),
    "two articles": re.compile(r"\b(?:the|an?) (?:the|an?)\b", re.IGNORECASE),
    "a word twice": re.compile(r"\b([a-z]{3,}) \1\b", re.IGNORECASE),
    "the wrong article": re.compile(
        r"(?:^An|\ban) (?:[bcdgjkpqtvwyz]|one\b|uni|ureter|uterine)|(?:^A|\ba) (?:[aei]|o(?!ne\b))"
    ),
    "a gene twice": re.compile(r"\bgene \S+ gene\b"),
    "a verb that does not fit": re.compile(
        r"\b(?:seizures|palpitations|chills|petechiae|night sweats|the meninges) is\b", re.IGNORECASE
    ),
}


@cache
def statements(name: str) -> tuple[Statement, ...]:
    """Those of each fact of a set, of its negatives there, and of a drawn one."""

    def facts() -> Iterator[Fact]:
        collection = load_bundled(name)
        for fact in collection.facts:
            yield fact
            if fact.positive:
                yield from draw_negatives(fact, collection.known, 1, 0, difficulty=NEAR)

    return tuple(load_pool("medfact").statements(facts()))


@pytest.mark.parametrize("name", SETS)
def test_no_statement_of_a_bundled_set_has_a_fault(name: str) -> None:
    made = statements(name)
    assert made
    for kind, pattern in FAULTS.items():
        found = [s.text for s in made if pattern.search(s.text)]
        assert not found, f"{kind}: {found[:5]}"


@pytest.mark.parametrize("name", SETS)
def test_the_beginning_gives_no_form_away(name: str) -> None:
    made = statements(name)
    capitals = {key: [s.text[0].isupper() for s in made if s.variant == key] for key in IMPLICATIONS}
    assert {sum(of) / len(of) for of in capitals.values()} == {1.0}


@pytest.mark.parametrize("name", SETS)
def test_a_verb_has_the_number_of_the_name_before_it(name: str) -> None:
    plural = {noun_phrase(row["name"]).text.lower() for row in vocabulary() if row["number"] == "plural"}
    singular = {noun_phrase(row["name"]).text.lower() for row in vocabulary() if row["number"] == "singular"}
    for s in statements(name):
        for subject, verb in re.findall(
            r"(?:^|, )([^,.]+?) (is|are) (?:not )?(?:an?|one|used|associated|recognized)\b", s.text
        ):
            if subject.lower() in plural - singular:
                assert verb == "are", s.text
            if subject.lower() in singular - plural:
                assert verb == "is", s.text


def test_the_lint_sees_what_it_should() -> None:
    wrong = {
        "no capital": "seizures are a symptom of epilepsy.",
        "no full stop": "Seizures are a symptom of epilepsy",
        "two spaces": "Seizures  are a symptom of epilepsy.",
        "a slot": "Seizures {is|are} a symptom of epilepsy.",
        "two articles": "The disease affects the the heart.",
        "a word twice": "The gene gene BTK is associated with it.",
        "the wrong article": "Low blood pressure is a effect of it.",
        "a gene twice": "A change in the gene BTK gene is associated with it.",
        "a verb that does not fit": "Seizures is a symptom of epilepsy.",
    }
    assert wrong.keys() == FAULTS.keys()
    for kind, text in wrong.items():
        assert FAULTS[kind].search(text), kind


def test_number_and_article_belong_to_the_name() -> None:
    prototype = "[Y] {is|are} a recognized symptom or sign of [X]."
    assert render_sentence(prototype, "epilepsy", "seizures") == "Seizures are a recognized symptom or sign of epilepsy."
    assert render_sentence(prototype, "asthma", "cough") == "Cough is a recognized symptom or sign of asthma."
    assert render_sentence("The disease [X] affects [Y].", "mitral stenosis", "heart").endswith("affects the heart.")


def test_a_name_that_is_not_listed_stands_as_it_is() -> None:
    assert render_sentence("[Y] {is|are} a sign of [X].", "[Y]", "{is|are} [X]") == "{is|are} [X] is a sign of [Y]."


PLURAL = (
    "scaly plaques; blue sclerae; Petechiae; night sweats; swollen feet; NSAIDs; melanocytic nevi; seizures; changes in "
    "vision; ulcers of the mouth; fever and chills; chills and fever; Fingers, clubbed; Genital warts; Condylomata "
    "acuminata; lung metastases; T-cells; SCALY PLAQUES; proteoglycans; vesicles/bullae"
)
SINGULAR = (
    "diabetes; gestational diabetes; sepsis; herpes; herpes zoster; rickets; measles; German measles; mumps; shingles; "
    "rabies; scabies; ascites; dental caries; psoriasis; tetanus; hydrops; polyhydramnios; AIDS; acanthosis nigricans; "
    "delirium tremens; Crohn's; Graves'; Alzheimers; pancreas; biceps; hypospadias; shortness of breath; loss of teeth; "
    "swelling in the legs; difficulty climbing stairs; nausea and vomiting; abruptio placentae; Streptococcus "
    "pneumoniae; Pseudomonas; KRAS; hand, foot and mouth disease; arms and legs weakness; Diabetes Mellitus, Type 2; "
    "Myopathic facies; torsade de pointes; genetics"
)


@pytest.mark.parametrize("name", PLURAL.split("; "))
def test_a_plural_name_that_is_not_listed_has_a_verb_in_the_plural(name: str) -> None:
    assert " are a sign of it." in render_sentence("[Y] {is|are} a sign of [X].", "it", name)


@pytest.mark.parametrize("name", SINGULAR.split("; "))
def test_a_singular_name_that_ends_like_a_plural_has_a_verb_in_the_singular(name: str) -> None:
    assert " is a sign of it." in render_sentence("[Y] {is|are} a sign of [X].", "it", name)


def test_the_endings_tell_the_number_of_every_listed_name() -> None:
    """The list was written by people: so it is a test of the rules, and they are one of the list."""
    wrong = [row["name"] for row in vocabulary() if is_plural(row["written"] or row["name"]) is not (row["number"] == "plural")]
    assert wrong == []


EPONYMS = re.compile(r"[A-Z][a-zé]+(?:plastic|plasia|trophy|uria|emia|iasis|itis|osis|opathy|oma|penia|like)\b")


@pytest.mark.parametrize("name", SETS)
def test_no_plain_word_has_a_capital_in_the_middle_of_a_sentence(name: str) -> None:
    """Words of Greek and Latin endings are nobody's name, and such a word comes first in its name's sentence form."""
    collection = load_bundled(name)
    facts = (*collection.facts, *collection.known.judged)
    inside = {noun_phrase(one).text for fact in facts for one in (fact.head, fact.tail) if one}
    names = {"Proteus-like syndrome", "Trypanosoma brucei", "Trypanosoma cruzi"}
    assert {text for text in inside if EPONYMS.match(text)} <= names


@pytest.mark.parametrize(
    ("name", "inside"),
    [
        ("Isotretinoin-like syndrome", "isotretinoin-like syndrome"),
        ("Angiostrongyliasis", "angiostrongyliasis"),
        ("Hypocomplementemic urticarial vasculitis", "hypocomplementemic urticarial vasculitis"),
        ("Osteosclerotic bone dysplasia", "osteosclerotic bone dysplasia"),
        ("Oculoauriculofrontonasal syndrome", "oculoauriculofrontonasal syndrome"),
        ("Spondyloepiphyseal dysplasia tarda", "spondyloepiphyseal dysplasia tarda"),
        ("Acromelic frontonasal dysplasia", "acromelic frontonasal dysplasia"),
        ("Cornelia de Lange syndrome", "Cornelia de Lange syndrome"),
        ("TSH-secreting pituitary adenoma", "a TSH-secreting pituitary adenoma"),
        ("Non-functioning pituitary adenoma", "a non-functioning pituitary adenoma"),
    ],
)
def test_a_name_has_its_capital_and_its_article_inside_a_sentence(name: str, inside: str) -> None:
    assert render_sentence("[Y] {is|are} a recognized finding in [X].", name, "headache").endswith(f"finding in {inside}.")
