"""Characters that a terminal obeys, or that turn a line around: none of a stranger's run reaches it."""

from __future__ import annotations

import io
import json
import re
import unicodedata
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from recorded import complete_run
from run_files import alter_run_file, export_run_file
from small_facts import make_fact_rows

from medfact.answers import Demonstration
from medfact.datasets.text import one_line, strip_control_characters
from medfact.exchange import import_run
from medfact.exchange.lines import _MAX_CHARS, COLUMNS
from medfact.facts import Fact
from medfact.notebook import compare, open_run
from medfact.runs.run import answer
from medfact.spec import RunSpec
from medfact.statements import Statement
from medfact.store import Asked, Plan, Store, schema

ODD = "".join(map(chr, [*range(32), *range(127, 160), *range(0x202A, 0x202F), *range(0x2066, 0x206A), 0x2028, 0x2029]))
TERMINAL = re.compile(f"[{re.escape(ODD.replace(chr(10), '').replace(chr(9), ''))}]")
HOSTILE = f"a{ODD.replace(chr(0), '')}b \x1b[2J\x1b]0;title\x07\x9b31m\u202etxt.exe c"
FAKE = "\nmedfact: all runs are complete\n\r\x1b[A"

COMMANDS = (
    "runs",
    "report {run}",
    "report {run} --json",
    "report {run} --latex",
    "report {other} {run} --latex",
    "card {run}",
    "card {run} --svg card.svg",
    "answers {run}",
    "answers {run} --log inspect",
    "answers {run} --log lm-eval",
    "compare {other} {run}",
    "compare {other} {run} --json",
    "tables {run}",
    "rarity {run} --frequencies frequencies.csv",
    "reviews --on {run}",
    "publish {run} -o published.jsonl",
    "resume {run}",
    "run --again {run} --model baseline:always-true",
    "export {run} -o again.gz",
    "runs -o runs.jsonl",
    "report {beginning}",
    "written {run}",
)
"""Commands that print something of a run, with their notes, their progress and their errors."""


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The file of a run with answers, some of them wrong."""
    folder = tmp_path_factory.mktemp("elsewhere")
    elsewhere = Store(f"sqlite:///{folder / 'runs.db'}")
    facts = folder / "facts.jsonl"
    facts.write_text("".join(json.dumps(row) + "\n" for row in make_fact_rows()))
    run = complete_run(RunSpec("baseline:negation-cue", facts=str(facts), limit=8, shots=2), elsewhere)
    elsewhere.set_state(run, "stopped", "The budget of $5.00 is spent.")
    return export_run_file(elsewhere, run)


@pytest.fixture
def other(store: Store, sound: bytes) -> str:
    """A run to compare with."""
    run, data = alter_run_file(sound, {})
    import_run(store, io.BytesIO(data), "run.gz")
    return run


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    rows = "".join(f"{name},{count}\n" for count in range(14) for name in (f"disease{count:02}", f"sign{count:02}"))
    (tmp_path / "frequencies.csv").write_text(f"term,count\n{rows}")
    return tmp_path


def put(kind: str, name: str, value: Any) -> Callable[[list[Any]], None]:
    """Puts a value into all lines of a kind."""

    def change(lines: list[Any]) -> None:
        for line in lines[1:]:
            if kind in line and isinstance(line[kind], dict):
                line[kind][name] = value

    return change


def failed(text: str) -> Callable[[list[Any]], None]:
    """Every call failed, for a reason."""

    def change(lines: list[Any]) -> None:
        for line in lines[1:]:
            if "answer" in line:
                line["answer"] = {name: line["answer"][name] for name in ("statement_id", "draw", "key", "asked_at")}
                line["answer"]["failure"] = text

    return change


def texts() -> list[tuple[str, str]]:
    """Every column of text that a run's file has, but for those of a statement that its id is made of, ids and times."""
    fixed = {"run", "statement_id", "fact_id", "negative_of", "key", "state", "what", "variant", "started_at", "finished_at"}
    fixed |= {"at", "asked_at", "difficulty", "shots_of", "passages"}
    identity = ("head", "relation", "tail", "text", "origin", "pool", "head_id", "tail_id", "region", "population")
    of_identity = {("statement", name) for name in identity}
    every = {
        (kind, name) for kind, columns in COLUMNS.items() for name, column in columns.items() if column.type.python_type is str
    }
    return sorted((kind, name) for kind, name in every - of_identity if name not in fixed)


def shown(medfact: Callable[..., Any], url: str, run: str, other: str) -> None:
    """Nothing that any command prints holds such a character."""
    for command in COMMANDS:
        words = command.format(run=run, other=other, beginning="zz").split()
        outcome = medfact(*words, "--db", url)
        for printed in (outcome.out, outcome.err):
            assert not TERMINAL.search(printed), (command, TERMINAL.findall(printed), printed[:2000])
            assert "\nmedfact: all runs are complete\n" not in printed, command


JSON = {
    "spec": None,
    "versions": lambda text: {text: text, "medfact": text},
    "notes": lambda text: [text, text],
    "decoding": lambda text: {text: text, "dtype": text, "inner": [text, {text: text}]},
    "pool_text": lambda text: {text: {text: text}},
    "population": lambda text: {text: 7, "symptoms": 9},
}


def hostile() -> Iterator[tuple[str, str, str]]:
    """(kind, column, text) of what is put into a file: both in one text, or one after the other where both are too long."""
    for kind, name in texts():
        most = _MAX_CHARS.get(name, len(HOSTILE + FAKE))
        for text in [HOSTILE + FAKE] if len(HOSTILE + FAKE) <= most else [HOSTILE, f"x{FAKE}"]:
            yield kind, name, text[:most]


