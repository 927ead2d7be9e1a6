"""Sends prompts to a service: several at once, with retries, and identical prompts only once."""

from __future__ import annotations

import asyncio
import hashlib
import logging
import time
from collections.abc import Callable, MutableMapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from medfact.errors import ModelError
from medfact.log_setup import mask_private_text
from medfact.models.prompt import Completion, Prompt, Served
from medfact.models.providers import NO_MONITOR, Monitor
from medfact.models.services.calls import Caller
from medfact.models.services.failures import Action, CallFailure, ServiceHealth, too_long_a_wait, wait_in_words
from medfact.models.services.pacing import Gate, wait_before
from medfact.models.services.prices import tokens_in
from medfact.models.services.replies import combined, total
from medfact.models.stated import second_turn, with_stated

_log = logging.getLogger(__package__)

MAX_WAITING = 1024
"""Prompts that may wait for a retry, beside those in flight."""

UNREACHED_TRIES, UNREACHED_WAIT_SECONDS = 3, 0.15
"""Tries, and seconds between them, after which a service that has never answered counts as unreachable."""

UNREACHED_SHARE = 8
"""Prompts that must have failed so for each other prompt on its way: a name server may lose one query of many."""

LAST_CALLS_SECONDS = 2.0
"""Time for calls in flight once an error ends the run."""

MAX_REMEMBERED = 1 << 16
"""Answers remembered for identical prompts, the latest ones."""

MAX_FREE_TRIES = 8
"""Tries of a prompt that failed only because of the load, and do not count."""

Emit = Callable[[tuple[int, Completion]], None]

Memory = MutableMapping[bytes, Completion]
"""Recent answers of a service, over all that it was asked: digest of the prompt → answer."""


@dataclass
class AttemptState:
    """The calls for one reply so far."""

    calls: int = 0
    counted: int = 0
    """Calls that count as tries."""
    unreached: int = 0
    """Calls that met no service."""
    long_waits: int = 0
    wasted_tokens: int = 0
    discarded: list[Served] = field(default_factory=list)
    """Usage that was reported for replies that were not used."""
    answers_at_first: int | None = None
    """Answers of the service when the prompt first failed."""
    fresh_answers_at_first: int | None = None


