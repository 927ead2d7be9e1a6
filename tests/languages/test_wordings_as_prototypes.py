"""A statement in a language, turned back into the prototype that it came from."""

from pathlib import Path

import pytest

from medfact.assets import LANGUAGES, language_codes
from medfact.datasets import load_bundled
from medfact.errors import PoolError
from medfact.facts import Fact
from medfact.languages import load_language
from medfact.languages.pool import read_pool_in_language
from medfact.languages.templates import template_of

CODES = [code for code in language_codes() if code != "en"]
FACT = Fact(head="asthma", relation="symptoms", tail="wheezing")


@pytest.mark.parametrize("code", CODES)
def test_what_a_language_states_is_found_again(code: str) -> None:
    """Filled with its fact, each template says the statement; nearly all are the very prototype."""
    language = load_language(code)
    facts = language.pool.statable_facts([fact for fact in load_bundled("clinical-core").facts if fact.positive])[::250]
    same = []
    for one in language.pool.statements(facts):
        relation = language.pool.relations[one.fact.relation]
        prototype = relation.sentences_for(one.fact)[one.variant]
        template = template_of(language, one.fact, one.text, prototype)
        assert template.count("[X]") == template.count("[Y]") == 1
        assert relation.fill_prototype(template, one.fact) == one.text
        same.append(template == prototype)
    assert len(same) >= 80
    assert sum(same) / len(same) > 0.9


@pytest.mark.parametrize("code", CODES)
def test_a_prototype_leaves_out_the_place_and_group_of_its_fact(code: str) -> None:
    language = load_language(code)
    fact = next(fact for fact in load_bundled("was-true").facts if fact.head == "postoperative pain")
    prototypes = language.pool.relations[fact.relation].sentences
    for one in language.pool.statements([fact]):
        template = template_of(language, fact, one.text, prototypes[one.variant])
        assert template
        assert language.pool.blank.words_before(fact) not in template
        assert language.pool.blank.fill_prototype(template, fact) == one.text


@pytest.mark.parametrize(
    ("code", "wording", "template"),
    [
        ("es", "Las sibilancias acompañan al asma.", "[Y] acompañan a [X]."),
        ("es", "Los pacientes con asma tienen sibilancias.", "Los pacientes con ~[X] tienen ~[Y]."),
        ("fr", "Les sifflements respiratoires accompagnent l'asthme.", "[Y] accompagnent [X]."),
        ("de", "Beim Asthma hört man oft Giemen.", "bei [X]{dat} hört man oft [Y]."),
        ("zh", "哮喘患者有哮鸣音。", "[X]患者有[Y]。"),
    ],
)
def test_names_become_slots_with_their_articles_and_seams(code: str, wording: str, template: str) -> None:
    assert template_of(load_language(code), FACT, wording) == template


@pytest.mark.parametrize(
    "wording",
    [
        "Las sibilancias son así.",
        "El asma es asma con sibilancias.",
        "El asma tiene sibilancias" + " y asma" * 200 + ".",
        "[X] y las sibilancias, asma.",
        "",
    ],
)
def test_a_wording_without_both_names_once_is_no_prototype(wording: str) -> None:
    assert template_of(load_language("es"), FACT, wording) == ""


def test_a_name_within_the_other_is_told_apart() -> None:
    spanish = load_language("es")
    fact = Fact(head="hypotension", relation="symptoms", tail="orthostatic hypotension")
    own = [*spanish.pool.statements([fact])]
    assert len(own) == 8
    for one in own:
        prototype = spanish.pool.relations["symptoms"].sentences[one.variant]
        assert template_of(spanish, fact, one.text, prototype) == prototype


def test_a_fact_without_a_name_gives_none() -> None:
    assert template_of(load_language("es"), Fact(head="asthma", relation="symptoms", tail="no such sign"), "El asma.") == ""


def test_a_file_with_a_mark_that_fills_nothing_is_refused(tmp_path: Path) -> None:
    text = (LANGUAGES / "es" / "pool.yaml").read_text(encoding="utf-8")
    file = tmp_path / "es" / "pool.yaml"
    file.parent.mkdir()
    for sound, broken in (
        ("{es|son} un síntoma", "{es|son un síntoma"),
        ("Los síntomas y signos", "Los ~síntomas y signos"),
    ):
        file.write_text(text.replace(sound, broken), encoding="utf-8")
        with pytest.raises(PoolError, match=r"es/pool.yaml, relation 'symptoms', form '(none|inv)': '[{~]' fills nothing"):
            read_pool_in_language(file, load_language("es").names)
