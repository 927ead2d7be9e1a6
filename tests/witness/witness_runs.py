"""Recorded runs: the replies of models as JSON lines, asked for by the product's own planner and given by its own path.

The first line of a file of `runs/` describes its run. Each further line is a reply; those to one statement keep their order.
"""

from __future__ import annotations

import json
import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from mock_batches import MockBatchService
from mock_service import ERROR_FAULTS, MockService, hashed_share
from writers import rephrase

from medfact.models import Completion, Prompt, bundled_revision, load_model
from medfact.runs.events import Finished
from medfact.runs.plan import plan
from medfact.runs.racing import RacingRuns, racing_specs
from medfact.runs.run import answer
from medfact.runs.start import start
from medfact.spec import RunSpec
from medfact.store import Run, Store
from medfact.writing.runs import start_writing, write

HERE = Path(__file__).parent


class Recording:
    """A run and the replies to it, by statement: each a reply or a failure of the mock service, with rounded probabilities.

    Its head gives the owner; the way, "calls" or "batch" of a service on loopback, otherwise in this process; and the kind of
    writing. Its other fields are for the recorder.
    """

    def __init__(self, file: Path) -> None:
        self.file, self.name = file, file.stem.partition("-")[2]
        self.head, *lines = map(json.loads, file.read_text(encoding="utf-8").splitlines())
        spec = {name: str(HERE / "facts" / value) if name == "facts" else value for name, value in self.head["spec"].items()}
        self.spec = RunSpec.from_record(spec)
        self._replies: dict[str, list[Mapping[str, Any]]] = defaultdict(list)
        for line in lines:
            self._replies[line["statement"]].append(line)

    def next_reply(self, statement: str) -> Mapping[str, Any]:
        """The next reply to a statement."""
        if not self._replies[statement]:
            raise LookupError(f"{self.file.name} has no further reply to “{statement}”: `record.py --runs {self.name}`.")
        return self._replies[statement].pop(0)

    def reply_to(self, prompt: str) -> Mapping[str, Any]:
        """The reply to the longest statement in a prompt, where it may lack its full stop."""
        return self._replies[max((text for text in self._replies if text.rstrip(".") in prompt), key=len)][0]


def recordings() -> list[Recording]:
    """All recorded runs, in the order of their files' numbers."""
    return [Recording(file) for file in sorted((HERE / "runs").glob("*.jsonl"))]


class RecordedModel:
    """A model that gives recorded replies, where `load_model` would load one."""

    chat = False

    def __init__(self, recording: Recording) -> None:
        self.spec, self._recording = recording.spec.model, recording
        revision = bundled_revision() if recording.head.get("bundled") else "recorded"
        self.info: Any = {"revision": revision, "decoding": {"greedy": True}}

    def load(self, spec: str, **options: Any) -> RecordedModel:
        return self

    def complete(self, prompts: Sequence[Prompt]) -> Iterator[tuple[int, Completion]]:
        for index, prompt in enumerate(prompts):
            line = self._recording.next_reply(prompt.statement)
            yield index, Completion(line.get("reply"), line.get("p_true"), line.get("p_mass"), line.get("failure"))


class RecordedService(MockService):
    """A service on loopback that gives recorded replies, with log-probabilities."""

    def __init__(self, recording: Recording) -> None:
        super().__init__()
        self._recording = recording

    def refusal(self, body: Mapping[str, Any]) -> tuple[int, dict[str, Any]] | None:
        """The failure of a call in a batch, None where it has a reply."""
        fault = self._fault(body["messages"][-1]["content"])
        return (
            (ERROR_FAULTS[fault][0], {"error": {"message": ERROR_FAULTS[fault][2], "code": ERROR_FAULTS[fault][1]}})
            if fault
            else None
        )

    def _fault(self, prompt: str, *_: object) -> str:
        return str(self._recording.reply_to(prompt).get("failure", ""))

    def _reply(self, prompt: str, attempt: int, body: dict[str, Any]) -> dict[str, Any]:
        line, response = self._recording.reply_to(prompt), super()._reply(prompt, attempt, body)
        (choice,) = response["choices"]
        choice |= {"finish_reason": "stop", "logprobs": None, "message": {"role": "assistant", "content": line["reply"]}}
        if "p_true" in line:
            shares = {"True": line["p_true"] * line["p_mass"], "False": (1 - line["p_true"]) * line["p_mass"]}
            tokens = {token: {"token": token, "logprob": math.log(p), "bytes": None} for token, p in shares.items()}
            top = sorted(tokens.values(), key=lambda entry: -entry["logprob"])
            choice["logprobs"] = {"content": [{**tokens[line["reply"]], "top_logprobs": top}]}
        return response


