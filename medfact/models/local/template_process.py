"""Renders chat templates, in a process of its own: a program that a model's repository brings, held to some memory and seconds.

It reads one JSON object a line and answers each with another; it ends with its input. It imports nothing of medfact.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sys
import threading
from collections.abc import Iterator
from typing import Any

from transformers.utils.chat_template_utils import render_jinja_template

MEMORY_BYTES = 512 << 20
"""Beyond what the process takes before it has rendered anything."""

SECONDS = 20
"""For one text."""

CHARACTERS = 4_000_000
"""Of one text."""


def main() -> None:
    """Answers until its input ends. The first line says that it is ready."""
    _bound_memory()
    _say({"ready": True})
    for line in sys.stdin:
        with _bound_time():
            reply = _reply(json.loads(line))
        _say(reply)


def _reply(asked: dict[str, Any]) -> dict[str, Any]:
    """The text; or why there is none. mismatch: the template expects messages of another shape."""
    try:
        (text,), _ = render_jinja_template([asked["messages"]], chat_template=asked["template"], **asked["values"])
    except (TypeError, KeyError, AttributeError):
        return {"mismatch": True}
    except MemoryError:
        return {"error": f"it takes more than {MEMORY_BYTES >> 20} MB of memory"}
    except Exception as error:  # a template may raise anything
        return {"error": (str(error).splitlines() or [type(error).__name__])[0][:120]}
    if len(text) > CHARACTERS:
        return {"error": f"it writes more than {CHARACTERS:,} characters"}
    return {"text": text}


def _bound_memory() -> None:
    """From here on the process gets no more, where the system can hold it to that."""
    with contextlib.suppress(ImportError, OSError, ValueError):
        import resource
        from pathlib import Path

        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
        most = pages * resource.getpagesize() + MEMORY_BYTES
        resource.setrlimit(resource.RLIMIT_AS, (most, most))


@contextlib.contextmanager
def _bound_time() -> Iterator[None]:
    """Ends the process after so many seconds, whatever it is doing then."""
    if hasattr(signal, "alarm"):
        signal.alarm(SECONDS)
        yield
        signal.alarm(0)
        return
    timer = threading.Timer(SECONDS, os._exit, (1,))
    timer.start()
    yield
    timer.cancel()


def _say(reply: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(reply) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
