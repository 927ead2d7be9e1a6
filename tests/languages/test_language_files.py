"""The folders of languages: what they hold, what a sentence looks like, and what is refused."""

import shutil
from dataclasses import replace
from itertools import product, takewhile
from pathlib import Path

import pytest

from medfact.assets import LANGUAGES, language_codes
from medfact.datasets import load_bundled
from medfact.errors import FactsError, Mistake, PoolError, UnknownName
from medfact.facts import Fact, name_key
from medfact.languages import load_language
from medfact.languages.language import read_language
from medfact.languages.names import OURS, Cases, in_case
from medfact.languages.pool import sentence
from medfact.prototypes import load_pool

CODES = [code for code in language_codes() if code != "en"]
RELATIONS = ("symptoms", "affected sites", "therapeutic drugs", "surgical procedures")


def said(code: str, head: str, relation: str, tail: str) -> dict[str, str]:
    """Variant → the statement of a fact."""
    fact = Fact(head=head, relation=relation, tail=tail)
    return {statement.variant: statement.text for statement in load_language(code).pool.statements([fact])}


@pytest.mark.parametrize("code", CODES)
def test_a_language_is_whole_enough_to_be_asked(code: str) -> None:
    """250 conditions and 1,800 facts of clinical-core have both names."""
    facts = [fact for fact in load_bundled("clinical-core").facts if fact.positive]
    asked = load_language(code).pool.statable_facts(facts)
    assert len(asked) >= 1_800
    assert len({fact.head for fact in asked}) >= 250
    assert set(load_language(code).pool.relations) >= set(RELATIONS)


@pytest.mark.parametrize("code", CODES)
def test_a_fact_of_one_place_or_group_is_not_said_of_all(code: str) -> None:
    pool = load_language(code).pool
    plain = pool.statable_facts([fact for fact in load_bundled("clinical-core").facts if fact.positive])[0]
    bounds = ({"region": "Atlantis"}, {"population": "left-handed people"}, {"region": "France", "population": "sailors"})
    for bound in (replace(plain, **bound, fact_id="") for bound in bounds):
        assert not pool.states(bound)
        assert not list(pool.statements([bound]))
        assert "1 of 2 true facts" in pool.unstated_note([plain, bound])


@pytest.mark.parametrize("code", CODES)
def test_facts_and_their_ids_are_those_of_the_english_run(code: str) -> None:
    fact = next(fact for fact in load_bundled("clinical-core").facts if fact.positive)
    ours = next(load_language(code).pool.statements([fact]))
    english = next(load_pool("medfact").statements([fact]))
    assert ours.fact is fact is english.fact
    assert ours.label == english.label
    assert ours.statement_id != english.statement_id


def test_spanish_sentences() -> None:
    asked = said("es", "asthma", "symptoms", "wheezing")
    assert asked["none"] == "Las sibilancias son un síntoma o signo reconocido del asma."
    assert asked["inv"] == "Los síntomas y signos reconocidos del asma incluyen las sibilancias."
    assert asked["ins"] == "En los pacientes con asma, las sibilancias son un síntoma o signo reconocido de la afección."
    assert asked["inv+ins"] == (
        "El asma es una de las afecciones de las que las sibilancias son un síntoma o signo reconocido en los pacientes."
    )
    assert asked["dn"] == asked["none"].replace(" son ", " no son ")
    assert asked["inv+dn"] == asked["inv"].replace(" incluyen ", " no incluyen ")
    assert asked["ins+dn"] == asked["ins"].replace(" son ", " no son ")
    assert asked["inv+ins+dn"] == asked["inv+ins"].replace(" es ", " no es ")
    sites = said("es", "hemochromatosis", "affected sites", "liver")
    assert sites["inv+ins"] == "La hemocromatosis es una de las afecciones que afectan al hígado en los pacientes."
    assert said("es", "gout", "therapeutic drugs", "colchicine")["inv+ins"] == (
        "La gota es una de las afecciones que se tratan con colchicina en los pacientes."
    )


