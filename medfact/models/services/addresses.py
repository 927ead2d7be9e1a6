"""The address of a service, as a person types it."""

from __future__ import annotations

import re

_USER_INFO = re.compile(r"\A(\s*(?:[a-z][a-z0-9+.-]*:)?//)?[^/?#]*@", re.IGNORECASE)


def without_user_info(address: str | None) -> str | None:
    """An address without a user name and password, which earlier versions may have recorded."""
    return address and _USER_INFO.sub(lambda found: found[1] or "", address, count=1)
