"""Invitations over plain HTTP: a packet of one's own, its verdicts, and nothing else of the server."""

from __future__ import annotations

import gzip
import json
import re
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from browser import app_fixture, module_folder_fixture
from recorded import complete_run
from strangers import open_store
from visitors import Visitor

from medfact.reviews.queues import at_random
from medfact.reviews.verdicts import RANDOM, opinions
from medfact.runs.start import start
from medfact.spec import RunSpec
from medfact.store import Verdict

LAN = "192.168.7.5"
"""A machine of the local network asks for the server by its number there, not by that of this machine."""


home = module_folder_fixture()


laptop = app_fixture("home", MEDFACT_INVITED_ONLY="1")


@pytest.fixture(scope="module")
def run(home: Path) -> str:
    """A run of the owner's, of 40 facts."""
    store = open_store(home)
    return complete_run(RunSpec(model="baseline:always-true", limit=20, shots=0), store)


@pytest.fixture
def invite(
    home: Path, laptop: str, run: str, medfact: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> Callable[..., str]:
    """Invites somebody to the run's facts, and gives the token of the address."""
    monkeypatch.setenv("MEDFACT_HOME", str(home))
    monkeypatch.delenv("MEDFACT_DATABASE_URL", raising=False)

    def call(name: str, *more: object) -> str:
        done = medfact("invite", name, "--on", run, "--address", laptop, *more)
        assert done.code == 0, done.err
        (token,) = re.findall(rf"{laptop}review\?invited=([0-9a-f]{{32}}\.[0-9a-f]{{32}})\n", done.out)
        return str(token)

    return call


class Guest(Visitor):
    """A browser of the local network that opens an invitation's address."""

    def __init__(self, address: str, token: str) -> None:
        super().__init__(address, as_host=False, host=f"{LAN}:{address.rstrip('/').rpartition(':')[2]}")
        self.token = token
        self.http.get(f"/review?invited={token}")  # the page gives the browser its cookie

    def opened(self, query: str = "", **show: Any) -> dict[str, Any]:
        question = {"page": "review", "address": f"?invited={self.token}{query}", "show": show}
        return dict(self.http.post("/updates", json=question).json())

    def judged(self, shown: dict[str, Any], verdict: str = "true") -> dict[str, Any]:
        (fact,) = re.findall(r'data-timed="(\w+)"', shown["fragments"]["fact"])
        said = {"verdict": verdict, "seconds": "6"}
        answered = self.press_button("judge", fact, "review", fields=said, **{"invited": self.token, **shown["show"]})
        return {**answered, "show": {**shown["show"], **answered["show"]}}


def queue_of(home: Path, run: str) -> list[str]:
    asked = open_store(home).answers.asked(run)
    return [fact.fact_id for fact in at_random({item.statement.fact for item in asked}, 0)]


def test_what_is_judged_at_an_address_is_that_persons_blind_and_of_their_packet_alone(
    laptop: str, home: Path, run: str, invite: Callable[..., str], medfact: Callable[..., Any]
) -> None:
    """Two are invited to three facts each: the first three of the random queue, and the three after them."""
    ada, ben = invite("Dr. Ada", "--packet", 3), invite("Ben", "--packet", 3)
    queue, told = queue_of(home, run), []
    with Guest(laptop, ada) as first, Guest(laptop, ben) as second:
        shown = first.opened()
        assert "You were invited to judge 3 facts as" in shown["fragments"]["choice"]
        for number in range(3):
            assert f"Fact {number + 1} of 3" in shown["fragments"]["fact"]
            assert "mf-badge" not in shown["fragments"]["fact"], "labels are hidden"
            told.append(shown)
            shown = first.judged(shown, "true" if number else "false")
        assert "Thank you, Dr. Ada" in shown["fragments"]["fact"]
        assert "You have reviewed all facts of this queue" in shown["fragments"]["fact"]
        other = second.judged(second.opened())
        told += [shown, other]
    assert run not in str(told), "the id of a run opens it"
    found = opinions(open_store(home).verdicts.log())
    said = {fact_id: [(one.reviewer.partition("/")[2], one.fact) for one in of.values()] for fact_id, of in found.items()}
    assert set(said) == {*queue[:3], queue[3]}
    assert [said[fact_id][0][0] for fact_id in queue[:4]] == ["Dr. Ada"] * 3 + ["Ben"]
    assert all(one.blind and one.queue == RANDOM for of in said.values() for _, one in of)
    listed = {row["name"]: row for row in medfact("invite").rows}
    assert (listed["Dr. Ada"]["judged"], listed["Dr. Ada"]["finished"]) == (3, True)
    assert (listed["Ben"]["judged"], listed["Ben"]["facts"], listed["Ben"]["finished"]) == (1, 3, False)
    with Guest(laptop, ada) as phone:
        again = phone.opened()
        assert "Thank you, Dr. Ada" in again["fragments"]["fact"], "another browser of the same person opens on the end"
    with Visitor(laptop) as host:
        assert "Who was invited: 1 of 2 have finished" in host.fetch_page("review", reviewer="me")["fragments"]["choice"]


def test_an_address_shows_no_verdict_of_another_no_other_run_and_no_fact_beyond_its_packet(
    laptop: str, home: Path, run: str, invite: Callable[..., str]
) -> None:
    store, mark = open_store(home), "what-the-owner-said"
    facts = {item.statement.fact.fact_id: item.statement.fact for item in store.answers.asked(run)}
    store.verdicts.record([Verdict("owner", fact_id, "false", comment=mark) for fact_id in facts])
    other = start(RunSpec(model="baseline:always-false", dataset="not-indicated", limit=4, shots=0), store)
    token = invite("Cleo", "--packet", 2)
    with Guest(laptop, token) as guest:
        shown = guest.opened()
        (mine,) = re.findall(r'data-timed="(\w+)"', shown["fragments"]["fact"])
        asked = f"&run={other}&data=run&queue=contested&checking=true&adjudicating=true&reviewer=owner"
        for query, show in ((asked, {}), ("", {"run": other, "data": "run", "checking": True, "adjudicating": True})):
            found = guest.opened(query, **show)
            assert f'data-timed="{mine}"' in found["fragments"]["fact"]
            assert mark not in str(found)
            assert "mf-badge" not in found["fragments"]["fact"]
            assert 'data-set="data"' not in found["fragments"]["choice"]
        packet = {mine, re.findall(r'data-timed="(\w+)"', guest.judged(shown)["fragments"]["fact"])[0]}
        beyond = next(fact_id for fact_id in facts if fact_id not in packet)
        said = {"verdict": "true"}
        refused = guest.press_button("judge", beyond, "review", fields=said, invited=token)["fragments"]["said"]
        assert "That fact is not in this packet" in refused
        jumped = guest.press_button("jump", "", "review", fields={"number": "3"}, invited=token)["fragments"]["said"]
        assert "Give 1 to 2" in jumped
    assert {one.fact_id for one in store.verdicts.log() if one.reviewer == "Cleo"} <= packet


def test_an_address_that_was_altered_or_has_expired_opens_nothing(
    laptop: str, home: Path, invite: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    token = invite("Dora")
    name, _, signature = token.partition(".")
    swapped = f"{name}.{signature[::-1]}"
    spent = invite("Emil", "--days", 1e-9)
    for wrong in (swapped, f"{'0' * 32}.{signature}", name, f"{name}.", "", "x" * 200, "é", spent):
        with Guest(laptop, wrong) as guest:
            answered = guest.http.post("/updates", json={"page": "review", "address": f"?invited={wrong}"})
            assert answered.status_code == 403, wrong
    listed = home / "invitations.jsonl"
    listed.write_text(listed.read_text().replace('"Dora"', '"Owner"'))
    with Guest(laptop, token) as guest:
        answered = guest.http.post("/updates", json={"page": "review", "address": f"?invited={token}"})
        assert answered.status_code == 403, "whose verdicts they will be is signed, too"


def test_other_machines_see_nothing_but_packets(laptop: str, run: str, invite: Callable[..., str]) -> None:
    token = invite("Finn")
    closed = [
        ("/", "/evaluate", "/facts", "/runs", "/studio", "/write", "/game", "/docs", "/agents", "/sign-in"),
        (f"/export/{run}", "/download/reviews/verdicts.csv", f"/embed/{run}", "/gradio_api/info", "/gradio_api/mcp/"),
    ]
    with Guest(laptop, token) as guest, Visitor(laptop) as host:
        for path in (path for part in closed for path in part):
            assert guest.http.get(path).status_code == 403, path
        assert guest.http.post("/gradio_api/upload", files={"files": ("a.csv", b"x")}).status_code == 403
        assert guest.http.get("/review").status_code == 200
        for question in (
            {"page": "evaluate", "show": {"run": run}},
            {"page": "evaluate", "address": f"?invited={token}", "show": {"run": run}},
            {"page": "runs", "show": {"invited": token}},
            {"page": "facts"},
            {"page": "review", "show": {"run": run, "data": "run"}},
            {"page": "review", "address": "?invited=", "show": {"invited": token}},
        ):
            assert guest.http.post("/updates", json=question).status_code == 403, question
        assert "Fact 1 of 10" in guest.opened()["fragments"]["fact"]
        assert host.http.get("/runs").status_code == 200, "this machine sees all pages"
        assert run in str(host.fetch_page("runs"))


def test_the_secret_stays_in_the_home_and_is_in_no_file_of_a_run(
    home: Path, run: str, invite: Callable[..., str], medfact: Callable[..., Any], tmp_path: Path
) -> None:
    token = invite("Gil")
    secret = home / "invitations.key"
    assert len(secret.read_bytes()) == 32
    for file in (secret, home / "invitations.jsonl"):
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert medfact("export", run, "-o", tmp_path / "run.jsonl.gz").code == 0
    assert medfact("reviews", "-o", tmp_path / "verdicts.csv").code == 0
    for written in (gzip.decompress((tmp_path / "run.jsonl.gz").read_bytes()), (tmp_path / "verdicts.csv").read_bytes()):
        assert token.partition(".")[0].encode() not in written
        assert token.partition(".")[2].encode() not in written
        assert secret.read_bytes().hex().encode() not in written
    assert {path.name for path in home.iterdir() if path.name.startswith("invitations")} == {
        "invitations.key",
        "invitations.jsonl",
    }


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (("",), "name"),
        (("Ida", "--packet", 0), "A packet has 1 to 100 facts"),
        (("Ida", "--days", 0), "An address is good for up to 90 days"),
        (("Ida", "--dataset", "nothing"), "no data set 'nothing'"),
        (("Ida", "--on", "f" * 32), "There is no run"),
    ],
)
def test_what_cannot_be_is_said(
    arguments: tuple[object, ...], why: str, medfact: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MEDFACT_HOME", str(tmp_path))
    done = medfact("invite", *arguments)
    if arguments[0]:
        assert done.code == 2
        assert why.casefold() in done.err.casefold()
    else:
        assert (done.code, done.rows) == (0, []), "without a name it lists, and there is nothing"
    assert not (tmp_path / "invitations.jsonl").exists()


def test_a_clinician_is_invited_to_a_language(
    laptop: str, home: Path, run: str, invite: Callable[..., str], medfact: Callable[..., Any]
) -> None:
    assert invite("Hana", "--packet", 2), "sets the home of the command line"
    done = medfact("invite", "Inés", "--dataset", "clinical-core", "--language", "es", "--packet", 2, "--address", laptop)
    (token,) = re.findall(r"invited=([0-9a-f]{32}\.[0-9a-f]{32})", done.out)
    with Guest(laptop, token) as guest:
        shown = guest.opened("&language=fr", language="de")
        assert shown["fragments"]["fact"].count('class="mf-sentence" lang="es"') == 8, "whatever the address asks for"
        guest.judged(shown)
    (said,) = [one for one in open_store(home).verdicts.log() if one.reviewer == "Inés"]
    assert said.language == "es"
    assert {row["name"]: row["language"] for row in medfact("invite").rows}["Inés"] == "es"
    assert "A run has a language already" in medfact("invite", "Jo", "--on", run, "--language", "es").err
    assert medfact("invite", "Jo", "--language", "../es").code == 2


def test_an_address_from_before_there_was_a_language_stays_good(laptop: str, home: Path, invite: Callable[..., str]) -> None:
    token = invite("Kim", "--packet", 2)
    file = home / "invitations.jsonl"
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    for line in lines:
        line.pop("language")
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    with Guest(laptop, token) as guest:
        assert "You were invited to judge 2 facts" in guest.opened()["fragments"]["choice"]
