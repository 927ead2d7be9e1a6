"""Runs under pressure: what is asked, in which form, and what is kept, however a run ends; and figures known beforehand."""

from __future__ import annotations

import gzip
import io
import json
import random
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from mock_service import Behaviour, MockService
from pushed import PUSHES_BY_TEXT, PushedModel, PushRule
from recorded import complete_run, finished_event
from small_facts import make_fact_rows, write_csv
from small_models import write_small_llama

from medfact.cli import progress
from medfact.errors import Mistake
from medfact.exchange.rows import answer_row
from medfact.exchange.transfer import export_run, import_run
from medfact.metrics.pressure import KEEPS, LOSES, OBEDIENT, UNREADABLE_AFTER, AfterPush, Moved, Pressure
from medfact.metrics.uncertainty import Estimate
from medfact.models import Placement, Prompt, ServiceSettings, load_model
from medfact.models.pressure import CONTROL, PRESSURES, ROUNDS, Push, Replied, kinds_asked, pressed, pushes
from medfact.results.pressed import pressure_of
from medfact.results.report import report_of
from medfact.results.sections.pressure import _moved
from medfact.results.text import report_text
from medfact.runs.board import board_of
from medfact.runs.costs import bill_of, costs
from medfact.runs.events import Event, Finished, PushesSaved, Started
from medfact.runs.pressure import IN_A_TEXT
from medfact.runs.run import answer, run
from medfact.runs.start import start
from medfact.spec import RunSpec
from medfact.store import COMPLETE, STOPPED, Asked, Run, Store
from medfact.web.evaluate.form import Setup

ALL = tuple(PRESSURES)
TWO = ("doubt", "authority")


@pytest.fixture
def facts(tmp_path: Path) -> Path:
    """Twenty diseases, each with one symptom."""
    rows = [row for row in make_fact_rows(20) if row["relation"] == "symptoms"][::2]
    return write_csv(tmp_path / "twenty.csv", rows)


def spec_of(facts: Path, pressure: tuple[str, ...] = ALL, **more: Any) -> RunSpec:
    return RunSpec(**{"model": "scripted", "facts": str(facts), "limit": 20, "shots": 0, "pressure": pressure, **more})


def knows(item: Asked) -> bool:
    """The first answer: right of half of the diseases."""
    return int(item.statement.fact.head[-2:]) % 2 == 0


def pressed_run(store: Store, facts: Path, right: PushRule, **more: Any) -> tuple[Run, PushedModel, Pressure]:
    made = start(spec_of(facts, **more), store)
    model = PushedModel.for_run(made, store, right)
    last = finished_event(answer(made, store, load=model.load))
    assert (last.state, last.failed) == (COMPLETE, 0)
    record = store.run(made)
    found = pressure_of(record, board_of(store, made).records(), store)
    assert found is not None
    return record, model, found


def stubborn(item: Asked, push: Push | None, was: bool) -> bool:
    return was if push else knows(item)


def holds(item: Asked, push: Push | None, was: bool) -> bool:
    """Right answers stay; a push makes it mend the wrong ones."""
    return was or push.kind != CONTROL if push else knows(item)


def yields_to_all(item: Asked, push: Push | None, was: bool) -> bool:
    """After each push the other answer; not after the control."""
    return (was if push.kind == CONTROL else not was) if push else knows(item)


def yields_to_authority(item: Asked, push: Push | None, was: bool) -> bool:
    """It gives its answers up to a professor alone, and stays with that."""
    return (was if push.kind != "authority" or push.round > 1 else not was) if push else knows(item)


def figures(one: AfterPush) -> tuple[Any, ...]:
    return one.held.value, one.yields_to_truth.value, one.gain.value, one.mastered_and_held.value, one.diagnosis


HALF = 0.5
"""Ten of twenty diseases are known, with their false partners: half of the facts are mastered, half of the answers right."""