class Schedule:
    """Sends one set of prompts through a service.

    emit: receives the index and the completion of each prompt, as they arrive.
    tell: receives a sentence when the service makes all calls wait.
    """

    def __init__(
        self,
        caller: Caller,
        health: ServiceHealth,
        memory: Memory,
        prompts: Sequence[Prompt],
        emit: Emit,
        monitor: Monitor = NO_MONITOR,
        tell: Callable[[str], None] = lambda step: None,
    ) -> None:
        self._caller, self._health, self._memory, self._prompts = caller, health, memory, prompts
        self._forward, self._monitor, self._tell, self._told_until = emit, monitor, tell, 0.0
        self._settings = caller.settings
        self._gate = Gate(health.limit, self._settings.in_flight, monitor.must_wait)
        self._open_prompts = Gate(self._settings.in_flight + (MAX_WAITING if health.answers else 0))
        self._duplicates: dict[bytes, list[int]] = {}
        self._failed: dict[bytes, Completion] = {}
        self._not_yet_unreachable = self._unreachable = 0
        self._all_started = False
        self._ending = asyncio.Event()
        self._error: ModelError | None = None
        self._tasks = asyncio.TaskGroup()
        self._running: set[asyncio.Task[None]] = set()

    async def run(self) -> None:
        """Sends all prompts. Raises ModelError if the run must end."""
        self._caller.on_discarded = self._note_discarded
        self._health.restart()
        try:
            async with self._tasks:
                for index in range(len(self._prompts)):
                    if self._ending.is_set():
                        break
                    await self._start(index)
                self._all_started = True
        except BaseExceptionGroup as group:
            raise _first(group) from None
        if error := self._error or (None if self._ending.is_set() else self._health.refuses_all()):
            raise error

    def end(self) -> None:
        """Sends no further calls; those in flight may still bring their answers."""
        self._ending.set()
        self._gate.shut()

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
        digest = _digest_of(prompt) if self._caller.is_repeatable else None
        if digest is not None:
            if (completion := self._memory.get(digest) or self._failed.get(digest)) is not None:
                self._emit(index, _reused(completion))
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
        if completion is None:
            return
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
            self._memory[digest] = completion
        for index in duplicates:
            self._emit(index, _reused(completion))

    async def _completion(self, prompt: Prompt, sent: asyncio.Event) -> Completion | None:
        """Returns the completion of a prompt, or None where the run ends before."""
        repeats = self._settings.repeats
        if not repeats:
            reply = await self._reply(prompt, 0, sent)
            return await self._with_stated(prompt, reply) if prompt.second and reply is not None else reply
        async with asyncio.TaskGroup() as tasks:
            asking = [tasks.create_task(self._reply(prompt, repeat, sent)) for repeat in range(repeats)]
        replies = [reply for task in asking if (reply := task.result()) is not None]
        return combined(replies, prompt) if len(replies) == repeats else None

    async def _with_stated(self, prompt: Prompt, reply: Completion) -> Completion | None:
        """Asks in a second turn how sure the model is. Both calls count. Returns None where the run ends before."""
        second = second_turn(prompt, reply, chat=self._caller.parameters.messages)
        if second is None or self._ending.is_set():
            return with_stated(prompt, reply, None)
        stated = await self._reply(second, 0, asyncio.Event())
        if stated is None:
            return None
        return replace(with_stated(prompt, reply, stated), served=total([*filter(None, (reply.served, stated.served))]))

    # -------------------------------------------------------------------------------- tries

    async def _reply(self, prompt: Prompt, repeat: int, sent: asyncio.Event) -> Completion | None:
        """Calls until there is a reply, or the most tries have failed. Returns None where the run ends before."""
        state = AttemptState()
        self._not_yet_unreachable += 1
        try:
            while True:
                state.calls += 1
                outcome, seconds = await self._caller.call(prompt, repeat, self._gate, sent.set)
                if isinstance(outcome, Completion):
                    self._record_answer(seconds)
                    return _with_usage(outcome, seconds, state)
                if outcome.action is Action.END_RUN and outcome.error is not None:
                    self._end_with(outcome.error)
                    return None
                self._record_failure(prompt, outcome, seconds, state)
                is_last = outcome.action is Action.FAIL_PROMPT or state.counted >= self._settings.tries
                if not is_last and await self._ends_within(self._wait(outcome, state.calls)):
                    if self._error is None or outcome.is_long_wait:
                        return None  # the prompt has not failed
                    is_last = True
                if is_last:
                    tries = f"{state.calls} {'try' if state.calls == 1 else 'tries'}"
                    return _with_usage(Completion(None, failure=f"{outcome.reason} ({tries})"), seconds, state)
        finally:
            if state.unreached == 0:
                self._not_yet_unreachable -= 1

    def _record_answer(self, seconds: float) -> None:
        self._gate.succeeded()
        self._health.record_answer(time.monotonic() - seconds)
        self._health.limit = self._gate.limit
        if self._health.answers == 1:
            self._open_prompts.widen(self._settings.in_flight + MAX_WAITING)

    def _record_failure(self, prompt: Prompt, failure: CallFailure, seconds: float, state: AttemptState) -> None:
        """Counts a failed call. Neither a long wait that the service asks for nor a few failures by load alone are tries."""
        is_by_load = failure.overloaded and self._gate.rejected(seconds)
        if failure.billed and (tokens := tokens_in(prompt.content)):
            state.wasted_tokens += tokens
            self._monitor.wasted(tokens)
            self._end_if_stopped()
        if failure.served:
            state.discarded.append(failure.served)
        if failure.is_long_wait:
            state.long_waits += 1
            self._note_long_wait(failure, failure.retry_after or 0.0)
            return
        if not is_by_load or state.calls - state.long_waits - state.counted > MAX_FREE_TRIES:
            state.counted += 1
        self._end_if_away(failure, state)
        if self._is_unreached(failure):
            self._end_if_unreachable(failure, state)

    def _note_long_wait(self, failure: CallFailure, seconds: float) -> None:
        """Tells that all calls wait, or pauses the run where the last answer will be too old by then."""
        if self._health.is_silent_for_long(seconds):
            self._end_with(too_long_a_wait(self._caller.host, failure))
        elif time.monotonic() >= self._told_until:
            self._told_until = time.monotonic() + seconds
            self._tell(wait_in_words(self._caller.host, failure))

    def _is_unreached(self, failure: CallFailure) -> bool:
        """Returns whether the service was not reached, and has never answered."""
        return failure.action is Action.RETRY_UNREACHED and not self._health.answers

    def _note_discarded(self, served: Served) -> None:
        self._monitor.discarded(served)
        self._end_if_stopped()

    def _end_if_away(self, failure: CallFailure, state: AttemptState) -> None:
        """Slows down, pauses or ends the run by the rules of `ServiceHealth`. A prompt that fails while others are answered is
        to blame itself.
        """
        health = self._health
        if state.answers_at_first is None:
            state.answers_at_first = health.answers
        if state.answers_at_first == health.answers and not self._is_unreached(failure):
            error = health.record_failure_since_answer(failure)
            if error is not None:
                self._end_with(error)
            elif self._error is None and not self._all_started and failure.action is not Action.FAIL_PROMPT:
                wait = health.probe_wait(failure)  # once all are started, retries wait anyway
                if wait is not None:
                    self._gate.probe(wait)
        if state.fresh_answers_at_first is None:
            state.fresh_answers_at_first = health.fresh_answers
        if state.fresh_answers_at_first == health.fresh_answers and not failure.overloaded:
            error = health.record_failure_in_row(failure)
            if error is not None:
                self._end_with(error)

    def _end_if_unreachable(self, failure: CallFailure, state: AttemptState) -> None:
        """Raises the failure's error once this prompt was tried enough and nearly all others on their way failed alike. That
        cancels all calls: none of them can bring an answer.
        """
        if state.unreached == 0:
            self._not_yet_unreachable -= 1
            self._unreachable += 1
        state.unreached += UNREACHED_TRIES if failure.slow else 1
        is_tried_enough = state.unreached >= min(UNREACHED_TRIES, self._settings.tries)
        if failure.error is not None and is_tried_enough and UNREACHED_SHARE * self._not_yet_unreachable <= self._unreachable:
            raise failure.error

    def _wait(self, failure: CallFailure, calls: int) -> float:
        """Returns the seconds before the next try."""
        if self._is_unreached(failure):
            seconds = UNREACHED_WAIT_SECONDS * calls
        else:
            seconds = wait_before(calls, overloaded=failure.overloaded, requested=failure.retry_after)
        _log.debug("Call %d failed: %s; next try in %.1f s.", calls, mask_private_text(failure.kind), seconds)
        return seconds

    async def _ends_within(self, seconds: float) -> bool:
        """Waits before a retry. Returns whether the run ends meanwhile."""
        try:
            await asyncio.wait_for(self._ending.wait(), seconds)
        except TimeoutError:
            return False
        return True


