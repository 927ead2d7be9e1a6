"""The names of the models that a service lists."""

from __future__ import annotations

import asyncio
from typing import Any

import openai

from medfact.models.services.connection import service_client
from medfact.models.services.settings import ServiceSettings

LIST_SECONDS = 5.0
MOST_NAMES, LONGEST_NAME = 300, 200


def listed_models(settings: ServiceSettings) -> tuple[str, ...]:
    """What a service's `/models` lists, in alphabetical order; () where it lists nothing that can be read.

    Raises ModelError where the address or the key cannot be used.
    """
    return asyncio.run(_listed(settings))


async def _listed(settings: ServiceSettings) -> tuple[str, ...]:
    async def on_request(_: Any) -> None:
        """Nothing is counted here."""

    client = service_client(settings, on_request, max_retries=0)
    try:
        async with asyncio.timeout(LIST_SECONDS):
            return _names(await client.get("/models", cast_to=object))
    except (openai.OpenAIError, TimeoutError, ValueError, RecursionError):
        return ()
    finally:
        await client.close()


def _names(told: Any) -> tuple[str, ...]:
    rows = told.get("data") if isinstance(told, dict) else None
    names = (row.get("id") for row in rows if isinstance(row, dict)) if isinstance(rows, list) else ()
    usable = {name for name in names if isinstance(name, str) and name.isprintable() and 0 < len(name) <= LONGEST_NAME}
    return tuple(sorted(usable))[:MOST_NAMES]