class Recorder(RecordedModel):
    """A model whose replies are noted: a bundled one, or a rule that is right by chance, as often as `skill` says."""

    def __init__(self, recording: Recording) -> None:
        super().__init__(recording)
        self._head, self._file, self._model = recording.head, recording.file, None
        self._labels = {item.statement.text: item.statement.label for item in plan(recording.spec).statements}
        self._file.write_text(json.dumps(self._head) + "\n", encoding="utf-8")

    def load(self, spec: str, **options: Any) -> RecordedModel:
        self._model = load_model(spec, **options) if self._head.get("bundled") else None
        return self

    def complete(self, prompts: Sequence[Prompt]) -> Iterator[tuple[int, Completion]]:
        completions = self._model.complete(prompts) if self._model else enumerate(map(self._by_rule, prompts))
        for index, completion in sorted(completions, key=lambda pair: pair[0]):
            line: dict[str, Any] = {"statement": prompts[index].statement}
            line |= {"reply": completion.text} if completion.failure is None else {"failure": completion.failure}
            line |= {name: round(p, 4) for name in ("p_true", "p_mass") if (p := getattr(completion, name)) is not None}
            with self._file.open("a", encoding="utf-8") as file:
                file.write(json.dumps(line, ensure_ascii=False) + "\n")
            yield index, completion

    def _by_rule(self, prompt: Prompt) -> Completion:
        drawn, fails = hashed_share(self.spec, prompt.statement), self._head.get("fails", 0)
        if self._head.get("writing") or drawn < fails + self._head.get("unreadable", 0):
            text = rephrase(str(prompt.content)) if self._head.get("writing") else "It depends on the patient."
            return Completion(None, failure=self._head["failure"]) if drawn < fails else Completion(text)
        truth = self._labels[prompt.statement] is (hashed_share("skill", self.spec, prompt.statement) < self._head["skill"])
        word, p = self._head.get("words", ["True", "False"])[not truth], 0.5 + 0.5 * hashed_share("sure", prompt.statement)
        return Completion(word, p if truth else 1 - p, 0.98) if self._head.get("probabilities") else Completion(word)


def record_runs(names: Sequence[str]) -> None:
    """Asks runs and notes the replies, in the files that describe them. names: of some runs; () for all."""
    with TemporaryDirectory() as folder:
        chosen = [recording for recording in recordings() if recording.name in names or not names]
        execute(chosen, Store(f"sqlite:///{folder}/runs.db"), Recorder)


def execute(chosen: Sequence[Recording], store: Store, make: type[RecordedModel] = RecordedModel) -> dict[str, str]:
    """Plans, records and asks runs; those of a race last, together. Returns name → id. make: their models."""
    racers = [recording for recording in chosen if recording.head.get("race")]
    ids = {recording.name: _execute(recording, store, make) for recording in chosen if recording not in racers}
    if racers:
        runs = [store.run(start(spec, store)) for spec in racing_specs([recording.spec for recording in racers])]
        race, models = RacingRuns(runs, store), [make(recording) for recording in racers]

        def ask(run: Run, model: RecordedModel) -> None:
            list(answer(run.run, store, load=model.load, race=lambda: race))

        with ThreadPoolExecutor(len(runs)) as threads:
            list(threads.map(ask, runs, models))
        ids |= {recording.name: run.run for recording, run in zip(racers, runs, strict=True)}
    return ids


def _execute(recording: Recording, store: Store, make: type[RecordedModel]) -> str:
    spec, kind, way = recording.spec, recording.head.get("writing"), recording.head.get("way")
    store = store.of(recording.head["owner"])
    with ExitStack() as services:
        options: dict[str, Any] = {"key": "sk-witness"}
        if way is None or make is Recorder:
            spec, options["load"] = replace(spec, batch=False), make(recording).load
        else:
            service: Any = RecordedService(recording)
            if way == "batch":
                service._loop.close()
                batches = MockBatchService()
                batches._talker, batches.refuse_call, service = service, service.refusal, batches
            base_url = services.enter_context(service).base_url
            spec = replace(spec, service=replace(spec.service, base_url=base_url))
        run = start_writing(kind, spec, store) if kind else start(spec, store)
        *_, last = (write if kind else answer)(run, store, **options)
        assert isinstance(last, Finished), last
    return run
