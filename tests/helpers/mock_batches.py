"""A service on loopback with OpenAI's batch API, for tests: files, batches and their results.

It answers each call as `mock_service` does, counts the calls, and can block at a phase.
"""

from __future__ import annotations

import json
import re
import threading
import time
from collections import Counter
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler
from typing import Any
from urllib.parse import parse_qs, urlsplit

from loopback import LoopbackServer, WholeReplies
from mock_service import MockService

PHASES = ("upload", "uploaded", "begin", "begun", "state", "content")
"""In order: a file is requested, and stored before the response; so is a batch; its state is polled; results are read."""

Refusal = tuple[int, dict[str, Any]]


class MockBatchService:
    """Context manager that serves in threads."""

    def __init__(self) -> None:
        (
            self.held_phase,  # a phase that blocks until `release` is set
            self.polls_until_done,  # polls of a batch before it ends
            self.first_statuses,  # HTTP statuses of the first calls of each kind; 0 for success
            self.hidden_listings,  # times that clients list the batches before a new batch appears
            self.final_status,  # of each batch
            self.batch_error,  # error of a batch as a whole
        ) = "", 2, (), 0, "completed", ""
        self.refuse_call: Callable[[dict[str, Any]], Refusal | None] = lambda body: None  # body of a call → its failure
        self.is_dropped: Callable[[int], bool] = lambda number: False  # number of a call → True if it gets no result
        self.files: dict[str, tuple[str, bytes]] = {}
        self.batches: dict[str, dict[str, Any]] = {}
        self.answer_counts: Counter[str] = Counter()  # by custom id
        self.phase_counts: Counter[str] = Counter()
        self.requests: list[str] = []  # method and path of each
        self._list_requests = 0
        self.release = threading.Event()
        self._calls: Counter[str] = Counter()
        self._lock = threading.Lock()
        self._talker = MockService()
        self._talker._loop.close()

    def __enter__(self) -> MockBatchService:
        service = self

        class BatchHandler(WholeReplies, BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                service._serve(self, b"")

            def do_POST(self) -> None:
                service._serve(self, self.rfile.read(int(self.headers.get("content-length") or 0)))

        self._server = LoopbackServer(BatchHandler)
        self._server.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        self.release.set()
        self._server.__exit__()

    @property
    def base_url(self) -> str:
        """Base URL for a client."""
        return f"{self._server.url}/v1"

    def _reach(self, phase: str) -> None:
        self.phase_counts[phase] += 1
        if phase and self.held_phase == phase:
            self.release.wait(60)

    def _wait_for_list_requests(self) -> None:
        """Waits until clients have listed the batches `hidden_listings` times."""
        while self._list_requests < self.hidden_listings:
            time.sleep(0.01)

    # ------------------------------------------------------------------------------------ HTTP

    def _serve(self, handler: BaseHTTPRequestHandler, body: bytes) -> None:
        split = urlsplit(handler.path)
        path, query = split.path.removeprefix("/v1"), {name: values[0] for name, values in parse_qs(split.query).items()}
        kind = f"{handler.command} {re.sub(r'(?<=/)(file|batch)-[0-9]+', 'ID', path)}"
        self.requests.append(kind)
        self._calls[kind] += 1
        status, content, retry = 200, b"", ""
        if self._calls[kind] <= len(self.first_statuses) and (fault := self.first_statuses[self._calls[kind] - 1]):
            status, content = fault, json.dumps({"error": {"message": "Not now.", "code": "busy"}}).encode()
            retry = "Retry-After: 0\r\n"
        else:
            status, content = self._answer(kind, path, query, body, handler.headers.get("content-type") or "")
        head = f"HTTP/1.1 {status} X\r\nContent-Type: application/json\r\nContent-Length: {len(content)}\r\n{retry}\r\n"
        try:
            handler.wfile.write(head.encode() + content)
            handler.wfile.flush()
        except OSError:
            handler.close_connection = True
        self._list_requests += kind == "GET /batches"

    def _answer(self, kind: str, path: str, query: dict[str, str], body: bytes, content_type: str) -> tuple[int, bytes]:
        name = path.split("/")[2] if path.count("/") >= 2 else ""
        match kind:
            case "POST /files":
                return self._upload(body, content_type)
            case "POST /batches":
                return self._begin(json.loads(body))
            case "GET /files":
                files = [{"id": file, "filename": named, "purpose": "batch"} for file, (named, _) in self.files.items()]
                return self._page(files, query)
            case "GET /batches":
                return self._page([*self.batches.values()][::-1], query)
            case "GET /batches/ID" if name in self.batches:
                return self._state(self.batches[name])
            case "GET /files/ID/content" if name in self.files:
                self._reach("content")
                return 200, self.files[name][1]
        return 404, json.dumps({"error": {"message": f"No {path}."}}).encode()

    @staticmethod
    def _page(entries: list[dict[str, Any]], query: dict[str, str]) -> tuple[int, bytes]:
        """Returns two entries, so that a client has to paginate."""
        begin = next((index + 1 for index, entry in enumerate(entries) if entry["id"] == query.get("after")), 0)
        page = entries[begin : begin + 2]
        return 200, json.dumps({"data": page, "has_more": begin + 2 < len(entries)}).encode()

    # ------------------------------------------------------------------------------------ the API

    def _upload(self, body: bytes, content_type: str) -> tuple[int, bytes]:
        self._reach("upload")
        boundary = b"--" + content_type.partition("boundary=")[2].encode()
        part = next(part for part in body.split(boundary) if b"filename=" in part)
        head, _, content = part.partition(b"\r\n\r\n")
        name = re.search(rb'filename="([^"]+)"', head)
        assert name is not None
        return 200, json.dumps({"id": self._keep(name[1].decode(), content.removesuffix(b"\r\n"), "uploaded")}).encode()

    def _keep(self, name: str, content: bytes, phase: str = "") -> str:
        with self._lock:
            file = f"file-{len(self.files)}"
            self.files[file] = (name, content)
        self._reach(phase)
        return file

    def _begin(self, requested: dict[str, Any]) -> tuple[int, bytes]:
        self._reach("begin")
        self._wait_for_list_requests()
        lines = [json.loads(line) for line in self.files[requested["input_file_id"]][1].splitlines()]
        output, errors = self._results(lines)
        with self._lock:
            batch: dict[str, Any] = {"id": f"batch-{len(self.batches)}", "status": "validating", "polls": 0, **requested}
            self.batches[batch["id"]] = batch
        batch["request_counts"] = {"total": len(lines), "completed": 0, "failed": 0}
        batch["made"] = {"output_file_id": self._keep("out", output), "error_file_id": self._keep("errors", errors)}
        self._reach("begun")
        return 200, json.dumps(batch).encode()

    def _results(self, lines: list[dict[str, Any]]) -> tuple[bytes, bytes]:
        output, errors = [], []
        for number, line in enumerate([] if self.batch_error else lines):
            assert line["method"] == "POST"
            assert line["url"] == "/v1/chat/completions"
            result: dict[str, Any] = {"id": f"line-{number}", "custom_id": line["custom_id"], "error": None}
            if refused := self.refuse_call(line["body"]):
                errors.append({**result, "response": {"status_code": refused[0], "body": refused[1]}})
            elif self.is_dropped(number):
                continue
            else:
                self.answer_counts[line["custom_id"]] += 1
                reply = self._talker._reply(line["body"]["messages"][-1]["content"], 0, line["body"])
                output.append({**result, "response": {"status_code": 200, "body": reply}})
        return tuple(b"".join(json.dumps(line).encode() + b"\n" for line in reversed(part)) for part in (output, errors))

    def _state(self, batch: dict[str, Any]) -> tuple[int, bytes]:
        batch["polls"] += 1
        self._reach("state")
        if batch["polls"] > self.polls_until_done or self.release.is_set():
            batch |= {
                "status": "failed" if self.batch_error else self.final_status,
                **({} if self.batch_error else batch["made"]),
            }
            batch["errors"] = {"data": [{"message": self.batch_error}]} if self.batch_error else None
        elif batch["polls"] > 1:
            batch["status"] = "in_progress"
        return 200, json.dumps(batch).encode()
