"""How soon a command starts: what is imported is not looked through for garbage, and answers stay the same."""

from __future__ import annotations

import gc
import importlib
import os
import subprocess
import sys
from pathlib import Path

import pytest

from medfact.extras import importing

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("enabled", [True, False])
def test_garbage_is_looked_for_again_after_an_import_however_it_ends(enabled: bool) -> None:
    before = gc.isenabled()
    (gc.enable if enabled else gc.disable)()
    try:
        with importing():
            assert not gc.isenabled()
        assert gc.isenabled() is enabled
        with pytest.raises(ImportError), importing():
            importlib.import_module("no_such_module")
        assert gc.isenabled() is enabled
    finally:
        (gc.enable if before else gc.disable)()


def in_a_fresh_process(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=True)
    return done.stdout


IMPORTED = "import gc\nfrom medfact.extras import importing, run_in_own_process\n{}\nwith importing():\n    import sqlalchemy\n"


def test_only_a_process_of_its_own_sets_aside_what_is_imported() -> None:
    """In a notebook it is not medfact that says which objects are looked at."""
    ask = "print(gc.get_freeze_count() > 0, gc.isenabled())"
    assert in_a_fresh_process(IMPORTED.format("") + ask).split() == ["False", "True"]
    assert in_a_fresh_process(IMPORTED.format("run_in_own_process()") + ask).split() == ["True", "True"]


def test_a_model_that_may_be_in_memory_is_never_set_aside() -> None:
    """It would stay there when another one is loaded."""
    loaded = "run_in_own_process()\nimport sys\nsys.modules['torch'] = sys"
    assert in_a_fresh_process(IMPORTED.format(loaded) + "print(gc.get_freeze_count())").strip() == "0"


def test_a_notebook_is_no_process_of_medfacts_own(tmp_path: Path) -> None:
    url = f"sqlite:///{(tmp_path / 'm.db').as_posix()}"
    evaluate = f"medfact.evaluate('baseline:random', limit=2, shots=0, db={url!r}, progress=False)"
    code = f"import gc, medfact\n{evaluate}\nprint(gc.get_freeze_count())"
    assert in_a_fresh_process(code).strip() == "0"


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
