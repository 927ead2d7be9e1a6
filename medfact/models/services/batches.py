"""Batches at a service, in OpenAI's form: a file of calls (POST /files) that is answered within a day (POST /batches).

A step may be repeated: what an earlier try, or an earlier process, has left at the service is looked for first.
"""

from __future__ import annotations

import asyncio
import json
import re
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from types import TracebackType
from typing import Any, BinaryIO, Self, TypeVar

import httpx2
import openai

from medfact.errors import ModelError, ServiceDown
from medfact.models.prompt import CONTENT_FILTER, LENGTH, Completion, Prompt, Served
from medfact.models.services.calls import Caller, Outcome
from medfact.models.services.connection import service_client
from medfact.models.services.failures import Action, CallFailure, Endpoint, failure_from_connection, too_long_a_wait
from medfact.models.services.pacing import LONGEST_PATIENCE_SECONDS, wait_before
from medfact.models.services.parameters import Parameters, messages_of
from medfact.models.services.policy import host_of, key_of
from medfact.models.services.refusals import failure_from_status, words_in
from medfact.models.services.replies import MAX_BODY_BYTES, GenerationFailed, Malformed, completion_of

MOST_REQUESTS, MOST_BYTES = 50_000, 100_000_000
"""Of a batch. OpenAI takes 200 MB, others half of that."""

FIRST_POLL_SECONDS, LONGEST_POLL_SECONDS = 0.5, 60.0
"""Time between two looks at a batch: doubled each time, up to the second."""

TRANSFER_TIMEOUTS = 30
"""A file may take this many times the timeout of a call."""

_ENDS = {
    "failed": {"failed", "failure", "error", "errored", "rejected"},
    "expired": {"expired", "timeout", "timedout", "timed"},
    "cancelled": {"cancelled", "canceled", "aborted", "stopped"},
    "completed": {"completed", "complete", "success", "succeeded", "successful", "ended", "done", "finished"},
}
"""How batches end, and words of services for that."""

_GOING = {"validating", "progress", "finalizing", "queued", "pending", "running", "processing", "cancelling", "canceling"} | {
    *("created", "submitted", "preparing", "scheduled", "started", "starting", "uploading", "init", "initializing")
}
"""Words of services for a batch that goes on."""

_DONE = ("completed", "succeeded", "success", "failed", "errored", "error", "expired", "canceled", "cancelled")
_NOT_DONE = ("processing", "pending")
"""Names of the numbers of its calls."""

_PER_PAGE, _MOST_PAGES = 100, 100
_PIECE_SECONDS, _AGAIN_SECONDS = 0.1, 1.0
_NAME = re.compile(r"[\w.:-]{1,200}", re.ASCII)
_OPTIONS: Any = {"security": {"bearer_auth": True}}
_OF_FILES: Any = {**_OPTIONS, "headers": {"Content-Type": "multipart/form-data"}}

Result = TypeVar("Result")


class WaitEnded(Exception):
    """The run was stopped while it waited for the service. The batch goes on there."""


@dataclass(frozen=True, slots=True)
class BatchState:
    """A batch as the service tells of it. status: how it ended, in OpenAI's word where that is known. results: names of the
    files with what came of its calls. problem: why it failed as a whole. done, of: its calls, as far as the service counts.
    """

    status: str
    is_over: bool
    results: tuple[str, ...]
    problem: str
    done: int
    of: int


