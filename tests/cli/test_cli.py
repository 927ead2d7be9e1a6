"""The command line: every command, every format, exit codes, one-line mistakes, and figures that the answers bear out."""

import json
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pandas
import pytest

from medfact import __version__
from medfact.cli.commands import parser
from medfact.cli.options import spec_of
from medfact.models import Completion, Placement, Prompt, ServiceSettings
from medfact.models.baseline import Baseline
from medfact.results.wording import counted
from medfact.spec import RunSpec
from medfact.store import Store

ROOT = Path(__file__).resolve().parents[2]

Medfact = Callable[..., Any]

FACT_COLUMNS = (
    "fact_id negative_of head relation tail positive head_type tail_type head_id tail_id source source_id difficulty role"
)
STATEMENT_COLUMNS = "statement_id fact_id negative_of head relation tail positive pool variant statement label"


def program(*arguments: object, **options: Any) -> subprocess.CompletedProcess[str]:
    """`python -m medfact` in a process of its own."""
    command = [sys.executable, "-m", "medfact", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False, **options)


def ran(medfact: Medfact, facts: Path, url: str, *more: object) -> dict[str, Any]:
    """The row of one run."""
    outcome = medfact("run", "--facts", facts, "--db", url, "--shots", 0, *more)
    assert outcome.code == 0, outcome.err
    (row,) = outcome.rows
    return row


# ------------------------------------------------------------------------- data


def test_options_choose_facts(medfact: Medfact, facts_file: Path) -> None:
    def facts(*options: object) -> list[dict[str, Any]]:
        return [row for row in medfact("facts", "--facts", facts_file, *options).rows if row["role"] == "test"]

    assert len(facts("--limit", 4, "--negatives", 2)) == 4 * 3
    assert len(facts("--per-relation", 4, "--negatives", 0)) == 8
    assert facts("--limit", 4) == facts("--limit", 9)[:8]
    assert facts("--limit", 4, "--seed", 0) == facts("--limit", 4) != facts("--limit", 4, "--seed", 1)
    by_pool = medfact("statements", "--facts", facts_file, "--limit", 1, "--pool", "pretexttrans-disek").rows
    assert {row["pool"] for row in by_pool} == {"pretexttrans-disek"}


def test_every_option_reaches_its_field() -> None:
    typed = """
    run --facts f.csv --column Head=disease --column relation==symptoms --rela may_treat --rela isa --sab MSH --language SPA
    --protocol tpeval --pool origin --templates t.csv --question code --limit 3 --per-relation 2 --negatives 4 --shots 1
    --seed 5 --shot-seed 6 --shot-draws 7 --demonstrations d.csv --retrieval none --memory 8GB --dtype float16 --device cpu
    --trust-code --any-weights --thinking --template-argument effort=low --max-tokens 9
    --base-url http://127.0.0.1/v1 --in-flight 2 --tries 3 --timeout 4.5 --temperature default --alternatives 5
    --repeats 2 --service-seed 8 --shots-as-turns --budget 1.5 --reuse
    """
    assert spec_of(parser().parse_args(typed.split()), "openai:m") == RunSpec(
        model="openai:m",
        facts="f.csv",
        columns=(("head", "disease"), ("relation", "=symptoms")),
        rela=("may_treat", "isa"),
        sab=("MSH",),
        language="SPA",
        protocol="tpeval",
        pool="origin",
        templates="t.csv",
        question="code",
        limit=3,
        per_relation=2,
        negatives=4,
        shots=1,
        seed=5,
        shot_seed=6,
        shot_draws=7,
        demonstrations="d.csv",
        placement=Placement("float16", "cpu", 8 * 10**9, True, True, True, (("effort", "low"),), 9),
        service=ServiceSettings(
            base_url="http://127.0.0.1/v1",
            in_flight=2,
            tries=3,
            timeout=4.5,
            temperature=None,
            top_logprobs=5,
            max_tokens=9,
            repeats=2,
            shots_as_turns=True,
            seed=8,
        ),
        budget=1.5,
        reuse=True,
    )
    assert spec_of(parser().parse_args(["run"]), "m") == RunSpec("m")
    assert spec_of(parser().parse_args(["run", "--fresh", "--completions"]), "m").service == ServiceSettings(
        fresh=True, completions=True
    )


