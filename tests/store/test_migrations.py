"""A database of an older medfact opens, keeps what it holds, and its runs go on; whatever breaks on the way there."""

import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sql
from old_databases import shape, working_on
from records import reported
from small_facts import Answerer, rows_of_facts, write_csv

import medfact.store.database
from medfact.answers import Demonstration
from medfact.runs.events import Finished, Started
from medfact.runs.run import answer
from medfact.runs.start import start
from medfact.spec import RunSpec
from medfact.statements import IMPLICATIONS
from medfact.store import COMPLETE, SCHEMA_VERSION, STOPPED, Answer, Store
from medfact.store.engine import open_engine
from medfact.store.entities import PartnerDecision

ROOT = Path(__file__).resolve().parents[2]

TABLES = """
CREATE TABLE schema_version (version {serial} NOT NULL, PRIMARY KEY (version));
CREATE TABLE runs (
    number {serial} NOT NULL, run VARCHAR(32) NOT NULL, owner VARCHAR(64) NOT NULL, state VARCHAR(16) NOT NULL, reason TEXT,
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
CREATE TABLE demonstrations (
    run VARCHAR(32) NOT NULL, shots_of VARCHAR(300) NOT NULL, position INTEGER NOT NULL, text TEXT NOT NULL,
    label BOOLEAN NOT NULL, PRIMARY KEY (run, shots_of, position)
);
CREATE TABLE rejections (
    owner VARCHAR(64) NOT NULL, fact_id VARCHAR(32) NOT NULL, tail VARCHAR(1000) NOT NULL, rejected_at VARCHAR(32) NOT NULL,
    PRIMARY KEY (owner, fact_id, tail)
);
"""
"""The tables that the first three versions of the schema have in common."""

PLACES = """
CREATE TABLE run_statements (
    run VARCHAR(32) NOT NULL, position INTEGER NOT NULL, statement_id VARCHAR(32) NOT NULL, shots_of VARCHAR(300) NOT NULL,
    {draw} PRIMARY KEY (run, position)
);
"""
ANSWERS = """
CREATE TABLE answers (
    run VARCHAR(32) NOT NULL, statement_id VARCHAR(32) NOT NULL, {draw} "key" VARCHAR(64) NOT NULL, answer BOOLEAN,
    p_true {double}, p_mass {double}, raw TEXT, failure TEXT, asked_at VARCHAR(32) NOT NULL, {service}
    PRIMARY KEY (run, statement_id{and_draw})
);
CREATE INDEX ix_answers_key ON answers ("key");
"""
DRAW = "draw INTEGER DEFAULT 0 NOT NULL,"
SERVICE = (
    "p_low {double}, p_high {double}, cut VARCHAR(32), served_model TEXT, fingerprint TEXT, prompt_tokens INTEGER, "
    "completion_tokens INTEGER, seconds {double}, attempts INTEGER,"
)

SCHEMAS = {
    1: TABLES + PLACES.replace("{draw}", "") + ANSWERS.replace("{draw}", "").replace("{service}", "").replace("{and_draw}", ""),
    2: TABLES
    + PLACES.replace("{draw}", DRAW)
    + ANSWERS.replace("{draw}", DRAW).replace("{service}", "").replace("{and_draw}", ", draw"),
    3: TABLES
    + PLACES.replace("{draw}", DRAW)
    + ANSWERS.replace("{draw}", DRAW).replace("{service}", SERVICE).replace("{and_draw}", ", draw"),
}
"""The tables as each earlier version of the schema had them."""

WORDS = {
    "sqlite": {"{serial}": "INTEGER", "{double}": "FLOAT"},
    "postgresql": {"{serial}": "SERIAL", "{double}": "FLOAT(53)"},
}
"""What the two databases call the same."""

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
    for fact_id, negative_of, tail, positive, k in (("f1", None, "fever", True, 0), ("f2", "f1", "rash", False, 1)):
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


STATEMENT = (
    "statement_id, fact_id, negative_of, head, relation, tail, head_type, tail_type, head_id, tail_id, source, source_id, "
    "strength, specialty, positive, k, pool, variant, text, origin"
)
GIVEN_AS = 'run, statement_id, "key", answer, p_true, p_mass, raw, failure, asked_at'
STATEMENTS = list(statement_rows())
IDS = [row[0] for row in STATEMENTS]


RUNS = (
    "run, owner, state, started_at, finished_at, model, model_revision, chat, decoding, dataset, dataset_fingerprint, pool, "
    "shots, spec, versions, notes, statements"
)


