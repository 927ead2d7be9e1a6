"""Sends prompts to a service: several at once, with retries, and identical prompts only once."""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections.abc import Callable, Sequence
from dataclasses import replace

from medfact.errors import ModelError
from medfact.models.prompt import Completion, Prompt, Served
from medfact.models.services.calls import Caller
from medfact.models.services.errors import Action, CallFailure
from medfact.models.services.health import ServiceHealth
from medfact.models.services.monitor import NO_MONITOR, Monitor
from medfact.models.services.pacing import Gate, wait_before
from medfact.models.services.prices import tokens_in
from medfact.models.services.replies import combined

MAX_WAITING = 1024
"""Prompts that may wait for a retry, beside those in flight."""

UNREACHED_TRIES, UNREACHED_WAIT_SECONDS = 3, 0.15
"""Tries, and seconds between them, after which a service that has never answered counts as out of reach."""

UNREACHED_PER_HOPEFUL = 8
"""Prompts that must have failed so for each prompt still on its way: a name server may lose one query of many."""

LAST_CALLS_SECONDS = 2.0
"""Time for calls in flight once an error ends the run."""

MAX_REMEMBERED = 1 << 16
"""Answers remembered for identical prompts, the latest ones."""

MAX_FREE_TRIES = 8
"""Tries of a prompt that failed only because of the load, and do not count."""

Emit = Callable[[tuple[int, Completion]], None]


class Memory:
    """What is known of a service over all that it was asked: its health, the calls it took at once, and recent answers."""

    def __init__(self, caller: Caller) -> None:
        self.health = ServiceHealth(caller.host, caller.settings.timeout)
        self.limit = caller.settings.in_flight
        self.answers: dict[bytes, Completion] = {}

    def remember(self, digest: bytes, completion: Completion) -> None:
        """Keeps an answer for identical prompts."""
        self.answers[digest] = completion
        if len(self.answers) > MAX_REMEMBERED:
            del self.answers[next(iter(self.answers))]


