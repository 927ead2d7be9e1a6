"""A link of a stranger's in a real browser: it chooses nothing, and agrees to nothing. Needs Chromium."""

from __future__ import annotations

import json
from pathlib import Path
from urllib.parse import quote, urlencode

import pytest
from mock_service import MockService
from pages import upload_file, write_facts
from playwright.sync_api import Page, expect

pytestmark = pytest.mark.browser

ROWS = [(f"disease {n}", "symptoms", f"sign {n}") for n in range(14)]


def facts(folder: Path, name: str, rows: list[tuple[str, str, str]]) -> Path:
    return write_facts(folder / name, rows, ("head", "relation", "tail"))


def test_a_link_chooses_no_service_and_agrees_to_nothing(page: Page, address: str) -> None:
    with MockService() as evil:
        chosen = {"models": [], "rows": [{"id": "a", "model": "m", "address": evil.base_url}], "pairs": 10, "shots": 0}
        for begins in ("?setup=", "#setup=", "?"):
            page.goto("about:blank")
            page.goto(f"{address}evaluate{begins}{urlencode(chosen) if begins == '?' else quote(json.dumps(chosen))}")
            expect(page.locator("#why-not")).to_contain_text("60 true")
            expect(page.locator(".mf-row")).to_have_count(0)
        page.locator("#evaluate").click()
        expect(page.locator("#progress")).to_contain_text("complete")
        expect(page.locator("#progress")).to_contain_text("medfact-tiny")
        assert evil.calls == []


def test_a_link_chooses_what_is_written_and_fills_nothing_else(page: Page, address: str) -> None:
    with MockService() as evil:
        fields = {"kind": "llmeval", "where": "service", "service": "m", "address": evil.base_url, "agreed": "true", "pairs": 4}
        page.goto(f"{address}write?{urlencode(fields)}")
        expect(page.get_by_label("A language model is to")).to_have_value("llmeval")  # our links choose that alone
        expect(page.get_by_label("address", exact=True)).to_have_value("")
        expect(page.get_by_label("model's name")).to_have_value("")
        assert evil.calls == []


def test_what_is_agreed_to_is_one_host_and_one_file(page: Page, tmp_path: Path) -> None:
    upload_file(page, facts(tmp_path, "own.csv", ROWS))
    expect(page.locator("#facts-said")).to_contain_text("14 true facts read")
    page.get_by_role("button", name="+ Add model").click()
    page.get_by_label("model's name").fill("m")
    page.locator(".mf-row").get_by_role("textbox", name="address").fill("https://models.example/v1")
    page.keyboard.press("Tab")
    box = page.get_by_label("My own facts may go to models.example: own.csv")
    box.check()
    page.get_by_label("key for models.example").fill("sk-for-one-host-0123456789")
    page.locator(".mf-row").get_by_role("textbox", name="address").fill("https://another.example/v1")
    page.keyboard.press("Tab")
    other = page.get_by_label("My own facts may go to another.example: own.csv")
    expect(other).not_to_be_checked()
    expect(page.get_by_label("key for another.example")).to_have_value("")
    page.locator(".mf-row").get_by_role("textbox", name="address").fill("https://models.example/v1")
    page.keyboard.press("Tab")
    box.check()
    expect(box).to_be_checked()
    upload_file(page, facts(tmp_path, "next.csv", [*ROWS, ("gout", "symptoms", "pain")]))
    expect(page.locator("#facts-said")).to_contain_text("15 true facts read")
    expect(page.get_by_label("My own facts may go to models.example: next.csv")).not_to_be_checked()
    expect(page.locator("#evaluate")).to_have_attribute("aria-disabled", "true")
    expect(page.locator("#why-not")).to_contain_text("Your own facts would go to models.example")
