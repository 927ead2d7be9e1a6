"""P(True) as a model states it: a second turn asks how sure it is, and its source is named wherever P(True) is shown."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from odd_service import Reply, Request, ScriptedService, chat_reply, error_body
from recorded import finished_event
from small_models import write_small_llama

from medfact.answers.prompts import CONFIDENCE_QUESTION
from medfact.exchange.rows import answer_row
from medfact.models import Completion, Prompt, ServiceSettings
from medfact.models.stated import sureness_in
from medfact.results.report import report_of
from medfact.results.sections import Figures
from medfact.results.sections.probabilities import calibration, coherence, good_for, surest
from medfact.results.text import report_text
from medfact.runs.costs import bill_of, costs
from medfact.runs.run import answer, run
from medfact.runs.start import start
from medfact.spec import RunSpec
from medfact.store import COMPLETE, Asked, Run, Store


@pytest.mark.parametrize(
    ("reply", "number"),
    [
        ("85", 85.0),
        (" 85%.", 85.0),
        ("**90**", 90.0),
        ("I am 70 % sure.", 70.0),
        ("80/100", 80.0),
        ("80 out of 100", 80.0),
        ("On a scale from 0 to 100: 60", 60.0),
        ("99.5", 99.5),
        ("0", 0.0),
        ("100", 100.0),
        ("<think>between 20 and 40</think>30", 30.0),
        ("0.85", None),
        ("1.0", None),
        ("101", None),
        ("-5", None),
        ("80-90", None),
        ("80, or perhaps 90", None),
        ("1,000", None),
        ("COVID-19: 90", None),
        ("quite sure", None),
        ("I cannot give a number from 0 to 100.", None),
        ("<think>80", None),
        ("", None),
    ],
)
def test_one_number_from_0_to_100_is_read_and_nothing_else(reply: str, number: float | None) -> None:
    assert sureness_in(reply) == number


def is_second(request: Request) -> bool:
    return request.prompt == CONFIDENCE_QUESTION or request.prompt.endswith(f"{CONFIDENCE_QUESTION}\nAnswer:")


def told_of(request: Request) -> str:
    """What the model answered in the first turn, as the second one has it."""
    return str(request.body["messages"][-2]["content"])


def spec_of(service: ScriptedService, facts: Path, settings: dict[str, Any] | None = None, **more: Any) -> RunSpec:
    own = ServiceSettings(base_url=service.base_url, key="k", timeout=10, **(settings or {}))
    return RunSpec(**{"model": "openai:m", "facts": str(facts), "limit": 2, "shots": 0, "service": own, "stated": True, **more})


def asked(spec: RunSpec, store: Store) -> tuple[Run, list[Asked]]:
    last = finished_event(run(spec, store))
    assert (last.state, last.failed) == (COMPLETE, 0)
    return store.run(last.run), list(store.answers.asked(last.run))


def by_statement(request: Request) -> Reply:
    """True of every second statement, sure by 80 of it; and of the others sure by a number of no use or 90."""
    if is_second(request):
        return Reply(chat_reply("80" if told_of(request) == "True" else "90, or 95" if "not" in str(request.body) else "90"))
    return Reply(chat_reply("True" if len(request.prompt) % 2 else "False"))


def test_sureness_becomes_p_true_and_is_recorded(facts_file: Path, store: Store) -> None:
    with ScriptedService(by_statement) as service:
        record, items = asked(spec_of(service, facts_file), store)
        seconds = [request for request in service.requests if is_second(request)]
        assert len(seconds) == len(items)
        assert [turn["role"] for turn in seconds[0].body["messages"]] == ["user", "assistant", "user"]
        assert not any("logprobs" in request.body for request in service.requests)
    for item in items:
        assert item.answer is not None
        expected = {"80": 0.8, "90": 0.1, "90, or 95": None}[item.answer.stated or ""]
        assert item.answer.p_true == expected
        assert item.answer.answer is (item.answer.stated == "80")
    assert {item.answer and item.answer.p_true for item in items} == {0.8, 0.1, None}
    assert record.decoding["p_true"] == "stated"
    row = answer_row(next(item for item in items if item.answer and item.answer.p_true == 0.8), record)
    assert (row["p_true_source"], row["stated"]) == ("stated", "80")
    bill = bill_of(record, store)
    assert bill is not None
    assert (bill["calls"], bill["prompt_tokens"]) == (2 * len(items), 60 * len(items))
    assert "stated by the model when asked how sure it is" in report_text(report_of(store, record))


def test_who_does_not_answer_is_not_asked_how_sure_and_a_failed_second_call_is_no_failed_answer(
    facts_file: Path, store: Store
) -> None:
    def reply(request: Request) -> Reply:
        if is_second(request):
            return Reply(error_body("out of order"), 500)
        return Reply(chat_reply("True" if len(request.prompt) % 2 else "I am a language model."))

    with ScriptedService(reply) as service:
        _, items = asked(spec_of(service, facts_file, {"tries": 1}), store)
        texts = {told_of(request) for request in service.requests if is_second(request)}
    assert texts == {"True"}
    assert {(item.answer.answer, item.answer.p_true, item.answer.failure) for item in items if item.answer} == {
        (True, None, None),
        (None, None, None),
    }


def test_a_model_that_thinks_is_asked_without_its_thinking(facts_file: Path, store: Store) -> None:
    def reply(request: Request) -> Reply:
        return Reply(
            chat_reply("<think>0 or 100?</think>\n\n70" if is_second(request) else "<think>False? No.</think>\n\nTrue")
        )

    with ScriptedService(reply) as service:
        _, items = asked(spec_of(service, facts_file), store)
        assert {told_of(request) for request in service.requests if is_second(request)} == {"True"}
    assert {(item.answer.p_true, item.answer.stated) for item in items if item.answer} == {(0.7, "70")}


def test_a_text_goes_on_with_the_question_and_a_note_says_so(facts_file: Path, store: Store) -> None:
    def reply(request: Request) -> Reply:
        assert request.path.endswith("/completions")
        text = " 65\n" if is_second(request) else " True"
        return Reply(
            {"choices": [{"text": text, "finish_reason": "stop"}], "usage": {"prompt_tokens": 9, "completion_tokens": 2}}
        )

    with ScriptedService(reply) as service:
        record, items = asked(spec_of(service, facts_file, {"completions": True}), store)
    assert {item.answer and item.answer.p_true for item in items} == {0.65}
    assert any("goes on with" in note for note in record.notes)


def test_the_second_turn_is_estimated_beforehand(facts_file: Path) -> None:
    with ScriptedService(by_statement) as service:
        stated, plain = (costs(spec_of(service, facts_file, stated=stated)) for stated in (True, False))
    assert stated["prompt_tokens"] > 2 * plain["prompt_tokens"]
    assert stated["completion_tokens"] == 2 * plain["completion_tokens"]


def test_sources_are_named_and_never_in_one_plot(facts_file: Path, store: Store) -> None:
    with ScriptedService(by_statement) as service:
        records = [
            asked(spec_of(service, facts_file, settings, stated=stated), store)[0]
            for settings, stated in (({"repeats": 2}, False), ({}, True))
        ]
    figures = Figures({name: report_of(store, record) for name, record in zip(("one", "two"), records, strict=True)})
    assert [report.p_true_source for report in figures.reports.values()] == ["repeats", "stated"]
    for section in (calibration(figures), coherence(figures), surest(figures)):
        assert section is not None
        drawn = repr([block for block in section.blocks if type(block).__name__ != "Note"])
        notes = repr([block for block in section.blocks if type(block).__name__ == "Note"])
        assert "'two'" not in drawn
        assert "two is not drawn: its probabilities are stated by the model when asked how sure it is" in notes
    table = good_for(figures)
    assert table is not None
    assert "estimated from repeated answers" in repr(table)
    assert "stated by the model when asked how sure it is" in repr(table)


# ------------------------------------------------------------------------------------------------ on this machine


@dataclass
class Talker:
    """A chat model on this machine whose replies are known. seen: all that it was asked."""

    chat: bool = True
    spec: str = "hf:talker"
    seen: list[Prompt] = field(default_factory=list)

    @property
    def info(self) -> Any:
        return {"revision": "1", "decoding": {"greedy": True}}

    def complete(self, prompts: Sequence[Prompt]) -> Iterator[tuple[int, Completion]]:
        for index, prompt in enumerate(prompts):
            self.seen.append(prompt)
            yield index, Completion("40" if CONFIDENCE_QUESTION in str(prompt.content) else "False", 0.9, 1.0)


@pytest.mark.parametrize("chat", [True, False], ids=["chat", "text"])
def test_a_model_on_this_machine_is_asked_too(chat: bool, facts_file: Path, store: Store) -> None:
    model = Talker(chat)
    record = start(RunSpec("hf:talker", facts=str(facts_file), limit=2, shots=0, stated=True), store)
    finished_event(answer(record, store, load=lambda *_, **__: model))
    items = store.answers.asked(record)
    assert {(item.answer.answer, item.answer.p_true, item.answer.stated) for item in items if item.answer} == {
        (False, 0.6, "40")
    }
    assert len(model.seen) == 2 * len(items)
    assert store.run(record).decoding["p_true"] == "stated"
    assert any("goes on with" in note for note in store.run(record).notes) is not chat


@pytest.mark.model
def test_a_small_chat_model_gets_a_second_turn(facts_file: Path, tmp_path: Path, store: Store) -> None:
    folder = write_small_llama(tmp_path / "llama", chat=True, answer_weight=3.0, context=4096)
    record, items = asked(RunSpec(f"hf:{folder}", facts=str(facts_file), limit=1, shots=0, stated=True), store)
    readable = [item.answer for item in items if item.answer and item.answer.answer is not None]
    assert readable
    assert all(one.stated is not None for one in readable)
    assert all((one.p_true is None) is (sureness_in(one.stated or "") is None) for one in readable)
    assert record.decoding["p_true"] == "stated"


def test_a_rule_gives_its_own_p_true(facts_file: Path, store: Store) -> None:
    record, items = asked(RunSpec("baseline:random", facts=str(facts_file), limit=1, shots=0, stated=True), store)
    assert {item.answer and item.answer.stated for item in items} == {None}
    assert record.p_true_source != "stated"


def test_repeats_and_stated_exclude_each_other(medfact: Callable[..., Any]) -> None:
    outcome = medfact("run", "--model", "openai:m", "--stated", "--repeats", 3, "--base-url", "http://127.0.0.1:9/v1")
    assert outcome.code == 2
    assert outcome.err.strip().endswith(
        "P(True) is either stated or comes from repeated answers. Leave out --stated or --repeats."
    )


def test_a_file_of_a_run_brings_what_was_stated(
    facts_file: Path, tmp_path: Path, medfact: Callable[..., Any], store: Store
) -> None:
    with ScriptedService(by_statement) as service:
        record, items = asked(spec_of(service, facts_file), store)
    assert medfact("export", record.run, "-o", tmp_path / "run.jsonl.gz", "--db", store.url).code == 0
    other = f"sqlite:///{tmp_path / 'other.db'}"
    assert medfact("import", tmp_path / "run.jsonl.gz", "--db", other).code == 0
    rows = medfact("answers", record.run, "--db", other).rows
    assert sorted(str(row["stated"]) for row in rows) == sorted(str(item.answer and item.answer.stated) for item in items)
    assert json.dumps(rows[0])
