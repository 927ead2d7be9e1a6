"""Prompts asked of a service: so many at once, tried again where that may help, identical ones once."""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

from medfact.errors import ModelError, ServiceAway
from medfact.models.prompt import Completion, Prompt, Served
from medfact.models.services.errors import Follows, Trouble
from medfact.models.services.pacing import LONGEST_PROBE_WAIT, Gate, wait_before
from medfact.models.services.prices import tokens_in
from medfact.models.services.replies import together
from medfact.models.services.settings import NOBODY, ApiSettings, Watch

OPEN = 1024
"""Prompts that may wait for another try, beside those in flight."""

STRIKES, QUICK_WAIT = 3, 0.15
"""Tries, and seconds between them, after which a service that nobody has reached yet counts as out of reach."""

NEARLY_ALL = 8
"""So many prompts must have met that for each one that is still on its way: a name server may lose one question of many."""

ARRIVES_WITHIN = 2.0
"""Seconds that calls in flight get once a run must end for a reason."""

KEPT = 1 << 16
"""Answers that are remembered, the latest ones."""

DOUBT = 8
"""Calls in a row that bring nothing, after which a service is asked one thing at a time."""

ALIKE, ALIKE_SECONDS = 20, 20.0
"""Calls that bring nothing, all for one reason and before any answer, after which a run ends; not before so many seconds where
another try may help: a service may be starting.
"""

AWAY = 50
"""Calls in a row that bring nothing, after which a service that has answered before counts as away."""

AWAY_TIMEOUTS = 10
"""The same, where it is asked and silent for so many times as long as a call may take."""

MOST_UNCOUNTED = 8
"""Tries of a prompt that failed because of the crowd, and do not count."""

Emit = Callable[[tuple[int, Completion]], None]


@dataclass
class Known:
    """What is known of a service over all that is asked of it.

    heard: how many answers it has given. limit: how many calls it took at once when it last answered. kept: answers by their
           prompt. in_vain: why calls have brought nothing since it last answered. since: when that was, or the first call.
    failures: why calls have failed in a row that began at failing_since, which an answer ends whose call left after that: one
              that was on its way says nothing of what came later. proven: how many answers there were but those.
    """

    limit: int
    heard: int = 0
    kept: dict[bytes, Completion] = field(default_factory=dict)
    in_vain: Counter[str] = field(default_factory=Counter)
    since: float = field(default_factory=time.monotonic)
    failures: Counter[str] = field(default_factory=Counter)
    failing_since: float = 0.0
    proven: int = 0

    def answered(self, left: float) -> None:
        """Notes an answer, and when its call left."""
        self.heard += 1
        self.since = time.monotonic()
        self.in_vain.clear()
        if not self.failures or left > self.failing_since:
            self.proven += 1
            self.failures.clear()

    def failed(self, kind: str) -> None:
        """Notes that a call failed, and why."""
        if not self.failures:
            self.failing_since = time.monotonic()
        self.failures[kind] += 1

    def keep(self, name: bytes, completion: Completion) -> None:
        self.kept[name] = completion
        if len(self.kept) > KEPT:
            del self.kept[next(iter(self.kept))]


class Line(Protocol):
    """One call at a time to a service."""

    @property
    def settings(self) -> ApiSettings: ...

    @property
    def known(self) -> Known: ...

    @property
    def host(self) -> str: ...

    @property
    def repeatable(self) -> bool:
        """Whether an identical prompt would get the same answer again."""
        ...

    async def call(
        self, prompt: Prompt, turn: int, gate: Gate, launched: Callable[[], None]
    ) -> tuple[Completion | Trouble, float]:
        """The reply, or why there is none, and the seconds that it took.

        Args:
            turn: counts repeated answers, from 0. gate: the call is inside from its departure to its end.
            launched: is told when it departs, so that the next one may be made.
        """
        ...


def name_of(prompt: Prompt) -> bytes:
    """A hash of all in a prompt that a service's answer depends on."""
    return hashlib.blake2b(repr((prompt.content, prompt.choices, prompt.max_tokens)).encode(), digest_size=16).digest()


