"""A setting of a run is declared once: all who offer, check, repeat, compare or hand on settings read it there."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import medfact
from medfact.exchange.rows import portable
from medfact.setting import ADDRESS, ALL, LAST_PART, NOTHING, OF_MODEL, Setting
from medfact.spec import FIELDS, SETTINGS, RunSpec

ROOT = Path(medfact.__file__).resolve().parents[1]

DECLARED = """
    hedge: str = setting(
        "plain", "--hedge", "NAME", "how a statement is asked: plain or firm",
        group=METHOD, choices=("plain", "firm"), noun="hedge", compared="hedge", label="Hedge", has_input=True,
    )
    rounds: int = setting(1, "--rounds", "N", "rounds of each", group=METHOD, bounds=Bounds(1, 3, "number of rounds"))
    lexicon: str | None = setting(
        None, "--lexicon", "FILE", "words of your own", group=RETRIEVAL, needs=_NEEDS_RETRIEVAL, export_policy=LAST_PART
    )
"""
"""Three small settings: a choice, a number and a file."""

ACTS = ("        question=question_of(spec),\n", '        question="code" if spec.hedge == "firm" else question_of(spec),\n')


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the package in which two files are changed: one declares new settings, one acts on one of them."""
    place = tmp_path_factory.mktemp("house")
    shutil.copytree(ROOT / "medfact", place / "medfact", ignore=shutil.ignore_patterns("__pycache__"))
    for folder in ("assets", "prototypes"):
        (place / folder).symlink_to(ROOT / folder)
    changed = {"spec.py": ("    imported: tuple", DECLARED), "runs/prompts.py": ACTS}
    for name, (where, what) in changed.items():
        file = place / "medfact" / name
        text = file.read_text(encoding="utf-8")
        assert text.count(where) == 1, name
        file.write_text(text.replace(where, what if name == "runs/prompts.py" else f"{what}{where}"), encoding="utf-8")
    return place


@pytest.fixture
def python(house: Path, tmp_path: Path) -> Callable[..., Any]:
    """Runs Python in that house."""
    environment = {**os.environ, "PYTHONPATH": str(house), "MEDFACT_HOME": str(tmp_path / "home"), "COLUMNS": "120"}

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, *arguments], capture_output=True, text=True, cwd=tmp_path, env=environment, check=False
        )

    return run


def test_the_command_line_offers_and_checks_a_new_setting(python: Callable[..., Any]) -> None:
    for command in ("run", "prompts"):
        shown = python("-m", "medfact", command, "--help").stdout
        assert re.search(r"--hedge NAME +how a statement is asked: plain or firm \(default: plain\)", shown)
        assert re.search(r"--rounds N +rounds of each \(default: 1\)", shown)
    asked = ("-m", "medfact", "run", "--model", "baseline:random", "--limit", "2", "--shots", "0")
    for more, words in (
        (("--hedge", "loud"), "medfact: There is no hedge 'loud'. There is: firm, plain."),
        (("--rounds", "7"), "medfact: The number of rounds is 7. Give 1 or more, up to 3."),
        (("--lexicon", "a.txt"), "medfact: --lexicon is for retrieval, and there is none."),
    ):
        done = python(*asked, *more)
        assert done.returncode == 2, done.stderr
        assert words.removeprefix("medfact: ") in done.stderr
        assert len(done.stderr.strip().splitlines()) == 1
    assert python(*asked, "--hedge", "firm").returncode == 0


IN_A_NOTEBOOK = """
import json, sys
import medfact
from medfact.errors import MedfactError
from medfact.exchange.rows import portable
from medfact.spec import RunSpec
from medfact.views.report import repeat_command

def refused(**settings):
    try:
        medfact.evaluate("baseline:random", limit=2, shots=0, progress=False, **settings)
    except MedfactError as error:
        return str(error)

runs = [medfact.evaluate("baseline:random", limit=2, shots=0, progress=False, hedge=name) for name in ("plain", "firm")]
spec = runs[1].record.spec
print(json.dumps({
    "run": runs[1].id,
    "recorded": spec.to_record()["hedge"],
    "read": RunSpec.from_record(spec.to_record()) == spec,
    "refused": [refused(hedge=3), refused(hedge="loud"), refused(rounds=0), refused(lexicon=1)],
    "command": repeat_command(spec),
    "differs": medfact.compare(*runs).comparison.differs,
    "handed on": portable(RunSpec("m", retrieval="sparse", hedge="firm", lexicon="/home/me/words.txt")).to_record(),
}))
"""


def test_a_notebook_knows_it_and_reports_repeat_and_compare_it(python: Callable[..., Any], tmp_path: Path) -> None:
    done = python("-c", IN_A_NOTEBOOK)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout.splitlines()[-1])
    assert (told["recorded"], told["read"]) == ("firm", True)
    kind, choice, number, text = told["refused"]
    assert kind == "hedge=3 is not a text. Give a text."
    assert choice.startswith("There is no hedge 'loud'.")
    assert number.startswith("The number of rounds is 0.")
    assert text.startswith("lexicon=1 is not a text.")
    assert "--hedge firm" in told["command"]
    assert "--rounds" not in told["command"]
    assert told["differs"] == {"hedge": ["plain", "firm"]}
    assert (told["handed on"]["hedge"], told["handed on"]["lexicon"]) == ("firm", "words.txt")
    fixed = python("-m", "medfact", "run", "--again", told["run"], "--hedge", "plain")
    assert (fixed.returncode, "fixes what is asked" in fixed.stderr) == (2, True)
    again = python("-m", "medfact", "run", "--again", told["run"])
    assert again.returncode == 0, again.stderr


