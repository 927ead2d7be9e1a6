"""Every number of a run's settings has a least and a most, wherever it enters: page, file, command line or program."""

from __future__ import annotations

import dataclasses
import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from browser import serve_app
from recorded import complete_run
from run_files import export_run_file, pack_lines, parse_lines
from strangers import wait_for_run_end
from visitors import Visitor

import medfact
from medfact.errors import MedfactError, Mistake
from medfact.models import HERE, ServiceSettings
from medfact.models.services.settings import DEFAULTS
from medfact.runs.run import answer
from medfact.runs.start import start, start_again
from medfact.spec import BOUNDS, FIELDS, RunSpec, check_numbers
from medfact.store import FAILED_RUN, Store

NUMBERS = [path for path, field in FIELDS.items() if str(field.type).partition(" ")[0] in {"int", "float"}]
"""The fields of a spec, its service and its placement that hold numbers, as their dataclasses declare them."""


def beyond(path: str) -> list[float]:
    """Numbers that a field may not have: just outside, far outside, and none at all."""
    least, most, _ = BOUNDS[path]
    whole = str(FIELDS[path].type).startswith("int")
    outside: list[float] = [int(least) - 1, int(most) + 1, 10**30, -(10**30)]
    return outside if whole else [least - 1e-3 * max(least, 1), most * 1.01 + 1, 1e30, -1e30, math.inf, -math.inf, math.nan]


BEYOND = [(path, value) for path in NUMBERS for value in beyond(path)]


def with_number(path: str, value: float) -> RunSpec:
    """A spec with this number, made as a record is read: without asking anybody."""
    part, _, name = path.partition(".")
    spec = RunSpec(model="baseline:random", limit=2, shots=0)
    changed = spec if part == "spec" else {"service": DEFAULTS, "placement": HERE}[part]
    made = object.__new__(type(changed))
    for field in dataclasses.fields(changed):  # type: ignore[arg-type]
        object.__setattr__(made, field.name, value if field.name == name else getattr(changed, field.name))
    return made if part == "spec" else replace(spec, **{part: made})  # type: ignore[return-value, arg-type]


def test_every_number_has_bounds() -> None:
    assert set(NUMBERS) == set(BOUNDS), "a new number declares its bounds"
    for path, (least, most, of) in BOUNDS.items():
        assert -math.inf < least < most < math.inf, path
        assert of
        default = FIELDS[path].default
        assert BOUNDS[path].contains(default), f"{path}: its own default"  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def fine(tmp_path_factory: pytest.TempPathFactory) -> tuple[Store, str, bytes]:
    """A store with one complete run of two facts, and the file of that run."""
    made = Store(f"sqlite:///{tmp_path_factory.mktemp('fine') / 'runs.db'}")
    run = complete_run(RunSpec(model="baseline:random", limit=2, shots=0), made)
    return made, run, export_run_file(made, run)


@pytest.mark.parametrize(("path", "value"), BEYOND)
def test_nothing_is_recorded_beyond_them(path: str, value: float, fine: tuple[Store, str, bytes]) -> None:
    spec, (store, run, _) = with_number(path, value), fine
    with pytest.raises(Mistake, match=r"^The .* is .* Give .* or more, up to "):
        check_numbers(spec)
    with pytest.raises(MedfactError):
        start(spec, store)
    with pytest.raises(Mistake):
        start_again(run, store, spec)
    assert [one.run for one in store.runs()] == [run]


@pytest.mark.parametrize("path", NUMBERS)
def test_at_their_ends_numbers_are_fine(path: str) -> None:
    least, most, _ = BOUNDS[path]
    for value in (least, most, None if FIELDS[path].default is None else least):
        BOUNDS[path].check(value)


@pytest.mark.parametrize(("path", "value"), [(path, value) for path, value in BEYOND if math.isfinite(value)])
def test_no_file_of_a_run_brings_them(
    path: str, value: float, fine: tuple[Store, str, bytes], empty: Store, tmp_path: Path, medfact: Any
) -> None:
    part, _, name = path.partition(".")
    altered = {name: value} if part == "spec" else {part: {name: value}}
    done = medfact("import", with_spec(fine[2], altered, tmp_path / "run.gz"), "--db", empty.url)
    assert done.code == 2, (path, value)
    assert f"its {name} " in done.err or "its spec is none" in done.err
    assert "Traceback" not in done.err
    assert empty.runs() == []


@pytest.fixture(scope="module")
def empty(tmp_path_factory: pytest.TempPathFactory) -> Store:
    """A database that no run may come into."""
    return Store(f"sqlite:///{tmp_path_factory.mktemp('empty') / 'runs.db'}")


