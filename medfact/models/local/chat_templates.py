"""Chat templates, rendered in another process that has little memory and few seconds: a repository may bring any program."""

from __future__ import annotations

import atexit
import json
import os
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from medfact.errors import ModelError

PROGRAM = Path(__file__).with_name("template_process.py")

TOO_MUCH = "it takes too much time or memory"


class Renderer:
    """One process, begun when the first text is wanted and again after it has ended. Several threads may use it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: subprocess.Popen[str] | None = None
        self._begun_by = 0

    def render(self, template: str, messages: Sequence[Any], values: Mapping[str, Any]) -> str | None:
        """The text of messages; None where the template expects them in another shape. Raises ModelError where it fails."""
        asked = json.dumps({"template": template, "messages": messages, "values": values}, default=str)
        with self._lock:
            reply = self._asked(asked)
        if "error" in reply:
            raise ModelError(f"The model's chat template cannot be used ({reply['error']}).", "Check --template-argument.")
        return reply.get("text")

    def close(self) -> None:
        """Ends the process, which ends with its input; another begins where more is wanted."""
        with self._lock:
            if self._process is not None and self._begun_by == os.getpid():
                self._process.communicate()
            self._process = None

    def _asked(self, line: str) -> dict[str, Any]:
        process = self._running()
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            process.stdin.write(line + "\n")
            process.stdin.flush()
            said = process.stdout.readline()
        except BrokenPipeError:
            said = ""
        if not said:
            process.kill()
            process.communicate()
            return {"error": TOO_MUCH}
        return dict(json.loads(said))

    def _running(self) -> subprocess.Popen[str]:
        """The process; another one after a fork, where this one's pipes are somebody else's. Raises ModelError."""
        if self._process is None or self._process.poll() is not None or self._begun_by != os.getpid():
            pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
            command = [sys.executable, "-P", str(PROGRAM)]
            self._process = subprocess.Popen(command, text=True, encoding="utf-8", errors="surrogatepass", **pipes)  # type: ignore[call-overload]
            self._begun_by = os.getpid()
            assert self._process.stdout is not None
            if not self._process.stdout.readline():
                raise ModelError(
                    "The process that writes prompts for chat models does not start.", "Install transformers again."
                )
        return self._process


RENDERER = Renderer()
atexit.register(RENDERER.close)
