"""The studio in a language beside English over HTTP: read, changed, signed off and exported by who speaks it."""

from __future__ import annotations

import re
from html import unescape
from pathlib import Path
from typing import Any

import pytest
import yaml
from visitors import Visitor, visitor_fixture

from medfact.assets import language_names
from medfact.datasets import load_bundled
from medfact.facts import Fact
from medfact.languages import PoolInLanguage, load_language
from medfact.languages.pool import read_pool_in_language
from medfact.prototypes import load_pool
from medfact.reviews.studio import FORMS

FIELDS = {form: f"s{number}" for number, form in enumerate(FORMS)}
OWN = load_language("es").pool.relations["symptoms"].sentences
KNOWN = {form: text.replace("reconocido", "conocido") for form, text in OWN.items()}
"""The Spanish sentences in another word: each denial still differs by its operator alone."""


visitor = visitor_fixture("address")


def typed(relation: str, sentences: dict[str, str], code: str = "es") -> dict[str, str]:
    """What the page tells when these sentences stand in its fields."""
    fields = {FIELDS[form]: text for form, text in sentences.items()}
    return {"pool": f"medfact-{code}", "relation": relation, "of": f"medfact-{code}|{relation}", "reviewer": "Inés", **fields}


def act(visitor: Visitor, name: str, about: str, show: dict[str, str]) -> dict[str, Any]:
    """What the page shows after a button was pressed."""
    pressed = {"name": name, "about": about, "fields": {}}
    return dict(visitor.http.post("/updates", json={"page": "studio", "show": show, "action": pressed}).json())


def row(shown: dict[str, Any], form: str) -> str:
    """What stands at a form."""
    card = shown["fragments"]["relation"]
    field = FIELDS[form]
    return unescape(next(part for part in card.split("<li>\n") if f'data-set="{field}"' in part))


def exported(visitor: Visitor, folder: Path, code: str = "es") -> PoolInLanguage:
    """The visitor's export, read as the language's file is."""
    answer = visitor.http.get(f"download/studio/medfact-{code}.yaml")
    assert answer.status_code == 200, answer.text
    file = folder / code / "pool.yaml"
    file.parent.mkdir()
    file.write_text(answer.text, encoding="utf-8")
    return read_pool_in_language(file, load_language(code).names)


@pytest.mark.parametrize("code", [code for code in language_names() if code != "en"])
def test_every_language_stands_beside_the_english_pools(visitor: Visitor, code: str) -> None:
    shown = visitor.fetch_page("studio", pool=f"medfact-{code}")
    choice, card = (unescape(shown["fragments"][part]) for part in ("choice", "relation"))
    assert f'<option value="medfact-{code}" selected>medfact in {language_names()[code]}</option>' in choice
    assert "Runs do not use it." in choice
    assert 'href="evaluate"' in choice
    own = load_language(code).pool.relations["symptoms"].sentences
    english = load_pool("medfact").relations["symptoms"].sentences
    for form, text in own.items():
        part = row(shown, form)
        assert re.search(rf'<textarea lang="{code}"[^>]*>{re.escape(text)}</textarea>', part)
        assert f"In English: {english[form]}" in part
        assert part.count(f'<li><span lang="{code}">') == 3
        assert part.count("FALSE (test statement)") == (3 if "dn" in form else 0)
    assert "Not usable" not in card
    assert f'<bdi lang="{code}" title=' in card


def test_spanish_sentences_are_filled_with_spanish_names(visitor: Visitor) -> None:
    shown = visitor.fetch_page("studio", pool="medfact-es", relation="symptoms")
    names = re.findall(r'<bdi lang="es" title="([^"]*)">', shown["fragments"]["relation"])
    facts = [Fact(head=head, relation="symptoms", tail=tail) for head, tail in zip(names[::2], names[1::2], strict=True)]
    stated = [*load_language("es").pool.statements(facts)]
    for form in FORMS:
        examples = re.findall(r'<li><span lang="es">([^<]*)</span>', row(shown, form))
        assert examples == [one.text for one in stated if one.variant == form]
        assert len(examples) == 3


