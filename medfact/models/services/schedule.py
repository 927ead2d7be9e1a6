"""Sends prompts to a service: several at once, with retries, and identical prompts only once.

A service may have several replicas. Each gets its own prompts (`Division`); a failed call is repeated at another one. One
that keeps failing is dropped. The rules for the end of a run hold for the last replica that is left.
"""

from __future__ import annotations

import asyncio
import hashlib
import heapq
import logging
import time
from collections import defaultdict, deque
from collections.abc import Callable, Hashable, MutableMapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from medfact.errors import ModelError
from medfact.log_setup import masked
from medfact.models.prompt import Completion, Prompt, Served, groups_of
from medfact.models.providers import NO_MONITOR, Monitor
from medfact.models.services.failures import Action, CallFailure, too_long_a_wait, wait_in_words
from medfact.models.services.pacing import Gate, wait_before
from medfact.models.services.prices import tokens_in
from medfact.models.services.replicas import Replica, Replicas
from medfact.models.services.replies import combined, total
from medfact.models.stated import second_turn, with_stated

_log = logging.getLogger(__package__)

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

IDLE_SECONDS = 0.05
"""Time between two looks of a replica that sends nothing for now."""

Emit = Callable[[tuple[int, Completion]], None]

Memory = MutableMapping[bytes, Completion]
"""Recent answers of a service, over all that it was asked: digest of the prompt → answer."""


@dataclass
class Effort:
    """What one reply has taken so far.

    attempt: calls. counted: those that count as tries. unreached: those that met no service. told_to_wait: those that
    the service answered with a long wait. answers, fresh_answers: as many as
    there were when the prompt first failed. refused_by: replicas that do not take the prompt. discarded: what was reported of
    replies that were not used.
    """

    attempt: int = 0
    counted: int = 0
    unreached: int = 0
    told_to_wait: int = 0
    wasted_tokens: int = 0
    discarded: list[Served] = field(default_factory=list)
    answers: int | None = None
    fresh_answers: int | None = None
    refused_by: set[Replica] = field(default_factory=set)


class Division:
    """Prompts that are still to be sent. Those that share a beginning are a group, and go to one replica, which has it in its
    cache. Each taker gets prompts in their order, so that first answers are of all kinds.

    A group belongs to the first that takes of it. A taker without prompts of its own takes over a group of another: whoever is
    slow keeps less. The last group of a taker is shared prompt by prompt, from its end.
    """

    def __init__(self, groups: Sequence[Hashable]) -> None:
        """groups: of each prompt."""
        self._waiting: defaultdict[Hashable, deque[int]] = defaultdict(deque)
        for index, group in enumerate(groups):
            self._waiting[group].append(index)
        self._free = [(indices[0], number, group) for number, (group, indices) in enumerate(self._waiting.items())]
        self._own: defaultdict[Hashable, list[tuple[int, int, Hashable]]] = defaultdict(list)
        self.left = len(groups)

    def take(self, taker: Hashable) -> int | None:
        """The index of the next prompt for this taker; None when all have been taken."""
        own = self._own[taker]
        if not own and not self._free and (shared := self._from_another(taker)) is not None:
            return shared
        heaps = [heap for heap in (own, self._free) if heap]
        if not heaps:
            return None
        _, number, group = heapq.heappop(min(heaps, key=lambda heap: heap[0][0]))
        index = self._waiting[group].popleft()
        if self._waiting[group]:
            heapq.heappush(own, (self._waiting[group][0], number, group))
        self.left -= 1
        return index

    def release(self, taker: Hashable) -> None:
        """Gives a taker's groups to whoever comes first."""
        for entry in self._own.pop(taker, ()):
            heapq.heappush(self._free, entry)

    def _from_another(self, taker: Hashable) -> int | None:
        """Takes over the largest group of whoever has the most left. If that is its only one, returns the last prompt of it."""
        owners = [owner for owner, heap in self._own.items() if heap]
        if not owners:
            return None
        owner = max(owners, key=lambda owner: sum(len(self._waiting[group]) for _, _, group in self._own[owner]))
        heap = self._own[owner]
        entry = max(heap, key=lambda entry: len(self._waiting[entry[2]]))
        indices = self._waiting[entry[2]]
        if len(heap) > 1 or len(indices) == 1:
            heap.remove(entry)
            heapq.heapify(heap)
            self._own[taker].append(entry)
            return None
        self.left -= 1
        return indices.pop()


