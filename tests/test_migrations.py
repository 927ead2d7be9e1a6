"""A database of an older medfact opens, keeps what it holds, and its runs go on; whatever breaks on the way there."""

import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sql
from small_facts import Answerer, rows_of_facts, write_csv

import medfact.store.connection
from medfact.answers import Demonstration
from medfact.report import report_of
from medfact.runner import Finished, Started, answer, start
from medfact.spec import RunSpec
from medfact.statements import IMPLICATIONS
from medfact.store import COMPLETE, SCHEMA_VERSION, STOPPED, Answer, Store
from medfact.store.engine import open_engine

VERSION_1 = """
CREATE TABLE schema_version (version INTEGER NOT NULL, PRIMARY KEY (version));
CREATE TABLE runs (
    number INTEGER NOT NULL, run VARCHAR(32) NOT NULL, owner VARCHAR(64) NOT NULL, state VARCHAR(16) NOT NULL, reason TEXT,
    started_at VARCHAR(32) NOT NULL, finished_at VARCHAR(32), model VARCHAR(512) NOT NULL, model_revision VARCHAR(128),
    chat BOOLEAN, decoding TEXT, dataset VARCHAR(512) NOT NULL, dataset_fingerprint VARCHAR(64) NOT NULL,
    pool VARCHAR(256) NOT NULL, shots INTEGER NOT NULL, spec TEXT NOT NULL, versions TEXT NOT NULL, notes TEXT NOT NULL,
    statements INTEGER NOT NULL, PRIMARY KEY (number), UNIQUE (run)
);
CREATE INDEX ix_runs_owner ON runs (owner);
CREATE TABLE statements (
    statement_id VARCHAR(32) NOT NULL, fact_id TEXT NOT NULL, negative_of TEXT, head TEXT NOT NULL, relation TEXT NOT NULL,
    tail TEXT, head_type TEXT, tail_type TEXT, head_id TEXT, tail_id TEXT, source TEXT, source_id TEXT, strength TEXT,
    specialty TEXT, positive BOOLEAN NOT NULL, k INTEGER NOT NULL, pool VARCHAR(256) NOT NULL, variant VARCHAR(16) NOT NULL,
    text TEXT NOT NULL, origin VARCHAR(64) NOT NULL, PRIMARY KEY (statement_id)
);
CREATE TABLE run_statements (
    run VARCHAR(32) NOT NULL, position INTEGER NOT NULL, statement_id VARCHAR(32) NOT NULL, shots_of VARCHAR(300) NOT NULL,
    PRIMARY KEY (run, position)
);
CREATE TABLE demonstrations (
    run VARCHAR(32) NOT NULL, shots_of VARCHAR(300) NOT NULL, position INTEGER NOT NULL, text TEXT NOT NULL,
    label BOOLEAN NOT NULL, PRIMARY KEY (run, shots_of, position)
);
CREATE TABLE rejections (
    owner VARCHAR(64) NOT NULL, fact_id VARCHAR(32) NOT NULL, tail VARCHAR(1000) NOT NULL, rejected_at VARCHAR(32) NOT NULL,
    PRIMARY KEY (owner, fact_id, tail)
);
CREATE TABLE answers (
    run VARCHAR(32) NOT NULL, statement_id VARCHAR(32) NOT NULL, "key" VARCHAR(64) NOT NULL, answer BOOLEAN, p_true FLOAT,
    p_mass FLOAT, raw TEXT, failure TEXT, asked_at VARCHAR(32) NOT NULL, PRIMARY KEY (run, statement_id)
);
CREATE INDEX ix_answers_key ON answers ("key");
INSERT INTO schema_version VALUES (1);
"""
"""The tables as the first version of the schema had them."""

SPEC_1 = (
    '{"model": "answerer", "dataset": "clinical-core", "facts": "facts.csv", "columns": [["head", "disease"]], "rela": [], '
    '"sab": [], "language": "ENG", "protocol": "medfact", "pool": null, "limit": 1, "per_relation": null, "negatives": null, '
    '"shots": 2, "seed": 9, "shot_seed": null, "retrieval": "none", "base_url": null}'
)
"""A spec as it was recorded then: without the fields that came later."""

RUN, DONE = "0123456789abcdef" * 2, "fedcba9876543210" * 2
TIME = "2026-01-02T03:04:05.678+00:00"

