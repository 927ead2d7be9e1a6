"""One call to a service: from a prompt to its completion, or to the reason why there is none."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import httpx2
import openai

from medfact.errors import ModelError
from medfact.models.prompt import CONTENT_FILTER, Completion, Prompt, Served
from medfact.models.services.connection import TRUNCATED, http_client
from medfact.models.services.errors import (
    Action,
    CallFailure,
    Endpoint,
    failure_from_connection,
    failure_from_status,
    failure_from_web_page,
)
from medfact.models.services.pacing import Gate
from medfact.models.services.parameters import Parameters, messages_of, parameters_of, without_refused
from medfact.models.services.policy import address_of, host_of, key_of
from medfact.models.services.replies import Malformed, completion_of, with_tokens_of, without_thinking
from medfact.models.services.settings import ServiceSettings

MAX_TIMEOUTS = 10
"""A call may take this many times the timeout, as long as the service keeps answering the calls before it."""

REPLIES_WITHOUT_LOGPROBS = 8
"""Replies without log-probabilities, counted from the first, after which a note says so."""

_MAX_CHANGES = 8
"""Parameters that may be dropped one after the other within one call."""

_OPTIONS: Any = {"security": {"bearer_auth": True}}


@dataclass
class _Request:
    """A request from its preparation to its end. number: counts requests in the order sent, 0 before that."""

    gate: Gate
    on_sent: Callable[[], None]
    deadline: asyncio.Timeout
    task: asyncio.Task[Any] | None = field(default_factory=asyncio.current_task)
    sent_at: float = field(default_factory=time.monotonic)
    in_gate: bool = False
    number: int = 0


class Caller:
    """Calls one model through one HTTP client, with the parameters that the service turns out to accept.

    Requests are prepared one by one: prepared side by side, they would all leave late, and their replies would arrive together.
    One request is prepared ahead and waits at the gate, so that it leaves as soon as a call ends.
    """

    def __init__(self, model: str, settings: ServiceSettings) -> None:
        self.settings = settings
        self.parameters = parameters_of(settings)
        self.notes: list[str] = []
        self._endpoint = Endpoint(host_of(settings), model, key_of(settings))
        self._preparing = asyncio.Lock()
        self._prepared: _Request | None = None
        self._in_flight: dict[int, _Request] = {}
        self._sent = 0
        self._without_logprobs: int | None = 0  # None once a reply had them
        self.client = openai.AsyncOpenAI(
            api_key=self._endpoint.key,
            base_url=address_of(settings),
            max_retries=0,
            http_client=http_client(settings, self._on_request),
        )

    @property
    def host(self) -> str:
        return self._endpoint.host

    @property
    def is_repeatable(self) -> bool:
        """Whether an identical prompt would get the same answer again."""
        return self.parameters.temperature == 0 and not self.settings.repeats and not self.settings.fresh

    async def call(
        self, prompt: Prompt, repeat: int, gate: Gate, on_sent: Callable[[], None]
    ) -> tuple[Completion | CallFailure, float]:
        """The completion, or why there is none, and the seconds that the call took. Drops parameters that the service refuses.

        Args:
            repeat: counts repeated answers, from 0. gate: the call is inside from being sent to its end.
            on_sent: called when the request is sent or given up, so that the next one may be prepared.
        """
        outcome: Completion | CallFailure
        discarded: Served | None = None
        for _ in range(_MAX_CHANGES):
            parameters = self.parameters
            outcome, seconds = await self._send(parameters, prompt, repeat, gate, on_sent)
            if not self._adapt(parameters, outcome, prompt):
                break
            discarded = outcome.served if isinstance(outcome, Completion) else discarded
        if isinstance(outcome, Completion):
            self._note_missing_logprobs(outcome)
            return replace(outcome, served=with_tokens_of(discarded, outcome.served)), seconds
        if outcome.action is Action.ACCEPT_FILTERED:
            return Completion("", cut=CONTENT_FILTER), seconds
        if outcome.action in {Action.CHANGE_PARAMETERS, Action.USE_COMPLETIONS}:
            return CallFailure(Action.FAIL_PROMPT, outcome.reason), seconds
        return outcome, seconds

    def _adapt(self, used: Parameters, outcome: Completion | CallFailure, prompt: Prompt) -> bool:
        """Whether to try again with other parameters. Of calls refused together, the first changes the parameters, and the
        others find them changed.
        """
        change = self._change(used, outcome, prompt)
        if change is not None and self.parameters == used:
            self.parameters, note = change
            self.notes.append(note)
        return change is not None

    def _change(self, used: Parameters, outcome: Completion | CallFailure, prompt: Prompt) -> tuple[Parameters, str] | None:
        if isinstance(outcome, Completion):
            is_empty = outcome.cut is None and not without_thinking(outcome.text or "").strip()
            if used.stop and prompt.stop and is_empty:
                note = "The service stops before the answer, so medfact requests whole replies and cuts them itself."
                return replace(used, stop=False), note
            return None
        if outcome.action is Action.USE_COMPLETIONS and used.messages:
            note = "The model does not accept chat messages, so medfact uses text completions (/completions)."
            return replace(used, messages=False), note
        if outcome.action is Action.CHANGE_PARAMETERS:
            return without_refused(used, outcome.message, outcome.parameter)
        return None

    def _note_missing_logprobs(self, completion: Completion) -> None:
        if not self.parameters.top_logprobs or not completion.text or self._without_logprobs is None:
            return
        self._without_logprobs = None if completion.p_mass is not None else self._without_logprobs + 1
        if self._without_logprobs == REPLIES_WITHOUT_LOGPROBS:
            self.notes.append(
                "The service returns no log-probabilities although they are requested, so P(True) is unknown. With "
                "--repeats 5, medfact asks each statement five times and estimates P(True) from the answers."
            )

    async def _send(
        self, parameters: Parameters, prompt: Prompt, repeat: int, gate: Gate, on_sent: Callable[[], None]
    ) -> tuple[Completion | CallFailure, float]:
        body = {"model": self._endpoint.model, **parameters.body(prompt, repeat)}
        await self._preparing.acquire()
        self._prepared = request = _Request(gate, on_sent, asyncio.timeout(None))
        try:
            outcome: Completion | CallFailure = await self._completion(request, parameters, prompt, body)
        except (Malformed, openai.APIStatusError, openai.APIConnectionError, TimeoutError, ModelError) as error:
            outcome = self._failure(error, prompt)
            if outcome.action is Action.END_RUN:
                gate.shut()  # before this call leaves it, which would admit the next one
        finally:
            self._end(request)
        return outcome, time.monotonic() - request.sent_at

    async def _completion(self, request: _Request, parameters: Parameters, prompt: Prompt, body: object) -> Completion:
        async with request.deadline:
            response = await self.client.post(parameters.path, cast_to=httpx2.Response, body=body, options=_OPTIONS)
        self._end(request)
        whole = TRUNCATED not in response.extensions
        completion = completion_of(response.content, prompt, parameters, whole=whole, scrub=self._endpoint.without_key)
        self._extend_deadlines(request)
        return completion

    def _failure(self, error: Exception, prompt: Prompt) -> CallFailure:
        if isinstance(error, Malformed):
            if error.is_web_page:
                return failure_from_web_page(str(error), self._endpoint)
            return CallFailure(Action.RETRY, str(error), billed=True)
        if isinstance(error, openai.APIStatusError):
            quotable = [str(message["content"]) for message in messages_of(prompt)] + [prompt.statement]
            response = error.response
            return failure_from_status(error.status_code, response.content, response.headers, self._endpoint, quotable)
        failure = failure_from_connection(error, self._endpoint)
        if failure.action is Action.RETRY and isinstance(error, openai.APITimeoutError | TimeoutError):
            reason = f"no reply within {self.settings.timeout:g} s"
            return CallFailure(Action.RETRY, reason, overloaded=True, billed=True)
        return failure

    def _extend_deadlines(self, answered: _Request) -> None:
        """Gives calls that were sent after one that is answered now more time: a service that takes one call at a time has not
        reached them yet. A call sent before it has been overtaken and may hang.
        """
        now = asyncio.get_running_loop().time()
        for number, request in self._in_flight.items():
            if number > answered.number and not request.deadline.expired():
                latest = now - (time.monotonic() - request.sent_at) + MAX_TIMEOUTS * self.settings.timeout
                request.deadline.reschedule(min(now + self.settings.timeout, latest))

    async def _on_request(self, _: httpx2.Request) -> None:
        """The client has prepared a request: waits at the gate, then lets it go."""
        request = self._prepared
        if request is None or request.task is not asyncio.current_task():
            return  # a redirected call
        await request.gate.enter()
        self._sent += 1
        request.in_gate, request.sent_at, request.number = True, time.monotonic(), self._sent
        self._in_flight[request.number] = request
        request.deadline.reschedule(asyncio.get_running_loop().time() + self.settings.timeout)
        self._release_preparation(request)

    def _release_preparation(self, request: _Request) -> None:
        """The request is sent or given up: the next one may be prepared."""
        if self._prepared is request:
            self._prepared = None
            self._preparing.release()
            request.on_sent()

    def _end(self, request: _Request) -> None:
        if request.in_gate:
            request.in_gate = False
            self._in_flight.pop(request.number, None)
            request.gate.leave()
        self._release_preparation(request)