class BatchService:
    """The files and batches of one service. stopped: whether to wait no longer."""

    def __init__(self, caller: Caller, stopped: Callable[[], bool]) -> None:
        self._settings, self._stopped = caller.settings, stopped
        self.host = host_of(caller.settings)
        self._endpoint = Endpoint(self.host, caller.model, key_of(caller.settings))

    def __enter__(self) -> Self:
        self._runner = asyncio.Runner()
        self._client = service_client(self._settings, _send, max_retries=0)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._runner.run(self._client.close())
        self._runner.close()

    # -------------------------------------------------------------------------------- what is there

    def file_named(self, name: str) -> str | None:
        """The service's name for a file that was uploaded under a name; None where there is none."""
        return self._find("/files", lambda one: one.get("filename") == name, purpose="batch")

    def batch_of(self, file: str, token: str) -> str | None:
        """The service's name for the batch of a file, or with a token; None where there is none."""

        def is_it(one: Mapping[str, Any]) -> bool:
            metadata = one.get("metadata")
            return one.get("input_file_id") == file or (isinstance(metadata, dict) and metadata.get("medfact") == token)

        return self._find("/batches", is_it)

    def late_batch_of(self, file: str, token: str, until: float) -> str | None:
        """The same, where a call that asked for it may still be on its way until then (by `time.time`): the last look begins
        later.
        """
        while True:
            looked_at = time.time()
            if (found := self.batch_of(file, token)) is not None or looked_at >= until:
                return found
            self.sleep(_AGAIN_SECONDS)

    def _find(self, path: str, is_it: Callable[[Mapping[str, Any]], bool], **query: str) -> str | None:
        seen: set[str] = set()
        after: dict[str, str] = {}
        for _ in range(_MOST_PAGES):
            page = self._tried(partial(self._get, path, {"limit": str(_PER_PAGE), **query, **after}))
            new = [one for one in page.get("data") or () if isinstance(one, dict) and str(one.get("id")) not in seen]
            if found := next((one for one in new if is_it(one)), None):
                return _name_of(found)
            if not new or page.get("has_more") is False:
                return None
            seen.update(str(one.get("id")) for one in new)
            after = {"after": str(new[-1].get("id"))}
        return None

    def state(self, batch: str) -> BatchState:
        """How far a batch is."""
        return self._tried(partial(self._state, batch))

    async def _state(self, batch: str) -> BatchState:
        return _state_in(await self._get(f"/batches/{batch}"))

    # -------------------------------------------------------------------------------- steps

    def upload(self, name: str, content: bytes) -> str:
        """Uploads a file of calls; the service's name for it. A file costs nothing: one too many does no harm."""
        return self._tried(partial(self._upload, name, content))

    async def _upload(self, name: str, content: bytes) -> str:
        async with asyncio.timeout(TRANSFER_TIMEOUTS * self._settings.timeout):
            made = await self._client.post(
                "/files",
                cast_to=httpx2.Response,
                body={"purpose": "batch"},
                files=[("file", (name, content, "application/jsonl"))],
                options=_OF_FILES,
            )
        return _name_of(_read(made))

    def begin(self, file: str, path: str, token: str) -> str:
        """Has the service begin the batch of a file; its name for it. No second one is begun where the first may exist."""
        sent_at: float | None = None

        async def begin() -> str:
            nonlocal sent_at
            sent_at = time.time()
            body = {
                "input_file_id": file,
                "endpoint": f"/v1{path}",
                "completion_window": "24h",
                "metadata": {"medfact": token},
            }
            async with asyncio.timeout(self._settings.timeout):
                return _name_of(
                    _read(await self._client.post("/batches", cast_to=httpx2.Response, body=body, options=_OPTIONS))
                )

        def found(failure: CallFailure) -> str | None:
            assert sent_at is not None
            unknown = failure.billed or (failure.action is Action.RETRY and not failure.overloaded)
            return self.late_batch_of(file, token, sent_at + 2 * self._settings.timeout if unknown else 0)

        return self._tried(begin, found)

    def lines(self, file: str, calls: int) -> Iterator[dict[str, Any]]:
        """The lines of a file of results, once all of it is here. calls: of its batch, at most; what is longer than their
        replies may be is not read.
        """
        with tempfile.TemporaryFile() as here:
            self._tried(partial(self._download, file, here, calls * MAX_BODY_BYTES))
            here.seek(0)
            for line in _lines_in(here):
                try:
                    read = json.loads(line)
                except ValueError:
                    continue  # a call without a readable result has none
                if isinstance(read, dict):
                    yield read

    async def _download(self, file: str, here: BinaryIO, most_bytes: int) -> None:
        here.seek(0)
        here.truncate()
        client = service_client(self._settings, _send, most_bytes, max_retries=0)
        async with (
            asyncio.timeout(TRANSFER_TIMEOUTS * self._settings.timeout),
            client,
            client.files.with_streaming_response.content(file) as reply,
        ):
            async for part in reply.iter_bytes():
                here.write(part)

    # -------------------------------------------------------------------------------- calls

    async def _get(self, path: str, query: Mapping[str, str] | None = None) -> dict[str, Any]:
        options: Any = {**_OPTIONS, "params": dict(query or {})}
        async with asyncio.timeout(self._settings.timeout):
            return _read(await self._client.get(path, cast_to=httpx2.Response, options=options))

    def _tried(
        self, work: Callable[[], Awaitable[Result]], found: Callable[[CallFailure], Result | None] = lambda _: None
    ) -> Result:
        """What comes of a call, which is repeated where that may help. found: looks for what a failed one has left."""

        async def run() -> Result:
            return await work()

        attempt, began = 0, time.monotonic()
        while attempt < self._settings.tries:
            try:
                return self._runner.run(run())
            except (openai.APIError, httpx2.HTTPError, TimeoutError, Malformed, ModelError) as error:
                failure = self._failure(error)
            if failure.action not in (Action.RETRY, Action.RETRY_UNREACHED):
                refusal = f"{self.host} refuses the batch: {failure.whole_reason}."
                raise failure.error or ModelError(refusal, "Leave out --batch.")
            attempt += not failure.is_long_wait
            if failure.is_long_wait and time.monotonic() + (failure.retry_after or 0.0) - began > LONGEST_PATIENCE_SECONDS:
                raise too_long_a_wait(self.host, failure)
            self.sleep(wait_before(attempt, overloaded=failure.overloaded, requested=failure.retry_after))
            if (result := found(failure)) is not None:
                return result
        raise ServiceDown(
            f"{self.host} does not answer: {failure.whole_reason}.", "Resume the run later: its batches go on there."
        )

    def sleep(self, seconds: float) -> None:
        """Waits. Raises WaitEnded where the run is stopped meanwhile."""
        until = time.monotonic() + seconds
        while not self._stopped():
            if (left := until - time.monotonic()) <= 0:
                return
            time.sleep(min(left, _PIECE_SECONDS))
        raise WaitEnded

    def _failure(self, error: Exception) -> CallFailure:
        if isinstance(error, openai.APIStatusError):
            response = error.response
            if error.status_code in (404, 405, 501):
                path = response.request.url.path
                return CallFailure(Action.END_RUN, "not there", self._not_there(path.rpartition("/v1")[2] or path))
            return failure_from_status(error.status_code, response.content, response.headers, self._endpoint)
        if isinstance(error, Malformed):
            return CallFailure(Action.RETRY, str(error), billed=True)
        if isinstance(error, TimeoutError | openai.APITimeoutError):
            return CallFailure(Action.RETRY, f"no reply within {self._settings.timeout:g} s", overloaded=True, billed=True)
        return failure_from_connection(error, self._endpoint)

    def scrubbed(self, text: str) -> str:
        """The service's words on one short line, without the key."""
        return self._endpoint.scrubbed(text)

    def _not_there(self, path: str) -> ModelError:
        if path in ("/files", "/batches"):
            return ModelError(f"{self.host} takes no batches: it has no {path}.", "Leave out --batch.")
        return ModelError(f"{self.host} has no {path} any more.", "Start a new run, or resume at the address of its batch.")

    # -------------------------------------------------------------------------------- results

    def outcome(self, line: Mapping[str, Any], prompt: Prompt, parameters: Parameters, note: Callable[[str], None]) -> Outcome:
        """What a line of results says: the completion of its call, or why there is none."""
        response, error = line.get("response"), line.get("error")
        if not isinstance(response, dict):
            code = error.get("code") if isinstance(error, dict) else None
            words = self._endpoint.scrubbed(words_in(error) or str(code or "no reply in the batch"))
            return CallFailure(Action.FAIL_PROMPT, words)
        reply = response.get("body", response)
        body = reply.encode() if isinstance(reply, str) else json.dumps(reply).encode()
        status = _count(response.get("status_code", 200 if isinstance(reply, dict) and reply.get("choices") else 500))
        if status != 200:
            quotable = [str(message["content"]) for message in messages_of(prompt)] + [prompt.statement]
            return failure_from_status(status, body, {}, self._endpoint, quotable)
        try:
            completion = completion_of(body, prompt, parameters, scrub=self._endpoint.without_key, note=note)
        except GenerationFailed as failed:
            return CallFailure(Action.FAIL_PROMPT, self._endpoint.scrubbed(failed.error.message) or "a failed reply")
        except Malformed as malformed:
            return CallFailure(Action.FAIL_PROMPT, str(malformed))
        ends = completion.cut == LENGTH and not parameters.messages and prompt.reads(completion.text or "") is not None
        return replace(completion, cut=None) if ends else completion


