"""How the pages look in a browser: no rule of the style is lost, no page jumps, no control hides what it is, no table is
cut."""

import re
from collections.abc import Iterator
from typing import Any

import pytest
from browser import choose_models, open_checked_page, open_demonstration, type_pair_count
from playwright.sync_api import Browser, Page, expect

from medfact.web.layout import style

pytestmark = pytest.mark.browser

PAGES = {
    "": "#hero h1",
    "evaluate": "#models input",
    "facts": "#cards .mf-fact",
    "review": "#fact h2",
    "studio": "#relation .mf-card",
    "write": "#form .mf-card",
    "runs": "#runs > *",
    "runs?of=published": "#runs > *",
    "tour": ".mf-tour",
    "game": "#game > *",
    "docs": "#docs h2",
}
"""The pages, and what shows that each has been drawn."""

PREFIX = re.compile(r"\.gradio-container\.gradio-container-[\d-]+ \.contain ")
"""What the page library writes before selectors within @media: they find nothing outside of its main element."""

OUTSIDE = re.compile(r"^(:root|html|body|\.dark(?![\w-])|\.gradio-container|gradio-app)")


def rules_in(text: str) -> Iterator[tuple[str, str]]:
    """Each block of a style sheet, as what stands before it (selectors, or an at-rule) and what it holds."""
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)
    depth = start = opened = 0
    for at, letter in enumerate(text):
        if letter == "{":
            opened, depth = (at if depth == 0 else opened), depth + 1
        elif letter == "}":
            depth -= 1
            if depth == 0:
                yield text[start:opened].strip(), text[opened + 1 : at]
                start = at + 1


def parsed(page: Page, text: str) -> list[str]:
    """What the browser makes of rules: the first words of each that it keeps."""
    script = """(text) => { const sheet = new CSSStyleSheet(); sheet.replaceSync(text);
        return [...sheet.cssRules].map((rule) => rule.selectorText ?? rule.cssText.split("{")[0].trim()); }"""
    found: list[str] = page.evaluate(script, text)
    return found


def visit(page: Page, address: str, path: str, there: str) -> None:
    page.goto(f"{address}{path}")
    expect(page.locator(there).first).to_be_attached()
    expect(page.locator(".mf-frame a").first).to_be_visible()


def test_the_browser_drops_no_rule_of_the_style(page: Page) -> None:
    whole = list(rules_in(style()))
    assert len(whole) > 200
    assert len(parsed(page, style())) == len(whole)
    lost = [before for before, holds in whole if not parsed(page, f"{before} {{{holds}}}")]
    for at_rule, holds in whole:
        if at_rule.startswith("@media"):
            lost += [before for before, rest in rules_in(holds) if not parsed(page, f"{before} {{{rest}}}")]
    assert lost == []


def test_the_browser_knows_every_declaration_of_the_style(page: Page) -> None:
    inner = re.findall(r"[{;]\s*(-?[a-z][\w-]*)\s*:\s*([^;{}]+)(?=[;}])", re.sub(r"/\*.*?\*/", "", style(), flags=re.DOTALL))
    declared = {(name, value.replace("!important", "").strip()) for name, value in inner}
    assert len(declared) > 300
    script = "(pairs) => pairs.filter(([name, value]) => !CSS.supports(name, value))"
    assert page.evaluate(script, [list(pair) for pair in declared]) == []


def test_what_lies_outside_the_main_element_is_reached_on_a_phone_too(page: Page) -> None:
    """The page library puts selectors within @media under its main element, so that they reach nothing else."""
    kept: list[str] = page.evaluate(
        """() => { const all = (rules) => [...rules].flatMap((rule) => rule.selectorText ? [rule.selectorText]
            : rule instanceof CSSMediaRule ? all(rule.cssRules) : []);
            return [...document.styleSheets].filter((one) => !one.href).flatMap((one) => all(one.cssRules)); }"""
    )
    assert any(PREFIX.match(selector) for selector in kept)  # else this test says nothing
    within = [before for rule, holds in rules_in(style()) if rule.startswith("@media") for before, _ in rules_in(holds)]
    assert [selector for selector in within if any(OUTSIDE.match(one.strip()) for one in selector.split(","))] == []
    raw = {selector for selector in kept if not PREFIX.match(selector)}
    assert [one for one in parsed(page, style()) if not one.startswith("@") and one not in raw] == []


