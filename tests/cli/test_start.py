"""The start of a command: lazy imports, and a user without a home folder."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def in_a_fresh_process(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=True)
    return done.stdout


def test_a_run_with_a_local_model_imports_no_library_that_it_does_not_use() -> None:
    loaded = in_a_fresh_process("import sys, medfact.cli.evaluate\nprint([name for name in sys.modules if 'medfact' in name])")
    assert "medfact.runs.run" in loaded
    assert "medfact.writing" not in loaded
    assert not {"torch", "openai", "gradio", "plotly", "pandas", "transformers"} & set(loaded.split("'"))


HOMELESS = """
import os, pwd, sys
def nobody(*_):
    raise KeyError("no such user")
pwd.getpwuid = nobody
from medfact.cli import main
sys.exit(main(sys.argv[1:]))
"""
"""A container's user of a number without a name, who has no home folder."""


@pytest.mark.skipif(sys.platform == "win32", reason="there are users without a name elsewhere")
@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["runs"], "This system knows no home folder for its data. Set MEDFACT_HOME"),
        (["app", "--port", "0"], "This system knows no home folder for its data. Set MEDFACT_HOME"),
        (["runs", "--db", "sqlite:///~/runs.db"], "This system knows no home folder for ~/runs.db"),
        (["run", "--model", "baseline:random", "--limit", "1", "--shots", "0", "--db", "sqlite:///{folder}/runs.db"], ""),
    ],
    ids=["runs", "app", "a database at home", "a database elsewhere"],
)
def test_a_user_without_a_name_and_a_home_is_told_in_a_sentence(arguments: list[str], words: str, tmp_path: Path) -> None:
    kept = ("PATH", "PYTHONPATH", "LANG", "SYSTEMROOT")
    environment = {name: os.environ[name] for name in kept if name in os.environ}
    typed = [one.format(folder=tmp_path) for one in arguments]
    done = subprocess.run(
        [sys.executable, "-c", HOMELESS, *typed], capture_output=True, text=True, env=environment, cwd=ROOT, check=False
    )
    assert "Traceback" not in done.stderr
    assert words in done.stderr
    assert done.returncode == (2 if words else 0)