def body_of(model: str, parameters: Parameters, prompt: Prompt, repeat: int) -> dict[str, Any]:
    """The body of a call in a batch. A text that is completed may be as long as it may ever be: nobody asks for more of it."""
    body = {"model": model, **parameters.body(prompt, repeat)}
    if not parameters.messages and parameters.limit_name and parameters.max_tokens is None:
        body[parameters.limit_name] = prompt.max_tokens
    return body


def failed_or_filtered(failure: CallFailure) -> Completion:
    """What becomes of a call that failed: unreadable where a filter held it back, as any other."""
    if failure.action is Action.ACCEPT_FILTERED:
        return Completion("", cut=CONTENT_FILTER, served=Served())
    return Completion(None, failure=f"{failure.whole_reason} (in a batch)", served=Served())


async def _send(_: httpx2.Request) -> None:
    """Lets a request go."""


def _read(response: httpx2.Response) -> dict[str, Any]:
    """The object in a body. Raises Malformed where there is none."""
    try:
        read = json.loads(response.content)
    except ValueError:
        read = None
    if not isinstance(read, dict):
        raise Malformed("a reply that is no object")
    return read


def _lines_in(file: BinaryIO) -> Iterator[bytes]:
    """The lines of a file, without those that are longer than a reply may be."""
    is_whole = True
    while line := file.readline(MAX_BODY_BYTES):
        ends = len(line) < MAX_BODY_BYTES or line.endswith(b"\n")
        if is_whole and ends:
            yield line
        is_whole = ends


