"""The examples of docs/api.md, run as they stand there against a page on this machine, as on a laptop and as for strangers.

`python tests/helpers/harnesses.py` makes the environment of agents, with the client for JavaScript.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from browser import serve_app
from harnesses import AGENTS, interpreter_path
from installed import ROOT

TEXT = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")
BLOCKS = {kind: re.findall(rf"```{kind}\n(.*?)```", TEXT, re.DOTALL) for kind in ("python", "javascript", "bash")}
FINDING = re.compile(r"(?:medfact-tiny|It) masters \d+% of 20 facts")


def packages() -> str:
    """The folder with what agents need, which the app finds there, too."""
    found = next(iter(AGENTS.glob("lib/python*/site-packages/mcp")), None)
    if found is None:
        pytest.skip("the package mcp is not installed: python tests/helpers/harnesses.py")
    return str(found.parent)


@pytest.fixture(scope="module", params=[{}, {"MEDFACT_PUBLIC": "1"}], ids=["laptop", "public"])
def server(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    home = tmp_path_factory.mktemp("api")
    found = next(iter(AGENTS.glob("lib/python*/site-packages")), None)
    with serve_app(home, **request.param, **({"PYTHONPATH": str(found)} if found else {})) as url:
        yield url
    assert "Traceback" not in (home / "log.txt").read_text()


def ran(command: list[str], text: str, server: str, folder: Path, **more: str) -> str:
    """What an example prints, with the address of the server in place of the usual one."""
    file = folder / ("example.mjs" if command[0].endswith("node") else "example")
    file.write_text(text.replace("http://127.0.0.1:7860", server.rstrip("/")))
    done = subprocess.run([*command, file], capture_output=True, text=True, cwd=folder, timeout=300, env=os.environ | more)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_python(server: str, tmp_path: Path) -> None:
    said = ran([sys.executable], BLOCKS["python"][0], server, tmp_path)
    assert said.count("FALSE (test statement)") == 4
    assert FINDING.search(said)


def test_curl(server: str, tmp_path: Path) -> None:
    if not shutil.which("curl"):
        pytest.skip("curl is not installed")
    said = ran(["bash", "-eu"], BLOCKS["bash"][0], server, tmp_path)
    assert FINDING.search(said)
    assert "FALSE (test statement)" in (tmp_path / "report.html").read_text()


def test_javascript(server: str, tmp_path: Path) -> None:
    node, modules = shutil.which("node"), AGENTS / "node_modules"
    if not node or not modules.exists():
        pytest.skip("Node, or its client, is not installed: python tests/helpers/harnesses.py")
    (tmp_path / "node_modules").symlink_to(modules)
    said = ran([node], BLOCKS["javascript"][0], server, tmp_path)
    assert said.count("FALSE (test statement)") == 4
    assert FINDING.search(said)


def test_agent(server: str, tmp_path: Path) -> None:
    packages()
    said = ran([str(interpreter_path(AGENTS))], BLOCKS["python"][1], server, tmp_path)
    assert "check_statement" in said
    assert "8 statements" in said
    assert FINDING.search(said)


AGENT = """
import asyncio
from mcp import Client

KEY = "sk-of-an-agent-0123456789"
CALLS = [
    ("report", {"run": "0" * 32}),
    ("report", {"run": {"path": "/etc/passwd"}}),
    ("report", {}),
    ("evaluate", {"key": [KEY]}),
    ("evaluate", {"rows": [{"path": "/etc/passwd", "meta": {"_type": "gradio.FileData"}}]}),
    ("evaluate", {"model": "medfact-tiny", "key": KEY}),
    ("js_fn", {}),
]


async def main():
    async with Client("http://127.0.0.1:7860/gradio_api/mcp/") as medfact:
        for name, said in CALLS:
            told = await medfact.call_tool(name, said)
            print(told.is_error, told.content[0].text)


asyncio.run(main())
"""


def test_what_an_agent_may_not_do(server: str, tmp_path: Path) -> None:
    packages()
    said = ran([str(interpreter_path(AGENTS))], AGENT, server, tmp_path).splitlines()
    assert [line.split()[0] for line in said] == ["True"] * 7
    assert "There is no such run" in said[0]
    assert "root:" not in str(said)
    assert "sk-of-an-agent" not in str(said)
