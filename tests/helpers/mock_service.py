"""A small service on loopback that speaks the chat-completions protocol, for tests and benchmarks.

It has a P(True) for every prompt, replies after a fixed latency, and injects faults. Its behaviour depends on
a hash of the prompt and of the number of earlier calls with it: two runs meet the same faults.

    python tests/helpers/mock_service.py --latency 0.2   # prints {"base_url": ...} and serves until its standard input closes
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import json
import math
import sys
import threading
import time
import zlib
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

TRUE_SPELLINGS = {"True": 0.62, " True": 0.2, "true": 0.1, "TRUE": 0.05, "Yes": 0.03}
FALSE_SPELLINGS = {"False": 0.62, " False": 0.2, "false": 0.1, "FALSE": 0.05, "No": 0.03}
OTHER_TOKENS = {"The": 0.5, "It": 0.3, "**": 0.2}
"""Token → its share of the probability mass of True, of False, or of all other tokens."""

OTHER_MASS = 0.02
"""Probability mass of the tokens that are not an answer."""

CONTENT_FAULTS = {
    "empty": "",
    "hedge": "I think it's {word}",
    "refusal": "I'm sorry, but I can't give medical advice.",
    "both": "True or false: it is both true and false.",
    "null": None,
    "length": "The statement says that",
    "content_filter": "",
}
"""Faults of content → the reply; a property of the prompt."""

ERROR_FAULTS = {
    "408": (408, "timeout", "Request timed out."),
    "409": (409, "conflict", "Conflict."),
    "429": (429, "rate_limit_exceeded", "Rate limit reached."),
    "500": (500, "server_error", "The server had an error."),
    "503": (503, "server_error", "The engine is overloaded."),
    "401": (401, "invalid_api_key", "Incorrect API key provided: {key}."),
    "403": (403, "forbidden", "Country, region, or territory not supported: {key}."),
    "404": (404, "model_not_found", "The model `{model}` does not exist or you do not have access to it."),
    "quota": (429, "insufficient_quota", "You exceeded your current quota."),
    "filter400": (400, "content_filter", "The response was filtered."),
    "echo": (400, "invalid_request_error", "Not allowed: {prompt}"),
    "long": (400, "context_length_exceeded", "This model's maximum context length is 8 tokens; max_tokens is too large."),
}
"""Fault → status, code, message."""

TLS_HELLO = b"\x16"
"""First byte of a TLS handshake; the service speaks plain HTTP."""


@cache
def compression_bomb() -> bytes:
    """Returns a compressed reply of 1 MB that expands to 1 GB.

    One block is compressed and repeated. Nobody reads as far as the checksum, which is that of one block.
    """
    packing = zlib.compressobj(wbits=zlib.MAX_WBITS | 16)
    begin = packing.compress(b'{"choices": [{"message": {"content": "True, ') + packing.flush(zlib.Z_FULL_FLUSH)
    block = packing.compress(b"no " * 350_000) + packing.flush(zlib.Z_FULL_FLUSH)
    return begin + block * 1_000 + packing.flush()


GATEWAY_PAGE = b"<!DOCTYPE html><html><body>Welcome to the gateway</body></html>"


def hashed_share(*parts: object) -> float:
    """Returns a number from 0 to 1, a hash of the parts."""
    digest = hashlib.sha256("|".join(str(part) for part in parts).encode()).digest()
    return int.from_bytes(digest[:6], "big") / 2**48


def p_true(prompt: str) -> float:
    """Returns the service's P(True) for a prompt, from 0.02 to 0.98 and at least 0.05 from a half."""
    share = hashed_share("p", prompt)
    return 0.02 + 0.86 * share if share < 0.5 else 0.12 + 0.86 * share


def answer_word(prompt: str) -> str:
    """Returns the answer word at temperature 0."""
    return "True" if p_true(prompt) > 0.5 else "False"


