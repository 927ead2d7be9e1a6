"""The network address that a request comes from, where a reverse proxy stands before the server."""

from __future__ import annotations

import ipaddress
import logging
import os
import re
from functools import cache
from typing import Any
from urllib.parse import urlsplit

from starlette.datastructures import Headers

_log = logging.getLogger(__package__)


def is_behind_proxy() -> bool:
    """Whether every request comes through a proxy that adds whom it got it from: on a Space, or with MEDFACT_PROXY=1."""
    return bool(os.environ.get("SPACE_ID")) or os.environ.get("MEDFACT_PROXY", "") not in {"", "0"}


def address_of(scope: Any) -> str:
    """The address of the client. Behind a proxy, the last public one of X-Forwarded-For: what a client claims itself stands to
    the left of what proxies add, and the addresses of proxies inside a network are private. Nothing to the left of what cannot
    be read is believed. An IPv6 client counts by its /64.
    """
    peer = str((scope.get("client") or ("",))[0])
    if not is_behind_proxy():
        return counted_address(peer)
    said = ",".join(Headers(scope=scope).getlist("x-forwarded-for")).split(",")
    for address in map(_without_port, reversed(said)):
        try:
            is_public = ipaddress.ip_address(address).is_global
        except ValueError:
            break
        if is_public:
            return counted_address(address)
    return counted_address(peer)


def scheme_of(scope: Any) -> str:
    """ "https" or "http", as the browser sent a request; behind a proxy, as that says."""
    if os.environ.get("SPACE_ID"):
        return "https"
    forwarded = Headers(scope=scope).get("x-forwarded-proto", "") if is_behind_proxy() else ""
    return forwarded if forwarded in {"http", "https"} else str(scope["scheme"])


_WITH_PORT = re.compile(r"\[(?P<six>[^\]]*)\](:\d{1,5})?|(?P<four>[\d.]+):\d{1,5}", re.ASCII)


def _without_port(text: str) -> str:
    """An address of X-Forwarded-For, in which some proxies (Azure's) leave the port of the client."""
    match = _WITH_PORT.fullmatch(text.strip().strip('"'))
    return match["six"] or match["four"] or "" if match else text.strip()


@cache
def warn_of_unread_addresses() -> None:
    """Says once that a proxy tells addresses which this server does not read."""
    _log.warning(
        "A request came with X-Forwarded-For, which is not read, so visitors behind one proxy count as one address. "
        "If every request comes through a proxy that adds it, set MEDFACT_PROXY=1."
    )


def name_in(text: str) -> str:
    """The name of the machine in a Host header or an address: "localhost:7860", "http://127.0.0.1:7860/runs"; "" for none."""
    try:
        return (urlsplit(text if "://" in text else f"//{text}").hostname or "").rstrip(".")
    except ValueError:
        return ""


def counted_address(text: str) -> str:
    """The address, or the network, whose requests are counted together."""
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return ""
    if isinstance(address, ipaddress.IPv6Address):
        return str(address.ipv4_mapped or ipaddress.ip_network((address, 64), strict=False))
    return str(address)
