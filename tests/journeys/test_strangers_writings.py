"""A stranger's file that says it belongs to another's writing: nothing of it is taken for that writing's own."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from browser import app_fixture, module_folder_fixture, serve_app
from mock_service import Behaviour, MockService
from run_files import alter_run_file, remove_answers
from strangers import open_store, space_visitor
from visitors import Visitor, visitor_fixture
from waiting import wait_until
from writers import negate, parse_statement, rephrase

from medfact.models import ServiceSettings
from medfact.runs.start import start
from medfact.spec import RunSpec
from medfact.store import COMPLETE
from medfact.web.evaluate.rows import STATEMENT
from medfact.writing.guards import REASONS
from medfact.writing.runs import attempts_of, sentences, start_writing, write, writing_of

TYPED = "sk-typed-by-the-owner-of-the-writing-0123456789"
PAIRS = 2
SENTENCES = PAIRS * 2 * 8


home = module_folder_fixture()


laptop = app_fixture("home")


owner = visitor_fixture("laptop")


stranger = visitor_fixture("laptop")


def begun(visitor: Visitor, service: MockService) -> str:
    """A writing of the visitor's, begun on the page with a typed key."""
    chosen = {"kind": "rephrase", "data": "clinical-core", "protocol": "medfact", "pairs": PAIRS}
    setup = {"rows": [{"model": "writer", "address": service.base_url}]}
    visitor.press_button("keep_key", "row", page_name="write", **chosen, setup=setup, fields={"key": TYPED})
    shown = visitor.press_button("start", page_name="write", **chosen, setup=setup)
    assert shown["show"].get("writing"), shown["fragments"]["form-said"]
    return str(shown["show"]["writing"])


def bring(visitor: Visitor, data: bytes) -> None:
    said = visitor.press_button("bring", visitor.upload("run.gz", data), page_name="runs")["fragments"]["said"]
    assert "Imported" in said, said


def exported(visitor: Visitor, run: str) -> bytes:
    """The file of a run, as whoever has its link gets it."""
    return visitor.http.get(f"/export/{run}").content


@pytest.mark.parametrize("who", ["a stranger", "the owner"])
def test_no_file_becomes_the_next_attempt_of_a_writing(who: str, owner: Visitor, stranger: Visitor, home: Path) -> None:
    """Brought by a stranger while the first attempt goes on; or by its owner, who got the file from a stranger."""
    brought = threading.Event()

    def held(prompt: str) -> str:
        if STATEMENT[:-1] in prompt:  # the service is tried first
            return "True"
        brought.wait(60)
        return negate(parse_statement(prompt))

    with MockService(Behaviour(write_reply=held, key=TYPED)) as service, MockService() as evil:
        writing = begun(owner, service)
        wait_until(lambda: len(service.calls) > 1)
        for task in ("rephrase-again", "rephrase-last"):
            spec = {"task": task, "writing": writing, "service": {"base_url": evil.base_url}}
            _, data = alter_run_file(exported(stranger, writing), spec, remove_answers, state="stopped")
            bring(stranger if who == "a stranger" else owner, data)
        brought.set()
        wait_until(lambda: bool(evil.calls) or len(service.calls) > 3 * SENTENCES)
        assert evil.calls == []
    wait_until(lambda: [run.state for run in attempts_of(writing, open_store(home)).values()] == [COMPLETE] * 3)


@pytest.mark.parametrize("who", ["a stranger", "the owner"])
def test_no_file_makes_a_complete_writing_read_as_stopped_or_is_deleted_for_it(
    who: str, owner: Visitor, stranger: Visitor, home: Path
) -> None:
    with MockService(Behaviour(write_reply=rephrase)) as service:
        writing = begun(owner, service)
        wait_until(lambda: 'data-key="evaluate-written"' in owner.fetch_page("write", writing=writing)["fragments"]["opened"])
    brought = []
    for task in ("rephrase", "rephrase-again", "rephrase-last"):
        run, data = alter_run_file(
            exported(stranger, writing), {"task": task, "writing": writing}, remove_answers, state="stopped"
        )
        bring(stranger if who == "a stranger" else owner, data)
        brought.append(run)
    shown = owner.fetch_page("write", writing=writing)["fragments"]
    assert "evaluate-written" in shown["opened"]
    line = next(line for line in shown["writings"].split("<li") if writing in line)
    assert "stopped" not in line
    owner.press_button("delete", writing, page_name="write")
    store = open_store(home)
    assert all(store.run(run).deleted_at is None for run in brought)
    assert store.deleted(owner.owner)[0].run == writing


