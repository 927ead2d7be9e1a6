"""Detects proxy variables that the HTTP client cannot use: invalid URLs, and SOCKS proxies without the package socksio."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import urlsplit

from medfact.errors import Mistake

_PROXY_VARIABLES = {"all_proxy", "https_proxy", "http_proxy"}
_SOCKS_SCHEMES = {"socks5", "socks5h"}


def unusable_proxies() -> dict[str, str]:
    """Name of an environment variable → why its proxy cannot be used. Never quotes the address: it may contain a password."""
    proxies = {name: value.strip() for name, value in os.environ.items() if name.lower() in _PROXY_VARIABLES and value.strip()}
    return {name: problem for name, value in sorted(proxies.items()) if (problem := _proxy_problem(value))}


def _proxy_problem(proxy: str) -> str:
    """Explains why a proxy cannot be used, to follow the name of its variable; "" if it can."""
    try:
        parts = urlsplit(proxy if "://" in proxy else f"http://{proxy}")
        usable = bool(parts.hostname) and parts.port != 0
    except ValueError:
        usable = False
    if not usable or parts.scheme not in {"http", "https", *_SOCKS_SCHEMES}:
        return "names no proxy that medfact can use"
    missing = parts.scheme in _SOCKS_SCHEMES and importlib.util.find_spec("socksio") is None
    return "names a SOCKS proxy, which needs the package socksio" if missing else ""


def check_proxies() -> None:
    """Raises Mistake if the environment names an unusable proxy."""
    for name, problem in unusable_proxies().items():
        raise Mistake(f"The environment variable {name} {problem}.", f"Run `pip install socksio`, or unset {name}.")


@contextmanager
def without_unusable_proxies() -> Iterator[None]:
    """Removes unusable proxies from the environment while the body imports libraries that create an HTTP client."""
    hidden = {name: os.environ.pop(name) for name in unusable_proxies()}
    try:
        yield
    finally:
        os.environ.update(hidden)