def test_a_file_of_a_run_brings_it_and_is_held_to_it(python: Callable[..., Any], tmp_path: Path) -> None:
    asked = python("-m", "medfact", "run", "--model", "baseline:random", "--limit", "2", "--shots", "0", "--hedge", "firm")
    run = json.loads(asked.stdout.splitlines()[-1])["run"]
    assert python("-m", "medfact", "export", run, "-o", "run.jsonl.gz").returncode == 0
    alter = "import gzip, sys; text = gzip.open('run.jsonl.gz', 'rt').read().replace(*sys.argv[1:3]); "
    alter += "gzip.open('altered.jsonl.gz', 'wt').write(text)"
    for old, new, words in (
        ('"hedge":"firm"', '"hedge":"loud"', "its hedge is none that this medfact knows"),
        ('"rounds":1', '"rounds":9', "its rounds are not 1 to 3"),
    ):
        assert python("-c", alter, old, new).returncode == 0
        done = python("-m", "medfact", "import", "altered.jsonl.gz", "--db", "sqlite:///other.db")
        assert done.returncode == 2, done.stdout
        assert words in done.stderr
    done = python("-m", "medfact", "import", "run.jsonl.gz", "--db", "sqlite:///other.db")
    assert done.returncode == 0, done.stderr
    erase = "import sys; from medfact.store import Store; store = Store('sqlite:///other.db'); "
    erase += "store._update(sys.argv[1], deleted_at='2020-01-01T00:00:00.000+00:00'); print(store.purge())"
    assert python("-c", erase, run).stdout.strip() == "1"
    assert python("-c", alter, '"hedge":"firm"', '"hedge":"plain"').returncode == 0
    other = python("-m", "medfact", "import", "altered.jsonl.gz", "--db", "sqlite:///other.db")
    assert other.returncode == 2, "an altered copy of a run that was erased is none"
    assert python("-m", "medfact", "import", "run.jsonl.gz", "--db", "sqlite:///other.db").returncode == 0


def test_it_acts(python: Callable[..., Any]) -> None:
    plain, firm = (
        python("-m", "medfact", "prompts", "--limit", "1", "--shots", "0", "--hedge", name).stdout for name in ("plain", "firm")
    )
    assert plain
    assert plain != firm


ON_THE_PAGE = """
import json
import gradio
from medfact.web.evaluate.form import Setup
from medfact.web.evaluate.inputs import build

with gradio.Blocks() as page:
    build(page)
(drawn,) = [one for one in page.blocks.values() if getattr(one, "elem_id", None) == "setting-hedge"]
chosen = Setup.model_validate({"hedge": "firm", "unheard": 1})
print(json.dumps([drawn.label, drawn.choices, drawn.value, chosen.further, Setup.model_validate(chosen.model_dump()).further]))
"""


def test_the_page_draws_its_input(python: Callable[..., Any]) -> None:
    done = python("-c", ON_THE_PAGE)
    assert done.returncode == 0, done.stderr
    choices = [["plain", "plain"], ["firm", "firm"]]
    assert json.loads(done.stdout.splitlines()[-1]) == ["Hedge", choices, "plain", {"hedge": "firm"}, {"hedge": "firm"}]


# ------------------------------------------------------------------------------------------------ those that there are


def test_what_names_a_place_on_this_machine_never_travels_whole() -> None:
    """A path, an address or a key says how it travels: who forgets it hands on a folder's name."""
    for path, declared in SETTINGS.items():
        if re.search("FILE|FOLDER|URL", declared.metavar + declared.help) and path != "spec.columns":
            assert declared.export_policy in {LAST_PART, OF_MODEL, ADDRESS, NOTHING}, path
    assert SETTINGS["service.key"].export_policy == NOTHING


def test_nothing_of_a_default_changes_on_its_way() -> None:
    assert portable(RunSpec("m")) == RunSpec("m")


def rows() -> dict[str, tuple[str, str]]:
    """Flag → metavar and default, as the documentation lists options."""
    text = (ROOT / "docs" / "command-line.md").read_text(encoding="utf-8").partition("## Groups of options")[2]
    found = re.findall(r"^\| `(--[\w-]+)(?: ([^`]+))?` \| .* \|(.*)\|$", text, re.MULTILINE)
    return {flag: (metavar, default.strip()) for flag, metavar, default in found}


@pytest.mark.parametrize("path", [path for path, one in SETTINGS.items() if one.group and not one.shares])
def test_the_table_of_options_agrees_with_the_declaration(path: str) -> None:
    declared: Setting = SETTINGS[path]
    metavar, default = rows()[declared.flag]
    assert metavar == declared.metavar
    value = FIELDS[path].default
    if value is False:
        assert default in {"off", "all facts"}
    elif isinstance(value, float | int):
        assert default == f"{value:g}"
    elif isinstance(value, str):
        assert default == f"`{value}`"
    elif told := re.search(r"\(default: (.*)\)", declared.help):
        assert told[1].removeprefix("that of ") in re.sub("[`]", "", default) or path in {"spec.corpus_column"}


def test_every_setting_travels_in_a_known_way() -> None:
    assert {declared.export_policy for declared in SETTINGS.values()} <= {ALL, LAST_PART, OF_MODEL, ADDRESS, NOTHING}
