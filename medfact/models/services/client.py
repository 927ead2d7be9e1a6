"""Models behind a service that speaks the OpenAI protocol.

The client's asynchronous side lives in here, on a thread of its own; the rest of the house sees an iterator.
"""

from __future__ import annotations

import asyncio
import contextlib
import queue
import threading
import time
import weakref
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError, Future
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import httpx2
import openai

from medfact.errors import ModelError
from medfact.models.prompt import CONTENT_FILTER, Completion, Prompt, Served
from medfact.models.services.connection import CUT_OFF, http_client
from medfact.models.services.errors import (
    Asker,
    Follows,
    Trouble,
    trouble_of_connection,
    trouble_of_page,
    trouble_of_status,
)
from medfact.models.services.pacing import Gate
from medfact.models.services.parameters import Terms, given_way, messages_of, terms_of
from medfact.models.services.replies import Malformed, added, completion_of, without_thoughts
from medfact.models.services.schedule import Asking, Known
from medfact.models.services.settings import NOBODY, ApiSettings, Watch, address_of, host_of, key_of

if TYPE_CHECKING:
    from medfact.models import ModelInfo

MOST_PATIENCE = 10
"""A call may take so many times as long as is allowed, while the service answers those before it."""

NOTICED = 8
"""Replies without log-probabilities, from the first one on, after which that is noted."""

LOOKS_EVERY = 0.1
"""Seconds between two looks at whether the run was stopped."""

ENDS_WITHIN = 1.5
"""Seconds that calls in flight get to be broken off."""

LETS_GO = 0.02
"""Seconds that closed connections get to leave the loop, before it ends."""

_OPTIONS: Any = {"security": {"bearer_auth": True}}
_MOST_CHANGES = 8
"""Parameters that may give way one after the other, in one call."""


@dataclass
class _Departure:
    """A call from its making to its end: whose it is, through which gate it goes, and from when on it counts.

    number: counts the calls as they left, 0 before that.
    """

    gate: Gate
    launched: Callable[[], None]
    deadline: asyncio.Timeout
    task: asyncio.Task[Any] | None = field(default_factory=asyncio.current_task)
    begun: float = field(default_factory=time.monotonic)
    inside: bool = False
    number: int = 0


