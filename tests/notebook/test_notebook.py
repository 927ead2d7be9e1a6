"""The door for notebooks: the examples of its page, functions as models, data frames as facts, and what it refuses."""

from __future__ import annotations

import datetime
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy
import pandas
import plotly.graph_objects
import pytest
from repository import ROOT
from small_facts import make_fact_rows

import medfact
from medfact.cli.progress import show_progress
from medfact.errors import FactsError, MedfactError, Mistake, ModelError, NotInstalled, UnknownName
from medfact.extras import not_installed_errors
from medfact.models import ServiceSettings
from medfact.notebook import Evaluated
from medfact.notebook.evaluation import _follow
from medfact.results.compare import sides_of
from medfact.results.fact_table import over_models
from medfact.reviews.verdicts import FALSE, TRUE
from medfact.runs.events import AnswersSaved
from medfact.runs.start import start
from medfact.spec import RunSpec
from medfact.store import Store, Verdict, exists, home

EXAMPLES = "\n".join(re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "notebook.md").read_text(encoding="utf-8"), re.DOTALL))


@pytest.fixture
def frame() -> pandas.DataFrame:
    return pandas.DataFrame(make_fact_rows())[["head", "relation", "tail"]]


def always(*replies: Any) -> Callable[[list[str]], list[Any]]:
    """A function that gives these replies in turn."""
    return lambda prompts: [replies[number % len(replies)] for number in range(len(prompts))]


@pytest.mark.model
def test_the_examples_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    exec(compile(EXAMPLES, "docs/notebook.md", "exec"), names)
    assert len(names["run"].answers()) == 160
    assert names["mine"].report().record()["average_accuracy"]["value"] == 0.5
    assert isinstance(names["figure"], plotly.graph_objects.Figure)
    assert len(names["figure"].data) == 2
    assert "medfact-tiny" in (tmp_path / "report.html").read_text(encoding="utf-8")
    assert names["again"].id == names["run"].id
    assert len(names["compared"].frame()) == 3


def test_nothing_heavy_is_loaded_before_it_is_used() -> None:
    code = (
        "import sys, medfact; dir(medfact); assert not {'pandas', 'numpy', 'sqlalchemy'} & set(sys.modules); medfact.evaluate"
    )
    subprocess.run([sys.executable, "-c", code], check=True, cwd=ROOT)


def test_statements_is_the_function_though_a_module_is_called_so() -> None:
    code = (
        "import medfact; from medfact.statements import VARIANTS; import medfact.statements as module\n"
        "print(len(medfact.statements(limit=1)), VARIANTS['dn'].negated, module is not None)"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, cwd=ROOT, capture_output=True, text=True)
    assert done.stdout.split() == ["16", "True", "True"]


def test_a_function_gets_the_prompts_and_its_replies_are_read(frame: pandas.DataFrame, url: str) -> None:
    seen: list[list[str]] = []

    def model(prompts: list[str]) -> list[Any]:
        seen.append(prompts)
        return [[True, "False.", numpy.bool_(True), "who knows?"][number % 4] for number in range(len(prompts))]

    run = medfact.evaluate(model, frame, db=url, limit=4, shots=2, batch=10, progress=False)
    answers = run.answers()
    assert max(map(len, seen)) == 10
    assert sum(map(len, seen)) == len(answers) == 64
    assert all(prompt.count("is the statement above true or false?") == 3 for prompt in seen[0])
    assert set(answers["raw"]) == {"True", "False.", "who knows?"}
    report = run.report().record()
    assert report["unreadable"] == (answers["raw"] == "who knows?").sum() > 0
    assert report["model"] == "function:model"
    assert next(run.run for run in Store(url).runs()) == run.id


def test_none_is_a_failed_call_and_is_asked_again(frame: pandas.DataFrame, url: str) -> None:
    run = medfact.evaluate(always("True", None), frame, db=url, limit=4, shots=0, progress=False, batch=7)
    report = run.report().record()
    assert report["failed"] > 0
    assert report["answered"] + report["failed"] == 64
    assert (
        run.report().frame().query("figure == 'average_accuracy' and group == 'average_accuracy'")["n"].item()
        == report["answered"]
    )
    run.resume(always("True"), progress=False)
    assert (run.report().record()["failed"], run.report().record()["answered"]) == (0, 64)