@pytest.mark.parametrize(("kind", "name", "text"), [pytest.param(*one, id="-".join(one[:2])) for one in hostile()])
def test_no_text_of_an_imported_run_moves_a_terminal(
    kind: str, name: str, text: str, sound: bytes, store: Store, url: str, other: str, medfact: Callable[..., Any], place: Path
) -> None:
    """Each text of each line of the file."""
    value = JSON[name](text) if JSON.get(name) else text
    spec = {"model": text} if name == "model" else {}
    change = put(kind, name, value) if name not in ("spec", "model") else lambda lines: None
    if name == "failure":
        change = failed(text)
    if name == "spec":
        spec = dict.fromkeys(("facts", "pool", "templates", "corpus", "writer", "corpus_column", "language"), text)
    run, data = alter_run_file(sound, spec, change)
    (place / "run.gz").write_bytes(data)
    outcome = medfact("import", "run.gz", "--db", url)
    assert not TERMINAL.search(outcome.out + outcome.err)
    assert outcome.code == 0, outcome.err
    shown(medfact, url, run, other)
    kept = store.run(run)
    for field in ("name", "note", "reason", "model", "dataset", "pool", "model_revision", "dataset_fingerprint"):
        assert not TERMINAL.search(str(getattr(kept, field) or "")), field
    assert not TERMINAL.search("".join([*kept.notes, *kept.versions, *kept.versions.values()]))
    assert not TERMINAL.search(str([event.said for event in store.events(run)]).encode().decode("unicode_escape"))
    for printed in (str(open_run(run, url).report()), str(compare(run, other, db=url)), repr(open_run(run, url))):
        assert not TERMINAL.search(printed)


def odd_run(store: Store, column: str) -> str:
    """A complete run about facts one of whose columns is hostile, recorded as no file of facts could bring it about."""
    text = f"odd{HOSTILE}{FAKE}"
    names = [{**row, column: f"{row.get(column, '')}{text}"} for row in make_fact_rows()]
    facts = [Fact(**row) for row in names]
    false = [fact.negative(f"no {fact.tail}", None, 1) for fact in facts]
    asked = [
        Statement(fact, f"pool{text}", "none", f"{fact.tail} and {fact.head}. {text}", text[:150]) for fact in (*facts, *false)
    ]
    shots = {"group": (Demonstration(text, True), Demonstration(f"not {text}", False))}
    plan = Plan("facts.csv", "f00d", asked[0].pool, 2, tuple(Asked(one, "group") for one in asked), shots)
    run = store.start_run(RunSpec("baseline:negation-cue", shots=2), plan, {"medfact": "0.1.0"})
    list(answer(run, store))
    return run


@pytest.mark.parametrize(
    "column",
    ["head", "relation", "tail", "source", "head_type", "tail_type", "specialty", "head_id", "tail_id", "region", "population"],
)
def test_no_fact_moves_a_terminal(
    column: str, url: str, tmp_path: Path, other: str, medfact: Callable[..., Any], place: Path
) -> None:
    """The names of facts are part of their ids, and are kept as they are: what is printed of them is clean all the same."""
    elsewhere = Store(f"sqlite:///{tmp_path / 'theirs.db'}")
    run = odd_run(elsewhere, column)
    (place / "run.gz").write_bytes(export_run_file(elsewhere, run))
    outcome = medfact("import", "run.gz", "--db", url)
    assert outcome.code == 0, outcome.err
    shown(medfact, url, run, other)
    shown(medfact, elsewhere.url, run, run)


def test_json_says_what_it_said(store: Store, url: str, sound: bytes, medfact: Callable[..., Any]) -> None:
    """In rows for machines such a character is written as an escape: the text is the same."""
    run, data = alter_run_file(sound, {}, put("answer", "raw", HOSTILE))
    import_run(store, io.BytesIO(data), "run.gz")
    said = {item.answer.raw for item in store.answers.asked(run) if item.answer}
    assert {row["raw"] for row in medfact("answers", run, "--db", url).rows} == said == {HOSTILE}
    logged = medfact("answers", run, "--log", "lm-eval", "--db", url).rows
    assert all(any(HOSTILE in text for text in _texts(row)) for row in logged)


def _texts(value: Any) -> Any:
    if isinstance(value, str):
        yield value
    for one in value.values() if isinstance(value, dict) else value if isinstance(value, list) else []:
        yield from _texts(one)


def test_which_characters_are_meant() -> None:
    """All controls but the ends of lines and tabs, and what turns the direction of a line; letters of any script stay."""
    every = "".join(map(chr, (*range(0xD800), *range(0xE000, 0x3000))))
    gone = set(every) - set(strip_control_characters(every))
    assert gone == set(ODD) - {"\n", "\t"}
    assert {unicodedata.category(one) for one in gone} <= {"Cc", "Cf", "Zl", "Zp"}
    assert strip_control_characters("Été – «ü»\n\t😀 שלום") == "Été – «ü»\n\t😀 שלום"
    assert one_line("a\nb\r\n\tc") == "a b c"


def test_what_was_imported_before_is_printed_without_them(
    store: Store, url: str, other: str, medfact: Callable[..., Any]
) -> None:
    """By whoever wrote into the database."""
    with store.database.writing() as connection:
        texts = dict.fromkeys(("name", "note", "reason", "dataset", "pool"), HOSTILE + FAKE)
        connection.execute(schema.runs.update().values(**texts, notes=json.dumps([HOSTILE + FAKE])))
    shown(medfact, url, other, other)