def test_no_file_finds_a_run_by_the_beginning_of_its_id(owner: Visitor, stranger: Visitor, home: Path) -> None:
    """A file may name the writing that it belongs to by a few letters: nobody's id is told by that."""
    with MockService(Behaviour(write_reply=rephrase)) as service:
        writing = begun(owner, service)
        wait_until(lambda: open_store(home).run(writing).state == COMPLETE)
        spec = RunSpec("openai:writer", limit=2, shots=0, service=ServiceSettings(base_url=service.base_url))
        own = start_writing("rephrase", spec, open_store(home, "f" * 32))
    data = exported(stranger, own)
    for length in range(1, 33):
        run, file = alter_run_file(data, {"writing": writing[:length]}, remove_answers, state="stopped")
        bring(stranger, file)
        for look in (
            stranger.fetch_page("write", writing=run),
            stranger.fetch_page("evaluate", writing=run),
            stranger.fetch_page("evaluate", writing=f"{run},prototypes"),
            stranger.press_button("accept", "symptoms", page_name="write", writing=run),
        ):
            assert writing not in json.dumps(look), length
        assert writing_of(run, open_store(home)).run == run


def test_one_look_at_hostile_replies_stops_nobody(owner: Visitor, stranger: Visitor, home: Path) -> None:
    """Replies of 20,000 characters that a pattern could read again and again: each alone once took seconds, in which nobody was
    answered. A look that takes as long ends at the visitor's own timeout.
    """
    units = (".", "with ", "\\n", "a ", "cannot not ", "it is possible that ", "\n.'", " ")
    with MockService(Behaviour(write_reply=rephrase)) as service:
        writing = begun(owner, service)
        wait_until(lambda: open_store(home).run(writing).state == COMPLETE)

    def hostile(lines: list[Any]) -> None:
        for number, line in enumerate(line for line in lines if "answer" in line):
            line["answer"]["raw"] = (units[number % len(units)] * 20_000)[:19_999] + "x"

    run, data = alter_run_file(exported(stranger, writing), {}, hostile)
    bring(stranger, data)
    shown = stranger.fetch_page("write", writing=run)["fragments"]
    assert REASONS["length"] in json.dumps(shown)
    assert {one.fate for one in sentences(run, open_store(home))} == {"length"}
    assert owner.http.get("/healthz").status_code == 200


def test_a_space_gives_no_key_away_either(tmp_path: Path) -> None:
    """There no service of this machine is asked; what counts is which runs are taken for a writing's attempts."""
    space = {"SPACE_ID": "somebody/medfact", "GRADIO_SERVER_NAME": "127.0.0.1", "MEDFACT_IMPORTS": "1"}
    with serve_app(tmp_path, **space) as url, space_visitor(url) as stranger:
        victim = open_store(tmp_path, "a" * 32)
        first = start_writing("rephrase", RunSpec("openai:gpt-4o", limit=2, shots=0), victim)
        spec = {"task": "rephrase-again", "writing": first, "service": {"base_url": "https://evil.example/v1"}}
        run, data = alter_run_file(exported(stranger, first), spec, remove_answers, state="stopped")
        bring(stranger, data)
        assert open_store(tmp_path).run(run).spec.writing == first, "it is shown as it came"
        assert [one.run for one in attempts_of(first, open_store(tmp_path)).values()] == [first]


