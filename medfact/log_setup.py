"""Logging of the command line and the server with the standard `logging` module: one logger per package, below `medfact`.

Records have ids, locations and kinds of errors, but no texts of facts, prompts or keys: quotations in errors are masked. Errors
of a service's client are logged without their message, because services repeat the request in it.
"""

from __future__ import annotations

import logging
import os
import re
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from types import TracebackType

from medfact.errors import Mistake, first_line

LEVEL_VARIABLE = "MEDFACT_LOG"
"""Environment variable of the log level, one of LEVELS. The default is warning. Child processes inherit it."""

LEVELS = ("debug", "info", "warning", "error")

request_id: ContextVar[str] = ContextVar("request_id", default="")
"""Id of the current HTTP request; "" outside of requests."""

ExceptionInfo = tuple[type[BaseException], BaseException, TracebackType | None]

# a quotation that does not end is masked to the end of its line: so each text is read once
_QUOTED = re.compile(r"""(?<!\w)'[^'\n]+'(?!\w)|"[^"\n]+"|“[^”\n]++”?|‘[^’\n]++’?|`[^`\n]+`""")

_SERVICE_MESSAGE = re.compile(r"\b(says|said|refuses|refused): .*", re.DOTALL)

_CLIENT_PACKAGES = ("openai", "httpx", "httpx2", "httpcore", "huggingface_hub")

_MAX_MESSAGE_LENGTH = 300
"""Maximum number of characters of an error's message."""


class _Formatter(logging.Formatter):
    """Formats records with the request's id, and tracebacks without texts of users, files, models or services."""

    def __init__(self) -> None:
        super().__init__("%(asctime)s %(levelname)s %(name)s%(request)s: %(message)s")

    def format(self, record: logging.LogRecord) -> str:
        current = request_id.get()
        record.request = f" [request {current}]" if current else ""
        return super().format(record)

    def formatException(self, ei: ExceptionInfo | tuple[None, None, None]) -> str:  # noqa: N802
        lines: list[str] = []
        error = ei[1]
        while error is not None:
            frames = traceback.extract_tb(error.__traceback__)
            lines += [f"{type(error).__qualname__}: {_safe_message(error)}"]
            lines += [f"  {frame.filename}:{frame.lineno} in {frame.name}" for frame in frames]
            error = error.__cause__ or error.__context__
        return "\n".join(lines)


def mask_private_text(text: str) -> str:
    """Replaces quotations and the messages of services in a text by "…"."""
    return _SERVICE_MESSAGE.sub(r"\1: …", _QUOTED.sub("'…'", text))


def _safe_message(error: BaseException) -> str:
    """Message of an error without private text; of a service client's error, only its HTTP status."""
    if type(error).__module__.partition(".")[0] in _CLIENT_PACKAGES:
        return f"status {status}" if (status := getattr(error, "status_code", None)) else "(its text may hold a prompt)"
    return mask_private_text(first_line(error, _MAX_MESSAGE_LENGTH))


def configure(is_verbose: bool = False) -> None:
    """Configures the logger `medfact` to write to stderr. is_verbose: at the debug level, also in child processes.

    Raises Mistake if MEDFACT_LOG is not a level. Loggers of other packages stay unchanged: some write prompts and keys.
    """
    if is_verbose:
        os.environ[LEVEL_VARIABLE] = "debug"
    level = os.environ.get(LEVEL_VARIABLE, "").strip().lower() or "warning"
    if level not in LEVELS:
        raise Mistake(f"{LEVEL_VARIABLE} holds no level.", f"Set it to one of {', '.join(LEVELS)}.")
    root = logging.getLogger("medfact")
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_Formatter())
    root.handlers[:] = [handler]
    root.setLevel(level.upper())
    root.propagate = False


@contextmanager
def suppressed(logger: logging.Logger, *errors: type[BaseException]) -> Iterator[None]:
    """Suppresses these errors as `contextlib.suppress` does, and logs each with its traceback at the debug level."""
    try:
        yield
    except errors:
        logger.debug("An error was passed over.", exc_info=True, stacklevel=3)
