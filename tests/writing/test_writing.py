"""What a language model writes, and what of it is asked: a scripted writer behind a real service on loopback."""

from __future__ import annotations

import io
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
from app_builders import quick_processes as quick_processes
from mock_service import Behaviour, MockService
from processes import CommandProcess
from scripted import ScriptedModel, spread_signs
from small_models import write_inference_model
from waiting import wait_until
from writers import negate, parse_statement, parse_triplet, rephrase, write_lines

from medfact.errors import ModelError
from medfact.exchange import export_run, import_run
from medfact.models import ServiceSettings
from medfact.results import papers
from medfact.results.live import Live
from medfact.results.papers import CHANCE
from medfact.results.report import report_of
from medfact.results.text import report_text
from medfact.runs.ask import BATCH
from medfact.runs.plan import plan
from medfact.runs.run import answer
from medfact.runs.start import start_again, start_planned
from medfact.spec import RunSpec
from medfact.statements import PROTOTYPE
from medfact.store import Store
from medfact.web.pages.papers import case_study
from medfact.writing.runs import attempts_of, evaluation_plan, evaluation_spec, sentences, start_writing, write
from medfact.writing.sentences import rejections
from medfact.writing.templates import eight_of, usable_lines

pytestmark = pytest.mark.usefixtures("quick_processes")

FACTS = 5
STATEMENTS = FACTS * 2 * 8


WAYS: dict[str, Callable[[str], str]] = {
    "flipped": negate,
    "stronger": lambda text: text.replace(".", " in every patient, always."),
    "weaker": lambda text: re.sub(r" (is|are|include|does|do|affects?)\b", " may be", text),
    "two sentences": lambda text: f"{text} This is well known.",
    "explained": lambda text: text.replace(".", " because of inflammation."),
    "introduced": lambda text: f"Here is the paraphrased statement: {text}",
    "narrowed": lambda text: text.replace(".", " in severe cases in children."),
    "empty": lambda text: "",
    "other": lambda text: "Aspirin is used to treat headache.",
    "question": lambda text: text.replace(".", "?"),
}


def spec_of(service: MockService) -> RunSpec:
    settings = ServiceSettings(base_url=service.base_url, tries=2)
    return RunSpec(model="openai:writer", limit=FACTS, shots=0, service=settings)


def written(service: MockService, store: Store, kind: str = "rephrase") -> str:
    writing = start_writing(kind, spec_of(service), store)
    assert list(write(writing, store))
    return writing


@pytest.mark.parametrize("way", WAYS)
def test_no_changed_claim_reaches_a_run(way: str, store: Store) -> None:
    with MockService(Behaviour(write_reply=lambda prompt: WAYS[way](parse_statement(prompt)))) as service:
        writing = written(service, store)
        assert len(service.calls) == len(service.call_counts()) == 3 * STATEMENTS, "each sentence was tried three times"
    planned = evaluation_plan(writing, store)
    assert len(planned.statements) == STATEMENTS
    for item, made in zip(store.answers.asked(writing), planned.statements, strict=True):
        assert made.statement.text == item.statement.text
        assert made.statement.origin.startswith("prototype; the rephrasing by openai:writer")
    counts = rejections(sentences(writing, store))
    assert sum(of["total"] for of in counts.values()) == STATEMENTS
    assert not any("rephrased" in of for of in counts.values())
    assert f"rephrased 0 of {STATEMENTS} sentences; {STATEMENTS} keep the original" in planned.notes[-1]


def test_a_second_attempt_is_told_what_to_keep(store: Store) -> None:
    """The first attempt is bad, the second one good: every sentence is rephrased, and each has cost two calls."""

    def writer(prompt: str) -> str:
        return rephrase(prompt) if "Keep all medical terms" in prompt else negate(parse_statement(prompt))

    with MockService(Behaviour(write_reply=writer)) as service:
        writing = written(service, store)
        assert len(service.calls) == 2 * STATEMENTS
    assert [*attempts_of(writing, store)] == ["rephrase", "rephrase-again"]
    made = sentences(writing, store)
    assert all(sentence.text is not None and len(sentence.stopped) == 1 for sentence in made)
    assert {item.statement.origin.partition(" (")[0] for item in evaluation_plan(writing, store).statements} == {
        "rephrased by openai:writer",
        "prototype; openai:writer",  # what it repeated
    }


