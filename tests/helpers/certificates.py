"""Certificates of authorities, read once: it takes 25 ms, and every model of a service and every visitor would read them."""

from __future__ import annotations

import os
import ssl
from functools import cache

import httpcore2

UNREAD = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
"""For clients of plain HTTP, which need no certificates."""

_create_context = httpcore2.default_ssl_context


@cache
def _shared_context(trusts_environment: bool, *_: str | None) -> ssl.SSLContext:
    return _create_context(_trust_env=trusts_environment)


def _context_of_environment(*, _trust_env: bool = True) -> ssl.SSLContext:
    return _shared_context(_trust_env, os.environ.get("SSL_CERT_FILE"), os.environ.get("SSL_CERT_DIR"))


def share_certificates() -> None:
    """Lets the clients of this process with the same environment share what they have read."""
    httpcore2.default_ssl_context = _context_of_environment
