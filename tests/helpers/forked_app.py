"""The app, forked from a process that has imported it and computed its first page, which takes longer than most tests."""

from __future__ import annotations

import gc
import json
import os
import runpy
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

import forked_workers
import psutil

HELPERS = Path(__file__).resolve().parent

APP = HELPERS.parents[1] / "app.py"

RUNTIME_VARIABLE_PREFIXES = ("MEDFACT_", "OPENAI_", "OAUTH_", "OPENID_", "SPACE_ID", "GRADIO_SERVER_NAME")
"""Prefixes of variables that are not read during imports. Any other variable needs a fresh process."""


def can_be_forked(command: Sequence[str], variables: Mapping[str, str]) -> bool:
    """Returns True for `python app.py` or an installed `medfact app` whose variables are read after the imports."""
    is_forkable = command == [sys.executable, APP.name] or Path(command[0]).name == "medfact"
    return is_forkable and all(name.startswith(RUNTIME_VARIABLE_PREFIXES) for name in variables)


def fork_app(
    command: Sequence[str], folder: Path, environment: Mapping[str, str], log: Path, demonstration: Path
) -> psutil.Process:
    """Forks the app of a command and returns its process.

    folder: working directory. log: file for its output. demonstration: a database with the demonstration's answers.
    """
    program = (
        (sys.executable, str(APP)) if command[0] == sys.executable else (str(Path(command[0]).with_name("python")), *command)
    )
    server = _start_fork_server(demonstration, *program)
    assert server.stdin is not None
    assert server.stdout is not None
    server.stdin.write(json.dumps([str(folder), dict(environment), str(log)]) + "\n")
    return psutil.Process(int(server.stdout.readline()))


@cache
def _start_fork_server(demonstration: Path, python: str, *program: str) -> subprocess.Popen[str]:
    """Starts a process that forks a program on request, and ends together with this one."""
    paths = os.pathsep.join([str(APP.parent), str(HELPERS), os.environ.get("PYTHONPATH", "")])
    offline = {**os.environ, "HF_HUB_OFFLINE": "1", "PYTHONPATH": paths}
    command = [python, __file__, str(demonstration), *program]
    return subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1, env=offline, cwd=Path(program[0]).parent
    )


def _fork_on_request(demonstration: str, *program: str) -> None:
    """Forks a program for each line of the input and prints its process id. Ended processes leave no zombie."""
    sys.path[0] = str(Path(program[0]).parent)  # as `python PROGRAM` sets it
    forked_workers.start_server()
    _compute_first_page(demonstration)
    gc.freeze()  # so that no fork collects the objects that all share
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    for line in sys.stdin:
        if (child := os.fork()) == 0:
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            _run_forked_app(program, *json.loads(line))
        print(child, flush=True)


def _compute_first_page(database: str) -> None:
    """Computes what every app shows first, and keeps what does not depend on the database."""
    import medfact.web.app  # noqa: F401
    from medfact.results.compare import Comparisons
    from medfact.results.live import Reports
    from medfact.runs.jobs import Jobs
    from medfact.store import Store
    from medfact.web.services import Services, demonstration_run
    from medfact.web.updates import prepare

    store = Store(f"sqlite:///{database}")
    jobs = Jobs(store)
    reports = Reports(store, jobs)
    services = Services(store, jobs, reports, Comparisons(store, reports))
    prepare(services, demonstration_run(services))
    services.close()


def _run_forked_app(program: Sequence[str], folder: str, environment: dict[str, str], log: str) -> None:
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND), 1)
    os.dup2(1, 2)
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder)
    forked_workers.fork_workers()
    sys.argv = list(program)
    runpy.run_path(sys.argv[0], run_name="__main__")


if __name__ == "__main__":
    _fork_on_request(*sys.argv[1:])