@pytest.mark.parametrize(
    ("right", "expected"),
    [
        # held, yields, gain, mastered and held, diagnosis: after the first round, and after the second
        (stubborn, dict.fromkeys(TWO, ((1, 0, 0, HALF, KEEPS),) * 2)),
        # of ten known diseases a loss of 10 points cannot be excluded, so that “holds” is not shown
        (holds, dict.fromkeys(TWO, ((1, 1, 1, HALF, None),) * 2)),
        # the second push brings the first answers back: what was right is right again, and was lost in between
        (yields_to_all, dict.fromkeys(TWO, ((0, 1, 0, 0, OBEDIENT), (1, 0, 0, HALF, LOSES)))),
        (
            yields_to_authority,
            {kind: ((0, 1, 0, 0, OBEDIENT) if kind == "authority" else (1, 0, 0, HALF, KEEPS),) * 2 for kind in TWO},
        ),
    ],
)
def test_scripted_models_give_the_figures_worked_by_hand(
    right: PushRule, expected: dict[str, tuple[tuple[Any, ...], ...]], store: Store, facts: Path
) -> None:
    _, model, found = pressed_run(store, facts, right, pressure=TWO)
    assert (found.mastered.value, found.mastered.n) == (HALF, 40)
    assert [one.kind for one in found.after][:ROUNDS] == [CONTROL, CONTROL]
    for turn in range(1, ROUNDS + 1):
        control = found.of(CONTROL, turn)
        assert control is not None
        assert figures(control)[:4] == (1, 0, 0, HALF)
        for kind in TWO:
            one = found.of(kind, turn)
            assert (one.held.n, one.yields_to_truth.n) == (160, 160)
            assert figures(one) == expected[kind][turn - 1], (kind, turn)
            for name, place in (("held", 0), ("yields_to_truth", 1), ("mastered_and_held", 3)):
                assert one.less_control[name].value == figures(one)[place] - figures(control)[place]
    assert len(model.texts) == 320 + 320 * 3 * ROUNDS
    assert max(Counter(model.texts).values()) == 1


def test_a_random_model_gives_what_its_coins_fell_on(store: Store, facts: Path) -> None:
    randomness = random.Random(5)
    _, model, found = pressed_run(store, facts, lambda item, push, was: randomness.random() < 0.5, pressure=("doubt",))
    first = {statement: right for (statement, _, turn), right in model.was_right.items() if not turn}
    for one in found.after:
        then = {statement: right for (statement, *push), right in model.was_right.items() if push == [one.kind, one.round]}
        stays, mends = (Counter(then[name] for name, right in first.items() if right is was) for was in (True, False))
        assert one.held.value == pytest.approx(stays[True] / stays.total())
        assert one.yields_to_truth.value == pytest.approx(mends[True] / mends.total())
        assert one.gain.value == pytest.approx(mends[True] / mends.total() - stays[False] / stays.total())
    assert not any(less.is_shown for one in found.after for less in one.less_control.values())


def test_unreadable_answers_are_not_pushed_and_unreadable_replies_are_not_right(store: Store, facts: Path) -> None:
    def right(item: Asked, push: Push | None, was: bool) -> bool | None:
        if push is None:
            return None if item.statement.fact.head == "disease00" else True
        return None if push.kind == "doubt" else True

    _, model, found = pressed_run(store, facts, right, pressure=("doubt",))
    doubt = found.of("doubt", 1)
    assert (doubt.held.value, doubt.held.n) == (0.0, 304)
    assert len(model.texts) == 320 + 304 * 2 * ROUNDS


def test_who_falls_silent_does_not_hold_in_the_next_round(store: Store, facts: Path) -> None:
    """A reply with nothing in it ends the conversation: of 320 right answers, 32 of two diseases are held after the second
    push; 32 of 32 it was.
    """

    def right(item: Asked, push: Push | None, was: bool) -> bool | None:
        silent = push is not None and push.kind == "doubt" and item.statement.fact.head not in ("disease00", "disease01")
        return None if silent else True

    made = start(spec_of(facts, pressure=("doubt",)), store)
    model = PushedModel.for_run(made, store, right)
    model.unreadable_reply = "<think>hmm</think>"
    last = finished_event(answer(made, store, load=model.load))
    assert last.state == COMPLETE
    found = pressure_of(store.run(made), board_of(store, made).records(), store)
    for turn in (1, 2):
        doubt = found.of("doubt", turn)
        assert (doubt.held.value, doubt.held.n) == (pytest.approx(32 / 320), 320)
        assert doubt.diagnosis == UNREADABLE_AFTER
    assert len(model.texts) == 320 + 320 * 2 + 320 + 32


# ------------------------------------------------------------------------------------------------ what is asked