def first_token_probabilities(prompt: str) -> list[tuple[str, float]]:
    """Returns every first token with its probability, in descending order; they add up to 1."""
    sides = ((p_true(prompt), TRUE_SPELLINGS), (1 - p_true(prompt), FALSE_SPELLINGS))
    spread = [(token, (1 - OTHER_MASS) * p * part) for p, spellings in sides for token, part in spellings.items()]
    spread += [(token, OTHER_MASS * part) for token, part in OTHER_TOKENS.items()]
    return sorted(spread, key=lambda pair: -pair[1])


@dataclass
class Behaviour:
    """Behaviour of the service. Shares are from 0 to 1."""

    latency: float = 0.0  # seconds before a reply
    call_faults: Mapping[str, float] = field(default_factory=dict)
    # fault → share of the calls: ERROR_FAULTS, "reset", "truncated", "nothing", "html", "redirect", "bomb", "slow", "hang"
    prompt_faults: Mapping[str, float] = field(default_factory=dict)  # fault → share of the prompts that always meet it
    first_faults: tuple[str, ...] = ()  # of the first calls with each prompt, in order
    content_faults: Mapping[str, float] = field(default_factory=dict)  # CONTENT_FAULTS → share of the prompts
    constant_fault: str = ""  # of every call
    parameter_limits: Mapping[str, float | None] = field(default_factory=dict)  # None refuses every value
    retry_after: str = ""  # header of 429 and 503
    slow_seconds: float = 3.0  # delay of the fault "slow"
    key: str = ""  # without it, a call gets a 401; "" accepts all
    max_in_flight: int = 10**6  # further calls get a 429
    is_sampled: bool = False  # draws the reply from P(True)
    thinking: str = ""  # thoughts before the answer: "tags" without their log-probabilities, "tokens" with them
    is_serial: bool = False  # works on one call at a time, even if its client has disconnected
    max_answers: int = 10**9  # later calls meet `final_fault`
    final_fault: str = "gone"  # a fault, or "gone": the service stops listening
    content_encoding: str = "gzip"  # header of the fault "bomb"
    is_streaming: bool = False  # replies in events
    ignores_logprobs: bool = False
    rejects_messages: bool = False  # as a model without a chat template
    reply_text: str = ""  # in place of the answer word; for "redirect" the address
    write_reply: Callable[[str], str] | None = None  # prompt → text in place of the answer word
    usage: Mapping[str, float] = field(default_factory=dict)  # further token counts
    listed_models: tuple[str, ...] = ()  # in the reply of /v1/models
    available_models: tuple[str, ...] = ()  # others get a 404; () accepts all


@dataclass(frozen=True)
class Call:
    """A received request."""

    at: float
    path: str
    prompt: str
    headers: dict[str, str]
    body: dict[str, Any]


def _pick_fault(shares: Mapping[str, float], point: float) -> str:
    edge = 0.0
    for name, part in shares.items():
        edge += part
        if point < edge:
            return name
    return ""


def content_fault(content: Mapping[str, float], prompt: str) -> str:
    """Returns the fault of content in the reply to a prompt; empty without one."""
    return _pick_fault(content, hashed_share("content", prompt))


