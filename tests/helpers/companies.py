"""A proxy on loopback that answers for every host, with a certificate for each, and records host and key of every call.

It resolves no name, and nothing leaves this machine.
"""

from __future__ import annotations

import json
import ssl
import tempfile
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, NamedTuple

import trustme


class ProxiedCall(NamedTuple):
    """A call that a host received."""

    host: str
    authorization: str
    model: str


class InterceptingProxy:
    """Context manager that serves in a thread. `calls` holds the calls to all hosts, in order."""

    def __init__(self) -> None:
        self.calls: list[ProxiedCall] = []
        self._authority = trustme.CA()
        self._folder = tempfile.TemporaryDirectory()
        self.certificate = Path(self._folder.name) / "authority.pem"
        self._authority.cert_pem.write_to_path(str(self.certificate))
        self._contexts: dict[str, ssl.SSLContext] = {}
        self._lock = threading.Lock()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True

    def __enter__(self) -> InterceptingProxy:
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._folder.cleanup()

    @property
    def environment(self) -> dict[str, str]:
        """Environment variables with which a program uses the proxy."""
        url = f"http://127.0.0.1:{self._server.server_address[1]}"
        unset = dict.fromkeys(("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy", "NO_PROXY", "no_proxy"), "")
        return {**unset, "HTTPS_PROXY": url, "https_proxy": url, "SSL_CERT_FILE": str(self.certificate)}

    def tls_context(self, host: str) -> ssl.SSLContext:
        """Returns the context of a host, with a certificate issued at the first call."""
        with self._lock:
            if host not in self._contexts:
                self._contexts[host] = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
                self._authority.issue_cert(host).configure_cert(self._contexts[host])
            return self._contexts[host]

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        proxy = self

        class ProxyHandler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            host = ""

            def do_CONNECT(self) -> None:
                self.host = self.path.rpartition(":")[0]
                self.send_response(200)
                self.end_headers()
                secure = proxy.tls_context(self.host).wrap_socket(self.connection, server_side=True)
                self.connection, self.rfile, self.wfile = secure, secure.makefile("rb"), secure.makefile("wb", buffering=0)

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers.get("content-length") or 0)) or b"{}")
                proxy.calls.append(ProxiedCall(self.host, self.headers.get("authorization", ""), str(body.get("model", ""))))
                message = {"role": "assistant", "content": "True"}
                self._send({"choices": [{"index": 0, "message": message, "finish_reason": "stop"}], "model": "m"})

            def do_GET(self) -> None:
                self._send({"data": []})

            def _send(self, content: Any) -> None:
                text = json.dumps(content).encode()
                self.send_response(200)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)

            def finish(self) -> None:
                super().finish()
                self.connection.close()

            def log_message(self, *_: object) -> None:
                """Logs nothing."""

        return ProxyHandler
