"""A small service on loopback that speaks the chat-completions protocol, for tests and benchmarks.

It knows its own P(True) for every prompt, replies after a fixed latency, and injects faults. Its behaviour
depends on a hash of the prompt and of how often that prompt was asked: two runs meet the same faults.

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
OTHERS = {"The": 0.5, "It": 0.3, "**": 0.2}
"""Tokens, and how the mass of their side is spread over them."""

ELSEWHERE = 0.02
"""The mass of tokens that are no answer."""

REPLIES = {
    "empty": "",
    "hedge": "I think it's {word}",
    "refusal": "I'm sorry, but I can't give medical advice.",
    "both": "True or false: it is both true and false.",
    "null": None,
    "length": "The statement says that",
    "content_filter": "",
}
"""Faults of content → the reply; a property of the prompt."""

ERRORS = {
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
def bomb() -> bytes:
    """A reply of 1 MB that unpacks to 1 GB."""
    packing = zlib.compressobj(wbits=zlib.MAX_WBITS | 16)
    parts = [packing.compress(b'{"choices": [{"message": {"content": "True, ')]
    parts += [packing.compress(b"no " * 350_000) for _ in range(1_000)]
    return b"".join([*parts, packing.flush()])


PAGE = b"<!DOCTYPE html><html><body>Welcome to the gateway</body></html>"


def share(*parts: object) -> float:
    """A number from 0 to 1 that depends on the parts alone."""
    digest = hashlib.sha256("|".join(str(part) for part in parts).encode()).digest()
    return int.from_bytes(digest[:6], "big") / 2**48


def p_true(prompt: str) -> float:
    """The service's own P(True) for a prompt: from 0.02 to 0.98, and never within 0.05 of a half."""
    drawn = share("p", prompt)
    return 0.02 + 0.86 * drawn if drawn < 0.5 else 0.12 + 0.86 * drawn


def word_of(prompt: str) -> str:
    """The answer word at temperature 0."""
    return "True" if p_true(prompt) > 0.5 else "False"


def alternatives(prompt: str) -> list[tuple[str, float]]:
    """Every first token with its probability, the likeliest first; they add up to 1."""
    sides = ((p_true(prompt), TRUE_SPELLINGS), (1 - p_true(prompt), FALSE_SPELLINGS))
    spread = [(token, (1 - ELSEWHERE) * p * part) for p, spellings in sides for token, part in spellings.items()]
    spread += [(token, ELSEWHERE * part) for token, part in OTHERS.items()]
    return sorted(spread, key=lambda pair: -pair[1])


@dataclass
class Behaviour:
    """Behaviour of the service. Shares are from 0 to 1.

    faults:  fault → share of the calls that meet it: a name in ERRORS, "reset", "truncated", "nothing", "html", "slow", "hang".
    sticky:  fault → share of the prompts that always meet it. first: faults of a prompt's first calls, in order.
    content: fault of content → share of the prompts whose replies have it.
    every:   a fault that every call meets. refuses: parameter → the largest value that is taken, or None where none is.
    at_once: calls at once; more get a 429. sampled: draws the reply from P(True). thinks: "tags" or "tokens" before the answer.
    serial: takes one call after the other, also those that nobody waits for any more. answers: how many it gives until it dies
    of `dies`: a fault, or "gone" where nobody listens any more. streams: replies in events alone. no_logprobs: ignores that
    they are asked for. no_template: takes no messages. says: a text in place of the answer word. usage: what it counts.
    writes: a prompt → the text in place of the answer word. packing: of "bomb". lists: the models that /v1/models names.
    models: those that there are; all where it is empty.
    """

    latency: float = 0.0
    faults: Mapping[str, float] = field(default_factory=dict)
    sticky: Mapping[str, float] = field(default_factory=dict)
    first: tuple[str, ...] = ()
    content: Mapping[str, float] = field(default_factory=dict)
    every: str = ""
    refuses: Mapping[str, float | None] = field(default_factory=dict)
    retry_after: str = ""
    slow: float = 3.0
    key: str = ""
    at_once: int = 10**6
    sampled: bool = False
    thinks: str = ""
    serial: bool = False
    answers: int = 10**9
    dies: str = "gone"
    packing: str = "gzip"
    streams: bool = False
    no_logprobs: bool = False
    no_template: bool = False
    says: str = ""
    writes: Callable[[str], str] | None = None
    usage: Mapping[str, float] = field(default_factory=dict)
    lists: tuple[str, ...] = ()
    models: tuple[str, ...] = ()


@dataclass(frozen=True)
class Call:
    """A received request."""

    at: float
    path: str
    prompt: str
    headers: dict[str, str]
    body: dict[str, Any]


def _picked(shares: Mapping[str, float], drawn: float) -> str:
    edge = 0.0
    for name, part in shares.items():
        edge += part
        if drawn < edge:
            return name
    return ""


def fault_of_content(content: Mapping[str, float], prompt: str) -> str:
    """The fault of content in the reply to a prompt; empty without one."""
    return _picked(content, share("content", prompt))


