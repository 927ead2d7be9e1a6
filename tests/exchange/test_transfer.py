"""A run as one file: the same report on another machine, and nothing that a stranger's file can do to what is here."""

import copy
import gzip
import io
import json
import re
import socket
import zlib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from run_files import export_run_file, pack_lines, parse_lines
from run_lines import (
    FACTS,
    KEY,
    PLAN,
    SPEC,
    STATEMENTS,
    Change,
    change_spec,
    first_line,
    import_run_file,
    make_answer,
    read_tables,
    statement_lines,
    store_stopped_run,
)
from run_lines import environment as environment

from medfact.errors import MedfactError, Mistake
from medfact.exchange import import_run, transfer
from medfact.exchange.lines import FILE, FORMAT
from medfact.exchange.rows import portable
from medfact.exchange.transfer import Arrival
from medfact.facts import Fact
from medfact.models import Placement, ServiceSettings
from medfact.prototypes import load_pool
from medfact.runs.events import Failed
from medfact.runs.run import answer
from medfact.spec import RunSpec
from medfact.statements import Statement
from medfact.store import (
    COMPLETE,
    IMPORTED,
    PAUSED,
    RUNNING,
    STOPPED,
    WAITING,
    Answer,
    Asked,
    Store,
    schema,
)

READY = Fact("aspirin", "may treat", "pain", source_id="entry 7").with_ready_sentence("Aspirin may treat pain.")
READY_NEGATIVE = replace(READY.negative("", None, 1), tail=None)
READY_SENTENCES = {READY.fact_id: "Aspirin may treat pain.", READY_NEGATIVE.fact_id: "Aspirin may treat a broken heart."}
READY_STATEMENTS = tuple(replace(load_pool("mkj"), ready=READY_SENTENCES).statements([READY, READY_NEGATIVE]))


def report(medfact: Callable[..., Any], url: str, run: str) -> str:
    """All that a report says but for whether the run came from a file."""
    outcome = medfact("report", run, "--db", url, "--json")
    assert outcome.code == 0, outcome.err
    return json.dumps({name: value for name, value in json.loads(outcome.out).items() if name != "imported"})


@pytest.fixture
def other(tmp_path: Path) -> Store:
    """The store of another machine, and of another owner there."""
    return Store(f"sqlite:///{tmp_path / 'other.db'}", owner="grace")


# ------------------------------------------------------------------------- there and back


@pytest.mark.parametrize("back", [False, True], ids=["to", "from"])
def test_the_report_is_the_same_on_another_machine(
    back: bool, store: Store, either_url: str, medfact: Callable[..., Any]
) -> None:
    """From SQLite to SQLite and to PostgreSQL, and from there to SQLite."""
    here, there = (Store(either_url), store) if back else (store, Store(either_url, owner="grace"))
    run = store_stopped_run(here)
    data = export_run_file(here, run)
    assert import_run_file(there, data) == run
    shown = report(medfact, here.url, run)
    assert report(medfact, there.url, run) == shown
    fates = json.loads(shown)
    assert min(fates[name] for name in ("right", "wrong", "unreadable", "failed")) >= 10
    assert fates["answered"] + fates["failed"] < fates["statements"] == 96
    assert (fates["service"]["host"], fates["service"]["bounded"]["n"], fates["shot_draws"]) == ("models.example", 16, 2)
    answers = [medfact("answers", run, "--db", url).out for url in (here.url, there.url)]
    assert answers[0] == answers[1]
    assert there.answers.demonstrations(run) == here.answers.demonstrations(run) == PLAN.demonstrations
    assert {f: getattr(there.answers.sheet(run), f).tolist() for f in ("fact", "draw", "identity", "pair")} == {
        f: getattr(here.answers.sheet(run), f).tolist() for f in ("fact", "draw", "identity", "pair")
    }
    assert sorted(there.answers.news(run).position.tolist()) == sorted(here.answers.news(run).position.tolist())


def test_what_it_is_is_carried_and_whose_it_is_is_not(store: Store, other: Store) -> None:
    run = store_stopped_run(store)
    import_run_file(other, export_run_file(store, run))
    before, after = store.run(run), other.run(run)
    assert (after.owner, after.worker, after.beat_at, after.deleted_at) == ("grace", None, None, None)
    assert after.spec == portable(SPEC)
    same = "run state reason started_at finished_at model model_revision chat decoding dataset dataset_fingerprint pool shots "
    for name in (same + "versions notes statements facts pool_text name note").split():
        assert getattr(after, name) == getattr(before, name), name
    assert other.answers.asked(run) == store.answers.asked(run)
    *told, imported = other.events(run)
    assert told == store.events(run)
    assert (imported.what, imported.at > told[-1].at) == (IMPORTED, True)
    latest = max(before.finished_at or "", told[-1].at)
    assert imported.said == f"from a file that shows it as it was at {latest}"