def make_old(url: str, version: int) -> None:
    """Makes a database of an earlier version: a run that was stopped, another that is complete, one rejected partner."""
    with working_on(url) as connection:
        tables = SCHEMAS[version]
        for ours, theirs in WORDS[connection.dialect.name].items():
            tables = tables.replace(ours, theirs)
        for command in filter(str.strip, tables.split(";")):
            connection.exec_driver_sql(command)
        insert(connection, "schema_version", "version", [(version,)])
        for run, state in [(RUN, STOPPED), (DONE, COMPLETE)]:
            shown = (run, "local", state, TIME, TIME, "answerer", "7", False, '{"greedy": true}', "facts.csv", "f00d")
            rest = ("medfact", 2, SPEC_1, '{"medfact": "0.1.0"}', '["a note"]', 16)
            insert(connection, "runs", RUNS, [(*shown, *rest)])
            places = [(run, i, row[0], f"symptoms / {row[17]}") for i, row in enumerate(STATEMENTS)]
            insert(connection, "run_statements", "run, position, statement_id, shots_of", places)
            shots = [("pain is a symptom of gout.", True), ("rash is a symptom of gout.", False)]
            shown_shots = [(run, "symptoms / none", i, *shot) for i, shot in enumerate(shots)]
            insert(connection, "demonstrations", "run, shots_of, position, text, label", shown_shots)
        insert(connection, "statements", STATEMENT, STATEMENTS)
        insert(connection, "answers", GIVEN_AS, [(RUN, IDS[i], *given, TIME) for i, given in enumerate(GIVEN)])
        done = [(DONE, name, f"d{name}", True, None, None, "True", None, TIME) for name in IDS]
        insert(connection, "answers", GIVEN_AS, done)
        insert(connection, "rejections", "owner, fact_id, tail, rejected_at", [("local", "f1", "itch", TIME)])


def insert(connection: sql.Connection, table: str, columns: str, rows: list[tuple[Any, ...]]) -> None:
    names = columns.replace('"', "").split(", ")
    command = f"INSERT INTO {table} ({columns}) VALUES ({', '.join(f':{name}' for name in names)})"
    connection.execute(sql.text(command), [dict(zip(names, row, strict=True)) for row in rows])


@pytest.fixture(params=SCHEMAS)
def old(request: pytest.FixtureRequest, fresh: Callable[[], str]) -> str:
    """The URL of a database of each earlier version."""
    url = fresh()
    make_old(url, request.param)
    return url


@pytest.fixture
def oldest(fresh: Callable[[], str]) -> str:
    """The URL of a database of the first version."""
    url = fresh()
    make_old(url, 1)
    return url


def holds_everything(store: Store) -> None:
    """All that was in the database of the first version is in this one."""
    first, second = store.runs()
    assert (first.run, first.state, first.model, first.model_revision, first.chat) == (RUN, STOPPED, "answerer", "7", False)
    assert (second.run, second.state, second.notes, second.statements) == (DONE, COMPLETE, ["a note"], 16)
    assert (first.started_at, first.finished_at, first.decoding, first.shots) == (TIME, TIME, {"greedy": True}, 2)
    expected = RunSpec("answerer", facts="facts.csv", columns=(("head", "disease"),), limit=1, shots=2, seed=9)
    assert first.spec == second.spec == expected
    assert (first.spec.shot_draws, first.spec.demonstrations) == (1, None)
    asked = store.answers.asked(RUN)
    assert [(item.position, item.statement.statement_id, item.draw) for item in asked] == [(i, IDS[i], 0) for i in range(16)]
    assert [item.shots_of for item in asked[:8]] == [f"symptoms / {variant}" for variant in IMPLICATIONS]
    assert [item.answer for item in asked] == [*(Answer(IDS[i], *given) for i, given in enumerate(GIVEN)), *[None] * 12]
    fact = asked[8].statement.fact
    assert (fact.fact_id, fact.negative_of, fact.tail, fact.positive, fact.k) == ("f2", "f1", "rash", False, 1)
    assert [item.answer.raw for item in store.answers.asked(DONE) if item.answer is not None] == ["True"] * 16
    shots = (Demonstration("pain is a symptom of gout.", True), Demonstration("rash is a symptom of gout.", False))
    assert store.answers.demonstrations(RUN) == {"symptoms / none": shots}
    assert store.decisions.on_partners() == [PartnerDecision("f1", "itch")]
    assert store.decisions.of_partners().rejected == {("f1", "itch")}


