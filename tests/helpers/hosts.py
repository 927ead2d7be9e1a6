"""The token of the host, for the apps that tests start and for requests that act as the host."""

from __future__ import annotations

import hashlib

TOKEN = "token-of-the-host-0123456789"
"""Token of the host: the person who runs the app."""

AS_HOST = {"Authorization": f"Bearer {TOKEN}"}
"""Headers of a request that acts as the host."""

COOKIE = f"medfact-host-{hashlib.sha256(TOKEN.encode()).hexdigest()[:8]}"
"""Name of the cookie that marks the host's browser."""