# ------------------------------------------------------------------------- files


def as_text(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    return json.dumps(value, ensure_ascii=False) if isinstance(value, list) else str(value)


def shaped(row: dict[str, Any], ending: str) -> dict[str, Any]:
    """What a row of JSON is in a file of another format: all text in CSV and TSV."""
    return {name: as_text(value) for name, value in row.items()} if ending in {".csv", ".tsv"} else row


def plain(row: dict[str, Any]) -> dict[str, Any]:
    """A row as pandas read it, with lists for arrays and None for what is missing."""
    lists = {name: list(value) if hasattr(value, "tolist") else value for name, value in row.items()}
    return {name: value if isinstance(value, list) or not pandas.isna(value) else None for name, value in lists.items()}


READ: dict[str, Callable[[Path], list[dict[str, Any]]]] = {
    ".csv": lambda path: pandas.read_csv(path, dtype=str, keep_default_na=False).to_dict("records"),
    ".tsv": lambda path: pandas.read_csv(path, sep="\t", dtype=str, keep_default_na=False).to_dict("records"),
    ".jsonl": lambda path: [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()],
    ".parquet": lambda path: pandas.read_parquet(path, dtype_backend="pyarrow").to_dict("records"),
}


@pytest.mark.parametrize("command", ["datasets", "pools", "facts", "statements", "prompts", "run", "runs", "answers"])
def test_every_command_that_makes_data_writes_every_format(
    command: str, medfact: Medfact, facts_file: Path, url: str, tmp_path: Path
) -> None:
    data = ("--facts", facts_file, "--limit", 2)
    row = ran(medfact, facts_file, url, "--model", "baseline:random", "--limit", 2)
    arguments = {
        "facts": data,
        "statements": data,
        "prompts": data,
        "run": (*data, "--model", "baseline:negation-cue", "--db", url),
        "runs": ("--db", url),
        "answers": (row["run"], "--db", url),
    }.get(command, ())
    for ending, read in READ.items():
        path = tmp_path / f"made{ending}"
        outcome = medfact(command, *arguments, "-o", path)
        assert (outcome.code, outcome.out) == (0, "")
        expected = medfact("runs", "--db", url).rows[-1:] if command == "run" else medfact(command, *arguments).rows
        assert f"{counted(len(expected), 'row')} written to {path}" in outcome.err
        assert [plain(made) for made in read(path)] == [shaped(row, ending) for row in expected]


def test_facts_that_are_written_are_the_same_facts_when_read(medfact: Medfact, facts_file: Path, tmp_path: Path) -> None:
    options = ("--negatives", 2)
    before = sorted(medfact("facts", "--facts", facts_file, *options).rows, key=lambda row: row["fact_id"])
    assert {row.pop("presumed") for row in before} == {None, True}  # of the file that is read, they are stated
    for ending in (".csv", ".tsv", ".jsonl", ".parquet"):
        path = tmp_path / f"again{ending}"
        medfact("facts", "--facts", facts_file, *options, "-o", path)
        again = medfact("facts", "--facts", path, *options)
        assert sorted(again.rows, key=lambda row: row["fact_id"]) == before
        assert "note" not in again.err


def test_strange_names_stay_text_all_the_way(medfact: Medfact, url: str, tmp_path: Path) -> None:
    strange = ["[X]", "[Y] of [X]", "<img src=x onerror=alert(1)>", '=HYPERLINK("x")', "${alert(1)}", "../../etc/passwd", "{0}"]
    path = tmp_path / "facts.jsonl"
    rows = [{"head": name, "relation": "symptoms", "tail": f"sign{i}"} for i, name in enumerate(strange)]
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    row = ran(medfact, path, url, "--model", "baseline:always-true")
    made = medfact("answers", row["run"], "--db", url).rows
    assert {r["head"] for r in made} == set(strange)
    for r in made:
        if r["variant"] == "none":
            assert r["statement"] == f"{r['tail'].capitalize()} is a recognized symptom or sign of {r['head']}."
    medfact("facts", "--facts", path, "-o", tmp_path / "facts.csv")
    assert '"\'=HYPERLINK(""x"")"' in (tmp_path / "facts.csv").read_text(encoding="utf-8")
    again = medfact("facts", "--facts", tmp_path / "facts.csv").rows
    assert {r["head"] for r in again if r["role"] == "test"} == set(strange)


# ------------------------------------------------------------------------- runs


def test_run_makes_one_run_per_model_and_runs_lists_them(medfact: Medfact, facts_file: Path, url: str) -> None:
    models = ["baseline:always-true", "baseline:random"]
    outcome = medfact(
        "run", "--facts", facts_file, "--db", url, "--limit", 5, "--shots", 0, "--model", models[0], "--model", models[1]
    )
    assert outcome.code == 0
    assert [row["model"] for row in outcome.rows] == models
    listed = medfact("runs", "--db", url).rows
    assert listed == outcome.rows
    for row in listed:
        assert (row["state"], row["owner"], row["dataset"], row["protocol"]) == ("complete", "local", "facts.csv", "medfact")
        assert (row["pool"], row["shots"], row["seed"], row["statements"], row["answered"]) == ("medfact", 0, 0, 80, 80)
        assert len(row["run"]) == 32
    assert (listed[0]["average_accuracy"], listed[0]["joint_accuracy"], listed[0]["pair_joint_accuracy"]) == (0.5, 0, 0)


def test_runs_are_kept_at_home_unless_said_otherwise(medfact: Medfact, facts_file: Path, home: Path) -> None:
    medfact("run", "--facts", facts_file, "--limit", 1, "--model", "baseline:random")
    assert (home / "medfact.db").is_file()
    assert len(medfact("runs").rows) == 1


def test_resuming_a_finished_run_does_nothing(medfact: Medfact, facts_file: Path, url: str) -> None:
    row = ran(medfact, facts_file, url, "--limit", 4, "--model", "baseline:random")
    answers = medfact("answers", row["run"], "--db", url).rows
    outcome = medfact("resume", row["run"][:12], "--db", url)
    assert outcome.code == 0
    assert outcome.rows == [row]  # its times too
    assert medfact("answers", row["run"], "--db", url).rows == answers


def flaky(self: Baseline, prompts: Sequence[Prompt]) -> Iterator[tuple[int, Completion]]:
    """A baseline whose calls about disease 3 fail, and that mumbles about disease 5."""
    for place, prompt in enumerate(prompts):
        if "disease03" in prompt.statement.lower():
            yield place, Completion(None, failure="timed out")
        else:
            yield place, Completion("Hm." if "disease05" in prompt.statement.lower() else str(self.answer(prompt, self.seed)))


def test_failed_calls_end_with_3_and_resume_asks_them_again(
    medfact: Medfact, facts_file: Path, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    arguments = ("--facts", facts_file, "--db", url, "--shots", 0, "--model", "baseline:negation-cue")
    with monkeypatch.context() as patch:
        patch.setattr(Baseline, "complete", flaky)
        outcome = medfact("run", *arguments)
    assert outcome.code == 3
    (row,) = outcome.rows
    assert row["state"] == "complete"
    made = pandas.DataFrame(medfact("answers", row["run"], "--db", url).rows)
    report = medfact("report", row["run"], "--db", url, "--json").rows[0]
    failed = made["failure"].notna()
    assert failed.any()
    assert (failed == (made["head"] == "disease03")).all()
    assert set(made.loc[failed, "failure"]) == {"timed out"}
    assert made.loc[failed, ["answer", "raw"]].isna().all(axis=None)
    unreadable = made["answer"].isna() & ~failed
    assert unreadable.any()
    assert (unreadable == (made["head"] == "disease05")).all()
    assert (report["failed"], report["unreadable"]) == (failed.sum(), unreadable.sum())
    assert report["answered"] == row["answered"] == (~failed).sum()
    # of what was answered: half of the readable ones right, the unreadable ones wrong
    assert report["average_accuracy"]["value"] == pytest.approx(0.5 * (~failed & ~unreadable).sum() / (~failed).sum())

    outcome = medfact("resume", row["run"], "--db", url)
    assert outcome.code == 0
    assert outcome.rows[0]["answered"] == row["statements"]
    assert medfact("report", row["run"], "--db", url, "--json").rows[0]["failed"] == 0


# ------------------------------------------------------------------------- reports against answers

TRIVIAL = {"always-true": (0.5, 0, 0), "always-false": (0.5, 0, 0), "negation-cue": (0.5, 0.5, 0)}


@pytest.mark.parametrize("name", TRIVIAL)
@pytest.mark.parametrize("pool", ["medfact", "pretexttrans-disek"])
def test_what_trivial_answerers_score_on_bundled_facts(name: str, pool: str, medfact: Medfact, url: str) -> None:
    outcome = medfact("run", "--limit", 60, "--shots", 0, "--db", url, "--pool", pool, "--model", f"baseline:{name}")
    (row,) = outcome.rows
    assert row["statements"] == 60 * 2 * 8
    assert (row["average_accuracy"], row["joint_accuracy"], row["pair_joint_accuracy"]) == TRIVIAL[name]


# ------------------------------------------------------------------------- mistakes


def one_line(outcome: Any) -> str:
    """The one line that a mistake is told in."""
    assert outcome.code == 2
    assert outcome.out == ""
    (line,) = outcome.err.splitlines()
    assert line.startswith("medfact: ")
    assert "Traceback" not in line
    return line


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("facts", "--dataset", "clinical-cor"), "Did you mean 'clinical-core'?"),
        (("facts", "--facts", "nothing.csv"), "There is no file or folder 'nothing.csv'"),
        (("facts", "--limit", "0"), "1 or more"),
        (("facts", "--limit", "many"), "invalid int value"),
        (("facts", "--column", "head"), "--column 'head' names no column"),
        (("facts", "--dataset", "clinical-core", "--facts", "x.csv"), "not allowed with"),
        (("facts", "-o", "facts.docx"), ".csv"),
        (("facts", "-o", "no/such/folder/facts.csv"), "cannot be written"),
        (("statements", "--pool", "medfac"), "Did you mean 'medfact'?"),
        (("statements", "--protocol", "exam"), "no protocol 'exam'"),
        (("statements", "--negatives", "-1"), "0 or more"),
        (("prompts", "--model", "gpt-9"), "no model 'gpt-9'"),
        (("prompts", "--shots", "-2"), "0 or more"),
        (("run", "--model", "baseline:rando"), "Did you mean 'baseline:random'?"),
        (("run", "--retrieval", "telepathy"), "no retrieval 'telepathy'"),
        (("run", "--model", "baseline:random", "--db", "runs.db"), "not a database address"),
        (("run", "--column", "head=x"), "--column names a column of a file of facts, and none is given. Add --facts FILE."),
        (("facts", "--rela", "may_treat"), "--rela is for a UMLS folder"),
        (("facts", "--facts", ROOT / "README.md", "--sab", "MSH"), "--sab is for a UMLS folder"),
        (("statements", "--templates", "nothing.csv"), "Add --pool origin"),
        (("run", "--passages", "3"), "--passages is for retrieval"),
        (("prompts", "--corpus-column", "text"), "--corpus-column is for retrieval"),
        (("report", "xyz"), "There is no run 'xyz'. There is none yet."),
        (("resume", "xyz"), "no run 'xyz'"),
        (("answers", "xyz"), "no run 'xyz'"),
        (("answers",), "RUN"),
        (("fact",), "invalid choice"),
    ],
    ids=lambda value: " ".join(map(str, value)) if isinstance(value, tuple) else "",
)
def test_mistakes_end_with_2_and_one_line(arguments: tuple[str, ...], words: str, medfact: Medfact) -> None:
    assert words in one_line(medfact(*arguments))


