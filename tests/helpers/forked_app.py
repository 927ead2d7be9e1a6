"""The app and its workers, forked from a process with their imports and their facts, which take longer than most tests."""

from __future__ import annotations

import json
import os
import runpy
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import import_module
from pathlib import Path

import psutil
from forked_workers import context_of_forks, serve_forks, socket_of_messages

APP = Path(__file__).resolve().parents[2] / "app.py"

RUNTIME_VARIABLE_PREFIXES = (
    *("MEDFACT_", "OPENAI_", "SPACE_ID", "GRADIO_SERVER_NAME"),
    *("HF_TOKEN", "NCBI_API_KEY", "OAUTH_", "OPENID_PROVIDER_URL", "UMLS_API_KEY"),
)
"""Prefixes of variables that are not read during imports. Any other variable needs a fresh process."""


def can_be_forked(command: Sequence[str], variables: Mapping[str, str]) -> bool:
    """Returns True for `python app.py` or an installed `medfact app` whose variables are read after the imports."""
    is_forkable = command == [sys.executable, APP.name] or Path(command[0]).name == "medfact"
    return is_forkable and all(name.startswith(RUNTIME_VARIABLE_PREFIXES) for name in variables)


def fork_app(command: Sequence[str], folder: Path, environment: Mapping[str, str], log: Path) -> psutil.Process:
    """Forks the app of a command and returns its process. folder: working directory. log: file for its output."""
    program = (
        (sys.executable, str(APP)) if command[0] == sys.executable else (str(Path(command[0]).with_name("python")), *command)
    )
    server = _start_fork_server(*program)
    assert server.stdin is not None
    assert server.stdout is not None
    server.stdin.write(json.dumps([str(folder), dict(environment), str(log)]) + "\n")
    return psutil.Process(int(server.stdout.readline()))


@cache
def _start_fork_server(python: str, *program: str) -> subprocess.Popen[str]:
    """Starts a process that forks a program on request, and ends together with this one."""
    offline = {**os.environ, "HF_HUB_OFFLINE": "1"}
    command = [python, __file__, *program]
    return subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1, env=offline, cwd=Path(program[0]).parent
    )


def _fork_on_request(program: Sequence[str]) -> None:
    """Forks a program for each line of the input and prints its process id. Ended processes leave no zombie."""
    helpers, sys.path[0] = sys.path[0], str(Path(program[0]).parent)  # as `python PROGRAM` sets it
    import medfact.web.app
    from medfact.runs.plan import plan

    sys.path.append(helpers)
    import_module("preloaded")
    sys.path.remove(helpers)

    plan(medfact.web.services.DEMONSTRATION)  # reads the bundled facts, and draws their negatives
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    for line in sys.stdin:
        if (child := os.fork()) == 0:
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            _run_forked_app(program, *json.loads(line))
        print(child, flush=True)


def _run_forked_app(program: Sequence[str], folder: str, environment: dict[str, str], log: str) -> None:
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND), 1)
    os.dup2(1, 2)
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder)
    _fork_its_workers()
    sys.argv = list(program)
    runpy.run_path(sys.argv[0], run_name="__main__")


def _fork_its_workers() -> None:
    """Lets the app fork its workers from a process that has no threads, as this one is now."""
    from medfact.runs.jobs import worker

    requests, server = socket_of_messages()
    if os.fork() == 0:
        requests.close()
        serve_forks(server, dict(os.environ))
    server.close()
    worker.multiprocessing = context_of_forks(requests)  # type: ignore[assignment]


if __name__ == "__main__":
    _fork_on_request(sys.argv[1:])
