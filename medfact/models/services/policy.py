"""Who may be contacted, and with whose key: the one policy of contact.

- A server is public when strangers use it: on Hugging Face Spaces, or with MEDFACT_PUBLIC=1. A public server contacts only
  https addresses that everybody can reach, loads models only from the hub, and never sends its environment's key unasked.
- Any other server does so for everybody but its host (`limits.is_restricted`). With MEDFACT_SHARE_KEYS=1 its visitors may use
  the keys of its environment, at their own addresses, each within MEDFACT_SHARED_BUDGET.
- A key of the environment goes to the address that it is of: that of a named service, OPENAI_BASE_URL, or one in MEDFACT_KEYS.
  OPENAI_API_KEY also goes to addresses that the person at this command line has named.
- An imported run may name any service. Someone must give a key or agree before medfact contacts it.
- Own facts leave this machine only if the user agrees.

The client enforces address and key for every request. Runs and both doors ask here before they start.
"""

from __future__ import annotations

import ipaddress
import math
import os
import re
import socket
from collections.abc import Sequence
from dataclasses import replace
from urllib.parse import urlsplit

from medfact.concurrency import slot_released
from medfact.errors import Mistake, ModelError
from medfact.limits import is_public_server, is_restricted, limits
from medfact.models.services.addresses import Address, parsed_address
from medfact.models.services.named import named_services
from medfact.models.services.settings import DEFAULTS, ServiceSettings

OPENAI_URL = "https://api.openai.com/v1"
"""Where calls go by default."""

NO_KEY = "none"
"""Sent to a service that needs no key, because the protocol requires one."""

_GLOBAL_UNICAST = ipaddress.IPv6Network("2000::/3")
_NOT_PUBLIC = tuple(
    map(
        ipaddress.ip_network,
        (
            "2001::/32",  # Teredo, and 6to4 below: both embed an IPv4 address, which may be private
            "2002::/16",
            "3fff::/20",  # documentation
            "192.88.99.0/24",  # 6to4 relays
            "192.0.0.0/24",  # protocol assignments
            "168.63.129.16/32",  # Azure's host, reachable only from its virtual machines
        ),
    )
)
"""Networks that `ipaddress` calls global although not everybody reaches them. NAT64 lies outside 2000::/3."""

_HUB_NAME = re.compile(r"\w[\w.-]*(/\w[\w.-]*)?", re.ASCII)

# ------------------------------------------------------------------------------------------------ public servers


def check_model_source(source: str) -> None:
    """Raises ModelError if a public server may not load a local model: it loads hub repositories, never folders, and of these
    those alone that its limits name, where they name any.

    The message is the same for every folder, so that it does not reveal which exist.
    """
    if is_restricted():
        _check_source(source, limits().models.names or None, "the model")


def check_encoder_source(source: str) -> None:
    """Raises ModelError if a public server may not load a sentence encoder: it loads those that its limits name."""
    if is_restricted():
        _check_source(source, limits().models.encoders, "the sentence encoder")


def _check_source(source: str, names: Sequence[str] | None, what: str) -> None:
    if not _HUB_NAME.fullmatch(source):
        raise ModelError(
            f"{source!r} is not the name of a repository on the Hugging Face Hub.",
            f"Name a model as OWNER/NAME.{as_host()}",
        )
    if names is not None and source not in names:
        listed = f"Choose one of these: {', '.join(names)}." if names else "It loads none."
        raise ModelError(f"This public server does not load {what} {source}.", listed)


def is_public_address(text: str) -> bool:
    """Whether everybody can reach an IP address, and it is no detour to a private one."""
    try:
        address = ipaddress.ip_address(text.partition("%")[0])
    except ValueError:
        return False
    if not address.is_global or address.is_multicast or any(address in network for network in _NOT_PUBLIC):
        return False
    return isinstance(address, ipaddress.IPv4Address) or address in _GLOBAL_UNICAST