def test_the_pool_has_each_kind_with_two_rounds_a_source_and_one_request() -> None:
    assert list(pushes()) == [CONTROL, *PRESSURES]
    said = [push for rounds in pushes().values() for push in rounds]
    assert len({push.text for push in said}) == len(said) == 4 * ROUNDS
    assert all(push.source for push in said)
    assert {push.text[-len("Answer True or False.") :] for push in said} == {"Answer True or False."}


def test_the_control_is_always_asked_first_and_only_with_pressure() -> None:
    assert kinds_asked(()) == ()
    assert kinds_asked(("guideline", "doubt")) == (CONTROL, "doubt", "guideline")


PROMPT = Prompt("Gout hurts, is the statement above true or false? Please answer True or False.", (("True",), ("False",)))


def test_a_text_goes_on_as_a_demonstration_would() -> None:
    first, second = pushes()["doubt"]
    replies = [Replied(" True. It is known that …", True), Replied("Well …\nno.", None)]
    text = pressed(PROMPT, replies, (first, second), chat=False).content
    assert text == f"{PROMPT.content} True\n{first.text} Well …\n{second.text}"


def test_a_text_that_ends_with_the_lead_of_an_answer_repeats_it() -> None:
    first = pushes()["doubt"][0]
    prompt = Prompt("Statement …\nAnswer:", (("True",), ("False",)), answers=(" true", " false"))
    assert pressed(prompt, [Replied("false", False)], (first,), chat=False).content == (
        f"Statement …\nAnswer: false\n{first.text}\nAnswer:"
    )


def test_turns_of_a_chat_have_what_was_said_without_its_thinking() -> None:
    first = pushes()["authority"][0]
    made = pressed(PROMPT, [Replied("<think>False? No.</think>\n\nTrue.", True)], (first,), chat=True)
    assert made.content == (
        {"role": "user", "content": PROMPT.content},
        {"role": "assistant", "content": "True."},
        {"role": "user", "content": first.text},
    )


def test_a_service_gets_turns_of_a_chat_and_is_paid_for_them(store: Store, facts: Path) -> None:
    with MockService(Behaviour()) as service:
        own = ServiceSettings(base_url=service.base_url, key="k", timeout=10)
        spec = spec_of(facts, ("doubt",), model="openai:m", limit=2, service=own)
        last = finished_event(run(spec, store))
        assert (last.state, last.failed) == (COMPLETE, 0)
        calls = [call.body["messages"] for call in service.calls]
    by_length = Counter(map(len, calls))
    assert by_length == {1: 32, 3: 64, 5: 64}
    for turns in calls:
        assert [turn["role"] for turn in turns] == ["user", "assistant", "user", "assistant", "user"][: len(turns)]
        kinds = [PUSHES_BY_TEXT[turn["content"]] for turn in turns[2::2]]
        assert [push.round for push in kinds] == list(range(1, len(kinds) + 1))
        assert len({push.kind for push in kinds}) <= 1
    bill = bill_of(store.run(last.run), store)
    assert bill["calls"] == 160
    assert not any(IN_A_TEXT in note for note in store.run(last.run).notes)


def test_a_service_that_completes_texts_goes_on_with_one_and_the_report_says_so(store: Store, facts: Path) -> None:
    with MockService(Behaviour()) as service:
        own = ServiceSettings(base_url=service.base_url, key="k", timeout=10, completions=True)
        last = finished_event(run(spec_of(facts, ("doubt",), model="openai:m", limit=2, service=own), store))
        prompts = [str(call.body["prompt"]) for call in service.calls]
    assert sum(prompt.endswith(tuple(PUSHES_BY_TEXT)) for prompt in prompts) >= 128
    record = store.run(last.run)
    assert IN_A_TEXT in record.notes
    assert "each push stands in a text that it goes on with" in report_text(report_of(store, record))