def test_the_same_run_gives_the_same_bytes(store: Store, either_url: str) -> None:
    """Each time; and from another database the same but for one more line, which says that it was imported there."""
    run = store_stopped_run(store)
    data = export_run_file(store, run)
    assert export_run_file(store, run) == data
    there = Store(either_url)
    import_run_file(there, data)
    lines, again = (gzip.decompress(file).splitlines() for file in (data, export_run_file(there, run)))
    last = max(number for number, line in enumerate(lines) if line.startswith(b'{"event":'))
    assert [*again[: last + 1], *again[last + 2 :]] == lines
    assert json.loads(again[last + 1])["event"]["what"] == IMPORTED


def test_ready_statements_go_along(store: Store, other: Store) -> None:
    planned = tuple(Asked(s, "may treat / none") for s in READY_STATEMENTS)
    spec = RunSpec(model="baseline:random", protocol="mkj", facts="mkj")
    run = store_stopped_run(store, spec, replace(PLAN, statements=planned))
    import_run_file(other, export_run_file(store, run))
    assert [item.statement for item in other.answers.asked(run)] == [item.statement for item in store.answers.asked(run)]
    assert other.answers.asked(run)[1].statement.fact.tail is None


def test_no_key_and_no_folder_is_in_the_file(store: Store) -> None:
    service = replace(SPEC.service, base_url="https://ada:pw@models.example/v1?key=abc")
    run = store_stopped_run(store, replace(SPEC, service=service))
    text = gzip.decompress(export_run_file(store, run)).decode()
    for secret in (KEY, "pw@", "key=abc", "/home/ada", 'remote_code":true', '"local"', f"{socket.gethostname()}:"):
        assert secret not in text, secret
    assert json.loads(text.splitlines()[1])["run"]["spec"]["service"]["base_url"] == "https://models.example/v1"


def test_where_a_service_was_is_said_though_only_the_environment_knew(
    store: Store, other: Store, monkeypatch: pytest.MonkeyPatch, medfact: Callable[..., Any]
) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "http://10.0.0.7:8000/v1")
    run = store_stopped_run(store, replace(SPEC, service=ServiceSettings()))
    shown = report(medfact, store.url, run)
    data = export_run_file(store, run)
    monkeypatch.setenv("OPENAI_BASE_URL", "https://elsewhere.example/v1")
    import_run_file(other, data)
    assert report(medfact, other.url, run) == shown


def test_a_run_that_is_going_on_arrives_as_one_that_was_stopped(store: Store, other: Store) -> None:
    runs = {state: store_stopped_run(store) for state in (RUNNING, WAITING)}
    for state, run in runs.items():
        store.set_state(run, state)
        data = export_run_file(store, run)
        assert export_run_file(store, run) == data
        import_run_file(other, data)
        assert (other.run(run).state, other.run(run).reason) == (STOPPED, "It was going on when it was exported.")
        assert other.run(run).finished_at == store.events(run)[-1].at
        assert store.run(run).state == state


def test_what_a_database_said_of_itself_is_left_out(store: Store, other: Store) -> None:
    run = store_stopped_run(store)
    store.set_state(run, PAUSED, f"The database {store.url} cannot be used.")
    data = export_run_file(store, run)
    assert store.url.encode() not in gzip.decompress(data)
    import_run_file(other, data)
    assert (other.run(run).state, other.run(run).reason) == (PAUSED, "Its database could not be written.")