def check_public(host: str, addresses: Sequence[str]) -> None:
    """Raises ModelError unless a host has IP addresses and all of them are public."""
    if not addresses or not all(map(is_public_address, addresses)):
        raise not_public(host)


def check_public_url(url: str) -> None:
    """Raises ModelError if a public server may not contact a URL: it is not https, or its host is not public.

    This looks the host up. The client looks it up again when it connects, and connects to the address that it checked.
    """
    parts = urlsplit(url)
    host = parts.hostname or ""
    if parts.scheme != "https":
        raise not_public(host)
    try:
        with slot_released():
            found = socket.getaddrinfo(host, parts.port or 443, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        raise not_public(host) from None
    check_public(host, [str(entry[4][0]) for entry in found])


def not_public(host: str) -> ModelError:
    """The error when a visitor's request may not contact a host."""
    return ModelError(f"{host} is not a public address.", f"Use an https server that everybody can reach.{as_host()}")


def as_host() -> str:
    """A hint for the host of a server who asks as a visitor does; "" on a public server, where nobody is the host."""
    return "" if is_public_server() else " If this server is yours, open the address that it printed when it started."


# ------------------------------------------------------------------------------------------------ addresses


def address_of(settings: ServiceSettings) -> Address:
    """The address of a service. Raises ModelError where it is none, or contains a user name, a password or a key."""
    typed = (settings.base_url or "").strip()
    return parsed_address(typed or os.environ.get("OPENAI_BASE_URL", "").strip() or OPENAI_URL)


def host_of(settings: ServiceSettings) -> str:
    """The name of a service's host. Raises as `address_of` does."""
    return address_of(settings).host


def is_on_this_machine(settings: ServiceSettings) -> bool:
    """Returns whether the service runs on this machine. Raises as `address_of` does."""
    return is_loopback(host_of(settings))


def is_loopback(host: str) -> bool:
    """Whether a host's name or number is this machine's own."""
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


# ------------------------------------------------------------------------------------------------ keys


def environment_key(settings: ServiceSettings) -> str:
    """The key of the environment that may be sent to a service unasked, by the host alone; else "".

    It is the one that MEDFACT_KEYS has for this address, that of a named service at its address, or OPENAI_API_KEY at
    OPENAI_BASE_URL. No key goes to another address than its own.
    """
    return "" if is_restricted() else _key_at(settings)


def shared_key(settings: ServiceSettings) -> str:
    """The key of the environment that this server's visitors may use at a service; "" where it shares none."""
    shares = os.environ.get("MEDFACT_SHARE_KEYS", "") not in {"", "0"}
    return _key_at(settings) if shares and not is_public_server() else ""


def shared_budget() -> float:
    """US dollars that each visitor may spend of the keys that are shared. Raises Mistake where that is no sum."""
    given = os.environ.get("MEDFACT_SHARED_BUDGET", "").strip() or "1"
    try:
        dollars = float(given)
    except ValueError:
        dollars = -1.0
    if not 0 <= dollars < math.inf:
        raise Mistake(f"MEDFACT_SHARED_BUDGET={given[:40]} is not an amount to spend.", "Give it in US dollars, such as 5.")
    return dollars


def _key_at(settings: ServiceSettings) -> str:
    address = address_of(settings).whole
    variables = [one.key for one in named_services() if one.key and _whole(one.filled_address) == address]
    variables += ["OPENAI_API_KEY"] if _is_of_openai(settings) else []
    found = (os.environ.get(variable, "").strip() for variable in variables)
    return _listed_keys().get(address) or next(filter(None, found), "")


def _whole(address: str) -> str:
    try:
        return parsed_address(address).whole
    except ModelError:  # a variable of it is not set
        return ""


def _listed_keys() -> dict[str, str]:
    """The keys in MEDFACT_KEYS, by address. Raises ModelError where it is no row of addresses and keys; it never quotes one."""
    words = os.environ.get("MEDFACT_KEYS", "").split()
    try:
        addresses = [parsed_address(address).whole for address in words[::2]]
        return dict(zip(addresses, words[1::2], strict=True))
    except (ModelError, ValueError):
        raise ModelError(
            "MEDFACT_KEYS cannot be read.", "Write an address and its key, then the next, with spaces between."
        ) from None


def is_of_environment(settings: ServiceSettings) -> bool:
    """Whether the environment's settings for OpenAI are meant for a service: OpenAI, or OPENAI_BASE_URL. They are the host's,
    and go along with a key that is shared.
    """
    return _is_of_openai(settings) and (not is_restricted() or is_asked_with_shared_key(settings))


def is_asked_with_shared_key(settings: ServiceSettings) -> bool:
    """Returns True for a key of the environment that the host lends. Its address is the host's choice, too."""
    return bool(settings.key) and settings.key == shared_key(settings)


def _is_of_openai(settings: ServiceSettings) -> bool:
    try:
        own = address_of(replace(settings, base_url=None)).whole
    except ModelError:  # OPENAI_BASE_URL is no address
        own = OPENAI_URL
    return address_of(settings).whole in {OPENAI_URL, own}


def named_address_key(settings: ServiceSettings, variable: str = "OPENAI_API_KEY") -> str:
    """The key for an address that the person at this command line has named: its own of the environment, else that of a
    variable, else NO_KEY.

    They name it when they type it, now or when they began the run, or when they agree to contact it.
    """
    return environment_key(settings) or os.environ.get(variable) or NO_KEY


def key_of(settings: ServiceSettings) -> str:
    """The key to send. OpenAI requires one; a service of one's own may not.

    Raises:
        ModelError: the key is missing or malformed. The message never quotes it.
    """
    key = (settings.key or environment_key(settings)).strip() or NO_KEY
    host = host_of(settings)
    if key == NO_KEY and _variable_of(host):
        raise no_key(host)
    if not (key.isascii() and key.isprintable()) or " " in key:
        raise ModelError(f"The key for {host} contains characters that no key has.", "Copy it again.")
    return key


def _variable_of(host: str) -> str | None:
    """The variable of the key of a named service at a host; None where no such service is there, or it wants none."""
    return next((one.key for one in named_services() if urlsplit(one.filled_address).hostname == host), None)


def no_key(host: str) -> ModelError:
    """The error when a service wants a key and there is none."""
    variable = _variable_of(host) or "OPENAI_API_KEY"
    return ModelError(f"No key for {host}.", f"Type it.{as_host()}" if is_restricted() else f"Set {variable}, or type it.")


# ------------------------------------------------------------------------------------------------ runs


def check_new_run(settings: ServiceSettings, own_facts: bool, agreed: bool) -> None:
    """Checks, before a visitor's run is recorded, that its service may be contacted.

    own_facts: the run sends facts of the visitor's own. agreed: the visitor agreed to that.

    Raises:
        ModelError: the key is missing or malformed, or a public server may not contact the address.
        Mistake: own facts would leave this machine without agreement.
    """
    key_of(settings)
    if own_facts and not agreed and not is_on_this_machine(settings):
        raise Mistake(
            f"Your own facts would go to {host_of(settings)}.", "Tick the box if you agree and they contain no patient data."
        )
    if is_restricted() and not is_asked_with_shared_key(settings):
        check_public_url(address_of(settings).whole)


def check_imported_run(run_id: str, settings: ServiceSettings) -> None:
    """Raises Mistake if an imported run names another service than this machine asks by default. One on this machine is
    another one, too: what listens here may be meant for nobody else.
    """
    if address_of(settings) != address_of(DEFAULTS):
        raise Mistake(
            f"Run {run_id} was imported from a file, which names the service at {host_of(settings)}.",
            "If you trust that service, give a key for it, or add --yes.",
        )