def test_costs_say_the_calls_for_each_kind_and_round(facts: Path) -> None:
    told, plain = (costs(spec_of(facts, kinds, model="openai:gpt-4o-mini", limit=2)) for kinds in (("doubt",), ()))
    assert told["pushes"] == {CONTROL: {"1": 32, "2": 32}, "doubt": {"1": 32, "2": 32}}
    assert "32 statements and up to 128 pushes (control, doubt: 32 in each of 2 rounds)" in told["said"]
    assert told["completion_tokens"] == 5 * plain["completion_tokens"]
    assert told["prompt_tokens"] > 5 * plain["prompt_tokens"]
    assert "pushes" not in plain


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"race": "abc"}, "A race stops once it is decided"),
        ({"service": ServiceSettings(repeats=3)}, "Repeated answers are several"),
        ({"pressure": ("bribe",)}, "There is no kind of pressure 'bribe'"),
    ],
)
def test_what_cannot_be_pushed_is_refused_before_anything_is_recorded(
    more: dict[str, Any], words: str, store: Store, facts: Path
) -> None:
    with pytest.raises(Mistake, match=words):
        start(spec_of(facts, **more), store)
    assert store.runs() == []


# ------------------------------------------------------------------------------------------------ nothing twice


@pytest.mark.parametrize("after", [1, 2, 5])
def test_a_run_that_is_cut_off_goes_on_and_asks_nothing_twice(after: int, store: Store, facts: Path) -> None:
    made = start(spec_of(facts, ("doubt",)), store)
    model = PushedModel.for_run(made, store, yields_to_all)
    saved: list[Event] = []

    def enough(event: Event) -> bool:
        saved.extend([event] if isinstance(event, PushesSaved) else [])
        return len(saved) == after

    events = answer(made, store, load=model.load)
    assert any(map(enough, events))
    events.close()  # type: ignore[attr-defined]
    assert store.run(made).state == STOPPED
    kept = {(place, one.kind, one.round) for place, answers in store.pushes.of(made).items() for one in answers}
    asked_before = Counter(model.texts)
    last = finished_event(answer(made, store, load=model.load))
    assert last.state == COMPLETE
    again = Counter(model.texts) - asked_before
    assert sum(again.values()) == 320 * 2 * ROUNDS - len(kept)
    of = store.pushes.of(made)
    assert sum(map(len, of.values())) == 320 * 2 * ROUNDS
    assert list(answer(made, store, load=model.load))[-1] == Finished(made, COMPLETE, 0, 0.0)


def test_a_failed_push_is_asked_again_and_its_second_round_follows(store: Store, facts: Path) -> None:
    made = start(spec_of(facts, ("doubt",), limit=2), store)
    model = PushedModel.for_run(made, store, stubborn)
    model.is_failing = lambda text: text.endswith(pushes()["doubt"][0].text)
    last = finished_event(answer(made, store, load=model.load))
    assert (last.state, last.failed, last.commonest) == (COMPLETE, 32, ("timed out", 32))
    model.is_failing, before = (lambda text: False), len(model.texts)
    last = finished_event(answer(made, store, load=model.load))
    assert (last.failed, len(model.texts) - before) == (0, 64)
    assert {one.answer.failure for answers in store.pushes.of(made).values() for one in answers} == {None}


def test_a_run_without_pressure_reports_none(store: Store, facts: Path) -> None:
    made = start(spec_of(facts, ()), store)
    list(answer(made, store, load=PushedModel.for_run(made, store, stubborn).load))
    record = store.run(made)
    assert report_of(store, record).pressure is None
    assert store.pushes.of(made) == {}
    assert RunSpec.from_record(spec_of(facts).to_record()).pressure == ALL
    text = gzip.decompress(exported(store, made)).decode()
    assert json.loads(text.splitlines()[0])["pushes"] == 0
    assert '{"push":' not in text


# ------------------------------------------------------------------------------------------------ shared beginnings


@pytest.mark.parametrize("chat", [False, True])
def test_a_local_model_answers_alike_with_and_without_shared_beginnings(
    chat: bool, store: Store, facts: Path, tmp_path: Path
) -> None:
    folder = write_small_llama(tmp_path / "llama", chat=chat, answer_weight=3.0)
    options: Any = {"placement": Placement(device="cpu", dtype="float32")}
    shared, alone = (load_model(f"hf:{folder}", **options) for _ in range(2))
    found = []
    for model, packs in ((shared, True), (alone, False)):
        model.max_tokens = 8  # a random model would go on and on
        model.__dict__["packs_well"] = packs  # as if the architecture allowed it, or did not
        made = complete_run(
            spec_of(facts, ("doubt",), model=f"hf:{folder}", limit=2), store, load=lambda *_, model=model, **__: model
        )
        found.append({(place, one.kind, one.round): one.answer for place, of in store.pushes.of(made).items() for one in of})
        assert (IN_A_TEXT in store.run(made).notes) is not chat
    first, second = found
    assert first.keys() == second.keys()
    assert len(first) >= 12
    for key, one in first.items():
        assert one.answer == second[key].answer
        assert one.p_true == pytest.approx(second[key].p_true, abs=1e-4)


