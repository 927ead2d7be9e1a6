"""A hub of models on loopback: what the real one says of a repository, and its files."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlparse

import pytest

COMMIT = "0123456789abcdef0123456789abcdef01234567"


@dataclass
class MockHub:
    """Repositories by name, each a folder; those that are gated; and the files that were fetched (method, repository, file)."""

    folders: dict[str, Path] = field(default_factory=dict)
    gated: set[str] = field(default_factory=set)
    fetched: list[tuple[str, str, str]] = field(default_factory=list)
    address: str = ""

    def is_the_hub(self, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """From now on the libraries ask this hub, and keep its files in a cache of their own."""
        template = self.address + "/{repo_id}/resolve/{revision}/{filename}"
        monkeypatch.setattr("huggingface_hub.constants.ENDPOINT", self.address)
        monkeypatch.setattr("huggingface_hub.constants.HUGGINGFACE_CO_URL_TEMPLATE", template)
        monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(cache))
        monkeypatch.setattr("transformers.utils.hub._hf_api", None)  # it would go on asking an earlier one

    def listing(self, name: str) -> list[dict[str, Any]]:
        return [
            {"type": "file", "path": file.name, "size": file.stat().st_size, "oid": _etag(file)}
            for file in sorted(self.folders[name].iterdir())
        ]


def _etag(file: Path) -> str:
    return hashlib.sha1(file.read_bytes(), usedforsecurity=False).hexdigest()


class _HubHandler(BaseHTTPRequestHandler):
    """Answers as the hub does."""

    protocol_version = "HTTP/1.1"
    hub: MockHub

    def log_message(self, *_: object) -> None:
        pass

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
        about = parts[:2] == ["api", "models"]
        name, rest = "/".join(parts[2:4] if about else parts[:2]), parts[4 if about else 2 :]
        if name not in self.hub.folders:
            self._refuse("RepoNotFound", 404)
        elif about:
            self._about(name, rest)
        else:
            self._file(name, rest[-1])

    def _about(self, name: str, rest: list[str]) -> None:
        listing = self.hub.listing(name)
        siblings = [{"rfilename": entry["path"], "size": entry["size"]} for entry in listing]
        info = {"id": name, "modelId": name, "sha": COMMIT, "siblings": siblings, "gated": name in self.hub.gated}
        body = json.dumps(listing if rest[:1] == ["tree"] else info).encode()
        self._send(200, body, {"Content-Type": "application/json"})

    def _file(self, name: str, wanted: str) -> None:
        file = self.hub.folders[name] / wanted
        if name in self.hub.gated:
            self._refuse("GatedRepo", 403)
            return
        self.hub.fetched.append((self.command, name, wanted))
        if file.is_file():
            self._send(200, file.read_bytes(), {"ETag": f'"{_etag(file)}"'})
        else:
            self._refuse("EntryNotFound", 404)


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[MockHub]:
    """The hub of the libraries, with an empty cache."""
    made = MockHub()
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (_HubHandler,), {"hub": made}))
    made.address = f"http://127.0.0.1:{server.server_port}"
    threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    made.is_the_hub(tmp_path / "cache", monkeypatch)
    yield made
    server.shutdown()
    server.server_close()
