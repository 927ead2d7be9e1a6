"""The page Rewrite in a real browser: choose a writer, see the price, watch the sentences, and ask them. Needs Chromium."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from mock_service import Behaviour, MockService
from pages import HOSTILE, open_tab, rephrase_or_negate, upload_file, write_facts
from playwright.sync_api import Page, expect
from writers import DRAFTED_SENTENCES, parse_statement

pytestmark = pytest.mark.browser

PAIRS = 4
STATEMENTS = PAIRS * 2 * 8
"""The method medfact shows no demonstrations on the page, so none are written."""


def choose(page: Page, address: str, service: MockService, kind: str = "rephrase", pairs: int | None = PAIRS) -> None:
    page.goto(f"{address}write")
    page.get_by_label("A language model is to").select_option(kind)
    row = page.get_by_role("group", name="one more model")
    row.get_by_label("address").fill(service.base_url)
    row.get_by_label("model's name").fill("gpt-4o-mini")
    if pairs:
        page.locator("[data-key=choose-protocol]").select_option("medfact")
        page.get_by_label("Pairs").fill(str(pairs))
    page.keyboard.press("Tab")


def start(page: Page) -> None:
    page.get_by_role("button", name="Write", exact=True).click()


def test_sentences_are_priced_watched_read_and_asked(page: Page, address: str) -> None:
    with MockService(Behaviour(write_reply=rephrase_or_negate, latency=0.05)) as service:
        choose(page, address, service)
        expect(page.locator("#write-price")).to_contain_text(f"{STATEMENTS} texts to write, about")
        expect(page.locator("#write-price")).to_contain_text("at the list price of")
        assert not service.calls, "the price comes first"
        page.get_by_role("button", name="Test", exact=True).click()
        expect(page.locator("#form .mf-chip")).to_contain_text("reachable, no key needed, model known")
        expect(page.get_by_role("button", name=re.compile("Remove"))).to_have_count(0)
        start(page)
        opened = page.locator("#opened")
        expect(opened).to_contain_text("sentences are rephrased")
        expect(opened).to_contain_text(re.compile(rf"of {STATEMENTS} sentences are rephrased"))
        expect(page.get_by_role("link", name="Evaluate with these sentences")).to_be_visible()
        assert max(service.call_counts().values()) == 1
    expect(opened).to_contain_text("it denies what the prototype affirms")
    page.get_by_label("Show").select_option("rephrased")
    row = opened.locator(".mf-rewritten > li").first
    expect(row.locator("ins").first).to_contain_text("added:")
    expect(row.locator("del").first).to_contain_text("left out:")
    page.get_by_label("Show").select_option("stopped")
    row = opened.locator(".mf-rewritten > li").first
    expect(row).to_contain_text("Rejected, original kept: it denies what the prototype affirms")
    row.locator("summary").click()
    expect(row.locator("ol li")).to_have_count(3)
    page.get_by_role("link", name="Evaluate with these sentences").click()
    expect(page.locator(".mf-sets")).to_contain_text("rephrased by gpt-4o-mini")
    page.get_by_label("the sentence templates as they are").check()
    expect(page.locator("#why-not")).to_contain_text(
        f"{PAIRS} true and {PAIRS} false facts, 8 sentences each × 2 sets of sentences"
    )
    page.locator("#evaluate").click()
    expect(page.locator("#progress [role=status]")).to_have_text(f"{2 * STATEMENTS} of {2 * STATEMENTS} statements · complete")
    for asked in ("rephrased", "templates"):
        expect(page.locator("#scores tbody tr").filter(has_text=asked)).to_have_count(1)
    expect(page.locator("#tab")).to_contain_text("gpt-4o-mini")
    open_tab(page, "Statistics")
    page.get_by_role("button", name="The papers’ tables").click()
    table = page.locator("section[aria-label='PretextTrans, Table 13']")
    first = table.locator("tbody tr").first
    expect(first.locator("td .mf-figure")).to_have_count(2)  # the third, −LMReph, is of PretextTrans' own method


def test_drafts_are_accepted_edited_and_refused(page: Page, address: str, tmp_path: Path) -> None:
    rows = [(f"deficiency {n}", relation, f"{relation} {n}") for n in range(12) for relation in ("avoided with", "revealed by")]
    broken = "\n".join(text.replace("[Y] is not used to prevent", "[Y] is used to prevent") for text in DRAFTED_SENTENCES)
    upload_file(page, write_facts(tmp_path / "vitamins.csv", rows, ("head", "relation", "tail")))
    expect(page.locator("#facts-said")).to_contain_text("24 true facts read")
    with MockService(
        Behaviour(write_reply=lambda prompt: broken if "revealed" in prompt else "\n".join(DRAFTED_SENTENCES))
    ) as service:
        choose(page, address, service, "templates", None)
        expect(page.locator("#write-price")).to_contain_text("2 texts to write")
        expect(page.get_by_label("My own facts may go")).to_have_count(0)  # nor is one asked for
        start(page)  # a service on this machine needs no consent
        opened = page.locator("#opened")
        expect(opened).to_contain_text("0 of 2 relations are accepted")
    bad = opened.locator("section[aria-label='the draft of revealed by']")
    expect(bad).to_contain_text("“plain, denied”: it says the same as")
    expect(bad.get_by_role("button", name="Accept")).to_have_attribute("aria-disabled", "true")
    bad.get_by_role("button", name="Refuse").click()
    expect(bad).to_contain_text("refused")
    good = opened.locator("section[aria-label='the draft of avoided with']")
    good.get_by_role("button", name="Edit").click()
    good.locator("textarea[name=none]").fill("[Y] is given to avoid [X] and [X].")
    good.get_by_role("button", name="Save and accept").click()
    expect(page.locator("#said")).to_contain_text("[X] occurs 2 times")
    good.locator("textarea[name=none]").fill("[Y] is given to prevent [X].")
    good.locator("textarea[name=dn]").fill("[Y] is not given to prevent [X].")
    good.get_by_role("button", name="Save and accept").click()
    expect(opened).to_contain_text("1 of 2 relations is accepted")
    studio = good.get_by_role("link", name="Edit on Sentences").get_attribute("href")
    assert studio == "studio?relation=avoided%20with"
    page.get_by_role("link", name="Evaluate with the accepted sentences").click()
    expect(page.locator("#facts")).to_contain_text("a language model drafted and you accepted")
    expect(page.locator("#evaluate")).to_have_text(re.compile("^Evaluate 1 model on vitamins.csv"))
    page.locator("#evaluate").click()
    expect(page.locator("#progress")).to_contain_text("complete")
    expect(page.locator("#tab")).to_contain_text("accepted on the page Rewrite")
    open_tab(page, "Facts")
    page.locator(".mf-pair").first.click()
    expect(page.locator("#drawer")).to_contain_text("is given to prevent deficiency")


def test_what_models_write_stays_text(page: Page, address: str) -> None:
    """A writer that answers with markup: it is shown, and nothing of it acts."""
    with MockService(Behaviour(write_reply=lambda prompt: HOSTILE[1] + parse_statement(prompt) + HOSTILE[3])) as service:
        choose(page, address, service, pairs=1)
        expect(page.locator("#write-price")).to_contain_text("16 texts to write")
        start(page)
        expect(page.get_by_role("link", name="Evaluate with these sentences")).to_be_visible()
    row = page.locator("#opened .mf-rewritten > li").first
    row.locator("summary").click()
    expect(row).to_contain_text("<img src=x onerror=alert(1)>")


def test_another_visitor_reads_a_writing_and_changes_nothing(page: Page, address: str) -> None:
    with MockService(Behaviour(write_reply=rephrase_or_negate)) as service:
        choose(page, address, service, pairs=1)
        expect(page.locator("#write-price")).to_contain_text("16 texts to write")
        start(page)
        expect(page.get_by_role("link", name="Evaluate with these sentences")).to_be_visible()
    link = page.url
    assert page.context.browser is not None
    other = page.context.browser.new_context().new_page()
    other.goto(link)
    expect(other.locator("#opened")).to_contain_text("sentences are rephrased")
    expect(other.locator("#writings")).to_be_empty()
    writing = link.partition("writing=")[2]
    for action in ("delete", "stop", "resume"):
        answer = other.request.post(
            f"{address}updates",
            data={"page": "write", "show": {"writing": writing}, "action": {"name": action, "about": writing}},
        )
        assert "There is no such run among yours" in answer.text(), action
    for shown in ({"run": writing}, {"run": writing, "tab": "facts"}, {"drafts": writing}):
        assert other.request.post(f"{address}updates", data={"page": "evaluate", "show": shown}).status == 200
    assert other.request.get(f"{address}download/{writing}/answers.csv").status in (400, 404)
    other.context.close()
