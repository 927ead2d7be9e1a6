"""Recording of runs: bundled models reply themselves, others by a rule."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from tempfile import TemporaryDirectory
from typing import Any

from mock_service import share
from witness_runs import REVISION, Recording, execute, recordings
from writers import faithful

from medfact.models import Completion, Prompt, load_model
from medfact.runs.plan import plan
from medfact.store import Store


class Recorder:
    """A model whose replies are noted: a bundled one, or a rule that is right by chance, as often as `skill` says."""

    def __init__(self, recording: Recording) -> None:
        self.spec, self._head, self._file = recording.spec.model, recording.head, recording.file
        self._note(self._head, "w")
        self._model: Any = None
        self.chat, self.info = False, {"revision": REVISION, "decoding": {}}
        self._labels = {item.statement.text: item.statement.label for item in plan(recording.spec).statements}

    def load(self, spec: str, **options: Any) -> Recorder:
        if self._head.get("bundled"):
            self._model = load_model(spec, **options)
            self.info = self._model.info
        return self

    def complete(self, prompts: Sequence[Prompt]) -> Iterator[tuple[int, Completion]]:
        completions = self._model.complete(prompts) if self._model else enumerate(map(self._by_rule, prompts))
        for index, completion in sorted(completions, key=lambda pair: pair[0]):
            fields = {"reply": completion.text, "failure": completion.failure}
            shares = {"p_true": completion.p_true, "p_mass": completion.p_mass}
            fields |= {name: round(value, 4) for name, value in shares.items() if value is not None}
            line = {name: value for name, value in fields.items() if value is not None}
            self._note({"statement": prompts[index].statement, **line})
            yield index, completion

    def _note(self, line: Mapping[str, Any], mode: str = "a") -> None:
        with self._file.open(mode, encoding="utf-8") as file:
            file.write(json.dumps(line, ensure_ascii=False) + "\n")

    def _by_rule(self, prompt: Prompt) -> Completion:
        if self._head.get("writing"):
            return Completion(faithful(str(prompt.content)))
        drawn = share(self.spec, prompt.statement)
        if drawn < self._head.get("fails", 0):
            return Completion(None, failure=self._head["failure"])
        if drawn < self._head.get("fails", 0) + self._head.get("unreadable", 0):
            return Completion("It depends on the patient.")
        truth = self._labels[prompt.statement] is (share("skill", self.spec, prompt.statement) < self._head["skill"])
        word = self._head.get("words", ["True", "False"])[not truth]
        p = 0.5 + 0.5 * share("sure", self.spec, prompt.statement)
        return Completion(word, p if truth else 1 - p, 0.98) if self._head.get("probabilities") else Completion(word)


def record_runs(names: Sequence[str]) -> None:
    """Asks runs and notes the replies, in the files that describe them. names: of some runs; () for all."""
    chosen = [recording for recording in recordings() if recording.name in names or not names]
    with TemporaryDirectory() as folder:
        execute(chosen, Store(f"sqlite:///{folder}/runs.db"), lambda recording: Recorder(recording).load)
