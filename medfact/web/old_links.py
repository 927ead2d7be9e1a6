"""Links that were handed out when all of an evaluation was at the server's own address, and a comparison had a page."""

from __future__ import annotations

from urllib.parse import parse_qsl, urlencode

from medfact.web.pages import MOST_VALUES

MOVED = {"run": "evaluate", "writing": "evaluate", "drafts": "evaluate", "studio": "evaluate"}
"""A field of the first page's address → the page that has it now."""

COMPARE = "/compare"
"""The page of runs beside each other, which is the page of an evaluation with several now."""

DEMONSTRATIONS = {"tour": "tour", "game": "game"}


def moved(path: str, query: str) -> str | None:
    """Where an old link leads now, from the folder of the pages; None for an address that is no such link."""
    if path in ("/gallery", "/gallery/"):
        return "runs?of=published" if path == "/gallery" else "../runs?of=published"
    if path not in ("/", COMPARE) or not (query or path == COMPARE):
        return None
    try:
        told = dict(parse_qsl(query, max_num_fields=MOST_VALUES))
    except ValueError:  # there are more
        return None
    if path == COMPARE:
        runs = told.get("runs", "")
        return f"evaluate?{urlencode({'run': runs, 'tab': 'facts'}, safe=',')}" if runs else "runs"
    page = next((MOVED[name] for name in MOVED if name in told), DEMONSTRATIONS.get(told.pop("demo", "")))
    return page and f"{page}{'?' if told else ''}{urlencode(told, safe=',:')}"