def test_a_denial_is_judged_by_the_languages_own_words(visitor: Visitor) -> None:
    """Not by the English ones: “nunca” is no operator of the Spanish file, “no {es” is."""
    broken = typed("symptoms", {**OWN, "dn": OWN["dn"].replace(" no ", " nunca ")})
    shown = visitor.fetch_page("studio", **broken)
    assert "Not usable: it differs from the affirmed sentence by more than the negation." in row(shown, "dn")
    assert "FALSE" not in row(shown, "dn")
    assert shown["fragments"]["relation"].count("Not usable") == 1
    shown = visitor.fetch_page("studio", **typed("symptoms", KNOWN))
    assert "Not usable" not in shown["fragments"]["relation"]
    assert shown["fragments"]["relation"].count("<ins>") == 8
    shown = visitor.fetch_page("studio", **typed("symptoms", {**OWN, "none": "[Y] {es un signo de [X]."}))
    assert "Not usable: '{' fills nothing" in row(shown, "none")
    own = load_language("de").pool.relations["symptoms"].sentences
    odd = {**own, "none": "[Y] {ist|sind} ein Zeichen [X]{lok}."}
    assert "Not usable: there is no case 'lok'" in row(visitor.fetch_page("studio", **typed("symptoms", odd, "de")), "none")


def test_a_change_is_marked_and_in_chinese_character_by_character(visitor: Visitor) -> None:
    own = load_language("zh").pool.relations["symptoms"].sentences
    shown = visitor.fetch_page("studio", **typed("symptoms", {**own, "none": own["none"].replace("公认", "已知")}, "zh"))
    part = re.sub("<span[^>]*>[^<]*</span>", "", row(shown, "none"))
    assert "<del>公认</del>" in part
    assert "<ins>已知</ins>" in part


def test_a_sign_off_is_of_one_sentence_and_void_after_a_change(visitor: Visitor, tmp_path: Path) -> None:
    shown = act(visitor, "sign", "none", typed("symptoms", dict(OWN)))
    assert "Inés signs “plain” off." in shown["fragments"]["said"]
    assert "<b>Signed off</b> by Inés" in row(shown, "none")
    assert "Signed off" not in row(shown, "dn")
    pool = exported(visitor, tmp_path)
    assert set(pool.relations) == {"symptoms"}
    assert pool.relations["symptoms"] == load_language("es").pool.relations["symptoms"], "with its strengths, and as it was"
    said = yaml.safe_load((tmp_path / "es" / "pool.yaml").read_text(encoding="utf-8"))["relations"]["symptoms"]["signed_off"]
    assert list(said) == ["none"]
    assert said["none"].startswith("Inés, 20")
    act(visitor, "save", "", typed("symptoms", KNOWN))
    shown = visitor.fetch_page("studio", pool="medfact-es", relation="symptoms")
    assert "Signed off" not in shown["fragments"]["relation"]
    assert "8 of 8" in shown["fragments"]["edited"]
    act(visitor, "save", "", typed("symptoms", dict(OWN)))
    assert "symptoms" not in visitor.fetch_page("studio", pool="medfact-es")["fragments"]["edited"], "as it was"


def test_what_is_exported_is_read_as_the_languages_file(visitor: Visitor, tmp_path: Path) -> None:
    half = act(visitor, "save", "", typed("symptoms", {**KNOWN, "dn": OWN["dn"]}))
    assert "Saved, and not ready to be exported: 1 of 8" in half["fragments"]["said"]
    assert "download/studio" not in half["fragments"]["edited"]
    assert "Nothing is ready" in visitor.http.get("download/studio/medfact-es.yaml").text
    shown = act(visitor, "save", "", typed("symptoms", KNOWN))
    assert 'href="download/studio/medfact-es.yaml"' in shown["fragments"]["edited"]
    assert "evaluate?studio" not in shown["fragments"]["edited"], "no run asks with it"
    pool = exported(visitor, tmp_path)
    assert pool.relations["symptoms"].sentences == KNOWN
    assert pool.relations["symptoms"].strengths == load_language("es").pool.relations["symptoms"].strengths
    fact = next(fact for fact in load_bundled("clinical-core").facts if pool.states(fact) and fact.strength != "a common")
    assert " conocido " in next(pool.statements([fact])).text
    refused = visitor.fetch_page("evaluate", studio="medfact-es:clinical-core", setup={"models": ["baseline:always-true"]})
    assert "A run cannot ask with what is edited of another language" in unescape(" ".join(refused["fragments"].values()))


NEW = {
    "none": "[Y] {es|son} un efecto reconocido de [X].",
    "inv": "Los efectos reconocidos de [X] incluyen [Y].",
    "ins": "En los pacientes que reciben ~[X], [Y] {es|son} un efecto reconocido del fármaco.",
    "inv+ins": "[X] {es|son} uno de los fármacos de los que [Y] {es|son} un efecto reconocido en los pacientes.",
}
DENIED = {f"{form}+dn".removeprefix("none+"): text.replace(" {es", " no {es", 1) for form, text in NEW.items()}
DENIED["inv+dn"] = NEW["inv"].replace(" incluyen ", " no incluyen ")


