"""Asking a run in batches: what a service answers within a day, at a lower price.

What is sent is recorded before and after each step (`store.batches`). A run that is killed at any moment goes on from there: it
first collects what earlier batches brought, and sends only what none of them had. So nothing is lost and nothing paid twice.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import secrets
from collections import defaultdict
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from datetime import datetime
from typing import Any, Protocol

from medfact.errors import Mistake, ModelError, ServiceDown
from medfact.models import Completion, Model, Prompt
from medfact.models.services.batches import (
    FIRST_POLL_SECONDS,
    LONGEST_POLL_SECONDS,
    MOST_BYTES,
    MOST_REQUESTS,
    BatchService,
    BatchState,
    WaitEnded,
    body_of,
    failed_or_filtered,
)
from medfact.models.services.calls import Caller
from medfact.models.services.failures import Action, CallFailure
from medfact.models.services.parameters import Parameters, without_refused
from medfact.models.services.replies import combined
from medfact.runs.costs import Purse, check_batch
from medfact.runs.events import AnswersSaved, Loading
from medfact.store import Answer, Asked, Batch, Store

SAVED_AT_ONCE = 512
"""Answers of a batch that are saved together."""

Told = Generator[AnswersSaved | Loading, None, None]


class Prompts(Protocol):
    """The prompts of statements, and what becomes of their completions."""

    items: Sequence[Asked]

    def __getitem__(self, index: int) -> Prompt: ...

    def answer(self, index: int, completion: Completion) -> Answer: ...


def ask_in_batches(run: str, prompts: Prompts, model: Model, store: Store, purse: Purse, stopped: Callable[[], bool]) -> Told:
    """Asks statements in batches. Yields answers once they are on disk, and how far the service is.

    Raises ModelError where the service takes no batches, refuses one or is away, and Mistake where the budget is too small.
    """
    caller: Caller | None = getattr(model, "caller", None)
    if caller is None:
        raise Mistake(f"{model.spec} takes no batches.", "Start a new run without --batch.")
    try:
        with BatchService(caller, stopped) as service:
            asking = _Asking(run, prompts, caller, store, service)
            yield from asking.collect_earlier(purse)
            while asking.keyed:
                check_batch(purse, [prompts[index] for index, *_ in asking.keyed.values()], caller.settings.repeats)
                for sent in list(asking.send()):
                    yield from asking.collect(sent)
    except WaitEnded:
        return


class _Asking:
    """What of a run is still to be asked. keyed: the key of each prompt → the statements that have it."""

    def __init__(self, run: str, prompts: Prompts, caller: Caller, store: Store, service: BatchService) -> None:
        self._run, self._prompts, self._caller, self._store, self._service = run, prompts, caller, store, service
        self._repeats = max(caller.settings.repeats, 1)
        self._calls = store.run(run).statements * self._repeats
        self.keyed = _by_key(prompts, caller.is_repeatable)
        self._sent: dict[str, set[str]] = {}
        self._refused = set[str]()

    # -------------------------------------------------------------------------------- sending

    def collect_earlier(self, purse: Purse) -> Told:
        """What batches of earlier processes bring. One of which nobody knows whether it was begun is looked for first."""
        earlier = self._store.batches.of(self._run)
        if earlier:
            self._caller.parameters = Parameters.from_record(earlier[-1].parameters)
        for batch in [one for one in earlier if not one.closed]:
            file = batch.file or self._service.file_named(_file_name(batch.token))
            if file is None:  # nothing of it reached the service
                self._store.batches.close(self._run, batch.token)
                continue
            yield from self.collect(self._begun(batch, file, purse))

    def _begun(self, batch: Batch, file: str, purse: Purse) -> Batch:
        if batch.batch is not None:
            return batch
        if batch.file is None:
            self._store.batches.uploaded(self._run, batch.token, file)
        until = datetime.fromisoformat(batch.at).timestamp() + 2 * self._caller.settings.timeout
        name = self._service.late_batch_of(file, batch.token, until if batch.file else 0)
        if name is None:
            check_batch(purse, [self._prompts[index] for index, *_ in self.keyed.values()], self._caller.settings.repeats)
            name = self._begin(file, batch.path, batch.token)
        self._store.batches.begun(self._run, batch.token, name)
        return dataclasses.replace(batch, file=file, batch=name)

    def send(self) -> Iterator[Batch]:
        """Sends all that is still to be asked, as one batch or several."""
        parameters = self._caller.parameters
        for keys, content in self._files(parameters):
            token = secrets.token_hex(8)
            self._store.batches.intend(self._run, token, parameters.path, dataclasses.asdict(parameters))
            file = self._service.upload(_file_name(token), content)
            self._store.batches.uploaded(self._run, token, file)
            self._store.batches.begun(self._run, token, self._begin(file, parameters.path, token))
            self._sent[token] = keys
            yield next(one for one in self._store.batches.of(self._run) if one.token == token)

    def _begin(self, file: str, path: str, token: str) -> str:
        """Has the service begin a batch. One that it refuses is closed, so that another one may be sent."""
        try:
            return self._service.begin(file, path, token)
        except ServiceDown:
            raise
        except ModelError:
            self._store.batches.close(self._run, token)
            raise

    def _files(self, parameters: Parameters) -> Iterator[tuple[set[str], bytes]]:
        """The files to send, none of them too large, and the keys of the prompts in each."""
        keys, content = set[str](), bytearray()
        for key, (index, *_) in self.keyed.items():
            lines = self._lines(key, self._prompts[index], parameters)
            is_full = (len(keys) + 1) * self._repeats > MOST_REQUESTS or len(content) + len(lines) > MOST_BYTES
            if keys and is_full:
                yield keys, bytes(content)
                keys, content = set(), bytearray()
            keys.add(key)
            content += lines
        yield keys, bytes(content)

    def _lines(self, key: str, prompt: Prompt, parameters: Parameters) -> bytes:
        lines = (
            {
                "custom_id": f"{key}-{repeat}",
                "method": "POST",
                "url": f"/v1{parameters.path}",
                "body": body_of(self._caller.model, parameters, prompt, repeat),
            }
            for repeat in range(self._repeats)
        )
        return b"".join(json.dumps(line).encode() + b"\n" for line in lines)

    # -------------------------------------------------------------------------------- collecting

    def collect(self, batch: Batch) -> Told:
        """Waits for the end of a batch and saves what came of it. What was refused for a parameter stays to be asked."""
        state = yield from self._awaited(batch)
        parameters = Parameters.from_record(batch.parameters)
        if state.status == "failed" and not state.results:
            self._store.batches.close(self._run, batch.token)
            said = self._service.scrubbed(state.problem).rstrip(".") or "it does not say why"
            raise ModelError(f"{self._service.host} refuses the batch: {said}.", "Resume to send it again.")
        answered = self._completions(state, parameters)
        yield from self._saved(answered)
        lost = self._sent.get(batch.token, set()) & self.keyed.keys() - self._refused
        failure = Completion(None, failure=f"the batch ended without a reply ({state.status})")
        yield from self._saved((key, failure) for key in sorted(lost))
        self._store.batches.close(self._run, batch.token)

    def _awaited(self, batch: Batch) -> Generator[Loading, None, BatchState]:
        pause, name = FIRST_POLL_SECONDS, batch.batch or ""
        while not (state := self._service.state(name)).is_over:
            at = f"{batch.at[:10]} {batch.at[11:16]} UTC"
            yield Loading(f"waiting for the service's batch, submitted at {at} ({state.done:,} of {state.of:,} calls done)")
            self._service.sleep(pause)
            pause = min(2 * pause, LONGEST_POLL_SECONDS)
        return state

    def _completions(self, state: BatchState, parameters: Parameters) -> Iterator[tuple[str, Completion]]:
        """The completion of each prompt that is still to be asked, as the batch's results have it."""
        self._refused.clear()
        replies: defaultdict[str, dict[str, Completion]] = defaultdict(dict)
        for file in state.results:
            for line in self._service.lines(file, self._calls):
                key, _, repeat = str(line.get("custom_id")).rpartition("-")
                if key not in self.keyed or key in self._refused:
                    continue
                prompt = self._prompts[self.keyed[key][0]]
                outcome = self._service.outcome(line, prompt, parameters, self._note)
                if isinstance(outcome, CallFailure):
                    if self._adapts(outcome, parameters, prompt):
                        self._refused.add(key)
                        continue
                    outcome = failed_or_filtered(outcome)
                replies[key][repeat] = outcome
                if len(replies[key]) == self._repeats:
                    yield key, self._whole(list(replies.pop(key).values()), prompt)
        for key in [key for key in replies if key not in self._refused]:
            yield key, self._whole(list(replies[key].values()), self._prompts[self.keyed[key][0]])

    def _whole(self, replies: list[Completion], prompt: Prompt) -> Completion:
        return combined(replies, prompt) if self._caller.settings.repeats else replies[0]

    def _adapts(self, failure: CallFailure, used: Parameters, prompt: Prompt) -> bool:
        """Whether a call is to be sent again with other parameters. The first that is refused changes them for all."""
        change: tuple[Parameters, str] | None = None
        if failure.action is Action.USE_COMPLETIONS and used.messages:
            note = "The model does not accept chat messages, so medfact uses text completions (/completions)."
            change = dataclasses.replace(used, messages=False), note
        elif failure.action is Action.CHANGE_PARAMETERS:
            change = without_refused(used, failure.message, failure.parameter, prompt)
        if change is not None and self._caller.parameters == used:
            self._caller.parameters, note = change[0].of_any_prompt, change[1]
            self._note(note)
        return change is not None and self._caller.parameters != used

    def _note(self, note: str) -> None:
        if note not in self._caller.notes:
            self._caller.notes.append(note)

    def _saved(self, completions: Iterable[tuple[str, Completion]]) -> Iterator[AnswersSaved]:
        """Saves answers. Those to identical prompts are saved together, and cost nothing but for the first."""
        answers: list[Answer] = []
        for key, completion in completions:
            for number, index in enumerate(self.keyed.pop(key)):
                answers.append(_in_batch(self._prompts.answer(index, completion), is_reused=number > 0))
            if len(answers) >= SAVED_AT_ONCE:
                yield self._save(answers)
                answers = []
        if answers:
            yield self._save(answers)

    def _save(self, answers: Sequence[Answer]) -> AnswersSaved:
        self._store.answers.save(self._run, tuple(answers))
        return AnswersSaved(tuple(answers))


def _in_batch(answer: Answer, is_reused: bool) -> Answer:
    """An answer without the duration of its call, which nobody knows."""
    free: dict[str, Any] = (
        {"attempts": 0, "prompt_tokens": 0, "completion_tokens": 0} if is_reused and answer.failure is None else {}
    )
    return dataclasses.replace(answer, seconds=None, **free)


def _by_key(prompts: Prompts, is_repeatable: bool) -> dict[str, list[int]]:
    """The key of each prompt → the statements that have it: several, where an identical prompt gets the same answer."""
    keyed: dict[str, list[int]] = {}
    for index, item in enumerate(prompts.items):
        prompt = prompts[index]
        parts = [str(prompt.content), str(prompt.max_tokens)]
        parts += [] if is_repeatable else [item.statement.statement_id, str(item.draw)]
        keyed.setdefault(hashlib.sha256("\x1f".join(parts).encode()).hexdigest()[:32], []).append(index)
    return keyed


def _file_name(token: str) -> str:
    return f"medfact-{token}.jsonl"
