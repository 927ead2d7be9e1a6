"""Logging of the command line and the server by the standard `logging` module: one logger a package, below `medfact`.

Lines name ids, places and kinds of errors. Texts of facts, prompts and keys stay out: quotations in
errors are masked. Errors of a service's client are named by their class alone: services repeat what they were sent.
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

VARIABLE = "MEDFACT_LOG"
"""Environment variable that holds the level: debug, info, warning (the default) or error. Child processes inherit it."""

LEVELS = ("debug", "info", "warning", "error")

request_id: ContextVar[str] = ContextVar("request_id", default="")
"""Id of the HTTP request that is being answered; "" outside of requests."""

ExceptionInfo = tuple[type[BaseException], BaseException, TracebackType | None]

_QUOTED = re.compile(r"""(?<!\w)'[^'\n]+'(?!\w)|"[^"\n]+"|“[^”\n]+”|‘[^’\n]+’|`[^`\n]+`""")

_SERVICE_WORDS = re.compile(r"\b(says|said|refuses|refused): .*", re.DOTALL)

_CLIENTS = ("openai", "httpx", "httpx2", "httpcore", "huggingface_hub")

_LONGEST_MESSAGE = 300
"""Characters of an error's message that are logged."""


class _Formatter(logging.Formatter):
    """Lines with the request's id; tracebacks without texts that come from users, files, models or services."""

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
            lines += [f"{type(error).__qualname__}: {_masked_message(error)}"]
            lines += [f"  {frame.filename}:{frame.lineno} in {frame.name}" for frame in frames]
            error = error.__cause__ or error.__context__
        return "\n".join(lines)


def masked(text: str) -> str:
    """A sentence for the log: what it quotes, and what a service says in its own words, is left out."""
    return _SERVICE_WORDS.sub(r"\1: …", _QUOTED.sub("'…'", text))


def _masked_message(error: BaseException) -> str:
    if type(error).__module__.partition(".")[0] in _CLIENTS:
        return f"status {status}" if (status := getattr(error, "status_code", None)) else "(its text may hold a prompt)"
    return masked(first_line(error, _LONGEST_MESSAGE))


def configure(is_verbose: bool = False) -> None:
    """Sends the lines of all loggers below `medfact` to stderr. is_verbose: at the debug level, in child processes, too.

    Raises Mistake where MEDFACT_LOG holds no level. Loggers of other packages are left alone: some write prompts and keys.
    """
    if is_verbose:
        os.environ[VARIABLE] = "debug"
    level = os.environ.get(VARIABLE, "").strip().lower() or "warning"
    if level not in LEVELS:
        raise Mistake(f"{VARIABLE} holds no level.", f"Set it to one of {', '.join(LEVELS)}.")
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
