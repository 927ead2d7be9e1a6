"""The documentation against the program: options, settings, environment variables, links."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from forked_scripts import run_scripts

from medfact.cli.commands import COMMANDS
from medfact.datasets import load_bundled
from medfact.prototypes import load_pool
from medfact.spec import SETTINGS

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", ROOT / "ARCHITECTURE.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
COMMAND_LINE = (ROOT / "docs" / "command-line.md").read_text(encoding="utf-8")


def options_in(help_text: str) -> Iterator[tuple[str, str]]:
    """(title of its group, option) of every option in a help text."""
    title = ""
    for line in help_text.splitlines():
        if heading := re.fullmatch(r"(\S.*):", line):
            title = heading[1].partition(" (")[0]
        elif option := re.match(r"  (?:-\w [A-Z]+, |-\w, )?(--[\w-]+)", line):
            yield title, option[1]


def section(title: str) -> str:
    """The text under a heading of the page."""
    return COMMAND_LINE.partition(f"### {title[0].upper()}{title[1:]}\n")[2].partition("\n#")[0]


@pytest.mark.parametrize("command", [command.name for command in COMMANDS])
def test_every_option_of_a_command_is_documented(
    command: str, medfact: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    row = next(line for line in COMMAND_LINE.splitlines() if re.match(rf"\| `{command}[ `]", line))
    listed = list(options_in(medfact(command, "--help").out))
    assert ("options", "--help") in listed
    for title, option in listed:
        if option == "--help":
            continue
        assert f"`{option}`" in row if title == "options" else title in row, option
        if title != "options":
            assert f"| `{option}" in section(title), f"{option} is missing under {title}"


def test_every_documented_option_exists(medfact: Callable[..., Any]) -> None:
    known = {option for command in COMMANDS for _, option in options_in(medfact(command.name, "--help").out)}
    pages = "\n".join(page.read_text(encoding="utf-8") for page in PAGES[3:])
    for option in re.findall(r"`(--[\w-]+)", pages):
        assert option in known | {"--version", "--verbose"}, option


def test_every_setting_of_a_run_has_an_option() -> None:
    set_along = {declared.along for declared in SETTINGS.values()}
    offered = {path for path, declared in SETTINGS.items() if declared.group} | set_along
    assert SETTINGS.keys() - {"spec.placement", "spec.service"} - offered == {
        "spec.entailment",  # an option of `write` alone
        "spec.imported",
        "spec.model",
        "spec.race",  # --race sets both, for all models at once
        "spec.racers",
        "spec.task",
        "spec.writer",
        "spec.writing",
        "service.effort",  # --effort, which is the run's: its model is loaded with it
        "service.key",
    }


def test_every_environment_variable_is_documented() -> None:
    code = "\n".join(file.read_text(encoding="utf-8") for file in (ROOT / "medfact").rglob("*.py"))
    services = (ROOT / "docs" / "services.md").read_text(encoding="utf-8")
    for name in set(re.findall(r"environ(?:\.get\(|\[)[\"']((?:MEDFACT|OPENAI)_\w+)", code)):
        assert f"| `{name}`" in services, name


def anchors(page: Path) -> set[str]:
    """The names under which GitHub links the headings of a page."""
    headings = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    for link in re.findall(r"\]\(([^)]+)\)", page.read_text(encoding="utf-8")):
        if not link.startswith("http"):
            path, _, anchor = link.partition("#")
            target = (page.parent / path).resolve() if path else page
            assert target.exists(), link
            assert not anchor or anchor in anchors(target), link


BENCHMARKS = sorted((ROOT / "benchmarks").glob("*.py"))


@pytest.fixture(scope="module")
def helps() -> dict[Path, tuple[int, str]]:
    """What each benchmark says of itself, and the code that it ends with."""
    return run_scripts(BENCHMARKS, "--help")


@pytest.mark.parametrize("script", BENCHMARKS, ids=lambda path: path.stem)
def test_every_benchmark_starts(script: Path, helps: dict[Path, tuple[int, str]]) -> None:
    code, said = helps[script]
    assert code == 0, said
    assert said.startswith("usage: "), said


def test_the_example_of_the_eight_statements_is_what_the_program_makes() -> None:
    collection = load_bundled("clinical-core")
    (fact,) = (f for f in collection.facts if (f.head, f.tail) == ("giant cell arteritis", "prednisone"))
    made = {one.variant: (one.text, str(one.label).lower()) for one in load_pool("medfact").statements([fact])}
    table = (ROOT / "docs" / "methods.md").read_text(encoding="utf-8").partition("| variant |")[2].partition("\n\n")[0]
    shown = [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()[2:]]
    assert [made[variants.split("`")[1]] for variants, *_ in shown] == [(text, label) for _, _, text, label in shown]
    assert len(shown) == 5


@pytest.mark.parametrize("listed", ["slow.txt", "postgresql.txt"])
def test_what_is_listed_is_there(listed: str) -> None:
    for line in (ROOT / "tests" / listed).read_text(encoding="utf-8").split():
        file, _, name = line.partition("::")
        assert (ROOT / file).is_file(), line
        assert not name or f"def {name}(" in (ROOT / file).read_text(encoding="utf-8"), line
