"""A stranger's file that says it belongs to another's writing: nothing of it is taken for that writing's own."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from browser import app_at, module_folder, served
from mock_service import Behaviour, MockService
from run_files import altered, without_answers
from strangers import on_space, store_of
from visitors import Visitor, visitor_of
from waiting import until
from writers import denied, faithful, statement_in

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


home = module_folder()


laptop = app_at("home")


owner = visitor_of("laptop")


stranger = visitor_of("laptop")


def begun(visitor: Visitor, service: MockService) -> str:
    """A writing of the visitor's, begun on the page with a typed key."""
    chosen = {"kind": "rephrase", "data": "clinical-core", "protocol": "medfact", "pairs": PAIRS}
    setup = {"rows": [{"model": "writer", "address": service.base_url}]}
    visitor.act("keep_key", "row", of="write", **chosen, setup=setup, fields={"key": TYPED})
    shown = visitor.act("start", of="write", **chosen, setup=setup)
    assert shown["show"].get("writing"), shown["fragments"]["form-said"]
    return str(shown["show"]["writing"])


def bring(visitor: Visitor, data: bytes) -> None:
    said = visitor.act("bring", visitor.upload("run.gz", data), of="runs")["fragments"]["said"]
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
        return denied(statement_in(prompt))

    with MockService(Behaviour(writes=held, key=TYPED)) as service, MockService() as evil:
        writing = begun(owner, service)
        until(lambda: len(service.calls) > 1)
        for task in ("rephrase-again", "rephrase-last"):
            spec = {"task": task, "writing": writing, "service": {"base_url": evil.base_url}}
            _, data = altered(exported(stranger, writing), spec, without_answers, state="stopped")
            bring(stranger if who == "a stranger" else owner, data)
        brought.set()
        until(lambda: bool(evil.calls) or len(service.calls) > 3 * SENTENCES)
        assert evil.calls == []
    until(lambda: [run.state for run in attempts_of(writing, store_of(home)).values()] == [COMPLETE] * 3)


@pytest.mark.parametrize("who", ["a stranger", "the owner"])
def test_no_file_makes_a_complete_writing_read_as_stopped_or_is_deleted_for_it(
    who: str, owner: Visitor, stranger: Visitor, home: Path
) -> None:
    with MockService(Behaviour(writes=faithful)) as service:
        writing = begun(owner, service)
        until(lambda: 'data-key="evaluate-written"' in owner.look("write", writing=writing)["fragments"]["opened"])
    brought = []
    for task in ("rephrase", "rephrase-again", "rephrase-last"):
        run, data = altered(exported(stranger, writing), {"task": task, "writing": writing}, without_answers, state="stopped")
        bring(stranger if who == "a stranger" else owner, data)
        brought.append(run)
    shown = owner.look("write", writing=writing)["fragments"]
    assert "evaluate-written" in shown["opened"]
    line = next(line for line in shown["writings"].split("<li") if writing in line)
    assert "stopped" not in line
    owner.act("delete", writing, of="write")
    store = store_of(home)
    assert all(store.run(run).deleted_at is None for run in brought)
    assert store.deleted(owner.owner)[0].run == writing


def test_no_file_finds_a_run_by_the_beginning_of_its_id(owner: Visitor, stranger: Visitor, home: Path) -> None:
    """A file may name the writing that it belongs to by a few letters: nobody's id is told by that."""
    with MockService(Behaviour(writes=faithful)) as service:
        writing = begun(owner, service)
        until(lambda: store_of(home).run(writing).state == COMPLETE)
        spec = RunSpec("openai:writer", limit=2, shots=0, service=ServiceSettings(base_url=service.base_url))
        own = start_writing("rephrase", spec, store_of(home, "f" * 32))
    data = exported(stranger, own)
    for length in range(1, 33):
        run, file = altered(data, {"writing": writing[:length]}, without_answers, state="stopped")
        bring(stranger, file)
        for look in (
            stranger.look("write", writing=run),
            stranger.look("evaluate", writing=run),
            stranger.look("evaluate", writing=f"{run},prototypes"),
            stranger.act("accept", "symptoms", of="write", writing=run),
        ):
            assert writing not in json.dumps(look), length
        assert writing_of(run, store_of(home)).run == run


def test_one_look_at_hostile_replies_stops_nobody(owner: Visitor, stranger: Visitor, home: Path) -> None:
    """Replies of 20,000 characters that a pattern could read again and again: each alone once took seconds, in which nobody was
    answered. A look that takes as long ends at the visitor's own timeout.
    """
    units = (".", "with ", "\\n", "a ", "cannot not ", "it is possible that ", "\n.'", " ")
    with MockService(Behaviour(writes=faithful)) as service:
        writing = begun(owner, service)
        until(lambda: store_of(home).run(writing).state == COMPLETE)

    def hostile(lines: list[Any]) -> None:
        for number, line in enumerate(line for line in lines if "answer" in line):
            line["answer"]["raw"] = (units[number % len(units)] * 20_000)[:19_999] + "x"

    run, data = altered(exported(stranger, writing), {}, hostile)
    bring(stranger, data)
    shown = stranger.look("write", writing=run)["fragments"]
    assert REASONS["length"] in json.dumps(shown)
    assert {one.fate for one in sentences(run, store_of(home))} == {"length"}
    assert owner.http.get("/healthz").status_code == 200


