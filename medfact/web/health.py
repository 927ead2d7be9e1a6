"""`GET /healthz`: whether the server answers and can read its database, for those who watch over it."""

from __future__ import annotations

from fastapi import APIRouter, Response
from fastapi.responses import PlainTextResponse

from medfact.store import Store


def routes(store: Store) -> APIRouter:
    """The address at which a container's health is checked. 503, in a sentence, where the database cannot be read."""
    router = APIRouter(include_in_schema=False)

    @router.get("/healthz")
    def health() -> Response:
        store.spare_bytes()
        return PlainTextResponse("ok", headers={"Cache-Control": "no-store"})

    return router
