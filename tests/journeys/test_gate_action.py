"""The GitHub Action: its steps are run as a runner runs them, with what the wheel installs."""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path

import pytest
import yaml
from installed import build_wheel, install_wheel
from repository import ROOT

ACTION = yaml.safe_load((ROOT / "action.yml").read_text())


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    wheel = build_wheel(tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("wheel"))
    return install_wheel(wheel, tmp_path_factory.mktemp("environment"))


def _step(given: dict[str, str], programs: Path, folder: Path) -> tuple[int, str, dict[str, str], str]:
    """The action's check as a runner runs it: exit code, what it printed, its outputs, its summary."""
    step = ACTION["runs"]["steps"][1]
    inputs = {name: str(one.get("default", "")) for name, one in ACTION["inputs"].items()} | given
    env = {name: re.sub(r"\$\{\{ inputs\.([\w-]+) \}\}", lambda m: inputs[m[1]], text) for name, text in step["env"].items()}
    output, summary = folder / "output", folder / "summary"
    output.write_text("")
    summary.write_text("")
    runner = {"RUNNER_TEMP": str(folder), "GITHUB_OUTPUT": str(output), "GITHUB_STEP_SUMMARY": str(summary)}
    path = {"PATH": f"{programs}:{os.environ['PATH']}", "OPENAI_API_KEY": "sk-not-to-be-seen", "OMP_NUM_THREADS": "1"}
    command = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]]
    ended = subprocess.run(command, env={**env, **runner, **path}, cwd=folder, capture_output=True, text=True, check=False)
    outputs = dict(line.split("=", 1) for line in output.read_text().splitlines())
    return ended.returncode, ended.stdout + ended.stderr, outputs, summary.read_text()


def test_its_steps_run_from_the_wheel_and_print_no_key(programs: Path, tmp_path: Path) -> None:
    home = {**os.environ, "MEDFACT_HOME": str(tmp_path / "home"), "OMP_NUM_THREADS": "1"}
    ran = subprocess.run(
        [programs / "medfact", "run", "--model", "medfact-tiny", "--limit", "6", "--shots", "0"],
        **{"env": home, "cwd": tmp_path, "check": True, "capture_output": True, "text": True},
    )
    run = json.loads(ran.stdout)["run"]
    subprocess.run([programs / "medfact", "baseline", run, "-o", "base.gz"], env=home, cwd=tmp_path, check=True)
    code, printed, outputs, summary = _step({"model": "medfact-tiny", "against": "base.gz"}, programs, tmp_path)
    assert (code, outputs["verdict"]) == (0, "cannot tell"), printed  # 12 facts are too few for anything else
    assert "::warning::" in printed
    assert "### medfact: cannot tell" in summary
    assert Path(outputs["comment"]).read_text() == summary
    assert "<testsuite" in Path(outputs["junit"]).read_text()
    assert "sk-not" not in printed + summary
    wrong = {"model": "medfact-tiny", "against": "nothing.gz"}
    assert _step(wrong, programs, tmp_path)[0] == 2
    code, printed, outputs, summary = _step({**wrong, "never-red": "true"}, programs, tmp_path)
    assert (code, outputs["verdict"], summary) == (0, "", "### medfact: not checked; the step's log says why\n")
    assert "There is no file 'nothing.gz'" in printed
    assert "::error::medfact could not check the model (exit code 2)" in printed


def test_what_a_caller_gives_is_never_a_command() -> None:
    for step in ACTION["runs"]["steps"]:
        assert "${{" not in step["run"], "an input within a script would be run"


def test_the_workflows_of_the_document_are_workflows() -> None:
    for block in re.findall(r"```yaml\n(.*?)```", (ROOT / "docs" / "gate.md").read_text(), re.S):
        found = yaml.safe_load(block)
        steps = found if isinstance(found, list) else found["jobs"]["canary"]["steps"]
        (used,) = (step for step in steps if step.get("uses", "").startswith("OWNER/medfact"))
        assert set(used["with"]) <= set(ACTION["inputs"])


def test_the_commands_of_the_document_run(programs: Path, tmp_path: Path) -> None:
    script = (ROOT / "docs" / "gate.md").read_text().split("```sh\n")[1].split("```")[0]
    path = f"{programs}:{os.environ['PATH']}"
    home = {**os.environ, "MEDFACT_HOME": str(tmp_path / "home"), "PATH": path, "OMP_NUM_THREADS": "1"}

    def typed(line: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(["bash", "-c", line], env=home, cwd=tmp_path, check=False, capture_output=True, text=True)

    first, second, third = (line.partition("#")[0].replace("python -m medfact", "medfact") for line in script.splitlines())
    run = json.loads(typed(first.replace("50", "6")).stdout)["run"]
    assert typed(second.replace("RUN", run)).returncode == 0
    ended = typed(third)
    assert ended.returncode in (0, 1, 3), ended.stderr
    assert re.match("pass|fail|cannot tell", ended.stdout)
