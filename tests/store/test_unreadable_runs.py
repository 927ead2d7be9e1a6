"""Runs whose record is bad: listed as such, in the way of no other, and deleted."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sql
from browser import app_fixture
from databases import begin_transaction
from visitors import Visitor

from medfact.errors import UnknownName, UnreadableRun
from medfact.runs.run import run as ask
from medfact.spec import RunSpec
from medfact.store import RUNNING, Store

Medfact = Callable[..., Any]

NO_ADDRESS = {"base_url": "127.0.0.1:8000/v1"}
BAD: dict[str, dict[str, Any]] = {
    "no JSON": {"spec": "{"},
    "no record": {"spec": "[]"},
    "a setting of a newer medfact": {"spec": json.dumps({"model": "m", "imagined": 1})},
    "no model": {"spec": "{}"},
    "a setting out of range": {"spec": json.dumps({"model": "openai:m", "service": {"tries": 0}})},
    "a placement that is none": {"spec": json.dumps({"model": "m", "placement": {"dtype": "float7"}})},
    "columns that are none": {"spec": json.dumps({"model": "m", "columns": [1]})},
    "an address that is none": {"model": "openai:m", "spec": json.dumps({"model": "openai:m", "service": NO_ADDRESS})},
    "a protocol that is none": {"spec": json.dumps({"model": "m", "protocol": "exam"})},
    "notes that are none": {"notes": "no notes"},
    "decoding that is none": {"decoding": "{{"},
}  # fmt: skip
DAMAGED = {"facts that are gone": "DELETE FROM run_facts WHERE run = :run"}


def asked(store: Store, **settings: Any) -> str:
    list(ask(RunSpec(model="baseline:always-true", limit=2, shots=0, **settings), store))
    return store.runs()[-1].run


def spoiled(store: Store, run: str, what: str) -> None:
    with begin_transaction(store.url) as connection:
        if what in BAD:
            names = ", ".join(f"{name} = :{name}" for name in BAD[what])
            connection.execute(sql.text(f"UPDATE runs SET {names} WHERE run = :run"), {**BAD[what], "run": run})
            return
        connection.execute(sql.text("DELETE FROM sheets"))
        connection.execute(sql.text(DAMAGED[what]), {"run": run})


@pytest.mark.parametrize("what", [*BAD, *DAMAGED])
def test_the_list_goes_on_and_names_it(
    what: str, either_url: str, medfact: Medfact, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # a run is exported to where one is
    store = Store(either_url)
    first, bad, last = asked(store), asked(store, seed=3), asked(store, seed=0)
    spoiled(store, bad, what)
    outcome = medfact("runs", "--db", either_url)
    assert (outcome.code, outcome.err) == (0, "")
    assert [row["run"] for row in outcome.rows] == [first, bad, last]
    assert [row["state"] for row in outcome.rows] == ["complete", "unreadable", "complete"]
    assert outcome.rows[1].keys() == outcome.rows[0].keys()
    assert len(outcome.rows[1]["reason"]) > 10
    assert [run.run for run in Store(either_url).runs() if run.run != bad] == [first, last]
    for command in ("report", "answers", "compare", "export", "resume"):
        outcome = medfact(command, *([first] if command == "compare" else []), bad, "--db", either_url)
        assert outcome.code in (0, 2, 3), outcome.err
        assert "Traceback" not in outcome.err
        assert outcome.code != 2 or outcome.err.splitlines()[-1].startswith("medfact: ")


@pytest.mark.parametrize("what", [*BAD, *DAMAGED])
def test_it_is_deleted_and_brought_back(what: str, store: Store, medfact: Medfact) -> None:
    good, bad = asked(store), asked(store, seed=3)
    spoiled(store, bad, what)
    outcome = medfact("delete", bad[:12], "--db", store.url)
    assert (outcome.code, outcome.out) == (0, "")
    assert outcome.err == f"deleted {bad}; `delete --restore` brings it back for 7 days\n"
    assert bad not in {row["run"] for row in medfact("runs", "--db", store.url).rows}
    assert medfact("delete", "--restore", bad, "--db", store.url).err == f"restored {bad}\n"
    assert [row["run"] for row in medfact("runs", "--db", store.url).rows] == [good, bad]
    assert medfact("delete", bad, "--db", store.url).code == 0
    with begin_transaction(store.url) as connection:
        connection.execute(
            sql.text("UPDATE runs SET deleted_at = '2020-01-01T00:00:00.000+00:00' WHERE run = :run"), {"run": bad}
        )
    assert store.purge() == 1


@pytest.mark.parametrize("worker", ["somebody", "a:b:c", ":::", "host:99999999999:1.0", "host:7:1.0/x", "host:7:"])
def test_a_run_of_nobody_is_interrupted(worker: str, store: Store, medfact: Medfact) -> None:
    run = asked(store)
    with begin_transaction(store.url) as connection:
        connection.execute(sql.text("UPDATE runs SET worker = :worker, state = 'running'"), {"worker": worker})
    assert [row["state"] for row in medfact("runs", "--db", store.url).rows] == ["interrupted"]
    assert medfact("delete", run, "--db", store.url).code == 0


def test_what_was_kept_of_a_run_is_made_anew_where_it_is_damaged(store: Store) -> None:
    run = asked(store)
    before = store.answers.sheet(run).identity.tolist()
    with begin_transaction(store.url) as connection:
        connection.execute(sql.text("UPDATE sheets SET columns = :rubbish"), {"rubbish": b"rubbish"})
    assert store.answers.sheet(run).identity.tolist() == Store(store.url).answers.sheet(run).identity.tolist() == before


def test_what_cannot_be_read_says_how_to_be_rid_of_it(store: Store) -> None:
    run = asked(store)
    spoiled(store, run, "no JSON")
    with pytest.raises(UnreadableRun, match=f"^Run {run} cannot be read: its record is no JSON. .*`medfact delete {run}`"):
        store.run(run)


def test_who_deletes_makes_no_mistake(store: Store, medfact: Medfact) -> None:
    done, other = asked(store), asked(store, seed=1)
    for arguments, words in (
        (["delete", "zz"], "There is no run 'zz'"),
        (["delete"], "the following arguments are required: RUN"),
        (["delete", done, "zz"], "There is no run 'zz'"),
        (["delete", "--restore", done], f"There is no deleted run '{done}'"),
        (["delete", done, "--db", "sqlite:////nowhere/at/all.db"], "There is no database"),
    ):
        outcome = medfact(*arguments, *([] if "--db" in arguments or len(arguments) == 1 else ["--db", store.url]))
        assert (outcome.code, outcome.out, len(outcome.err.splitlines())) == (2, "", 1), outcome
        assert words in outcome.err
    assert medfact("publish", other, "--db", store.url).code == 0
    outcome = medfact("delete", done, other, "--db", store.url)
    assert (outcome.code, f"`publish --withdraw {other}`" in outcome.err) == (2, True)
    store.set_state(done, RUNNING)
    outcome = medfact("delete", done, "--db", store.url)
    assert (outcome.code, f"Run {done} is going on, in process" in outcome.err) == (2, True)
    assert [run.run for run in store.runs()] == [done, other]


def test_several_runs_are_deleted_at_once_or_none(store: Store, medfact: Medfact) -> None:
    runs = [asked(store, seed=seed) for seed in range(3)]
    assert medfact("delete", *runs[:2], runs[0], "--db", store.url).code == 0
    assert [run.run for run in store.runs()] == runs[2:]
    with pytest.raises(UnknownName):
        store.run(runs[0])


# ------------------------------------------------------------------------- the page


@pytest.fixture(scope="module")
def laptop_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("laptop")


laptop = app_fixture("laptop_home")


@pytest.mark.parametrize("what", [*BAD, "facts that are gone"])
def test_the_page_goes_on_lists_it_and_deletes_it(what: str, laptop: str, laptop_home: Path) -> None:
    with Visitor(laptop) as visitor, Visitor(laptop) as stranger:
        store = Store(f"sqlite:///{laptop_home / 'medfact.db'}", visitor.owner)
        good, bad = asked(store), asked(store, seed=3)
        spoiled(store, bad, what)
        shown = visitor.fetch_page("runs")["fragments"]["runs"]
        assert good in shown
        assert f'data-key="unread-{bad}"' in shown
        for page, show in (
            ("evaluate", {"run": bad}),
            ("evaluate", {"run": f"{good},{bad}"}),
            ("review", {"run": bad}),
            ("runs", {"told": bad, "sort": "score"}),
            ("facts", {"run": bad}),
        ):
            visitor.fetch_page(page, **show)
        for address in (
            "export/{}",
            "download/{}/report.html",
            "download/{}/scores.csv",
            "download/{}/card.txt",
            "download/{}/log-inspect",
        ):
            answer = visitor.http.get(f"/{address.format(bad)}")
            assert answer.status_code in (200, 404, 409), (address, answer.text)
        assert "no such run among yours" in str(stranger.press_button("delete", bad, page_name="runs")["fragments"]["said"])
        assert "Deleted" in str(visitor.press_button("delete", bad, page_name="runs")["fragments"]["said"])
        shown = visitor.fetch_page("runs")["fragments"]["runs"]
        assert (good in shown, f"unread-{bad}" in shown) == (True, False)
