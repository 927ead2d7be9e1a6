"""Models behind a service that speaks the OpenAI protocol.

The asynchronous client runs on a thread of its own; callers see a plain iterator.
"""

from __future__ import annotations

import asyncio
import contextlib
import queue
import threading
import time
import weakref
from collections.abc import Iterator, Sequence
from concurrent.futures import CancelledError, Future
from typing import Any

import openai
from cachetools import FIFOCache

from medfact.errors import ModelError
from medfact.models.prompt import Completion, Prompt
from medfact.models.providers import NO_MONITOR, ModelInfo, Monitor
from medfact.models.services.calls import Caller
from medfact.models.services.connection import service_client
from medfact.models.services.failures import ServiceHealth
from medfact.models.services.policy import host_of
from medfact.models.services.schedule import MAX_REMEMBERED, Memory, Schedule
from medfact.models.services.settings import ServiceSettings

POLL_SECONDS = 0.1
"""Time between two checks whether the run was stopped."""

CANCEL_SECONDS = 1.5
"""The longest time for cancelling calls in flight."""

CLOSE_SECONDS = 0.02
"""Time for closed connections to leave the event loop before it ends."""

Arrivals = queue.SimpleQueue[tuple[int, Completion] | str | None]
"""Completions with the indices of their prompts, and what the service has them wait for; None after the last one."""


class ServiceModel:
    """A model behind a service, for one run at a time. Close it when no more prompts follow."""

    takes_all = True

    def __init__(self, spec: str, settings: ServiceSettings, monitor: Monitor = NO_MONITOR) -> None:
        self.spec = spec
        self.settings = settings
        self.host = host_of(settings)
        self._monitor = monitor
        self.caller = Caller(spec.partition(":")[2].strip(), settings)
        self._health = ServiceHealth(self.host, settings.timeout, settings.in_flight)
        self._memory: Memory = FIFOCache(MAX_REMEMBERED)
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name=spec, daemon=True)
        self._thread.start()
        self._closer = weakref.finalize(self, _close, self._loop, self._thread, self.caller.client)

    @property
    def chat(self) -> bool:
        """True where demonstrations are turns of a conversation; otherwise they stand in one text, as in the papers."""
        return self.settings.shots_as_turns

    @property
    def notes(self) -> tuple[str, ...]:
        """Sentences on what the service has refused so far, and what medfact does instead."""
        return tuple(self.caller.notes)

    @property
    def info(self) -> ModelInfo:
        """The settings that answers depend on, as the service accepts them so far: it may refuse some at the first call."""
        parameters, settings = self.caller.parameters, self.settings
        longest = min(parameters.thinking_tokens, parameters.context or parameters.thinking_tokens)
        source = "repeats" if settings.repeats else "logprobs" if parameters.top_logprobs else "none"
        decoding = {
            "temperature": parameters.temperature,
            "top_logprobs": parameters.top_logprobs or 0,
            "max_tokens": parameters.max_tokens,
            "limit": parameters.limit_name,
            "seed": parameters.seed,
            "repeats": settings.repeats,
            "shots_as_turns": settings.shots_as_turns,
            "p_true": source,
            **({} if parameters.messages else {"completions": True}),
            **({"effort": settings.effort if parameters.effort else "refused"} if settings.effort else {}),
            **({"thinking_tokens": longest} if longest else {}),
        }
        return {"revision": self.host, "decoding": decoding, "notes": self.notes}

    def complete(self, prompts: Sequence[Prompt]) -> Iterator[tuple[int, Completion]]:
        """The index of each prompt and its completion, in order of arrival.

        Prompts are read one by one, as calls may be sent, from another thread. Closing the iterator cancels all calls in
        flight. Once the monitor limits the time left, no further calls are sent, and those in flight have that long to arrive.

        Raises:
            ModelError: the run must end: no such host, model or key, or no quota. What had arrived was yielded before.
        """
        yield from (arrival for arrival in self.follow(prompts) if not isinstance(arrival, str))

    def follow(self, prompts: Sequence[Prompt]) -> Iterator[tuple[int, Completion] | str]:
        """The same, and what the service asks all calls to wait for, in words, when it does."""
        if not self._closer.alive:
            raise ModelError(f"The connection to {self.host} is closed.")
        arrivals: Arrivals = queue.SimpleQueue()
        ended = threading.Event()
        schedule = Schedule(self.caller, self._health, self._memory, prompts, arrivals.put, self._monitor, arrivals.put)
        running = asyncio.run_coroutine_threadsafe(_run(schedule, arrivals, ended), self._loop)
        try:
            yield from self._arriving(arrivals, running, schedule)
        finally:
            running.cancel()
            ended.wait(CANCEL_SECONDS)

    def _arriving(
        self, arrivals: Arrivals, running: Future[None], schedule: Schedule
    ) -> Iterator[tuple[int, Completion] | str]:
        """Yields arrivals until the end, or in the time that is left once the monitor limits it."""
        polled_at, ending_since = time.monotonic(), None
        while True:
            try:
                arrival = arrivals.get(timeout=POLL_SECONDS)
            except queue.Empty:
                if running.cancelled():
                    return
            else:
                if arrival is None:
                    break
                yield arrival
            if time.monotonic() - polled_at > POLL_SECONDS:
                polled_at = time.monotonic()
                seconds_left = self._monitor.seconds_left()
                if seconds_left is not None:
                    self._loop.call_soon_threadsafe(schedule.end)
                    ending_since = ending_since or polled_at
                    if polled_at - ending_since >= seconds_left:
                        running.cancel()
        with contextlib.suppress(CancelledError):
            running.result()

    def close(self) -> None:
        """Cancels calls in flight and closes the connections. Closing twice does nothing."""
        self._closer()


