"""The page From documents: one proposal at a time, others' decisions hidden until all have finished, then the facts."""

from __future__ import annotations

import csv
import io
import json
import re
from typing import Any

import pytest
from asked_updates import fetch_fragments
from asked_updates import services as services
from fastapi import FastAPI
from fastapi.testclient import TestClient

from medfact.store import Candidate, Curation
from medfact.web.downloads import routes
from medfact.web.layout import frame
from medfact.web.pages import Action, Visitor
from medfact.web.pages.curate import rows_curated
from medfact.web.services import Services
from medfact.web.updates import PAGES, Question
from medfact.web.updates import answer as updates
from medfact.web.visitors import COOKIE, owner_of_cookie

COOKIES = "a" * 32, "b" * 32
ADA, BEN = map(owner_of_cookie, COOKIES)
HOSTILE = "<img src=x onerror=alert(1)>"
SAID = "Gout is treated with colchicine."
DENIED = f"Gout is not {HOSTILE} treated with lithium."
PROPOSALS = [
    Candidate("gout", "therapeutic drugs", "colchicine", SAID, "Gout", "Ward notes", "page 1"),
    Candidate("gout", "therapeutic drugs", "lithium", DENIED, HOSTILE, HOSTILE, HOSTILE, "not"),
    Candidate("gout", "therapeutic drugs", "insulin", SAID, "Gout", "Ward notes", "page 1", control=True),
]


@pytest.fixture
def curation(services: Services) -> Curation:
    return services.store.of(ADA).curations.begin("notes", "notes.csv", PROPOSALS, 2, {})


def press(services: Services, owner: str, name: str, about: str, show: dict[str, Any], **fields: str) -> dict[str, Any]:
    """What is shown after a button."""
    first = services.store.runs("demonstration")[0].run
    question = Question(page="curate", show=show, action=Action(name, about, fields))
    return dict(json.loads(updates(Visitor(services, owner, (owner,), first), PAGES["curate"], question)))


def proposal(shown: dict[str, Any]) -> str:
    return str(shown["fragments"]["proposal"])


def about(curation: Curation, place: int) -> str:
    return f"{curation.curation}:{place}"


def test_without_proposals_it_says_how_to_begin(services: Services) -> None:
    assert "medfact curate DOCUMENTS" in proposal(fetch_fragments(services, "curate"))


def test_a_proposal_stands_beside_its_sentence_and_nothing_tells_a_control(services: Services, curation: Curation) -> None:
    shown = proposal(fetch_fragments(services, "curate", ADA, reviewer="ada"))
    assert "1 of 3" in shown
    assert '<mark class="mf-of-head">Gout</mark> is treated with <mark class="mf-of-tail">colchicine</mark>.' in shown
    assert "Proposed: Colchicine " in shown
    assert "A document about Gout. Ward notes, page 1" in shown
    assert "some proposals are wrong on purpose" in shown
    denied = proposal(fetch_fragments(services, "curate", ADA, reviewer="ada", place=1))
    assert "It may deny: “not”" in denied
    assert HOSTILE not in denied
    assert "&lt;img src=x" in denied
    control = proposal(fetch_fragments(services, "curate", ADA, reviewer="ada", place=2))
    assert re.sub(r"colchicine|Colchicine", "", shown).count("mf-") == control.count("mf-") + 1  # the mark of the tail
    assert "control" not in control


def test_decisions_are_recorded_taken_back_and_gone_on_with(services: Services, curation: Curation) -> None:
    refused = press(services, ADA, "accept", about(curation, 0), {})
    assert "Say who you are first" in refused["fragments"]["said"]
    show = {"reviewer": "ada"}
    after = press(services, ADA, "accept", about(curation, 0), show, seconds="4", note="clear")
    assert "2 of 3" in proposal(after)
    press(services, ADA, "mend", about(curation, 1), show, head="gout", relation="not treated with", tail="lithium")
    back = press(services, ADA, "undo", "", {**show, "project": curation.curation})
    assert "Taken back" in back["fragments"]["said"]
    assert "2 of 3" in proposal(back)
    log = services.store.curations.log(curation.curation)
    assert [(one.owner, one.reviewer, one.position, one.decision, one.seconds) for one in log] == [
        (ADA, "ada", 0, "accepted", 4.0),
        (ADA, "ada", 1, "mended", None),
        (ADA, "ada", 1, "withdrawn", None),
    ]
    assert log[0].note == "clear"
    assert log[1].relation == "not treated with"
    assert "1 decided by ada" in proposal(fetch_fragments(services, "curate", ADA)), "who decided here last goes on"