GIVEN = [
    ("k0", True, 0.75, 0.5, "True", None),  # right
    ("k1", False, 1 / 3, 1.0, "False", None),  # wrong
    ("k2", None, None, None, "Who knows?", None),  # unreadable
    ("k3", None, None, None, None, "timed out"),  # failed: to be asked again
]
"""Answers to the first four statements of the run that was stopped; none to the other twelve."""


def statement_rows() -> Iterator[tuple[Any, ...]]:
    """A fact and its false partner in eight variants each."""
    for fact_id, negative_of, tail, positive, k in (("f1", None, "fever", 1, 0), ("f2", "f1", "rash", 0, 1)):
        for variant in IMPLICATIONS:
            words = f"influenza {variant} {tail}."
            fact = (
                fact_id,
                negative_of,
                "influenza",
                "symptoms",
                tail,
                "Disease",
                "Sign",
                "D1",
                None,
                "book",
                "p. 3",
                "a",
                None,
            )
            yield (f"{fact_id} {variant}", *fact, positive, k, "medfact", variant, words, "prototype")


STATEMENTS = list(statement_rows())
IDS = [row[0] for row in STATEMENTS]


@pytest.fixture
def old(tmp_path: Path) -> Path:
    """A database of the first version: a run that was stopped, another that is complete, one rejected partner."""
    path = tmp_path / "old.db"
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.executescript(VERSION_1)
        for number, (run, state) in enumerate([(RUN, STOPPED), (DONE, COMPLETE)], 1):
            shown = (number, run, "local", state, None, TIME, TIME, "answerer", "7", 0, '{"greedy": true}', "facts.csv", "f00d")
            rest = ("medfact", 2, SPEC_1, '{"medfact": "0.1.0"}', '["a note"]', 16)
            insert(connection, "runs", [(*shown, *rest)])
            places = [(run, i, row[0], f"symptoms / {row[17]}") for i, row in enumerate(STATEMENTS)]
            insert(connection, "run_statements", places)
            insert(connection, "demonstrations", [(run, "symptoms / none", 0, "pain is a symptom of gout.", 1)])
            insert(connection, "demonstrations", [(run, "symptoms / none", 1, "rash is a symptom of gout.", 0)])
        insert(connection, "statements", STATEMENTS)
        insert(connection, "answers", [(RUN, IDS[i], *given, TIME) for i, given in enumerate(GIVEN)])
        insert(connection, "answers", [(DONE, name, f"d{name}", 1, None, None, "True", None, TIME) for name in IDS])
        insert(connection, "rejections", [("local", "f1", "itch", TIME)])
    return path


def insert(connection: sqlite3.Connection, table: str, rows: list[tuple[Any, ...]]) -> None:
    connection.executemany(f"INSERT INTO {table} VALUES ({', '.join('?' * len(rows[0]))})", rows)


def url_of(path: Path) -> str:
    return f"sqlite:///{path}"


def shape(path: Path) -> dict[str, Any]:
    """Tables with their columns (name, type, needed, place in the key) and indexes, and the version."""
    with closing(sqlite3.connect(path)) as connection:
        names = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name").fetchall()
        made: dict[str, Any] = {"version": connection.execute("SELECT version FROM schema_version").fetchall()}
        for (table,) in names:
            columns = connection.execute(f"PRAGMA table_info({table})").fetchall()
            indexes = connection.execute("SELECT name FROM sqlite_master WHERE type = 'index' AND tbl_name = ?", (table,))
            made[table] = (sorted((c[1], c[2], c[3], c[5]) for c in columns), sorted(indexes.fetchall()))
    return made


