"""Retrieved passages on the page: choose them and a corpus, see what was found, what it changes, what it turned."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from browser import choose_models, type_pair_count
from pages import open_tab, upload_file
from playwright.sync_api import Page, expect
from small_facts import write_csv

pytestmark = pytest.mark.browser


def open_inputs(page: Page) -> None:
    page.get_by_role("button", name=re.compile("Retrieved passages")).click()


def test_passages_are_chosen_shown_and_weighed(page: Page) -> None:
    choose_models(page, "a coin")
    type_pair_count(page, 10)
    open_inputs(page)
    page.get_by_label("by shared words (BM25)").check()
    page.get_by_label("with passages that do not").check()
    expect(page.locator("#documents")).to_contain_text("Passages come from the facts of the data set")
    expect(page.locator("#why-not")).to_contain_text("10 true and 10 false facts, 8 sentences each × 3 settings")
    page.locator("#evaluate").click()
    expect(page.locator("#progress [role=status]")).to_have_text("480 of 480 statements · complete")
    rows = page.locator("#scores tbody tr")
    expect(rows.filter(has_text="160 of 160 statements · complete")).to_have_count(3)
    expect(rows.filter(has_text="sparse passages without the answer")).to_have_count(1)
    open_tab(page, "With passages")
    found = page.get_by_role("region", name="recall of the fact")
    expect(found.locator("tbody tr")).to_have_count(2)
    expect(found.locator("tbody tr").nth(0)).to_contain_text("passages that may contain the answer")
    expect(found.locator("tbody tr").nth(0)).to_contain_text("of 80 statements about true facts")
    expect(found.locator("tbody tr").nth(1)).to_contain_text("passages that do not")
    expect(found.locator("tbody tr").nth(1).locator(".mf-figure").first).to_have_text("0.0%")
    expect(page.locator("#tab")).to_contain_text("Can it read?")
    expect(page.locator("#tab")).to_contain_text("Can it use related knowledge?")
    changed = page.get_by_role("region", name="what passages change")
    expect(changed.locator("tbody tr")).to_have_count(2)
    expect(changed.locator("tbody tr").nth(0)).to_contain_text("of 160 statements")
    # the list is drawn after the choice: the helped ones come last, and stay
    for which in ("harmed", "helped"):
        page.get_by_label("Answers that passages").select_option(which)
        expect(page.locator("[data-key=choose-flips]")).to_have_value(which)
    flip = page.locator(".mf-flips > li").first
    expect(flip).to_contain_text("without passages, right with them")
    flip.get_by_role("button", name="All answers about this fact").click()
    drawer = page.locator(".mf-drawer")
    expect(drawer).to_contain_text("sparse passages")
    passages = drawer.locator(".mf-passages").first
    passages.locator("summary").click()
    expect(passages.locator("ol li").first).to_be_visible()
    page.keyboard.press("Escape")  # the drawer lies over the tabs at the right
    expect(drawer).to_have_count(0)
    page.get_by_role("tab", name="Statistics").click()
    expect(page.get_by_role("region", name="what passages change").locator("tbody tr")).to_have_count(2)


def test_own_documents_are_the_corpus(page: Page, tmp_path: Path) -> None:
    choose_models(page, "a coin")
    type_pair_count(page, 10)
    open_inputs(page)
    rows = [{"number": n, "abstract": f"Note {n} on <b>asthma</b> and ${{wheezing}}. It is short."} for n in range(30)]
    upload_file(page, write_csv(tmp_path / "notes.csv", rows), "Your own documents")
    expect(page.locator("#documents")).to_contain_text("notes.csv: 30 passages, of 100 words at most.")
    expect(page.locator("#documents-said")).to_contain_text("notes.csv: 30 passages read.")
    rows = [{"left": f"left {n}", "right": f"right {n}"} for n in range(5)]
    upload_file(page, write_csv(tmp_path / "two.csv", rows), "Your own documents")
    page.get_by_label("Which column of two.csv holds the text?").select_option("right")
    page.get_by_role("button", name="Use it").click()
    expect(page.locator("#documents")).to_contain_text("two.csv: 5 passages")
    broken = tmp_path / "broken.txt"
    broken.write_bytes(bytes(range(256)) * 40)
    upload_file(page, broken, "Your own documents")
    expect(page.locator("#documents-said")).to_contain_text("broken.txt")
    expect(page.locator("#documents-said")).to_contain_text("The documents chosen before stay in use.")
    expect(page.locator("#documents")).to_contain_text("two.csv")
    page.get_by_role("button", name="Use the known facts instead").click()
    expect(page.locator("#documents")).to_contain_text("Passages come from the facts of the data set")
    rows = [{"text": f"Note {n} on <b>asthma</b> and ${{wheezing}} of the patient."} for n in range(3)]
    upload_file(page, write_csv(tmp_path / "hostile.csv", rows), "Your own documents")
    expect(page.locator("#documents")).to_contain_text("hostile.csv: 3 passages")
    page.locator("#evaluate").click()
    expect(page.locator("#progress [role=status]")).to_have_text("320 of 320 statements · complete")
    open_tab(page, "With passages")
    expect(page.get_by_role("region", name="recall of the fact")).to_contain_text("5 of hostile.csv")