@pytest.mark.parametrize(
    ("function", "said"),
    [
        (lambda prompts: "True", "returned str, not a list"),
        (lambda prompts: None, "returned NoneType, not a list"),
        (lambda prompts: dict.fromkeys(prompts, "True"), "returned dict, not a list"),
        (lambda prompts: set(prompts), "returned set, not a list"),
        (lambda prompts: ["True"], r"returned 1 replies to 64 prompts"),
        (lambda prompts: [1] * len(prompts), "a reply of type int"),
        (lambda prompts: [prompts[99999]], r"failed \(IndexError"),
    ],
)
def test_what_is_wrong_with_a_function_is_said(frame: pandas.DataFrame, url: str, function: Any, said: str) -> None:
    with pytest.raises(ModelError, match=said):
        medfact.evaluate(function, frame, db=url, limit=4, shots=0, progress=False)
    assert [run.state for run in Store(url).runs()] == ["failed"]


def test_answers_before_a_failure_are_kept(frame: pandas.DataFrame, url: str) -> None:
    calls = iter([True, False])

    def breaks(prompts: list[str]) -> list[str]:
        if not next(calls):
            raise RuntimeError("out of memory")
        return ["True"] * len(prompts)

    with pytest.raises(ModelError, match="out of memory") as caught:
        medfact.evaluate(breaks, frame, db=url, limit=4, shots=0, progress=False, batch=32)
    assert isinstance(caught.value.__cause__, RuntimeError)
    run = medfact.open_run(Store(url).runs()[0].run, db=url)
    assert len(run.answers()) == 32
    with pytest.raises(ModelError, match="only that notebook can ask it"):
        run.resume()
    assert len(run.resume(always("False"), progress=False).answers()) == 64


def test_the_command_line_does_not_resume_the_run_of_a_function(frame: pandas.DataFrame, medfact: Callable[..., Any]) -> None:
    from medfact import evaluate

    run = evaluate(always(None), frame, limit=2, shots=0, progress=False)
    done = medfact("resume", run.id)
    assert done.code == 2
    assert "Python function of a notebook" in done.err
    assert medfact("report", run.id).code == 0
    assert medfact("run", "--model", "function:lambda").code == 2


def test_the_facts_of_a_frame_are_those_of_a_file(frame: pandas.DataFrame, facts_file: Path, url: str) -> None:
    from_frame, from_file = medfact.load_facts(frame), medfact.load_facts(facts_file)
    assert from_frame.collection.fingerprint() == from_file.collection.fingerprint()
    assert medfact.load_facts(frame).source == from_frame.source
    renamed = frame.rename(columns={"head": "disease"})
    assert len(medfact.load_facts(renamed, head="disease")) == len(from_frame) == 42
    assert (medfact.statements(from_frame)["statement"] == medfact.statements(str(facts_file))["statement"]).all()