def holds_everything(store: Store) -> None:
    """All that was in the database of the first version is in this one."""
    first, second = store.runs()
    assert (first.run, first.state, first.model, first.model_revision, first.chat) == (RUN, STOPPED, "answerer", "7", False)
    assert (second.run, second.state, second.notes, second.statements) == (DONE, COMPLETE, ["a note"], 16)
    assert (first.started_at, first.finished_at, first.decoding, first.shots) == (TIME, TIME, {"greedy": True}, 2)
    expected = RunSpec("answerer", facts="facts.csv", columns=(("head", "disease"),), limit=1, shots=2, seed=9)
    assert first.spec == second.spec == expected
    assert (first.spec.shot_draws, first.spec.demonstrations) == (1, None)
    asked = store.asked(RUN)
    assert [(item.position, item.statement.statement_id, item.draw) for item in asked] == [(i, IDS[i], 0) for i in range(16)]
    assert [item.shots_of for item in asked[:8]] == [f"symptoms / {variant}" for variant in IMPLICATIONS]
    assert [item.answer for item in asked] == [*(Answer(IDS[i], *given) for i, given in enumerate(GIVEN)), *[None] * 12]
    fact = asked[8].statement.fact
    assert (fact.fact_id, fact.negative_of, fact.tail, fact.positive, fact.k) == ("f2", "f1", "rash", False, 1)
    assert [item.answer.raw for item in store.asked(DONE) if item.answer is not None] == ["True"] * 16
    shots = (Demonstration("pain is a symptom of gout.", True), Demonstration("rash is a symptom of gout.", False))
    assert store.demonstrations(RUN) == {"symptoms / none": shots}
    assert store.rejections() == {"f1": frozenset({"itch"})}


def test_it_opens_and_holds_what_it_held(old: Path) -> None:
    holds_everything(Store(url_of(old)))


def test_its_tables_are_those_of_a_new_one(old: Path, tmp_path: Path) -> None:
    Store(url_of(old))
    Store(url_of(tmp_path / "new.db"))
    assert shape(old) == shape(tmp_path / "new.db")
    assert shape(old)["version"] == [(SCHEMA_VERSION,)]


def test_opening_it_again_changes_nothing(old: Path) -> None:
    Store(url_of(old))
    once = shape(old)
    holds_everything(Store(url_of(old)))
    assert shape(old) == once


def test_times_of_its_answers_are_kept(old: Path) -> None:
    Store(url_of(old))
    with closing(sqlite3.connect(old)) as connection:
        assert connection.execute("SELECT DISTINCT asked_at, draw FROM answers").fetchall() == [(TIME, 0)]
        assert connection.execute("SELECT count(*) FROM answers").fetchone() == (16 + 4,)


def test_its_stopped_run_goes_on(old: Path) -> None:
    store, model = Store(url_of(old)), Answerer()
    started, *_, finished = answer(RUN, store, load=model.load)
    assert isinstance(started, Started)
    assert isinstance(finished, Finished)
    assert (started.statements, started.answered, finished.state, finished.failed) == (16, 3, COMPLETE, 0)
    assert [prompt.statement for prompt in model.asked] == [row[18] for row in STATEMENTS[3:]]
    asked = store.asked(RUN)
    assert [item.answer for item in asked[:3]] == [Answer(IDS[i], *given) for i, given in enumerate(GIVEN[:3])]
    assert all(item.answer is not None and item.answer.answer is True for item in asked[3:])
    made = report_of(store, RUN)
    # right: none, not inv, not ins (unreadable), inv+ins of the true fact; the four negated forms of the false one
    assert (made["statements"], made["answered"], made["unreadable"], made["failed"]) == (16, 16, 1, 0)
    assert (made["average_accuracy"]["value"], made["shot_draws"]) == (6 / 16, 1)
    assert len(store.asked(DONE)) == 16


def test_its_complete_run_is_left_as_it_is(old: Path) -> None:
    store, model = Store(url_of(old)), Answerer()
    before = store.asked(DONE)
    started, finished = answer(DONE, store, load=model.load)
    assert isinstance(started, Started)
    assert isinstance(finished, Finished)
    assert (started.answered, finished.state, model.asked) == (16, COMPLETE, [])
    assert store.asked(DONE) == before


def test_a_new_run_with_several_draws_stands_beside_the_old_ones(old: Path, tmp_path: Path) -> None:
    store = Store(url_of(old))
    facts = write_csv(tmp_path / "facts.csv", rows_of_facts())
    run = start(RunSpec(model="answerer", facts=str(facts), limit=1, shot_draws=2), store)
    list(answer(run, store, load=Answerer().load))
    assert [item.draw for item in store.asked(run)] == [0] * 16 + [1] * 16
    assert all(item.answer is not None for item in store.asked(run))
    assert len(store.asked(RUN)) == 16
    assert [record.run for record in store.runs()] == [RUN, DONE, run]