def test_a_key_for_one_service_goes_to_no_other_that_is_shown_beside_it(owner: Visitor, home: Path) -> None:
    """A link shows a person's own run beside one out of a file; the key that is typed there is for one of the two."""
    with MockService(Behaviour(key=TYPED, max_answers=1, final_fault="401")) as service, MockService() as evil:
        (own,) = owner.evaluate(service="m", address=service.base_url, key=TYPED)
        wait_until(lambda: bool(open_store(home).run(own).finished_at))
        theirs, data = alter_run_file(
            exported(owner, own), {"service": {"base_url": evil.base_url}}, remove_answers, state="stopped"
        )
        bring(owner, data)
        asked = len(service.calls)
        fields = owner.key_fields(f"{own},{theirs}")
        assert set(fields) == {urlsplit(one.base_url).netloc for one in (service, evil)}, "each service has a field of its own"
        owner.press_button("resume", run=f"{own},{theirs}", fields={fields[urlsplit(service.base_url).netloc]: TYPED})
        wait_until(lambda: len(service.calls) > asked)
        assert evil.calls == []


def test_a_key_for_ones_own_writing_goes_to_no_visitors_address(
    tmp_path: Path, medfact: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The command line asks both side by side."""
    monkeypatch.setenv("OPENAI_API_KEY", TYPED)
    writings = []
    with MockService(Behaviour(write_reply=rephrase)) as service, MockService(Behaviour(write_reply=rephrase)) as theirs:
        for store, asked in ((open_store(tmp_path), service), (open_store(tmp_path, "b" * 32), theirs)):
            spec = RunSpec("openai:m", limit=PAIRS, shots=0, service=ServiceSettings(base_url=asked.base_url))
            writings.append(start_writing("rephrase", spec, store))
            assert list(write(writings[-1], store))
        both = [word for one in writings for word in ("--writing", one)]
        assert medfact("run", *both, "--model", "openai:m", "--db", open_store(tmp_path).url).code == 0
        assert len(theirs.calls) > SENTENCES
        assert not any(TYPED in call.headers["authorization"] for call in theirs.calls)


# ------------------------------------------------------------------------- other runs that are joined by an id


def test_an_attempt_of_a_visitors_writing_is_the_visitors(owner: Visitor, home: Path) -> None:
    """It is listed with that visitor's runs, counted for that visitor, and deleted with the first."""
    with MockService(Behaviour(write_reply=lambda prompt: negate(parse_statement(prompt)))) as service:
        writing = begun(owner, service)
        wait_until(lambda: len(attempts_of(writing, open_store(home))) == 3)
    assert {run.owner for run in attempts_of(writing, open_store(home)).values()} == {owner.owner}


def test_no_file_enters_a_race(owner: Visitor, stranger: Visitor, home: Path) -> None:
    """It would count as a racer, and change what the others have to show."""
    runs = owner.evaluate("baseline:always-true", "baseline:always-false", race=True)
    assert isinstance(runs, list)
    wait_until(lambda: all(open_store(home).run(run).finished_at for run in runs))
    before = owner.fetch_page(run=",".join(runs), tab="statistics")["fragments"]["tab"]
    record = open_store(home).run(runs[0])
    run, data = alter_run_file(exported(stranger, runs[0]), {"race": record.spec.race, "racers": 100})
    bring(owner, data)
    raced = owner.fetch_page(run=f"{runs[1]},{run}")["fragments"]["progress"]
    assert "race" not in raced.casefold().replace("traced", "")
    assert owner.fetch_page(run=",".join(runs), tab="statistics")["fragments"]["tab"] == before


def test_a_joined_run_is_written_on_by_its_owner_alone(tmp_path: Path) -> None:
    """Whatever other owners' runs say of the writing that they belong to."""
    owner, other = (open_store(tmp_path, letter * 32) for letter in "ab")
    with MockService(Behaviour(write_reply=lambda prompt: negate(parse_statement(prompt)))) as service, MockService() as evil:
        spec = RunSpec("openai:writer", limit=PAIRS, shots=0, service=ServiceSettings(base_url=service.base_url))
        first = start_writing("rephrase", spec, owner)
        theirs = RunSpec("openai:writer", limit=PAIRS, shots=0, service=ServiceSettings(base_url=evil.base_url))
        for store, asks in ((other, theirs), (other, spec), (owner, theirs)):
            start(RunSpec(**vars(asks) | {"task": "rephrase-again", "writing": first}), store)
        assert list(write(first, open_store(tmp_path), key=TYPED))
        assert evil.calls == []
        assert len(service.calls) == 3 * SENTENCES
