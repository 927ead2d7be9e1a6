"""Models behind a service that think before they answer: in every format, whether or not the service honours a stop."""

import math
import re
from itertools import cycle
from pathlib import Path
from typing import Any

import pytest
from odd_service import Reply, Request, ScriptedService, chat_reply
from recorded import finished_event

from medfact.models import ServiceSettings
from medfact.models.thinking import FORMATS
from medfact.runs.events import AnswersSaved, Finished, Noted
from medfact.runs.run import run
from medfact.spec import RunSpec
from medfact.store import COMPLETE, Asked, Store

THOUGHT = "It is true that this is a sign.\nAnswer: True? But it is denied, so that is not true."
INTRODUCED = "Sure! Here is my answer:\n\n{answer}"
REPLIES = {**{name: form.example for name, form in FORMATS.items()}, "introduction": INTRODUCED}
BEGUN_BY_TEMPLATE = {
    f"{name}, begun by the template": "{thought}" + form.example.partition("{thought}")[2]
    for name, form in FORMATS.items()
    if form.template_may_open
}
ALL = {**REPLIES, **BEGUN_BY_TEMPLATE}

MODES: dict[str, dict[str, Any]] = {
    "five shots in one text": {"shots": 5},
    "five shots as turns": {"shots": 5, "service": {"shots_as_turns": True}},
    "no shots": {"shots": 0},
    "PretextTrans, five shots": {"shots": 5, "protocol": "pretexttrans", "pool": "medfact"},
    "MKJ's question": {"shots": 0, "question": "mkj"},
}


def entry(token: str, p: float) -> dict[str, Any]:
    return {"token": token, "logprob": math.log(p)}


def with_logprobs(reply: dict[str, Any], text: str, at: int, p_true: float) -> dict[str, Any]:
    """A reply with the log-probabilities of its tokens: within the thinking, everything is True."""
    content, begin = [], 0
    for token in re.findall(r"\w+|\W", text):
        p = p_true if begin <= at < begin + len(token) else 0.999
        content.append({**entry(token, 0.5), "top_logprobs": [entry("True", p), entry("False", 1 - p)]})
        begin += len(token)
    reply["choices"][0]["logprobs"] = {"content": content}
    return reply


class Thinker:
    """Replies in one format after the other, to each statement with an answer of its own. told: what it said, by reply."""

    def __init__(self, formats: dict[str, str], honours_stop: bool) -> None:
        self._formats, self._honours_stop = cycle(formats.items()), honours_stop
        self._number = 0
        self.told: dict[str, tuple[str, bool]] = {}

    def __call__(self, request: Request) -> Reply:
        self._number += 1
        name, form = next(self._formats)
        answer = self._number % 3 == 0
        thought = f"Thought {self._number}. {THOUGHT}"
        begin = form.replace("{thought}", thought).partition("{answer}")[0]
        text = form.format(thought=thought, answer="**True**" if answer else "False")
        stops = request.body.get("stop") or []
        if self._honours_stop and any(stop in text for stop in stops):
            text = min((text[: text.index(stop)] for stop in stops if stop in text), key=len)
        self.told[text] = name, answer
        return Reply(with_logprobs(chat_reply(text), text, len(begin) + 2 * answer, 0.9 if answer else 0.1))


def settings_of(service: ScriptedService, facts: Path, mode: dict[str, Any]) -> RunSpec:
    more = {name: value for name, value in mode.items() if name != "service"}
    own = ServiceSettings(base_url=service.base_url, key="k", timeout=10, **mode.get("service", {}))
    return RunSpec(model="openai:m", facts=str(facts), limit=3, service=own, **more)


def mistakes(asked: list[Asked], told: dict[str, tuple[str, bool]]) -> list[str]:
    """The formats in which an answer was not recorded as it was meant, or its P(True) not as it was at that place."""
    wrong = []
    for item in asked:
        assert item.answer is not None
        (whole,) = [text for text in told if text.startswith(item.answer.raw or "\0")][:1] or [""]
        name, answer = told.get(whole, (f"unknown: {item.answer.raw}", None))
        p_true = item.answer.p_true
        if item.answer.answer is not answer or p_true is None or (p_true > 0.5) is not answer:
            wrong.append(f"{name}: {item.answer.answer}, P(True) {p_true}")
    return wrong