def test_what_accept_takes_is_what_is_asked_about(services: Services, curation: Curation) -> None:
    """After mending, the mended fact stood above “Accept”, which took the proposal."""
    press(services, ADA, "mend", about(curation, 0), {"reviewer": "ada"}, head="gout", relation="prevention", tail="aspirin")
    again = proposal(fetch_fragments(services, "curate", ADA, reviewer="ada", place=0))
    heading = again[again.index("<h2>") : again.index("</h2>")]
    assert "colchicine" in heading
    assert "aspirin" not in heading
    assert "You have mended it to: <b><bdi>gout</bdi> — <bdi>prevention</bdi> → <bdi>aspirin</bdi></b>" in again
    press(services, ADA, "accept", about(curation, 0), {"reviewer": "ada"})
    assert services.store.curations.log(curation.curation)[-1].tail == "colchicine"


def test_others_are_hidden_until_all_have_finished(services: Services, curation: Curation) -> None:
    for place, name in enumerate(("accept", "refuse", "refuse")):
        shown = press(services, ADA, name, about(curation, place), {"reviewer": "ada"})
    assert "All 3 proposals decided" in proposal(shown)
    assert "1 accepted, 0 mended, 2 refused" in proposal(shown)
    assert "1 reviewer to go" in proposal(shown)
    other = press(services, BEN, "accept", about(curation, 0), {"reviewer": "ben"})
    assert not re.search(r"\bada\b", "".join(other["fragments"].values())), "an id may hold these letters, too"
    for place in (1, 2):
        shown = press(services, BEN, "accept", about(curation, place), {"reviewer": "ben"})
    told = proposal(shown)
    assert "<b>1 fact</b> where all who checked it accept the same fact" in told
    assert "ada: accepts 50.0%" in told
    assert "ben: accepts 100.0%" in told
    assert "ada and ben agree on 50.0%" in told
    late = press(services, ADA, "undo", "", {"reviewer": "ada", "project": curation.curation})
    assert "Decisions stand" in late["fragments"]["said"]
    late = press(services, ADA, "accept", about(curation, 1), {"reviewer": "ada"})
    assert "Decisions stand" in late["fragments"]["said"]


def test_facts_are_a_file_once_all_have_finished(services: Services, curation: Curation) -> None:
    app = FastAPI()
    app.include_router(routes(services))
    client = TestClient(app, cookies={COOKIE: COOKIES[0]})
    file = f"/download/curate/{curation.curation}-all.csv"
    early = client.get(file)
    assert (early.status_code, early.text) == (404, "Not all reviewers have finished. Facts can be exported once they have.")
    for owner, reviewer in ((ADA, "a"), (BEN, "b")):
        for place, name in enumerate(("accept", "refuse", "accept")):
            press(services, owner, name, about(curation, place), {"reviewer": reviewer})
    rows = list(csv.DictReader(io.StringIO(client.get(file).text)))
    assert [(row["tail"], row["sentence"], row["accepted_by"]) for row in rows] == [
        ("colchicine", "Gout is treated with colchicine.", "a; b")
    ]
    assert client.get(file.replace("-all", "-some")).status_code == 404
    assert client.get(f"/download/curate/{'0' * 32}-all.csv").status_code == 404


