"""A visitor who speaks plain HTTP to the app: what a page sends, and what it never would."""

from __future__ import annotations

import json
import secrets
from pathlib import Path
from typing import Any

import httpx


class Visitor:
    """One browser's cookies and one page's session. `call` sends an event of the page library by its name."""

    def __init__(self, address: str, **headers: str) -> None:
        self.http = httpx.Client(base_url=address, timeout=120, headers=headers)
        self.session = secrets.token_hex(6)
        self.page = self.http.get("/")
        self._events: dict[str, tuple[int, bool]] = {}

    def __enter__(self) -> Visitor:
        return self

    def __exit__(self, *_: object) -> None:
        self.http.close()

    @property
    def owner(self) -> str:
        return self.http.cookies["medfact-visitor"]

    def upload(self, name: str, content: bytes) -> str:
        """Uploads a file; returns its path on the server."""
        answer = self.http.post("/gradio_api/upload", files={"files": (name, content)})
        assert answer.status_code == 200, answer.text
        (path,) = answer.json()
        return str(path)

    def ticket(self, key: str) -> str:
        return str(self.http.post("/key", json={"key": key}).json()["ticket"])

    def news(self, *runs: str) -> dict[str, Any]:
        return dict(self.http.post("/news", json={"asked": list(runs)}).json())

    def call(self, name: str, *data: object, event: object = None) -> Any:
        """What an event answers: the list of its outputs, or what is said of an error."""
        number, queued = self._event(name)
        body = {"fn_index": number, "data": list(data), "session_hash": self.session, "event_data": event}
        if not queued:
            answer = self.http.post("/gradio_api/run/predict", json=body)
            return answer.json().get("data", answer.json()) if answer.status_code == 200 else answer.text
        joined = self.http.post("/gradio_api/queue/join", json=body)
        if joined.status_code != 200:
            return joined.text
        with self.http.stream("GET", "/gradio_api/queue/data", params={"session_hash": self.session}) as lines:
            for line in lines.iter_lines():
                told = json.loads(line.removeprefix("data:")) if line.startswith("data:") else {}
                if told.get("msg") == "process_completed":
                    return told["output"].get("data", told["output"])
        raise AssertionError(f"{name} did not end")

    def _event(self, name: str) -> tuple[int, bool]:
        if not self._events:
            for path in ("/config", "/config?page=runs", "/config?page=compare"):
                for made in self.http.get(path).json()["dependencies"]:
                    self._events[made["api_name"]] = made["id"], made["queue"]
        return self._events[name]


def file_data(path: object) -> dict[str, object]:
    """What a page sends of an uploaded file."""
    return {"path": str(path), "orig_name": Path(str(path)).name, "meta": {"_type": "gradio.FileData"}}