class Asking:
    """One set of prompts on its way through a service. `emit` gets each place with its completion, as they come."""

    def __init__(self, line: Line, prompts: Sequence[Prompt], emit: Emit, watch: Watch = NOBODY) -> None:
        self._line, self._prompts, self._out, self._watch = line, prompts, emit, watch
        self._known, self._settings = line.known, line.settings
        self._gate = Gate(self._known.limit, self._settings.in_flight)
        self._open = Gate(self._settings.in_flight + (OPEN if self._known.heard else 0))
        self._waiting: dict[bytes, list[int]] = {}
        self._failed: dict[bytes, Completion] = {}
        self._hopeful = self._struck = 0
        self._all_begun = False
        self._ending = asyncio.Event()
        self._error: ModelError | None = None
        self._out_there: set[asyncio.Task[None]] = set()

    async def run(self) -> None:
        """Asks all prompts; raises ModelError where the run must end."""
        try:
            async with asyncio.TaskGroup() as self._tasks:
                for place in range(len(self._prompts)):
                    if self._ending.is_set():
                        break
                    await self._begin(place)
                self._all_begun = True
        except BaseExceptionGroup as group:
            raise _first(group) from None
        if self._error is not None:
            raise self._error

    def _end_for(self, error: ModelError) -> None:
        """The run must end for a reason; calls that are out, and perhaps paid for, get a moment to arrive."""
        if self._error is None:
            self._error = error
            self.end()
            asyncio.get_running_loop().call_later(ARRIVES_WITHIN, self._drop)

    def _drop(self) -> None:
        for task in self._out_there:
            task.cancel()

    def _start(self, place: int, prompt: Prompt, name: bytes | None, launched: asyncio.Event) -> None:
        task = self._tasks.create_task(self._one(place, prompt, name, launched))
        self._out_there.add(task)
        task.add_done_callback(self._out_there.discard)

    def end(self) -> None:
        """No further call goes out; those in flight may still bring their answers."""
        self._ending.set()
        self._gate.shut()

    def _emit(self, came: tuple[int, Completion]) -> None:
        self._watch.came(came[1])
        self._out(came)
        if self._watch.patience() is not None:
            self.end()

    async def _begin(self, place: int) -> None:
        """Starts a prompt as soon as a call for it may go out, unless its answer is known or on its way."""
        prompt = self._prompts[place]
        name = name_of(prompt) if self._line.repeatable else None
        if name is not None:
            if (known := self._known.kept.get(name) or self._failed.get(name)) is not None:
                self._emit((place, _reused(known)))
                await asyncio.sleep(0)
                return
            if name in self._waiting:
                self._waiting[name].append(place)
                return
            self._waiting[name] = []
        await self._open.enter()
        launched = asyncio.Event()
        self._start(place, prompt, name, launched)
        await launched.wait()

    async def _one(self, place: int, prompt: Prompt, name: bytes | None, launched: asyncio.Event) -> None:
        try:
            completion = await self._completion(prompt, launched)
        finally:
            self._open.leave()
            launched.set()
        self._emit((place, completion))
        if name is None:
            return
        others = self._waiting.pop(name)
        if completion.text is None:
            self._failed[name] = completion
        elif self._line.repeatable:
            self._known.keep(name, completion)
        else:
            for other in others:
                await self._open.enter()
                self._start(other, prompt, None, asyncio.Event())
            return
        for other in others:
            self._emit((other, _reused(completion)))

    async def _completion(self, prompt: Prompt, launched: asyncio.Event) -> Completion:
        if not self._settings.repeats:
            return await self._reply(prompt, 0, launched)
        async with asyncio.TaskGroup() as tasks:
            replies = [tasks.create_task(self._reply(prompt, turn, launched)) for turn in range(self._settings.repeats)]
        return together([reply.result() for reply in replies], prompt)

    async def _reply(self, prompt: Prompt, turn: int, launched: asyncio.Event) -> Completion:
        """One reply, after as many tries as it takes; a completion with a failure after as many as it may."""
        strikes = attempt = counted = in_vain = 0
        heard = proven = None  # how much when this prompt failed first
        self._hopeful += 1
        try:
            while True:
                attempt += 1
                outcome, seconds, counts = await self._call(prompt, turn, launched)
                if isinstance(outcome, Completion):
                    return _served(outcome, seconds, attempt, in_vain)
                in_vain += self._pay(outcome, prompt)
                heard = self._known.heard if heard is None else heard
                if heard == self._known.heard:  # else the prompt is to blame: others were answered since it failed first
                    self._doubt(outcome)
                proven = self._known.proven if proven is None else proven
                if proven == self._known.proven and not outcome.crowded:
                    self._count_failure(outcome)
                counted += counts or attempt - counted > MOST_UNCOUNTED
                if outcome.follows is Follows.UNREACHED and not self._known.heard:
                    self._hopeful -= strikes == 0
                    self._struck += strikes == 0
                    strikes += STRIKES if outcome.slow else 1
                    self._end_where_hopeless(outcome, strikes)
                over = outcome.follows is Follows.LOST or counted >= self._settings.tries
                if over or await self._ended_within(self._wait(outcome, attempt)):
                    return _served(_failed(outcome, attempt), seconds, attempt, in_vain)
        finally:
            self._hopeful -= strikes == 0

    def _pay(self, trouble: Trouble, prompt: Prompt) -> int:
        """About how many tokens a call that brought nothing may have to be paid for; the watch is told."""
        tokens = tokens_in(prompt.content) if trouble.billed else 0
        if tokens:
            self._watch.in_vain(tokens)
            if self._watch.patience() is not None:
                self.end()
        return tokens

    async def _ended_within(self, seconds: float) -> bool:
        """Waits before the next try. Whether the run must end for a reason meanwhile; where it was stopped, nothing follows."""
        try:
            await asyncio.wait_for(self._ending.wait(), seconds)
        except TimeoutError:
            return False
        if self._error is None:
            raise asyncio.CancelledError
        return True

    async def _call(self, prompt: Prompt, turn: int, launched: asyncio.Event) -> tuple[Completion | Trouble, float, bool]:
        """One call, its seconds, and whether it counts as a try: not where the crowd is to blame, which the gate learns."""
        outcome, seconds = await self._line.call(prompt, turn, self._gate, launched.set)
        if isinstance(outcome, Completion):
            self._gate.went_well()
            self._known.limit = self._gate.limit
            self._known.answered(time.monotonic() - seconds)
            if self._known.heard == 1:
                self._open.widen(self._settings.in_flight + OPEN)
            return outcome, seconds, True
        if outcome.follows is Follows.FATAL and outcome.error is not None:
            self._end_for(outcome.error)
            raise asyncio.CancelledError
        return outcome, seconds, not (outcome.crowded and self._gate.turned_away(seconds))

    def _count_failure(self, trouble: Trouble) -> None:
        """Ends the run where a service that has answered fails many times in a row."""
        self._known.failed(trouble.kind)
        if self._error is None and self._known.heard and self._known.failures.total() >= AWAY:
            self._end_for(_away(self._line.host, self._known.heard, self._known.failures))

    def _doubt(self, trouble: Trouble) -> None:
        """Asks less of a service that brings nothing, and ends the run where that goes on."""
        known = self._known
        if trouble.follows is Follows.UNREACHED and not known.heard:
            return  # `_end_where_hopeless` is quicker
        known.in_vain[trouble.kind] += 1
        count, silent = known.in_vain.total(), time.monotonic() - known.since
        if self._error is not None or count < DOUBT:
            return
        away = count >= AWAY or silent > AWAY_TIMEOUTS * self._settings.timeout
        alike = count >= ALIKE and len(known.in_vain) == 1
        if known.heard and away:
            self._end_for(_away(self._line.host, known.heard, known.in_vain))
        elif not known.heard and (away or (alike and (trouble.follows is Follows.LOST or silent > ALIKE_SECONDS))):
            self._end_for(_never_there(self._line.host, trouble, known))
        elif not self._all_begun and trouble.follows is not Follows.LOST:  # else tries wait by themselves, or there are none
            wait = wait_before(count - DOUBT + 1, asked=trouble.asked)
            self._gate.probe(wait if trouble.asked else min(wait, LONGEST_PROBE_WAIT))

    def _wait(self, trouble: Trouble, attempt: int) -> float:
        if trouble.follows is Follows.UNREACHED and not self._known.heard:
            return QUICK_WAIT * attempt
        return wait_before(attempt, crowded=trouble.crowded, asked=trouble.asked)

    def _end_where_hopeless(self, trouble: Trouble, strikes: int) -> None:
        """Ends the run once a prompt has been tried enough and nearly all of those on their way met the same."""
        tried_enough = strikes >= min(STRIKES, self._settings.tries)
        if trouble.error is not None and tried_enough and NEARLY_ALL * self._hopeful <= self._struck:
            raise trouble.error


