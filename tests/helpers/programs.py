"""A program that calls the endpoints of a page over plain HTTP, as curl does, and what programs send that mean ill."""

from __future__ import annotations

import json
from typing import Any

import httpx
from hosts import AS_HOST

API = "/gradio_api"

PASSWD = {"path": "/etc/passwd", "meta": {"_type": "gradio.FileData"}}
"""What the page library takes for an uploaded file."""


class Program:
    """One program. as_host: as of a visitor. headers: sent with every request."""

    def __init__(self, address: str, as_host: bool = True, **headers: str) -> None:
        self.http = httpx.Client(base_url=address, timeout=120, headers={**(AS_HOST if as_host else {}), **headers})

    def __enter__(self) -> Program:
        return self

    def __exit__(self, *_: object) -> None:
        self.http.close()

    def begun(self, name: str, arguments: Any, way: str = "call/v2") -> httpx.Response:
        """Calls an endpoint, and reads no answer."""
        return self.http.post(f"{API}/{way}/{name}", json=arguments)

    def told(self, name: str, **arguments: Any) -> list[Any]:
        """All that an endpoint tells, in order; its mistake is raised as a ValueError."""
        begun = self.begun(name, arguments)
        assert begun.status_code == 200, begun.text
        events = self.http.get(f"{API}/call/{name}/{begun.json()['event_id']}").text.strip().split("\n\n")
        parsed = [dict(line.partition(": ")[::2] for line in event.splitlines()) for event in events]
        if problem := [json.loads(event["data"]) for event in parsed if event["event"] == "error"]:
            raise ValueError(problem[0]["error"] if isinstance(problem[0], dict) else problem[0])
        return [json.loads(event["data"])[0] for event in parsed if event["event"] in {"generating", "complete"}]

    def asked(self, name: str, **arguments: Any) -> Any:
        """The last thing that an endpoint tells."""
        return self.told(name, **arguments)[-1]
