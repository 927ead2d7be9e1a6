"""Asking an outside database politely: no faster than it allows, each question once, and a plain sentence where it is away."""

from __future__ import annotations

import json
import logging
import os
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from medfact.errors import ReferenceDown
from medfact.facts import digest
from medfact.proxies import check_proxies

_log = logging.getLogger(__package__)

TRIES = 3
"""Most requests for one question."""

TIMEOUT = 20.0
"""Seconds that a request may take."""

MAX_BYTES = 16 << 20
"""The longest reply that is read."""

_BUSY = frozenset({429, 500, 502, 503, 504})


class Reference:
    """An outside database that answers GET requests with JSON.

    Answers are kept in a file, one JSON object a line, so that nothing is asked twice, whatever happens in between. What is
    private (a key) is sent, and neither kept nor shown.

    name, hint: what people call it, and what to do where it is away. base_url: an https address, or one on this machine.
    pause: seconds between two requests. kept: the file of its answers; None keeps them in memory.
    """

    def __init__(self, name: str, base_url: str, pause: float, hint: str, kept: Path | None = None) -> None:
        self.name, self.base_url, self.hint = name, base_url.rstrip("/"), hint
        self._pause, self._kept, self._next = pause, kept, 0.0
        self._answers = _read(kept) if kept else {}
        self.asked = 0

    def get(
        self,
        path: str,
        params: Mapping[str, str],
        private: Mapping[str, str] | None = None,
        usable: Callable[[Any], bool] = lambda _: True,
    ) -> Any:
        """The JSON at a path. An answer that is not usable (an error in JSON) is returned and not kept.

        Raises ReferenceDown where there is none: no network, an error, no JSON; Mistake where a proxy cannot be used.
        """
        question = digest(self.base_url, path, json.dumps(params, sort_keys=True))
        if question not in self._answers:
            answer = self._fetch(path, {**params, **(private or {})})
            if not usable(answer):
                return answer
            self._keep(question, answer)
            self._answers[question] = answer
        return self._answers[question]

    def _fetch(self, path: str, params: Mapping[str, str]) -> Any:
        import httpx2

        check_proxies()
        for attempt in range(TRIES):
            self._wait(attempt)
            self.asked += 1
            try:
                reply = httpx2.get(f"{self.base_url}{path}", params=dict(params), timeout=TIMEOUT, follow_redirects=False)
            except (httpx2.HTTPError, httpx2.InvalidURL, OSError, UnicodeError):
                _log.debug("A reference database did not answer.", exc_info=True)
                continue
            if reply.status_code not in _BUSY:
                return self._json(reply.status_code, reply.content)
        raise ReferenceDown(f"{self.name} cannot be reached.", self.hint)

    def _wait(self, attempt: int) -> None:
        """Until the next request is due; longer before each further try."""
        due = max(self._next, time.monotonic() + (self._pause * 2**attempt if attempt else 0.0))
        time.sleep(max(0.0, due - time.monotonic()))
        self._next = time.monotonic() + self._pause

    def _json(self, status: int, content: bytes) -> Any:
        if status in (401, 403):
            raise ReferenceDown(f"{self.name} rejected this key (HTTP {status}).", self.hint)
        if status == 404:
            return None
        if status != 200:
            raise ReferenceDown(f"{self.name} refuses the request (HTTP {status}).", self.hint)
        try:
            return json.loads(content) if len(content) <= MAX_BYTES else None
        except (ValueError, RecursionError):
            raise ReferenceDown(f"{self.name} answered with something that is not JSON.", self.hint) from None

    def _keep(self, question: str, answer: Any) -> None:
        if self._kept is None:
            return
        self._kept.parent.mkdir(parents=True, exist_ok=True)
        with self._kept.open("ab") as file:
            file.write(json.dumps([question, answer]).encode() + b"\n")
            file.flush()
            os.fsync(file.fileno())


def _read(kept: Path) -> dict[str, Any]:
    """The answers in a file. A last line that was cut off is left out, and its place taken by the next."""
    answers: dict[str, Any] = {}
    if not kept.is_file():
        return answers
    whole = 0
    with kept.open("r+b") as file:
        for line in file:
            try:
                question, answer = json.loads(line)
            except ValueError:
                break
            if not line.endswith(b"\n"):
                break
            answers[question] = answer
            whole += len(line)
        file.truncate(whole)
    return answers