@pytest.mark.parametrize(("mode", "honours_stop"), list(zip(MODES.values(), cycle((True, False)))), ids=MODES)
def test_the_final_answer_is_recorded_in_every_format(
    mode: dict[str, Any], honours_stop: bool, facts_file: Path, store: Store
) -> None:
    thinker = Thinker(ALL, honours_stop)
    assert len(FORMATS) >= 12
    with ScriptedService(thinker) as service:
        last = finished_event(run(settings_of(service, facts_file, mode), store))
    assert (last.state, last.failed) == (COMPLETE, 0)
    asked = list(store.answers.asked(last.run))
    assert len(asked) >= len(ALL)
    assert mistakes(asked, thinker.told) == []


def test_no_chat_is_told_where_to_stop(facts_file: Path, store: Store) -> None:
    with ScriptedService(Reply(chat_reply("True"))) as service:
        for mode in MODES.values():
            list(run(settings_of(service, facts_file, mode), store))
        assert all("stop" not in request.body for request in service.requests)


def test_thinking_that_its_limit_cut_is_unreadable_and_flagged(facts_file: Path, store: Store) -> None:
    """The replies to 48 statements are in all formats, one after the other."""
    texts = [form.example.partition("{answer}")[0].replace("{thought}", "It is true.\nTrue") for form in FORMATS.values()]
    cut = cycle([text[: text.index("\nTrue") + len("\nTrue")] for text in texts])
    with ScriptedService(lambda request: Reply(chat_reply(next(cut), "length"))) as service:
        last = finished_event(run(settings_of(service, facts_file, {"shots": 5}), store))
    answers = [item.answer for item in store.answers.asked(last.run)]
    assert {(answer and answer.answer, answer and answer.cut) for answer in answers} == {(None, "length")}


# ------------------------------------------------------------------------------------------------ a warning in time


@pytest.mark.parametrize(
    ("reply", "why", "remedy"),
    [
        (chat_reply("<think>It could be", "length"), "were cut off at their limit of tokens", "--effort low"),
        (chat_reply("", "SAFETY"), "were held back by the service's content filter", "another model"),
        (chat_reply(""), "are empty", "--completions"),
        (chat_reply("<think>Hm.</think>"), "are empty", "--max-tokens 4096"),
        (chat_reply("I am a language model."), "say neither true nor false, or both", "--question mkj"),
    ],
)
def test_a_run_whose_first_replies_cannot_be_read_says_so_at_once(
    reply: dict[str, Any], why: str, remedy: str, facts_file: Path, store: Store
) -> None:
    with ScriptedService(Reply(reply)) as service:
        spec = settings_of(service, facts_file, {"shots": 0})
        events = list(run(spec, store))
    # a note that replies are alike may come before
    notes = {
        index: event.note for index, event in enumerate(events) if isinstance(event, Noted) and "cannot be read" in event.note
    }
    said_at = next(index for index, note in notes.items() if why in note)
    before = sum(len(event.answers) for event in events[:said_at] if isinstance(event, AnswersSaved))
    event = events[said_at]
    assert isinstance(event, Noted)
    assert event.note.startswith("16 of the first 16 replies cannot be read and count as wrong: 16 ")
    assert remedy in event.note
    assert 16 <= before <= 16 + 128  # one batch of answers
    last = events[-1]
    assert isinstance(last, Finished)
    assert event.note in store.run(last.run).notes


@pytest.mark.parametrize("unreadable", [0, 3, 6])
def test_a_run_of_which_half_can_be_read_says_nothing(unreadable: int, facts_file: Path, store: Store) -> None:
    def reply(request: Request) -> Reply:
        return Reply(chat_reply("Hm." if request.number * 5 % 16 < unreadable else "True"))

    with ScriptedService(reply) as service:
        events = list(run(settings_of(service, facts_file, {"shots": 0}), store))
    assert not any("cannot be read" in event.note for event in events if isinstance(event, Noted))
