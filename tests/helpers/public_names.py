"""Notices whether anything in this process looks up a name, or connects to an address, that is not this machine's."""

from __future__ import annotations

import ipaddress
import socket
import sys
import threading
import traceback
from pathlib import Path
from typing import Any

LOCAL_NAMES = frozenset({"", "localhost", "ip6-localhost"})

RESERVED_ENDING = ".invalid"
"""No name ends so (RFC 2606): tests of a name that is not found may look it up."""

public_contacts: list[str] = []
"""What was looked up or connected to since it was last emptied."""


def watch_network() -> None:
    """Begins to notice. There is no way to end it."""
    sys.addaudithook(_notice)


def _notice(event: str, arguments: tuple[Any, ...]) -> None:
    if event == "socket.getaddrinfo":
        name = _text(arguments[0])
        if name not in LOCAL_NAMES and not name.endswith(RESERVED_ENDING) and not _is_address(name):
            public_contacts.append(f"looked up {name} {_by()}")
    elif event == "socket.connect" and isinstance(arguments[1], tuple):
        host = _text(arguments[1][0])
        if (
            host not in LOCAL_NAMES
            and not host.endswith(RESERVED_ENDING)
            and not (_is_address(host) and _is_here(_address(host)))
        ):
            public_contacts.append(f"connected to {host} {_by()}")


def _by() -> str:
    """The current thread and its stack."""
    calls = traceback.extract_stack(limit=30)[:-2]
    return f"in {threading.current_thread().name}: " + " > ".join(
        f"{Path(frame.filename).name}:{frame.lineno}" for frame in calls
    )


def _text(host: Any) -> str:
    return host.decode() if isinstance(host, bytes) else str(host or "")


def _is_address(host: str) -> bool:
    try:
        _address(host)
    except (OSError, ValueError):
        return False
    return True


def _address(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address:
    """The address that a host is, in any way in which one may write it: 2130706433 is 127.0.0.1."""
    if ":" in host:
        return ipaddress.IPv6Address(host.partition("%")[0])
    return ipaddress.IPv4Address(socket.inet_aton(host))


def _is_here(address: ipaddress.IPv4Address | ipaddress.IPv6Address) -> bool:
    return address.is_loopback or address.is_unspecified
