"""The token of the apps that tests start: what acts as the host brings it."""

from __future__ import annotations

import hashlib

TOKEN = "token-of-the-host-0123456789"

AS_HOST = {"Authorization": f"Bearer {TOKEN}"}

COOKIE = f"medfact-host-{hashlib.sha256(TOKEN.encode()).hexdigest()[:8]}"
