"""What `pip install` gives: the wheel, installed outside the repository, with everything and without its extras."""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from zipfile import ZipFile

import pytest
from browser import collect_page_errors
from installed import build_wheel, install_wheel, run_command
from repository import ROOT, load_extras
from waiting import HANG_SECONDS

import medfact
from medfact.datasets.bundled import bundled_names
from medfact.extras import EXTRAS

PACKAGE = Path(medfact.__file__).parent


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_wheel(tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="session")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the programs of an environment that has the wheel, and borrows what it needs from this one."""
    return install_wheel(wheel, tmp_path_factory.mktemp("environment"))


def outside(tmp_path: Path, without: str = "") -> dict[str, str]:
    """The environment variables of a user who has no repository. without: modules that cannot be imported."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("MEDFACT", "OPENAI", "PYTHON", "GRADIO"))}
    more = {"MEDFACT_HOME": str(tmp_path / "home"), "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1"}
    if without:
        blocker = tmp_path / "blocked"
        blocker.mkdir(exist_ok=True)
        (blocker / "sitecustomize.py").write_text(BLOCKER.format(names=set(without.split())))
        more["PYTHONPATH"] = str(blocker)
    return kept | more


BLOCKER = """import sys

class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {names}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Absent())
"""
"""Hides modules from an interpreter as if they were not installed."""


def call(installed: Path, tmp_path: Path, *arguments: str, without: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [installed / "medfact", *arguments],
        cwd=tmp_path,
        env=outside(tmp_path, without),
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )


# ------------------------------------------------------------------------------------------------ the wheel


def test_the_wheel_carries_all_that_the_repository_has(wheel: Path) -> None:
    carried = set(ZipFile(wheel).namelist())
    for folder in ("assets", "prototypes"):
        for file in (ROOT / folder).rglob("*"):
            expected = file.is_file() and file.suffix not in {".py", ".pyc"} and file.parent.name != "pictures"
            assert (f"medfact/files/{file.relative_to(ROOT).as_posix()}" in carried) is expected, file
    for file in PACKAGE.rglob("*"):
        if file.is_file() and file.suffix != ".pyc":
            assert f"medfact/{file.relative_to(PACKAGE).as_posix()}" in carried, file
    assert not [name for name in carried if not name.startswith(("medfact/", "medfact-"))]


def test_the_wheel_offers_every_extra(wheel: Path) -> None:
    metadata = next(name for name in ZipFile(wheel).namelist() if name.endswith("METADATA"))
    lines = ZipFile(wheel).read(metadata).decode().splitlines()
    offered = {line.removeprefix("Provides-Extra: ") for line in lines if line.startswith("Provides-Extra: ")}
    assert offered == {"local", "services", "app", "notebook", "hub", "all", "cluster", "mcp"}
    for extra in offered:
        needed = {re.match(r"Requires-Dist: ([\w-]+)", line)[1] for line in lines if f'extra == "{extra}"' in line}  # type: ignore[index]
        assert needed == {one.name for one in load_extras()[extra]}, extra


# ------------------------------------------------------------------------------------------------ installed


@pytest.mark.model
def test_the_command_line_works_outside_the_repository(installed: Path, tmp_path: Path) -> None:
    where = run_command([installed / "python", "-c", "import medfact.assets as found; print(found.__file__, found.ASSETS)"])
    assert str(ROOT) not in where
    assert str(installed.parent) in where
    assert call(installed, tmp_path, "--version").stdout.strip() == f"medfact {medfact.__version__}"
    assert "usage: medfact " in call(installed, tmp_path, "--help").stdout
    told = map(json.loads, call(installed, tmp_path, "datasets").stdout.splitlines())
    assert {row["dataset"] for row in told} == set(bundled_names())
    asked = call(
        installed, tmp_path, "run", "--model", "baseline:always-true", "--limit", "5", "--shots", "0", "--language", "es"
    )
    assert asked.returncode == 0, asked.stderr
    ran = call(installed, tmp_path, "run", "--model", "medfact-tiny", "--limit", "5")
    assert ran.returncode == 0, ran.stderr
    row = json.loads(ran.stdout)
    assert (row["state"], row["answered"], row["failed"]) == ("complete", 80, 0)
    reported = call(installed, tmp_path, "report", row["run"], "--html", "report.html")
    assert reported.returncode == 0, reported.stderr
    assert "medfact-tiny" in (tmp_path / "report.html").read_text(encoding="utf-8")


@contextmanager
def app(installed: Path, tmp_path: Path, without: str = "") -> Iterator[str]:
    """`medfact app` on a free port; its address."""
    log = tmp_path / "log.txt"
    with log.open("w") as file:
        process = subprocess.Popen(
            [installed / "medfact", "app", "--port", "0"],
            cwd=tmp_path,
            env=outside(tmp_path, without),
            stdout=file,
            stderr=file,
        )
        try:
            for _ in range(2 * HANG_SECONDS):
                if found := re.search(r"http://[\d.]+:\d+", log.read_text()):
                    break
                assert process.poll() is None, log.read_text()
                time.sleep(0.5)
            assert found, log.read_text()
            yield found[0]
        finally:
            process.terminate()
            process.wait(20)
    assert "Traceback" not in log.read_text()


def test_the_app_answers_outside_the_repository(installed: Path, tmp_path: Path) -> None:
    with app(installed, tmp_path) as address:
        assert urllib.request.urlopen(f"{address}/healthz", timeout=60).read() == b"ok"
        assert b"medfact" in urllib.request.urlopen(address, timeout=60).read()


