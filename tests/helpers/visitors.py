"""A visitor who speaks plain HTTP to the app: what a page sends, and what it never would."""

from __future__ import annotations

from typing import Any

import httpx


class Visitor:
    """One browser's cookies."""

    def __init__(self, address: str, **headers: str) -> None:
        self.http = httpx.Client(base_url=address, timeout=120, headers=headers)
        self.page = self.http.get("/")

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

    def look(self, of: str = "evaluate", **show: object) -> dict[str, Any]:
        """What a page shows."""
        return self._asked({"page": of, "setup": show.pop("setup", None), "show": show})

    def act(self, name: str, about: object = "", of: str = "evaluate", **show: Any) -> dict[str, Any]:
        """What a page shows after a button was pressed; the field `fields` holds what is typed beside it."""
        fields = show.pop("fields", {})
        pressed = {"name": name, "about": str(about), "fields": fields}
        return self._asked({"page": of, "setup": show.pop("setup", None), "show": show, "action": pressed})

    def evaluate(self, *models: str, key: str = "", **setup: object) -> list[str] | str:
        """Presses Evaluate on ten pairs: the runs' ids, or what the page says."""
        chosen = {"models": models, "pairs": 10, "shots": 0, "agreed": True, **setup}
        answer = self.act("evaluate", setup=chosen, fields={"key": key})
        return answer["show"]["run"].split(",") if answer["show"].get("run") else str(answer["fragments"]["go-said"])

    def _asked(self, question: dict[str, Any]) -> dict[str, Any]:
        answer = self.http.post("/updates", json=question)
        assert answer.status_code == 200, answer.text
        return dict(answer.json())
