"""A service on loopback that takes batches in OpenAI's form, for tests: files, batches, and what came of them.

It answers each call as `mock_service` does, counts the calls, and can hold a phase.
"""

from __future__ import annotations

import json
import re
import threading
import time
from collections import Counter
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

from mock_service import MockService

PHASES = ("upload", "uploaded", "begin", "begun", "state", "content")
"""In their order: a file or a batch is asked for, and is there but nobody was told; a batch is looked at; results are read."""

Refusal = tuple[int, dict[str, Any]]


class MockBatches:
    """The service in threads: `with MockBatches() as service:`.

    hold: the phase at which it waits for `go_on`. polls: looks at a batch until it is over. first: statuses of the first calls
    of each kind. late: requests for the list of batches before a new batch appears in it. refuses: a call's body → its
    failure. drops: the number of a call → True if it gets no result. ends: the status of batches. fails: the error of a batch
    as a whole.
    """

    def __init__(self) -> None:
        self.hold, self.polls, self.first, self.late, self.ends, self.fails = "", 2, (), 0, "completed", ""
        self.refuses: Callable[[dict[str, Any]], Refusal | None] = lambda body: None
        self.drops: Callable[[int], bool] = lambda number: False
        self.files: dict[str, tuple[str, bytes]] = {}
        self.batches: dict[str, dict[str, Any]] = {}
        self.done: Counter[str] = Counter()
        self.reached: Counter[str] = Counter()
        self.requests: list[str] = []
        self._looks = 0
        self.go_on = threading.Event()
        self._calls: Counter[str] = Counter()
        self._lock = threading.Lock()
        self._talker = MockService()
        self._talker._loop.close()

    def __enter__(self) -> MockBatches:
        service = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                service._serve(self, b"")

            def do_POST(self) -> None:
                service._serve(self, self.rfile.read(int(self.headers.get("content-length") or 0)))

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.go_on.set()
        self._server.shutdown()
        self._server.server_close()

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}/v1"

    def _at(self, phase: str) -> None:
        self.reached[phase] += 1
        if phase and self.hold == phase:
            self.go_on.wait(60)

    def _wait_for_looks(self) -> None:
        while self._looks < self.late:
            time.sleep(0.01)

    # ------------------------------------------------------------------------------------ the wire

    def _serve(self, handler: BaseHTTPRequestHandler, body: bytes) -> None:
        split = urlsplit(handler.path)
        path, query = split.path.removeprefix("/v1"), {name: values[0] for name, values in parse_qs(split.query).items()}
        kind = f"{handler.command} {re.sub(r'(?<=/)(file|batch)-[0-9]+', 'ID', path)}"
        self.requests.append(kind)
        self._calls[kind] += 1
        status, content, retry = 200, b"", ""
        if self._calls[kind] <= len(self.first) and (fault := self.first[self._calls[kind] - 1]):
            status, content = fault, json.dumps({"error": {"message": "Not now.", "code": "busy"}}).encode()
            retry = "Retry-After: 0\r\n"
        else:
            status, content = self._answer(kind, path, query, body, handler.headers.get("content-type") or "")
        head = f"HTTP/1.1 {status} X\r\nContent-Type: application/json\r\nContent-Length: {len(content)}\r\n{retry}\r\n"
        try:
            handler.wfile.write(head.encode() + content)
        except OSError:
            handler.close_connection = True
        self._looks += kind == "GET /batches"

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
                self._at("content")
                return 200, self.files[name][1]
        return 404, json.dumps({"error": {"message": f"No {path}."}}).encode()

    @staticmethod
    def _page(entries: list[dict[str, Any]], query: dict[str, str]) -> tuple[int, bytes]:
        """Two entries a page, so that a client has to paginate."""
        begin = next((place + 1 for place, entry in enumerate(entries) if entry["id"] == query.get("after")), 0)
        page = entries[begin : begin + 2]
        return 200, json.dumps({"data": page, "has_more": begin + 2 < len(entries)}).encode()

    # ------------------------------------------------------------------------------------ what it does

    def _upload(self, body: bytes, content_type: str) -> tuple[int, bytes]:
        self._at("upload")
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
        self._at(phase)
        return file

    def _begin(self, requested: dict[str, Any]) -> tuple[int, bytes]:
        self._at("begin")
        self._wait_for_looks()
        lines = [json.loads(line) for line in self.files[requested["input_file_id"]][1].splitlines()]
        output, errors = self._results(lines)
        with self._lock:
            batch: dict[str, Any] = {"id": f"batch-{len(self.batches)}", "status": "validating", "looks": 0, **requested}
            self.batches[batch["id"]] = batch
        batch["request_counts"] = {"total": len(lines), "completed": 0, "failed": 0}
        batch["made"] = {"output_file_id": self._keep("out", output), "error_file_id": self._keep("errors", errors)}
        self._at("begun")
        return 200, json.dumps(batch).encode()

    def _results(self, lines: list[dict[str, Any]]) -> tuple[bytes, bytes]:
        output, errors = [], []
        for number, line in enumerate([] if self.fails else lines):
            assert line["method"] == "POST"
            assert line["url"] == "/v1/chat/completions"
            result: dict[str, Any] = {"id": f"line-{number}", "custom_id": line["custom_id"], "error": None}
            if refused := self.refuses(line["body"]):
                errors.append({**result, "response": {"status_code": refused[0], "body": refused[1]}})
            elif self.drops(number):
                continue
            else:
                self.done[line["custom_id"]] += 1
                reply = self._talker._reply(line["body"]["messages"][-1]["content"], 0, line["body"])
                output.append({**result, "response": {"status_code": 200, "body": reply}})
        return tuple(b"".join(json.dumps(line).encode() + b"\n" for line in reversed(part)) for part in (output, errors))

    def _state(self, batch: dict[str, Any]) -> tuple[int, bytes]:
        batch["looks"] += 1
        self._at("state")
        if batch["looks"] > self.polls or self.go_on.is_set():
            batch |= {"status": "failed" if self.fails else self.ends, **({} if self.fails else batch["made"])}
            batch["errors"] = {"data": [{"message": self.fails}]} if self.fails else None
        elif batch["looks"] > 1:
            batch["status"] = "in_progress"
        return 200, json.dumps(batch).encode()