def test_a_preposition_joins_the_article_alone_not_a_word_that_looks_like_it() -> None:
    spanish = load_language("es")
    asthma, gout = spanish.names["asthma"], spanish.names["gout"]
    joined = next(iter(spanish.pool.relations.values())).joined  # type: ignore[attr-defined]
    assert sentence("[Y] afecta a [X].", asthma, gout, joined) == "La gota afecta al asma."
    assert sentence("[Y] o era el fin de ~[X].", asthma, gout, joined) == "La gota o era el fin de asma."


def test_german_sentences() -> None:
    """Masculine, feminine, neuter and plural names, with and without adjectives, in the cases that the sentences ask for."""
    asked = said("de", "septic shock", "symptoms", "petechiae")
    assert asked["none"] == "Petechien sind ein bekanntes Symptom oder Zeichen des septischen Schocks."
    assert asked["inv"] == "Zu den bekannten Symptomen und Zeichen des septischen Schocks gehören Petechien."
    assert (
        asked["ins"] == "Bei Patienten mit septischem Schock sind Petechien ein bekanntes Symptom oder Zeichen der Erkrankung."
    )
    assert asked["inv+ins"] == (
        "Der septische Schock zählt zu den Erkrankungen, zu deren bekannten Symptomen und Zeichen "
        "bei Patienten Petechien gehören."
    )
    assert asked["dn"] == asked["none"].replace(" ein ", " kein ")
    assert asked["inv+dn"] == asked["inv"].replace("Petechien.", "Petechien nicht.")
    assert asked["ins+dn"] == asked["ins"].replace(" ein ", " kein ")
    assert asked["inv+ins+dn"] == asked["inv+ins"].replace(" zählt zu ", " zählt nicht zu ")
    assert said("de", "acute bronchitis", "symptoms", "fever")["ins"].startswith(
        "Bei Patienten mit akuter Bronchitis ist Fieber "
    )
    assert said("de", "meniscal tear", "symptoms", "knee pain")["none"].endswith(" Zeichen des Meniskusrisses.")
    assert said("de", "hemorrhoids", "affected sites", "vein")["none"] == (
        "Die Venen sind anatomische Strukturen, die von den Hämorrhoiden betroffen sind."
    )
    assert said("de", "nephrotic syndrome", "affected sites", "kidney")["inv"] == (
        "Zu den vom nephrotischen Syndrom betroffenen anatomischen Strukturen gehört die Niere."
    )
    assert said("de", "gout", "therapeutic drugs", "colchicine")["inv+ins"] == (
        "Die Gicht gehört zu den Erkrankungen, zu deren Behandlung bei Patienten Colchicin eingesetzt wird."
    )


def test_french_sentences() -> None:
    asked = said("fr", "asthma", "symptoms", "wheezing")
    assert asked["none"] == "Les sifflements respiratoires sont un symptôme ou signe reconnu de l'asthme."
    assert asked["ins+dn"] == (
        "Chez les patients atteints d'asthme, les sifflements respiratoires ne sont pas "
        "un symptôme ou signe reconnu de l'affection."
    )


def cases_of(code: str) -> Cases:
    return next(iter(load_language(code).pool.relations.values())).cases  # type: ignore[attr-defined, no-any-return]


@pytest.mark.parametrize("code", CODES)
def test_names_change_only_in_a_language_with_cases(code: str) -> None:
    """In the others they stand as they are written; here adjectives agree with the gender, and conditions have articles."""
    language, cases = load_language(code), cases_of(code)
    if not cases:
        assert all(in_case(name, "", bare, cases) is name for name in language.names.values() for bare in (True, False))
        return
    genders = cases[next(iter(cases))]
    for name in language.names.values():
        assert in_case(name, "", True, cases).text == name.text
        before = list(takewhile(lambda word: word[:1].islower(), name.text.split(" ")))
        assert not before or before[-1].endswith(genders["plural" if name.plural else name.gender].alone), name
    heads = {name_key(fact.head) for fact in load_bundled("clinical-core").facts}
    assert [key for key in sorted(heads) if not language.names[key].article] == []