class Schedule:
    """One set of prompts on its way through a service. `emit` gets the index and completion of each as they arrive."""

    def __init__(
        self, caller: Caller, memory: Memory, prompts: Sequence[Prompt], emit: Emit, monitor: Monitor = NO_MONITOR
    ) -> None:
        self._caller, self._memory, self._prompts, self._forward, self._monitor = caller, memory, prompts, emit, monitor
        self._health, self._settings = memory.health, caller.settings
        self._calls = Gate(memory.limit, self._settings.in_flight)
        self._open_prompts = Gate(self._settings.in_flight + (MAX_WAITING if self._health.answers else 0))
        self._duplicates: dict[bytes, list[int]] = {}
        self._failed: dict[bytes, Completion] = {}
        self._hopeful = self._unreached = 0
        self._all_started = False
        self._ending = asyncio.Event()
        self._error: ModelError | None = None
        self._running: set[asyncio.Task[None]] = set()

    async def run(self) -> None:
        """Sends all prompts. Raises ModelError if the run must end."""
        self._health.restart()
        try:
            async with asyncio.TaskGroup() as self._tasks:
                for index in range(len(self._prompts)):
                    if self._ending.is_set():
                        break
                    await self._start(index)
                self._all_started = True
        except BaseExceptionGroup as group:
            raise _first(group) from None
        if self._error is not None:
            raise self._error

    def end(self) -> None:
        """Sends no further calls; those in flight may still bring their answers."""
        self._ending.set()
        self._calls.shut()

    def _end_with(self, error: ModelError) -> None:
        """Ends the run with an error. Calls in flight, which may be billed, get a moment to arrive."""
        if self._error is None:
            self._error = error
            self.end()
            asyncio.get_running_loop().call_later(LAST_CALLS_SECONDS, self._cancel)

    def _cancel(self) -> None:
        for task in self._running:
            task.cancel()

    def _emit(self, index: int, completion: Completion) -> None:
        self._monitor.completed(completion)
        self._forward((index, completion))
        self._end_if_stopped()

    def _end_if_stopped(self) -> None:
        if self._monitor.seconds_left() is not None:
            self.end()

    # -------------------------------------------------------------------------------- prompts

    async def _start(self, index: int) -> None:
        """Starts a prompt as soon as a call for it may be sent, unless its answer is known or on its way."""
        prompt = self._prompts[index]
        digest = _digest(prompt) if self._caller.is_repeatable else None
        if digest is not None:
            if (known := self._memory.answers.get(digest) or self._failed.get(digest)) is not None:
                self._emit(index, _reused(known))
                await asyncio.sleep(0)
                return
            if digest in self._duplicates:
                self._duplicates[digest].append(index)
                return
            self._duplicates[digest] = []
        await self._open_prompts.enter()
        sent = asyncio.Event()
        self._run_prompt(index, prompt, digest, sent)
        await sent.wait()

    def _run_prompt(self, index: int, prompt: Prompt, digest: bytes | None, sent: asyncio.Event) -> None:
        task = self._tasks.create_task(self._prompt(index, prompt, digest, sent))
        self._running.add(task)
        task.add_done_callback(self._running.discard)

    async def _prompt(self, index: int, prompt: Prompt, digest: bytes | None, sent: asyncio.Event) -> None:
        try:
            completion = await self._completion(prompt, sent)
        finally:
            self._open_prompts.leave()
            sent.set()
        self._emit(index, completion)
        if digest is not None:
            await self._serve_duplicates(prompt, digest, completion)

    async def _serve_duplicates(self, prompt: Prompt, digest: bytes, completion: Completion) -> None:
        """Gives the completion to identical prompts, or asks each of them if the service turned out to sample."""
        duplicates = self._duplicates.pop(digest)
        if completion.text is not None and not self._caller.is_repeatable:
            for index in duplicates:
                await self._open_prompts.enter()
                self._run_prompt(index, prompt, None, asyncio.Event())
            return
        if completion.text is None:
            self._failed[digest] = completion
        else:
            self._memory.remember(digest, completion)
        for index in duplicates:
            self._emit(index, _reused(completion))

    async def _completion(self, prompt: Prompt, sent: asyncio.Event) -> Completion:
        if not self._settings.repeats:
            return await self._reply(prompt, 0, sent)
        async with asyncio.TaskGroup() as tasks:
            replies = [tasks.create_task(self._reply(prompt, repeat, sent)) for repeat in range(self._settings.repeats)]
        return combined([reply.result() for reply in replies], prompt)

    # -------------------------------------------------------------------------------- tries

    async def _reply(self, prompt: Prompt, repeat: int, sent: asyncio.Event) -> Completion:
        """One reply, after as many tries as it takes, or a failed completion after the most tries allowed."""
        attempt = counted = wasted_tokens = unreached = 0
        answers = fresh_answers = None  # as many as there were when this prompt first failed
        self._hopeful += 1
        try:
            while True:
                attempt += 1
                outcome, seconds, counts = await self._call(prompt, repeat, sent)
                if isinstance(outcome, Completion):
                    return _with_effort(outcome, seconds, attempt, wasted_tokens)
                wasted_tokens += self._note_wasted(outcome, prompt)
                answers = self._health.answers if answers is None else answers
                if answers == self._health.answers:  # otherwise the prompt is to blame: others were answered since
                    self._note_silence(outcome)
                fresh_answers = self._health.fresh_answers if fresh_answers is None else fresh_answers
                if fresh_answers == self._health.fresh_answers and not outcome.overloaded:
                    self._note_failure_in_row(outcome)
                counted += counts or attempt - counted > MAX_FREE_TRIES
                if self._is_unreached(outcome):
                    self._hopeful -= unreached == 0
                    self._unreached += unreached == 0
                    unreached += UNREACHED_TRIES if outcome.slow else 1
                    self._end_if_unreachable(outcome, unreached)
                given_up = outcome.action is Action.FAIL_PROMPT or counted >= self._settings.tries
                if given_up or await self._ends_within(self._wait(outcome, attempt)):
                    return _with_effort(_failed(outcome, attempt), seconds, attempt, wasted_tokens)
        finally:
            self._hopeful -= unreached == 0

    async def _call(self, prompt: Prompt, repeat: int, sent: asyncio.Event) -> tuple[Completion | CallFailure, float, bool]:
        """One call, its seconds, and whether it counts as a try: it does not if only the load was the cause."""
        outcome, seconds = await self._caller.call(prompt, repeat, self._calls, sent.set)
        if isinstance(outcome, Completion):
            self._calls.succeeded()
            self._memory.limit = self._calls.limit
            self._health.answered(time.monotonic() - seconds)
            if self._health.answers == 1:
                self._open_prompts.widen(self._settings.in_flight + MAX_WAITING)
            return outcome, seconds, True
        if outcome.action is Action.END_RUN and outcome.error is not None:
            self._end_with(outcome.error)
            raise asyncio.CancelledError
        return outcome, seconds, not (outcome.overloaded and self._calls.rejected(seconds))

    def _is_unreached(self, failure: CallFailure) -> bool:
        """Whether the service was not reached, and has never answered."""
        return failure.action is Action.RETRY_UNREACHED and not self._health.answers

    def _note_wasted(self, failure: CallFailure, prompt: Prompt) -> int:
        """Tells the monitor of a failed call that may be billed; returns its estimated tokens."""
        tokens = tokens_in(prompt.content) if failure.billed else 0
        if tokens:
            self._monitor.wasted(tokens)
            self._end_if_stopped()
        return tokens

    def _note_failure_in_row(self, failure: CallFailure) -> None:
        if error := self._health.failed_in_row(failure):
            self._end_with(error)

    def _note_silence(self, failure: CallFailure) -> None:
        """Slows down when the service is silent, and ends the run if that lasts."""
        if self._is_unreached(failure):
            return  # `_end_if_unreachable` is quicker
        error = self._health.failed_since_answer(failure)
        if self._error is not None:
            return
        if error is not None:
            self._end_with(error)
        elif not self._all_started and failure.action is not Action.FAIL_PROMPT:  # otherwise retries wait anyway
            wait = self._health.probe_wait(failure)
            if wait is not None:
                self._calls.probe(wait)

    def _end_if_unreachable(self, failure: CallFailure, tries: int) -> None:
        """Ends the run once a prompt has been tried enough and nearly all prompts on their way met the same failure."""
        tried_enough = tries >= min(UNREACHED_TRIES, self._settings.tries)
        if failure.error is not None and tried_enough and UNREACHED_PER_HOPEFUL * self._hopeful <= self._unreached:
            raise failure.error

    def _wait(self, failure: CallFailure, attempt: int) -> float:
        if self._is_unreached(failure):
            return UNREACHED_WAIT_SECONDS * attempt
        return wait_before(attempt, overloaded=failure.overloaded, requested=failure.retry_after)

    async def _ends_within(self, seconds: float) -> bool:
        """Waits before a retry; whether an error ends the run meanwhile. Raises CancelledError if the run is stopped."""
        try:
            await asyncio.wait_for(self._ending.wait(), seconds)
        except TimeoutError:
            return False
        if self._error is None:
            raise asyncio.CancelledError
        return True