class MockService:
    """The service in a thread of its own: `with MockService(Behaviour(...)) as service:`."""

    def __init__(self, behaviour: Behaviour | None = None, *, port: int = 0) -> None:
        self.does = behaviour or Behaviour()
        self.port = port
        self.calls: list[Call] = []
        self.answered: Counter[str] = Counter()
        self.in_flight = self.most_in_flight = self.broken_off = 0
        self._asked: Counter[str] = Counter()
        self._loop = asyncio.new_event_loop()
        self._ready = threading.Event()
        self._thread = threading.Thread(target=self._serve, daemon=True)

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    def asked(self) -> Counter[str]:
        """Prompt → how many calls came for it."""
        return Counter(call.prompt for call in self.calls)

    def __enter__(self) -> MockService:
        self._thread.start()
        assert self._ready.wait(10)
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._end.set)
        self._thread.join(10)

    # ------------------------------------------------------------------------------------ the wire

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
        await asyncio.sleep(0.02)  # aborted connections leave the loop before it closes

    async def _connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._open.add(task)
        try:
            while await self._one_call(reader, writer):
                pass
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            self._open.discard(task)
            writer.transport.abort()

    async def _one_call(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """Reads a request and answers it; False where the connection ends."""
        if (first := await reader.readexactly(1)) == TLS_HELLO:
            return False
        head = (first + await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in head[1:] if line)}
        body = json.loads(await reader.readexactly(int(headers.get("content-length", 0))) or b"{}")
        path = head[0].split()[1]
        if path == "/v1/models" and self.does.lists:
            return await self._send(writer, 200, json.dumps({"data": [{"id": name} for name in self.does.lists]}).encode())
        if path not in {"/v1/chat/completions", "/v1/completions"}:
            return await self._send(writer, 404, json.dumps({"detail": "Not Found"}).encode())
        self.in_flight += 1
        self.most_in_flight = max(self.most_in_flight, self.in_flight)
        gone = asyncio.ensure_future(reader.read(1))
        work = asyncio.ensure_future(self._answer(path, headers, body, writer))
        try:
            await asyncio.wait({gone, work}, return_when=asyncio.FIRST_COMPLETED)
            if not work.done():
                self.broken_off += 1
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

    # ------------------------------------------------------------------------------------ what it does

    async def _answer(self, path: str, headers: dict[str, str], body: dict[str, Any], writer: asyncio.StreamWriter) -> bool:
        prompt = str(body["messages"][-1]["content"] if "messages" in body else body["prompt"])
        attempt = self._asked[prompt]
        self._asked[prompt] += 1
        self.calls.append(Call(time.monotonic(), path, prompt, headers, body))
        fault = self._fault(prompt, attempt, headers, body["model"])
        if sum(self.answered.values()) >= self.does.answers:
            fault = self.does.dies
        if fault == "gone":
            self._server.close()
            return False
        if self.does.no_template and "messages" in body:
            return await self._error(writer, 400, "bad_request", "The tokenizer has no chat template: give one.")
        if refused := self._refused(body):
            return await self._error(writer, 400, "unsupported_parameter", refused)
        if fault in ERRORS:
            status, code, message = ERRORS[fault]
            key = headers.get("authorization", "").removeprefix("Bearer ")
            return await self._error(writer, status, code, message.format(key=key, model=body["model"], prompt=prompt))
        if fault in {"reset", "html", "redirect", "bomb"}:
            return await self._no_reply(writer, fault)
        await self._work(self.does.latency + {"slow": self.does.slow, "hang": 3600}.get(fault, 0.0))
        content = json.dumps(self._reply(prompt, attempt, body)).encode()
        if self.does.streams:
            content = self._events(json.loads(content))
        if fault == "nothing":
            return await self._send(writer, 200, b'{"id": "x", "object": "chat.completion"}')
        if fault == "truncated":
            return await self._send(writer, 200, content[: len(content) // 2])
        self.answered[prompt] += 1
        return await self._send(writer, 200, content)

    async def _no_reply(self, writer: asyncio.StreamWriter, fault: str) -> bool:
        if fault == "html":
            return await self._send(writer, 200, PAGE, "text/html; charset=utf-8")
        if fault == "redirect":
            return await self._send(writer, 307, b"", extra=f"Location: {self.does.says}\r\n")
        if fault == "bomb":
            return await self._send(writer, 200, bomb(), extra=f"Content-Encoding: {self.does.packing}\r\n")
        return False

    async def _work(self, seconds: float) -> None:
        """Takes its time; of calls one after the other, each takes it also where nobody waits for it any more."""
        if not self.does.serial:
            await asyncio.sleep(seconds)
            return

        async def in_turn() -> None:
            async with self._turn:
                await asyncio.sleep(seconds)

        await asyncio.shield(asyncio.ensure_future(in_turn()))

    @staticmethod
    def _events(reply: dict[str, Any]) -> bytes:
        """A reply as events: its text in two parts, then why it ended, then what it took."""
        (choice,) = reply.pop("choices")
        usage, text = reply.pop("usage"), choice["message"]["content"] or ""
        parts = [{"delta": {"content": half}, "index": 0} for half in (text[:2], text[2:])]
        parts[0]["logprobs"] = choice["logprobs"]
        parts.append({"delta": {}, "index": 0, "finish_reason": choice["finish_reason"]})
        events = [{**reply, "choices": [part]} for part in parts] + [{**reply, "choices": [], "usage": usage}]
        return b"".join(b"data: " + json.dumps(event).encode() + b"\n\n" for event in events) + b"data: [DONE]\n\n"

    def _fault(self, prompt: str, attempt: int, headers: dict[str, str], model: str) -> str:
        does = self.does
        if does.key and headers.get("authorization") != f"Bearer {does.key}":
            return "401"
        if does.models and model not in does.models:
            return "404"
        if does.every:
            return does.every
        if attempt < len(does.first):
            return does.first[attempt]
        if self.in_flight > does.at_once:
            return "429"
        return _picked(does.sticky, share("sticky", prompt)) or _picked(does.faults, share("call", prompt, attempt))

    def _refused(self, body: dict[str, Any]) -> str:
        for name, largest in self.does.refuses.items():
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
        after = f"Retry-After: {self.does.retry_after}\r\n" if status in (429, 503) and self.does.retry_after else ""
        return await self._send(writer, status, json.dumps(body).encode(), extra=after)

    def _reply(self, prompt: str, attempt: int, body: dict[str, Any]) -> dict[str, Any]:
        fault = fault_of_content(self.does.content, prompt)
        word = word_of(prompt)
        if self.does.sampled:
            word = "True" if share("sampled", prompt, attempt) < p_true(prompt) else "False"
        text = REPLIES[fault] if fault else self.does.says or word
        text = text.format(word=word.lower()) if text else text
        text = self.does.writes(prompt) if self.does.writes else text
        thought = "<think>It could be true.</think>\n\n" if self.does.thinks else ""
        message = {"role": "assistant", "content": thought + text if thought and text else text, "refusal": None}
        reason = fault if fault in ("length", "content_filter") else "stop"
        if fault == "refusal":
            message |= {"content": None, "refusal": text}
        if text and body.get("stop") and body["stop"][0] in text:
            text = text[: text.index(body["stop"][0])]
            message["content"] = text
        with_logprobs = body.get("logprobs") and self.does.thinks != "tags" and fault in ("", "hedge") and not self.does.says
        with_logprobs = with_logprobs and not self.does.no_logprobs and not self.does.writes
        top = int(body.get("top_logprobs") or (body.get("logprobs") if "prompt" in body else 0) or 0)
        choice: dict[str, Any] = {"index": 0, "message": message, "finish_reason": reason, "logprobs": None}
        if with_logprobs:
            before = ["<think>", "It", " could", " be", " true", ".", "</think>", "\n\n"] if thought else []
            before += ["I", " think", " it's", " "] if fault == "hedge" else []
            choice["logprobs"] = {"content": [*(_sure(token) for token in before), _position(prompt, word, top)]}
        tokens = {"prompt_tokens": len(prompt) // 4 + 4, "completion_tokens": len(text or "") // 4 + 1, **self.does.usage}
        if "prompt" in body:
            choice |= {"text": text, "logprobs": _older(choice["logprobs"])}
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


def _older(logprobs: dict[str, Any] | None) -> dict[str, Any] | None:
    """Log-probabilities as /completions first had them."""
    if logprobs is None:
        return None
    positions = logprobs["content"]
    return {
        "tokens": [position["token"] for position in positions],
        "token_logprobs": [position["logprob"] for position in positions],
        "top_logprobs": [{entry["token"]: entry["logprob"] for entry in position["top_logprobs"]} for position in positions],
    }


def _sure(token: str) -> dict[str, Any]:
    return {"token": token, "logprob": 0.0, "bytes": None, "top_logprobs": [{"token": token, "logprob": 0.0, "bytes": None}]}


def _position(prompt: str, word: str, top: int) -> dict[str, Any]:
    spread = alternatives(prompt)
    entries = [{"token": token, "logprob": math.log(p), "bytes": list(token.encode())} for token, p in spread]
    (chosen,) = (entry for entry in entries if entry["token"] == word)
    return {**chosen, "top_logprobs": entries[:top]}


def main() -> None:
    """Serves until standard input closes."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--latency", type=float, default=0.2)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--repeats-statements", action="store_true", help="reply with the statement of the prompt")
    parser.add_argument("--every", default="", help="a fault that every call meets, such as 500")
    options = parser.parse_args()
    writes = (lambda prompt: prompt.partition("Statement: ")[2]) if options.repeats_statements else None
    with MockService(Behaviour(latency=options.latency, writes=writes, every=options.every), port=options.port) as service:
        print(json.dumps({"base_url": service.base_url}), flush=True)
        sys.stdin.read()


if __name__ == "__main__":
    main()
