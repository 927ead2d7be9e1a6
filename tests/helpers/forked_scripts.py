"""Scripts in forks of a process that has imported other libraries, but not medfact."""

from __future__ import annotations

import gc
import json
import os
import runpy
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

PRELOADED_MODULES = ("numpy", "scipy.stats", "sqlalchemy", "openai", "transformers", "torch", "fastapi", "httpx", "pyarrow")
"""Modules that are slow to import; the scripts inherit them."""


def run_scripts(scripts: Sequence[Path], argument: str) -> dict[Path, tuple[int, str]]:
    """Runs each script as `python SCRIPT ARGUMENT` does; returns script → (exit code, output of both streams).

    argument: the only one, the same for all scripts, such as "--help".
    """
    command = [sys.executable, __file__, argument, *map(str, scripts)]
    process = subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True, timeout=600)
    return {Path(script): (code, output) for script, code, output in map(json.loads, process.stdout.splitlines())}


def _run_each(argument: str, scripts: Sequence[str]) -> None:
    """Runs each script in a fork of this process, and prints its JSON line [script, exit code, output]."""
    for name in PRELOADED_MODULES:
        import_module(name)
    gc.freeze()  # so that no fork collects the objects that all share
    for script in scripts:
        with tempfile.TemporaryFile("w+") as output:
            if (child := os.fork()) == 0:
                os.dup2(output.fileno(), 1)
                os.dup2(output.fileno(), 2)
                _run_script_and_exit(script, argument)
            code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
            output.seek(0)
            print(json.dumps([script, code, output.read()]), flush=True)


def _run_script_and_exit(script: str, argument: str) -> None:
    """Runs a script and ends the process with its exit code, without clean-up of what the fork inherited."""
    sys.argv, sys.path[0] = [script, argument], str(Path(script).parent)
    code: object = 1
    try:
        runpy.run_path(script, run_name="__main__")
        code = 0
    except SystemExit as error:
        code = error.code or 0
    except BaseException:
        traceback.print_exc()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code if isinstance(code, int) else 1)


if __name__ == "__main__":
    _run_each(sys.argv[1], sys.argv[2:])
