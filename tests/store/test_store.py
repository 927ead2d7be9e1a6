"""What is on disk: it survives, it is never overwritten by less, and what cannot be used is said in one sentence."""

import socket
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import fields, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import postgres
import psutil
import pytest
import sqlalchemy
from postgres import PostgresServer

from medfact.answers import Demonstration
from medfact.errors import Mistake, StoreError, UnknownName
from medfact.facts import Fact
from medfact.prototypes import load_pool
from medfact.spec import RunSpec
from medfact.statements import Statement
from medfact.store import (
    COMPLETE,
    INTERRUPTED,
    KEPT_DELETED,
    RESUMABLE,
    RUNNING,
    STOPPED,
    WAITING,
    Answer,
    Asked,
    Plan,
    Store,
    default_url,
)
from medfact.store.sheets import readable_sheet, sheet_of
from medfact.writing.kinds import REPHRASING

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
    statements=tuple(Asked(s, f"symptoms / {s.variant}") for s in STATEMENTS),
    demonstrations=SHOTS,
    notes=("a note",),
)
VERSIONS = {"medfact": "0.1.0"}


@pytest.fixture
def url(either_url: str) -> str:
    return either_url


def said(statement: Statement, answer: bool | None = True, failure: str | None = None, raw: str | None = "True") -> Answer:
    return Answer(statement.statement_id, "key", answer, 1 / 3, 0.75, raw, failure)


def given(store: Store, run: str) -> dict[str, Answer]:
    return {item.statement.statement_id: item.answer for item in store.answers.asked(run) if item.answer is not None}


def in_sql(store: Store, command: str) -> list[tuple[Any, ...]]:
    """What a command of SQL gives, or does."""
    engine = sqlalchemy.create_engine(store.url)
    with engine.begin() as connection:
        result = connection.execute(sqlalchemy.text(command))
        rows = [tuple(row) for row in result] if result.returns_rows else []
    engine.dispose()
    return rows


