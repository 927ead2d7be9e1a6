"""A model hub on loopback, with the listings and files of repositories."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any
from urllib.parse import urlparse

import pytest
from loopback import LoopbackServer, WholeReplies

COMMIT = "0123456789abcdef0123456789abcdef01234567"


@dataclass
class MockHub:
    """Contents of the hub, and its record of requests."""

    folders: dict[str, Path] = field(default_factory=dict)  # repository → folder of its files
    gated: set[str] = field(default_factory=set)  # repositories that refuse their files
    fetched: list[tuple[str, str, str]] = field(default_factory=list)  # method, repository, file
    address: str = ""

    def install(self, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """Makes this the hub of the libraries, with a cache in a folder."""
        template = self.address + "/{repo_id}/resolve/{revision}/{filename}"
        monkeypatch.setattr("huggingface_hub.constants.ENDPOINT", self.address)
        monkeypatch.setattr("huggingface_hub.constants.HUGGINGFACE_CO_URL_TEMPLATE", template)
        monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(cache))
        monkeypatch.setattr("transformers.utils.hub._hf_api", None)  # it holds the address of an earlier hub

    def listing(self, name: str) -> list[dict[str, Any]]:
        """Returns the files of a repository as the hub lists them."""
        return [
            {"type": "file", "path": file.name, "size": file.stat().st_size, "oid": _etag(file)}
            for file in sorted(self.folders[name].iterdir())
        ]


def _etag(file: Path) -> str:
    return hashlib.sha1(file.read_bytes(), usedforsecurity=False).hexdigest()


class _HubHandler(WholeReplies, BaseHTTPRequestHandler):
    """Serves the hub's API and its files."""

    protocol_version = "HTTP/1.1"
    hub: MockHub

    def _send(self, status: int, body: bytes, headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        for name, value in {"Content-Length": str(len(body)), "X-Repo-Commit": COMMIT, **(headers or {})}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def _refuse(self, code: str, status: int) -> None:
        self._send(status, b"{}", {"X-Error-Code": code, "X-Error-Message": code})

    def do_HEAD(self) -> None:
        self.do_GET()

    def do_GET(self) -> None:
        parts = urlparse(self.path).path.strip("/").split("/")
        is_api = parts[:2] == ["api", "models"]
        name, path = "/".join(parts[2:4] if is_api else parts[:2]), parts[4 if is_api else 2 :]
        if name not in self.hub.folders:
            self._refuse("RepoNotFound", 404)
        elif is_api:
            self._describe(name, path)
        else:
            self._file(name, path[-1])

    def _describe(self, name: str, path: list[str]) -> None:
        listing = self.hub.listing(name)
        siblings = [{"rfilename": entry["path"], "size": entry["size"]} for entry in listing]
        info = {"id": name, "modelId": name, "sha": COMMIT, "siblings": siblings, "gated": name in self.hub.gated}
        body = json.dumps(listing if path[:1] == ["tree"] else info).encode()
        self._send(200, body, {"Content-Type": "application/json"})

    def _file(self, name: str, file_name: str) -> None:
        file = self.hub.folders[name] / file_name
        if name in self.hub.gated:
            self._refuse("GatedRepo", 403)
            return
        self.hub.fetched.append((self.command, name, file_name))
        if file.is_file():
            self._send(200, file.read_bytes(), {"ETag": f'"{_etag(file)}"'})
        else:
            self._refuse("EntryNotFound", 404)


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[MockHub]:
    """A hub that the libraries use, with an empty cache."""
    hub = MockHub()
    with LoopbackServer(type("Handler", (_HubHandler,), {"hub": hub})) as server:
        hub.address = server.url
        hub.install(tmp_path / "cache", monkeypatch)
        yield hub