def test_where_an_id_is_none_the_latest_are_named(medfact: Medfact, facts_file: Path, url: str) -> None:
    """As a person at the command line needs it, whatever the command; a curation is no run."""
    asked = ("run", "--facts", facts_file, "--db", url, "--limit", "1", "--shots", "0", "--model", "baseline:random")
    ids = [medfact(*asked).rows[0]["run"] for _ in range(4)]
    named = f"The latest are {', '.join(ids[1:])}."
    for command in ("report", "resume", "answers", "delete", "export", "publish"):
        assert one_line(medfact(command, "zz", "--db", url)) == f"medfact: There is no run 'zz'. {named}"
    assert one_line(medfact("check", ids[0], "--against", "zz", "--db", url)).endswith(f"Name what `baseline` wrote. {named}")
    assert (
        one_line(medfact("curate", "--project", "zz", "--db", url)) == "medfact: There is no curation 'zz'. There is none yet."
    )


def test_a_model_that_is_not_there_makes_no_run(medfact: Medfact, facts_file: Path, url: str) -> None:
    one_line(medfact("run", "--facts", facts_file, "--db", url, "--model", "baseline:random", "--model", "baseline:no"))
    assert Store(url).runs() == []


@pytest.mark.parametrize("command", ["facts", "statements", "prompts", "run"])
@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"head,relation\ngout,symptoms\n", "row 1: the column tail is missing"),
        (b'head,relation,tail\ngout,symptoms,"pain\n', "row 2: a quotation mark"),
        (b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR" + bytes(range(256)), "is not a text file"),
        (b"head,relation,tail\ngout,symptoms,\n", "no usable true fact (row 2: the tail is empty"),
        (b"", "is empty"),
    ],
    ids=["missing column", "unclosed quote", "binary", "empty tail", "empty"],
)
def test_files_that_cannot_be_used_are_told_in_one_line(
    command: str, data: bytes, words: str, medfact: Medfact, tmp_path: Path
) -> None:
    path = tmp_path / "facts.csv"
    path.write_bytes(data)
    line = one_line(medfact(command, "--facts", path))
    assert words in line
    assert "facts.csv" in line