def with_spec(exported_run: bytes, altered: dict[str, Any], file: Path) -> Path:
    """A run's file whose spec says this."""
    lines = parse_lines(exported_run)
    spec = lines[1]["run"]["spec"]
    for name, value in altered.items():
        spec[name] = {**spec[name], **value} if isinstance(value, dict) else value
    file.write_bytes(pack_lines(lines))
    return file


def test_the_same_file_with_its_own_numbers_is_brought(
    fine: tuple[Store, str, bytes], url: str, tmp_path: Path, medfact: Any
) -> None:
    assert medfact("import", with_spec(fine[2], {}, tmp_path / "run.gz"), "--db", url).code == 0
    assert len(Store(url).runs()) == 1


OPTIONS = {
    "--limit": "spec.limit",
    "--per-relation": "spec.per_relation",
    "--negatives": "spec.negatives",
    "--shots": "spec.shots",
    "--seed": "spec.seed",
    "--shot-seed": "spec.shot_seed",
    "--shot-draws": "spec.shot_draws",
    "--passages": "spec.passages",
    "--budget": "spec.budget",
    "--in-flight": "service.in_flight",
    "--tries": "service.tries",
    "--timeout": "service.timeout",
    "--temperature": "service.temperature",
    "--alternatives": "service.top_logprobs",
    "--max-tokens": "service.max_tokens",
    "--repeats": "service.repeats",
    "--service-seed": "service.seed",
    "--memory": "placement.memory",
}


def test_every_option_of_a_number_is_tried() -> None:
    assert set(OPTIONS.values()) | {"placement.max_tokens", "spec.racers"} == set(NUMBERS)


@pytest.mark.parametrize("option", OPTIONS)
def test_the_command_line_says_them_in_a_sentence(option: str, medfact: Any, url: str) -> None:
    path = OPTIONS[option]
    model = "openai:m" if path.startswith("service") or option == "--budget" else "baseline:random"
    more = ["--base-url", "http://127.0.0.1:1/v1"] if model == "openai:m" else []
    for value in beyond(path):
        text = f"{value:.0f}" if value == value and abs(value) < 1e15 and value == int(value) else str(value)
        for command in (["run"], ["run", "--dry-run"], ["prompts"]):
            done = medfact(
                *command, "--model", model, *more, f"{option}={text}", *(["--db", url] if command[0] == "run" else [])
            )
            assert done.code == 2, (command, text, done.out[:200])
            assert "Traceback" not in done.err
            assert len(done.err.strip().splitlines()) == 1 or "usage" in done.err


def test_resume_holds_its_own_options_to_them(medfact: Any, url: str) -> None:
    store = Store(url)
    settings = ServiceSettings(base_url="http://127.0.0.1:1/v1")
    run = start(RunSpec(model="openai:m", limit=2, shots=0, service=settings), store)
    for option in ("--in-flight=100000", "--tries=100000", "--timeout=nan", "--timeout=1e9", "--budget=inf", "--budget=nan"):
        done = medfact("resume", run, option, "--db", url)
        assert done.code == 2, option
        assert "Traceback" not in done.err
    assert store.run(run).state == "waiting"


def test_a_program_is_told(facts_file: Path) -> None:
    for settings in (
        {"limit": 0},
        {"shots": 10**9},
        {"service": {"in_flight": 10**9}},
        {"placement": {"memory": -5}},
        {"seed": 2**70},
    ):
        with pytest.raises(Mistake):
            medfact.evaluate("baseline:random", str(facts_file), **{"limit": 2, "shots": 0} | settings)


def test_a_recorded_number_beyond_them_can_be_read_and_says_why_its_run_does_not_go_on(store: Store) -> None:
    run = start(RunSpec(model="baseline:random", limit=2, shots=0), store)
    record = store.run(run).spec.to_record()
    record["service"]["in_flight"], record["service"]["tries"] = 50_000, 1_000
    store._update(run, spec=json.dumps(record))
    assert store.runs()[0].spec.service.in_flight == 50_000
    list(answer(run, store))
    assert store.run(run).state != FAILED_RUN or "calls in flight is 50,000" in str(store.run(run).reason)
    assert not any(item.answer for item in store.answers.asked(run))


def test_a_pages_budget_is_a_number(tmp_path: Path) -> None:
    with serve_app(tmp_path) as url, Visitor(url) as visitor:
        (run,) = visitor.evaluate("baseline:random")
        wait_for_run_end(tmp_path, run)
        for text in ("nan", "inf", "1e999", "-5", "1e20"):
            answered = visitor.press_button("resume", run=run, fields={"budget": text})
            assert "The budget is" in str(answered["fragments"]["said"]), text
        for name, value in (("pairs", 10**9), ("pairs", -1), ("shots", 10**6), ("budget", 1e12), ("budget", -1)):
            assert "does not fit" in str(visitor.evaluate(service="m", **{name: value})), name
