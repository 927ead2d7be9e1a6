"""The set-up of an evaluation: kept by the server for each visitor, and said where it cannot be. Over HTTP."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from browser import served
from visitors import Visitor

from medfact.prototypes import load_pool
from medfact.reviews.studio import FORMS, own_sentences
from medfact.store import Store
from medfact.web.evaluate.form import LABELS, Setup

CHOSEN: dict[str, Any] = {"models": ["baseline:random", "baseline:tail"], "pairs": 20, "protocol": "tpeval", "race": True}
CHOSEN |= {"service": "gpt", "address": "https://models.example/v1", "budget": 2.5, "retrieval": "sparse"}


@pytest.fixture
def visitor(address: str) -> Iterator[Visitor]:
    with Visitor(address) as visitor:
        yield visitor


def test_what_is_chosen_is_there_when_the_page_is_opened_again(visitor: Visitor, address: str) -> None:
    visitor.look(setup=CHOSEN)
    opened = visitor.look()["setup"]
    assert {name: opened[name] for name in CHOSEN} == CHOSEN
    assert visitor.look("facts")["show"]["protocol"] == "tpeval", "and on other pages"
    with Visitor(address) as other:
        assert other.look()["setup"] == Setup().model_dump()


def test_it_survives_a_restart_without_consent_and_without_a_key(tmp_path: Path) -> None:
    with served(tmp_path) as address, Visitor(address) as visitor:
        shown = visitor.look(setup={**CHOSEN, "agreed": True})["setup"]
        assert shown["agreed"] is True
        visitor.act("evaluate", setup={**CHOSEN, "pairs": 10, "agreed": True}, fields={"key": "sk-typed-0123456789"})
        cookie = {"cookie": f"medfact-visitor={visitor.owner}"}
    with served(tmp_path) as address, Visitor(address, **cookie) as visitor:
        opened = visitor.look()["setup"]
        assert {name: opened[name] for name in CHOSEN} == {**CHOSEN, "pairs": 10}
        assert (opened["agreed"], opened["agreed_to"]) == (False, "")
    with sqlite3.connect(tmp_path / "medfact.db") as database:
        (kept,) = [text for (text,) in database.execute("SELECT chosen FROM set_ups")]
    assert "agreed" not in kept
    assert all(b"sk-typed" not in file.read_bytes() for file in tmp_path.rglob("*") if file.is_file())


def test_the_latest_are_kept(either_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("medfact.store.set_ups.MOST_SET_UPS", 3)
    store = Store(either_url)
    for number in (0, 1, 2, 0, 3, 4):
        store.of(f"{number:032x}").set_ups.keep(f'{{"pairs": {number}}}')
    assert [store.of(f"{number:032x}").set_ups.last()[-2:-1] for number in range(5)] == ["0", "", "", "3", "4"]


@pytest.mark.parametrize(
    ("name", "value", "why"),
    [
        ("models", ["x" * 301], "at most 300 characters"),
        ("models", ["m"] * 9, "at most 8 items"),
        ("service", "gpt-" + "x" * 300, "at most 300 characters"),
        ("address", "https://" + "x" * 300, "at most 300 characters"),
        ("pairs", 5_000, "less than or equal to 1000"),
        ("pairs", None, "a valid integer"),
        ("budget", -1, "greater than or equal to 0"),
        ("encoder", "x" * 301, "at most 300 characters"),
    ],
)
def test_what_cannot_be_is_said_and_not_passed_over(name: str, value: object, why: str, visitor: Visitor) -> None:
    """Nothing is asked in its place, and it is still there at the next look."""
    setup = {"models": ["baseline:random"], name: value}
    kept = visitor.look(setup=setup)["setup"]
    assert kept[name] == value
    for shown in (visitor.look(setup=setup), visitor.look(setup=kept), visitor.look()):
        assert f"“{LABELS[name]}” cannot be what it is" in unescape(shown["fragments"]["go"])
        assert why in shown["fragments"]["go"]
    pressed = visitor.act("evaluate", setup=setup)
    assert why in pressed["fragments"]["go-said"]
    assert not pressed["show"].get("run")


def test_what_cannot_be_is_said_on_the_page_write(visitor: Visitor) -> None:
    shown = visitor.act("start", of="write", where="service", service="x" * 201)
    assert "at most 200 characters" in shown["fragments"]["form-said"]


def test_a_link_changes_no_set_up(visitor: Visitor) -> None:
    visitor.look(setup=CHOSEN)
    told = {"page": "evaluate", "address": "?setup=%7B%7D&models=x&pairs=7&address=https://evil.example&agreed=true"}
    visitor.http.post("/updates", json=told)
    assert {name: visitor.look()["setup"][name] for name in CHOSEN} == CHOSEN


def test_no_file_of_somebody_else_is_kept(visitor: Visitor, address: str) -> None:
    with Visitor(address) as other:
        theirs = other.upload("theirs.csv", b"head,relation,tail\ngout,symptoms,pain\n")
    for path in (theirs, "/etc/passwd", os.__file__):
        visitor.look(setup={"source": {"facts": path, "columns": []}})
        assert visitor.look()["setup"]["source"] is None
        assert "root:" not in str(visitor.look("facts", data="own"))


def test_a_plan_that_is_only_priced_writes_no_file(visitor: Visitor, app_home: Path) -> None:
    own = own_sentences(load_pool("medfact"), "symptoms")
    sentences = {f"s{number}": own[form].replace("symptom or sign", "sign or symptom") for number, form in enumerate(FORMS)}
    typed = {"pool": "medfact", "data": "clinical-core", "relation": "symptoms", "of": "medfact|symptoms", **sentences}
    saved = visitor.http.post("/updates", json={"page": "studio", "show": typed, "action": {"name": "save"}}).json()
    assert "Saved the sentences" in saved["fragments"]["said"]
    setup = {"models": ["baseline:random"], "pairs": 10, "shots": 0}
    before = {*app_home.rglob("studio.yaml")}
    for _ in range(3):
        assert "10 pairs" in visitor.look(setup=setup, studio="medfact:clinical-core")["fragments"]["go"]
    assert {*app_home.rglob("studio.yaml")} == before
    run = visitor.act("evaluate", setup=setup, studio="medfact:clinical-core")["show"]["run"]
    (file,) = {*app_home.rglob("studio.yaml")} - before
    record = Store(f"sqlite:///{app_home / 'medfact.db'}").run(run)
    assert (record.spec.pool, record.pool) == (str(file), "studio-medfact")


def test_two_pages_of_a_visitor_do_not_take_turns(visitor: Visitor) -> None:
    """One where nothing is chosen any more, such as one that watches a run, keeps nothing."""
    visitor.look(setup={"pairs": 20})
    visitor.look(setup={"pairs": 30})
    visitor.http.post("/updates", json={"page": "evaluate", "setup": {"pairs": 20}, "settled": True})
    assert visitor.look()["setup"]["pairs"] == 30
