"""What is on disk: it survives, it is never overwritten by less, and what cannot be used is said in one sentence."""

import sqlite3
from dataclasses import replace
from pathlib import Path

import pytest
import sqlalchemy

from medfact.answers import Demonstration
from medfact.errors import Mistake, StoreError, UnknownName
from medfact.facts import Fact
from medfact.prototypes import load_pool
from medfact.spec import RunSpec
from medfact.statements import Statement
from medfact.store import COMPLETE, RUNNING, SCHEMA_VERSION, STOPPED, WAITING, Answer, Plan, Planned, Store, default_url

SPEC = RunSpec(model="baseline:random", facts="facts.csv", columns=(("head", "disease"),), limit=3, shots=2, seed=9)
FACT = Fact(
    "influenza",
    "symptoms",
    "fever",
    head_type="Disease",
    tail_type="Sign",
    head_id="D1",
    tail_id="S1",
    source="textbook",
    source_id="p. 3",
    strength="a common",
    specialty="infections",
)
FACTS = (FACT, FACT.negative("${alert(1)} [X]", "S2", 1))
STATEMENTS = tuple(load_pool("medfact").statements(FACTS))
SHOTS = {"symptoms / none": (Demonstration("pain is a symptom of gout.", True), Demonstration("rash is one too.", False))}
PLAN = Plan(
    dataset="facts.csv",
    dataset_fingerprint="f00d",
    pool="medfact",
    shots=2,
    statements=tuple(Planned(s, f"symptoms / {s.variant}") for s in STATEMENTS),
    demonstrations=SHOTS,
    notes=("a note",),
)
VERSIONS = {"medfact": "0.1.0"}


def said(statement: Statement, answer: bool | None = True, failure: str | None = None, raw: str | None = "True") -> Answer:
    return Answer(statement.statement_id, "key", answer, 1 / 3, 0.75, raw, failure)


def given(store: Store, run: str) -> dict[str, Answer]:
    return {item.statement.statement_id: item.answer for item in store.asked(run) if item.answer is not None}


def test_a_run_survives_closing_and_opening(store: Store) -> None:
    run = store.start_run(SPEC, PLAN, VERSIONS)
    store.record_model(run, revision="7", chat=False, decoding={"greedy": True})
    store.save(
        run, [said(STATEMENTS[0]), said(STATEMENTS[1], None, raw="who knows?"), said(STATEMENTS[2], None, "timed out", None)]
    )
    again = Store(store.url)
    record = again.run(run)
    assert (record.run, record.owner, record.state, record.model, record.dataset) == (
        run,
        "local",
        WAITING,
        "baseline:random",
        "facts.csv",
    )
    assert (record.spec, record.versions, record.notes, record.statements) == (SPEC, VERSIONS, ["a note"], 16)
    assert (record.model_revision, record.chat, record.decoding, record.shots) == ("7", False, {"greedy": True}, 2)
    assert again.demonstrations(run) == SHOTS
    asked = again.asked(run)
    assert [item.statement for item in asked] == list(STATEMENTS)
    assert [item.statement.statement_id for item in asked] == [s.statement_id for s in STATEMENTS]
    assert [item.statement.fact.fact_id for item in asked] == [s.fact.fact_id for s in STATEMENTS]
    assert [item.position for item in asked] == list(range(16))
    assert asked[3].shots_of == "symptoms / inv+ins"
    assert [item.answer for item in asked[:4]] == [
        Answer(STATEMENTS[0].statement_id, "key", True, 1 / 3, 0.75, "True", None),
        Answer(STATEMENTS[1].statement_id, "key", None, 1 / 3, 0.75, "who knows?", None),
        Answer(STATEMENTS[2].statement_id, "key", None, 1 / 3, 0.75, None, "timed out"),
        None,
    ]


def test_ids_of_runs_are_random_and_have_128_bits(store: Store) -> None:
    runs = [store.start_run(SPEC, PLAN, VERSIONS) for _ in range(3)]
    assert len(set(runs)) == 3
    assert all(len(run) == 32 and int(run, 16) >= 0 for run in runs)
    assert [run.run for run in store.runs()] == runs  # oldest first


def test_statements_are_kept_once_for_all_runs(store: Store) -> None:
    first, second = store.start_run(SPEC, PLAN, VERSIONS), store.start_run(SPEC, PLAN, VERSIONS)
    store.save(first, [said(STATEMENTS[0])])
    assert given(store, second) == {}
    engine = sqlalchemy.create_engine(store.url)
    with engine.connect() as connection:
        assert connection.execute(sqlalchemy.text("select count(*) from statements")).scalar() == 16
    engine.dispose()