class Schedule:
    """One set of prompts on its way through a service. `emit` gets the index and completion of each as they arrive, and `tell`
    what the service has all of them wait for.
    """

    def __init__(
        self,
        replicas: Replicas,
        memory: Memory,
        prompts: Sequence[Prompt],
        emit: Emit,
        monitor: Monitor = NO_MONITOR,
        tell: Callable[[str], None] = lambda step: None,
    ) -> None:
        self._replicas, self._memory, self._prompts, self._forward, self._monitor = replicas, memory, prompts, emit, monitor
        self._tell, self._told_until = tell, 0.0
        self._settings = replicas.all[0].caller.settings
        self._most_calls = sum(replica.caller.settings.in_flight for replica in replicas.all)
        answers = sum(replica.health.answers for replica in replicas.all)
        self._open_prompts = Gate(self._most_calls + (MAX_WAITING if answers else 0))
        self._duplicates: dict[bytes, list[int]] = {}
        self._failed: dict[bytes, Completion] = {}
        self._hopeful = self._unreached = 0
        self._all_started = False
        self._ending = asyncio.Event()
        self._error: ModelError | None = None
        self._running: set[asyncio.Task[None]] = set()

    async def run(self) -> None:
        """Sends all prompts. Raises ModelError if the run must end."""
        for replica in self._replicas.all:
            replica.open(self._monitor)
            replica.caller.on_discarded = self._note_discarded
            replica.health.restart()
        several = len(self._replicas.all) > 1
        division = Division(groups_of(self._prompts) if several else [None] * len(self._prompts))
        try:
            async with asyncio.TaskGroup() as self._tasks:
                async with asyncio.TaskGroup() as senders:
                    for replica in self._replicas.all:
                        senders.create_task(self._send_from(replica, division))
                self._all_started = True
        except BaseExceptionGroup as group:
            raise _first(group) from None
        if error := self._error or self._refusal_of_all():
            raise error

    def _refusal_of_all(self) -> ModelError | None:
        """The error of a service that has refused everything."""
        refusals = [replica.health.refuses_all() for replica in self._replicas.all]
        return refusals[0] if all(refusals) and not self._ending.is_set() else None

    def end(self) -> None:
        """Sends no further calls; those in flight may still bring their answers."""
        self._ending.set()
        for replica in self._replicas.all:
            replica.gate.shut()

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

    async def _send_from(self, replica: Replica, division: Division) -> None:
        """Starts prompts at a replica until none is left, one after the other as calls for them may be sent."""
        idle_until = 0.0
        while division.left and not self._ending.is_set():
            if not replica.is_there:
                division.release(replica)
                if time.monotonic() < (replica.absent_until or 0):
                    await asyncio.sleep(IDLE_SECONDS)
                    continue
                self._replicas.try_again(replica)
            if self._replicas.finish_sooner(replica, division.left):
                idle_until = idle_until or time.monotonic() + (replica.seconds or 0)
                if time.monotonic() < idle_until:
                    await asyncio.sleep(IDLE_SECONDS)
                    continue
            index = division.take(replica)
            if index is not None:
                await self._start(index, replica)

    @property
    def _is_repeatable(self) -> bool:
        """Whether an identical prompt would get the same answer again."""
        return all(replica.caller.is_repeatable for replica in self._replicas.all)

    async def _start(self, index: int, replica: Replica) -> None:
        """Starts a prompt as soon as a call for it may be sent, unless its answer is known or on its way."""
        prompt = self._prompts[index]
        digest = _digest_of(prompt) if self._is_repeatable else None
        if digest is not None:
            if (known := self._memory.get(digest) or self._failed.get(digest)) is not None:
                self._emit(index, _reused(known))
                await asyncio.sleep(0)
                return
            if digest in self._duplicates:
                self._duplicates[digest].append(index)
                return
            self._duplicates[digest] = []
        await self._open_prompts.enter()
        sent = asyncio.Event()
        self._run_prompt(index, prompt, digest, sent, replica)
        await sent.wait()

    def _run_prompt(self, index: int, prompt: Prompt, digest: bytes | None, sent: asyncio.Event, replica: Replica) -> None:
        task = self._tasks.create_task(self._prompt(index, prompt, digest, sent, replica))
        self._running.add(task)
        task.add_done_callback(self._running.discard)

    async def _prompt(self, index: int, prompt: Prompt, digest: bytes | None, sent: asyncio.Event, replica: Replica) -> None:
        try:
            completion = await self._completion(prompt, sent, replica)
        finally:
            self._open_prompts.leave()
            sent.set()
        self._emit(index, completion)
        if digest is not None:
            await self._serve_duplicates(prompt, digest, completion, replica)

    async def _serve_duplicates(self, prompt: Prompt, digest: bytes, completion: Completion, replica: Replica) -> None:
        """Gives the completion to identical prompts, or asks each of them if the service turned out to sample."""
        duplicates = self._duplicates.pop(digest)
        if completion.text is not None and not self._is_repeatable:
            for index in duplicates:
                await self._open_prompts.enter()
                self._run_prompt(index, prompt, None, asyncio.Event(), replica)
            return
        if completion.text is None:
            self._failed[digest] = completion
        else:
            self._memory[digest] = completion
        for index in duplicates:
            self._emit(index, _reused(completion))

    async def _completion(self, prompt: Prompt, sent: asyncio.Event, replica: Replica) -> Completion:
        if not self._settings.repeats:
            reply = await self._reply(prompt, 0, sent, replica)
            return await self._stated(prompt, reply, replica) if prompt.second else reply
        async with asyncio.TaskGroup() as tasks:
            replies = [
                tasks.create_task(self._reply(prompt, repeat, sent, replica)) for repeat in range(self._settings.repeats)
            ]
        return combined([reply.result() for reply in replies], prompt)

    async def _stated(self, prompt: Prompt, reply: Completion, replica: Replica) -> Completion:
        """A reply with what the model says, when asked, of how sure it is; both calls count."""
        second = second_turn(prompt, reply, chat=replica.caller.parameters.messages)
        if second is None or self._ending.is_set():
            return with_stated(prompt, reply, None)
        told = await self._reply(second, 0, asyncio.Event(), replica)
        return replace(with_stated(prompt, reply, told), served=total([*filter(None, (reply.served, told.served))]))

    # -------------------------------------------------------------------------------- tries

    async def _reply(self, prompt: Prompt, repeat: int, sent: asyncio.Event, replica: Replica) -> Completion:
        """One reply, after as many tries as it takes, or a failed completion after the most tries allowed."""
        effort = Effort()
        self._hopeful += 1
        try:
            while True:
                effort.attempt += 1
                outcome, seconds, counts = await self._call(prompt, repeat, sent, replica)
                if isinstance(outcome, Completion):
                    return _with_effort(outcome, seconds, effort)
                effort.wasted_tokens += self._note_wasted(outcome, prompt)
                effort.discarded += [outcome.served] if outcome.served else []
                is_told = self._note_long_wait(replica, outcome)
                effort.told_to_wait += is_told
                free = effort.attempt - effort.told_to_wait - effort.counted
                effort.counted += not is_told and (counts or free > MAX_FREE_TRIES)
                others = self._others(replica, outcome, effort)
                if not (others or is_told):
                    self._note_failure(replica, outcome, effort)
                refused = outcome.action is Action.FAIL_PROMPT and not others
                if refused or effort.counted >= self._settings.tries:
                    return _with_effort(_failed(outcome, effort.attempt), seconds, effort)
                wait = 0.0 if others and effort.attempt == 1 else self._wait(replica, outcome, effort.attempt)
                _log.debug("Call %d failed: %s; next try in %.1f s.", effort.attempt, masked(outcome.kind), wait)
                if await self._ends_within(wait):
                    if is_told:
                        raise asyncio.CancelledError  # it has not failed
                    return _with_effort(_failed(outcome, effort.attempt), seconds, effort)
                there = [other for other in others if other.is_there]
                replica = self._replicas.least_busy(there) if there else self._one_that_is_there(replica)
        finally:
            self._hopeful -= effort.unreached == 0

    def _note_long_wait(self, replica: Replica, failure: CallFailure) -> bool:
        """True for a long wait that a service asks for. No call goes to it meanwhile: other replicas get them, or all wait and
        it is said. The run pauses where the last answer is too long ago by then.
        """
        if not failure.is_long_wait or failure.retry_after is None:
            return False
        if self._replicas.others(replica):
            if replica.is_there:
                self._replicas.drop(replica, failure, failure.retry_after)
        elif replica.health.is_silent_for_long(failure.retry_after):
            self._end_with(too_long_a_wait(replica.caller.host, failure))
        elif time.monotonic() >= self._told_until:
            self._told_until = time.monotonic() + failure.retry_after
            self._tell(wait_in_words(replica.caller.host, failure))
        return True

    def _others(self, replica: Replica, failure: CallFailure, effort: Effort) -> list[Replica]:
        """The other replicas that may try a prompt after this one failed, which is dropped if it keeps failing."""
        if failure.action is Action.FAIL_PROMPT:
            effort.refused_by.add(replica)
        others = self._replicas.others(replica)
        if others and replica.is_there and replica.is_failing(failure):
            self._replicas.drop(replica, failure)
        return [other for other in others if other not in effort.refused_by]

    def _one_that_is_there(self, replica: Replica) -> Replica:
        """This replica, or another if it was dropped."""
        there = self._replicas.there()
        return replica if replica.is_there or not there else self._replicas.least_busy(there)

    async def _call(
        self, prompt: Prompt, repeat: int, sent: asyncio.Event, replica: Replica
    ) -> tuple[Completion | CallFailure, float, bool]:
        """One call, its seconds, and whether it counts as a try: it does not if only the load was the cause, or if the replica
        was dropped before the call was sent.
        """
        gate = replica.gate
        try:
            outcome, seconds = await replica.caller.call(prompt, repeat, gate, sent.set)
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if self._ending.is_set() or (task is not None and task.cancelling()) or (gate is replica.gate and replica.is_there):
                raise
            return CallFailure(Action.RETRY, "the replica was dropped", overloaded=True), 0.0, False
        if isinstance(outcome, Completion):
            replica.answered(outcome, seconds)
            if replica.health.answers == 1:
                self._open_prompts.widen(self._most_calls + MAX_WAITING)
            return outcome, seconds, True
        if outcome.action is Action.END_RUN and outcome.error is not None and not self._replicas.others(replica):
            self._end_with(outcome.error)
            raise asyncio.CancelledError
        return outcome, seconds, not (outcome.overloaded and gate.rejected(seconds))

    def _is_unreached(self, replica: Replica, failure: CallFailure) -> bool:
        """Whether the service was not reached, and has never answered."""
        return failure.action is Action.RETRY_UNREACHED and not replica.health.answers

    def _note_discarded(self, served: Served) -> None:
        self._monitor.discarded(served)
        self._end_if_stopped()

    def _note_wasted(self, failure: CallFailure, prompt: Prompt) -> int:
        """Tells the monitor of a failed call that may be billed; returns its estimated tokens."""
        tokens = tokens_in(prompt.content) if failure.billed else 0
        if tokens:
            self._monitor.wasted(tokens)
            self._end_if_stopped()
        return tokens

    def _note_failure(self, replica: Replica, failure: CallFailure, effort: Effort) -> None:
        """What a failure of the only replica means for the run: it may have to wait, or to end."""
        health = replica.health
        effort.answers = health.answers if effort.answers is None else effort.answers
        if effort.answers == health.answers:  # otherwise the prompt is to blame: others were answered since
            self._note_silence(replica, failure)
        effort.fresh_answers = health.fresh_answers if effort.fresh_answers is None else effort.fresh_answers
        if effort.fresh_answers == health.fresh_answers and not failure.overloaded and (error := health.failed_in_row(failure)):
            self._end_with(error)
        if self._is_unreached(replica, failure):
            self._hopeful -= effort.unreached == 0
            self._unreached += effort.unreached == 0
            effort.unreached += UNREACHED_TRIES if failure.slow else 1
            self._end_if_unreachable(failure, effort.unreached)

    def _note_silence(self, replica: Replica, failure: CallFailure) -> None:
        """Slows down when the service is silent, and ends the run if that lasts."""
        if self._is_unreached(replica, failure):
            return  # `_end_if_unreachable` is quicker
        error = replica.health.failed_since_answer(failure)
        if self._error is not None:
            return
        if error is not None:
            self._end_with(error)
        elif not self._all_started and failure.action is not Action.FAIL_PROMPT:  # otherwise retries wait anyway
            wait = replica.health.probe_wait(failure)
            if wait is not None:
                replica.gate.probe(wait)

    def _end_if_unreachable(self, failure: CallFailure, tries: int) -> None:
        """Ends the run once a prompt has been tried enough and nearly all prompts on their way met the same failure."""
        tried_enough = tries >= min(UNREACHED_TRIES, self._settings.tries)
        if failure.error is not None and tried_enough and UNREACHED_PER_HOPEFUL * self._hopeful <= self._unreached:
            raise failure.error

    def _wait(self, replica: Replica, failure: CallFailure, attempt: int) -> float:
        if self._is_unreached(replica, failure):
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