@pytest.mark.parametrize(
    ("call", "kind", "said"),
    [
        (lambda: medfact.load_facts("clinical-cor"), UnknownName, "Did you mean 'clinical-core'"),
        (lambda: medfact.load_facts("nowhere.csv"), FactsError, "no file or folder"),
        (lambda: medfact.load_facts(Path("\0")), FactsError, "no file or folder"),
        (lambda: medfact.load_facts(pandas.DataFrame()), FactsError, "no rows"),
        (lambda: medfact.load_facts(pandas.DataFrame({"head": ["a"]})), FactsError, "relation and tail are missing"),
        (lambda: medfact.load_facts([("a", "b", "c")]), FactsError, "list objects"),
        (lambda: medfact.load_facts("clinical-core", head="x"), Mistake, "has the columns"),
        (lambda: medfact.evaluate("gpt"), UnknownName, "no model 'gpt'"),
        (lambda: medfact.evaluate(5), Mistake, "A value of type int is not a model"),
        (lambda: medfact.evaluate("medfact-tiny", limt=3), UnknownName, "Did you mean 'limit'"),
        (lambda: medfact.evaluate("medfact-tiny", limit="3"), Mistake, "limit='3' is not a whole number"),
        (lambda: medfact.evaluate("medfact-tiny", placement=3), Mistake, "placement must be"),
        (lambda: medfact.evaluate("medfact-tiny", service={"url": ""}), UnknownName, "setting of service 'url'"),
        (lambda: medfact.evaluate(always("True"), batch=0), Mistake, "batch=0"),
        (lambda: medfact.evaluate(always("True"), batch="4"), Mistake, "batch='4' is not a whole number"),
        (lambda: medfact.evaluate("medfact-tiny", placement={"memory": 1.5}), Mistake, "placement: memory=1.5 is not a whole"),
        (lambda: medfact.evaluate("medfact-tiny", placement={"memory": "much"}), Mistake, "'much' is not an amount of memory"),
        (lambda: medfact.evaluate("openai:x", service={"base_url": 1}), Mistake, "service: base_url is not a text"),
        (lambda: medfact.evaluate("openai:x", service={"key": b"sk-1"}), Mistake, "service: key is not a text. Give a text."),
        (lambda: medfact.evaluate("medfact-tiny", rela=[1]), Mistake, "rela=[1] is not a list of texts"),
        (lambda: medfact.open_run("nothing"), UnknownName, "no run"),
        (lambda: medfact.open_run(3), Mistake, "A value of type int is not the id of a run"),
        (lambda: medfact.compare(None), Mistake, "None is not the id of a run"),
        (lambda: medfact.compare(), Mistake, "No run"),
    ],
)
def test_mistakes_are_sentences(call: Callable[[], Any], kind: type[MedfactError], said: str) -> None:
    with pytest.raises(kind, match=re.escape(said)):
        call()
    assert not exists() or not Store().runs()


def test_settings_of_a_service_may_be_given_whole(frame: pandas.DataFrame, url: str) -> None:
    given: dict[str, Any] = {"service": ServiceSettings(timeout=5.0), "placement": {"memory": "8GB"}}
    run = medfact.evaluate("baseline:random", frame, db=url, limit=2, shots=0, progress=False, **given)
    assert run.record.spec.placement.memory == 8_000_000_000, "as on the command line"
    assert run.record.spec.service.timeout == 5.0


def test_no_function_answers_in_the_name_of_a_model(frame: pandas.DataFrame, url: str) -> None:
    spec = RunSpec("baseline:random", facts=str(medfact.load_facts(frame).source["facts"]), limit=2, shots=0)
    run = medfact.open_run(start(spec, Store(url)), url)
    with pytest.raises(Mistake, match=re.escape("This run asks baseline:random, and no function can answer for it.")):
        run.resume(always("True"), progress=False)
    assert run.answers().empty
    assert run.resume(progress=False).record.state == "complete"


def test_the_run_of_a_function_is_resumed_with_a_function(frame: pandas.DataFrame, url: str) -> None:
    run = medfact.evaluate(always(None), frame, db=url, limit=2, shots=0, progress=False)
    with pytest.raises(Mistake, match=re.escape("This run asks a function, and 'medfact-tiny' is none.")):
        run.resume("medfact-tiny")
    assert len(run.resume(always("True"), progress=False).answers().query("answer == True")) == 32


@pytest.mark.parametrize(
    ("table", "columns", "said"),
    [
        (
            {"thing": ["a"], "relation": ["r"], "tail": ["x"]},
            {},
            "The data frame: the column head is missing; it has thing, relation, tail. Rename them, or say which of yours "
            'they are: load_facts(table, head="…", relation="…", tail="…").',
        ),
        ({"head": ["a"], "relation": ["r"], "tail": ["x"]}, {"head": "disease"}, "The data frame has no column 'disease'."),
        ({"head": [""], "relation": ["r"], "tail": ["x"]}, {}, "Correct the rows and give the data frame again."),
    ],
)
def test_a_data_frame_is_called_so(table: dict[str, list[str]], columns: dict[str, str], said: str) -> None:
    with pytest.raises(FactsError, match=re.escape(said)) as caught:
        medfact.load_facts(pandas.DataFrame(table), **columns)
    assert "jsonl" not in str(caught.value)


