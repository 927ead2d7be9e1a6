"""Output in any encoding, as a pipe has it on Windows: rows are UTF-8, sentences have replacements, and nothing fails."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from medfact import cli
from medfact.cli.commands import COMMANDS
from medfact.cli.rows import emit

ENCODINGS = ("cp1252", "ascii", "latin-1", "cp932", "utf-8")

NAME = "Ménière’s disease − 病"
"""No encoding but UTF-8 has all of it."""

LOOKS_ALIKE = {"cp1252": "Ménière’s disease - ?", "ascii": "Meniere's disease - ?", "latin-1": "Ménière's disease - ?"}
"""The name in prose."""

CALLS = {
    "app": "--db {name}",
    "datasets": "",
    "pools": "",
    "facts": "--facts {facts} --explain",
    "statistics": "--facts {facts}",
    "statements": "--facts {facts}",
    "prompts": "--facts {facts}",
    "task": "lm-eval --into {folder}/{name} --facts {facts} --pool {name}",
    "run": "--facts {facts} --model baseline:random --db {db}",
    "write": "rephrase --facts {facts} --model {name} --db {db}",
    "construct": "{name} --into {folder}",
    "curate": "{name} --diseases {name} --db {db}",
    "written": "{run} --db {db}",
    "drafts": "{run} --db {db}",
    "resume": "{run} --db {db}",
    "check": "baseline:random --against {run} --part 2 --markdown --db {db}",
    "baseline": "{run} -o {folder}/{name}/no.gz --db {db}",
    "runs": "--db {db}",
    "delete": "{name} --db {db}",
    "report": "{run} --db {db}",
    "card": "{run} --db {db}",
    "publish": "{run} --static {folder}/{name} --db {db}",
    "push": "{run} --to {name} --db {db}",
    "answers": "{run} --db {db}",
    "compare": "{run} {other} --db {db}",
    "tables": "{run} --db {db}",
    "rarity": "{run} --frequencies {name} --db {db}",
    "export": "{run} -o {folder}/{name}/no.gz --db {db}",
    "import": "{folder}/{name} --db {db}",
    "reviews": "--on {run} --db {db}",
    "invite": "{name} --address http://127.0.0.1:7860 --db {db}",
}
"""A call of each command, with names that have characters outside most encodings; some are mistakes."""

PROSE = ("report", "compare", "rarity", "card", "check", "curate", "invite")
"""Commands that print sentences, or files for people."""


class Pipe(io.TextIOWrapper):
    """What stdout is where it goes into a pipe."""

    def __init__(self, encoding: str) -> None:
        self.bytes = io.BytesIO()
        super().__init__(self.bytes, encoding=encoding, newline="\n")

    @property
    def written(self) -> bytes:
        self.flush()
        return self.bytes.getvalue()


Called = Callable[..., tuple[int, bytes, bytes]]


@pytest.fixture(params=ENCODINGS)
def encoding(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def called(encoding: str, medfact: Any, monkeypatch: pytest.MonkeyPatch) -> Called:
    """Runs a command whose output goes into pipes of the encoding: its exit code, and what it wrote."""

    def call(*arguments: str) -> tuple[int, bytes, bytes]:
        out, err = Pipe(encoding), Pipe(encoding)
        with monkeypatch.context() as patched:
            patched.setattr(sys, "stdout", out)
            patched.setattr(sys, "stderr", err)
            try:
                code = cli.main(arguments)
            except SystemExit as ended:
                code = int(ended.code or 0)
            return code, out.written, err.written

    return call


@pytest.fixture
def facts(tmp_path: Path) -> Path:
    rows = [(NAME, "vertigo"), ("α-thalassemia", "anemia"), ("gout", "joint pain"), ("asthma", "wheezing ≥ 1")]
    path = tmp_path / "facts.csv"
    path.write_text("head,relation,tail\n" + "".join(f"{head},symptoms,{tail}\n" for head, tail in rows), encoding="utf-8")
    return path


def test_every_command_writes_in_every_encoding(
    encoding: str, called: Called, medfact: Any, facts: Path, tmp_path: Path, url: str
) -> None:
    assert set(CALLS) == {command.name for command in COMMANDS}
    made = medfact("run", "--facts", facts, "--model", "baseline:random", "--model", "baseline:always-true", "--db", url)
    run, other = (row["run"] for row in made.rows)
    medfact("publish", run, "--name", NAME, "--db", url)
    for name, line in CALLS.items():
        words = {"facts": str(facts), "name": NAME, "folder": str(tmp_path), "db": url, "run": run, "other": other}
        code, out, err = called(name, *(part.format(**words) for part in line.split()))
        assert code in (0, 1, 2, 3), name
        assert out or err, name
        assert b"Traceback" not in err, name
        err.decode(encoding)
        if name in PROSE:
            out.decode("utf-8" if name in ("card", "check") else encoding)
        else:
            assert all(json.loads(row) for row in out.decode("utf-8").splitlines()), name
        assert called(name, "--help")[0] == 0


def test_rows_are_the_same_bytes_in_every_encoding(encoding: str, called: Called, facts: Path) -> None:
    code, out, _ = called("facts", "--facts", str(facts))
    assert code == 0
    heads = [json.loads(row)["head"] for row in out.decode("utf-8").splitlines()]
    assert NAME in heads
    assert NAME.encode() in out


@pytest.mark.parametrize("encoding", list(LOOKS_ALIKE), indirect=True)
def test_prose_has_what_looks_alike(encoding: str, called: Called) -> None:
    code, _, err = called("facts", "--facts", f"{NAME}.csv")
    assert code == 2
    assert f"{LOOKS_ALIKE[encoding]}.csv" in err.decode(encoding)


def test_half_a_character_in_a_row_is_no_error(called: Called, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file system may name a file so, and its name may be a source."""
    monkeypatch.setattr("medfact.cli.show_data.datasets", lambda _: emit([{"data_set": "\ud800"}], None))
    code, out, _ = called("datasets")
    assert code == 0
    assert json.loads(out)


# ------------------------------------------------------------------------- as a program


def test_the_program_in_a_pipe_of_windows(medfact: Any, facts: Path, url: str) -> None:
    environment = {**os.environ, "PYTHONIOENCODING": "cp1252"}

    def program(*arguments: str) -> subprocess.CompletedProcess[bytes]:
        command = [sys.executable, "-m", "medfact", *arguments]
        return subprocess.run(command, capture_output=True, check=False, env=environment)

    made = medfact("run", "--facts", facts, "--model", "baseline:random", "--limit", 2, "--shots", 0, "--db", url)
    shown = program("report", made.rows[0]["run"], "--db", url)
    assert (shown.returncode, shown.stderr) == (0, b"")
    assert "joint accuracy" in shown.stdout.decode("cp1252")
    rows = program("statements", "--facts", str(facts))
    assert rows.returncode == 0
    assert NAME in rows.stdout.decode("utf-8")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="pipes of this kind are Unix's")
@pytest.mark.parametrize("arguments", ["--help", "datasets", "pools", "facts --dataset nothing 2>&1"])
def test_nobody_reads_the_output(arguments: str) -> None:
    """Little is written, so that only the end of the program writes it."""
    script = f'("{sys.executable}" -m medfact {arguments}; echo $? >&3) | true'
    made = subprocess.run(["bash", "-c", f"exec 3>&1; {script}"], capture_output=True, text=True, check=False)
    assert made.stderr == ""
    assert made.stdout.strip() in ("0", "2")