def _first(group: BaseExceptionGroup[BaseException]) -> BaseException:
    """The first error in nested groups."""
    error: BaseException = group
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


# ---------------------------------------------------------------------------------------------------------- what a reply took


def _digest_of(prompt: Prompt) -> bytes:
    """A hash of everything in a prompt that a service's answer depends on."""
    return hashlib.blake2b(repr((prompt.content, prompt.choices, prompt.max_tokens)).encode(), digest_size=16).digest()


def _failed(failure: CallFailure, attempts: int) -> Completion:
    return Completion(None, failure=f"{failure.reason} ({attempts} {'try' if attempts == 1 else 'tries'})")


def _with_effort(completion: Completion, seconds: float, effort: Effort) -> Completion:
    """A completion with the time and the calls that it took."""
    last, wasted = completion.served or Served(), effort.wasted_tokens
    served = total([last, *effort.discarded]) or last
    tokens = (served.prompt_tokens or 0) + wasted if wasted else served.prompt_tokens
    calls = effort.attempt + served.attempts - 1  # each attempt may have asked again with other parameters
    return replace(
        completion,
        served=replace(
            served, seconds=seconds, attempts=calls, prompt_tokens=tokens, wasted_tokens=served.wasted_tokens + wasted
        ),
    )


_SPENT = ("prompt_tokens", "completion_tokens", "attempts", "wasted_tokens", "wasted_completion")
"""What a reply has cost."""


def _reused(completion: Completion) -> Completion:
    """The answer to an identical prompt: it took no call and cost nothing."""
    if completion.served is None:
        return completion
    none: dict[str, Any] = dict.fromkeys(_SPENT, 0)
    thinking = completion.served.reasoning_tokens and 0
    return replace(completion, served=replace(completion.served, seconds=0.0, reasoning_tokens=thinking, **none))
