"""Whether the page can serve: for whoever starts and watches the server."""

from __future__ import annotations

from fastapi import APIRouter
from fastapi.responses import PlainTextResponse

from medfact.errors import StoreError
from medfact.web.services import DEMONSTRATION_OWNER, Services


def routes(services: Services) -> APIRouter:
    """`/healthz`: 200 where the database can be read, else 503 and why."""
    router = APIRouter(include_in_schema=False)

    @router.get("/healthz")
    def health() -> PlainTextResponse:
        try:
            services.store.runs(DEMONSTRATION_OWNER)
        except StoreError as error:
            return PlainTextResponse(error.public, status_code=503)
        return PlainTextResponse("ok", headers={"Cache-Control": "no-store"})

    return router