def test_a_run_survives_closing_and_opening(store: Store) -> None:
    run = store.start_run(SPEC, PLAN, VERSIONS)
    store.record_model(run, revision="7", chat=False, decoding={"greedy": True})
    store.answers.save(
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
    assert again.answers.demonstrations(run) == SHOTS
    asked = again.answers.asked(run)
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


def test_a_failure_is_replaced_an_answer_never(store: Store) -> None:
    run = store.start_run(SPEC, PLAN, VERSIONS)
    first, second = STATEMENTS[:2]
    store.answers.save(run, [])
    store.answers.save(run, [said(first, None, "timed out", None)])
    store.answers.save(run, [said(first, None, "timed out again", None)])
    assert given(store, run)[first.statement_id].failure == "timed out again"
    store.answers.save(run, [said(first, False)])
    assert given(store, run)[first.statement_id].answer is False
    for late in (said(first, True), said(first, None, "timed out", None)):
        store.answers.save(run, [late])  # as a second process may that goes on with the same run
        assert given(store, run)[first.statement_id] == said(first, False)
    store.answers.save(run, [said(first, True), said(second)])
    assert given(store, run) == {first.statement_id: said(first, False), second.statement_id: said(second)}
    assert len(store.answers.asked(run)) == 16


def test_states_have_their_times(store: Store) -> None:
    run = store.start_run(SPEC, PLAN, VERSIONS)
    assert store.run(run).finished_at is None
    store.set_state(run, STOPPED, "by hand")
    stopped = store.run(run)
    assert (stopped.state, stopped.reason) == (STOPPED, "by hand")
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
    assert store.run(first.upper()).run == first
    for unknown in ("", "%", "_" * 32, "zzzz"):
        with pytest.raises(UnknownName):
            store.run(unknown)


@pytest.mark.parametrize("sought", ["zz", "f" * 32])
def test_a_run_that_is_not_there_names_no_other(store: Store, sought: str) -> None:
    """An id opens a run: what is said of one id tells no other."""
    store.start_run(SPEC, PLAN, VERSIONS)
    for look in (store.run, store.recorded, store.pulse):
        with pytest.raises(UnknownName) as error:
            look(sought)
        assert str(error.value) == f"There is no run '{sought}'. It may have been deleted."
    with pytest.raises(UnknownName, match=r"^There is no curation 'zz'\. It may have been erased\.$"):
        store.curations.one("zz")


def test_owners_see_their_own_runs(store: Store) -> None:
    ours = store.start_run(SPEC, PLAN, VERSIONS)
    theirs = Store(store.url, owner="visitor").start_run(SPEC, PLAN, VERSIONS)
    shown = Store(store.url, owner="demonstration").start_run(SPEC, PLAN, VERSIONS)
    assert [run.run for run in store.runs("local")] == [ours]
    assert [run.run for run in store.runs("visitor")] == [theirs]
    assert [run.run for run in store.runs("demonstration", "local")] == [ours, shown]
    assert [run.run for run in store.runs("nobody")] == []
    assert [run.run for run in store.runs()] == [ours, theirs, shown]


# ------------------------------------------------------------------------- who works on a run


@pytest.fixture
def neighbour() -> Iterator[subprocess.Popen[bytes]]:
    """Another process of this machine, for as long as nobody ends it."""
    process = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    yield process
    process.communicate()


def name_of(process: subprocess.Popen[bytes]) -> str:
    """How a process is recorded that asks a run."""
    return f"{socket.gethostname()}:{process.pid}:{psutil.Process(process.pid).create_time():.1f}"


def asked_by(store: Store, worker: str, state: str = RUNNING, beat_at: str | None = None) -> str:
    """A run that another process works on, or is going to."""
    run = store.start_run(SPEC, PLAN, VERSIONS)
    said = datetime.now(UTC).isoformat() if beat_at is None else beat_at
    in_sql(store, f"update runs set worker = '{worker}', state = '{state}', beat_at = '{said}' where run = '{run}'")
    return run


def test_a_run_that_another_process_asks_is_not_taken_up(store: Store, neighbour: subprocess.Popen[bytes]) -> None:
    run = asked_by(store, name_of(neighbour))
    with pytest.raises(Mistake, match=f"is being asked by process {neighbour.pid} on "):
        store.claim(run)
    assert (store.run(run).state, store.run(run).worker) == (RUNNING, name_of(neighbour))
    assert [h.what for h in store.events(run)] == [WAITING]


def test_a_run_whose_process_died_is_interrupted_and_may_be_taken_up(store: Store, neighbour: subprocess.Popen[bytes]) -> None:
    runs = [asked_by(store, name_of(neighbour), state) for state in (RUNNING, WAITING)]
    neighbour.communicate()
    for run in runs:
        assert store.run(run).state == INTERRUPTED
        assert INTERRUPTED in RESUMABLE
        store.claim(run)
        assert store.run(run).state == RUNNING
        store.claim(run)  # by the process that has it already


def test_a_number_that_was_given_to_another_process_is_not_the_one_that_asked(
    store: Store, neighbour: subprocess.Popen[bytes]
) -> None:
    host, pid, began = name_of(neighbour).rsplit(":", 2)
    assert store.run(asked_by(store, f"{host}:{pid}:{float(began) - 100}")).state == INTERRUPTED


def test_a_run_that_waits_may_be_taken_up_by_another_process(store: Store, neighbour: subprocess.Popen[bytes]) -> None:
    run = asked_by(store, name_of(neighbour), WAITING)
    assert store.run(run).state == WAITING
    store.claim(run)
    assert store.run(run).state == RUNNING
    assert store.run(run).worker not in {None, name_of(neighbour)}


def test_a_process_of_another_machine_lives_as_long_as_it_is_heard_of(store: Store) -> None:
    now = datetime.now(UTC)
    heard = [(now - timedelta(seconds=seconds)).isoformat() for seconds in (5, 600)]
    alive, silent = (asked_by(store, "elsewhere:7:1000.0", beat_at=at) for at in heard)
    assert (store.run(alive).state, store.run(silent).state) == (RUNNING, INTERRUPTED)
    with pytest.raises(Mistake, match="process 7 on elsewhere"):
        store.claim(alive)
    store.beat(silent)
    assert store.run(silent).state == RUNNING


def test_of_two_that_take_a_run_up_at_once_one_does(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    run = store.start_run(SPEC, PLAN, VERSIONS)
    before, other = store.run(run), Store(store.url)
    other.claim(run)
    monkeypatch.setattr(store, "run", lambda _: before)  # what this one read before the other wrote
    with pytest.raises(Mistake, match="by another process just now"):
        store.claim(run)
    assert [h.what for h in other.events(run)] == [WAITING, RUNNING]


def test_a_state_is_not_set_where_the_run_went_on_meanwhile(store: Store) -> None:
    run = store.start_run(SPEC, PLAN, VERSIONS)
    before = store.last_claim(run)
    taken = store.claim(run)
    assert taken == store.last_claim(run) > before
    store.set_state(run, STOPPED, "late", since=before)
    assert store.run(run).state == RUNNING
    store.set_state(run, STOPPED, "in time", since=taken)
    assert (store.run(run).state, store.run(run).worker) == (STOPPED, None)


def test_what_happened_is_told_in_order(store: Store) -> None:
    run, other = store.start_run(SPEC, PLAN, VERSIONS), store.start_run(SPEC, PLAN, VERSIONS)
    store.claim(run)
    store.set_state(run, STOPPED, "by hand")
    store.claim(run)
    store.set_state(run, COMPLETE)
    told = store.events(run)
    assert [(h.what, h.said) for h in told] == [
        (WAITING, None),
        (RUNNING, None),
        (STOPPED, "by hand"),
        (RUNNING, None),
        (COMPLETE, None),
    ]
    assert [h.at for h in told] == sorted(h.at for h in told)
    assert [h.what for h in store.events(other)] == [WAITING]


# ------------------------------------------------------------------------- what its owner does to it


def test_a_run_has_a_name_and_a_note(store: Store) -> None:
    run = store.start_run(SPEC, PLAN, VERSIONS)
    assert (store.run(run).name, store.run(run).note) == (None, None)
    store.describe(run, name="Été ${alert(1)}", note="<b>\n" * 1000)
    assert (store.run(run).name, store.run(run).note) == ("Été ${alert(1)}", "<b>\n" * 1000)
    store.describe(run, name="", note="")
    assert (store.run(run).name, store.run(run).note) == (None, None)


def test_a_deleted_run_is_not_found_until_it_is_restored(store: Store) -> None:
    run, other = store.start_run(SPEC, PLAN, VERSIONS), store.start_run(SPEC, PLAN, VERSIONS)
    store.answers.save(run, [said(STATEMENTS[0])])
    store.delete(run)
    assert [r.run for r in store.runs()] == [r.run for r in store.runs("local")] == [other]
    with pytest.raises(UnknownName):
        store.run(run)
    assert store.purge() == 0
    store.restore(run)
    assert [r.run for r in store.runs()] == [run, other]
    assert given(store, run) == {STATEMENTS[0].statement_id: said(STATEMENTS[0])}


@pytest.fixture
def attempts(store: Store) -> list[str]:
    """A writing of three attempts, as `write` records them."""
    tasks = REPHRASING.tasks[:3]
    first = store.start_run(replace(SPEC, task=tasks[0]), PLAN, VERSIONS)
    later = [store.start_run(replace(SPEC, task=task, writing=first), PLAN, VERSIONS) for task in tasks[1:]]
    return [first, *later]


@pytest.mark.parametrize("of", [0, 1, 2])
def test_the_attempts_of_a_writing_are_deleted_and_restored_together(store: Store, attempts: list[str], of: int) -> None:
    """By whichever of their ids. What asks them, another's attempt and one out of a file are no part of it."""
    spec = replace(SPEC, task="rephrase-again", writing=attempts[0])
    asking = store.start_run(replace(SPEC, writing=attempts[0]), PLAN, VERSIONS)
    others = [store.of("another").start_run(spec, PLAN, VERSIONS)]
    others.append(store.start_run(replace(spec, imported=("writing",)), PLAN, VERSIONS))
    store.delete(attempts[of])
    assert [run.run for run in store.writings()] == others
    assert [run.run for run in store.runs()] == [asking]
    assert [run.run for run in store.deleted("local")] == [attempts[0]], "a writing is listed once"
    store.restore(attempts[of])
    assert [run.run for run in store.writings()] == [*attempts, *others]
    assert store.deleted() == []


def test_the_attempts_of_a_writing_are_erased_together(store: Store, attempts: list[str]) -> None:
    """Housekeeping sees one thing that ended last when its last attempt did; and none while any attempt is being asked."""
    other = store.start_run(SPEC, PLAN, VERSIONS)
    for run, year in zip((*attempts, other), ("2020", "2021", "2023", "2022"), strict=True):
        store.set_state(run, COMPLETE)
        in_sql(store, f"update runs set finished_at = '{year}-01-01' where run = '{run}'")
    assert [(one.run, one.ended_at) for one in store.disk.ended([])] == [(other, "2022-01-01"), (attempts[0], "2023-01-01")]
    store.claim(attempts[1])
    assert [one.run for one in store.disk.ended([])] == [other]
    store.set_state(attempts[1], COMPLETE)
    store.disk.erase([attempts[0]])
    assert in_sql(store, "select run from runs") == [(other,)]


def test_what_was_deleted_long_ago_is_erased_and_nothing_else(store: Store) -> None:
    longer = replace(PLAN, statements=(*PLAN.statements, Asked(alone(), "symptoms / none")))
    old, young, kept = (store.start_run(SPEC, plan, VERSIONS) for plan in (longer, PLAN, PLAN))
    for run in (old, young, kept):
        store.answers.save(run, [said(STATEMENTS[0])])
        store.answers.sheet(run)
    store.delete(old), store.delete(young)
    long_ago = (datetime.now(UTC) - KEPT_DELETED - timedelta(minutes=1)).isoformat(timespec="milliseconds")
    in_sql(store, f"update runs set deleted_at = '{long_ago}' where run = '{old}'")
    assert store.purge() == 1
    for table in ("runs", "run_statements", "demonstrations", "answers", "events", "sheets"):
        assert {run for (run,) in in_sql(store, f"select run from {table}")} == {young, kept}, table
    assert in_sql(store, "select count(*) from statements") == [(16,)]  # but the one that was asked there alone
    store.restore(young)
    for run in (young, kept):
        assert len(store.answers.asked(run)) == 16
        assert len(given(store, run)) == 1
    assert store.purge() == 0


def alone() -> Statement:
    """A statement of a fact that no other run asks."""
    return Statement(Fact("gout", "symptoms", "pain"), "medfact", "none", "Pain is a symptom of gout.")


# ------------------------------------------------------------------------- what pages watch


def test_news_are_what_came_since(store: Store) -> None:
    run = store.start_run(SPEC, PLAN, VERSIONS)
    nothing = store.answers.news(run)
    assert (nothing.changed, nothing.position.tolist(), nothing.p_true.tolist()) == (0, [], [])
    store.answers.save(run, [said(STATEMENTS[3]), said(STATEMENTS[1], False)])
    first = store.answers.news(run, nothing.changed)
    assert first.changed == 1
    assert dict(zip(first.position.tolist(), first.answer.tolist(), strict=True)) == {3: 1, 1: 0}
    assert (set(first.p_true.tolist()), set(first.p_mass.tolist())) == ({1 / 3}, {0.75})
    silent = Answer(STATEMENTS[0].statement_id, "key", None, None, None, "Hm.", None)
    store.answers.save(run, [silent, said(STATEMENTS[2], None, "timed out", None)])
    second = store.answers.news(run, first.changed)
    assert dict(zip(second.position.tolist(), second.answer.tolist(), strict=True)) == {0: -1, 2: -2}
    assert np.isnan(second.p_true[second.position == 0]).all()
    assert sorted(store.answers.news(run).position.tolist()) == [0, 1, 2, 3]
    assert store.answers.news(run, second.changed).position.tolist() == []
    store.answers.save(run, [said(STATEMENTS[2])])  # in place of the failed call
    third = store.answers.news(run, second.changed)
    assert (third.position.tolist(), third.answer.tolist()) == ([2], [1])
    assert {str(array.dtype) for array in (third.position, third.answer, third.p_true, third.p_mass)} == {
        "int64",
        "int8",
        "float64",
    }


def test_a_sheet_is_what_a_run_asks(store: Store) -> None:
    again = tuple(replace(planned, draw=1) for planned in PLAN.statements)
    run = store.start_run(SPEC, replace(PLAN, statements=(*PLAN.statements, *again)), VERSIONS)
    sheet = store.answers.sheet(run)
    assert sheet.fact.tolist() == ([0] * 8 + [1] * 8) * 2
    assert sheet.draw.tolist() == [0] * 16 + [1] * 16
    assert [str(sheet.variants[code]) for code in sheet.variant] == [s.variant for s in STATEMENTS] * 2
    assert (sheet.positive.tolist(), sheet.pair.tolist()) == ([True, False], [0, 0])
    assert (sheet.relations.tolist(), sheet.tail_types.tolist()) == (["symptoms"], ["Sign"])
    assert store.run(run).facts == 2
    in_sql(store, "delete from sheets")
    made = Store(store.url).answers.sheet(run)  # anew
    assert all(np.array_equal(getattr(made, f.name), getattr(sheet, f.name)) for f in fields(sheet))
    assert in_sql(store, "select count(*) from sheets") == [(1,)]


@pytest.mark.parametrize("most", [40_000, 0])
def test_runs_of_one_plan_are_recorded_alike(store: Store, most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where another plan says the same: what is kept of a plan stands for no other. most: statements of a kept one."""
    monkeypatch.setattr("medfact.store.recording.MOST_STATEMENTS", most)
    same = replace(PLAN, notes=("said again",))
    fewer = replace(PLAN, statements=PLAN.statements[:5], partners=())
    first, second, third, fourth = (store.start_run(SPEC, plan, VERSIONS) for plan in (PLAN, PLAN, same, fewer))

    def recorded(run: str) -> object:
        items = store.answers.asked(run)
        return [(item, item.position, item.fact) for item in items], store.answers.facts(run), store.answers.partners(run)

    assert recorded(first) == recorded(second) == recorded(third)
    assert len(store.answers.asked(fourth)) == 5
    sheets = [store.answers.sheet(run) for run in (first, second, fourth)]
    assert sheets[0] is sheets[1], "equal sheets are read once"
    assert len(sheets[2].fact) == 5
    with pytest.raises(ValueError, match="read-only"):
        sheets[0].fact[0] = 7


def test_unknown_tails_are_not_one_tail() -> None:
    """Three false facts of ready statements whose tails nobody knows: each is its own, in figures and in what is expected of
    them.
    """
    true = [Fact(f"head {n}", "symptoms", "rash") for n in range(3)]
    false = [Fact(one.head, "symptoms", None, positive=False, negative_of=one.fact_id, k=1) for one in true]
    planned = [Asked(Statement(fact, "mkj", "none", f"{fact.fact_id}."), "") for fact in (*true, *false)]
    sheet = sheet_of(planned)
    assert len(set(sheet.tail[:3].tolist())) == 1
    assert len(set(sheet.tail.tolist())) == 4
    assert readable_sheet(sheet.to_bytes()) is not None


def test_figures_are_kept_until_something_changes(store: Store) -> None:
    run = store.start_run(SPEC, PLAN, VERSIONS)
    store.answers.save(run, [said(STATEMENTS[0])])
    assert store.answers.figures(run) is None
    figures = {"average_accuracy": {"value": 1 / 3, "low": None}, "name": "≥ ${x}"}
    store.answers.keep_figures(run, figures, store.run(run).changed)
    assert Store(store.url).answers.figures(run) == figures
    store.answers.save(run, [said(STATEMENTS[1])])
    assert store.answers.figures(run) is None
    store.answers.keep_figures(run, figures, store.run(run).changed - 1)  # of answers that are not all there are
    assert store.answers.figures(run) is None


def test_facts_are_asked_for_by_their_numbers(store: Store) -> None:
    run = store.start_run(SPEC, PLAN, VERSIONS)
    assert [item.position for item in store.answers.asked(run, [1])] == list(range(8, 16))
    assert [item.fact for item in store.answers.asked(run, [0, 1])] == [0] * 8 + [1] * 8
    assert store.answers.asked(run, []) == store.answers.asked(run, [2]) == []


def test_answers_of_others_are_not_taken(store: Store) -> None:
    theirs = Store(store.url, owner="visitor")
    theirs.answers.save(theirs.start_run(SPEC, PLAN, VERSIONS), [said(STATEMENTS[0])])
    assert store.answers.reusable(["key"]) == {}
    store.answers.save(
        store.start_run(SPEC, PLAN, VERSIONS), [said(STATEMENTS[1]), said(STATEMENTS[2], None, "timed out", None)]
    )
    assert store.answers.reusable(["key", "another"]) == {"key": said(STATEMENTS[1])}


def test_rejected_partners_are_their_owners(store: Store) -> None:
    store.decisions.reject("f1", "itch", "true"), store.decisions.reject("f1", "itch"), store.decisions.reject("f1", "rash")
    Store(store.url, owner="visitor").decisions.reject("f1", "fever")
    assert store.decisions.of_partners().rejected == {("f1", "itch"), ("f1", "rash")}
    assert {item.tail: item.reason for item in store.decisions.on_partners()} == {"itch": "true", "rash": ""}
    store.decisions.take_back("f1", "itch"), store.decisions.take_back("f1", "fever")
    assert store.decisions.of_partners().rejected == {("f1", "rash")}
    assert Store(store.url, owner="visitor").decisions.of_partners().rejected == {("f1", "fever")}


def test_the_last_complete_run_of_a_model_is_found(store: Store) -> None:
    first, second, going = (store.start_run(SPEC, PLAN, VERSIONS) for _ in range(3))
    assert store.last_complete(SPEC.model) is None
    for run in (second, first):
        store.set_state(run, COMPLETE)
        in_sql(store, f"update runs set finished_at = '2026-01-0{1 + (run == first)}' where run = '{run}'")
    assert store.last_complete(SPEC.model) == store.run(first)
    store.delete(first)
    assert store.last_complete(SPEC.model) == store.run(second)
    assert (store.last_complete("another"), store.run(going).state) == (None, WAITING)


def test_a_run_that_took_answers_of_others_says_nothing_of_speed(store: Store) -> None:
    first, second = (store.start_run(SPEC, PLAN, VERSIONS) for _ in range(2))
    store.answers.save(first, [said(STATEMENTS[0])])
    store.answers.save(second, [said(STATEMENTS[0]), replace(said(STATEMENTS[1]), attempts=0)])
    for run in (first, second):
        store.set_state(run, COMPLETE)
    found = store.last_complete(SPEC.model)
    assert found.run == first


def test_many_rows_are_written_with_each_command(tmp_path: Path) -> None:
    """SQLite's driver gives way to other threads at every command: with one for each row, a busy server would take minutes. It
    keeps the commands that it prepared: with one for each number of rows, they would fill the memory.
    """
    store = Store(f"sqlite:///{tmp_path / 'runs.db'}")
    statements = tuple(
        replace(STATEMENTS[0], statement_id=f"{number:032x}", text=f"({number}, 'VALUES (?, ?)')") for number in range(5_000)
    )
    plan = replace(PLAN, statements=tuple(Asked(one, "symptoms / none") for one in statements), demonstrations={})
    commands: list[str] = []

    def heard(_: Any, __: Any, statement: str, *___: Any) -> None:
        commands.append(statement)

    sqlalchemy.event.listen(store.database.engine, "before_cursor_execute", heard)
    run = store.start_run(SPEC, plan, VERSIONS)
    begin, size = 0, 1
    while batch := statements[begin : begin + size]:  # 1 answer, 2 answers, 3 answers, up to 99
        store.answers.save(run, [said(one, number % 2 == 0) for number, one in enumerate(batch, begin)])
        begin, size = begin + size, size + 1
    sqlalchemy.event.remove(store.database.engine, "before_cursor_execute", heard)
    inserts = [command for command in commands if command.startswith("INSERT")]
    assert len(inserts) < 2 * 41 + 99 * 7  # statements and places, 128 at once; 99 times up to 99 answers
    assert len(set(inserts)) < 3 * 8 + 10
    answers = given(store, run)
    assert [answers[one.statement_id].answer for one in statements] == [number % 2 == 0 for number in range(5_000)]
    assert [item.statement.text for item in store.answers.asked(run)] == [one.text for one in statements]


def test_what_no_database_can_hold_is_replaced_and_the_same_on_all(store: Store) -> None:
    """A model may say a zero byte, which PostgreSQL refuses, or half a character, which no file can hold."""
    run = store.start_run(SPEC, PLAN, VERSIONS)
    store.answers.save(run, [said(STATEMENTS[0], raw="True\x00, \ud83d it is 😀"), said(STATEMENTS[1], None, "\x00", None)])
    store.set_state(run, STOPPED, "a reason\x00")
    store.describe(run, name="\x00", note="\udcff")
    store.decisions.reject("f1", "\x00itch")
    replies = given(store, run)
    assert replies[STATEMENTS[0].statement_id].raw == "True\ufffd, \ufffd it is 😀"
    assert replies[STATEMENTS[1].statement_id].failure == "\ufffd"
    record = store.run(run)
    assert (record.reason, record.name, record.note) == ("a reason\ufffd", "\ufffd", "\ufffd")
    assert store.events(run)[-1].said == "a reason\ufffd"
    assert store.decisions.of_partners().rejected == {("f1", "\ufffditch")}


def test_the_default_database_lies_at_home(home: Path) -> None:
    Store().start_run(SPEC, PLAN, VERSIONS)
    assert default_url() == f"sqlite:///{home / 'medfact.db'}"
    assert (home / "medfact.db").is_file()


# ------------------------------------------------------------------------- what cannot be used


def told(url: str) -> str:
    with pytest.raises(StoreError) as error:
        Store(url)
    line = str(error.value)
    assert "\n" not in line
    return line


def test_a_newer_database_is_refused_and_left_alone(store: Store) -> None:
    in_sql(store, "insert into migrations values (2)")
    assert told(store.url).endswith("was made by a newer medfact. Update medfact, or choose another --db.")
    assert in_sql(store, "select number from migrations order by 1") == [(1,), (2,)]


def test_a_place_that_cannot_be_made_and_a_folder_are_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    assert str(tmp_path) in told(f"sqlite:///{tmp_path / 'file' / 'runs.db'}")
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


@pytest.mark.parametrize(
    "url",
    [
        "postgresql+nosuchdriver://ada:s3cret@localhost/x",
        "postgresql://ada:s3cret@127.0.0.1:1/x",
        "postgresql://127.0.0.1:1/x?user=ada&password=s3cret",
        "postgresql://ada:more@s3cret@localhost/x",  # an @ that should have been written %40
        "postgresql://ada:s3cret",
        "postgres://ada:s3cret/x",
    ],
)
def test_passwords_are_not_told(url: str) -> None:
    with pytest.raises((Mistake, StoreError)) as error:
        Store(url)
    assert "s3cret" not in str(error.value)
    assert "\n" not in str(error.value)


# ------------------------------------------------------------------------- a server


@pytest.fixture
def users(server: PostgresServer, connected: None) -> Iterator[PostgresServer]:
    """A server that knows a user with a password, and one who may make nothing."""
    server.execute("CREATE ROLE locked LOGIN PASSWORD 'r1ght'")
    server.execute("CREATE ROLE guest LOGIN")
    yield server
    server.execute("DROP OWNED BY locked")
    server.execute("DROP ROLE locked")
    server.execute("DROP ROLE guest")


def test_a_server_that_is_not_there_is_told() -> None:
    for host in ("127.0.0.1", "localhost"):
        line = told(f"postgresql://ada:s3cret@{host}:1/x")
        assert "refused. Check that its server runs" in line
    assert "nosuchhost.invalid" in told("postgresql://nosuchhost.invalid/x")
    assert "Check that its server runs" in told("postgresql:///x?host=/nowhere")


def test_who_may_not_use_a_server_is_told(users: PostgresServer) -> None:
    wrong = told(users.url("locked").replace("locked@", "locked:s3cret@"))
    assert 'password authentication failed for user "locked". Check the user and the password' in wrong
    assert "s3cret" not in wrong
    assert 'role "nobody" does not exist' in told(users.url("nobody"))
    assert "permission denied for schema public. Let its user create" in told(users.url("guest"))


def test_a_password_opens_a_database(users: PostgresServer) -> None:
    url = users.create_schema()
    users.execute(f"GRANT ALL ON SCHEMA {url.rpartition('%3D')[2]} TO locked")
    assert Store(url.replace("medfact@", "locked:r1ght@")).runs() == []


def test_a_database_that_does_not_exist_on_a_server_is_told(server: PostgresServer) -> None:
    assert 'database "nothing" does not exist. Create it first (createdb NAME)' in told(server.url(database="nothing"))


def test_a_database_that_cannot_hold_all_characters_is_told(server: PostgresServer, connected: None) -> None:
    server.execute("CREATE DATABASE narrow TEMPLATE template0 ENCODING 'LATIN1'")
    assert "encoding LATIN1" in told(server.url(database="narrow"))


@pytest.mark.parametrize("scheme", ["postgresql", "postgres"])
def test_a_servers_address_needs_no_driver(
    scheme: str, server: PostgresServer, connected: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = server.create_schema().replace("postgresql+psycopg", scheme)
    run = Store(url).start_run(SPEC, PLAN, VERSIONS)
    monkeypatch.setenv("MEDFACT_DATABASE_URL", url)
    assert [r.run for r in Store().runs()] == [run]


def test_a_connection_that_a_server_has_dropped_is_made_anew(server: PostgresServer, connected: None) -> None:
    store = Store(server.create_schema())
    server.execute(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid != pg_backend_pid() AND datname IS NOT NULL"
    )
    assert store.runs() == []


@pytest.mark.parametrize("needed", [False, True])
def test_tests_of_a_server_are_left_out_only_where_it_is_not_needed(needed: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(postgres, "find_programs", lambda: None)
    monkeypatch.setenv(postgres.REQUIRED_VARIABLE, "1" if needed else "")
    with pytest.raises(pytest.fail.Exception if needed else pytest.skip.Exception, match="install it"), postgres.run_server():
        pass
