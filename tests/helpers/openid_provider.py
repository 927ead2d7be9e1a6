"""A provider of OpenID Connect on loopback, and a browser session that signs in there."""

from __future__ import annotations

import base64
import hashlib
import json
import secrets
from http.server import BaseHTTPRequestHandler
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx
from certificates import UNREAD
from loopback import LoopbackServer, WholeReplies
from visitors import Visitor

CLIENT, SECRET, TOKEN = "client-of-the-space", "secret-of-the-space-0123456789", "token-of-ada"


class OpenIDProvider(LoopbackServer):
    """Grants a code for `person`, and exchanges it for a token."""

    def __init__(self) -> None:
        super().__init__(ProviderHandler)
        self.person: dict[str, Any] = {"sub": "1234", "preferred_username": "ada", "email": "ada@example.org"}
        self.challenges: dict[str, tuple[str, str]] = {}  # code → its challenge and the address of the redirect
        self.has_foreign_token_endpoint = False
        self.token_fields: dict[str, Any] = {}  # further fields of the token response

    def authorize(self, location: str) -> str:
        """Asserts a valid request for authorization, and returns the address of the redirect with a code."""
        query = {name: values[0] for name, values in parse_qs(urlsplit(location).query).items()}
        assert location.startswith(f"{self.url}/authorize?")
        assert (query["client_id"], query["response_type"], query["code_challenge_method"]) == (CLIENT, "code", "S256")
        code = secrets.token_hex(8)
        self.challenges[code] = query["code_challenge"], query["redirect_uri"]
        return f"{query['redirect_uri']}?code={code}&state={query['state']}"


class ProviderHandler(WholeReplies, BaseHTTPRequestHandler):
    """Serves discovery, tokens and user data."""

    server: OpenIDProvider

    def _send(self, content: object, status: int = 200) -> None:
        body = json.dumps(content).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self) -> None:
        url = self.server.url
        if self.path == "/.well-known/openid-configuration":
            token = "http://127.0.0.1:1/token" if self.server.has_foreign_token_endpoint else f"{url}/token"
            self._send(
                {"authorization_endpoint": f"{url}/authorize", "token_endpoint": token, "userinfo_endpoint": f"{url}/me"}
            )
        elif self.path == "/me" and self.headers["Authorization"] == f"Bearer {TOKEN}":
            self._send(self.server.person)
        else:
            self._send({}, 401)

    def do_POST(self) -> None:
        form = parse_qs(self.rfile.read(int(self.headers["Content-Length"])).decode())
        granted = self.server.challenges.pop(form["code"][0], None)
        proof = base64.urlsafe_b64encode(hashlib.sha256(form["code_verifier"][0].encode()).digest()).decode().rstrip("=")
        credentials = f"Basic {base64.b64encode(f'{CLIENT}:{SECRET}'.encode()).decode()}"
        is_valid = granted == (proof, form["redirect_uri"][0]) and self.headers["Authorization"] == credentials
        self._send(
            {"access_token": TOKEN, **self.server.token_fields} if is_valid else {"error": "invalid_grant"},
            200 if is_valid else 400,
        )


class BrowserSession:
    """A browser that sends its cookies itself, because a client sends them only over HTTPS."""

    def __init__(self, url: str) -> None:
        self.url, self.cookies = url, {"medfact-visitor": secrets.token_hex(16)}

    def get(self, address: str, **headers: str) -> httpx.Response:
        """GETs an address with the cookies, and stores those of the response."""
        cookie = "; ".join(f"{name}={value}" for name, value in self.cookies.items())
        sent = {"cookie": cookie, **headers}
        response = httpx.get(httpx.URL(self.url).join(address), headers=sent, timeout=60, verify=UNREAD)
        for header in response.headers.get_list("set-cookie"):
            name, _, value = header.partition(";")[0].partition("=")
            self.cookies[name] = value.strip('"')
            self.attributes = set(header.lower().split("; ")[1:])
        return response

    def open_visitor(self) -> Visitor:
        """Opens a page as a visitor with these cookies."""
        return Visitor(self.url, cookie="; ".join(f"{name}={value}" for name, value in self.cookies.items()))

    def sign_in(self, provider: OpenIDProvider, to: str = "runs") -> httpx.Response:
        """Signs in at a provider; returns the app's response. to: the page that follows."""
        redirect = self.get(f"sign-in?to={to}")
        assert redirect.status_code == 303
        return self.get(provider.authorize(redirect.headers["location"]))