class ServiceLine:
    """Calls to a service through one client, and what was learnt of the parameters that it takes."""

    def __init__(self, model: str, settings: ApiSettings) -> None:
        self.settings = settings
        self.known = Known(settings.in_flight)
        self.terms = terms_of(settings)
        self.notes: list[str] = []
        self._asker = Asker(host_of(settings), model, key_of(settings))
        self._launching = asyncio.Lock()
        self._departing: _Departure | None = None
        self._out: dict[int, _Departure] = {}
        self._left = self._without_p_true = 0
        self.client = openai.AsyncOpenAI(
            api_key=self._asker.key,
            base_url=address_of(settings),
            max_retries=0,
            http_client=http_client(settings, self._on_request),
        )

    @property
    def host(self) -> str:
        return self._asker.host

    @property
    def repeatable(self) -> bool:
        return self.terms.temperature == 0 and not self.settings.repeats and not self.settings.fresh

    async def call(
        self, prompt: Prompt, turn: int, gate: Gate, launched: Callable[[], None]
    ) -> tuple[Completion | Trouble, float]:
        """See `Line`. Parameters that the service refuses give way."""
        outcome: Completion | Trouble
        before: Served | None = None
        for _ in range(_MOST_CHANGES):
            terms = self.terms
            outcome, seconds = await self._send(terms, prompt, turn, gate, launched)
            if not self._gives_way(terms, outcome, prompt):
                break
            before = outcome.served if isinstance(outcome, Completion) else before
        if isinstance(outcome, Completion):
            self._look_for_p_true(outcome)
            return replace(outcome, served=added(outcome.served, before)), seconds
        if outcome.follows is Follows.FILTERED:
            return Completion("", cut=CONTENT_FILTER), seconds
        if outcome.follows in {Follows.REFUSED, Follows.NO_MESSAGES}:
            return Trouble(Follows.LOST, outcome.reason), seconds
        return outcome, seconds

    def _gives_way(self, sent: Terms, outcome: Completion | Trouble, prompt: Prompt) -> bool:
        """Whether another try with other terms is worth it. Calls that were out together are refused together: the first one
        changes the terms, the others find them changed.
        """
        made = self._changed(sent, outcome, prompt)
        if made is None:
            return False
        if self.terms == sent:
            self.terms, note = made
            self.notes.append(note)
        return True

    def _changed(self, sent: Terms, outcome: Completion | Trouble, prompt: Prompt) -> tuple[Terms, str] | None:
        if isinstance(outcome, Completion):
            if sent.stop and prompt.stop and outcome.cut is None and not without_thoughts(outcome.text or "").strip():
                note = "The service stops before it answers: replies are asked for to their end, and cut here."
                return replace(sent, stop=False), note
            return None
        if outcome.follows is Follows.NO_MESSAGES and sent.messages:
            return replace(sent, messages=False), "The model takes no messages: it is asked to complete texts (/completions)."
        return given_way(sent, outcome.message, outcome.parameter) if outcome.follows is Follows.REFUSED else None

    def _look_for_p_true(self, completion: Completion) -> None:
        """Notes where a service was asked for log-probabilities, and gives none."""
        if not self.terms.top_logprobs or not completion.text or self._without_p_true < 0:
            return
        self._without_p_true = -1 if completion.p_mass is not None else self._without_p_true + 1
        if self._without_p_true == NOTICED:
            self.notes.append(
                "The service gives no log-probabilities though it is asked for them: P(True) is not known. With --repeats 5 "
                "each statement is asked five times, and P(True) comes from the answers."
            )

    async def _send(
        self, terms: Terms, prompt: Prompt, turn: int, gate: Gate, launched: Callable[[], None]
    ) -> tuple[Completion | Trouble, float]:
        outcome: Completion | Trouble
        body = {"model": self._asker.model, **terms.body(prompt, turn)}
        await self._launching.acquire()
        self._departing = departure = _Departure(gate, launched, asyncio.timeout(None))
        try:
            async with departure.deadline:
                response = await self.client.post(terms.path, cast_to=httpx2.Response, body=body, options=_OPTIONS)
            self._ended(departure)
            whole = CUT_OFF not in response.extensions
            outcome = completion_of(response.content, prompt, terms, whole=whole, scrub=self._asker.without_key)
            self._answered(departure)
        except Malformed as error:
            again = Trouble(Follows.AGAIN, str(error), billed=True)
            outcome = trouble_of_page(str(error), self._asker) if error.page else again
        except openai.APIStatusError as error:
            quoted = [str(message["content"]) for message in messages_of(prompt)] + [prompt.statement]
            answer = error.response
            outcome = trouble_of_status(error.status_code, answer.content, answer.headers, self._asker, quoted)
            if outcome.follows is Follows.FATAL:
                gate.shut()  # before this call leaves it, which would let the next one in
        except (openai.APIConnectionError, TimeoutError, ModelError) as error:
            outcome = self._unconnected(error)
        finally:
            self._ended(departure)
        return outcome, time.monotonic() - departure.begun

    def _unconnected(self, error: Exception) -> Trouble:
        trouble = trouble_of_connection(error, self._asker)
        if trouble.follows is Follows.AGAIN and isinstance(error, openai.APITimeoutError | TimeoutError):
            reason = f"no answer within {self.settings.timeout:g} s"
            return Trouble(Follows.AGAIN, reason, crowded=True, billed=True)
        return trouble

    def _answered(self, departure: _Departure) -> None:
        """Gives calls more time that left after one that was answered now: a service that takes one after the other has not
        come to them yet. One that was overtaken hangs.
        """
        now = asyncio.get_running_loop().time()
        for number, other in self._out.items():
            if number > departure.number and not other.deadline.expired():
                latest = now - (time.monotonic() - other.begun) + MOST_PATIENCE * self.settings.timeout
                other.deadline.reschedule(min(now + self.settings.timeout, latest))

    # Requests are made one by one: those made side by side would all leave late, and their replies all come together. One is
    # made ahead and waits at the gate, so that it leaves as soon as a call ends.

    async def _on_request(self, _: httpx2.Request) -> None:
        """The client has made a request and is about to send it."""
        departure = self._departing
        if departure is None or departure.task is not asyncio.current_task():
            return  # a call that was redirected
        await departure.gate.enter()
        self._left += 1
        departure.inside, departure.begun, departure.number = True, time.monotonic(), self._left
        self._out[departure.number] = departure
        departure.deadline.reschedule(asyncio.get_running_loop().time() + self.settings.timeout)
        self._launched(departure)

    def _launched(self, departure: _Departure) -> None:
        """The call is on its way, or given up: the next one may be made."""
        if self._departing is departure:
            self._departing = None
            self._launching.release()
            departure.launched()

    def _ended(self, departure: _Departure) -> None:
        if departure.inside:
            departure.inside = False
            self._out.pop(departure.number, None)
            departure.gate.leave()
        self._launched(departure)


