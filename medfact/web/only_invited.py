"""A server that shows everybody but its host nothing but the packets that people were invited to judge: `MEDFACT_INVITED_ONLY`.

The host sees all pages. Others get the page Review as it lies in the wheel, and what it asks for is answered where an
invitation says so.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import Any

from medfact.errors import Mistake
from medfact.reviews.invitations import invitation_of
from medfact.web.host import is_host

PAGE = "review"

FOR_INVITED = re.compile(
    r"/(review/?|updates|healthz|config|theme\.css|favicon\.ico|robots\.txt|manifest\.json)|/(page|assets|static)/[\w./@+-]{1,200}"
)
"""The addresses of the page Review, and of what is the same for all."""

REFUSED = "This server shows only the facts that you are invited to judge. Open the whole address of your invitation."
"""To a guest, and to the host who has not opened the printed address."""


def is_closed_to(request: Any) -> bool:
    """Whether whoever asks sees nothing but a packet."""
    return os.environ.get("MEDFACT_INVITED_ONLY", "") not in {"", "0"} and not is_host(request)


def is_invited(page: str, told: Mapping[str, Any]) -> bool:
    """Whether a question of a page is about a packet that this server has invited somebody to. told: what it shows, as it will
    be answered.
    """
    try:
        return page == PAGE and bool(invitation_of(str(told.get("invited", ""))))
    except Mistake:
        return False