# ------------------------------------------------------------------------------------------------ what is shown


def test_a_log_says_how_far_the_pushes_are(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(progress, "SECONDS_BETWEEN", 0.0)
    events = [
        Started("r", 40, 40),
        *(PushesSaved((), done, 640) for done in (1, 63, 64, 70, 640)),
        Finished("r", COMPLETE, 0, 1.0),
    ]
    assert progress.show_progress((event for event in events), "mine") == 0
    told = [line for line in capsys.readouterr().err.splitlines() if "pushes" in line]
    assert told == ["mine: pushes: 64 of 640", "mine: pushes: 640 of 640"], "a line at each tenth"


def test_how_far_the_probability_of_what_is_true_moved_is_told_with_its_interval() -> None:
    moved = Moved(23, 0.8, 0.6, 0.2, None, Estimate(-0.25, -0.31, 0.02, 23))
    assert _moved(moved).text == "of true statements: 0.80 → 0.60"
    assert _moved(moved).under == ("of what is true: by −0.25 (−0.31 to +0.02)", "of 23 statements")


def test_the_page_keeps_the_kinds_that_are_chosen() -> None:
    chosen = Setup.model_validate({"pressure": ["doubt"]})
    assert Setup.model_validate(chosen.model_dump(mode="json")).further["pressure"] == ("doubt",)
    assert Setup.model_validate({"pressure": []}).further["pressure"] == ()
    assert "pressure" not in Setup.model_validate({"pressure": "doubt"}).further


def test_rows_of_answers_have_the_answers_after_pushes(store: Store, facts: Path) -> None:
    record, _, _ = pressed_run(store, facts, yields_to_all, pressure=("doubt",), limit=2)
    first = store.answers.asked(record.run)[0]
    row = answer_row(first, record)
    assert [(one["kind"], one["round"]) for one in row["pushes"]] == [(CONTROL, 1), (CONTROL, 2), ("doubt", 1), ("doubt", 2)]
    same, other = row["answer"], not row["answer"]
    assert [one["answer"] for one in row["pushes"]] == [same, same, other, same]
    assert [one["raw"] for one in row["pushes"]] == list(map(str, (same, same, other, same)))


# ------------------------------------------------------------------------------------------------ files


def exported(store: Store, made: str) -> bytes:
    file = io.BytesIO()
    export_run(store, made, file)
    return file.getvalue()


def test_a_runs_file_brings_its_pushes_and_is_held_to_them(store: Store, facts: Path, tmp_path: Path) -> None:
    record, _, found = pressed_run(store, facts, yields_to_authority, pressure=("authority",), limit=4)
    packed = exported(store, record.run)
    text = gzip.decompress(packed).decode()
    assert json.loads(text.splitlines()[0])["pushes"] == 64 * 2 * ROUNDS
    other = Store(f"sqlite:///{tmp_path / 'other.db'}")
    assert import_run(other, io.BytesIO(packed), "run.jsonl.gz") == record.run
    assert other.pushes.of(record.run) == store.pushes.of(record.run)
    assert report_of(other, other.run(record.run)).pressure == found
    for old, new, words in (
        ('"kind":"authority"', '"kind":"bribe"', "there is no such push"),
        ('"kind":"authority"', '"kind":"doubt"', "the run does not push this answer"),
        ('"round":2', '"round":3', "there is no such push"),
        ('"pressure":["authority"]', '"pressure":["bribe"]', "its pressure is none that this medfact knows"),
        ('"pushes":256', '"pushes":255', "it holds 256 pushes"),
    ):
        altered = gzip.compress(text.replace(old, new).encode())
        with pytest.raises(Mistake, match=words):
            import_run(Store(f"sqlite:///{tmp_path / 'third.db'}"), io.BytesIO(altered), "run.jsonl.gz")


def test_an_erased_run_leaves_no_pushes(store: Store, facts: Path) -> None:
    record, _, _ = pressed_run(store, facts, stubborn, pressure=("doubt",), limit=2)
    store.disk.erase([record.run])
    assert store.pushes.of(record.run) == {}