def test_an_export_is_of_one_moment(either_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is saved while it is written is not half in it."""
    store, writer = Store(either_url), Store(either_url)
    run = store_stopped_run(store)
    before = export_run_file(store, run)
    encode_header = transfer.encode_header

    def save_meanwhile(*header: Any) -> bytes:
        writer.answers.save(run, [Answer(PLAN.statements[5].statement.statement_id, "k", True, None, None, "True", None)])
        writer.set_state(run, COMPLETE)
        return encode_header(*header)

    with monkeypatch.context() as patched:
        patched.setattr(transfer, "encode_header", save_meanwhile)
        assert export_run_file(store, run) == before
    assert export_run_file(store, run) != before


# ------------------------------------------------------------------------- what is here already


def test_a_run_that_is_here_is_refused(store: Store, either_url: str) -> None:
    run = store_stopped_run(store)
    data = export_run_file(store, run)
    there = Store(either_url)
    import_run_file(there, data)
    before = read_tables(there)
    with pytest.raises(Mistake, match=f"^Run {run} is here already.$"):
        import_run_file(there, data)
    there.delete(run)
    with pytest.raises(Mistake, match=f"Run {run} is here already, but was deleted on 20..-..-... It can be restored.$"):
        import_run_file(there, data)
    there.restore(run)
    assert read_tables(there) == before


def test_of_two_that_import_a_file_at_once_one_does(store: Store, either_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    run = store_stopped_run(store)
    data = export_run_file(store, run)
    there = Store(either_url)
    take_over = Arrival.take_over

    def second_first(arrival: Arrival, into: Store) -> None:
        monkeypatch.setattr(Arrival, "take_over", take_over)
        import_run_file(Store(either_url), data)
        take_over(arrival, into)

    monkeypatch.setattr(Arrival, "take_over", second_first)
    with pytest.raises(Mistake, match=f"^Run {run} is here already.$"):
        import_run_file(there, data)
    assert [h.what for h in there.events(run)] == [*(h.what for h in store.events(run)), IMPORTED]


def test_nobody_who_writes_waits_for_the_reading(store: Store, either_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    there, writer = Store(either_url), Store(either_url)
    check = Arrival.check
    own: list[str] = []

    def write_meanwhile(arrival: Arrival) -> None:
        check(arrival)
        own.append(store_stopped_run(writer))

    monkeypatch.setattr(Arrival, "check", write_meanwhile)
    run = import_run_file(there, export_run_file(store, store_stopped_run(store)))
    assert [record.run for record in there.runs()] == [*own, run]


def another_run(lines: list[Any]) -> list[Any]:
    run = lines[0]["run"]
    return list(json.loads(json.dumps(lines).replace(run, run[::-1])))


def test_a_negative_comes_only_with_its_fact(store: Store, either_url: str) -> None:
    """The ids of a negative fact and of its statements do not name its head: a file could give it another."""
    there, run = Store(either_url), store_stopped_run(store)
    import_run_file(there, export_run_file(store, run))
    before = read_tables(there)
    alone = tuple(planned for planned in PLAN.statements if not planned.statement.fact.positive)
    lines = parse_lines(export_run_file(store, store_stopped_run(store, plan=replace(PLAN, statements=alone))))
    for statement in statement_lines(lines):
        statement["head"] = "RETRACTED"
    with pytest.raises(Mistake, match="is the negative of a fact that the file does not hold"):
        import_run_file(there, pack_lines(lines))
    assert read_tables(there) == before


def test_negatives_alone_go_along_where_their_facts_are_recorded_beside_them(store: Store, other: Store) -> None:
    """A model that rephrased a true fact well, and its false partner not, is asked for the partner alone once more."""
    statements = (*STATEMENTS, *READY_STATEMENTS)
    alone = tuple(Asked(one, one.fact.relation) for one in statements if not one.fact.positive)
    beside = {one.fact.fact_id: one for one in statements if one.fact.positive}
    run = store_stopped_run(store, plan=replace(PLAN, statements=alone, partners=tuple(beside.values())))
    data = export_run_file(store, run)
    assert len(statement_lines(parse_lines(data))) == len(alone) + len(beside)
    import_run_file(other, data)
    assert [item.statement for item in other.answers.asked(run)] == [planned.statement for planned in alone]
    assert other.answers.facts(run) == list(dict.fromkeys(planned.statement.fact for planned in alone))
    other.purge()
    assert statement_lines(parse_lines(export_run_file(other, run))) == statement_lines(
        parse_lines(data)
    )  # a copy of a copy is a copy
    for forged, problem in (({"head": "RETRACTED"}, "the id of its fact is another"), ({"positive": False}, "another fact's")):
        lines = parse_lines(data)
        partner = next(one for one in statement_lines(lines) if one["positive"])
        partner |= forged
        with pytest.raises(Mistake, match=problem):
            import_run_file(Store(other.url.replace("other", "third")), pack_lines(lines))


@pytest.mark.parametrize("whose", ["the same owner's", "a stranger's"])
def test_a_file_changes_no_name_and_no_description_in_other_runs(whose: str, store: Store, other: Store) -> None:
    forged_columns = {"source": "forged", "tail_type": "Poison", "strength": "always", "specialty": "RETRACTED"}
    run = store_stopped_run(store)
    lines = another_run(parse_lines(export_run_file(store, run)))
    for statement in statement_lines(lines):
        statement |= forged_columns
        if not statement["positive"]:
            statement["tail"] = "forged"
    before, row = store.answers.asked(run), read_tables(store)
    visitor = store if whose == "the same owner's" else store.of("stranger")
    new = import_run_file(visitor, pack_lines(lines))
    assert store.answers.asked(run) == before
    assert [rows for rows in row if rows not in read_tables(store)] == []
    seen = {item.statement.fact for item in store.answers.asked(new)}
    assert {(fact.source, fact.tail_type, fact.specialty) for fact in seen} == {("forged", "Poison", "RETRACTED")}
    assert export_run_file(store, run) == export_run_file(store, run)
    import_run_file(other, pack_lines(lines))
    assert {fact.source for fact in other.answers.facts(new)} == {"forged"}


def test_what_a_strangers_file_said_first_is_not_said_by_later_runs(store: Store, either_url: str) -> None:
    """The stranger's file is here first; a run of one's own, later, is of one's own facts."""
    there = Store(either_url)
    lines = parse_lines(export_run_file(store, store_stopped_run(store)))
    for statement in statement_lines(lines):
        statement |= {"source": "forged", "tail_type": "Poison"}
        if not statement["positive"]:
            statement["tail"] = "forged"
    theirs = import_run_file(there, pack_lines(lines))
    assert {item.statement.fact.source for item in there.answers.asked(theirs)} == {"forged"}
    own = there.start_run(SPEC, PLAN, {})
    assert [item.statement for item in there.answers.asked(own)] == [planned.statement for planned in PLAN.statements]
    assert {item.statement.fact.tail_type for item in there.answers.asked(own)} == {f.tail_type for f in FACTS}
    assert {item.statement.fact.source for item in there.answers.asked(theirs)} == {"forged"}


def test_every_run_has_its_own_descriptions_whoever_came_first(store: Store, either_url: str) -> None:
    there = Store(either_url)
    forged = replace(FACTS[0], source="RETRACTED", specialty="none", fact_id="")
    assert forged.fact_id == FACTS[0].fact_id
    words = tuple(Asked(one, "symptoms / none") for one in load_pool("medfact").statements([forged]))
    theirs = there.of("stranger").start_run(SPEC, replace(PLAN, statements=words), {})
    own = there.start_run(SPEC, PLAN, {})
    again = there.of("stranger").start_run(SPEC, replace(PLAN, statements=words), {})
    assert [item.statement.fact for item in there.answers.asked(own)] == [planned.statement.fact for planned in PLAN.statements]
    for run in (theirs, again):
        assert there.answers.facts(run) == [forged]
        assert {item.statement.fact.source for item in there.answers.asked(run)} == {"RETRACTED"}


def test_the_year_of_a_source_is_kept_and_goes_along(store: Store, other: Store) -> None:
    dated = replace(FACTS[0], as_of="2024", fact_id="")
    words = tuple(Asked(one, "symptoms / none") for one in load_pool("medfact").statements([dated]))
    run = store_stopped_run(store, plan=replace(PLAN, statements=words))
    assert {fact.as_of for fact in store.answers.facts(run)} == {"2024"}
    data = export_run_file(store, run)
    assert {statement["as_of"] for statement in statement_lines(parse_lines(data))} == {"2024"}
    import_run_file(other, data)
    assert other.answers.facts(run) == [dated]
    without = export_run_file(store, store_stopped_run(store))
    assert not any("as_of" in statement for statement in statement_lines(parse_lines(without)))


def test_answers_out_of_a_file_are_not_reused(store: Store, either_url: str) -> None:
    """Anybody may have written them."""
    there = Store(either_url)
    import_run_file(there, export_run_file(store, store_stopped_run(store)))
    assert store.answers.reusable(["k0"])["k0"].raw is not None
    assert there.answers.reusable(["k0"]) == {}
    own = there.start_run(SPEC, PLAN, {})
    there.answers.save(own, [replace(make_answer(PLAN.statements[0], 0), raw="my own")])
    assert there.answers.reusable(["k0"])["k0"].raw == "my own"


# ------------------------------------------------------------------------- going on with it


def test_a_run_out_of_a_file_goes_on(store: Store, other: Store) -> None:
    spec = RunSpec(model="baseline:always-true", facts="facts.csv", shots=2, shot_draws=2)
    run = store_stopped_run(store, spec)
    import_run_file(other, export_run_file(store, run))
    events = list(answer(run, other))
    assert events[-1].state == COMPLETE
    assert all(item.answer is not None and item.answer.failure is None for item in other.answers.asked(run))


def test_no_key_goes_to_a_service_that_only_a_file_names(
    store: Store, other: Store, medfact: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    run = store_stopped_run(store)
    import_run_file(other, export_run_file(store, run))
    asked: list[str | None] = []

    def load(*_: object, service: ServiceSettings, **options: object) -> Any:
        asked.append(service.key)
        raise MedfactError("Nobody is asked here.")

    (failed,) = answer(run, other, load=load)
    assert isinstance(failed, Failed)
    assert "was imported from a file, which names the service at models.example" in str(failed.error)
    list(answer(run, other, load=load, key="given for it"))
    list(answer(run, store, load=load))  # one's own
    assert asked == ["given for it", None]
    outcome = medfact("resume", run, "--db", other.url)
    assert (outcome.code, "models.example" in outcome.err) == (2, True)
    monkeypatch.setattr("medfact.runs.run.load_model", load)
    for address, host in (("http://127.0.0.1:1/v1", "127.0.0.1"), ("http://api.openai.com/v1", "api.openai.com")):
        named = store_stopped_run(store, replace(SPEC, service=ServiceSettings(base_url=address)))
        import_run_file(other, export_run_file(store, named))
        (failed,) = answer(named, other, load=load)  # what listens on this machine may be meant for nobody else
        assert f"names the service at {host}" in str(failed.error)
    usual = store_stopped_run(store, replace(SPEC, service=ServiceSettings()))
    import_run_file(other, export_run_file(store, usual))
    list(answer(usual, other, load=load))  # whom this machine asks without being told
    assert asked == ["given for it", None, None]


def test_leave_to_run_code_is_not_carried() -> None:
    assert portable(SPEC).placement == Placement(dtype="float32")
    assert portable(portable(SPEC)) == portable(SPEC)


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("/home/ada/facts.csv", "facts.csv"),
        (r"C:\Users\ada\facts.csv", "facts.csv"),
        ("/home/ada/umls/", "umls"),
        ("facts.csv", "facts.csv"),
        ("hf:owner/name", "hf:owner/name"),
        ("hf:/home/ada/saved", "hf:saved"),
        ("hf:../saved", "hf:saved"),
        ("..", ""),
        ("/dev/", "dev"),
        (None, None),
    ],
)
def test_folders_are_left_out(path: str | None, name: str | None) -> None:
    made = portable(replace(SPEC, facts=path, pool=path, templates=path, demonstrations=path))
    assert (made.facts, made.pool, made.templates, made.demonstrations) == (name, name, name, name)