def test_a_space_gives_no_key_away_either(tmp_path: Path) -> None:
    """There no service of this machine is asked; what counts is which runs are taken for a writing's attempts."""
    space = {"SPACE_ID": "somebody/medfact", "GRADIO_SERVER_NAME": "127.0.0.1", "MEDFACT_IMPORTS": "1"}
    with served(tmp_path, **space) as url, on_space(url) as stranger:
        victim = store_of(tmp_path, "a" * 32)
        first = start_writing("rephrase", RunSpec("openai:gpt-4o", limit=2, shots=0), victim)
        spec = {"task": "rephrase-again", "writing": first, "service": {"base_url": "https://evil.example/v1"}}
        run, data = altered(exported(stranger, first), spec, without_answers, state="stopped")
        bring(stranger, data)
        assert store_of(tmp_path).run(run).spec.writing == first, "it is shown as it came"
        assert [one.run for one in attempts_of(first, store_of(tmp_path)).values()] == [first]


def test_a_key_for_one_service_goes_to_no_other_that_is_shown_beside_it(owner: Visitor, home: Path) -> None:
    """A link shows a person's own run beside one out of a file; the key that is typed there is for one of the two."""
    with MockService(Behaviour(key=TYPED, answers=1, dies="401")) as service, MockService() as evil:
        (own,) = owner.evaluate(service="m", address=service.base_url, key=TYPED)
        until(lambda: bool(store_of(home).run(own).finished_at))
        theirs, data = altered(exported(owner, own), {"service": {"base_url": evil.base_url}}, without_answers, state="stopped")
        bring(owner, data)
        asked = len(service.calls)
        fields = owner.key_fields(f"{own},{theirs}")
        assert set(fields) == {urlsplit(one.base_url).netloc for one in (service, evil)}, "each service has a field of its own"
        owner.act("resume", run=f"{own},{theirs}", fields={fields[urlsplit(service.base_url).netloc]: TYPED})
        until(lambda: len(service.calls) > asked)
        assert evil.calls == []


def test_a_key_for_ones_own_writing_goes_to_no_visitors_address(
    tmp_path: Path, medfact: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The command line asks both side by side."""
    monkeypatch.setenv("OPENAI_API_KEY", TYPED)
    writings = []
    with MockService(Behaviour(writes=faithful)) as service, MockService(Behaviour(writes=faithful)) as theirs:
        for store, asked in ((store_of(tmp_path), service), (store_of(tmp_path, "b" * 32), theirs)):
            spec = RunSpec("openai:m", limit=PAIRS, shots=0, service=ServiceSettings(base_url=asked.base_url))
            writings.append(start_writing("rephrase", spec, store))
            assert list(write(writings[-1], store))
        both = [word for one in writings for word in ("--writing", one)]
        assert medfact("run", *both, "--model", "openai:m", "--db", store_of(tmp_path).url).code == 0
        assert len(theirs.calls) > SENTENCES
        assert not any(TYPED in call.headers["authorization"] for call in theirs.calls)


# ------------------------------------------------------------------------- other runs that are joined by an id


def test_an_attempt_of_a_visitors_writing_is_the_visitors(owner: Visitor, home: Path) -> None:
    """It is listed with that visitor's runs, counted for that visitor, and deleted with the first."""
    with MockService(Behaviour(writes=lambda prompt: denied(statement_in(prompt)))) as service:
        writing = begun(owner, service)
        until(lambda: len(attempts_of(writing, store_of(home))) == 3)
    assert {run.owner for run in attempts_of(writing, store_of(home)).values()} == {owner.owner}


def test_no_file_enters_a_race(owner: Visitor, stranger: Visitor, home: Path) -> None:
    """It would count as a racer, and change what the others have to show."""
    runs = owner.evaluate("baseline:always-true", "baseline:always-false", race=True)
    assert isinstance(runs, list)
    until(lambda: all(store_of(home).run(run).finished_at for run in runs))
    before = owner.look(run=",".join(runs), tab="statistics")["fragments"]["tab"]
    record = store_of(home).run(runs[0])
    run, data = altered(exported(stranger, runs[0]), {"race": record.spec.race, "racers": 100})
    bring(owner, data)
    raced = owner.look(run=f"{runs[1]},{run}")["fragments"]["progress"]
    assert "race" not in raced.casefold().replace("traced", "")
    assert owner.look(run=",".join(runs), tab="statistics")["fragments"]["tab"] == before


def test_a_joined_run_is_written_on_by_its_owner_alone(tmp_path: Path) -> None:
    """Whatever other owners' runs say of the writing that they belong to."""
    owner, other = (store_of(tmp_path, letter * 32) for letter in "ab")
    with MockService(Behaviour(writes=lambda prompt: denied(statement_in(prompt)))) as service, MockService() as evil:
        spec = RunSpec("openai:writer", limit=PAIRS, shots=0, service=ServiceSettings(base_url=service.base_url))
        first = start_writing("rephrase", spec, owner)
        theirs = RunSpec("openai:writer", limit=PAIRS, shots=0, service=ServiceSettings(base_url=evil.base_url))
        for store, asks in ((other, theirs), (other, spec), (owner, theirs)):
            start(RunSpec(**vars(asks) | {"task": "rephrase-again", "writing": first}), store)
        assert list(write(first, store_of(tmp_path), key=TYPED))
        assert evil.calls == []
        assert len(service.calls) == 3 * SENTENCES