def test_nothing_is_paid_for_twice(store: Store) -> None:
    with MockService(Behaviour(write_reply=rephrase)) as service:
        writing = start_writing("rephrase", spec_of(service), store)
        seen = 0
        for event in write(writing, store, stopped=lambda: len(service.calls) > STATEMENTS // 3):
            seen += len(getattr(event, "answers", ()))
        assert 0 < seen < STATEMENTS, "it was stopped on its way"
        list(write(writing, store))
        assert max(service.call_counts().values()) == 1
        calls = len(service.calls)
        list(write(writing, store))
        assert len(service.calls) == calls == STATEMENTS


def test_a_failed_call_is_no_rejected_sentence(store: Store) -> None:
    with MockService(Behaviour(write_reply=rephrase, prompt_faults={"500": 0.1})) as service:
        writing = written(service, store)
        assert [*attempts_of(writing, store)] == ["rephrase"]
        with pytest.raises(Exception, match="is not complete"):
            evaluation_plan(writing, store)


def test_written_sentences_are_asked_and_travel(store: Store, medfact: Callable[..., Any], url: str, tmp_path: Path) -> None:
    with MockService(Behaviour(write_reply=rephrase)) as service:
        writing = written(service, Store(url))
    outcome = medfact("run", "--writing", writing, "--model", "baseline:negation-cue", "--db", url)
    assert outcome.code == 0, outcome.err
    (row,) = outcome.rows
    assert row["joint_accuracy"] == 0.5
    asked = Store(url).answers.asked(row["run"])
    rewritten = [item for item in asked if item.statement.origin != PROTOTYPE]
    assert any("known symptom" in item.statement.text for item in rewritten)
    file = tmp_path / "run.jsonl.gz"
    assert medfact("export", row["run"], "-o", file, "--db", url).code == 0
    other = f"sqlite:///{tmp_path}/other.db"
    assert medfact("import", file, "--db", other).code == 0
    arrived = Store(other).answers.asked(row["run"])
    assert [(i.statement.text, i.statement.origin) for i in arrived] == [(i.statement.text, i.statement.origin) for i in asked]
    again = medfact("run", "--again", row["run"], "--model", "baseline:always-true", "--db", other).rows[0]
    assert [i.statement.text for i in Store(other).answers.asked(again["run"])] == [i.statement.text for i in asked]
    listed = medfact("written", writing, "--db", url)
    assert len(listed.rows) == STATEMENTS
    assert {"prototype", "rephrasing", "stopped"} <= listed.rows[0].keys()


# ------------------------------------------------------------------------------------------------ LLMEval

NUMBERS = ("one", "two", "three", "four", "five", "six", "seven", "eight")
EIGHT_LINES = "\n".join(f"Sentence number {word} about the fact." for word in NUMBERS)


@pytest.mark.parametrize(
    ("reply", "usable"),
    [
        (EIGHT_LINES, 8),
        ("\n".join(EIGHT_LINES.splitlines()[:5]), 5),
        (EIGHT_LINES + "\n" + EIGHT_LINES.replace("Sentence", "Line").replace("five", "nine"), 16),
        ("\n".join(f"{n}. {line}" for n, line in enumerate(EIGHT_LINES.splitlines(), 1)), 8),
        ("\n".join(f"- {line}" for line in EIGHT_LINES.splitlines()), 8),
        ("\n".join(f"* “{line}”" for line in EIGHT_LINES.splitlines()), 8),
        (f"Here are 8 statements:\n\n{EIGHT_LINES}", 8),
        (f"Sure! These express the triplet.\n{EIGHT_LINES}\nI hope this helps", 8),
        (EIGHT_LINES.replace("\n", "\n\n \n"), 8),
        (EIGHT_LINES + "\n" + EIGHT_LINES, 8),
        ("Fever is a symptom of influenza, " * 12, 0),
        ("", 0),
        ("True", 0),
    ],
)
def test_lines_of_a_reply(reply: str, usable: int) -> None:
    lines = usable_lines(reply)
    assert len(lines) == usable
    assert all(re.fullmatch(r"[A-Z].*\.", line) for line in lines)
    assert (eight_of(reply) is None) == (usable < 8)


def test_eight_sentences_of_a_model_are_asked_without_implications(store: Store) -> None:
    """Of 10 facts, those whose triplet has an even length get five lines alone, and are left out."""
    with MockService(
        Behaviour(write_reply=lambda prompt: write_lines(prompt, 8 if len(parse_triplet(prompt)) % 2 else 5))
    ) as service:
        writing = written(service, store, "llmeval")
        assert len(service.calls) == FACTS * 2
    planned = evaluation_plan(writing, store)
    kept = {item.statement.fact.fact_id for item in store.answers.asked(writing) if len(item.statement.text) % 2}
    assert {item.statement.fact.fact_id for item in planned.statements} == kept
    assert len(planned.statements) == 8 * len(kept)
    assert f"{len(kept)} of 10 facts; {10 - len(kept)} are left out" in planned.notes[-1]
    run = start_planned(replace(evaluation_spec(store.run(writing)), model="baseline:always-true"), planned, store)
    assert list(answer(run, store))
    report = report_of(store, store.run(run))
    true = sum(item.statement.fact.positive and item.statement.variant == "L1" for item in planned.statements)
    assert report.joint_accuracy.value == true / len(kept), "all labels of a fact are equal, as in the paper"
    assert not report.by_variant
    assert not report.by_form
    assert (report.method, report.rephraser) == ("LLMEval", None)


def test_what_was_written_of_false_partners_alone_can_be_taken_elsewhere(store: Store, tmp_path: Path) -> None:
    """Nothing is known of whose partner a false fact is unless the true one goes along, which this run does not ask."""

    def writer(prompt: str) -> str:
        return write_lines(prompt, 8 if parse_triplet(prompt) in partners else 5)

    partners = {f"({f.head}, {f.relation}, {f.tail})" for f in plan(RunSpec("", limit=FACTS, shots=0)).facts if not f.positive}
    with MockService(Behaviour(write_reply=writer)) as service:
        writing = written(service, store, "llmeval")
    planned = evaluation_plan(writing, store)
    assert {item.statement.fact.positive for item in planned.statements} == {False}
    run = start_planned(replace(evaluation_spec(store.run(writing)), model="baseline:always-true"), planned, store)
    assert list(answer(run, store))
    again = start_again(run, store)
    assert list(answer(again, store))
    other = Store(f"sqlite:///{tmp_path / 'other.db'}")
    for one in (run, again):
        file = io.BytesIO()
        export_run(store, one, file)
        file.seek(0)
        assert import_run(other, file, "run.jsonl.gz") == one
        assert [item.statement for item in other.answers.asked(one)] == [item.statement for item in planned.statements]


def test_a_writing_asks_for_no_probabilities(store: Store) -> None:
    """It has no P(True), so that nothing is said of one."""
    with MockService(Behaviour(write_reply=rephrase, ignores_logprobs=True)) as service:
        writing = start_writing("rephrase", spec_of(service), store)
        assert list(write(writing, store))
        assert not any(call.body.get("logprobs") for call in service.calls)
    assert not any("P(True)" in note for note in store.run(writing).notes)


# ------------------------------------------------------------------------------------------------ the papers' experiment


def test_origin_llmeval_and_pretexttrans_side_by_side(store: Store) -> None:
    """Table 3 with a scripted model: 1 of 2 answers right on the original statements, 12 of 16 on LLMEval's, and 10 of 16 on
    the rephrased ones. Of these the plain ones alone, −LogImp, are 1 of 2.
    """
    spec = RunSpec(model="openai:writer", limit=1, shots=0, protocol="pretexttrans")
    origin = start_planned(replace(spec, model="scripted", pool="origin"), plan(replace(spec, pool="origin")), store)
    runs = {"Origin": (origin, ("+", "-"))}
    with MockService(Behaviour(write_reply=lambda p: write_lines(p, 8) if parse_triplet(p) else rephrase(p))) as service:
        for kind, signs in (("llmeval", ("++++++++", "++++----")), ("rephrase", ("++++ ++--", "-++- --++"))):
            settings = ServiceSettings(base_url=service.base_url)
            writing = start_writing(kind, replace(spec, service=settings), store)
            assert list(write(writing, store))
            asked = replace(evaluation_spec(store.run(writing)), model="scripted")
            runs[kind] = start_planned(asked, evaluation_plan(writing, store), store), signs
    reports = []
    for run, (of_true, of_false) in runs.values():
        facts = {item.statement.fact for item in store.answers.asked(run)}
        variants = list(dict.fromkeys(item.statement.variant for item in store.answers.asked(run)))
        ours = {(fact.head, fact.tail or ""): of_true if fact.positive else of_false for fact in facts}
        assert list(answer(run, store, load=lambda *_, **__: ScriptedModel.for_run(run, store, spread_signs(ours, variants))))  # noqa: B023
        reports.append(report_of(store, store.run(run)))
    assert [report.method for report in reports] == ["PretextTrans, Origin", "LLMEval", "PretextTrans"]
    assert [report.average_accuracy.value for report in reports] == [1 / 2, 12 / 16, 10 / 16]
    table, parts = papers.tables(reports, "pretexttrans")[:2]
    assert [cell and cell.value for cell in table.rows[0].cells] == [0.5, 0.75, 0.625], "side by side"
    assert table.rows[1].origin == CHANCE
    assert [cell and cell.value for cell in parts.rows[0].cells] == [0.625, 0.5, None]
    records = [store.run(report.run) for report in reports]
    lives = {
        run.run: Live(run, None, report, (run.changed, run.state, 0), run.state)
        for run, report in zip(records, reports, strict=True)
    }
    shown = case_study(Mock(store=store), lives, 3)
    assert "of 2 facts that both ask, 1 is all right in LLMEval's sentences and 0 in those of PretextTrans" in shown
    assert "LLMEval: 8 of 8 right" in shown
    assert "PretextTrans: 6 of 8 right" in shown
    assert "case 1 of 1" in shown


# ------------------------------------------------------------------------------------------------ demonstrations

SHOTS = 3


def test_demonstrations_are_rephrased_as_the_statements_are(store: Store, url: str, medfact: Callable[..., Any]) -> None:
    """5 facts with a partner each, 8 ways: 80 statements. Before those of one way and relation stand 3 demonstrations, each of
    which is written once more; nothing of them is asked.
    """
    with MockService(Behaviour(write_reply=rephrase)) as service:
        spec = replace(spec_of(service), shots=SHOTS)
        planned = plan(spec)
        asked = {item.shots_of for item in planned.statements}
        prototypes = {group: shots for group, shots in planned.demonstrations.items() if group in asked}
        writing = start_writing("rephrase", spec, store)
        assert list(write(writing, store))
        demonstrations = {shot.text for shots in prototypes.values() for shot in shots}
        assert len(service.call_counts()) == STATEMENTS + len(demonstrations)
    planned = evaluation_plan(writing, store)
    assert len(planned.statements) == STATEMENTS
    assert not {item.statement.text for item in planned.statements} & demonstrations
    by_prototype = {made.prototype.text: made.text or made.prototype.text for made in sentences(writing, store)}
    assert {group: [by_prototype[shot.text] for shot in shots] for group, shots in prototypes.items()} == {
        group: [shot.text for shot in planned.demonstrations[group]] for group in prototypes
    }
    changed = [text for text in demonstrations if by_prototype[text] != text]
    assert changed, "the writer has words for some of them"
    for group, shots in prototypes.items():
        assert [shot.label for shot in planned.demonstrations[group]] == [shot.label for shot in shots]
    (run,) = medfact("run", "--writing", writing, "--model", "baseline:random", "--db", url).rows
    report = medfact("report", run["run"], "--json", "--db", url).rows[0]
    assert report["shots_rephrased"] is True
    said = f"rephrased the demonstrations too: {len(changed)} of {len(demonstrations)} sentences"
    assert any(said in note for note in report["notes"])
    assert "rephrased as the statements are" in medfact("report", run["run"], "--latex", "--db", url).out
    roles = Counter(row["role"] for row in medfact("written", writing, "--db", url).rows)
    assert roles == {"test": STATEMENTS, "shots": len(demonstrations)}


def test_a_writing_with_demonstrations_travels(store: Store, url: str, medfact: Callable[..., Any], tmp_path: Path) -> None:
    """Every false fact that is shown comes with its true one, as the file of a run needs."""
    with MockService(Behaviour(write_reply=rephrase)) as service:
        writing = start_writing("rephrase", replace(spec_of(service), shots=SHOTS), store)
        assert list(write(writing, store))
    file = tmp_path / "writing.jsonl.gz"
    assert medfact("export", writing, "-o", file, "--db", url).code == 0
    other = f"sqlite:///{tmp_path}/other.db"
    with file.open("rb") as stream:
        assert import_run(Store(other), stream, file.name) == writing
    assert len(medfact("written", writing, "--db", other).rows) == len(medfact("written", writing, "--db", url).rows)


def test_a_run_of_before_says_that_its_demonstrations_are_not_rephrased(store: Store) -> None:
    """A writing that was made before has no demonstrations among its sentences."""
    with MockService(Behaviour(write_reply=rephrase)) as service:
        spec = replace(spec_of(service), shots=SHOTS)
        old = replace(plan(spec), aside=())
        writing = start_planned(replace(spec, task="rephrase"), old, store)
        assert list(write(writing, store))
    planned = evaluation_plan(writing, store)
    assert planned.demonstrations == old.demonstrations
    run = start_planned(replace(evaluation_spec(store.run(writing)), model="baseline:random"), planned, store)
    assert list(answer(run, store))
    made = report_of(store, store.run(run))
    assert made.shots_rephrased is False
    assert "its worked examples are not" in report_text(made)


# ------------------------------------------------------------------------------------------------ a process that is killed


def test_a_writing_that_is_killed_goes_on_and_pays_for_little_twice(store: Store, tmp_path: Path) -> None:
    """Killed again and again, in every attempt: the sentences are those of an undisturbed writing. Only calls on their
    way at a kill are made again.
    """
    kills, in_flight = 5, 4
    with MockService(Behaviour(write_reply=lambda prompt: negate(parse_statement(prompt)), latency=0.02)) as service:
        at = (
            "--model",
            "openai:writer",
            "--base-url",
            service.base_url,
            "--in-flight",
            in_flight,
            "--limit",
            FACTS,
            "--shots",
            0,
        )
        undisturbed = CommandProcess(tmp_path / "one", "write", "rephrase", *at, "--db", store.url).wait()
        assert undisturbed.code == 0, undisturbed.err
        assert len(service.calls) == 3 * STATEMENTS
        first = store.writings()[0].run
        killed = CommandProcess(tmp_path / "two", "write", "rephrase", *at, "--db", store.url)
        for kill in range(kills):
            calls = len(service.calls)
            wait_until(lambda: len(service.calls) > calls + STATEMENTS // 3)  # noqa: B023
            assert killed.kill(), kill
            second = [run.run for run in store.writings() if run.spec.writing is None][-1]
            killed = CommandProcess(tmp_path / "two", "resume", second, "--db", store.url)
        assert killed.wait().code == 0, killed.err
        assert len(service.calls) <= 6 * STATEMENTS + kills * (in_flight + 2 * BATCH)
    assert [run.spec.task for run in attempts_of(second, store).values()] == ["rephrase", "rephrase-again", "rephrase-last"]
    for one, other in zip(sentences(first, store), sentences(second, store), strict=True):
        assert (one.prototype, one.text, one.replies, one.stopped) == (
            other.prototype,
            other.text,
            other.replies,
            other.stopped,
        )


def test_the_papers_experiment_is_one_command(store: Store, url: str, medfact: Callable[..., Any]) -> None:
    """Who always says true is right on half of the statements in every set, and masters LLMEval's true facts alone."""
    with MockService(Behaviour(write_reply=lambda p: write_lines(p, 8) if parse_triplet(p) else rephrase(p))) as service:
        writings = [
            start_writing(kind, replace(spec_of(service), protocol="pretexttrans"), store) for kind in ("rephrase", "llmeval")
        ]
        assert all(list(write(writing, store)) for writing in writings)
    sets = [option for name in (*writings, "prototypes", "origin") for option in ("--writing", name)]
    outcome = medfact("run", *sets, "--model", "baseline:always-true", "--db", url)
    assert outcome.code == 0, outcome.err
    assert [row["average_accuracy"] for row in outcome.rows] == [0.5] * 4
    assert [row["joint_accuracy"] for row in outcome.rows] == [0, 0.5, 0, 0.5]
    refused = medfact("run", *sets, "--limit", 3, "--db", url)
    assert refused.code == 2
    assert "fixes what is asked" in refused.err


# ------------------------------------------------------------------------------------------------ entailment


@pytest.mark.parametrize(("says", "used"), [("entailment", True), ("neutral", False), ("contradiction", False)])
def test_a_model_for_inference_is_a_further_guard(says: str, used: bool, store: Store, tmp_path: Path) -> None:
    nli = f"hf:{write_inference_model(tmp_path / 'nli', says)}"
    with MockService(Behaviour(write_reply=rephrase)) as service:
        writing = start_writing("rephrase", replace(spec_of(service), entailment=nli), store)
        assert list(write(writing, store))
    fates = Counter(sentence.fate for sentence in sentences(writing, store))
    assert (fates["rephrased"] > 0, fates["entailment"] > 0) == (used, not used)
    assert store.run(writing).spec.entailment == nli


def test_a_model_without_entailment_is_refused_before_anything_is_written(store: Store, tmp_path: Path) -> None:
    nli = f"hf:{write_inference_model(tmp_path / 'nli', 'a', ('a', 'b'))}"
    with pytest.raises(ModelError, match="has no label “entailment”, but a, b"):
        start_writing("rephrase", RunSpec(model="openai:writer", limit=FACTS, entailment=nli), store)
    with pytest.raises(ModelError, match="cannot be loaded"):
        start_writing("rephrase", RunSpec(model="openai:writer", limit=FACTS, entailment=f"hf:{tmp_path}/nothing"), store)
    assert not store.writings()
