"""A client of the page's API over plain HTTP, as curl is, and a hostile argument."""

from __future__ import annotations

import json
from typing import Any

import httpx
from hosts import AS_HOST

API = "/gradio_api"

PASSWD = {"path": "/etc/passwd", "meta": {"_type": "gradio.FileData"}}
"""An argument that Gradio reads as an uploaded file."""


class ApiClient:
    """An HTTP session. as_host: sends the token of the host. headers: of every request."""

    def __init__(self, address: str, as_host: bool = True, **headers: str) -> None:
        self.http = httpx.Client(base_url=address, timeout=120, headers={**(AS_HOST if as_host else {}), **headers})

    def __enter__(self) -> ApiClient:
        return self

    def __exit__(self, *_: object) -> None:
        self.http.close()

    def post(self, name: str, arguments: Any, route: str = "call/v2") -> httpx.Response:
        """POSTs the arguments of an endpoint, without a request for its outputs."""
        return self.http.post(f"{API}/{route}/{name}", json=arguments)

    def collect_outputs(self, name: str, **arguments: Any) -> list[Any]:
        """Calls an endpoint and returns its outputs in order. Raises ValueError with the endpoint's error."""
        response = self.post(name, arguments)
        assert response.status_code == 200, response.text
        events = self.http.get(f"{API}/call/{name}/{response.json()['event_id']}").text.strip().split("\n\n")
        parsed = [dict(line.partition(": ")[::2] for line in event.splitlines()) for event in events]
        if problem := [json.loads(event["data"]) for event in parsed if event["event"] == "error"]:
            raise ValueError(problem[0]["error"] if isinstance(problem[0], dict) else problem[0])
        return [json.loads(event["data"])[0] for event in parsed if event["event"] in {"generating", "complete"}]

    def call(self, name: str, **arguments: Any) -> Any:
        """Calls an endpoint and returns its last output."""
        return self.collect_outputs(name, **arguments)[-1]
