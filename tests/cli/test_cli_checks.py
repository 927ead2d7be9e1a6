"""The command line: what is checked before a model is asked, what a log hears meanwhile, and what Ctrl-C leaves."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from medfact.cli import evaluate, progress, show_results
from medfact.runs.events import AnswersSaved, Event, Finished, Started
from medfact.store import Answer

Medfact = Callable[..., Any]


@pytest.mark.parametrize(
    ("place", "words"),
    [
        ("out.foo", "files of this kind are not written"),
        ("no/out.csv", "there is no folder"),
        ("folder.csv", "it is a folder"),
    ],
)
@pytest.mark.parametrize("command", [("run", "--model", "baseline:random"), ("write", "rephrase")], ids=" ".join)
def test_a_place_that_cannot_be_written_is_told_before_anything_is_asked(
    place: str, words: str, command: tuple[str, ...], medfact: Medfact, facts_file: Path, url: str, tmp_path: Path
) -> None:
    (tmp_path / "folder.csv").mkdir()
    outcome = medfact(*command, "--facts", facts_file, "--db", url, "-o", tmp_path / place)
    assert (outcome.code, outcome.out) == (2, "")
    assert words in outcome.err
    assert not Path(url.removeprefix("sqlite:///")).exists()


@pytest.mark.parametrize(
    "command",
    [
        *(("runs",), ("publish",), ("reviews",), ("run", "--again", "a"), ("compare", "a", "b")),
        *((name, "a") for name in ("report", "answers", "tables", "card", "written", "drafts", "resume", "export")),
    ],
    ids=" ".join,
)
def test_a_database_that_is_not_there_is_told_and_not_made(command: tuple[str, ...], medfact: Medfact, tmp_path: Path) -> None:
    file = tmp_path / "typo.db"
    outcome = medfact(*command, "--db", f"sqlite:///{file}")
    assert (outcome.code, outcome.out) == (2, "")
    assert f"There is no database 'sqlite:///{file}'." in outcome.err
    assert not file.exists()


@dataclass
class Clock:
    """Stands where the module `time` does."""

    now: float = 0.0

    def monotonic(self) -> float:
        return self.now


@pytest.mark.parametrize(("seconds", "at"), [(20, range(4, 41, 4)), (5, (12, 24, 36))])
def test_a_log_gets_a_line_at_each_tenth_and_at_most_one_a_minute(
    seconds: int, at: range, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of 40 statements, one every 20 seconds: a tenth takes 80 seconds. One every 5: a tenth takes 20, and a line 60."""
    clock = Clock()
    monkeypatch.setattr(progress, "time", clock)

    def events() -> Iterator[Event]:
        yield Started("r", 40, 0)
        for number in range(40):
            clock.now += seconds
            yield AnswersSaved((Answer(f"s{number}", "", True, None, None, "True", None),))
        yield Finished("r", "complete", 0, 1.0)

    assert progress.show_progress(events(), "m") == 0
    lines = [line for line in capsys.readouterr().err.splitlines() if " of 40" in line]
    assert lines == [f"m: {done} of 40" for done in at]


def test_an_interruption_speaks_of_answers_only_where_runs_were_asked(
    monkeypatch: pytest.MonkeyPatch, medfact: Medfact, facts_file: Path, url: str
) -> None:
    def interrupted(module: object, name: str, *command: object) -> str:
        def stop(*_: object, **__: object) -> Any:
            raise KeyboardInterrupt

        with monkeypatch.context() as patched:
            patched.setattr(module, name, stop)
            outcome = medfact(*command, "--db", url)
        assert outcome.code == 2
        return str(outcome.err.splitlines()[-1])

    run = ("run", "--facts", facts_file, "--model", "baseline:random")
    assert interrupted(evaluate, "load_collection", *run) == "medfact: stopped."
    stopped = interrupted(evaluate, "answer", *run)
    (asked,) = (row["run"] for row in medfact("runs", "--db", url).rows)
    assert stopped == f"medfact: stopped. All answers so far are saved; `resume {asked}` continues."
    assert (
        interrupted(show_results, "report_text", "report", medfact("runs", "--db", url).rows[0]["run"]) == "medfact: stopped."
    )