def _name_of(told: Mapping[str, Any]) -> str:
    """The service's name for a file or a batch. It becomes part of an address, so that only a plain one will do."""
    name = told.get("id")
    if not isinstance(name, str) or not _NAME.fullmatch(name) or set(name) <= {"."}:
        raise Malformed("a reply without a usable id")
    return name


def _state_in(told: Mapping[str, Any]) -> BatchState:
    status = str(told.get("status") or "")
    words = set(re.findall(r"[a-z]+", status.lower()))
    ended = next((end for end, names in _ENDS.items() if words & names), None)
    results = tuple(_name_of({"id": file}) for file in _results_in(told))
    listed = told.get("request_counts")
    counts = {str(name).lower(): _count(number) for name, number in listed.items()} if isinstance(listed, dict) else {}
    done = sum(counts.get(name, 0) for name in _DONE)
    of = counts.get("total") or done + sum(counts.get(name, 0) for name in _NOT_DONE)
    is_unknown = ended is None and not words & _GOING
    errors = told.get("errors")
    return BatchState(
        status=ended or status,
        is_over=bool(ended) or (is_unknown and (bool(results) or done >= of > 0)),
        results=results,
        problem=words_in(errors.get("data") or errors if isinstance(errors, dict) else errors),
        done=done,
        of=of,
    )


def _results_in(told: Mapping[str, Any]) -> Iterator[object]:
    """The service's names for the files with what came of a batch's calls."""
    for name in ("output_file_id", "output_file", "error_file_id", "error_file"):
        files = told.get(name)
        for file in files if isinstance(files, list) else [files]:
            if named := file.get("id") if isinstance(file, dict) else file:
                yield named


def _count(told: object) -> int:
    """A number of calls, or a status, as a service writes it; 0 where it is none."""
    try:
        return int(told) if isinstance(told, int | float | str) else 0
    except (ValueError, OverflowError):
        return 0