def test_a_failure_is_replaced_an_answer_never(store: Store) -> None:
    run = store.start_run(SPEC, PLAN, VERSIONS)
    first, second = STATEMENTS[:2]
    store.save(run, [said(first, None, "timed out", None)])
    store.save(run, [said(first, None, "timed out again", None)])
    assert given(store, run)[first.statement_id].failure == "timed out again"
    store.save(run, [said(first, False)])
    assert given(store, run)[first.statement_id].answer is False
    for late in (said(first, True), said(first, None, "timed out", None)):
        store.save(run, [late])  # as a second process may that goes on with the same run
        assert given(store, run)[first.statement_id] == said(first, False)
    store.save(run, [said(first, True), said(second)])
    assert given(store, run) == {first.statement_id: said(first, False), second.statement_id: said(second)}
    assert len(store.asked(run)) == 16


def test_no_answers_are_saved_without_harm(store: Store) -> None:
    run = store.start_run(SPEC, PLAN, VERSIONS)
    store.save(run, [])
    assert given(store, run) == {}


def test_states_have_their_times(store: Store) -> None:
    run = store.start_run(SPEC, PLAN, VERSIONS)
    assert store.run(run).finished_at is None
    store.set_state(run, STOPPED, "by hand")
    stopped = store.run(run)
    assert (stopped.state, stopped.reason) == (STOPPED, "by hand")
    assert stopped.finished_at is not None
    assert stopped.started_at <= stopped.finished_at
    store.set_state(run, RUNNING)
    assert (store.run(run).finished_at, store.run(run).reason) == (None, None)
    store.set_state(run, COMPLETE)
    assert store.run(run).state == COMPLETE


def test_a_run_is_found_by_the_beginning_of_its_id(store: Store) -> None:
    first, second = store.start_run(SPEC, PLAN, VERSIONS), store.start_run(SPEC, PLAN, VERSIONS)
    same = next(i for i in range(33) if first[:i] != second[:i])
    assert store.run(first[:same]).run == first
    if same > 1:
        with pytest.raises(Mistake, match="Several runs"):
            store.run(first[: same - 1])
    for unknown in ("", "%", "_" * 32, "zzzz"):
        with pytest.raises(UnknownName):
            store.run(unknown)


def test_owners_see_their_own_runs(store: Store) -> None:
    ours = store.start_run(SPEC, PLAN, VERSIONS)
    theirs = Store(store.url, owner="visitor").start_run(SPEC, PLAN, VERSIONS)
    assert [run.run for run in store.runs("local")] == [ours]
    assert [run.run for run in store.runs("visitor")] == [theirs]
    assert [run.run for run in store.runs()] == [ours, theirs]


def test_two_stores_see_each_others_answers(store: Store) -> None:
    other = Store(store.url)
    run = store.start_run(SPEC, PLAN, VERSIONS)
    other.save(run, [said(STATEMENTS[0])])
    assert list(given(store, run)) == [STATEMENTS[0].statement_id]


def test_the_default_database_lies_at_home(home: Path) -> None:
    Store().start_run(SPEC, PLAN, VERSIONS)
    assert default_url() == f"sqlite:///{home / 'medfact.db'}"
    assert (home / "medfact.db").is_file()


def test_a_spec_survives_its_record() -> None:
    assert RunSpec.from_record(SPEC.to_record()) == SPEC
    assert RunSpec.from_record(replace(SPEC, columns=()).to_record()) == replace(SPEC, columns=())


# ------------------------------------------------------------------------- what cannot be used


def told(url: str) -> str:
    with pytest.raises(StoreError) as error:
        Store(url)
    line = str(error.value)
    assert "\n" not in line
    return line


def test_a_newer_database_is_refused_and_left_alone(store: Store, tmp_path: Path) -> None:
    path = tmp_path / "runs.db"
    with sqlite3.connect(path) as connection:
        connection.execute("update schema_version set version = ?", (SCHEMA_VERSION + 1,))
    connection.close()
    assert "newer" in told(store.url)
    with sqlite3.connect(path) as connection:
        assert connection.execute("select version from schema_version").fetchall() == [(SCHEMA_VERSION + 1,)]
    connection.close()


def test_a_place_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    assert str(tmp_path) in told(f"sqlite:///{tmp_path / 'file' / 'runs.db'}")


def test_a_folder_where_the_database_should_be_is_told(tmp_path: Path) -> None:
    assert "cannot be used" in told(f"sqlite:///{tmp_path}")


def test_a_file_that_is_no_database_is_told_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "notes.db"
    path.write_text("these are my notes, not a database\n" * 50)
    assert "cannot be used" in told(f"sqlite:///{path}")
    assert path.read_text().startswith("these are my notes")


@pytest.mark.parametrize("url", ["runs.db", "nosuch:///x", " "])
def test_what_is_no_address_is_a_mistake(url: str) -> None:
    with pytest.raises(Mistake, match="is not a database address"):
        Store(url)


def test_passwords_are_not_told() -> None:
    with pytest.raises(Mistake) as error:
        Store("postgresql+nosuchdriver://ada:s3cret@localhost/x")
    assert "s3cret" not in str(error.value)
