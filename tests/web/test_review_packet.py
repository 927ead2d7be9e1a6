"""A packet of a review over HTTP: where it begins, what is said after it, and who is remembered."""

from __future__ import annotations

import csv
import io
import re
from pathlib import Path
from typing import Any

from visitors import Visitor, visitor_fixture
from waiting import wait_until

from medfact.datasets.sources import has_source
from medfact.store import Store
from medfact.web.pages.review_material import _facts
from medfact.web.services import spec_of

visitor = visitor_fixture("address")


def judged(visitor: Visitor, shown: dict[str, Any], verdict: str = "true", **show: Any) -> dict[str, Any]:
    """What is shown after a verdict on the fact that is up."""
    (fact,) = re.findall(r'data-timed="(\w+)"', shown["fragments"]["fact"])
    return visitor.press_button(
        "judge", fact, "review", fields={"verdict": verdict, "seconds": "6"}, **{**shown["show"], **show}
    )


def packet(visitor: Visitor, shown: dict[str, Any], size: int = 10) -> dict[str, Any]:
    """What is shown after so many verdicts."""
    show: dict[str, Any] = {"reviewer": "ada"}
    for number in range(size):
        show |= shown["show"]
        shown = judged(visitor, shown, "false" if number < 2 else "true", **show)
    return shown


def test_it_opens_on_a_packet_and_ends_with_what_was_done(visitor: Visitor) -> None:
    opened = visitor.fetch_page("review", reviewer="ada")
    assert "10 facts, about 3 minutes" in opened["fragments"]["fact"]
    assert "min left" not in opened["fragments"]["fact"]
    assert "Fact 1 of 10" in opened["fragments"]["fact"]
    thanks = packet(visitor, opened)["fragments"]["fact"]
    assert "Thank you, ada" in thanks
    assert "10 facts of this packet reviewed: 8 true, 2 false. It took 1 min 0 s." in thanks
    assert "Ten more" in thanks
    assert thanks.count('<li data-key="row-') == 10, "each with its label, once all are judged"
    reloaded = visitor.fetch_page("review", reviewer="ada", place=10, ended=True)
    assert reloaded["fragments"]["fact"] == thanks, "the address leads back to the end"
    assert "place=10&ended=True" in reloaded["query"]
    again = visitor.fetch_page("review")
    assert "10 reviewed by ada" in again["fragments"]["fact"], "who reviewed here last goes on"
    assert again["show"]["place"] == 10, "with the first fact that is not reviewed"
    assert "10 facts, about 1 minute" in again["fragments"]["fact"], "at one's own pace of six seconds"


def test_the_end_of_a_queue_is_the_end_of_a_packet(visitor: Visitor) -> None:
    found = {"reviewer": "ada", "search": "giant cell arteritis prednisone"}
    shown = visitor.fetch_page("review", **found)
    assert "1 fact, about 1 minute" in shown["fragments"]["fact"]
    ended = judged(visitor, shown, **found)["fragments"]["fact"]
    assert "1 fact of this packet reviewed: 1 true" in ended
    assert "You have reviewed all facts of this queue" in ended
    assert "Ten more" not in ended


def test_another_queue_begins_with_its_own_first_fact(visitor: Visitor) -> None:
    shown = visitor.fetch_page("review", reviewer="ada", place=37)
    assert "Fact 8 of 10" in shown["fragments"]["fact"]
    other = visitor.fetch_page("review", **{**shown["show"], "reviewer": "ada", "place": 37, "relation": "symptoms"})
    assert other["show"]["place"] == 0


def test_what_no_source_states_comes_first_with_its_false_partner() -> None:
    """Where a fact stands tells nothing of its label: the last of them are not all true."""
    facts = _facts(spec_of({"dataset": "clinical-core"}))
    true = [fact for fact in facts if fact.positive]
    stated = [has_source(fact) for fact in true]
    assert stated == sorted(stated)
    first = facts.index(true[stated.index(True)])
    for part in (facts[:first], facts[first:]):
        assert 0.4 < sum(fact.positive for fact in part) / len(part) < 0.6


def test_after_the_verdict_one_reads_what_others_and_models_said_and_not_before(visitor: Visitor) -> None:
    (run,) = visitor.evaluate("baseline:always-true")
    wait_until(lambda: visitor.fetch_page(run=run)["again"] is None)
    for name, verdict in (("ada", "true"), ("bob", "true"), ("cyd", "false"), ("dora", "cannot")):
        opened = visitor.fetch_page("review", reviewer=name, run=run, place=0)
        assert "said the same" not in opened["fragments"]["fact"]
        assert "always says true" not in opened["fragments"]["fact"]
        judged(visitor, opened, verdict, reviewer=name, run=run)
    said = "1 of 3 other reviewers said the same. always says true answered 4 of 8 sentences as you hold them."
    none = said.replace("1 of 3", "0 of 3")
    for name, told in (
        ("ada", f"You said: true. {said}"),
        ("cyd", f"You said: false. {none}"),
        ("dora", "You said: cannot judge. 0 of 3 other reviewers said the same."),
    ):
        seen = visitor.fetch_page("review", reviewer=name, run=run, place=0)["fragments"]["fact"]
        assert re.findall(r'data-key="afterwards[^>]*>(.*?)</p>', seen) == [told]


def test_a_reviewer_of_a_language_judges_in_it_and_the_log_says_so(visitor: Visitor, app_home: Path) -> None:
    of = {"reviewer": "Inés", "language": "es", "search": "migraña fotofobia"}
    shown = visitor.fetch_page("review", **of)
    fact = shown["fragments"]["fact"]
    assert '<bdi lang="es" title="migraine">migraña</bdi>' in fact
    assert fact.count('class="mf-sentence" lang="es"') == 8
    assert "In English: " in fact
    assert "in Spanish" in shown["fragments"]["choice"]
    (about,) = re.findall(r'data-timed="(\w+)"', fact)
    (sentence, *_) = re.findall(r'name="of-(\w+)"', fact)
    fields = {"verdict": "true", f"of-{sentence}": "unclear", f"wording-{sentence}": "mejor así"}
    visitor.press_button("judge", about, page_name="review", fields=fields, **of)
    store = Store(f"sqlite:///{app_home / 'medfact.db'}")
    log = [one for one in store.verdicts.log([about]) if one.reviewer == "Inés"]
    assert [(one.verdict, one.language) for one in log] == [("true", "es"), ("unclear", "es")]
    rows = list(csv.DictReader(io.StringIO(visitor.http.get("download/reviews/verdicts.csv").text)))
    assert {row["language"] for row in rows if row["reviewer"] == "Inés"} == {"es"}
    assert visitor.fetch_page("review", reviewer="Inés", language="<b>")["show"]["language"] == "en"