class ApiModel:
    """A model behind a service, for one run at a time. Close it when nothing more is asked."""

    def __init__(self, spec: str, settings: ApiSettings, watch: Watch = NOBODY) -> None:
        self.spec = spec
        self.settings = settings
        self._watch = watch
        self.host = host_of(settings)
        self._line = ServiceLine(spec.partition(":")[2].strip(), settings)
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name=spec, daemon=True)
        self._thread.start()
        self._shut = weakref.finalize(self, _shut, self._loop, self._thread, self._line.client)

    def __repr__(self) -> str:
        return f"ApiModel({self.spec!r}, host={self.host!r})"

    @property
    def chat(self) -> bool:
        """Whether demonstrations go as turns; else they go in one text, as in the papers."""
        return self.settings.shots_as_turns

    @property
    def notes(self) -> tuple[str, ...]:
        """What the service refused so far and what was done instead, in sentences."""
        return tuple(self._line.notes)

    @property
    def info(self) -> ModelInfo:
        """The settings that answers depend on, as the service takes them by now: it may refuse some at the first call."""
        terms, settings = self._line.terms, self.settings
        source = "repeats" if settings.repeats else "logprobs" if terms.top_logprobs else "none"
        decoding = {
            "temperature": terms.temperature,
            "top_logprobs": terms.top_logprobs or 0,
            "max_tokens": terms.max_tokens,
            "limit": terms.limit,
            "seed": terms.seed,
            "repeats": settings.repeats,
            "shots_as_turns": settings.shots_as_turns,
            "p_true": source,
            **({} if terms.messages else {"completions": True}),
        }
        return {"revision": self.host, "decoding": decoding, "notes": self.notes}

    def complete(self, prompts: Sequence[Prompt]) -> Iterator[tuple[int, Completion]]:
        """The place of each prompt and its completion, in order of arrival.

        Prompts are read one by one as calls may go out, from another thread. Breaking off the iteration breaks off all calls in
        flight. Where the watch's patience ends, none goes out any more, and those in flight get so many seconds to arrive.

        Raises:
            ModelError: the run must end: no such host, model or key, no quota. What had arrived was given before.
        """
        if not self._shut.alive:
            raise ModelError(f"The connection to {self.host} is closed.")
        came: queue.SimpleQueue[tuple[int, Completion] | None] = queue.SimpleQueue()
        ended = threading.Event()
        asking = Asking(self._line, prompts, came.put, self._watch)
        running = asyncio.run_coroutine_threadsafe(_until_end(asking, came, ended), self._loop)
        try:
            yield from self._arriving(came, running, asking)
        finally:
            running.cancel()
            ended.wait(ENDS_WITHIN)

    def _arriving(
        self, came: queue.SimpleQueue[tuple[int, Completion] | None], running: Future[None], asking: Asking
    ) -> Iterator[tuple[int, Completion]]:
        """What arrives until the end; once patience has ended, what arrives in the time that is left."""
        looked, ending = time.monotonic(), 0.0
        while True:
            try:
                arrived = came.get(timeout=LOOKS_EVERY)
            except queue.Empty:
                if running.cancelled():
                    return
            else:
                if arrived is None:
                    break
                yield arrived
            if time.monotonic() - looked > LOOKS_EVERY:
                looked = time.monotonic()
                left = self._watch.patience()
                if left is not None:
                    self._loop.call_soon_threadsafe(asking.end)
                    ending = ending or looked
                    if looked - ending >= left:
                        running.cancel()
        with contextlib.suppress(CancelledError):
            running.result()

    def close(self) -> None:
        """Breaks off what is in flight and lets the connections go. Closing twice does nothing."""
        self._shut()


async def _until_end(asking: Asking, came: queue.SimpleQueue[Any], ended: threading.Event) -> None:
    try:
        await asking.run()
    finally:
        came.put(None)
        ended.set()


def _shut(loop: asyncio.AbstractEventLoop, thread: threading.Thread, client: openai.AsyncOpenAI) -> None:
    """Ends the loop and its thread, after all calls are broken off."""

    async def end() -> None:
        tasks = asyncio.all_tasks() - {asyncio.current_task()}
        for task in tasks:
            task.cancel()
        try:
            await asyncio.wait_for(asyncio.gather(*tasks, return_exceptions=True), ENDS_WITHIN)
        finally:
            await client.close()
            await asyncio.sleep(LETS_GO)

    if not thread.is_alive():
        return
    with contextlib.suppress(TimeoutError):
        asyncio.run_coroutine_threadsafe(end(), loop).result(2 * ENDS_WITHIN)
    loop.call_soon_threadsafe(loop.stop)
    if thread is not threading.current_thread():
        thread.join(ENDS_WITHIN)
        if not thread.is_alive():
            loop.close()


def load_api(spec: str, settings: ApiSettings, watch: Watch = NOBODY) -> ApiModel:
    """The model of a spec `openai:<model>`, as a service gives it. Nothing is asked of the service yet.

    watch: looks on, and may end it.

    Raises:
        ModelError: no key where one is needed, or an address that is none.
    """
    try:
        return ApiModel(spec, settings, watch)
    except (openai.OpenAIError, ValueError):
        raise ModelError(f"The service at {host_of(settings)} cannot be used so.", "Check the base URL and the key.") from None