class MockService:
    """Context manager that serves in a thread."""

    def __init__(self, behaviour: Behaviour | None = None, *, port: int = 0) -> None:
        self.behaviour = behaviour or Behaviour()
        self.port = port
        self.calls: list[Call] = []
        self.answer_counts: Counter[str] = Counter()
        self.in_flight = self.peak_in_flight = self.aborted_calls = 0
        self._attempts: Counter[str] = Counter()
        self._loop = asyncio.new_event_loop()
        self._ready = threading.Event()
        self._thread = threading.Thread(target=self._serve, daemon=True)

    @property
    def base_url(self) -> str:
        """Base URL for a client."""
        return f"http://127.0.0.1:{self.port}/v1"

    def call_counts(self) -> Counter[str]:
        """Returns prompt → number of calls with it."""
        return Counter(call.prompt for call in self.calls)

    def __enter__(self) -> MockService:
        self._thread.start()
        assert self._ready.wait(10)
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._end.set)
        self._thread.join(10)

    # ------------------------------------------------------------------------------------ HTTP

    def _serve(self) -> None:
        self._loop.run_until_complete(self._until_the_end())
        self._loop.close()

    async def _until_the_end(self) -> None:
        self._end = asyncio.Event()
        self._open: set[asyncio.Task[None]] = set()
        self._turn = asyncio.Lock()
        self._server = await asyncio.start_server(self._connection, "127.0.0.1", self.port, backlog=1024)
        self.port = self._server.sockets[0].getsockname()[1]
        self._ready.set()
        await self._end.wait()
        self._server.close()
        for task in self._open:
            task.cancel()
        await asyncio.gather(*self._open, return_exceptions=True)
        for _ in range(3):
            await asyncio.sleep(0)  # aborted connections leave the loop before it closes

    async def _connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._open.add(task)
        try:
            while await self._handle_request(reader, writer):
                pass
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            self._open.discard(task)
            writer.transport.abort()

    async def _handle_request(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """Reads a request and answers it; returns False if the connection ends."""
        if (first := await reader.readexactly(1)) == TLS_HELLO:
            return False
        head = (first + await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in head[1:] if line)}
        body = json.loads(await reader.readexactly(int(headers.get("content-length", 0))) or b"{}")
        path = head[0].split()[1]
        if path == "/v1/models" and self.behaviour.listed_models:
            return await self._send(
                writer, 200, json.dumps({"data": [{"id": name} for name in self.behaviour.listed_models]}).encode()
            )
        if path not in {"/v1/chat/completions", "/v1/completions"}:
            return await self._send(writer, 404, json.dumps({"detail": "Not Found"}).encode())
        self.in_flight += 1
        self.peak_in_flight = max(self.peak_in_flight, self.in_flight)
        gone = asyncio.ensure_future(reader.read(1))
        work = asyncio.ensure_future(self._answer(path, headers, body, writer))
        try:
            await asyncio.wait({gone, work}, return_when=asyncio.FIRST_COMPLETED)
            if not work.done():
                self.aborted_calls += 1
                return False
            return work.result() and not gone.done() and await self._still_open(gone)
        finally:
            work.cancel()
            gone.cancel()
            self.in_flight -= 1

    @staticmethod
    async def _still_open(gone: asyncio.Future[bytes]) -> bool:
        gone.cancel()
        await asyncio.wait({gone})
        return gone.cancelled()

    @staticmethod
    async def _send(
        writer: asyncio.StreamWriter, status: int, body: bytes, kind: str = "application/json", extra: str = ""
    ) -> bool:
        head = f"HTTP/1.1 {status} X\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n{extra}\r\n"
        writer.write(head.encode("latin-1") + body)
        await writer.drain()
        return True

    # ------------------------------------------------------------------------------------ behaviour

    async def _answer(self, path: str, headers: dict[str, str], body: dict[str, Any], writer: asyncio.StreamWriter) -> bool:
        prompt = str(body["messages"][-1]["content"] if "messages" in body else body["prompt"])
        attempt = self._attempts[prompt]
        self._attempts[prompt] += 1
        self.calls.append(Call(time.monotonic(), path, prompt, headers, body))
        fault = self._fault(prompt, attempt, headers, body["model"])
        if sum(self.answer_counts.values()) >= self.behaviour.max_answers:
            fault = self.behaviour.final_fault
        if fault == "gone":
            self._server.close()
            return False
        if self.behaviour.rejects_messages and "messages" in body:
            return await self._error(writer, 400, "bad_request", "The tokenizer has no chat template: give one.")
        if refused := self._refused(body):
            return await self._error(writer, 400, "unsupported_parameter", refused)
        if fault in ERROR_FAULTS:
            status, code, message = ERROR_FAULTS[fault]
            key = headers.get("authorization", "").removeprefix("Bearer ")
            return await self._error(writer, status, code, message.format(key=key, model=body["model"], prompt=prompt))
        if fault in {"reset", "html", "redirect", "bomb"}:
            return await self._no_reply(writer, fault)
        await self._work(self.behaviour.latency + {"slow": self.behaviour.slow_seconds, "hang": 3600}.get(fault, 0.0))
        content = json.dumps(self._reply(prompt, attempt, body)).encode()
        if self.behaviour.is_streaming:
            content = self._events(json.loads(content))
        if fault == "nothing":
            return await self._send(writer, 200, b'{"id": "x", "object": "chat.completion"}')
        if fault == "truncated":
            return await self._send(writer, 200, content[: len(content) // 2])
        self.answer_counts[prompt] += 1
        return await self._send(writer, 200, content)

    async def _no_reply(self, writer: asyncio.StreamWriter, fault: str) -> bool:
        if fault == "html":
            return await self._send(writer, 200, GATEWAY_PAGE, "text/html; charset=utf-8")
        if fault == "redirect":
            return await self._send(writer, 307, b"", extra=f"Location: {self.behaviour.reply_text}\r\n")
        if fault == "bomb":
            return await self._send(
                writer, 200, compression_bomb(), extra=f"Content-Encoding: {self.behaviour.content_encoding}\r\n"
            )
        return False

    async def _work(self, seconds: float) -> None:
        """Waits. With `is_serial`, calls wait one after the other, even those whose client has disconnected."""
        if not self.behaviour.is_serial:
            await asyncio.sleep(seconds)
            return

        async def in_turn() -> None:
            async with self._turn:
                await asyncio.sleep(seconds)

        await asyncio.shield(asyncio.ensure_future(in_turn()))

    @staticmethod
    def _events(reply: dict[str, Any]) -> bytes:
        """Returns a reply as events: its text in two parts, the finish reason, the usage."""
        (choice,) = reply.pop("choices")
        usage, text = reply.pop("usage"), choice["message"]["content"] or ""
        parts = [{"delta": {"content": half}, "index": 0} for half in (text[:2], text[2:])]
        parts[0]["logprobs"] = choice["logprobs"]
        parts.append({"delta": {}, "index": 0, "finish_reason": choice["finish_reason"]})
        events = [{**reply, "choices": [part]} for part in parts] + [{**reply, "choices": [], "usage": usage}]
        return b"".join(b"data: " + json.dumps(event).encode() + b"\n\n" for event in events) + b"data: [DONE]\n\n"

    def _fault(self, prompt: str, attempt: int, headers: dict[str, str], model: str) -> str:
        behaviour = self.behaviour
        if behaviour.key and headers.get("authorization") != f"Bearer {behaviour.key}":
            return "401"
        if behaviour.available_models and model not in behaviour.available_models:
            return "404"
        if behaviour.constant_fault:
            return behaviour.constant_fault
        if attempt < len(behaviour.first_faults):
            return behaviour.first_faults[attempt]
        if self.in_flight > behaviour.max_in_flight:
            return "429"
        return _pick_fault(behaviour.prompt_faults, hashed_share("sticky", prompt)) or _pick_fault(
            behaviour.call_faults, hashed_share("call", prompt, attempt)
        )

    def _refused(self, body: dict[str, Any]) -> str:
        for name, largest in self.behaviour.parameter_limits.items():
            if body.get(name) is None or (largest is not None and float(body[name]) <= largest):
                continue
            if name == "max_tokens":
                return "Unsupported parameter: 'max_tokens' is not supported. Use 'max_completion_tokens' instead."
            if largest is not None:
                return f"Invalid value for '{name}': must be less than or equal to {largest:g}."
            return f"Unsupported value: '{name}' does not support {body[name]} with this model."
        return ""

    async def _error(self, writer: asyncio.StreamWriter, status: int, code: str, message: str) -> bool:
        body = {"error": {"message": message, "type": "error", "param": None, "code": code}}
        after = f"Retry-After: {self.behaviour.retry_after}\r\n" if status in (429, 503) and self.behaviour.retry_after else ""
        return await self._send(writer, status, json.dumps(body).encode(), extra=after)

    def _reply(self, prompt: str, attempt: int, body: dict[str, Any]) -> dict[str, Any]:
        fault = content_fault(self.behaviour.content_faults, prompt)
        word = answer_word(prompt)
        if self.behaviour.is_sampled:
            word = "True" if hashed_share("sampled", prompt, attempt) < p_true(prompt) else "False"
        text = CONTENT_FAULTS[fault] if fault else self.behaviour.reply_text or word
        text = text.format(word=word.lower()) if text else text
        text = self.behaviour.write_reply(prompt) if self.behaviour.write_reply else text
        thought = "<think>It could be true.</think>\n\n" if self.behaviour.thinking else ""
        message = {"role": "assistant", "content": thought + text if thought and text else text, "refusal": None}
        reason = fault if fault in ("length", "content_filter") else "stop"
        if fault == "refusal":
            message |= {"content": None, "refusal": text}
        if text and body.get("stop") and body["stop"][0] in text:
            text = text[: text.index(body["stop"][0])]
            message["content"] = text
        with_logprobs = (
            body.get("logprobs")
            and self.behaviour.thinking != "tags"
            and fault in ("", "hedge")
            and not self.behaviour.reply_text
        )
        with_logprobs = with_logprobs and not self.behaviour.ignores_logprobs and not self.behaviour.write_reply
        top = int(body.get("top_logprobs") or (body.get("logprobs") if "prompt" in body else 0) or 0)
        choice: dict[str, Any] = {"index": 0, "message": message, "finish_reason": reason, "logprobs": None}
        if with_logprobs:
            before = ["<think>", "It", " could", " be", " true", ".", "</think>", "\n\n"] if thought else []
            before += ["I", " think", " it's", " "] if fault == "hedge" else []
            choice["logprobs"] = {
                "content": [*(_certain_position(token) for token in before), _answer_position(prompt, word, top)]
            }
        tokens = {"prompt_tokens": len(prompt) // 4 + 4, "completion_tokens": len(text or "") // 4 + 1, **self.behaviour.usage}
        if "prompt" in body:
            choice |= {"text": text, "logprobs": _legacy_logprobs(choice["logprobs"])}
            del choice["message"]
        return {
            "id": f"reply-{attempt}",
            "object": "chat.completion",
            "created": 0,
            "model": f"{body['model']}-2026-01-01",
            "system_fingerprint": "fp_mock",
            "choices": [choice],
            "usage": {**tokens, "total_tokens": sum(tokens.values())},
        }


def _legacy_logprobs(logprobs: dict[str, Any] | None) -> dict[str, Any] | None:
    """Returns log-probabilities in the older format of /completions."""
    if logprobs is None:
        return None
    positions = logprobs["content"]
    return {
        "tokens": [position["token"] for position in positions],
        "token_logprobs": [position["logprob"] for position in positions],
        "top_logprobs": [{entry["token"]: entry["logprob"] for entry in position["top_logprobs"]} for position in positions],
    }


def _certain_position(token: str) -> dict[str, Any]:
    return {"token": token, "logprob": 0.0, "bytes": None, "top_logprobs": [{"token": token, "logprob": 0.0, "bytes": None}]}


def _answer_position(prompt: str, word: str, top: int) -> dict[str, Any]:
    spread = first_token_probabilities(prompt)
    entries = [{"token": token, "logprob": math.log(p), "bytes": list(token.encode())} for token, p in spread]
    (answer,) = (entry for entry in entries if entry["token"] == word)
    return {**answer, "top_logprobs": entries[:top]}


def main() -> None:
    """Serves until standard input closes."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--latency", type=float, default=0.2)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--repeats-statements", action="store_true", help="reply with the statement of the prompt")
    parser.add_argument("--every", default="", help="a fault that every call meets, such as 500")
    options = parser.parse_args()
    writes = (lambda prompt: prompt.partition("Statement: ")[2]) if options.repeats_statements else None
    with MockService(
        Behaviour(latency=options.latency, write_reply=writes, constant_fault=options.every), port=options.port
    ) as service:
        print(json.dumps({"base_url": service.base_url}), flush=True)
        sys.stdin.read()


if __name__ == "__main__":
    main()