def _away(host: str, heard: int, failures: Counter[str]) -> ServiceAway:
    (reason, _), *_ = failures.most_common(1)
    return ServiceAway(
        f"{host} gave {heard:,} answers, and none to the last {failures.total():,} calls: {reason}.",
        "Resume the run once it is back.",
    )


def _never_there(host: str, trouble: Trouble, known: Known) -> ModelError:
    (reason, count), *_ = known.in_vain.most_common(1)
    said = trouble.reason if trouble.kind == reason else reason
    return ModelError(
        f"{host} has answered none of {known.in_vain.total():,} calls; to {count:,} of them: {said}.",
        "Check the model's name, the base URL, and what the service logs.",
    )


def _failed(trouble: Trouble, attempts: int) -> Completion:
    return Completion(None, failure=f"{trouble.reason} ({attempts} {'try' if attempts == 1 else 'tries'})")


def _served(completion: Completion, seconds: float, attempts: int, in_vain: int) -> Completion:
    served = completion.served or Served()
    tokens = (served.prompt_tokens or 0) + in_vain if in_vain else served.prompt_tokens
    made = replace(served, seconds=seconds, attempts=attempts, prompt_tokens=tokens, in_vain=in_vain)
    return replace(completion, served=made)


def _reused(completion: Completion) -> Completion:
    """The answer to an identical prompt: it took no call and cost nothing."""
    if completion.served is None:
        return completion
    free = replace(completion.served, prompt_tokens=0, completion_tokens=0, seconds=0.0, attempts=0, in_vain=0)
    return replace(completion, served=free)


def _first(group: BaseExceptionGroup[BaseException]) -> BaseException:
    """The first error in a group of groups."""
    error: BaseException = group
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error
