"""One call to a service: from a prompt to its completion, or to the reason why there is none."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import httpx2
import openai

from medfact.errors import ModelError
from medfact.models.prompt import CONTENT_FILTER, LENGTH, Completion, Prompt, Served
from medfact.models.services.connection import TRUNCATED, service_client
from medfact.models.services.failures import (
    Action,
    CallFailure,
    Endpoint,
    failure_from_connection,
    wrong_address,
)
from medfact.models.services.pacing import Gate
from medfact.models.services.parameters import Parameters, messages_of, parameters_of, without_logprobs, without_refused
from medfact.models.services.policy import host_of, key_of
from medfact.models.services.refusals import failure_from_status, failure_in_reply
from medfact.models.services.replies import GenerationFailed, Malformed, completion_of, total
from medfact.models.services.reply_limits import PromptCounts
from medfact.models.services.settings import ServiceSettings
from medfact.models.thinking import BEGINNING, begun_by_template, shows_thinking, without_thinking

MAX_TIMEOUTS = 10
"""A call may take this many times the timeout, as long as the service keeps answering the calls before it."""

THINKING_TOKENS_IN_TIMEOUT = 1024
"""Tokens of thinking that the timeout allows for; where there may be more, a call has more time."""

NO_LOGPROBS = "no log-probabilities although they are requested"
TOKENS_ALIKE = "log-probabilities, but its tokens do not show True and False apart"
"""Why P(True) is unknown."""

REPLIES_WITHOUT_LOGPROBS = 8
"""Replies without log-probabilities, counted from the first, after which a note says so."""

_MAX_CHANGES = 12
"""How often the parameters may be changed within one call."""

LONG_CHARACTERS = 200
"""A reply that was cut off and is longer may be thinking whose marks are not there yet."""

_OPTIONS: Any = {"security": {"bearer_auth": True}}

Outcome = Completion | CallFailure

Send = Callable[[Parameters], Awaitable[tuple[Outcome, float]]]
"""Sends one prompt with some parameters: what came of it, and after how many seconds."""


ERRORS_TO_DOUBT = 8
"""Unexplained errors, not refusals, after which log-probabilities may be the cause."""

PROOFS, VAIN_TRIES = 2, 3
"""Calls that succeed only without log-probabilities, after which none asks for them; and the most tries in vain."""


@dataclass
class _Request:
    """A request from its preparation to its end. number: counts requests in the order sent, 0 before that. seconds: its time
    limit.
    """

    gate: Gate
    on_sent: Callable[[], None]
    deadline: asyncio.Timeout
    seconds: float
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
        self.model = model
        self.settings = settings
        self.parameters = parameters_of(settings)
        self.notes: list[str] = []
        self.host = host_of(settings)
        self._endpoint = Endpoint(self.host, model, key_of(settings))
        self._preparing = asyncio.Lock()
        self._prepared: _Request | None = None
        self._in_flight: dict[int, _Request] = {}
        self._sent = self._answers = 0
        self._doubt = LogprobDoubt()
        self._prompt_counts, self._cuts_prompts = PromptCounts(), False
        self._without_logprobs: int | None = 0  # None once a reply had them
        self._begun_by_template = False
        self.on_discarded: Callable[[Served], None] = lambda served: None
        self.client = service_client(settings, self._on_request, max_retries=0)

    @property
    def _has_answered(self) -> bool:
        return self._answers + self._doubt.proofs > 0

    @property
    def is_repeatable(self) -> bool:
        """Whether an identical prompt would get the same answer again."""
        return self.parameters.temperature == 0 and not self.settings.repeats and not self.settings.fresh

    async def call(self, prompt: Prompt, repeat: int, gate: Gate, on_sent: Callable[[], None]) -> tuple[Outcome, float]:
        """The completion, or why there is none, and the seconds that the call took. Drops parameters that the service refuses.

        Args:
            repeat: counts repeated answers, from 0. gate: the call is inside from being sent to its end.
            on_sent: called when the request is sent or given up, so that the next one may be prepared.
        """
        send: Send = partial(self._send, prompt=prompt, repeat=repeat, gate=gate, on_sent=on_sent)
        used, outcome, seconds, discarded = await self._adapted(send, prompt)
        if isinstance(outcome, Completion) and used.max_tokens is None and not used.messages and outcome.cut == LENGTH:
            outcome, seconds, before = await self._continued(send, used, outcome, seconds, prompt)
            discarded += [self._discard(before)] if before else []
        is_new = not self._answers or used != self.parameters
        if isinstance(outcome, CallFailure) and used.top_logprobs is not None and is_new:
            outcome, seconds = await self._perhaps_without_logprobs(send, used, outcome, seconds)
        if isinstance(outcome, Completion):
            self._note_missing_logprobs(outcome, prompt)
            if (note := self._prompt_counts.note(outcome, prompt)) is not None and not self._cuts_prompts:
                self._cuts_prompts = True
                self._note(note)
            text = self._with_beginning(outcome)
            return replace(outcome, text=text, served=total([*filter(None, [outcome.served]), *discarded])), seconds
        if outcome.action is Action.ACCEPT_FILTERED:
            return Completion("", cut=CONTENT_FILTER, served=total([Served(), *discarded]) if discarded else None), seconds
        return replace(_settled(outcome, self._has_answered), served=total(discarded)), seconds

    async def _adapted(self, send: Send, prompt: Prompt) -> tuple[Parameters, Outcome, float, list[Served]]:
        """The outcome with parameters that the service accepts, and those; what was reported of replies that were discarded."""
        discarded: list[Served] = []
        prompt_tokens = 0
        for _ in range(_MAX_CHANGES):
            used = replace(self.parameters, prompt_tokens=prompt_tokens)
            outcome, seconds = await send(used)
            adapted = self._adapt(used, outcome, prompt)
            if adapted is None:
                break
            prompt_tokens = adapted.prompt_tokens
            discarded += [self._discard(outcome.served)] if isinstance(outcome, Completion) and outcome.served else []
        self._answers += isinstance(outcome, Completion)
        return used.of_any_prompt, outcome, seconds, discarded

    async def _continued(
        self, send: Send, used: Parameters, completion: Completion, seconds: float, prompt: Prompt
    ) -> tuple[Outcome, float, Served | None]:
        """A completed text, which does not end by itself: whole if it can be read, else asked for again, longer; with what was
        reported of the first call.
        """
        if prompt.reads(completion.text or "") is not None:
            return replace(completion, cut=None), seconds, None
        if used.token_limit(prompt) >= prompt.max_tokens:
            return completion, seconds, None
        longer, seconds = await send(replace(used, max_tokens=prompt.max_tokens))
        if isinstance(longer, Completion) and longer.cut == LENGTH and prompt.reads(longer.text or "") is not None:
            longer = replace(longer, cut=None)
        return longer, seconds, completion.served

    async def _perhaps_without_logprobs(
        self, send: Send, used: Parameters, failure: CallFailure, seconds: float
    ) -> tuple[Outcome, float]:
        """The outcome of the same call without log-probabilities, where they may be why it failed; else the failure. Once they
        are proven to be the cause, no call asks for them any more.
        """
        if not self._doubt.grows(failure):
            return failure, seconds
        async with self._doubt.turn:
            if self._doubt.is_settled:
                return failure, seconds
            without, note = without_logprobs(used)
            outcome, seconds = await send(without)
            succeeded = isinstance(outcome, Completion)
            if self._doubt.note_try(succeeded) and self.parameters == used:
                self.parameters = without
                self._note(f"{note} Calls that ask for them fail: {failure.reason}.")
            return outcome if succeeded else failure, seconds

    def _discard(self, served: Served) -> Served:
        """What a service reported of a reply that is discarded. Its tokens are counted at once, since they are billed."""
        self.on_discarded(served)
        return replace(served, wasted_tokens=served.prompt_tokens or 0, wasted_completion=served.completion_tokens or 0)

    def _adapt(self, used: Parameters, outcome: Outcome, prompt: Prompt) -> Parameters | None:
        """The parameters to try next; None where there are none. Of calls refused together, the first changes the parameters,
        and the others find them changed.
        """
        change = self._change(used, outcome, prompt)
        if change is None:
            return None
        adapted, note = change
        if self.parameters == used.of_any_prompt:
            self.parameters = adapted.of_any_prompt
            self._note(note)
        return adapted

    def _note(self, note: str) -> None:
        if note not in self.notes:
            self.notes.append(note)

    def _change(self, used: Parameters, outcome: Outcome, prompt: Prompt) -> tuple[Parameters, str] | None:
        if isinstance(outcome, Completion):
            is_empty = outcome.cut is None and not without_thinking(outcome.text or "").strip()
            if used.sends_stop(prompt) and is_empty:
                note = "The service stops before the answer, so medfact requests whole replies and cuts them itself."
                return replace(used, stop=False), note
            return self._with_room(used, outcome, prompt)
        if outcome.action is Action.USE_COMPLETIONS and used.messages:
            note = "The model does not accept chat messages, so medfact uses text completions (/completions)."
            return replace(used, messages=False), note
        if outcome.action is Action.CHANGE_PARAMETERS:
            return without_refused(used, outcome.message, outcome.parameter, prompt)
        return None

    def _with_room(self, used: Parameters, reply: Completion, prompt: Prompt) -> tuple[Parameters, str] | None:
        """A higher limit, where a reply was cut before it answered: nothing is read of thinking that was cut. Once a reply has
        shown that the chat template begins the thinking, one that was cut may be nothing else, whatever it opens with.
        """
        text = reply.text or ""
        self._begun_by_template = self._begun_by_template or begun_by_template(text)
        if reply.cut != LENGTH:
            return None
        thinks = reply.thinks or self._begun_by_template or not text.strip()
        tokens = reply.served.completion_tokens or 0 if reply.served else 0
        in_the_open = not shows_thinking(text) and (len(text) > LONG_CHARACTERS or tokens >= used.token_limit(prompt))
        if prompt.settles(text) and not (in_the_open and self._begun_by_template):
            return None
        counted = reply.served.prompt_tokens or 0 if reply.served else 0
        return used.with_room(prompt, thinks=thinks, prompt_tokens=counted) if thinks or in_the_open else None

    def _with_beginning(self, reply: Completion) -> str | None:
        """The text of a reply. To thinking that was cut, whose beginning the chat template wrote, the beginning is added, as it
        is on this machine: nobody reads it for an answer.
        """
        text = reply.text or ""
        is_thinking = self._begun_by_template and reply.cut == LENGTH and not shows_thinking(text)
        return f"{BEGINNING}{text}" if is_thinking else reply.text

    def _note_missing_logprobs(self, completion: Completion, prompt: Prompt) -> None:
        """Counts the replies, from the first on, that answer without a P(True), and says so once they are enough."""
        if not self.parameters.top_logprobs or not completion.text or self._without_logprobs is None:
            return
        if completion.p_mass == 0 and prompt.reads(completion.text) is None:
            return  # it says neither True nor False
        self._without_logprobs = None if completion.p_true is not None else self._without_logprobs + 1
        if self._without_logprobs == REPLIES_WITHOUT_LOGPROBS:
            why = TOKENS_ALIKE if completion.p_mass == 0 else NO_LOGPROBS
            self._note(
                f"The service returns {why}, so P(True) is unknown. With --repeats 5, medfact asks each statement five times "
                "and estimates P(True) from the answers."
            )

    async def _send(
        self, parameters: Parameters, prompt: Prompt, repeat: int, gate: Gate, on_sent: Callable[[], None]
    ) -> tuple[Outcome, float]:
        body = {"model": self._endpoint.model, **parameters.body(prompt, repeat)}
        await self._preparing.acquire()
        self._prepared = request = _Request(gate, on_sent, asyncio.timeout(None), self._seconds)
        try:
            outcome: Outcome = await self._completion(request, parameters, prompt, body)
        except (Malformed, openai.APIStatusError, openai.APIConnectionError, TimeoutError, ModelError) as error:
            outcome = self._failure(error, prompt)
            if outcome.action is Action.END_RUN and not (outcome.at_first and self._has_answered):
                gate.shut()  # before this call leaves it, which would admit the next one
            if outcome.is_long_wait and outcome.retry_after is not None:
                gate.hold(outcome.retry_after)
        finally:
            self._end(request)
        return outcome, time.monotonic() - request.sent_at

    async def _completion(self, request: _Request, parameters: Parameters, prompt: Prompt, body: object) -> Completion:
        async with request.deadline:
            response = await self.client.post(parameters.path, cast_to=httpx2.Response, body=body, options=_OPTIONS)
        self._end(request)
        whole = TRUNCATED not in response.extensions
        scrub = self._endpoint.without_key
        try:
            completion = completion_of(
                response.content, prompt, parameters, whole=whole, headers=response.headers, scrub=scrub, note=self._note
            )
        except GenerationFailed as error:
            error.headers = response.headers
            raise
        self._extend_deadlines(request)
        return completion

    def _failure(self, error: Exception, prompt: Prompt) -> CallFailure:
        quotable = [str(message["content"]) for message in messages_of(prompt)] + [prompt.statement]
        if isinstance(error, GenerationFailed):
            return replace(failure_in_reply(error.error, error.headers, self._endpoint, quotable), billed=error.began)
        if isinstance(error, Malformed):
            if error.is_web_page:  # a gateway's passing error, or a wrong address
                return CallFailure(Action.RETRY_UNREACHED, str(error), wrong_address(self.host))
            return CallFailure(Action.RETRY, str(error), billed=True)
        if isinstance(error, openai.APIStatusError):
            response = error.response
            return failure_from_status(error.status_code, response.content, response.headers, self._endpoint, quotable)
        failure = failure_from_connection(error, self._endpoint)
        if failure.action is Action.RETRY and isinstance(error, openai.APITimeoutError | TimeoutError):
            reason = f"no reply within {self._seconds:g} s"
            return CallFailure(Action.RETRY, reason, overloaded=True, billed=True)
        return failure

    @property
    def _seconds(self) -> float:
        """The time limit of one call: as many times the timeout as thinking may take times THINKING_TOKENS_IN_TIMEOUT."""
        times = self.parameters.thinking_tokens / THINKING_TOKENS_IN_TIMEOUT
        return self.settings.timeout * min(max(times, 1), MAX_TIMEOUTS)

    def _extend_deadlines(self, answered: _Request) -> None:
        """Gives calls that were sent after one that is answered now more time: a service that takes one call at a time has not
        reached them yet. A call sent before it has been overtaken and may hang.
        """
        now = asyncio.get_running_loop().time()
        for number, request in self._in_flight.items():
            if number > answered.number and not request.deadline.expired():
                latest = now - (time.monotonic() - request.sent_at) + MAX_TIMEOUTS * self.settings.timeout
                request.deadline.reschedule(max(request.deadline.when() or 0.0, min(now + self.settings.timeout, latest)))

    async def _on_request(self, _: httpx2.Request) -> None:
        """The client has prepared a request: waits at the gate, then lets it go."""
        request = self._prepared
        if request is None or request.task is not asyncio.current_task():
            return  # a redirected call
        await request.gate.enter()
        self._sent += 1
        request.in_gate, request.sent_at, request.number = True, time.monotonic(), self._sent
        self._in_flight[request.number] = request
        request.deadline.reschedule(asyncio.get_running_loop().time() + request.seconds)
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


def _settled(failure: CallFailure, has_answered: bool) -> CallFailure:
    """A failure after all that could be changed was. A service that has answered others refuses this prompt alone."""
    if failure.action is Action.CHANGE_PARAMETERS:
        failure = replace(failure, action=failure.otherwise)
    is_of_one = failure.action is Action.END_RUN and failure.at_first and has_answered
    return replace(failure, action=Action.FAIL_PROMPT) if is_of_one or failure.action is Action.USE_COMPLETIONS else failure


class LogprobDoubt:
    """What speaks for it that a service minds log-probabilities, before it has answered a call that asks for them.

    turn: for one try without them after the other. proofs: tries that succeeded.
    """

    def __init__(self) -> None:
        self.turn = asyncio.Lock()
        self.proofs = 0
        self._errors = self._vain = 0

    def grows(self, failure: CallFailure) -> bool:
        """Notes a failure; whether the same call is worth a try without log-probabilities."""
        self._errors += failure.unexplained and failure.action is Action.RETRY
        enough = failure.action is not Action.RETRY or self._errors >= ERRORS_TO_DOUBT
        return failure.unexplained and enough and not self.is_settled

    @property
    def is_settled(self) -> bool:
        """Whether enough calls were tried in vain."""
        return self._vain >= VAIN_TRIES

    def note_try(self, succeeded: bool) -> bool:
        """Notes a try without log-probabilities; whether they are proven to be the cause now."""
        self.proofs += succeeded
        self._vain += not succeeded
        return self.proofs >= PROOFS
