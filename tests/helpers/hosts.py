"""The token of the host, for the apps that tests start and for requests that act as the host."""

from __future__ import annotations

import hashlib

TOKEN = "token-of-the-host-0123456789"

AS_HOST = {"Authorization": f"Bearer {TOKEN}"}

COOKIE = f"medfact-host-{hashlib.sha256(TOKEN.encode()).hexdigest()[:8]}"
