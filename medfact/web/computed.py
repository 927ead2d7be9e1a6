"""Answers of addresses that compute: each takes one of the few places, for the network address that asks."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from fastapi import Response

from medfact.computing import computing
from medfact.web.clients import address_of


def computed(answer: Callable[..., Response]) -> Callable[..., Response]:
    """Decorates a function that answers at an address, and takes its `request`."""

    @wraps(answer)
    def in_a_place(**given: Any) -> Response:
        with computing(address_of(given["request"].scope)):
            return answer(**given)

    return in_a_place