def test_a_relation_that_a_language_lacks_is_written_here(visitor: Visitor, tmp_path: Path) -> None:
    relation = "has physiologic effect"
    assert relation not in load_language("es").pool.relations, "else this test needs another one"
    shown = visitor.fetch_page("studio", pool="medfact-es", relation=relation, data="biomedical-core")
    assert f"{relation} (new: no sentences yet)" in shown["fragments"]["choice"]
    assert ">new</span>" in shown["fragments"]["relation"]
    assert "Spanish has no sentences for this relation yet" in shown["fragments"]["relation"]
    written = {**typed(relation, {**NEW, **DENIED}), "data": "biomedical-core"}
    shown = act(visitor, "save", "", written)
    assert "Saved the sentences of" in shown["fragments"]["said"]
    assert row(shown, "dn").count("FALSE (test statement)") == 3
    pool = exported(visitor, tmp_path)
    assert pool.relations[relation].sentences == {**NEW, **DENIED}
    assert any(pool.statements(fact for fact in load_bundled("biomedical-core").facts if fact.relation == relation))


def test_no_relation_is_begun_in_a_language_that_english_lacks(visitor: Visitor) -> None:
    """The language's file would refuse it."""
    odd = {**typed("is odd of", NEW), "data": "not-indicated"}
    assert (
        "is odd of (new"
        in visitor.fetch_page("studio", **{**odd, "pool": "medfact", "of": "medfact|is odd of"})["fragments"]["choice"]
    )
    shown = visitor.fetch_page("studio", **odd)
    assert "is odd of" not in shown["fragments"]["choice"]
    assert shown["show"]["relation"] == "symptoms"
    assert "No fact here has this relation and names in Spanish" in shown["fragments"]["relation"]


def test_a_better_wording_of_a_reviewer_can_be_taken_over(visitor: Visitor) -> None:
    of = {"reviewer": "Inés", "language": "es", "search": "migraña fotofobia"}
    fact = visitor.fetch_page("review", **of)["fragments"]["fact"]
    (about,) = re.findall(r'data-timed="(\w+)"', fact)
    asked = "La fotofobia es un síntoma o signo reconocido de la migraña."
    (sentence,) = re.findall(rf'{asked}.*?name="of-(\w+)"', fact, re.DOTALL)
    wording = "La fotofobia es un signo conocido de la migraña."
    fields = {"verdict": "true", f"of-{sentence}": "unclear", f"wording-{sentence}": wording}
    visitor.press_button("judge", about, page_name="review", fields=fields, **of)
    shown = visitor.fetch_page("studio", pool="medfact-es", relation="symptoms")
    part = row(shown, "none")
    assert shown["fragments"]["relation"].count("suggests") == 1
    assert f'Inés suggests: “<span lang="es">{wording}</span>”' in part
    assert '{"s0": "[Y] {es|son} un signo conocido de [X]."}' in part
    assert "suggests" not in visitor.fetch_page("studio", relation="symptoms")["fragments"]["relation"]


@pytest.mark.parametrize(
    "pool", ["medfact-xx", "medfact-", "medfact-../es", "../languages/es", "medfact-en", "<b>", "medfact-ES"]
)
def test_a_pool_that_is_none_shows_english(visitor: Visitor, pool: str) -> None:
    shown = visitor.fetch_page("studio", pool=pool)
    assert shown["show"]["pool"] == "medfact"
    assert "lang=" not in shown["fragments"]["relation"]
    assert visitor.http.get("download/studio/" + pool.replace("/", "%2f") + ".yaml").status_code == 404


def test_nobody_else_sees_it(visitor: Visitor, address: str) -> None:
    act(visitor, "save", "", typed("symptoms", KNOWN))
    with Visitor(address) as other:
        shown = other.fetch_page("studio", pool="medfact-es", relation="symptoms")
        assert f">{OWN['none']}</textarea>" in row(shown, "none")
        assert shown["fragments"]["edited"] == ""
        assert other.http.get("download/studio/medfact-es.yaml").status_code == 404
    assert visitor.fetch_page("studio", relation="symptoms")["fragments"]["edited"].count("<tr>") == 0, (
        "nor is English changed by it"
    )


def test_facts_in_a_language_lead_to_its_sentences(visitor: Visitor) -> None:
    assert 'href="studio?pool=medfact-es"' in visitor.fetch_page("facts", language="es")["fragments"]["about"]
    assert 'href="studio"' in visitor.fetch_page("facts", language="en")["fragments"]["about"]
