"""What the page says of runs: the verdict first, one leaderboard, five tabs, and facts that filters find."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from html import unescape
from typing import Any

import pytest
from asked_updates import OWNER, fetch_fragments
from asked_updates import services as services
from recorded import complete_run

from medfact.results.fact_table import pairs_of_run
from medfact.runs.run import answer
from medfact.runs.start import start
from medfact.spec import RunSpec
from medfact.views.report import html_report
from medfact.web.services import Services


@pytest.fixture
def two(services: Services) -> str:
    """True unless denied, and always true, about the same 12 facts and their false partners."""
    store = services.store.of(OWNER)
    runs = [
        complete_run(RunSpec(model=f"baseline:{name}", limit=12, shots=0), store) for name in ("negation-cue", "always-true")
    ]
    return ",".join(runs)


def text_of(html: str) -> str:
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", html)).split())


def part(shown: dict[str, Any], name: str) -> str:
    return str(shown["fragments"][name])


def found(shown: dict[str, Any]) -> int:
    """How many facts the list says it found."""
    told = re.search(r"facts [\d,]+ to [\d,]+ of ([\d,]+)", part(shown, "tab"))
    return int(told[1]) if told else 0


def test_facts_and_their_cards_are_shown_and_found_in_the_language_that_was_asked(services: Services) -> None:
    store = services.store.of(OWNER)
    spec = RunSpec(model="baseline:always-true", limit=12, shots=0)
    runs = [complete_run(replace(spec, asked_in=code), store) for code in ("es", "en")]
    shown = fetch_fragments(services, run=runs[0], tab="facts")
    english, name = re.findall('<bdi lang="es" title="([^"]+)">([^<]+)</bdi>', unescape(part(shown, "tab")))[0]
    assert found(fetch_fragments(services, run=runs[0], tab="facts", search=name)) >= 1
    reviewed = fetch_fragments(services, "review", run=runs[0], data="run", reviewer="Inés", search=name)
    assert f'<bdi lang="es" title="{english}">{name}</bdi>' in unescape(part(reviewed, "fact"))
    opened = part(fetch_fragments(services, run=runs[0], tab="facts", fact=0), "drawer")
    assert "In English: " in opened
    assert opened.count('lang="es"') >= 16
    both = part(fetch_fragments(services, run=",".join(runs), tab="facts"), "tab")
    assert 'lang="es"' not in both, "of runs in two languages the facts are named in English"
    assert english in unescape(both)
    worst = (
        unescape(part(fetch_fragments(services, run=",".join(runs)), "tab"))
        .split('class="mf-living-list"')[1]
        .split("</ul>")[0]
    )
    signs = re.findall(r'<li>(?:<i class="mf-glyph"[^>]* title="([^"]+)"[^>]*>.</i>)?<i class="mf-cell', worst)
    assert {sign.partition(", ")[2] for sign in signs} <= {"English", "Spanish"}, "a sentence of one run has that run's sign"
    assert "aria-hidden" not in worst.split("<li>")[0], "a row of signs over columns stands only where all runs reply"


def test_the_head_says_in_which_language_was_asked(services: Services) -> None:
    """Word matching was measured on English names: it stands beside no other language."""
    store = services.store.of(OWNER)
    codes = ("zh", "de", "es", "fr")
    runs = [complete_run(RunSpec(model="baseline:always-true", limit=12, shots=0, asked_in=code), store) for code in codes]
    one = fetch_fragments(services, run=runs[0])
    assert text_of(part(one, "progress")).startswith("always says true on clinical-core in Chinese 192 of 192")
    assert "word matching" not in text_of(part(one, "scores"))
    several = text_of(part(fetch_fragments(services, run=",".join(runs)), "progress"))
    assert several.startswith("always says true, 4 runs on clinical-core in 4 languages 768 of 768")


def test_nothing_is_shown_before_ten_facts_have_answers(services: Services, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("medfact.results.live.Reports.pace", lambda self, *lives: 0.0)
    run = start(RunSpec(model="baseline:random", limit=12, shots=0), services.store.of(OWNER))
    shown = fetch_fragments(services, run=run)
    assert "Results appear here once ten facts have all their answers" in part(shown, "tab")
    assert "no value" not in part(shown, "scores")
    assert "0.0%" not in part(shown, "scores")
    list(answer(run, services.store))
    shown = fetch_fragments(services, run=run)
    assert "Summary" in text_of(part(shown, "tab"))
    assert "masters" in part(shown, "scores")


def test_an_unknown_tab_opens_the_summary(services: Services, two: str) -> None:
    assert fetch_fragments(services, run=two, tab="nonsense")["show"]["tab"] == "summary"


def test_a_link_to_a_pair_of_one_run_opens_that_pair(services: Services, two: str) -> None:
    other = two.split(",")[1]
    members = pairs_of_run(services.reports.board(other)).members
    shown = fetch_fragments(services, run=two, tab="facts", chosen=1, fact=3)
    fact = services.store.answers.facts(other)[members[3][0]]
    assert f'aria-label="{fact.head}, {fact.relation}, {fact.tail}"' in unescape(part(shown, "drawer"))
    assert f"fact={shown['show'].get('fact', 3)}" in shown["query"]
    assert "chosen=" not in shown["query"]


def test_facts_are_found_by_words_filters_and_groups(services: Services, two: str) -> None:
    """True unless denied has the 12 true facts wholly right and the 12 false ones wholly wrong; always true half of each."""
    assert found(fetch_fragments(services, run=two, tab="facts")) == 24
    wanted = {("mastered", -1): 12, ("mastered", 0): 12, ("mastered", 1): 0, ("opposite", 0): 12, ("negation-blind", 1): 12}
    for (only, model), facts in wanted.items():
        assert found(fetch_fragments(services, run=two, tab="facts", only=only, model=model)) == facts, only
    assert found(fetch_fragments(services, run=two, tab="facts", only="wrong none")) == 12, "the false ones, when affirmed"
    assert found(fetch_fragments(services, run=two, tab="facts", only="differ")) == 24
    fact = services.store.answers.facts(two.split(",")[0])[0]
    words = f"{fact.tail} {fact.head}".upper()
    assert 1 <= found(fetch_fragments(services, run=two, tab="facts", search=words)) < 24, "words in any order"
    assert found(fetch_fragments(services, run=two, tab="facts", search="no such words")) == 0
    of = fetch_fragments(services, run=two, tab="facts", within=f"relation:{fact.relation}")
    assert 1 <= found(of) < 24
    assert "within=relation" in of["query"], "filters stand in the address"


def test_points_and_bars_open_the_facts_that_they_stand_for(services: Services, two: str) -> None:
    for tab, only in (("summary", '"only": "negation-blind"'), ("groups", '"within": "relation:')):
        plots = unescape(unescape(part(fetch_fragments(services, run=two, tab=tab), "tab")))
        assert only in plots
        assert '"meta": [{' in plots
    (plot,) = re.findall(r'id="ways"[^>]* data-plot="([^"]*)"', part(fetch_fragments(services, run=two), "tab"))
    for place, column in enumerate(json.loads(unescape(unescape(plot)))["data"]):
        opens = {one["only"]: one for one in column["meta"]}["wrong dn"]
        assert opens["model"] == place
        shown = fetch_fragments(services, run=two, **opens)
        assert found(shown) == 12, "one is wrong on the 12 false facts that are denied, the other on the 12 true ones"
        assert found(fetch_fragments(services, run=two, **opens | {"model": -1})) == 24
        assert re.search('value="wrong dn" selected>wrong when asked plain, denied<', part(shown, "tab"))


def test_a_difference_has_the_sign_of_its_headline(services: Services, two: str) -> None:
    """Always true comes first here, and true unless denied is ahead of it by 50 points."""
    turned = ",".join(reversed(two.split(",")))
    shown = text_of(part(fetch_fragments(services, run=turned, tab="statistics"), "tab"))
    assert "true unless denied less always says true +50.0 points" in shown
    assert shown.count("does not mean “equal”") == 1


def test_diagnoses_have_a_clinicians_words(services: Services, two: str) -> None:
    drawn = unescape(part(fetch_fragments(services, run=two), "tab"))
    legend = re.findall(r'"name": "([^"]+)"', drawn)
    assert "believes the opposite" in legend
    assert "no clear pattern, about half right" in legend
    assert not {"by-chance", "opposite", "negation-blind", "mixed-up"} & set(legend)


def test_the_head_says_which_run_is_in_which_state(services: Services, two: str) -> None:
    begun = start(RunSpec(model="baseline:random", limit=12, shots=0), services.store.of(OWNER))
    head = text_of(part(fetch_fragments(services, run=f"{two},{begun}"), "progress"))
    assert "true unless denied and always says true: complete; a coin: " in head


def test_search_page_and_order_are_steps_that_back_undoes(services: Services, two: str) -> None:
    for field, value in (("search", "gout"), ("page", 1), ("sort", "average_accuracy"), ("pattern", "✓✓✓✓✗✗✗✗")):
        assert fetch_fragments(services, run=two, tab="facts", **{field: value})["stop"][field] == value


def test_page_and_report_begin_with_the_same_facts(services: Services, two: str) -> None:
    """Three stand on the page; the report's pairs begin with theirs."""
    shown = unescape(part(fetch_fragments(services, run=two), "tab"))
    section = shown.split('aria-label="The facts answered worst"')[1].split("</section>")[0]
    on_page = re.findall(r"<article.*?<bdi>([^<]+)</bdi>", section, re.DOTALL)
    told = unescape(html_report(services.store, two.split(","), "2026-11-27T00:00:00+00:00"))
    in_report = re.findall(r'class="mf-failure.*?<bdi>([^<]+)</bdi>', told, re.DOTALL)
    assert len(set(on_page)) == 3
    assert in_report[:3] == on_page