@pytest.mark.browser
def test_a_walk_through_the_installed_app(installed: Path, tmp_path: Path, browser: object) -> None:
    from playwright.sync_api import Browser, expect

    assert isinstance(browser, Browser)
    with app(installed, tmp_path) as address:
        page = browser.new_page(viewport={"width": 1280, "height": 900})
        trouble = collect_page_errors(page, address)
        page.goto(address)
        expect(page.locator("#hero")).to_contain_text(re.compile(r"\d+\.\d% right\s*of 120 statements"), timeout=120_000)
        page.locator("[data-key=demonstration]").click()
        expect(page.locator("#ways .plotly").first).to_be_attached()
        page.goto(f"{address}/evaluate")
        expect(page.locator("#evaluate")).not_to_have_attribute("aria-disabled", "true")
        page.locator("#evaluate").click()
        expect(page.locator("#progress")).to_contain_text(re.compile("complete|reused", re.IGNORECASE), timeout=240_000)
        page.get_by_role("link", name="Facts", exact=True).click()
        expect(page.locator("#cards")).to_contain_text("FALSE (test statement)")
        page.close()
        assert trouble == []


@pytest.mark.model
def test_the_notebook_examples_run_outside_the_repository(installed: Path, tmp_path: Path) -> None:
    page = (ROOT / "docs" / "notebook.md").read_text(encoding="utf-8")
    examples = "\n".join(re.findall(r"```python\n(.*?)```", page, re.DOTALL))
    done = python(installed, tmp_path, examples)
    assert done.returncode == 0, done.stderr
    assert "160/160" in done.stderr  # the progress bar
    assert (tmp_path / "report.html").is_file()


def python(installed: Path, tmp_path: Path, code: str, without: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [installed / "python", "-c", code],
        cwd=tmp_path,
        env=outside(tmp_path, without),
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )


# ------------------------------------------------------------------------------------------------ without an extra

ALL = " ".join(module for _, modules in EXTRAS.values() for module in modules)


@pytest.mark.parametrize(
    ("arguments", "extra"),
    [
        ("app", "app"),
        ("run --limit 1", "local"),
        ("run --limit 1 --model hf:nobody/nothing", "local"),
        ("prompts --limit 1 --model hf:nobody/nothing", "local"),
        ("run --limit 1 --model baseline:embedding", "local"),
        ("run --limit 1 --model baseline:random --retrieval dense", "local"),
        ("run --limit 1 --model openai:nothing --base-url http://127.0.0.1:9/v1", "services"),
        ("facts --facts hf:nobody/nothing", "hub"),
    ],
)
def test_a_missing_part_is_named_with_the_command_that_brings_it(
    installed: Path, tmp_path: Path, arguments: str, extra: str
) -> None:
    done = call(installed, tmp_path, *arguments.split(), without=ALL)
    assert done.returncode == 2, done.stderr
    assert "Traceback" not in done.stderr
    assert f'which is not installed. Install it: pip install "medfact[{extra}]"' in done.stderr.splitlines()[-1]


@pytest.mark.parametrize(
    ("code", "extra"),
    [
        ("medfact.evaluate('medfact-tiny', limit=1)", "local"),
        ("medfact.evaluate('openai:nothing', limit=1, service={'base_url': 'http://127.0.0.1:9/v1'})", "services"),
        ("medfact.statements(limit=1)", "notebook"),
        ("medfact.evaluate('baseline:random', limit=1).report().figure()", "notebook"),
        ("medfact.load_facts('hf:nobody/nothing')", "hub"),
    ],
)
def test_a_missing_part_is_named_in_a_notebook(installed: Path, tmp_path: Path, code: str, extra: str) -> None:
    caught = f"import medfact, medfact.errors\ntry:\n    {code}\nexcept medfact.errors.NotInstalled as error:\n    print(error)"
    done = python(installed, tmp_path, caught, without=ALL)
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith(f'which is not installed. Install it: pip install "medfact[{extra}]"\n')


def test_a_plain_install_does_all_that_needs_no_model(installed: Path, tmp_path: Path) -> None:
    runs = []
    for model in ("baseline:negation-cue", "baseline:tail"):
        done = call(installed, tmp_path, "run", "--limit", "10", "--model", model, "--retrieval", "sparse", without=ALL)
        assert done.returncode == 0, done.stderr
        runs.append(json.loads(done.stdout)["run"])
    for arguments in (
        ["report", runs[0], "--json"],
        ["report", *runs, "--html", "report.html"],
        ["compare", *runs],
        ["answers", runs[0], "-o", "answers.parquet"],
        ["statements", "--limit", "2", "-o", "statements.csv"],
        ["export", runs[0], "-o", "run.jsonl.gz"],
        ["card", runs[0]],
        ["pools"],
    ):
        done = call(installed, tmp_path, *arguments, without=ALL)
        assert done.returncode == 0, done.stderr


def test_the_page_without_local_models_says_so_and_goes_on(installed: Path, tmp_path: Path) -> None:
    brought = {"huggingface_hub", "httpx2"}  # the page library needs them
    absent = " ".join(module for extra in ("local", "services") for module in EXTRAS[extra][1] if module not in brought)
    with app(installed, tmp_path, without=absent) as address:
        for _ in range(2 * HANG_SECONDS):
            runs = [json.loads(line) for line in call(installed, tmp_path, "runs").stdout.splitlines()]
            if runs and runs[0]["state"] == "failed":
                break
            time.sleep(0.5)
        assert 'pip install "medfact[local]"' in runs[0]["reason"]
        assert urllib.request.urlopen(f"{address}/healthz", timeout=60).status == 200


def test_an_address_in_use_is_said_in_a_line(installed: Path, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        done = call(installed, tmp_path, "app", "--port", str(taken.getsockname()[1]))
    assert done.returncode == 2
    assert "cannot be served" in done.stderr
    assert "--port" in done.stderr.splitlines()[-1]
    assert "Traceback" not in done.stderr