async def _run(schedule: Schedule, arrivals: Arrivals, ended: threading.Event) -> None:
    try:
        await schedule.run()
    finally:
        arrivals.put(None)
        ended.set()


def _close(loop: asyncio.AbstractEventLoop, thread: threading.Thread, client: openai.AsyncOpenAI) -> None:
    """Cancels all calls, then ends the event loop and its thread."""

    async def end() -> None:
        tasks = asyncio.all_tasks() - {asyncio.current_task()}
        for task in tasks:
            task.cancel()
        try:
            await asyncio.wait_for(asyncio.gather(*tasks, return_exceptions=True), CANCEL_SECONDS)
        finally:
            await client.close()
            await asyncio.sleep(CLOSE_SECONDS)

    if not thread.is_alive():
        return
    with contextlib.suppress(TimeoutError):
        asyncio.run_coroutine_threadsafe(end(), loop).result(2 * CANCEL_SECONDS)
    loop.call_soon_threadsafe(loop.stop)
    if thread is not threading.current_thread():
        thread.join(CANCEL_SECONDS)
        if not thread.is_alive():
            loop.close()


def load_service(spec: str, settings: ServiceSettings, monitor: Monitor = NO_MONITOR) -> ServiceModel:
    """The model that a spec names after its prefix. Nothing is sent yet.

    Raises:
        ModelError: a key is missing or malformed, or the base URL is not an address.
    """
    try:
        return ServiceModel(spec, settings, monitor)
    except (openai.OpenAIError, ValueError):
        raise ModelError(f"Cannot use the service at {host_of(settings)}.", "Check the base URL and the key.") from None


# ------------------------------------------------------------------------------------------------------ names of models

LIST_SECONDS = 5.0
MAX_NAMES, MAX_NAME_CHARACTERS = 300, 200


def listed_models(settings: ServiceSettings) -> tuple[str, ...]:
    """Returns the names under a service's `/models`, in alphabetical order; () where nothing can be read.

    Raises ModelError where the address or the key cannot be used.
    """
    return asyncio.run(_listed(settings))


async def _listed(settings: ServiceSettings) -> tuple[str, ...]:
    async def on_request(_: Any) -> None:
        """Nothing is counted here."""

    client = service_client(settings, on_request, max_retries=0)
    try:
        async with asyncio.timeout(LIST_SECONDS):
            return _names(await client.get("/models", cast_to=object))
    except (openai.OpenAIError, TimeoutError, ValueError, RecursionError):
        return ()
    finally:
        await client.close()


def _names(body: Any) -> tuple[str, ...]:
    rows = body.get("data") if isinstance(body, dict) else None
    names = (row.get("id") for row in rows if isinstance(row, dict)) if isinstance(rows, list) else ()
    usable = {name for name in names if isinstance(name, str) and name.isprintable() and 0 < len(name) <= MAX_NAME_CHARACTERS}
    return tuple(sorted(usable))[:MAX_NAMES]