def table_with(tail: Any, **columns: Any) -> pandas.DataFrame:
    """One fact about gout with this cell, and one about rubella."""
    return pandas.DataFrame({"head": ["gout", "rubella"], "relation": ["symptoms"] * 2, "tail": [tail, "rash"], **columns})


@pytest.mark.parametrize(
    ("cell", "tails"),
    [
        (["pain", "fever"], ["pain", "fever"]),
        (("pain", "fever"), ["pain", "fever"]),
        (numpy.array(["pain", "fever"]), ["pain", "fever"]),
        ({"pain", "fever"}, ["fever", "pain"]),
        (pandas.Series(["pain", "fever"]), ["pain", "fever"]),
        (["pain"], ["pain"]),
        (b"pain", ["pain"]),
        (numpy.str_("pain"), ["pain"]),
    ],
    ids=lambda value: type(value).__name__,
)
def test_cells_that_hold_several_names_or_bytes_are_read(cell: Any, tails: list[str]) -> None:
    collection = medfact.load_facts(table_with(cell)).collection
    assert [fact.tail for fact in collection.facts] == [*tails, "rash"]
    assert (collection.problems, collection.notes) == ((), ())


@pytest.mark.parametrize(
    ("cell", "said"),
    [
        ([], "row 1: the tail is empty"),
        (numpy.array([]), "row 1: the tail is empty"),
        (None, "row 1: the tail is empty"),
        (float("nan"), "row 1: the tail is empty"),
        (pandas.NA, "row 1: the tail is empty"),
        (pandas.NaT, "row 1: the tail is empty"),
        ({"name": "pain"}, "row 1: the tail holds a record"),
        (numpy.array([["pain", "fever"]]), "row 1: the tail holds a list that cannot be read"),
        (pandas.Timestamp(2024, 3, 1), "row 1: the tail is a date"),
        (pandas.Timedelta(hours=30), "row 1: the tail is a date or a time"),
        (datetime.time(12, 30), "row 1: the tail is a date or a time"),
        (numpy.datetime64("2024-03-01"), "row 1: the tail is a date"),
        (True, "row 1: the tail is true or false"),
        (b"\xff", "row 1: the tail holds bytes"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_cells_that_hold_no_name_are_told_by_row_and_column(cell: Any, said: str) -> None:
    facts = medfact.load_facts(table_with(cell))
    assert [fact.tail for fact in facts.collection.facts] == ["rash"]
    (problem,) = facts.problems
    assert problem.startswith(said)


def test_columns_of_other_types_work() -> None:
    plain = medfact.load_facts(table_with("pain")).collection
    for kind in ("category", "string"):
        assert medfact.load_facts(table_with("pain").astype(kind)).collection.facts == plain.facts
    nullable = table_with("pain", positive=pandas.array([True, None], dtype="boolean"))
    assert medfact.load_facts(nullable).collection.facts == plain.facts
    numbers = medfact.load_facts(table_with("pain").assign(tail=pandas.array([1, None], dtype="Int64")))
    assert [fact.tail for fact in numbers.collection.facts] == ["1"]
    assert any(problem.startswith("Bare numbers (1): the tail of 1 row.") for problem in numbers.problems)


def test_columns_of_several_levels_are_joined_and_doubled_ones_are_a_sentence() -> None:
    table = table_with("pain")
    table.columns = pandas.MultiIndex.from_tuples([("head", ""), ("relation", ""), ("the", "tail")])
    assert [fact.tail for fact in medfact.load_facts(table, tail="the tail").collection.facts] == ["pain", "rash"]
    doubled = pandas.concat([table_with("pain"), table_with("fever")[["tail"]]], axis=1)
    with pytest.raises(FactsError, match=r"The data frame has the column 'tail' twice\. Rename one of them\."):
        medfact.load_facts(doubled)
    with pytest.raises(FactsError, match=r"The data frame: the columns 'Tail' and 'tail' differ in letters alone\."):
        medfact.load_facts(table_with("pain", Tail=["x", "y"])[["head", "relation", "Tail", "tail"]])


def test_own_facts_leave_the_machine_only_with_consent(frame: pandas.DataFrame) -> None:
    with pytest.raises(Mistake, match=r"api\.openai\.com.*send_facts=True"):
        medfact.evaluate("openai:gpt-4o", frame)


def two_runs(frame: pandas.DataFrame, url: str) -> tuple[Evaluated, Evaluated]:
    settings: dict[str, Any] = {"db": url, "limit": 20, "shots": 0, "progress": False}
    return medfact.evaluate(always("True"), frame, **settings), medfact.evaluate("baseline:negation-cue", frame, **settings)


def test_comparisons_and_figures(frame: pandas.DataFrame, url: str) -> None:
    one, other = two_runs(frame, url)
    compared = medfact.compare(one, other.id, db=url)
    rows = compared.frame().set_index("metric")
    assert rows.loc["joint_accuracy", "difference"] == -0.5
    assert (rows["a"] == one.id).all()
    figure = compared.figure()
    assert [trace.name for trace in figure.data] == ["function:lambda", "true unless denied"]
    assert len(figure.data[0].x) == 8
    with pytest.raises(Mistake, match="nothing to draw of 'calibration'"):
        one.report().figure("calibration")
    with pytest.raises(UnknownName, match="figure"):
        one.report().figure("a pie")
    assert "points" in compared._repr_html_()
    assert "20 pairs" in str(one.report())
    with pytest.raises(Mistake, match="different databases"):
        medfact.compare(one, medfact.evaluate(always("True"), frame, limit=2, shots=0, progress=False))


def test_the_data_of_each_run_stand_below_their_scores(frame: pandas.DataFrame, url: str) -> None:
    one, other = two_runs(frame, url)
    alike = medfact.compare(one, other.id, db=url).scores._repr_html_()
    assert f"<p>{one.record.dataset}, medfact, 0 shots, 95% intervals." in alike
    bundled = medfact.evaluate("baseline:always-true", limit=3, shots=2, progress=False, db=url)
    differ = medfact.compare(one, bundled.id, db=url).scores._repr_html_()
    assert f": {one.record.dataset}, medfact, 0 shots; " in differ
    assert "always says true: clinical-core, medfact, 2 shots. 95% intervals." in differ


def test_the_scores_are_rows(frame: pandas.DataFrame, url: str) -> None:
    """Always True: every false fact is affirmed, no true one denied, and each statement gets the answer of its negation."""
    scores = medfact.evaluate("baseline:always-true", frame, db=url, limit=20, shots=0, progress=False).report()
    rows = scores.frame().set_index(["group", "name", "figure"])["value"]
    assert rows["false_affirmation", "", "false_affirmation"] == 1.0
    assert rows["false_denial", "", "false_denial"] == 0.0
    assert rows["diagnosis", "always-yes", "share"] == 0.5
    assert rows["self_agreement", "negation", "share"] == 0.0
    assert rows["self_agreement", "", "affirms_both"] == 1.0
    assert rows.index.is_unique


def test_what_is_shown_is_escaped(url: str) -> None:
    def hostile(prompts: list[str]) -> list[str]:
        return ["<img src=x onerror=alert(1)>"] * len(prompts)

    hostile.__name__ = "<script>alert(1)</script>"
    named = [(f"<b>disease {number}</b>", "<i>symptoms</i>", f"<u>{number}</u>") for number in range(12)]
    frame = pandas.DataFrame(named, columns=["head", "relation", "tail"])
    frame["relation"] = ["symptoms"] * 12
    run = medfact.evaluate(hostile, frame, db=url, shots=0, progress=False)
    other = medfact.evaluate(always("True"), frame, db=url, shots=0, progress=False)
    for shown in (run._repr_html_(), run.report()._repr_html_(), medfact.compare(run, other)._repr_html_()):
        assert "script&gt;" in shown
        assert not re.search(r"<(script|img|b>disease|u>)", shown)
    shown = medfact.load_facts(frame)._repr_html_()
    assert "symptoms" in shown


def test_a_function_is_told_apart_by_more_than_its_source(frame: pandas.DataFrame, url: str) -> None:
    """Two functions of one source, which answer the opposite: no answer of the one is another's, and both count."""
    models = [always("True"), always("False")]
    with pytest.raises(Mistake, match="A function's answers cannot be reused"):
        medfact.evaluate(models[0], frame, db=url, limit=4, shots=0, progress=False, reuse=True)
    assert Store(url).runs() == []
    runs = [medfact.evaluate(model, frame, db=url, limit=4, shots=0, progress=False) for model in models]
    assert len({run.record.model_revision for run in runs}) == 1
    found = over_models(sides_of(Store(url), [run.id for run in runs]), Store(url))
    assert (len(found.models), found.left_out) == (2, ())


def test_reviewed_facts_alone_are_asked(frame: pandas.DataFrame, url: str) -> None:
    with pytest.raises(MedfactError, match="Reviewers have confirmed no fact"):
        medfact.evaluate(always("True"), frame, db=url, shots=0, progress=False, reviewed=True)
    listed = medfact.statements(frame, db=url, limit=4, shots=0)
    labels = dict(zip(listed["fact_id"], listed["positive"], strict=True))
    Store(url).verdicts.record([Verdict("ada", fact, TRUE if label else FALSE) for fact, label in labels.items()])
    run = medfact.evaluate(always("True"), frame, db=url, shots=0, progress=False, reviewed=True)
    assert {item.statement.fact.fact_id for item in Store(url).answers.asked(run.id)} == labels.keys()
    assert len(medfact.statements(frame, db=url, shots=0, reviewed=True)) == 64


def test_statements_are_those_that_a_run_asks(frame: pandas.DataFrame, url: str) -> None:
    store = Store(url)
    before = medfact.statements(frame, db=url, limit=4, shots=0)
    partner = before[before["negative_of"].notna()].iloc[0]
    store.decisions.reject(partner["negative_of"], partner["tail"])
    listed = medfact.statements(frame, db=url, limit=4, shots=0)
    assert partner["statement_id"] not in set(listed["statement_id"])
    run = medfact.evaluate(always("True"), frame, db=url, limit=4, shots=0, progress=False)
    assert set(listed["statement_id"]) == {item.statement.statement_id for item in store.answers.asked(run.id)}


def test_statements_create_no_database(frame: pandas.DataFrame, tmp_path: Path) -> None:
    assert len(medfact.statements(frame, db=f"sqlite:///{tmp_path / 'none.db'}", limit=4, shots=0)) == 64
    assert not (tmp_path / "none.db").exists()


def test_a_data_frame_is_kept_whole_or_not_at_all(frame: pandas.DataFrame, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(rows: Any, path: Path) -> int:
        path.write_text('{"head": ')
        raise OSError("No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr("medfact.notebook.source.write_table", full)
        with pytest.raises(OSError, match="No space"):
            medfact.load_facts(frame)
    assert list((home() / "notebook").iterdir()) == []
    assert len(medfact.load_facts(frame)) == 42
    assert len(list((home() / "notebook").iterdir())) == 1


@pytest.mark.parametrize("follow", [lambda events: _follow(events, False), lambda events: show_progress(events, "model")])
def test_a_run_is_closed_where_its_follower_fails(follow: Callable[[Any], Any]) -> None:
    """The generator is still held here, as a traceback holds it: only closing ends it."""
    closed = []

    def events() -> Iterator[Any]:
        try:
            yield AnswersSaved(None)
            yield AnswersSaved(())
        finally:
            closed.append(True)

    asking = events()
    with pytest.raises(TypeError):
        follow(asking)
    assert closed == [True]


def test_the_progress_bar_counts_statements(frame: pandas.DataFrame, url: str, capsys: pytest.CaptureFixture[str]) -> None:
    medfact.evaluate(always("True"), frame, db=url, limit=4, shots=0)
    assert "64/64" in capsys.readouterr().err


def test_a_part_that_is_missing_is_named() -> None:
    with (
        pytest.raises(NotInstalled, match=r"Tables and figures need pandas, .*\. Install it: pip install"),
        not_installed_errors(),
    ):
        raise ModuleNotFoundError("No module named 'pandas'", name="pandas.core")
    with pytest.raises(ModuleNotFoundError, match="others"), not_installed_errors():
        raise ModuleNotFoundError("No module named 'others'", name="others")
