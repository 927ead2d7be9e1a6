"""Scripts, each begun in a fork of a process that has imported what others wrote and nothing of this house."""

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

HEAVY = ("numpy", "scipy.stats", "sqlalchemy", "openai", "transformers", "torch", "fastapi", "httpx", "pyarrow")


def endings(scripts: Sequence[Path], argument: str) -> dict[Path, tuple[int, str]]:
    """Runs each script with an argument, as `python SCRIPT ARGUMENT` would; its exit code, and what it printed."""
    command = [sys.executable, __file__, argument, *map(str, scripts)]
    done = subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True, timeout=600)
    return {Path(script): (code, output) for script, code, output in map(json.loads, done.stdout.splitlines())}


def _run_each(argument: str, scripts: Sequence[str]) -> None:
    for name in HEAVY:
        import_module(name)
    gc.freeze()  # what the forks share is not looked through by each
    for script in scripts:
        with tempfile.TemporaryFile("w+") as output:
            if (child := os.fork()) == 0:
                os.dup2(output.fileno(), 1)
                os.dup2(output.fileno(), 2)
                _end_as(script, argument)
            code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
            output.seek(0)
            print(json.dumps([script, code, output.read()]), flush=True)


def _end_as(script: str, argument: str) -> None:
    """Runs a script, and ends with its exit code: without clearing away what the fork was given."""
    sys.argv, sys.path[0] = [script, argument], str(Path(script).parent)
    code: object = 1
    try:
        runpy.run_path(script, run_name="__main__")
        code = 0
    except SystemExit as ended:
        code = ended.code or 0
    except BaseException:
        traceback.print_exc()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code if isinstance(code, int) else 1)


if __name__ == "__main__":
    _run_each(sys.argv[1], sys.argv[2:])
