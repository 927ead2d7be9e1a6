"""A table in Spanish, from its upload to its report, on the command line and on the page."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from browser import collect_page_errors
from mock_service import Behaviour, MockService
from pages import upload_file
from playwright.sync_api import Page, expect
from strangers import laptop as laptop
from strangers import laptop_home as laptop_home
from strangers import visitor as visitor
from strangers import wait_for_run_end
from visitors import Visitor

from medfact.datasets import load
from medfact.languages import load_language
from medfact.runs.plan import plan
from medfact.spec import RunSpec

TABLE = """head,relation,tail
arteritis de células gigantes,tratamiento,prednisona
diabetes mellitus tipo 2,tratamiento,metformina
hipotiroidismo,tratamiento,levotiroxina
migraña,tratamiento,sumatriptán
sarampión,síntoma,manchas de Koplik
psoriasis,síntoma,placas escamosas
enfermedad de Parkinson,síntoma,temblor en reposo
hipertiroidismo,síntoma,intolerancia al calor
apendicitis aguda,síntoma,dolor en la fosa ilíaca derecha
embolia pulmonar,síntoma,dolor torácico pleurítico
"""
KEY = "sk-in-spanish-0123456789"
MIXED = "The table is in Spanish, and is asked in English"


@pytest.fixture
def table(tmp_path: Path) -> Path:
    file = tmp_path / "own-spanish.csv"
    file.write_text(TABLE, encoding="utf-8")
    return file


def knowing(table: Path) -> tuple[Callable[[str], str], float]:
    """Says in Spanish of each statement whether it is true, but of each fifth one the contrary; and the share that is right."""
    spec = RunSpec("openai:x", facts=str(table), limit=10, shots=0, asked_in="es")
    layout, says = load_language("es").asking.format, {}
    for number, item in enumerate(plan(spec, load(spec)).statements):
        is_true = item.statement.label != (number % 5 == 0)
        says[layout.ask(item.statement.text)] = "Verdadero." if is_true else "La afirmación es falsa."
    assert len(says) >= 16 * 8
    return lambda prompt: says.get(prompt, "Verdadero"), (len(says) * 4 // 5) / len(says)


def test_the_command_line_asks_a_table_in_its_language(
    table: Path, medfact: Callable[..., Any], url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    writes, right = knowing(table)
    with MockService(Behaviour(write_reply=writes)) as service:
        settings = ("--facts", table, "--limit", 10, "--shots", 0, "--db", url, "--yes")
        done = medfact("run", "--model", "openai:x", "--base-url", service.base_url, *settings)
        assert done.code == 0, done.err
    report = json.loads(medfact("report", json.loads(done.out)["run"], "--json", "--db", url).out)
    assert (report["unreadable"], report["failed"], report["average_accuracy"]["value"]) == (0, 0, pytest.approx(right))
    assert report["pool"] == "medfact-es"
    assert any(note.startswith("Asked in Spanish, as the table is; ") for note in report["notes"])
    english = medfact("run", "--model", "baseline:random", "--language", "en", *settings)
    notes = json.loads(medfact("report", json.loads(english.out)["run"], "--json", "--db", url).out)["notes"]
    assert any(note.startswith(MIXED) for note in notes)


def test_the_page_asks_a_table_in_its_language(table: Path, visitor: Visitor, laptop_home: Path) -> None:
    path = visitor.upload(table.name, table.read_bytes())
    taken = visitor.press_button("take_file", path)
    assert "The table is in Spanish, and is asked so" in taken["fragments"]["facts-said"]
    assert "es un síntoma o signo reconocido" in taken["fragments"]["facts"]
    writes, right = knowing(table)
    with MockService(Behaviour(write_reply=writes)) as service:
        source = {"facts": path, "columns": []}
        asked = {"source": source, "file_in": "es", "service": "x", "address": service.base_url, "models": [], "pairs": 10}
        made = visitor.evaluate(key=KEY, **asked)
        assert isinstance(made, list), made
        record = wait_for_run_end(laptop_home, made[0])
    assert record.spec.asked_in == "es"
    assert f"{right:.1%}" in visitor.fetch_settled_page(run=made[0])["fragments"]["scores"]


@pytest.mark.browser
@pytest.mark.parametrize("width", [1280, 390])
def test_the_language_of_an_upload_is_chosen_and_can_be_changed(width: int, page: Page, address: str, table: Path) -> None:
    trouble = collect_page_errors(page, address)
    page.set_viewport_size({"width": width, "height": 900})
    page.goto(f"{address}evaluate")
    upload_file(page, table)
    expect(page.locator("#facts-said, mf-part[name=facts-said]").first).to_contain_text("The table is in Spanish")
    preview, facts = page.locator(".mf-preview"), page.locator("mf-part[name=facts]")
    expect(preview).to_contain_text("es un síntoma o signo reconocido")
    page.get_by_role("button", name=re.compile("Method and sentences")).click()
    languages = page.locator("#setting-asked_in")
    expect(languages.get_by_role("checkbox", checked=True)).to_have_count(0)
    languages.get_by_label("English").check()
    expect(facts).to_contain_text(MIXED)
    expect(preview).to_contain_text("is a recognized symptom or sign")
    languages.get_by_label("Spanish").press("Space")
    expect(page.locator("#go")).to_contain_text("in English and Spanish")
    page.reload()
    page.get_by_role("button", name=re.compile("Method and sentences")).click()
    expect(languages.get_by_role("checkbox", checked=True)).to_have_count(2)
    expect(page.locator("#go")).to_contain_text("Evaluate 1 model in 2 languages")
    assert not trouble
