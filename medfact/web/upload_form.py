"""The form in which a page sends a file: one file, with a name."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response
from fastapi.responses import JSONResponse, PlainTextResponse
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import UploadFile

from medfact.web.uploads import Uploads, plain_name
from medfact.web.visitors import owner_of

MOST_FIELDS = 8
"""Of a form, beside its file."""

WANTED = "Send one file, with its name, in the field “files” of a form."


def routes(uploads: Uploads) -> APIRouter:
    """The address to which the page library sends files; its own is never reached."""
    router = APIRouter(include_in_schema=False)

    @router.post("/gradio_api/upload")
    async def upload(request: Request) -> Response:
        async with request.form(max_files=1, max_fields=MOST_FIELDS) as form:
            sent = form.get("files")
            if not isinstance(sent, UploadFile) or not (name := plain_name(sent.filename or "")):
                return PlainTextResponse(WANTED, status_code=400)
            path = await run_in_threadpool(uploads.put, owner_of(request), name, sent.file)
        return JSONResponse([str(path)])

    return router
