"""Recorded runs: the replies of models as JSON lines, asked for by the product's own planner and given by its own path.

The first line of a file of `runs/` describes its run. Each further line is a reply; those to one statement keep their order.
"""

from __future__ import annotations

import json
import math
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from mock_batches import MockBatches
from mock_service import ERRORS, MockService

from medfact.models import Completion, Prompt, bundled_revision
from medfact.runs.events import Finished
from medfact.runs.racing import RacingRuns, racing_specs
from medfact.runs.run import answer
from medfact.runs.start import start
from medfact.spec import RunSpec
from medfact.store import Store
from medfact.writing.runs import start_writing, write

HERE = Path(__file__).parent
KEY = "sk-witness"
REVISION = "recorded"


@dataclass(frozen=True)
class Recording:
    """A run and the replies to it."""

    file: Path
    spec: RunSpec
    head: Mapping[str, Any]
    """owner: of the run. way: "calls" or "batch" of a service on loopback, otherwise in this process. writing: its kind."""
    replies: Sequence[Mapping[str, Any]]
    """statement; reply, or the mock service's failure; p_true and p_mass, rounded, where the model gave probabilities."""

    @property
    def name(self) -> str:
        return self.file.stem.partition("-")[2]

    @classmethod
    def of(cls, file: Path) -> Recording:
        head, *replies = map(json.loads, file.read_text(encoding="utf-8").splitlines())
        spec = dict(head["spec"])
        spec |= {name: str(HERE / "facts" / spec[name]) for name in ("facts", "corpus") if name in spec}
        return cls(file, RunSpec.from_record(spec), head, replies)


def recordings() -> list[Recording]:
    """All recorded runs, in the order of their files' numbers."""
    return [Recording.of(file) for file in sorted((HERE / "runs").glob("*.jsonl"))]


class Replies:
    """The recorded replies of a run, by statement; those to one statement come in their order."""

    def __init__(self, recording: Recording) -> None:
        self.name = recording.name
        self._lines: dict[str, list[Mapping[str, Any]]] = defaultdict(list)
        for line in recording.replies:
            self._lines[line["statement"]].append(line)

    def next(self, statement: str) -> Mapping[str, Any]:
        """The next reply to a statement."""
        if not self._lines.get(statement):
            raise LookupError(f"The run {self.name} has no further recorded reply to “{statement}”: record it anew.")
        return self._lines[statement].pop(0)

    def to_prompt(self, prompt: str) -> Mapping[str, Any]:
        """The reply to the longest statement in a prompt, which may lack its full stop there. It can be asked for again."""
        return self._lines[max((text for text in self._lines if text.rstrip(".") in prompt), key=len)][0]


class RecordedModel:
    """A model that gives recorded replies, where `load_model` would load one."""

    chat = False

    def __init__(self, recording: Recording) -> None:
        self.spec, self._replies = recording.spec.model, Replies(recording)
        revision = bundled_revision() if recording.head.get("bundled") else REVISION
        self.info: Any = {"revision": revision, "decoding": {"greedy": True}}

    def load(self, spec: str, **options: object) -> RecordedModel:
        return self

    def complete(self, prompts: Sequence[Prompt]) -> Iterator[tuple[int, Completion]]:
        for index, prompt in enumerate(prompts):
            line = self._replies.next(prompt.statement)
            yield index, Completion(line.get("reply"), line.get("p_true"), line.get("p_mass"), line.get("failure"))


def _recorded(recording: Recording) -> Callable[..., Any]:
    return RecordedModel(recording).load


class RecordedService(MockService):
    """A service on loopback that gives recorded replies, with log-probabilities."""

    def __init__(self, recording: Recording) -> None:
        super().__init__()
        self._replies = Replies(recording)

    def _fault(self, prompt: str, attempt: int, headers: dict[str, str], model: str) -> str:
        return str(self._replies.to_prompt(prompt).get("failure", ""))

    def refusal(self, body: dict[str, Any]) -> tuple[int, dict[str, Any]] | None:
        """The failure of a call in a batch, None where it has a reply."""
        fault = self._replies.to_prompt(body["messages"][-1]["content"]).get("failure")
        if fault is None:
            return None
        status, code, message = ERRORS[fault]
        return status, {"error": {"message": message, "code": code}}

    def _reply(self, prompt: str, attempt: int, body: dict[str, Any]) -> dict[str, Any]:
        line, response = self._replies.to_prompt(prompt), super()._reply(prompt, attempt, body)
        (choice,) = response["choices"]
        choice |= {"finish_reason": "stop", "logprobs": None, "message": {"role": "assistant", "content": line["reply"]}}
        if "p_true" in line:
            shares = {"True": line["p_true"] * line["p_mass"], "False": (1 - line["p_true"]) * line["p_mass"]}
            top = [{"token": token, "logprob": math.log(max(p, 1e-9)), "bytes": None} for token, p in shares.items()]
            (first,) = (entry for entry in top if entry["token"] == line["reply"])
            choice["logprobs"] = {"content": [{**first, "top_logprobs": sorted(top, key=lambda entry: -entry["logprob"])}]}
        return response


Load = Callable[[Recording], Callable[..., Any]]
"""Gives what loads the model of a run."""


def execute(recordings: Sequence[Recording], store: Store, load: Load | None = None) -> dict[str, str]:
    """Plans, records and asks all runs; those of a race together. Returns name → id. load: instead of recorded replies."""
    ids: dict[str, str] = {}
    racers = [recording for recording in recordings if recording.head.get("race")]
    for recording in recordings:
        if recording not in racers:
            ids[recording.name] = _execute_alone(recording, store.of(recording.head["owner"]), load)
        elif recording == racers[-1]:
            ids |= _execute_race(racers, store.of(recording.head["owner"]), load)
    return ids


def _execute_alone(recording: Recording, store: Store, load: Load | None) -> str:
    spec, kind = recording.spec, recording.head.get("writing")
    with ExitStack() as services:
        options: dict[str, Any] = {"key": KEY}
        if load is None and recording.head.get("way"):
            service: Any = RecordedService(recording)
            if recording.head["way"] == "batch":
                service._loop.close()
                batches = MockBatches()
                batches._talker, batches.refuses, service = service, service.refusal, batches
            services.enter_context(service)
            spec = replace(spec, service=replace(spec.service, base_url=service.base_url))
        else:
            spec = replace(spec, batch=False)
            options["load"] = (load or _recorded)(recording)
        run = start_writing(kind, spec, store) if kind else start(spec, store)
        *_, last = (write if kind else answer)(run, store, **options)
        assert isinstance(last, Finished), last
    return run


def _execute_race(racers: Sequence[Recording], store: Store, load: Load | None) -> dict[str, str]:
    runs = [store.run(start(spec, store)) for spec in racing_specs([recording.spec for recording in racers])]
    race = RacingRuns(runs, store)

    def ask(run: str, recording: Recording) -> None:
        list(answer(run, store, load=(load or _recorded)(recording), race=lambda: race))

    with ThreadPoolExecutor(len(runs)) as threads:
        list(threads.map(ask, [run.run for run in runs], racers))
    return {recording.name: run.run for recording, run in zip(racers, runs, strict=True)}
