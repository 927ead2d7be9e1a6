"""A disk without room: how the server tells that it has none, and what it says then."""

from __future__ import annotations

import errno
import tempfile
from pathlib import Path

from fastapi import Request, Response
from fastapi.responses import PlainTextResponse

NO_ROOM = "The server's disk is full."
CANNOT_WRITE = "The server cannot write to its disk."

_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
_CLOSED = {errno.EROFS, errno.EACCES, errno.EPERM, errno.EIO}

PROBE_BYTES = 1 << 16
"""A disk that does not take so many bytes is full."""


def trouble(error: OSError) -> str:
    """What to say of an error of the disk; "" of any other."""
    return NO_ROOM if error.errno in _FULL else CANNOT_WRITE if error.errno in _CLOSED else ""


def trouble_with(folder: Path) -> str:
    """Why nothing can be written in a folder; "" where it can: a file is written, and removed."""
    try:
        with tempfile.TemporaryFile(dir=folder, buffering=0) as file:
            if file.write(b"\1" * PROBE_BYTES) < PROBE_BYTES:
                return NO_ROOM
    except OSError as error:
        return trouble(error) or CANNOT_WRITE
    return ""


def refused(_: Request, error: Exception) -> Response:
    """The answer where the disk is in the way. Any other error of the system stays one."""
    said = trouble(error) if isinstance(error, OSError) else ""
    if not said:
        raise error
    return PlainTextResponse(f"{said} Try again later, or tell whoever runs it.", status_code=507)
