"""A provider on this machine that speaks OpenID Connect, and a browser whose person signs in there."""

from __future__ import annotations

import base64
import hashlib
import json
import secrets
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx
from visitors import Visitor

CLIENT, SECRET, TOKEN = "client-of-the-space", "secret-of-the-space-0123456789", "token-of-ada"


class OpenIDProvider(ThreadingHTTPServer):
    """Grants a code for `person` and checks the returned one. granted: further fields of the token response."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), ProviderHandler)
        self.person: dict[str, Any] = {"sub": "1234", "preferred_username": "ada", "email": "ada@example.org"}
        self.challenges: dict[str, tuple[str, str]] = {}
        self.has_foreign_token_endpoint = False
        self.token_fields: dict[str, Any] = {}

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    def authorize(self, location: str) -> str:
        """The browser's visit at the provider: returns the address of the redirect."""
        query = {name: values[0] for name, values in parse_qs(urlsplit(location).query).items()}
        assert location.startswith(f"{self.url}/authorize?")
        assert (query["client_id"], query["response_type"], query["code_challenge_method"]) == (CLIENT, "code", "S256")
        code = secrets.token_hex(8)
        self.challenges[code] = query["code_challenge"], query["redirect_uri"]
        return f"{query['redirect_uri']}?code={code}&state={query['state']}"


class ProviderHandler(BaseHTTPRequestHandler):
    server: OpenIDProvider

    def log_message(self, *_: object) -> None:
        """Says nothing."""

    def _say(self, content: object, status: int = 200) -> None:
        body = json.dumps(content).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self) -> None:
        url = self.server.url
        if self.path == "/.well-known/openid-configuration":
            token = "http://127.0.0.1:1/token" if self.server.has_foreign_token_endpoint else f"{url}/token"
            self._say({"authorization_endpoint": f"{url}/authorize", "token_endpoint": token, "userinfo_endpoint": f"{url}/me"})
        elif self.path == "/me" and self.headers["Authorization"] == f"Bearer {TOKEN}":
            self._say(self.server.person)
        else:
            self._say({}, 401)

    def do_POST(self) -> None:
        form = parse_qs(self.rfile.read(int(self.headers["Content-Length"])).decode())
        known = self.server.challenges.pop(form["code"][0], None)
        proof = base64.urlsafe_b64encode(hashlib.sha256(form["code_verifier"][0].encode()).digest()).decode().rstrip("=")
        own = f"Basic {base64.b64encode(f'{CLIENT}:{SECRET}'.encode()).decode()}"
        good = known == (proof, form["redirect_uri"][0]) and self.headers["Authorization"] == own
        self._say(
            {"access_token": TOKEN, **self.server.token_fields} if good else {"error": "invalid_grant"}, 200 if good else 400
        )


class BrowserSession:
    """A browser, whose cookies are carried by hand: they travel over https alone."""

    def __init__(self, url: str) -> None:
        self.url, self.cookies = url, {"medfact-visitor": secrets.token_hex(16)}

    def get(self, address: str, **headers: str) -> httpx.Response:
        cookie = "; ".join(f"{name}={value}" for name, value in self.cookies.items())
        answer = httpx.get(httpx.URL(self.url).join(address), headers={"cookie": cookie, **headers}, timeout=60)
        for made in answer.headers.get_list("set-cookie"):
            name, _, value = made.partition(";")[0].partition("=")
            self.cookies[name] = value.strip('"')
            self.attributes = set(made.lower().split("; ")[1:])
        return answer

    def visitor(self) -> Visitor:
        return Visitor(self.url, cookie="; ".join(f"{name}={value}" for name, value in self.cookies.items()))

    def sign_in(self, provider: OpenIDProvider, to: str = "runs") -> httpx.Response:
        begun = self.get(f"sign-in?to={to}")
        assert begun.status_code == 303
        return self.get(provider.authorize(begun.headers["location"]))


@contextmanager
def serve_provider() -> Iterator[OpenIDProvider]:
    """A provider that answers."""
    server = OpenIDProvider()
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()
