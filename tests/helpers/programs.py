"""A client of the page's API over plain HTTP, as curl is, and a hostile argument."""

from __future__ import annotations

import json
from typing import Any

import httpx
from hosts import AS_HOST

API = "/gradio_api"
"""Path of the API below the app's address."""

PASSWD = {"path": "/etc/passwd", "meta": {"_type": "gradio.FileData"}}
"""Hostile argument that claims a file of the server as an uploaded one."""


class ApiClient:
    """An HTTP session with an app.

    address: URL of the app. as_host: True to send the token of the host. headers: further ones of every request.
    """

    def __init__(self, address: str, as_host: bool = True, **headers: str) -> None:
        self.http = httpx.Client(base_url=address, timeout=120, headers={**(AS_HOST if as_host else {}), **headers})

    def __enter__(self) -> ApiClient:
        return self

    def __exit__(self, *_: object) -> None:
        self.http.close()

    def post(self, endpoint: str, arguments: Any, route: str = "call/v2") -> httpx.Response:
        """POSTs arguments to an endpoint, without a request for its outputs. route: path between API and the endpoint."""
        return self.http.post(f"{API}/{route}/{endpoint}", json=arguments)

    def collect_outputs(self, endpoint: str, /, **arguments: Any) -> list[Any]:
        """Calls an endpoint and returns its outputs in order. If it reports an error, raises ValueError with its message."""
        response = self.post(endpoint, arguments)
        assert response.status_code == 200, response.text
        events = self.http.get(f"{API}/call/{endpoint}/{response.json()['event_id']}").text.strip().split("\n\n")
        parsed = [dict(line.partition(": ")[::2] for line in event.splitlines()) for event in events]
        if problem := [json.loads(event["data"]) for event in parsed if event["event"] == "error"]:
            raise ValueError(problem[0]["error"] if isinstance(problem[0], dict) else problem[0])
        return [json.loads(event["data"])[0] for event in parsed if event["event"] in {"generating", "complete"}]

    def call(self, endpoint: str, /, **arguments: Any) -> Any:
        """Calls an endpoint and returns its last output."""
        return self.collect_outputs(endpoint, **arguments)[-1]