@pytest.mark.parametrize("code", CODES)
def test_names_say_where_they_come_from(code: str) -> None:
    for name in load_language(code).names.values():
        assert bool(name.source_id) is (name.source != OURS)


def test_an_unknown_language_is_refused_with_those_there_are() -> None:
    with pytest.raises(UnknownName, match="language"):
        load_language("xx")


CHANGES: list[tuple[str, str, str, type[Mistake], str]] = [
    ("names.csv", "asma,,", "as[X]ma,,", FactsError, "as\\[X\\]ma"),
    ("names.csv", "asthma,asma", "gout,asma", FactsError, "named in line"),
    ("names.csv", "entity,name", "entity,names", FactsError, "columns"),
    ("pool.yaml", "no incluyen [Y].", "incluyen [Y].", PoolError, "inv\\+dn"),
    ("pool.yaml", "  symptoms:", "  sympthoms:", PoolError, "no such relation"),
    ("pool.yaml", "      a common:", "      a rare:", PoolError, "strengths"),
    ("asking.yaml", "{statement}", "statement", PoolError, "question"),
    ("asking.yaml", "[Verdadero, Falso]", "[Verdadero]", PoolError, "answers"),
    ("asking.yaml", "  echo:", "  ecco:", PoolError, "echo"),
    ("asking.yaml", "'falsedad'", "'fals(edad'", PoolError, "regular expression"),
]
OF_CASES: list[tuple[str, str, str, type[Mistake], str]] = [
    ("pool.yaml", "Zeichen [X]{gen}.", "Zeichen [X]{abl}.", PoolError, "pool.yaml, line \\d+: there is no case 'abl'"),
    ("pool.yaml", "feminine: [der, en, er]", "feminine: [der, en]", PoolError, "gen, feminine: .* three texts"),
    ("pool.yaml", "  dat:\n    masculine:", "  dat:\n    male:", PoolError, "'dat' has male, feminine"),
    ("pool.yaml", "'(?<![sxzß])$', 's'", "'(?<![sxzß]$', 's'", PoolError, "masculine: .* regular expression"),
    ("pool.yaml", "['(?<![sxzß])$', 's']", "['(?<![sxzß])$']", PoolError, "masculine: .* pair of texts"),
    ("pool.yaml", "cases:  ", "cases: 3\nothers: ", PoolError, "no table of cases"),
    ("names.csv", "Asthma bronchiale,neuter", "Asthma bronchiale,neutral", FactsError, "'asthma' has the gender 'neutral'"),
    ("names.csv", "neuter,singular,das", "neuter,singular,der", FactsError, "the article 'der'.*'das'"),
]


@pytest.mark.parametrize(
    ("code", "file", "old", "new", "error", "message"),
    [*(("es", *change) for change in CHANGES), *(("de", *change) for change in OF_CASES)],
)
def test_a_broken_folder_is_refused_by_file_and_place(
    tmp_path: Path, code: str, file: str, old: str, new: str, error: type[Mistake], message: str
) -> None:
    folder = tmp_path / code
    shutil.copytree(LANGUAGES / code, folder)
    text = (folder / file).read_text(encoding="utf-8")
    assert old in text
    (folder / file).write_text(text.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(error, match=message):
        read_language(folder)


@pytest.mark.parametrize("code", CODES)
def test_answer_words_of_the_two_sides_share_no_beginning(code: str) -> None:
    true, false = load_language(code).asking.choices
    assert true
    assert false
    assert not set(true) & set(false)
    for words, answer in zip((true, false), load_language(code).asking.answers, strict=True):
        assert answer.lower() in words


@pytest.mark.parametrize(("code", "side"), list(product(CODES, (True, False))))
def test_the_answer_of_a_demonstration_is_read_as_it_is_meant(code: str, side: bool) -> None:
    asking = load_language(code).asking
    assert asking.read(asking.format.reply(side)).answer is side
