"""Who may be asked, and with whose key. The client of services enforces it for every request.

A server is public where strangers use it: on Hugging Face Spaces, or with MEDFACT_PUBLIC=1. From there only https addresses
that everybody can reach are asked, no folder of the server is a model, and the key of whoever runs the server is not used.
"""

from __future__ import annotations

import ipaddress
import os
import re
import socket
from urllib.parse import urlsplit

from medfact.errors import ModelError

IPAddress = ipaddress.IPv4Address | ipaddress.IPv6Address

_GLOBAL_UNICAST = ipaddress.IPv6Network("2000::/3")
_TUNNELS = tuple(map(ipaddress.IPv6Network, ("2001::/32", "2002::/16")))
"""Teredo and 6to4: addresses that carry one of the older kind, which may be anything. NAT64's lie outside 2000::/3."""
_RELAYS = tuple(map(ipaddress.IPv4Network, ("192.88.99.0/24", "192.0.0.0/24", "168.63.129.16/32")))
"""Of 6to4, of protocols, and of one cloud, whose machines alone reach what is there."""
_EXAMPLES = ipaddress.IPv6Network("3fff::/20")

_HUB_NAME = re.compile(r"\w[\w.-]*(/\w[\w.-]*)?", re.ASCII)


def is_public_server() -> bool:
    """Whether strangers use this server."""
    return bool(os.environ.get("SPACE_ID")) or os.environ.get("MEDFACT_PUBLIC", "") not in {"", "0"}


def is_public_address(text: str) -> bool:
    """Whether an IP address is one that everybody can reach, and no way round to one that not everybody can."""
    try:
        address: IPAddress = ipaddress.ip_address(text.partition("%")[0])
    except ValueError:
        return False
    if isinstance(address, ipaddress.IPv4Address):
        return address.is_global and not address.is_multicast and not any(address in relay for relay in _RELAYS)
    return address.is_global and address in _GLOBAL_UNICAST and not any(address in net for net in (*_TUNNELS, _EXAMPLES))


def checked_addresses(host: str, found: list[str]) -> list[str]:
    """The IP addresses of a host, all of them public.

    Raises ModelError where there is none, or one is not.
    """
    if not found or not all(map(is_public_address, found)):
        raise not_public(host)
    return found


def check_public_url(url: str) -> None:
    """Raises ModelError where a public server may not ask an address: it is not https, or its host is not public.

    This looks the host up. The client looks again when it connects, and connects to what it saw.
    """
    parts = urlsplit(url)
    host = parts.hostname or ""
    if parts.scheme != "https":
        raise not_public(host)
    try:
        found = socket.getaddrinfo(host, parts.port or 443, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        raise not_public(host) from None
    checked_addresses(host, [str(entry[4][0]) for entry in found])


def not_public(host: str) -> ModelError:
    """The error where a public server may not ask a host."""
    return ModelError(f"{host} is not a public address.", "From a public page, use an https server that everybody can reach.")


def check_model_source(source: str) -> None:
    """Raises ModelError where a public server may not load a model: only repositories of the hub, never a folder.

    It says the same of every folder, so that nobody learns which exist.
    """
    if is_public_server() and not _HUB_NAME.fullmatch(source):
        raise ModelError(
            f"{source!r} is not the name of a repository on the Hugging Face Hub.",
            "On a public page, name a model as OWNER/NAME.",
        )
