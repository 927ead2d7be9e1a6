"""The Dockerfile without Docker: its steps are run in a folder of their own, as far as a plain machine can."""

from __future__ import annotations

import fnmatch
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import time
from pathlib import Path

from installed import ROOT
from waiting import HANG_SECONDS

LINES = re.sub(r"\\\n", " ", (ROOT / "Dockerfile").read_text(encoding="utf-8")).splitlines()
STEPS = [tuple(line.split(maxsplit=1)) for line in LINES if line and not line.startswith("#")]


def steps(name: str) -> list[str]:
    return [step[1] for step in STEPS if step[0] == name]


def is_sent(path: str) -> bool:
    """Whether a file reaches the builder: the last rule of .dockerignore that matches it, or a folder above it, decides."""
    sent = True
    for line in (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines():
        if not line or line.startswith("#"):
            continue
        rule = line.removeprefix("!")
        above = [path, *map(str, Path(path).parents)][:-1] or [path]
        bare = rule.removeprefix("**/")
        if any(fnmatch.fnmatch(one, rule) or (bare != rule and fnmatch.fnmatch(Path(one).name, bare)) for one in above):
            sent = line.startswith("!")
    return sent


def copied(folder: Path) -> None:
    """What the COPY steps put into the image."""
    tracked = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()
    untracked = subprocess.run(
        ["git", "ls-files", "--others", "--exclude-standard"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.splitlines()
    for step in steps("COPY"):
        *sources, target = step.split()
        for source in sources:
            found = [
                path for path in {*tracked, *untracked} if (path == source or path.startswith(f"{source}/")) and is_sent(path)
            ]
            assert found, f"{source} is not there, or .dockerignore keeps it back"
            for path in found:
                inside = Path(target) / (Path(path).relative_to(source) if path != source else Path(path).name)
                (folder / inside).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(ROOT / path, folder / inside)


def test_it_is_slim_and_not_root() -> None:
    (base,) = steps("FROM")
    assert "-slim" in base
    names = [step[0] for step in STEPS]
    (user,) = steps("USER")
    assert user not in {"root", "0"}
    assert f" {user}" in next(step for step in steps("RUN") if "useradd" in step)
    assert names.index("USER") < names.index("CMD")
    assert not any(name == "COPY" for name in names[names.index("USER") :]), "what runs cannot change its own code"
    (entry,) = steps("ENTRYPOINT")
    assert json.loads(entry) == ["tini", "--"]


def test_nothing_else_is_sent_to_the_builder() -> None:
    for path in (
        ".git/config",
        "tests/conftest.py",
        "medfact.db",
        "medfact/x.pyc",
        "medfact/__pycache__/a.pyc",
        ".env",
        "docs/a.md",
    ):
        assert not is_sent(path), path
    for path in ("app.py", "medfact/web/app.py", "prototypes/medfact.yaml", "assets/prices.yaml", "requirements.txt"):
        assert is_sent(path), path


def test_what_is_copied_starts_and_is_healthy(tmp_path: Path) -> None:
    """CMD in the folder of WORKDIR with ENV, until HEALTHCHECK's own command succeeds; and it fails where nothing answers."""
    folder, home = tmp_path / "app", tmp_path / "data"
    copied(folder)
    home.mkdir()
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    given = dict(pair.split("=", 1) for step in steps("ENV") for pair in step.split())
    assert set(given) >= {"MEDFACT_HOME", "GRADIO_SERVER_NAME", "GRADIO_SERVER_PORT"}
    own = {
        "MEDFACT_HOME": str(home),
        "HF_HOME": str(home / "hf"),
        "GRADIO_SERVER_NAME": "127.0.0.1",
        "GRADIO_SERVER_PORT": port,
    }
    kept = {name: value for name, value in os.environ.items() if name not in {"PYTHONPATH", "MEDFACT_DATABASE_URL"}}
    environment = {**kept, **given, **own, "HF_HUB_OFFLINE": "1", "PYTHONPATH": ""}
    health = json.loads(steps("HEALTHCHECK")[0].partition("CMD ")[2])
    check = [sys.executable, *health[1:]]
    assert subprocess.run(check, env=environment, capture_output=True, timeout=30).returncode != 0
    command = json.loads(steps("CMD")[0])
    log = (tmp_path / "log.txt").open("w")
    process = subprocess.Popen([sys.executable, *command[1:]], cwd=folder, env=environment, stdout=log, stderr=log)
    try:
        for _ in range(2 * HANG_SECONDS):
            assert process.poll() is None, (tmp_path / "log.txt").read_text()
            if subprocess.run(check, env=environment, capture_output=True, timeout=30).returncode == 0:
                break
            time.sleep(0.5)
        else:
            raise AssertionError((tmp_path / "log.txt").read_text())
        assert (home / "medfact.db").exists()
        assert "Traceback" not in (tmp_path / "log.txt").read_text()
    finally:
        process.terminate()
        process.wait(20)
        log.close()
    imported = subprocess.run(
        [sys.executable, "-c", "import medfact; print(medfact.__file__)"],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
    )
    assert imported.stdout.strip().startswith(str(folder)), "the copy was tested, and not the repository"


def test_the_base_is_one_version_of_one_system() -> None:
    assert [re.fullmatch(r"python:3\.11\.\d+-slim-[a-z]+", base) is not None for base in steps("FROM")] == [True]
