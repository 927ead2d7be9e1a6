"""Records lookups of names and connections to addresses outside this machine, in the whole process."""

from __future__ import annotations

import ipaddress
import socket
import sys
import threading
import traceback
from pathlib import Path
from typing import Any

LOCAL_NAMES = frozenset({"", "localhost", "ip6-localhost"})
"""Names of this machine, which are not recorded."""

RESERVED_ENDING = ".invalid"
"""End of reserved names (RFC 2606), which tests may look up: they never exist."""

public_contacts: list[str] = []
"""A text for each lookup and connection since the list was last cleared, with its thread and stack."""


def watch_network() -> None:
    """Starts to record in `public_contacts`. It cannot be stopped, because an audit hook cannot be removed."""
    sys.addaudithook(_record)


def _record(event: str, arguments: tuple[Any, ...]) -> None:
    """Audit hook: records an event of Python's `socket` if it looks up a public name or connects to another machine."""
    if event == "socket.getaddrinfo":
        name = _decode_host(arguments[0])
        if name not in LOCAL_NAMES and not name.endswith(RESERVED_ENDING) and not _is_address(name):
            public_contacts.append(f"looked up {name} {_caller()}")
    elif event == "socket.connect" and isinstance(arguments[1], tuple):
        host = _decode_host(arguments[1][0])
        if (
            host not in LOCAL_NAMES
            and not host.endswith(RESERVED_ENDING)
            and not (_is_address(host) and (_address(host).is_loopback or _address(host).is_unspecified))
        ):
            public_contacts.append(f"connected to {host} {_caller()}")


def _caller() -> str:
    """Returns a text with the current thread and its stack, as files and lines."""
    calls = traceback.extract_stack(limit=30)[:-2]
    return f"in {threading.current_thread().name}: " + " > ".join(
        f"{Path(frame.filename).name}:{frame.lineno}" for frame in calls
    )


def _decode_host(host: Any) -> str:
    """Returns a host of an audit event as text: bytes are decoded, None is ""."""
    return host.decode() if isinstance(host, bytes) else str(host or "")


def _is_address(host: str) -> bool:
    """Returns True if a host is an IP address, in any of its notations."""
    try:
        _address(host)
    except (OSError, ValueError):
        return False
    return True


def _address(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address:
    """Parses an address in any of its notations: 2130706433 is 127.0.0.1."""
    if ":" in host:
        return ipaddress.IPv6Address(host.partition("%")[0])
    return ipaddress.IPv4Address(socket.inet_aton(host))