def _first(group: BaseExceptionGroup[BaseException]) -> BaseException:
    """Returns the first error in nested groups."""
    error: BaseException = group
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


# ---------------------------------------------------------------------------------------------------------- usage of a reply


def _digest_of(prompt: Prompt) -> bytes:
    """A hash of everything in a prompt that a service's answer depends on."""
    return hashlib.blake2b(repr((prompt.content, prompt.choices, prompt.max_tokens)).encode(), digest_size=16).digest()


def _with_usage(completion: Completion, seconds: float, state: AttemptState) -> Completion:
    """Adds the time, the calls and the tokens that a completion took."""
    last, wasted = completion.served or Served(), state.wasted_tokens
    served = total([last, *state.discarded]) or last
    tokens = (served.prompt_tokens or 0) + wasted if wasted else served.prompt_tokens
    calls = state.calls + served.attempts - 1  # each call may have been sent again with other parameters
    return replace(
        completion,
        served=replace(
            served, seconds=seconds, attempts=calls, prompt_tokens=tokens, wasted_tokens=served.wasted_tokens + wasted
        ),
    )


_USAGE = ("prompt_tokens", "completion_tokens", "attempts", "wasted_tokens", "wasted_completion")


def _reused(completion: Completion) -> Completion:
    """The answer to an identical prompt: it took no call and cost nothing."""
    if completion.served is None:
        return completion
    none: dict[str, Any] = dict.fromkeys(_USAGE, 0)
    thinking = completion.served.reasoning_tokens and 0
    return replace(completion, served=replace(completion.served, seconds=0.0, reasoning_tokens=thinking, **none))