def _digest(prompt: Prompt) -> bytes:
    """A hash of everything in a prompt that a service's answer depends on."""
    return hashlib.blake2b(repr((prompt.content, prompt.choices, prompt.max_tokens)).encode(), digest_size=16).digest()


def _failed(failure: CallFailure, attempts: int) -> Completion:
    return Completion(None, failure=f"{failure.reason} ({attempts} {'try' if attempts == 1 else 'tries'})")


def _with_effort(completion: Completion, seconds: float, attempts: int, wasted_tokens: int) -> Completion:
    """A completion with the time and the calls that it took."""
    served = completion.served or Served()
    tokens = (served.prompt_tokens or 0) + wasted_tokens if wasted_tokens else served.prompt_tokens
    return replace(
        completion,
        served=replace(served, seconds=seconds, attempts=attempts, prompt_tokens=tokens, wasted_tokens=wasted_tokens),
    )


def _reused(completion: Completion) -> Completion:
    """The answer to an identical prompt: it took no call and cost nothing."""
    if completion.served is None:
        return completion
    free = replace(completion.served, prompt_tokens=0, completion_tokens=0, seconds=0.0, attempts=0, wasted_tokens=0)
    return replace(completion, served=free)


def _first(group: BaseExceptionGroup[BaseException]) -> BaseException:
    """The first error in nested groups."""
    error: BaseException = group
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error