def test_it_opens_and_holds_what_it_held(old: str) -> None:
    holds_everything(Store(old))
    once = shape(old)
    assert once["version"] == [SCHEMA_VERSION]
    holds_everything(Store(old))
    assert shape(old) == once


def test_its_tables_are_those_of_a_new_one(old: str, fresh: Callable[[], str]) -> None:
    new = fresh()
    Store(old), Store(new)
    made = shape(old)
    assert made == shape(new)
    for table, place in (("runs", "spec"), ("answers", "raw"), ("sheets", "figures"), ("events", "said")):
        assert place in {column[0] for column in made[table]["columns"]}


def test_times_and_places_of_its_answers_are_kept(old: str) -> None:
    Store(old)
    with working_on(old) as connection:
        given = connection.execute(sql.text("SELECT DISTINCT asked_at, draw, batch FROM answers"))
        assert [tuple(row) for row in given] == [(TIME, 0, 0)]
        places = connection.execute(sql.text(f"SELECT statement_id, position FROM answers WHERE run = '{DONE}'"))
        assert {row.statement_id: row.position for row in places} == {name: i for i, name in enumerate(IDS)}
        numbers = connection.execute(sql.text(f"SELECT fact FROM run_statements WHERE run = '{RUN}' ORDER BY position"))
        assert numbers.scalars().all() == [0] * 8 + [1] * 8
    assert [run.facts for run in Store(old).runs()] == [2, 2]
    assert Store(old).answers.sheet(RUN).fact.tolist() == [0] * 8 + [1] * 8
    assert sorted(Store(old).answers.news(DONE).position.tolist()) == list(range(16))


def test_several_draws_and_what_a_service_said_are_kept(fresh: Callable[[], str]) -> None:
    url = fresh()
    make_old(url, 3)
    again = [(RUN, 16 + i, name, "symptoms / draw 2", 1) for i, name in enumerate(IDS)]
    said = (RUN, IDS[5], "k5", True, 0.5, 0.25, "Yes", None, TIME, 1, 0.4, 0.6, "length", "gpt", "fp", 9, 2, 1.5, 3)
    with working_on(url) as connection:
        insert(connection, "run_statements", "run, position, statement_id, shots_of, draw", again)
        service = "p_low, p_high, cut, served_model, fingerprint, prompt_tokens, completion_tokens, seconds, attempts"
        insert(connection, "answers", f"{GIVEN_AS}, draw, {service}", [said])
    item = Store(url).answers.asked(RUN)[16 + 5]
    expected = Answer(IDS[5], "k5", True, 0.5, 0.25, "Yes", None, 1, 0.4, 0.6, "length", "gpt", "fp", 9, 2, 1.5, 3)
    assert (item.position, item.draw, item.fact, item.answer) == (21, 1, 0, expected)
    news = Store(url).answers.news(RUN)
    assert sorted(news.position.tolist()) == [0, 1, 2, 3, 21]


def test_names_of_any_length_fit(fresh: Callable[[], str]) -> None:
    """SQLite never kept to the lengths of its columns, so a run may have outgrown them."""
    url = fresh()
    make_old(url, 3)
    store = Store(url)
    name = "n" * 5000
    with working_on(url) as connection:
        connection.execute(sql.text("UPDATE runs SET model = :name, dataset = :name"), {"name": name})
        connection.execute(sql.text("UPDATE run_statements SET shots_of = :name"), {"name": name})
    assert {(run.model, run.dataset) for run in store.runs()} == {(name, name)}
    assert {item.shots_of for item in store.answers.asked(RUN)} == {name}


def test_its_stopped_run_goes_on(oldest: str) -> None:
    store, model = Store(oldest), Answerer()
    started, *_, finished = answer(RUN, store, load=model.load)
    assert isinstance(started, Started)
    assert isinstance(finished, Finished)
    assert (started.statements, started.answered, finished.state, finished.failed) == (16, 3, COMPLETE, 0)
    assert [prompt.statement for prompt in model.asked] == [row[18] for row in STATEMENTS[3:]]
    asked = store.answers.asked(RUN)
    assert [item.answer for item in asked[:3]] == [Answer(IDS[i], *given) for i, given in enumerate(GIVEN[:3])]
    assert all(item.answer is not None and item.answer.answer is True for item in asked[3:])
    made = reported(store, RUN)
    # right: none, not inv, not ins (unreadable), inv+ins of the true fact; the four negated forms of the false one
    assert (made["statements"], made["answered"], made["unreadable"], made["failed"]) == (16, 16, 1, 0)
    assert (made["average_accuracy"]["value"], made["shot_draws"]) == (6 / 16, 1)
    assert len(store.answers.asked(DONE)) == 16