def test_on_a_public_server_it_is_its_owners_alone(
    services: Services, curation: Curation, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = proposal(fetch_fragments(services, "curate", BEN))
    assert "colchicine" in seen
    monkeypatch.setenv("MEDFACT_PUBLIC", "1")
    assert "colchicine" in proposal(fetch_fragments(services, "curate", ADA))
    for show in ({}, {"project": curation.curation}):
        assert "colchicine" not in str(fetch_fragments(services, "curate", BEN, **show))
    pressed = press(services, BEN, "accept", about(curation, 0), {"reviewer": "ben"})
    assert "There is no such set of proposals" in pressed["fragments"]["said"]
    app = FastAPI()
    app.include_router(routes(services))
    client = TestClient(app, cookies={COOKIE: COOKIES[1]})
    assert "no such set" in client.get(f"/download/curate/{curation.curation}-all.csv").text
    assert services.store.curations.log(curation.curation) == []


@pytest.mark.parametrize("wrong", ["", "x", "0" * 32, ":", "{}:", "{}:9", "{}:-1", "{}:x", "{}:²"])
def test_a_button_about_nothing_does_nothing(wrong: str, services: Services, curation: Curation) -> None:
    told = press(services, ADA, "accept", wrong.format(curation.curation), {"reviewer": "ada"})
    assert "There is no such" in told["fragments"]["said"]
    assert services.store.curations.log(curation.curation) == []


def test_facts_has_its_tab_only_for_a_visitor_whose_proposals_wait(services: Services, monkeypatch: pytest.MonkeyPatch) -> None:
    """On this machine everybody sees what the command line began; on a public server Ada sees hers, and Ben has no tab."""
    head = frame(PAGES["facts"], list(PAGES.values()))
    assert '<a href="curate" data-work="curate" hidden>From documents</a>' in head
    assert "hidden" not in frame(PAGES["curate"], list(PAGES.values())), "who is there sees where"
    assert fetch_fragments(services, "facts", ADA)["tabs"] == []
    services.store.of(ADA).curations.begin("notes", "notes.csv", PROPOSALS, 2, {})
    shown = {
        page: [fetch_fragments(services, page, owner)["tabs"] for owner in (ADA, BEN)] for page in ("facts", "studio", "runs")
    }
    assert shown == {"facts": [["curate"], ["curate"]], "studio": [["curate"], ["curate"]], "runs": [[], []]}
    monkeypatch.setenv("MEDFACT_PUBLIC", "1")
    assert [fetch_fragments(services, "facts", owner)["tabs"] for owner in (ADA, BEN)] == [["curate"], []]
    assert "medfact curate DOCUMENTS" in fetch_fragments(services, "docs", BEN)["fragments"]["docs"]


def test_whoever_began_it_closes_what_a_colleague_left(services: Services, curation: Curation) -> None:
    """Ada and Ben decide all, Cem one of three. Only Ada, who began it, may close it."""
    cem = owner_of_cookie("c" * 32)
    for owner, reviewer in ((ADA, "a"), (BEN, "b")):
        for place, name in enumerate(("accept", "refuse", "accept")):
            press(services, owner, name, about(curation, place), {"reviewer": reviewer})
        press(services, cem, "refuse", about(curation, 1), {"reviewer": "c"})
    app = FastAPI()
    app.include_router(routes(services))
    client = TestClient(app, cookies={COOKIE: COOKIES[1]})
    file = f"/download/curate/{curation.curation}-all.csv"
    assert client.get(file).status_code == 404, "Cem is in between"
    assert "Close the checking" not in fetch_fragments(services, "curate", BEN)["fragments"]["choice"]
    assert "2 of 2 reviewers finished, 1 in between" in fetch_fragments(services, "curate", ADA)["fragments"]["choice"]
    refused = press(services, BEN, "close", curation.curation, {})
    assert "You did not begin this check" in refused["fragments"]["said"]
    assert client.get(file).status_code == 404
    closed = press(services, ADA, "close", curation.curation, {"reviewer": "a"})
    assert "All reviewers have finished" in closed["fragments"]["proposal"]
    assert [row["tail"] for row in csv.DictReader(io.StringIO(client.get(file).text))] == ["colchicine"]
    assert "Decisions stand" in press(services, cem, "accept", about(curation, 0), {"reviewer": "c"})["fragments"]["said"]


def test_what_too_few_have_checked_is_no_fact_of_a_closed_checking(services: Services, curation: Curation) -> None:
    assert "Nobody has decided" in press(services, ADA, "close", curation.curation, {})["fragments"]["said"]
    press(services, ADA, "accept", about(curation, 0), {"reviewer": "a"})
    press(services, ADA, "accept", about(curation, 1), {"reviewer": "a"})
    press(services, BEN, "accept", about(curation, 1), {"reviewer": "b"})
    press(services, ADA, "close", curation.curation, {"reviewer": "a"})
    rows = rows_curated(services.store, curation.curation, "all", [ADA])
    assert [(row["tail"], row["checked"]) for row in rows] == [("lithium", 2)]
