"""A run that was erased leaves its id to a true copy alone."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from run_files import export_run_file, pack_lines, parse_lines
from run_lines import KEY, import_run_file, read_tables, statement_lines, store_stopped_run
from run_lines import environment as environment

from medfact.errors import Mistake
from medfact.exchange.lines import ANSWER, DEMONSTRATION, PLACE, RUN
from medfact.store import RUNNING, Store

ALTERED: dict[str, Callable[[list[Any]], object]] = {
    "an answer": lambda lines: one_of(lines, ANSWER).update(answer=not one_of(lines, ANSWER).get("answer")),
    "P(True)": lambda lines: one_of(lines, ANSWER).update(p_true=0.875),
    "a reply": lambda lines: one_of(lines, ANSWER).update(raw="True, of course"),
    "the model": lambda lines: [one.update(model="openai:gpt-5") for one in (one_of(lines, RUN), one_of(lines, RUN)["spec"])],
    "the data": lambda lines: one_of(lines, RUN).update(dataset="clinical-core"),
    "the notes": lambda lines: one_of(lines, RUN).update(notes=[]),
    "a setting": lambda lines: one_of(lines, RUN)["spec"].update(limit=7),
    "the temperature": lambda lines: one_of(lines, RUN)["spec"]["service"].update(temperature=1.0),
    "when it ended": lambda lines: one_of(lines, RUN).update(finished_at="2020-01-01T00:00:00+00:00"),
    "how it ended": lambda lines: one_of(lines, RUN).update(state="complete", reason=None),
    "a source": lambda lines: [one.update(source="RETRACTED") for one in statement_lines(lines)],
    "a demonstration": lambda lines: one_of(lines, DEMONSTRATION).update(text="Aspirin cures gout."),
    "the group of a statement": lambda lines: one_of(lines, PLACE).update(shots_of="another"),
}  # fmt: skip


def one_of(lines: list[Any], kind: str) -> dict[str, Any]:
    """The first line of a kind; the header has a "run", too."""
    found: dict[str, Any] = next(line[kind] for line in lines[1:] if kind in line)
    return found


def erased(store: Store, run: str, monkeypatch: pytest.MonkeyPatch) -> None:
    store.delete(run)
    monkeypatch.setattr("medfact.store.lifecycle.oldest_restorable", lambda: "9999")
    assert store.purge() == 1


@pytest.fixture
def here(either_url: str) -> Store:
    return Store(either_url)


def test_a_true_copy_comes_back(here: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also of one that went on, or that its database paused, and as often as one likes."""
    runs = [store_stopped_run(here) for _ in range(3)]
    here.set_state(runs[1], RUNNING)
    here.set_state(runs[2], "paused", f"The database at /home/ada/{KEY} is locked.")
    files = {run: export_run_file(here, run) for run in runs}
    here.disk.erase(runs)
    for _ in range(2):
        for run, data in files.items():
            assert import_run_file(here, data) == run
            assert export_run_file(here, run) != b""
        with pytest.raises(Mistake, match="is here already"):
            import_run_file(here, files[runs[0]])
        here.disk.erase(runs)
    assert set(read_tables(here)["runs"]) == set()


@pytest.mark.parametrize("what", ALTERED)
def test_an_altered_copy_does_not(what: str, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    run = store_stopped_run(store)
    data = export_run_file(store, run)
    erased(store, run, monkeypatch)
    lines = parse_lines(data)
    ALTERED[what](lines)
    before = read_tables(store)
    for visitor in (store, store.of("stranger")):
        with pytest.raises(Mistake, match=f"^Run {run} was here and was erased, and this file holds something else"):
            import_run_file(visitor, pack_lines(lines))
    assert read_tables(store) == before
    assert import_run_file(store, data) == run


def test_a_copy_without_its_owners_name_and_note_is_the_same_run(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files for others leave both out."""
    run = store_stopped_run(store)
    lines = parse_lines(export_run_file(store, run))
    erased(store, run, monkeypatch)
    one_of(lines, RUN).update(name=None, note=None)
    assert import_run_file(store.of("stranger"), pack_lines(lines)) == run


def test_nothing_personal_stays_of_an_erased_run(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    run = store_stopped_run(store)
    erased(store, run, monkeypatch)
    rows = {name: rows for name, rows in read_tables(store).items() if rows and name != "migrations"}
    assert [*rows] == ["erased_runs"]
    assert len(rows["erased_runs"]) == 1
    assert re.fullmatch(rf"\('{run}', '[0-9a-f]{{64}}'\)", rows["erased_runs"][0])


def test_a_file_of_a_run_that_was_never_here_is_taken(store: Store, tmp_path: Path) -> None:
    other = Store(f"sqlite:///{tmp_path / 'other.db'}")
    run = store_stopped_run(other)
    other.disk.erase([run])
    here = store_stopped_run(store)
    assert import_run_file(other, export_run_file(store, here)) == here