def test_its_complete_run_is_left_as_it_is(oldest: str) -> None:
    store, model = Store(oldest), Answerer()
    before = store.answers.asked(DONE)
    started, finished = answer(DONE, store, load=model.load)
    assert isinstance(started, Started)
    assert isinstance(finished, Finished)
    assert (started.answered, finished.state, model.asked) == (16, COMPLETE, [])
    assert store.answers.asked(DONE) == before


def test_a_new_run_with_several_draws_stands_beside_the_old_ones(oldest: str, tmp_path: Path) -> None:
    store = Store(oldest)
    facts = write_csv(tmp_path / "facts.csv", rows_of_facts())
    run = start(RunSpec(model="answerer", facts=str(facts), limit=1, shot_draws=2), store)
    list(answer(run, store, load=Answerer().load))
    assert [item.draw for item in store.answers.asked(run)] == [0] * 16 + [1] * 16
    assert all(item.answer is not None for item in store.answers.asked(run))
    assert len(store.answers.asked(RUN)) == 16
    assert [record.run for record in store.runs()] == [RUN, DONE, run]


def test_the_command_line_goes_on_with_it(oldest: str, medfact: Callable[..., Any]) -> None:
    rows = medfact("runs", "--db", oldest).rows
    assert [(row["run"], row["answered"]) for row in rows] == [(RUN, 3), (DONE, 16)]
    answers = medfact("answers", RUN, "--db", oldest).rows
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
        patched.setattr(medfact.store.database, "open_engine", listened)
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


def places_to_cut(url: str, commands: int) -> range:
    """Every command of a migration of SQLite's; some of PostgreSQL's, which takes longer to make ready."""
    return range(commands) if url.startswith("sqlite") else range(2, commands, 19)


def test_a_migration_that_is_broken_off_anywhere_is_made_up_for(
    fresh: Callable[[], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is lost: the process may end before any command of a migration."""
    whole = fresh()
    make_old(whole, 1)
    seen = commands(monkeypatch, whole)
    assert any(statement.startswith("ALTER TABLE") for statement in seen)
    lost = {}
    for place in places_to_cut(whole, len(seen)):
        url = fresh()
        make_old(url, 1)
        with pytest.raises(PowerCut):
            opened_with(monkeypatch, url, cut_at(place))
        try:
            holds_everything(Store(url))
            assert shape(url) == shape(whole)
        except Exception as error:
            lost[" ".join(seen[place].split())[:60]] = str(error).splitlines()[0]
    assert lost == {}


def test_a_new_database_whose_making_is_broken_off_can_be_made(
    fresh: Callable[[], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = fresh()
    seen = commands(monkeypatch, whole)
    lost = {}
    for place in places_to_cut(whole, len(seen)):
        url = fresh()
        with pytest.raises(PowerCut):
            opened_with(monkeypatch, url, cut_at(place))
        try:
            assert Store(url).runs() == []
            assert shape(url) == shape(whole)
        except Exception as error:
            lost[" ".join(seen[place].split())[:60]] = str(error).splitlines()[0]
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
            other.join(timeout=0.5)

    opened_with(monkeypatch, url, before)
    assert other.ident is not None
    other.join(timeout=60)
    assert wrong == []


def test_two_that_open_it_at_once_both_can(oldest: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """As the page and the command line do after an update."""
    opened_twice_at_once(monkeypatch, oldest, "ALTER TABLE")
    holds_everything(Store(oldest))


def test_two_that_make_a_new_one_at_once_both_can(either_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    opened_twice_at_once(monkeypatch, either_url, "CREATE TABLE")
    assert shape(either_url)["version"] == [SCHEMA_VERSION]
    assert Store(either_url).runs() == []


def test_two_processes_that_make_a_new_one_at_once_both_can(either_url: str) -> None:
    script = f"from medfact.store import Store; print(Store({either_url!r}).runs())"
    made = [subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, cwd=ROOT) for _ in range(2)]
    assert [(process.communicate(timeout=60)[0], process.returncode) for process in made] == [(b"[]\n", 0)] * 2
    assert shape(either_url)["version"] == [SCHEMA_VERSION]
