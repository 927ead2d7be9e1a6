"""`python app.py`, forked from a process that has imported the app and read its facts: both take longer than most tests."""

from __future__ import annotations

import json
import os
import runpy
import signal
import subprocess
import sys
from collections.abc import Mapping
from functools import cache
from pathlib import Path

import psutil

APP = Path(__file__).resolve().parents[2] / "app.py"

READ_WHEN_SERVED = ("MEDFACT_", "OPENAI_")
"""How the names of variables begin that nothing reads while it is imported. With others, the app must be started anew."""


def forked_app(folder: Path, environment: Mapping[str, str], log: Path) -> psutil.Process:
    """The app, begun in a folder and with an environment; what it prints goes into a file."""
    forking = _forking()
    assert forking.stdin is not None
    assert forking.stdout is not None
    forking.stdin.write(json.dumps([str(folder), dict(environment), str(log)]) + "\n")
    return psutil.Process(int(forking.stdout.readline()))


@cache
def _forking() -> subprocess.Popen[str]:
    """The process that forks, which ends when this one does."""
    offline = {**os.environ, "HF_HUB_OFFLINE": "1"}
    command = [sys.executable, __file__]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1, env=offline)


def _fork_when_asked() -> None:
    """Begins an app for each line of the input, and says its number. One that has ended leaves nothing behind."""
    sys.path.insert(0, str(APP.parent))
    import medfact.web.app
    from medfact.runs.plan import plan

    plan(medfact.web.services.DEMONSTRATION)  # reads the bundled facts, and draws their partners
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    for line in sys.stdin:
        if (child := os.fork()) == 0:
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            _serve(*json.loads(line))
        print(child, flush=True)


def _serve(folder: str, environment: dict[str, str], log: str) -> None:
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND), 1)
    os.dup2(1, 2)
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder)
    sys.argv = [str(APP)]
    runpy.run_path(sys.argv[0], run_name="__main__")


if __name__ == "__main__":
    _fork_when_asked()
