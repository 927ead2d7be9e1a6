"""A service on loopback with the replies that a test defines: any status, headers and bytes, over real HTTP."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from typing import Any

from loopback import LoopbackServer, WholeReplies


@dataclass(frozen=True)
class Reply:
    """A reply. A body of text or bytes is sent unchanged, any other as JSON."""

    body: Any
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)

    @property
    def content(self) -> bytes:
        """The body as it is sent."""
        if isinstance(self.body, bytes):
            return self.body
        return (self.body if isinstance(self.body, str) else json.dumps(self.body)).encode()


@dataclass(frozen=True)
class Request:
    """A received request."""

    number: int  # from 0
    path: str
    headers: Mapping[str, str]
    body: dict[str, Any]

    @property
    def prompt(self) -> str:
        """The last message, or the prompt of /completions."""
        return str(self.body["messages"][-1]["content"] if "messages" in self.body else self.body["prompt"])


Replies = Callable[[Request], Reply]


class ScriptedService:
    """Context manager that serves in threads. replies: request → reply, or one reply to all requests."""

    def __init__(self, replies: Replies | Reply) -> None:
        self._replies: Replies = (lambda _: replies) if isinstance(replies, Reply) else replies
        self.requests: list[Request] = []
        self._turn = threading.Lock()
        self._server = LoopbackServer(self._handler())

    @property
    def base_url(self) -> str:
        """Base URL for a client."""
        return f"{self._server.url}/v1"

    def __enter__(self) -> ScriptedService:
        self._server.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.__exit__()

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        service = self

        class ReplyHandler(WholeReplies, BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["content-length"])))
                with service._turn:
                    headers = {name.lower(): value for name, value in self.headers.items()}
                    request = Request(len(service.requests), self.path, headers, body)
                    service.requests.append(request)
                    reply = service._replies(request)
                self.send_response(reply.status)
                for name, value in {"Content-Type": "application/json", **reply.headers}.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(reply.content)))
                self.end_headers()
                self.wfile.write(reply.content)

        return ReplyHandler


USAGE = {"prompt_tokens": 30, "completion_tokens": 2, "total_tokens": 32}


def chat_reply(content: Any, reason: Any = "stop", usage: Any = USAGE, **message: Any) -> dict[str, Any]:
    """Returns the body of a chat reply. message: further fields of its message."""
    choice = {"index": 0, "finish_reason": reason, "message": {"role": "assistant", "content": content, **message}}
    return {"model": "m", "choices": [choice], "usage": usage}


def error_body(message: Any, **fields: Any) -> dict[str, Any]:
    """Returns the body of an error."""
    return {"error": {"message": message, **fields}}


def event_stream(*parts: Any, end: str = "data: [DONE]\n\n") -> str:
    """Returns a stream of server-sent events with these data."""
    return "".join(f"data: {json.dumps(part)}\n\n" for part in parts) + end


def delta_event(reason: str | None = None, **fields: Any) -> dict[str, Any]:
    """Returns the data of an event with a part of a reply."""
    return {"choices": [{"index": 0, "delta": fields, "finish_reason": reason}]}