PLACES = """() => { const of = (node) => { const box = node.getBoundingClientRect(); return [box.left, box.width]; };
    const links = [...document.querySelectorAll('.mf-frame :is(a, button)')];
    return { page: of(document.querySelector('.gradio-container')), main: of(document.querySelector('main')),
        links: links.map((one) => [one.textContent, ...of(one), scrollY + one.getBoundingClientRect().top]) }; }"""


AFFORDANCES = """() => [...document.querySelectorAll('mf-part :is(select, summary, input[type=checkbox], input[type=radio])')]
    .filter((field) => field.offsetParent)
    .filter((field) => { const style = getComputedStyle(field);
        const drawn = style.appearance !== 'none' || style.backgroundImage !== 'none';
        const bare = (node) => !node || getComputedStyle(node).borderStyle === 'none';
        const unmarked = style.listStyleType === 'none' && bare(field) && bare(field.firstElementChild);
        return field.matches('summary') ? unmarked : !drawn; })
    .map((field) => field.outerHTML.slice(0, 200))"""
"""Fields and folds that do not look like what they are."""

CUT = """() => [...document.querySelectorAll('mf-part table')]
    .filter((table) => table.offsetParent && !table.closest('.mf-tall'))
    .filter((table) => { const box = table.parentElement; const edge = box.getBoundingClientRect().right + 1;
        return box.scrollWidth > box.clientWidth + 1 || table.getBoundingClientRect().right > Math.max(edge, innerWidth); })
    .map((table) => table.parentElement.getAttribute('aria-label') ?? table.outerHTML.slice(0, 100))"""
"""Tables of which a column is cut."""


@pytest.mark.parametrize("width", [1280, 390])
def test_pages_fit_their_screen_and_have_one_width(browser: Browser, address: str, width: int) -> None:
    """The navigation has one place on all of them, and every control looks like what it is."""
    places: dict[str, Any] = {}
    with open_checked_page(browser, address, width) as page:
        for path, there in PAGES.items():
            visit(page, address, path, there)
            for _ in range(40):  # what opens scrolls and settles
                places[path] = page.evaluate(PLACES)
                if places[path] == places[""]:
                    break
                page.wait_for_timeout(250)
            assert width < 1280 or page.evaluate(AFFORDANCES) == [], path
            assert page.evaluate("document.documentElement.scrollWidth") <= width, path
        visit(page, address, "evaluate", PAGES["evaluate"])
        page.locator("[data-key=relations]").click()
        assert page.evaluate(CUT) == []
        open_demonstration(page, address)
        for tab in ("Summary", "Facts", "Confidence", "Groups", "Statistics"):
            page.get_by_role("tab", name=tab).click()
            expect(page.get_by_role("tab", name=tab)).to_have_attribute("aria-selected", "true")
            assert tab in ("Groups", "Statistics") or page.evaluate(CUT) == [], tab
            assert page.evaluate("document.documentElement.scrollWidth") <= width, tab
    assert places[""]["page"] == [0, width]
    assert {path for path, place in places.items() if place != places[""]} == set()
    assert len({round(top / 12) for _, _, _, top in places[""]["links"]}) <= (1 if width > 700 else 2), (
        "the navigation is one line, or two"
    )


def test_a_race_is_offered_for_two_models_and_run(page: Page) -> None:
    box = page.locator("#race")
    choose_models(page, "a coin")
    expect(box).to_be_hidden()
    choose_models(page, "a coin", "true unless denied")
    expect(box).to_be_visible()
    box.locator("input").check()
    type_pair_count(page, 60)
    page.locator("#evaluate").click()
    expect(page.locator("#progress")).to_contain_text("true unless denied", timeout=120_000)
    expect(page.locator("#scores [data-key=race]").first).to_be_visible(timeout=120_000)
