"""The page Studio in a real browser: a relation that no pool knows gets its sentences and is evaluated. Needs Chromium."""

from __future__ import annotations

from pathlib import Path

import pytest
from pages import HOSTILE, upload_file
from playwright.sync_api import Page, expect
from writers import FORMS, RELATION, TYPED_SENTENCES

from medfact.prototypes import load_pool
from medfact.store import Store

pytestmark = pytest.mark.browser


def facts_file(folder: Path) -> Path:
    file = folder / "mine.csv"
    file.write_text("head,relation,tail\n" + "".join(f"disease {n},{RELATION},remedy {n}\n" for n in range(14)))
    return file


def test_a_relation_of_ones_own_is_stated_signed_off_exported_and_evaluated(
    page: Page, address: str, app_home: Path, tmp_path: Path
) -> None:
    upload_file(page, facts_file(tmp_path))
    expect(page.locator("#facts")).to_contain_text("mine.csv")
    page.goto(f"{address}facts")
    page.get_by_role("link", name="edit the sentences").click()
    expect(page.locator("[data-set=data]")).to_have_value("own")
    page.get_by_role("combobox", name="Relation").select_option(RELATION)
    card = page.locator("#relation")
    expect(card.get_by_role("heading")).to_contain_text("new")
    for number, form in enumerate(FORMS):
        card.locator(f"[data-set=s{number}]").fill("[X] always needs [Y]." if form == "dn" else TYPED_SENTENCES[form])
    expect(card).to_contain_text("Remedy 0 is used to relieve disease 0.")
    expect(card).to_contain_text("Not usable: it differs from the affirmed sentence by more than the negation.")
    card.get_by_role("button", name="Save").click()
    expect(page.locator("#said")).to_contain_text("not in use yet: 1 of 8 sentences")
    expect(page.locator("#edited")).to_contain_text("not yet: 1 problem")
    card.locator("[data-set=s4]").fill(TYPED_SENTENCES["dn"])
    expect(card).not_to_contain_text("Not usable")
    card.get_by_role("button", name="Save").click()
    expect(page.locator("#said")).to_contain_text("Saved the sentences of")
    card.get_by_role("button", name="Sign off: plain", exact=True).click()
    expect(page.locator("#said")).to_contain_text("Type your name or initials first")
    name = page.get_by_label("Your name or initials")
    name.fill(HOSTILE[1])
    name.press("Tab")
    expect(name).to_have_value(HOSTILE[1])
    card.get_by_role("button", name="Sign off: plain", exact=True).click()
    expect(card).to_contain_text(f"Signed off by {HOSTILE[1]}")
    expect(page.locator("#edited")).to_contain_text("1 of 8")
    with page.expect_download() as given:
        page.get_by_role("link", name="Export as YAML").click()
    file = tmp_path / "studio.yaml"
    given.value.save_as(file)
    assert RELATION in load_pool(str(file)).relations
    page.get_by_role("link", name="Evaluate with these sentences").click()
    expect(page.locator("#facts")).to_contain_text("with those that you wrote or changed")
    page.get_by_role("button", name="on mine.csv").click()
    expect(page.locator("#progress")).to_contain_text("224 of 224 statements", timeout=120_000)
    last = Store(f"sqlite:///{app_home / 'medfact.db'}").runs()[-1]
    assert (last.dataset, last.statements) == ("mine.csv", 224)


def test_what_is_typed_and_not_saved_can_be_gone_back_to(page: Page, address: str) -> None:
    page.goto(f"{address}studio?relation=symptoms")
    card, plain = page.locator("#relation"), page.locator("#relation [data-set=s0]")
    plain.fill("[Y] {is|are} a known sign of [X].")
    expect(card.locator("ins").first).to_contain_text("known")
    page.get_by_role("combobox", name="Relation").select_option("therapeutic drugs")
    expect(card).to_contain_text("What you typed of “symptoms” is not saved")
    expect(plain).not_to_have_value("[Y] {is|are} a known sign of [X].")
    card.get_by_role("button", name="Go back to it").click()
    expect(plain).to_have_value("[Y] {is|are} a known sign of [X].")
    expect(card).not_to_contain_text("is not saved")
    expect(page.locator("#edited")).to_be_empty()


def test_another_visitor_sees_nothing_of_it_and_rubbish_shows_a_page(page: Page, address: str) -> None:
    assert page.request.get(f"{address}download/studio/medfact.yaml").status == 404
    assert page.request.get(f"{address}download/studio/..%2f..%2fetc.yaml").status == 404
    page.goto(f"{address}evaluate?studio=nothing:nowhere")
    expect(page.locator("#go")).to_contain_text("There is no such pool to edit")
    page.goto(f"{address}studio?pool=../../x&data=<b>&relation={'y' * 5_000}&of=z&s0={HOSTILE[0]}")
    expect(page.locator("#relation h2")).to_contain_text("symptoms")
    expect(page.locator("#edited h2")).to_have_count(0)