# ------------------------------------------------------------------------- broken and hostile files


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A sound file."""
    store = Store(f"sqlite:///{tmp_path_factory.mktemp('whole') / 'runs.db'}")
    return export_run_file(store, store_stopped_run(store))


@pytest.fixture(scope="module")
def empty(tmp_path_factory: pytest.TempPathFactory) -> Store:
    """A store in which nothing is to be, whatever it is given."""
    return Store(f"sqlite:///{tmp_path_factory.mktemp('empty') / 'runs.db'}")


def refused(store: Store, data: bytes) -> str:
    """What is told of a file, of which nothing stays."""
    before = read_tables(store)
    with pytest.raises(Mistake) as error:
        import_run_file(store, data)
    assert read_tables(store) == before
    line = str(error.value)
    assert line.startswith("run.jsonl.gz")
    assert "\n" not in line
    assert len(line) < 300
    return line


@pytest.mark.parametrize(
    "data",
    [b"", b"head,relation,tail\n", b"\x1f\x8b", b"\x1f\x8b" + bytes(100), gzip.compress(b"")],
    ids=["empty", "a table", "two bytes", "zeros", "of nothing"],
)
def test_what_is_no_such_file_is_told(data: bytes, empty: Store) -> None:
    line = refused(empty, data)
    assert "is not a run that medfact exported" in line or "is cut off" in line


def test_a_file_that_is_cut_off_anywhere_is_told(whole: bytes, empty: Store) -> None:
    for size in range(10, len(whole), len(whole) // 12):
        assert "is cut off" in refused(empty, whole[:size])
    text = gzip.decompress(whole)
    assert "cut off" in refused(empty, gzip.compress(text[:-1]))
    assert "answers" in refused(empty, gzip.compress(text[: text.rindex(b'{"answer"')]))


def test_a_file_that_is_damaged_anywhere_is_told(whole: bytes, empty: Store) -> None:
    for place in range(12, len(whole), len(whole) // 12):
        refused(empty, whole[:place] + bytes([whole[place] ^ 0x55]) + whole[place + 1 :])
    assert "is damaged" in refused(empty, whole + b"something else")


def test_a_file_that_fills_a_memory_is_not_unpacked(whole: bytes, empty: Store) -> None:
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    bomb = b"".join([packer.compress(b" " * (1 << 20)) for _ in range(64)] + [packer.flush()])
    assert len(bomb) < 100_000
    assert "line 1: it is longer than 4 MB" in refused(empty, bomb)
    end = gzip.compress(b'{"event":{"at":"2026-01-01T00:00:00+00:00","what":"stopped"}}\n' * 50_000)
    text = gzip.decompress(whole)
    many = gzip.compress(text[: text.index(b'{"answer"')]) + end
    assert "more than 10,000 things happened to it" in refused(empty, many)
    line = b'{"event":{"at":"2026-01-01T00:00:00+00:00","what":"stopped","said":"%s"}}\n' % (b"x" * 4_000)
    said = gzip.compress(line * 9_000)
    some = gzip.compress(text[: text.index(b'{"answer"')]) + said  # 36 MB, of less than 200 kB
    assert len(some) < 200_000
    assert re.search(r"unpacks to more than \d+ MB", refused(empty, some))
    assert re.search(r"unpacks to more than \d+ MB", refused(empty, some + bytes(5_000_000)))  # whatever follows it
    with pytest.raises(Mistake, match="unpacks to more than 2 MB"):
        import_run(empty, io.BytesIO(some), "a.gz", 1 << 21)


HEADERS = [
    ([], "is not a run"),
    ({}, "is not a run"),
    ({"medfact facts": 1}, "is not a run"),
    ({FILE: "1"}, "is not a run"),
    ({FILE: FORMAT + 1}, "was written by a newer medfact. Update medfact"),
    *(({"medfact": "run", "format": number}, "was made by a development version before 1.0: ask") for number in (1, 4, 10)),
]


@pytest.mark.parametrize(("header", "words"), HEADERS)
def test_a_wrong_first_line_is_told(header: Any, words: str, whole: bytes, empty: Store) -> None:
    line = refused(empty, pack_lines([header, *parse_lines(whole)[1:]]))
    assert words in line or "it is not an object" in line


OF_THE_COMMIT_BEFORE = Path(__file__).parents[1] / "data" / "development_run.jsonl.gz"
OF_DEVELOPMENT = (
    "medfact: development_run.jsonl.gz was made by a development version before 1.0: ask its model again with this version."
)


def put(kind: str, **values: Any) -> Change:
    """Puts values into the first line of a kind."""
    return lambda lines: first_line(kind, lines)[kind].update(values)


def drop(kind: str, name: str) -> Change:
    return lambda lines: first_line(kind, lines)[kind].pop(name)


def without(kind: str) -> Change:
    """Takes the first line of a kind out, and says so in the header."""

    def change(lines: list[Any]) -> None:
        lines.remove(first_line(kind, lines))
        counted = {"statement": "statements", "place": "places", "demonstration": "demonstrations", "answer": "answers"}
        if kind in counted:
            lines[0][counted[kind]] -= 1

    return change


def twice(kind: str) -> Change:
    def change(lines: list[Any]) -> None:
        place = lines.index(first_line(kind, lines))
        lines.insert(place, copy.deepcopy(lines[place]))

    return change


def swapped(kind: str) -> Change:
    def change(lines: list[Any]) -> None:
        place = lines.index(first_line(kind, lines))
        lines[place], lines[place + 1] = lines[place + 1], lines[place]

    return change


def deep(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = [value]
    return value


TIME = "2026-01-02T03:04:05+00:00"
CHANGES: dict[str, tuple[Change, str]] = {
    "an unknown kind": (lambda lines: lines.append({"key": {"key": "sk-1"}}), "'key' is nothing that a run has"),
    "two kinds in a line": (lambda lines: lines[2].update(run={}), "is nothing that a run has"),
    "no object": (lambda lines: lines.append([1]), "it is not an object"),
    "a row that is none": (lambda lines: lines.append({"answer": 7}), "is nothing that a run has"),
    "kinds in another order": (lambda lines: lines.append(lines[2]), "a line of the kind statement stands too late"),
    "no run": (lambda lines: lines.pop(1), "does not begin with a run"),
    "two runs": (twice("run"), "it holds a second run"),
    "nothing but a header": (lambda lines: lines.__delitem__(slice(1, None)), "it holds no run"),
    "another run than the header's": (put("run", run="0" * 32), "another run than the first line says"),
    "an id that is none": (put("run", run="../../x"), "its id is no run's"),
    "an owner": (put("run", owner="root"), "this medfact knows no column 'owner' of the run"),
    "a worker": (put("run", worker="x:1:1"), "this medfact knows no column 'worker' of the run"),
    "a deleted run": (put("run", deleted_at=TIME), "this medfact knows no column 'deleted_at' of the run"),
    "a state that is none": (put("run", state="running"), "its state is 'running'"),
    "a time that is none": (put("run", started_at="yesterday"), "'yesterday' is no time"),
    "a time without a zone": (put("run", finished_at="2026-01-01T00:00:00"), "is no time"),
    "a missing column": (drop("run", "dataset"), "its dataset is missing"),
    "text for a number": (put("run", shots="5"), "its shots is of the wrong kind"),
    "truth for a number": (put("run", shots=True), "its shots is of the wrong kind"),
    "a number that is too large": (put("run", shots=2**31), "its shots is out of range"),
    "less than nothing": (put("run", shots=-1), "its shots is less than 0"),
    "another number of statements": (put("run", statements=7), "another number of statements"),
    "another number of facts": (put("run", facts=7), "another number of statements or facts"),
    "notes that are none": (put("run", notes=[1]), "of the wrong kind"),
    "versions that are none": (put("run", versions={"medfact": ["x"]}), "of the wrong kind"),
    "sentences that are none": (put("run", pool_text={"symptoms": "x"}), "of the wrong kind"),
    "decoding that goes deep": (put("run", decoding={"x": deep(50)}), "its decoding is of the wrong kind"),
    "a spec that is none": (put("run", spec={}), "its spec is none that this medfact knows"),
    "a spec with more": (change_spec(more=1), "its spec is none that this medfact knows"),
    "a spec with a wrong number": (change_spec(seed="7"), "its spec has a seed of the wrong kind"),
    "a spec with wrong columns": (change_spec(columns=[["head"]]), "its spec is none that this medfact knows"),
    "a spec with a wrong service": (change_spec(service={"timeout": "long"}), "its spec is none that this medfact knows"),
    "a spec with a service of a wrong kind": (change_spec(service={"fresh": 1}), "its spec has a fresh of the wrong kind"),
    "a spec out of range": (change_spec(service={"in_flight": 0}), "its spec is none that this medfact knows"),
    "a spec with a key": (change_spec(service={"key": KEY}), "its spec holds a key"),
    "a spec of another model": (change_spec(model="hf:other"), "its spec is of another model"),
    "a race of too many": (change_spec(racers=101), "its racers are not 0 to 100"),
    "a race of fewer than none": (change_spec(racers=-1), "its racers are not 0 to 100"),
    "an unknown protocol": (change_spec(protocol="exam"), "its protocol is none that this medfact knows"),
    "an unknown question": (change_spec(question="exam"), "its question is none that this medfact knows"),
    "an unknown retrieval": (change_spec(retrieval="exam"), "its retrieval is none that this medfact knows"),
    "an address that is none": (change_spec(service={"base_url": "file:///etc/passwd"}), "the address of its service is none"),
    "another text": (put("statement", text="Aspirin cures everything."), "its id is another statement's"),
    "another head": (put("statement", head="another"), "is another fact's|is several facts|is no negative"),
    "a positive negative": (
        put("statement", negative_of="0" * 20, k=1, positive=True),
        "the negative of another, and positive",
    ),
    "a wrong k": (put("statement", k=3), "its k does not fit its fact|is another fact's"),
    "no such variant": (put("statement", variant="dn+dn"), "there is no variant 'dn\\+dn'"),
    "another variant": (put("statement", variant="S1"), "its id is another statement's"),
    "another origin": (put("statement", origin="rephrased"), "its id is another statement's"),
    "no tail": (drop("statement", "tail"), "its tail is missing"),
    "half a character": (put("statement", text="\ud83d"), "its id is another statement's"),
    "a statement twice": (twice("statement"), "it stands twice, or in the wrong place"),
    "statements in another order": (swapped("statement"), "it stands twice, or in the wrong place"),
    "a statement that is missing": (without("statement"), "its statement is not in the file"),
    "a position too many": (put("place", position=1), "its position is 1, not 0"),
    "a position that is negative": (put("place", position=-1), "its position is less than 0"),
    "places in another order": (swapped("place"), "its position is 1, not 0"),
    "a draw too many": (put("place", draw=2), "the run has no such draw"),
    "a statement that is asked twice": (put("place", draw=1), "is asked twice|does not ask"),
    "a long group": (put("place", shots_of="x" * 2000), "its shots_of is longer than"),
    "a demonstration twice": (twice("demonstration"), "it stands twice"),
    "a demonstration that is missing": (without("demonstration"), "a demonstration before it is missing"),
    "a demonstration without label": (drop("demonstration", "label"), "its label is missing"),
    "something without name": (put("event", what="<script>"), "what happened has no name"),
    "something at no time": (put("event", at="x"), "'x' is no time"),
    "an answer to another statement": (put("answer", statement_id="0" * 20), "the run does not ask its statement"),
    "an answer to another draw": (put("answer", draw=7), "the run does not ask its statement"),
    "an answer twice": (twice("answer"), "it stands twice"),
    "answers in another order": (swapped("answer"), "it stands twice, or in the wrong place"),
    "no probability": (put("answer", p_true=1.5), "its p_true is no probability"),
    "a probability that is text": (put("answer", p_true="1"), "its p_true is of the wrong kind"),
    "a long key": (put("answer", key="k" * 65), "its key is longer than"),
    "an answer and a failure": (put("answer", failure="x"), "its call failed, and it has an answer"),
    "tokens less than nothing": (put("answer", prompt_tokens=-4), "its prompt_tokens is less than 0"),
    "an answer of the database": (put("answer", batch=9), "this medfact knows no column 'batch' of the answer"),
    "another number of answers": (lambda lines: lines.pop(), "and its first line says"),
    "a count that is none": (lambda lines: lines[0].update(answers="many"), "its first line says 'many'"),
    "a long raw": (put("answer", raw="x" * 1_000_001), "its raw is longer than"),
    "a long event": (put("event", said="x" * 5_001), "its said is longer than"),
    "a long text": (put("statement", text="x" * 20_001), "its text is longer than"),
    "a long head": (put("statement", head="x" * 10_001), "its head is longer than"),
    "a long note": (put("run", notes=["x" * 500_001]), "its notes is longer than"),
    "long decoding": (put("run", decoding={"x": "x" * 50_001}), "its decoding is longer than"),
    "a long name": (put("run", name="x" * 501), "its name is longer than"),
    "a count that is missing": (lambda lines: lines[0].pop("places"), "its first line says None"),
}


@pytest.mark.parametrize("name", CHANGES)
def test_what_is_wrong_with_a_file_is_told_and_nothing_stays(name: str, whole: bytes, empty: Store) -> None:
    change, words = CHANGES[name]
    lines = parse_lines(whole)
    change(lines)
    line = refused(empty, pack_lines(lines))
    assert any(one.replace("\\", "") in line for one in words.split("|")), line


def test_nothing_of_a_refused_file_stays_on_a_server_either(whole: bytes, server: Any, connected: None) -> None:
    store = Store(server.create_schema())
    for name in (
        "an answer to another statement",
        "a statement that is asked twice",
        "another number of answers",
        "no such variant",
    ):
        lines = parse_lines(whole)
        CHANGES[name][0](lines)
        refused(store, pack_lines(lines))
    import_run_file(store, whole)
    assert len(store.runs()) == 1


@pytest.mark.parametrize(
    "text",
    [
        b"\xff\xfe",
        b"nonsense",
        b'{"answer":{"p_true":NaN}}',
        b'{"answer":{"p_true":1e999,"statement_id":"x","draw":0,"key":"k","asked_at":"x"}}',
        b"[" * 100_000,
        b'{"answer":' * 100_000,
        b'{"answer":{"draw":' + b"9" * 5_000 + b"}}",
        b'{"answer":{"draw":' + b"9" * 4_000 + b"}}",
    ],
    ids=["bytes", "words", "nan", "infinity", "lists", "objects", "digits", "a large number"],
)
def test_lines_that_no_parser_should_trust(text: bytes, whole: bytes, empty: Store) -> None:
    assert ", line " in refused(empty, gzip.compress(gzip.decompress(whole) + text + b"\n"))


def test_a_negative_of_another_fact_is_told(whole: bytes, empty: Store) -> None:
    lines = parse_lines(whole)
    for statement in statement_lines(lines):
        if not statement["positive"]:
            statement["head"] = "another head"
    assert "is no negative of its fact" in refused(empty, pack_lines(lines))
    lines = parse_lines(whole)
    next(statement for statement in statement_lines(lines) if not statement["positive"])["tail"] = "another"
    assert "is several facts" in refused(empty, pack_lines(lines))


def test_a_statement_that_nobody_asks_is_told(whole: bytes, empty: Store) -> None:
    lines = parse_lines(whole)
    alone = Statement(Fact("gout", "symptoms", "pain"), "medfact", "none", "Pain is a symptom of gout.")
    texts = {name: value for name in schema.FACT_TEXTS if (value := getattr(alone.fact, name)) is not None}
    told = {"statement_id": alone.statement_id, "positive": True, "k": 0, "pool": "medfact", "variant": "none"}
    lines.insert(2, {"statement": {**texts, **told, "text": alone.text, "origin": alone.origin}})
    lines[2 : 2 + 49] = sorted(lines[2 : 2 + 49], key=lambda line: str(line["statement"]["statement_id"]))
    lines[0]["statements"] += 1
    assert f"{alone.statement_id} is never asked" in refused(empty, pack_lines(lines))


# ------------------------------------------------------------------------- the command line


def test_the_command_line(
    store: Store, other: Store, medfact: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    run = store_stopped_run(store)
    outcome = medfact("export", run[:10], "--db", store.url)
    assert (outcome.code, outcome.out) == (0, "")
    assert outcome.err == f"run {run} written to medfact-run-{run[:8]}.jsonl.gz\n"
    assert medfact("export", run, "-o", "mine.gz", "--db", store.url).code == 0
    file = tmp_path / f"medfact-run-{run[:8]}.jsonl.gz"
    assert file.read_bytes() == (tmp_path / "mine.gz").read_bytes() == export_run_file(store, run)
    outcome = medfact("import", file, "--db", other.url)
    assert (outcome.code, outcome.err) == (0, "")
    shown = [medfact("runs", "--db", url).rows for url in (store.url, other.url)]
    assert shown[1] == [{**shown[0][0], "owner": "local", "imported": True}]
    assert not list(tmp_path.glob("*.part"))


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("export", "xyz"), "no run 'xyz'"),
        (("import", "nothing.gz"), "nothing.gz cannot be read: No such file"),
        (("import", "."), "cannot be read: Is a directory"),
        (("import", "notes.txt"), "notes.txt is not a run that medfact exported"),
        (("import", OF_THE_COMMIT_BEFORE), OF_DEVELOPMENT),
        (("check", "baseline:random", "--against", OF_THE_COMMIT_BEFORE), OF_DEVELOPMENT),
        (("import",), "FILE"),
        (("export",), "RUN"),
    ],
)
def test_mistakes_end_with_2_and_one_line(
    arguments: tuple[object, ...], words: str, medfact: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "notes.txt").write_text("notes")
    outcome = medfact(*arguments)
    assert (outcome.code, outcome.out, outcome.err.count("\n")) == (2, "", 1)
    assert words in outcome.err


def test_a_file_that_cannot_be_written_leaves_nothing(store: Store, medfact: Callable[..., Any], tmp_path: Path) -> None:
    run = store_stopped_run(store)
    for place in (tmp_path / "no" / "run.gz", tmp_path, "."):
        outcome = medfact("export", run, "-o", place, "--db", store.url)
        assert (outcome.code, "cannot be written" in outcome.err) == (2, True)
    assert not list(tmp_path.parent.glob("*.part"))
    assert not list(Path.cwd().glob("*.part"))