def test_the_command_line_goes_on_with_it(old: Path, medfact: Callable[..., Any]) -> None:
    rows = medfact("runs", "--db", url_of(old)).rows
    assert [(row["run"], row["answered"]) for row in rows] == [(RUN, 3), (DONE, 16)]
    answers = medfact("answers", RUN, "--db", url_of(old)).rows
    assert [(row["statement_id"], row["shot_draw"]) for row in answers] == [(name, 0) for name in IDS[:4]]


# ------------------------------------------------------------------------- broken off, or twice at once


class PowerCut(Exception):
    """Stands for the end of the process."""


def opened_with(monkeypatch: pytest.MonkeyPatch, url: str, before: Callable[[int, str], None]) -> Store:
    """Opens a store, where `before` is told the number (from 0) and the text of every command that the database gets."""
    counted = iter(range(10_000))

    def listened(at: str) -> sql.Engine:
        engine = open_engine(at)

        @sql.event.listens_for(engine, "before_cursor_execute")
        def _(connection: Any, cursor: Any, statement: str, parameters: Any, context: Any, many: bool) -> None:
            before(next(counted), statement)

        return engine

    with monkeypatch.context() as patched:
        patched.setattr(medfact.store.connection, "open_engine", listened)
        return Store(url)


def cut_at(place: int) -> Callable[[int, str], None]:
    def before(number: int, statement: str) -> None:
        if number == place:
            raise PowerCut

    return before


def commands(monkeypatch: pytest.MonkeyPatch, url: str) -> list[str]:
    """The commands that opening takes."""
    seen: list[str] = []
    opened_with(monkeypatch, url, lambda number, statement: seen.append(statement))
    return seen


def test_a_migration_that_is_broken_off_anywhere_is_made_up_for(
    old: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is lost: the process may end before any command of a migration."""
    whole = tmp_path / "whole.db"
    whole.write_bytes(old.read_bytes())
    seen = commands(monkeypatch, url_of(whole))
    assert any(statement.startswith("ALTER TABLE") for statement in seen)
    lost = {}
    for place, statement in enumerate(seen):
        path = tmp_path / f"cut{place}.db"
        path.write_bytes(old.read_bytes())
        with pytest.raises(PowerCut):
            opened_with(monkeypatch, url_of(path), cut_at(place))
        try:
            holds_everything(Store(url_of(path)))
            assert shape(path) == shape(whole)
        except Exception as error:
            lost[" ".join(statement.split())[:60]] = str(error).splitlines()[0]
    assert lost == {}


def test_a_new_database_whose_making_is_broken_off_can_be_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = commands(monkeypatch, url_of(tmp_path / "whole.db"))
    lost = {}
    for place, statement in enumerate(seen):
        path = tmp_path / f"cut{place}.db"
        with pytest.raises(PowerCut):
            opened_with(monkeypatch, url_of(path), cut_at(place))
        try:
            assert Store(url_of(path)).runs() == []
            assert shape(path) == shape(tmp_path / "whole.db")
        except Exception as error:
            lost[" ".join(statement.split())[:60]] = str(error).splitlines()[0]
    assert lost == {}


def opened_twice_at_once(monkeypatch: pytest.MonkeyPatch, url: str, first_word: str) -> None:
    """Opens a database, and from another thread once more just before the first command that begins so.

    The second waits for the first, or the first for the second; both must succeed.
    """
    wrong: list[BaseException] = []

    def second() -> None:
        try:
            Store(url)
        except BaseException as error:
            wrong.append(error)

    other = threading.Thread(target=second)

    def before(number: int, statement: str) -> None:
        if statement.lstrip().startswith(first_word) and other.ident is None:
            other.start()
            other.join(timeout=1)

    opened_with(monkeypatch, url, before)
    assert other.ident is not None
    other.join(timeout=60)
    assert wrong == []


def test_two_that_open_it_at_once_both_can(old: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As the page and the command line do after an update."""
    opened_twice_at_once(monkeypatch, url_of(old), "ALTER TABLE")
    holds_everything(Store(url_of(old)))


def test_two_that_make_a_new_one_at_once_both_can(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened_twice_at_once(monkeypatch, url_of(tmp_path / "new.db"), "CREATE TABLE")
    assert shape(tmp_path / "new.db")["version"] == [(SCHEMA_VERSION,)]
    assert Store(url_of(tmp_path / "new.db")).runs() == []