def test_a_database_that_cannot_be_used_is_told_in_one_line(medfact: Medfact, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    assert "cannot be used" in one_line(medfact("run", "--limit", 1, "--db", f"sqlite:///{tmp_path}/file/runs.db"))


# ------------------------------------------------------------------------- as a program


def test_the_program_itself(facts_file: Path) -> None:
    help_ = program()
    assert (help_.returncode, help_.stderr) == (0, "")
    assert "Not for clinical use" in help_.stdout
    assert program("--version").stdout == f"medfact {__version__}\n"
    made = program("statements", "--facts", facts_file, "--limit", 1)
    assert made.returncode == 0
    assert len([json.loads(line) for line in made.stdout.splitlines()]) == 16
    mistake = program("facts", "--dataset", "nothing")
    assert (mistake.returncode, mistake.stdout, mistake.stderr.count("\n")) == (2, "", 1)


def test_a_closed_pipe_is_no_error() -> None:
    made = subprocess.run(
        ["bash", "-c", f'"{sys.executable}" -m medfact statements | head -n 1; echo "${{PIPESTATUS[0]}}"'],
        capture_output=True,
        text=True,
        cwd=ROOT,
        check=True,
    )
    line, code = made.stdout.splitlines()
    assert json.loads(line)["variant"] == "none"
    assert code == "0"
    assert "Traceback" not in made.stderr
    assert "Exception" not in made.stderr


@pytest.mark.model
def test_coverage_can_be_made_again_from_what_is_exported(medfact: Medfact, url: str) -> None:
    """An answer covers where its True and False words hold at least half of the probability."""
    (row,) = medfact("run", "--model", "medfact-tiny", "--limit", 3, "--shots", 0, "--db", url).rows
    made = pandas.DataFrame(medfact("answers", row["run"], "--db", url).rows)
    assert made["p_mass"].between(0, 1.001).all()
    calibration = medfact("report", row["run"], "--db", url, "--json").rows[0]["calibration"]
    assert calibration["coverage"] == pytest.approx((made["p_mass"] >= 0.5).mean())
    assert calibration["n"] == (made["p_mass"] >= 0.5).sum()
